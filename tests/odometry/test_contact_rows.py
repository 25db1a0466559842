"""Rows of the contact-angle filter and their Jacobians against differences, and its memory between samples."""

from __future__ import annotations

import math

import numpy as np
import pytest

import grouser as gr
from grouser._compile.jit import entry
from grouser._kernels.odometry import contact_angles
from grouser._kernels.vehicles.frames import pose_frames
from grouser.odometry import ContactAngleEstimator

SMALL = 1e-6


@entry
def equations(f):
    pose_frames(f.vehicle, f.q, f.s)
    contact_angles.hub_jacobians(f)
    return contact_angles.step_equations(f)


@entry
def after_a_while(f):
    contact_angles.rim_speeds(f.vehicle, f.rates, f.rim)
    contact_angles.fade(f)
    contact_angles.contact_weights(f)


@entry
def remembered(f):
    return contact_angles.remember(f)


def general(name: str, seed: int):
    """A filter whose state, velocities, angles, rows and prior are in general position."""
    vehicle = gr.vehicle(name)
    f = ContactAngleEstimator(vehicle)._filter
    random = np.random.default_rng(seed)
    nw, nj = vehicle.n_wheels, vehicle.n_joints
    f.q[7:] = random.normal(0.0, 0.2, nj)
    open_joints = np.flatnonzero(random.random(nj) < 0.4)
    f.sample.unknown = 6 + len(open_joints)
    f.unknown[: f.sample.unknown] = np.concatenate([np.arange(6), 6 + open_joints])
    f.found_v[:], f.found_psi[:] = random.normal(0.0, 1.0, 6 + nj), random.normal(0.0, 0.3, nw)
    f.mean[:], f.weight[:] = random.normal(0.0, 0.1, nw), random.uniform(0.5, 2.0, (nw, 3))
    root = random.normal(0.0, 1.0, (nw, nw))
    f.prior[:], f.looseness[:] = root @ root.T, random.uniform(0.1, 1.0, 6 + nj)
    f.coupling[:] /= 1e3
    f.sample.turns = 3
    f.sample.turn_rows[:], f.sample.turn[:] = random.normal(0.0, 1.0, (3, 3)), random.normal(0.0, 1.0, 3)
    return f


def entries(f):
    """Views of what is unknown: velocities, then angles."""
    chosen = [(f.found_v, int(k)) for k in f.unknown[: f.sample.unknown]]
    return chosen + [(f.found_psi, w) for w in range(len(f.found_psi))]


def differences(f, value):
    """∂value/∂(unknown velocities, angles)."""
    out = []
    for array, k in entries(f):
        ends = []
        for sign in (1.0, -1.0):
            array[k] += sign * SMALL
            ends.append(value())
            array[k] -= sign * SMALL
        out.append((ends[0] - ends[1]) / (2.0 * SMALL))
    return np.array(out)


@pytest.mark.parametrize("name", ["lru2", "zoe", "husky"])
@pytest.mark.parametrize("seed", [0, 1])
def test_right_side_is_the_slope_of_the_sum_of_squares(name, seed):
    f = general(name, seed)
    n, size = f.sample.unknown, f.sample.unknown + len(f.psi)

    def half():
        loose = f.looseness[f.unknown[:n]] * f.found_v[f.unknown[:n]] ** 2
        return 0.5 * (equations(f) + loose.sum())

    expected = differences(f, half)
    equations(f)
    np.testing.assert_allclose(-f.g[:size], expected, rtol=0.0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["lru2", "zoe", "husky"])
def test_each_row_is_the_slope_of_its_residual(name):
    """With one row alone M is its square; its residual is the root of the sum of squares, up to the sign."""
    f = general(name, 3)
    size = f.sample.unknown + len(f.psi)
    f.prior[:], f.looseness[:], f.sample.turns = 0.0, 0.0, 0
    coupling, f.coupling[:] = f.coupling.copy(), 0.0
    weight = f.weight.copy()
    rows = [(w, r) for w in range(len(f.psi)) for r in range(3)]
    for w, r in rows:
        f.weight[:] = 0.0
        f.weight[w, r] = weight[w, r]
        J = differences(f, lambda: math.sqrt(equations(f)))
        equations(f)
        np.testing.assert_allclose(np.triu(f.M[:size, :size]), np.triu(np.outer(J, J)), rtol=0.0, atol=1e-6)
        assert np.abs(J).max() > 0.01
    f.weight[:] = 0.0
    for k in range(len(coupling)):
        f.coupling[:] = 0.0
        f.coupling[k] = coupling[k]
        J = differences(f, lambda: math.sqrt(equations(f)))
        equations(f)
        np.testing.assert_allclose(np.triu(f.M[:size, :size]), np.triu(np.outer(J, J)), rtol=0.0, atol=1e-6)


def test_contact_rows_are_the_velocity_of_the_contact_point():
    """Of points of the engine's own contacts, at the same angles."""
    f = general("lru2", 5)
    f.prior[:], f.looseness[:], f.sample.turns, f.coupling[:] = 0.0, 0.0, 0, 0.0
    vehicle = gr.vehicle("lru2")
    state = f.q.copy()
    J = gr.collision.contacts(vehicle, state, angles=-f.found_psi).jacobian
    moving = J @ f.found_v
    weight = f.weight.copy()
    for w in range(4):
        for r in range(3):
            f.weight[:] = 0.0
            f.weight[w, r] = weight[w, r]
            assert math.sqrt(equations(f)) == pytest.approx(weight[w, r] * abs(moving[w, r]), abs=1e-9)


