"""A correction learned on top of the slip surface: linear in coefficients, bounded, with a memory of one second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from grouser._kernels.motion.correction import CorrectionTable, correction_slopes
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.motion.slip_surface import NAMES, ROWS, Perturbative
from grouser.motion.velocity import Inputs

HISTORY = 1.0
"""Time over which the changes of speed and turn rate are taken [s]."""
BREAK = 1.0
"""A step of time longer than this, or backwards, begins a new drive, without history [s]."""
INPUTS = ("speed", "turn rate", "change of speed", "change of turn rate")
"""What terms are functions of: V [m/s], ω [rad/s] of the wheels, a [m/s] and b [rad/s] their changes in a second."""
AXES = ("x", "y", "yaw")


class Term(NamedTuple):
    """One function of (V, ω, a, b), added to one component of the velocity."""

    axis: int
    """Position in `AXES`."""
    group: str
    """Terms of one group and axis share the width of their prior."""


TRANSIENT, STEADY = "transient", "steady"
TERMS = (
    Term(0, TRANSIENT),  # a
    Term(0, TRANSIENT),  # |V| a
    Term(1, TRANSIENT),  # V b
    Term(2, TRANSIENT),  # b
    Term(2, TRANSIENT),  # ω a
    Term(0, STEADY),  # V |V|
    Term(0, STEADY),  # V ω²
    Term(1, STEADY),  # ω |ω|
    Term(1, STEADY),  # V |V| ω
    Term(1, STEADY),  # V ω |ω|
    Term(2, STEADY),  # ω |ω|
    Term(2, STEADY),  # |V| ω
    Term(2, STEADY),  # |V| ω |ω|
)
"""Terms 1 to 13, whose coefficients are slip.c1 … slip.c13.

