"""What a study measures of each run: end, distance, energy, slip, tip margin, climb angle, your own function.

The module of your own function is imported because a study names it, and its code then runs with your rights: read a
study of others before you run it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser import rotation
from grouser.checks import Checker, FloatArray, shown
from grouser.errors import StudyError
from grouser.rotation import upright
from grouser.simulation import outcome
from grouser.simulation.engine import Forces, Records, launch
from grouser.simulation.run import Run
from grouser.simulation.settle import start_state
from grouser.simulation.status import Status
from grouser.study import executor
from grouser.study.executor import said
from grouser.terrain import Terrain, slope

if TYPE_CHECKING:
    from grouser.study.drives import Driven
    from grouser.study.spec import Spec

checks = Checker(StudyError)
FINAL, STATES, DETAILS = 0, 1, 2
"""What is recorded of a run: its end; its states; contacts, velocities and forces too."""
CLIMB, FUNCTION = "climb_angle_deg", "function"
CLIMB_OPTIONS = {"low": 0.0, "high": 45.0, "tolerance": 0.1, "slip": 0.9}
"""Bounds and tolerance of the bisection for the climb angle [°]; largest slip ratio of a vehicle that climbs."""
GIVEN: dict[str, Callable[..., Any]] = {}
"""Functions that a program gave, by the name that stands for them in this process."""
HERE = "<this program>:"
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
    up = np.where(outcome.until(b.records), upright(b.records.state[:, :, :4]), 1.0)
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


def give(function: Callable[..., Any]) -> str:
    """A name for a function of this program: module:function where other processes can import it."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "<lambda>")
    if module not in (None, "__main__") and name.isidentifier():
        found = getattr(sys.modules.get(module), name, None)
        if found is function:
            return f"{module}:{name}"
    key = f"{HERE}{name}#{len(GIVEN)}"
    GIVEN[key] = function
    return key


def named(name: str, where: str, folder: str) -> Callable[..., Any]:
    """The function of a name; a module is looked for in the folder of the study, too."""
    if name in GIVEN:
        return GIVEN[name]
    module, colon, attribute = name.partition(":")
    if name.startswith(HERE):
        raise StudyError(f"{where}: a function of another program cannot be called here; put it into a module")
    if not colon or not attribute.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise StudyError(f"{where}: {name!r:.60} is not module:function, such as my_measures:ground_clearance")
    kept = list(sys.path)
    try:
        sys.path.insert(0, folder)
        return executor.named(name)
    except StudyError as error:
        raise StudyError(f"{where}: {error}") from None
    finally:
        sys.path[:] = kept


def call(function: Callable[..., Any], run: Any, row: Mapping[str, Any]) -> tuple[float, str]:
    """The value of a user's function for a run, and the reason where it has none."""
    name = getattr(function, "__name__", "function")
    try:
        given = function(run, row)
        if isinstance(given, (str, bytes)):
            return math.nan, f"{name} returned {shown(given)}, which is not a number"
        found = float(given)
    except (Exception, SystemExit) as error:
        return math.nan, f"{name} raised {said(error)}"
    return (found, "") if math.isfinite(found) else (math.nan, f"{name} returned {found}, which is not a finite number")


def climb_angle(
    model: Any, drive: Driven, changes: Mapping[str, FloatArray], options: Mapping[str, float], *, steps: int, dt: float
) -> tuple[float, str]:
    """Steepest slope [°] of those tried that it climbs, and a remark; NaN where it does not climb the least steep.

    It starts at rest. It climbs a slope where it advances uphill, in the second half of the run, by more than 1 − slip
    of what its wheels would roll. `changes` are of a row, (1,) each; the run has `steps` steps of dt [s].
    """
    pairs, kept = drive.bind(model.vehicle, 1, changes)
    speed = abs(float(changes["drive.speed"][0]) if "drive.speed" in changes else drive.parts[-1][1])
    half = max(steps // 2, 1)
    least = (1.0 - options["slip"]) * speed * dt * (2 * half - half)
    rest = np.zeros((1, 6 + model.vehicle.n_joints))

    def climbs(deg: float) -> bool:
        ground = slope(deg=deg)
        start = start_state(model.vehicle, ground, None, model.penetration)
        records = launch(
            model, ground, pairs, start[None], dt=dt, steps=2 * half, every=half, detailed=False, velocities=rest
        )
        if records.status[0] is not Status.OK:
            return False
        moved = records.final[0, 4:7] - records.state[0, 1, 4:7]
        angle = math.radians(deg)
        return bool(moved[0] * math.cos(angle) + moved[2] * math.sin(angle) > least)

    low, high = options["low"], options["high"]
    if not climbs(low):
        return math.nan, f"it does not climb {low:g}°"
    if climbs(high):
        return high, f"it climbs {high:g}°, the steepest slope tried"
    while high - low > options["tolerance"]:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if climbs(middle) else (low, middle)
    del kept
    return 0.5 * (low + high), ""
