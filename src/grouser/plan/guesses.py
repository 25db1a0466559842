"""First guesses of a drive to a pose, as if the ground were level: curves, words of arcs, turns on the spot, slides."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from grouser.checks import FloatArray
from grouser.plan.limits import Limits
from grouser.plan.shapes import KNOTS, ROOM, Piece, Shape, nearest_step, shape_of

NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
NODES, WEIGHTS = 0.5 * (NODES + 1.0), 0.5 * WEIGHTS
TURNS = KNOTS[4] @ NODES ** np.arange(4)[:, None]
"""Each polynomial of turn at the nodes, (4, nodes)."""
TURNED = KNOTS[4] @ (NODES ** np.arange(1, 5)[:, None] / np.arange(1, 5)[:, None])
"""Their integrals from the start, (4, nodes)."""
WHOLE = KNOTS[4] @ (1.0 / np.arange(1, 5))
"""Their integrals over the whole way, (4,)."""
CONVERGED = 1e-6
"""Error of a curve on level ground [m, rad] at which it is a guess."""
EASY = 1.0
"""Curvature [1/m] of arcs where the vehicle can turn more tightly."""
SHORTEST = 1e-6
"""Way [m] and turn [rad] that count as none."""


def guesses(x: float, y: float, yaw: float, limits: Limits, dt: float, most: int = 20) -> Iterator[Shape]:
    """Shapes that end at a pose (x, y [m], yaw [rad]) from the start on level ground, the quickest first."""
    found = [*_curves(x, y, yaw, limits)]
    found += _words(x, y, yaw, limits)
    if limits.curvature == math.inf:
        found += _turns(x, y, yaw)
    if limits.lateral > 0.0:
        found.append(_slide(x, y, yaw))
    found = [pieces for pieces in found if limits.reverse > 0.0 or all(piece.forward >= 0.0 for piece in pieces)]
    found.sort(key=lambda pieces: sum(_least_time(piece, limits) for piece in pieces))
    for pieces in found[:most]:
        yield shape_of(pieces, limits, dt)


def _least_time(piece: Piece, limits: Limits) -> float:
    """Time of a piece at its largest speed, with a trapezoid's ramps [s]."""
    speed = limits.reverse if piece.forward < 0.0 else limits.speed
    turns = [abs(turn) for turn in piece.turn]
    turn, sharpest = sum(turns) / len(turns), max(turns)
    pace = max(abs(piece.forward) / speed, abs(piece.left) / max(limits.lateral, 1e-9), sharpest / limits.turn)
    rise = max(math.hypot(piece.forward, piece.left) / limits.acceleration, turn / limits.turn_acceleration)
    return pace + (rise / pace if pace > 0.0 else 0.0)


def _curves(x: float, y: float, yaw: float, limits: Limits) -> Iterator[list[Piece]]:
    """Curves of cubic curvature forwards and backwards: Newton's method from many starts at once.

    The end is L ∫ (cos θ, sin θ) dσ with θ(σ) = Σ kᵢ ∫ Bᵢ; of all solutions the step takes the nearest.
    """
    distance = math.hypot(x, y)
    if distance < SHORTEST:
        return
    starts = []
    for way in (1.0, -1.0) if limits.reverse > 0.0 else (1.0,):
        aim = math.atan2(way * y, way * x)
        for turned in (yaw, yaw - 2.0 * math.pi, yaw + 2.0 * math.pi):
            # A heading that is a parabola about the chord, and more or less bent ones.
            bend = 3.0 * (2.0 * aim - turned)
            for more, longer in ((0.0, 1.0), (0.0, 1.3), (4.0, 1.5), (-4.0, 1.5)):
                sharp = turned + (bend + more) * (1.0 - 2.0 * np.linspace(0.0, 1.0, 4))
                starts.append(np.array([way * longer * distance, *sharp]))
    p = np.array(starts)
    wanted = np.tile([x, y, yaw], (len(p), 1))
    wanted[:, 2] += np.round((p[:, 1:] @ WHOLE - yaw) / math.tau) * math.tau
    for _ in range(12):
        end, slopes = _curve_end(p)
        gap = wanted - end
        p = p + np.clip(nearest_step(slopes, gap), -2.0, 2.0)
    end, _ = _curve_end(p)
    solved = (np.abs(wanted - end) < CONVERGED).all(axis=1) & (np.sign(p[:, 0]) == np.sign(np.array(starts)[:, 0]))
    solved &= np.abs(p[:, 0]) < 4.0 * distance + 10.0
    fine = np.abs(p[:, 1:] @ (KNOTS[4] @ np.linspace(0.0, 1.0, 13) ** np.arange(4)[:, None])).max(axis=1)
    solved &= fine <= ROOM * limits.curvature * np.abs(p[:, 0])
    kept: list[FloatArray] = []
    for one in p[solved]:
        if all(np.abs(one - other).max() > 0.05 for other in kept):
            kept.append(one)
            yield [Piece(float(one[0]), 0.0, tuple(one[1:].tolist()))]


