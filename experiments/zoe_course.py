"""The course of T §3.4.3: laps with four ramps under Zoë's left or right wheels, how it is driven, and what is known
of the ramps."""

from __future__ import annotations

import math

import numpy as np
from scipy.signal import lfilter

from grouser import rotation, terrain
from grouser.checks import FloatArray
from grouser.terrain import Terrain
from grouser.traction.path import Path, PurePursuit
from grouser.vehicles import Vehicle

STRAIGHT, TURN = 14.0, 5.0  # m: length of the two straights, radius of the two turns
RAMPS = ((0.41, 1.79, 0.61, -3.5), (0.42, 1.34, 0.0, 1.5))
"""Height, length, flat top and foot, from the middle of each straight [m]; both straights have both."""
WIDTH = 0.61  # m
HALF_TRACK = 0.82  # m: lateral position of the ramps from the path
SPEED = 0.45  # m/s: T kept below 0.5
LOOKAHEAD, SHARPEST = 2.0, 0.25  # m, 1/m
CONTROL_PERIOD = 0.05  # s
STEERING_GAIN, STEERING_LIMIT = 1.0, 1.5  # m/s per rad, m/s: the vehicle file's
CLIMBING, LEAST = 0.08, 0.02  # m/s, m: an axle that rolls faster and is higher on one side is on a ramp
SMOOTHING, DIFFERENCE = 0.08, 0.1  # s: of that roll, and over which its rate is taken


def laps(count: int) -> Path:
    """Round and round to the left, from the beginning of a straight."""
    ahead = np.linspace(-0.5 * STRAIGHT, 0.5 * STRAIGHT, 281)[:-1]
    turn = np.linspace(-0.5 * math.pi, 0.5 * math.pi, 201)[:-1]
    straight = np.column_stack([ahead, np.full(len(ahead), -TURN)])
    half = np.concatenate([straight, np.column_stack([0.5 * STRAIGHT + TURN * np.cos(turn), TURN * np.sin(turn)])])
    return Path(np.concatenate([half, -half] * count))


def start() -> tuple[float, float, float]:
    """x, y [m], yaw [rad] where the laps begin."""
    return -0.5 * STRAIGHT, -TURN, 0.0


def ground(side: int, *, roughness: tuple[float, float], seed: int) -> Terrain:
    """Uneven ground with ramps under the left (side 1) or right (−1) wheels; roughness: rms and length [m]."""
    reach = (STRAIGHT + 2.0 * TURN + 8.0, 2.0 * TURN + 8.0)
    parts = [terrain.rough(*roughness, seed, size=reach, spacing=0.25 * roughness[1], interpolation="bicubic")]
    for heading in (0.0, 180.0):
        c = math.cos(math.radians(heading))
        parts += [
            terrain.ramp(
                height,
                length=length,
                top=top,
                width=WIDTH,
                x=c * foot,
                y=c * (side * HALF_TRACK - TURN),
                heading_deg=heading,
                base=False,
            )
            for height, length, top, foot in RAMPS
        ]
    return terrain.stack(*parts)


class Driver:
    """Zoë's driver: pure pursuit of the path, axles steered by a difference of wheel speeds.

    It uses the nominal vehicle and the readings of the axles' potentiometers; both have small errors.
    """

    def __init__(self, nominal: Vehicle, path: Path, axles: tuple[tuple[float, float], tuple[float, float]]) -> None:
        """axles: gain and offset [rad] of the reading of the front and of the rear steering angle."""
        self.planner = PurePursuit(path, speed=SPEED, lookahead=LOOKAHEAD)
        self._radius = float(nominal.arrays.radius.mean())
        self._half = 0.5 * float(np.ptp(nominal.wheel_positions[:, 0]))
        self._axles = axles
        self._joints = (7 + nominal.joint_index("s1"), 7 + nominal.joint_index("s2"))
        self._next = -1.0
        self._speed = self._turn = self._steer = 0.0

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """Rates of the four wheels [rad/s]."""
        if time > self._next - 1e-9:
            self._next = time + CONTROL_PERIOD
            w, x, y, z = state[:4]
            yaw = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
            self._speed, _, turn = self.planner.desired(float(state[4]), float(state[5]), yaw)
            most = SHARPEST * self._speed
            self._turn = min(max(float(turn), -most), most)
            self._steer = math.atan(self._half * self._turn / self._speed) if self._speed else 0.0
        wheels = []
        for target, joint, (gain, offset) in zip((self._steer, -self._steer), self._joints, self._axles, strict=True):
            feedback = STEERING_GAIN * (target - gain * float(state[joint]) - offset)
            feedback = min(max(feedback, -STEERING_LIMIT), STEERING_LIMIT)
            apart = HALF_TRACK * self._turn + feedback
            forward = self._speed / math.cos(self._steer)
            wheels += [(forward - apart) / self._radius, (forward + apart) / self._radius]
        return np.array(wheels)


