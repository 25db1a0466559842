"""Kernels of `terrain`."""
