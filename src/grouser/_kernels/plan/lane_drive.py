"""From wanted body velocities to joint rates, of eight rollouts at once: as `drive.py` and `kinematics/steering.py`."""

import math

from grouser._compile.jit import inlined, kernel
from grouser._compile.lanes import where
from grouser._kernels.kinematics.steering import STANDING, point_velocity, pose_moving, wheel_rate
from grouser._kernels.lanes import arctangent2
from grouser._kernels.plan.drive import follow_command


@inlined
def limit_lanes(driving, wanted, before, dt, command):
    """As `limit_command`."""
    for i in range(3):
        step = driving.change[i] * dt
        low = max(driving.least[i], before[i] - step)
        high = min(driving.most[i], before[i] + step)
        back = min(max(before[i], driving.least[i]), driving.most[i])
        back = min(max(back, before[i] - step), before[i] + step)
        apart = low > high  # the command before is out of bounds: return towards them
        command[i] = min(max(wanted[i], where(apart, back, low)), where(apart, back, high))
    if driving.curvature < math.inf:
        turn = driving.curvature * math.sqrt(command[0] * command[0] + command[1] * command[1])
        command[2] = min(max(command[2], -turn), turn)


@inlined
def nearest_angle(direction, swing, sense, rest):
    """As `nearest_way` from rest, without limits."""
    back = direction - math.copysign(math.pi + 0.0 * direction, direction) - swing
    best = direction + swing
    for change in (best - 2.0 * math.pi, best + 2.0 * math.pi, back, back - 2.0 * math.pi, back + 2.0 * math.pi):
        best = where(abs(change) < abs(best), change, best)
    return rest + sense * best


@kernel
def lane_angles(plan, s):
    """As `find_angles` from rest: steering angles into s.joints, and the frames posed with them."""
    R = s.level_frames
    p = s.level_places
    for m in range(plan.moving.size):
        f = plan.moving[m]
        for i in range(3):
            p[f, i] = plan.p[f, i]
            for k in range(3):
                R[f, i, k] = plan.R[f, i, k]
    for n in range(plan.joint.size):
        s.joints[plan.joint[n] - 1] = plan.rest[plan.joint[n] - 1]
    for n in range(plan.joint.size):
        f = plan.joint[n]
        wheel = plan.wheel[n]
        if plan.moved[n]:
            pose_moving(plan, s.joints, R, p)
        v_x, v_y = point_velocity(plan, s.twist, p[f])
        speed = math.sqrt(v_x * v_x + v_y * v_y)
        h_x = R[wheel, 1, 1]
        h_y = 0.0 - R[wheel, 0, 1]
        direction = arctangent2(h_x * v_y - h_y * v_x, v_x * h_x + v_y * h_y)
        swing = 0.0 * speed
        if plan.trail[n] != 0.0:
            ratio = min(max(s.twist[2] * plan.trail[n] / max(speed, STANDING), -1.0), 1.0)
            swing = arctangent2(ratio, math.sqrt(max(1.0 - ratio * ratio, 0.0)))
        sense = math.copysign(1.0, R[f, 2, 2])
        rest = plan.rest[f - 1]
        s.joints[f - 1] = where(speed < STANDING, rest, nearest_angle(direction, swing, sense, rest))
    pose_moving(plan, s.joints, R, p)


@kernel
def lane_rates(driving, s):
    """As `find_rates`: rates of the actuated joints for s.twist, into s.rates."""
    plan = driving.steering
    lane_angles(plan, s)
    R = s.level_frames
    p = s.level_places
    for a in range(s.rates.size):
        rate = wheel_rate(plan, s.twist, a, R, p) + 0.0 * s.twist[0]
        steered = plan.steered[a]
        if steered >= 0:
            gain = plan.gain[a] + 0.0 * s.twist[0]
            limit = plan.limit[a]
            if plan.radius[a] > 0.0:
                f = plan.driven[a]
                side = math.copysign(1.0, p[f, 1] - p[steered, 1]) * math.copysign(1.0, R[steered, 2, 2])
                sense = math.copysign(1.0, R[f, 1, 1] * R[steered, 0, 0] - R[f, 0, 1] * R[steered, 1, 0])
                gain = -side * sense * gain / plan.radius[a]
                limit = limit / plan.radius[a]
            target = min(max(s.joints[steered - 1], -plan.angle[a]), plan.angle[a])
            feedback = gain * (target - s.q[6 + steered])
            rate += min(max(feedback, -limit), limit)
        s.rates[a] = rate


@kernel
def lane_command(driving, s, k, dt):
    """The command of step k from s.aim: issued within limits, delayed, lagged and turned into rates."""
    past = driving.past.shape[0]
    if k == 0:
        for r in range(past):
            for i in range(3):
                s.queue[r, i] = driving.past[r, i]
        for i in range(3):
            s.acted[i] = driving.moving[i]
    row = past + k
    limit_lanes(driving, s.aim, s.queue[row - 1], dt, s.queue[row])
    for i in range(3):
        s.change[i] = (s.queue[row, i] - s.queue[row - 1, i]) / dt
    follow_command(driving, s, row)
    lane_rates(driving, s)
