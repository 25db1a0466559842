"""Slip of a single wheel, found because its rate disagrees with the other wheels: L §5.1.

Forward kinematics of the other wheels gives the body's velocity, inverse kinematics the expected rate of this wheel.
The residual over its standard deviation is tested against a normal distribution. Slip that all wheels share is not
observable here: see the slip models of the body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from grouser.checks import FloatArray
from grouser.collision.contacts import contacts
from grouser.errors import OdometryError
from grouser.odometry.inputs import BoolArray, check, joint_values, row
from grouser.vehicles import Vehicle

UNTESTABLE = 1e-6
"""Share of a wheel's own noise that is left in its residual, below which the other wheels do not determine its rate."""
FLOOR = 0.01  # m/s added to the rim speed that slip noise is a part of


@dataclass(frozen=True)
class WheelSlip:
    """Which wheels slip alone, in the order of `vehicle.wheels`."""

    slipping: BoolArray
    """Wheels whose rates do not agree with the rest, (nw,)."""
    expected: FloatArray
    """Rate of each wheel by the others that do not slip [rad/s], (nw,); NaN where they do not determine it."""
    score: FloatArray
    """Square of rate less expected over its variance, (nw,): chi-square with one degree of freedom if it rolls."""
    slip_velocity: FloatArray
    """How much faster the rim runs than the ground passes [m/s], (nw,): > 0 spins ahead; NaN where not known."""
    testable: BoolArray
    """Wheels whose rate the others determine, (nw,)."""
    ambiguous: bool
    """Whether another wheel could be the one as well; all that could are then in `slipping`."""


