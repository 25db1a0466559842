"""Torque of soil about the axle: SciPy's quadrature, work of the stresses in the world, Bekker's compaction."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from grouser.contact import Ishigami, Pacejka, PiecewiseLinear, Table, law
from grouser.errors import SimulationError


def simulant(**more):
    """The law as T prints it, without a bow wave."""
    return Ishigami(**{"bow_wave": 0.0, **more})


R, B = 0.125, 0.1
WHEEL = {"radius": R, "width": B}
SHARP = simulant(smoothing=1e-9, points=40, damping=0.0)
ISOTROPIC = replace(SHARP, isotropic_shear=0.02)
FIRM = replace(SHARP, n=1.3, cohesion=200.0, sinkage_ratio=0.6)

# V_x, v_y, Rω [m/s], sinkage [m]: driving, rolling, braking, crabbing, spinning on the spot.
STATES = [
    (0.7, 0.0, 1.0, 0.010),
    (1.0, 0.0, 1.0, 0.020),
    (1.0, 0.0, 0.7, 0.015),
    (0.8, -0.3, 1.0, 0.012),
    (0.9, 0.4, 0.8, 0.025),
    (0.0, 0.1, 0.5, 0.018),
]


class Rim:
    """Stresses along the rim as T (C.19)–(C.29) print them, with the errata, for a wheel that travels in +x."""

    def __init__(self, soil, V, v_y, W, h):
        self.V, self.v_y, self.W = V, v_y, W
        self.soil = soil
        self.front = math.acos(1 - h / R)
        self.rear = -math.acos(1 - soil.sinkage_ratio * h / R)
        self.middle = (soil.a_0 + soil.a_1 * (W - V) / max(abs(W), abs(V))) * self.front

    def sigma(self, theta):
        soil = self.soil
        if theta < self.middle:
            share = (theta - self.rear) / (self.middle - self.rear)
            theta = self.front - share * (self.front - self.middle)
        rise = max(R * (math.cos(theta) - math.cos(self.front)), 0.0)
        return (soil.k_c / B + soil.k_phi) * rise**soil.n

    def tau(self, theta):
        """Along the rim ahead and to the left, on the wheel."""
        soil = self.soil
        strength = soil.cohesion + self.sigma(theta) * math.tan(soil.friction_angle)
        angle, sines = self.front - theta, math.sin(self.front) - math.sin(theta)
        j = np.array([R * (angle - self.V / self.W * sines), -R * angle * self.v_y / self.W])
        if soil.isotropic_shear:
            size = np.hypot(*j)
            return strength * -np.expm1(-size / soil.isotropic_shear) * j / max(size, 1e-300)
        beta = math.atan2(abs(self.v_y), abs(self.V))
        k = np.array([k.at_zero + k.growth * beta for k in (soil.shear_x, soil.shear_y)])
        return strength * np.sign(j) * -np.expm1(-abs(j) / k)

    def integral(self, integrand):
        """Over the rim's area in the soil; the kinks of stress and of shear are told to the quadrature."""
        kinks = [self.middle]
        if abs(self.V) > abs(self.W):  # a braked rim moves the soil ahead first, then back
            kinks.append(math.acos(self.W / self.V))
        return R * B * quad(integrand, self.rear, self.front, points=kinks, limit=400, epsabs=1e-12)[0]


def at(soil, V, v_y, W, h, v_z=0.0):
    return soil.torque([V - W, v_y, v_z], W, -h, **WHEEL)


@pytest.mark.parametrize("soil", [SHARP, ISOTROPIC, FIRM], ids=["simulant", "isotropic", "firm"])
@pytest.mark.parametrize("state", STATES)
def test_torque_is_the_moment_of_the_stresses(soil, state):
    rim = Rim(soil, *state)

    def moment(theta):
        # arm × stress about +y, both in the plane of the wheel; the motor turns it about +y
        x, z = R * math.sin(theta), -R * math.cos(theta)
        sigma, tau = rim.sigma(theta), rim.tau(theta)[0]
        along, up = tau * math.cos(theta) - sigma * math.sin(theta), tau * math.sin(theta) + sigma * math.cos(theta)
        return z * along - x * up

    # Two panels of 40 Gauss points; a kink of the shear stress within one leaves 1e-4 of the torque's scale.
    scale = R * soil.force([0, 0, 0], 1.0, -state[3], **WHEEL)[2]
    assert at(soil, *state) == pytest.approx(rim.integral(moment), rel=1e-6, abs=1e-4 * scale)


