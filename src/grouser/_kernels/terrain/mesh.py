"""The ground law of a triangle mesh, its triangles sorted into a uniform grid of buckets.

par = (xmin, xmax, ymin, ymax, 1/bucket x, 1/bucket y, buckets nx, ny, index of lists and triangles,
then where each bucket's list starts (nx ny + 1 numbers), the lists, and the triangles).
A triangle is (x, y, z of its first corner, slope x, slope y, the rows of the 2×2 matrix that makes the
barycentric coordinates of the other corners, tolerance of those, greatest z).
"""

import math

from grouser._kernels.law import law

HEADER = 10
"""Entries of par before the bucket starts."""
TRIANGLE = 11
"""Entries of a triangle."""


@law
def mesh(par, x, out, jac):
    """The highest triangle above or below (x, y) wins; the slope is that facet's own."""
    out[0] = math.nan
    if not (x[0] >= par[0] and x[0] <= par[1] and x[1] >= par[2] and x[1] <= par[3]):
        return
    nx = int(par[6])
    ny = int(par[7])
    i = min(int((x[0] - par[0]) * par[4]), nx - 1)
    j = min(int((x[1] - par[2]) * par[5]), ny - 1)
    bucket = HEADER + i * ny + j
    lists = int(par[8])
    triangles = int(par[9])
    height = math.nan
    for k in range(lists + int(par[bucket]), lists + int(par[bucket + 1])):
        t = triangles + TRIANGLE * int(par[k])
        dx = x[0] - par[t]
        dy = x[1] - par[t + 1]
        b = par[t + 5] * dx + par[t + 6] * dy
        c = par[t + 7] * dx + par[t + 8] * dy
        tolerance = par[t + 9]
        if b >= -tolerance and c >= -tolerance and b + c <= 1.0 + tolerance:
            # Within the tolerance of a steep facet's edge its plane may rise above it.
            z = min(par[t + 2] + par[t + 3] * dx + par[t + 4] * dy, par[t + 10])
            if not (z <= height):
                height = z
                out[0] = z
                out[1] = par[t + 3]
                out[2] = par[t + 4]
