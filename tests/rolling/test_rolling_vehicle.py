"""Vehicles that roll: their Jacobians, freedoms and motion against closed forms, differences and another solver."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from rolling_grounds import bumpy, bumpy_spline, drive, model_of
from scipy.spatial.transform import Rotation

import grouser as gr
from grouser._compile.jit import entry
from grouser._kernels.rolling import contact as rolling_contact
from grouser._kernels.simulation.step import OK
from grouser.errors import SimulationError, TerrainError
from grouser.kinematics import frame_poses
from grouser.rolling import RollingModel, Start, measure, roll
from grouser.rolling.closure import contacts_at, wheel_jacobians
from grouser.vehicles.mirror import signs
from tests.oracles import rolling_reference as reference
from tests.oracles.rolling_surfaces import GroundSurface, Torus, contact_rates

DESIGNS = ("pvc", "pvc_locked", "pvc_axle", "pvc_four", "pvc_rocker")
RADIUS = 0.65


@pytest.fixture(scope="module")
def ground():
    return bumpy_spline()


@pytest.fixture(scope="module")
def analytic():
    return bumpy()


@pytest.fixture(scope="module")
def rolled(ground):
    """The PVC three-wheeler after 10 s on bumpy ground."""
    model = model_of("pvc", ground)
    return model, roll(model, rates=drive(model.vehicle), duration=10.0, dt=0.01, start=(0.0, 0.3, 0.1))


def random_state(vehicle, seed=1):
    """Any state and contacts, far from touching: derivatives must hold everywhere."""
    rng = np.random.default_rng(seed)
    state = rng.normal(size=7 + vehicle.n_joints)
    state[:4] /= np.linalg.norm(state[:4])
    contact = rng.normal(size=(vehicle.n_wheels, 4))
    contact[:, 0] += np.pi
    return state, contact


def moved(vehicle, state, contact, step):
    """A state moved by a small joint-space velocity and contact rates."""
    nv = 6 + vehicle.n_joints
    w, x, y, z = state[:4]
    R = Rotation.from_quat([x, y, z, w])
    x, y, z, w = (R * Rotation.from_rotvec(step[:3])).as_quat()
    at = np.concatenate(([w, x, y, z], state[4:7] + R.apply(step[3:6]), state[7:] + step[6:nv]))
    return at, contact + step[nv:].reshape(-1, 4)


@pytest.mark.parametrize("name", DESIGNS)
def test_the_closure_jacobian_is_the_derivative_of_the_closure(name, analytic):
    model = model_of(name, analytic)
    state, contact = random_state(model.vehicle)
    J = model.closure_jacobian(state, contact)
    step = 1e-6
    for column in range(J.shape[1]):
        d = np.zeros(J.shape[1])
        d[column] = step
        ahead = model.closure(*moved(model.vehicle, state, contact, d))
        behind = model.closure(*moved(model.vehicle, state, contact, -d))
        # Central differences: step² from the third derivative, 1e-16/step from rounding.
        np.testing.assert_allclose(J[:, column], (ahead - behind) / (2 * step), rtol=0.0, atol=3e-9)


@pytest.mark.parametrize("name", DESIGNS)
def test_wheel_jacobians_are_differences_of_a_point_that_turns_with_the_wheel(name, analytic):
    """The contact coordinates are held on the tyre, so the wheel's spin moves the point too."""
    model = model_of(name, analytic)
    vehicle = model.vehicle
    state, contact = random_state(vehicle, seed=3)
    moving, turning = wheel_jacobians(vehicle, state, contacts_at(vehicle, analytic, state, contact).point_on_wheel)
    nv, step = 6 + vehicle.n_joints, 1e-6
    for column in range(nv):
        d = np.zeros(nv + 4 * vehicle.n_wheels)
        d[column] = step
        a, b = (contacts_at(vehicle, analytic, *moved(vehicle, state, contact, s * d)) for s in (1, -1))
        rate = (a.point_wheel - b.point_wheel) / (2 * step)
        np.testing.assert_allclose(moving[..., column], rate, rtol=0.0, atol=3e-9)
        for vector in ("e_u", "e_v", "normal_wheel"):
            at = contacts_at(vehicle, analytic, state, contact)
            rate = (getattr(a, vector) - getattr(b, vector)) / (2 * step)
            np.testing.assert_allclose(np.cross(turning[..., column], getattr(at, vector)), rate, rtol=0.0, atol=3e-9)