@pytest.mark.parametrize("soil", [SHARP, ISOTROPIC, FIRM], ids=["simulant", "isotropic", "firm"])
@pytest.mark.parametrize("state", STATES)
def test_force_is_the_sum_of_the_stresses(soil, state):
    """Thrust less compaction, lateral shear, and what carries the wheel: T (C.30)–(C.32) by SciPy."""
    V, v_y, W, h = state
    soil = replace(soil, ploughing=False)
    rim = Rim(soil, *state)
    expected = (
        rim.integral(lambda theta: rim.tau(theta)[0] * math.cos(theta) - rim.sigma(theta) * math.sin(theta)),
        rim.integral(lambda theta: rim.tau(theta)[1]),
        rim.integral(lambda theta: rim.tau(theta)[0] * math.sin(theta) + rim.sigma(theta) * math.cos(theta)),
    )
    force = soil.force([V - W, v_y, 0.0], W, -h, **WHEEL)
    assert force == pytest.approx(expected, rel=1e-6, abs=1e-4 * force[2])


@pytest.mark.parametrize("soil", [SHARP, ISOTROPIC], ids=["simulant", "isotropic"])
@pytest.mark.parametrize("state", STATES[:-1])
def test_the_motor_pays_for_pull_compaction_and_slip(soil, state):
    """−τ ω = f·V + the work that the rim does on the soil, point by point in the world's frame."""
    V, v_y, W, h = state
    soil = replace(soil, ploughing=False)
    rim, omega = Rim(soil, *state), W / R

    def stress(theta):
        sigma, (tau, side) = rim.sigma(theta), rim.tau(theta)
        s, c = math.sin(theta), math.cos(theta)
        return np.array([tau * c - sigma * s, side, tau * s + sigma * c])

    def velocity(theta):
        return np.array([V, v_y, 0]) + np.cross([0, omega, 0], [R * math.sin(theta), 0, -R * math.cos(theta)])

    into_soil = rim.integral(lambda theta: -stress(theta) @ velocity(theta))
    compaction = rim.integral(lambda theta: rim.sigma(theta) * V * math.sin(theta))
    slipping = rim.integral(lambda theta: rim.tau(theta)[0] * (W - V * math.cos(theta)) - rim.tau(theta)[1] * v_y)
    assert compaction + slipping == pytest.approx(into_soil, rel=1e-6)
    force = soil.force([V - W, v_y, 0.0], W, -h, **WHEEL)
    assert -at(soil, *state) * omega == pytest.approx(force[0] * V + force[1] * v_y + into_soil, rel=1e-3)


def test_without_slip_a_shallow_wheel_lacks_bekkers_compaction():
    """Soil that does not spring back (λ = 0) and presses as a plate does (θ_m = 0): b k h^(n+1)/(n+1) per metre."""
    soil = simulant(a_0=1e-6, a_1=0.0, sinkage_ratio=0.0, smoothing=1e-9, points=40)
    off = []
    for h in (4e-3, 1e-3, 0.25e-3):
        force = soil.force([0, 0, 0], 1.0, -h, **WHEEL)
        bekker = B * (soil.k_c / B + soil.k_phi) * h**2 / 2
        off.append((-at(soil, 1.0, 0.0, 1.0, h) / R - force[0]) / bekker - 1.0)
    # The rim's own slip, 1 − cos θ of its way, costs the rest: it falls with θ_f² or faster, h by h.
    assert 0.0 < off[2] < off[1] / 2 < off[0] / 4
    assert off[2] < 0.01


def test_soil_without_friction_compacts_and_turns_no_wheel():
    """A towed wheel: Bekker's resistance at the axle, no torque."""
    slick = simulant(
        a_0=1e-6, a_1=0.0, sinkage_ratio=0.0, cohesion=0.0, friction_angle=1e-9, n=1.2, smoothing=1e-9, points=40
    )
    h = 0.02
    bekker = B * (slick.k_c / B + slick.k_phi) * h**2.2 / 2.2
    assert slick.force([0, 0, 0], 1.0, -h, **WHEEL)[0] == pytest.approx(-bekker, rel=1e-4)
    assert abs(at(slick, 1.0, 0.0, 1.0, h)) < 1e-6


