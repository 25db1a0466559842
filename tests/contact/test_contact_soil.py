"""Ishigami's wheel in soil: published and worked-out values, convergence, sinkage to the axle."""

from dataclasses import replace

import numpy as np
import pytest

from grouser.contact import Ishigami, ShearModulus


def simulant(**more):
    """The law as T prints it, without a bow wave."""
    return Ishigami(**{"bow_wave": 0.0, **more})


WHEEL = {"radius": 0.09, "width": 0.11}
SHARP = simulant(smoothing=1e-9, points=12)
MM = 1e-3


def at_slip(model, s, h=10 * MM):
    """Force at slip ratio −v_x/(Rω) with a rim speed of 1 m/s."""
    s = np.asarray(s, dtype=float)
    return model.force(np.stack((-s, 0 * s, 0 * s), -1), 1.0, -h, **WHEEL)


def test_normal_force_over_sinkage():
    f = SHARP.force(np.zeros(3), 1.0, -np.array([3, 5, 10, 15, 20]) * MM, **WHEEL)
    np.testing.assert_allclose(f[:, 2], [6.0, 13.0, 36.2, 65.9, 100.3], rtol=0.0, atol=0.051)
    assert (f[:4, 0] < 0).all()
    assert f[4, 0] > 0


def test_longitudinal_force_over_slip():
    f = at_slip(SHARP, [0, 0.1, 0.2, 0.4, 0.6, 1 - 1e-9])
    np.testing.assert_allclose(f[:, 0], [-0.59, 2.5, 5.1, 9.1, 11.9, 14.9], rtol=0.0, atol=0.051)
    assert f[-1, 2] == pytest.approx(28.4, abs=0.05)
    assert (np.diff(f[:, 2]) < 0).all()


def test_braking_force():
    np.testing.assert_allclose(at_slip(SHARP, [-0.1, -0.3])[:, 0], [-4.1, -10.2], rtol=0.0, atol=0.051)
    # The check value −25 N at s = −1 has θ_m at s = −1; bounded by the larger speed it is at s̄ = −.5.
    assert at_slip(replace(SHARP, a_1=0.30), -1.0)[0] == pytest.approx(-25.0, abs=0.05)


def test_quadrature_converges():
    r = np.random.default_rng(6)
    n = 2000
    r_omega = r.uniform(-1, 1, n)
    v = np.stack((r_omega * r.uniform(-0.4, 0.9, n), r.uniform(-0.3, 0.3, n), np.zeros(n)), -1)
    v[:, 0] *= -1
    dz = -r.uniform(1, 30, n) * MM
    exact = replace(simulant(), points=32).force(v, r_omega, dz, **WHEEL)
    errors = []
    for points in (2, 3, 4, 6, 8):
        off = replace(simulant(), points=points).force(v, r_omega, dz, **WHEEL) - exact
        errors.append(np.quantile(np.abs(off).max(axis=1) / exact[:, 2], 0.99))
    assert errors[1] < 3e-4
    assert errors[2] < 3e-5
    # Slower beyond: where a braked wheel's rim changes its sense of slip, the shear stress has a kink.
    assert errors[-1] < 3e-6
    assert (np.diff(errors) < 0).all()


def by_hand(s, h, R=0.09, b=0.11):
    """T (C.19)–(C.32) as printed for 0 ≤ s < 1, β = 0, by the midpoint rule."""
    c, tan_phi, pressure = 800.0, np.tan(np.radians(37.2)), R * (1.37e3 / b + 8.14e5)
    f = np.arccos(1 - h / R)
    r = -f
    m = (0.40 + 0.15 * s) * f
    n = 20_000
    edges = np.linspace(r, f, n + 1)
    theta = 0.5 * (edges[1:] + edges[:-1])
    front = np.where(theta >= m, theta, f - (theta - r) / (m - r) * (f - m))
    sigma = pressure * (np.cos(front) - np.cos(f))
    j = R * (f - theta - (1 - s) * (np.sin(f) - np.sin(theta)))
    tau = (c + sigma * tan_phi) * (1 - np.exp(-j / 0.036))
    d = (f - r) / n
    x = R * b * np.sum(tau * np.cos(theta) - sigma * np.sin(theta)) * d
    z = R * b * np.sum(tau * np.sin(theta) + sigma * np.cos(theta)) * d
    return x, z


@pytest.mark.parametrize("s", [0.0, 0.3, 0.8])
def test_driving_equals_the_printed_integrals(s):
    f = at_slip(replace(SHARP, points=24), s, 15 * MM)
    np.testing.assert_allclose(f[[0, 2]], by_hand(s, 15 * MM), rtol=1e-6)


