"""Drives whose truth is known: wheel rates and attitude of made-up paths, and the logs a motion model makes of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

import grouser as gr
from grouser.calibration.simulated import log_of_motion
from grouser.logs import Log
from grouser.logs.log import Sensor
from grouser.motion.intervals import Intervals, cut_log
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.predict import LogProblem
from grouser.slip import BodySlip

SLIP = np.array([-0.5, -0.1, -0.6, -0.3, 0.05, -0.4])
"""Planted p₁…p₆: downhill slip, rolling resistance, outward slip, understeer."""
PRECISE = Sensor(position_noise=1e-3, yaw_noise=1e-3, attitude_noise=1e-3)
TRICYCLE = Path(__file__).parents[2] / "examples" / "optiodom" / "tricycle-vehicle.toml"


@cache
def warthog() -> gr.Vehicle:
    """Four wheels, skid-steered."""
    return gr.vehicle("warthog")


@cache
def tricycle() -> gr.Vehicle:
    """One wheel in front that drives and steers."""
    return gr.vehicle(TRICYCLE)


def slipping(slip=SLIP, sensor: Sensor = PRECISE, noise: Noise | None = None) -> MotionModel:
    """A Warthog with body slip."""
    model = gr.Kinematics(warthog(), slip=BodySlip(slip))
    return MotionModel(model=model, sensor=sensor, noise=Noise() if noise is None else noise)


def side_rates(vehicle: gr.Vehicle, left, right) -> dict[str, np.ndarray]:
    """Rates of the wheels of both sides, by wheel."""
    places = zip(vehicle.wheels, vehicle.wheel_positions, strict=True)
    return {wheel: np.asarray(left if p[1] > 0.0 else right, dtype=np.float64) for wheel, p in places}


def winding(seconds: float = 30.0, dt: float = 0.05, tilt: float = 0.2, phase: float = 0.0):
    """Time, left and right rates and attitude of a drive that turns both ways and climbs and leans both ways."""
    t = dt * np.arange(round(seconds / dt) + 1)
    left = 4.0 + 2.0 * np.sin(0.7 * t + phase) + 1.5 * np.sin(2.3 * t + 2.0 * phase)
    right = 4.0 + 2.0 * np.cos(1.1 * t + phase)
    attitude = tilt * np.stack([np.sin(0.9 * t + 3.0 * phase), 0.8 * np.cos(1.3 * t + phase)], axis=1)
    return t, left, right, attitude


def winding_log(motion: MotionModel, *, seed: int | None = None, poses_every: int = 1, **shape) -> Log:
    """The log of a skid-steered motion model along a winding drive."""
    t, left, right, attitude = winding(**shape)
    rates = side_rates(motion.vehicle, left, right)
    return log_of_motion(motion, t, rates, attitude=attitude, seed=seed, poses_every=poses_every)


def tricycle_log(motion: MotionModel, *, seed: int | None = None, seconds: float = 30.0, dt: float = 0.05) -> Log:
    """The log of a tricycle that steers both ways."""
    t = dt * np.arange(round(seconds / dt) + 1)
    steer = 0.5 * np.sin(0.8 * t) + 0.2 * np.sin(2.1 * t)
    rates = {"drive": 12.0 + 3.0 * np.sin(0.5 * t)}
    return log_of_motion(motion, t, rates, angles={"steer": steer}, seed=seed)


def problem_of(log: Log, motion: MotionModel, *, interval: float | None = 2.0, every: int = 1, **options) -> LogProblem:
    """The log cut into intervals; of every second one, none shares a pose with another."""
    cut: Intervals = cut_log(log, motion, interval=interval)
    return LogProblem(log, motion, cut.only(slice(None, None, every)), **options)


def repeated(motion: MotionModel, copies: int, *, seed: int, seconds: float = 2.0, dt: float = 0.05, **inputs) -> Log:
    """The same short drive many times over, each a segment, each with noise of its own; `inputs` as of one sample."""
    n = round(seconds / dt) + 1
    t = np.tile(dt * np.arange(n), copies)
    rates = side_rates(motion.vehicle, *(np.full(len(t), inputs[s]) for s in ("left", "right")))
    attitude = np.tile(inputs.get("attitude", (0.0, 0.0)), (len(t), 1)).astype(np.float64)
    segment = np.repeat(np.arange(copies), n)
    return log_of_motion(motion, t, rates, attitude=attitude, segment=segment, seed=seed)


DIFFERENTIAL = TRICYCLE.with_name("differential-vehicle.toml")


@cache
def differential() -> gr.Vehicle:
    """Two driven wheels and a caster: its turn rate tells the track, which that of a skid-steered one hardly does."""
    return gr.vehicle(DIFFERENTIAL)


def differential_log(motion: MotionModel, *, seed: int | None = None, seconds: float = 20.0, dt: float = 0.05) -> Log:
    """The log of a differential drive that turns both ways."""
    t, left, right, _ = winding(seconds, dt)
    return log_of_motion(motion, t, {"left": 2.0 * left, "right": 2.0 * right}, seed=seed)