@pytest.mark.parametrize("name", DESIGNS)
def test_the_compiled_rates_are_those_of_the_dense_reference_even_where_contacts_do_not_close(name, ground):
    model = model_of(name, ground, sigma=3.0)
    vehicle = model.vehicle
    start = model.start(0.5, 0.2, 0.3)
    rng = np.random.default_rng(4)
    state, contact = start.state.copy(), start.contact + 0.02 * rng.normal(size=start.contact.shape)
    state[4:7] += 0.02 * rng.normal(size=3)
    state[7:] += 0.05 * rng.normal(size=vehicle.n_joints)
    desired = rng.normal(size=vehicle.n_joints)
    one = roll(model, rates=desired, duration=1e-9, dt=1e-9, start=Start(state, contact, 0, 1.0))
    v, rate = reference.rates(vehicle, ground, state, contact, desired, sigma=3.0)
    size = max(1.0, float(np.abs(v).max()))
    np.testing.assert_allclose(one.velocity[0], v, rtol=0.0, atol=1e-10 * size)
    np.testing.assert_allclose(one.rolling.rates[0], rate, rtol=0.0, atol=1e-9 * size)
    assert one.rolling.closure_error[0] == pytest.approx(np.linalg.norm(model.closure(state, contact)), rel=1e-12)


def test_weights_draw_the_joint_rates_towards_some_desired_ones(ground):
    """Weighted least squares, and against the reference: a heavy weight on camber holds it stiller than a light one."""
    start = model_of("pvc", ground).start(3.0, 0.5, 0.2)
    camber = []
    for weight in (0.1, 1.0, 30.0):
        model = model_of("pvc", ground, weights={"gamma2": weight, "gamma3": weight})
        run = roll(model, rates=drive(model.vehicle), duration=1e-9, dt=1e-9, start=start)
        w = np.array([1.0, 1.0, weight, 1.0, weight, 1.0])
        desired = run.rolling.desired[0]
        v, _ = reference.rates(model.vehicle, ground, start.state, start.contact, desired, sigma=5.0, weights=w)
        np.testing.assert_allclose(run.velocity[0], v, rtol=0.0, atol=1e-11)
        camber.append(np.abs(run.joint_rates[0][[2, 4]]).sum())
    assert camber[0] > 1.2 * camber[1] > 1.2 * camber[2]


def test_at_a_closed_contact_the_rates_are_montanas(rolled):
    """The closure's elimination against R (16.3) with ψ, and against the kernel without it; nothing is shared."""
    model, run = rolled
    k = 700
    at = model.contacts(run.state[k], run.rolling.coordinates[k])
    _, turning = wheel_jacobians(model.vehicle, run.state[k], at.point_on_wheel)
    wheel, surface = Torus(0.5, 0.15), GroundSurface(model.ground)
    for w in range(3):
        omega = turning[w] @ run.velocity[k]
        axes = np.array([at.e_u[w], at.e_v[w], at.normal_wheel[w]])
        eta = [*run.rolling.coordinates[k, w], at.psi[w]]
        rates = contact_rates(wheel, surface, eta, axes @ omega)
        np.testing.assert_allclose(run.rolling.rates[k, w], rates[:4], rtol=0.0, atol=1e-6)  # closed to 1e-7
        L = np.zeros((4, 6))
        h = model.ground.second_derivatives([run.rolling.coordinates[k, w, 2:]])[0]
        assert montana(axes, run.rolling.coordinates[k, w, 1], 0.5, 0.15, h, L) == OK
        np.testing.assert_allclose(run.rolling.rates[k, w], L[:, :3] @ omega, rtol=0.0, atol=1e-6)


@entry
def montana(axes, v, rim, tyre, ground, L):
    return rolling_contact.contact_matrix(axes, v, rim, tyre, ground, L)


