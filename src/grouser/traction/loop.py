"""Traction control in a closed loop: the dynamics engine is the rover, sensors and estimators are on board.

At every control step: planner → slip filter and traction control → inverse kinematics → motors, from what the
encoders, the attitude sensor and a fusion filter give. In place of the fusion filter is the true velocity with
white noise; wheel odometry and the calibrated slip model are those of a robot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from grouser import checks, rotation
from grouser.checks import FloatArray
from grouser.dynamics import Dynamics
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.kinematics.inverse import Limits
from grouser.law import BoundLaw
from grouser.odometry import EncoderNoise, Odometry
from grouser.simulation import Run, drive, simulate
from grouser.simulation.drive import Callback
from grouser.terrain import Terrain
from grouser.traction.control import TractionControl, TractionController
from grouser.traction.mode_driver import ModeDriver
from grouser.traction.path import PurePursuit
from grouser.traction.slip_filter import SlipFilter
from grouser.vehicles import Vehicle

SINKING = 3.0  # Time in which a rover comes to rest on its ground [s]
PLANAR = [3, 4, 2]  # Where forward, left and turn stand in a velocity (ω, v)


@dataclass(frozen=True, kw_only=True)
class Sensors:
    """One sigma of each sensor's white noise at the control rate."""

    wheel_rate: float = 0.093
    """Noise of a wheel's rate [rad/s], L (4.43)."""
    attitude: float = 0.005
    """Noise of roll and pitch [rad]."""
    fused_velocity: float = 0.02
    """Noise of the fused forward and left velocity [m/s]."""
    fused_turn: float = 0.02
    """Noise of the fused turn rate [rad/s]."""
    seed: int = 0
    """Seed of all noise."""

    def __post_init__(self) -> None:
        for name in ("wheel_rate", "attitude", "fused_velocity", "fused_turn"):
            checks.not_negative(getattr(self, name), f"sensors {name}")
        checks.count(self.seed, "sensors seed", least=0)


class LoopRecord(NamedTuple):
    """Record of the loop, a row per control step; velocities are (forward, left [m/s], turn [rad/s])."""

    time: FloatArray
    """[s], (n,)."""
    desired: FloatArray
    """Velocity desired by the planner, (n, 3) [m/s, m/s, rad/s]."""
    command: FloatArray
    """Velocity commanded by the control, (n, 3) [m/s, m/s, rad/s]."""
    odometry: FloatArray
    """Velocity of the wheels, before slip, (n, 3) [m/s, m/s, rad/s]."""
    slip_velocity: FloatArray
    """Enhanced slip velocity, v_true − v_odometry, (n, 3) [m/s, m/s, rad/s]."""
    slip: FloatArray
    """Slip ratios s_control, (n, 3); zero without control."""
    acceleration_limit: FloatArray
    """a_max for speeding up [m/s²], (n,)."""
    along: FloatArray
    """Distance driven along the path [m], (n,)."""
    off: FloatArray
    """Distance to the right of the path [m], (n,)."""


