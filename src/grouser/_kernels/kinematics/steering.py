"""Inverse kinematics on level ground: each wheel rolls along its heading, each steering joint finds it.

A velocity is (forward, left [m/s], turn [rad/s]) of the drive point.
"""

import math

import numpy as np

from grouser._compile.jit import exact_entry, exact_kernel
from grouser._compile.lanes import both, where
from grouser._compile.struct import Struct, array, indices
from grouser._kernels.vehicles.frames import turn as turn_frame

ROUNDING = 1e-9
"""Angle [rad] by which rounding may exceed a limit."""
STANDING = 1e-12
"""Speed [m/s] below which the direction of a pivot is not defined."""


class SteeringPlan(Struct):
    """What is known of a vehicle; frames are numbers, 0 is the body."""

    rest = array("nj")  # displacements the steering starts from
    R = array("nf", 3, 3)  # R_body_frame of each frame at rest
    p = array("nf", 3)  # its origin in body axes [m]
    reference = array(2)  # the drive point [m]
    joint = indices("ns")  # frame of each steering joint
    wheel = indices("ns")  # frame of the first wheel it carries
    moved = indices("ns")  # whether a joint before it moves that wheel
    trail = array("ns")  # how far that wheel stands ahead of the pivot [m]
    moving = indices("nm")  # frames that steering moves, parents first
    parent = indices("nm")  # their parents,
    axis = indices("nm")  # the kinds of their joints,
    rotation = array("nm", 3, 3)  # R_parent_frame
    offset = array("nm", 3)  # and p_parent_frame [m]
    driven = indices("na")  # frame of each actuated joint; of a motor that turns a wheel through a spring, the wheel's
    radius = array("na")  # [m] where it is a wheel, for a speed along its heading in the plane; else 0
    aside = array("na")  # speed per speed left of its heading: of rollers, that hold another direction than it
    steered = indices("na")  # frame of the steering joint that it turns or, as a wheel, steers by its speed; else −1
    gain = array("na")  # of that steering
    limit = array("na")
    angle = array("na")  # its largest angle to either side [rad]


@exact_kernel
def pose_moving(plan, joints, R, p):
    """R_body_frame and p_body_frame with steering joints turned, where anything moves."""
    for m in range(plan.moving.size):
        f = plan.moving[m]
        parent = plan.parent[m]
        axis = plan.axis[m]
        theta = joints[f - 1]
        for i in range(3):
            p[f, i] = p[parent, i]
            for k in range(3):
                p[f, i] += R[parent, i, k] * plan.offset[m, k]
                R[f, i, k] = 0.0
                for j in range(3):
                    R[f, i, k] += R[parent, i, j] * plan.rotation[m, j, k]
        if axis >= 3:
            for i in range(3):
                p[f, i] += R[f, i, axis - 3] * theta
        else:
            turn_frame(R, f, axis, theta)


@exact_kernel
def point_velocity(plan, velocity, point):
    """Velocity of a point of the body's plane."""
    v_x = velocity[0] - velocity[2] * (point[1] - plan.reference[1])
    v_y = velocity[1] + velocity[2] * (point[0] - plan.reference[0])
    return v_x, v_y


@exact_kernel
def nearest_way(direction, swing, sense, rest, present, most):
    """The steering angle nearest to the present one, within ±most, at which a wheel rolls along its path or against it.

    direction: of its pivot's velocity from its heading at rest. A wheel ahead of its pivot is turned further by the
    swing, so that it too rolls along its heading. The present angle where there is none.
    """
    best = present
    least = abs(present) + math.inf
    for full_turns in (0.0, -2.0 * math.pi, 2.0 * math.pi):
        for backwards in range(2):
            change = direction - math.copysign(math.pi, direction) - swing if backwards else direction + swing
            angle = rest + sense * (change + full_turns)
            away = abs(angle - present)
            nearer = both(abs(angle) <= most + ROUNDING, away < least)
            least = where(nearer, away, least)
            best = where(nearer, angle, best)
    return where(least < math.inf, min(max(best, -most), most), present)


