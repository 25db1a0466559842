"""Kernels of calibration while driving."""
