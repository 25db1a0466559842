"""The page of `grouser odometry --view` in a real browser: the ellipse that moves is the odometry's covariance."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from test_viewer_chromium import Open, assert_drawn_as, assert_not_blank, opened, picture

import grouser as gr
from grouser.cli import run
from grouser.odometry.compare import Compared, compare
from grouser.view import arrays, drive

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
import drive_files

__all__ = ["opened"]


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, gr.Log, Compared]:
    """The page, as the command writes it, and what it is about."""
    folder = tmp_path_factory.mktemp("driven")
    log, manifest = drive_files.write(folder, seconds=30.0)
    other, _ = drive_files.write(folder, "other.csv", seconds=40.0, seed=2)
    fit, page = str(folder / "fit.toml"), folder / "new" / "page.html"
    calibrate = ["calibrate", log, "--manifest", manifest, "--split", "1", "--model", "four-number", "--out", fit]
    assert run(calibrate) == 0
    assert run(["odometry", other, "--manifest", manifest, "--fit", fit, "--view", str(page)]) == 0
    read = gr.read_log(other, manifest=manifest)
    return page, read, compare(read, gr.Fit.load(fit))


def test_ellipse_is_the_covariance_of_the_odometry_at_any_time(
    opened: Open, driven: tuple[Path, gr.Log, Compared]
) -> None:
    path, log, both = driven
    known, vehicle = both.run, both.motion.vehicle
    assert both.judged is not None
    rows = drive.longest_drive(known)
    assert len(rows) == len(log) == 800
    wheels = drive.wheels_of(log, vehicle, rows)
    first = drive.odometry_run(known, vehicle, wheels, rows)
    last = drive.measured_run(known, vehicle, wheels, both.judged, both.motion.sensor)
    np.testing.assert_array_equal(first.position, known.position)
    with opened(path, width=1200, height=700) as page:
        state = page.evaluate("window.grouser.state()")
        names = ["calibrated odometry", "plain odometry", "measured x, y, yaw"]
        assert [one["name"] for one in state["runs"]] == names
        assert state["focus"] == 0
        for row in (1, 333, 700, 799):
            page.evaluate("(t) => window.grouser.seek(t)", float(known.time[row]))
            now = page.evaluate("window.grouser.ellipse(0)")
            np.testing.assert_allclose(now["centre"], known.position[row, :2], atol=1e-6, rtol=0.0)
            found = np.array(now["shape"]) / arrays.SIGMAS_95**2
            np.testing.assert_allclose(found, known.covariance[row, :2, :2], atol=1e-6, rtol=0.0)
            # Half axes [m] too: of a small covariance 1e-6 m² would be many of them.
            axes = [np.sqrt(np.linalg.eigvalsh(one)) for one in (found, known.covariance[row, :2, :2])]
            np.testing.assert_allclose(*axes, atol=1e-6, rtol=0.0)
            assert_drawn_as(page, first, 0, first.state[row])
        assert axes[1][1] > 0.2  # it has grown
        page.evaluate("(t) => window.grouser.seek(t)", float(last.time[200]))
        assert_drawn_as(page, last, 2, last.state[200])
        # Its roll and pitch are made up, and no plane fits the way that they give.
        assert "no map: level plane below the path, whose height varies" in page.locator("#subtitle").inner_text()
        legend = page.locator("#legend").inner_text()
        assert "95 % ellipses, now and 24 of 800 along the path" in legend
        assert "Distance from the measured poses" in page.locator("#plots").inner_text()
        assert_not_blank(picture(page, "odometry"))


def test_page_of_a_long_log_says_what_it_leaves_out(
    opened: Open, driven: tuple[Path, gr.Log, Compared], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grouser.view.drive import view_odometry

    _, log, both = driven
    monkeypatch.setattr(drive, "MOST_ROWS", 100)
    with opened(view_odometry(log, both, tmp_path / "long.html", name="o"), width=1200, height=700) as page:
        legend = page.locator("#legend").inner_text()
        assert "o: 100 of 800 states are drawn, evenly chosen." in legend
        assert "now and 24 of 800 along the path (100 are in the page)" in legend
