"""Commands for a wanted motion on level ground: each wheel rolls along its heading, each steering joint finds it."""

import math

from grouser._compile.jit import exact_entry, exact_kernel
from grouser._compile.struct import Struct, array, indices
from grouser._kernels.vehicles.frames import turn as turn_frame


class SteeringPlan(Struct):
    """What is known of a vehicle; frames are numbers, 0 is the body."""

    rest = array("nj")  # displacements the steering starts from
    R = array("nf", 3, 3)  # R_body_frame of each frame at rest
    p = array("nf", 3)  # its origin in body axes [m]
    reference = array(2)  # the drive point [m]
    steered = indices("ns", 3)  # steering joint, the first wheel it carries, whether one before it moves that wheel
    moving = indices("nm", 3)  # frames that steering moves, parents first: frame, parent, joint
    rotation = array("nm", 3, 3)  # R_parent_frame of those
    offset = array("nm", 3)  # p_parent_frame of those [m]
    driven = indices("na", 3)  # each actuated joint's frame, whether it is a wheel, the joint it steers or −1
    numbers = array("na", 3)  # its radius [m] if it is a wheel, gain and limit of that steering


@exact_kernel
def pose_moving(plan, joints, R, p):
    """R_body_frame and p_body_frame with steering joints turned, where anything moves."""
    for m in range(plan.moving.shape[0]):
        f = plan.moving[m, 0]
        parent = plan.moving[m, 1]
        axis = plan.moving[m, 2]
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


@exact_entry
def level_motion(plan, forward, left, turn, joints, R, p, out):
    """Per actuated joint (rate, gain, joint, target, limit) into out (na, 5): see `schedule` in `drive.py`.

    They move the drive point forward and left while turning. joints (nj,), R (nf, 3, 3) and p (nf, 3) are work space.
    """
    for j in range(joints.size):
        joints[j] = plan.rest[j]
    for f in range(p.shape[0]):
        for i in range(3):
            p[f, i] = plan.p[f, i]
            for k in range(3):
                R[f, i, k] = plan.R[f, i, k]
    x = plan.reference[0]
    y = plan.reference[1]
    for n in range(plan.steered.shape[0]):
        f = plan.steered[n, 0]
        wheel = plan.steered[n, 1]
        if plan.steered[n, 2]:
            pose_moving(plan, joints, R, p)
        v_x = forward - turn * (p[f, 1] - y)
        v_y = left + turn * (p[f, 0] - x)
        if math.sqrt(v_x * v_x + v_y * v_y) < 1e-12:
            continue
        # where a wheel rolls to, in the plan: its axle × up
        h_x = R[wheel, 1, 1]
        h_y = 0.0 - R[wheel, 0, 1]
        change = math.atan2(h_x * v_y - h_y * v_x, v_x * h_x + v_y * h_y)
        if abs(change) > 0.5 * math.pi:  # beyond ±90° the wheel rolls backwards instead
            change -= math.copysign(math.pi, change)
        joints[f - 1] += change if R[f, 2, 2] >= 0.0 else -change
    pose_moving(plan, joints, R, p)
    for a in range(out.shape[0]):
        f = plan.driven[a, 0]
        steered = plan.driven[a, 2]
        radius = plan.numbers[a, 0]
        gain = plan.numbers[a, 1]
        limit = plan.numbers[a, 2]
        for i in range(5):
            out[a, i] = 0.0
        if plan.driven[a, 1]:
            h_x = R[f, 1, 1]
            h_y = 0.0 - R[f, 0, 1]
            v_x = forward - turn * (p[f, 1] - y)
            v_y = left + turn * (p[f, 0] - x)
            out[a, 0] = (v_x * h_x + v_y * h_y) / radius
            if steered >= 0:
                side = math.copysign(1.0, p[f, 1] - p[steered, 1]) * math.copysign(1.0, R[steered, 2, 2])
                sense = math.copysign(1.0, h_x * R[steered, 0, 0] + h_y * R[steered, 1, 0])
                gain = -side * sense * gain / radius
                limit = limit / radius
        if steered >= 0:
            out[a, 1] = gain
            out[a, 2] = steered - 1
            out[a, 3] = joints[steered - 1]
            out[a, 4] = limit
