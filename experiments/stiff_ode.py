"""The same vehicle and models as an ordinary differential equation for SciPy's stiff solvers: the baseline of T §2.5.2.

M q̈′ + c = Aᵀf(q, q̇′), forces evaluated at the state itself and added directly: nothing is solved for within a step,
so the solver must follow the stiffness of contacts and actuators.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.simulation import drive as drive_laws
from grouser.checks import FloatArray
from grouser.dynamics.model import Dynamics
from grouser.errors import SimulationError
from grouser.simulation.drive import Callback
from grouser.terrain import Terrain
from tests.oracles.thesis_dynamics import Constraints, call, solve

if TYPE_CHECKING:
    from grouser.law import BoundLaw
    from grouser.simulation.status import Status

METHODS = ("Radau", "BDF", "LSODA")
MEMORY_STEP = 1e-6
"""Time over which the rate of an actuator's memory is differenced [s]; its law only says the memory after a step."""

DIFFERENCE = 1e-7
"""Increment of a state in the solver's Jacobian [rad, m, rad/s or m/s]."""


@dataclass(frozen=True)
class OdeRun:
    """A run integrated by a stiff solver, sampled every dt_out. T rows."""

    time: FloatArray
    """[s], shape (T,)."""
    state: FloatArray
    """[quaternion w x y z, position x y z, joints], shape (T, nq)."""
    velocity: FloatArray
    """[ω rad/s, v m/s, joint rates], body coordinates, shape (T, nv)."""
    evaluations: int
    """Evaluations of the equations of motion, those for the solver's Jacobians included."""
    seconds: float
    """Computing time [s]."""
    status: Status
    """How it ended: ok, off_terrain where a wheel left the map, or unsolved where the solver gave up."""


class _OffMapError(Exception):
    """A wheel has no ground below it."""


@dataclass
class _Motion:
    """ẏ(t, y), y = (state, velocity, actuator memories)."""

    model: Dynamics
    ground: Terrain
    drive: BoundLaw
    raises: bool
    """Whether a trial off the map is an error; else it gives NaN, which Radau and BDF answer with a shorter step."""
    hold: float | None = None
    """Time at which the drive is asked while its command is constant [s]; None: the time itself."""
    evaluations: int = 0
    off_map: bool = False
    """Whether the last trial had a wheel off the map."""

    def __post_init__(self) -> None:
        vehicle = self.model.vehicle
        self.nq, self.nv, self.na = 7 + vehicle.n_joints, 6 + vehicle.n_joints, len(vehicle.actuated)
        self.arrays = self.model.arrays()

    def command(self, t: float, q: FloatArray, v: FloatArray) -> FloatArray:
        x = np.concatenate([[t if self.hold is None else self.hold], q, v])
        command = call(self.drive.pair, x, self.na, 1)[0]
        if isinstance(self.drive.keep, Callback) and self.drive.keep.error is not None:
            raise self.drive.keep.error
        if not np.isfinite(command).all():
            raise SimulationError(f"drive: its command at t = {t:g} s is not finite")
        return command

    def __call__(self, t: float, y: FloatArray) -> FloatArray:
        self.evaluations += 1
        q, v, memory = np.split(y, [self.nq, self.nq + self.nv])
        q = np.concatenate([q[:4] / np.linalg.norm(q[:4]), q[4:]])
        try:
            rows = Constraints.of(self.model, self.arrays, q, self.ground)
            self.off_map = False
        except SimulationError as error:
            self.off_map = True
            if self.raises:
                raise _OffMapError from error
            return np.full(len(y), np.nan)
        command = self.command(t, q, v)
        f, _ = rows.forces(v, command, memory, 0.0)
        _, later, _ = rows.torques(v, command, memory, MEMORY_STEP)
        M, c = self.model.inertia_and_bias(q, v)
        acceleration = self.accelerate(rows, v, M, f @ rows.A - c)
        return np.concatenate([state_rate(q, v), acceleration, (later - memory) / MEMORY_STEP])

    def jacobian(self, t: float, y: FloatArray) -> FloatArray:
        """∂ẏ/∂y by differences. SciPy's own widen until a column responds, and place never does on level ground."""
        result, here = np.zeros((len(y), len(y))), self(t, y)
        for k in range(len(y)):
            for h in (DIFFERENCE, -DIFFERENCE):
                moved = y.copy()
                moved[k] += h
                result[:, k] = (self(t, moved) - here) / h
                if not self.off_map:
                    break
            else:
                raise _OffMapError
        return result

    def accelerate(self, rows: Constraints, v: FloatArray, M: FloatArray, force: FloatArray) -> FloatArray:
        """q̈′ under a force; rigid couplings hold by a force of their own, c̈ = −2σ ċ − σ² c."""
        rigid = rows.A[rows.forced]
        nk, gain = len(rigid), self.arrays.rigid_gain
        if nk == 0:
            return solve(M, force)
        wanted = -2.0 * gain * (rigid @ v) - gain**2 * rows.coupling_errors()
        matrix = np.block([[M, -rigid.T], [rigid, np.zeros((nk, nk))]])
        return solve(matrix, np.concatenate([force, wanted]))[: self.nv]