@pytest.mark.parametrize("state", STATES)
def test_backwards_it_resists_the_other_way(state):
    V, v_y, W, h = state
    ahead = at(simulant(), V, v_y, W, h)
    assert at(simulant(), -V, v_y, -W, h) == pytest.approx(-ahead, rel=1e-12)
    if W >= V:
        assert ahead < 0.0


def test_it_grows_and_vanishes_as_the_force_does():
    soil = simulant()
    base = at(soil, 0.8, 0.1, 1.0, 0.01)
    assert at(soil, 0.8, 0.1, 1.0, 0.01, v_z=0.1) == pytest.approx(0.75 * base, rel=1e-12)
    assert at(soil, 0.8, 0.1, 1.0, 0.01, v_z=0.5) == 0.0
    assert at(soil, 0.8, 0.1, 1.0, -0.01) == 0.0
    assert at(soil, 0.8, 0.1, 1.0, 2 * R) == pytest.approx(2 * at(soil, 0.8, 0.1, 1.0, R), rel=1e-12)
    assert abs(at(soil, 0.0, 0.0, 0.0, 0.01)) < 1e-12


def test_shapes_broadcast_as_those_of_the_force():
    v = np.zeros((4, 1, 3))
    torque = simulant().torque(v, [0.5, 1.0, -1.0], -0.01, **WHEEL)
    assert torque.shape == (4, 3)
    assert (torque[:, :2] < 0.0).all()
    assert (torque[:, 2] > 0.0).all()


def test_a_table_gives_the_torque_of_its_model():
    soil = simulant()
    table = Table(soil, **WHEEL)
    state = ([-0.2, 0.1, 0.0], 1.0, -0.015)
    assert table.torque(*state, **WHEEL) == table.torque(*state)
    r = np.random.default_rng(3)
    r_omega = r.choice((-1, 1), 5000) * r.uniform(0.5, 1.5, 5000)
    v = np.stack((r_omega * r.uniform(-0.8, 0.4, 5000), r.uniform(-0.4, 0.4, 5000), r.uniform(-0.05, 0.05, 5000)), -1)
    states = v, r_omega, -r.uniform(0.0, 0.04, 5000)
    exact = soil.torque(*states, **WHEEL)
    # As far off as its forces are: a per cent of the largest, a third of that in the mean.
    off = np.abs(table.torque(*states) - exact) / np.abs(exact).max()
    assert off.max() < 0.02
    assert np.sqrt(np.mean(off**2)) < 0.003
    with pytest.raises(SimulationError, match="made for a wheel radius"):
        table.torque(*state, radius=0.2)


@law
def pulling(v, r_omega, dz):
    return 3.0, 0.0, 10.0


def test_a_force_at_one_point_turns_the_wheel_at_its_radius():
    state = ([-0.2, 0.1, 0.0], 1.0, -0.015)
    load = {"load": 100.0}
    tyre = Pacejka().torque(*state, **WHEEL, **load)
    assert tyre == pytest.approx(-R * Pacejka().force(*state, **WHEEL, **load)[0])
    assert pulling.torque(*state, radius=0.5) == pytest.approx(-1.5)


def test_rolling_resistance_turns_a_wheel_back_without_pull():
    """Its force on the body is −C_rr Rω and its moment on the wheel R C_rr Rω more: the body's way pays it."""
    free, dragging = PiecewiseLinear(stiffness=1e4), PiecewiseLinear(stiffness=1e4, rolling_resistance=7.0)
    state = ([0.0, 0.0, 0.0], 2.0, -0.01)
    assert free.torque(*state, radius=R) == 0.0
    assert dragging.force(*state, radius=R)[0] == pytest.approx(-14.0)
    assert dragging.torque(*state, radius=R) == pytest.approx(0.0)


def test_a_torque_needs_a_radius():
    with pytest.raises(SimulationError, match="radius"):
        PiecewiseLinear(stiffness=1e4).torque([0, 0, 0], 1.0, -0.01)
    with pytest.raises(SimulationError, match="no radius"):
        simulant().torque([0, 0, 0], 1.0, -0.01)
