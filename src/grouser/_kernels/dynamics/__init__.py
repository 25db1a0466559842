"""Kernels of `dynamics`."""
