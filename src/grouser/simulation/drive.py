"""What drives a vehicle: rates of the actuated joints over time, from constants, arcs, tables or functions.

Commands are held over a step, as a digital controller holds them; feedback on joint angles acts within it.
"""

from __future__ import annotations

import ctypes
import inspect
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser import checks
from grouser._kernels.kinematics.steering import level_motion as steer
from grouser._kernels.simulation import drive as laws
from grouser.checks import FloatArray
from grouser.errors import GrouserError, SimulationError
from grouser.kinematics.inverse import steering_plan
from grouser.law import BoundLaw, OwnLaw
from grouser.vehicles import Steering, Vehicle

if TYPE_CHECKING:
    from grouser.simulation.records import ContactRecord

__all__ = ["Drive", "arc", "as_drive", "constant", "function", "law", "schedule", "table", "twist"]


class Drive(Protocol):
    """Anything that can be made ready for a vehicle and a step."""

    def bind(self, vehicle: Vehicle, dt: float) -> BoundLaw:
        """The drive as a law for this vehicle, stepped by dt [s]."""
        ...


class Segment(NamedTuple):
    """Command of every actuated joint: rate + clip(gain (target − θ_joint), ±limit)."""

    rate: FloatArray
    gain: FloatArray
    joint: FloatArray
    target: FloatArray
    limit: FloatArray

    def pack(self) -> FloatArray:
        """As the `schedule` law reads it."""
        return np.array(self).T.ravel()


def level_motion(vehicle: Vehicle, forward: float, left: float, turn: float) -> Segment:
    """Commands that move the drive point forward and left [m/s] while turning [rad/s], if the ground were level.

    Steering joints are driven to their angle by the feedback their vehicle states; passive ones (Zoë's axles) by a
    difference of left and right wheel speeds.
    """
    out = np.empty((len(vehicle.arrays.actuated), 5))
    write_level_motion(vehicle, forward, left, turn, out)
    return Segment(*out.T)


def write_level_motion(vehicle: Vehicle, forward: float, left: float, turn: float, out: FloatArray) -> None:
    """As `level_motion`, into out (na, 5): the columns are the fields of a Segment."""
    steer(steering_plan(vehicle), np.array((forward, left, turn), dtype=np.float64), out)


def level_rates(vehicle: Vehicle, twist: Sequence[float] | FloatArray, state: FloatArray) -> FloatArray:
    """Rates of the actuated joints (na,) [rad/s or m/s] for a velocity of the drive point at a state (nq,).

    twist: forward, left [m/s], turn [rad/s], as if the ground were level.
    """
    forward, left, turn = twist
    rate, gain, joint, target, limit = level_motion(vehicle, float(forward), float(left), float(turn))
    feedback = np.clip(gain * (target - state[7 + joint.astype(np.int64)]), -limit, limit)
    return np.asarray(rate + np.where(gain != 0.0, feedback, 0.0))


class _Single:
    """A drive of one segment."""

    def segment(self, vehicle: Vehicle) -> Segment:
        raise NotImplementedError

    def bind(self, vehicle: Vehicle, dt: float) -> BoundLaw:
        return bind_segments([(0.0, self.segment(vehicle))])


@dataclass(frozen=True, eq=False)
class _Constant(_Single):
    rates: Any

    def segment(self, vehicle: Vehicle) -> Segment:
        n = len(vehicle.arrays.actuated)
        if isinstance(self.rates, Mapping):
            rates = np.zeros(n)
            for name, value in self.rates.items():
                if name not in vehicle.actuated:
                    raise SimulationError(
                        f"drive: '{name}' is not an actuated joint of '{vehicle.name}'; "
                        f"actuated are {', '.join(vehicle.actuated)}"
                    )
                rates[vehicle.actuated.index(name)] = checks.number(value, f"rate of '{name}'")
        elif np.ndim(self.rates) == 0:
            rates = np.full(n, checks.number(self.rates, "rate"))
        else:
            rates = checks.array(self.rates, "rates", (n,))
        return Segment(rates, *np.zeros((4, n)))  # no feedback


