"""Kernels of `simulation`."""
