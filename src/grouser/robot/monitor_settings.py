"""Settings of the monitor: false-alarm rates, and how a robot moves with grip, when it digs in, and when it slides."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import product

import numpy as np

from grouser._kernels.robot.monitor_memory import CELLS, KEPT, RATES, MonitorMemory
from grouser.checks import Checker, FloatArray
from grouser.errors import OdometryError

check = Checker(OdometryError)

STUCK_SHARE = 0.2
"""Share of the wheels' speed up to which a robot is stuck."""
AHEAD = (0.02, 0.04, 0.07, 0.1, 0.14, 0.19, 0.25, 0.33, 0.43, 0.56, 0.73, 0.95, 1.25, 1.6, 2.1)
"""Speeds of sliding on the grid [m/s], either way."""
STEADY, NEAR = 0.7, 0.25
"""Chances that the share of the wheels' motion stays the same in a block, or changes little."""
DIG_TIMES = (0.2, 0.5, 1.1, 2.2)
"""Times in which a robot that digs in loses its speed, by `dig_time`."""
BAND = (0.25, 0.15, 0.03)
"""Error of the usual current (share of its mean size), vibration (logarithm) and slip that is no evidence of a change
of ground."""
SHIFT_SIZES = ((0.2, 0.6), (0.2, 0.6), (0.05, 0.15))
"""Changes of these levels beyond the band, either way."""
LEAST_SIGMA = (0.1, 0.15, 0.05)
"""Least one sigma of a block of each."""
FORGET = 2.0
"""Time in which evidence is forgotten [s]."""