@exact_kernel
def find_angles(plan, velocity, present, most, hold, joints, R, p):
    """Pose the vehicle with every steering joint turned to where its wheel rolls along; joints (nj,) has the angles.

    present, most (ns,): angles now and the largest to either side. Angles are held where a pivot is slower than hold.
    """
    for j in range(joints.size):
        joints[j] = plan.rest[j]
    for f in range(p.shape[0]):
        for i in range(3):
            p[f, i] = plan.p[f, i]
            for k in range(3):
                R[f, i, k] = plan.R[f, i, k]
    for n in range(plan.joint.size):
        f = plan.joint[n]
        wheel = plan.wheel[n]
        if plan.moved[n]:
            pose_moving(plan, joints, R, p)
        v_x, v_y = point_velocity(plan, velocity, p[f])
        speed = math.sqrt(v_x * v_x + v_y * v_y)
        # where a wheel rolls to, in the plane: its axle × up
        h_x = R[wheel, 1, 1]
        h_y = 0.0 - R[wheel, 0, 1]
        direction = math.atan2(h_x * v_y - h_y * v_x, v_x * h_x + v_y * h_y)
        swing = math.asin(min(max(velocity[2] * plan.trail[n] / max(speed, STANDING), -1.0), 1.0))
        sense = where(R[f, 2, 2] >= 0.0, 1.0, -1.0)
        turned = nearest_way(direction, swing, sense, plan.rest[f - 1], present[n], most[n])
        joints[f - 1] = where(speed < hold, present[n], turned)
    pose_moving(plan, joints, R, p)


@exact_kernel
def wheel_rate(plan, velocity, a, R, p):
    """Rate [rad/s] of actuated joint a: of a wheel the part of its velocity along its heading, else zero.

    Rollers hold h = (h_x, h_y): h · v = h_x R ω, so R ω = v_ahead + v_left h_y/h_x.
    """
    if plan.radius[a] == 0.0:
        return 0.0
    f = plan.driven[a]
    v_x, v_y = point_velocity(plan, velocity, p[f])
    ahead = v_x * R[f, 1, 1] - v_y * R[f, 0, 1]
    if plan.aside[a] != 0.0:
        ahead += plan.aside[a] * (v_x * R[f, 0, 1] + v_y * R[f, 1, 1])
    return ahead / plan.radius[a]


@exact_entry
def steer(plan, velocity, present, most, hold, angles, rates):
    """Steering angles (ns,) and rates (na,) of the actuated joints for a velocity; see `find_angles`."""
    joints, R, p = np.empty_like(plan.rest), np.empty_like(plan.R), np.empty_like(plan.p)
    find_angles(plan, velocity, present, most, hold, joints, R, p)
    for n in range(angles.size):
        angles[n] = joints[plan.joint[n] - 1]
    for a in range(rates.size):
        rates[a] = wheel_rate(plan, velocity, a, R, p)


@exact_entry
def roll_along(plan, velocity, angles, rates):
    """Rates (na,) of the actuated joints for a velocity at given steering angles (ns,); across, the wheels slip."""
    joints, R, p = plan.rest.copy(), plan.R.copy(), plan.p.copy()
    for n in range(angles.size):
        joints[plan.joint[n] - 1] = angles[n]
    pose_moving(plan, joints, R, p)
    for a in range(rates.size):
        rates[a] = wheel_rate(plan, velocity, a, R, p)


@exact_kernel
def find_level_angles(plan, velocity, present, most, joints, R, p):
    """As `find_angles`, of the angles nearest to rest, however large; present and most are work space."""
    for n in range(plan.joint.size):
        present[n] = plan.rest[plan.joint[n] - 1]
        most[n] = math.inf
    find_angles(plan, velocity, present, most, STANDING, joints, R, p)


@exact_kernel
def angle_feedback(plan, a, joints, R, p):
    """Gain, target and limit of the feedback of actuated joint a on the angle of the joint that it steers."""
    steered = plan.steered[a]
    gain = plan.gain[a]
    limit = plan.limit[a]
    if plan.radius[a] > 0.0:
        f = plan.driven[a]
        side = math.copysign(1.0, p[f, 1] - p[steered, 1]) * math.copysign(1.0, R[steered, 2, 2])
        sense = math.copysign(1.0, R[f, 1, 1] * R[steered, 0, 0] - R[f, 0, 1] * R[steered, 1, 0])
        gain = -side * sense * gain / plan.radius[a]
        limit = limit / plan.radius[a]
    return gain, min(max(joints[steered - 1], -plan.angle[a]), plan.angle[a]), limit


@exact_entry
def level_motion(plan, velocity, out):
    """Per actuated joint (rate, gain, joint, target, limit) into out (na, 5): see `schedule` in `simulation/drive.py`.

    Steering joints turn to the angle nearest to rest, up to their largest. Passive ones are steered by the speeds of
    their wheels.
    """
    joints, R, p = np.empty_like(plan.rest), np.empty_like(plan.R), np.empty_like(plan.p)
    find_level_angles(plan, velocity, np.empty(plan.joint.size), np.empty(plan.joint.size), joints, R, p)
    for a in range(out.shape[0]):
        for i in range(5):
            out[a, i] = 0.0
        out[a, 0] = wheel_rate(plan, velocity, a, R, p)
        if plan.steered[a] >= 0:
            out[a, 1], out[a, 3], out[a, 4] = angle_feedback(plan, a, joints, R, p)
            out[a, 2] = plan.steered[a] - 1
