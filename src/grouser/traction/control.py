"""Traction control of a kinematically controlled rover: slower and gentler where it slips, L Algorithms 1 and 2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.odometry.slip_ratio import THRESHOLD, body_slip, travel_slip
from grouser.traction.slip_filter import SlipEstimate, SlipFilter, slip_vector


class SlipMeasure(StrEnum):
    """Which slip the control reacts to, L §6.2 and the end of §6.3."""

    MAGNITUDE = "magnitude"
    """|s|: also slows down where the vehicle skids downhill. What L drove with."""
    FORWARD = "forward"
    """max(s, 0): only where the vehicle falls behind its wheels."""
    SIGNED = "signed"
    """s: goes faster than desired where it skids downhill."""
    VECTOR = "vector"
    """|s| of forward, left and turn separately; they are scaled separately, so the path changes."""


@dataclass(frozen=True, kw_only=True)
class TractionControl:
    """Parameters of the control; defaults are those L drove with, §6.3."""

    acceleration_share: float = 0.8
    """b, 0 < b ≤ 1: share of the motors' acceleration used when nothing slips."""
    acceleration_slope: float = 1.7
    """c, ≥ 0, c s_max < 1: how much slip lowers acceleration."""
    velocity_slope: float = 0.8
    """d, a ratio, ≥ 0, d s_max < 1: how much slip lowers velocity."""
    largest_slip: float = 0.5
    """s_max, a slip ratio, 0 < s_max ≤ 1: more slip slows no further."""
    threshold: float = THRESHOLD
    """Speed [m/s], ≥ 0, below which slip is ignored."""
    motor_acceleration: float = 0.63
    """a_max,motor [m/s²], > 0: what the motors' own limiter allows at a wheel's rim."""
    wheel_rate: float = 5.0
    """Largest wheel rate [rad/s], > 0, for which these parameters were found."""
    turn_slip: float = 0.0
    """p₆ of the slip model, a ratio, with the sign of `gr.slip`, −0.9 ≤ p₆ ≤ 1: the vehicle turns (1 + p₆) times as
    much as its wheels; understeer is negative. L's p₆ is the negative of this."""
    measure: SlipMeasure = SlipMeasure.MAGNITUDE
    """Which slip it reacts to."""

    def __post_init__(self) -> None:
        for name in ("acceleration_share", "largest_slip", "motor_acceleration", "wheel_rate"):
            checks.positive(getattr(self, name), f"traction control {name}")
        for name in ("acceleration_slope", "velocity_slope", "threshold"):
            checks.not_negative(getattr(self, name), f"traction control {name}")
        for name in ("acceleration_share", "largest_slip"):
            if getattr(self, name) > 1.0:
                raise SimulationError(f"traction control {name}: {getattr(self, name):g} is more than 1")
        for name in ("acceleration_slope", "velocity_slope"):
            if getattr(self, name) * self.largest_slip >= 1.0:
                raise SimulationError(
                    f"traction control {name}: {getattr(self, name):g} times largest_slip = {self.largest_slip:g} is "
                    f"not below 1, so the vehicle would stop where it slips most and never start again"
                )
        if not -0.9 <= checks.number(self.turn_slip, "traction control turn_slip") <= 1.0:
            raise SimulationError(f"traction control turn_slip: {self.turn_slip:g} is not between -0.9 and 1")
        measure = checks.choice(self.measure, "traction control measure", tuple(SlipMeasure))
        object.__setattr__(self, "measure", SlipMeasure(measure))

    def slip_for_control(self, slip: ArrayLike, odometry: ArrayLike) -> FloatArray:
        """s_control of forward, left and turn, shape (3,), within ±s_max: equal, unless the measure is the vector."""
        v_slip, v = checks.array(slip, "slip", (3,)), checks.array(odometry, "odometry", (3,))
        if self.measure is SlipMeasure.VECTOR:
            s = np.abs(slip_vector(v_slip, v))
        elif self.measure is SlipMeasure.MAGNITUDE:
            s = np.full(3, float(body_slip(v_slip[:2], v[:2])))
        else:
            s = np.full(3, float(travel_slip(v_slip[:2], v[:2])))
            if self.measure is SlipMeasure.FORWARD:
                s = np.maximum(s, 0.0)
        # Bounded below too, or a signed slip would speed up without bound.
        return np.clip(s, -self.largest_slip, self.largest_slip)

    def acceleration_limit(self, velocity: ArrayLike, slip: ArrayLike) -> float:
        """a_max of the body [m/s²], Algorithm 1: from its velocity with slip (3,) and s_control, (3,) or one number.

        ‖v‖ is compared with the threshold, not v, or driving in reverse would not be controlled.
        """
        if self._slow(velocity):
            return self.motor_acceleration
        s = float(np.max(self._bounded(slip)))
        wanted = self.acceleration_share * self.motor_acceleration * (1.0 - self.acceleration_slope * s)
        return min(wanted, self.motor_acceleration)

    def velocity_scale(self, velocity: ArrayLike, slip: ArrayLike) -> FloatArray:
        """ε of forward, left and turn, shape (3,), Algorithm 2; arguments as in `acceleration_limit`.

        The turn is divided by 1 + p₆ (1 − p₆ in L's sign), so that the vehicle turns as desired; L as printed
        subtracts p₆, which turns an understeering vehicle even less.
        """
        s = np.zeros(3) if self._slow(velocity) else self._bounded(slip)
        return np.asarray((1.0 - self.velocity_slope * s) / np.array([1.0, 1.0, 1.0 + self.turn_slip]))

    def _slow(self, velocity: ArrayLike) -> bool:
        v = checks.array(velocity, "velocity", (3,))
        return not math.hypot(v[0], v[1]) > self.threshold

    def _bounded(self, slip: ArrayLike) -> FloatArray:
        s = np.full(3, checks.number(slip, "slip")) if np.ndim(slip) == 0 else checks.array(slip, "slip", (3,))
        return np.clip(s, -self.largest_slip, self.largest_slip)


