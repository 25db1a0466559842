"""Forces at rest, friction at its limit, forces from outside: what statics and Newton's second law say."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.collision import contacts
from grouser.contact import Pacejka, PiecewiseLinear
from grouser.kinematics import frame_poses

G = 9.81
PLANE = gr.terrain.plane()


def stiff(vehicle, **options):
    """Wheels that creep 0.4 mm/s under half their load, so that a vehicle parks: slip stiffness is viscous."""
    stiffness = vehicle.mass * G / vehicle.n_wheels / 0.02
    return PiecewiseLinear(
        stiffness=stiffness, slip_stiffness_x=10.0 * stiffness, slip_stiffness_y=10.0 * stiffness, **options
    )


def parked(vehicle, ground, *, seconds=20.0, start=(0.0, 0.0, 0.0), contact=None, **options):
    model = gr.Dynamics(
        vehicle,
        contact=stiff(vehicle) if contact is None else contact,
        tolerance=1e-9 * vehicle.mass * G,
        **options,
    )
    state = gr.settle(vehicle, ground, x=start[0], y=start[1], yaw=start[2], penetration=0.02).state
    still = np.zeros(6 + vehicle.n_joints)
    run = gr.simulate(model, ground, gr.drive.constant(0.0), duration=seconds, dt=0.04, start=state, velocity=still)
    assert run.status == "ok"
    return run


def world_forces(run, ground, row=-1):
    """Contact forces and their points, world axes."""
    found = contacts(run.vehicle, run.state[row], ground)
    return np.einsum("wij,wj->wi", found.rotation, run.contact.force[row]), found.point


def centre_of_mass(vehicle, state):
    R, p = frame_poses(vehicle, state)
    masses = np.array([f.mass for f in vehicle.frames])
    places = p + np.einsum("fij,fj->fi", R, np.array([f.com for f in vehicle.frames]))
    return masses @ places / masses.sum()


@pytest.mark.parametrize("name", gr.vehicles.names())
@pytest.mark.parametrize("heading", [0.0, 90.0, 35.0])
def test_parked_on_a_slope_forces_carry_the_weight_without_a_moment(name, heading):
    vehicle, ground = gr.vehicle(name), gr.terrain.slope(15.0, heading_deg=heading)
    run = parked(vehicle, ground, seconds=60.0 if vehicle.couplings else 20.0)  # springs settle slowly
    weight = vehicle.mass * G
    force, point = world_forces(run, ground)
    np.testing.assert_allclose(force.sum(axis=0) / weight, [0.0, 0.0, 1.0], rtol=0.0, atol=1e-6)
    moment = np.cross(point - centre_of_mass(vehicle, run.state[-1]), force).sum(axis=0)
    length = np.ptp(vehicle.wheel_positions[:, :2], axis=0).max()
    np.testing.assert_allclose(moment / (weight * length), 0.0, rtol=0.0, atol=1e-6)
    assert (run.contact.force[-1, :, 2] > 0.0).all()
    assert np.linalg.norm(run.velocity[-1, 3:6]) < 2e-3  # friction holds it, but for creep


@pytest.mark.parametrize("contact", [Pacejka(), PiecewiseLinear(cone=True)], ids=["pacejka", "cone"])
def test_motors_hold_a_parked_vehicle_too(contact):
    vehicle, ground = gr.vehicle("husky"), gr.terrain.slope(10.0)
    run = parked(vehicle, ground, contact=contact, actuator=gr.actuation.PI(gain=2000.0))
    weight = vehicle.mass * G
    force, _ = world_forces(run, ground)
    np.testing.assert_allclose(force.sum(axis=0) / weight, [0.0, 0.0, 1.0], rtol=0.0, atol=1e-6)
    # The motors carry the weight's pull down the slope, by the wheels' radius above their contact points.
    torque, radius = run.torque[-1].sum(), vehicle.arrays.radius[0]
    assert torque == pytest.approx(weight * math.sin(math.radians(10.0)) * radius, rel=1e-4)


def test_on_level_ground_the_levers_share_the_weight():
    vehicle = gr.vehicle("husky").replace_frame("body", com=(0.1, 0.0, 0.2))
    run = parked(vehicle, PLANE, rest=False)  # no stress between wheels that hold
    load = dict(zip(vehicle.wheels, run.contact.force[-1, :, 2], strict=True))
    com = centre_of_mass(vehicle, run.state[-1])
    _, point = world_forces(run, PLANE)
    front, rear = point[:, 0].max(), point[:, 0].min()
    weight = vehicle.mass * G
    assert load["FL"] + load["FR"] == pytest.approx(weight * (com[0] - rear) / (front - rear), rel=1e-6)
    assert load["FL"] == pytest.approx(load["FR"], rel=1e-9)
    assert load["FL"] > load["BL"]


def slide(contact, velocity, ground=PLANE, seconds=0.2):
    """Husky with locked wheels, thrown over the ground at the height it rests at."""
    vehicle = gr.vehicle("husky")
    model = gr.Dynamics(vehicle, contact=contact, tolerance=1e-9 * vehicle.mass * G)
    start = gr.settle(vehicle, ground, penetration=0.02).state
    v = np.zeros(6 + vehicle.n_joints)
    v[3:5] = velocity
    return gr.simulate(model, ground, gr.drive.constant(0.0), duration=seconds, dt=0.01, start=start, velocity=v)


def test_sliding_friction_is_exactly_at_its_limit():
    mu = 0.4
    pyramid = slide(PiecewiseLinear(friction=mu), (2.0, 2.0)).contact.force
    loaded = pyramid[..., 2] > 0.0
    assert loaded.mean() > 0.9
    for axis in (0, 1):
        np.testing.assert_allclose(pyramid[loaded][:, axis], -mu * pyramid[loaded][:, 2], rtol=1e-12)
    cone = slide(PiecewiseLinear(friction=mu, cone=True), (2.0, 2.0)).contact.force
    np.testing.assert_allclose(np.hypot(cone[..., 0], cone[..., 1]), mu * cone[..., 2], rtol=1e-12)
    two = slide(PiecewiseLinear(friction=(0.4, 0.2)), (2.0, 2.0)).contact.force
    np.testing.assert_allclose(two[..., 1], 0.5 * two[..., 0], rtol=1e-12)
    tyre = slide(Pacejka(friction=mu), (2.0, 1.0)).contact.force
    assert (np.hypot(tyre[..., 0], tyre[..., 1]) <= mu * tyre[..., 2] * (1 + 1e-12)).all()


@pytest.mark.parametrize("degrees", [15.0, 30.0])
def test_a_slope_beyond_the_friction_angle_is_slid_down_as_in_the_textbook(degrees):
    mu, angle = 0.2, math.radians(degrees)
    ground = gr.terrain.slope(degrees)
    vehicle = gr.vehicle("husky")
    run = slide(PiecewiseLinear(friction=mu), (-1.0, 0.0), ground, seconds=4.0)
    assert run.status == "ok"
    wanted = -G * (math.sin(angle) - mu * math.cos(angle))
    late = run.time > 3.0  # it has stopped bouncing
    speed = -np.linalg.norm(run.velocity[late, 3:6], axis=1)  # the body is pitched against the slope by 0.8°
    acceleration = np.polyfit(run.time[late], speed, 1)[0]
    assert acceleration == pytest.approx(wanted, rel=1e-5)
    total = run.contact.force[-1].sum(axis=0)
    assert total[2] == pytest.approx(vehicle.mass * G * math.cos(angle), rel=1e-5)
    assert total[0] == pytest.approx(mu * total[2], rel=1e-9)  # up the slope


@pytest.mark.parametrize("yaw", [0.0, 2.1])
def test_a_drawbar_pull_slows_a_frictionless_vehicle_by_force_over_mass(yaw):
    vehicle, wanted = gr.vehicle("husky"), -1.7
    state = gr.settle(vehicle, PLANE, yaw=yaw, penetration=0.02).state
    R = gr.rotation.from_quaternion(state[:4])
    pull = vehicle.mass * wanted
    local = R.T @ (centre_of_mass(vehicle, state) - state[4:7])
    for axes, force in (("frame", (pull, 0.0, 0.0)), ("world", tuple(R @ [pull, 0.0, 0.0]))):
        model = gr.Dynamics(
            vehicle,
            contact=PiecewiseLinear(friction=0.0),
            external=(gr.ExternalForce(frame="body", force=force, point=tuple(local), axes=axes),),
            tolerance=1e-9 * vehicle.mass * G,
        )
        v = np.zeros(10)
        v[3] = 3.0
        run = gr.simulate(model, PLANE, gr.drive.constant(0.0), duration=1.0, dt=0.01, start=state, velocity=v)
        assert run.velocity[-1, 3] == pytest.approx(3.0 + wanted, rel=1e-5)
        assert run.velocity[-1, 4] == pytest.approx(0.0, abs=1e-6)


def test_a_payloads_weight_as_a_force_is_statically_its_mass():
    vehicle, ground = gr.vehicle("zoe"), gr.terrain.slope(8.0, heading_deg=20.0)
    contact, extra, place = stiff(vehicle), 40.0, np.array([0.3, -0.2, 0.5])
    load = gr.ExternalForce(frame="body", force=(0.0, 0.0, -extra * G), point=tuple(place))
    pushed = parked(vehicle, ground, contact=contact, external=(load,), rest=False)
    body = vehicle.frames[0]
    mass = body.mass + extra
    com = (body.mass * np.array(body.com) + extra * place) / mass
    loaded = parked(vehicle.replace_frame("body", mass=mass, com=com), ground, contact=contact, rest=False)
    np.testing.assert_allclose(pushed.contact.force[-1], loaded.contact.force[-1], rtol=1e-5, atol=1e-3)
    empty = parked(vehicle, ground, contact=contact, rest=False)
    assert pushed.contact.force[-1, :, 2].sum() - empty.contact.force[-1, :, 2].sum() == pytest.approx(
        extra * G * math.cos(math.radians(8.0)), rel=1e-5
    )


def test_a_torque_moves_load_between_the_axles_by_torque_over_wheelbase():
    vehicle, torque = gr.vehicle("husky"), 30.0
    nothing = parked(vehicle, PLANE, rest=False)
    load = gr.ExternalForce(frame="body", torque=(0.0, torque, 0.0), axes="frame")
    run = parked(vehicle, PLANE, external=(load,), rest=False)
    force, point = world_forces(run, PLANE)
    moment = np.cross(point - centre_of_mass(vehicle, run.state[-1]), force).sum(axis=0)
    np.testing.assert_allclose(moment, [0.0, -torque, 0.0], rtol=0.0, atol=1e-6 * torque)
    # About +y is nose down. The mass leans over by the pitch, so the load moves 2 % more than torque over wheelbase.
    base = np.ptp(vehicle.wheel_positions[:, 0])
    front = np.array([name.startswith("F") for name in vehicle.wheels])
    shift = run.contact.force[-1, front, 2].sum() - nothing.contact.force[-1, front, 2].sum()
    assert shift == pytest.approx(torque / base, rel=0.03)


@pytest.mark.parametrize("yaw", [0.0, math.pi / 2, 2.5])
def test_world_forces_keep_their_direction_and_frame_forces_turn(yaw):
    vehicle, force = gr.vehicle("husky"), np.array([40.0, 25.0, -30.0])
    for axes in ("world", "frame"):
        load = gr.ExternalForce(frame="body", force=tuple(force), point=(0.0, 0.0, 0.1), axes=axes)
        run = parked(vehicle, PLANE, start=(0.0, 0.0, yaw), external=(load,))
        R = gr.rotation.from_quaternion(run.state[-1, :4])
        held, _ = world_forces(run, PLANE)
        wanted = [0.0, 0.0, vehicle.mass * G] - (force if axes == "world" else R @ force)
        np.testing.assert_allclose(held.sum(axis=0), wanted, rtol=0.0, atol=1e-6 * vehicle.mass * G)


@pytest.mark.parametrize("angle", [0.0, math.pi / 2, 4.0])
def test_a_force_on_a_point_of_a_wheel_turns_with_the_wheel(angle):
    vehicle = gr.vehicle("husky")
    wheel = vehicle.wheels[0]
    state = np.concatenate([[1.0, 0, 0, 0], np.zeros(3), np.zeros(4)])
    j = vehicle.joint_index(wheel)
    state[7 + j] = angle
    nothing = np.zeros(10)
    for axes in ("world", "frame"):
        load = gr.ExternalForce(frame=wheel, force=(0.0, 0.0, 10.0), point=(0.1, 0.0, 0.0), axes=axes)
        _, c = gr.Dynamics(vehicle).inertia_and_bias(state, nothing)
        _, loaded = gr.Dynamics(vehicle, external=(load,)).inertia_and_bias(state, nothing)
        R = gr.rotation.from_rpy(0.0, angle, 0.0)
        force = np.array([0.0, 0.0, 10.0]) if axes == "world" else R @ [0.0, 0.0, 10.0]
        wanted = np.cross(R @ [0.1, 0.0, 0.0], force)[1]
        assert (c - loaded)[6 + j] == pytest.approx(wanted, abs=1e-12)
