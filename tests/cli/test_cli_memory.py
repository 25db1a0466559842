"""Learning that is carried on from the command line: `memory`, `calibrate --from`, `evaluate --adapt`, `--follow`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.memory import Memory
from grouser.cli import run
from grouser.motion.fit import Fit
from tests.oracles import changing_slip as truth
from tests.oracles.changing_slip import FIRM, SOFT

TURN = "slip.a10"


class Files(NamedTuple):
    """A fit on firm soil, a log whose soil changes at 60 s, and the memory of it."""

    log: str
    manifest: str
    fit: str
    memory: str


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("memory")
    firm = truth.drive(folder, "firm", [(100.0, FIRM)], seed=100)
    gr.calibrate(truth.model(), firm, ["slip", "noise"]).save(folder / "fit.toml")
    log, manifest = truth.write(folder, "changes", [(60.0, FIRM), (60.0, SOFT)], seed=1)
    files = Files(str(log), str(manifest), str(folder / "fit.toml"), str(folder / "grounds.toml"))
    assert run([*carried(files), "--memory", files.memory, "--out", str(folder / "next.toml"), "--json"]) == 0
    return files


@pytest.fixture
def files(made: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Files:
    """The same with a memory of its own, which may be changed."""
    capsys.readouterr()
    return made._replace(memory=str(shutil.copy(made.memory, tmp_path / "grounds.toml")))


def carried(files: Files, *more: str) -> list[str]:
    return ["calibrate", files.log, "--manifest", files.manifest, "--online", "--from", files.fit, *more]


def judged(files: Files, *more: str) -> list[str]:
    return ["evaluate", files.log, "--manifest", files.manifest, "--fit", files.fit, *more]


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    value = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


def refused(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def names(file: str) -> list[str]:
    return [ground.name for ground in Memory.load(file).grounds]


def test_a_memory_is_listed(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["memory", files.memory, "--json"]) == 0
    result = printed(capsys)
    assert (result["vehicle"], result["model"]) == ("warthog", "Perturbative, slip downhill by distance")
    first, second = result["grounds"]
    assert (first["name"], second["name"]) == ("ground 1", "ground 2")
    assert first["parameters"][TURN]["value"] == pytest.approx(FIRM[9], abs=4.0 * first["parameters"][TURN]["sigma"])
    assert second["parameters"][TURN]["value"] == pytest.approx(SOFT[9], abs=4.0 * second["parameters"][TURN]["sigma"])
    assert first["seconds"] + second["seconds"] == pytest.approx(118.0, abs=2.1)
    assert set(first) >= {"seconds", "visits", "feel"}
    assert first["feel"]["slope"]["count"] * 2.0 == pytest.approx(first["seconds"])
    assert set(result["spread"]) == set(result["parameters"]) == {f"slip.a{k}" for k in range(1, 14)}
    assert run(["memory", files.memory]) == 0
    text = capsys.readouterr().out
    assert "2 grounds" in text
    assert f"{second['parameters'][TURN]['value']:.3f} ± " in text
    assert "spread between grounds, one sigma:" in text


def test_grounds_are_named_merged_and_forgotten_in_the_file(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    before = Memory.load(files.memory)
    assert run(["memory", files.memory, "--name", "ground 1=grass", "--name", "ground 2 = wet sand", "--json"]) == 0
    assert [g["name"] for g in printed(capsys)["grounds"]] == ["grass", "wet sand"] == names(files.memory)
    assert run(["memory", files.memory, "--merge", "grass=wet sand"]) == 0
    (one,) = Memory.load(files.memory).grounds
    information = sum(np.linalg.inv(g.covariance) for g in before.grounds)
    np.testing.assert_allclose(one.covariance, np.linalg.inv(information), rtol=1e-6, atol=1e-12)
    assert run(["memory", files.memory, "--forget", "grass"]) == 0
    assert names(files.memory) == []
    assert "0 grounds" in capsys.readouterr().out


def test_listing_does_not_touch_the_file(files: Files) -> None:
    before = Path(files.memory).stat().st_mtime_ns, Path(files.memory).read_bytes()
    assert run(["memory", files.memory]) == 0
    assert (Path(files.memory).stat().st_mtime_ns, Path(files.memory).read_bytes()) == before


def test_an_exported_memory_is_wider_and_the_file_stays(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "robot.toml"
    before = Path(files.memory).read_bytes()
    assert run(["memory", files.memory, "--export", str(out), "--json"]) == 0
    assert printed(capsys)["exported"] == str(out)
    assert Path(files.memory).read_bytes() == before
    mine, its = Memory.load(files.memory), Memory.load(out)
    for a, b in zip(mine.grounds, its.grounds, strict=True):
        np.testing.assert_array_equal(a.mean, b.mean)
        assert np.all(np.diag(b.covariance) > np.diag(a.covariance))
        assert b.visits == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--name", "ground 1"], "--name: 'ground 1' is not OLD=NEW, such as 'ground 1=grass'"),
        (["--name", "=grass"], "is not OLD=NEW"),
        (["--merge", "ground 1="], "--merge: 'ground 1=' is not FIRST=SECOND"),
        (["--merge", "ground 1=ground 1"], "cannot be merged with itself"),
        (["--name", "lawn=grass"], "no ground 'lawn'; it has ground 1, ground 2"),
        (["--name", "ground 1=ground 2"], "has a ground 'ground 2' already"),
        (["--forget", "lawn"], "no ground 'lawn'"),
        (["--name", "ground 1=grass", "--forget", "lawn"], "no ground 'lawn'"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_changes_nothing(
    files: Files, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path(files.memory).read_bytes()
    refused(["memory", files.memory, *arguments], sentence, capsys)
    assert Path(files.memory).read_bytes() == before


def test_a_file_that_is_no_memory_is_refused(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    refused(["memory", files.fit], "expected 'grouser/memory@1'", capsys)
    refused(["memory", "nowhere.toml"], "nowhere.toml: there is no such file", capsys)


def test_a_fit_is_carried_on_with_changes_and_a_memory(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory, out, plot = tmp_path / "m.toml", tmp_path / "next.toml", tmp_path / "history.png"
    assert run([*carried(files, "--memory", str(memory), "--out", str(out), "--plot", str(plot)), "--json"]) == 0
    result = printed(capsys)
    (change,) = result["changes"]
    assert set(change) == {"time", "since", "from", "to", "recalled"}
    assert 60.0 < change["time"] <= 70.0
    assert (change["from"], change["to"], change["recalled"]) == ("ground 1", "ground 2", False)
    assert names(str(memory)) == ["ground 1", "ground 2"]
    first, fit = Fit.load(files.fit), Fit.load(out)
    for name in ("value", "sigma", "prior", "prior_sigma"):
        assert np.isfinite(result["parameters"][TURN][name])
    assert result["parameters"][TURN]["prior"] == first.values[TURN]
    assert result["parameters"][TURN]["prior_sigma"] == first.sigma[TURN]
    assert abs(fit.values[TURN] - SOFT[9]) < 4.0 * fit.sigma[TURN]
    assert result["memory"] == str(memory)
    assert plot.read_bytes().startswith(b"\x89PNG")
    # Once more, with what is known now: the second ground is recalled.
    assert run([*carried(files, "--memory", str(memory)), "--json"]) == 0
    again = printed(capsys)["changes"]
    assert [(one["to"], one["recalled"]) for one in again] == [("ground 2", True)]
    assert Memory.load(memory)["ground 2"].visits == 2
    assert len(names(str(memory))) == 2


def test_people_read_of_changes_and_what_was_the_prior(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(carried(files)) == 0
    text = capsys.readouterr().out
    assert "warthog, a fit carried on: " in text
    assert "ground changed at about 60.0 s, noticed at " in text
    assert "from ground 1 to ground 2 (new)" in text
    assert "errors of predictions before each update" in text
    first = Fit.load(files.fit)
    assert f"{first.values[TURN]:.4g} ± {first.sigma[TURN]:.2g}" in text


def test_least_squares_carries_a_fit_on_too(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [word for word in carried(files) if word != "--online"]
    assert run([*arguments, "--json"]) == 0
    result = printed(capsys)
    assert result["training"]["method"] == "batch"
    assert result["changes"] == []
    assert FIRM[9] > result["parameters"][TURN]["value"] > SOFT[9]  # one ground for both halves


def test_steady_ground_neither_changes_nor_wanders(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*carried(files), "--steady", "--json"]) == 0
    result = printed(capsys)
    assert result["changes"] == []
    assert result["parameters"][TURN]["value"] > 0.5 * (FIRM[9] + SOFT[9])  # holds to what it knew


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--memory", "m.toml"], "--memory: is for --online and --follow"),
        (["--steady"], "--steady: is for --online and --follow"),
        (["--online", "--from", "F", "--model", "kinematic"], "--model: belongs to the fit of --from; leave it out"),
        (["--online", "--from", "F", "--parameters", "slip"], "--parameters: belongs to the fit of --from"),
        (["--online", "--from", "F", "--prior", "slip.a1=0:1"], "--prior: belongs to the fit of --from"),
        (["--online", "--from", "F", "--vehicle", "husky"], "--vehicle: belongs to the fit of --from"),
        (["--online", "--from", "F", "--noise-form", "full"], "--noise-form: belongs to the fit of --from"),
        (["--from", "F", "--share"], "--share: belongs to the fit of --from"),
        (["--from", "F", "--split", "0.7"], "--split: is not for --from"),
        (["--online", "--from", "nowhere.toml"], "nowhere.toml: there is no such file"),
        (["--online", "--from", "M"], "expected 'grouser/fit@1'"),
        (["--online", "--from", "F", "--memory", "F"], "expected 'grouser/memory@1'"),
        (["--online", "--from", "F", "--memory", "no/where.toml"], "no/where.toml: its folder does not exist"),
        (["--online", "--split", "1", "--model", "kinematic", "--memory", "G"], "not of Kinematics with slip.p1"),
    ],
)
def test_what_does_not_belong_together_is_refused(
    files: Files, more: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"F": files.fit, "M": files.manifest, "G": files.memory}
    before = Path(files.memory).read_bytes()
    arguments = ["calibrate", files.log, "--manifest", files.manifest, *(given.get(word, word) for word in more)]
    refused(arguments, sentence, capsys)
    assert Path(files.memory).read_bytes() == before


def test_evaluate_adapts_and_shows_both(files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot = tmp_path / "errors.svg"
    assert run([*judged(files, "--adapt", "--plot", str(plot)), "--json"]) == 0
    result = printed(capsys)
    keys = {"position_rms", "position_median", "yaw_rms_deg", "inside_95", "nees", "intervals"}
    assert set(result) >= keys | {"changes", "fixed", "ground"}
    assert set(result["fixed"]) >= keys
    (change,) = result["changes"]
    assert set(change) >= {"time", "from", "to"}
    assert result["ground"] == change["to"]
    assert result["position_rms"] < 0.7 * result["fixed"]["position_rms"]
    assert result["inside_95"] > result["fixed"]["inside_95"]
    assert result["intervals"] == result["fixed"]["intervals"]
    drawn = plot.read_text()
    assert drawn.startswith("<?xml")
    assert run(judged(files)) == 0
    assert "adapting" not in capsys.readouterr().out
    assert run(judged(files, "--adapt")) == 0
    text = capsys.readouterr().out
    assert "the fit as it is" in text
    assert "adapting" in text
    assert "ground changed at about 60.0 s" in text


def test_evaluate_recalls_grounds_and_leaves_the_memory(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["memory", files.memory, "--name", "ground 2=sand"]) == 0
    capsys.readouterr()
    before = Path(files.memory).read_bytes()
    assert run([*judged(files, "--adapt", "--memory", files.memory), "--json"]) == 0
    (change,) = printed(capsys)["changes"]
    assert (change["from"], change["to"], change["recalled"]) == ("ground 1", "sand", True)
    assert Path(files.memory).read_bytes() == before
    refused(judged(files, "--memory", files.memory), "--memory: is for --adapt", capsys)
    refused(judged(files, "--adapt", "--memory", "nowhere.toml"), "nowhere.toml: there is no such file", capsys)


def test_horizons_adapt_too(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for more in ([], ["--adapt"]):
        assert run([*judged(files, "--horizons", "1,4", *more), "--json"]) == 0
        found.append(printed(capsys)["horizons"])
    for plain, adapting in zip(*found, strict=True):
        assert adapting["interval"] == plain["interval"]
        assert adapting["position_rms"] < plain["position_rms"]


def test_the_lag_of_the_log_is_asked_for_or_follows_from_the_manifest(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path(files.manifest).read_text()
    spread = tmp_path / "spread.toml"
    spread.write_text(text.replace("[sensor]", "[sensor]\nlag_spread = 0.1"))
    keys = {}
    for name, manifest, more in (
        ("no spread", files.manifest, []),
        ("asked for", files.manifest, ["--own-lag"]),
        ("spread", str(spread), []),
        ("not asked for", str(spread), ["--fit-lag"]),
        ("adapting", str(spread), ["--adapt"]),
        ("same ground", str(spread), ["--same-ground"]),
    ):
        assert run([*judged(files._replace(manifest=manifest), *more), "--json"]) == 0
        result = printed(capsys)
        keys[name] = "own_lag" in result
        if keys[name]:
            assert result["position_rms"] == result["own_lag"]["position_rms"]
            assert len(result["own_lag"]["lag"]) == 2
            assert max(map(abs, result["own_lag"]["lag"])) < 0.05  # planted without one
            assert set(result["fit_lag"]) >= {"position_rms", "nees"}
    assert [name for name, has in keys.items() if has] == ["asked for", "spread"]


def test_a_log_is_followed_from_a_fit_into_a_memory(
    files: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory, out = tmp_path / "followed.toml", tmp_path / "fit.toml"
    arguments = [word for word in carried(files) if word != "--online"]
    arguments += ["--follow", "--idle-exit", "0.05", "--poll", "0.05", "--memory", str(memory), "--out", str(out)]
    assert run([*arguments, "--json"]) == 0
    result = printed(capsys)
    assert [one["to"] for one in result["changes"]] == ["ground 2"]
    assert names(str(memory)) == ["ground 1", "ground 2"]
    whole = Memory.load(files.memory)
    for name in names(str(memory)):  # as from the whole log
        assert Memory.load(memory)[name].mean == pytest.approx(whole[name].mean, abs=0.02)
    assert abs(Fit.load(out).values[TURN] - SOFT[9]) < 4.0 * Fit.load(out).sigma[TURN]
    refused([*arguments, "--model", "kinematic"], "--model: belongs to the fit of --from", capsys)
