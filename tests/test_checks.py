"""Values that are refused are named as a person would say it; targets are refused before the work."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grouser import checks
from grouser.contact import Ishigami
from grouser.errors import GrouserError, SimulationError, VehicleError, prefixed
from grouser.files import check_target, read_npz, read_toml, toml_value, write_npz
from grouser.odometry import EncoderNoise
from grouser.vehicles import Vehicle


@pytest.mark.parametrize(("kind", "said"), [(EncoderNoise, "an EncoderNoise"), (Ishigami, "an Ishigami")])
def test_a_class_that_begins_with_a_vowel_has_its_article(kind: Any, said: str) -> None:
    with pytest.raises(SimulationError, match=f"noise: 3 is not {said}; use it"):
        checks.instance(3, kind, "noise", "use it")
    with pytest.raises(SimulationError, match="is not a Vehicle"):
        checks.instance(3, Vehicle, "vehicle", "use it")


def test_a_folder_that_is_not_there_or_a_name_that_is_too_long_is_said(tmp_path: Path) -> None:
    for target, said in ((tmp_path / "none" / "a.png", "No such file"), (tmp_path / ("a" * 300), "too long")):
        with pytest.raises(GrouserError, match=said):
            check_target(target, GrouserError)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old.png").write_text("kept")
    check_target(tmp_path / "old.png", GrouserError)
    assert (tmp_path / "old.png").read_text() == "kept"


class OwnError(GrouserError):
    """The error of a package."""


CHECK = checks.Checker(OwnError)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([1.0, np.nan, 2.0], r"way: entry \[1\] is nan, not a finite number"),
        ([1.0, 2.0, np.inf], r"way: entry \[2\] is inf, not a finite number"),
        ([1.0, 2.0, 3e9], r"way: entry \[2\] is 3e\+09, too large; magnitudes up to 1e\+09 are accepted"),
        ([1.0, 2.0], r"way: has shape \(2,\), needs \(3,\)"),
        ([[1.0, 2.0, 3.0]], r"way: has shape \(1, 3\), needs \(3,\)"),
        ([1.0, 2.0, 3j], "way: has complex numbers; give real ones"),
        (["a", "b", "c"], "way: is not an array of numbers"),
        ([[1.0], [2.0, 3.0]], "way: is not an array of numbers"),
        (None, "way: "),
        (np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False]), "way: has masked entries"),
    ],
)
def test_an_array_is_refused_in_one_sentence_with_the_error_of_its_package(value: Any, said: str) -> None:
    for check in (lambda: CHECK.array(value, "way", (3,)), lambda: CHECK.fill(np.zeros(3), value, "way")):
        with pytest.raises(OwnError, match=f"^{said}") as caught:
            check()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (lambda: CHECK.number("3", "x"), "x: '3' is not a number"),
        (lambda: CHECK.number(True, "x"), "x: True is not a number"),
        (lambda: CHECK.number(np.nan, "x"), "x: nan is not a finite number"),
        (lambda: CHECK.number(2e9, "x"), r"x: 2e\+09 is too large; magnitudes up to 1e\+09 are accepted"),
        (lambda: CHECK.number(7, "x", low=0.0, high=5.0, unit="rad"), "x: 7 is not a number from 0 to 5 rad"),
        (lambda: CHECK.number(-1, "x", low=0.0), "x: -1 is not a number of at least 0 m"),
        (lambda: CHECK.positive(0.0, "x"), "x: 0 is not positive"),
        (lambda: CHECK.not_negative(-2, "x"), "x: -2 is negative; it must be zero or more"),
        (lambda: CHECK.count(2.5, "n"), "n: 2.5 is not a whole number between 1 and"),
        (lambda: CHECK.flag(1, "on"), "on: 1 is neither True nor False"),
        (lambda: CHECK.choice("c", "kind", ("a", "b")), "kind: 'c' is not one of a, b"),
        (lambda: CHECK.numbers([1, 2], 3, "p"), "p: has 2 entries, needs 3"),
        (lambda: CHECK.rows([1, "a"], int, "ns"), "ns: entry 2, 'a', is not an int"),
        (lambda: CHECK.name(" ", "frame"), "frame: the name ' ' must be 1 to 200 printable characters"),
    ],
)
def test_a_value_is_refused_in_one_sentence_that_names_it_and_its_place(check: Any, said: str) -> None:
    with pytest.raises(OwnError, match=f"^{said}"):
        check()


def test_good_values_pass_unchanged() -> None:
    assert CHECK.number(np.float64(2.5), "x") == 2.5
    assert CHECK.count(np.int64(3), "n") == 3
    given = np.arange(6.0).reshape(2, 3)[:, ::2]
    np.testing.assert_array_equal(CHECK.array(given, "x", (2, None)), given)
    assert CHECK.array(given, "x", (2, 2)).flags.c_contiguous
    assert np.isnan(CHECK.array([np.nan], "x", (1,), missing=True)).all()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("a = ", "is not TOML"),
        ("a = 1", 'field schema: is missing, the file must begin with schema = "own/file@2"'),
        ('schema = "own/file@3"', "was written by a newer Grouser"),
        ('schema = "own/file@1"', "is not a schema read here, expected 'own/file@2'"),
        ('schema = "other@2"', "is not a schema read here"),
        ('schema = "own/file@2"\n' + "a." * 9 + "a = 1", "dotted key of more than 8 parts"),
        ('schema = "own/file@2"\n# ' + "x" * 2000, "is larger than 1 kB"),
    ],
)
def test_a_toml_file_is_refused_by_name(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(content)
    with pytest.raises(OwnError, match="own.toml.*" + re.escape(said)):
        read_toml(path, "own/file@2", OwnError, limit=1000)


def test_what_is_written_as_toml_is_read_again(tmp_path: Path) -> None:
    value = {"text": 'a "q" \\ \x7f é', "list": [1, 2.5, -0.0, float("inf")], "on": True, "odd key": np.float64(1 / 3)}
    path = tmp_path / "own.toml"
    path.write_text('schema = "own/file@2"\nvalue = ' + toml_value(value), encoding="utf-8")
    assert read_toml(path, "own/file@2", OwnError) == {"value": value}


def test_toml_leaves_out_none_takes_numpy_and_refuses_other_things() -> None:
    assert toml_value({"none": None, "on": np.bool_(True), "n": np.int64(3)}) == "{ on = true, n = 3 }"
    assert toml_value(np.array([[0.1, 2.0]])) == "[[0.1, 2.0]]"
    with pytest.raises(TypeError, match="TOML has no value for"):
        toml_value([object()])


@dataclass(frozen=True)
class Row:
    length: float
    width: float | None = None


def test_fields_of_a_row_are_checked_and_none_is_kept_only_where_it_is_the_default() -> None:
    row = Row(2)
    checks.set_checked(row, "row 'a', field", checks.positive, "length", "width")
    assert (row.length, row.width) == (2.0, None)
    assert type(row.length) is float
    nothing: Any = None
    refused = {"length: -1 is not positive": Row(-1.0), "width: 0 is": Row(1.0, 0.0), "length: None": Row(nothing)}
    for said, wrong in refused.items():
        with pytest.raises(SimulationError, match=f"row 'a', field {said}"):
            checks.set_checked(wrong, "row 'a', field", checks.positive, "length", "width")


def test_a_place_is_put_before_a_message_once_and_only_for_its_class_of_errors() -> None:
    for message in ("field mass: is missing", "zoe.toml, field mass: is missing"):
        with pytest.raises(VehicleError) as caught, prefixed("zoe.toml, ", VehicleError):
            raise VehicleError(message)
        assert str(caught.value) == "zoe.toml, field mass: is missing"
    with pytest.raises(SimulationError, match=r"^other$"), prefixed("zoe.toml, ", VehicleError):
        raise SimulationError("other")


def test_arrays_are_read_back_with_their_schema_and_only_of_that_kind(tmp_path: Path) -> None:
    write_npz(tmp_path / "a.npz", "map", "grouser/map@1", {"x": np.arange(3.0)}, SimulationError)
    assert read_npz(tmp_path / "a.npz", SimulationError, schema="grouser/map@1").keys() == {"x"}
    with pytest.raises(SimulationError, match="field schema: 'grouser/map@1' is not a schema read here"):
        read_npz(tmp_path / "a.npz", SimulationError, schema="grouser/other@1")
    with pytest.raises(SimulationError, match=r"a map is saved as \.npz; name the file a\.npz"):
        write_npz(tmp_path / "a.csv", "map", "grouser/map@1", {}, SimulationError)
