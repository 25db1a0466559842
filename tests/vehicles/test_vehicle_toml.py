"""Vehicle files come back exactly as they went, and faults in them are named by file, row and field."""

import math
import os

import pytest

from grouser.errors import VehicleError
from grouser.vehicles import (
    Coupling,
    Frame,
    Steering,
    Vehicle,
    names,
    read_toml,
    to_toml,
    vehicle,
    write_toml,
)

GOOD = """
schema = "grouser/vehicle@1"
name = "cart"
frames = [
    { name = "body", mass = 10.0, inertia = [1.0, 1, 1.5] },
    { name = "L", parent = "body", joint = "RY", actuated = true, xyz = [0, 0.5, 0], radius = 0.3, mass = 1 },
    { name = "R", parent = "body", joint = "RY", actuated = true, xyz = [0, -0.5, 0], radius = 0.3, mass = 1},
]
couplings = [ { name = "axle", joints = { L = 1, R = -1 } } ]
"""


@pytest.fixture
def load(tmp_path):
    def load(content):
        path = tmp_path / "cart.toml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_toml(path)

    return load


@pytest.fixture
def refused(load):
    def refused(content, *words):
        with pytest.raises(VehicleError) as caught:
            load(content)
        message = str(caught.value)
        assert "\n" not in message
        for word in ("cart.toml", *words):
            assert word in message, message

    return refused


def test_a_good_file_is_read(load):
    cart = load(GOOD)
    assert cart.actuated == ("L", "R")
    assert cart.couplings == (Coupling("axle", {"L": 1.0, "R": -1.0}),)
    assert cart.mass == 12.0
    assert load("\ufeff" + GOOD) == cart


@pytest.mark.parametrize("name", names())
def test_every_shipped_vehicle_survives_a_round_trip_exactly(name, tmp_path):
    shipped = vehicle(name)
    write_toml(shipped, tmp_path / "v.toml")
    again = vehicle(tmp_path / "v.toml")
    assert again == shipped
    assert to_toml(again) == to_toml(shipped)


def test_odd_text_and_numbers_survive_a_round_trip_exactly(tmp_path):
    body = Frame('b "q" \\ é 日', mass=1 / 3, com=(1e-17, -1e11, 5e-324), inertia=(1.1, 1.2, 1.3, 0.1, -0.2, 0.3))
    wheel = Frame(
        "a.b = {c}", body.name, "RY", actuated=True, xyz=(math.pi, 1e-9, -1 / 3), rpy=(0.1, 0.2, 0.3),
        radius=1e-3, width=0.1, mass=2.0,
    )  # fmt: skip
    turn = Frame("#", body.name, "RZ", mass=1.0)
    odd = Vehicle(
        "odd ' name",
        (body, wheel, turn),
        (Coupling("c'", {"a.b = {c}": 1e-7, "#": -3.0}, value=-1e-7, stiffness=1e5, damping=0.0),),
        (Steering("#", 1 / 7, 0.3),),
        drive_reference=(0.0, -1 / 3),
        source="line one\nline two\ttab \x7f \x00 \"\"\" ''' \\u",
        description="emoji 🚜 and \r\n",
    )
    write_toml(odd, tmp_path / "odd.toml")
    assert read_toml(tmp_path / "odd.toml") == odd


