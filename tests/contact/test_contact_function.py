"""A user's own contact model equals the built-in one it copies."""

import numpy as np
import pytest
from contact_states import WHEEL, check_jacobian, random_states

import grouser as gr
from grouser import contact
from grouser.contact import PiecewiseLinear
from grouser.errors import SimulationError

BUILT_IN = PiecewiseLinear(stiffness=1e4, damping=500.0, slip_stiffness_x=1e3, slip_stiffness_y=1e3, friction=0.8)


@contact.law
def mine(v, r_omega, dz, *, k_p=1e4, k_d=500.0, slip=1e3, friction=gr.param(0.8, "1", low=0.0), onset=0.002):
    f_z = max(0.0, -k_p * dz - k_d * min(1.0, -dz / onset) * v[2])
    f_x = min(max(-slip * v[0], -friction * f_z), friction * f_z)
    f_y = min(max(-slip * v[1], -friction * f_z), friction * f_z)
    return f_x, f_y, f_z


def test_own_model_equals_the_built_in_one():
    states = random_states(4000, slip=0.3)
    for method in ("force", "torque"):
        own, built_in = (getattr(model, method)(*states, **WHEEL) for model in (mine, BUILT_IN))
        np.testing.assert_allclose(own, built_in, rtol=1e-13)
    wanted = BUILT_IN.jacobian(*states, **WHEEL)
    off = np.abs(mine.jacobian(*states, **WHEEL) - wanted) / (np.abs(wanted).max(axis=(0, 1)) + 1.0)
    assert np.quantile(off.max(axis=(1, 2)), 0.99) < 1e-6  # differences across a kink are the one per cent


def test_own_jacobian_is_used_and_the_torque_follows_the_force():
    def slope(v, r_omega, dz, *, k):
        J = np.zeros((3, 5))
        J[0, 0] = -2.0
        J[2, 2] = -3.0
        J[2, 4] = -k
        return J

    @contact.law(jacobian=slope)
    def soft(v, r_omega, dz, *, k=7.0):
        return -2.0 * v[0], 0.0, -k * dz

    J = soft.replace(k=8.0).jacobian(np.zeros(3), 0.0, -0.5, radius=0.3)
    assert J[2, 4] == -8.0
    assert J[2, 2] == -3.0
    assert J[3].tolist() == [0.3 * 2.0, 0.0, 0.0, 0.0, 0.0]
    assert (soft.jacobian(np.zeros(3), 0.0, 0.5) == 0.0).all()


def rolling(v, r_omega, dz, *, k=1e4, c=200.0, drag=gr.param(0.03, "m", low=0.0)):
    """A wheel whose load acts ahead of its axle by `drag` when it rolls ahead."""
    f_z = -k * dz
    f_x = -c * v[0]
    return f_x, -c * v[1], f_z, -0.09 * f_x - drag * f_z * np.tanh(r_omega)


def rolling_slopes(v, r_omega, dz, *, k, c, drag):
    turned = np.tanh(r_omega)
    return (
        (-c, 0, 0, 0, 0),
        (0, -c, 0, 0, 0),
        (0, 0, 0, 0, -k),
        (0.09 * c, 0, 0, drag * k * dz * (1 - turned**2), drag * k * turned),
    )


@pytest.mark.parametrize("jacobian", [None, rolling_slopes])
def test_a_model_may_give_its_own_torque(jacobian):
    model = contact.law(jacobian=jacobian)(rolling)
    assert model.torque([0.0, 0.0, 0.0], 1.0, -0.01) == pytest.approx(-0.03 * 100.0 * np.tanh(1.0))
    check_jacobian(model, *random_states(500))


def test_no_force_off_the_ground_and_no_pull():
    @contact.law
    def pulls(v, r_omega, dz):
        return 1.0, 2.0, 1.0 - 100.0 * abs(v[2])

    f = pulls.force([[0, 0, 0], [0, 0, 1], [0, 0, 0]], 0.0, [-0.1, -0.1, 0.1])
    np.testing.assert_array_equal(f, [[1, 2, 1], [0, 0, 0], [0, 0, 0]])


def test_states_given_are_left_alone():
    v, r_omega, dz = random_states(5)
    copies = v.copy(), r_omega.copy(), dz.copy()
    mine.jacobian(v, r_omega, dz)
    for given, copy in zip((v, r_omega, dz), copies, strict=True):
        np.testing.assert_array_equal(given, copy)


def test_other_parameters_without_compiling_again():
    twice = mine.replace(k_p=2e4, k_d=1e3)
    assert twice.law is mine.law
    assert twice.force(np.zeros(3), 0.0, -0.01)[2] == pytest.approx(200.0)


def test_model_that_does_not_compile_says_why():
    with pytest.raises(SimulationError, match=r"contact law 'bad' does not compile: .*unknown_name") as caught:

        @contact.law
        def bad(v, r_omega, dz):
            return unknown_name * dz  # noqa: F821

    assert "\n" not in str(caught.value)


def test_a_model_says_whether_its_torque_is_that_of_a_force_at_the_contact_point():
    """Where `axle_couple` is false, τ = −R f_x at every state, so that the balance may leave the couple out."""
    twisted = contact.law(rolling)
    models = {
        BUILT_IN: False,
        PiecewiseLinear(rolling_resistance=5.0): True,
        contact.ErpCfm(erp=0.5, cfm=1e-4, dt=0.01): False,
        contact.Pacejka(): False,
        contact.Pacejka(rolling_resistance=5.0): True,
        contact.Ishigami(): True,
        mine: False,
        mine.replace(friction=0.3): False,
        twisted: True,
        twisted.replace(drag=0.02): True,
        contact.Table(contact.Pacejka(), **WHEEL): False,
        contact.Table(contact.Ishigami(), **WHEEL): True,
    }
    states = random_states(1000)
    for model, couple in models.items():
        assert model.axle_couple is couple
        force, torque = (ask(*states, **WHEEL) for ask in (model.force, model.torque))
        off = np.abs(torque + WHEEL["radius"] * force[:, 0]).max() / np.abs(torque).max()
        assert off > 1e-3 if couple else off < 1e-13
