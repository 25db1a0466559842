"""What a study measures of each run: where it ended, distance, energy, slip, tip margin, your own function."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser import rotation
from grouser.checks import Checker, FloatArray, shown
from grouser.errors import StudyError
from grouser.simulation import outcome
from grouser.simulation.engine import Forces, Records
from grouser.simulation.run import Run
from grouser.simulation.status import Status
from grouser.study.functions import named

if TYPE_CHECKING:
    from grouser.study.spec import Spec
    from grouser.terrain import Terrain

checks = Checker(StudyError)
FINAL, STATES, DETAILS = 0, 1, 2
"""What is recorded of a run: its end; its states; contacts, velocities and forces too."""
CLIMB, FUNCTION = "climb_angle_deg", "function"
CLIMB_OPTIONS = {"low": 0.0, "high": 45.0, "tolerance": 0.1, "slip": 0.9}
"""Slopes between which the climb angle is sought [°], how exactly [°], and the slip beyond which nothing climbs."""
MOST_TIP_STATES = 50
"""States of a run at which its tip margin is found."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Alike runs as the engine left them."""

    model: Any
    ground: Terrain
    records: Records
    starts: FloatArray
    """States they began with, (n, nq)."""
    dt: float
    """Step [s]."""

    @cached_property
    def slips(self) -> FloatArray:
        """Mean over the wheels of the slip speed along them over the rim speed, (n, rows); 0 after an end."""
        return outcome.slips(self.model.vehicle, self.records)

    def run(self, i: int) -> Run:
        """One of them alone."""
        r = self.records

        def cut(part: Any) -> Any:
            return part[i : i + 1]

        forces = None if r.forces is None else Forces(*map(cut, r.forces))
        one = Records(*map(cut, r[:9]))._replace(forces=forces)
        return Run.from_records(self.model, self.ground, one, dt=self.dt, every=1)


def _advance(b: Batch) -> FloatArray:
    return np.asarray(np.linalg.norm(b.records.final[:, 4:7] - b.starts[:, 4:7], axis=1), dtype=np.float64)


def _mean_slip(b: Batch) -> FloatArray:
    return np.asarray(b.slips.sum(axis=1) / np.maximum(b.records.rows, 1))


def _tilt(b: Batch) -> FloatArray:
    w, x, y, z = np.moveaxis(b.records.state[:, :, :4], -1, 0)
    up = np.where(outcome.until(b.records), w * w - x * x - y * y + z * z, 1.0)
    return np.asarray(np.degrees(np.arccos(np.clip(up.min(axis=1, initial=1.0), -1.0, 1.0))), dtype=np.float64)


def _tip_margin(b: Batch) -> FloatArray:
    return np.degrees(outcome.tip_margins(b.model, b.records, MOST_TIP_STATES))


def _yaw(b: Batch) -> FloatArray:
    return np.degrees(rotation.to_rpy(rotation.from_quaternion(b.records.final[:, :4])).reshape(-1, 3)[:, 2])


KINDS: dict[str, tuple[str, int, Callable[[Batch], FloatArray]]] = {
    "duration": ("s", FINAL, lambda b: np.asarray(b.records.steps * b.dt, dtype=np.float64)),
    "advance": ("m", FINAL, _advance),
    "x": ("m", FINAL, lambda b: b.records.final[:, 4]),
    "y": ("m", FINAL, lambda b: b.records.final[:, 5]),
    "z": ("m", FINAL, lambda b: b.records.final[:, 6]),
    "yaw_deg": ("deg", FINAL, _yaw),
    "fails": ("1", FINAL, lambda b: np.array([float(one is not Status.OK) for one in b.records.status])),
    "distance": ("m", STATES, lambda b: outcome.distances(b.records)),
    "tilt_deg": ("deg", STATES, _tilt),
    "slip": ("1", DETAILS, _mean_slip),
    "largest_slip": ("1", DETAILS, lambda b: b.slips.max(axis=1, initial=0.0)),
    "tip_margin_deg": ("deg", DETAILS, _tip_margin),
    "energy": ("J", DETAILS, lambda b: outcome.energies(b.records, b.dt)),
}
"""Measures by name: unit, what must be recorded, and the function of a batch."""
OF_PLAN = {"distance": "distance", "duration": "duration", "energy": "energy", "risk": "risk",
           "tip_margin_deg": "least_tip_margin_deg", "largest_slip": "largest_slip", "fails": ""}  # fmt: skip
"""Measures of a plan, and their names in its summary."""


@dataclass(frozen=True, eq=False)
class Measure:
    """One column of results."""

    kind: str
    unit: str
    needs: int = FINAL
    options: Mapping[str, float] = field(default_factory=dict)
    function: Callable[..., Any] | None = None

    @property
    def tries(self) -> int:
        """Runs that it takes at most."""
        if self.kind != CLIMB:
            return 1
        o = self.options
        return 2 + math.ceil(math.log2(max((o["high"] - o["low"]) / o["tolerance"], 1.0)))


def measures_of(spec: Spec, dynamic: bool) -> dict[str, Measure]:
    """The measures of a study by the names of their columns."""
    return {name: _measure(spec, name, given, dynamic) for name, given in spec.fields["measures"].items()}


def _measure(spec: Spec, name: str, given: Any, dynamic: bool) -> Measure:
    where = f"measures.{name}"
    table = {"kind": given} if isinstance(given, str) else dict(checks.instance(given, Mapping, where, "name a kind"))
    kind = table.pop("kind", FUNCTION if "function" in table else name)
    planned = bool(spec.fields["plan"])
    known = list(OF_PLAN) if planned else [*KINDS, CLIMB, FUNCTION]
    checks.choice(kind, where, known)
    if kind in ("energy", CLIMB) and not dynamic and not planned:
        raise StudyError(f'{where}: {kind} needs forces; set model = "dynamic"')
    if kind == FUNCTION:
        unit = str(table.pop("unit", "1"))
        function = named(str(table.pop("function", "")), where, spec.folder)
        _nothing_else(table, where, "function and unit")
        return Measure(kind, unit, DETAILS, function=function)
    if kind == CLIMB:
        options = {k: checks.number(table.pop(k, v), f"{where}, {k}") for k, v in CLIMB_OPTIONS.items()}
        _nothing_else(table, where, ", ".join(CLIMB_OPTIONS))
        checks.number(options["tolerance"], f"{where}, tolerance", low=1e-6, high=80.0, unit="°")
        if not -80.0 <= options["low"] < options["high"] <= 80.0:
            low, high = options["low"], options["high"]
            raise StudyError(f"{where}: low {low:g}° to high {high:g}° is no range of slopes within ±80°")
        checks.number(options["slip"], f"{where}, slip", low=0.01, high=1.0, unit="")
        return Measure(kind, "deg", FINAL, options)
    _nothing_else(table, where, "nothing else")
    unit, needs, _ = KINDS.get(kind, ("1", FINAL, None))
    return Measure(kind, unit, needs)


def _nothing_else(table: Mapping[str, Any], where: str, has: str) -> None:
    if table:
        raise StudyError(f"{where}: has no {shown(next(iter(table)))}; it has {has}")
