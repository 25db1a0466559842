"""Settings of the chain from the table [robot] of a manifest."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.fusion.settings import FusionSettings
from grouser.logs.events import Event, roles_of
from grouser.logs.log import Log
from grouser.logs.manifest import Manifest, load_manifest
from grouser.logs.mounts import Mounts, mounts_of
from grouser.logs.robot_table import Gps
from grouser.logs.stream import ImuNoise
from grouser.motion.fit import Fit
from grouser.motion.model import MotionModel
from grouser.odometry.inputs import EncoderNoise
from grouser.robot.settings import RobotSettings

GYRO_SCALE = 0.005
"""One sigma of the scale factor of a small MEMS gyro, as a share."""
FEW_SAMPLES = 3.0
"""Periods of the IMU or of the joints without a sample that are no fault yet."""
WAIT = 2.0
"""Time after the first fix [s] in which a heading is waited for."""


def settings_of(
    manifest: Manifest, mounts: Mounts, model: object, *, log: Log | None = None, imu: ImuNoise | None = None,
    start: tuple[float, float] | None = None,
) -> RobotSettings:  # fmt: skip
    """Settings by a manifest. model: a fit or its motion model, whose process noise includes the encoders, or other.

    log: gives the joints that are measured and their period. imu: noise of the IMU as a
    log shows it; the settings of the manifest hold before it. start: one sigma of the first
    position [m] and yaw [rad]; None: the start is the origin of the world.
    """
    table = manifest.robot
    fusion: dict[str, Any] = {
        "gyro_scale": GYRO_SCALE,
        "imu_position": tuple(mounts.imu.p_body_sensor.tolist()),
        "gps_position": tuple(mounts.antenna.p_body_sensor.tolist()),
    }
    if imu is not None:
        usual = FusionSettings()
        fusion |= {
            "rate": imu.rate,
            "gap": max(usual.gap, FEW_SAMPLES / imu.rate),
            "gyro_noise": max(usual.gyro_noise, imu.gyro),
            "acceleration_noise": max(usual.acceleration_noise, imu.acceleration),
        }
    if start is not None:
        fusion |= {"start_noise": start}
    fusion |= table.settings(FusionSettings, manifest.file)
    noise: dict[str, float] = {"rate": 0.0} if isinstance(model, MotionModel | Fit) else {}
    odometry: dict[str, Any] = {}
    if log is not None:
        noise |= {"attitude": log.sensor.attitude_noise, "period": max(log.report.period, 1e-3)}
        odometry = {"measured": list(log.rates), "gap": max(0.25, FEW_SAMPLES * log.report.period)}
    visual: dict[str, Any] = (
        {} if table.visual is None or table.visual.noise is None else {"visual": tuple(table.visual.noise)}
    )
    return RobotSettings(
        fusion=FusionSettings(**fusion), noise=EncoderNoise(**noise), odometry=odometry, delay=table.delay, **visual
    )


def live_settings(manifest: str | os.PathLike[str] | Manifest, model: object) -> RobotSettings:
    """Settings for signals that are yet to come: places of sensors by the manifest alone, noise of the IMU as usual.

    With GPS the world is east and north of the datum, so the first yaw is not known. The first position is the origin
    up to the noise of a fix: the datum is the first fix, or the robot starts near that of the manifest.
    """
    given = load_manifest(manifest)
    has_gps = roles_of(given).gps is not None
    start = (max((given.robot.gps or Gps()).noise[:2]), math.pi) if has_gps else None
    return settings_of(given, mounts_of(given), model, start=start)


def start_of(events: Iterable[Event], antenna: FloatArray) -> tuple[FloatArray, float, tuple[float, float]] | None:
    """Position [m] of the body, yaw [rad] and one sigma of both at the first GPS fix; None where there is none.

    antenna: on the body [m]. Without a heading the yaw is not known: 0 with a sigma of π, and the body is somewhere
    around its antenna.
    """
    fix: Event | None = None
    heading: Event | None = None
    for event in events:
        if fix is not None and event.arrived > fix.arrived + WAIT:
            break
        if event.kind == "gps" and fix is None:
            fix = event
        elif event.kind == "heading" and heading is None:
            heading = event
        if fix is not None and heading is not None:
            break
    if fix is None:
        return None
    place, covariance = fix.values
    position = np.array([*place, 0.0][:3])
    variance, (x, y, z) = float(max(covariance.diagonal())), antenna.tolist()
    position[2] -= z
    if heading is None:
        return position, 0.0, (math.hypot(x, y, variance**0.5), math.pi)
    yaw, sigma = heading.values
    position[:2] -= (math.cos(yaw) * x - math.sin(yaw) * y, math.sin(yaw) * x + math.cos(yaw) * y)
    return position, yaw, (math.hypot(sigma * math.hypot(x, y), variance**0.5), sigma)
