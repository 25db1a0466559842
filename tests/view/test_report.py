"""Reports: the numbers are the run's, nothing is fetched, no name does harm, and it can be repeated."""

from __future__ import annotations

import dataclasses
import hashlib
import platform
from pathlib import Path

import numpy as np
import pytest
import report_reading

import grouser as gr
from grouser.calibration.simulated import log_of_motion
from grouser.logs import Log
from grouser.logs.log import Sensor
from grouser.motion.fit import Fit
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.slip import BodySlip
from grouser.view import report as report_page
from grouser.view.report import Picture, Report, file_hash
from grouser.view.report_fit import report_fit
from grouser.view.report_odometry import report_odometry
from grouser.view.report_run import report_run

HOSTILE = "</td><script>hurt()</script><img src=x onerror=hurt()> $\\frac{ & \"'"


@pytest.fixture(scope="module")
def run() -> gr.Run:
    ground = gr.terrain.rough(rms=0.05, length=0.4, seed=7)
    return gr.simulate(gr.Kinematics(gr.vehicle("zoe")), ground, gr.drive.arc(1.0, 0.1), duration=2.0)


@pytest.fixture(scope="module")
def forced() -> gr.Run:
    ground = gr.terrain.slope(deg=5.0)
    return gr.simulate(gr.Dynamics(gr.vehicle("zoe")), ground, gr.drive.arc(1.0), duration=1.0)


@pytest.fixture(scope="module")
def log() -> Log:
    warthog = gr.vehicle("warthog")
    t = np.arange(0.0, 40.0, 0.05)
    left, right = 3.0 + np.sin(0.4 * t), 3.0 + 2.0 * np.sin(0.7 * t)
    truth = MotionModel(
        model=gr.Kinematics(warthog, slip=BodySlip([0.0, -0.1, 0.0, 0.0, 0.0, -0.2])),
        sensor=Sensor(position_noise=0.01, yaw_noise=0.003),
        noise=Noise(density=1e-8 * np.eye(3)),
    )
    return log_of_motion(truth, t, {"FL": left, "BL": left, "FR": right, "BR": right}, poses_every=2, seed=1)


@pytest.fixture(scope="module")
def fit(log: Log) -> Fit:
    return gr.calibrate(gr.Kinematics(gr.vehicle("warthog")), log, ["slip.p2", "slip.p6", "noise"], online=True)


def written(report: Report, folder: Path) -> report_reading.Read:
    return report_reading.read(report.write(folder / "page.html"))


def test_a_simulation_is_told_in_its_own_numbers(run: gr.Run, tmp_path: Path) -> None:
    page = written(report_run(run), tmp_path)
    assert page.value("distance") == [f"{run.distance:.4g} m"]
    assert page.value("final yaw") == [f"{np.degrees(run.yaw[-1]):.4g} °".replace("-", "−")]
    slip = np.hypot(run.contact.velocity[..., 0], run.contact.velocity[..., 1])
    assert page.value("FR")[:2] == [f"{slip[:, 1].mean():.4g}", f"{slip[:, 1].max():.4g}"]
    assert page.value("step") == ["0.04 s"]
    assert "seed 7" in page.value("ground")[0]
    assert page.value("numpy") == [np.__version__]
    assert page.value("Python") == [platform.python_version()]
    assert page.value("grouser") == [gr.__version__]
    (drawing,) = page.pictures
    assert b"<svg" in drawing[:1000]


def test_forces_are_told_of_a_dynamic_run(forced: gr.Run, tmp_path: Path) -> None:
    report = report_run(forced)
    page = written(report, tmp_path)
    assert forced.contact.force is not None
    load = forced.contact.force[:, 0, 2]
    assert page.value("FL")[3:5] == [f"{load.mean():.4g}", f"{load.min():.4g}"]
    assert len(page.pictures) == 2
    # Uphill at a constant speed: what the actuators give is what gravity takes and more.
    uphill = gr.vehicle("zoe").mass * 9.80665 * np.sin(np.radians(5.0)) * 1.0
    assert report.numbers["mean_power"] > 0.9 * uphill