class ClosedLoop:
    """A drive of the engine: it senses the simulated rover, estimates, controls, and commands its joints."""

    def __init__(
        self,
        planner: PurePursuit,
        slip_model: Kinematics,
        *,
        control: TractionControl | None,
        limits: Limits | None = None,
        slip_filter: SlipFilter | None = None,
        sensors: Sensors | None = None,
        rate: float = 50.0,
    ) -> None:
        """planner: gives the desired motion. slip_model: its calibrated kinematics. rate: of control [Hz].

        control None drives without traction control. limits: of the joints; None takes the control's wheel rate.
        """
        hint = "use grouser.traction.PurePursuit(path, speed=…)"
        self.planner = checks.instance(planner, PurePursuit, "planner", hint)
        hint = "use grouser.Kinematics(vehicle, slip=…)"
        self.slip_model = checks.instance(slip_model, Kinematics, "slip_model", hint)
        if control is not None:
            checks.instance(control, TractionControl, "control", "use grouser.traction.TractionControl(…) or None")
        vehicle = slip_model.vehicle
        wheel_rate = (control or TractionControl()).wheel_rate
        self.driver = ModeDriver(vehicle, mode="ackermann", limits=limits or Limits(wheel_rate=wheel_rate))
        self.controller = TractionController(control, arm=self.driver.inverse.arm, slip_filter=slip_filter)
        self.sensors = checks.instance(sensors or Sensors(), Sensors, "sensors", "use grouser.traction.Sensors(…)")
        self.period = 1.0 / checks.positive(rate, "rate")
        self._random = np.random.default_rng(self.sensors.seed)
        encoders = EncoderNoise(rate=self.sensors.wheel_rate**2)
        self.odometry = Odometry(slip_model, noise=encoders, measured=vehicle.joints)
        self._wheels = vehicle.arrays.wheel - 1
        self._steering = [vehicle.joint_index(j) for j in self.driver.inverse.steering_joints]
        self.stop = False
        """Stop override: while true the rover brakes to a stand at its braking limit."""
        self._samples: list[LoopRecord] = []
        self._command = self._at_rest = np.zeros(len(vehicle.actuated))
        self._taken = 0
        self._encoders = list(range(vehicle.n_joints))

    @property
    def path(self) -> FloatArray:
        """Corners of the path that it follows, x, y [m], (n, 2)."""
        return self.planner.path.points

    @property
    def record(self) -> LoopRecord:
        """Recorded until now."""
        if not self._samples:
            none = np.zeros((0, 3))
            return LoopRecord(none[:, 0], none, none, none, none, none, none[:, 0], none[:, 0], none[:, 0])
        return LoopRecord(*(np.array(column) for column in zip(*self._samples, strict=True)))

    def bind(self, vehicle: Vehicle, dt: float) -> BoundLaw:
        """The loop as a law of the engine: it acts at its own rate, whatever the simulation's step dt [s]."""
        made_for = self.slip_model.vehicle  # its sizes may be calibrated ones, and its running gear may be rigid
        motors = tuple(vehicle.motors.get(joint, joint) for joint in made_for.joints)
        if not set(motors) <= set(vehicle.joints) or vehicle.actuated != tuple(
            vehicle.motors.get(joint, joint) for joint in made_for.actuated
        ):
            raise SimulationError(
                f"closed loop: made for '{made_for.name}', whose joints are not those of '{vehicle.name}';"
                " use a slip model of the vehicle that drives"
            )
        if self._samples:
            raise SimulationError("closed loop: has driven already; make a new one for every run")
        # Encoders are on the motors: a robot does not see how its running gear winds up.
        self._encoders = [vehicle.joint_index(motor) for motor in motors]
        if dt > self.period * (1.0 + 1e-9):
            raise SimulationError(f"dt: {dt:g} s is longer than the control period of {self.period:g} s; use less")
        callback = Callback(self.command, vehicle, arguments=3)
        return BoundLaw(callback.address, np.zeros(1), callback)

    def command(self, time: float, state: FloatArray, velocity: FloatArray) -> FloatArray:
        """Rates of the actuated joints [rad/s] at a time [s], state and velocity of the plant; held between steps."""
        if time + 1e-9 >= self._taken * self.period:
            self._taken += 1
            stands = self.planner.finished and not self._samples[-1].command.any()
            self._command = self._at_rest if stands else self._control(time, state, velocity)
        return self._command

    def _control(self, time: float, state: FloatArray, velocity: FloatArray) -> FloatArray:
        noise, random = self.sensors, self._random
        rpy = rotation.to_rpy(rotation.from_quaternion(state[:4])).ravel()
        attitude = rpy[:2] + noise.attitude * random.standard_normal(2)
        rates = velocity[6:][self._encoders]
        rates[self._wheels] += noise.wheel_rate * random.standard_normal(len(self._wheels))
        angles = state[7:][self._encoders]
        sigma = np.array([noise.fused_velocity, noise.fused_velocity, noise.fused_turn])
        fused = velocity[PLANAR] + sigma * random.standard_normal(3)
        estimate = self.odometry.update(time, rates, angles, attitude)
        odometry, model_slip = estimate.odometry_twist[PLANAR], estimate.slip[PLANAR]
        desired = self.planner.desired(float(state[4]), float(state[5]), float(rpy[2]))
        done = self.controller.update(desired, odometry, model_slip, fused, self.period, stop=self.stop)
        forward, left, turn = done.command
        joints = self.driver.update(forward, left, turn, self.period, angles=angles[self._steering])
        now, along, off = np.asarray(time), np.asarray(self.planner.along), np.asarray(self.planner.off)
        kept = {name: getattr(done, name) for name in ("command", "slip_velocity", "slip")}
        limit = np.asarray(done.acceleration_limit)
        self._samples.append(
            LoopRecord(
                time=now, desired=desired, odometry=odometry, along=along, off=off, acceleration_limit=limit, **kept
            )
        )
        return joints.rates


def drive_loop(
    model: Dynamics, ground: Terrain, loop: ClosedLoop, *, start: tuple[float, float, float], duration: float, dt: float
) -> Run:
    """Drive from rest at (x, y, yaw) for a duration [s]; once the path is finished the rover stands.

    Before it starts it is given a few seconds to sink into the ground, which are not part of the run.
    """
    checks.instance(model, Dynamics, "model", "use grouser.Dynamics(vehicle, contact=…)")
    still = np.zeros(6 + model.vehicle.n_joints)
    sunk = simulate(model, ground, drive.constant(0.0), duration=SINKING, dt=0.01, start=start, velocity=still)
    return simulate(model, ground, loop, duration=duration, dt=dt, start=sunk.state[-1], velocity=sunk.velocity[-1])