@pytest.mark.parametrize(
    ("name", "flat", "rough"), [("pvc", 3, 3), ("pvc_axle", 2, 2), ("pvc_locked", 2, 1), ("pvc_four", 5, 5)]
)
def test_degrees_of_freedom_are_found_on_flat_and_bumpy_ground(name, flat, rough, ground):
    """By hand: 6 + nj unknowns less 3 rows a wheel; the straight locked one on flat ground has one row twice."""
    for surface, freedoms in ((gr.terrain.plane(), flat), (ground, rough)):
        model = model_of(name, surface)
        start = model.start(0.4, 0.2, 0.3)
        found = model.mobility(start.state, start.contact)
        assert found.degrees_of_freedom == freedoms
        assert found.loose == 0
        assert found.is_sure
        assert found.rank == 6 + model.vehicle.n_joints - freedoms
        assert np.linalg.matrix_rank(found.admissible, tol=1e-9) == freedoms


def test_a_rocker_differential_takes_one_freedom(ground):
    rocker = gr.vehicle("pvc_rocker")
    freedoms = []
    for couplings in (rocker.couplings, ()):
        model = RollingModel(rocker.replace(couplings=couplings), ground)
        start = model.start(0.4, 0.2, 0.3)
        freedoms.append(model.mobility(start.state, start.contact).degrees_of_freedom)
    assert freedoms == [5, 6]


def test_freedoms_do_not_depend_on_the_size_of_the_vehicle():
    """The rank is decided on lengths: a vehicle a thousand times smaller on ground as much smaller has the same."""
    tiny = gr.vehicle("pvc")
    for frame in tiny.frames:
        sizes = {"xyz": np.multiply(frame.xyz, 1e-3)}
        if frame.is_wheel:
            sizes |= {"radius": 1e-3 * frame.radius, "tyre_radius": 1e-3 * frame.tyre_radius}
        tiny = tiny.replace_frame(frame.name, **sizes)
    model = RollingModel(tiny, gr.terrain.slope(deg=10.0))
    start = model.start()
    found = model.mobility(start.state, start.contact)
    whole = model_of("pvc", gr.terrain.slope(deg=10.0))
    same = whole.mobility(*(lambda s: (s.state, s.contact))(whole.start()))
    assert found.degrees_of_freedom == 3
    np.testing.assert_allclose(found.singular_values, same.singular_values, rtol=1e-9)


def test_admissible_rates_satisfy_the_hand_equation_and_are_a_projection(rolled):
    """J_GC V_GC = J_R θ̇ has a solution for the rates of J_in, and J_in changes no admissible rate (16.5), (16.10)."""
    model, run = rolled
    state, contact = run.state[500], run.rolling.coordinates[500]
    J_GC, J_R = reference.hand_jacobians(model.vehicle, state, model.contacts(state, contact))
    assert J_GC.shape == (18, 15)
    assert J_R.shape == (18, 6)
    J_in = model.mobility(state, contact).admissible
    np.testing.assert_allclose(J_in @ J_in, J_in, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(J_in, J_in.T, rtol=0.0, atol=1e-12)
    rates = J_in @ run.rolling.desired[500]
    V, *_ = np.linalg.lstsq(J_GC, J_R @ rates, rcond=None)
    np.testing.assert_allclose(J_GC @ V, J_R @ rates, rtol=0.0, atol=1e-12)
    # What the compiled solver integrates, closed to 1e-7, is the same projection and the same platform.
    np.testing.assert_allclose(run.joint_rates[500], rates, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(run.velocity[500, :6], V[:6], rtol=0.0, atol=1e-6)
    inadmissible = np.eye(6)[1]  # the front wheel alone
    V, *_ = np.linalg.lstsq(J_GC, J_R @ inadmissible, rcond=None)
    assert np.linalg.norm(J_GC @ V - J_R @ inadmissible) > 0.05


def test_q2_spans_the_left_null_space(rolled):
    model, run = rolled
    at = model.contacts(run.state[100], run.rolling.coordinates[100])
    J_GC, J_R = reference.hand_jacobians(model.vehicle, run.state[100], at)
    basis, rank = reference.admissible(model.vehicle, J_GC, J_R)
    assert rank == 15
    assert basis.shape == (6, 3)
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), rtol=0.0, atol=1e-12)
    # J_in from the null space of all rows at once is the same projection.
    found = model.mobility(run.state[100], run.rolling.coordinates[100])
    np.testing.assert_allclose(found.admissible, basis @ basis.T, rtol=0.0, atol=1e-12)


