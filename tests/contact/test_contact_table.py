"""Lookup tables: how near they are to their law, whose they are, and that nothing is read past their edge."""

import numpy as np
import pytest
from contact_states import check_jacobian

from grouser.contact import Ishigami, Pacejka, PiecewiseLinear, Table, law
from grouser.errors import SimulationError

SOIL_WHEEL = {"radius": 0.09, "width": 0.11}
TYRE_WHEEL = {"radius": 0.3, "load": 500.0}


@pytest.fixture(scope="module")
def soil():
    return Table(Ishigami(), **SOIL_WHEEL)


@pytest.fixture(scope="module")
def soft():
    return Table(Ishigami(bow_wave=1.0), **SOIL_WHEEL)


@pytest.fixture(scope="module")
def tyre():
    return Table(Pacejka(), depth=0.06, **TYRE_WHEEL)


def driving(n=20_000, seed=7, depth=0.04):
    """States of ordinary driving at about the speed of the table, both directions, with up to 30° of sideslip."""
    r = np.random.default_rng(seed)
    r_omega = r.choice((-1, 1), n) * r.uniform(0.5, 1.5, n)
    travel = r_omega * r.uniform(0.2, 1.4, n)
    v = np.stack((travel - r_omega, travel * np.tan(r.uniform(-0.5, 0.5, n)), r.uniform(-0.05, 0.05, n)), -1)
    return v, r_omega, -r.uniform(0.0, 1.0, n) * depth


def test_table_is_within_one_per_cent_of_its_law(soil, soft, tyre):
    """Force, and torque as the force at the rim that has it."""
    for table, wheel in ((soil, SOIL_WHEEL), (soft, SOIL_WHEEL), (tyre, TYRE_WHEEL)):
        states = driving()
        law = table.model.force(*states, **wheel)
        peak = np.linalg.norm(law, axis=1).max()
        off = np.linalg.norm(table.force(*states) - law, axis=1)
        turned = np.abs(table.torque(*states) - table.model.torque(*states, **wheel)) / table.radius
        for error in (off, turned):
            assert error.max() < 0.01 * peak
            assert np.sqrt(np.mean(error**2)) < 0.003 * peak


def test_what_turns_over_with_travel_is_tabulated_apart(soft):
    """Through V_x = 0 at a steady spin the bow wave's force jumps within ε; 64 cells could not follow it."""
    V = np.linspace(-0.4, 0.4, 401)
    v = np.stack((V - 1.0, 0 * V, 0 * V), -1)
    exact = soft.model.force(v, 1.0, -0.02, **SOIL_WHEEL)
    assert np.ptp(exact[:, 0]) > 20.0
    np.testing.assert_allclose(soft.force(v, 1.0, -0.02), exact, rtol=0, atol=0.01 * exact[:, 2].max())


def test_error_is_reported(soil, tyre):
    assert 0.0 < soil.error.rms < soil.error.max < 0.01
    assert 0.0 < tyre.error.rms < tyre.error.max < 0.005
    assert soil.error.rms_other_speeds < 0.003
    assert 0.0 < soil.error.torque_rms < 1e-3
    assert 0.0 < tyre.error.torque_rms < 1e-3
    assert soil.error.torque_rms < soil.error.torque_max < 0.02
    assert tyre.error.max_other_speeds < 0.01
    coarse = Table(Ishigami(), cells=(16, 16, 6), tolerance=1.0, **SOIL_WHEEL)
    assert coarse.error.rms > 3 * soil.error.rms


