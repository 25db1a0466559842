"""Balls that slide in the vehicle file: what is read, written, mirrored, counted and refused."""

from pathlib import Path

import numpy as np
import pytest

import grouser as gr
from grouser.errors import VehicleError
from grouser.vehicles import Coupling, Frame, Steering, to_toml, write_toml
from tests.vehicles.castor import BALL, turtle

ROBOT = """<robot name="tb"><link name="base"><inertial><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lw"><inertial><mass value="0.05"/><inertia ixx="1e-5" iyy="2e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<link name="rw"><inertial><mass value="0.05"/><inertia ixx="1e-5" iyy="2e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<link name="ball"><inertial><mass value="0.01"/><inertia ixx="1e-7" iyy="1e-7" izz="1e-7" ixy="0" ixz="0" iyz="0"/>
</inertial><collision><geometry><sphere radius="0.01"/></geometry></collision></link>
<joint name="left" type="continuous"><parent link="base"/><child link="lw"/><origin xyz="0 0.08 0"/><axis xyz="0 1 0"/>
</joint><joint name="right" type="continuous"><parent link="base"/><child link="rw"/><origin xyz="0 -0.08 0"/>
<axis xyz="0 1 0"/></joint>
<joint name="castor" type="KIND"><parent link="base"/><child link="ball"/><origin xyz="-0.08 0 -0.023"/>
<axis xyz="0 0 1"/></joint></robot>"""
SIDE = """schema = "grouser/urdf@1"
actuated = ["left", "right"]
wheels = [
    { joint = "castor", radius = 0.01, slides = 0.2 },
    { joint = "left", radius = 0.033 },
    { joint = "right", radius = 0.033 },
]
"""


def test_a_ball_needs_no_joint_and_stands_last():
    vehicle = turtle()
    assert vehicle.wheels == ("left", "right", "ball")
    assert vehicle.rolling_wheels == ("left", "right")
    assert vehicle.sliding == ("ball",)
    assert vehicle.kinds_of_wheels == "2 wheels, 1 ball that slides"
    assert "sliding ball: friction 0.2" in vehicle.summary()
    np.testing.assert_array_equal(vehicle.arrays.friction, [0.2])
    np.testing.assert_array_equal(vehicle.arrays.tyre, [0.0, 0.0, 0.01])  # a torus without a hole is a ball


def test_a_file_with_a_ball_is_read_as_it_was_written(tmp_path: Path):
    write_toml(turtle(), tmp_path / "t.toml")
    assert gr.vehicle(tmp_path / "t.toml") == turtle()
    row = next(line for line in to_toml(turtle()).splitlines() if "ball" in line)
    assert "joint" not in row
    assert "slides = 0.2" in row


def test_the_drive_point_is_amid_the_wheels_and_a_mirror_keeps_the_ball():
    assert turtle().drive_point == (0.0, 0.0)
    assert turtle(y=0.02).mirrored() == turtle(y=-0.02).replace_frame("left", xyz=(0, -0.08, 0)).replace_frame(
        "right", xyz=(0, 0.08, 0)
    )


@pytest.mark.parametrize("kind", ["fixed", "continuous", "prismatic"])
def test_in_a_urdf_what_slides_may_hang_from_any_joint(tmp_path: Path, kind):
    (tmp_path / "tb.urdf").write_text(ROBOT.replace("KIND", kind))
    (tmp_path / "tb.grouser.toml").write_text(SIDE)
    vehicle = gr.vehicle(tmp_path / "tb.urdf")
    assert vehicle.wheels == ("left", "right", "castor")
    ball = vehicle.frames[-1]
    assert (ball.slides, ball.radius, ball.xyz, ball.mass) == (0.2, 0.01, (-0.08, 0.0, -0.023), 0.01)
    assert not vehicle.hull  # its collision sphere is the wheel itself


def test_in_a_urdf_a_wheel_that_rolls_needs_a_joint_that_moves(tmp_path: Path):
    (tmp_path / "tb.urdf").write_text(ROBOT.replace("KIND", "fixed"))
    (tmp_path / "tb.grouser.toml").write_text(SIDE.replace(", slides = 0.2", ""))
    with pytest.raises(VehicleError, match="'castor' is not a moving joint"):
        gr.vehicle(tmp_path / "tb.urdf")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"slides": -0.1}, "slides"), ({"slides": "ice"}, "slides"), ({"radius": None}, "give its radius"),
        ({"rollers": 90}, "drop rollers"), ({"tyre_radius": 0.001}, "drop tyre_radius"),
        ({"turns_with": "left"}, "drop turns_with"), ({"actuated": True}, "no motor drives it"),
        ({"joint": "RX"}, "must be RY"), ({"joint": "PZ"}, "must be RY"),
    ],
)  # fmt: skip
def test_what_cannot_slide_is_refused_by_name(change, words):
    with pytest.raises(VehicleError, match=f"frame 'ball', field .*{words}"):
        Frame(**{**BALL, **change})


def test_nothing_may_be_coupled_to_or_steered_by_what_does_not_turn():
    with pytest.raises(VehicleError, match="coupling 'c', field joints: 'ball' has no joint that moves by itself"):
        turtle().replace(couplings=(Coupling("c", {"ball": 1.0, "left": 1.0}),))
    with pytest.raises(VehicleError, match="steering of 'ball'"):
        turtle().replace(steering=(Steering("ball", 1.0),))
    arm = Frame("arm", "ball", "RX", mass=1.0)
    with pytest.raises(VehicleError, match="a wheel carries no other frames"):
        turtle().replace(frames=(*turtle().frames, arm))


def test_the_body_itself_does_not_slide():
    with pytest.raises(VehicleError, match="frame 'body'"):
        Frame("body", mass=1.0, radius=0.1, slides=0.2)
