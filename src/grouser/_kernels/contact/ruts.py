"""Soil that remembers: how deep each cell of a grid around the vehicle was pressed.

The grid is a patch of side × side cells that repeats over the plane; a cell says by its key which of the repetitions it
belongs to, and one with another key is untouched soil. So the patch follows the vehicle without being moved, and what
lies more than its side behind is forgotten as soon as a wheel comes to the same cell.

A wheel feels the sinkage r kept in the soil ahead of it, where the rim enters, as a mean over its width; not that below
itself, which is its own. At rest it feels what it felt when it stopped. `soil.py` says what r does to the force.
"""

import math

from grouser._compile.jit import inlined, kernel

AHEAD = 1.5
"""Least distance at which a wheel feels the soil ahead [cells]: above √2, the diagonal of a cell it has pressed."""


@inlined
def cell_index(x, cell):
    """Index of the cell with x; halves are rounded away from zero, so that a mirrored run has the mirrored cells."""
    return int(math.copysign(math.floor(abs(x) / cell + 0.5), x))


@inlined
def cell_key(column, row):
    """Which cell of the plane it is, as one number."""
    return (column << 32) ^ (row & 0xFFFFFFFF)


@inlined
def kept_sinkage(cell, x, y, d):
    """Deepest sinkage that the cell at (x, y) has seen [m]; 0 if none, or if it is forgotten."""
    i = cell_index(x, cell)
    j = cell_index(y, cell)
    mask = d.rut_depth.shape[0] - 1
    at = d.rut_key[j & mask, i & mask] == cell_key(i, j)
    return d.rut_depth[j & mask, i & mask] if at else 0.0


@inlined
def press_cell(cell, x, y, depth, d):
    """The cell at (x, y) keeps the depth if none was larger; another that was in its place is forgotten."""
    i = cell_index(x, cell)
    j = cell_index(y, cell)
    mask = d.rut_depth.shape[0] - 1
    key = cell_key(i, j)
    if d.rut_key[j & mask, i & mask] != key:
        d.rut_key[j & mask, i & mask] = key
        d.rut_depth[j & mask, i & mask] = depth
    else:
        d.rut_depth[j & mask, i & mask] = max(d.rut_depth[j & mask, i & mask], depth)


@inlined
def entry_distance(vehicle, model, w, depth, d):
    """How far ahead of its lowest point the rim of a wheel enters the soil [m], at least AHEAD cells."""
    below = max(depth - (1.0 - model.rebound) * d.rut_felt[w], 0.0)
    return max(math.sqrt(2.0 * vehicle.radius[w] * below), AHEAD * model.rut_cell)


@kernel
def press_soil(vehicle, model, dt, s, d):
    """Wheels press the soil they have come over in a step, and feel what lies ahead of them.

    The sinkage is that at the step's beginning, below the ground as it was before any wheel: −Δz. What a wheel feels
    follows the soil ahead over the distance to it.
    """
    R = s.R_world_body
    cell = model.rut_cell
    for w in range(vehicle.wheel.size):
        depth = -s.height_error[w]
        ahead = 0.0
        aside = 0.0
        for i in range(d.u.size):
            ahead += s.A[3 * w, i] * d.u[i]
            aside += s.A[3 * w + 1, i] * d.u[i]
        ahead += s.rolling_radius[w] * model.rolling[w] * d.u[5 + vehicle.wheel[w]]
        speed = math.sqrt(ahead * ahead + aside * aside)
        travel = speed * dt
        rate = 1.0 / max(speed, 1e-12)
        ahead *= rate
        aside *= rate
        px = s.p_world_body[0]
        py = s.p_world_body[1]
        tx = 0.0
        ty = 0.0
        nx = 0.0
        ny = 0.0
        for k in range(3):
            px += R[0, k] * s.p_contact[w, k]
            py += R[1, k] * s.p_contact[w, k]
            tx += R[0, k] * s.axes[w, 0, k]
            ty += R[1, k] * s.axes[w, 0, k]
            nx += R[0, k] * s.axes[w, 1, k]
            ny += R[1, k] * s.axes[w, 1, k]
        ex = ahead * tx + aside * nx
        ey = ahead * ty + aside * ny
        width = model.rut_width[w]
        points = math.ceil(2.0 * width / cell)
        if travel > 0.0:
            distance = entry_distance(vehicle, model, w, depth, d)
            reach = distance + 0.5 * width * abs(aside)
            mean = 0.0
            for k in range(points):
                across = ((k + 0.5) / points - 0.5) * width * abs(ahead)
                mean += kept_sinkage(cell, px + reach * ex + across * nx, py + reach * ey + across * ny, d)
            d.rut_felt[w] += (mean / points - d.rut_felt[w]) * travel / (travel + distance)
        if d.f[w, 2] > 0.0:
            rows = min(1 + int(2.0 * travel / cell), d.rut_depth.shape[0])
            for row in range(rows):
                back = travel * row / rows
                for k in range(points):
                    across = ((k + 0.5) / points - 0.5) * width
                    press_cell(cell, px - back * ex + across * nx, py - back * ey + across * ny, depth, d)
