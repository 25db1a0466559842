"""Kernels of `vehicles`."""
