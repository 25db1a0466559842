"""Studies: the same rows however they are cut, resumed or threaded; physics of their measures; poison rows; errors."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import grouser as gr
from grouser.cli import run
from grouser.errors import GrouserError, StudyError
from grouser.motion.parameters import ParameterVector
from grouser.study.folder import Folder, read_table, run_chunk
from grouser.study.run import run_study
from grouser.study.spec import Spec
from grouser.study.variants import Variants
from grouser.view.study import variant_means

SMALL: dict[str, Any] = {
    "vehicle": "husky", "drive": {"speed": 0.5}, "duration": 0.8, "seed": 5,
    "grounds": ["flat", "rough:rms=.05,length=1,seed=2"],
    "parameters": {
        "vehicle.track": {"range": [0.5, 0.6]}, "drive.curvature": {"normal": [0.0, 0.2]}, "drive.speed": [0.2, 0.4],
    },
    "sampling": {"method": "latin", "runs": 12}, "measures": ["distance", "x", "slip", "tip_margin_deg"],
}  # fmt: skip


def rows_of(spec: Spec, out: Path, **options: Any) -> Any:
    return run_study(spec, out, **options).table


def test_rows_are_the_same_for_any_chunks_threads_and_restarts(tmp_path: Path) -> None:
    plain = rows_of(Spec.of(SMALL), tmp_path / "a", threads=1)
    cut = Spec.of({**SMALL, "sampling": {**SMALL["sampling"], "chunk": 4}})
    assert rows_of(cut, tmp_path / "b", threads=2).equals(plain)
    folder = Folder.open(tmp_path / "b")
    lost = folder.file(2)
    before = {k: folder.file(k).stat().st_mtime_ns for k in range(folder.chunks)}
    lost.unlink()
    folder.file(3).write_bytes(b"half a file")
    again = run_study(cut, tmp_path / "b")
    assert again.table.equals(plain)
    assert again.run_rows == 8
    after = {k: folder.file(k).stat().st_mtime_ns for k in range(folder.chunks)}
    assert {k for k in before if after[k] != before[k]} == {2, 3}
    assert run_study(cut, tmp_path / "b").run_rows == 0


def test_a_row_is_what_one_run_of_it_gives() -> None:
    found = gr.study(SMALL)
    assert list(found["ground"].unique()) == SMALL["grounds"]
    assert found.attrs["units"]["distance"] == "m"
    row = found.iloc[13]
    chosen = gr.vehicle("husky")
    from grouser.motion.vehicle_fields import changed

    model = gr.Kinematics(changed(chosen, {"track": row["vehicle.track"]}))
    drive = gr.drive.arc(row["drive.speed"], row["drive.curvature"])
    one = gr.simulate(model, gr.terrain.parse(row["ground"]), drive, duration=0.8)
    assert row["distance"] == pytest.approx(one.distance, rel=1e-12)
    assert row["x"] == one.position[-1, 0]
    assert row["tip_margin_deg"] == pytest.approx(math.degrees(one.rollover_margin().angle.min()), abs=1e-9)


def test_alike_rows_share_a_call_and_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drives vary, the vehicle does not: one call of the engine for each ground."""
    from grouser.study import rows

    calls = []
    real = rows.launch
    monkeypatch.setattr(rows, "launch", lambda *a, **k: calls.append(len(a[2])) or real(*a, **k))
    varied = {name: v for name, v in SMALL["parameters"].items() if name.startswith("drive")}
    gr.study({**SMALL, "parameters": varied})
    assert calls == [12, 12]


def test_the_climb_angle_of_coulomb_friction_is_its_arctangent() -> None:
    """A vehicle with all wheels driven climbs while tan θ < μ, wherever its load lies."""
    found = gr.study(
        vehicle="husky", model="dynamic", contact={"law": "piecewise-linear", "cone": True}, drive={"speed": 0.3},
        duration=4.0, dt=0.04, sampling={"method": "grid"}, parameters={"contact.friction": [0.2, 0.4, 0.6]},
        measures={"climb": {"kind": "climb_angle_deg", "tolerance": 0.1}},
    )  # fmt: skip
    # Half the tolerance, and 0.06° because within 4 s it must also gather a tenth of its speed.
    np.testing.assert_allclose(found["climb"], np.degrees(np.arctan(found["contact.friction"])), rtol=0.0, atol=0.12)