@dataclass(frozen=True, kw_only=True)
class MonitorSettings:
    """Assumptions of the monitor. The defaults are for a small rover with a MEMS IMU at 100 Hz."""

    false_alarm_hours: float = 10.0
    """Mean time between false alarms of each kind, at least, if the assumptions hold [h]; `stuck` counts the time in
    which wheels turn, `ground_changed` that of steady driving. docs/how-to/monitor.md has measured rates."""
    release_minutes: float = 2.0
    """Mean time after which an alarm ends although the robot is stuck and its wheels turn, at least [min]."""
    slip: float = 0.15
    """One sigma of the slip of a robot with grip about the expected one, as a share of the wheels' speed."""
    slip_time: float = 1.0
    """Correlation time of that slip [s]."""
    burst_time: float = 0.15
    """Mean duration of a burst of slip of a robot with grip [s], in which it moves with less than a fifth of the
    wheels' speed."""
    dig_time: float = 0.8
    """Mean time in which a robot that digs in loses its speed [s]."""
    slide_acceleration: float = 1.0
    """One sigma of the acceleration of a robot that slides [m/s²]."""
    least_speed: float = 0.03
    """Speed of the wheels above which they turn [m/s]."""
    least_turn: float = 0.05
    """Yaw rate of the wheels above which they turn [rad/s]."""
    turn_ratio: float = 1.0
    """Measured yaw rate by that of the wheels, ratio; learned while driving. Below 1 for skid-steer."""
    turn_ratio_sigma: float = 0.3
    """One sigma of that ratio before it is learned."""
    imu_position: tuple[float, float] = (0.0, 0.0)
    """Where the IMU is in the body, x and y [m]."""
    gyro_noise: float = 0.03
    """One sigma of the yaw rate of a block that wheels do not explain [rad/s]."""
    velocity_noise: float = 0.004
    """Least one sigma of the accelerometer's change of speed in a block [m/s]; what the ground adds is learned."""
    gravity_error: float = 0.08
    """Slow error of the accelerometer less gravity, from tilt and bias [m/s²], which is no evidence."""
    level_time: float = 5.0
    """Time constant with which the accelerometer corrects gravity in body axes [s]."""
    learn_time: float = 30.0
    """Time constant with which usual levels of current, vibration and slip are learned [s]."""
    hold: float = 2.0
    """Duration of an alarm of changed ground [s]: the time in which the new levels are learned."""
    block: float = 0.1
    """Duration of a block, over which samples are summed [s]."""
    gap: float = 1.0
    """A longer step between wheel samples begins the tests again [s]."""

    def __post_init__(self) -> None:
        """Check the values."""
        for field in dataclasses.fields(self):
            value, name = getattr(self, field.name), f"monitor {field.name}"
            if field.name == "imu_position":
                object.__setattr__(self, field.name, check.numbers(value, 2, name))
            else:
                object.__setattr__(self, field.name, check.positive(value, name))
        for name, least, most in (("slip", 0.02, 0.3), ("block", 0.02, 0.5), ("turn_ratio", 0.2, 3.0)):
            check.number(getattr(self, name), f"monitor {name}", low=least, high=most, unit="")

    def replace(self, **changes: object) -> MonitorSettings:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def memory(self) -> MonitorMemory:
        """Empty memory of a monitor."""
        memory: MonitorMemory = MonitorMemory.zeros(kept=KEPT)
        blocks = 3600.0 * self.false_alarm_hours / self.block
        packed = {
            "block": self.block, "gap": self.gap, "least_speed": self.least_speed, "least_turn": self.least_turn,
            "lever": self.imu_position, "level_time": self.level_time, "learn_time": self.learn_time,
            "gyro_noise": self.gyro_noise, "velocity_noise": self.velocity_noise,
            "drift": self.gravity_error * self.block,
            "speed_noise": 0.05, "floor": np.exp(-4.0),
            "change_floor": np.exp(-8.0), "budget": 4.0,
            "fade": np.exp(-self.block / FORGET), "start_weight": 1.0 / self.block,
            "threshold": blocks, "release": 60.0 * self.release_minutes / self.block, "hold": self.hold,
            "learned": 100, "shifts": _shifts(), "band": BAND, "least_sigma": LEAST_SIGMA,
            "ground_bound": 1.0, "steady": 0.3, "straight": 0.03,
            **self._motion_with_grip(), **_levels_by_share(),
        }  # fmt: skip
        for name, value in packed.items():
            memory.settings[name] = value
        self._add_sliding(memory)
        memory.state.noise[:] = 0.05**2
        memory.state.turn_ratio = self.turn_ratio
        memory.state.turn_ratio_variance = self.turn_ratio_sigma**2
        memory.state.share = 1.0
        return memory

    def _motion_with_grip(self) -> dict[str, FloatArray]:
        """Grid and chances of m, the share of the wheels' motion: with grip, digging in, stuck, getting free."""
        m = SHARES
        width = np.full(CELLS, m[1] - m[0])
        # With grip the motion is as steady as without, so that a calm drive is no evidence: mostly it stays, or moves
        # to a cell near by that is not less usual, and now and then it is drawn again: within the correlation time of
        # slip, or within that of a burst where the wheels spin.
        normal = 0.98 * _bell(m, 0.95, self.slip)[0] + 0.02 * _even(m, 0.25, 1.1)
        calm = (STEADY * np.eye(CELLS) + NEAR * _bell(m, m, 0.04)) / (STEADY + NEAR)
        usual = calm * np.minimum(1.0, normal / normal[:, None])
        usual += np.diag(1.0 - usual.sum(axis=1))
        drawn = np.interp(m, (STUCK_SHARE, 0.5), (self.block / self.burst_time, self.block / (2.0 * self.slip_time)))
        drawn = np.minimum(drawn, 0.9)[:, None]
        grip = (1.0 - drawn) * usual + drawn * normal
        stuck = _even(m, -0.03, STUCK_SHARE)
        zone = m <= STUCK_SHARE + 1e-9
        still = 0.95 * calm * zone
        still += (1.0 - still.sum(axis=1, keepdims=True)) * stuck
        still = np.where(zone[:, None], still, stuck)
        leave = np.zeros((2, RATES, CELLS, CELLS))
        for r, time in enumerate(self.dig_time * np.array(DIG_TIMES)):
            lost = self.block / time
            down = _bell(m, m - lost, 0.3 * lost + 0.02)
            inside = (down * zone).sum(axis=1, keepdims=True)
            leave[0, r] = np.where(zone[:, None], still, down * ~zone + inside * stuck)
            up = _bell(m, m + lost, 0.3 * lost + 0.02)
            leave[1, r] = np.where((m > 0.6)[:, None], grip, up)
        start = 0.8 * normal + 0.2 * _even(m, 0.4, 1.05)
        stay, leaves, zeros = np.zeros((4, CELLS, CELLS)), np.zeros((4, RATES, CELLS, CELLS)), np.zeros((2, 4, CELLS))
        stay[:2], leaves[:2] = (grip, still), leave
        zeros[0, :2], zeros[1, :2] = (start, stuck), (stuck, start)
        return {
            "grid": np.stack([m, m]), "width": np.stack([width, width]), "stay": stay, "leave": leaves,
            "stay_start": zeros[0], "leave_start": zeros[1],
        }  # fmt: skip

    def _add_sliding(self, memory: MonitorMemory) -> None:
        """Grid and chances of x, the speed that wheels do not explain: none, or a walk at random."""
        x = np.array([*(-v for v in reversed(AHEAD)), 0.0, *AHEAD])
        width = np.gradient(x)
        none = np.zeros(CELLS)
        none[CELLS // 2] = 1.0
        slides = (x != 0.0) * width
        step = slides * np.exp(-0.5 * ((x - x[:, None]) / (self.slide_acceleration * self.block)) ** 2)
        step /= step.sum(axis=1, keepdims=True)
        stay = np.eye(CELLS)
        stay[CELLS // 2] = step[CELLS // 2]
        slide = 0.8 * stay + 0.2 * step
        to_rest = 0.5 * slide + 0.5 * none
        to_rest[CELLS // 2] = 0.8 * none  # no steadier than a slide, so that a calm one does not end
        settings = memory.settings
        settings.grid[1], settings.width[1] = x, width
        settings.stay[2], settings.leave[2] = none, slide
        settings.stay[3], settings.leave[3] = slide, to_rest
        settings.stay_start[2], settings.leave_start[2] = none, slide[CELLS // 2]
        settings.stay_start[3], settings.leave_start[3] = slide[CELLS // 2], none


def _shifts() -> FloatArray:
    """All combinations of shifts of the levels but none at all, (124, 3)."""
    sizes = [(0.0, *one, *(-size for size in one)) for one in SHIFT_SIZES]
    return np.array([one for one in product(*sizes) if any(one)])


SHARES = np.linspace(-0.1, 1.1, CELLS)
"""Grid of m, the share of the wheels' motion."""


def _levels_by_share() -> dict[str, FloatArray]:
    """Yaw rate, current and vibration in the cells of m: those of a stuck robot below 0.2, the usual ones above 0.6."""
    m = SHARES
    moves = np.clip((m - STUCK_SHARE) / 0.4, 0.0, 1.0)
    return {
        "turn_share": (1.0 - moves) * np.clip(m, 0.0, 1.0) + moves,
        "turn_sigma": 0.12 + 0.18 * moves,
        "stuckness": 1.0 - np.clip((m - 0.25) / 0.3, 0.0, 1.0),
    }


def _bell(m: FloatArray, at: FloatArray | float, sigma: float) -> FloatArray:
    """Normal distributions on a grid, a row for each mean."""
    p = np.exp(-0.5 * ((m - np.reshape(at, (-1, 1))) / sigma) ** 2)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _even(m: FloatArray, low: float, high: float) -> FloatArray:
    """Even distribution over some cells of a grid."""
    inside = ((m > low - 1e-9) & (m < high + 1e-9)).astype(np.float64)
    return np.asarray(inside / inside.sum())
