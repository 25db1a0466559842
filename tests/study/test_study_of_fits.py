"""Studies of calibrated models and of plans, and a study that is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import grouser as gr
from grouser.errors import StudyError
from grouser.study.folder import Folder
from grouser.study.run import run_study
from grouser.study.spec import Spec
from tests.motion.uncertain_fit import fit_of


def test_a_fit_gives_its_model_and_the_spread_of_its_parameters(tmp_path: Path) -> None:
    """Turn slip of the fit is −0.3: the vehicle turns by 0.7 of what is commanded, ± the sigma of a10."""
    fit = fit_of()
    fit.save(tmp_path / "fit.toml")
    tables: dict[str, Any] = {
        "vehicle": "husky", "model": str(tmp_path / "fit.toml"), "fit": str(tmp_path / "fit.toml"), "duration": 2.0,
        "drive": {"speed": 0.5, "curvature": 0.3}, "measures": ["yaw_deg"], "sampling": {"method": "latin", "runs": 64},
    }  # fmt: skip
    rows = gr.study(tables)
    turn = np.degrees(0.5 * 0.3 * 2.0)
    a10 = fit.values["slip.a10"]
    sigma = float(np.sqrt(np.diag(fit.covariance)[fit.names.index("slip.a10")]))
    assert rows["yaw_deg"].mean() == pytest.approx((1.0 + a10) * turn, rel=0.02)
    assert rows["yaw_deg"].std() == pytest.approx(sigma * turn, rel=0.25)
    assert rows["slip.a10"].std() == pytest.approx(sigma, rel=0.25)
    with pytest.raises(StudyError, match="saltelli needs independent parameters"):
        gr.study({**tables, "sampling": {"method": "saltelli", "runs": 8}})


def test_a_row_can_be_a_plan() -> None:
    rows = gr.study(
        vehicle="husky", grounds=["rough:rms=.03,length=1,seed=1"], start=[-2.0, 0.0, 0.0],
        plan={"goal": [1.0, 0.5], "samples": 32}, measures=["distance", "tip_margin_deg", "fails"],
        parameters={"start.x": [-2.0, -1.0]}, sampling={"method": "grid"},
    )  # fmt: skip
    assert rows["fails"].tolist() == [0.0, 0.0]
    straight = np.hypot(1.0 - rows["start.x"], 0.5)  # the goal is reached within 0.3 m
    assert rows["distance"].between(straight - 0.4, straight + 0.8).all()
    assert rows["tip_margin_deg"].between(20.0, 60.0).all()


STUDY = """
schema = "grouser/study@1"
vehicle = "husky"
drive = { speed = 0.5 }
duration = 20.0
measures = ["distance", "tip_margin_deg"]
[parameters]
"drive.curvature" = { range = [-0.3, 0.3] }
[sampling]
method = "random"
runs = 400
chunk = 4
"""


def test_killed_it_is_continued_and_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "turns.toml").write_text(STUDY)
    spec = Spec.read(tmp_path / "turns.toml")
    command = [sys.executable, "-m", "grouser", "study", str(tmp_path / "turns.toml"), "--out", str(tmp_path / "a")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and len(list((tmp_path / "a" / "chunks").glob("*.parquet"))) < 3:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    done = 100 - len(Folder.open(tmp_path / "a").missing())
    assert 3 <= done < 100
    again = run_study(spec, tmp_path / "a")
    assert again.run_rows == 4 * (100 - done)
    assert again.table.equals(run_study(spec, tmp_path / "b").table)
