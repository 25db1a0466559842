"""The whole loop: a true vehicle on a true ground, its sensors, the estimator, online calibration and the planner."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from grouser import rotation, terrain
from grouser._kernels.constants import GRAVITY
from grouser.calibration.stream import StreamingCalibrator
from grouser.checks import Checker, FloatArray
from grouser.errors import PlanError, SimulationError
from grouser.kinematics import Kinematics
from grouser.model import Model
from grouser.motion import Fit
from grouser.plan.cost import Cost, Path
from grouser.plan.mppi import MPPI
from grouser.plan.trials import MEANING
from grouser.robot.robot import Robot
from grouser.simulation.settle import settle
from grouser.simulation.status import Status
from grouser.simulation.stepping import Simulation
from grouser.terrain import Terrain

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics

checked = Checker(PlanError)
SUBSTEPS = 4
"""Steps of the truth, and samples of wheels and IMU, in one step of the controller."""
REST = 2.0
"""Time at rest before the drive, in which the IMU is aligned [s]."""


@dataclass(frozen=True, kw_only=True)
class Sensors:
    """Noise of the simulated sensors, one sigma each."""

    wheel_rate: float = 0.02
    """Of wheel rates [rad/s]."""
    angle: float = 0.002
    """Of joint angles [rad]."""
    gyro: float = 0.002
    """[rad/s]."""
    accelerometer: float = 0.05
    """[m/s²]."""
    position: float = 0.02
    """Of positions in the world [m], such as those of a GPS with corrections."""
    yaw: float = 0.01
    """Of yaws in the world [rad]."""
    attitude: float = 0.005
    """Of roll and pitch that go with the poses [rad]."""
    pose_rate: float = 5.0
    """Positions and yaws in a second [1/s], > 0."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            (checked.positive if name == "pose_rate" else checked.not_negative)(value, f"sensors {name}")


@dataclass(frozen=True, eq=False)
class Drive:
    """What happened in a closed loop, a row per step of the controller."""

    reached: bool
    """Whether it came to the goal."""
    status: str
    """ok, or why it ended."""
    time: FloatArray
    """[s], (T,)."""
    state: FloatArray
    """True states, (T, nq)."""
    estimate: FloatArray
    """Estimated x, y [m], yaw [rad], (T, 3)."""
    sigma: FloatArray
    """One sigma of these [m, m, rad], (T, 3)."""
    command: FloatArray
    """Forward, left [m/s], turn [rad/s], (T, 3)."""
    risk: FloatArray
    """Probability that each plan fails, (T,)."""
    reason: tuple[str, ...]
    """Why it braked, where it did; else empty."""
    parameters: tuple[dict[str, float], ...]
    """Slip parameters that the planner used, by name, each in its unit; one for each step."""
    cross_track: FloatArray
    """Distance of the true vehicle from the path [m], left positive, (T,); NaN without a path."""
    changes: tuple[dict[str, Any], ...]
    """Changes of ground that calibration noticed: time, since [s], …."""

    def summary(self) -> dict[str, Any]:
        """Plain numbers, as JSON takes them."""
        steps = np.diff(self.state[:, 4:7], axis=0)
        error, aside = self.estimate[:, :2] - self.state[:, 4:6], self.cross_track
        return {
            "reached": self.reached,
            "status": self.status,
            "duration": float(self.time[-1]) if len(self.time) else 0.0,
            "distance": float(np.linalg.norm(steps, axis=1).sum()),
            "position_error_rms": float(np.sqrt(np.mean(np.sum(error**2, axis=1)))) if len(error) else 0.0,
            "cross_track_rms": None if np.isnan(aside).any() else float(np.sqrt(np.mean(aside**2))),
            "braked": sum(map(bool, self.reason)),
            "changes": list(self.changes),
        }


def noisy_map(
    ground: Terrain, *, sigma: float = 0.02, length: float = 0.5, cell: float = 0.1, seed: int = 0
) -> Terrain:
    """A map of a ground as a survey would give it: a grid of heights with errors of sigma [m] over a length [m].

    The ground must have an edge. Soils are not on the map.
    """
    checked.instance(ground, Terrain, "ground", "use gr.terrain.…")
    sigma, cell = checked.not_negative(sigma, "sigma"), checked.positive(cell, "cell")
    xmin, xmax, ymin, ymax = ground.bounds
    if not all(map(math.isfinite, ground.bounds)):
        raise PlanError("ground: has no edge, so there is no map of it; cut it with gr.terrain.grid(…)")
    x, y = (np.linspace(a, b, max(2, round((b - a) / cell) + 1)) for a, b in ((xmin, xmax), (ymin, ymax)))
    heights = ground.height(*np.meshgrid(x, y, indexing="ij"))
    size, middle = (xmax - xmin, ymax - ymin), (0.5 * (xmin + xmax), 0.5 * (ymin + ymax))
    if sigma > 0.0:
        spacing = min(cell, 0.5 * length)
        errors = terrain.rough(sigma, length, seed, size=size, center=middle, spacing=spacing)
        heights = heights + errors.height(*np.meshgrid(x, y, indexing="ij"))
    return terrain.grid(heights, x=x, y=y)


