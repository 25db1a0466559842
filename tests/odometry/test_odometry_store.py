"""What streaming odometry packs into flat arrays comes out again, and its factor solves as the whole least squares."""

import numpy as np
import pytest

import grouser as gr
from grouser._kernels import odometry_store as store
from grouser._kernels import odometry_velocity as velocity
from grouser._kernels.contact import contacts_at
from grouser._kernels.frames import pose_frames
from grouser._kernels.jacobian import wheel_jacobians
from grouser._kernels.jit import entry
from grouser._kernels.kinematics import solve_velocity
from grouser._kernels.scratch import make_scratch


@entry
def both_solutions(vehicle, model, s, q, angle, given, out):
    """Velocity by the factor into out[0], by the whole least squares into out[1]; whether there was a factor."""
    pose_frames(vehicle, q, s)
    contacts_at(vehicle, angle, s)
    wheel_jacobians(vehicle, s)
    s.rhs[:] = np.linspace(-0.1, 0.2, s.rhs.size)
    s.v[:] = given
    factorised = velocity.factorise(model, s)
    if factorised:
        velocity.solve_factorised(model, s, given)
        out[0] = s.v
    s.v[:] = given
    solve_velocity(model, s)
    out[1] = s.v
    return factorised


def solutions(name, unknown):
    """Both solutions for a vehicle on uneven ground, and whether there was a factor."""
    vehicle = gr.vehicle(name)
    random = np.random.default_rng(4)
    nv = 6 + vehicle.n_joints
    known = np.setdiff1d(np.arange(nv), unknown)
    given = np.zeros(nv)
    given[known] = random.normal(0.0, 1.0, known.size)
    q = np.concatenate([[1.0], np.zeros(6), random.normal(0.0, 0.2, vehicle.n_joints)])
    weight = random.uniform(0.5, 2.0, 3 * vehicle.n_wheels + len(vehicle.couplings))
    model = gr.Kinematics(vehicle).arrays()._replace(known=known, unknown=np.array(unknown), weight=weight)
    out = np.zeros((2, nv))
    angle = random.normal(0.0, 0.2, vehicle.n_wheels)
    found = both_solutions(vehicle.arrays, model, make_scratch(vehicle.arrays), q, angle, given, out)
    return out, found


@pytest.mark.parametrize("name", ["lru1", "rocky7"])
def test_every_array_comes_out_as_it_went_in(name):
    vehicle = gr.vehicle(name)
    slip = gr.slip.BodySlip([-0.5, -0.1, -0.6, -0.3, 0.05, -0.4])
    model = gr.Kinematics(vehicle, slip=slip).arrays()
    ground = gr.terrain.plane(0.5).kernel
    scratch = make_scratch(vehicle.arrays)
    for k, array in enumerate(scratch):
        array[...] = np.arange(array.size).reshape(array.shape) + 1000 * k  # so that no two fields are alike
    numbers, indices = store.pack(vehicle.arrays, model, ground, scratch)
    for before, after in (
        (vehicle.arrays, store.vehicle_in(numbers, indices)),
        (scratch, store.scratch_in(numbers, indices)),
    ):
        for field in before._fields:
            np.testing.assert_array_equal(getattr(after, field), getattr(before, field), err_msg=field, strict=True)
    assert store.ground_in(indices) == ground
    packed = store.model_in(numbers, indices)
    for field in set(model._fields) - {"known", "unknown"}:
        np.testing.assert_array_equal(getattr(packed, field), getattr(model, field), err_msg=field)


def test_the_factor_gives_the_velocity_of_the_whole_least_squares():
    (by_factor, whole), found = solutions("lru1", list(range(6)))
    assert found
    # Rounding, times the condition of the normal matrix of a vehicle one metre long.
    np.testing.assert_allclose(by_factor, whole, rtol=0.0, atol=1e-12)


def test_there_is_no_factor_where_the_wheels_do_not_determine_all_that_is_unknown():
    # With its spin open, too, a wheel says nothing about the speed along it.
    _, found = solutions("zoe", list(range(6 + gr.vehicle("zoe").n_joints)))
    assert not found