@dataclass(frozen=True, eq=False)
class _Twist(_Single):
    forward: float
    left: float
    turn: float

    def segment(self, vehicle: Vehicle) -> Segment:
        if not vehicle.actuated and (self.forward or self.left or self.turn):
            raise SimulationError(
                f"drive: '{vehicle.name}' has no joint with a motor, so no speed can be commanded; list the driven"
                " joints as actuated, or command no speed"
            )
        found = level_motion(vehicle, self.forward, self.left, self.turn)
        for joint in saturated(vehicle, found):
            warnings.warn(
                f"drive: '{joint.joint}' is steered to its largest angle of {math.degrees(joint.angle):.3g}°, which is"
                " less than this motion needs: command a wider arc",
                stacklevel=2,
            )
        return found


def saturated(vehicle: Vehicle, segment: Segment) -> list[Steering]:
    """Steering joints that stop at their largest angle before they are where a motion wants them."""
    wanted = {int(joint): target for joint, target, gain in zip(*segment[2:4], segment.gain, strict=True) if gain}
    return [s for s in vehicle.steering if abs(wanted.get(vehicle.joint_index(s.joint), 0.0)) >= s.angle]


@dataclass(frozen=True, eq=False)
class _Schedule:
    parts: tuple[tuple[float, _Single], ...]

    def bind(self, vehicle: Vehicle, dt: float) -> BoundLaw:
        return bind_segments([(start, part.segment(vehicle)) for start, part in self.parts])


@dataclass(frozen=True, eq=False)
class _Table:
    commands: FloatArray
    dt: float | None

    def bind(self, vehicle: Vehicle, dt: float) -> BoundLaw:
        n = len(vehicle.arrays.actuated)
        if self.commands.shape[1] != n:
            raise SimulationError(
                f"drive: the table has {self.commands.shape[1]} columns, '{vehicle.name}' has {n} actuated joints "
                f"({', '.join(vehicle.actuated)})"
            )
        head = [len(self.commands), n, dt if self.dt is None else self.dt]
        return BoundLaw(laws.table.address, np.concatenate([head, self.commands.ravel()]))


class OwnDrive(OwnLaw):
    """A drive made from a Python function by `law`."""

    kind = "drive law"
    arguments = ("t", "state", "velocity")
    returns = "a rate for each actuated joint"

    def bind(self, vehicle: Vehicle, dt: float) -> BoundLaw:
        """The drive as a law for this vehicle; the step dt [s] does not matter."""
        from grouser._kernels.own_law import own_law

        nq, na = 7 + vehicle.n_joints, len(vehicle.actuated)
        level = np.zeros(nq)
        level[0] = 1.0
        build = partial(own_law, inputs=2 * nq, outputs=na)
        law = self._law((nq, na), (0.0, level, np.zeros(nq - 1)), build, {na: ()})
        return BoundLaw(law.address, np.array([*self.values, 0.0]), law)


class Callback:
    """A Python function of (time, state[, velocity[, contact]]) that the engine calls through ctypes.

    An exception in it is kept and raised after the run; Ctrl-C ends the run.
    """

    def __init__(self, body: Callable[..., ArrayLike], vehicle: Vehicle, *, arguments: int = 2) -> None:
        pointer = ctypes.POINTER(ctypes.c_double)
        nq, nv, na = 7 + vehicle.n_joints, 6 + vehicle.n_joints, len(vehicle.actuated)
        self.error: Exception | None = None
        self.interrupted = False
        self._look: Callable[[FloatArray, FloatArray], ContactRecord] | None = None

        def call(par: Any, x: Any, out: Any, jac: Any) -> None:
            command = np.ctypeslib.as_array(out, (na,))
            try:
                values = np.ctypeslib.as_array(x, (1 + nq + nv,)).copy()
                state, velocity = values[1 : 1 + nq], values[1 + nq :]
                more: tuple[Any, ...] = (velocity,) if arguments > 2 else ()
                if arguments > 3:
                    if self._look is None:
                        raise SimulationError("drive: contacts are known in grouser.simulate only; leave them out here")
                    more = velocity, self._look(state, velocity)
                rates = body(float(values[0]), state, *more)
                command[:] = checks.array(rates, "command of the drive", (na,))
            except KeyboardInterrupt:
                self.interrupted = True
                command[:] = np.nan
            except Exception as error:
                self.error = self.error or _explained(error, body)
                command[:] = np.nan

        self.function = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, pointer)(call)
        self.address = ctypes.cast(self.function, ctypes.c_void_p).value or 0

    def watch(self, job: Any) -> None:
        """Look at the contacts of a rollout that is about to run; called by the engine."""
        self._look = contacts_of(job)


