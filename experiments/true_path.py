"""A true path to judge estimates by: smooth, with velocities and accelerations that belong to it exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline
from scipy.ndimage import gaussian_filter1d

from grouser import checks, rotation
from grouser.checks import FloatArray
from grouser.errors import SimulationError

DEGREE = 5


class TruePath:
    """Pose of a body over time as quintic splines.

    A run of the engine has small steps in its velocity, whose derivative no accelerometer would show; smoothing by a
    few hundredths of a second takes them out. What is left is the truth: its derivatives are exact.
    """

    def __init__(self, time: ArrayLike, position: ArrayLike, quaternion: ArrayLike, *, smoothing: float = 0.0) -> None:
        """time (n,) evenly spaced [s], position (n, 3) [m], quaternion (n, 4); smoothing: sigma of a Gaussian [s]."""
        t = checks.array(time, "time", (None,))
        p = checks.array(position, "position", (len(t), 3))
        q = checks.array(quaternion, "quaternion", (len(t), 4))
        if len(t) <= DEGREE or not np.allclose(np.diff(t), t[1] - t[0]):
            raise SimulationError(f"time: a true path needs more than {DEGREE} evenly spaced times")
        flip = np.cumprod(np.where((q[1:] * q[:-1]).sum(axis=1) < 0.0, -1.0, 1.0))
        q[1:] *= flip[:, None]
        if smoothing > 0.0:
            sigma = smoothing / (t[1] - t[0])
            p = gaussian_filter1d(p, sigma, axis=0, mode="nearest")
            q = gaussian_filter1d(q, sigma, axis=0, mode="nearest")
        self.start, self.end = float(t[0]), float(t[-1])
        self._p = [make_interp_spline(t, p, DEGREE)]
        self._q = [make_interp_spline(t, q, DEGREE)]
        for splines in (self._p, self._q):
            splines += [splines[0].derivative(1), splines[0].derivative(2)]

    def position(self, t: ArrayLike) -> FloatArray:
        """World [m], (n, 3)."""
        return np.asarray(self._p[0](t))

    def velocity(self, t: ArrayLike) -> FloatArray:
        """World [m/s], (n, 3)."""
        return np.asarray(self._p[1](t))

    def quaternion(self, t: ArrayLike) -> FloatArray:
        """Orientation w x y z, (n, 4)."""
        q = np.asarray(self._q[0](t))
        unit: FloatArray = q / np.linalg.norm(q, axis=-1, keepdims=True)
        return unit

    def rate(self, t: ArrayLike) -> FloatArray:
        """Turn rate ω = 2 Im(q̄ q̇)/|q|² in body axes [rad/s], (n, 3)."""
        q = np.asarray(self._q[0](t))
        rate: FloatArray = _imaginary(q, np.asarray(self._q[1](t))) * 2.0 / (q * q).sum(axis=-1, keepdims=True)
        return rate

    def twist(self, t: ArrayLike) -> FloatArray:
        """(ω, v) in body axes at the body's origin, (n, 6)."""
        R = rotation.from_quaternion(self.quaternion(t))
        return np.concatenate([self.rate(t), np.einsum("nji,nj->ni", R, self.velocity(t))], axis=1)

    def specific_force(self, t: ArrayLike, place: ArrayLike = (0.0, 0.0, 0.0), gravity: float = 9.81) -> FloatArray:
        """What an accelerometer at a place in the body [m] shows, body axes [m/s²], (n, 3)."""
        q, dq, ddq = (np.asarray(spline(t)) for spline in self._q)
        square = (q * q).sum(axis=-1, keepdims=True)
        rate = 2.0 * _imaginary(q, dq) / square
        change = 2.0 * _imaginary(q, ddq) / square - 2.0 * rate * (q * dq).sum(axis=-1, keepdims=True) / square
        r = np.broadcast_to(np.asarray(place, dtype=np.float64), rate.shape)
        R = rotation.from_quaternion(q)
        free = np.asarray(self._p[2](t)) + np.array([0.0, 0.0, gravity])
        force: FloatArray = np.einsum("nji,nj->ni", R, free) + np.cross(change, r) + np.cross(rate, np.cross(rate, r))
        return force

    def length(self) -> float:
        """Distance driven [m]."""
        t = np.arange(self.start, self.end, 0.02)
        return float(np.linalg.norm(np.diff(self.position(t), axis=0), axis=1).sum())


def _imaginary(q: FloatArray, d: FloatArray) -> FloatArray:
    """Vector part of q̄ d."""
    w, u = q[..., :1], q[..., 1:]
    return w * d[..., 1:] - d[..., :1] * u - np.cross(u, d[..., 1:])
