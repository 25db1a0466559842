"""Tip margin inside a rollout: the force at the centre of mass against the support polygon, T §2.3."""

import math

from grouser._compile.jit import kernel
from grouser._kernels.rotation import add, cross, dot, vector


@kernel
def tip_margin(corners, s, centre, force):
    """Angle [rad] that the force may still turn about an edge of the support polygon before a wheel lifts.

    corners: wheels at the polygon's corners, counter-clockwise from above. centre, force: of the whole vehicle, body
    coordinates. The same angle as `rollover_margin` of `kinematics`, which finds the corners of each state.
    """
    least = math.pi
    n = corners.size
    for i in range(n):
        a = vector(s.p_contact[corners[i]], 0)
        edge = add(s.p_contact[corners[(i + 1) % n]], -1.0, a)
        length2 = dot(edge, edge)
        if length2 < 1e-18:
            continue
        arm = add(centre, -1.0, a)
        arm = add(arm, -dot(arm, edge) / length2, edge)
        pull = add(force, -dot(force, edge) / length2, edge)
        # The moment about the edge is negative while the force presses the vehicle onto the polygon.
        moment = dot(cross(arm, pull), edge) / math.sqrt(length2)
        least = min(least, math.atan2(-moment, -dot(arm, pull)))
    return least
