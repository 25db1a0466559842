"""The feasible motion nearest to a wanted one when steering limits bind: a point projected onto a polygon."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray

SLACK = 1e-9
"""By which a candidate may violate a constraint by rounding [m/s]."""


class Wedge(NamedTuple):
    """The directions a steered wheel can roll in: within a slope of its heading, forwards or backwards."""

    pivot: FloatArray
    """(x, y) from the drive point [m]."""
    axis: FloatArray
    """Heading at steering angle zero, unit (x, y)."""
    slope: float
    """Tangent of the largest angle."""


def nearest_motion(wanted: FloatArray, wedges: list[Wedge], arm: float, *, sideways: bool) -> FloatArray:
    """The motion (forward, left, turn) that all wheels can follow nearest to the wanted one, at the same forward speed.

    Near is in (left, arm · turn), both speeds. Wheels roll the way they do in the wanted motion, or all the way the
    body goes, whichever comes nearer; each way the constraints |across| ≤ slope · along are linear in (left, turn), so
    that the feasible motions are a polygon. Where no motion is possible, as turning on the spot with little steering,
    it is zero.
    """
    along = np.array([_along(w) @ wanted for w in wedges])
    ways = [np.where(along >= 0.0, 1.0, -1.0)]
    if wanted[0] != 0.0:
        ways.append(np.full(len(wedges), np.sign(wanted[0])))
    found = [m for m in (_projected(wanted, wedges, way, arm, sideways) for way in ways) if m is not None]
    if not found:
        return np.zeros(3)
    return min(found, key=lambda m: float(np.hypot(m[1] - wanted[1], arm * (m[2] - wanted[2]))))


def _along(wedge: Wedge) -> FloatArray:
    """Row that gives the pivot's velocity along its axis from (forward, left, turn)."""
    a_x, a_y = wedge.axis
    return np.array([a_x, a_y, a_y * wedge.pivot[0] - a_x * wedge.pivot[1]])


def _across(wedge: Wedge) -> FloatArray:
    a_x, a_y = wedge.axis
    return np.array([-a_y, a_x, a_x * wedge.pivot[0] + a_y * wedge.pivot[1]])


def _projected(
    wanted: FloatArray, wedges: list[Wedge], way: FloatArray, arm: float, sideways: bool
) -> FloatArray | None:
    """Projection onto {(left, turn): slope · way · along ± across ≥ 0}; None if that is empty."""
    rows = np.array(
        [w.slope * s * _along(w) + sign * _across(w) for w, s in zip(wedges, way, strict=True) for sign in (1.0, -1.0)]
    )
    # G y + c ≥ 0 with y = (left, arm · turn).
    c, G = rows[:, 0] * wanted[0], rows[:, 1:] / np.array([1.0, arm])
    target = np.array([wanted[1], arm * wanted[2]])
    if not sideways:
        G = G * np.array([0.0, 1.0])
        target[0] = 0.0
    candidates = [target]
    for g, k in zip(G, c, strict=True):
        size = float(g @ g)
        if size > 0.0:
            candidates.append(target - g * (g @ target + k) / size)
    for (g, k), (h, m) in combinations(zip(G, c, strict=True), 2):
        determinant = g[0] * h[1] - g[1] * h[0]
        if abs(determinant) > 1e-12:
            candidates.append(np.array([g[1] * m - h[1] * k, h[0] * k - g[0] * m]) / determinant)
    feasible = [y for y in candidates if (G @ y + c >= -SLACK).all()]
    if not feasible:
        return None
    best = min(feasible, key=lambda y: float((y - target) @ (y - target)))
    return np.array([wanted[0], best[0], best[1] / arm])
