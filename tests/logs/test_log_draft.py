"""The manifest that is drafted for a table becomes one that reads, by filling in what it marks."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import numpy as np

import grouser as gr
from grouser.logs.skeleton import layout, skeleton


def test_columns_of_another_vocabulary_are_asked_for_and_the_filled_draft_reads(tmp_path: Path) -> None:
    t = np.arange(0.0, 6.0, 0.05)
    rows = [f"{1000 * a:.0f},{60 + 20 * math.sin(a):.6f},{60 - 10 * math.sin(a):.6f},{a:.4f},0,0" for a in t]
    (tmp_path / "d.csv").write_text("\n".join(["stamp_ms,left_rpm,right_rpm,gps_e,gps_n,heading_deg", *rows]) + "\n")
    draft = skeleton(layout(tmp_path / "d.csv"))
    assert set(tomllib.loads(draft)) == {"schema", "vehicle", "time", "rates", "sensor"}
    for old, new in (
        ('vehicle = "FILL IN"', 'vehicle = "husky"'),
        ("left_rpm =", "FL ="),
        ("right_rpm =", "FR ="),
        ("# [pose]", "[pose]"),
        ('# x = "FILL IN"', 'x = "gps_e"'),
        ('# y = "FILL IN"', 'y = "gps_n"'),
        ('# yaw = { column = "FILL IN"', 'yaw = { column = "heading_deg"'),
    ):
        assert draft.count(old) == 1, old
        draft = draft.replace(old, new)
    (tmp_path / "log.toml").write_text(draft)
    log = gr.read_log(tmp_path / "d.csv", manifest={**tomllib.loads(draft), "limits": {"check_units": False}})
    np.testing.assert_allclose(log.elapsed, t, rtol=0.0, atol=1e-9)  # from ms
    np.testing.assert_allclose(log.rates["FL"], (60 + 20 * np.sin(t)) * 2 * np.pi / 60, rtol=0.0, atol=1e-6)  # from rpm
    np.testing.assert_allclose(log.poses.position[:, 0], t, rtol=0.0, atol=1e-4)


def test_columns_with_the_usual_names_are_put_in_place(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("t,wl,wr,x,y,yaw,roll,pitch\n0,1,1,0,0,0,0,0\n")
    found = tomllib.loads(skeleton(layout(tmp_path / "d.csv")))
    assert found["pose"] == {k: k for k in ("x", "y", "yaw", "roll", "pitch")}
    assert found["rates"] == {"wl": "wl", "wr": "wr"}
    assert "FILL IN" not in skeleton(layout(tmp_path / "d.csv")).replace('vehicle = "FILL IN"', "")
