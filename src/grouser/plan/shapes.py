"""Shapes of a drive from rest to rest: pieces whose commands are linear in a few numbers, within limits.

A piece is a curve (its length and the turn per share of it, a polynomial), a turn on the spot, or a slide with all
three velocities in a fixed ratio. The time law of a piece is fixed, a trapezoid of speed that ends with a step; its
numbers scale it. So the commands (T, 3) of a shape are `values @ basis`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from grouser.checks import FloatArray
from grouser.plan.limits import Limits

ROOM = 0.95
"""Share of a limit that a first guess uses, so that small changes of it stay within."""
RELUCTANCE = 0.2
"""How much less than other numbers the curvature of an arc changes."""
BASIS = np.linalg.inv(np.vander(np.linspace(0.0, 1.0, 4), increasing=True))
"""Coefficients of the cubics that are 1 at one of the shares 0, ⅓, ⅔, 1 of the way and 0 at the others, (4, 4)."""
KNOTS = {1: np.ones((1, 1)), 4: BASIS.T}
"""Coefficients of the polynomials of turn, by their number, a row each, constant term first."""


@dataclass(frozen=True)
class Piece:
    """One stretch from rest to rest."""

    forward: float
    """Distance of the drive point [m], negative backwards."""
    left: float
    """Distance to the left [m]."""
    turn: tuple[float, ...]
    """Turn per share of the distance [rad]: constant, or at its shares 0, ⅓, ⅔, 1."""

    @property
    def values(self) -> list[float]:
        """Its free numbers."""
        return [way for way in (self.forward, self.left) if way != 0.0] + list(self.turn)

    def with_values(self, rows: Iterator[float]) -> Piece:
        """The same piece with its free numbers from `rows`."""
        forward = next(rows) if self.forward != 0.0 else 0.0
        left = next(rows) if self.left != 0.0 else 0.0
        return Piece(forward, left, tuple(next(rows) for _ in self.turn))

    def until(self, share: float) -> Piece:
        """Its beginning up to a share of its distance."""
        knots = share * np.linspace(0.0, 1.0, len(self.turn)) if len(self.turn) > 1 else np.zeros(1)
        coefficients = np.array(self.turn) @ KNOTS[len(self.turn)]
        turn = share * (coefficients @ knots ** np.arange(len(self.turn))[:, None])
        return Piece(share * self.forward, share * self.left, tuple(turn.tolist()))


@dataclass(frozen=True)
class Stretch:
    """One stretch of a commanded path from rest to rest, as polynomials."""

    forward: float
    """Distance of the drive point [m], negative backwards; 0: it turns on the spot."""
    left: float
    """Distance to the left [m], at a fixed ratio to that forward; 0 except for vehicles that move sideways."""
    turn: tuple[float, ...]
    """Turn per share σ of the stretch [rad], coefficients of a polynomial Σ cⱼ σʲ, constant term first."""
    duration: float
    """[s]."""
    ramp: float
    """Time in which the speed rises linearly, and at the end falls to zero [s]; constant between."""

    @property
    def curvature(self) -> tuple[float, ...]:
        """Turn per way forward over the distance s driven in this stretch [1/m]: Σ cⱼ sʲ, constant term first, s in m.

        Empty for a turn on the spot and for a slide.
        """
        if self.forward == 0.0 or self.left != 0.0:
            return ()
        return tuple(c / (self.forward * abs(self.forward) ** j) for j, c in enumerate(self.turn))

    @property
    def top_speed(self) -> float:
        """Speed forward between the ramps [m/s], negative backwards."""
        return self.forward / (self.duration - self.ramp)

    def speed(self, time: float) -> float:
        """Speed forward at a time from its start [m/s]."""
        return self.top_speed * max(min(time / self.ramp, (self.duration - time) / self.ramp, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class Shape:
    """A guess of a drive, and the commands that its numbers give."""

    values: FloatArray
    """Free numbers, distances [m] and angles [rad], (n,)."""
    basis: FloatArray
    """Commands per unit of each, (n, T, 3)."""
    dt: float
    """Step [s]."""
    pieces: tuple[Piece, ...]
    """What it was made of."""
    times: tuple[tuple[float, float], ...]
    """Duration and ramp of each piece [s]."""

    @cached_property
    def is_way(self) -> NDArray[np.bool_]:
        """Which of its numbers are distances, not turns, (n,)."""
        return np.concatenate([np.arange(len(one.values)) < len(one.values) - len(one.turn) for one in self.pieces])

    def with_values(self, values: FloatArray) -> Shape:
        """The same with other numbers; its time law and what it was made of stay."""
        other = replace(self, values=values)
        other.__dict__["metric"] = self.metric
        return other

    def driven(self) -> list[Piece]:
        """Its pieces with its numbers."""
        rows = iter(self.values.tolist())
        return [piece.with_values(rows) for piece in self.pieces]

    def stretches(self) -> tuple[Stretch, ...]:
        """The same as polynomials."""
        return tuple(
            Stretch(one.forward, one.left, tuple((np.array(one.turn) @ KNOTS[len(one.turn)]).tolist()), *times)
            for one, times in zip(self.driven(), self.times, strict=True)
        )

    @cached_property
    def metric(self) -> FloatArray:
        """Directions in which the numbers are free, (n, n), columns: a longer path keeps its curvature.

        Arcs are at the limit of curvature already, so theirs changes reluctantly.
        """
        out = np.eye(len(self.values))
        row = 0
        for piece in self.pieces:
            n = len(piece.values)
            if piece.forward != 0.0 and piece.left == 0.0:
                out[row + 1 : row + n, row] = np.array(piece.turn) / piece.forward
                if n == 2:
                    out[row + 1, row + 1] = RELUCTANCE
            row += n
        return out

    def step(self, slopes: FloatArray, gaps: FloatArray) -> FloatArray:
        """The smallest changes of the numbers (…, n) that close gaps (…, 3) by slopes (3, n)."""
        return np.asarray(nearest_step(slopes @ self.metric, gaps) @ self.metric.T)

    def aside(self, slopes: FloatArray, amounts: FloatArray) -> FloatArray:
        """Changes of the numbers (N, n) that keep the end by slopes (3, n): of the first free directions, (N, 2)."""
        _, _, axes = np.linalg.svd(slopes @ self.metric, full_matrices=True)
        free = axes[3:5]
        return np.asarray(amounts[:, : len(free)] @ free @ self.metric.T)

    def within(self, curvature: float) -> Shape:
        """The same with numbers of at most a curvature [1/m] at the knots; those that had more are held there."""
        pieces = []
        for piece in self.driven():
            most = curvature * math.hypot(piece.forward, piece.left)
            pieces.append(replace(piece, turn=tuple(min(max(turn, -most), most) for turn in piece.turn)))
        clipped = np.concatenate([piece.values for piece in pieces])
        shape = Shape(clipped, self.basis, self.dt, tuple(pieces), self.times)
        held = np.abs(clipped - self.values) > 1e-12
        metric = shape.metric.copy()
        metric[held, held] = RELUCTANCE**2
        shape.__dict__["metric"] = metric
        return shape

    def slower(self, limits: Limits) -> Shape:
        """The same path, its time law fitted to limits again."""
        return shape_of(self.driven(), limits, self.dt)

    def twists(self, values: FloatArray) -> FloatArray:
        """Commands (N, T, 3) of rows of values (N, n)."""
        n, steps, _ = self.basis.shape
        return np.asarray((values @ self.basis.reshape(n, -1)).reshape(-1, steps, 3))

    def planar_end(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where level ground would end it, (x, y, yaw) from the start, and its slopes (3, n); Euler steps."""
        twist = self.twists(values[None])[0] * self.dt
        turned = np.concatenate([[0.0], np.cumsum(twist[:-1, 2])])
        c, s = np.cos(turned), np.sin(turned)
        dx, dy = c * twist[:, 0] - s * twist[:, 1], s * twist[:, 0] + c * twist[:, 1]
        basis = self.basis * self.dt
        turn = np.zeros(basis.shape[:2])
        np.cumsum(basis[:, :-1, 2], axis=1, out=turn[:, 1:])
        slopes = np.stack([
            basis[:, :, 0] @ c - basis[:, :, 1] @ s - turn @ dy,
            basis[:, :, 0] @ s + basis[:, :, 1] @ c + turn @ dx,
            basis[:, :, 2].sum(axis=1),
        ])  # fmt: skip
        return np.array([dx.sum(), dy.sum(), twist[:, 2].sum()]), slopes


