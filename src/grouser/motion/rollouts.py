"""Predictions by rollouts over a ground: dynamics, and kinematics whose attitude is predicted, not measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.model import Model
from grouser.motion.candidates import Candidates, Predicted
from grouser.motion.intervals import Intervals, relative_poses, wrapped
from grouser.motion.model import MotionModel
from grouser.motion.predict import ERRORS, LogProblem, integrate_log
from grouser.motion.start_velocity import start_velocity as estimate_start
from grouser.motion.velocity import is_dynamic, rim_speed
from grouser.simulation.drive import held_commands
from grouser.simulation.engine import Records, launch
from grouser.simulation.settle import settle
from grouser.simulation.simulate import start_velocity
from grouser.simulation.status import Status


def rollout_poses(problem: LogProblem, candidates: Candidates, intervals: Intervals) -> FloatArray:
    """Predicted poses (S, I, 6), as `LogProblem.poses`; NaN where a rollout did not reach the end of its interval."""
    out = np.empty((len(candidates.which), len(intervals), 6))
    same: dict[tuple[object, ...], Records] = {}
    for s, m in enumerate(candidates.which):
        motion, mounting = candidates.motions[m], candidates.mounting[s]
        moved = _level(motion) and not is_dynamic(motion.model)  # then of the mounting only the lag changes the rollout
        key = (id(motion.model), motion.powertrain, *mounting[[4] if moved else [0, 1, 3, 4]].tolist())
        if key not in same:
            launch_all, velocities, _ = _prepared(problem, motion, mounting, intervals)
            same[key] = launch_all(velocities)
        out[s] = _sensor_poses(same[key], motion.dt, mounting, intervals.duration)
    return out


def rollout_errors(problem: LogProblem, motion: MotionModel, intervals: Intervals) -> Predicted:
    """Poses and noise integrals along the paths that were rolled out; no slopes.

    The ground holds roll and pitch, so their errors do not grow: T (3.60)–(3.63) with attitude known.
    """
    mounting = Candidates.of_motions([motion]).mounting
    launch_all, velocities, spread = _prepared(problem, motion, mounting[0], intervals)
    records = launch_all(velocities)
    poses = _sensor_poses(records, motion.dt, mounting[0], intervals.duration)
    start = np.zeros((len(intervals), 4, 4))
    if spread is not None:
        assert velocities is not None
        for column in np.moveaxis(spread, -1, 0):  # by differences of a sigma: friction is not linear
            shifted = velocities.copy()
            shifted[:, [2, 3, 4]] += column
            moved = _sensor_poses(launch_all(shifted), motion.dt, mounting[0], intervals.duration)
            change = np.nan_to_num(wrapped(moved - poses)[:, ERRORS])
            start += change[:, :, None] * change[:, None, :]
    n, rows = records.velocity.shape[:2]
    rpy = rotation.to_rpy(_orientations(records.state.reshape(n * rows, -1)))
    speed = rim_speed(motion.vehicle, records.velocity[..., 6:]).ravel()
    ends = np.arange(n, dtype=np.int64) * rows
    mounting[:, 4] = 0.0
    found = integrate_log(
        time=np.tile(motion.dt * np.arange(rows), n),
        attitude=rpy[:, :2],
        twist=records.velocity[..., :6].reshape(1, -1, 6),
        slope=np.zeros((n * rows, 6, 0)),
        noise=motion.noise.indices,
        intensity=speed if motion.noise.grows == "distance" else np.ones(n * rows),
        length=motion.noise.memory,
        samples=np.stack([ends, ends + rows], axis=1),
        times=np.stack([np.zeros(n), intervals.duration], axis=1),
        mounting=mounting,
    )
    return found._replace(poses=poses, start=start)


Launch = Callable[[FloatArray | None], Records]
"""Rolls all intervals out from some velocities."""


def _prepared(
    problem: LogProblem, motion: MotionModel, mounting: FloatArray, intervals: Intervals
) -> tuple[Launch, FloatArray | None, FloatArray | None]:
    """How to roll all intervals out at once, a row a step, the velocities (I, nv) they start with, and their spread.

    The shorter ones continue with their last command. Spread (I, 3, 3): columns of a root of the covariance of the
    turn rate and the speeds ahead and left; None where they are given or exact.
    """
    model, ground = motion.model, motion.ground
    assert isinstance(model, Model)
    assert ground is not None
    dt = motion.dt
    steps = max(1, math.ceil(float(intervals.duration.max()) / dt - 1e-9))
    key = (float(mounting[4]), dt, steps, motion.powertrain, _commanded(problem, motion), intervals.times.tobytes())
    if key not in problem.commands:  # candidates mostly differ in other things
        problem.commands = {key: _commands(problem, motion, float(mounting[4]), intervals, steps)}
    commands = problem.commands[key]
    drives, keep = held_commands(commands, dt)
    starts = _starts(problem, motion, mounting, intervals)
    velocities, spread = None, None
    if is_dynamic(model):
        first = _first_rates(problem, motion, float(mounting[4]), intervals, commands[:, 0])
        at_start, alive = held_commands(first[:, None], dt)
        velocities = start_velocity(model, ground, at_start, starts, None, dt)
        del alive
        assert velocities is not None
        spread = _estimated(problem, motion, mounting, intervals, starts, velocities)

    def launch_all(velocities: FloatArray | None) -> Records:
        assert len(keep) == len(drives)  # the numbers behind the addresses are alive
        return launch(model, ground, drives, starts, dt=dt, steps=steps, every=1, detailed=True, velocities=velocities)

    return launch_all, velocities, spread


def _commanded(problem: LogProblem, motion: MotionModel) -> bool:
    """Whether logged commands drive the actuators of the model."""
    return is_dynamic(motion.model) and motion.model.actuator is not None and problem.logged_commands is not None


def _commands(problem: LogProblem, motion: MotionModel, lag: float, intervals: Intervals, steps: int) -> FloatArray:
    """Commands of the actuated joints in the middle of each step, (I, steps, na).

    The powertrain's rates where there is one, else logged commands where the model has actuators, else measured rates,
    else those of measured angles.
    """
    vehicle, inputs = motion.vehicle, problem.driven(motion)
    joints = vehicle.arrays.actuated
    rates = inputs.rates
    if motion.powertrain is None and _commanded(problem, motion):
        logged = problem.logged_commands
        assert logged is not None
        rates = np.where(np.isfinite(logged).all(axis=0), logged, rates)
    out = np.empty((len(intervals), steps, len(joints)))
    edges = intervals.times[:, :1] - lag + motion.dt * np.arange(steps + 1)
    for a, j in enumerate(joints):
        if np.isfinite(rates[:, j]).all():
            out[:, :, a] = _signal(problem, intervals, 0.5 * (edges[:, :-1] + edges[:, 1:]), rates[:, j])
        elif np.isfinite(inputs.angles[:, j]).all():
            out[:, :, a] = np.diff(_signal(problem, intervals, edges, inputs.angles[:, j]), axis=1) / motion.dt
        else:
            raise CalibrationError(
                f"{problem.log.name}: has neither rate nor angle of '{vehicle.joints[j]}', which drives"
                f" '{vehicle.name}'; its manifest must map a column to it"
            )
    return out


def _signal(problem: LogProblem, intervals: Intervals, times: FloatArray, values: FloatArray) -> FloatArray:
    """A signal (n,) at times (I, …) [s] of each interval, linear between the samples of its stretch."""
    pairs = zip(times, intervals.ranges.tolist(), strict=True)
    return np.array([np.interp(t, problem.inputs.time[low:high], values[low:high]) for t, (low, high) in pairs])


def _first_rates(
    problem: LogProblem, motion: MotionModel, lag: float, intervals: Intervals, commanded: FloatArray
) -> FloatArray:
    """Rates of the actuated joints where intervals start, (I, na): as measured, else as `commanded` (I, na)."""
    out, rates = commanded.copy(), problem.inputs.rates[:, motion.vehicle.arrays.actuated]
    for a in np.flatnonzero(np.isfinite(rates).all(axis=0)):
        out[:, a] = _signal(problem, intervals, intervals.times[:, 0] - lag, rates[:, a])
    return out


def _estimated(
    problem: LogProblem,
    motion: MotionModel,
    mounting: FloatArray,
    intervals: Intervals,
    starts: FloatArray,
    velocities: FloatArray,
) -> FloatArray | None:
    """Puts the measured velocity of body and passive joints into `velocities` (I, nv), and returns its spread."""
    _passive_rates(problem, motion, float(mounting[4]), intervals, velocities)
    if intervals.velocity is not None:
        velocities[:, [2, 3, 4]] = intervals.velocity  # the rest follows the ground as the wheels do
        return None
    if motion.start == "wheels":
        return None
    R = _orientations(starts)
    roll, pitch, yaw = rotation.to_rpy(R).T
    c, s, zero = np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)
    R_heading_world = np.moveaxis(np.array([[c, s, zero], [-s, c, zero], [zero, zero, zero + 1.0]]), -1, 0)
    R_heading_body = R_heading_world @ R
    ahead = np.einsum("iab,ib->ia", R_heading_body, velocities[:, 3:6])
    turning = (velocities[:, 1] * np.sin(roll) + velocities[:, 2] * np.cos(roll)) / np.cos(pitch)
    rolling = np.column_stack([ahead[:, :2], turning])
    x, y, z, mounted, lag = mounting.tolist()
    sensor = replace(motion.sensor, x=x, y=y, z=z, yaw=mounted, lag=lag)
    found = estimate_start(problem.log, sensor, intervals, rolling, problem.yaw_rate)
    # Back to the body: v_z and ω_x, ω_y stay as the ground has them.
    change = found.velocity - rolling
    to_body = np.zeros((len(R), 3, 3))
    to_body[:, 0, 2] = np.cos(pitch) / np.cos(roll)
    to_body[:, 1:, :2] = np.linalg.inv(R_heading_body[:, :2, :2])
    velocities[:, [2, 3, 4]] += np.einsum("iab,ib->ia", to_body, change)
    root = np.linalg.cholesky(found.covariance + 1e-18 * np.eye(3))
    return np.asarray(to_body @ root, dtype=np.float64)


def _passive_rates(
    problem: LogProblem, motion: MotionModel, lag: float, intervals: Intervals, velocities: FloatArray
) -> None:
    """Rates of joints that are not driven, where their rate or their angle is logged, into `velocities` (I, nv)."""
    inputs, actuated = problem.inputs, motion.vehicle.arrays.actuated
    for j in np.setdiff1d(np.arange(motion.vehicle.n_joints), actuated):
        rate, angle = inputs.rates[:, j], inputs.angles[:, j]
        starts = intervals.times[:, 0] - lag
        if np.isfinite(rate).all():
            velocities[:, 6 + j] = _signal(problem, intervals, starts, rate)
        elif np.isfinite(angle).all():
            for i, ((low, high), at) in enumerate(zip(intervals.ranges, starts, strict=True)):
                last = int(np.searchsorted(inputs.time[low:high], at + 1e-9))
                if last >= 2:  # the slope of the last two samples: nothing after the start
                    some = slice(low + last - 2, low + last)
                    velocities[i, 6 + j] = float(np.diff(angle[some])[0] / np.diff(inputs.time[some])[0])


def _level(motion: MotionModel) -> bool:
    """Whether the ground is a level plane: then all places are alike."""
    ground = motion.ground
    assert ground is not None
    return ground.kind == "plane" and float(ground.sample(0.0, 0.0).normal[2]) > 1.0 - 1e-12


def _starts(problem: LogProblem, motion: MotionModel, mounting: FloatArray, intervals: Intervals) -> FloatArray:
    """States on the ground where the intervals begin, (I, nq); on level ground all at the origin."""
    model, ground, vehicle = motion.model, motion.ground, motion.vehicle
    assert isinstance(model, Model)
    assert ground is not None
    angles = problem.inputs.angles
    moving = np.flatnonzero(np.isfinite(angles).any(axis=0))
    arm_x, arm_y, _, mounted, lag = mounting
    out = np.empty((len(intervals), 7 + vehicle.n_joints))
    out[:, 7:] = vehicle.rest
    for j in moving:
        out[:, 7 + j] = _signal(problem, intervals, intervals.times[:, 0] - lag, angles[:, j])
    if _level(motion):
        settled = settle(vehicle, ground, penetration=model.penetration).state
        still = np.setdiff1d(np.arange(len(settled)), 7 + moving)
        out[:, still] = settled[still]
        return out
    for i in range(len(intervals)):
        x, y = intervals.start[i, :2]
        yaw = intervals.start[i, 5] - mounted
        x -= math.cos(yaw) * arm_x - math.sin(yaw) * arm_y
        y -= math.sin(yaw) * arm_x + math.cos(yaw) * arm_y
        yaw = math.remainder(yaw, 2 * math.pi)
        out[i] = settle(vehicle, ground, x=x, y=y, yaw=yaw, joints=out[i, 7:], penetration=model.penetration).state
    return out


def _sensor_poses(records: Records, dt: float, mounting: FloatArray, durations: FloatArray) -> FloatArray:
    """Pose of the sensor after each duration in its heading frame at the start, (I, 6)."""
    n, rows = records.state.shape[:2]
    k = np.minimum((durations / dt).astype(np.int64), rows - 2)
    share = (durations / dt - k)[:, None]
    each = np.arange(n)
    R_body_sensor = rotation.from_rpy(0.0, 0.0, float(mounting[3]))
    ends = []
    for at in (np.zeros(n, dtype=np.int64), k, k + 1):
        q = records.state[each, at]
        R = _orientations(q)
        ends.append(np.concatenate([q[:, 4:7] + R @ mounting[:3], rotation.to_rpy(R @ R_body_sensor)], axis=1))
    first, before, after = ends
    out = wrapped(relative_poses(first, before + share * wrapped(after - before)))
    ended = np.array([status is not Status.OK for status in records.status]) & (records.steps * dt < durations)
    out[ended] = np.nan
    return out


def _orientations(states: FloatArray) -> FloatArray:
    """Body to world of states (n, nq), (n, 3, 3); the identity where a rollout ended before and left no state."""
    q = states[:, :4].copy()
    q[~(np.isfinite(q).all(axis=1) & q.any(axis=1))] = (1.0, 0.0, 0.0, 0.0)
    return rotation.from_quaternion(q)
