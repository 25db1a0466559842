"""Logs of simulated drives: runs of the engine, or a motion model along given inputs, as sensors would measure them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from grouser import checks, rotation
from grouser._kernels.motion import log_integral as kernels
from grouser._kernels.motion.arc import Arc
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs.log import IntArray, Log, Poses, Sensor, period
from grouser.logs.report import Report
from grouser.motion.model import MotionModel
from grouser.motion.velocity import Inputs, inputs_of, is_dynamic, rolling_speed, twists
from grouser.simulation import Run

LEAST_NOISE = 1e-6
"""Sigma that the log of a perfect pose sensor states [m, rad]: a residual must have some covariance."""

FROM_SIMULATE = "use what grouser.simulate returned, one or a list"


def log_of_run(
    run: Run | Sequence[Run],
    *,
    pose_rate: float = 10.0,
    position_noise: float = 0.0,
    yaw_noise: float = 0.0,
    attitude_noise: float = 0.0,
    sensor: Sensor | None = None,
    rate_noise: float = 0.0,
    inclination_noise: float = 0.0,
    measured: Sequence[str] | None = None,
    seed: int = 0,
    name: str = "simulated",
) -> Log:
    """The log of a simulated run, or of several, each a segment whose clock begins at zero.

    Samples stand at the middle of each step, with rates as encoders measure them: angle gained over the step by its
    duration. So a velocity model integrates the log as the engine integrated the run, to second order of the step.

    pose_rate: poses per second [Hz], on the run's own states. position_noise [m], yaw_noise, attitude_noise [rad]: one
    sigma of each pose. sensor: where the pose sensor really sits, its lag and the noise of its stamps; the log states
    them too. rate_noise: one sigma of every rate [rad/s]. inclination_noise: of every measured roll and pitch [rad].
    measured: joints whose rates are logged; None: the actuated ones. Angles of joints that are not wheels are always
    logged.
    """
    given = [run] if isinstance(run, Run) else list(checks.instance(run, Sequence, "run", FROM_SIMULATE))
    runs = [checks.instance(one, Run, "run", FROM_SIMULATE) for one in given]
    if not runs or any(len(one.time) < 2 for one in runs):
        raise CalibrationError("a log of a simulated run needs at least one run of at least one step")
    vehicle = runs[0].vehicle
    rates_of = list(vehicle.actuated if measured is None else measured)
    angles_of = [joint for joint in vehicle.joints if joint not in vehicle.wheels]
    sigmas = {"position_noise": position_noise, "yaw_noise": yaw_noise, "attitude_noise": attitude_noise}
    stated = replace(sensor or Sensor(), **{noise: max(sigma, LEAST_NOISE) for noise, sigma in sigmas.items()})
    random = np.random.default_rng(seed)
    parts = [_steps(one) for one in runs]
    time, rates, angles, attitude = (
        np.concatenate([getattr(part, column) for part in parts]) for column in ("time", "rates", "angles", "attitude")
    )
    commands = np.concatenate([_held(one.command[:-1]) for one in runs])
    noisy = {j: rates[:, vehicle.joint_index(j)] + rate_noise * random.standard_normal(len(rates)) for j in rates_of}
    measured_poses = []
    for k, one in enumerate(runs):
        every = slice(0, None, max(1, round(1.0 / (pose_rate * float(one.time[1] - one.time[0])))))
        measured_poses.append(_mounted(one.time[every], one.position[every], one.rpy[every], stated, k))
    attitude = attitude + inclination_noise * random.standard_normal(attitude.shape)
    poses = _joined(measured_poses, (position_noise, attitude_noise, yaw_noise, stated.time_noise), random)
    segment = np.repeat(np.arange(len(parts)), [len(p.time) for p in parts])
    return Log(
        name=name,
        vehicle=vehicle.name,
        time=time,
        segment=segment,
        rates=noisy,
        angles={j: angles[:, vehicle.joint_index(j)].copy() for j in angles_of},
        attitude=attitude,
        commands={j: commands[:, a].copy() for a, j in enumerate(vehicle.actuated)},
        poses=poses,
        sensor=stated,
        report=_report(name, time, segment, poses),
    )


def log_of_motion(
    motion: MotionModel,
    time: FloatArray,
    rates: Mapping[str, FloatArray],
    *,
    angles: Mapping[str, FloatArray] | None = None,
    attitude: FloatArray | None = None,
    segment: IntArray | None = None,
    poses_every: int = 1,
    seed: int | None = 0,
    name: str = "simulated",
) -> Log:
    """The log of a vehicle that moves exactly as a velocity-driven motion model predicts, with its noise.

    time (n,) [s]; rates and angles of joints, (n,) each; attitude: roll and pitch, (n, 2) [rad]; segment (n,): the
    stretch of each sample. A pose stands at every `poses_every`-th sample, `sensor.lag` later. The noise of the
    motion disturbs the velocity of every step, and noise of its sensor every pose; seed None: no noise.
    """
    checks.instance(motion, MotionModel, "motion", "use fit.model, or grouser.MotionModel(model=…)")
    if is_dynamic(motion.model) or not motion.velocity_driven:
        raise CalibrationError("a motion model whose attitude is an input can make a log; simulate the others")
    time = np.asarray(time, dtype=np.float64)
    n = len(time)
    of = np.zeros(n, dtype=np.int64) if segment is None else np.asarray(segment, dtype=np.int64)
    level = np.zeros((n, 2)) if attitude is None else np.asarray(attitude, dtype=np.float64)
    none = np.zeros((0, 3))
    bare = Log(
        name=name,
        vehicle=motion.vehicle.name,
        time=time,
        segment=of,
        rates={j: np.asarray(v, dtype=np.float64) for j, v in rates.items()},
        angles={j: np.asarray(v, dtype=np.float64) for j, v in (angles or {}).items()},
        attitude=level,
        poses=Poses(time=np.zeros(0), position=none, attitude=none, segment=np.zeros(0, np.int64)),
        sensor=motion.sensor,
        report=Report(),
    )
    random = np.random.default_rng(seed)
    inputs = inputs_of(bare, motion.vehicle)
    velocity, speed = twists(motion.model, inputs), rolling_speed(inputs, motion.vehicle)
    root = np.linalg.cholesky(motion.noise.density + 1e-30 * np.eye(len(motion.noise.components)))
    parts = []
    for low, high in itertools.pairwise(bare.segment_bounds.tolist()):
        here = slice(low, high)
        disturbance = np.zeros((high - low - 1, 6))
        if seed is not None:
            grows = speed[here] if motion.noise.grows == "distance" else np.ones(high - low)
            intensity = 0.5 * (grows[1:] + grows[:-1])
            white = random.standard_normal((high - low - 1, len(root))) * np.sqrt(intensity)[:, None]
            disturbance[:, motion.noise.indices] = white @ root.T / np.sqrt(np.diff(time[here])[:, None])
            if motion.noise.wander is not None:
                slip = _wandering(intensity * np.diff(time[here]) / motion.noise.length, len(root), random)
                disturbance[:, motion.noise.indices] += intensity[:, None] * slip * np.sqrt(motion.noise.wander)
        position, yaw = dead_reckoning(inputs.window(low, high), velocity[here], disturbance)
        every = slice(0, None, poses_every)
        rpy = np.concatenate([level[here], yaw[:, None]], axis=1)[every]
        parts.append(_mounted(time[here][every], position[every], rpy, motion.sensor, int(of[low])))
    s = motion.sensor
    sigma = (s.position_noise, s.attitude_noise, s.yaw_noise, s.time_noise)
    poses = _joined(parts, (0.0, 0.0, 0.0, 0.0) if seed is None else sigma, random)
    return replace(bare, poses=poses, report=_report(name, time, of, poses))


def _wandering(steps: FloatArray, count: int, random: np.random.Generator) -> FloatArray:
    """First-order Gauss–Markov noise of unit variance, (n, count), for n steps in units of its correlation length."""
    keep = np.exp(-steps)
    fresh = random.standard_normal((len(steps), count)) * np.sqrt(1.0 - keep**2)[:, None]
    out, now = np.empty_like(fresh), random.standard_normal(count)
    for k in range(len(steps)):
        now = keep[k] * now + fresh[k]
        out[k] = now
    return out


def dead_reckoning(inputs: Inputs, velocity: FloatArray, disturbance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Position (n, 3) and yaw (n,) along one stretch, from the origin with yaw zero.

    velocity (n, 6) is of the samples, disturbance (n − 1, 6) of the steps. Steps are arcs of mean velocity and mean
    attitude, as in the prediction of logs.
    """
    out = np.empty((len(velocity), 4))
    kernels.dead_reckon(inputs.time, inputs.attitude, velocity, disturbance, Arc.zeros(), out)
    return out[:, :3], out[:, 3]


