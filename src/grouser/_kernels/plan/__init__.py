"""Kernels of `plan`."""