def test_writing_leaves_the_old_file_or_the_new_one_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "v.toml"
    write_toml(vehicle("zoe"), path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(VehicleError, match="disk full"):
        write_toml(vehicle("husky"), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["v.toml"]


def test_writing_where_nothing_can_be_written_is_refused(tmp_path):
    for path in (tmp_path / "none" / "v.toml", tmp_path, tmp_path / "a\0b.toml"):
        with pytest.raises(VehicleError, match="cannot be written"):
            write_toml(vehicle("zoe"), path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("radius = 0.3, mass = 1 },\n    { name = \"R\"", "radius = -1, mass = 1 },\n    { name = \"R\"",
         ["frame 'L'", "field radius", "not positive"]),
        ("xyz = [0, 0.5, 0]", 'xyz = "left"', ["frame 'L'", "field xyz", "list"]),
        ("xyz = [0, 0.5, 0]", "xyz = [0, 0.5]", ["frame 'L'", "field xyz", "needs 3"]),
        ("xyz = [0, 0.5, 0]", "xyz = [0, nan, 0]", ["frame 'L'", "field xyz", "finite"]),
        ("mass = 10.0", 'mass = "10"', ["frame 'body'", "field mass", "number"]),
        ("mass = 10.0", "mass = true", ["frame 'body'", "field mass", "number"]),
        ("mass = 10.0", "mass = inf", ["frame 'body'", "field mass", "finite"]),
        ("mass = 10.0", "mass = 1" + "0" * 400, ["frame 'body'", "mass"]),
        ("mass = 10.0", "mas = 10.0", ["frame 1 'body'", "field mas", "spelling"]),
        ("mass = 10.0", "mass = 1979-05-27", ["frame 'body'", "field mass"]),
        ('name = "body", ', "", ["frame 1", "field name", "missing"]),
        ("actuated = true, xyz = [0, 0.5, 0]", "actuated = 1", ["frame 'L'", "field actuated"]),
        ('name = "cart"', "", ["field name", "missing"]),
        ('name = "cart"', 'name = "cart"\ncolour = 3', ["field colour", "spelling"]),
        ("inertia = [1.0, 1, 1.5]", "inertia = [[1, 0], [0, 1]]", ["frame 'body'", "field inertia"]),
        ("inertia = [1.0, 1, 1.5]", 'inertia = ["a", 1, 1]', ["frame 'body'", "field inertia"]),
        ('parent = "body", joint = "RY", actuated = true, xyz = [0, -',
         'parent = "bod", joint = "RY", xyz = [0, -',
         ["frame 'R'", "'bod'", "body, L, R"]),
        ("joints = { L = 1, R = -1 }", "joints = { L = 1, X = -1 }", ["coupling 'axle'", "'X'"]),
        ("joints = { L = 1, R = -1 }", 'joints = { L = "1" }', ["coupling 'axle'", "field joints"]),
        ("joints = { L = 1, R = -1 }", "joints = {}", ["coupling 'axle'", "empty"]),
        ("frames = [", "frames = 3\nfoo = [", ["field frames"]),
        ("frames = [", "frames = [ 5,", ["frame 1"]),
    ],
)  # fmt: skip
def test_a_fault_is_named_by_file_row_and_field(refused, old, new, words):
    assert GOOD.count(old) == 1
    refused(GOOD.replace(old, new), *words)


def test_a_newer_file_is_refused_politely(refused):
    refused(GOOD.replace("vehicle@1", "vehicle@2"), "newer Grouser", "grouser/vehicle@1", "update")
    refused(GOOD.replace("vehicle@1", "vehicle@10"), "newer Grouser")


def test_a_missing_or_foreign_schema_is_refused_with_the_remedy(refused):
    refused(GOOD.replace('schema = "grouser/vehicle@1"', ""), "schema", 'schema = "grouser/vehicle@1"')
    for other in ('"grouser/urdf@1"', '"grouser/vehicle@0"', '"grouser/vehicle@x"', "5", "[1]"):
        refused(GOOD.replace('"grouser/vehicle@1"', other), "schema", "expected 'grouser/vehicle@1'")


def test_what_is_no_toml_is_refused(refused):
    refused("frames = [", "not TOML")
    refused(b"\xff\xfe\x00", "UTF-8")
    refused("", "empty")
    refused("\n", "schema")
    refused(b"\0" * 100, "not TOML")
    refused("x = 1" + "0" * 5000, "not TOML")
    refused("x = " + "[" * 5000, "not TOML")


def test_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(VehicleError, match="no such file"):
        read_toml(tmp_path / "none.toml")
    with pytest.raises(VehicleError, match="is a folder"):
        read_toml(tmp_path)
    for odd in ("a\0b.toml", 5, None):
        with pytest.raises(VehicleError):
            read_toml(odd)
    with pytest.raises(VehicleError, match="cannot be read"):
        read_toml("x" * 5000 + ".toml")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.toml")
        with pytest.raises(VehicleError, match="not a regular file"):
            read_toml(tmp_path / "pipe.toml")


def test_a_file_that_is_too_large_is_refused(refused):
    refused(GOOD + "#" * 2_000_000, "larger than 1000 kB")
    row = '    { name = "f%d", parent = "body", joint = "RX", mass = 1 },\n'
    refused(GOOD.replace("frames = [\n", "frames = [\n" + "".join(row % i for i in range(600))), "frames", "500")


NONSENSE = {
    "dots": "a." * 450_000,
    "dotted lines": "\n".join(f"k{i}." + "a." * 7_000 + "a = 1" for i in range(60)),
    "dotted quotes": "\n".join(f"k{i}." + "'a' . " * 2_300 + "a = 1" for i in range(60)),
    "shorter dots": "\n".join(f"k{i}." + "a." * 5 + "a = 1" for i in range(40_000)),
    "dotted headers": "\n".join(f"[k{i}." + "a." * 7_000 + "a]" for i in range(60)),
    "dots in inline tables": "x = {" + ", ".join(f"k{i}." + "a." * 7_000 + "a = 1" for i in range(60)) + "}",
    "brackets": "x = " + "[" * 900_000,
    "headers": "[a]" * 300_000,
    "tables": "x = " + "{a=" * 300_000,
    "escapes": 'x = "' + "\\\\" * 400_000,
    "quotes": "x = " + "\"'" * 400_000,
    "one word": "a" * 900_000,
    "blanks": " " * 900_000,
    "commas": "x = [" + "1," * 400_000,
    "arrays of tables": "[[a]]\n" * 100_000,
}


@pytest.mark.parametrize("kind", NONSENSE)
def test_a_megabyte_of_nonsense_is_refused(refused, kind):
    refused(NONSENSE[kind])