def angles_on_ramps(vehicle: Vehicle, time: FloatArray, attitude: FloatArray, joints: FloatArray) -> FloatArray:
    """Contact angles [rad] of the wheels, (n, nw), from what is known of the ramps and how the axles roll.

    A wheel that rises or falls fast against the other one of its axle is on a face of a ramp, whose steepness and
    height are known; steeper and flatter ramps are not distinguished. Others are on level ground. Only samples up
    to the present one are used. attitude: roll, pitch (n, 2), joints (n, nj) [rad], both measured.
    """
    radius = float(vehicle.arrays.radius.mean())
    track = float(np.ptp(vehicle.wheel_positions[:, 1]))
    fixed = {frame.name: frame.rpy for frame in vehicle.frames}
    s1, r2, s2 = (joints[:, vehicle.joint_index(j)] + fixed[j][axis] for j, axis in (("s1", 2), ("r2", 0), ("s2", 2)))
    up_body = rotation.from_rpy(attitude[:, 0], attitude[:, 1], 0.0)[:, 2]
    out = np.empty((len(time), 4))
    for k, (roll, steer) in enumerate(((np.zeros_like(r2), s1), (r2, s2))):
        R_body_axle = rotation.from_rpy(roll, 0.0, 0.0) @ rotation.from_rpy(0.0, 0.0, steer)
        up_axle = np.einsum("ni,nij->nj", up_body, R_body_axle)
        # On level ground the contact is ahead where the axle's nose points down.
        ahead = np.arcsin(up_axle[:, 0])
        out[:, 2 * k : 2 * k + 2] = ahead[:, None] - _slopes(time, track * up_axle[:, 1], radius)
    return out


def _slopes(time: FloatArray, rise: FloatArray, radius: float) -> FloatArray:
    """Slope [rad] under the left and the right wheel of an axle, (n, 2), from how high the left is over the right."""
    steepness = float(np.mean([math.atan2(h, 0.5 * (length - top)) for h, length, top, _ in RAMPS]))
    top = float(np.mean([h for h, _, _, _ in RAMPS]))
    step = float(np.median(np.diff(time)))
    smooth = _lagging(rise, step / SMOOTHING)
    rate = (smooth - _lagging(smooth, step / DIFFERENCE)) / DIFFERENCE
    now = smooth + SMOOTHING * rate
    # Over the edge of the top the wheel turns about that edge, ever less steep.
    edge = np.arccos(np.clip((np.abs(now) + radius - top) / radius, -1.0, 1.0))
    climbing = rate * np.sign(smooth)
    # A wheel that has just come down still seems to fall, and the other one to climb: hence the least height.
    on_ramp = (np.abs(climbing) > CLIMBING) & (np.abs(smooth) > LEAST)
    slope = np.where(on_ramp, np.sign(climbing) * np.minimum(steepness, edge), 0.0)
    return np.where(np.stack([smooth > 0.0, smooth <= 0.0], axis=1), slope[:, None], 0.0)


def _lagging(values: FloatArray, share: float) -> FloatArray:
    """A low pass of first order; share: of a step in its time constant."""
    keep = math.exp(-share)
    result, _ = lfilter([1.0 - keep], [1.0, -keep], values, zi=[keep * values[0]])
    return np.asarray(result)
