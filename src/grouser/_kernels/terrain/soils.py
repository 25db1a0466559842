"""Soils by place: which soil of a ground's raster a point lies on. Soil 0 is the model's own law.

A raster has one byte a cell, eight in a word. Cell (i, j) holds the points with i ≤ u < i + 1, j ≤ v < j + 1, where u
and v count cells from the raster's corner: a point on a border belongs to the cell beyond it.
"""

from grouser._compile.jit import entry, inlined


@inlined
def nearest_cell(u, count):
    """Cell of a coordinate in cells, that at the end where it lies outside; a NaN is in the first."""
    if not u > 0.0:
        return 0
    return count - 1 if u >= count else int(u)


@inlined
def soil_at(ground, x, y):
    """Soil of a point [m]; ground.soils must not be empty."""
    place = ground.soil_place
    dx = x - place[0]
    dy = y - place[1]
    u = place[2] * dx + place[3] * dy
    v = place[4] * dx + place[5] * dy
    nx, ny, outside = ground.soil_shape[0], ground.soil_shape[1], ground.soil_shape[2]
    if outside >= 0 and not (u >= 0.0 and u < nx and v >= 0.0 and v < ny):
        return outside
    cell = nearest_cell(u, nx) * ny + nearest_cell(v, ny)
    return (ground.soils[cell >> 3] >> (8 * (cell & 7))) & 255


@inlined
def find_soils(ground, known, s, count):
    """Soil of each of the first `count` contacts into s.soil; 0 for soils that the model does not know.

    known: soils of the model, its own law counted. Where the ground has no soils s.soil stays 0.
    """
    if ground.soils.size == 0 or known < 2:
        return
    R = s.R_world_body
    for k in range(count):
        p = s.p_contact[k]
        x = s.p_world_body[0] + R[0, 0] * p[0] + R[0, 1] * p[1] + R[0, 2] * p[2]
        y = s.p_world_body[1] + R[1, 0] * p[0] + R[1, 1] * p[1] + R[1, 2] * p[2]
        soil = soil_at(ground, x, y)
        s.soil[k] = soil if soil < known else 0


@entry
def sample_soils(ground, xy, out):
    """Soil of points xy (n, 2) into out (n,)."""
    for i in range(xy.shape[0]):
        out[i] = soil_at(ground, xy[i, 0], xy[i, 1])