def _curve_end(p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ends (N, 3) of curves of numbers (N, 5), and their slopes (N, 3, 5)."""
    length, turned = p[:, :1], p[:, 1:] @ TURNED
    c, s = np.cos(turned) * WEIGHTS, np.sin(turned) * WEIGHTS
    x, y = c.sum(axis=1), s.sum(axis=1)
    end = np.stack([p[:, 0] * x, p[:, 0] * y, p[:, 1:] @ WHOLE], axis=1)
    slopes = np.zeros((len(p), 3, 5))
    slopes[:, 0, 0], slopes[:, 1, 0] = x, y
    slopes[:, 0, 1:], slopes[:, 1, 1:] = -length * (s @ TURNED.T), length * (c @ TURNED.T)
    slopes[:, 2, 1:] = WHOLE
    return end, slopes


def _turns(x: float, y: float, yaw: float) -> Iterator[list[Piece]]:
    """Turn on the spot, drive straight, turn again; forwards or backwards."""
    for way in (1.0, -1.0):
        aim = math.atan2(way * y, way * x)
        turns = math.remainder(aim, math.tau), math.remainder(yaw - aim, math.tau)
        first, last = (Piece(0.0, 0.0, (turn if abs(turn) > SHORTEST else SHORTEST,)) for turn in turns)
        yield [first, Piece(way * max(math.hypot(x, y), SHORTEST), 0.0, (SHORTEST,)), last]


def _slide(x: float, y: float, yaw: float) -> list[Piece]:
    """All three velocities in a fixed ratio: a screw to the pose."""
    half = 0.5 * math.remainder(yaw, math.tau)
    # Displacement ∫ R(2 half σ) v dσ = R(half) v sin(half)/half.
    shrink = math.sin(half) / half if abs(half) > 1e-9 else 1.0
    forward = (math.cos(half) * x + math.sin(half) * y) / shrink
    left = (math.cos(half) * y - math.sin(half) * x) / shrink
    ways = [way if abs(way) > SHORTEST else SHORTEST for way in (forward, left)]
    return [Piece(ways[0], ways[1], (2.0 * half,))]


def _words(x: float, y: float, yaw: float, limits: Limits) -> Iterator[list[Piece]]:
    """Arc, straight, arc and arc, arc, arc with cusps, Reeds and Shepp 1990; one of them reaches every pose."""
    radius = 1.0 / min(0.85 * limits.curvature, EASY)
    for side in (1.0, -1.0):
        for letters, ways in _left_words(x / radius, side * y / radius, side * yaw):
            if limits.reverse > 0.0 or min(ways) >= 0.0:
                yield [
                    Piece(radius * (way or SHORTEST), 0.0, (side * letter * way,))
                    for letter, way in zip(letters, ways, strict=True)
                ]


def _left_words(x: float, y: float, yaw: float) -> Iterator[tuple[tuple[int, int, int], tuple[float, float, float]]]:
    """Words that begin to the left, for a radius of 1: sides (1 left, 0 straight, −1 right), ways with sign."""
    # left, straight, left
    a, b = x - math.sin(yaw), y - 1.0 + math.cos(yaw)
    for way in (1.0, -1.0):
        first = math.atan2(way * b, way * a)
        for t in both_ways(first):
            for v in both_ways(yaw - first):
                yield (1, 0, 1), (t, way * math.hypot(a, b), v)
    # left, straight, right
    a, b = x + math.sin(yaw), y - 1.0 - math.cos(yaw)
    square = a * a + b * b - 4.0
    if square >= 0.0:
        for way in (1.0, -1.0):
            u = way * math.sqrt(square)
            first = math.atan2(b, a) + math.atan2(2.0, u)
            for t in both_ways(first):
                for v in both_ways(first - yaw):
                    yield (1, 0, -1), (t, u, v)
    # left, right, left
    a, b = x - math.sin(yaw), y - 1.0 + math.cos(yaw)
    size = math.hypot(a, b)
    if size <= 4.0:
        for u in (-2.0 * math.asin(0.25 * size), 2.0 * math.asin(0.25 * size) - math.tau):
            first = math.atan2(b, a) + 0.5 * u + math.pi
            for t in both_ways(first):
                for v in both_ways(yaw - first + u):
                    yield (1, -1, 1), (t, u, v)


def both_ways(angle: float) -> tuple[float, float]:
    """An angle on a full turn, forwards and backwards."""
    ahead = angle % math.tau
    return ahead, ahead - math.tau
