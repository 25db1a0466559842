"""Motions whose IMU readings are known exactly, and a filter fed with them."""

import numpy as np

from experiments.true_path import TruePath
from grouser import rotation
from grouser.fusion.filter import Fusion, FusionSettings

QUIET = {
    "gyro_noise": 1e-6,
    "acceleration_noise": 1e-6,
    "gyro_walk": 1e-9,
    "acceleration_walk": 1e-9,
}
"""An IMU with next to no noise."""
NOTHING = np.zeros(6)


def wavy_path(seconds=20.0, rest=2.0):
    """Stands, then drives a curve while it rolls and pitches, smoothly."""
    t = np.arange(0.0, seconds + 0.005, 0.01)
    s = np.maximum(t - rest, 0.0)
    grow = s**4 / (s**4 + 2.0)  # four derivatives are continuous at the start
    position = np.stack([0.5 * s * grow, 0.8 * np.sin(0.4 * s) * grow, 0.1 * np.sin(0.9 * s) * grow], axis=1)
    roll, pitch, yaw = 0.1 * np.sin(0.7 * s) * grow, 0.15 * np.sin(0.5 * s) * grow, 0.6 * np.sin(0.25 * s) * grow
    return TruePath(t, position, rotation.to_quaternion(rotation.from_rpy(roll, pitch, yaw)))


def feed_imu(fusion, path, times, *, place=(0.0, 0.0, 0.0), bias=NOTHING, noise=NOTHING, random=None):
    """IMU samples along a path; noise: one sigma of each of the six."""
    gyro, force = path.rate(times), path.specific_force(times, place)
    for t, w, f in zip(times, gyro, force, strict=True):
        extra = bias + (noise * random.standard_normal(6) if random is not None else 0.0)
        fusion.imu(t, w + extra[:3], f + extra[3:])


def standing(seconds=2.0, **settings):
    """A filter that stood level for a while, without faults."""
    fusion = Fusion(FusionSettings(**settings))
    for t in np.arange(0.0, seconds + 1e-9, 0.01):
        fusion.imu(t, np.zeros(3), np.array([0.0, 0.0, 9.81]))
        fusion.wheels(t, np.zeros(6), 1e-6 * np.eye(6))
    return fusion
