"""What is worked out once and kept does not leak into other vehicles, models, steps or headings."""

from __future__ import annotations

import gc
import math
import weakref

import numpy as np
import pytest

import grouser as gr
from grouser.once import once_each
from grouser.simulation.drive import level_motion
from grouser.vehicles import Frame, Steering, Vehicle
from grouser.vehicles.tree import forward_kinematics

UP = np.array([0.0, 0.0, 1.0])


def two_steering_joints_in_a_row(order):
    """A cart whose front wheel hangs on a turning arm that hangs on another one."""
    wheel = {"joint": "RY", "radius": 0.2, "mass": 1.0, "actuated": True, "inertia": (0.01, 0.02, 0.01)}
    frames = (
        Frame("body", mass=20.0, inertia=(1.0, 1.0, 1.0)),
        Frame("boom", parent="body", joint="RZ", xyz=(0.8, 0.1, 0.0), rpy=(0.0, 0.1, 0.0), mass=1.0, actuated=True),
        Frame("fork", parent="boom", joint="RZ", xyz=(0.3, 0.05, 0.0), mass=1.0, actuated=True),
        Frame("front", parent="fork", xyz=(0.1, 0.0, -0.2), **wheel),
        Frame("left", parent="body", xyz=(-0.5, 0.4, -0.2), **wheel),
        Frame("right", parent="body", xyz=(-0.5, -0.4, -0.2), **wheel),
    )
    steering = tuple(Steering(joint, gain=2.0, limit=1.0) for joint in order)
    return Vehicle("cart", frames, steering=steering)


def plainly(vehicle, forward, left, turn):
    """Angles and wheel rates by the definition: the whole vehicle is posed anew before each steering joint turns."""
    joints = vehicle.rest.copy()
    reference = np.array([*vehicle.drive_point, 0.0])

    def velocity_at(point):
        return np.array([forward, left, 0.0]) + np.cross([0.0, 0.0, turn], point - reference)

    def wheels_beyond(frame):
        for w in vehicle.arrays.wheel:
            at = int(w)
            while at > 0:
                if at == frame:
                    yield int(w)
                at = int(vehicle.arrays.parent[at])

    for steering in vehicle.steering:
        R, p = forward_kinematics(vehicle.frames, joints)
        frame = vehicle.frame_index(steering.joint)
        wheel = next(wheels_beyond(frame), None)
        wanted = velocity_at(p[frame])
        if wheel is None or np.hypot(*wanted[:2]) < 1e-12:
            continue
        heading = np.cross(R[wheel][:, 1], UP)
        change = math.atan2(np.cross(heading, wanted)[2], heading @ wanted)
        change -= math.pi * round(change / math.pi)
        joints[frame - 1] += change if R[frame][2, 2] >= 0.0 else -change
    R, p = forward_kinematics(vehicle.frames, joints)
    rates = []
    for joint in vehicle.arrays.actuated:
        radius = vehicle.frames[joint + 1].radius
        axle = R[joint + 1][:, 1]
        rates.append(0.0 if radius is None else velocity_at(p[joint + 1]) @ np.cross(axle, UP) / radius)
    return joints, np.array(rates)


VEHICLES = {
    **{name: gr.vehicle(name) for name in ("zoe", "rocky7", "husky", "lru1", "crusher")},
    "boom before fork": two_steering_joints_in_a_row(("boom", "fork")),
    "fork before boom": two_steering_joints_in_a_row(("fork", "boom")),
}


@pytest.mark.parametrize("name", VEHICLES)
def test_a_level_motion_is_that_of_the_whole_vehicle_posed_anew(name):
    vehicle = VEHICLES[name]
    rng = np.random.default_rng(5)
    special = [(0.5, 0.0, 0.0), (0.0, 0.0, 0.4), (0.0, 0.3, 0.0), (0.0, 0.0, 0.0)]
    for forward, left, turn in [*special, *rng.normal(size=(20, 3))]:
        joints, rates = plainly(vehicle, forward, left, turn)
        segment = level_motion(vehicle, forward, left, turn)
        np.testing.assert_allclose(segment.rate, rates, rtol=0.0, atol=1e-12)
        steered = segment.gain != 0.0
        np.testing.assert_allclose(
            segment.target[steered], joints[segment.joint[steered].astype(int)], rtol=0.0, atol=1e-12
        )
        if vehicle.steering:
            assert steered.any()


