"""A page on which the vehicle drives a log: odometry with its moving ellipse, plain odometry, the measured poses."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import GrouserError
from grouser.files import write_whole
from grouser.logs import Log
from grouser.odometry.compare import Compared
from grouser.simulation import Run
from grouser.view import scene_arrays
from grouser.view.drive_runs import (
    covariance_at,
    fitted_ground,
    longest_drive,
    measured_run,
    odometry_run,
    thinned,
    wheels_of,
)
from grouser.view.page import check_page, make_page
from grouser.view.scene import CHI_SQUARE_95, UncertainPoses, make_scene

PLAIN, MEASURED = "plain odometry", "measured poses"


def view_odometry(
    log: Log, compared: Compared, path: str | os.PathLike[str], *, name: str = "odometry", title: str = ""
) -> Path:
    """Write a page that plays a log in 3D, one way over another, and return where it is.

    compared: what `grouser.odometry.compare.compare(log, fit)` returned. name: what its odometry is called.
    The world is that of the odometry: it begins at the origin, along x. Of several drives the longest is shown.
    """
    check_page(path)
    text = make_page(odometry_scene(log, compared, name=name, title=title))
    write_whole(path, lambda file: file.write(text.encode()), GrouserError)
    return Path(path)


def odometry_scene(log: Log, compared: Compared, *, name: str = "odometry", title: str = "") -> dict[str, Any]:
    """What the page shows, as JSON types."""
    run, judged, vehicle = compared.run, compared.judged, compared.motion.vehicle
    drive = longest_drive(run)
    rows = thinned(drive)
    wheels = wheels_of(log, vehicle, drive)
    followed = odometry_run(run, vehicle, wheels, rows)
    runs, names, samples, ways = [followed], [name], [len(drive)], [float(run.path[drive[-1]])]
    if compared.plain is not None and not np.array_equal(compared.plain.position, run.position):
        runs.append(odometry_run(compared.plain, vehicle, wheels, rows))
        names.append(PLAIN)
        samples.append(len(drive))
        ways.append(float(compared.plain.path[drive[-1]]))
    odometries = len(runs)
    if judged is not None:
        runs.append(measured_run(run, vehicle, wheels, judged, compared.motion.sensor))
        names.append(MEASURED if judged.has_height else "measured x, y, yaw")
        samples.append(len(judged.time))
        ways.append(judged.distance)

    ground = fitted_ground(followed)
    covariance = covariance_at(run, rows)
    places = _places(followed, on_plane=ground.kind == "slope")
    ellipses = UncertainPoses(places, covariance, name, followed.time)
    drives = int(run.drive[-1]) + 1
    which = f", longest of {drives} drives, from {wheels.time[0]:.0f} s on" if drives > 1 else ""
    title = title or f"{log.name}: {name}{which}"
    scene = make_scene(runs, names=names, ground=ground, poses=ellipses, title=title)
    scene["poses"][0]["total"] = len(drive)
    for one, known, way in zip(scene["runs"], samples, ways, strict=True):
        one["rows"], one["distance"] = known, way  # those of the whole log, of which some are drawn
    if judged is not None:
        for one, drawn in zip(scene["runs"][:odometries], runs, strict=False):
            one["plots"].insert(0, _apart(drawn, runs[-1], covariance if drawn is followed else None))
    return scene


def _places(run: Run, *, on_plane: bool) -> FloatArray:
    """Where ellipses are drawn: on the plane, (n, 2), or, if that is far below, where the wheels touch, (n, 3)."""
    if on_plane:
        return run.position[:, :2]
    return np.column_stack([run.position[:, :2], run.contact.point[:, :, 2].mean(axis=1)])


def _apart(run: Run, measured: Run, covariance: FloatArray | None) -> dict[str, Any]:
    """Plot of a run's horizontal distance from the measured one [m], and of the longer half axis of its ellipse."""
    x, y = (np.interp(run.time, measured.time, measured.position[:, k]) for k in range(2))
    distance = np.hypot(run.position[:, 0] - x, run.position[:, 1] - y)
    distance[(run.time < measured.time[0]) | (run.time > measured.time[-1])] = np.nan
    names, curves = ["distance"], [distance]
    if covariance is not None:
        names.append("reach of the ellipse")
        curves.append(np.sqrt(CHI_SQUARE_95 * np.linalg.eigvalsh(covariance[:, :2, :2])[:, 1]))
    return {
        "key": "apart",
        "title": "Off the measured poses",
        "unit": "m",
        "least": 0.01,
        "names": names,
        "curves": scene_arrays.single(np.array(curves)),
        "wholeName": "distance",
        "whole": scene_arrays.single(distance),
    }
