"""A memory of grounds: slip with its covariance, vibration, slope and motor current of each, and their spread."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

import numpy as np

from grouser._version import __version__
from grouser.calibration.hierarchy import Hierarchy, fit_hierarchy
from grouser.calibration.loss import squared_distance
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.files import read_toml, toml_value, write_whole
from grouser.motion.fit_file import whole
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter
from grouser.motion.predict import LogProblem
from grouser.motion.spread import default_spread, of_ground

SCHEMA = "grouser/memory@1"
MAX_BYTES = 20_000_000
WANDER = 0.15
"""Difference of a ground at another visit, one sigma, as a share of the spread between grounds."""
CURRENT = "current"
"""Labels of a manifest that begin so are motor currents; their sizes are added."""
KEPT = 100
"""Intervals whose signals are held one by one."""
ROWS = {"prior": "value", "prior_sigma": "sigma", "lower": "lower", "upper": "upper"}
"""Columns of [[parameters]] in a file and the fields of `Parameter` that they hold, besides the name."""


@dataclass(frozen=True, kw_only=True)
class Felt:
    """A signal of a ground over many intervals."""

    mean: float
    sigma: float
    """Of one interval, not of the mean."""
    count: int

    def with_(self, other: Felt) -> Felt:
        """Both together."""
        n = self.count + other.count
        mean = (self.count * self.mean + other.count * other.mean) / n
        squares = sum(one.count * (one.sigma**2 + (one.mean - mean) ** 2) for one in (self, other))
        return Felt(mean=mean, sigma=float(np.sqrt(squares / n)), count=n)


def merged(one: Mapping[str, Felt], other: Mapping[str, Felt]) -> dict[str, Felt]:
    """Signals of two drives on one ground together, by name."""
    return {**one, **{name: one[name].with_(felt) if name in one else felt for name, felt in other.items()}}


def felt(problem: LogProblem, k: int) -> dict[str, float]:
    """Numbers of one interval, by signal: vibration [m/s²], slope [rad], current [as logged]."""
    log, (low, high) = problem.log, problem.intervals.ranges[k]
    start, end = problem.intervals.times[k]
    first, last = low + np.searchsorted(log.time[low:high], (start, end))
    out: dict[str, float] = {}
    if last - first < 2:
        return out
    if log.acceleration is not None:
        out["vibration"] = float(np.std(np.diff(log.acceleration[first:last, 2])) / np.sqrt(2.0))
    if log.attitude is not None:
        out["slope"] = float(np.mean(np.hypot(*log.attitude[first:last].T)))
    currents = [column for name, column in log.label.items() if name.startswith(CURRENT)]
    if currents:
        out["current"] = float(np.mean(np.sum(np.abs(np.stack(currents)[:, first:last]), axis=0)))
    return {name: value for name, value in out.items() if np.isfinite(value)}


class Feeling:
    """Signals of the present ground, interval by interval."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []
        self.past: dict[str, Felt] = {}

    def add(self, problem: LogProblem, k: int) -> None:
        """One more interval."""
        self.rows.append(felt(problem, k))
        if len(self.rows) > KEPT:
            self.past = merged(self.past, _once(self.rows.pop(0)))

    @property
    def state(self) -> dict[str, Any]:
        """As plain numbers."""
        return {"rows": list(self.rows), "past": {name: asdict(one) for name, one in self.past.items()}}

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self.rows = [{str(k): float(v) for k, v in row.items()} for row in state["rows"]]
        self.past = {str(name): Felt(**one) for name, one in state["past"].items()}

    def take(self, new: int = 0) -> dict[str, Felt]:
        """All but the last `new` intervals, which are kept for the next ground."""
        split = len(self.rows) - new
        found = reduce(merged, map(_once, self.rows[:split]), self.past)
        self.rows, self.past = self.rows[split:], {}
        return found


