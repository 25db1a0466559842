"""A hull that touches the ground: where it rests, what it holds, how its forces act, what a run says of it."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.vehicles import Hull

HARD = gr.contact.PiecewiseLinear(static_penetration=1e-4, friction=0.5, cone=True)
ROOF = Hull("body", "box", xyz=(0.0, 0.0, 0.15), size=(0.8, 0.36, 0.5))
ON_ITS_BACK = (0.0, 1.0, 0.0, 0.0)
R2 = math.sqrt(0.5)


def husky(*hull):
    return gr.vehicle("husky").replace(hull=hull or (ROOF,))


def start(quaternion, position, joints=4):
    return np.concatenate([quaternion, position, np.zeros(joints)])


def drop(model, ground, q, seconds=2.0, dt=0.01, v=None):
    velocity = np.zeros(6 + model.vehicle.n_joints) if v is None else v
    still = np.zeros((1, len(model.vehicle.actuated)))
    return gr.simulate(model, ground, still, duration=seconds, dt=dt, start=q, velocity=velocity)


def test_a_vehicle_on_its_back_is_carried_by_its_hull():
    run = drop(gr.Dynamics(husky(), hull=HARD), gr.terrain.plane(), start(ON_ITS_BACK, (0.0, 0.0, 0.45)))
    assert run.position[-1, 2] == pytest.approx(0.4, abs=1e-4)  # the roof is 0.4 m above the body's origin
    assert run.hull.force[-1] == pytest.approx([0.0, 0.0, 50.0 * 9.81], abs=0.1)
    assert run.hull.point[-1] == pytest.approx([0.0, 0.0, 0.0], abs=1e-3)
    assert not run.contact.force[-1].any()
    assert 0.08 < run.hull_touched < 0.11  # √(2 · 0.05 m/g) = 0.101 s
    assert run.summary()["hull_touched"] == run.hull_touched


def test_a_hull_that_does_not_touch_changes_nothing():
    ground = gr.terrain.rough(rms=0.05, length=0.8, seed=2)
    high = Hull("body", "box", xyz=(0.0, 0.0, 1.0), size=(0.8, 0.36, 0.5))
    without = gr.vehicle("husky")
    runs = [
        gr.simulate(gr.Dynamics(one), ground, gr.drive.arc(0.5, 0.3), duration=2.0) for one in (without, husky(high))
    ]
    assert np.array_equal(runs[0].state, runs[1].state)
    assert np.array_equal(runs[0].contact.force, runs[1].contact.force)
    assert runs[0].hull is None
    assert "hull_touched" not in runs[0].summary()
    assert runs[1].summary()["hull_touched"] is None


def test_kinematics_ignores_the_hull():
    ground, low = gr.terrain.plane(), Hull("body", "sphere", xyz=(0.0, 0.0, -0.2), radius=0.1)
    runs = [
        gr.simulate(gr.Kinematics(one), ground, gr.drive.arc(0.5, 0.3), duration=1.0)
        for one in (gr.vehicle("husky"), husky(low))
    ]
    assert np.array_equal(runs[0].state, runs[1].state)


@pytest.mark.parametrize(("degrees", "slides"), [(25.0, False), (28.0, True)])
def test_friction_holds_a_hull_up_to_the_angle_of_friction(degrees, slides):
    """μ = 0.5 holds up to atan 0.5 = 26.6°."""
    turn = math.radians(degrees)
    upside_down = gr.rotation.to_quaternion(gr.rotation.from_rpy(math.pi, -turn, 0.0))
    q = start(upside_down, (-0.4 * math.sin(turn), 0.0, 0.4 * math.cos(turn)))
    run = drop(gr.Dynamics(husky(), hull=HARD), gr.terrain.slope(deg=degrees), q, seconds=3.0)
    speed = np.linalg.norm(run.velocity[-1, 3:6])
    if slides:
        wanted = 9.81 * (math.sin(turn) - 0.5 * math.cos(turn)) * 3.0
        assert speed == pytest.approx(wanted, rel=0.03)
    else:
        assert speed < 1e-6


def test_a_ball_rests_on_the_lowest_place_of_a_bowl_and_on_the_edge_of_a_ridge():
    @gr.terrain.law
    def bowl(x, y):
        return 0.5 * (x * x + y * y), x, y

    @gr.terrain.law
    def ridge(x, y):
        return -abs(x), -1.0 if x > 0.0 else 1.0, 0.0

    # Upside down, with all weight on a ball: the mass hangs below its centre.
    ball = Hull("body", "sphere", xyz=(0.0, 0.0, 1.0), radius=0.3)
    vehicle = husky(ball).replace_frame("body", com=(0.0, 0.0, 1.5))
    model = gr.Dynamics(vehicle, hull=HARD)
    in_bowl = drop(model, bowl, start(ON_ITS_BACK, (0.0, 0.0, 1.31)), seconds=3.0)
    assert in_bowl.position[-1, 2] == pytest.approx(1.3, abs=1e-3)
    on_ridge = drop(model, ridge, start(ON_ITS_BACK, (0.0, 0.0, 1.301)), seconds=0.3, dt=0.002)
    assert on_ridge.position[-1, 2] == pytest.approx(1.3, abs=1e-3)


def test_forces_on_the_hull_act_through_the_jacobian_of_their_point():
    """M (u − v)/dt + c = Jᵀ f with J by `frame_jacobian`: of a ball on a link that turns, in mid air but for it."""
    zoe = gr.vehicle("zoe")
    name = next(f.name for f in zoe.frames[1:] if not f.is_wheel)
    ball = Hull(name, "sphere", xyz=(0.1, 0.05, -0.02), radius=0.2)
    vehicle = zoe.replace(hull=(ball,), couplings=())
    model = gr.Dynamics(vehicle, actuator=gr.actuation.PI(gain=0.0), tolerance=1e-9, rest=False)
    rng = np.random.default_rng(5)
    q = np.concatenate([rng.normal(size=4), [0.2, 0.1, 5.0], rng.uniform(-0.3, 0.3, vehicle.n_joints)])
    q[:4] /= np.linalg.norm(q[:4])
    R, p = gr.kinematics.frame_poses(vehicle, q)
    k = vehicle.frame_index(name)
    normal = np.array([-0.3, 0.2, 1.0]) / math.sqrt(1.13)
    centre = p[k] + R[k] @ ball.xyz
    contact = centre - 0.2 * normal
    # A slope that the ball alone presses into, by a millimetre: wheels are looked up far below it.
    height = contact[2] + 0.001 / normal[2]

    @gr.terrain.law
    def patch(x, y, *, cx=gr.param(0.0, "m"), cy=gr.param(0.0, "m"), cz=gr.param(0.0, "m")):
        if (x - cx) ** 2 + (y - cy) ** 2 < 0.0225:
            return cz + 0.3 * (x - cx) - 0.2 * (y - cy), 0.3, -0.2
        return -100.0, 0.0, 0.0

    ground = patch.replace(cx=contact[0], cy=contact[1], cz=height)
    v, dt = rng.uniform(-0.004, 0.004, 6 + vehicle.n_joints), 1e-5
    step = model.step(q, v, np.zeros(len(vehicle.actuated)), ground, dt=dt)
    assert not step.force.any()
    M, c = model.inertia_and_bias(q, v)
    general = M @ step.acceleration + c
    offset = R[k].T @ (contact - p[k])
    J = gr.kinematics.frame_jacobian(vehicle, q, name, offset)[3:]
    f, *_ = np.linalg.lstsq(J.T, general, rcond=None)
    assert np.abs(J.T @ f - general).max() < 1e-6 * np.abs(general).max()
    world = R[0] @ f
    assert world @ normal > 0.0
    # The force is that of the law at the velocity of the point.
    at = R[0] @ (J @ step.velocity)
    rise = at @ normal
    slip = at - rise * normal
    law = model.hull.at_load(model.wheel_load)
    wanted = law.force(np.array([np.linalg.norm(slip), 0.0, rise]), 0.0, -0.001 + rise * dt, load=model.wheel_load)
    assert world @ normal == pytest.approx(wanted[2], rel=1e-4)
    assert world - (world @ normal) * normal == pytest.approx(wanted[0] * slip / np.linalg.norm(slip), rel=1e-3)


def test_power_of_the_ground_on_the_hull_is_what_the_vehicle_loses():
    """Without gravity kinetic energy changes by the power of the contacts times dt: inertia is constant here."""
    model = gr.Dynamics(husky(), gravity=0.0, tolerance=1e-7)
    q = start(gr.rotation.to_quaternion(gr.rotation.from_rpy(math.pi - 0.3, 0.2, 0.0)), (0.0, 0.0, 0.6))
    R = gr.rotation.from_quaternion(q[:4])
    v = np.concatenate([[0.3, 0.2, -0.4], R.T @ [0.5, 0.2, -1.0], np.zeros(4)])
    run = drop(model, gr.terrain.plane(), q, v=v, seconds=1.0)
    assert run.hull.touching.max() > 0
    change = np.diff(run.solver.kinetic) / run.dt
    power = (run.hull.power + run.contact.power.sum(axis=1))[:-1]
    assert np.abs(change - power).max() < 1e-6 * np.abs(power).max()
    assert power.min() < -10.0


def test_a_mirrored_hull_gives_the_mirrored_motion():
    hull = (
        Hull("body", "box", xyz=(0.1, 0.05, 0.15), rpy=(0.1, 0.0, 0.2), size=(0.8, 0.36, 0.4)),
        Hull("body", "capsule", xyz=(0.0, -0.3, 0.3), rpy=(1.4, 0.0, 0.0), radius=0.1, length=0.2),
    )
    vehicle, runs = husky(*hull), []
    for side, one in ((1.0, vehicle), (-1.0, vehicle.mirrored())):
        turn = gr.rotation.from_rpy(side * (math.pi - 0.4), 0.2, side * 0.3)
        q = start(gr.rotation.to_quaternion(turn), (0.0, 0.0, 0.8))
        runs.append(drop(gr.Dynamics(one), gr.terrain.slope(deg=5.0), q))
    assert runs[0].hull.touching.any()
    assert np.abs(runs[0].position * [1.0, -1.0, 1.0] - runs[1].position).max() < 1e-6


@pytest.mark.parametrize(
    ("quaternion", "half"),
    [((0.0, 1.0, 0.0, 0.0), 0.4), ((R2, R2, 0.0, 0.0), 0.6), ((R2, 0.0, R2, 0.0), 0.8)],
    ids=["on its back", "on its side", "on its nose"],
)
def test_a_fast_fall_in_any_direction_of_the_body_meets_the_ground_in_its_step(quaternion, half):
    all_round = Hull("body", "box", size=(1.6, 1.2, 0.8))
    velocity = np.zeros(10)
    velocity[3:6] = gr.rotation.from_quaternion(np.array(quaternion)).T @ [0.0, 0.0, -5.0]  # in body axes
    q = start(quaternion, (0.0, 0.0, half + 0.03))  # 3 cm above the ground, of 10 cm in a step
    run = drop(gr.Dynamics(husky(all_round), hull=HARD), gr.terrain.plane(), q, 0.02, 0.02, velocity)
    assert run.position[-1, 2] == pytest.approx(half, abs=2e-3)


def test_points_beyond_the_map_do_not_touch():
    nodes = np.linspace(-0.5, 0.5, 8)
    ground = gr.terrain.grid(np.zeros((8, 8)), nodes, nodes)
    # The wheels are on the map, the ends of the hull are not.
    model = gr.Dynamics(husky(Hull("body", "box", xyz=(0.0, 0.0, -0.05), size=(1.4, 0.3, 0.2))), hull=HARD)
    run = drop(model, ground, start((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.2)), seconds=1.0)
    assert run.status == "ok"
    assert np.isfinite(run.state).all()


def test_a_run_in_a_file_keeps_what_the_hull_felt(tmp_path):
    run = drop(gr.Dynamics(husky()), gr.terrain.plane(), start(ON_ITS_BACK, (0.0, 0.0, 0.42)), seconds=0.5)
    run.save(tmp_path / "a.npz")
    loaded = gr.Run.load(tmp_path / "a.npz")
    assert loaded.vehicle == run.vehicle
    for name in ("force", "point", "touching", "power"):
        assert np.array_equal(getattr(loaded.hull, name), getattr(run.hull, name))
    assert np.array_equal(loaded.contact.second_force, run.contact.second_force)
    run.to_csv(tmp_path / "a.csv")
    header = (tmp_path / "a.csv").read_text().splitlines()[0]
    assert "hull_force_z" in header
    assert "second_force" not in header