def test_a_symmetric_vehicle_rolls_straight_on_a_slope_in_closed_form():
    """On a plane that rises along x, all wheels at 1 rad/s: the platform goes R t along it, contacts under it."""
    deg = 12.0
    plane = gr.terrain.slope(deg=deg)
    model = model_of("pvc", plane)
    run = roll(model, rates=drive(model.vehicle), duration=5.0, dt=0.05)
    slope = float(plane.gradient(0.0, 0.0)[0])
    along = np.array([1.0, 0.0, slope]) / np.hypot(1.0, slope)
    expected = run.position[0] + np.outer(RADIUS * run.time, along)
    np.testing.assert_allclose(run.position, expected, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(run.joint_rates, np.tile([0.0, 1.0, 0.0, 1.0, 0.0, 1.0], (101, 1)), rtol=0.0, atol=1e-12)
    u = run.rolling.coordinates[:, :, 0]
    np.testing.assert_allclose(u - u[0], -run.time[:, None] * [1, 1, 1], rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(
        measure(run).platform_velocity[:, :3], np.tile(RADIUS * along, (101, 1)), rtol=0.0, atol=1e-12
    )


def test_a_steered_three_wheeler_rolls_in_a_circle_on_flat_ground():
    """With camber held by its weight: the rear axle's middle turns about a point 1.5/tan(φ) to its left."""
    model = model_of("pvc_locked", gr.terrain.plane())
    steer = 0.3
    turn = 1.5 / np.tan(steer)
    w = 0.4  # rad/s about the centre
    rates = {"alpha1": w * np.hypot(1.5, turn) / RADIUS, "alpha2": w * (turn - 0.75) / RADIUS}
    rates["alpha3"] = w * (turn + 0.75) / RADIUS
    run = roll(model, rates=rates, duration=5.0, dt=0.02, start=model.start(joints={"phi1": steer}))
    angle = w * run.time
    expected = np.column_stack((turn * np.sin(angle), turn * (1.0 - np.cos(angle)), np.full_like(angle, RADIUS)))
    np.testing.assert_allclose(run.position, expected, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(run.joint("phi1"), steer, rtol=0.0, atol=1e-9)
    assert set(run.rolling.degrees_of_freedom) == {2}


def test_along_a_run_contacts_touch_normals_oppose_and_wheels_roll(rolled):
    """Measured from pose, tree and ground by code that the solver does not use; bounds of the issue."""
    _, run = rolled
    assert run.status is gr.Status.OK
    assert run.distance > 6.0
    assert measure(run).contact_gap.max() < 1e-6
    assert measure(run).normal_error.max() < 1e-6
    assert run.rolling.closure_error.max() < 3e-4
    assert measure(run).rolling_residual.max() < 1e-5
    assert set(run.rolling.degrees_of_freedom) == {3}
    assert measure(run).clearance(every=100).min() > -1e-9


def test_the_normals_are_opposite_not_alike(rolled):
    _, run = rolled
    at = measure(run).contacts
    assert np.all(np.sum(at.ground.normal * at.normal_wheel, axis=-1) < -0.999)
    assert np.all(at.ground.normal[..., 2] > 0.8)


@pytest.mark.parametrize("sigma", [1.0, 10.0])
def test_a_planted_violation_falls_as_the_exponential_of_minus_sigma_t(sigma, ground):
    model = model_of("pvc", ground, sigma=sigma)
    start = model.start(0.0, 0.3, 0.1)
    rng = np.random.default_rng(5)
    state, contact = start.state.copy(), start.contact + 1e-3 * rng.normal(size=start.contact.shape)
    state[4:7] += 1e-3 * rng.normal(size=3)
    planted = model.closure(state, contact)
    run = roll(model, rates=drive(model.vehicle), duration=3.0 / sigma, dt=0.005, start=Start(state, contact, 0, 1.0))
    for k in (len(run.time) // 3, len(run.time) - 1):
        left = model.closure(run.state[k], run.rolling.coordinates[k])
        # Every entry, not the norm alone; RK4 at σ dt ≤ 0.05 is exact to 1e-7 of the planted size.
        expected = planted * np.exp(-sigma * run.time[k])
        np.testing.assert_allclose(left, expected, rtol=0.0, atol=1e-6 * np.abs(planted).max() + 2e-8)


def test_realigned_contacts_close_at_once_and_the_vehicle_exponentially(ground):
    """What the contacts cannot mend is how far the wheels stand over the ground: that falls as before."""
    model = model_of("pvc", ground, sigma=2.0, realign=True)
    start = model.start(0.0, 0.3, 0.1)
    state, contact = start.state.copy(), start.contact + 1e-3
    state[6] += 1e-3
    run = roll(model, rates=drive(model.vehicle), duration=1.0, dt=0.01, start=Start(state, contact, 0, 1.0))
    assert measure(run).normal_error[0].max() > 1e-3
    assert measure(run).normal_error[1:].max() < 1e-9
    height = measure(run).contact_gap[1:] / measure(run).contact_gap[1]
    # From the second row on the gaps are along the normals, which change a little as the vehicle goes.
    np.testing.assert_allclose(height, np.exp(-2.0 * (run.time[1:] - run.time[1]))[:, None] * [[1, 1, 1]], rtol=0.02)


def test_ground_whose_curvature_jumps_is_rolled_on_with_realigned_contacts():
    ground = gr.terrain.rough(rms=0.1, length=3.0, seed=2, size=24.0, interpolation="bicubic")
    model = model_of("pvc", ground)
    assert model.realigns
    assert not model_of("pvc", gr.terrain.plane()).realigns
    run = roll(model, rates=drive(model.vehicle), duration=8.0, dt=0.01)
    assert measure(run).contact_gap.max() < 1e-6
    assert measure(run).normal_error.max() < 1e-6
    assert set(run.rolling.degrees_of_freedom) == {3}
    left_alone = roll(model.replace(realign=False), rates=drive(model.vehicle), duration=8.0, dt=0.01)
    assert measure(left_alone).normal_error.max() > 1e-6


def test_a_planted_coupling_error_falls_too(ground):
    model = model_of("pvc_rocker", ground, sigma=4.0)
    start = model.start(0.0, 0.3, 0.1)
    state = start.state.copy()
    state[7 + model.vehicle.joint_index("left")] += 2e-3
    run = roll(model, rates=drive(model.vehicle), duration=0.5, dt=0.005, start=Start(state, start.contact, 0, 1.0))
    twist = run.joint("left") + run.joint("right")
    np.testing.assert_allclose(twist, 2e-3 * np.exp(-4.0 * run.time), rtol=0.0, atol=1e-9)


def test_rolling_and_closure_errors_fall_with_the_fourth_power_of_the_step(analytic):
    """On ground with all derivatives: halving the step divides both by about 16."""
    model = model_of("pvc", analytic)
    start = model.start(0.0, 0.3, 0.1)
    runs = [roll(model, rates=drive(model.vehicle), duration=4.0, dt=dt, start=start) for dt in (0.1, 0.05, 0.025)]
    rolling = [measure(run).rolling_residual.max() for run in runs]
    closing = [run.rolling.closure_error.max() for run in runs]
    for errors in (rolling, closing):
        for coarse, fine in pairwise(errors):
            assert 11.0 < coarse / fine < 24.0


def test_compiled_runge_kutta_converges_to_the_adaptive_reference_with_order_four(analytic):
    model = model_of("pvc", analytic)
    start = model.start(0.0, 0.3, 0.1)
    rates = lambda t: {"alpha1": 1.0, "alpha2": 1.0, "alpha3": 1.0 + 0.2 * np.sin(t), "gamma2": 0.05}  # noqa: E731
    exact, touched = reference.integrate(
        model.vehicle,
        analytic,
        start.state,
        start.contact,
        lambda t: model.joint_rates(rates(t)),
        np.array([0.0, 2.0]),
        sigma=5.0,
    )
    errors = []
    for dt in (0.2, 0.1, 0.05):
        run = roll(model, rates=rates, duration=2.0, dt=dt, start=start)
        moved_on = np.abs(run.rolling.coordinates[-1] - touched[-1]).max()
        errors.append(max(np.abs(run.state[-1] - exact[-1]).max(), moved_on))
    assert errors[2] < 1e-6
    for coarse, fine in pairwise(errors):
        assert 10.0 < coarse / fine < 30.0


@pytest.mark.parametrize("name", ["pvc", "pvc_axle", "pvc_rocker"])
def test_mirrored_vehicle_on_mirrored_ground_goes_the_mirrored_way(name, ground):
    vehicle = gr.vehicle(name)
    start = (0.0, 0.3, 0.1)
    rates = drive(vehicle)
    rates["phi1"] = 0.02
    run = roll(vehicle, ground, rates=rates, duration=3.0, dt=0.02, start=start)
    other = vehicle.mirrored()
    flip = signs(vehicle)
    mirror = gr.terrain.moved(ground, mirror=True)
    wanted = flip * RollingModel(vehicle, ground).joint_rates(rates)
    image = roll(other, mirror, rates=wanted, duration=3.0, dt=0.02, start=(0.0, -0.3, -0.1))
    np.testing.assert_allclose(image.position, run.position * [1, -1, 1], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(image.joints, run.joints * flip, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(image.rolling.coordinates, run.rolling.coordinates * [1, -1, 1, -1], rtol=0.0, atol=1e-9)


def test_turning_and_shifting_the_world_changes_nothing_else(ground):
    vehicle = gr.vehicle("pvc")
    yaw, shift = 0.7, np.array([2.0, -1.0, 0.5])
    run = roll(vehicle, ground, rates=drive(vehicle), duration=3.0, dt=0.02, start=(0.0, 0.3, 0.1))
    c, s = np.cos(yaw), np.sin(yaw)
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    elsewhere = gr.terrain.moved(ground, x=shift[0], y=shift[1], z=shift[2], yaw=yaw)
    x, y, _ = R @ [0.0, 0.3, 0.0] + shift
    other = roll(vehicle, elsewhere, rates=drive(vehicle), duration=3.0, dt=0.02, start=(x, y, yaw + 0.1))
    np.testing.assert_allclose(other.position, run.position @ R.T + shift, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(other.joints, run.joints, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(other.velocity, run.velocity, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(
        other.rolling.coordinates[..., :2], run.rolling.coordinates[..., :2], rtol=0.0, atol=1e-9
    )


def test_a_run_saved_and_loaded_is_the_same(rolled, tmp_path):
    _, run = rolled
    run.save(tmp_path / "run.npz")
    back = gr.Run.load(tmp_path / "run.npz")
    for field in ("time", "state", "velocity", "command"):
        np.testing.assert_array_equal(getattr(back, field), getattr(run, field))
    for field in dataclasses.fields(run.rolling):
        np.testing.assert_array_equal(getattr(back.rolling, field.name), getattr(run.rolling, field.name))
    assert back.rolling.degrees_of_freedom.dtype == np.int64
    assert back.vehicle == run.vehicle
    assert back.model == run.model
    assert measure(back).summary() == measure(run).summary()
    run.to_csv(tmp_path / "run.csv")
    header, first = (tmp_path / "run.csv").read_text().splitlines()[:2]
    row = dict(zip(header.split(","), map(float, first.split(",")), strict=True))
    assert row["rate_alpha1"] == pytest.approx(run.joint_rates[0, 1], rel=1e-9)
    assert row["v_alpha2"] == pytest.approx(run.rolling.coordinates[0, 1, 1], rel=1e-9)
    assert row["degrees_of_freedom"] == 3
    assert row["contact_y_alpha2"] == pytest.approx(run.rolling.coordinates[0, 1, 3], rel=1e-9)
    assert not list(tmp_path.glob(".*"))
    (tmp_path / "bad.npz").write_bytes(b"nothing")
    with pytest.raises(SimulationError, match=r"bad\.npz: not a readable"):
        gr.Run.load(tmp_path / "bad.npz")


def test_its_contacts_are_recorded_like_those_of_every_run(rolled):
    """Point, normal, slip, height error and angle of the engine's conventions, against the measured surfaces."""
    model, run = rolled
    at = measure(run).contacts
    np.testing.assert_allclose(run.contact.point, at.point_wheel, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(run.contact.normal, at.ground.normal, rtol=0.0, atol=1e-12)
    gap = np.sum((at.point_wheel - at.ground.point) * at.ground.normal, axis=-1)
    np.testing.assert_allclose(run.contact.height_error, gap, rtol=0.0, atol=1e-12)
    k = 321
    moving, _ = wheel_jacobians(model.vehicle, run.state, at.point_on_wheel)
    velocity = np.einsum("wij,j->wi", moving[k], run.velocity[k])
    axle = frame_poses(model.vehicle, run.state[k])[0][model.vehicle.arrays.wheel, :, 1]
    ahead = np.cross(axle, at.ground.normal[k])
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    axes = np.stack((ahead, np.cross(at.ground.normal[k], ahead), at.ground.normal[k]), axis=1)
    np.testing.assert_allclose(run.contact.velocity[k], np.einsum("wij,wj->wi", axes, velocity), rtol=0.0, atol=1e-12)
    spin = run.joints[:, model.vehicle.arrays.wheel - 1]
    angle = run.rolling.coordinates[..., 0] + spin - np.pi
    np.testing.assert_allclose(run.contact.angle, np.arctan2(np.sin(angle), np.cos(angle)), rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(run.command, run.rolling.desired[:, model.vehicle.arrays.actuated])


def test_a_rolling_run_goes_wherever_a_run_goes(rolled, tmp_path):
    _, run = rolled
    for name in ("run.npz", "run.csv", "run.tum", "run.kitti", "run.html", "run.png"):
        run.write(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 10_000
    assert run.summary()["distance"] == run.distance
    assert len(run.to_pandas()) == len(run.time)
    with pytest.raises(SimulationError, match=r"run\.xml: ends in '\.xml'; a run is written as \.npz, \.csv"):
        run.write(tmp_path / "run.xml")


def test_a_rolling_run_of_an_older_file_is_refused_in_a_sentence(tmp_path):
    np.savez(tmp_path / "old.npz", schema=np.array("grouser/rolling@1"), time=np.zeros(3))
    with pytest.raises(SimulationError, match=r"old\.npz: is a rolling run of Grouser 0\.1 .* roll it again"):
        gr.Run.load(tmp_path / "old.npz")


def test_a_run_that_did_not_roll_has_nothing_to_measure():
    run = gr.simulate(gr.Kinematics(gr.vehicle("husky")), gr.terrain.plane(), gr.drive.arc(1.0), duration=0.2)
    with pytest.raises(SimulationError, match="'husky' was not rolled without slip"):
        measure(run)


def test_a_thin_wheel_is_refused(ground):
    with pytest.raises(SimulationError, match=r"'zoe': wheel 'FL' is a thin disc.*give it a tyre_radius"):
        RollingModel(gr.vehicle("zoe"), ground)


def test_ground_with_edges_is_refused():
    with pytest.raises(TerrainError, match="has edges"):
        model_of("pvc", gr.terrain.ramp(height=0.5, deg=20.0))


def test_the_end_of_the_map_and_ground_that_is_too_sharp_end_a_run(ground):
    vehicle = gr.vehicle("pvc")
    run = roll(vehicle, ground, rates=drive(vehicle), duration=30.0, dt=0.02, start=(8.0, 0.3, 0.0))
    assert run.status is gr.Status.OFF_TERRAIN
    assert 1.0 < run.time[-1] < 10.0
    assert np.isfinite(run.state).all()
    # A valley with a bottom of radius 0.5 m: it bends up more sharply than a wheel of 0.65 m can follow.
    x = np.linspace(-3.0, 9.0, 481)
    y = np.linspace(-3.0, 3.0, 13)
    valley = np.repeat((np.hypot(0.5, x - 4.0) - 4.0)[:, None], 13, axis=1)
    run = roll(vehicle, gr.terrain.spline(valley, x, y), rates=drive(vehicle), duration=10.0, dt=0.01)
    assert run.status is gr.Status.TOO_SHARP
    assert "sharply" in run.status.meaning
    assert run.time[-1] > 1.0


def test_bad_arguments_are_one_sentence(ground):
    vehicle = gr.vehicle("pvc")
    for options, words in (
        ({"rates": {"alpha9": 1.0}}, "no joint 'alpha9'"),
        ({"rates": {"alpha1": np.nan}}, "alpha1"),
        ({"rates": [1.0, 2.0]}, r"shape \(2,\)"),
        ({"rates": {}, "dt": 0.0}, "dt: 0 is not positive"),
        ({"rates": {}, "duration": 1.0, "dt": 0.3}, "not a whole number of steps"),
        ({"rates": {}, "sigma": -1.0}, "sigma: -1 is not positive"),
        ({"rates": {}, "start": (0.0, 1.0)}, "start: has shape"),
    ):
        with pytest.raises(gr.GrouserError, match=words):
            roll(vehicle, ground, **options)
    with pytest.raises(SimulationError, match="ground: is missing"):
        roll(vehicle, rates={})
    with pytest.raises(SimulationError, match="the model has its own"):
        roll(RollingModel(vehicle, ground), gr.terrain.plane(), rates={})
