"""The commands that compute: pure JSON on stdout, files where they were asked for, honest exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grouser import Run
from grouser.cli import run

ROUGH = "rough:rms=.05,length=.5,seed=1"


def printed_json(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What was printed, which must be one JSON object without NaN."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} in JSON")

    value = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert isinstance(value, dict)
    return value


def test_simulate_prints_where_it_went(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "zoe", "--terrain", ROUGH, "--duration", "1"]) == 0
    text = capsys.readouterr().out
    assert "status" in text
    assert "ended at" in text


def test_simulate_writes_every_kind_of_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["a.npz", "b.csv", "c.tum", "d.png", "e.svg", "f.pdf"]
    outs = [part for name in names for part in ("--out", str(tmp_path / "new" / name))]
    assert run(["simulate", "rocky7", "--terrain", ROUGH, "--speed", "0.3", "--duration", "1", "--json", *outs]) == 0
    result = printed_json(capsys)
    assert [Path(file).name for file in result["files"]] == names
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == names
    assert all((tmp_path / "new" / name).stat().st_size > 100 for name in names)
    loaded = Run.load(tmp_path / "new" / "a.npz")
    assert loaded.summary()["final_position"] == result["final_position"]
    assert (tmp_path / "new" / "d.png").read_bytes().startswith(b"\x89PNG")


def test_simulate_fills_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "husky", "--duration", "1", "--out", str(tmp_path / "results")]) == 0
    capsys.readouterr()
    assert {path.name for path in (tmp_path / "results").iterdir()} == {"run.npz", "run.csv", "run.tum", "run.png"}


def test_simulate_on_flat_ground_goes_where_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "husky", "--start", "1,2,90", "--speed", "0.5", "--duration", "4", "--json"]) == 0
    result = printed_json(capsys)
    assert result["final_position"][:2] == pytest.approx([1.0, 4.0], abs=1e-9)
    assert result["final_yaw"] == pytest.approx(np.pi / 2)


def test_simulate_with_downhill_slip_slides_down(capsys: pytest.CaptureFixture[str]) -> None:
    ends = []
    for slip in ([], ["--slip=0,0,-0.5,0,0,0"]):
        arguments = ["simulate", "husky", "--terrain", "slope:deg=15,heading_deg=90", "--duration", "2", "--json"]
        assert run([*arguments, *slip]) == 0
        ends.append(printed_json(capsys)["final_position"][1])
    assert abs(ends[1] - ends[0]) > 0.1


def test_run_that_leaves_the_map_writes_its_files_says_why_and_exits_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["simulate", "zoe", "--terrain", "rough:rms=.05,length=.5,seed=1,size=6", "--duration", "10"]
    assert run([*arguments, "--json", "--out", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["status"] == "off_terrain"
    assert "the ground ended under a wheel" in printed.err
    assert len(list(tmp_path.iterdir())) == 4


def test_rollout_counts_every_rollout_and_repeats_by_seed(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["rollout", "zoe", "--terrain", ROUGH, "--rollouts", "30", "--duration", "2", "--json"]
    results = []
    for extra in (["--seed", "5"], ["--seed", "5", "--threads", "1"], ["--seed", "6"]):
        assert run([*arguments, *extra]) == 0
        results.append(printed_json(capsys))
    for timing in ("seconds", "steps_per_second"):
        for result in results:
            assert result.pop(timing) > 0.0
    assert sum(results[0]["status"].values()) == 30
    assert results[0] == results[1]
    assert results[0]["final_position_mean"] != results[2]["final_position_mean"]


def test_rollout_file_holds_arcs_that_simulate_repeats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "fan.npz"
    common = ["--terrain", ROUGH, "--duration", "2"]
    assert run(["rollout", "rocky7", *common, "--rollouts", "9", "--every", "10", "--out", str(file)]) == 0
    capsys.readouterr()
    with np.load(file) as fan:
        assert fan["state"].shape == (9, 6, 19)
        assert fan["time"][-1] == pytest.approx(2.0)
        np.testing.assert_array_equal(fan["state"][:, -1], fan["final_state"])
        speed, curvature, last = float(fan["speed"][3]), float(fan["curvature"][3]), fan["final_state"][3]
    assert run(["simulate", "rocky7", *common, f"--speed={speed!r}", f"--curvature={curvature!r}", "--json"]) == 0
    assert printed_json(capsys)["final_position"] == pytest.approx(list(last[4:7]), abs=1e-9)


def test_rows_after_an_early_end_repeat_the_last_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "fan.npz"
    ground = "rough:rms=.02,length=.5,seed=1,size=5"
    assert run(["rollout", "husky", "--terrain", ground, "--rollouts", "40", "--every", "1", "--out", str(file)]) == 0
    capsys.readouterr()
    with np.load(file) as fan:
        ended = np.flatnonzero(fan["status"] == "off_terrain")
        assert len(ended) > 0
        for i in ended:
            np.testing.assert_array_equal(fan["state"][i, -1], fan["final_state"][i])
            steps = np.linalg.norm(np.diff(fan["state"][i, :, 4:6], axis=0), axis=1)
            assert steps.max() < 0.06  # 1 m/s for 0.04 s, and some: no jump to an unwritten row


def test_batch_in_which_nothing_arrives_exits_1(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["rollout", "zoe", "--terrain", "rough:rms=.01,length=.5,seed=1,size=4", "--rollouts", "5"]
    assert run([*arguments, "--duration", "100", "--max-curvature", "0", "--json"]) == 1
    assert printed_json(capsys)["status"]["off_terrain"] == 5


def test_vehicles_lists_all_shipped(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["vehicles"]) == 0
    table = capsys.readouterr().out
    assert "mass [kg]" in table
    assert max(map(len, table.splitlines())) <= 100
    assert run(["vehicles", "--json"]) == 0
    listed = printed_json(capsys)["vehicles"]
    assert {"zoe", "rocky7", "landtamer"} <= {one["name"] for one in listed}
    assert all(one["name"] in table for one in listed)


def test_vehicles_shows_the_frames_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["vehicles", "rocky7"]) == 0
    assert "coupling differential: D1 + D2 = 0" in capsys.readouterr().out
    assert run(["vehicles", "rocky7", "--json"]) == 0
    assert len(printed_json(capsys)["frames"]) == 13


def test_check_says_what_is_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import grouser as gr

    zoe = gr.vehicle("zoe")
    gr.vehicles.write_toml(zoe, tmp_path / "zoe.toml")
    gr.terrain.rough(rms=0.1, length=1.0, seed=1).save(tmp_path / "ground.npz")
    gr.simulate(gr.Kinematics(zoe), gr.terrain.plane(), gr.drive.arc(1.0), duration=0.4).save(tmp_path / "run.npz")
    for name, kind in (("zoe.toml", "vehicle"), ("ground.npz", "terrain"), ("run.npz", "run")):
        assert run(["check", str(tmp_path / name), "--json"]) == 0
        assert printed_json(capsys)["kind"] == kind
        assert run(["check", str(tmp_path / name)]) == 0
        assert f"a {kind}, no errors" in capsys.readouterr().out


def test_bench_reports_machine_cases_and_batches(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "--quick", "--json"]) == 0
    result = printed_json(capsys)
    assert {"cpu", "cores", "python", "numba"} <= set(result["machine"])
    keys = {"vehicle", "model", "contact", "dt", "us_per_step", "realtime_factor", "repeats"}
    assert {(case["vehicle"], case["dt"]) for case in result["cases"]} >= {("zoe", 0.04), ("rocky7", 0.01)}
    assert all(keys <= set(case) and 0.0 < case["us_per_step"] < 1000.0 for case in result["cases"])
    for one in result["stepping"]:  # within 10 µs on an idle machine
        assert 0.0 < one["us_kernel"] < one["us_per_step"] < one["us_kernel"] + 60.0
    assert {"model", "rollouts", "seconds_simulated", "seconds", "threads"} <= set(result["batch"][0])
    dynamic = {(case["contact"], case["dt"]) for case in result["cases"] if case["model"] == "dynamic"}
    assert dynamic == {(c, dt) for c in ("piecewise-linear", "pacejka", "terramechanics") for dt in (0.04, 0.01)}
    batches = [batch for batch in result["batch"] if batch["model"] == "dynamic"]
    assert {batch["threads"] for batch in batches} >= {1}
    assert all(batch["rollouts"] == 1000 and batch["contact"] == "piecewise-linear" for batch in batches)


def test_demo_tells_where_the_rovers_ended_and_writes_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["demo", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "zoe: commanded 10.00 m; ended" in text
    assert "rocky7: commanded 5.00 m; ended" in text
    assert "climbing cost" in text
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"demo.png", "zoe.html", "rocky7.html", "zoe.csv", "zoe.tum", "rocky7.csv", "rocky7.tum"}


def test_demo_compiles_no_dynamics_unless_asked_for(tmp_path: Path) -> None:
    program = "import sys; from grouser.cli import run; print(run(sys.argv[1:]), *sys.modules)"
    for more, used in (([], False), (["--forces"], True)):
        command = [sys.executable, "-c", program, "demo", "--json", "--out", str(tmp_path), *more]
        code, *modules = (
            subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n}\n")[1].split()
        )
        assert code == "0"
        assert ("grouser._kernels.simulation.dynamic_rollout" in modules) == used


def test_demo_without_picture_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--out", str(tmp_path), "--no-picture", "--seed", "5", "--json"]) == 0
    result = printed_json(capsys)
    assert len(result["runs"]) == 2
    assert not (tmp_path / "demo.png").exists()


def test_broken_pipe_is_quiet() -> None:
    command = f"{sys.executable} -c 'from grouser.cli import main; main()' vehicles | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_json_is_all_that_stands_on_stdout_of_a_process(tmp_path: Path) -> None:
    program = [sys.executable, "-c", "from grouser.cli import main; main()"]
    arguments = ["simulate", "zoe", "--duration", "1", "--json", "--out", str(tmp_path / "run.png")]
    done = subprocess.run([*program, *arguments], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["status"] == "ok"
