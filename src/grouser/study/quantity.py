"""Where the values of parameters of a study come from: a number, a list, a range, a distribution, a fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.checks import Checker, FloatArray, shown
from grouser.errors import StudyError
from grouser.motion.fit import Fit

checks = Checker(StudyError, largest=1e15)
FORMS = {"values": 0, "range": 2, "log_range": 2, "normal": 2, "lognormal": 2, "triangular": 3}
"""How a parameter may vary, and the numbers each takes (0: any)."""
MOST_LEVELS = 1_000_000
LEFT_OUT = ("sensor", "noise", "powertrain")
"""Parts of a fit that runs of a study do not have."""
FACTORS: dict[str, dict[str, float]] = {
    "m": {"mm": 1e-3, "cm": 1e-2, "km": 1e3},
    "rad": {"deg": math.pi / 180.0, "°": math.pi / 180.0, "mrad": 1e-3},
    "kg": {"g": 1e-3, "t": 1e3},
    "s": {"ms": 1e-3, "min": 60.0},
    "m/s": {"cm/s": 1e-2, "mm/s": 1e-3, "km/h": 1.0 / 3.6},
    "rad/s": {"deg/s": math.pi / 180.0, "rpm": math.pi / 30.0},
    "Pa": {"kPa": 1e3, "MPa": 1e6, "N/m²": 1.0},
    "N": {"kN": 1e3},
    "N/m": {"kN/m": 1e3, "N/mm": 1e3},
    "N m": {"Nm": 1.0, "mN m": 1e-3, "kN m": 1e3},
    "kg/m³": {"g/cm³": 1e3, "t/m³": 1e3},
    "1": {"%": 1e-2},
}
"""Other units of the same quantity, by SI unit: one of them times its factor is SI."""


@dataclass(frozen=True)
class Quantity:
    """One parameter that a study varies or sets."""

    name: str
    """As calibration calls it, such as vehicle.radius, or drive.speed, ground.deg, start.yaw."""
    unit: str
    """SI unit of its values; "1" for a ratio."""
    form: str
    """One of `FORMS`, or "fixed"."""
    numbers: tuple[float, ...]
    """What the form needs, in SI: the values; least and largest; mean and sigma; median and sigma of the logarithm;
    least, most likely and largest."""
    steps: int = 0
    """Levels of a range in a grid; 0: none given."""
    low: float = -math.inf
    """Smallest value of a normal or lognormal distribution, which is cut there."""
    high: float = math.inf
    """Largest value, likewise."""

    @classmethod
    def of(cls, name: str, given: Any, unit: str) -> Quantity:
        """From what a study gives: a number, a list, or a table such as { range = [0.1, 0.2], unit = "m" }."""
        if isinstance(given, (list, tuple)):
            given = {"values": list(given)}
        elif not isinstance(given, Mapping):
            return cls(name, unit, "fixed", (checks.number(given, name),))
        table = dict(given)
        scale = factor(str(table.pop("unit")), unit, name) if "unit" in table else 1.0
        rest = {key: table.pop(key) for key in ("steps", "low", "high") if key in table}
        if len(table) != 1 or next(iter(table)) not in FORMS:
            known = ", ".join(FORMS)
            raise StudyError(f"{name}: {shown(dict(given))} must have one of {known}, and may have unit and steps")
        form, numbers = next(iter(table.items()))
        entries = checks.rows(numbers, object, f"{name}, {form}", "numbers")
        found = tuple(checks.number(one, f"{name}, {form}") for one in entries)
        _check(name, form, found)
        scaled = (found[0] * scale, found[1]) if form == "lognormal" else tuple(scale * one for one in found)
        bounds = {key: scale * checks.number(rest[key], f"{name}, {key}") for key in ("low", "high") if key in rest}
        if bounds and form not in ("normal", "lognormal"):
            raise StudyError(f"{name}: low and high cut a normal or lognormal distribution, and this is {form}")
        if "steps" in rest and form not in ("range", "log_range"):
            raise StudyError(f"{name}: steps are of a range, and this is {form}; leave them out")
        steps = checks.count(rest["steps"], f"{name}, steps", least=2, most=MOST_LEVELS) if "steps" in rest else 0
        made = cls(name, unit, form, scaled, steps, **bounds)
        if made.low >= made.high or (bounds and not np.diff(made._tails())[0] > 0.0):
            raise StudyError(f"{name}: nothing of the distribution lies from low {made.low:g} to high {made.high:g}")
        return made

    @property
    def varies(self) -> bool:
        """Whether it takes more than one value."""
        return self.form != "fixed" and not (self.form == "values" and len(set(self.numbers)) == 1)

    def values(self, u: FloatArray) -> FloatArray:
        """Values at the levels u of its cumulative distribution, 0 < u < 1, shape (n,), in its unit."""
        a = self.numbers
        if self.form in ("fixed", "values"):
            return np.array(a)[np.minimum((u * len(a)).astype(np.int64), len(a) - 1)]
        if self.form == "range":
            return a[0] + (a[1] - a[0]) * u
        if self.form == "log_range":
            return np.asarray(a[0] * np.exp(math.log(a[1] / a[0]) * u))
        if self.form == "triangular":
            rise = (a[1] - a[0]) / (a[2] - a[0])
            up = a[0] + np.sqrt(u * (a[2] - a[0]) * (a[1] - a[0]))
            down = a[2] - np.sqrt((1.0 - u) * (a[2] - a[0]) * (a[2] - a[1]))
            return np.where(u < rise, up, down)
        from scipy.special import ndtri

        below, above = self._tails()
        z = ndtri(below + (above - below) * u)
        made = a[0] + a[1] * z if self.form == "normal" else a[0] * np.exp(a[1] * z)
        return np.asarray(np.clip(made, self.low, self.high))

    def _tails(self) -> tuple[float, float]:
        """Cumulative probability at low and at high."""
        from scipy.special import ndtr

        a, log = self.numbers, self.form == "lognormal"

        def at(bound: float) -> float:
            if math.isinf(bound):
                return 0.0 if bound < 0.0 else 1.0
            if log:
                return float(ndtr(math.log(bound / a[0]) / a[1])) if bound > 0.0 else 0.0
            return float(ndtr((bound - a[0]) / a[1]))

        return at(self.low), at(self.high)

    def levels(self) -> FloatArray:
        """All its values, for a grid, in its unit."""
        if self.form in ("fixed", "values"):
            return np.array(self.numbers)
        if not self.steps:
            raise StudyError(f"{self.name}: a grid needs values, or a range with steps; this is {self.form}")
        u = np.linspace(0.0, 1.0, self.steps)
        return self.values(u)


def _check(name: str, form: str, numbers: tuple[float, ...]) -> None:
    """Refuse numbers that are no values, range or distribution."""
    count = FORMS[form]
    if not numbers or (count and len(numbers) != count):
        raise StudyError(f"{name}: {form} has {len(numbers)} numbers, needs {count or 'at least one'}")
    shown_as = ", ".join(f"{one:g}" for one in numbers)
    if form in ("range", "log_range", "triangular") and not numbers[0] < numbers[-1]:
        raise StudyError(f"{name}: {form} = [{shown_as}] is empty; the last number must be above the first")
    if form == "triangular" and not numbers[0] <= numbers[1] <= numbers[2]:
        raise StudyError(f"{name}: triangular = [{shown_as}] must be least, most likely and largest")
    if form in ("log_range", "lognormal") and numbers[0] <= 0.0:
        raise StudyError(f"{name}: {form} = [{shown_as}] must begin above zero")
    if form in ("normal", "lognormal") and numbers[1] <= 0.0:
        raise StudyError(f"{name}: {form} = [{shown_as}] must have a sigma above zero")


def factor(given: str, unit: str, name: str) -> float:
    """What a number in the given unit is multiplied by to be in `unit`, the SI unit of the parameter of that name."""
    written = given.replace("^2", "²").replace("^3", "³").replace("·", " ")
    choices = unit.split(" or ")
    if written in choices or unit in ("", "SI"):
        return 1.0
    for one in choices:
        if written in FACTORS.get(one, {}):
            return FACTORS[one][written]
    known = [*choices, *(other for one in choices for other in FACTORS.get(one, {}))]
    what = "a ratio, unit 1" if unit == "1" else f"in {unit}"
    raise StudyError(f"{name}: is {what}, and {given!r:.30} is not a unit of it; give one of {', '.join(known)}")


@dataclass(frozen=True, eq=False)
class FitDraws:
    """A normal distribution of several parameters."""

    names: tuple[str, ...]
    mean: FloatArray
    """(n,), in their units."""
    factor: FloatArray
    """Lower triangle L of the covariance L Lᵀ, (n, n)."""

    @classmethod
    def of(cls, fit: Fit, others: Sequence[str], where: str) -> FitDraws:
        """Of the parameters that move a vehicle; those named in `others` have a distribution of their own."""
        systematic = fit.names[: len(fit.covariance)]
        used = [k for k, n in enumerate(systematic) if n.partition(".")[0] not in LEFT_OUT and n not in others]
        if not used:
            raise StudyError(f"{where}: the fit has no parameter of vehicle, slip or contact left to draw")
        factor = _cholesky(fit.covariance[np.ix_(used, used)], where)
        return cls(tuple(systematic[k] for k in used), fit.vector[used], factor)

    def values(self, u: FloatArray) -> FloatArray:
        """Values at levels u (n, number of names) of independent uniform distributions, in their units."""
        from scipy.special import ndtri

        # Sums term by term: a matrix product may add in another order on another machine.
        z = ndtri(u)
        out = np.tile(self.mean, (len(u), 1))
        for k in range(len(self.names)):
            for j in range(k + 1):
                out[:, k] += self.factor[k, j] * z[:, j]
        return out


def _cholesky(covariance: FloatArray, where: str) -> FloatArray:
    """L with L Lᵀ = covariance; a direction without variance has none."""
    n = len(covariance)
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            left = float(covariance[i, j]) - sum(float(L[i, k] * L[j, k]) for k in range(j))
            if i == j:
                if not left >= -1e-9 * abs(float(covariance[i, i])):
                    raise StudyError(f"{where}: the covariance of the fit is not positive; calibrate again")
                L[i, i] = math.sqrt(max(left, 0.0))
            else:
                L[i, j] = left / L[j, j] if L[j, j] > 0.0 else 0.0
    return L