def test_the_same_rates_on_flat_ground_stand_beside_where_the_ground_did_not_shape_them(run: gr.Run) -> None:
    ground = gr.terrain.rough(rms=0.05, length=0.4, seed=7)
    husky = gr.simulate(gr.Kinematics(gr.vehicle("husky")), ground, gr.drive.arc(1.0), duration=2.0, start=(1, -2, 0.5))
    report = report_run(husky)
    assert "commanded 2.00 m" in report.answer[1]
    figure = next(part.figure for s in report.sections for part in s.parts if isinstance(part, Picture))
    dashed = next(line for line in figure.axes[0].lines if line.get_label() == "commanded, flat ground")
    end = [dashed.get_xdata()[-1], dashed.get_ydata()[-1]]
    assert end == pytest.approx([1.0 + 2.0 * np.cos(0.5), -2.0 + 2.0 * np.sin(0.5)], abs=1e-6)
    # Zoë's axles are steered by its wheels, whose rates answer to the ground: said of it is only where it went.
    assert len(report_run(run).answer) == 1


def test_a_hostile_name_is_text(run: gr.Run, fit: Fit, log: Log, tmp_path: Path) -> None:
    hostile = dataclasses.replace(run.vehicle, name=HOSTILE)
    page = written(report_run(dataclasses.replace(run, vehicle=hostile)), tmp_path)
    assert page.words.count(HOSTILE) >= 3
    named = dataclasses.replace(log, name=HOSTILE)
    assert HOSTILE in written(report_odometry(named, fit), tmp_path).words
    trained = dataclasses.replace(fit, training=dataclasses.replace(fit.training, log=HOSTILE))
    page = written(report_fit(trained, named, command=f"grouser report {HOSTILE}"), tmp_path)
    assert HOSTILE in page.words


def test_a_run_without_states_is_said_and_not_drawn(run: gr.Run, tmp_path: Path) -> None:
    record = run.contact
    none = dataclasses.replace(
        run,
        **{name: getattr(run, name)[:0] for name in ("time", "state", "velocity", "command")},
        contact=type(record)(**{name: None if v is None else v[:0] for name, v in vars(record).items()}),
        steps=0,
        status=gr.Status.OFF_TERRAIN,
    )
    page = written(report_run(none), tmp_path)
    assert "did not move" in page.words
    assert page.pictures == []
    assert "off terrain" in page.value("status")[0]


def test_a_run_that_ended_early_says_so_first(tmp_path: Path) -> None:
    ground = gr.terrain.rough(rms=0.02, length=0.4, seed=1, size=6.0)
    gone = gr.simulate(gr.Kinematics(gr.vehicle("zoe")), ground, gr.drive.arc(1.0), duration=10.0)
    assert gone.status is gr.Status.OFF_TERRAIN
    assert report_run(gone).answer[0].startswith("The run ended early")
    written(report_run(gone), tmp_path)


def test_a_calibration_shows_each_parameter_with_its_sigma_and_prior(fit: Fit, log: Log, tmp_path: Path) -> None:
    report = report_fit(fit, log)
    page = written(report, tmp_path)
    value, sigma = fit.values["slip.p6"], fit.sigma["slip.p6"]
    row = page.value("slip.p6")
    assert row[1:3] == [f"{value:.4g}".replace("-", "−"), f"{sigma:.2g}"]
    assert row[-1] == "1"
    assert {name: one["value"] for name, one in report.numbers["parameters"].items()} == fit.values
    evaluation = report.numbers["evaluation"]
    assert page.value("calibrated")[0] == f"{evaluation['position_rms']:.3f}"
    assert page.value("plain odometry")[0] == f"{evaluation['baseline']['position_rms']:.3f}"
    assert evaluation["baseline"]["position_rms"] > 2.0 * evaluation["position_rms"]
    assert "not held out" in " ".join(report.answer)
    assert len(page.pictures) == 4  # errors, pieces of the path, certainty, history


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("How far off is it?", "Over "),
        ("Can I trust its ellipses?", "95 % ellipses hold"),
        ("What is the slip?", "slip.p2, forward slip per speed: "),
        ("Will it snow?", "The words of the question fit nothing"),
    ],
)
def test_the_box_of_a_calibration_answers_what_was_asked(question: str, begins: str, fit: Fit, log: Log) -> None:
    assert report_fit(fit, log=log, question=question).answer[0].startswith(begins)