def contacts_of(job: Any) -> Callable[[FloatArray, FloatArray], ContactRecord]:
    """A function of (state, velocity) that finds the contacts of a job; of dynamics with the last forces on them."""
    from grouser._kernels.scratch import make_scratch
    from grouser._kernels.simulation.look import look
    from grouser._kernels.simulation.rollout import CONTACT_COLUMNS
    from grouser.simulation.records import ContactRecord

    vehicle, dynamics = job.vehicle, getattr(job, "d", None)
    second = 0 if dynamics is None else job.model.second
    nw, room = len(vehicle.wheel), make_scratch(vehicle)

    def found(state: FloatArray, velocity: FloatArray) -> ContactRecord:
        columns = np.full((nw, CONTACT_COLUMNS), np.nan)
        look(vehicle, job.ground, second, state, velocity, columns, room)
        return ContactRecord.from_columns(columns, None if dynamics is None else dynamics.f[:nw].copy())

    return found


def _arguments(body: Callable[..., ArrayLike]) -> int:
    """How many arguments a function asks for: 2, 3 or 4."""
    try:
        parameters = inspect.signature(body).parameters.values()
    except (TypeError, ValueError):  # a function written in C may have none
        return 2
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return min(max(sum(one.kind in kinds and one.default is one.empty for one in parameters), 2), 4)


def _explained(error: Exception, body: object) -> Exception:
    if isinstance(error, GrouserError):
        return error
    name = getattr(body, "__name__", repr(body))
    explained = SimulationError(f"drive '{name}' raised {type(error).__name__}: {error}")
    explained.__cause__ = error
    return explained


@dataclass(frozen=True, eq=False)
class _Function:
    body: Callable[..., ArrayLike]
    path: FloatArray | None = None

    def bind(self, vehicle: Vehicle, dt: float) -> BoundLaw:
        callback = Callback(self.body, vehicle, arguments=_arguments(self.body))
        return BoundLaw(callback.address, np.zeros(1), callback)


def constant(rates: float | ArrayLike | Mapping[str, float]) -> Drive:
    """Constant rates [rad/s or m/s] of the actuated joints: one for all, one each, or by name (others stand)."""
    return _Constant(rates)


def arc(speed: float, curvature: float = 0.0) -> Drive:
    """Drive at a speed [m/s] along an arc of a curvature [1/m], left positive, as if the ground were level."""
    v = checks.number(speed, "speed")
    return _Twist(v, 0.0, v * checks.number(curvature, "curvature"))


def twist(forward: float = 0.0, left: float = 0.0, turn: float = 0.0) -> Drive:
    """Move forward and left [m/s] while turning [rad/s], as if the ground were level; crab motion is left ≠ 0."""
    return _Twist(checks.number(forward, "forward"), checks.number(left, "left"), checks.number(turn, "turn"))


def schedule(parts: Sequence[tuple[float, Drive]]) -> Drive:
    """Drives one after another: (start time [s], constant, arc or twist), the first from the beginning."""
    checked: list[tuple[float, _Single]] = []
    if not isinstance(parts, Sequence):
        raise SimulationError(f"schedule: {parts!r:.60} is not a list of pairs (start time, drive)")
    for i, part in enumerate(parts):
        if not isinstance(part, tuple) or len(part) != 2 or not isinstance(part[1], _Single):
            raise SimulationError(f"schedule: part {i + 1} is not a pair (start time, constant, arc or twist)")
        checked.append((checks.number(part[0], f"schedule: start of part {i + 1}"), part[1]))
    if not checked:
        raise SimulationError("schedule: has no parts; give at least one")
    for i, ((before, _), (after, _)) in enumerate(pairwise(checked)):
        if after <= before:
            raise SimulationError(f"schedule: part {i + 2} at {after:g} s is not after part {i + 1} at {before:g} s")
    return _Schedule(tuple(checked))


