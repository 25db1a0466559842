"""Least-cost way over a lattice of places and headings (A*), each edge judged by the slopes under it."""

import math

import numpy as np

from grouser._compile.jit import entry, inlined, kernel
from grouser._compile.struct import Struct, array, indices, integer, number

HEADINGS = 16
MOVES = np.array(
    [(1, 0), (2, 1), (1, 1), (1, 2), (0, 1), (-1, 2), (-1, 1), (-2, 1),
     (-1, 0), (-2, -1), (-1, -1), (-1, -2), (0, -1), (1, -2), (1, -1), (2, -1)], dtype=np.int64,
)  # fmt: skip
"""Cells ahead of each heading, counter-clockwise from x."""
ANGLES = np.arctan2(MOVES[:, 1], MOVES[:, 0])
LENGTHS = np.hypot(MOVES[:, 0], MOVES[:, 1])


class Lattice(Struct):
    """Places in rows along x, columns along y, and what a metre costs on a slope."""

    slope_x = array("nx", "ny")  # of the ground at the scale of the vehicle
    slope_y = array("nx", "ny")
    soil = indices("nx", "ny")  # row of the table
    blocked = indices("nx", "ny")  # 1: no vehicle may be here
    refused = indices("nx", "ny")  # bits of the headings in which a drive has failed here
    table = array("soils", "ahead", "across")  # cost of a metre by slope ahead and across; infinite where it fails
    spacing = number()  # of the places [m]
    least_slope = number()  # of the table, ahead; the largest is −least_slope
    per_slope = number()  # entries of the table in a unit of slope
    turn = number()  # cost of a radian of turning on the spot; infinite if it cannot
    curvature = number()  # largest [1/m]
    least = number()  # least cost of a metre anywhere
    goal_x = integer()
    goal_y = integer()
    near = number()  # distance in places at which the goal is reached


@inlined
def table_at(lattice, soil, ahead, across):
    """Cost of a metre on a slope, interpolated; infinite if a neighbour is, or beyond the table."""
    table = lattice.table
    u = (ahead - lattice.least_slope) * lattice.per_slope
    v = abs(across) * lattice.per_slope
    if not (u >= 0.0 and u <= table.shape[1] - 1.0 and v <= table.shape[2] - 1.0):
        return math.inf
    i = min(math.floor(u), table.shape[1] - 2)
    j = min(math.floor(v), table.shape[2] - 2)
    a = u - i
    b = v - j
    low = table[soil, i, j] * (1.0 - b)
    high = table[soil, i + 1, j] * (1.0 - b)
    if b > 0.0:
        low += table[soil, i, j + 1] * b
        high += table[soil, i + 1, j + 1] * b
    return low * (1.0 - a) + high * a if a > 0.0 else low


@kernel
def place_cost(lattice, x, y, k):
    """Cost of a metre at a place in the direction of heading k."""
    if lattice.blocked[x, y] != 0 or (lattice.refused[x, y] >> k) & 1:
        return math.inf
    c = MOVES[k, 0] / LENGTHS[k]
    s = MOVES[k, 1] / LENGTHS[k]
    ahead = c * lattice.slope_x[x, y] + s * lattice.slope_y[x, y]
    across = c * lattice.slope_y[x, y] - s * lattice.slope_x[x, y]
    return table_at(lattice, lattice.soil[x, y], ahead, across)


@kernel
def turn_cost(lattice, k, j, length):
    """Cost of turning from heading k to j along an edge of a length [m]: on the arc if it is wide, else on the spot."""
    steps = (j - k) % HEADINGS
    angle = ANGLES[j] - ANGLES[k]
    angle = abs(angle - 2.0 * math.pi * math.floor(angle / (2.0 * math.pi) + 0.5))
    if steps == 0:
        return 0.0
    if (steps == 1 or steps == HEADINGS - 1) and angle <= lattice.curvature * length:
        return 1e-3 * lattice.least * length  # of two ways of one length the straighter is taken
    return lattice.turn * angle


