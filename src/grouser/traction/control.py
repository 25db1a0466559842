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

LARGEST = 1e6
"""A larger speed [m/s] or turn rate [rad/s] is no measurement."""


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
    braking: float | None = None
    """Deceleration at a wheel's rim [m/s²], > 0, with which it may brake, whatever the slip; None:
    motor_acceleration."""
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
        for name, least in (("acceleration_share", 0.0), ("largest_slip", 0.0), ("turn_slip", -0.9)):
            checks.number(getattr(self, name), f"traction control {name}", low=least, high=1.0, unit="")
        for name in ("acceleration_slope", "velocity_slope", "threshold"):
            checks.not_negative(getattr(self, name), f"traction control {name}")
        if self.braking is not None:
            checks.positive(self.braking, "traction control braking")
        for name in ("acceleration_slope", "velocity_slope"):
            if getattr(self, name) * self.largest_slip >= 1.0:
                raise SimulationError(
                    f"traction control {name}: {getattr(self, name):g} times largest_slip = {self.largest_slip:g} is "
                    f"not below 1, so the vehicle would stop where it slips most and never start again"
                )
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

    @property
    def braking_limit(self) -> float:
        """Deceleration at a wheel's rim with which it may brake [m/s²]."""
        return self.motor_acceleration if self.braking is None else self.braking

    def acceleration_limit(self, velocity: ArrayLike, slip: ArrayLike) -> float:
        """a_max of the body [m/s²], Algorithm 1: from its velocity with slip (3,) and s_control, (3,) or one number.

        It is for speeding up: L does not say so, but slip is no reason to brake late. ‖v‖ is compared with the
        threshold, not v, or driving in reverse would not be controlled.
        """
        return self.motor_acceleration if self._slow(velocity) else self.moving_limit(slip)

    def moving_limit(self, slip: ArrayLike) -> float:
        """a_max [m/s²] of a vehicle faster than the threshold."""
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
    """Commanded body velocities that change no faster than limits: one for speeding up, one for braking.

    Braking is the part of a change that shortens the velocity along its own direction, or the turn rate, down to
    zero at most. It comes first; what is left of the time goes to the rest: speeding up, to the side, and turning
    more. Within each part the components keep in step, so that the curvature of the path stays.
    """

    def __init__(self, arm: float) -> None:
        """arm: distance of the farthest wheel from the drive point [m], where a change of turn rate is felt."""
        self.arm = checks.positive(arm, "arm")
        self.velocity = np.zeros(3)
        """Last command (forward, left [m/s], turn [rad/s])."""

    def update(self, wanted: ArrayLike, limit: float, dt: float, *, braking: float | None = None) -> FloatArray:
        """The next command, dt [s] later: towards the wanted one, no wheel changing faster than limit [m/s²].

        braking: limit of a change that slows down [m/s²]; None: the same.
        """
        target = checks.array(wanted, "wanted", (3,))
        fastest = checks.positive(limit, "limit")
        hardest = fastest if braking is None else checks.positive(braking, "braking")
        left = self._move(self._slowed(target), hardest, checks.positive(dt, "dt"))
        if left > 0.0:
            self._move(target, fastest, left)
        return self.velocity

    def _slowed(self, target: FloatArray) -> FloatArray:
        """The present velocity with only the braking towards the target done, shape (3,)."""
        v = self.velocity
        square = float(v[:2] @ v[:2])
        along = float(target[:2] @ v[:2])
        share = 1.0 if along >= square else max(along / square, 0.0)
        turn = np.clip(target[2], min(v[2], 0.0), max(v[2], 0.0))
        return np.array([share * v[0], share * v[1], turn])

    def _move(self, target: FloatArray, limit: float, dt: float) -> float:
        """Go towards a velocity for at most dt [s]; the time that is left."""
        change = target - self.velocity
        needed = (math.hypot(change[0], change[1]) + self.arm * abs(float(change[2]))) / limit
        if needed <= dt:
            self.velocity = target
            return dt - needed
        self.velocity = self.velocity + change * (dt / needed)
        return 0.0


