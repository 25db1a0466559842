"""Consistency of the fusion filter on board: NEES over Monte Carlo runs of situations in which it was wrong once.

The truth is of `on_board_truth.py`, which shares no code with the filter. NEES is that of the pose, δᵀ P⁻¹ δ / 6 with
T_true = T Exp(δ), or of parameters, averaged over runs at several times; 1 is consistent.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from experiments.on_board_truth import RandomSlip, Readings, Truth, drive, sense, slide
from grouser.checks import FloatArray
from grouser.fusion import Fusion, FusionEstimate, FusionSettings
from grouser.motion.consistency import nees_band

LEVER = np.array([0.1, 0.05, 0.1])  # m: IMU
ANTENNA = np.array([-0.2, 0.1, 0.5])  # m
WHEEL_NOISE = np.array([1e-2, 1e-2, 1e-2])  # yaw rate [rad/s], forward, left [m/s]
FRAME = 0.1  # s between images
VISUAL_DELAY = 0.2  # s
LASTING = (0.03, 0.01, 0.02)  # sigma of lasting slip: forward, left [-], yaw [rad/m]
PARAMETER_SIGMA = np.array([0.1, 0.1, 0.3])  # of the three parameters of the odometry in `gps_learns_slip`

Row = dict[str, Any]


@dataclass(eq=False)
class Run:
    """One simulated drive and the filter on it."""

    truth: Truth
    readings: Readings
    random: np.random.Generator
    fusion: Fusion
    wheels: Callable[[float], float] | None = lambda _: 1.0
    """Factor of the forward speed that the wheels measure at a time; None without wheels."""
    images: Callable[[float], bool] = lambda _: True
    gps: float = 0.0
    """Sigma of GPS positions [m], one per second; 0: none."""
    parameters: FloatArray | None = None
    """True values of slip parameters."""

    def go(self, times: Sequence[float]) -> list[FusionEstimate | None]:
        """Feed the sensors in the order in which they arrive; estimates at some times [s]."""
        r, kept, due = self.readings, [], list(times)
        slip, lasting = RandomSlip(self.random), np.array(LASTING) * self.random.standard_normal(3)
        if self.parameters is not None:
            lasting[:] = 0.0
        frames = np.arange(0.0, r.time[-1], FRAME)
        R, p = self.truth.rotation(frames), self.truth.position(frames)
        antenna = self.truth.position(r.time) + self.truth.rotation(r.time).apply(ANTENNA)
        sent = 1
        for k, t in enumerate(r.time):
            self.fusion.imu(t, r.gyro[k], r.acceleration[k])
            if self.wheels is not None:
                speed = math.hypot(*r.velocity[k, :2], 0.5 * r.rate[k, 2])
                self._wheels(k, speed, slip.move(speed * 0.01) + lasting, self.wheels(t))
            if sent < len(frames) and t >= frames[sent] + VISUAL_DELAY - 1e-9:
                if self.images(frames[sent]):
                    self._image(
                        frames[sent - 1 : sent + 1],
                        R[sent - 1].inv() * R[sent],
                        R[sent - 1].inv().apply(p[sent] - p[sent - 1]),
                    )
                sent += 1
            if self.gps and k % 100 == 50:
                at = antenna[k] + self.gps * self.random.standard_normal(3)
                self.fusion.gps(t, at, self.gps**2 * np.eye(3))
            if due and t >= due[0] - 1e-9:
                kept.append(self.fusion.estimate)
                due.pop(0)
        return kept

    def _wheels(self, k: int, speed: float, slip: FloatArray, factor: float) -> None:
        """v_wheels = v − u s − D p, with noise while they turn."""
        r, noise = self.readings, WHEEL_NOISE * self.random.standard_normal(3) * (speed > 1e-3)
        twist, slopes = np.zeros(6), None
        twist[2] = r.rate[k, 2] - speed * slip[2] + noise[0]
        twist[3] = factor * (r.velocity[k, 0] - speed * slip[0]) + noise[1]
        twist[4] = r.velocity[k, 1] - speed * slip[1] + noise[2]
        if self.parameters is not None:
            slopes = np.zeros((6, 3))
            slopes[3, 0], slopes[2, 1] = r.velocity[k, 0], r.rate[k, 2]
            slopes[3, 2] = r.velocity[k, 0] * r.acceleration[k, 0] / 9.81
            twist -= slopes @ self.parameters
        if speed < 1e-3 or factor == 0.0:
            twist[:] = 0.0
        self.fusion.wheels(r.time[k], twist, np.diag([1e-6, 1e-6, *WHEEL_NOISE**2, 1e-4]), slopes=slopes)

    def _image(self, frames: FloatArray, turn: Rotation, way: FloatArray) -> None:
        sigma = math.hypot(0.002, 0.03 * float(np.linalg.norm(way)))
        noise = self.random.standard_normal(6)
        seen = turn * Rotation.from_rotvec(1e-3 * noise[:3])
        place = way + turn.apply(sigma * noise[3:])
        q = seen.as_quat()[[3, 0, 1, 2]]
        self.fusion.relative_pose(frames[0], frames[1], place, q, np.diag([1e-6] * 3 + [sigma**2] * 3))


def nees(estimate: FusionEstimate, truth: Truth) -> float:
    """δᵀ P⁻¹ δ / 6 of the pose."""
    R = Rotation.from_quat(estimate.quaternion[[1, 2, 3, 0]])
    theta = (R.inv() * truth.rotation(np.array([estimate.time]))[0]).as_rotvec()
    rho = R.inv().apply(truth.position(estimate.time) - estimate.position)
    # ρ = J⁻¹ Rᵀ (p_true − p) with J = ∫₀¹ exp(s [θ]×) ds, here by the midpoints of many steps
    J = np.mean([Rotation.from_rotvec(s * theta).as_matrix() for s in (np.arange(50) + 0.5) / 50.0], axis=0)
    delta = np.concatenate([theta, np.linalg.solve(J, rho)])
    return float(delta @ np.linalg.solve(estimate.pose_covariance, delta)) / 6.0


def _settings(**changes: Any) -> FusionSettings:
    return FusionSettings(imu_position=tuple(LEVER), gps_position=tuple(ANTENNA), lasting_slip=LASTING, **changes)


def moving_start(seed: int, *, wheels: bool = True, images: bool = True) -> list[float]:
    """It drives at the first sample already."""
    random = np.random.default_rng(seed)
    truth = drive(16.0, random, rest=-5.0, speed=float(random.uniform(0.2, 1.2)))
    fusion = Fusion(_settings(), position=truth.position(0.0), yaw=_yaw(truth))
    run = Run(truth, sense(truth, 16.0, random, LEVER), random, fusion, images=lambda _: images)
    if not wheels:
        run.wheels = None
    return [nees(e, truth) for e in run.go([1.2, 3.0, 6.0, 15.0]) if e is not None]


def slow_slide(seed: int) -> list[float]:
    """It slides down a slope with locked wheels at 0.7 to 5 cm/s, from 8 s on.

    A sum of poses of 2 mm each 0.1 s shows a velocity v with six sigmas after 0.1 s (6 · 0.02 m/s / v)²: from 0.6 s to
    30 s. Until then the slide is not observable; NEES is taken before it, and after three times that.
    """
    random = np.random.default_rng(seed)
    speed, start = random.choice([-1.0, 1.0]) * random.uniform(0.007, 0.05), 8.0
    acceleration = math.exp(random.uniform(math.log(0.005), math.log(0.1)))
    seen = start + abs(speed) / acceleration + 0.3 * (0.12 / speed) ** 2 + 2.0
    end = seen + 21.0
    truth = slide(end, start, speed, acceleration, math.copysign(random.uniform(0.1, 0.3), speed))
    run = Run(truth, sense(truth, end, random, LEVER), random, Fusion(_settings()), wheels=lambda _: 0.0)
    return [nees(e, truth) for e in run.go([7.0, seen, seen + 10.0, seen + 20.0]) if e is not None]


def outage_and_wheel_fault(seed: int) -> list[float]:
    """No images from 12 to 22 s, and wheels that turn by half as fast again as the ground from 14 to 19 s."""
    random = np.random.default_rng(seed)
    truth = drive(32.0, random, speed=float(random.uniform(0.3, 0.6)))
    fusion = Fusion(_settings(), position=truth.position(0.0), yaw=_yaw(truth))
    run = Run(truth, sense(truth, 32.0, random, LEVER), random, fusion)
    run.images = lambda t: not 12.0 <= t <= 22.0
    run.wheels = lambda t: 1.5 if 14.0 <= t <= 19.0 else 1.0
    return [nees(e, truth) for e in run.go([11.0, 18.0, 21.0, 26.0, 31.0]) if e is not None]


def unknown_yaw(seed: int) -> list[float]:
    """GPS positions (1 m, once a second) and wheels; the yaw at the start is anything."""
    random = np.random.default_rng(seed)
    truth = drive(60.0, random, speed=float(random.uniform(0.5, 1.5)), yaw=float(random.uniform(-np.pi, np.pi)))
    start = truth.position(0.0) + 1.0 * random.standard_normal(3)
    fusion = Fusion(_settings(start_noise=(1.0, math.pi)), position=start, yaw=0.0)
    run = Run(truth, sense(truth, 60.0, random, LEVER), random, fusion, images=lambda _: False, gps=1.0)
    return [nees(e, truth) for e in run.go([20.0, 40.0, 59.0]) if e is not None]


def gps_learns_slip(seed: int) -> list[float]:
    """Three slip parameters of the odometry, 10 to 30 % uncertain, against GPS positions of 0.1 m; NEES of them."""
    random = np.random.default_rng(seed)
    truth = drive(60.0, random, speed=float(random.uniform(0.5, 1.5)))
    fusion = Fusion(_settings(), position=truth.position(0.0), yaw=_yaw(truth), parameters=np.diag(PARAMETER_SIGMA**2))
    run = Run(truth, sense(truth, 60.0, random, LEVER), random, fusion, images=lambda _: False, gps=0.1)
    run.parameters = PARAMETER_SIGMA * random.standard_normal(3)
    values = []
    for e in run.go([20.0, 59.0]):
        if e is not None:
            error = run.parameters - e.parameters
            values.append(float(error @ np.linalg.solve(e.parameter_covariance, error)) / 3.0)
    return values


SCENARIOS: dict[str, tuple[Callable[[int], list[float]], int]] = {
    "fusion: moving start": (moving_start, 6),
    "fusion: moving start, wheels only": (lambda seed: moving_start(seed, images=False), 6),
    "fusion: moving start, visual only": (lambda seed: moving_start(seed, wheels=False), 6),
    "fusion: slow slide": (slow_slide, 6),
    "fusion: outage and wheel fault": (outage_and_wheel_fault, 6),
    "fusion: GPS and wheels, yaw unknown": (unknown_yaw, 6),
    "fusion: GPS learns slip": (gps_learns_slip, 3),
}
"""Name → NEES of one run at several times by seed, degrees of freedom."""


def scenarios(quick: bool) -> list[Row]:
    """Rows of the table: mean NEES over runs and times; the band is that of independent runs at one time."""
    runs = 8 if quick else 24
    rows = []
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        for name, (scenario, degrees) in SCENARIOS.items():
            values = np.array([scenario(seed) for seed in range(runs)])
            low, high = nees_band(runs, degrees)
            mean = float(values.mean())
            rows.append({"name": name, "runs": runs, "nees": mean, "band": [low, high], "inside": low <= mean <= high})
    finally:
        logging.disable(level)
    return rows


def _yaw(truth: Truth) -> float:
    return float(truth.rotation(np.array([0.0]))[0].as_euler("ZYX")[0])