All are zero at rest. Mirrored driving gives the mirrored correction: what pulls to one side is in the slip surface.
"""


@dataclass(frozen=True, eq=False, kw_only=True)
class Corrected(Perturbative):
    """The slip surface of P and a learned correction: δV_i += Σ_k c_k w_k φ_k(V, ω, a, b) + d_i s_i e.

    φ are the functions of `TERMS`, with inputs clipped to the range of the training data, so that the correction does
    not grow outside of it. w_k are the widths of their priors: c_k, a ratio, is 0 ± 1 before training. e is the
    distance of the inputs from the range, as a share of it; d_i, 0 ± 1, is not determined by training, so that the
    uncertainty of the velocity grows outside of the range by s_i, the prior sigma of the correction at its corner.
    """

    terms: tuple[int, ...] = tuple(range(1, len(TERMS) + 1))
    """Which terms there are, from 1."""
    widths: tuple[float, ...] = (1.0,) * len(TERMS)
    """w_k of each [m/s, rad/s per product of its inputs], > 0."""
    reach: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    """Largest speed [m/s], turn rate [rad/s], change of each in a second, of the training data, > 0."""
    correction: FloatArray = field(default_factory=lambda: np.zeros(0))
    """c_k of the terms and then d_i of their axes, ratios; empty: all zero."""

    def __post_init__(self) -> None:
        super().__post_init__()
        terms, widths, reach = tuple(self.terms), tuple(self.widths), tuple(self.reach)
        if not terms or list(terms) != sorted({*terms} & {*range(1, len(TERMS) + 1)}):
            raise CalibrationError(f"terms: {list(terms)!r:.60} are not rising numbers from 1 to {len(TERMS)}")
        if len(widths) != len(terms) or not all(0.0 < w < np.inf for w in widths):
            raise CalibrationError(f"widths: must be {len(terms)} positive numbers, one for each term")
        if len(reach) != len(INPUTS) or not all(0.0 < r < np.inf for r in reach):
            raise CalibrationError(f"reach: must be {len(INPUTS)} positive numbers, of {', '.join(INPUTS)}")
        for name, value in (("terms", terms), ("widths", widths), ("reach", reach)):
            object.__setattr__(self, name, value)
        given = np.array(self.correction, dtype=np.float64)
        found = given if given.size else np.zeros(len(self._names))
        if found.shape != (len(self._names),) or not np.isfinite(found).all():
            raise CalibrationError(f"correction: must be {len(self._names)} finite numbers, {', '.join(self._names)}")
        object.__setattr__(self, "correction", found)

    @property
    def _axes(self) -> list[int]:
        """Axes that have terms."""
        return sorted({TERMS[k - 1].axis for k in self.terms})

    @property
    def _names(self) -> list[str]:
        return [f"slip.c{k}" for k in self.terms] + [f"slip.beyond_{AXES[axis]}" for axis in self._axes]

    @property
    def parameters(self) -> dict[str, float]:
        """slip.a1 … slip.a13 in their units, slip.c… and slip.beyond_… as ratios."""
        return {**super().parameters, **dict(zip(self._names, self.correction.tolist(), strict=True))}

    def with_parameters(self, values: Mapping[str, float]) -> Self:
        """The same model with some of them changed, each in its unit."""
        own, names = self.correction.copy(), self._names
        surface = {name: value for name, value in values.items() if name not in names}
        for name in values.keys() - surface.keys():
            own[names.index(name)] = values[name]
        unknown = [name for name in surface if name not in NAMES]
        if unknown:
            known = f"slip.a1 … slip.a13, {', '.join(names)}"
            raise CalibrationError(f"no parameter {unknown[0]!r:.60} in Corrected; there are {known}")
        return replace(super().with_parameters(surface), correction=own)

    @property
    def affine_slip(self) -> FloatArray:
        """α in their units, c and d as ratios, in which the velocity is affine."""
        return np.concatenate([self.slip, self.correction])

    @property
    def memory(self) -> float:
        """Time over which inputs affect the velocity [s]."""
        return HISTORY

    def slip_terms(self, inputs: Inputs) -> tuple[FloatArray, FloatArray]:
        """Velocity without slip (n, 6), and its slopes by α, c and d, (n, 6, k)."""
        nominal, surface = super().slip_terms(inputs)
        changes = change_over(inputs.time, nominal[:, [3, 2]], HISTORY)
        return nominal, np.concatenate([surface, self._slopes(nominal[:, 3], nominal[:, 2], *changes.T)], axis=2)

    def extra(self, v: FloatArray, w: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
        """The correction alone, (n, 6), of V [m/s], ω [rad/s] and their changes in a second, (n,) each."""
        return np.asarray(self._slopes(v, w, a, b) @ self.correction)

    @cached_property
    def table(self) -> CorrectionTable:
        """The correction as the kernels take it."""
        chosen, reach = np.array(self.terms) - 1, np.array(self.reach)
        rows = ROWS[[TERMS[k].axis for k in chosen]]
        corner = features(reach[None])[0, chosen] * self.widths
        own = ROWS[self._axes]
        return CorrectionTable(
            terms=chosen, rows=rows, widths=self.widths, reach=reach, corner_rows=own,
            corners=[np.linalg.norm(corner[rows == row]) for row in own],
        )  # fmt: skip

    def _slopes(self, *inputs: FloatArray) -> FloatArray:
        """Slopes of the velocity by c and d, (n, 6, k)."""
        out = np.zeros((len(inputs[0]), 6, len(self._names)))
        correction_slopes(self.table, np.stack(inputs, axis=1), out)
        return out

    @property
    def spec(self) -> dict[str, Any]:
        """Fields that a fit file holds besides parameters and vehicle."""
        own = {"terms": list(self.terms), "widths": list(self.widths), "reach": list(self.reach)}
        return {**super().spec, **own}


def features(inputs: FloatArray) -> FloatArray:
    """φ of all `TERMS` for rows V, ω, a, b of inputs (n, 4), shape (n, 13)."""
    n = len(TERMS)
    everywhere = CorrectionTable(
        terms=np.arange(n), rows=np.zeros(n), widths=np.ones(n), reach=np.full(4, np.inf), corners=[], corner_rows=[]
    )
    out = np.zeros((len(inputs), 6, n))
    correction_slopes(everywhere, np.ascontiguousarray(inputs), out)
    return out[:, 0]


def change_over(time: FloatArray, values: FloatArray, span: float) -> FloatArray:
    """Change of values (n, k) in the last span [s] before each sample, or since the start where that is later."""
    step = np.diff(time, prepend=time[:1])
    starts = (step < 0.0) | (step > BREAK)
    clock = np.cumsum(np.where(starts, 2.0 * span, step))
    first = np.maximum.accumulate(np.where(starts, np.arange(len(time)), 0))
    at = np.maximum(clock - span, clock[first])
    return np.stack([column - np.interp(at, clock, column) for column in values.T], axis=1)
