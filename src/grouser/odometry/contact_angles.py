"""Contact angles: where on its rim each wheel meets the ground, estimated from wheel rates and pitch rate.

The idea is Iagnemma and Dubowsky's, T's reference [50]: wheels that roll without slip move along the ground, so the
difference between the velocities of two wheels of one rigid body, which is pitch rate times distance, gives the
directions of both. Angles are T's δ in the wheel's carrier [rad]: straight down is 0, a contact ahead is negative; L's
ψ is −δ. At standstill, or while the body does not turn, the estimate returns to zero and is marked as not valid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from grouser._kernels.odometry import contact_angles as kernels
from grouser._kernels.scratch import make_scratch
from grouser.checks import FloatArray
from grouser.collision.contacts import contacts
from grouser.errors import OdometryError
from grouser.odometry.inputs import BoolArray, check, finite_row, joint_values, row, time_stamp
from grouser.rotation import wrapped
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

SMOOTHING = 0.05  # s, of roll and pitch rates taken from differences of attitude
OPEN_RATE = 30.0  # m/s, rad/s: what the body's velocity may be before anything is measured, one sigma
OPEN_SPIN = 300.0  # rad/s, the same for a wheel whose rate is not measured
JOINT_RATE = 0.3  # rad/s or m/s, the same for other joints, which move slowly
COUPLING_RATE = 1e-3  # rad/s or m/s, how exactly rigid couplings hold


def pair_angles(
    speed_rear: float, speed_front: float, pitch_rate: float, ahead: float, above: float = 0.0
) -> tuple[float, float, bool]:
    """Contact angles (rear, front) [rad] of two wheels of one body in a plane, and whether they are determined.

    Speeds are those of the rims, R (wheel rate + pitch rate) [m/s], pitch rate [rad/s] nose down positive; the front
    wheel's centre is `ahead` and `above` [m] of the rear one's. The velocities close a triangle,
    v_f e(ψ_f) − v_r e(ψ_r) = ω (above, −ahead) with e(ψ) = (cos ψ, sin ψ), so the law of cosines gives both. Of its two
    solutions, mirror images, the one is taken in which the wheels carry the body where they turn. At standstill and
    without pitch rate the triangle is a point or a line: nothing is determined, and both angles are zero. Speeds that
    close no triangle mean slip.
    """
    given = {"speed_rear": speed_rear, "speed_front": speed_front, "pitch_rate": pitch_rate}
    given |= {"ahead": ahead, "above": above}
    v_r, v_f, rate, dx, dz = (check.number(value, name) for name, value in given.items())
    base = math.hypot(dx, dz)
    if base == 0.0:
        raise OdometryError("ahead, above: both wheels are in one place; contact angles need wheels that are apart")
    side = abs(rate) * base
    if min(abs(v_r), abs(v_f)) < kernels.SLOWEST or side < 1e-9:
        return 0.0, 0.0, False
    cosine_r = (v_f * v_f - v_r * v_r - side * side) / (2.0 * abs(v_r) * side)
    cosine_f = (v_f * v_f - v_r * v_r + side * side) / (2.0 * abs(v_f) * side)
    if abs(cosine_r) > 1.0 or abs(cosine_f) > 1.0:
        return 0.0, 0.0, False
    along = math.atan2(-rate * dx, rate * dz)
    best = (-math.inf, 0.0, 0.0)
    for sense in (1.0, -1.0):
        headings = (along + sense * math.acos(cosine_r), along + sense * math.acos(cosine_f))
        psi = [float(wrapped(h if v >= 0.0 else h + math.pi)) for h, v in zip(headings, (v_r, v_f), strict=True)]
        best = max(best, (math.cos(psi[0]) + math.cos(psi[1]), psi[0], psi[1]))
    return -best[1], -best[2], True


def ground_angles(
    vehicle: Vehicle, state: ArrayLike, ground: Terrain, *, touching: float = 0.02
) -> tuple[FloatArray, BoolArray]:
    """Contact angles [rad] on a known ground and whether each is valid, both (nw,), of a state.

    Valid where the wheel is within `touching` [m] of the ground: elsewhere the state or the map is wrong.
    """
    found = contacts(vehicle, state, ground)
    return found.angle, np.abs(found.height_error) <= check.positive(touching, "touching")


class ContactAngleEstimator:
    """Contact angles of all wheels of any vehicle, sample by sample, by least squares with a memory.

    Unknown are the body's velocity, the rates of joints that are not measured, and one angle per wheel; known are, with
    their noise, that the contact point of each wheel stands still, and how fast the body rolls and pitches. As a wheel
    rolls, the ground under it keeps its slope for a while while its carrier turns over it; the memory fades towards
    zero angle with exp(−distance/length). This makes a Kalman filter, whose update is solved by Gauss–Newton and whose
    covariance decides validity. Slip is taken to last over that length, so many samples of one slip count once.

    It cannot separate angles from slip that fits them: wheels driven at equal rates over ground that requires different
    ones slip by the difference. On gentle ground this error may exceed the benefit of the angles.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        *,
        rate_noise: float = 0.02,
        slip: float = 0.01,
        sideslip: float = 0.1,
        turn_noise: float = 0.01,
        attitude_rate_noise: float = 0.03,
        spread: float = 0.3,
        length: float | None = None,
        largest_sigma: float = 0.12,
        mean: float = 1.0,
    ) -> None:
        """For a vehicle. Defaults are those of a rover with good encoders and gyro.

        rate_noise: of wheel rates [rad/s]; slip, sideslip: along and across a wheel, parts of its rim speed;
        turn_noise: of a measured pitch rate or gyro [rad/s]; attitude_rate_noise: of rates from differences of
        attitude [rad/s]; spread: of contact angles on the ground to come [rad]; length: the distance after which the
        ground's slope is forgotten [m], None for twice the wheel's radius; largest_sigma: of an angle that counts as
        valid [rad]; mean: of their mean where the body follows the ground [rad], large: not known. All are one sigma.
        """
        self.vehicle = check.instance(vehicle, Vehicle, "vehicle", "use grouser.vehicle(name)")
        self._turn_noise = check.positive(turn_noise, "turn_noise")
        self._attitude_rate_noise = check.positive(attitude_rate_noise, "attitude_rate_noise")
        self._noise = np.zeros((), kernels.CONTACT_NOISE)
        for field, value, name in (
            ("rate", rate_noise, "rate_noise"), ("slip", slip, "slip"), ("sideslip", sideslip, "sideslip"),
            ("spread", spread, "spread"), ("valid", largest_sigma, "largest_sigma"), ("even", mean, "mean"),
        ):  # fmt: skip
            self._noise[field] = check.positive(value, name)
        self._length = None if length is None else check.positive(length, "length")
        self.reset()

    def reset(self) -> None:
        """Forget everything: angles are zero and unknown."""
        vehicle, arrays = self.vehicle, self.vehicle.arrays
        nw, nj = vehicle.n_wheels, vehicle.n_joints
        # Couplings without a spring hold exactly; sprung joints move with their measured or unknown rates.
        coupling = arrays.coupling[[k for k, c in enumerate(vehicle.couplings) if c.is_rigid]] / COUPLING_RATE
        sizes = {"nw": nw, "nj": nj, "nv": 6 + nj, "nq": 7 + nj, "nx": 6 + nj + nw, "nc": len(coupling)}
        sizes["nr"] = 3 * nw + 3 + len(coupling)
        f = self._filter = kernels.ContactFilter.zeros(vehicle=arrays, s=make_scratch(arrays), **sizes)
        f.repoint(noise=self._noise)
        loose = np.full(6 + nj, JOINT_RATE)
        loose[:6], loose[5 + arrays.wheel] = OPEN_RATE, OPEN_SPIN
        f.coupling[:], f.looseness[:], f.rest[:] = coupling, loose**-2.0, vehicle.rest
        f.length[:] = 2.0 * arrays.radius if self._length is None else self._length
        f.unknown[:6], f.q[0] = np.arange(6), 1.0
        f.sample.span = np.ptp(vehicle.wheel_positions[:, 0])
        f.P[:] = np.eye(nw) * float(self._noise["spread"]) ** 2
        self._time: float | None = None
        self._attitude: FloatArray | None = None
        self._attitude_rate = [0.0, 0.0]

    @property
    def surprise(self) -> float:
        """Mean square of the residuals of the latest sample over their variance [1]."""
        return float(self._filter.sample.surprise)

    @property
    def sigma(self) -> FloatArray:
        """Standard deviation of each angle [rad], (nw,)."""
        return np.sqrt(np.diag(self._filter.P))

    def update(
        self,
        t: float,
        rates: ArrayLike | Mapping[str, float],
        angles: ArrayLike | Mapping[str, float] | None = None,
        attitude: ArrayLike | None = None,
        pitch_rate: float | None = None,
        *,
        gyro: ArrayLike | None = None,
    ) -> tuple[FloatArray, BoolArray]:
        """Contact angles [rad] and whether each is valid, both (nw,), from one sample at time t [s].

        rates, angles: of the joints in the vehicle's order, NaN where not measured, or by name. attitude: (roll,
        pitch) [rad]. pitch_rate: about the body's y axis [rad/s], or the whole gyro (3,); without either, differences
        of attitude are taken. What is not finite counts as not measured. An angle that is not valid is an
        estimate drawn towards zero. A sample whose time does not advance changes nothing and is not valid.
        """
        f, now = self._filter, time_stamp(t)
        f.rates[:] = joint_values(self.vehicle, rates, "rates")
        f.angles[:] = joint_values(self.vehicle, angles, "angles")
        dt = 0.0 if self._time is None else now - self._time
        if self._time is not None and dt <= 0.0:
            return -f.psi, np.zeros(len(f.psi), dtype=bool)
        self._time = now
        rows, values = self._turning(dt, attitude, pitch_rate, gyro)
        f.sample.dt, f.sample.turns = dt, len(rows)
        f.sample.turn_rows[: len(rows)], f.sample.turn[: len(rows)] = rows, values
        kernels.update_contact_angles(f)
        return -f.psi, f.valid > 0

    def _turning(
        self, dt: float, attitude: ArrayLike | None, pitch_rate: float | None, gyro: ArrayLike | None
    ) -> tuple[FloatArray, FloatArray]:
        """What is known about ω: rows (k, 3) and their values (k,), both in sigmas; k may be zero."""
        now = finite_row(attitude, "attitude", 2)
        turned = None if gyro is None else row(gyro, "gyro", 3)
        differences = now is not None and self._attitude is not None and dt > 0.0
        if now is not None and self._attitude is not None and dt > 0.0:
            share = -math.expm1(-dt / SMOOTHING)
            for k in range(2):
                rate = float(wrapped(now[k] - self._attitude[k])) / dt
                self._attitude_rate[k] += share * (rate - self._attitude_rate[k])
        self._attitude = self._attitude if now is None else now
        rows, values = [], []
        if turned is not None:
            measured = np.isfinite(turned)
            differences = differences and not measured[:2].all()
            measured[:2] &= not differences  # attitude gives both where the gyro gives one of them
            rows = [tuple(axis) for axis in np.eye(3)[measured] / self._turn_noise]
            values = (turned[measured] / self._turn_noise).tolist()
        pitching = finite_row(None if pitch_rate is None else [pitch_rate], "pitch_rate", 1)
        if pitching is not None and turned is None:
            rows.append((0.0, 1.0 / self._turn_noise, 0.0))
            values.append(float(pitching[0]) / self._turn_noise)
        if differences and now is not None:
            # Rates of roll and pitch in body rates, T (3.61): yaw rate stays open.
            roll, pitch, noise = float(now[0]), float(now[1]), self._attitude_rate_noise
            sr, cr, tp = math.sin(roll), math.cos(roll), math.tan(min(max(pitch, -1.5), 1.5))
            rows += [(1.0 / noise, tp * sr / noise, tp * cr / noise), (0.0, cr / noise, -sr / noise)]
            values += [rate / noise for rate in self._attitude_rate]
        return np.array(rows, dtype=np.float64).reshape(-1, 3), np.array(values, dtype=np.float64)