def excess(twists: FloatArray, limits: Limits, dt: float) -> tuple[float, float, float]:
    """Largest ratios of commands (T, 3) from rest to rest to their limits: speeds, changes of them, curvature."""
    least, most = -limits.least, limits.most
    with np.errstate(divide="ignore", invalid="ignore"):
        speeds = np.where(twists > 0.0, twists / most, -twists / least)
        changes = np.abs(np.diff(twists, axis=0, prepend=0.0, append=np.zeros((1, 3)))) / (limits.change * dt)
    way = np.hypot(twists[:, 0], twists[:, 1])
    curvature = 0.0
    if limits.curvature < math.inf:
        curvature = float((np.abs(twists[:, 2]) / np.maximum(limits.curvature * way, 1e-12)).max())
    return float(np.nan_to_num(speeds).max()), float(changes.max()), curvature


def shape_of(pieces: Sequence[Piece], limits: Limits, dt: float) -> Shape:
    """The shape of some pieces, one after another, each as fast as limits allow."""
    fitted = [_fitted(piece, limits, dt) for piece in pieces]
    parts = [part for part, _ in fitted]
    values = np.concatenate([piece.values for piece in pieces])
    basis = np.zeros((len(values), sum(part.shape[1] for part in parts), 3))
    row = step = 0
    for part in parts:
        n, steps, _ = part.shape
        basis[row : row + n, step : step + steps] = part
        row, step = row + n, step + steps
    return Shape(values, basis, dt, tuple(pieces), tuple((part.shape[1] * dt, ramp) for part, ramp in fitted))


