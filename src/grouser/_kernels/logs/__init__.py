"""Kernels of `logs`."""
