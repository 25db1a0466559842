"""Kernels of `fusion`."""