def ploughing_by_hand(h, ratio, R=0.09):
    """∫ R_b R cos θ dθ where the side is in the soil: (C.31) with the width of a strip of the side."""
    phi, x_c = np.radians(37.2), np.radians(26.4)
    d_1 = 1 / np.tan(x_c) + np.tan(x_c + phi)
    d_2 = 1 / np.tan(x_c) + np.tan(phi) / np.tan(x_c) ** 2
    f = np.arccos(1 - h / R)
    r = -min(f, np.arccos(1 - ratio * h / R))
    edges = np.linspace(r, f, 20_001)
    theta = 0.5 * (edges[1:] + edges[:-1])
    deep = R * (np.cos(theta) - np.cos(f))
    resistance = d_1 * (800.0 * deep + d_2 * 1600.0 * 9.81 * deep**2 / 2)
    return np.sum(resistance * R * np.cos(theta)) * (f - r) / 20_000


@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.1])
def test_ploughing_equals_its_integral_and_resists(ratio):
    model = replace(SHARP, sinkage_ratio=ratio)
    without = replace(model, ploughing=False)
    v = [0.0, 0.2, 0.0]
    side = model.force(v, 1.0, -12 * MM, **WHEEL) - without.force(v, 1.0, -12 * MM, **WHEEL)
    np.testing.assert_allclose(side, (0.0, -ploughing_by_hand(12 * MM, ratio), 0.0), rtol=1e-6, atol=1e-9)


def bow_wave_by_hand(h, b=0.11):
    """b R_b(h) of (C.34)."""
    phi, x_c = np.radians(37.2), np.radians(26.4)
    d_1 = 1 / np.tan(x_c) + np.tan(x_c + phi)
    d_2 = 1 / np.tan(x_c) + np.tan(phi) / np.tan(x_c) ** 2
    return b * d_1 * (800.0 * h + d_2 * 1600.0 * 9.81 * h**2 / 2)


@pytest.mark.parametrize("V", [0.6, -0.6])
def test_the_bow_wave_resists_travel_and_turns_no_wheel(V):
    """Whatever the spin: driven, locked, or turned against its travel."""
    model = replace(SHARP, bow_wave=0.7)
    for r_omega in (1.0, 0.0, -1.0):
        state = ([V - r_omega, 0.1, 0.0], r_omega, -12 * MM)
        wave = model.force(*state, **WHEEL) - SHARP.force(*state, **WHEEL)
        np.testing.assert_allclose(wave, (-np.sign(V) * 0.7 * bow_wave_by_hand(12 * MM), 0, 0), rtol=1e-9, atol=1e-9)
        assert model.torque(*state, **WHEEL) == SHARP.torque(*state, **WHEEL)


def test_on_the_spot_there_is_no_bow_wave():
    state = ([-1.0, 0.0, 0.0], 1.0, -12 * MM)
    assert (simulant(bow_wave=1.0).force(*state, **WHEEL) == simulant().force(*state, **WHEEL)).all()


def test_isotropic_soil_shears_against_the_displacement():
    # A locked wheel dragged askew moves the soil one way everywhere, but for the curvature of its rim.
    model = simulant(isotropic_shear=0.02, ploughing=False, smoothing=1e-6, points=8)
    shallow = model.force([0.1, 0.1, 0.0], 0.0, -1e-5, **WHEEL)
    assert shallow[0] == pytest.approx(shallow[1], rel=0.02)


def test_beyond_the_axle_force_grows_with_sinkage():
    R = WHEEL["radius"]
    v = [-0.2, 0.1, 0.0]
    just, double = (simulant().force(v, 1.0, -d, **WHEEL) for d in (R, 2 * R))
    np.testing.assert_allclose(double, 2 * just, rtol=1e-12)
    below = simulant().force(v, 1.0, -R * (1 - 1e-9), **WHEEL)
    np.testing.assert_allclose(below, just, rtol=1e-7)


def test_a_rising_wheel_presses_less_and_never_pulls():
    f = simulant(damping=2.0).force([[-0.2, 0.1, v_z] for v_z in (-0.1, 0.0, 0.1, 0.6)], 1.0, -0.01, **WHEEL)
    np.testing.assert_allclose(f / f[1], [[1.2] * 3, [1.0] * 3, [0.8] * 3, [0.0] * 3], rtol=1e-12)


