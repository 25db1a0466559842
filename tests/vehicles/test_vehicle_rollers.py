"""Rollers in the vehicle file: what is read, written, mirrored and refused."""

from pathlib import Path

import numpy as np
import pytest

import grouser as gr
from grouser.errors import VehicleError
from grouser.vehicles import Frame, write_toml

WHEEL = {"name": "W", "parent": "body", "joint": "RY", "radius": 0.1, "mass": 1.0}


@pytest.mark.parametrize(
    ("angle", "held"),
    [(None, (1, 0)), (90, (1, 0)), (-90, (1, 0)), (45, (0.5**0.5, -(0.5**0.5))), (-45, (0.5**0.5, 0.5**0.5)),
     (135, (0.5**0.5, 0.5**0.5)), (-135, (0.5**0.5, -(0.5**0.5))), (30, (0.5, -(0.75**0.5)))],
)  # fmt: skip
def test_the_held_direction_is_across_the_free_one_and_points_ahead(angle, held):
    frame = Frame(**WHEEL, rollers=angle)
    np.testing.assert_allclose(frame.held_direction, held, rtol=0.0, atol=1e-15)
    if angle is not None:
        free = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
        assert abs(free @ frame.held_direction) < 1e-15


@pytest.mark.parametrize("angle", [0, 180, 2, -179, 200, float("nan"), "90"])
def test_an_angle_that_holds_nothing_is_refused(angle):
    with pytest.raises(VehicleError, match="frame 'W', field rollers"):
        Frame(**WHEEL, rollers=angle)


def test_only_a_wheel_has_rollers():
    with pytest.raises(VehicleError, match="field rollers: only a wheel has rollers"):
        Frame("arm", "body", "RY", mass=1.0, rollers=90)


def test_a_file_with_rollers_is_read_as_it_was_written(tmp_path: Path):
    mecanum = gr.vehicle("mecanum")
    write_toml(mecanum, tmp_path / "m.toml")
    again = gr.vehicle(tmp_path / "m.toml")
    assert again == mecanum
    assert [f.rollers for f in again.frames] == [None, 45, -45, -45, 45]
    assert "rollers [deg]" in again.summary()


def test_seen_in_a_mirror_rollers_free_the_mirrored_direction():
    mecanum = gr.vehicle("mecanum")
    mirrored = mecanum.mirrored()
    assert [f.rollers for f in mirrored.frames] == [None, -45, 45, 45, -45]
    np.testing.assert_allclose(mirrored.arrays.held, mecanum.arrays.held * [1.0, -1.0])


def test_the_side_file_of_a_urdf_gives_rollers(tmp_path: Path):
    wheel = (
        '<link name="w"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
        '</inertial></link><joint name="w" type="continuous"><parent link="base"/><child link="w"/>'
        '<origin xyz="0.2 0 0"/><axis xyz="0 1 0"/></joint>'
    )
    (tmp_path / "r.urdf").write_text(
        '<robot name="r"><link name="base"><inertial><mass value="5"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>' + wheel + "</robot>"
    )
    (tmp_path / "r.grouser.toml").write_text(
        'schema = "grouser/urdf@1"\nactuated = ["w"]\nwheels = [{ joint = "w", radius = 0.1, rollers = 90 }]\n'
    )
    assert gr.vehicle(tmp_path / "r.urdf").frames[-1].rollers == 90
