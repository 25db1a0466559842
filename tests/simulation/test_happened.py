"""Every summary says what happened: tilt, tip margin, slip, slide, energy, and why it ended."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import grouser as gr
from grouser._kernels.simulation.happened import HAPPENED_COLUMNS, SLIDING, happened_rows
from grouser._kernels.simulation.rollout import CONTACT_COLUMNS
from grouser.collision.frames import with_scratch
from grouser.vehicles import Frame, Hull, Vehicle

ZOE, HUSKY = gr.vehicle("zoe"), gr.vehicle("husky")
FLAT, DT = gr.terrain.plane(), 0.01
SLIPPERY = gr.contact.PiecewiseLinear(friction=0.3)
LEAN = math.radians(30.0)


def test_on_a_steep_slope_a_kinematic_run_says_that_a_real_vehicle_would_tip():
    said = gr.simulate(gr.Kinematics(ZOE), gr.terrain.slope(60.0), gr.drive.arc(1.0), duration=1.0).summary()
    assert said["status"] == "ok"
    assert said["largest_tilt_deg"] == pytest.approx(60.0, abs=1e-6)
    # Half of Zoë's wheelbase behind a centre of mass at 0.657 m: it tips at 55.5°.
    assert said["least_tip_margin_deg"] == pytest.approx(55.47 - 60.0, abs=0.1)
    assert (said["tips_from"], said["slid"], said["energy"]) == (0.0, 0.0, None)
    assert "the tip margin is negative from t = 0.0 s: a real vehicle would tip" in said["remarks"][0]
    assert "friction above 1.7" in said["remarks"][1]  # tan 60°


def test_where_nothing_happened_nothing_is_remarked():
    for model in (gr.Kinematics(ZOE), gr.Dynamics(ZOE)):
        said = gr.simulate(model, FLAT, gr.drive.arc(0.5, 0.1), duration=1.0).summary()
        assert (said["slid"], said["sliding_time"], said["tips_from"], said["remarks"]) == (0.0, 0.0, None, [])
        assert said["ended"] == "reached its full duration"


@pytest.mark.parametrize("heading", [0.0, 90.0, 180.0], ids=["nose up", "across", "nose down"])
def test_locked_wheels_slide_down_as_a_block_does(heading):
    """a = g (sin α − μ cos α), whichever way it faces: x = ½ a t²."""
    model, seconds = gr.Dynamics(HUSKY, contact=SLIPPERY), 1.5
    ground = gr.terrain.slope(30.0, heading_deg=heading)
    run = gr.simulate(model, ground, np.zeros((150, 4)), duration=seconds, dt=DT, velocity=np.zeros(10))
    said = run.summary()
    way = 0.5 * 9.81 * (math.sin(LEAN) - 0.3 * math.cos(LEAN)) * seconds**2
    assert run.status == "ok"
    assert said["slid"] == pytest.approx(way, rel=0.05)  # the tyres give way first
    assert said["slid_down"] == pytest.approx(said["slid"] * math.sin(LEAN), rel=0.02)
    assert said["sliding_time"] == pytest.approx(seconds, abs=0.15)
    assert said["remarks"][0].startswith(f"it slid {said['slid']:.1f} m")
    assert said["energy"] == pytest.approx(0.0, abs=1.0)


def test_driving_uphill_too_steep_is_a_slide_downhill():
    model = gr.Dynamics(HUSKY, contact=SLIPPERY)
    run = gr.simulate(model, gr.terrain.slope(30.0), gr.drive.arc(1.0), duration=3.0, dt=DT)
    said = run.summary()
    assert run.position[-1, 0] < -3.0
    assert said["slid"] == pytest.approx(run.distance, rel=0.1)
    assert said["slid_down"] > 1.0


@pytest.mark.parametrize("velocity", [(0.3, 0.4, 0.0), (0.0, -0.5, 0.0), (0.1, 0.7, -0.5)])
def test_what_lies_on_its_hull_slides_with_all_of_its_speed(velocity):
    state = np.concatenate([[1.0, 0, 0, 0], [0.0, 0.0, 1.0], np.zeros(HUSKY.n_joints)])
    v = np.concatenate([np.zeros(3), velocity, np.zeros(HUSKY.n_joints)])
    contacts, loads = (
        np.zeros((1, 4, CONTACT_COLUMNS)),
        np.array([[0.0, 0.0, 0.0, 0.0, 3.0]]),
    )  # three points of the hull carry
    contacts[..., 5] = 1.0
    contacts[..., :2] = HUSKY.wheel_positions[:, :2]
    out = np.zeros((1, HAPPENED_COLUMNS))
    with_scratch(happened_rows, HUSKY.arrays, 9.81, state[None], v[None], contacts, loads, out)
    assert out[0, SLIDING] == pytest.approx(np.linalg.norm(velocity), rel=1e-12)


def test_wheels_that_spin_and_wheels_that_skid_do_not_slide_the_vehicle():
    ice = gr.contact.Pacejka(friction=0.02)
    spun = gr.simulate(gr.Dynamics(HUSKY, contact=ice), FLAT, gr.drive.arc(1.0), duration=1.0, velocity=np.zeros(10))
    assert spun.summary()["largest_slip"] > 0.9
    assert spun.summary()["slid"] == 0.0
    turned = gr.simulate(gr.Dynamics(HUSKY), FLAT, gr.drive.twist(turn=1.0), duration=2.0)
    assert np.abs(turned.contact.velocity[..., 1]).min() > 0.1  # every wheel skids sideways
    assert turned.summary()["slid"] == 0.0


def test_a_crab_on_rollers_rolls_and_does_not_slide():
    robot = gr.vehicle("mecanum")
    for model in (gr.Kinematics(robot), gr.Dynamics(robot)):
        run = gr.simulate(model, FLAT, gr.drive.twist(0.0, 0.3, 0.0), duration=1.0)
        assert abs(run.position[-1, 1]) > 0.25
        assert run.summary()["slid"] == pytest.approx(0.0, abs=0.02)


def leaning(vehicle, roll, height):
    q = np.zeros(7 + vehicle.n_joints)
    q[0], q[1], q[6] = math.cos(0.5 * roll), math.sin(0.5 * roll), height
    return q


def test_dynamics_ends_rolled_over_unless_it_is_told_not_to_or_has_a_hull():
    stiff = gr.contact.Pacejka(friction=1.5)
    start, rest = leaning(HUSKY, 1.3, 0.45), np.zeros(10)
    still = np.zeros((150, 4))

    def run(model):
        return gr.simulate(model, FLAT, still, duration=1.5, dt=DT, start=start, velocity=rest)

    ended = run(gr.Dynamics(HUSKY, contact=stiff))
    assert ended.status == "rolled_over"
    tilt = np.degrees(np.arccos(gr.rotation.from_quaternion(ended.quaternion)[:, 2, 2]))
    assert 80.0 < tilt.max() <= 90.0  # the last good state
    assert ended.summary()["largest_tilt_deg"] == pytest.approx(tilt.max(), abs=1e-6)
    assert ended.summary()["ended"] == "tilted beyond the tip angle"
    lenient = run(gr.Dynamics(HUSKY, contact=stiff, tip_angle=math.pi))
    assert lenient.status == "ok"
    assert lenient.summary()["remarks"][-1] == "it rolled over, and the run continued"
    box = Hull(frame="body", shape="box", xyz=(0.0, 0.0, 0.1), size=(0.9, 0.5, 0.25))
    hull = dataclasses.replace(HUSKY, hull=(box,))
    assert run(gr.Dynamics(hull, contact=stiff)).status == "ok"
    assert run(gr.Dynamics(hull, contact=stiff, tip_angle=0.5 * math.pi)).status == "rolled_over"


def test_a_run_without_a_state_has_the_same_keys():
    x = np.linspace(-3.0, 3.0, 5)
    state = gr.settle(HUSKY, FLAT).state
    state[4] = 2.9
    ground = gr.terrain.grid(np.zeros((5, 5)), x, x)
    empty = gr.simulate(gr.Kinematics(HUSKY), ground, gr.drive.arc(1.0), duration=1.0, start=state).summary()
    some = gr.simulate(gr.Kinematics(HUSKY), ground, gr.drive.arc(1.0), duration=1.0).summary()
    assert list(empty) == list(some)
    assert empty["ended"] == "the ground ended under a wheel"


def test_rollouts_have_a_row_each_with_units():
    pytest.importorskip("pandas")
    many = gr.rollout(gr.Dynamics(HUSKY, contact=SLIPPERY), gr.terrain.slope(30.0), np.zeros((2, 50, 4)), dt=DT)
    table = many.to_pandas()
    assert table["slid"].min() > 0.1
    assert table["largest_tilt"].iloc[0] == pytest.approx(LEAN, abs=0.05)
    assert {key: table.attrs["units"][key] for key in ("slid", "sliding_time", "largest_tilt", "energy")} == {
        "slid": "m", "sliding_time": "s", "largest_tilt": "rad", "energy": "J",
    }  # fmt: skip


def test_a_wheel_alone_has_no_tip_margin_and_a_summary_that_is_json():
    import json

    unicycle = Vehicle("wheel", (Frame("body", mass=1.0), Frame("w", "body", "RY", True, radius=0.2, mass=1.0)))
    said = gr.simulate(gr.Kinematics(unicycle), FLAT, np.ones((3, 1)), duration=0.12).summary()
    assert said["least_tip_margin_deg"] is None
    json.dumps(said, allow_nan=False)