def sand_by_hand(V, v_y, W, h, n_x, n_y, R=0.09, b=0.11):
    """(C.24), (C.25), (C.28), (C.30), (C.32) with an exponent that grows with slip, V > W > 0, midpoint rule."""
    N = 1.0 + (n_x * (V - W) ** 2 + n_y * v_y**2) / (V**2 + v_y**2 + W**2)
    f = np.arccos(1 - h / R)
    m = (0.40 + 0.15 * (W - V) / V) * f
    n = 40_000
    edges = np.linspace(-f, f, n + 1)
    theta = 0.5 * (edges[1:] + edges[:-1])
    front = np.where(theta >= m, theta, f - (theta + f) / (m + f) * (f - m))
    sigma = R * (1.37e3 / b + 8.14e5) * (np.cos(front) - np.cos(f)) ** N
    j = R * (f - theta - V / W * (np.sin(f) - np.sin(theta)))
    k = 0.036 + 0.043 * np.arctan2(abs(v_y), V)
    tau = (800.0 + sigma * np.tan(np.radians(37.2))) * np.sign(j) * -np.expm1(-np.abs(j) / k)
    d = 2 * f / n
    x = R * b * np.sum(tau * np.cos(theta) - sigma * np.sin(theta)) * d
    return x, R * b * np.sum(tau * np.sin(theta) + sigma * np.cos(theta)) * d


@pytest.mark.parametrize(("n_x", "n_y"), [(1.5, 0.0), (0.0, 2.0), (0.7, 0.4)])
def test_slip_sinkage_equals_its_integral(n_x, n_y):
    model = replace(SHARP, slip_sinkage=n_x, sideslip_sinkage=n_y, points=24)
    V, v_y, W, h = 0.9, 0.3, 0.7, 25 * MM
    f = model.force([V - W, v_y, 0.0], W, -h, **WHEEL)
    # The kink of a braked rim's shear leaves 1e-5 of the load to the quadrature.
    np.testing.assert_allclose(f[[0, 2]], sand_by_hand(V, v_y, W, h, n_x, n_y), rtol=0.0, atol=1e-4 * f[2])


def test_a_wheel_sinks_deeper_the_more_it_slips_either_way():
    model = replace(SHARP, slip_sinkage=1.0, sideslip_sinkage=1.0, cohesion=0.0)
    depths = np.linspace(1, 60, 400) * MM
    for slips in ([[-s, 0.0, 0.0] for s in (0.0, 0.3, 0.6, 0.9)], [[0.0, s, 0.0] for s in (0.0, 0.3, 0.6, 0.9)]):
        carried = np.array([model.force(v, 1.0, -depths, **WHEEL)[:, 2] for v in slips])
        sunk = [np.interp(60.0, row, depths) for row in carried]
        assert (np.diff(sunk) > 1 * MM).all()
    rolling = [soil.force(np.zeros(3), 1.0, -12 * MM, **WHEEL) for soil in (model, replace(SHARP, cohesion=0.0))]
    np.testing.assert_allclose(rolling[0], rolling[1], rtol=1e-12)


@pytest.mark.parametrize("kappa", [0.5, 2.0])
def test_ploughing_grows_with_sideslip(kappa):
    """κ v_y = √(V_x² + (Rω)²) is where it has 1/√2 of its size; T's jump at none is gone."""
    model = replace(SHARP, plough_sideslip=kappa)
    without = replace(model, ploughing=False)
    full = -ploughing_by_hand(12 * MM, 1.0)
    for v_y in (1e-3, kappa * np.hypot(0.8, 1.0), 1e3):
        state = ([-0.2, v_y, 0.0], 1.0, -12 * MM)
        side = model.force(*state, **WHEEL) - without.force(*state, **WHEEL)
        share = v_y / np.sqrt(v_y**2 + kappa**2 * (0.8**2 + 1.0))
        np.testing.assert_allclose(side, (0.0, share * full, 0.0), rtol=1e-6, atol=1e-9)


def test_friction_on_the_side_is_a_force_at_the_contact_point_against_its_slip():
    plain, rubbing = SHARP, replace(SHARP, side_friction=0.4)
    pushed = ploughing_by_hand(12 * MM, 1.0)
    for v_x, v_y in ((0.3, 0.4), (0.3, -0.4), (-0.3, 0.4)):
        state = ([v_x, v_y, 0.0], 0.6, -12 * MM)
        more = rubbing.force(*state, **WHEEL) - plain.force(*state, **WHEEL)
        np.testing.assert_allclose(more, (-0.4 * pushed * v_x / 0.5, 0.0, 0.0), rtol=1e-6, atol=1e-9)
        turned = rubbing.torque(*state, **WHEEL) - plain.torque(*state, **WHEEL)
        assert turned == pytest.approx(-WHEEL["radius"] * more[0])


def test_every_number_of_the_law_has_a_name_and_can_be_replaced():
    names = {p.name for p in Ishigami().parameters}
    assert {"shear_x.at_zero", "shear_y.growth", "plough_sideslip", "side_friction", "slip_sinkage"} <= names
    for parameter in Ishigami().parameters:
        changed = Ishigami().replace(**{parameter.name: 1.01 * parameter.value})
        assert {p.name: p.value for p in changed.parameters}[parameter.name] == 1.01 * parameter.value
    pair = Ishigami(shear_x=(0.02, 0.01))
    assert pair == Ishigami(shear_x=ShearModulus(0.02, 0.01))