@dataclass(frozen=True)
class TractionState:
    """Output of the controller at one sample."""

    command: FloatArray
    """Commanded body velocity (forward, left [m/s], turn [rad/s])."""
    slip_velocity: FloatArray
    """Enhanced slip velocity, v_true − v_odometry, shape (3,) [m/s, m/s, rad/s]."""
    slip: FloatArray
    """Slip ratios s_control, shape (3,)."""
    acceleration_limit: float
    """a_max for speeding up [m/s²]."""
    braking_limit: float = TractionControl.motor_acceleration
    """Limit for braking [m/s²]."""
    stop: bool = False
    """Whether it brakes to a stand: by the override, or because the desired velocity is faulty."""
    faults: tuple[str, ...] = ()
    """Inputs that could not be used (not finite, or not three numbers); while odometry, model_slip or fused is one of
    them, the last good slip decays towards what the others say."""


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
        self.faults: dict[str, int] = {}
        """Number of faults by input."""
        self._limiter = VelocityLimiter(arm)
        self._motor = checks.positive(motor_acceleration, "motor_acceleration")
        self._odometry = np.zeros(3)  # last good one

    def update(
        self,
        desired: ArrayLike,
        odometry: ArrayLike,
        model_slip: ArrayLike,
        fused: ArrayLike | None,
        dt: float,
        *,
        stop: bool = False,
    ) -> TractionState:
        """The command for the next dt [s]; all velocities are (forward, left [m/s], turn [rad/s]).

        desired: of the path planner. odometry: of the wheels, before slip. model_slip: what the calibrated model adds
        to it. fused: of the fusion filter, or None where it has none. stop: override; it brakes to a stand at the
        braking limit, whatever is desired. A velocity that is not finite, or not three numbers, is a fault of the
        state, not an error; a faulty desired velocity stops the vehicle.
        """
        step, override = checks.positive(dt, "dt"), checks.flag(stop, "stop")
        given = {"desired": desired, "odometry": odometry, "model_slip": model_slip}
        good = {name: _usable(value, name) for name, value in given.items()}
        good |= {} if fused is None else {"fused": _usable(fused, "fused")}
        faults = tuple(name for name, value in good.items() if value is None)
        for name in faults:
            self.faults[name] = self.faults.get(name, 0) + 1
        slip = self._slip(good, step)
        wanted, v = good["desired"], self._odometry
        stopping = override or wanted is None
        target = np.zeros(3) if stopping or wanted is None else wanted
        control, s, limit, braking = self.control, np.zeros(3), self._motor, self._motor
        if control is not None:
            s = control.slip_for_control(slip, v)
            limit, braking = control.acceleration_limit(v + slip, s), control.braking_limit
            if faults:  # cautious also where the vehicle seems to stand
                limit = min(limit, control.moving_limit(s))
            target = control.velocity_scale(v + slip, s) * target
        command = self._limiter.update(target, limit, step, braking=braking)
        return TractionState(command, slip, s, limit, braking, stopping, faults)

    def _slip(self, good: dict[str, FloatArray | None], dt: float) -> FloatArray:
        """The slip velocity from the inputs that can be used; None is one that cannot."""
        odometry, model, fused = (good.get(name) for name in ("odometry", "model_slip", "fused"))
        if odometry is not None:
            self._odometry = odometry
        if odometry is not None and model is not None and ("fused" not in good or fused is not None):
            return self.estimate.update(model, odometry, fused, dt)
        if model is not None:
            return self.estimate.decay(model, dt)
        return self.estimate.decay(np.zeros(3) if odometry is None or fused is None else fused - odometry, dt)


def _usable(value: ArrayLike, name: str) -> FloatArray | None:
    """Three finite numbers, or None where a sensor gave something else; what is no array of numbers raises."""
    if value is None:
        raise SimulationError(f"{name}: None is not a velocity (forward, left, turn)")
    numbers = checks.real(value, name)
    if numbers.shape != (3,) or not (np.abs(numbers) <= LARGEST).all():
        return None
    return numbers