def test_energy_uphill_is_at_least_that_of_height(tmp_path: Path) -> None:
    found = gr.study(
        vehicle="husky", model="dynamic", ground="slope:deg=5", drive={"speed": 0.5}, duration=2.0,
        parameters={"ground.deg": [0.0, 5.0, 10.0]}, sampling={"method": "grid"}, measures=["energy", "z", "distance"],
    )  # fmt: skip
    rise = found["z"] - found["z"].iloc[0]
    weight = gr.vehicle("husky").mass * 9.81
    assert (found["energy"].diff().dropna() > 0.8 * weight * rise.diff().dropna()).all()
    assert found["energy"].iloc[0] < 0.1 * found["energy"].iloc[1]


def breaks(run: gr.Run, row: dict[str, Any]) -> float:
    """A measure that fails for some rows."""
    if row["row"] == 7:
        sys.exit(1)
    if row["row"] == 6:
        return "3.0"  # type: ignore[return-value]
    if row["row"] % 5 == 2:
        raise ValueError("no such thing")
    return run.distance if row["row"] % 5 else math.nan


def test_poison_rows_are_recorded_with_their_reason(tmp_path: Path) -> None:
    found = gr.study(SMALL, measures={"mine": lambda run, row: breaks(run, row), "distance": "distance"})
    assert "raised SystemExit: 1" in found["reason"][7]
    assert found["reason"][6].endswith("returned '3.0', which is not a number")
    found = found.drop([6, 7])
    bad, odd = found[found["row"] % 5 == 2], found[found["row"] % 5 == 0]
    assert set(bad["status"]) == set(odd["status"]) == {"failed"}
    assert bad["reason"].str.contains("ValueError: no such thing").all()
    assert odd["reason"].str.contains("not a finite number").all()
    good = found[found["status"] == "ok"]
    assert len(good) == len(found) - len(bad) - len(odd)
    assert (good["mine"] == good["distance"]).all()
    wrong = gr.study({**SMALL, "parameters": {"vehicle.radius": {"range": [-0.1, 0.2]}}})
    refused = wrong[wrong["status"] == "refused"]
    assert (refused["vehicle.radius"] <= 0.0).all()
    assert refused["reason"].str.contains("is not positive").all()
    assert (wrong[wrong["vehicle.radius"] > 0.0]["status"] == "ok").all()


def test_a_chunk_that_fails_is_run_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from grouser.study import executor
    from grouser.study import run as running

    spec = Spec.of({**SMALL, "sampling": {"method": "latin", "runs": 4, "chunk": 4}})
    good = rows_of(spec, tmp_path / "good")

    def failing(work: Any, todo: Any, **_: Any) -> Any:
        for k in todo:
            size = work.manifest["study"]["sampling"]["chunk"]
            dies = k * size <= 2 < (k + 1) * size
            yield k, executor.Failure("memory ran out") if dies else run_chunk(work.manifest, k, 1)

    monkeypatch.setattr(running, "run_chunks", failing)
    found = rows_of(spec, tmp_path / "bad")
    assert found.num_rows == good.num_rows
    assert found.column("status")[2].as_py() == "crashed"
    assert found.column("reason")[2].as_py() == "memory ran out"
    rest = [k for k in range(8) if k != 2]
    assert found.take(rest).equals(good.take(rest))


