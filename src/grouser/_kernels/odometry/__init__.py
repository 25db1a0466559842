"""Kernels of `odometry`."""
