"""Predictions by rollouts over a ground: dynamics, and kinematics whose attitude is predicted, not measured."""

from __future__ import annotations

import math

import numpy as np

from grouser import rotation
from grouser._kernels.simulation import drive as laws
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.model import Model
from grouser.motion.intervals import Intervals, relative_poses, wrapped
from grouser.motion.model import MotionModel
from grouser.motion.predict import Candidates, LogProblem, Predicted, integrate_log
from grouser.motion.velocity import rim_speed
from grouser.simulation.engine import Records, launch
from grouser.simulation.settle import settle
from grouser.simulation.simulate import start_velocity
from grouser.simulation.status import Status


def rollout_poses(problem: LogProblem, candidates: Candidates, intervals: Intervals) -> FloatArray:
    """Predicted poses (S, I, 6), as `LogProblem.poses`; NaN where a rollout did not reach the end of its interval."""
    out = np.empty((len(candidates.which), len(intervals), 6))
    same: dict[tuple[int, float], Records] = {}
    for s, m in enumerate(candidates.which):
        motion, mounting = candidates.motions[m], candidates.mounting[s]
        key = (id(motion.model), float(mounting[4]))
        if key not in same:
            same[key] = _launched(problem, motion, mounting, intervals)
        out[s] = _sensor_poses(same[key], motion.dt, mounting, intervals.duration)
    return out


def rollout_errors(problem: LogProblem, motion: MotionModel, intervals: Intervals) -> Predicted:
    """Poses and noise integrals along the paths that were rolled out; no slopes.

    The ground holds roll and pitch, so their errors do not grow: T (3.60)–(3.63) with attitude known.
    """
    mounting = Candidates.of_motions([motion]).mounting
    records = _launched(problem, motion, mounting[0], intervals)
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
    return found._replace(poses=_sensor_poses(records, motion.dt, mounting[0], intervals.duration))


def _launched(problem: LogProblem, motion: MotionModel, mounting: FloatArray, intervals: Intervals) -> Records:
    """All intervals rolled out at once, a row a step; the shorter ones continue with their last command."""
    model, ground = motion.model, motion.ground
    assert isinstance(model, Model)
    assert ground is not None
    dt = motion.dt
    steps = max(1, math.ceil(float(intervals.duration.max()) / dt - 1e-9))
    key = (float(mounting[4]), dt, steps, intervals.times.tobytes())
    if key not in problem.commands:  # candidates mostly differ in other things
        problem.commands = {key: _commands(problem, motion, key[0], intervals, steps)}
    commands = problem.commands[key]
    n, _, na = commands.shape
    pars = np.column_stack([np.tile([steps, na, dt], (n, 1)), commands.reshape(n, -1)])
    addresses = pars.ctypes.data + pars.strides[0] * np.arange(n, dtype=np.int64)
    drives = np.ascontiguousarray(np.column_stack([np.full(n, laws.table.address, dtype=np.int64), addresses]))
    starts = _starts(problem, motion, mounting, intervals)
    velocities = start_velocity(model, ground, drives, starts, None, dt)
    if velocities is not None and intervals.velocity is not None:
        velocities[:, [2, 3, 4]] = intervals.velocity  # the rest follows the ground as the wheels do
    return launch(model, ground, drives, starts, dt=dt, steps=steps, every=1, detailed=True, velocities=velocities)


def _commands(problem: LogProblem, motion: MotionModel, lag: float, intervals: Intervals, steps: int) -> FloatArray:
    """Rates of the actuated joints in the middle of each step, (I, steps, na); of angles where rates are not logged."""
    vehicle, inputs = motion.vehicle, problem.inputs
    joints = vehicle.arrays.actuated
    out = np.zeros((len(intervals), steps, len(joints)))
    edges = motion.dt * np.arange(steps + 1)
    for i, ((low, high), t0) in enumerate(zip(intervals.ranges, intervals.times[:, 0], strict=True)):
        time = inputs.time[low:high]
        at = t0 - lag + edges
        for a, j in enumerate(joints):
            rate, angle = inputs.rates[low:high, j], inputs.angles[low:high, j]
            if np.isfinite(rate).all():
                out[i, :, a] = np.interp(0.5 * (at[:-1] + at[1:]), time, rate)
            elif np.isfinite(angle).all():
                out[i, :, a] = np.diff(np.interp(at, time, angle)) / motion.dt
            else:
                raise CalibrationError(
                    f"{problem.log.name}: has neither rate nor angle of '{vehicle.joints[j]}', which drives"
                    f" '{vehicle.name}'; its manifest must map a column to it"
                )
    return out


def _starts(problem: LogProblem, motion: MotionModel, mounting: FloatArray, intervals: Intervals) -> FloatArray:
    """States on the ground where the intervals begin, (I, nq); on level ground all at the origin."""
    model, ground, vehicle = motion.model, motion.ground, motion.vehicle
    assert isinstance(model, Model)
    assert ground is not None
    level = ground.kind == "plane" and float(ground.sample(0.0, 0.0).normal[2]) > 1.0 - 1e-12
    out = np.empty((len(intervals), 7 + vehicle.n_joints))
    angles = problem.inputs.angles
    moving = np.isfinite(angles).any(axis=0)
    settled = settle(vehicle, ground, penetration=model.penetration).state if level else None
    arm_x, arm_y, _, mounted, lag = mounting
    for i, ((low, high), t0) in enumerate(zip(intervals.ranges, intervals.times[:, 0], strict=True)):
        joints = vehicle.rest
        for j in np.flatnonzero(moving):
            joints[j] = np.interp(t0 - lag, problem.inputs.time[low:high], angles[low:high, j])
        if settled is not None:
            out[i] = settled
            out[i, 7:][moving] = joints[moving]
            continue
        x, y = intervals.start[i, :2]
        yaw = intervals.start[i, 5] - mounted
        x -= math.cos(yaw) * arm_x - math.sin(yaw) * arm_y
        y -= math.sin(yaw) * arm_x + math.cos(yaw) * arm_y
        yaw = math.remainder(yaw, 2 * math.pi)
        out[i] = settle(vehicle, ground, x=x, y=y, yaw=yaw, joints=joints, penetration=model.penetration).state
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
