"""Whatever a file or a caller brings, the answer is a sound vehicle or a Grouser error, and it comes soon."""

import contextlib
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from grouser.errors import GrouserError
from grouser.vehicles import Coupling, Frame, Steering, Vehicle, read_toml, read_urdf, to_toml, vehicle

# The promise of 2 s is kept by CPU time in `check`: a wall clock also counts the other test worker.
FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

TOML = to_toml(vehicle("rocky7"))
SIDE = """schema = "grouser/urdf@1"
wheels = [ { joint = "w1", radius = 0.2, width = 0.1 }, { joint = "w2", radius = 0.2 } ]
actuated = ["w1"]
couplings = [ { name = "c", joints = { w1 = 1.0, w2 = -1.0 } } ]
steering = [ { joint = "s", gain = 5.0, limit = 2 } ]
drive_reference = [0, 0]
"""
URDF = """<?xml version="1.0"?><robot name="r">
<link name="b"><inertial><origin xyz="0 0 .1" rpy="0 0 .1"/><mass value="9"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="k"/><link name="t1"><inertial><mass value="1"/></inertial></link>
<link name="t2"><inertial><mass value="1"/></inertial></link>
<joint name="s" type="revolute"><parent link="b"/><child link="k"/>
<origin xyz="1 0 0"/><axis xyz="0 0 1"/></joint>
<joint name="w1" type="continuous"><parent link="k"/><child link="t1"/><axis xyz="0 1 0"/></joint>
<joint name="w2" type="continuous"><parent link="b"/><child link="t2"/><axis xyz="0 -1 0"/>
<mimic joint="w1" multiplier="2" offset="1"/></joint></robot>
"""
SHAPE = '<collision><geometry><cylinder radius=".2" length=".1"/></geometry><origin rpy="1.5708 0 0"/></collision>'
DRAFTED = URDF.replace('<link name="t1">', f'<link name="t1">{SHAPE}').replace(
    '<link name="t2">', f'<link name="t2">{SHAPE}'
)
PIECES = [
    "nan", "inf", "-1", "0", "1e308", "1e-320", "9" * 400, "true", '""', "[]", "{}", "[[]]", "body", "RY", "A1",
    "=",
    ",", "\n", '"', "}", "]", "<", ">", "/>", "&x;", "<!DOCTYPE", "fixed", "prismatic", "floating", "w1",
    "s", "b",
    "\0", "\ud7ff", "1 2 3", "0 0 0", "-1e12 1e12 1e-12", "1979-05-27", "#",
]  # fmt: skip