class VelocityLimiter:
    """Commanded body velocities that change no faster than an acceleration limit; all components keep in step."""

    def __init__(self, arm: float) -> None:
        """arm: distance of the farthest wheel from the drive point [m], where a change of turn rate is felt."""
        self.arm = checks.positive(arm, "arm")
        self.velocity = np.zeros(3)
        """Last command (forward, left [m/s], turn [rad/s])."""

    def update(self, wanted: ArrayLike, limit: float, dt: float) -> FloatArray:
        """The next command, dt [s] later: towards the wanted one, no wheel changing faster than limit [m/s²]."""
        target = checks.array(wanted, "wanted", (3,))
        most = checks.positive(limit, "limit") * checks.positive(dt, "dt")
        change = target - self.velocity
        size = math.hypot(change[0], change[1]) + self.arm * abs(change[2])
        self.velocity = target if size <= most else self.velocity + change * (most / size)
        return self.velocity


@dataclass(frozen=True)
class TractionState:
    """What the controller did at one sample."""

    command: FloatArray
    """Commanded body velocity (forward, left [m/s], turn [rad/s])."""
    slip_velocity: FloatArray
    """Enhanced slip velocity, v_true − v_odometry, shape (3,) [m/s, m/s, rad/s]."""
    slip: FloatArray
    """Slip ratios s_control, shape (3,)."""
    acceleration_limit: float
    """a_max [m/s²]."""


class TractionController:
    """Slip filter, velocity scaling and acceleration limiter in a row, a sample at a time.

    With control None only the motors' own acceleration limit acts: what a rover without traction control does.
    """

    def __init__(
        self,
        control: TractionControl | None,
        *,
        arm: float,
        motor_acceleration: float = TractionControl.motor_acceleration,
        slip_filter: SlipFilter | None = None,
    ) -> None:
        """arm as in `VelocityLimiter`; motor_acceleration [m/s²] is used where control is None."""
        if control is not None:
            checks.instance(control, TractionControl, "control", "use grouser.traction.TractionControl(…) or None")
        self.control = control
        self.estimate = SlipEstimate(slip_filter)
        self._limiter = VelocityLimiter(arm)
        self._motor = checks.positive(motor_acceleration, "motor_acceleration")

    def update(
        self, desired: ArrayLike, odometry: ArrayLike, model_slip: ArrayLike, fused: ArrayLike | None, dt: float
    ) -> TractionState:
        """The command for the next dt [s]; all velocities are (forward, left [m/s], turn [rad/s]).

        desired: of the path planner. odometry: of the wheels, before slip. model_slip: what the calibrated model adds
        to it. fused: of the fusion filter, or None where it has none.
        """
        wanted = checks.array(desired, "desired", (3,))
        v = checks.array(odometry, "odometry", (3,))
        slip = self.estimate.update(model_slip, v, fused)
        if self.control is None:
            return TractionState(self._limiter.update(wanted, self._motor, dt), slip, np.zeros(3), self._motor)
        s = self.control.slip_for_control(slip, v)
        limit = self.control.acceleration_limit(v + slip, s)
        command = self._limiter.update(self.control.velocity_scale(v + slip, s) * wanted, limit, dt)
        return TractionState(command, slip, s, limit)