def drive(
    model: Any,
    truth: Kinematics | Dynamics,
    ground: Terrain,
    cost: Cost,
    *,
    known: Terrain | None = None,
    start: ArrayLike = (0.0, 0.0, 0.0),
    duration: float = 60.0,
    sensors: Sensors | None = None,
    adapt: bool = True,
    interval: float = 1.0,
    reached: float = 0.3,
    seed: int = 0,
    progress: Callable[[float, float], None] | None = None,
    **planner: Any,
) -> Drive:
    """Drive a true vehicle over a true ground with what a robot has: sensors, an estimator, calibration and MPPI.

    model: what is known of the vehicle: a fit, or a model. truth: how it moves. known: the map that the planner has;
    None: the true ground. adapt: a fit is calibrated while driving, by intervals [s], and the planner uses it.
    reached: distance to the goal, or to the end of the path, at which the drive ends [m]. planner: options of `MPPI`.
    The world is noisy by a seed; the same seed gives the same drive.
    """
    seconds = checked.positive(duration, "duration")
    reached = checked.positive(reached, "reached")
    checked.positive(interval, "interval")
    checked.instance(truth, Model, "truth", "use gr.Kinematics(vehicle) or gr.Dynamics(…)")
    if sensors is not None:
        checked.instance(sensors, Sensors, "sensors", "use gr.plan.Sensors(…)")
    target = _target(checked.instance(cost, Cost, "cost", "use gr.plan.Cost(gr.plan.Goal(x, y))"))
    controller = MPPI(model, ground if known is None else known, cost, seed=seed, **planner)
    if truth.vehicle.joints != controller.model.vehicle.joints:
        raise PlanError(f"truth: is '{truth.vehicle.name}', the model is of '{controller.model.vehicle.name}'")
    world = _World(truth, ground, start, controller.dt / SUBSTEPS, sensors or Sensors(), seed)
    robot = Robot(model if isinstance(model, Fit) else truth.vehicle, position=world.position, yaw=world.yaw)
    learner = StreamingCalibrator(model, interval=interval) if adapt and isinstance(model, Fit) else None
    fit, changes = model, []
    rows: list[tuple[Any, ...]] = []
    status = "ok"
    world.rest(robot, learner)
    for _ in range(max(1, round(seconds / controller.dt))):
        estimate = robot.estimate
        if estimate is None:
            raise PlanError("the estimator has no pose after its time at rest; check the sensors")
        pose = np.array([*estimate.position[:2], estimate.yaw])
        sigma = np.sqrt(np.diag(estimate.ros_pose_covariance().reshape(6, 6)))[[0, 1, 5]]
        try:
            x, y, yaw = pose.tolist()
            planned = settle(truth.vehicle, controller.ground, x=x, y=y, yaw=yaw, joints=world.angles).state
        except SimulationError as error:
            if not rows:
                raise PlanError(f"start: {error}") from None
            status = "off_map"
            break
        order = controller.command(planned, _velocity(controller, estimate, world))
        rows.append((world.time, world.truth.state, pose, sigma, order.twist, order.risk, order.reason, _slip(fit)))
        robot.command(world.time, float(order.twist[0]), float(order.twist[2]))
        if np.hypot(*(world.position[:2] - target)) < reached:
            break
        status, learnt = world.step(controller, order.twist, robot, learner)
        if learner is not None and learnt:
            changes += [c for c in learner.fit().changes if c not in changes]
            fit = learner.fit()
            controller.replace_model(fit)
        if progress is not None:
            progress(world.time, seconds)
        if status != "ok":
            break
    return _result(rows, status, cost, target, reached, tuple(changes))


