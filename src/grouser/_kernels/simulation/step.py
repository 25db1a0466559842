"""One step of motion, in the order it happens."""

from typing import NamedTuple

import numpy as np

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import copy
from grouser._kernels.contact.geometry import find_contacts
from grouser._kernels.group import correct_slope, move
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.kinematics.velocity import constrained_velocity
from grouser._kernels.simulation.drive import command
from grouser._kernels.terrain.soils import find_soils
from grouser._kernels.vehicles.frames import pose_frames

OK = 0
OFF_TERRAIN = 1
ROLLED_OVER = 2
DIVERGED = 3
UNSOLVED = 4
TOO_SHARP = 5
"""The ground bends towards a rolling wheel more sharply than its tyre: it cannot touch at one point."""
GAINED_ENERGY = 6
"""A rollout of dynamics has more energy than it was given (`energy.py`)."""
BURIED = 7
"""A wheel stays wholly in the ground (`contact/face.py`)."""
INTERRUPTED = 8
"""Another thread set `Batch.halt`."""


class Function(NamedTuple):
    """A law and its parameters: the address of each."""

    address: int
    par: int


@inlined
def is_finite(values):
    """Whether no entry is NaN or infinite."""
    total = 0.0
    for i in range(values.size):
        total += abs(values[i])
    return total < np.inf


@kernel
def kinematic_velocity(vehicle, model, ground, drive, t, q, s):
    """Joint-space velocity at state q into s.v; returns a status and whether the solution was rank deficient."""
    pose_frames(vehicle, q, s)
    if not find_contacts(vehicle, ground, s):
        return OFF_TERRAIN, False
    find_soils(ground, model.soil_slip.shape[0], s, vehicle.wheel.size)
    if s.R_world_body[2, 2] < model.tip_cosine:
        return ROLLED_OVER, False
    wheel_jacobians(vehicle, s)
    command(drive, t, q, s)
    for a in range(vehicle.actuated.size):
        s.v[6 + vehicle.actuated[a]] = s.command[a]
    rank = constrained_velocity(vehicle, model, q, s)
    return OK if is_finite(s.v) else DIVERGED, rank < model.counts[1]


@kernel
def euler_step(q, dt, s):
    """q moves with s.v for dt, T (2.39) on the group."""
    move(q, s.v, dt, q)


@kernel
def runge_kutta_step(vehicle, model, ground, drive, t, q, dt, s):
    """q moves by the classical fourth-order step; s.v holds the velocity at q. Commands are those of time t.

    Ends with the status of its stages; s.v is left as the mean velocity of the step.
    """
    k = s.stage
    copy(s.v, k[0])
    for stage in range(1, 4):
        h = dt if stage == 3 else 0.5 * dt
        move(q, k[stage - 1], h, s.q_stage)
        status, _ = kinematic_velocity(vehicle, model, ground, drive, t, s.q_stage, s)
        if status != OK:
            return status
        correct_slope(k[stage - 1], h, s.v, k[stage], s.twists)
    for i in range(s.v.size):
        s.v[i] = (k[0, i] + 2.0 * (k[1, i] + k[2, i]) + k[3, i]) / 6.0
    move(q, s.v, dt, q)
    return OK
