"""Spread of the parameters between grounds, for draws on another ground than that of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.kinematics import Kinematics
from grouser.logs.log import IntArray
from grouser.motion.fit import Fit
from grouser.motion.parameters import ParameterVector
from grouser.motion.spread import GroundSpread, default_spread, of_ground
from grouser.motion.velocity import Inputs, twists
from grouser.once import once_each
from grouser.simulation import drive
from grouser.simulation.simulate import simulate
from grouser.terrain import plane
from grouser.vehicles import Vehicle

ARCS = ((1.0, 0.0), (1.0, 0.3), (1.0, -0.3), (0.5, 0.2), (1.5, -0.3))
"""Speeds [m/s] and turn rates [rad/s] on which the parameters are changed."""
STEP, STEADY = 0.05, 60
"""Of these drives: step [s], and steps until wheels have steered to them."""
MODEL = "model."
"""How gains of planar baselines begin, which are of the ground as slip is."""


@once_each
def ground_spread(fit: Fit) -> FloatArray:
    """Covariance (n, n) between grounds of the systematic parameters of a fit, as predictions of another log have it.

    Of several logs the fit knows it. Otherwise, where attitude is an input, it is the change of parameters that comes
    nearest to the speeds and turn rates of `GroundSpread` on a few arcs; else `default_spread`.
    """
    if fit.spread is not None:
        return fit.spread
    if not fit.model.velocity_driven:
        return default_spread(fit.systematic, fit.vector)
    n = len(fit.systematic)
    free = [k for k, p in enumerate(fit.systematic) if of_ground(p.name) or p.name.startswith(MODEL)]
    if not free:
        return np.zeros((n, n))
    inputs, last = _arcs(fit.model.vehicle)
    vector = ParameterVector(fit.model, [p.name for p in fit.systematic])
    x = fit.vector[:n]

    def velocities(values: FloatArray) -> FloatArray:
        model: Any = vector.model(values).model  # no dynamics: that stands on a ground
        return twists(model, inputs)[last]

    present = velocities(x)
    sigma = np.array([fit.systematic[k].sigma for k in free])
    slopes = []
    for k, size in zip(free, sigma, strict=True):
        other = x.copy()
        other[k] += 1e-3 * size
        slopes.append((velocities(other) - present) / 1e-3)
    axes = [2, 3]  # turn rate and speed
    J = np.array(slopes)[:, :, axes].reshape(len(free), -1).T
    spread = GroundSpread()
    wanted = spread.slopes(present)[:, axes].reshape(-1, 3)
    # In units of prior sigmas, and of these the smallest change: what arcs do not separate is shared.
    change = sigma[:, None] * np.linalg.solve(J.T @ J + 1e-6 * np.eye(len(free)), J.T @ wanted)
    out = np.zeros((n, n))
    out[np.ix_(free, free)] = change @ spread.covariance @ change.T
    return out


@once_each
def _arcs(vehicle: Vehicle) -> tuple[Inputs, IntArray]:
    """Steady drives one after another on a plane, and where each ends."""
    rolling, level = Kinematics(vehicle), plane()
    rates, angles = [], []
    for speed, turn in ARCS:
        run = simulate(rolling, level, drive.twist(speed, 0.0, turn), duration=STEADY * STEP, dt=STEP)
        rates.append(np.repeat(run.velocity[-1:, 6:], STEADY, axis=0))
        angles.append(np.repeat(run.state[-1:, 7:], STEADY, axis=0))
    time = STEP * np.arange(STEADY) + 10.0 * np.arange(len(ARCS))[:, None]
    attitude = np.zeros((time.size, 2))
    inputs = Inputs(time=time.ravel(), attitude=attitude, rates=np.concatenate(rates), angles=np.concatenate(angles))
    return inputs, STEADY * np.arange(1, len(ARCS) + 1) - 1
