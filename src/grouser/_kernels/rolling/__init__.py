"""Kernels of `rolling`."""
