"""Unconstrained motion with terrain fitting, the baseline of T §2.5.1."""

import numpy as np
import pytest
from scipy.optimize import minimize

import grouser as gr
from experiments import unconstrained_kernels as kernels
from experiments.unconstrained import simulate_unconstrained
from grouser import rotation
from grouser._compile.jit import entry
from grouser._kernels import group
from grouser.collision import contacts
from grouser.errors import SimulationError
from grouser.kinematics.suspension import suspension_of

move, twist_between = entry(group.move.py_func), entry(kernels.twist_between.py_func)

SMOOTH = {"rms": 0.03, "length": 0.8, "seed": 3, "interpolation": "bicubic"}


# Rocky 7 is left out of the bend: its four rear wheels must slip there, and the constraints spread that slip over
# roll and pitch as well, which the baseline keeps at rest.
@pytest.mark.parametrize(("name", "curvature"), [("rocky7", 0.0), ("zoe", 0.0), ("zoe", 0.4)])
def test_on_level_ground_it_is_the_constrained_motion(name, curvature):
    model = gr.Kinematics(gr.vehicle(name))
    where = {"duration": 4.0, "dt": 0.05, "start": (1.0, -2.0, 0.7)}
    drive = gr.drive.arc(0.5, curvature)
    free = gr.simulate(model, gr.terrain.plane(), drive, **where)
    fitted = simulate_unconstrained(model, gr.terrain.plane(), drive, **where)
    assert fitted.run.status is gr.Status.OK
    np.testing.assert_allclose(fitted.run.state, free.state, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(fitted.run.velocity, free.velocity, rtol=0.0, atol=1e-8)
    if curvature == 0.0:  # in the bend Zoë's axles first have to turn to their angles
        assert fitted.contact_speed.max() < 1e-9


def test_it_drives_straight_over_ground_that_turns_the_real_vehicle():
    model = gr.Kinematics(gr.vehicle("rocky7"))
    ground = gr.terrain.rough(rms=0.05, length=0.2, seed=1, size=(12.0, 8.0))
    result = simulate_unconstrained(model, ground, gr.drive.arc(0.5), duration=4.0, dt=0.1, start=(-3.0, 0.0, 0.0))
    assert abs(result.run.yaw).max() < 1e-12
    assert abs(result.run.position[:, 1]).max() > 0.0  # forward in the body's coordinates, which roll and pitch tilt
    assert abs(result.run.position[-1, 1]) < 0.05
    constrained = gr.simulate(model, ground, gr.drive.arc(0.5), duration=4.0, dt=0.1, start=(-3.0, 0.0, 0.0))
    assert abs(constrained.yaw).max() > 0.02
    # Where a wheel stands on two bumps at once the errors have an edge, and the fit ends on it a little above zero.
    assert np.median(abs(result.run.contact.height_error)) < 1e-12
    assert abs(result.run.contact.height_error).max() < 1e-3
    assert result.unconverged == 0


def test_both_fittings_rest_in_the_same_pose():
    model = gr.Kinematics(gr.vehicle("rocky7"))
    ground = gr.terrain.rough(**SMOOTH)
    where = {"duration": 1.0, "dt": 0.1}
    newton = simulate_unconstrained(model, ground, gr.drive.arc(0.5), **where)
    simplex = simulate_unconstrained(model, ground, gr.drive.arc(0.5), fitting="nelder-mead", **where)
    # Both stop where the simplex is 1e-4 wide, but flat directions of the objective (a joint against another) let
    # the simplex shrink some of its widths before the bottom.
    np.testing.assert_allclose(simplex.run.position, newton.run.position, rtol=0.0, atol=2e-3)
    np.testing.assert_allclose(simplex.run.rpy, newton.run.rpy, rtol=0.0, atol=1e-2)
    assert abs(simplex.run.contact.height_error).max() < 2e-3
    assert simplex.work[:-1].min() > 50 * newton.work.min()


def test_our_nelder_mead_is_scipys():
    model = gr.Kinematics(gr.vehicle("rocky7"))
    vehicle, ground, dt = model.vehicle, gr.terrain.rough(**SMOOTH), 0.2
    run = simulate_unconstrained(model, ground, gr.drive.arc(0.5), duration=dt, dt=dt, fitting="nelder-mead")
    free = suspension_of(vehicle).free
    moved = run.run.state[0].copy()
    R = rotation.from_quaternion(moved[:4])
    moved[4:7] += R @ [0.5 * dt, 0.0, 0.0]
    moved[6 + vehicle.arrays.wheel] += 0.5 * dt / 0.065
    roll, pitch, yaw = rotation.to_rpy(R)

    def state(x):
        q = moved.copy()
        q[:4] = rotation.to_quaternion(rotation.from_rpy(x[0], x[1], yaw))
        q[6], q[7 + free] = x[2], x[3:]
        return q

    def objective(x):
        height = contacts(vehicle, state(x), ground).height_error
        return height @ height + (x[3] + x[5]) ** 2

    x0 = np.concatenate([[roll, pitch, moved[6]], moved[7 + free]])
    simplex = np.tile(x0, (len(x0) + 1, 1))
    for i, x in enumerate(x0):
        simplex[i + 1, i] = 1.05 * x if x != 0.0 else 0.00025
    options = {"initial_simplex": simplex, "xatol": 1e-4, "fatol": 1e-4, "maxfev": 1400, "maxiter": 1400}
    found = minimize(objective, x0, method="Nelder-Mead", options=options)
    # Rounding may send the two to different vertices; either is within the tolerance of the same bottom.
    np.testing.assert_allclose(run.run.state[1], state(found.x), rtol=0.0, atol=2e-3)
    assert run.work[0] == pytest.approx(found.nfev, rel=0.3)


@pytest.mark.parametrize("size", [1e-9, 1e-3, 0.5, 2.5])
def test_the_velocity_between_two_states_undoes_a_motion(size):
    rng = np.random.default_rng(7)
    q = np.concatenate([rng.normal(size=4), rng.normal(size=5)])
    q[:4] /= np.linalg.norm(q[:4])
    v = rng.normal(size=8)
    v[:3] *= size / np.linalg.norm(v[:3])
    after, back = np.zeros(9), np.zeros(8)
    move(q, v, 1.0, after)
    twist_between(q, after, 1.0, back)
    np.testing.assert_allclose(back, v, rtol=0.0, atol=1e-13)


def test_the_end_of_the_map_is_a_status():
    model = gr.Kinematics(gr.vehicle("rocky7"))
    ground = gr.terrain.rough(rms=0.02, length=0.4, seed=1, size=4.0)
    for fitting in ("newton", "nelder-mead"):
        result = simulate_unconstrained(
            model, ground, gr.drive.arc(1.0), duration=4.0, dt=0.1, start=(1.0, 0.0, 0.0), fitting=fitting
        )
        assert result.run.status is gr.Status.OFF_TERRAIN
        assert len(result.run.time) == result.run.steps == len(result.work) > 0
        assert np.isfinite(result.run.state).all()


def test_an_unknown_fitting_is_refused_with_the_known_ones():
    with pytest.raises(SimulationError, match="newton, nelder-mead"):
        simulate_unconstrained(
            gr.Kinematics(gr.vehicle("rocky7")), gr.terrain.plane(), gr.drive.arc(0.5), duration=1.0, fitting="simplex"
        )
