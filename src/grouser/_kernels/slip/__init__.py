"""Kernels of `slip`."""