def test_a_changed_study_is_refused_its_old_folder(tmp_path: Path) -> None:
    run_study(Spec.of(SMALL), tmp_path / "a")
    with pytest.raises(StudyError, match="another study, or this one before it was changed"):
        run_study(Spec.of({**SMALL, "seed": 6}), tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "mine.txt").write_text("x")
    with pytest.raises(StudyError, match="is not an empty folder"):
        run_study(Spec.of(SMALL), tmp_path / "b")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parameters": {"vehicle.radus": [1.0]}}, "none is called 'vehicle.radus'; did you mean 'vehicle.radius'"),
        ({"parameters": {"vehicle.track": {"range": [50, 60], "unit": "kg"}}}, "'kg' is not a unit"),
        ({"parameters": {"vehicle.track": {"range": [0.6, 0.5]}}}, "is empty"),
        ({"measures": []}, "measures nothing"),
        ({"measures": ["energy"]}, 'set model = "dynamic"'),
        ({"measures": ["speeed"]}, "is not one of"),
        ({"vehicle": "mars"}, "there is no vehicle 'mars'"),
        ({"grounds": ["hilly"]}, "no terrain 'hilly'"),
        ({"grounds": {}}, "the study is empty"),
        ({"grounds": ["dem.tif"]}, "dem.tif: no such file"),
        ({"samplng": {}}, "has no field 'samplng'; did you mean 'sampling'"),
        ({"sampling": {"method": "halton"}}, "is not one of grid, random, latin, sobol, saltelli"),
        ({"sampling": {"runs": 0}}, "is not a whole number between 1"),
        ({"sampling": {"method": "grid"}}, "a grid needs values, or a range with steps"),
        ({"drive": {"sped": 1.0}}, "has no 'sped'"),
        ({"duration": 0.81}, "not a whole number of steps"),
        ({"measures": {"m": {"function": "no_such_module:f"}}}, "cannot be imported"),
        ({"measures": {"drive.speed": "x"}}, "is the name of another column"),
        ({"measures": {"status": "x"}}, "is the name of another column"),
        ({"fit": 3}, "fit: 3 is not a file"),
        ({"parameters": {"drive.speed": math.nan}}, "parameters: holds nan"),
        ({"options": {"tip": 1}}, "options: has no 'tip'; .*Kinematics has time_constant, .*tip_angle"),
        ({"soils": {"a": {"cohesion": 1.0}}}, "soils.a: has no 'cohesion'; BodySlip has"),
        ({"model": "dynamic", "contact": {"law": "dry_snad"}}, "law: there is no 'dry_snad'; did you mean 'dry_sand'"),
        ({"model": "dynamic", "actuator": {"gian": 1.0}}, "actuator: has no 'gian'; did you mean 'gain'"),
        ({"parameters": {"ground.seed": [1.5]}, "grounds": ["rough:rms=.1,length=1,seed=1"]}, "1.5 is not a whole"),
        ({"plan": {"samples": 8}, "measures": ["distance"]}, "plan: needs a goal"),
        ({"plan": {"goal": [1, 0], "smples": 8}, "measures": ["distance"]}, "did you mean 'samples'"),
        ({"plan": {"goal": [1, 0]}, "measures": ["distance"]}, "none is called 'drive.curvature'"),
    ],
)
def test_mistakes_are_one_sentence(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(GrouserError, match=words) as said:
        run_study(Spec.of({**SMALL, **change}), tmp_path / "out")
    assert "\n" not in str(said.value)


def test_the_command_runs_resumes_shows_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "small.toml"
    file.write_text(
        'schema = "grouser/study@1"\nvehicle = "husky"\nduration = 0.4\nmeasures = ["x", "y"]\n'
        '[parameters]\n"drive.speed" = { range = [0.2, 0.4] }\n"drive.curvature" = { range = [-0.3, 0.3] }\n'
        '[sampling]\nmethod = "saltelli"\nruns = 16\n'
    )
    out, plot, page = tmp_path / "out", tmp_path / "p.png", tmp_path / "r.html"
    assert run(["study", str(file), "--out", str(out), "--plot", str(plot), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["rows"] == said["rows_run_now"] == 64
    assert run(["study", str(file), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows_run_now"] == 0
    assert run(["study", str(out), "--report", str(page), "--measure", "y"]) == 0
    assert "Sobol indices" in page.read_text()
    assert plot.stat().st_size > 10_000
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["study"]["parameters"]["drive.speed"] == {"range": [0.2, 0.4]}
    assert read_table(out / "chunks" / "000000.parquet").num_rows == 64
    text = file.read_text().replace('"drive.speed" = { range = [0.2, 0.4] }', '"vehicle.radius" = { range = [-2, -1] }')
    file.write_text(text)
    refused = tmp_path / "refused"
    assert run(["study", str(file), "--out", str(refused), "--plot", str(plot), "--report", str(page)]) == 0
    assert "64 refused" in capsys.readouterr().out
    assert "–" in page.read_text()
    for arguments in (["study", str(file)], ["study", str(out), "--measure", "w"], ["study", str(tmp_path)]):
        assert run(arguments) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_pair_plot_has_a_point_for_each_variant(tmp_path: Path) -> None:
    """Soils and grounds share their points: one drawn over the other would hide it."""
    results = run_study(Spec.of(SMALL), tmp_path / "a")
    first, y = variant_means(results, "x")
    both = results.column("x").reshape(12, 2)
    assert first.tolist() == list(range(0, 24, 2))
    np.testing.assert_allclose(y, both.mean(axis=1), rtol=1e-14)
    lost = results.table.to_pandas()["x"].to_numpy().copy()
    lost[[0, 1, 2]] = math.nan
    results.__dict__["table"] = results.table.set_column(results.table.column_names.index("x"), "x", [lost])
    y = variant_means(results, "x")[1]
    assert np.isnan(y[0])
    assert y[1] == lost[3]


def test_a_study_finds_the_sobol_indices_of_a_linear_measure(tmp_path: Path) -> None:
    """y = 2 a + b + 3 n with n of {0, 1}: variances 4/12, 1/12 and 9/4; `s` is given twice the same and varies not."""
    file = tmp_path / "linear.py"
    file.write_text("def y(run, row):\n    r = row\n    return 2*r['drive.speed'] + r['start.y'] + 3*r['start.x']\n")
    spec = Spec.of(
        {
            "vehicle": "husky", "grounds": ["flat", "slope:deg=1"], "duration": 0.04, "seed": 3,
            "parameters": {
                "vehicle.track": [0.5, 0.5], "drive.speed": {"range": [0.0, 1.0]}, "start.x": [0.0, 1.0],
                "start.y": {"range": [0.0, 1.0]},
            },
            "sampling": {"method": "saltelli", "runs": 256, "chunk": 128},
            "measures": {"y": {"function": "linear:y"}},
        },
        folder=tmp_path,
    )  # fmt: skip
    found = run_study(spec, tmp_path / "out")
    assert found.varied == ("drive.speed", "start.x", "start.y")
    indices = found.indices("y")
    assert indices is not None
    assert list(indices) == ["flat", "slope:deg=1"]
    share = np.array([4.0 / 12.0, 9.0 / 4.0, 1.0 / 12.0]) / (32.0 / 12.0)
    for one in indices.values():
        np.testing.assert_allclose(one.first, share, rtol=0.0, atol=0.03)  # of 256 base samples
        np.testing.assert_allclose(one.total, share, rtol=0.0, atol=0.03)


def test_the_example_is_a_study_of_1500_rows() -> None:
    example = Path(__file__).parents[2] / "examples" / "climb.toml"
    assert len(example.read_text().splitlines()) <= 30
    study = Variants(Spec.read(example))
    assert study.rows == 1500
    assert len(study.soils) == 3
    own = ParameterVector(study.models["dry_sand"], list(study.names)).values
    drawn = study.inputs(0, study.rows).values
    assert (drawn.min(axis=0) < own).all()  # the rover as it is lies within what is varied
    assert (own < drawn.max(axis=0)).all()


def test_seeds_of_the_ground_are_whole_numbers() -> None:
    tables = {**SMALL, "grounds": ["rough:rms=.05,length=1,seed=1"], "parameters": {"ground.seed": {"range": [0, 99]}}}
    rows = gr.study(tables)
    assert rows["ground.seed"].nunique() > 6
    assert (rows["ground.seed"] == rows["ground.seed"].round()).all()


def test_climb_angles_are_sought_to_a_tolerance_that_can_be_met() -> None:
    climb = {"kind": "climb_angle_deg", "tolerance": 1e-30}
    with pytest.raises(StudyError, match=r"tolerance: 1e-30 is not a number from 1e-06 to 80 °"):
        Variants(Spec.of({**SMALL, "model": "dynamic", "measures": {"c": climb}}))