@kernel
def edge_cost(lattice, x, y, k, j):
    """Cost of turning to heading j and moving on along it; infinite where that fails. Places on the way count, too."""
    x2 = x + MOVES[j, 0]
    y2 = y + MOVES[j, 1]
    nx, ny = lattice.slope_x.shape
    if x2 < 0 or y2 < 0 or x2 >= nx or y2 >= ny:
        return math.inf
    length = LENGTHS[j] * lattice.spacing
    turn = turn_cost(lattice, k, j, length)
    if not turn < math.inf:
        return math.inf
    metre = 0.5 * (place_cost(lattice, x, y, j) + place_cost(lattice, x2, y2, j))
    if LENGTHS[j] > 1.5:  # between the two places of a long move
        if abs(MOVES[j, 0]) == 2:
            ax, ay = x + MOVES[j, 0] // 2, y
            bx, by = ax, y2
        else:
            ax, ay = x, y + MOVES[j, 1] // 2
            bx, by = x2, ay
        middle = 0.5 * (place_cost(lattice, ax, ay, j) + place_cost(lattice, bx, by, j))
        metre = 0.5 * (metre + middle)
    return turn + metre * length


@inlined
def put(heap, keys, size, key, node):
    """Add a node to the heap; returns its size."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if keys[parent] <= key:
            break
        keys[i] = keys[parent]
        heap[i] = heap[parent]
        i = parent
    keys[i] = key
    heap[i] = node
    return size + 1


@inlined
def take(heap, keys, size):
    """Remove the first node of the heap, which stands at index `size − 1` afterwards."""
    key = keys[0]
    node = heap[0]
    size -= 1
    last = keys[size]
    moved = heap[size]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= last:
            break
        keys[i] = keys[child]
        heap[i] = heap[child]
        i = child
    keys[i] = last
    heap[i] = moved
    keys[size] = key
    heap[size] = node


@entry
def search(lattice, start, cost, parent, heap, keys, budget, state):
    """Expand up to `budget` nodes; state = (size of the heap, goal node or −1, whether it is over, nodes so far).

    A node is (x · ny + y) · HEADINGS + heading. cost: so far, infinite at first. Call again until it is over.
    """
    ny = lattice.slope_x.shape[1]
    if state[3] == 0:
        cost[start] = 0.0
        state[0] = put(heap, keys, 0, 0.0, start)
    done = 0
    while state[0] > 0 and done < budget:
        take(heap, keys, state[0])
        state[0] -= 1
        node = heap[state[0]]
        key = keys[state[0]]
        k = node % HEADINGS
        place = node // HEADINGS
        x = place // ny
        y = place % ny
        dx = float(x - lattice.goal_x)
        dy = float(y - lattice.goal_y)
        away = math.sqrt(dx * dx + dy * dy)
        if key > cost[node] + lattice.least * lattice.spacing * max(away - lattice.near, 0.0) + 1e-9:
            continue  # reached more cheaply since
        done += 1
        state[3] += 1
        if away <= lattice.near:
            state[1] = node
            state[2] = 1
            return
        for j in range(HEADINGS):
            step = edge_cost(lattice, x, y, k, j)
            if not step < math.inf:
                continue
            x2 = x + MOVES[j, 0]
            y2 = y + MOVES[j, 1]
            there = (x2 * ny + y2) * HEADINGS + j
            total = cost[node] + step
            if total < cost[there] - 1e-12:
                cost[there] = total
                parent[there] = node
                dx = float(x2 - lattice.goal_x)
                dy = float(y2 - lattice.goal_y)
                left = max(math.sqrt(dx * dx + dy * dy) - lattice.near, 0.0)
                if state[0] >= heap.size:
                    state[2] = 2
                    return
                state[0] = put(heap, keys, state[0], total + lattice.least * lattice.spacing * left, there)
    if state[0] == 0:
        state[2] = 1


@entry
def edge_costs(lattice, edges, out):
    """Costs of edges (n, 4): x, y, heading before, heading of the move."""
    for i in range(edges.shape[0]):
        out[i] = edge_cost(lattice, edges[i, 0], edges[i, 1], edges[i, 2], edges[i, 3])
