"""The environment: observations, actions, reward and ends of an episode."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser import checks
from grouser._kernels.gym.observation import Look, Seen, observe
from grouser.checks import FloatArray
from grouser.dynamics import Dynamics
from grouser.errors import SimulationError
from grouser.gym.episode import Episode
from grouser.kinematics import Kinematics
from grouser.simulation import Run, Status
from grouser.terrain import Terrain, parse, rough
from grouser.vehicles import Vehicle
from grouser.vehicles.catalog import vehicle as vehicle_named

Observation = dict[str, NDArray[np.float32]]
MakeTerrain = Callable[[np.random.Generator], Terrain]

ARRIVED, LOST, EACH_SECOND = 10.0, -10.0, -0.05
"""Rewards: for reaching the goal; for rolling over, leaving the map or a motion that cannot be solved; for time."""
FARTHEST, LEANING, FASTEST, HIGHEST = 100.0, 3.2, 100.0, 10.0
"""Observations are clipped to these: goal [m], attitude [rad], velocity [rad/s, m/s] and joints, heights [m]."""
ACTIONS = ("joints", "arc")
TRIES = 1000
"""Goals that are drawn before a map counts as too small."""


class RoughTerrainEnv(gymnasium.Env[Observation, NDArray[np.float32]]):
    """Drive to a goal over rough ground.

    Observation, a dictionary of float32:
        goal (2,): ahead and left of the body, in the plan, in the vehicle's heading [m].
        attitude (2,): roll, pitch [rad].
        velocity (nv,): ω [rad/s] and v [m/s] of the body in its own axes, then the joint rates [rad/s or m/s].
        joints (k,): displacement of the joints that are not wheels [rad or m]; missing where there are none.
        heights (n, n): of the ground around, relative to the body frame [m]; row by row from behind to ahead, each
            row from right to left; −10 where the map ends.
    Action, float32 from −1 to 1, held for `hold` steps:
        "joints": of each actuated joint, times max_speed/radius for a wheel and max_joint_rate for others.
        "arc": speed times max_speed and curvature times max_curvature.
    Reward: metres come nearer to the goal, −0.05 a second, +10 at the goal, −10 at a bad end.
    An episode terminates within goal_radius of the goal, when the vehicle rolls over, leaves the map or its motion
    cannot be solved; it is truncated after `horizon` seconds. `info` holds status, is_success, distance and time.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  # Gymnasium declares it so

    def __init__(
        self,
        vehicle: str | Vehicle = "zoe",
        terrain: Terrain | str | MakeTerrain | None = None,
        *,
        model: str | Kinematics | Dynamics = "kinematic",
        action: str = "joints",
        start: ArrayLike | None = None,
        goal: ArrayLike | None = None,
        goal_range: tuple[float, float] = (3.0, 6.0),
        goal_radius: float = 0.5,
        dt: float = 0.04,
        hold: int = 5,
        horizon: float = 60.0,
        max_speed: float = 1.0,
        max_curvature: float = 0.3,
        max_joint_rate: float = 0.5,
        map_size: float = 4.0,
        map_nodes: int = 11,
        render_mode: str | None = None,
    ) -> None:
        """Make an environment.

        vehicle: a name, a file or a Vehicle; that of `model` where it is a whole model.
        terrain: a Terrain, one line as `grouser.terrain.parse` takes it, or a function of a NumPy generator that makes
            one for each episode; None is such a function, with bumps by the size of the wheels.
        model: "kinematic", "dynamic", or a model; actuators keep their memory from action to action.
        start: x, y [m], yaw [rad]; None is the middle of the map with any heading. The vehicle starts at rest.
        goal: x, y [m]; None draws one between the distances of goal_range [m].
        dt: step [s]; `hold` steps are taken with each action. horizon: longest episode [s].
        max_speed [m/s], max_curvature [1/m], max_joint_rate [rad/s or m/s]: what an action of 1 asks for.
        map_size: side of the square of `heights` [m], with map_nodes² heights.
        """
        if render_mode is not None:
            raise SimulationError(f"render_mode: {render_mode!r:.40} is not known; look at an episode with env.run()")
        checks.choice(action, "action", ACTIONS)
        self.render_mode = None
        self.model = _model(vehicle, model)
        self.vehicle = self.model.vehicle
        low, high = self._goal_range = checks.array(goal_range, "goal_range", (2,)).tolist()
        if not 0.0 < low <= high:
            raise SimulationError(f"goal_range: {low:g} to {high:g} m is not a range of distances above zero")
        self._terrain: Any = parse(terrain) if isinstance(terrain, str) else terrain
        if terrain is not None and not isinstance(self._terrain, Terrain) and not callable(terrain):
            wanted = "a Terrain, a line such as rough:rms=.1,length=1,seed=1, or a function"
            raise SimulationError(f"terrain: {terrain!r:.60} is not {wanted}")
        self._start, self._goal = _place(start, "start", 3), _place(goal, "goal", 2)
        # Distance from the body frame to the farthest rim, in the plan [m].
        self._reach = float(np.hypot(*self.vehicle.wheel_positions[:, :2].T).max() + self.vehicle.arrays.radius.max())
        self.goal_radius = checks.positive(goal_radius, "goal_radius")
        self.dt = checks.positive(dt, "dt")
        self.model.arrays(self.dt)  # refuses a step that is too long for it
        self.hold = checks.count(hold, "hold", most=100_000)
        self.horizon = checks.positive(horizon, "horizon")
        self.max_speed = checks.positive(max_speed, "max_speed")
        self.max_curvature = checks.positive(max_curvature, "max_curvature")
        self._steers = action == "arc"
        rate = checks.positive(max_joint_rate, "max_joint_rate")
        driven = (frame.radius for frame in self.vehicle.frames if frame.actuated)
        self._scale = [rate if radius is None else self.max_speed / radius for radius in driven]
        n = checks.count(map_nodes, "map_nodes", least=2, most=1000)
        offsets = np.linspace(-0.5, 0.5, n) * checks.positive(map_size, "map_size")
        ahead, left = (part.ravel() for part in np.meshgrid(offsets, offsets, indexing="ij"))
        wheels = {int(frame) - 1 for frame in self.vehicle.arrays.wheel}
        shown = np.array([j for j in range(self.vehicle.n_joints) if j not in wheels], dtype=np.int64)
        limits = np.array([FARTHEST, LEANING, FASTEST, HIGHEST])
        self._look = Look(np.zeros(2), ahead, left, shown, limits, np.zeros((2, 3)))
        self._sizes, self._square = (2, 2, 6 + self.vehicle.n_joints, len(shown), n * n), (n, n)

        def box(largest: float, *shape: int) -> gymnasium.spaces.Box:
            return gymnasium.spaces.Box(-largest, largest, shape, np.float32)

        seen: dict[str, gymnasium.Space[Any]] = {
            "goal": box(FARTHEST, 2),
            "attitude": box(LEANING, 2),
            "velocity": box(FASTEST, 6 + self.vehicle.n_joints),
            "heights": box(HIGHEST, n, n),
        }
        spaces: gymnasium.Space[Any] = gymnasium.spaces.Dict(
            {**seen, "joints": box(FASTEST, len(shown))} if len(shown) else seen
        )
        self.observation_space = spaces
        self._action_shape = (2 if self._steers else len(self.vehicle.actuated),)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, self._action_shape, np.float32)
        self._episode: Episode | None = None
        self._distance, self._taken, self._over = 0.0, 0, True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; `options` may hold start (x, y, yaw) and goal (x, y), for this one only."""
        super().reset(seed=seed)
        given = dict(options or {})
        start, goal = _place(given.pop("start", None), "start", 3), _place(given.pop("goal", None), "goal", 2)
        if given:
            raise SimulationError(f"options: {', '.join(map(str, given))} is not known; give start or goal")
        ground = self._ground()
        heading = self.np_random.uniform(-math.pi, math.pi)
        start = self._start if start is None else start
        if start is None:  # the middle of the map, or the origin where it does not end
            xmin, xmax, ymin, ymax = ground.bounds
            middle = [0.5 * (xmin + xmax), 0.5 * (ymin + ymax)]
            start = np.array([*(x if math.isfinite(x) else 0.0 for x in middle), heading])
        goal = self._goal if goal is None else goal
        self._look.goal[:] = self._drawn_goal(ground, start) if goal is None else goal
        self._episode = Episode(self.model, ground, start, dt=self.dt, hold=self.hold, steers=self._steers)
        self._distance, self._taken, self._over = self._to_goal(self._episode), 0, False
        return self._observe(self._episode), self._info(self._episode)

    def _ground(self) -> Terrain:
        """The ground of an episode; bumps that the wheels can climb unless one is given."""
        rng, ground = self.np_random, self._terrain
        if ground is None:
            radius, size = float(self.vehicle.arrays.radius.mean()), 2.0 * (self._goal_range[1] + 2.0 * self._reach)
            return rough(0.25 * radius, 4.0 * radius, int(rng.integers(2**31)), size=size)
        ground = ground if isinstance(ground, Terrain) else ground(rng)
        return checks.instance(ground, Terrain, "terrain", "a function given as terrain returns a ground")

    def _drawn_goal(self, ground: Terrain, start: FloatArray) -> FloatArray:
        """A place on the map at a distance within the range."""
        (low, high), reach, rng = self._goal_range, self._reach, self.np_random
        xmin, xmax, ymin, ymax = ground.bounds
        for _ in range(TRIES):
            distance, direction = rng.uniform(low, high), rng.uniform(-math.pi, math.pi)
            goal: FloatArray = start[:2] + distance * np.array([math.cos(direction), math.sin(direction)])
            roomy = xmin + reach <= goal[0] <= xmax - reach and ymin + reach <= goal[1] <= ymax - reach
            if roomy and bool(ground.sample(goal[0], goal[1]).inside):
                return goal
        raise SimulationError(
            f"goal_range: the map of {ground.description or ground.kind} has no room for a goal {low:g} to {high:g} m"
            f" from x = {start[0]:g}, y = {start[1]:g} m; use a larger map, or a nearer goal"
        )

    def step(self, action: ArrayLike) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Drive on for `hold` steps."""
        episode = self._episode
        if episode is None or self._over:
            raise SimulationError("the episode is over, or none has begun; call reset first")
        wanted = self._wanted(action)
        if self._steers:  # as `arc` and `constant` of `grouser.drive` do it
            speed, curvature = self.max_speed * wanted[0], self.max_curvature * wanted[1]
            episode.steer(speed, speed * curvature)
        else:
            episode.drive([scale * x for scale, x in zip(self._scale, wanted, strict=True)])
        self._taken += 1
        before, after = self._distance, self._to_goal(episode)
        self._distance = after
        arrived, lost = after < self.goal_radius, episode.status is not Status.OK
        reward = before - after + EACH_SECOND * self.hold * self.dt
        reward += LOST if lost else ARRIVED if arrived else 0.0
        terminated = arrived or lost
        truncated = not terminated and self._taken * self.hold * self.dt >= self.horizon - 1e-9
        self._over = terminated or truncated
        return self._observe(episode), float(reward), terminated, truncated, self._info(episode)

    @property
    def state(self) -> FloatArray:
        """State [quaternion w x y z, position x y z [m], joints] of the vehicle, as a controller takes it, (nq,)."""
        if self._episode is None:
            raise SimulationError("no episode has begun; call reset first")
        return np.array(self._episode.state)

    def run(self) -> Run:
        """What was driven in this episode, as `gr.simulate` returns it: `env.unwrapped.run().view("episode.html")`."""
        if self._episode is None:
            raise SimulationError("no episode has begun; call reset first")
        return self._episode.run()

    def _wanted(self, action: ArrayLike) -> list[float]:
        """Entries of an action, within ±1. Few are given otherwise than the action space draws them."""
        values: Any = action
        plain = type(values) is np.ndarray and values.shape == self._action_shape and values.dtype.char in "fd"
        if not (plain and values.dot(values) <= checks.LARGEST):  # fails for what is not finite, and that is then named
            values = checks.array(action, "action", self._action_shape)
        return [min(max(x, -1.0), 1.0) for x in values.tolist()]

    def _to_goal(self, episode: Episode) -> float:
        state, goal = episode.q, self._look.goal
        return math.hypot(goal.item(0) - state.item(4), goal.item(1) - state.item(5))

    def _info(self, episode: Episode) -> dict[str, Any]:
        arrived = episode.status is Status.OK and self._distance < self.goal_radius
        about = {"status": str(episode.status), "is_success": bool(arrived)}
        return {**about, "distance": self._distance, "time": self._taken * self.hold * self.dt}

    def _observe(self, episode: Episode) -> Observation:
        seen = Seen(*[np.empty(size, np.float32) for size in self._sizes])
        observe(episode.law, episode.q, episode.velocity, self._look, seen)
        goal, attitude, velocity, joints, heights = seen
        shown = {"goal": goal, "attitude": attitude, "velocity": velocity, "heights": heights.reshape(self._square)}
        if len(joints):
            shown["joints"] = joints
        return shown


def _place(given: ArrayLike | None, name: str, size: int) -> FloatArray | None:
    return None if given is None else checks.array(given, name, (size,))


def _model(vehicle: str | Vehicle, model: str | Kinematics | Dynamics) -> Kinematics | Dynamics:
    if isinstance(model, (Kinematics, Dynamics)):
        return model
    rover = vehicle if isinstance(vehicle, Vehicle) else vehicle_named(vehicle)
    if model == "kinematic":
        return Kinematics(rover)
    if model == "dynamic":
        return Dynamics(rover, tip_angle=0.5 * math.pi)
    raise SimulationError(f"model: {model!r:.60} is not one of kinematic, dynamic, nor a model")