def _once(row: Mapping[str, float]) -> dict[str, Felt]:
    """Signals of one interval."""
    return {name: Felt(mean=value, sigma=0.0, count=1) for name, value in row.items()}


@dataclass(frozen=True, eq=False, kw_only=True)
class Ground:
    """A ground that was driven on."""

    name: str
    mean: FloatArray
    """Its parameters, (n,), in their units."""
    covariance: FloatArray
    """(n, n)."""
    seconds: float = 0.0
    """Driven on it [s]."""
    visits: int = 1
    feel: Mapping[str, Felt] = field(default_factory=dict)
    """Its other signals by name, where logged: vibration [m/s²], slope [rad], current [as logged]."""

    def row(self) -> dict[str, Any]:
        """Name, time driven [s] and visits, as JSON takes them."""
        return {"name": self.name, "seconds": self.seconds, "visits": self.visits}

    def signals(self) -> dict[str, Any]:
        """Its other signals, as JSON takes them."""
        return {name: asdict(felt) for name, felt in self.feel.items()}


@dataclass(eq=False, kw_only=True)
class Memory:
    """Grounds by name, of vehicles of one kind with one kind of model."""

    kind: str
    """Of the vehicle: its name."""
    model: str
    """Kind of the motion model."""
    parameters: tuple[Parameter, ...]
    """Of the ground, with their priors."""
    grounds: list[Ground] = field(default_factory=list)
    """Those known, oldest first."""
    _fitted: tuple[list[Ground], Hierarchy] | None = field(default=None, repr=False)

    @staticmethod
    def of(motion: MotionModel, parameters: Sequence[Parameter]) -> Memory:
        """An empty memory for the ground parameters of a motion model."""
        chosen = tuple(p for p in parameters if of_ground(p.name))
        return Memory(kind=motion.vehicle.name, model=_kind(motion), parameters=chosen)

    @property
    def names(self) -> list[str]:
        """Names of the parameters."""
        return [p.name for p in self.parameters]

    @property
    def hierarchy(self) -> Hierarchy | None:
        """Mean and spread of the grounds; None before the first one."""
        if not self.grounds:
            return None
        if self._fitted is None or self._fitted[0] != self.grounds:
            means, covariances = (np.array([getattr(g, f) for g in self.grounds]) for f in ("mean", "covariance"))
            found = fit_hierarchy(means, covariances, self._guess)
            self._fitted = (list(self.grounds), found)
        return self._fitted[1]

    @property
    def spread(self) -> FloatArray:
        """Covariance between grounds, (n, n): of those known, or a first guess; products of their units."""
        if len(self.grounds) < 2 or self.hierarchy is None:
            return self._guess
        return self.hierarchy.between

    @cached_property
    def _guess(self) -> FloatArray:
        return default_spread(self.parameters)

    def copy(self) -> Memory:
        """Another with the same grounds, independent of this one."""
        return Memory(kind=self.kind, model=self.model, parameters=self.parameters, grounds=list(self.grounds))

    def __getitem__(self, name: str) -> Ground:
        for ground in self.grounds:
            if ground.name == name:
                return ground
        known = ", ".join(g.name for g in self.grounds) or "none"
        raise CalibrationError(f"the memory has no ground {name!r:.60}; it has {known}")

    def fresh_name(self, taken: Sequence[str] = ()) -> str:
        """A name for the next ground."""
        used = {*taken, *(g.name for g in self.grounds)}
        return next(name for k in range(1, len(used) + 2) if (name := f"ground {k}") not in used)

    def recall_covariance(self, ground: Ground) -> FloatArray:
        """Covariance of a ground's parameters at the next visit, (n, n)."""
        return np.asarray(ground.covariance + WANDER**2 * self.spread)

    def remember(self, visit: Ground, *, recalled: bool) -> str:
        """Store a visit; returns the name of its ground: its own, or that of the known ground it was identified with.

        A visit to a ground that was recalled replaces it, for its estimate includes what was known. Another is one of
        the known grounds if that is more probable than that it differs from them as grounds do.
        """
        if recalled:
            return self._combine(self[visit.name], visit, visit.mean, visit.covariance)
        scores = [self._same(visit, ground) for ground in self.grounds]
        if scores and max(scores) > 0.0:
            return self._fuse(self.grounds[int(np.argmax(scores))], visit)
        self.grounds.append(visit)
        return visit.name

    def _same(self, a: Ground, b: Ground) -> float:
        """Logarithm of the ratio of probabilities that two visits are of one ground, or of two."""
        one = a.covariance + b.covariance + WANDER**2 * self.spread
        both = np.stack([one, one + 2.0 * self.spread])
        twice = squared_distance(a.mean - b.mean + np.zeros((2, 1)), both) + np.linalg.slogdet(both)[1]
        return float(0.5 * (twice[1] - twice[0]))

    def _fuse(self, ground: Ground, visit: Ground) -> str:
        """Two estimates of one ground as one."""
        gain = np.linalg.solve(ground.covariance + visit.covariance, ground.covariance).T
        mean = ground.mean + gain @ (visit.mean - ground.mean)
        return self._combine(ground, visit, mean, ground.covariance - gain @ ground.covariance)

    def _combine(self, ground: Ground, visit: Ground, mean: FloatArray, covariance: FloatArray) -> str:
        """A ground and another visit of it as one, with an estimate; its name."""
        self.grounds[self.grounds.index(ground)] = replace(
            ground,
            mean=mean,
            covariance=covariance,
            seconds=ground.seconds + visit.seconds,
            visits=ground.visits + visit.visits,
            feel=merged(ground.feel, visit.feel),
        )
        return ground.name

    def rename(self, old: str, new: str) -> None:
        """Give a ground another name."""
        if any(g.name == new for g in self.grounds):
            raise CalibrationError(
                f"the memory has a ground {new!r:.60} already; `grouser memory --merge` makes two one"
            )
        if not new.strip():
            raise CalibrationError("the new name of a ground is empty")
        self.grounds[self.grounds.index(self[old])] = replace(self[old], name=new)

    def merge(self, first: str, second: str) -> None:
        """Make two grounds one, under the first name."""
        if first == second:
            raise CalibrationError(f"{first!r:.60} cannot be merged with itself; name two grounds")
        other = self[second]
        self._fuse(self[first], other)
        self.grounds.remove(other)

    def forget(self, name: str) -> None:
        """Remove a ground."""
        self.grounds.remove(self[name])

    def for_another_robot(self) -> Memory:
        """The same grounds for another vehicle of the kind: each is less sure, as at another visit."""
        other = self.copy()
        other.grounds = [
            replace(g, covariance=self.recall_covariance(g), seconds=0.0, visits=0, feel={}) for g in self.grounds
        ]
        return other

    def check_serves(self, motion: MotionModel, parameters: Sequence[Parameter]) -> None:
        """Refuse a vehicle or model of another kind."""
        kind, model = motion.vehicle.name, _kind(motion)
        names = [p.name for p in parameters if of_ground(p.name)]
        if model != self.model or names != self.names:
            raise CalibrationError(
                f"the memory is of a {self.model} model with {', '.join(self.names)}, not of {model} with"
                f" {', '.join(names) or 'no parameter of the ground'}; use the same --model and --parameters"
            )
        if kind != self.kind:
            raise CalibrationError(
                f"the memory is of '{self.kind}', not of '{kind}'; slip of one kind of vehicle is not that of another"
            )

    def tables(self) -> dict[str, Any]:
        """All of it, as a file has it."""
        parameters = [{"name": p.name, **{k: getattr(p, v) for k, v in ROWS.items()}} for p in self.parameters]
        grounds = [
            {**g.row(), "mean": g.mean.tolist(), "covariance": g.covariance.tolist(), "feel": g.signals()}
            for g in self.grounds
        ]
        return {"vehicle": self.kind, "model": self.model, "parameters": parameters, "grounds": grounds}

    @staticmethod
    def of_tables(tables: Mapping[str, Any], file: str) -> Memory:
        """The memory of `tables`."""
        rows = tables["parameters"]
        parameters = tuple(Parameter(name=str(r["name"]), **{v: float(r[k]) for k, v in ROWS.items()}) for r in rows)
        memory = Memory(kind=str(tables["vehicle"]), model=str(tables["model"]), parameters=parameters)
        for row in tables.get("grounds", []):
            ground = _ground(row, len(parameters), file)
            if any(g.name == ground.name for g in memory.grounds):
                raise CalibrationError(f"{file}: ground {ground.name!r:.60} is there twice; rename one")
            memory.grounds.append(ground)
        return memory

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .toml file that `Memory.load` reads; it appears whole or not at all."""
        tables = self.tables()
        lines = [f'schema = "{SCHEMA}"', f'grouser = "{__version__}"']
        lines += [*(f"{name} = {toml_value(tables[name])}" for name in ("vehicle", "model")), ""]
        for table in ("parameters", "grounds"):
            for row in tables[table]:
                lines += [f"[[{table}]]", *(f"{k} = {toml_value(v)}" for k, v in row.items()), ""]
        text = "\n".join(lines)
        write_whole(path, lambda stream: stream.write(text.encode()), CalibrationError)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Memory:
        """Read a memory; every fault is one sentence that names the file."""
        where = Path(path)
        if not where.exists():
            raise CalibrationError(f"{where}: there is no such file; `grouser calibrate … --memory {where}` makes one")
        tables = read_toml(where, SCHEMA, CalibrationError, limit=MAX_BYTES)
        with whole(where, "memory"):
            return Memory.of_tables(tables, where.name)

    def summary(self) -> dict[str, Any]:
        """Plain numbers, as JSON takes them."""
        return {
            "vehicle": self.kind, "model": self.model, "parameters": self.names,
            "spread": dict(zip(self.names, np.sqrt(np.diag(self.spread)).tolist(), strict=True)),
            "grounds": [
                {
                    **g.row(),
                    "parameters": {
                        name: {"value": float(g.mean[k]), "sigma": float(np.sqrt(g.covariance[k, k]))}
                        for k, name in enumerate(self.names)
                    },
                    "feel": g.signals(),
                }
                for g in self.grounds
            ],
        }  # fmt: skip


def _ground(row: Mapping[str, Any], n: int, file: str) -> Ground:
    mean = np.array(row["mean"], dtype=np.float64)
    covariance = np.array(row["covariance"], dtype=np.float64)
    regular = mean.shape == (n,) and covariance.shape == (n, n) and np.isfinite(mean).all()
    if not regular or not np.isfinite(covariance).all() or not _is_covariance(covariance):
        raise CalibrationError(
            f"{file}: ground {row['name']!r:.60} needs {n} finite numbers and a positive covariance of them"
        )
    feel = {
        str(k): Felt(mean=float(f["mean"]), sigma=float(f["sigma"]), count=int(f["count"]))
        for k, f in row["feel"].items()
    }
    seconds, visits = float(row["seconds"]), int(row["visits"])
    return Ground(name=str(row["name"]), mean=mean, covariance=covariance, seconds=seconds, visits=visits, feel=feel)


def _is_covariance(P: FloatArray) -> bool:
    """Symmetric and not negative, to rounding."""
    if not len(P):
        return True
    values, rounding = np.linalg.eigvalsh(P), 1e-9 * float(np.abs(P).max())
    return bool(np.abs(P - P.T).max() <= rounding and values[0] >= -rounding)


def _kind(motion: MotionModel) -> str:
    """Kind of a model, with what gives its parameters another meaning."""
    name = type(motion.model).__name__
    grows = getattr(motion.model, "gravity_grows", "time")
    return name if grows == "time" else f"{name}, slip downhill by {grows}"
