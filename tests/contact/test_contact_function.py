"""A user's own contact model equals the built-in one it copies."""

import numpy as np
import pytest
from contact_states import random_states

from grouser import contact
from grouser.contact import PiecewiseLinear
from grouser.errors import SimulationError

BUILT_IN = PiecewiseLinear(stiffness=1e4, damping=500.0, slip_stiffness_x=1e3, slip_stiffness_y=1e3, friction=0.8)


@contact.model(parameters=[1e4, 500.0, 1e3, 0.8, 0.002])
def mine(p, v, r_omega, dz):
    f_z = max(0.0, -p[0] * dz - p[1] * min(1.0, -dz / p[4]) * v[2])
    f_x = min(max(-p[2] * v[0], -p[3] * f_z), p[3] * f_z)
    f_y = min(max(-p[2] * v[1], -p[3] * f_z), p[3] * f_z)
    return f_x, f_y, f_z


def test_own_model_equals_the_built_in_one():
    states = random_states(4000, slip=0.3)
    np.testing.assert_allclose(mine.force(*states), BUILT_IN.force(*states), rtol=1e-13)
    wanted = BUILT_IN.jacobian(*states)
    off = np.abs(mine.jacobian(*states) - wanted) / (np.abs(wanted).max(axis=(0, 1)) + 1.0)
    assert np.quantile(off.max(axis=(1, 2)), 0.99) < 1e-6  # differences across a kink are the one per cent


def test_own_jacobian_is_used():
    def slope(p, v, r_omega, dz, J):
        J[2, 2] = -3.0
        J[2, 4] = -p[0]

    @contact.model(parameters=[7.0], jacobian=slope)
    def soft(p, v, r_omega, dz):
        return 0.0, 0.0, -p[0] * dz

    J = soft.jacobian(np.zeros(3), 0.0, -0.5)
    assert J[2, 4] == -7.0
    assert J[2, 2] == -3.0
    assert (soft.jacobian(np.zeros(3), 0.0, 0.5) == 0.0).all()


def test_no_force_off_the_ground_and_no_pull():
    @contact.model
    def pulls(p, v, r_omega, dz):
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
    twice = mine.with_parameters([2e4, 1e3, 1e3, 0.8, 0.002])
    assert twice.law is mine.law
    assert twice.force(np.zeros(3), 0.0, -0.01)[2] == pytest.approx(200.0)
    assert mine.fingerprint_for(None, None, None) != twice.fingerprint_for(None, None, None)


def test_model_that_does_not_compile_says_why():
    with pytest.raises(SimulationError, match="contact model 'bad' does not compile") as caught:

        @contact.model
        def bad(p, v, r_omega, dz):
            return unknown_name * dz  # noqa: F821

    assert "\n" not in str(caught.value)
    with pytest.raises(SimulationError, match="does not compile"):

        @contact.model
        def two(p, v, r_omega, dz):
            return 0.0, dz