def state_rate(q: FloatArray, v: FloatArray) -> FloatArray:
    """q̇ of a state: ½ quaternion ⊗ ω, R v, joint rates."""
    w, x, y, z = q[:4].tolist()
    turn = 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])
    # R = G Eᵀ with the last three rows of 2·turn as E, and those of the same matrix for world rates as G
    world = np.array([[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]])
    return np.concatenate([turn @ v[:3], 2.0 * (world.T @ (turn @ v[3:6])), v[6:]])


def simulate_ode(
    model: Dynamics,
    ground: Terrain,
    drive: Any,
    *,
    duration: float,
    start: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    method: str = "Radau",
    rtol: float = 1e-2,
    atol: float = 1e-4,
    max_step: float = 0.04,
    dt_out: float = 0.04,
) -> OdeRun:
    """Drive a dynamic model over a ground for a duration [s] by a stiff solver of SciPy.

    `drive`, `start` and `velocity` are as in `grouser.simulate`. method: Radau, BDF or LSODA. rtol, atol: the solver's
    error tolerances. max_step: its longest step [s]. dt_out: time between the states returned [s].

    Schedules and tables are integrated piece by piece between the times at which their commands switch; a drive that
    is a function is followed in continuous time, and max_step bounds how far a switch of it is overlooked.
    """
    from grouser.simulation.drive import as_drive
    from grouser.simulation.settle import start_state
    from grouser.simulation.simulate import check_model, start_velocity, step_count
    from grouser.simulation.status import Status

    check_model(checks.instance(model, Dynamics, "model", "use grouser.Dynamics(vehicle)"), ground)
    if model.actuator is None:
        raise SimulationError("ideal actuators have no torque law to integrate; give the model actuator=PI(gain=…)")
    if method not in METHODS:
        raise SimulationError(f"method: {method!r:.40} is not one of {', '.join(METHODS)}")
    tolerances = {"rtol": checks.positive(rtol, "rtol"), "atol": checks.positive(atol, "atol")}
    tolerances["max_step"] = checks.positive(max_step, "max_step")
    end, interval = checks.positive(duration, "duration"), checks.positive(dt_out, "dt_out")
    times = interval * np.arange(step_count(end, interval) + 1, dtype=np.float64)
    bound = as_drive(drive).bind(model.vehicle, interval)
    q = start_state(model.vehicle, ground, start, model.penetration)
    given = start_velocity(model, ground, [bound], q[None], velocity, interval)
    assert given is not None  # a dynamic model has one
    motion = _Motion(model, ground, bound, raises=method == "LSODA")
    y = np.concatenate([q, given[0], motion.arrays.memory[: motion.arrays.actuator_memory]])
    began = time.perf_counter()
    rows, status = [y], Status.OK
    edges, held = pieces(bound, times[-1])
    for a, b in pairwise(edges):
        motion.hold = 0.5 * (a + b) if held else None
        inside = times[(times > a + 1e-9) & (times <= b + 1e-9)]
        y, done, status = _integrate(motion, a, b, y, inside, partial(_solver(method), **tolerances))
        rows.extend(done)
        if status is not Status.OK:
            break
    seconds = time.perf_counter() - began
    table = np.array(rows)
    table[:, :4] /= np.linalg.norm(table[:, :4], axis=1, keepdims=True)
    states, velocities, _ = np.split(table, [motion.nq, motion.nq + motion.nv], axis=1)
    return OdeRun(times[: len(rows)], states, velocities, motion.evaluations, seconds, status)


def _solver(method: str) -> Callable[..., Any]:
    from scipy import integrate

    solver: Callable[..., Any] = getattr(integrate, method)
    return solver


def _integrate(
    motion: _Motion, a: float, b: float, y: FloatArray, times: FloatArray, solver: Callable[..., Any]
) -> tuple[FloatArray, list[FloatArray], Status]:
    """From y at a to b: the end, the rows at `times` that were reached, and the status."""
    from grouser.simulation.status import Status

    rows: list[FloatArray] = []
    try:
        steps = solver(motion, a, y, b, jac=motion.jacobian)
        while steps.status == "running":
            steps.step()
            if steps.status == "failed" or not np.isfinite(steps.y).all():
                # a trial within the shortest step of the last good state is as good as that state
                return steps.y, rows, Status.OFF_TERRAIN if motion.off_map else Status.UNSOLVED
            between = steps.dense_output()
            while len(rows) < len(times) and times[len(rows)] <= steps.t + 1e-9:
                rows.append(between(min(times[len(rows)], steps.t)))
    except _OffMapError:
        return y, rows, Status.OFF_TERRAIN
    # the solver may let the quaternion's length drift; a new piece starts from length one
    end = np.concatenate([steps.y[:4] / np.linalg.norm(steps.y[:4]), steps.y[4:]])
    return end, rows, Status.OK


def pieces(drive: BoundLaw, end: float) -> tuple[FloatArray, bool]:
    """Times between which a drive does not switch, from 0 to end [s]; and whether it is constant in time there."""
    par = drive.parameters
    if drive.address == drive_laws.schedule.address:
        inner = par[3 : 2 + int(par[0])]
    elif drive.address == drive_laws.table.address:
        commands = par[3:].reshape(int(par[0]), int(par[1]))
        inner = par[2] * (1 + np.flatnonzero(np.any(np.diff(commands, axis=0) != 0.0, axis=1)))
    else:
        return np.array([0.0, end]), False
    inner = inner[(inner > 1e-9) & (inner < end - 1e-9)]
    return np.concatenate([[0.0], inner, [end]]), True
