"""Pictures of calibration: axes carry units, files are what their names say, nothing is drawn from nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

import grouser as gr
from experiments.convergence import convergence
from experiments.convergence_plot import plot_convergence
from experiments.slip_surface_plot import plot_slip_surface
from grouser.calibration.calibrate import calibrate
from grouser.calibration.evaluate import Evaluation, evaluate
from grouser.calibration.simulated import log_of_motion
from grouser.logs import Log
from grouser.logs.log import Sensor
from grouser.motion.fit import Fit
from grouser.motion.model import MotionModel
from grouser.motion.slip_surface import Perturbative
from grouser.slip import BodySlip
from grouser.view import calibration as pictures
from grouser.view import evaluation

WARTHOG = gr.vehicle("warthog")
NAMES = ["slip.p2", "slip.p6", "noise"]


@pytest.fixture(scope="module")
def log() -> Log:
    t = np.arange(0.0, 50.0, 0.05)
    left, right = 3.0 + np.sin(0.4 * t), 3.0 + 2.0 * np.sin(0.7 * t)
    truth = MotionModel(
        model=gr.Kinematics(WARTHOG, slip=BodySlip([0.0, -0.1, 0.0, 0.0, 0.0, -0.2])),
        sensor=Sensor(position_noise=0.01, yaw_noise=0.003),
    )
    return log_of_motion(truth, t, {"FL": left, "BL": left, "FR": right, "BR": right}, poses_every=2, seed=1)


@pytest.fixture(scope="module")
def fit(log: Log) -> Fit:
    return calibrate(gr.Kinematics(WARTHOG), log, NAMES, online=True)


@pytest.fixture(scope="module")
def judged(fit: Fit, log: Log) -> Evaluation:
    return evaluate(fit, log)


def labelled(figure: Figure) -> set[str]:
    """Labels of all axes, each of which must name a unit in brackets."""
    labels = {text for axes in figure.axes for text in (axes.get_xlabel(), axes.get_ylabel()) if text}
    assert labels
    assert all("[" in text and "]" in text for text in labels)
    return labels


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_history_is_drawn_into_a_file_of_the_kind_its_name_says(fit: Fit, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"history{suffix}"
    figure = fit.plot(path)
    assert {"[1]", "[m²/m]", "[rad²/m]", "time since the first interval [s]"} <= labelled(figure)
    assert len(figure.axes) == len(fit.parameters)
    magic = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(magic)


def test_history_of_a_batch_counts_steps_and_one_from_a_file_is_refused(log: Log, fit: Fit) -> None:
    batch = calibrate(gr.Kinematics(WARTHOG), log, NAMES)
    assert "step of the fit [1]" in labelled(batch.plot())
    with pytest.raises(gr.GrouserError, match="no history to draw"):
        replace(fit, history=None).plot()


def test_scatter_has_sample_and_predicted_ellipses_of_95_percent_and_3_sigma(
    judged: Evaluation, tmp_path: Path
) -> None:
    figure = evaluation.plot_evaluation(judged, tmp_path / "errors.png")
    assert {"error ahead [m]", "error to the left [m]"} <= labelled(figure)
    ellipses = [patch for patch in figure.axes[1].patches if isinstance(patch, Ellipse)]
    assert len(ellipses) == 4
    # 95 % of a normal distribution in the plane lies within 2.448 sigma.
    assert ellipses[1].width / ellipses[0].width == pytest.approx(3.0 / 2.4477, rel=1e-4)
    spread = np.cov(judged.errors.error[:, :2].T)
    assert ellipses[1].width == pytest.approx(6.0 * np.sqrt(np.linalg.eigvalsh(spread)[-1]))


def test_evaluation_shows_positions_and_yaw_before_and_after(judged: Evaluation, tmp_path: Path) -> None:
    figure = evaluation.plot_evaluation(judged, tmp_path / "all.png", title="a log")
    assert len(figure.axes) == 4
    assert {"yaw error [°]", "density [1/°]"} <= labelled(figure)


def test_predicted_segments_begin_where_the_measured_ones_do(fit: Fit, log: Log, tmp_path: Path) -> None:
    figure = pictures.plot_segments(fit, log, tmp_path / "segments.png", interval=8.0, count=3)
    assert labelled(figure) == {"x [m]", "y [m]"}
    lines = figure.axes[0].lines
    assert len(lines) == 9
    for measured, predicted in zip(lines[::3], lines[1::3], strict=True):
        np.testing.assert_allclose(measured.get_xydata()[0], predicted.get_xydata()[0], rtol=0.0, atol=1e-12)
    with pytest.raises(gr.GrouserError, match="none from number 99"):
        pictures.plot_segments(fit, log, first=99)


def test_convergence_falls_from_the_start_on_held_out_data(log: Log, tmp_path: Path) -> None:
    train, held_out = log.split(0.7)
    found = convergence(gr.Kinematics(WARTHOG), train, held_out, NAMES, every=4)
    assert found.time[0] == 0.0
    assert found.position_rms[-1] < 0.5 * found.position_rms[0]
    figure = plot_convergence({"kinematic": found}, tmp_path / "convergence.png")
    assert labelled(figure) == {"training time [s]", "rms position error [m]", "rms yaw error [°]"}


def test_slip_surface_takes_any_function_of_speed_and_turn(tmp_path: Path) -> None:
    model = Perturbative(vehicle=WARTHOG, slip=np.linspace(-0.1, 0.1, 13))
    labelled(plot_slip_surface(model.slip_surface, tmp_path / "surface.png"))
    figure = plot_slip_surface(lambda v, w: (-0.1 * v, 0.0 * w, -0.4 * w), title="three parts")
    assert "turn slip δω [rad/s]" in labelled(figure)


def test_other_suffixes_are_refused_before_anything_is_drawn(fit: Fit, tmp_path: Path) -> None:
    with pytest.raises(gr.GrouserError, match="a picture ends in one of"):
        fit.plot(tmp_path / "history.jpeg")
    assert not list(tmp_path.iterdir())