@st.composite
def mutated(draw, text):
    """The text with a few stretches cut out, doubled, or overwritten."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = start + draw(st.sampled_from([0, 1, 2, 3, 5, 10, 30, 200]))
        piece = draw(st.one_of(st.sampled_from(PIECES), st.just(text[start:stop] * 2), st.text(max_size=5)))
        text = text[:start] + piece + text[stop:]
    return text.encode(errors="surrogatepass")


def check(read, **files):
    with tempfile.TemporaryDirectory() as folder:
        for suffix, content in files.items():
            (Path(folder) / f"v.{suffix.replace('_', '.')}").write_bytes(content)
        with contextlib.suppress(GrouserError):
            must_be_sound(read(Path(folder) / f"v.{next(iter(files))}"))


def must_be_sound(result):
    assert all(np.all(np.isfinite(array)) for array in result.arrays)
    assert np.all(np.isfinite(result.rest))
    assert np.all(np.isfinite(result.drive_point))
    assert np.all(result.arrays.parent < np.arange(len(result.frames)))
    assert result.summary()
    assert result.mirrored().mirrored() == result
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "again.toml"
        path.write_text(to_toml(result), encoding="utf-8", newline="")
        assert read_toml(path) == result


def test_the_unmutated_files_are_sound():
    check(read_toml, toml=TOML.encode())
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "v.urdf").write_text(URDF)
        (Path(folder) / "v.grouser.toml").write_text(SIDE)
        must_be_sound(read_urdf(Path(folder) / "v.urdf"))


@FUZZ
@given(st.binary(max_size=300))
def test_random_bytes(content):
    check(read_toml, toml=content)
    check(read_urdf, urdf=content, grouser_toml=SIDE.encode())
    check(read_urdf, urdf=URDF.encode(), grouser_toml=content)


@FUZZ
@given(mutated(TOML))
def test_mutated_toml(content):
    check(read_toml, toml=content)


@FUZZ
@given(mutated(URDF))
def test_mutated_urdf(content):
    check(read_urdf, urdf=content, grouser_toml=SIDE.encode())


@FUZZ
@given(mutated(DRAFTED))
def test_mutated_urdf_without_side_file(content):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a draft is used
        check(read_urdf, urdf=content)


@FUZZ
@given(mutated(SIDE))
def test_mutated_side_file(content):
    check(read_urdf, urdf=URDF.encode(), grouser_toml=content)


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(["body", "RY", "RZ", "a"]),
)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner)
)
plain = st.floats(-1e3, 1e3)
names = st.sampled_from(["body", "a", "b", "c", "d"])


def mostly(good):
    return st.one_of(good, good, good, good, good, good, good, anything)


vectors = mostly(st.lists(plain, min_size=3, max_size=3))
frame_rows = st.fixed_dictionaries(
    {"name": mostly(names)},
    optional={
        "parent": mostly(names),
        "joint": mostly(st.sampled_from(["RX", "RY", "RZ", "PX", "PY", "PZ"])),
        "actuated": mostly(st.booleans()),
        "xyz": vectors,
        "rpy": vectors,
        "mass": mostly(st.floats(0, 1e3)),
        "com": vectors,
        "inertia": mostly(st.lists(plain, min_size=3, max_size=6)),
        "radius": mostly(st.floats(0, 10)),
        "width": mostly(st.floats(0, 10)),
    },
)
coupling_rows = st.fixed_dictionaries(
    {"name": mostly(names), "joints": mostly(st.dictionaries(names, plain, min_size=1, max_size=3))},
    optional={"value": mostly(plain), "stiffness": mostly(plain), "damping": mostly(plain)},
)
steering_rows = st.fixed_dictionaries(
    {"joint": mostly(names), "gain": mostly(plain)}, optional={"limit": mostly(plain)}
)


@FUZZ
@given(
    st.lists(frame_rows, max_size=5),
    st.lists(coupling_rows, max_size=2),
    st.lists(steering_rows, max_size=2),
    mostly(st.none() | st.tuples(plain, plain)),
)
def test_structured_rows_from_code(frames, couplings, steering, reference):
    body = {"name": "body", "mass": 5.0}
    wheel = {"name": "w", "parent": "body", "joint": "RY", "radius": 0.3, "mass": 1.0}
    try:
        result = Vehicle(
            "v",
            [Frame(**row) for row in [body, wheel, *frames]],
            [Coupling(**row) for row in couplings],
            [Steering(**row) for row in steering],
            drive_reference=reference,
        )
    except GrouserError:
        return
    must_be_sound(result)


@FUZZ
@given(st.dictionaries(st.sampled_from(["name", "frames", "couplings", "steering", "source"]), anything))
def test_structured_rows_through_the_schema(data):
    from grouser.vehicles.toml import vehicle_of_tables

    try:
        vehicle_of_tables(data, "v.toml")
    except GrouserError:
        return


@FUZZ
@given(
    st.lists(st.floats(-1e12, 1e12), min_size=3, max_size=3).filter(lambda axis: np.linalg.norm(axis) > 1e-5),
    st.lists(st.floats(-10, 10), min_size=3, max_size=3),
    st.sampled_from(["w2", "s"]),
)
@example([0.0, -1.0, 1e-5], [0.0, 0.0, 0.0], "w2")
@example([1e-4, -1.0, 3e-4], [0.0, 0.0, 0.0], "w2")
@example([0.3, -1e-9, 0.2], [0.0, 0.0, 0.0], "w2")
@example([0.0, 0.0, -1.0], [0.0, 1.5707963267948966, 0.0], "s")
def test_any_axis_and_attitude_of_a_joint_is_kept_to_rounding(axis, rpy, name):
    from grouser import rotation

    was = {"w2": "0 -1 0", "s": "0 0 1"}[name]
    xyz = " ".join(map(repr, axis))
    origin = f'<origin rpy="{" ".join(map(repr, rpy))}"/>'
    urdf = URDF.replace('<origin xyz="1 0 0"/>', "").replace(f'<axis xyz="{was}"/>', f'{origin}<axis xyz="{xyz}"/>')
    side = SIDE.replace('steering = [ { joint = "s", gain = 5.0, limit = 2 } ]', "")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "v.urdf").write_text(urdf)
        (Path(folder) / "v.grouser.toml").write_text(side)
        result = read_urdf(Path(folder) / "v.urdf")
    frame = result.frames[result.frame_index(name)]
    column = "XYZ".index(frame.joint[1])
    expected = rotation.from_rpy(*rpy) @ np.array(axis) / np.linalg.norm(axis)
    np.testing.assert_allclose(frame.rotation[:, column], expected, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(frame.rotation.T @ frame.rotation, np.eye(3), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("odd", [object(), {}, [], 1.5, b"zoe", "zoe.toml\n", "zoe\u0000"])
def test_odd_names_of_vehicles(odd):
    with pytest.raises(GrouserError):
        vehicle(odd)
