"""Actuation: the joint rates and steering angles for a wanted velocity of the body, T §2.2.5, L §2.1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.kinematics.velocity import NO_SLIP
from grouser.checks import FloatArray
from grouser.collision.contacts import evaluate
from grouser.collision.frames import frame_poses
from grouser.kinematics.inverse import wheels_beyond
from grouser.kinematics.model import Kinematics
from grouser.terrain import Terrain

MOST_ITERATIONS = 50


@dataclass(frozen=True)
class Actuation:
    """Motion of the joints for a wanted body velocity."""

    command: FloatArray
    """Rates of the actuated joints [rad/s or m/s], in the order of `vehicle.actuated`; steering joints stand still."""
    steering: dict[str, float]
    """Angle of each steering joint [rad], passive ones included."""
    velocity: FloatArray
    """The whole joint-space velocity [ω rad/s, v m/s, joint rates], shape (nv,)."""
    contact_velocity: FloatArray
    """Slip that remains at each wheel [m/s], shape (nw, 3); none if the vehicle can move as wanted."""
    converged: bool
    """Whether the steering angles settled."""


def actuate(
    model: Kinematics,
    state: ArrayLike,
    ground: Terrain | None = None,
    *,
    forward: float = 0.0,
    left: float = 0.0,
    turn: float = 0.0,
    angles: ArrayLike | None = None,
) -> Actuation:
    """Joint rates and steering for a velocity of the body frame: forward, left [m/s] and turn [rad/s].

    Skid-steer, Ackermann, all-wheel steering and crab motion are one problem: every steering joint turns until
    its wheels roll along their own heading, then T (2.37) gives the rates, with (v_x, v_y, ω_z) known. The rest
    of the body's velocity follows the ground. Steering joints hold their angle; wheels steered past ±90° roll
    backwards instead.
    """
    vehicle = checks.instance(model, Kinematics, "model", "use grouser.Kinematics(vehicle)").vehicle
    q = checks.array(state, "state", (7 + vehicle.n_joints,))
    v = np.zeros(6 + vehicle.n_joints)
    v[3], v[4], v[2] = (
        checks.number(value, name) for value, name in ((forward, "forward"), (left, "left"), (turn, "turn"))
    )
    joints = [vehicle.joint_index(s.joint) for s in vehicle.steering]
    known = [2, 3, 4, *(6 + j for j in joints)]
    arrays = model.arrays(known=known, springs=True).replace(slip_mode=NO_SLIP, slip_address=0, slip_par=0)
    # While wheels still stand askew their slip must not tilt the body: it only follows the ground and the couplings,
    # whose rows are those that have a gain.
    held = np.concatenate([np.ones(3 * vehicle.n_wheels), arrays.suspension.weight])
    following = arrays.replace(weight=np.where(arrays.gain > 0.0, held, 0.0))
    downstream = [wheels_beyond(vehicle, s.joint) for s in vehicle.steering]
    spin = 5 + vehicle.arrays.leader
    converged = False
    solution = v
    for _ in range(MOST_ITERATIONS):
        contacts, _, solution, _ = evaluate(vehicle, following, q, ground, angles, v)
        R_world_frame, largest = frame_poses(vehicle, q)[0], 0.0
        for joint, wheels in zip(joints, downstream, strict=True):
            rolling = solution.copy()
            rolling[spin] = 0.0
            ahead, across = (contacts.jacobian[wheels, :2] @ rolling).sum(axis=0)
            if math.hypot(ahead, across) < 1e-12:
                continue  # a wheel that stands still may point anywhere
            change = math.atan2(across, ahead)
            change -= math.pi * round(change / math.pi)
            # A positive turn of a joint whose axis points up turns its wheels to the left of their heading.
            up = float(R_world_frame[joint + 1][:, 2] @ contacts.rotation[wheels[0]][:, 2])
            q[7 + joint] += change if up >= 0.0 else -change
            largest = max(largest, abs(change))
        if largest < 1e-11:
            converged = True
            break
    for joint in joints:
        q[7 + joint] -= 2.0 * math.pi * round(q[7 + joint] / (2.0 * math.pi))
    contacts, _, solution, _ = evaluate(vehicle, arrays, q, ground, angles, v)
    return Actuation(
        command=solution[6 + vehicle.arrays.actuated],
        steering={s.joint: float(q[7 + j]) for s, j in zip(vehicle.steering, joints, strict=True)},
        velocity=solution,
        contact_velocity=contacts.jacobian @ solution,
        converged=converged,
    )
