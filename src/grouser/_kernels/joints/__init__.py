"""Kernels of `joints`."""
