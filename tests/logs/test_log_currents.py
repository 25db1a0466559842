"""Motor currents and torques, headings of several lines, and poses given as increments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from log_drives import drive, manifest, rows, write

import grouser as gr
from grouser.errors import LogError


def read(tmp_path: Path, columns: dict[str, np.ndarray], **changes: Any) -> gr.Log:
    return gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=manifest(**changes))


def test_currents_and_torques_come_by_joint_in_si_and_a_missing_one_costs_no_sample(tmp_path: Path) -> None:
    columns = drive()
    columns["i"] = 1500.0 + 100.0 * np.sin(columns["t"])
    columns["torque"] = 2.0 * np.cos(columns["t"])
    columns["i"][7] = np.nan
    log = read(
        tmp_path,
        columns,
        currents={"FL": {"column": "i", "unit": "mA"}},
        efforts={"FR": {"column": "torque", "unit": "N m", "sign": -1}},
    )
    assert len(log) == len(columns["t"])
    np.testing.assert_allclose(log.currents["FL"], columns["i"] * 1e-3, rtol=1e-12)
    warthog = gr.vehicle("warthog")
    everywhere = log.currents_array(warthog)
    assert everywhere.shape == (len(log), warthog.n_joints)
    assert np.isnan(everywhere[:, warthog.joint_index("BR")]).all()
    np.testing.assert_allclose(everywhere[:, warthog.joint_index("FL")], columns["i"] * 1e-3)
    np.testing.assert_allclose(log.efforts_array(warthog)[:, warthog.joint_index("FR")], -columns["torque"])
    first, second = log.split(0.5)
    assert len(first.currents["FL"]) == len(first)
    np.testing.assert_allclose(second.efforts["FR"], log.efforts["FR"][len(first) :])
    assert log.to_pandas().attrs["units"]["current_FL"] == "A"


def test_a_current_has_no_unit_of_torque_and_names_a_joint_of_the_vehicle(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"table \[currents\], FL, field unit: 'N m' is not one of A, mA"):
        read(tmp_path, drive(), currents={"FL": {"column": "wl", "unit": "N m"}})
    with pytest.raises(LogError, match=r"table \[currents\]: vehicle 'warthog' has no joint 'motor'"):
        read(tmp_path, drive(), currents={"motor": "wl"})


@pytest.mark.parametrize(("names_line", "order"), [(None, (0, 1, 2)), (1, (2, 0, 1)), (2, (0, 2, 1))])
def test_a_heading_of_three_lines_and_a_delimiter_at_the_end(
    names_line: int | None, order: tuple[int, ...], tmp_path: Path
) -> None:
    columns = drive(3.0)
    plain = read(tmp_path, columns)
    first, *numbers = rows(columns)
    three = ["time in seconds" + ",a" * 7, "s" + ",1" * 7, first]
    lines = [line.replace(",", ";") + ";" for line in [*(three[k] for k in order), *numbers]]
    layout = {"delimiter": ";", "header": 3} | ({} if names_line is None else {"names_line": names_line})
    log = gr.read_log(write(tmp_path / "b.csv", lines), manifest=manifest(csv=layout))
    np.testing.assert_array_equal(log.rates["FL"], plain.rates["FL"])
    np.testing.assert_array_equal(log.poses.position, plain.poses.position)
    assert log.report.rows == len(numbers)


def test_a_names_line_below_the_heading_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"table \[csv\].*names_line = 4 lies below the heading of 3 lines"):
        read(tmp_path, drive(), csv={"header": 3, "names_line": 4})


def increments(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The drive with the changes of its pose in the axes of the row before."""
    before = np.append(columns["yaw"][0], columns["yaw"][:-1])
    east, north = (np.diff(columns[name], prepend=columns[name][0]) for name in "xy")
    return columns | {
        "dx": np.cos(before) * east + np.sin(before) * north,
        "dy": -np.sin(before) * east + np.cos(before) * north,
        "turn": np.diff(columns["yaw"], prepend=columns["yaw"][0]),
    }


POSE = {"x": "dx", "y": "dy", "yaw": "turn", "increments": True}


def test_increments_of_a_pose_add_up_to_the_path_that_they_were_made_of(tmp_path: Path) -> None:
    columns = increments(drive())
    log = read(tmp_path, columns, pose=POSE)
    np.testing.assert_allclose(log.poses.position[-1, :2], [columns["x"][-1], columns["y"][-1]], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(log.poses.attitude[:, 2], columns["yaw"], rtol=0.0, atol=1e-9)


def test_a_missing_increment_ends_the_segment(tmp_path: Path) -> None:
    columns = increments(drive())
    columns["dx"][200] = np.nan
    log = read(tmp_path, columns, pose=POSE)
    assert log.n_segments == 2
    assert set(log.poses.segment.tolist()) == {0, 1}
    assert 0 < np.count_nonzero(log.poses.segment == 0) <= 200


def test_increments_need_x_y_and_yaw(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"table \[pose\].*increments are of x, y and yaw alone"):
        read(tmp_path, increments(drive()), pose={**POSE, "z": "roll"})
