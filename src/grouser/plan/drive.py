"""The whole loop: a true vehicle on a true ground, its sensors, the estimator, online calibration and the planner."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from grouser import rotation, terrain
from grouser.calibration.stream import StreamingCalibrator
from grouser.checks import Checker, FloatArray
from grouser.collision.frames import planar_pose
from grouser.errors import PlanError, SimulationError
from grouser.kinematics import Kinematics
from grouser.logs.log import Sensor
from grouser.model import Model
from grouser.motion import Fit, MotionModel, consistency
from grouser.motion.spread import default_spread
from grouser.plan.cost import Cost, Path, offsets
from grouser.plan.mppi import MPPI, Command
from grouser.plan.trials import MEANING
from grouser.plan.world import Reading, Sensors, World
from grouser.robot.estimate import RobotEstimate
from grouser.robot.robot import Robot
from grouser.simulation.settle import settle
from grouser.simulation.status import Status
from grouser.terrain import Terrain

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics

checked = Checker(PlanError)
SUBSTEPS = 4
"""Steps of the truth, and samples of wheels and IMU, in one step of the controller."""
REST = 2.0
"""Time at rest before the drive, in which the IMU is aligned [s]."""


@dataclass(frozen=True, eq=False)
class Drive:
    """A drive in a closed loop, a row per step of the controller."""

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
    covariance: FloatArray
    """Covariance of these [m², m rad, rad²], (T, 3, 3)."""
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

    @property
    def error(self) -> FloatArray:
        """Estimated less true x, y [m], yaw [rad], (T, 3)."""
        error: FloatArray = self.estimate - planar_pose(self.state)
        error[:, 2] = rotation.wrapped(error[:, 2])
        return error

    @property
    def nees(self) -> FloatArray:
        """Squared error by its covariance, over its three numbers, a ratio, (T,): 1 on average if it is consistent."""
        return consistency.nees(self.error, self.covariance)

    def summary(self) -> dict[str, Any]:
        """Plain numbers, as JSON takes them."""
        steps = np.diff(self.state[:, 4:7], axis=0)
        error, aside = self.error[:, :2], self.cross_track
        return {
            "reached": self.reached,
            "status": self.status,
            "duration": float(self.time[-1]) if len(self.time) else 0.0,
            "distance": float(np.linalg.norm(steps, axis=1).sum()),
            "position_error_rms": float(np.sqrt(np.mean(np.sum(error**2, axis=1)))) if len(error) else 0.0,
            "nees": float(self.nees.mean()),
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
    None: the true ground. adapt: the planner's model adapts during the drive. A fit is calibrated by intervals
    [s]; the difference of the last half second between predicted and estimated motion is a bias of kinematic models.
    reached: distance to the goal, or to the end of the path, at which the drive ends [m]. planner: options of `MPPI`.
    The world is noisy by a seed; the same seed gives the same drive.
    """
    seconds = checked.positive(duration, "duration")
    reached = checked.positive(reached, "reached")
    checked.positive(interval, "interval")
    checked.instance(truth, Model, "truth", "use gr.Kinematics(vehicle) or gr.Dynamics(…)")
    checked.instance(ground, Terrain, "ground", "use gr.terrain.…")
    if sensors is not None:
        checked.instance(sensors, Sensors, "sensors", "use gr.plan.Sensors(…)")
    target = _target(checked.instance(cost, Cost, "cost", "use gr.plan.Cost(gr.plan.Goal(x, y))"))
    controller = MPPI(model, ground if known is None else known, cost, seed=seed, **planner)
    if truth.vehicle.joints != controller.model.vehicle.joints:
        raise PlanError(f"truth: is '{truth.vehicle.name}', the model is of '{controller.model.vehicle.name}'")
    dt = controller.dt / SUBSTEPS
    board = _Board(model, truth, sensors or Sensors(), dt, interval if adapt else None)
    try:
        world = World(
            truth, ground, start=start, dt=dt, sensors=board.sensors, mount=board.mount, time=-REST, seed=seed
        )
    except SimulationError as error:
        raise PlanError(f"start: {error}") from None
    board.switch_on(world)
    rows: list[tuple[Any, ...]] = []
    status = "ok"
    order: Command | None = None
    for _ in range(max(1, round(seconds / controller.dt))):
        estimate = board.estimate
        pose = np.array([*estimate.position[:2], estimate.yaw])
        covariance = estimate.ros_pose_covariance().reshape(6, 6)[np.ix_([0, 1, 5], [0, 1, 5])]
        try:
            planned = _placed(controller, pose, board.latest.angles)
        except SimulationError as error:
            if not rows:
                raise PlanError(f"start on the map: {error}") from None
            status = "off_map"
            break
        if adapt and order is not None:
            controller.learn_bias(order, pose)
        order = controller.command(planned, _velocity(controller, estimate, board.latest))
        parameters = board.fit.values.items() if isinstance(board.fit, Fit) else ()
        slip = {name: value for name, value in parameters if name.startswith("slip.")}
        rows.append((world.time, world.state, pose, covariance, order.twist, order.risk, order.reason, slip))
        if np.hypot(*(world.position[:2] - target)) < reached:
            break
        status = _step(world, controller, order.twist, board)
        if board.learned():
            controller.replace_model(board.fit)
        if progress is not None:
            progress(world.time, seconds)
        if status != "ok":
            break
    return _result(rows, status, cost, target, reached, board.changes)