def _steps(run: Run) -> Inputs:
    """Inputs of a run: at its start, at the middle of every step, at its end."""

    def at_middles(values: FloatArray) -> FloatArray:
        return np.concatenate([values[:1], 0.5 * (values[1:] + values[:-1]), values[-1:]])

    return Inputs(
        time=at_middles(run.time),
        attitude=at_middles(run.rpy[:, :2]),
        rates=_held(np.diff(run.joints, axis=0) / np.diff(run.time)[:, None]),
        angles=at_middles(run.joints),
    )


def _held(values: FloatArray) -> FloatArray:
    """Values of steps at the samples: the start, every middle and the end."""
    return np.concatenate([values[:1], values, values[-1:]])


def _mounted(time: FloatArray, position: FloatArray, rpy: FloatArray, sensor: Sensor, segment: int) -> Poses:
    """Poses of a sensor on a moving body, without noise."""
    R_world_body = rotation.from_rpy(*rpy.T)
    attitude = rotation.to_rpy(R_world_body @ rotation.from_rpy(0.0, 0.0, sensor.yaw))
    attitude[:, 2] = np.unwrap(attitude[:, 2])
    return Poses(
        time=time + sensor.lag,
        position=position + R_world_body @ np.array([sensor.x, sensor.y, sensor.z]),
        attitude=attitude,
        segment=np.full(len(time), segment, dtype=np.int64),
    )


def _joined(parts: Sequence[Poses], sigma: tuple[float, float, float, float], random: np.random.Generator) -> Poses:
    """Poses of several stretches, with noise of position, of roll and pitch, of yaw, and of the time stamp."""
    noisy = []
    for p in parts:
        six = np.concatenate([p.position, p.attitude], axis=1)
        if sigma[3] > 0.0 and len(six) > 1:
            # A stamp that is early by ε shows where the sensor is ε later.
            six += np.gradient(six, p.time, axis=0) * sigma[3] * random.standard_normal((len(six), 1))
        noisy.append(six + random.standard_normal(six.shape) * np.repeat(sigma[:3], (3, 2, 1)))
    joined = np.concatenate(noisy)
    return Poses(
        time=np.concatenate([p.time for p in parts]),
        position=joined[:, :3].copy(),
        attitude=joined[:, 3:].copy(),
        segment=np.concatenate([p.segment for p in parts]),
    )


def _report(name: str, time: FloatArray, segment: IntArray, poses: Poses) -> Report:
    return Report(
        files=(name,),
        rows=len(time),
        samples=len(time),
        poses=len(poses),
        segments=int(segment[-1]) + 1,
        period=period(time, segment),
        pose_period=period(poses.time, poses.segment),
    )
