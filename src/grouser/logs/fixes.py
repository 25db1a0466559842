"""GPS fixes as metres east, north and up of a datum, on the WGS-84 ellipsoid; their covariance."""

from __future__ import annotations

from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs.frames import part
from grouser.logs.log import BoolArray
from grouser.logs.manifest import Manifest
from grouser.logs.raw import Raw
from grouser.logs.robot_table import Gps

A = 6378137.0
"""Semi-major axis of WGS-84 [m]."""
F = 1.0 / 298.257223563
"""Flattening of WGS-84."""
E2 = F * (2.0 - F)
"""Its first eccentricity squared."""

Datum = tuple[float, float, float]
"""Latitude, longitude [deg], height above the ellipsoid [m]."""
HIGHEST = 1e5
"""Heights of fixes [m] are below this."""
NO_FIX = "no GPS fix: its status is below 0, or it is no place on Earth"
"""Reason for which fixes are left out."""
PLACE = ("pose.latitude", "pose.longitude", "pose.altitude")


def ecef(latitude: FloatArray, longitude: FloatArray, height: FloatArray) -> FloatArray:
    """Earth-centred, earth-fixed position [m], shape (…, 3), from angles [deg] and height [m]; closed form."""
    phi, lam = np.radians(latitude), np.radians(longitude)
    n = A / np.sqrt(1.0 - E2 * np.sin(phi) ** 2)  # radius of curvature in the prime vertical
    across = (n + height) * np.cos(phi)
    return np.stack([across * np.cos(lam), across * np.sin(lam), (n * (1.0 - E2) + height) * np.sin(phi)], axis=-1)


def enu(latitude: FloatArray, longitude: FloatArray, height: FloatArray, datum: Datum) -> FloatArray:
    """East, north, up [m] in the plane that touches the ellipsoid's normal at the datum, shape (…, 3).

    Exact; no map projection and so no zones. 10 km from the datum `up` is 8 m below the ellipsoid's height.
    """
    phi, lam = np.radians(datum[0]), np.radians(datum[1])
    lat, lon, up = (np.array([value]) for value in datum)
    away: FloatArray = ecef(latitude, longitude, height) - ecef(lat, lon, up)
    s, c, sl, cl = np.sin(phi), np.cos(phi), np.sin(lam), np.cos(lam)
    R_enu_ecef = np.array([[-sl, cl, 0.0], [-s * cl, -s * sl, c], [c * cl, c * sl, s]])
    return np.asarray(away @ R_enu_ecef.T)


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
    height, status = raw.pose.get(PLACE[2], 0.0), raw.pose.get("pose.status", 0.0)
    return np.asarray(~is_fix(raw.pose[PLACE[0]], raw.pose[PLACE[1]], height, status))


def is_fix(latitude: Any, longitude: Any, height: Any, status: Any) -> BoolArray:
    """Whether fixes [deg, deg, m] are places on Earth; the (0, 0) of receivers that wait is none."""
    with np.errstate(invalid="ignore"):
        there = (np.abs(latitude) <= 90.0) & (np.abs(longitude) <= 360.0)
        there &= (np.asarray(latitude) != 0.0) | (np.asarray(longitude) != 0.0)
        return np.asarray(there & (np.abs(height) < HIGHEST) & (np.asarray(status) >= 0.0))


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
