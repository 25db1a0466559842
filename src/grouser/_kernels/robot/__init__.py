"""Kernels of `robot`."""