def test_more_cells_come_nearer_at_second_order(soil):
    # Along one line through the middle of the table, away from kinks.
    v = np.stack((-np.linspace(0.1, 0.3, 200), np.full(200, 0.1), np.zeros(200)), -1)
    law = Ishigami().force(v, 1.0, -0.02, **SOIL_WHEEL)
    errors = []
    for n in (24, 96):
        table = Table(Ishigami(), cells=(n, n, n // 4), tolerance=1.0, **SOIL_WHEEL)
        # The speed the table was made at, so that only interpolation is left.
        size = np.abs(v[:, 1]) + 0.5 * (np.abs(v[:, 0]) + np.abs(v[:, 0] + 2.0))
        same = Ishigami().force(v / size[:, None], 1.0 / size, -0.02, **SOIL_WHEEL)
        errors.append(np.abs(table.force(v / size[:, None], 1.0 / size, -0.02) - same).max())
    assert errors[1] < errors[0] / 6
    assert np.isfinite(law).all()


def test_jacobian_is_that_of_the_interpolant(soil, soft, tyre):
    for table in (soil, soft, tyre):
        v, r_omega, dz = driving(3000, depth=0.07)
        check_jacobian(table, v, r_omega, dz, wheel={})


def test_at_rest_it_is_as_regular_as_the_law(soil, tyre):
    for table, wheel in ((soil, SOIL_WHEEL), (tyre, TYRE_WHEEL)):
        J = table.jacobian([[1e-9, 1e-9, 0.0]], 0.0, -0.01)[0]
        wanted = table.model.jacobian([[1e-9, 1e-9, 0.0]], 0.0, -0.01, **wheel)[0]
        assert J[0, 0] == pytest.approx(wanted[0, 0], rel=0.25)
        grid = np.array([-0.2, -1e-4, 0.0, 1e-4, 0.2])
        v_x, v_y, w = (a.ravel() for a in np.meshgrid(grid, grid, grid, indexing="ij"))
        v = np.stack((v_x, v_y, 0 * w), -1)
        f = table.force(v, w, -0.01)
        for step in np.vstack((np.eye(3), -np.eye(3))) * 1e-11:
            g = table.force(v + step * (1, 1, 0), w + step[2], -0.01)
            assert (np.abs(g - f).max(axis=1) < 1e-6 * f[:, 2]).all()


def test_friction_of_a_tabulated_tyre_stays_within_its_bound(tyre):
    v, r_omega, dz = driving(depth=0.08)
    f = tyre.force(v, r_omega, dz)
    assert (np.hypot(f[:, 0], f[:, 1]) <= f[:, 2] * (1 + 1e-12)).all()
    assert (f[:, 2] >= 0).all()
    assert (tyre.force(v, r_omega, -dz) == 0.0).all()


def test_mirrored_motion_gives_mirrored_force_and_torque(soft):
    v, r_omega, dz = driving(2000)
    f, torque = soft.force(v, r_omega, dz), soft.torque(v, r_omega, dz)
    for mirror, turn in (((1, -1, 1), 1.0), ((-1, 1, 1), -1.0)):
        np.testing.assert_allclose(soft.force(v * mirror, turn * r_omega, dz) * mirror, f, rtol=1e-11)
        np.testing.assert_allclose(turn * soft.torque(v * mirror, turn * r_omega, dz), torque, rtol=1e-11)


def test_nothing_is_read_past_the_edge(soil):
    values = np.array([-1e9, -1.0, -1e-9, 0.0, 1e-300, 1.0, 1e9])
    v_x, v_y, v_z, w, dz = (a.ravel() for a in np.meshgrid(values, values, values, values, values, indexing="ij"))
    f = soil.force(np.stack((v_x, v_y, v_z), -1), w, dz)
    assert np.isfinite(f).all()
    edge, twice = soil.force([-0.2, 0.1, 0.0], 1.0, -soil.depth * np.array([1.0, 2.0]))
    np.testing.assert_allclose(twice, 2 * edge, rtol=1e-12)


def test_not_a_number_comes_out_as_such_and_is_no_index(soil):
    from grouser._kernels.contact.laws import sample_contact

    x = np.tile([-0.2, 0.1, 0.0, 1.0, -0.01], (10, 1))
    for i in range(5):
        x[2 * i, i] = np.nan
        x[2 * i + 1, i] = np.inf if i != 4 else -np.inf
    out = np.zeros((10, 4))
    sample_contact(*soil.bind(None, None, None).pair, x, out, np.zeros((10, 20)))
    assert not np.isfinite(out[[0, 1, 2, 3, 4, 6, 7, 8]]).all(axis=1).any()


def test_fingerprint_belongs_to_parameters_and_wheel(soil):
    def small(model, **wheel):
        return Table(model, cells=(4, 4, 4), tolerance=10.0, **wheel).fingerprint

    same = small(Ishigami(), **SOIL_WHEEL)
    assert same == soil.fingerprint
    assert small(Ishigami(cohesion=801.0), **SOIL_WHEEL) != same
    assert small(Ishigami(), radius=0.1, width=0.11) != same
    assert small(Pacejka(), **TYRE_WHEEL) != same


def test_table_of_another_wheel_is_refused(soil, tyre):
    with pytest.raises(SimulationError, match=r"radius of 0.09 m, not 0.1 m"):
        soil.bind(0.1, 0.11, 60.0)
    with pytest.raises(SimulationError, match=r"width of 0.11 m, not 0.2 m"):
        soil.force(np.zeros(3), 0.0, -0.01, width=0.2)
    with pytest.raises(SimulationError, match="load of 500 N, not 600 N"):
        tyre.bind(0.3, None, 600.0)
    assert soil.bind(0.09, 0.11, 1234.0).parameters is soil.par
    assert not soil.par.flags.writeable


def test_model_that_follows_slip_velocity_is_refused():
    with pytest.raises(SimulationError, match="follows slip velocity"):
        Table(PiecewiseLinear(), **TYRE_WHEEL)


def test_model_whose_torque_is_not_symmetric_is_refused():
    """Its force is a table's to the last digit."""

    @law
    def twisted(v, r_omega, dz):
        return 0.0, 0.0, -1e4 * dz, -300.0 * dz

    with pytest.raises(SimulationError, match="more than tolerance"):
        Table(twisted, radius=0.3)


def test_model_that_is_not_symmetric_is_refused():
    @law
    def askew(v, r_omega, dz):
        return 0.0, -5e3 * dz, -1e4 * dz

    with pytest.raises(SimulationError, match="more than tolerance"):
        Table(askew, radius=0.3)
