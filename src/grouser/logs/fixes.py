"""GPS fixes of a log as positions in metres, and the datum they are measured from."""

from __future__ import annotations

from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs.frames import part
from grouser.logs.geodesy import Datum, enu
from grouser.logs.log import BoolArray
from grouser.logs.manifest import Manifest
from grouser.logs.raw import Raw
from grouser.logs.robot_table import Gps

HIGHEST = 1e5
"""Heights of fixes [m] are below this."""
PLACE = ("pose.latitude", "pose.longitude", "pose.altitude")


def with_datum(manifest: Manifest, raw: Raw) -> Manifest:
    """The manifest of a GPS log with a datum: its own, or else the first fix of the file."""
    pose = manifest.pose
    if pose is None or pose.datum is not None:
        return manifest
    good = np.flatnonzero(~_no_fix(raw))
    if not len(good):
        raise LogError(f"{raw.tally.file}: has no GPS fix ({pose.latitude.source if pose.latitude else 'latitude'})")
    height = raw.pose.get(PLACE[2])
    first = [float(raw.pose[key][good[0]]) for key in PLACE[:2]]
    datum = [*first, 0.0 if height is None else float(height[good[0]])]
    return manifest.model_copy(update={"pose": pose.model_copy(update={"datum": datum})})


def localise(raw: Raw, manifest: Manifest) -> tuple[Datum, BoolArray]:
    """Fixes become pose.x east, pose.y north, pose.z up of the datum, in place; and which are no fixes, shape (m,)."""
    given = None if manifest.pose is None else manifest.pose.datum
    if given is None:
        said = "a log that is still being written needs datum = [latitude, longitude, height], its origin"
        raise LogError(f"{manifest.file}, table [pose]: {said}")
    datum, no_fix = (given[0], given[1], given[2]), _no_fix(raw)
    latitude, longitude = (raw.pose.pop(key) for key in PLACE[:2])
    has_height = PLACE[2] in raw.pose
    height = raw.pose.pop(PLACE[2]) if has_height else np.full(len(latitude), datum[2])
    raw.pose.pop("pose.status", None)
    place = np.full((3, len(latitude)), np.nan)
    place[:, ~no_fix] = enu(latitude[~no_fix], longitude[~no_fix], height[~no_fix], datum).T
    raw.pose.update({"pose.x": place[0], "pose.y": place[1]})
    if has_height:  # otherwise `up` would only be the curvature of the Earth
        raw.pose["pose.z"] = place[2]
    return datum, no_fix


def _no_fix(raw: Raw) -> BoolArray:
    """Fixes that are none: by their status, not finite, out of range, or the (0, 0) of receivers that wait."""
    latitude, longitude = raw.pose[PLACE[0]], raw.pose[PLACE[1]]
    with np.errstate(invalid="ignore"):
        there = (np.abs(latitude) <= 90.0) & (np.abs(longitude) <= 360.0) & ((latitude != 0.0) | (longitude != 0.0))
        if PLACE[2] in raw.pose:
            there &= np.abs(raw.pose[PLACE[2]]) < HIGHEST
        if "pose.status" in raw.pose:
            there &= raw.pose["pose.status"] >= 0.0
    return np.asarray(~there)


def is_fix(message: Any) -> bool:
    """Whether a sensor_msgs/NavSatFix is a place on Earth; the (0, 0) of receivers that wait is none."""
    latitude, longitude, altitude = (
        float(part(message, name, np.nan)) for name in ("latitude", "longitude", "altitude")
    )
    there = abs(latitude) <= 90.0 and abs(longitude) <= 360.0 and (latitude != 0.0 or longitude != 0.0)
    height = np.isnan(altitude) or abs(altitude) < HIGHEST
    return there and bool(height) and float(part(part(message, "status"), "status", 0)) >= 0.0


def fix_covariance(message: Any, gps: Gps | None) -> FloatArray:
    """Covariance of east, north, up [m²], (3, 3), of a sensor_msgs/NavSatFix.

    By its position_covariance_type: 0 unknown, where the noise of [robot.gps] holds; 1 approximated and 2 diagonal, of
    which the diagonal is taken; 3 known. What is no covariance counts as unknown.
    """
    settings = Gps() if gps is None else gps
    unknown = np.diag(np.square(settings.noise))
    kind = int(part(message, "position_covariance_type", 0))
    given = np.asarray(part(message, "position_covariance", ()), dtype=np.float64)
    if kind not in (1, 2, 3) or given.shape != (9,):
        return unknown
    matrix = given.reshape(3, 3)
    matrix = 0.5 * (matrix + matrix.T) if kind == 3 else np.diag(np.diag(matrix))
    if not (np.isfinite(matrix).all() and np.all(np.linalg.eigvalsh(matrix) > 0.0)):
        return unknown
    return np.asarray(settings.covariance_scale * matrix)
