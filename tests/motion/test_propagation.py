"""Covariance by the closed transition of a step, against T (3.13)–(3.24) with F and G of (3.60)–(3.63) written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grouser import rotation
from grouser.motion.noise import Noise
from grouser.motion.velocity import inputs_of, twists
from tests.motion import planted_logs as drives


def angle_rates(rpy):
    """Ω of T (A.9): rates of roll, pitch and yaw per body turn rate."""
    (sr, sp), (cr, cp) = np.sin(rpy[:2]), np.cos(rpy[:2])
    return np.array([[1.0, sr * sp / cp, cr * sp / cp], [0.0, cr, -sr], [0.0, sr / cp, cr / cp]])


def flow(x, twist):
    """Rates of (roll, pitch, yaw, x, y, z), T (3.55)."""
    return np.concatenate([angle_rates(x[:3]) @ twist[:3], rotation.from_rpy(*x[:3]) @ twist[3:]])


def slopes(x, twist):
    """F of T (3.60)–(3.62), with (3.61) as the errata write it out."""
    (sr, sp), (cr, cp) = np.sin(x[:2]), np.cos(x[:2])
    a, b = sr * twist[1] + cr * twist[2], cr * twist[1] - sr * twist[2]
    R = rotation.from_rpy(*x[:3])
    v = np.array([[0.0, -twist[5], twist[4]], [twist[5], 0.0, -twist[3]], [-twist[4], twist[3], 0.0]])
    F = np.zeros((6, 6))
    F[:3, :3] = [[b * sp / cp, a / cp**2, 0.0], [-a, 0.0, 0.0], [b / cp, a * sp / cp**2, 0.0]]
    F[3:, :3] = -R @ v @ np.linalg.inv(angle_rates(x[:3]))
    return F


def inputs(x):
    """G = V(q), T (3.63)."""
    G = np.zeros((6, 6))
    G[:3, :3], G[3:, 3:] = angle_rates(x[:3]), rotation.from_rpy(*x[:3])
    return G


def test_the_jacobians_of_the_thesis_are_those_of_its_motion():
    random = np.random.default_rng(0)
    for _ in range(20):
        x, twist = random.uniform(-0.8, 0.8, 6), random.uniform(-2.0, 2.0, 6)
        h = 1e-6
        F = np.stack([(flow(x + h * e, twist) - flow(x - h * e, twist)) / (2 * h) for e in np.eye(6)], axis=1)
        G = np.stack([(flow(x, twist + h * e) - flow(x, twist - h * e)) / (2 * h) for e in np.eye(6)], axis=1)
        np.testing.assert_allclose(slopes(x, twist), F, rtol=0.0, atol=1e-8)
        np.testing.assert_allclose(inputs(x), G, rtol=0.0, atol=1e-8)


def test_covariance_of_an_interval_is_that_of_the_thesis_with_attitude_known():
    """Roll and pitch are measured at every sample, so that their errors do not grow: their rows are zero."""
    Q = np.array([[4e-3, 1e-3, 5e-4], [1e-3, 2e-3, -3e-4], [5e-4, -3e-4, 1e-3]])
    noise = Noise(density=Q, form="full", grows="time")
    motion = drives.slipping(sensor=replace(drives.PRECISE, position_noise=1e-9, yaw_noise=1e-9), noise=noise)
    differences = []
    for dt in (0.02, 0.01):
        log = drives.winding_log(motion, dt=dt, seconds=4.0, tilt=0.4)
        problem = drives.problem_of(log, motion)
        t0, t1 = problem.intervals.times[0]
        rows = np.flatnonzero((log.time >= t0 - 1e-9) & (log.time <= t1 + 1e-9))
        twist, attitude = twists(motion.model, inputs_of(log, motion.vehicle)), log.attitude
        x, P = np.zeros(6), np.zeros((6, 6))
        for k in rows[:-1]:
            u = 0.5 * (twist[k] + twist[k + 1])
            x[:2] = 0.5 * (attitude[k] + attitude[k + 1])
            middle = x + 0.5 * dt * flow(x, u)
            middle[:2] = x[:2]
            F, G = slopes(middle, u), inputs(middle)
            F[:2], G[:2] = 0.0, 0.0
            step = np.eye(6) + F * dt  # (3.23)
            P = step @ P @ step.T + G[:, [3, 4, 2]] @ Q @ G[:, [3, 4, 2]].T * dt  # (3.22), (3.24)
            x = x + dt * flow(middle, u)
        expected = P[np.ix_([3, 4, 2], [3, 4, 2])]
        found = problem.covariance(motion, problem.errors(motion))[0]
        white = np.linalg.inv(np.linalg.cholesky(expected))
        differences.append(np.abs(white @ found @ white.T - np.eye(3)).max())
    assert differences[1] < 0.02
    assert differences[1] < 0.7 * differences[0]  # what is left is the thesis's own first-order step
