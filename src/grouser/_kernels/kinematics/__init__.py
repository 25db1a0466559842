"""Kernels of `kinematics`."""
