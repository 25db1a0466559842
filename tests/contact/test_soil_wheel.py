"""One wheel of the LRU in soil by its law alone: what drives it, what slows it, where its motor stalls, L's slip."""

import math

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

from experiments.etna_soil import ETNA, measured_slip, steady_wheel
from grouser.contact import Ishigami, Table


def simulant(**more):
    """The law as T prints it, without a bow wave."""
    return Ishigami(**{"bow_wave": 0.0, **more})


R, B, MASS, GRAVITY = 0.125, 0.1, 10.0, 9.81
INERTIA = 0.02  # of the wheel [kg m²]; small beside m R² = .16
WHEEL = {"radius": R, "width": B}
LOADED = {"load": MASS * GRAVITY, **WHEEL}
SIMULANT = simulant()
SAND = simulant(cohesion=1040.0, friction_angle=math.radians(28.0), k_c=990.0, k_phi=1.52843e6, n=1.1)
TOWED = simulant(a_0=1e-6, a_1=0.0, sinkage_ratio=0.0, smoothing=1e-9, points=40)
"""Presses as a plate does, and does not spring back: Bekker's assumptions."""


def at_load(soil, V, W):
    """(f_x, τ) where the soil carries the wheel."""
    state = [V - W, 0.0, 0.0], W
    h = brentq(lambda h: soil.force(*state, -h, **WHEEL)[2] - MASS * GRAVITY, 1e-6, R, xtol=1e-9)
    return float(soil.force(*state, -h, **WHEEL)[0]), float(soil.torque(*state, -h, **WHEEL))


def roll(soil, V, W, motor, seconds, **options):
    """Travel and rim speed over time: m V̇ = f_x, I ω̇ = τ + motor(ω)."""

    def rates(t, y):
        pull, torque = at_load(soil, *y)
        return pull / MASS, R * (torque + motor(y[1] / R)) / INERTIA

    return solve_ivp(rates, (0.0, seconds), (V, W), method="LSODA", rtol=1e-6, atol=1e-8, **options)


def test_a_driven_wheel_needs_torque_on_level_soil():
    """What shears and compacts the simulant is .83 N m a wheel, and none of it is pull."""
    level = steady_wheel(SIMULANT, 0.0, **LOADED)
    assert level.torque == pytest.approx(0.828, abs=0.002)
    assert level.sinkage == pytest.approx(0.0186, abs=1e-4)


@pytest.mark.parametrize("soil", [SAND, ETNA, simulant(sinkage_ratio=0.5)], ids=["sand", "etna", "half a rut"])
def test_on_level_soil_a_driven_wheel_slips_ahead(soil):
    assert 0.01 < steady_wheel(soil, 0.0, **LOADED).slip < 0.2


def test_the_simulant_as_printed_carries_a_wheel_at_hardly_any_slip():
    """T Table C.2, λ = 1, has no bow wave and springs back: rim shear at zero slip already outdoes compaction."""
    assert -0.01 < steady_wheel(SIMULANT, 0.0, **LOADED).slip < 0.0


@pytest.mark.parametrize("degrees", [0, 5, 9])
def test_slip_on_slopes_lies_between_the_two_calibrations_of_the_lru(degrees):
    low, high = measured_slip(degrees)
    assert low < steady_wheel(ETNA, degrees, **LOADED).slip < high


def test_slip_and_torque_rise_with_the_slope():
    wheels = [steady_wheel(ETNA, slope, **LOADED) for slope in (-9, -5, 0, 5, 9)]
    assert (np.diff([wheel.slip for wheel in wheels]) > 0.03).all()
    assert (np.diff([wheel.torque for wheel in wheels]) > 0.5).all()
    # All that climbing takes beyond the soil is the weight's: W sin δ V ≤ −τ ω.
    for slope, wheel in zip((5, 9), wheels[3:], strict=True):
        assert wheel.torque > R * (1 - wheel.slip) * MASS * GRAVITY * math.sin(math.radians(slope))


def free_wheel(soil, V):
    """Rim speed of a wheel without a motor that slows down with its axle, and its deceleration."""

    def unbalanced(W):
        pull, torque = at_load(soil, V, W)
        return torque - INERTIA * W / V * pull / (MASS * R)

    W = brentq(unbalanced, 0.7 * V, V)
    return W, -at_load(soil, V, W)[0] / MASS


