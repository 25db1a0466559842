"""The factor that streaming odometry keeps solves as the whole least squares."""

import numpy as np

import grouser as gr
from grouser._compile.jit import entry
from grouser._kernels.contact.geometry import contacts_at
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.kinematics.velocity import solve_velocity
from grouser._kernels.odometry import velocity
from grouser._kernels.scratch import make_scratch
from grouser._kernels.vehicles.frames import pose_frames


@entry
def both_solutions(vehicle, model, s, q, angle, given, out):
    """Velocity by the factor into out[0], by the whole least squares into out[1]; whether there was a factor."""
    pose_frames(vehicle, q, s)
    contacts_at(vehicle, angle, s)
    wheel_jacobians(vehicle, s)
    s.rhs[:] = np.linspace(-0.1, 0.2, s.rhs.size)
    s.v[:] = given
    factorised = velocity.factorise(model, s, model.unknown, model.counts[1])
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
    model = gr.Kinematics(vehicle).arrays(known=known.tolist()).replace(weight=weight)
    out = np.zeros((2, nv))
    angle = random.normal(0.0, 0.2, vehicle.n_wheels)
    found = both_solutions(vehicle.arrays, model, make_scratch(vehicle.arrays), q, angle, given, out)
    return out, found


def test_the_factor_gives_the_velocity_of_the_whole_least_squares():
    (by_factor, whole), found = solutions("lru1", list(range(6)))
    assert found
    # Rounding, times the condition of the normal matrix of a vehicle one metre long.
    np.testing.assert_allclose(by_factor, whole, rtol=0.0, atol=1e-12)


def test_there_is_no_factor_where_the_wheels_do_not_determine_all_that_is_unknown():
    # With its spin open, too, a wheel says nothing about the speed along it.
    _, found = solutions("zoe", list(range(6 + gr.vehicle("zoe").n_joints)))
    assert not found
