"""Least-cost path over a lattice of places and headings (A*), each edge judged by all cells of the map on its line.

Arrays are as narrow as their values allow: a lattice of 1000 × 1000 places and 16 headings takes 80 MB and its heap.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from grouser._compile.jit import entry, inlined, kernel
from grouser._kernels.plan.cost import wrapped

HEADINGS = 16
MOVES = np.array(
    [(1, 0), (2, 1), (1, 1), (1, 2), (0, 1), (-1, 2), (-1, 1), (-2, 1),
     (-1, 0), (-2, -1), (-1, -1), (-1, -2), (0, -1), (1, -2), (1, -1), (2, -1)], dtype=np.int64,
)  # fmt: skip
"""Places ahead of each heading, counter-clockwise from x."""
ANGLES = np.arctan2(MOVES[:, 1], MOVES[:, 0])
LENGTHS = np.hypot(MOVES[:, 0], MOVES[:, 1])
BLOCKED = 255
"""Kind of a cell that no vehicle may cross."""
LEAST_EDGE = 1e-12
"""Least cost of an edge: 0 stands for one that is not judged yet."""


class Chart(NamedTuple):
    """The cells of a map, finer than the lattice by a whole number, and what a metre costs on them."""

    slope_x: Any
    """Slopes at the scale of the vehicle, float32 (cells x, cells y)."""
    slope_y: Any
    kind: Any
    """Soil, a row of the table, or BLOCKED; uint8 (cells x, cells y)."""
    table: Any
    """Cost of a metre by soil, slope ahead and slope across; infinite where it fails; float64 (soils, n, m)."""
    per_slope: float
    """Entries of the table in a unit of slope; slope 0 ahead is its middle row."""
    cell: float
    """Side of a cell [m]."""
    cells: int
    """From one place of the lattice to the next."""


class Task(NamedTuple):
    """What a search is made with, besides the chart."""

    edges: Any
    """Cost of leaving a place in a heading, float32 (nx, ny, HEADINGS). 0: not looked at; above 0: by the table;
    below 0: less what the engine says; infinite: refused."""
    open: Any
    """1 where the search may go, uint8 (nx, ny)."""
    height: Any
    """Of the places [m], float32 (nx, ny)."""
    turn: Any
    """Cost of turning on the spot from a heading to the next, counter-clockwise; infinite if it cannot, (HEADINGS,)."""
    bend: Any
    """Cost of turning to the next heading along an edge of that heading: clockwise, not at all, and counter-clockwise;
    infinite if it is too tight; (HEADINGS, 3)."""
    bound: Any
    """A way costs at least bound[0] times its length [m] plus bound[1] times its rise [m], and bound[2] times its
    length."""
    goal: Any
    """Place of the goal x, y (not whole), its heading or −1, distance at which it is reached, in places; height [m]."""
    ratio: float
    """Of costs by the engine to those of the table, where known."""


class Work(NamedTuple):
    """What a search fills."""

    cost: Any
    """So far, by node; infinite at first; float32 (nodes,). A node is (x · ny + y) · HEADINGS + heading."""
    parent: Any
    """How a node was reached, int8 (nodes,): see `parent_of`."""
    heap: Any
    """Nodes, int32."""
    keys: Any
    """Their lowest cost of a whole way, float64."""


@inlined
def table_at(chart, soil, ahead, across):
    """Cost of a metre on a slope, interpolated; infinite where most of the entries around are, or beyond the table."""
    table = chart.table
    u = ahead * chart.per_slope + 0.5 * (table.shape[1] - 1)
    v = abs(across) * chart.per_slope
    if not (u >= 0.0 and u <= table.shape[1] - 1.0 and v <= table.shape[2] - 1.0):
        return math.inf
    i = min(math.floor(u), table.shape[1] - 2)
    j = min(math.floor(v), table.shape[2] - 2)
    a = u - i
    b = v - j
    total = weight = 0.0
    for di in range(2):
        for dj in range(2):
            one = table[soil, i + di, j + dj]
            if one < math.inf:
                w = (a if di == 1 else 1.0 - a) * (b if dj == 1 else 1.0 - b)
                total += w * one
                weight += w
    return total / weight if weight >= 0.5 else math.inf


@kernel
def line_cost(chart, x, y, dx, dy):
    """Cost of a straight line from (x, y) by (dx, dy), all in cells; infinite where a cell on it is refused."""
    far = math.sqrt(dx * dx + dy * dy)
    if far == 0.0:
        return 0.0
    c = dx / far
    s = dy / far
    count = math.ceil(far)
    total = 0.0
    for n in range(count):
        t = (n + 0.5) / count
        i = math.floor(x + t * dx + 0.5)
        j = math.floor(y + t * dy + 0.5)
        if i < 0 or j < 0 or i >= chart.kind.shape[0] or j >= chart.kind.shape[1]:
            return math.inf
        kind = chart.kind[i, j]
        if kind == BLOCKED:
            return math.inf
        gx = float(chart.slope_x[i, j])
        gy = float(chart.slope_y[i, j])
        one = table_at(chart, kind, c * gx + s * gy, c * gy - s * gx)
        if not one < math.inf:
            return math.inf
        total += one
    return total / count * far * chart.cell


@kernel
def edge_cost(chart, task, x, y, j):
    """Cost of moving on from a place along heading j; infinite where that fails."""
    x2 = x + MOVES[j, 0]
    y2 = y + MOVES[j, 1]
    nx, ny = task.open.shape
    if x2 < 0 or y2 < 0 or x2 >= nx or y2 >= ny or task.open[x2, y2] == 0:
        return math.inf
    known = float(task.edges[x, y, j])
    if known == 0.0:
        n = float(chart.cells)
        known = max(line_cost(chart, x * n, y * n, MOVES[j, 0] * n, MOVES[j, 1] * n), LEAST_EDGE)
        task.edges[x, y, j] = known
    return known * task.ratio if known > 0.0 else -known


@inlined
def left(chart, task, x, y):
    """Least cost from a place to the goal."""
    dx = x - task.goal[0]
    dy = y - task.goal[1]
    spacing = chart.cell * chart.cells
    away = max(math.sqrt(dx * dx + dy * dy) - task.goal[3], 0.0) * spacing
    rise = task.goal[4] - float(task.height[x, y])
    return max(task.bound[0] * away + task.bound[1] * rise, task.bound[2] * away)


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


@inlined
def offer(chart, task, work, size, there, total, how):
    """A way to a node of a total cost: kept if it is cheaper than what is known. Returns the size of the heap."""
    if total < float(work.cost[there]) * (1.0 - 1e-7):
        work.cost[there] = total
        work.parent[there] = how
        place = there // HEADINGS
        ny = task.open.shape[1]
        key = float(work.cost[there]) + left(chart, task, place // ny, place % ny)
        size = put(work.heap, work.keys, size, key, there)
    return size


@inlined
def parent_of(how, node, ny):
    """The node before: how is 1 to 3 after a move in the node's heading, from a heading before, the same or after it;
    4 and 5 after a turn on the spot from the heading before or after; −1 at the start."""
    k = node % HEADINGS
    if how == 0:
        return -1
    if how >= 4:
        return node - k + (k + (-1 if how == 4 else 1)) % HEADINGS
    x = node // HEADINGS // ny - MOVES[k, 0]
    y = node // HEADINGS % ny - MOVES[k, 1]
    return (x * ny + y) * HEADINGS + (k + how - 2) % HEADINGS


@entry
def search(chart, task, work, start, budget, state):
    """Expand up to `budget` nodes; state = (size of the heap, goal node or −1, how it ended, nodes so far).

    It ended with 0: call it again; 1: over; 2: call it again with a larger heap.
    """
    ny = task.open.shape[1]
    state[2] = 0
    if state[3] == 0 and state[0] == 0:
        work.cost[start] = 0.0
        x = start // HEADINGS // ny
        y = start // HEADINGS % ny
        state[0] = put(work.heap, work.keys, 0, left(chart, task, x, y), start)
    size = state[0]
    done = 0
    while size > 0 and done < budget:
        if size + 8 > work.heap.size:
            state[2] = 2
            break
        take(work.heap, work.keys, size)
        size -= 1
        node = int(work.heap[size])
        k = node % HEADINGS
        place = node // HEADINGS
        x = place // ny
        y = place % ny
        so_far = float(work.cost[node])
        if work.keys[size] > (so_far + left(chart, task, x, y)) * (1.0 + 1e-9) + 1e-12:
            continue  # reached more cheaply since
        done += 1
        dx = x - task.goal[0]
        dy = y - task.goal[1]
        there = dx * dx + dy * dy <= task.goal[3] * task.goal[3]
        if there and (task.goal[2] < 0.0 or k == int(task.goal[2])):
            state[1] = node
            state[2] = 1
            break
        for d in range(-1, 2):
            j = (k + d) % HEADINGS
            bend = task.bend[k, d + 1]
            if not bend < math.inf:
                continue
            step = edge_cost(chart, task, x, y, j) + bend
            if step < math.inf:
                to = ((x + MOVES[j, 0]) * ny + y + MOVES[j, 1]) * HEADINGS + j
                size = offer(chart, task, work, size, to, so_far + step, 2 - d)
        if task.turn[0] < math.inf:
            up = (k + 1) % HEADINGS
            down = (k - 1) % HEADINGS
            size = offer(chart, task, work, size, place * HEADINGS + up, so_far + task.turn[k], 4)
            size = offer(chart, task, work, size, place * HEADINGS + down, so_far + task.turn[down], 5)
    if size == 0 and state[2] == 0:
        state[2] = 1
    state[0] = size
    state[3] += done


@entry
def trace(parent, node, ny, nodes):
    """Nodes from a node back to the start, the start last; returns how many, −1 if they do not fit."""
    count = 0
    while node >= 0:
        if count == nodes.size:
            return -1
        nodes[count] = node
        count += 1
        node = parent_of(int(parent[node]), node, ny)
    return count


@entry
def shorten(chart, points, pieces, turn, best):
    """Least cost of polylines over some of the points (n, 2), in cells, that join points at most `pieces` apart.

    turn = (cost of a radian, angle above which it is on the spot, cost of a radian then) at corners, as they are for
    the cheapest way to the corner. best (n, 2): the cost up to each point, and the point before it.
    """
    n = points.shape[0]
    for j in range(1, n):
        best[j, 0] = math.inf
        for i in range(max(0, j - pieces), j):
            if not best[i, 0] < math.inf:
                continue
            dx = points[j, 0] - points[i, 0]
            dy = points[j, 1] - points[i, 1]
            total = best[i, 0]
            if i > 0:
                before = int(best[i, 1])
                angle = math.atan2(dy, dx) - math.atan2(
                    points[i, 1] - points[before, 1], points[i, 0] - points[before, 0]
                )
                angle = abs(wrapped(angle))
                total += angle * (turn[2] if angle > turn[1] else turn[0])
            if total < best[j, 0]:
                total += line_cost(chart, points[i, 0], points[i, 1], dx, dy)
                if total < best[j, 0]:
                    best[j, 0] = total
                    best[j, 1] = i