def _fitted(piece: Piece, limits: Limits, dt: float) -> tuple[FloatArray, float]:
    """Commands per unit of a piece's numbers (n, steps, 3), slowed down until they are within limits; its ramp [s]."""
    cruise, rise = _fastest(piece, limits)
    slower = 1.0
    for _ in range(6):
        shares, ramp = _trapezoid(cruise / slower, rise / slower**2, dt)
        part = _commands(piece, shares, dt)
        speed, change, _ = excess(np.tensordot(piece.values, part, 1), limits, dt)
        over = max(speed, math.sqrt(change)) / ROOM
        if over <= 1.0:
            break
        slower *= 1.02 * over
    return part, ramp


def _fastest(piece: Piece, limits: Limits) -> tuple[float, float]:
    """Largest share of a piece in a second [1/s] and its largest change [1/s²], by its largest distance and turn."""
    ways = np.array([piece.forward, piece.left, max(piece.turn, key=abs)])
    most = np.where(ways < 0.0, -limits.least, limits.most)
    with np.errstate(divide="ignore", invalid="ignore"):
        cruise = np.nanmin(np.where(ways == 0.0, math.inf, most / np.abs(ways)))
        rise = np.nanmin(np.where(ways == 0.0, math.inf, limits.change / np.abs(ways)))
    return ROOM * float(min(cruise, 1e3)), ROOM * float(min(rise, 1e4))


def _trapezoid(cruise: float, rise: float, dt: float) -> tuple[FloatArray, float]:
    """Shares of a piece done in each step: speed rises, stays and falls; they sum to 1. Time of the rise [s]."""
    cruise = min(cruise, math.sqrt(rise))
    steps = max(math.ceil((1.0 / cruise + cruise / rise) / dt - 1e-9), 3)
    duration = steps * dt
    # The ramps keep their share of the time, so that the steps fill it.
    ramp = duration * (cruise / rise) / (1.0 / cruise + cruise / rise)
    top = 1.0 / (duration - ramp)
    t = np.linspace(0.0, duration, steps + 1)
    late = np.maximum(t - (duration - ramp), 0.0)
    done = top * np.where(t < ramp, 0.5 * t**2 / ramp, t - 0.5 * ramp - 0.5 * late**2 / ramp)
    return np.asarray(np.diff(done / done[-1])), ramp


def _commands(piece: Piece, shares: FloatArray, dt: float) -> FloatArray:
    """Commands per unit of a piece's numbers (n, steps, 3), of the share of it done in each step."""
    middle = np.cumsum(shares) - 0.5 * shares
    turns = KNOTS[len(piece.turn)] @ middle ** np.arange(len(piece.turn))[:, None]
    ways = [column for column, way in enumerate((piece.forward, piece.left)) if way != 0.0]
    out = np.zeros((len(ways) + len(turns), len(shares), 3))
    for row, column in enumerate(ways):
        out[row, :, column] = shares / dt
    out[len(ways) :, :, 2] = turns * shares / dt
    return out


def nearest_step(slopes: FloatArray, gap: FloatArray, damping: float = 1e-9) -> FloatArray:
    """The shortest changes (…, n) that close gaps (…, 3) by slopes (…, 3, n)."""
    square = slopes @ np.swapaxes(slopes, -1, -2)
    # Slopes of a turn per way become very large where the way is none; the solution stays regular.
    size = np.trace(square, axis1=-2, axis2=-1)[..., None, None]
    solved = np.linalg.solve(square + (damping + 1e-12 * size) * np.eye(3), gap[..., None])
    return np.asarray((np.swapaxes(slopes, -1, -2) @ solved)[..., 0])
