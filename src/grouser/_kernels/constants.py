"""Constants of nature. Kernels and packages take them from here."""

GRAVITY = 9.81
"""Acceleration of free fall on Earth [m/s²]: the default wherever gravity can be set."""
