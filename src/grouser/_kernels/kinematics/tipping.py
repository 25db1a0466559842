"""Tip margin of any state: the support polygon of its contact points, and the force at its centre of mass, T §2.3."""

import math

from grouser._compile.jit import entry, inlined, kernel
from grouser._kernels.arrays import copy
from grouser._kernels.kinematics.velocity import centre_of_mass, force_at_centre_of_mass
from grouser._kernels.rotation import add, cross, dot, times, vector
from grouser._kernels.scratch import clear_scratch
from grouser._kernels.vehicles.frames import pose_frames

SAME = 1e-9
"""Distance [m] below which two contacts are one."""
INSIDE = 1e-12
"""How far a contact may lie outside an edge [m²], for those that lie on it."""


@kernel
def force_in_world(vehicle, gravity, s):
    """Centre of mass and force per mass there, T (2.44), world coordinates, of the posed frames and s.v."""
    centre_of_mass(vehicle, s, s.work[0])
    force_at_centre_of_mass(s, s.work[0], gravity, s.work[1], s.work[2])
    R = s.R_world_body
    return add(s.p_world_body, 1.0, times(R, s.work[0])), times(R, s.work[2])


@inlined
def larger(a, b):
    """The longer of two vectors."""
    return a if dot(a, a) >= dot(b, b) else b


@kernel
def plane_normal(points, middle):
    """Normal of the plane that fits points (n, 3) best: of the smallest eigenvalue of their spread about the middle."""
    xx = xy = xz = yy = yz = zz = 0.0
    for w in range(points.shape[0]):
        x, y, z = add(points[w], -1.0, middle)
        xx += x * x
        xy += x * y
        xz += x * z
        yy += y * y
        yz += y * z
        zz += z * z
    # In closed form: q is the mean of the eigenvalues, 2 p their largest distance from it.
    q = (xx + yy + zz) / 3.0
    aside = xy * xy + xz * xz + yz * yz
    p = math.sqrt(((xx - q) ** 2 + (yy - q) ** 2 + (zz - q) ** 2 + 2.0 * aside) / 6.0)
    if p < 1e-30:
        return 0.0, 0.0, 1.0
    a, b, c = (xx - q) / p, (yy - q) / p, (zz - q) / p
    d, e, f = xy / p, xz / p, yz / p
    half = 0.5 * (a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e))
    angle = math.acos(min(max(half, -1.0), 1.0)) / 3.0
    least = 2.0 * math.cos(angle + 2.0 * math.pi / 3.0)
    # What two rows of (A − λ) are both perpendicular to.
    rows = (a - least, d, e), (d, b - least, f), (e, f, c - least)
    found = larger(larger(cross(rows[0], rows[1]), cross(rows[0], rows[2])), cross(rows[1], rows[2]))
    size = math.sqrt(dot(found, found))
    if size > 1e-12:
        return found[0] / size, found[1] / size, found[2] / size
    # All on one line: any direction across it.
    line = larger(larger(rows[0], rows[1]), rows[2])
    across = larger(cross(line, (1.0, 0.0, 0.0)), cross(line, (0.0, 1.0, 0.0)))
    size = math.sqrt(dot(across, across))
    if size > 0.0:
        return across[0] / size, across[1] / size, across[2] / size
    return 0.0, 0.0, 1.0


@inlined
def edge_lever(start, edge, centre, force):
    """y, x of the angle atan2(y, x) that a force at the centre may turn about an edge from a point before it lifts."""
    length2 = max(dot(edge, edge), 1e-18)
    # Seen along the edge: where the centre stands, and which way the force points.
    arm = add(centre, -1.0, start)
    arm = add(arm, -dot(arm, edge) / length2, edge)
    pull = add(force, -dot(force, edge) / length2, edge)
    # The moment about the edge is negative while the force presses the vehicle onto the polygon.
    return -dot(cross(arm, pull), edge) / math.sqrt(length2), -dot(arm, pull)


@kernel
def edge_angle(start, edge, centre, force):
    """Angle [rad] that a force at the centre may turn about an edge from a point before it lifts; inf on the edge."""
    y, x = edge_lever(start, edge, centre, force)
    return math.inf if math.sqrt(y * y + x * x) < 1e-12 else math.atan2(y, x)


@kernel
def tipping_of(points, centre, force):
    """Least angle [rad] over the edges of the polygon of points (n, 3), inf without one, and the point that lifts.

    An edge is a pair of points with all others on its left, seen from above; several on one line are as good as one.
    """
    n = points.shape[0]
    middle = (0.0, 0.0, 0.0)
    for w in range(n):
        middle = add(middle, 1.0 / n, points[w])
    up = plane_normal(points, middle)
    if dot(up, add(centre, -1.0, middle)) < 0.0:
        up = -up[0], -up[1], -up[2]
    best = math.inf
    lifts = 0
    for a in range(n):
        for b in range(n):
            start = vector(points[a], 0)
            edge = add(points[b], -1.0, start)
            if a == b or dot(edge, edge) < SAME * SAME:
                continue
            inward = cross(up, edge)
            farthest = -1.0
            which = 0
            outside = False
            for c in range(n):
                off = dot(inward, add(points[c], -1.0, start))
                if off < -INSIDE:
                    outside = True
                    break
                if off > farthest:
                    farthest = off
                    which = c
            if outside:
                continue
            angle = edge_angle(start, edge, centre, force)
            if angle < best:
                best = angle
                lifts = which
    return best, lifts


@entry
def tipping_rows(vehicle, gravity, q, v, points, angle, wheel, s):
    """`tipping_of` rows of states (n, nq), velocities (n, nv) and contact points (n, nw, 3), into angle and wheel."""
    clear_scratch(vehicle, s)
    for k in range(q.shape[0]):
        pose_frames(vehicle, q[k], s)
        copy(v[k], s.v)
        centre, force = force_in_world(vehicle, gravity, s)
        angle[k], wheel[k] = tipping_of(points[k], centre, force)