class _Board:
    """What a robot has on board: an estimator, and a calibrator if it adapts."""

    def __init__(self, model: Any, truth: Any, sensors: Sensors, dt: float, interval: float | None) -> None:
        motion = model.model if isinstance(model, Fit) else model
        self.sensors, self.mount = sensors, motion.sensor if isinstance(motion, MotionModel) else Sensor()
        self.settings = sensors.settings(truth, self.mount, dt)
        self.fit = model
        self._learner: StreamingCalibrator | None = None
        if isinstance(model, Fit) and interval is not None:
            # The noise of poses is that of the sensors on board, not of those with which the fit was made.
            known = replace(model, model=replace(model.model, sensor=sensors.stated(self.mount)))
            self._learner = StreamingCalibrator(known, interval=interval)
        rolls = isinstance(motion, Kinematics) or (isinstance(motion, MotionModel) and motion.velocity_driven)
        self._rolls: Any = model if rolls else truth.vehicle
        if rolls and isinstance(model, Fit) and model.spread is None:
            # With the usual spread between grounds: the estimator learns slip, too.
            self._rolls = replace(model, spread=default_spread(model.systematic))
        self._updates = False
        self.changes: tuple[dict[str, Any], ...] = ()

    def switch_on(self, world: World) -> None:
        """Stand still until the IMU is aligned."""
        self._robot = Robot(self._rolls, self.settings, position=world.position, yaw=world.yaw)
        while world.time < -1e-9:
            self.take(world.read())
            world.wait()
        world.time = 0.0
        self.take(world.read())

    def take(self, sample: Reading) -> None:
        """Signals of all sensors."""
        self.latest = sample
        t, robot, learner = sample.time, self._robot, self._learner
        robot.imu(t, sample.gyro, sample.force)
        robot.joints(t, sample.rates, sample.angles)
        if learner is not None:
            names = learner.motion.vehicle.joints
            rates, angles = (dict(zip(names, v.tolist(), strict=True)) for v in (sample.rates, sample.angles))
            self._updates |= bool(learner.sample(t, rates, angles=angles, attitude=sample.attitude))
        if sample.position is None:
            return
        robot.gps(t, sample.position, np.eye(3) * self.sensors.stated(self.mount).position_noise ** 2)
        robot.heading(t, sample.yaw, self.sensors.stated(self.mount).yaw_noise)
        if learner is not None:
            pose = (*sample.attitude, sample.yaw + self.mount.yaw)
            self._updates |= bool(learner.pose(t + self.mount.lag, sample.position.tolist(), pose))

    def learned(self) -> bool:
        """Whether the fit has changed since the last call."""
        if self._learner is None or not self._updates:
            return False
        self.fit, self._updates = self._learner.fit(), False
        self.changes = self.fit.changes
        return True

    @property
    def estimate(self) -> RobotEstimate:
        """Pose and velocity by the sensors."""
        found = self._robot.estimate
        if found is None:
            raise PlanError("the estimator has no pose after its time at rest; check the sensors")
        return found


def _step(world: World, controller: MPPI, twist: FloatArray, board: _Board) -> str:
    """One step of the controller; returns its status."""
    for _ in range(SUBSTEPS):
        status = world.move(controller.rates(twist, world.state))
        if status is not Status.OK:
            return str(status)
        board.take(world.read())
    return "ok"


def _placed(controller: MPPI, pose: FloatArray, angles: FloatArray) -> FloatArray:
    """The state on the map at an estimated pose, with the measured angles of the joints, (nq,)."""
    model, (x, y, yaw) = controller.model, pose.tolist()
    found = settle(
        model.vehicle, controller.ground, x=x, y=y, yaw=yaw, joints=angles, penetration=model.penetration
    )  # fmt: skip
    return found.state


def _target(cost: Cost) -> FloatArray:
    """Where a drive ends: the goal, or the end of the path."""
    if cost.goal is not None:
        return np.array([cost.goal.x, cost.goal.y])
    for term in cost.terms:
        if isinstance(term, Path):
            end: FloatArray = np.asarray(term.points, dtype=np.float64)[-1]
            return end
    raise PlanError("cost: has neither a Goal nor a Path, so the drive has no end; add one")


def _velocity(controller: MPPI, estimate: RobotEstimate, sample: Reading) -> FloatArray | None:
    """What dynamics starts with: the estimated velocity of the body and the measured rates of the joints, (nv,)."""
    if isinstance(controller.model, Kinematics):
        return None
    return np.concatenate([estimate.twist, sample.rates])


def cross_track(path: ArrayLike, xy: FloatArray) -> FloatArray:
    """Distance of points (n, 2) from a path (m, 2) [m], left of it positive, (n,)."""
    corners = np.asarray(path, dtype=np.float64)
    ahead = np.diff(corners, axis=0)
    out = np.empty(len(xy))
    for k, point in enumerate(xy):
        off = offsets(corners, point)
        i = int(np.argmin(np.hypot(*off.T)))
        out[k] = math.copysign(np.hypot(*off[i]), ahead[i, 0] * off[i, 1] - ahead[i, 1] * off[i, 0])
    return out


def _result(
    rows: list[tuple[Any, ...]], status: str, cost: Cost, target: FloatArray, reached: float, changes: tuple[Any, ...]
) -> Drive:
    time, state, estimate, covariance, command, risk, reason, parameters = zip(*rows, strict=True)
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
        covariance=np.array(covariance),
        command=np.array(command),
        risk=np.array(risk),
        reason=reason,
        parameters=parameters,
        cross_track=aside,
        changes=changes,
    )