def test_the_box_of_odometry_answers_what_was_asked(fit: Fit, log: Log) -> None:
    assert report_odometry(log, fit=fit, question="Is the covariance right?").answer[0].startswith("NEES of ")
    assert report_odometry(log, fit=fit, question="Where did it end?").answer[0].startswith("After ")


def test_a_fit_from_a_file_has_no_history_and_is_reported_alone(fit: Fit, tmp_path: Path) -> None:
    fit.save(tmp_path / "fit.toml")
    page = written(report_fit(Fit.load(tmp_path / "fit.toml"), files=[tmp_path / "fit.toml"]), tmp_path)
    assert len(page.pictures) == 1
    told = hashlib.sha256((tmp_path / "fit.toml").read_bytes()).hexdigest()
    assert page.value("fit.toml")[1] == told


def test_odometry_is_told_beside_the_plain_one(fit: Fit, log: Log, tmp_path: Path) -> None:
    report = report_odometry(log, fit)
    page = written(report, tmp_path)
    end, plain = report.numbers["end_error"], report.numbers["baseline"]["end_error"]
    assert page.value("calibrated odometry")[0] == f"{end:.3g}"
    assert page.value("plain odometry")[0] == f"{plain:.3g}"
    assert plain > 3.0 * end
    assert report.numbers["trained_on_this_log"]
    assert len(page.pictures) == 2
    alone = report_odometry(dataclasses.replace(log, vehicle="warthog"))
    assert alone.title.endswith("plain odometry")
    assert sum(isinstance(part, Picture) for section in alone.sections for part in section.parts) == 1


def test_a_log_without_poses_or_vehicle_is_refused_in_a_sentence(log: Log) -> None:
    blind = dataclasses.replace(
        log.poses, **{name: getattr(log.poses, name)[:1] for name in ("time", "position", "attitude", "segment")}
    )
    with pytest.raises(gr.GrouserError, match="no poses to compare odometry with"):
        report_odometry(dataclasses.replace(log, poses=blind, vehicle="warthog"))
    with pytest.raises(gr.GrouserError, match="names no vehicle"):
        report_odometry(dataclasses.replace(log, vehicle=None))


def test_the_same_report_is_the_same_bytes_and_another_suffix_is_refused(run: gr.Run, tmp_path: Path) -> None:
    first = report_run(run).write(tmp_path / "a.html").read_bytes()
    assert report_run(run).write(tmp_path / "b.HTM").read_bytes() == first
    with pytest.raises(gr.GrouserError, match=r"ends in \.html"):
        report_run(run).write(tmp_path / "a.pdf")


def test_a_picture_of_too_many_vectors_becomes_a_bitmap(
    run: gr.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_page, "LARGEST_DRAWING", 1000)
    (drawing,) = written(report_run(run), tmp_path).pictures
    assert drawing.startswith(b"\x89PNG")


def test_hashes_of_long_files_are_those_of_the_whole(tmp_path: Path) -> None:
    file = tmp_path / "long.bin"
    file.write_bytes(bytes(range(256)) * 9000)
    assert file_hash(file) == hashlib.sha256(file.read_bytes()).hexdigest()
    with pytest.raises(gr.GrouserError, match="cannot be read"):
        file_hash(tmp_path / "none.bin")
