"""Kernels of `motion`."""