def test_memory_fades_with_the_way_and_slip_that_lasts_counts_once():
    vehicle = gr.vehicle("husky")
    f = ContactAngleEstimator(vehicle, length=0.5, spread=0.2, slip=0.02, sideslip=0.3, rate_noise=0.1)._filter
    f.rates[:] = [2.0, -3.0, np.nan, 1.0]
    radius = vehicle.arrays.radius
    rim = np.array([2.0, 3.0, 2.0, 1.0]) * radius[0]
    order = vehicle.arrays.wheel - 1
    random = np.random.default_rng(1)
    psi, rate = random.normal(0.0, 0.2, 4), random.normal(0.0, 0.3, 4)
    root = random.normal(0.0, 0.1, (4, 4))
    f.psi[:], f.carrier_rate[:], f.P[:], f.sample.dt = psi, rate, root @ root.T, 0.1
    after_a_while(f)
    rim = rim[order]
    keep = np.exp(-rim * 0.1 / 0.5)
    np.testing.assert_allclose(f.psi, keep * (psi + 0.1 * rate), rtol=1e-12)
    expected = np.outer(keep, keep) * (root @ root.T) + np.diag(0.2**2 * (1.0 - keep**2))
    np.testing.assert_allclose(f.P, expected, rtol=1e-10)
    speed = rim + 0.01
    slipped = speed * np.sqrt(np.maximum(0.5 / (speed * 0.1), 1.0))
    np.testing.assert_allclose(f.weight[:, 0], 1.0 / np.hypot(0.1 * radius, 0.02 * slipped), rtol=1e-12)
    np.testing.assert_allclose(f.weight[:, 1], 1.0 / (0.3 * slipped), rtol=1e-12)
    np.testing.assert_allclose(f.weight[:, 2], 1.0 / (0.02 * slipped), rtol=1e-12)
    assert remembered(f)
    np.testing.assert_allclose(f.prior @ f.P, np.eye(4), rtol=0.0, atol=1e-9)


def test_covariance_of_the_angles_is_that_of_the_linearised_problem():
    """The lower right of the inverse of M at the solution."""
    vehicle = gr.vehicle("lru2")
    estimator = ContactAngleEstimator(vehicle)
    rates = np.zeros(vehicle.n_joints)
    rates[vehicle.arrays.wheel - 1] = [4.0, 4.1, 3.9, 4.05]
    for k in range(3):
        estimator.update(0.05 * k, rates, np.zeros(vehicle.n_joints), (0.0, 0.0), gyro=(0.01, 0.05, -0.02))
    f = estimator._filter
    assert f.sample.surprise < 4.0
    n, nw = f.sample.unknown, len(f.psi)
    P = f.P.copy()
    f.found_v[:], f.found_psi[:] = f.v, f.psi
    f.P[:] = P
    # The prior of the last sample was overwritten: it is the inverse less what the rows give.
    f.prior[:] = 0.0
    equations(f)
    M = np.triu(f.M[: n + nw, : n + nw])
    M = M + M.T - np.diag(np.diag(M))
    by_rows = M[n:, n:] - M[n:, :n] @ np.linalg.solve(M[:n, :n], M[:n, n:])
    prior = np.linalg.inv(P) - by_rows
    np.testing.assert_allclose(prior, prior.T, rtol=0.0, atol=1e-6 * np.abs(prior).max())
    assert np.linalg.eigvalsh(0.5 * (prior + prior.T)).min() > 0.0
    np.testing.assert_allclose(estimator.sigma, np.sqrt(np.diag(P)))
    # Carriers turn with all that carries them: without the spin of the wheels themselves.
    spin = np.zeros(len(f.v))
    spin[5 + vehicle.arrays.wheel] = f.v[5 + vehicle.arrays.wheel]
    np.testing.assert_allclose(f.carrier_rate, f.hub[:, 4] @ (f.v - spin), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(
        f.carrier_rate, 0.05, rtol=0.0, atol=0.02
    )  # level, unsteered: the pitch rate of the gyro


def test_at_equal_rates_without_turning_the_covariance_is_the_inverse_of_m():
    """The first sample: the prior is known, that of a ground that is not."""
    vehicle = gr.vehicle("husky")
    estimator = ContactAngleEstimator(vehicle, spread=0.25)
    estimator.update(0.0, np.full(vehicle.n_joints, 4.0), np.zeros(vehicle.n_joints), gyro=(0.0, 0.1, 0.0))
    f = estimator._filter
    n, nw = f.sample.unknown, len(f.psi)
    P = f.P.copy()
    f.found_v[:], f.found_psi[:], f.mean[:], f.prior[:] = f.v, f.psi, 0.0, np.eye(nw) / 0.25**2
    equations(f)
    M = np.triu(f.M[: n + nw, : n + nw])
    inverse = np.linalg.inv(M + M.T - np.diag(np.diag(M)))
    np.testing.assert_allclose(P, inverse[n:, n:], rtol=1e-4, atol=1e-7)
