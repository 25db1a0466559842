"""Kernels of the chain on board."""
