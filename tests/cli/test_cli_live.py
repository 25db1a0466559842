"""`grouser calibrate --follow` as a person sees it: a screen that fits the terminal, and one sentence when it ends."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import drive_files
import numpy as np
import pytest
from rich.console import Console
from rich.live import Live

from grouser.calibration.follow import LogFollower
from grouser.calibration.online import Update
from grouser.calibration.stream import StreamingCalibrator
from grouser.cli import follow
from grouser.cli.app import run
from grouser.errors import LogError
from grouser.kinematics import Kinematics
from grouser.logs.manifest import load_manifest
from grouser.motion.model import MotionModel
from grouser.vehicles.catalog import vehicle

NAMES = [*(f"slip.a{k}" for k in range(1, 14)), "sensor.y", "sensor.lag", "noise.vx", "noise.vy", "noise.wz"]


def fake_follower(P: Any = None) -> Any:
    """A follower of 18 parameters, as far as the screen looks at it."""
    n = 15
    parameters = [SimpleNamespace(name=name, sigma=0.5) for name in NAMES]
    filter = SimpleNamespace(
        names=NAMES,
        P=np.eye(n) if P is None else P,
        systematic=parameters[:n],
        updates=41,
        rejected=2,
        ground="ground 1",
    )
    calibrator = SimpleNamespace(
        filter=filter,
        parameters=parameters,
        residual=("x", "y", "yaw"),
        counts={"samples": 900},
        motion=MotionModel(model=Kinematics(vehicle("zoe"))),
    )
    return SimpleNamespace(name="drive.csv", calibrator=calibrator, rejected={"short": 3, "late": 4})


def an_update(x: float, *, accepted: bool = True) -> Update:
    """An interval whose prediction was off by x [m] and by 2°."""
    return Update(
        time=12.3, residual=np.array([x, 0.0, -np.radians(2.0)]), innovation=np.eye(3), distance=1.0, accepted=accepted,
        values=np.linspace(-1.0, 1.0, len(NAMES)), sigma=np.full(len(NAMES), 0.125), ground="ground 1",
    )  # fmt: skip


def picture(width: int, height: int, follower: Any, updates: list[Update], waited: float = 0.0) -> list[str]:
    """The last thing on a terminal of that size."""
    out = io.StringIO()
    console = Console(
        file=out, width=width, height=height, force_terminal=True, color_system=None, legacy_windows=False
    )
    with Live(console=console, auto_refresh=False) as shown:
        screen = follow.Screen(shown, console)
        for update in updates:
            screen.learnt(follower, update)
        screen.waiting(follower, waited)
        out.seek(0)
        out.truncate()
        shown.refresh()
        drawn = out.getvalue()
    lines = drawn.replace("\x1b[2K", "").replace("\x1b[1A", "").replace("\r", "").splitlines()
    return [line.rstrip() for line in lines]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (60, 16), (40, 10)])
def test_the_screen_is_no_larger_than_the_terminal(width: int, height: int) -> None:
    lines = picture(width, height, fake_follower(), [an_update(0.1 * k) for k in range(90)])
    assert len(lines) <= height - 1
    assert max(map(len, lines)) <= width
    rows = [line for line in lines if line.startswith(("slip.", "sensor.", "noise."))]
    hidden = [line for line in lines if line.startswith("… and")]
    left = int(hidden[0].split()[2]) if hidden else 0
    assert len(rows) + left == len(NAMES)
    assert (left == 0) == (height == 40)
    assert any("turn slip per speed" in line for line in lines) == (width == 120)


def test_the_screen_says_errors_trend_rejections_and_covariance() -> None:
    P = np.eye(15)
    P[13, 9] = P[9, 13] = -0.8
    updates = [an_update(0.4), an_update(9.0, accepted=False), an_update(0.2)]
    text = picture(100, 40, fake_follower(P), updates, waited=7.0)
    assert text[0] == "drive.csv, t = 12.3 s: ground 1; 41 intervals, 2 rejected; 7 rows not used; nothing new for 7 s"
    rms = np.sqrt((0.4**2 + 9.0**2 + 0.2**2) / 3)
    assert text[1] == f"prediction off by 0.200 m, 2.00°; rms of the last 3: {rms:.3f} m, 2.00°"
    # The rejected one does not set the scale.
    assert text[2] == "error, oldest to newest █×▅ █ 0.40 m"
    assert text[3] == "strongest correlation: slip.a10 and sensor.y -0.80"
    row = next(line for line in text if line.startswith("sensor.lag"))
    assert row.split()[:6] == ["sensor.lag", "0.65", "0.12", "25", "%", "s"]


def test_before_the_first_interval_it_says_what_it_waits_for() -> None:
    assert picture(80, 24, fake_follower(), [], waited=3.0) == [
        "drive.csv: 900 rows used, no interval yet; nothing new for 3 s"
    ]


@pytest.mark.parametrize(
    ("value", "sigma", "said"),
    [(1.23456, 0.012, ("1.235", "0.012")), (-40.0, 250.0, ("-40", "250")), (1e-7, 3e-8, ("1e-07", "3e-08"))],
)
def test_values_are_given_as_far_as_they_are_known(value: float, sigma: float, said: tuple[str, str]) -> None:
    assert follow.rounded(value, sigma) == said


def follower_of(log: str, manifest: str) -> LogFollower:
    motion = MotionModel(model=Kinematics(vehicle("warthog")))
    return LogFollower(log, load_manifest(manifest), StreamingCalibrator(motion, ["slip.p2", "sensor.x"]))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("cut", "is shorter than it was"),
        ("replaced", "does not begin as it did; it was replaced"),
        ("gone", "is gone; it was removed or renamed"),
    ],
)
def test_a_log_that_changes_behind_its_end_is_one_sentence(change: str, sentence: str, tmp_path: Path) -> None:
    log, manifest = drive_files.write(tmp_path, seconds=20.0)
    follower = follower_of(log, manifest)
    list(follower.advance())
    path = Path(log)
    if change == "cut":
        path.write_text("\n".join(path.read_text().splitlines()[:200]) + "\n")
    elif change == "replaced":
        other = tmp_path / "other.csv"
        other.write_text("\n".join(drive_files.lines(seconds=30.0, seed=5)) + "\n")
        other.replace(path)
    else:
        path.unlink()
    with pytest.raises(LogError, match=sentence) as said:
        list(follower.advance())
    assert "\n" not in str(said.value)
    assert "drive.csv" in str(said.value)


def test_a_bag_cannot_be_followed_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, manifest = drive_files.write(tmp_path, seconds=1.0)
    bag = tmp_path / "drive.mcap"
    bag.write_bytes(b"\x89MCAP0\r\n")
    assert run(["calibrate", str(bag), "--manifest", manifest, "--follow"]) == 2
    said = capsys.readouterr().err
    assert "drive.mcap is a bag, and only a CSV can be followed while it grows" in said
    assert said.count("\n") == 1


def test_stopped_by_ctrl_c_it_keeps_its_state_and_says_where(tmp_path: Path) -> None:
    log, manifest = drive_files.write(tmp_path, seconds=20.0)
    state = tmp_path / "state.toml"
    program = [sys.executable, "-c", "from grouser.cli import main; main()", "calibrate", log, "--manifest", manifest]
    options = ["--parameters", "slip.p2,sensor.x", "--follow", "--poll", "0.05", "--checkpoint", str(state)]
    process = subprocess.Popen(
        [*program, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell that runs the tests in the background has them ignore Ctrl-C, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("t="):
            break
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert f"the state is in {state}; the same command continues from there" in err
    assert "Traceback" not in err
    assert "slip.p2" in out
    assert state.exists()
