"""Wheel Jacobians in L's form: velocity of the wheel centres per velocity of the body and of the joints, (4.33)–(4.40).

The reference that streaming odometry is held to: it solves the same equations for the contact points, T (2.37).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser.checks import FloatArray
from grouser.kinematics import frame_jacobian, frame_poses
from grouser.vehicles import Vehicle


@dataclass(frozen=True, eq=False, kw_only=True)
class WheelJacobians:
    """Velocity of each wheel's centre in body axes: free · (v, ω) + fixed · joint rates. L's order: v first."""

    free: FloatArray
    """Jacobian J_free of (4.36), shape (nw, 3, 6): columns v_x, v_y, v_z, ω_x, ω_y, ω_z."""
    fixed: FloatArray
    """Jacobian J_fix of (4.37), (nw, 3, nj): columns are the vehicle's joints. A wheel's spin moves no wheel centre."""
    rolling: FloatArray
    """R_Bw V of (4.44), (4.46), shape (nw, 3): velocity of a rolling wheel's centre per unit rate [m], body axes."""

    @property
    def planar(self) -> FloatArray:
        """Jacobian J_2D of (4.40), shape (nw, 2, 3): rows x, y, columns v_x, v_y, ω_z."""
        return self.free[:, :2][:, :, [0, 1, 5]]

    def body_velocity(self, rates: ArrayLike, joint_rates: ArrayLike | None = None) -> FloatArray:
        """(v, ω) in body axes by (4.35) from wheel rates (nw,) [rad/s] and joint rates (nj,), with unit weights."""
        nw = len(self.free)
        centres = self.rolling * checks.array(rates, "rates", (nw,))[:, None]
        if joint_rates is not None:
            centres = centres - self.fixed @ checks.array(joint_rates, "joint_rates", (self.fixed.shape[2],))
        result: FloatArray = np.linalg.pinv(self.free.reshape(3 * nw, 6)) @ centres.ravel()
        return result

    def velocity_covariance(self, rates: ArrayLike) -> FloatArray:
        """Covariance of (v, ω) by (4.47), (6, 6), for that of the wheel rates (nw, nw) [rad²/s²]."""
        nw = len(self.free)
        spread = np.zeros((3 * nw, nw))
        for w in range(nw):
            spread[3 * w : 3 * w + 3, w] = self.rolling[w]
        gain = np.linalg.pinv(self.free.reshape(3 * nw, 6)) @ spread
        result: FloatArray = gain @ checks.array(rates, "rates", (nw, nw)) @ gain.T
        return result


def wheel_jacobians(
    vehicle: Vehicle, angles: ArrayLike | None = None, contact_angles: ArrayLike | None = None
) -> WheelJacobians:
    """Jacobians of a vehicle with joint angles (nj,) [rad or m] and contact angles δ (nw,) [rad]; None: rest and zero.

    L's contact angle is ψ = −δ: a wheel that climbs has its contact ahead, δ < 0, and its centre rises. The third entry
    of (4.44) is r sin ψ, as (4.22) has it, not r cos ψ.
    """
    checks.instance(vehicle, Vehicle, "vehicle", "use grouser.vehicle(name)")
    nw, nj = vehicle.n_wheels, vehicle.n_joints
    state = np.zeros(7 + nj)
    state[0] = 1.0
    state[7:] = vehicle.rest if angles is None else checks.array(angles, "angles", (nj,))
    spin = [7 + vehicle.joint_index(wheel) for wheel in vehicle.wheels]
    state[spin] = 0.0
    psi = np.zeros(nw) if contact_angles is None else -checks.array(contact_angles, "contact_angles", (nw,))
    free, fixed, rolling = np.zeros((nw, 3, 6)), np.zeros((nw, 3, nj)), np.zeros((nw, 3))
    R_body_frame = frame_poses(vehicle, state)[0]
    for w, (wheel, radius) in enumerate(zip(vehicle.wheels, vehicle.arrays.radius, strict=True)):
        linear = frame_jacobian(vehicle, state, wheel)[3:]
        free[w, :, :3], free[w, :, 3:] = linear[:, 3:6], linear[:, :3]
        fixed[w] = linear[:, 6:]
        ahead = radius * np.array([np.cos(psi[w]), 0.0, np.sin(psi[w])])
        rolling[w] = R_body_frame[vehicle.arrays.wheel[w]] @ ahead
    return WheelJacobians(free=free, fixed=fixed, rolling=rolling)
