"""The shipped vehicles are those of the papers, and those of the reference trajectories."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grouser import vehicles
from grouser.errors import VehicleError
from grouser.vehicles import names, vehicle
from grouser.vehicles.tree import forward_kinematics

SHIPPED = (
    "crusher", "husky", "landtamer", "lru1", "lru2", "mecanum", "pvc", "pvc_axle", "pvc_four", "pvc_locked",
    "pvc_rocker", "recbot", "recbot_rigid", "robotino", "rocky7", "tracked", "warthog", "zoe",
)  # fmt: skip
JOINT_CODE = {"free6": -1, "RX": 0, "RY": 1, "RZ": 2, "PX": 3, "PY": 4, "PZ": 5}


def test_the_catalogue_is_complete():
    assert names() == SHIPPED


@pytest.mark.parametrize(("name", "recorded"), [("zoe", "zoe"), ("rocky7", "rocky")])
def test_the_reference_vehicles_equal_the_reference_engine(name, recorded, golden):
    params = json.loads((golden / f"{recorded}_kin_params.json").read_text())
    arrays = vehicle(name).arrays
    position = {frame["name"]: frame["index"] for frame in params["frames"]}
    assert len(arrays.parent) == params["nf"]
    for i, frame in enumerate(params["frames"]):
        assert arrays.parent[i] == (-1 if frame["parent"] is None else position[frame["parent"]])
        assert arrays.joint[i] == JOINT_CODE[frame["joint_type"]]
        pose = np.array(frame["HT_parent_jd0"])
        np.testing.assert_array_equal(arrays.rotation[i], pose[:3, :3])
        np.testing.assert_array_equal(arrays.offset[i], pose[:3, 3])
        assert arrays.mass[i] == frame["mass"]
        np.testing.assert_array_equal(arrays.com[i], frame["cm"])
        np.testing.assert_array_equal(arrays.inertia[i], frame["inertia_about_cm"])
    wheels = [frame for frame in params["frames"] if frame["is_wheel"]]
    assert list(arrays.wheel) == [position[wheel] for wheel in params["wheel_frame_order"]]
    assert list(arrays.wheel) == [frame["index"] for frame in wheels]
    assert list(arrays.radius) == [frame["wheel_radius"] for frame in wheels]
    assert list(arrays.actuated) == [position[joint] - 1 for joint in params["actuated_frame_order"]]
    assert len(arrays.coupling) == params["njc"]


@pytest.mark.parametrize("name", SHIPPED)
def test_arrays_are_what_a_kernel_compiles_for(name):
    shipped = vehicle(name)
    arrays = shipped.arrays
    nf, nw = len(shipped.frames), shipped.n_wheels
    shapes = {
        "parent": (nf,), "joint": (nf,), "rotation": (nf, 3, 3), "offset": (nf, 3), "mass": (nf,),
        "com": (nf, 3), "inertia": (nf, 3, 3), "wheel": (nw,), "radius": (nw,), "tyre": (nw,), "wheel_of_frame": (nf,),
        "rollers": (nw,), "held": (nw, 2), "friction": (0,), "leader": (nw,), "still": (nf - 1,),
        "follower": (len(shipped.wheels) - len(shipped.rolling_wheels),),
        "actuated": (len(shipped.actuated),), "coupling": (len(shipped.couplings), nf - 1),
        "coupling_value": (len(shipped.couplings),), "hull_frame": (0,), "hull_point": (0, 3), "hull_radius": (0,),
    }  # fmt: skip
    integers = {
        "parent",
        "joint",
        "wheel",
        "wheel_of_frame",
        "actuated",
        "hull_frame",
        "rollers",
        "leader",
        "still",
        "follower",
    }
    assert set(shapes) == set(arrays._fields)
    for field, array in zip(arrays._fields, arrays, strict=True):
        assert array.shape == shapes[field], field
        assert array.dtype == (np.int64 if field in integers else np.float64), field
        assert array.flags.c_contiguous, field
        assert array.flags.writeable, field
        assert np.all(np.isfinite(array)), field
    assert np.all(arrays.parent < np.arange(nf))
    assert arrays is shipped.arrays
    np.testing.assert_array_equal(arrays.wheel_of_frame[arrays.wheel], np.arange(nw))
    assert np.count_nonzero(arrays.wheel_of_frame >= 0) == nw


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_vehicle_is_documented_and_symmetric(name):
    shipped = vehicle(name)
    assert shipped.name == name
    assert shipped.source
    assert shipped.description
    assert shipped.drive_point[1] == pytest.approx(0.0, abs=1e-12)
    wheels = shipped.wheel_positions
    flipped = wheels * [1, -1, 1]
    for wheel in flipped:
        assert np.min(np.linalg.norm(wheels - wheel, axis=1)) < 1e-12


@pytest.mark.parametrize("name", sorted(set(SHIPPED) - {"crusher"}))
def test_every_shipped_vehicle_stands_level_at_rest(name):
    shipped = vehicle(name)
    bottom = shipped.wheel_positions[:, 2] - shipped.arrays.radius
    # RecBot's table is rounded to mm: −.075 + .05 against 11 in − 12 in.
    assert np.ptp(bottom) < 5e-4


@pytest.mark.parametrize(
    ("name", "mass"),
    [("landtamer", 3225 * 0.45359237), ("zoe", 198), ("rocky7", 14), ("crusher", 13200 * 0.45359237),
     ("recbot", 667), ("recbot_rigid", 667), ("lru1", 40), ("lru2", 40), ("warthog", 280), ("husky", 50),
     ("pvc", 84), ("pvc_axle", 84), ("pvc_locked", 84), ("pvc_four", 92), ("pvc_rocker", 92), ("tracked", 60)],
)  # fmt: skip
def test_total_masses_are_as_published(name, mass):
    assert vehicle(name).mass == pytest.approx(mass, rel=1e-12)


def test_rocky7_has_its_right_hand_wheels_on_the_right_hand_bogie():
    rocky = vehicle("rocky7")
    parents = {frame.name: frame.parent for frame in rocky.frames}
    assert parents["A4"] == parents["A6"] == "B2"  # T Table 2.2 prints B1
    assert all(rocky.wheel_positions[rocky.wheels.index(wheel)][1] < 0 for wheel in ("A2", "A4", "A6"))


def test_crusher_rides_at_45_cm_with_level_links_and_higher_at_its_natural_angle():
    crusher = vehicle("crusher")
    _, level = forward_kinematics(crusher.frames, np.zeros(crusher.n_joints))
    np.testing.assert_allclose(0.7 - level[crusher.arrays.wheel][:, 2], 0.45, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(0.7 - crusher.wheel_positions[:, 2], 0.45 + np.sin(0.1), rtol=0.0, atol=1e-12)


def test_crusher_sags_from_its_natural_angle_to_level_links_under_its_weight():
    crusher = vehicle("crusher")
    sag = crusher.frames[0].mass / 6 * 9.81 * 1.0 / crusher.couplings[0].stiffness
    assert sag == pytest.approx(0.1, rel=0.01)


@pytest.mark.parametrize(("name", "x", "y"), [("lru1", 0.860, 0.586), ("lru2", 0.864, 0.590)])
def test_lru_wheel_distances_are_the_measured_ones(name, x, y):
    spread = np.ptp(vehicle(name).wheel_positions, axis=0)
    np.testing.assert_allclose(spread, [x, y, 0.0], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in SHIPPED if name.startswith("pvc")])
def test_pvc_designs_have_the_round_wheels_of_the_three_wheeler(name):
    arrays = vehicle(name).arrays
    np.testing.assert_allclose(arrays.radius - arrays.tyre, 0.5, rtol=1e-15)  # rim
    np.testing.assert_array_equal(arrays.tyre, 0.15)
    where = vehicle(name).wheel_positions
    rear = where[np.abs(where[:, 0]) < 1e-12]
    np.testing.assert_allclose(sorted(rear[:, 1]), [-0.75, 0.75], rtol=0.0, atol=1e-12)
    front = where[where[:, 0] > 1e-12]
    np.testing.assert_allclose(front[:, 0], 1.5, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(sorted(front[:, 1]), [-0.75, 0.75] if len(where) == 4 else [0.0], rtol=0.0, atol=1e-12)


def test_an_unknown_name_lists_the_shipped_vehicles():
    with pytest.raises(VehicleError, match=r"no vehicle 'zoë'; shipped are crusher, husky, .*zoe"):
        vehicle("zoë")
    for odd in (5, None, "", "../data/zoe", "a\0b"):
        with pytest.raises(VehicleError):
            vehicle(odd)


def test_a_vehicle_can_be_sent_to_another_process():
    rocky = vehicle("rocky7")
    assert pickle.loads(pickle.dumps(rocky)) == rocky


def test_importing_vehicles_stays_light():
    # The parent package is replaced by an empty one, so that only what vehicles itself imports is seen.
    code = f"""
import sys, types
sys.modules["grouser"] = types.ModuleType("grouser")
sys.modules["grouser"].__path__ = [{str(Path(vehicles.__file__).parents[1])!r}]
import grouser.vehicles
print([name for name in ("pydantic", "xml", "scipy", "numba", "matplotlib") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
