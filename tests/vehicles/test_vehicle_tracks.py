"""Tracks and wheels that turn with another, in the vehicle file: what becomes of them, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

import grouser as gr
from grouser.errors import VehicleError
from grouser.vehicles import Coupling, Frame, Track, Vehicle, to_toml, wheel_inertia, write_toml

ROW = {"name": "left", "frame": "body", "xyz": (0.1, 0.25, -0.05), "length": 0.6, "radius": 0.1, "mass": 6.0}
BODY = Frame("body", mass=48.0, com=(0.0, 0.0, 0.06), inertia=(0.8, 2.41, 2.89))


def test_a_track_is_a_row_of_equal_wheels_that_its_front_wheel_turns():
    frames = Track(**ROW, wheels=4, width=0.12).frames
    assert [f.name for f in frames] == ["left", "left_2", "left_3", "left_4"]
    np.testing.assert_allclose(
        [f.xyz for f in frames], [(x, 0.25, -0.05) for x in (0.4, 0.2, 0.0, -0.2)], rtol=0.0, atol=1e-15
    )
    assert [f.turns_with for f in frames] == [None, "left", "left", "left"]
    assert [f.actuated for f in frames] == [True, False, False, False]
    assert sum(f.mass for f in frames) == pytest.approx(6.0, rel=1e-15)
    np.testing.assert_allclose(np.diag(frames[2].inertia_matrix), wheel_inertia(1.5, 0.1, 0.12))


def test_one_command_and_one_encoder_a_track():
    vehicle = gr.vehicle("tracked")
    assert vehicle.actuated == vehicle.rolling_wheels == ("left", "right")
    assert vehicle.kinds_of_wheels == "2 rows of 5 wheels"
    assert "turning with left: left_2, left_3, left_4, left_5" in vehicle.summary()
    assert vehicle.wheels[:2] == ("left", "right")  # what moves by itself comes first
    leaders = [vehicle.frames[i].name for i in vehicle.arrays.leader]
    assert leaders == ["left", "right", *4 * ["left"], *4 * ["right"]]
    assert vehicle.drive_point == pytest.approx((0.0, 0.0), abs=1e-15)


def test_a_file_with_tracks_is_read_as_its_wheels(tmp_path: Path):
    vehicle = gr.vehicle("tracked")
    write_toml(vehicle, tmp_path / "t.toml")
    assert gr.vehicle(tmp_path / "t.toml") == vehicle
    assert 'turns_with = "left"' in to_toml(vehicle)
    right = dict(ROW, name="right", xyz=(0.1, -0.25, -0.05))
    made = Vehicle("t", (BODY, *Track(**ROW).frames, *Track(**right).frames))
    assert made.mass == pytest.approx(60.0)


def test_seen_in_a_mirror_the_tracks_change_sides():
    vehicle = gr.vehicle("tracked")
    mirrored = vehicle.mirrored()
    np.testing.assert_allclose(mirrored.wheel_positions, vehicle.wheel_positions * [1, -1, 1], rtol=0.0, atol=1e-15)
    assert mirrored.arrays.leader.tolist() == vehicle.arrays.leader.tolist()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"wheels": 1}, "field wheels: 1 is not a whole number between 2"), ({"wheels": 2.5}, "field wheels"),
        ({"length": 0.0}, "length"), ({"mass": -1.0}, "mass"), ({"radius": "big"}, "radius"),
        ({"xyz": (1, 2)}, "xyz"), ({"actuated": 1}, "actuated"), ({"width": 0.0}, "width"),
    ],
)  # fmt: skip
def test_what_is_no_track_is_refused_by_name(change, words):
    with pytest.raises(VehicleError, match=f"track 'left', .*{words}" if "field" not in words else words):
        Track(**{**ROW, **change})


def test_a_file_says_which_row_of_its_tracks_is_wrong(tmp_path: Path):
    text = (
        'schema = "grouser/vehicle@1"\nname = "t"\nframes = [{ name = "body", mass = 1.0 }]\ntracks = [{ name = "l", '
    )
    (tmp_path / "a.toml").write_text(text + 'frame = "body", xyz = [0, 0, 0], length = 1.0, radius = 0.1 }]\n')
    with pytest.raises(VehicleError, match=r"a.toml, track 1 'l', field mass: is missing"):
        gr.vehicle(tmp_path / "a.toml")
    (tmp_path / "b.toml").write_text(
        text + 'frame = "hull", xyz = [0, 0, 0], length = 1.0, radius = 0.1, mass = 1.0 }]\n'
    )
    with pytest.raises(VehicleError, match=r"b.toml, frame 'l', field parent: 'hull' is not a frame"):
        gr.vehicle(tmp_path / "b.toml")


def wheels(**second):
    wheel = {"parent": "body", "joint": "RY", "radius": 0.1, "mass": 1.0, "inertia": (0.01, 0.02, 0.01)}
    return Vehicle("v", (BODY, Frame("A", **wheel), Frame("B", **{**wheel, **second})))


def test_what_cannot_turn_with_another_is_refused_by_name():
    for wrong, words in (
        ({"turns_with": "C"}, "'C' is not a wheel that turns by itself; those are A"),
        ({"turns_with": "B"}, "'B' is not a wheel that turns by itself"),
        ({"turns_with": "body"}, "'body' is not a wheel"),
        ({"turns_with": "A", "actuated": True}, "the motor of 'A' turns this wheel"),
        ({"turns_with": "A", "rpy": (0.0, 0.0, 3.14159)}, "its axle does not point as that of 'A' does"),
    ):
        with pytest.raises(VehicleError, match=f"frame 'B', field .*{words}"):
            wheels(**wrong)
    with pytest.raises(VehicleError, match="only a wheel turns with another"):
        Frame("arm", "body", "RY", mass=1.0, turns_with="A")
    with pytest.raises(VehicleError, match="'B' has no joint that moves by itself, it turns with 'A'; name that one"):
        wheels(turns_with="A").replace(couplings=(Coupling("c", {"B": 1.0}),))


def test_the_radius_of_a_track_is_one_number_for_calibration():
    from grouser.motion.vehicle_fields import changed, listed

    vehicle = gr.vehicle("tracked")
    assert not [name for name in listed(vehicle) if name.startswith("left_") and name.endswith("radius")]
    radius = dict(zip(vehicle.wheels, changed(vehicle, {"left.radius": 0.11}).arrays.radius, strict=True))
    assert all(r == (0.11 if name.startswith("left") else 0.1) for name, r in radius.items())
