"""Kernels of `contact`."""
