"""The law of soil that was pressed before: Bekker's plate under repeated load, along the rim of a wheel."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from grouser._kernels.contact import soil as laws
from grouser._kernels.contact.laws import sample_contact
from grouser.contact import Ishigami

R, B, LOAD, REBOUND = 0.125, 0.1, 98.1, 0.1
SMOOTH = {"cohesion": 0.0, "friction_angle": 1e-9, "density": 0.0, "bow_wave": 0.0, "ploughing": False}
PRESSES_ONLY = {**SMOOTH, "a_0": 1e-6, "a_1": 0.0, "sinkage_ratio": 0.0, "smoothing": 1e-9, "points": 64}
"""Without shear, and pressed hardest at the bottom, as under a plate: Bekker's assumptions."""


def evaluate(soil, states, rebound=REBOUND):
    """(f_x, f_y, f_z, τ) and the Jacobian at states (v_x, v_y, v_z, Rω, Δz, kept sinkage)."""
    bound = soil.bind(R, B)
    bound.parameters[laws.REBOUND] = rebound
    x = np.atleast_2d(np.asarray(states, dtype=np.float64)).copy()
    out, jac = np.zeros((len(x), 4)), np.zeros((len(x), 20))
    sample_contact(*bound.pair, x, out, jac)
    return out, jac.reshape(-1, 4, 5)


def rolling(soil, depth, kept, slip=0.0, speed=1.0):
    """Force and torque of a wheel that travels at a speed [m/s]."""
    rim = speed / (1.0 - slip)
    return evaluate(soil, [speed - rim, 0.0, 0.0, rim, -depth, kept])[0][0]


def sinkage_at_load(soil, kept, **motion):
    return brentq(lambda h: rolling(soil, h, kept, **motion)[2] - LOAD, 1e-6, R, xtol=1e-12)


def modulus(soil):
    return soil.k_c / B + soil.k_phi


@pytest.mark.parametrize("n", [0.8, 1.0, 1.3])
@pytest.mark.parametrize("depth", [0.0185, 0.0195, 0.02, 0.021, 0.03])
def test_resistance_in_a_rut_is_the_work_of_a_plate_pressed_again(n, depth):
    """b ∫ p dz from the floor of the rut: only the spring's, ρ k rⁿ⁺¹/2, where the wheel sinks just as deep again."""
    soil, kept = Ishigami(n=n, **PRESSES_ONLY), 0.02
    k, floor = modulus(soil), (1.0 - REBOUND) * 0.02
    if depth <= kept:
        work = 0.5 * k * kept**n * (depth - floor) ** 2 / (REBOUND * kept)
    else:
        work = 0.5 * k * kept**n * REBOUND * kept + k * (depth ** (n + 1) - kept ** (n + 1)) / (n + 1)
    # 64 points across the kink of p at z = r
    assert rolling(soil, depth, kept)[0] == pytest.approx(-B * work, rel=2e-4)


@pytest.mark.parametrize("n", [0.8, 1.0, 1.3])
def test_a_wheel_that_compacts_nothing_new_loses_the_springs_share_of_the_first_pass(n):
    soil, h = Ishigami(n=n, **PRESSES_ONLY), 0.02
    first, second = rolling(soil, h, 0.0)[0], rolling(soil, h, h)[0]
    assert second / first == pytest.approx(REBOUND * (n + 1) / 2, rel=2e-4)


@pytest.mark.parametrize(
    "soil", [Ishigami(), Ishigami(n=1.3, sinkage_ratio=0.2, isotropic_shear=0.02)], ids=["simulant", "isotropic"]
)
def test_the_jacobian_in_a_rut_is_that_of_differences(soil):
    rng = np.random.default_rng(3)
    x = np.column_stack(
        [
            rng.uniform(-0.3, 0.3, 60),
            rng.uniform(-0.2, 0.2, 60),
            rng.uniform(-0.05, 0.05, 60),
            rng.uniform(-1.0, 1.0, 60),
            -rng.uniform(0.012, 0.05, 60),
            rng.uniform(0.001, 0.04, 60),
        ]
    )
    jac = evaluate(soil, x)[1]
    step = 1e-7
    for k in range(5):
        ahead, back = x.copy(), x.copy()
        ahead[:, k] += step
        back[:, k] -= step
        slope = (evaluate(soil, ahead)[0] - evaluate(soil, back)[0]) / (2.0 * step)
        np.testing.assert_allclose(jac[:, :, k], slope, rtol=2e-5, atol=2e-5 * np.abs(slope).max())


