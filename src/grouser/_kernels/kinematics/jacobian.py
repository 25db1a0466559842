"""Wheel Jacobians, T Algorithm 2, in body coordinates; rows are the contact frame's x, y, z."""

from grouser._compile.jit import inlined


@inlined
def point_jacobian(vehicle, s, frame, p, axes, A):
    """Velocity of the point p, fixed to a frame, along the rows of `axes`, per unit joint-space velocity: A (3, nv).

    Only the columns of the body and of the joints between it and the frame are written: the others stay zero.
    """
    for r in range(3):
        ex = axes[r, 0]
        ey = axes[r, 1]
        ez = axes[r, 2]
        A[r, 0] = p[1] * ez - p[2] * ey
        A[r, 1] = p[2] * ex - p[0] * ez
        A[r, 2] = p[0] * ey - p[1] * ex
        A[r, 3] = ex
        A[r, 4] = ey
        A[r, 5] = ez
    f = frame
    while f > 0:
        axis = vehicle.joint[f]
        a = s.R[f]
        if axis < 3:
            rx = p[0] - s.p[f, 0]
            ry = p[1] - s.p[f, 1]
            rz = p[2] - s.p[f, 2]
            vx = a[1, axis] * rz - a[2, axis] * ry
            vy = a[2, axis] * rx - a[0, axis] * rz
            vz = a[0, axis] * ry - a[1, axis] * rx
        else:
            vx = a[0, axis - 3]
            vy = a[1, axis - 3]
            vz = a[2, axis - 3]
        for r in range(3):
            A[r, 5 + f] = axes[r, 0] * vx + axes[r, 1] * vy + axes[r, 2] * vz
        f = vehicle.parent[f]


@inlined
def wheel_jacobians(vehicle, s):
    for w in range(vehicle.wheel.size):
        point_jacobian(vehicle, s, vehicle.wheel[w], s.p_contact[w], s.axes[w], s.A[3 * w : 3 * w + 3])
