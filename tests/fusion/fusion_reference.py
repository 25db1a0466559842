"""The fusion filter's state, error and motion once more in NumPy, and a memory in general position."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from grouser._kernels.fusion.memory import Drive
from grouser.fusion.settings import FusionSettings

GRAVITY = np.array([0.0, 0.0, -9.81])
READING = np.array([0.5, -0.4, 0.7, 1.2, -0.8, 9.3])
"""Rates [rad/s] and specific force [m/s²]."""
SETTINGS = FusionSettings(imu_position=(0.3, -0.2, 0.4), wheel_point=(-0.1, 0.25, -0.5), slip_arm=0.6, history=0.3)


def skew(v):
    """[v]×."""
    return np.cross(np.eye(3), v)


def exponential(r):
    """Matrix of a rotation vector."""
    return Rotation.from_rotvec(r).as_matrix()


def logarithm(R):
    """Rotation vector of a matrix."""
    return Rotation.from_matrix(R).as_rotvec()


def quaternion(R):
    """w x y z of a matrix."""
    return Rotation.from_matrix(R).as_quat()[[3, 0, 1, 2]]


def from_quaternion(q):
    """Matrix of w x y z."""
    return Rotation.from_quat(np.asarray(q)[[1, 2, 3, 0]]).as_matrix()


@dataclass(frozen=True)
class State:
    """R, v, p of the IMU in the world; the rest as in the filter."""

    R: np.ndarray
    v: np.ndarray
    p: np.ndarray
    gyro_bias: np.ndarray
    acceleration_bias: np.ndarray
    slip: np.ndarray
    lasting: np.ndarray

    def moved(self, xi):
        """The true state of an estimate with the error ξ (21): Exp(ξ) χ, the rest plus its error."""
        turn = exponential(xi[:3])
        # ∫₀¹ exp(s [θ]×) ds from one exponential of a larger matrix
        J = expm(np.block([[skew(xi[:3]), np.eye(3)], [np.zeros((3, 6))]]))[:3, 3:]
        return State(
            turn @ self.R,
            turn @ self.v + J @ xi[3:6],
            turn @ self.p + J @ xi[6:9],
            self.gyro_bias + xi[9:12],
            self.acceleration_bias + xi[12:15],
            self.slip + xi[15:18],
            self.lasting + xi[18:],
        )

    def error(self, other):
        """First-order ξ of another state that is the true one."""
        theta = logarithm(other.R @ self.R.T)
        return np.concatenate(
            [
                theta,
                other.v - self.v - np.cross(theta, self.v),
                other.p - self.p - np.cross(theta, self.p),
                other.gyro_bias - self.gyro_bias,
                other.acceleration_bias - self.acceleration_bias,
                other.slip - self.slip,
                other.lasting - self.lasting,
            ]
        )

    def after(self, seconds, reading=READING, steps=40):
        """The state a time later, or earlier if negative, with constant readings: midpoints of small steps."""
        R, v, p, h = self.R, self.v, self.p, seconds / steps
        rate, force = reading[:3] - self.gyro_bias, reading[3:] - self.acceleration_bias
        for _ in range(steps):
            middle = R @ exponential(0.5 * h * rate)
            acceleration = middle @ force + GRAVITY
            p = p + h * v + 0.5 * h * h * acceleration
            v = v + h * acceleration
            R = R @ exponential(h * rate)
        return replace(self, R=R, v=v, p=p)


STATE = State(
    exponential([0.4, -0.7, 1.1]),
    np.array([1.1, -0.7, 0.4]),
    np.array([3.0, -2.0, 1.5]),
    np.array([0.02, -0.03, 0.05]),
    np.array([0.1, -0.2, 0.15]),
    np.array([0.11, -0.07, 0.13]),
    np.array([-0.04, 0.06, 0.05]),
)


def put(state, m):
    """Set the filter's state."""
    x = m.state
    x.quaternion, x.velocity, x.position = quaternion(state.R), state.v, state.p
    x.gyro_bias, x.acceleration_bias = state.gyro_bias, state.acceleration_bias
    x.slip, m.parameters[:] = state.slip, state.lasting


def get(m):
    """The filter's state."""
    x = m.state
    copies = (x[name].copy() for name in ("velocity", "position", "gyro_bias", "acceleration_bias", "slip"))
    return State(from_quaternion(x.quaternion), *copies, m.parameters.copy())


def put_then(state, m, time=0.0):
    """Set the state at the time of a measurement."""
    m.then.time, m.then.quaternion = time, quaternion(state.R)
    m.then.velocity, m.then.position, m.then.gyro = state.v, state.p, READING[:3]


def general_memory(state=STATE, settings=SETTINGS, seed=0):
    """A filter's memory that has begun at time 10 s, with a state, readings and a covariance without any zeros."""
    m = settings.memory(0.3)
    put(state, m)
    m.imu.now, m.imu.newest, m.imu.average = READING, READING, READING
    m.clock.now = m.clock.newest = 10.0
    m.clock.step = 0.01
    m.clock.calm = np.nan
    for source in (m.wheels, m.poses, m.gps, m.headings):
        source.since = np.nan
    m.clock.rested = np.inf
    m.clock.gps = m.clock.headings = -np.inf
    m.counts.ready = m.counts.started = 1
    m.correction.quaternion[0] = 1.0
    root = np.random.default_rng(seed).normal(0.0, 1e-2, (21, 30))
    m.covariance[:21, :21] = root @ root.T
    return m


def one_event(**fields):
    """A drive of one event."""
    drive = Drive.zeros(n=1, rows=1, every=0, slopes=0, k=3)
    for name, value in fields.items():
        drive.events[0][name] = value
    return drive


def differences(function, size, step=1e-6):
    """Jacobian of a function of an error (size,), by central differences at zero."""
    columns = []
    for k in range(size):
        e = np.zeros(21)
        e[k] = step
        columns.append((function(e) - function(-e)) / (2.0 * step))
    return np.array(columns).T


def assert_blocks(found, expected, rows=3, tolerance=0.02):
    """Every block of three columns agrees within a share of its own largest entry, so that small ones count, too."""
    assert found.shape == expected.shape
    for i in range(0, found.shape[0], rows):
        for j in range(0, found.shape[1], 3):
            a, b = found[i : i + rows, j : j + 3], expected[i : i + rows, j : j + 3]
            limit = tolerance * np.abs(b).max() + 1e-8
            assert np.abs(a - b).max() < limit, f"rows {i}…, columns {j}…\n{a}\n{b}"
