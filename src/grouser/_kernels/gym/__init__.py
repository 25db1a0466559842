"""Kernels of `gym`."""
