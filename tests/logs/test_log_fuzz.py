"""Whatever a log or its manifest holds, reading ends in a log or in one sentence."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from log_drives import COLUMNS, drive, manifest, rows

import grouser as gr
from grouser.errors import GrouserError
from grouser.logs.skeleton import layout, skeleton

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
CELL = st.one_of(
    st.floats().map(repr),
    st.integers(-(10**6), 10**6).map(str),
    st.sampled_from(["", "nan", "-inf", "x", '"', '"1"', "1e400", "-", "0x1", "1_0", "\ufeff", "\x00", "#", "1,2"]),
)


def sound(log: gr.Log) -> None:
    """What a log promises, whatever was in the file."""
    inside = np.diff(log.segment) == 0
    assert np.all(np.diff(log.time)[inside] > 0.0)
    assert np.all(np.diff(log.elapsed) > 0.0)
    assert set(np.diff(log.segment)) <= {0, 1}
    for column in (*log.rates.values(), *log.angles.values()):
        assert column.shape == log.time.shape
        assert np.isfinite(column).all()
    same = np.diff(log.poses.segment) == 0
    assert np.all(np.diff(log.poses.time)[same] > 0.0)
    assert np.isfinite(log.poses.position).all()
    assert np.isfinite(log.poses.attitude).all()
    assert set(log.poses.segment) <= set(log.segment)
    assert log.report.samples == len(log)
    assert log.report.rows == len(log) + log.report.n_rejected


def attempt(path: Path, tables: Any) -> None:
    said = ""
    try:
        sound(gr.read_log(path, manifest=tables))
    except GrouserError as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < 4000


@QUICK
@given(content=st.binary(max_size=2000))
def test_any_bytes(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    attempt(path, manifest())
    with suppress(GrouserError):
        skeleton(layout(path))


@QUICK
@given(table=st.lists(st.lists(CELL, min_size=7, max_size=9), max_size=40))
def test_any_cells_under_the_right_heading(table: list[list[str]], tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n".join([",".join(COLUMNS), *(",".join(row) for row in table)]) + "\n")
    attempt(path, manifest(vehicle=None))
    attempt(path, manifest(rates={"FL": {"column": "wl", "kind": "increment", "lag": 0.1}}))


@QUICK
@given(
    order=st.lists(st.integers(0, 99), min_size=1, max_size=150),
    damage=st.lists(st.tuples(st.integers(0, 149), st.integers(0, 7), CELL), max_size=20),
)
def test_rows_shuffled_repeated_and_damaged(
    order: list[int], damage: list[tuple[int, int, str]], tmp_path: Path
) -> None:
    lines = rows(drive(5.0))
    cells = [lines[1 + k].split(",") for k in order]
    for row, column, cell in damage:
        cells[row % len(cells)][column] = cell
    path = tmp_path / "a.csv"
    path.write_text("\n".join([lines[0], *(",".join(row) for row in cells)]) + "\n")
    attempt(path, manifest(limits={"check_units": False}))
    attempt(path, manifest(rates={"FL": {"column": "wl", "kind": "position", "lag": -0.1}}, vehicle=None))


VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.sampled_from(COLUMNS)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["column", "unit", "sign", "scale", "lag", "kind", "x", "topic", "field", "from", "to"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=8,
)
TABLE = st.sampled_from(
    ["vehicle", "csv", "time", "rates", "angles", "commands", "body_command", "attitude", "gyro", "pose", "sensor",
     "segments", "outages", "labels", "limits", "file", "other"]
)  # fmt: skip


@pytest.fixture(scope="module")
def drive_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("drive") / "a.csv"
    path.write_text("\n".join(rows(drive(5.0))) + "\n")
    return path


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.dictionaries(TABLE, VALUE, min_size=1, max_size=3))
def test_any_manifest(changes: dict[str, Any], drive_file: Path) -> None:
    attempt(drive_file, {**manifest(), **changes})
    attempt(drive_file, manifest(**changes))


@QUICK
@given(text=st.one_of(st.text(max_size=300), st.text(alphabet='[]{}=".\n#a1,', max_size=300)))
def test_any_manifest_text(text: str, drive_file: Path) -> None:
    path = drive_file.with_name("log.toml")
    path.write_bytes(b'schema = "grouser/log@1"\n' + text.encode("utf-8", "replace"))
    attempt(drive_file, path)
