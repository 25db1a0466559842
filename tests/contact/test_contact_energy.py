"""The ground gives no wheel energy: dissipation of every law at random states, and how it splits.

Power of the ground on a wheel is f · V at the axle's velocity V = (v_x + Rω, v_y, v_z), and τ ω. With v_z = 0 no
spring is loaded or unloaded, and all of it must be lost.
"""

import numpy as np
import pytest
from contact_states import WHEEL, random_states
from test_contact_laws import MODELS

from grouser.contact import Ishigami, Pacejka, PiecewiseLinear, Table

R = WHEEL["radius"]
WEAK = Ishigami(cohesion=100.0, friction_angle=np.radians(20.0))
TABLES = {
    "table of soil": Table(Ishigami(bow_wave=0.5), radius=R, width=WHEEL["width"]),
    "table of a tyre": Table(Pacejka(), **WHEEL),
}
SHIPPED = {**MODELS, **TABLES, "weak soil": WEAK}
each = pytest.mark.parametrize("name", SHIPPED)


def lost(model, v, r_omega, dz):
    """Power that the ground takes from a wheel [W], over f_z times the largest speed."""
    force, torque = (ask(v, r_omega, dz, **WHEEL) for ask in (model.force, model.torque))
    axle = v + np.stack((r_omega, 0 * r_omega, 0 * r_omega), -1)
    power = (force * axle).sum(axis=1) + torque * r_omega / R
    return -power / (force[:, 2] * np.abs(np.column_stack((axle, r_omega))).max(axis=1))


@each
@pytest.mark.parametrize("slip", [1.0, 0.05, 0.002])
def test_a_wheel_at_constant_depth_loses_energy_to_the_ground(name, slip):
    v, r_omega, dz = random_states(40_000, seed=11, slip=slip)
    v[:, 2] = 0.0
    if SHIPPED[name].rolling_resistance > 0.0:
        # −C_rr Rω of T (C.5) pushes on a body that moves against its wheels' spin; elsewhere it resists.
        with_travel = r_omega * (v[:, 0] + r_omega) >= 0.0
        v, r_omega, dz = v[with_travel], r_omega[with_travel], dz[with_travel]
        assert len(v) > 10_000
    assert lost(SHIPPED[name], v, r_omega, dz).min() > -1e-12


@each
def test_a_damper_only_takes_energy(name):
    """Pressing f_z(v_z) − f_z(0) opposes v_z, and the share of f_z left scales all that is lost sideways."""
    v, r_omega, dz = random_states(5000, seed=12)
    still = v * (1.0, 1.0, 0.0)
    moving, resting = (SHIPPED[name].force(one, r_omega, dz, **WHEEL)[:, 2] for one in (v, still))
    assert ((moving - resting) * v[:, 2] <= 1e-12 * resting).all()
    assert ((moving - resting) * v[:, 2] < 0.0).any() or name == "soil isotropic"  # the one without damping


@pytest.mark.parametrize("kind", [PiecewiseLinear, Pacejka])
def test_rolling_resistance_takes_c_rr_times_speed_squared_from_a_rolling_wheel(kind):
    """Force and moment together: the force alone gives the wheel what it takes from the body."""
    W = np.linspace(-1.0, 1.0, 21)
    zero = np.zeros((21, 3))
    model = kind(rolling_resistance=7.0)
    force, torque = (ask(zero, W, -0.01, **WHEEL) for ask in (model.force, model.torque))
    np.testing.assert_allclose(force[:, 0] * W + torque * W / R, -7.0 * W**2, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(torque + R * force[:, 0], -R * 7.0 * W, rtol=1e-12, atol=1e-12)


def test_a_wheel_dragged_through_slick_soil_pays_for_compaction_alone():
    """Without shear nothing turns the wheel, and what is lost is −f_x V, whatever the spin."""
    slick = Ishigami(cohesion=0.0, friction_angle=1e-9, a_1=0.0, smoothing=1e-9)
    V, W = np.full(4, 0.5), np.array([0.2, 0.5, 0.9, 3.0])
    v = np.stack((V - W, 0 * V, 0 * V), -1)
    force = slick.force(v, W, -0.01, **WHEEL)
    assert np.ptp(force[:, 0]) < 1e-8 * force[0, 2]
    assert force[0, 0] < 0.0
    assert np.abs(slick.torque(v, W, -0.01, **WHEEL)).max() < 1e-8 * force[0, 2]