def test_what_is_kept_belongs_to_one_object_and_goes_with_it():
    class Thing:
        pass

    made = []

    @once_each
    def number(thing):
        made.append(thing.value)
        return [thing.value]

    one, two = Thing(), Thing()
    one.value, two.value = 1, 2
    assert [number(one), number(two), number(one)] == [[1], [2], [1]]
    assert made == [1, 2]
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None
    for value in range(3, 200):  # one of them gets the place in memory, and so the identity, of the first
        thing = Thing()
        thing.value = value
        assert number(thing) == [value]
        del thing


def test_vehicles_that_are_no_longer_used_are_let_go():
    vehicle = gr.vehicle("zoe")
    ground = gr.terrain.plane()
    gr.simulate(gr.Dynamics(vehicle), ground, gr.drive.arc(0.3, 0.2), duration=0.04)
    gone = weakref.ref(vehicle)
    del vehicle
    gc.collect()
    assert gone() is None


def test_gains_are_those_of_the_step_asked_for_last_and_known_entries_do_not_stick():
    vehicle = gr.vehicle("zoe")
    model = gr.Kinematics(vehicle)
    for dt, sigma in ((0.04, 10.0), (0.5, 2.0), (0.04, 10.0), (None, 10.0)):
        gain = model.arrays(dt).gain
        assert gain[:3] == pytest.approx([0.0, 0.0, sigma])  # along, across, height
        assert gain[-1] == pytest.approx(sigma)  # Zoë's coupling
    plain = model.arrays()
    given = model.arrays(known=[3, 2, 2])
    assert given.known[: given.counts[0]].tolist() == [2, 3]
    assert given.unknown[: given.counts[1]].tolist() == [i for i in range(6 + vehicle.n_joints) if i not in (2, 3)]
    np.testing.assert_array_equal(model.arrays().known, plain.known)
    assert model.replace(penetration=0.01).arrays().target[0] == -0.01
    assert model.replace(tip_angle=0.5).describe() != model.describe()

    dynamic = gr.Dynamics(vehicle, coupling_time_constant=0.05)
    assert [dynamic.arrays(dt).rigid_gain for dt in (0.01, 0.1, None, 0.01)] == pytest.approx([20.0, 10.0, 20.0, 20.0])


def test_a_short_batch_is_the_same_bytes_on_any_number_of_threads():
    ground = gr.terrain.parse("rough:rms=.05,length=.8,seed=3,size=14")
    commands = np.random.default_rng(1).normal(size=(6, 4, 4))
    for model in (gr.Kinematics(gr.vehicle("husky")), gr.Dynamics(gr.vehicle("husky"))):
        short = gr.rollout(model, ground, commands).final_state  # too short for more than one
        wide = gr.rollout(model, ground, np.tile(commands, (10, 1, 1))).final_state[:6]
        one = gr.rollout(model, ground, commands, threads=1).final_state
        assert short.tobytes() == wide.tobytes() == one.tobytes()


def test_each_run_starts_with_its_own_heading_and_vehicle():
    ground = gr.terrain.slope(deg=8.0)
    for name in ("zoe", "husky", "zoe"):
        vehicle = gr.vehicle(name)
        for yaw in (0.3, -2.0, 0.3):
            settled = gr.settle(vehicle, ground, yaw=yaw)
            ahead = gr.rotation.from_quaternion(settled.state[:4])[:, 0]
            assert math.atan2(ahead[1], ahead[0]) == pytest.approx(yaw, abs=0.03)  # on a slope not quite
            assert len(settled.height_error) == vehicle.n_wheels
            assert np.abs(settled.height_error).max() < 1e-9
