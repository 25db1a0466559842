"""What the Gymnasium environment shows of a state: the goal, the attitude and the ground as the vehicle faces them.

To the bit what `rotation.py` and NumPy make of a state, so without fast-math.
"""

import math
from typing import NamedTuple

from numpy import ndarray

from grouser._compile.jit import exact_entry, exact_kernel
from grouser._compile.struct import Struct, array, indices
from grouser._kernels.law import call_law


class Look(Struct):
    """Where an environment looks."""

    goal = array(2)  # x, y in the world [m]
    ahead = array("nh")  # offsets of the heights along the heading [m]
    left = array("nh")  # and across it
    shown = indices("ns")  # joints that are seen
    limits = array(4)  # goal, attitude, velocity with joints, and heights are clipped to these
    work = array(2, 3)


class Seen(NamedTuple):
    """What is seen, float32."""

    goal: ndarray
    attitude: ndarray
    velocity: ndarray
    joints: ndarray
    heights: ndarray


@exact_kernel
def within(value, most):
    """A value clipped to ±most; NaN stays."""
    if value > most:
        return most
    if value < -most:
        return -most
    return value


@exact_entry
def observe(ground, q, v, look, seen):
    """What is seen from state q with velocity v."""
    limits = look.limits
    largest = max(abs(q[0]), abs(q[1]), abs(q[2]), abs(q[3]))
    qw, qx, qy, qz = q[0] / largest, q[1] / largest, q[2] / largest, q[3] / largest
    size = math.sqrt(qw * qw + qx * qx + qy * qy + qz * qz)
    qw, qx, qy, qz = qw / size, qx / size, qy / size, qz / size
    # roll, pitch and yaw as `rotation.to_rpy`, from the entries R_ij of the matrix
    R_22 = 1.0 - 2.0 * (qx * qx + qy * qy)
    R_21 = 2.0 * (qy * qz + qw * qx)
    roll = math.atan2(R_21, R_22)
    R_00 = 1.0 - 2.0 * (qy * qy + qz * qz)
    R_10 = 2.0 * (qx * qy + qw * qz)
    pitch = math.atan2(-2.0 * (qx * qz - qw * qy), math.hypot(R_00, R_10))
    sr, cr = math.sin(roll), math.cos(roll)
    R_01, R_02 = 2.0 * (qx * qy - qw * qz), 2.0 * (qx * qz + qw * qy)
    R_11, R_12 = 1.0 - 2.0 * (qx * qx + qz * qz), 2.0 * (qy * qz - qw * qx)
    yaw = math.atan2(sr * R_02 - cr * R_01, cr * R_11 - sr * R_12)
    c, s = math.cos(yaw), math.sin(yaw)
    dx, dy = look.goal[0] - q[4], look.goal[1] - q[5]
    seen.goal[0] = within(c * dx + s * dy, limits[0])
    seen.goal[1] = within(c * dy - s * dx, limits[0])
    seen.attitude[0] = within(roll, limits[1])
    seen.attitude[1] = within(pitch, limits[1])
    for i in range(v.size):
        seen.velocity[i] = within(v[i], limits[2])
    for i in range(look.shown.size):
        seen.joints[i] = within(q[7 + look.shown[i]], limits[2])
    point, found = look.work[0], look.work[1]
    ahead, left = look.ahead, look.left
    for i in range(ahead.size):
        point[0] = q[4] + c * ahead[i] - s * left[i]
        point[1] = q[5] + s * ahead[i] + c * left[i]
        call_law(ground.address, ground.par, point, found, found)
        seen.heights[i] = within(found[0] - q[6], limits[3]) if math.isfinite(found[0]) else -limits[3]