def table(commands: ArrayLike, dt: float | None = None) -> Drive:
    """Rows of commands (T, na), each held for dt [s] (None: one simulation step); the last is held to the end."""
    rows = checks.array(commands, "commands", (None, None))
    if len(rows) == 0:
        raise SimulationError("commands: the table has no rows")
    return _Table(rows, None if dt is None else checks.positive(dt, "dt of the table"))


def described(drive: Drive, bound: BoundLaw) -> dict[str, Any]:
    """The drive as a run names it: "commands", or a function with feedback, and the path that it follows."""
    if isinstance(drive, OwnDrive):
        return {"drive": "function, compiled"}
    if not isinstance(bound.keep, Callback):
        return {"drive": "commands"}
    body = getattr(drive, "body", drive)
    return {"drive": f"function {getattr(body, '__name__', type(body).__name__)}", "path": getattr(drive, "path", None)}


def function(body: Callable[..., ArrayLike], *, path: Any = None) -> Drive:
    """A Python function of (time [s], state) that returns the commands (na,) [rad/s]; called once a step, a few µs.

    A function of (time, state, velocity) is given the velocity of the last step too, [ω rad/s, v m/s, joint rates]. One
    of (time, state, velocity, contact) also gets the contacts of this state, a `ContactRecord` without an axis of time:
    point, normal, velocity (slip), height_error, angle, and with dynamics force, that of the last step; about 20 µs.

    `path`: corners x, y [m], (n, 2), that it is to follow, or something with such `points`; None: the `path` of the
    function, if it has one. A report of the run says how well it followed.
    """
    given: Any = getattr(body, "path", None) if path is None else path
    points: Any = getattr(given, "points", given)
    if path is None and not isinstance(points, (np.ndarray, list, tuple)):
        return _Function(body)
    corners = checks.array(points, "path", (None, None))
    if len(corners) < 2 or corners.shape[1] not in (2, 3):
        raise SimulationError(f"path: has shape {corners.shape}; it needs rows of x, y, at least two")
    return _Function(body, np.ascontiguousarray(corners[:, :2]))


def law(function: Callable[..., Any]) -> OwnDrive:
    """Make a drive of a plain Python function, compiled by Numba: no Python is called while the engine runs.

    function: `f(t, state, velocity, *, speed=gr.param(1.0, "rad/s"), …)` of the time [s], the state (nq,) and the
        velocity of the last step (nv,) returns the commanded rates (na,) [rad/s or m/s] of the actuated joints.
    """
    return OwnDrive(function)


def as_drive(value: Any) -> Drive:
    """The drive a user means: a drive, an array of commands (T, na), or a callable."""
    if hasattr(value, "bind"):
        return value  # type: ignore[no-any-return]
    if callable(value):
        return function(value)
    if isinstance(value, (np.ndarray, list, tuple)):
        return table(value)
    raise SimulationError(f"drive: {value!r:.60} is not a drive, an array of commands or a callable")


def held_commands(commands: FloatArray, dt: float) -> tuple[NDArray[np.int64], FloatArray]:
    """Drives (n, 2), as the engine takes them, that hold rows of commands (n, rows, na) for dt [s] each.

    The second array holds the numbers that their addresses point to; keep it while they are used.
    """
    n, rows, na = commands.shape
    pars = np.empty((n, 3 + rows * na))
    pars[:, :3] = rows, na, dt
    pars[:, 3:] = commands.reshape(n, -1)
    addresses = pars.ctypes.data + pars.strides[0] * np.arange(n, dtype=np.int64)
    return np.column_stack([np.full(n, laws.table.address, dtype=np.int64), addresses]), pars


def bind_segments(parts: list[tuple[float, Segment]]) -> BoundLaw:
    """Segments one after another, each with its start time [s]."""
    head = [len(parts), len(parts[0][1].rate), *(start for start, _ in parts)]
    return BoundLaw(laws.schedule.address, np.concatenate([head, *(segment.pack() for _, segment in parts)]))
