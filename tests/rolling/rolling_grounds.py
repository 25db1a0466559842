"""Smooth grounds and vehicles that the tests of rolling vehicles share."""

import math

import numpy as np

import grouser as gr
from grouser.rolling import RollingModel

SPLINE_X = np.linspace(-4.0, 12.0, 65)
SPLINE_Y = np.linspace(-6.0, 6.0, 49)


def bumps(x, y):
    """Waves along and across with their exact derivatives, heights within ±0.35 m, slopes up to 17°."""
    a, b = 0.7 * x + 0.3 * y + 0.4, 0.2 * x - 0.8 * y
    sa, ca, sb, cb = math.sin(a), math.cos(a), math.sin(b), math.cos(b)
    return (
        0.2 * sa + 0.15 * cb,
        0.14 * ca - 0.03 * sb,
        0.06 * ca + 0.12 * sb,
        -0.098 * sa - 0.006 * cb,
        -0.042 * sa + 0.024 * cb,
        -0.018 * sa - 0.096 * cb,
    )


def bumpy():
    """The waves as a formula, compiled in this process."""
    return gr.terrain.law(bumps)


def bumpy_spline():
    """The waves as a spline: compiled once and kept, and it can be moved, mirrored and saved."""
    heights = np.array([[bumps(x, y)[0] for y in SPLINE_Y] for x in SPLINE_X])
    return gr.terrain.spline(heights, SPLINE_X, SPLINE_Y)


def drive(vehicle, rate=1.0):
    """Desired rates: every wheel turns alike, all other joints rest."""
    return dict.fromkeys(vehicle.wheels, rate)


def model_of(name, ground, **options):
    return RollingModel(gr.vehicle(name), ground, **options)
