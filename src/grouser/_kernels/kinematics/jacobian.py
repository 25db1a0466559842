"""Wheel Jacobians, T Algorithm 2, in body coordinates; rows are the contact frame's x, y, z."""

from grouser._compile.jit import inlined
from grouser._kernels.rotation import add, column, cross, dot, put


@inlined
def point_jacobian(vehicle, s, frame, p, axes, A):
    """Velocity of the point p, fixed to a frame, along the rows of `axes`, per unit joint-space velocity: A (3, nv).

    Only the columns of the body and of the joints between it and the frame are written: the others stay zero.
    """
    for r in range(3):
        put(cross(p, axes[r]), A[r], 0)
        put(axes[r], A[r], 3)
    f = frame
    while f > 0:
        axis = vehicle.joint[f]
        if axis < 3:
            v = cross(column(s.R[f], axis), add(p, -1.0, s.p[f]))
        else:
            v = column(s.R[f], axis - 3)
        for r in range(3):
            A[r, 5 + f] = dot(axes[r], v)
        f = vehicle.parent[f]


@inlined
def free_across(A):
    """Rollers turn with what the contact does along its y: the row says nothing, and no force acts along it."""
    for i in range(A.shape[1]):
        A[1, i] = 0.0


@inlined
def wheel_jacobians(vehicle, s):
    """Of all wheels at their contact points into s.A, three rows each."""
    for w in range(vehicle.wheel.size):
        rows = s.A[3 * w : 3 * w + 3]
        point_jacobian(vehicle, s, vehicle.wheel[w], s.p_contact[w], s.axes[w], rows)
        if vehicle.rollers[w]:
            free_across(rows)
