"""Many logs: other processes and a cluster give the numbers of one process, and a bad log is a row with its reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import drive_files
import pytest

from grouser.cli import run
from tests.study.dask_here import Cluster


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], str, str]:
    """Three logs, their manifest, and a fit of all."""
    folder = tmp_path_factory.mktemp("fleet")
    both = [drive_files.write(folder, f"{seed}.csv", seed=seed, seconds=12.0 + 3.0 * seed) for seed in (1, 2, 3)]
    logs, manifest, fit = [log for log, _ in both], both[0][1], str(folder / "fit.toml")
    assert run(["calibrate", *logs, "--manifest", manifest, "--out", fit, "--json"]) == 0
    return logs, manifest, fit


def printed(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert run([*arguments, "--json"]) == code
    value = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


def test_a_fit_by_several_processes_has_the_bytes_of_one(fleet: tuple[list[str], str, str], tmp_path: Path) -> None:
    logs, manifest, fit = fleet
    other = tmp_path / "fit.toml"
    assert run(["calibrate", *logs, "--manifest", manifest, "--out", str(other), "--jobs", "2", "--json"]) == 0
    assert other.read_bytes() == Path(fit).read_bytes()


def test_each_log_is_judged_as_it_is_alone_and_all_together(
    fleet: tuple[list[str], str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    logs, manifest, fit = fleet
    judge = ["--manifest", manifest, "--fit", fit]
    serial = printed(["evaluate", *logs, *judge, "--each"], capsys)
    assert printed(["evaluate", *logs, *judge, "--each", "--jobs", "2"], capsys) == serial
    for path, row in zip(logs, serial["logs"], strict=True):
        alone = printed(["evaluate", path, *judge], capsys)
        assert row == {**row, **{key: alone[key] for key in ("n", "position_rms", "nees", "baseline")}}
    count = sum(row["n"] for row in serial["logs"])
    squares = sum(row["n"] * row["position_rms"] ** 2 for row in serial["logs"])
    assert serial["pooled"]["n"] == count
    assert serial["pooled"]["position_rms"] == pytest.approx((squares / count) ** 0.5, rel=1e-12)


def test_workers_of_a_scheduler_give_the_same(
    fleet: tuple[list[str], str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("distributed")
    logs, manifest, fit = fleet
    serial = printed(["evaluate", *logs, "--manifest", manifest, "--fit", fit, "--each"], capsys)
    cluster, other = Cluster(tmp_path), tmp_path / "fit.toml"
    try:
        cluster.start()
        there = ["--scheduler", cluster.address]
        assert printed(["evaluate", *logs, "--manifest", manifest, "--fit", fit, "--each", *there], capsys) == serial
        assert run(["calibrate", *logs, "--manifest", manifest, "--out", str(other), *there, "--json"]) == 0
    finally:
        cluster.close()
    assert other.read_bytes() == Path(fit).read_bytes()


def test_a_bad_log_among_many_is_a_row_with_its_reason(
    fleet: tuple[list[str], str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, manifest, fit = fleet
    (bad := tmp_path / "bad.csv").write_text("t,wl\n0,1\n")
    several = [logs[0], str(bad), str(tmp_path / "missing.csv")]
    judge = ["--manifest", manifest, "--fit", fit]
    found = printed(["evaluate", *several, *judge, "--each"], capsys)
    good, first, second = found["logs"]
    assert "failed" not in good
    assert found["pooled"]["n"] == good["n"]
    assert "bad.csv" in first["failed"]
    assert "missing.csv: there is no such file" in second["failed"]
    assert run(["evaluate", *several, *judge, "--each"]) == 0
    said = capsys.readouterr().out
    assert "1 of 3 logs" in said
    assert "missing.csv: not judged: " in said
    assert run(["evaluate", str(bad), *judge, "--each"]) == 1
    assert run(["calibrate", *several, "--manifest", manifest, "--jobs", "2"]) == 2
    assert "bad.csv" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["evaluate", "--jobs", "2"], "--jobs: several files are one log here; add --each to judge each by itself"),
        (["evaluate", "--each", "--jobs", "0"], "--jobs: 0 is not between 1 and 1024"),
        (["evaluate", "--each", "--plot", "a.png"], "--plot: is of one log; leave it or --each out"),
        (["evaluate", "--each", "--jobs", "2", "--scheduler", "x"], "leave --jobs or --scheduler out"),
        (["calibrate", "--jobs", "2", "--share"], "--jobs: processes share the models of --model best"),
        (["calibrate", "--scheduler", "nobody"], "--scheduler: 'nobody' is not the address of a Dask scheduler"),
    ],
)
def test_options_that_do_not_belong_are_refused(
    fleet: tuple[list[str], str, str], options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, manifest, fit = fleet
    more = ["--fit", fit] if options[0] == "evaluate" else []
    capsys.readouterr()
    assert run([options[0], logs[0], "--manifest", manifest, *more, *options[1:]]) == 2
    assert sentence in capsys.readouterr().err