class WheelSlipDetector:
    """Tests every wheel of a vehicle against the others."""

    def __init__(
        self,
        vehicle: Vehicle,
        *,
        rate_noise: float = 0.09,
        slip: float = 0.03,
        sideslip: float = 0.1,
        lift: float = 0.05,
        turn_noise: float = 0.01,
        false_alarm: float = 1e-3,
    ) -> None:
        """For a vehicle; all noise is one sigma.

        rate_noise: of wheel rates [rad/s], the LRU's by default; slip, sideslip, lift: ordinary scatter of a contact's
        velocity along, across and off the ground, parts of the rim speed; more sideslip for skid-steered vehicles.
        turn_noise: of the gyro [rad/s]; false_alarm: probability that a wheel that rolls is reported as slipping.
        """
        self.vehicle = check.instance(vehicle, Vehicle, "vehicle", "use grouser.vehicle(name)")
        self._rate_noise = check.positive(rate_noise, "rate_noise")
        parts = {"slip": slip, "sideslip": sideslip, "lift": lift}
        self._parts = np.array([check.positive(value, name) for name, value in parts.items()])
        self._turn_noise = check.positive(turn_noise, "turn_noise")
        alarm = check.positive(false_alarm, "false_alarm")
        if alarm >= 0.5:
            raise OdometryError(f"false_alarm: {alarm:g} is not a small probability, such as 0.001")
        self.threshold = float(ndtri(1.0 - 0.5 * alarm)) ** 2
        """Score beyond which a wheel slips."""
        arrays = vehicle.arrays
        self._coupling = arrays.coupling[[k for k, c in enumerate(vehicle.couplings) if c.is_rigid]]
        self._spin = 5 + arrays.wheel

    def check(
        self,
        rates: ArrayLike | Mapping[str, float],
        angles: ArrayLike | Mapping[str, float] | None = None,
        *,
        contact_angles: ArrayLike | None = None,
        gyro: ArrayLike | None = None,
    ) -> WheelSlip:
        """One sample: rates and angles of the joints, NaN where not measured; contact angles (nw,) [rad], zero if None.

        The gyro (3,) [rad/s] helps to decide between two wheels on one side.
        """
        vehicle = self.vehicle
        nw, nj = vehicle.n_wheels, vehicle.n_joints
        measured = joint_values(vehicle, rates, "rates")
        held = joint_values(vehicle, angles, "angles")
        state = np.zeros(7 + nj)
        state[0] = 1.0
        state[7:] = np.where(np.isfinite(held), held, vehicle.rest)
        delta = np.zeros(nw) if contact_angles is None else check.array(contact_angles, "contact_angles", (nw,))
        J = contacts(vehicle, state, angles=delta).jacobian
        A, b, sigma = self._rows(J, measured, gyro)
        return self._test(A / sigma[:, None], b / sigma, sigma[: 3 * nw : 3], measured)

    def _rows(
        self, J: FloatArray, rates: FloatArray, gyro: ArrayLike | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A u = b with the sigma of each row: contacts that stand still, couplings, gyro; u: what is not measured."""
        nw, nj = self.vehicle.n_wheels, self.vehicle.n_joints
        full = np.concatenate([np.full(6, np.nan), rates])
        radius = self.vehicle.arrays.radius
        rim = np.nan_to_num(np.abs(rates[self._spin - 6]) * radius) + FLOOR
        # The speed of the whole, not of one wheel: a wheel that stands still is not known better than the others.
        sigma = np.tile(np.median(rim) * self._parts, (nw, 1))
        sigma[:, 0] = np.hypot(sigma[:, 0], self._rate_noise * radius)
        held = len(self._coupling)
        turned = np.full(3, np.nan) if gyro is None else row(gyro, "gyro", 3)
        seen = np.isfinite(turned)
        coupled = np.hstack([np.zeros((held, 6)), self._coupling])
        every = np.vstack([J.reshape(3 * nw, -1), coupled, np.eye(6 + nj)[:3][seen]])
        sigmas = np.concatenate([sigma.ravel(), np.full(held, 1e-3), np.full(int(seen.sum()), self._turn_noise)])
        known = np.isfinite(full)
        right = np.append(np.zeros(3 * nw + held), turned[seen]) - every[:, known] @ full[known]
        return every[:, ~known], right, sigmas

    def _test(self, A: FloatArray, b: FloatArray, sigma: FloatArray, rates: FloatArray) -> WheelSlip:
        nw = len(sigma)
        radius = self.vehicle.arrays.radius
        own = rates[self._spin - 6]
        slipping = np.zeros(nw, dtype=bool)
        ambiguous = False
        first, _, testable = _leave_one_out(A, b, nw, slipping)
        while True:
            score, _, able = _leave_one_out(A, b, nw, slipping)
            score = np.where(able & ~slipping, score, 0.0)
            worst = int(np.argmax(score))
            if score[worst] <= self.threshold:
                break
            # Leaving a wheel out lowers the sum of squares by its score: what lowers it nearly as much may be it too.
            alike = np.flatnonzero(score > score[worst] - self.threshold)
            ambiguous |= len(alike) > 1
            slipping[alike] = True
            if len(alike) > 1:
                break
        _, residual, able = _leave_one_out(A, b, nw, slipping)
        # Row: (R ω − V)/σ = residual, so that the ground passes at R ω less it.
        excess = np.where(able & np.isfinite(own), residual * sigma, np.nan)
        return WheelSlip(slipping, own - excess / radius, first, excess, testable & np.isfinite(own), ambiguous)


def _leave_one_out(A: FloatArray, b: FloatArray, nw: int, out: BoolArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Score and residual of the longitudinal row of each wheel against the solution without it, and which have one.

    Rows of wheels in `out` never take part. With leverage h a residual e of the whole solution is e/(1 − h) without
    the row, and e²/(1 − h) over its variance.
    """
    use = np.ones(len(b), dtype=bool)
    use[3 * np.flatnonzero(out)] = False
    U, s, Vt = np.linalg.svd(A[use], full_matrices=False)
    keep = s > 1e-9 * s[0]
    x = Vt[keep].T @ ((U[:, keep].T @ b[use]) / s[keep])
    error = b - A @ x
    spread = ((A @ Vt[keep].T) / s[keep]) ** 2
    h = spread.sum(axis=1)[: 3 * nw : 3]
    # A wheel left out already adds its own noise to that of the prediction; one that takes part has h in it.
    left = np.where(out, 1.0 + h, 1.0 - h)
    outside = np.abs(A[: 3 * nw : 3] - (A[: 3 * nw : 3] @ Vt[keep].T) @ Vt[keep]).max(axis=1) > 1e-6
    able = (left > UNTESTABLE) & ~outside
    e = error[: 3 * nw : 3]
    with np.errstate(divide="ignore", invalid="ignore"):
        residual = np.where(out, e, e / left)
        score = np.where(able, e * e / left, 0.0)
    return score, np.where(able, residual, np.nan), able
