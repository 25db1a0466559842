"""Force on the body per mass in the driving plane, which slip depends on: L (5.11) from the IMU, (5.12) quasi-static.

Sign: gravity less acceleration, so f_z < 0 on a vehicle that stands upright, f_x < 0 uphill, and f_y/f_z > 0 with its
left side up. The driving plane is that of the wheels: with bogies it is turned from the body by their mean angle. L
averages the two rotation matrices, which shortens what they turn; here the mean angle is turned by.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.constants import GRAVITY
from grouser.checks import FloatArray


def imu_force(acceleration: ArrayLike, *, bogies: tuple[float, float] = (0.0, 0.0)) -> FloatArray:
    """Force per mass (3,) [m/s²] from an accelerometer's reading (3,) in body axes, L (5.11).

    Accelerometers read specific force, +9.81 m/s² upwards at rest, so the force is minus the reading. bogies: angles of
    front and rear about the body's x axis [rad]; zero without bogies.
    """
    return _in_plane(-checks.array(acceleration, "acceleration", (3,)), bogies)


def quasi_static_force(
    attitude: ArrayLike,
    velocity: ArrayLike = (0.0, 0.0, 0.0),
    omega: ArrayLike = (0.0, 0.0, 0.0),
    *,
    bogies: tuple[float, float] = (0.0, 0.0),
    gravity: float = GRAVITY,
) -> FloatArray:
    """Force per mass (3,) [m/s²], g − ω × v in body axes, L (5.12): much less noisy than the IMU's.

    attitude: (roll, pitch) [rad], pitch nose down; velocity [m/s] and omega [rad/s] of the body, those of the odometry.
    """
    roll, pitch = checks.array(attitude, "attitude", (2,))
    v, w = checks.array(velocity, "velocity", (3,)), checks.array(omega, "omega", (3,))
    g = checks.positive(gravity, "gravity")
    # Third row of R_world_body: world z in body axes.
    up = np.array([-math.sin(pitch), math.cos(pitch) * math.sin(roll), math.cos(pitch) * math.cos(roll)])
    return _in_plane(-g * up - np.cross(w, v), bogies)


def _in_plane(force: FloatArray, bogies: tuple[float, float]) -> FloatArray:
    """R_x((ρ_F + ρ_R)/2)ᵀ f."""
    front, rear = checks.array(bogies, "bogies", (2,))
    mean = 0.5 * (front + rear)
    c, s = math.cos(mean), math.sin(mean)
    return np.array([force[0], c * force[1] + s * force[2], c * force[2] - s * force[1]])