def test_soil_never_pressed_gives_the_law_without_ruts_to_the_bit():
    rng = np.random.default_rng(4)
    x = np.column_stack([*rng.uniform(-0.5, 0.5, (4, 50)), -rng.uniform(0.0, 0.04, 50), np.zeros(50)])
    forgets, remembers = evaluate(Ishigami(), x, rebound=0.0), evaluate(Ishigami(), x)
    assert forgets[0].tobytes() == remembers[0].tobytes()
    assert forgets[1].tobytes() == remembers[1].tobytes()


def test_force_begins_at_the_floor_of_the_rut_and_rises_with_sinkage():
    kept = 0.02
    floor = (1.0 - REBOUND) * kept
    depth = np.concatenate([[0.5 * floor, floor], np.linspace(floor, 2.0 * kept, 400)[1:]])
    load = np.array([rolling(Ishigami(), h, kept)[2] for h in depth])
    assert (load[:2] == 0.0).all()
    assert load[2] < 1.0
    assert (np.diff(load[1:]) > 0.0).all()
    # no jump at z = r: steps of 55 µm, and the reloading line is ten times as steep as the first
    assert np.diff(load).max() < 3.0


@pytest.mark.parametrize("soil", [Ishigami(), Ishigami(sinkage_ratio=0.1)], ids=["simulant", "stays down"])
def test_each_pass_sinks_further_by_less_and_costs_less_work(soil):
    """Of a wheel that just propels itself, f_x = 0: its motor's work per metre goes into the soil."""
    kept, sinkage, work = 0.0, [], []
    for _ in range(5):

        def pull(slip, kept=kept):
            return rolling(soil, sinkage_at_load(soil, kept, slip=slip), kept, slip=slip)[0]

        slip = brentq(pull, -0.1, 0.6)
        h = sinkage_at_load(soil, kept, slip=slip)
        sinkage.append(h)
        work.append(-rolling(soil, h, kept, slip=slip)[3] / (R * (1.0 - slip)))
        kept = max(kept, h)
    deeper = np.diff(sinkage)
    assert (deeper > 0.0).all()
    assert (np.diff(deeper) < 0.0).all()
    assert deeper[0] < 0.3 * sinkage[0]
    assert max(work[1:]) < 0.7 * work[0]
    # Soil that rises behind the wheel to where it was (λ = 1) gives back what it took, in later passes more or less.
    if soil.sinkage_ratio < 1.0:
        assert (np.diff(work) < 0.0).all()


def test_the_second_pass_of_bekkers_wheel_sinks_as_its_closed_form_says():
    """n = 1 on a parabola z = h − x²/2R: load/(b k) = ∫ p/k dx, the arc split where the reloading line ends."""
    soil = Ishigami(**PRESSES_ONLY)
    bk = B * modulus(soil)

    def load(h, r):
        floor, spring = (1.0 - REBOUND) * r, REBOUND * r
        below = max(h - floor, 0.0)
        entry = math.sqrt(2.0 * R * below)
        kink = math.sqrt(2.0 * R * max(below - spring, 0.0))
        virgin = h * kink - kink**3 / (6.0 * R)
        again = below * (entry - kink) - (entry**3 - kink**3) / (6.0 * R)
        return bk * (virgin + (again / REBOUND if r > 0.0 else again))

    first = brentq(lambda h: load(h, 0.0) - LOAD, 1e-6, R)
    second = brentq(lambda h: load(h, first) - LOAD, 1e-6, R)
    # a parabola in place of a circle: by h/4R of the sinkage
    assert sinkage_at_load(soil, 0.0) == pytest.approx(first, rel=0.06)
    assert sinkage_at_load(soil, first) - first == pytest.approx(second - first, rel=0.06)
