"""`grouser evaluate`: the numbers a calibration is judged by, on made-up and on real drives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import drive_files
import pytest

from grouser.cli import run

KEYS = {
    "n", "intervals", "position_rms", "position_median", "yaw_rms_deg", "yaw_median_deg", "nees", "inside_95",
    "changes", "baseline",
}  # fmt: skip
MANIFEST = Path(__file__).parents[2] / "examples" / "warthog" / "log.toml"


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """Another log, its manifest, and a fit of the first."""
    folder = tmp_path_factory.mktemp("evaluate")
    log, manifest = drive_files.write(folder)
    other, _ = drive_files.write(folder, "other.csv", seed=2)
    fit = str(folder / "fit.toml")
    assert run(["calibrate", log, "--manifest", manifest, "--split", "1", "--model", "four-number", "--out", fit]) == 0
    return other, manifest, fit


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    value = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


def test_json_has_the_promised_keys(fitted: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    log, manifest, fit = fitted
    capsys.readouterr()
    assert (
        run(["evaluate", log, "--manifest", manifest, "--fit", fit, "--interval", "2", "--same-ground", "--json"]) == 0
    )
    result = printed(capsys)
    assert set(result) >= KEYS
    assert result["changes"] == []
    assert set(result["baseline"]) >= {"n", "position_rms", "position_median", "yaw_rms_deg", "yaw_median_deg"}
    assert result["n"] == result["baseline"]["n"] == 29
    assert result["position_rms"] < 0.03
    assert result["baseline"]["position_rms"] > 5.0 * result["position_rms"]
    assert result["trained_on_this_log"] is False
    # The model is the one that made the log: 29 means of χ²/3 of 3 freedoms, within 3 sigma, if its noise were known.
    # The log is quiet, so that the prior of the noise makes it somewhat larger.
    assert 0.4 < result["nees"] < 1.47
    assert result["nees_band"][0] < 1.0 < result["nees_band"][1]


def test_people_read_what_the_numbers_mean(
    fitted: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest, fit = fitted
    plot = tmp_path / "errors.svg"
    assert run(["evaluate", log, "--manifest", manifest, "--fit", fit, "--own-lag", "--plot", str(plot)]) == 0
    text = capsys.readouterr().out
    assert "times smaller than plain odometry's" in text
    assert "95 % ellipses hold" in text
    assert "s in the first half of the log" in text
    assert plot.stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["LOG", "--manifest", "M", "--fit", "nowhere.toml"], "nowhere.toml: there is no such file"),
        (["LOG", "--manifest", "M", "--fit", "M"], "expected 'grouser/fit@1'"),
        (["LOG", "--manifest", "M"], "Missing option '--fit'"),
        (["LOG", "--manifest", "M", "--fit", "F", "--interval", "-1"], "--interval: -1 is not a positive number"),
        (["LOG", "--manifest", "M", "--fit", "F", "--plot", "a.gif"], "--plot: a.gif must end in .png"),
    ],
)
def test_mistakes_get_one_sentence(
    fitted: tuple[str, str, str], arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [dict(zip(("LOG", "M", "F"), fitted, strict=True)).get(word, word) for word in arguments]
    assert run(["evaluate", *given]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_warthog_fitted_to_one_log_predicts_the_others(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = data / "warthog"
    fit = str(tmp_path / "fit.toml")
    first = str(logs / "warthog_grass_20240808_1619.csv")
    assert run(["calibrate", first, "--manifest", str(MANIFEST), "--out", fit, "--split", "1", "--json"]) == 0
    capsys.readouterr()
    most = {"grass_20240729_1446": 0.085, "grass_20240808_1556": 0.085, "asphalt_20240920_0813": 0.17,
            "grass_20240718_1659": 0.21}  # fmt: skip
    for name, limit in most.items():
        log = str(logs / f"warthog_{name}.csv")
        assert run(["evaluate", log, "--manifest", str(MANIFEST), "--fit", fit, "--interval", "2", "--json"]) == 0
        result = printed(capsys)
        assert set(result) >= KEYS
        assert result["position_rms"] <= limit
        assert result["position_median"] <= 0.08
        assert result["yaw_median_deg"] <= 0.7


def test_horizons_are_listed_with_their_coverage_and_drawn(
    fitted: tuple[str, str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log, manifest, fit = fitted
    capsys.readouterr()
    command = ["evaluate", log, "--manifest", manifest, "--fit", fit, "--horizons", "1,5,10"]
    assert run([*command, "--plot", str(tmp_path / "errors.png"), "--json"]) == 0
    result = printed(capsys)
    assert [one["interval"] for one in result["horizons"]] == [1.0, 5.0, 10.0]
    for one in result["horizons"]:
        assert set(one) >= {"interval", "position_rms", "inside_95", "nees", "intervals"}
    # Of another log the ground may differ: predicted errors grow faster than those of white noise, √10.
    first, _, last = (one["expected_rms"] for one in result["horizons"])
    assert last > 3.2 * first
    assert (tmp_path / "errors.png").stat().st_size > 10_000
    assert run(command) == 0
    assert "in 95 % ellipse" in capsys.readouterr().out


def test_horizons_that_are_no_lengths_are_refused(
    fitted: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest, fit = fitted
    capsys.readouterr()
    assert run(["evaluate", log, "--manifest", manifest, "--fit", fit, "--horizons", "1,-2"]) != 0
    assert "--horizons" in capsys.readouterr().err


def test_another_ground_widens_the_ellipses(fitted: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    log, manifest, fit = fitted
    capsys.readouterr()
    found = []
    for flags in ([], ["--same-ground"]):
        assert run(["evaluate", log, "--manifest", manifest, "--fit", fit, "--json", *flags]) == 0
        found.append(printed(capsys))
    assert found[0]["nees"] < 0.8 * found[1]["nees"]
    assert found[0]["position_rms"] == found[1]["position_rms"]
