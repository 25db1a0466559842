"""Costs of a planned motion, added up inside its rollout; nothing is stored per step."""

import math

from grouser._compile.jit import inlined, kernel
from grouser._compile.struct import Struct, array, indices, number, record_type
from grouser._kernels.law import call_law
from grouser._kernels.rotation import dot, vector

COST, LEAST_TIP, LARGEST_SLIP, ENERGY, DISTANCE, CLEARANCE, STALLED, TO_GO = range(8)
"""What is added up of a rollout: cost of all terms; least tip margin [rad]; largest slip; energy [J]; distance [m];
least distance from keep-outs and the map's edge [m]; how long the wheels have turned without moving the vehicle [s];
sum of the distances to the goal, or of what is left of path or field, times dt."""
SUMS = 8
PRESENT = record_type(x=(), y=(), yaw=(), segment=int)
"""Where a vehicle is now [m, rad], and the segment of the path that it is near."""

TIME, PLACE, ROLL, PITCH, YAW, OMEGA, VELOCITY = 0, 1, 4, 5, 6, 7, 10
TIP_MARGIN, SLIP, POWER, COMMAND, STEP = 13, 14, 15, 16, 19
OWN_INPUTS = 20
"""Where the inputs of a user's own term begin, and how many numbers they are."""


class Raster(Struct):
    """Numbers on a grid of square cells, read between their middles; no rows: there is none."""

    values = array("nx", "ny")
    x = number()  # middle of cell (0, 0) [m]
    y = number()
    per_metre = number()  # cells in a metre


class CostArrays(Struct):
    """Weights of the terms, per second unless it says else, and what they compare with; a weight of zero: no term."""

    goal = array(4)  # weight [1/m], x, y [m], and the radius within which it is reached [m]
    heading = array(2)  # weight at the end [1/rad], yaw [rad]
    speed = array(2)  # weight [s²/m² per s], speed [m/s]
    time = number()
    energy = number()  # [1/J]
    tip = array(2)  # weight [1/rad²], margin [rad] below which it costs
    slip = array(2)  # weight, slip above which it costs
    roughness = number()  # [s²/rad²]
    command_rate = array(3)  # per (m/s²)², (m/s²)², (rad/s²)²
    near = array(2)  # weight [1/m], clearance [m] below which it costs
    path = array("corners", 3)  # x, y [m], length of the path up to there [m]; no rows: no path
    path_weight = array(2)  # weight of what is left [1/m], ratio of the distance aside to it
    field_weight = number()  # of the cost-to-go raster
    own = indices("terms", 2)  # addresses of law and parameters


@inlined
def raster_at(raster, x, y):
    """Value between the middles of cells; beyond the outermost, theirs."""
    nx, ny = raster.values.shape
    u = min(max((x - raster.x) * raster.per_metre, 0.0), nx - 1.0)
    v = min(max((y - raster.y) * raster.per_metre, 0.0), ny - 1.0)
    i = min(math.floor(u), nx - 2)
    j = min(math.floor(v), ny - 2)
    a = u - i
    b = v - j
    low = raster.values[i, j] * (1.0 - b) + raster.values[i, j + 1] * b
    high = raster.values[i + 1, j] * (1.0 - b) + raster.values[i + 1, j + 1] * b
    return low * (1.0 - a) + high * a


@kernel
def path_left(cost, present, x, y):
    """Length of the path that is left from the point of it nearest to (x, y), and the distance aside, weighed [m].

    Only corners near the last one are looked at, ahead and behind, so that a path that crosses itself is followed.
    """
    path = cost.path
    corners = path.shape[0]
    last = path[corners - 1, 2]
    best = math.inf
    left = 0.0
    start = present.segment
    first = max(start - 2, 0)
    for k in range(first, corners - 1):
        if k > start and path[k, 2] - path[start + 1, 2] > 3.0 + math.sqrt(best):
            break
        dx = path[k + 1, 0] - path[k, 0]
        dy = path[k + 1, 1] - path[k, 1]
        size = dx * dx + dy * dy
        part = 0.0
        if size > 0.0:
            part = min(max(((x - path[k, 0]) * dx + (y - path[k, 1]) * dy) / size, 0.0), 1.0)
        ex = x - path[k, 0] - part * dx
        ey = y - path[k, 1] - part * dy
        away = ex * ex + ey * ey
        if away < best:
            best = away
            left = last - path[k, 2] - part * (path[k + 1, 2] - path[k, 2])
            present.segment = k
    return left + cost.path_weight[1] * math.sqrt(best)


@inlined
def goal_left(cost, x, y):
    """Distance from (x, y) to the goal, weighed."""
    dx = x - cost.goal[1]
    dy = y - cost.goal[2]
    return cost.goal[0] * max(math.sqrt(dx * dx + dy * dy) - cost.goal[3], 0.0)


@kernel
def to_go(cost, field, present, x, y):
    """What is left to do from (x, y), weighed: distance to the goal, length of the path, value of the field."""
    return goal_left(cost, x, y) + way_left(cost, field, present, x, y)


@kernel
def way_left(cost, field, present, x, y):
    """The same of path and field alone."""
    total = 0.0
    if cost.path.shape[0] > 1:
        total += cost.path_weight[0] * path_left(cost, present, x, y)
    if field.values.shape[0] > 1:
        total += cost.field_weight * raster_at(field, x, y)
    return total


@kernel
def step_cost(cost, free, x, change):
    """Cost in a second of the terms that depend on the motion alone; x: inputs of an own term, free: clearance."""
    w = vector(x, OMEGA)
    v = vector(x, VELOCITY)
    total = cost.time + cost.energy * x[POWER]
    ahead = math.copysign(math.sqrt(dot(v, v)), v[0])
    off = ahead - cost.speed[1]
    short = max(cost.tip[1] - x[TIP_MARGIN], 0.0)
    total += cost.speed[0] * off * off
    total += cost.tip[0] * short * short
    total += cost.slip[0] * max(x[SLIP] - cost.slip[1], 0.0)
    total += cost.roughness * (w[0] * w[0] + w[1] * w[1])
    for i in range(3):
        total += cost.command_rate[i] * change[i] * change[i]
    total += cost.near[0] * max(cost.near[1] - free, 0.0)
    return total


@kernel
def own_cost(cost, x, out, unused):
    """Sum of the user's own terms, in a second."""
    total = 0.0
    for i in range(cost.own.shape[0]):
        call_law(cost.own[i, 0], cost.own[i, 1], x, out, unused)
        total += out[0]
    return total


@inlined
def wrapped(angle):
    """Angle within ±π."""
    return angle - 2.0 * math.pi * math.floor(angle / (2.0 * math.pi) + 0.5)


@kernel
def end_cost(cost, present):
    """Cost of where a rollout ends, but for `to_go`: the heading counts near the goal."""
    if cost.heading[0] == 0.0:
        return 0.0
    away2 = 0.0
    if cost.goal[0] != 0.0:
        away2 = (present.x - cost.goal[1]) ** 2 + (present.y - cost.goal[2]) ** 2
    return cost.heading[0] * abs(wrapped(present.yaw - cost.heading[1])) / (1.0 + away2)
