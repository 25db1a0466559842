"""Kernels of `actuation`."""
