"""Latitude and longitude to metres east, north and up of a datum, on the WGS-84 ellipsoid."""

from __future__ import annotations

import numpy as np

from grouser.checks import FloatArray

A = 6378137.0
"""Semi-major axis of WGS-84 [m]."""
F = 1.0 / 298.257223563
"""Flattening of WGS-84."""
E2 = F * (2.0 - F)
"""Its first eccentricity squared."""

Datum = tuple[float, float, float]
"""Latitude, longitude [deg], height above the ellipsoid [m]."""


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
