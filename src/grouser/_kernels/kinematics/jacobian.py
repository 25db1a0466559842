"""Wheel Jacobians, T Algorithm 2, in body coordinates; rows are the contact frame's x, y, z."""

from grouser._compile.jit import inlined, kernel
from grouser._kernels.rotation import add, column, cross, dot, put
from grouser._kernels.vehicles.kinds import rolling_count


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


@kernel
def turn_with_leader(vehicle, w, A):
    """The leader's joint turns wheel w: its column of A (3, nv) becomes that of the leader's."""
    own = 5 + vehicle.wheel[w]
    leader = 5 + vehicle.leader[w]
    for r in range(3):
        A[r, leader] = A[r, own]
        A[r, own] = 0.0


@kernel
def free_balls(vehicle, s):
    """The ground says nothing of how balls slide over it: their rows along it are zero."""
    for w in range(rolling_count(vehicle), vehicle.wheel.size):
        for i in range(s.A.shape[1]):
            s.A[3 * w, i] = 0.0
            s.A[3 * w + 1, i] = 0.0


@inlined
def wheel_jacobians(vehicle, s):
    """Of all wheels at their contact points into s.A, three rows each.

    A plain vehicle has neither followers nor balls, and spends no time on them.
    """
    for w in range(vehicle.wheel.size):
        rows = s.A[3 * w : 3 * w + 3]
        point_jacobian(vehicle, s, vehicle.wheel[w], s.p_contact[w], s.axes[w], rows)
        if vehicle.rollers[w]:
            free_across(rows)
    for i in range(vehicle.follower.size):
        w = vehicle.follower[i]
        turn_with_leader(vehicle, w, s.A[3 * w : 3 * w + 3])
    if vehicle.friction.size > 0:
        free_balls(vehicle, s)


@kernel
def sliding_jacobians(vehicle, s):
    """The rows of balls that slide as velocities of their contact points, against which there is friction."""
    for w in range(rolling_count(vehicle), vehicle.wheel.size):
        point_jacobian(vehicle, s, vehicle.wheel[w], s.p_contact[w], s.axes[w], s.A[3 * w : 3 * w + 3])