class _World:
    """The true vehicle and its sensors."""

    def __init__(self, truth: Any, ground: Terrain, start: ArrayLike, dt: float, sensors: Sensors, seed: int) -> None:
        self.truth = Simulation(truth, ground, dt=dt, start=start)
        self.sensors, self.dt, self.time = sensors, dt, 0.0
        self.rng = np.random.default_rng([seed, 7])
        self.angles: FloatArray = self.truth.state[7:]
        self.rates: FloatArray = np.zeros(truth.vehicle.n_joints)
        self._last = self.truth.velocity
        self._next_pose = 0.0

    @property
    def position(self) -> FloatArray:
        """True position [m], (3,)."""
        return self.truth.state[4:7]

    @property
    def yaw(self) -> float:
        """True yaw [rad]."""
        return float(rotation.to_rpy(rotation.from_quaternion(self.truth.state[:4]))[2])

    def rest(self, robot: Robot, learner: StreamingCalibrator | None) -> None:
        """Stand still until the IMU is aligned."""
        self.time = -REST
        while self.time < -1e-9:
            self.measure(robot, learner, np.zeros_like(self._last))
            self.time += self.dt
        self.time = 0.0

    def step(self, controller: MPPI, twist: FloatArray, robot: Robot, learner: Any) -> tuple[str, list[Any]]:
        """One step of the controller: status of the truth, and what calibration learned."""
        learnt: list[Any] = []
        for _ in range(SUBSTEPS):
            status = self.truth.step(controller.rates(twist, self.truth.state)).status
            self.time += self.dt
            if status is not Status.OK:
                return str(status), learnt
            learnt += self.measure(robot, learner, self.truth.velocity)
        return "ok", learnt

    def measure(self, robot: Robot, learner: StreamingCalibrator | None, velocity: FloatArray) -> list[Any]:
        """Samples of wheels and IMU, and of the pose when it is due."""
        s, rng, t = self.sensors, self.rng, self.time
        vehicle, q = self.truth.model.vehicle, self.truth.state
        R = rotation.from_quaternion(q[:4])
        omega, v = velocity[:3], velocity[3:6]
        acceleration = (v - self._last[3:6]) / self.dt + np.cross(omega, v)
        self._last = velocity
        force = acceleration + R.T @ np.array([0.0, 0.0, GRAVITY])
        robot.imu(t, omega + s.gyro * rng.standard_normal(3), force + s.accelerometer * rng.standard_normal(3))
        rates = self.rates = velocity[6:] + s.wheel_rate * rng.standard_normal(vehicle.n_joints)
        self.angles = q[7:] + s.angle * rng.standard_normal(vehicle.n_joints)
        robot.joints(t, rates, self.angles)
        learnt: list[Any] = []
        roll, pitch, yaw = rotation.to_rpy(R) + np.array([s.attitude, s.attitude, s.yaw]) * rng.standard_normal(3)
        if learner is not None:
            names = vehicle.joints
            learnt += learner.sample(
                t, dict(zip(names, rates, strict=True)), angles=dict(zip(names, self.angles, strict=True)),
                attitude=(roll, pitch),
            )  # fmt: skip
        if t >= self._next_pose - 1e-9:
            self._next_pose = t + 1.0 / s.pose_rate if t >= 0.0 else 0.0
            position = q[4:7] + s.position * rng.standard_normal(3)
            robot.gps(t, position, np.eye(3) * s.position**2)
            robot.heading(t, float(yaw), s.yaw)
            if learner is not None and t >= 0.0:
                learnt += learner.pose(t, position.tolist(), (float(roll), float(pitch), float(yaw)))
        return learnt


def _target(cost: Cost) -> FloatArray:
    """Where a drive ends: the goal, or the end of the path."""
    if cost.goal is not None:
        return np.array([cost.goal.x, cost.goal.y])
    for term in cost.terms:
        if isinstance(term, Path):
            end: FloatArray = np.asarray(term.points, dtype=np.float64)[-1]
            return end
    raise PlanError("cost: has neither a Goal nor a Path, so the drive has no end; add one")


def _velocity(controller: MPPI, estimate: Any, world: _World) -> FloatArray | None:
    """What dynamics starts with: the estimated velocity of the body and the measured rates of the joints, (nv,)."""
    if isinstance(controller.model, Kinematics):
        return None
    return np.concatenate([estimate.twist, world.rates])


def _slip(fit: Any) -> dict[str, float]:
    return {n: v for n, v in fit.values.items() if n.startswith("slip.")} if isinstance(fit, Fit) else {}


def cross_track(path: ArrayLike, xy: FloatArray) -> FloatArray:
    """Distance of points (n, 2) from a path (m, 2) [m], left of it positive, (n,)."""
    corners = np.asarray(path, dtype=np.float64)
    a, d = corners[:-1], np.diff(corners, axis=0)
    out = np.empty(len(xy))
    for k, p in enumerate(xy):
        part = np.clip(np.einsum("ij,ij->i", p - a, d) / np.maximum(np.einsum("ij,ij->i", d, d), 1e-12), 0.0, 1.0)
        away = p - a - part[:, None] * d
        i = int(np.argmin(np.einsum("ij,ij->i", away, away)))
        side = d[i, 0] * away[i, 1] - d[i, 1] * away[i, 0]
        out[k] = math.copysign(float(np.hypot(*away[i])), side)
    return out


def _result(
    rows: list[tuple[Any, ...]], status: str, cost: Cost, target: FloatArray, reached: float, changes: tuple[Any, ...]
) -> Drive:
    time, state, estimate, sigma, command, risk, reason, parameters = zip(*rows, strict=True)
    states = np.array(state)
    path = next((term.points for term in cost.terms if isinstance(term, Path)), None)
    aside = np.full(len(states), np.nan) if path is None else cross_track(path, states[:, 4:6])
    at_goal = bool(np.hypot(*(states[-1, 4:6] - target)) < reached) and status == "ok"
    why = status if status != "ok" or at_goal else "out of time"
    return Drive(
        reached=at_goal,
        status=MEANING.get(why, why) if status != "ok" else why,
        time=np.array(time),
        state=states,
        estimate=np.array(estimate),
        sigma=np.array(sigma),
        command=np.array(command),
        risk=np.array(risk),
        reason=reason,
        parameters=parameters,
        cross_track=aside,
        changes=changes,
    )
