"""A simulated run driven slower and with stops, along the same path: time is stretched, and stands still at a stop.

The kinematic engine creeps where its constraints contradict each other a little, also when no wheel turns; stretched
time stands exactly. Rates shrink with time, slip per distance stays what it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import make_interp_spline

from experiments.true_path import TruePath
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.simulation import Run
from grouser.vehicles import Vehicle


@dataclass(frozen=True, eq=False)
class Motion:
    """What a vehicle did, n samples evenly spaced in time."""

    vehicle: Vehicle
    """That moved."""
    time: FloatArray
    """(n,) [s]."""
    path: TruePath
    """Of its body."""
    joints: FloatArray
    """Displacements, (n, nj)."""
    rates: FloatArray
    """(n, nj)."""


def with_stops(run: Run, stops: Sequence[tuple[float, float]], *, ramp: float = 1.0, smoothing: float = 0.05) -> Motion:
    """Drive a run from its first stop to its last.

    stops: time in the run and how long to stand there [s], rising, at least two. Speed rises and falls within
    `ramp` [s]. `smoothing` [s] takes the steps out of the run's velocity (see `TruePath`).
    """
    at = np.array([stop[0] for stop in stops], dtype=np.float64)
    if len(at) < 2 or (np.diff(at) < ramp).any() or at[0] < run.time[0] or at[-1] > run.time[-1] + 1e-9:
        raise SimulationError(
            f"stops: {len(at)} given; need at least two within the run, each {ramp:g} s or more after the one before"
        )
    knots, factor = [0.0], [0.0]
    for (_, rest), length in zip(stops[:-1], np.diff(at), strict=True):
        for seconds, value in ((rest, 0.0), (ramp, 1.0), (length - ramp, 1.0), (ramp, 0.0)):
            knots.append(knots[-1] + seconds)
            factor.append(value)
    knots.append(knots[-1] + stops[-1][1])
    factor.append(0.0)
    dt = float(run.time[1] - run.time[0])
    time: FloatArray = dt * np.arange(round(knots[-1] / dt) + 1, dtype=np.float64)
    speed = _smooth(time, np.array(knots), np.array(factor))
    fine: FloatArray = dt / 10.0 * np.arange(10 * (len(time) - 1) + 1, dtype=np.float64)
    pace = _smooth(fine, np.array(knots), np.array(factor))
    passed = np.concatenate([[0.0], np.cumsum(0.5 * (pace[1:] + pace[:-1]) * dt / 10.0)])[::10]
    there = np.clip(at[0] + passed, run.time[0], run.time[-1])
    original = TruePath(run.time, run.position, run.quaternion, smoothing=smoothing)
    path = TruePath(time, original.position(there), original.quaternion(there))
    joints = make_interp_spline(run.time, run.joints, 1)(there)
    rates = make_interp_spline(run.time, run.velocity[:, 6:], 1)(there) * speed[:, None]
    return Motion(run.vehicle, time, path, np.ascontiguousarray(joints), rates)


def _smooth(t: FloatArray, knots: FloatArray, values: FloatArray) -> FloatArray:
    """Values at the knots, joined by steps with two continuous derivatives."""
    k = np.clip(np.searchsorted(knots, t, side="right") - 1, 0, len(knots) - 2)
    part = np.clip((t - knots[k]) / np.maximum(knots[k + 1] - knots[k], 1e-12), 0.0, 1.0)
    bend = part**3 * (10.0 - 15.0 * part + 6.0 * part**2)
    smooth: FloatArray = values[k] + bend * (values[k + 1] - values[k])
    return smooth