@pytest.mark.parametrize(("soil", "least"), [(SIMULANT, 0.55), (ETNA, 1.1)], ids=["simulant", "etna"])
@pytest.mark.parametrize("way", [1, -1])
def test_a_wheel_without_a_motor_slows_down_and_stops(soil, least, way):
    W, expected = free_wheel(soil, 0.5)
    assert least < expected < 1.2 * least
    assert 0.0 < 0.5 - W < 0.06
    run = roll(soil, 0.5 * way, W * way, lambda omega: 0.0, 2.0, max_step=0.02)
    V = way * run.y[0]
    # Speed enters by ε/V alone, a tenth at first and a sixth after .3 s, of which little reaches the pull.
    assert (0.5 - np.interp(0.3, run.t, V)) / 0.3 == pytest.approx(expected, rel=0.03)
    assert (np.diff(V) < 1e-7).all()  # the tolerance of the integration
    assert V[-1] < 0.005
    # Skidding all the while: the rim turns slower than the axle travels.
    assert (run.y[1] * way < V)[run.t < 0.3].all()


@pytest.mark.parametrize(("stall", "moves"), [(0.3, False), (0.6, False), (2.0, True)])
def test_a_motor_weaker_than_the_soil_stalls(stall, moves):
    """.83 N m are needed. Below, the wheel creeps within the law's smoothing speed of .05 m/s."""
    run = roll(SIMULANT, 0.3, 0.3, lambda omega: stall * (1.0 - omega / 12.0), 6.0)
    assert (run.y[0, -1] > 0.3) == moves
    if not moves:
        assert 0.0 < run.y[0, -1] < 0.05


@pytest.mark.parametrize("motor", [0.0, 1.5], ids=["free", "driven"])
def test_energy_of_the_motor_goes_into_motion_and_soil(motor):
    """½ m V² + ½ I ω² changes by the motor's work and what the soil takes, which is never negative."""
    run = roll(ETNA, 0.4, 0.4, lambda omega: motor, 1.0, dense_output=True, max_step=0.01)
    energy = 0.5 * MASS * run.y[0] ** 2 + 0.5 * INERTIA * (run.y[1] / R) ** 2

    def into_soil(t):
        V, W = run.sol(t)
        pull, torque = at_load(ETNA, V, W)
        return -(pull * V + torque * W / R)

    paid = quad(lambda t: motor * run.sol(t)[1] / R, 0.0, 1.0, epsabs=1e-7)[0]
    lost = quad(into_soil, 0.0, 1.0, limit=100, epsabs=1e-6)[0]
    assert energy[-1] - energy[0] == pytest.approx(paid - lost, abs=1e-4)
    assert min(into_soil(t) for t in np.linspace(0.0, 1.0, 50)) > 0.0


def test_towing_a_free_wheel_costs_bekkers_compaction_per_metre():
    """b k h^(n+1)/(n+1), reached as sinkage falls: the rim's own shear is of higher order in the entry angle."""
    off = []
    for h in (8e-3, 2e-3, 0.5e-3):
        free = brentq(lambda s, h: TOWED.torque([-s, 0.0, 0.0], 1.0 + s, -h, **WHEEL), -0.5, 0.0, args=(h,))
        tow = -TOWED.force([-free, 0.0, 0.0], 1.0 + free, -h, **WHEEL)[0]
        bekker = B * (TOWED.k_c / B + TOWED.k_phi) * h**2 / 2
        off.append(tow / bekker - 1.0)
    # θ_f² = 2 h/R.
    assert np.all(np.abs(off) < 0.5 * 2 * np.array([8e-3, 2e-3, 0.5e-3]) / R)
    assert abs(off[2]) < abs(off[1]) / 2 < abs(off[0]) / 4


def test_a_table_drives_and_frees_the_wheel_as_its_soil_does():
    table = Table(ETNA, speed=0.5, **WHEEL)
    for slope in (0.0, 9.0):
        exact, found = (steady_wheel(soil, slope, **LOADED) for soil in (ETNA, table))
        assert found.slip == pytest.approx(exact.slip, abs=0.003)
        assert found.torque == pytest.approx(exact.torque, rel=0.01)
    off = np.subtract(at_load(table, 0.5, 0.47), at_load(ETNA, 0.5, 0.47))
    assert (np.abs(off) < 0.01 * MASS * GRAVITY * np.array([1.0, R])).all()
