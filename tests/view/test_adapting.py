"""Pictures of a fit that adapts: both curves over time, and each change of ground with its name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grouser.calibration.calibrate import calibrate
from grouser.calibration.change import Change
from grouser.calibration.evaluate import Errors, Evaluation
from grouser.motion.noise import Noise
from grouser.view.calibration import plot_history
from grouser.view.evaluation import RUNNING, plot_evaluation, running_rms
from tests.motion import planted_logs as drives

CHANGES = (
    Change(time=150.0, since=146.0, from_="ground 1", to="sand", recalled=False),
    Change(time=170.0, since=168.0, from_="sand", to="ground 1", recalled=True),
)


def errors(size: float, seed: int) -> Errors:
    start = 100.0 + 2.0 * np.arange(50.0)
    drawn = size * np.random.default_rng(seed).normal(size=(50, 3))
    cov = np.tile(size**2 * np.eye(3), (50, 1, 1))
    return Errors(error=drawn, covariance=cov, times=np.stack([start, start + 2.0], axis=1))


def evaluation(*, adapts: bool, changes: tuple[Change, ...] = CHANGES) -> Evaluation:
    return Evaluation(
        errors=errors(0.1, 1), baseline=errors(1.0, 2), relagged=None, lags=None, trained_on_this=False,
        fixed=errors(0.4, 3) if adapts else None, changes=changes if adapts else (),
    )  # fmt: skip


def test_running_rms_is_that_of_the_last_intervals() -> None:
    values = np.random.default_rng(0).uniform(size=37)
    wanted = [np.sqrt(np.mean(values[max(k - RUNNING + 1, 0) : k + 1] ** 2)) for k in range(37)]
    np.testing.assert_allclose(running_rms(values), wanted, rtol=1e-12)
    assert running_rms(values[:1]) == pytest.approx(values[:1])


def over_time(figure):
    return next(axes for axes in figure.axes if axes.get_title(loc="left") == "Over time")


def test_both_curves_and_the_changes_are_drawn() -> None:
    judged = evaluation(adapts=True)
    axes = over_time(plot_evaluation(judged))
    curves = {line.get_label(): line for line in axes.lines if not str(line.get_label()).startswith("_")}
    assert list(curves) == ["the fit as it is, rms of the last 10", "adapting, rms of the last 10"]
    for line, one in zip(curves.values(), (judged.fixed, judged.errors), strict=True):
        np.testing.assert_allclose(line.get_ydata(), running_rms(one.position))
        np.testing.assert_allclose(line.get_xdata(), one.times[:, 1] - 100.0)
    marks = [line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 2]
    assert marks == [50.0, 70.0]
    assert [text.get_text() for text in axes.texts] == ["sand", "ground 1"]
    assert "change of ground noticed" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_without_adapting_the_picture_is_of_plain_odometry_and_the_fit() -> None:
    titles = [axes.get_title(loc="left") for axes in plot_evaluation(evaluation(adapts=False)).axes]
    assert len(titles) == 4
    assert titles[0].startswith("plain odometry: ")
    assert titles[1].startswith("calibrated: ")


def test_the_history_of_a_fit_marks_changes() -> None:
    noise = Noise(density=np.diag([2e-3, 1e-3, 1e-3]))
    log = drives.winding_log(drives.slipping(noise=noise), seed=1)
    fit = calibrate(drives.slipping(np.zeros(6), noise=noise), log, ["slip.p2", "slip.p6"], online=True)
    first = float(fit.history.time[0])
    plain = plot_history(fit)
    marked = plot_history(replace(fit, changes=(CHANGES[0].summary() | {"time": first + 9.0},)))
    for before, after in zip(plain.axes, marked.axes, strict=True):
        added = [line.get_xdata()[0] for line in after.lines[len(before.lines) :]]
        assert added == [9.0]
    assert [text.get_text() for axes in marked.axes for text in axes.texts] == ["sand"]
