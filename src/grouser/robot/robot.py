"""The chain on board: signals by name and stamp in, one pose with covariance out.

Its state can be taken as plain arrays, so that another chain continues from it. It is what a snapshot of the chain
holds, with its clock, without the signals that are kept for a replay: what comes late to the second chain is not
replayed before its beginning. A pause of some seconds is a silence for the chain: its motion is extrapolated with a
larger covariance. After a longer one it continues as if its clock was set: no motion.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from grouser import rotation
from grouser._compile.struct import views
from grouser._kernels.fusion.memory import ESTIMATE as FUSED
from grouser._kernels.fusion.memory import EVENT, PARAMETERS, WHEELS
from grouser._kernels.motion.correction import SURFACE, CorrectionTable
from grouser._kernels.robot import chain as kernels
from grouser._kernels.robot.memory import COUNTED, NOTHING, PRESENT, Chain
from grouser.checks import FloatArray
from grouser.errors import RobotError
from grouser.fusion.filter import Fusion, Innovations
from grouser.kinematics import Kinematics
from grouser.motion.correction import Corrected
from grouser.odometry.estimate import Estimate
from grouser.odometry.inputs import FAULTS, fill_joints
from grouser.odometry.odometry import Odometry
from grouser.robot.estimate import RobotEstimate
from grouser.robot.monitor import Watch
from grouser.robot.settings import RobotSettings, check
from grouser.robot.slip_states import slip_states, with_wander

if TYPE_CHECKING:
    from grouser.logs.events import Event
    from grouser.logs.manifest import Manifest

SNAPSHOTS = 12  # kept; the delay holds `PER_DELAY` of them
PER_DELAY = 8

_NO_CORRECTION = CorrectionTable(terms=[], rows=[], widths=[], reach=np.ones(4), corners=[], corner_rows=[])

Values = ArrayLike | Mapping[str, float]


class _Filter(Fusion):
    """The fusion filter as a part of the chain: its events go through the ring of the chain."""

    _chain: Chain | None = None
    _quiet = frozenset({"poses_missing"})  # a robot without a camera has none

    def join(self, chain: Chain) -> None:
        """Send all events through a chain."""
        incoming, estimate = np.zeros(1, EVENT), np.zeros(1, FUSED)
        chain.repoint(incoming=incoming, estimate=estimate)
        self._chain, self._event, self._row = chain, views(incoming), views(estimate)

    def _take_event(self) -> None:
        kernels.put(self._chain)

    def _write_estimate(self) -> None:
        self._event["kind"][...] = NOTHING
        kernels.put(self._chain)


class Robot:
    """Signals of a robot as they come in; one estimate of its pose and twist with covariances out.

    >>> robot = Robot(fit, "robot.toml")  # or a motion model, a vehicle, its name; the manifest is optional
    >>> robot.imu(t, gyro, acceleration)
    >>> robot.joints(t, {"FL": 4.1, "FR": 4.0, "BL": 4.1, "BR": 4.0})
    >>> robot.gps(t, position, covariance)
    >>> robot.estimate.position

    Signals may come in any order within `RobotSettings.delay`: late ones are replayed, so that the estimate is the one
    of signals in order. Memory is constant. Until the IMU is aligned, and without one, the estimate is that of the
    wheels.
    """

    def __init__(
        self,
        model: Any,
        settings: RobotSettings | Manifest | str | os.PathLike[str] | None = None,
        *,
        position: ArrayLike = (0.0, 0.0, 0.0),
        yaw: float = 0.0,
    ) -> None:
        """For a fit, a motion model or a vehicle, at a position [m] with a yaw [rad].

        settings: or a manifest or its file, whose table [robot] gives them.
        """
        given = self.settings = _settings(settings, model)
        self._odometry = Odometry(model, noise=given.noise, position=position, yaw=yaw, **given.odometry)
        self.vehicle = self._odometry.vehicle
        self._slip = slip_states(model, given.ground) if given.learn else None
        prior = None if self._slip is None else self._slip.prior
        settings_of_filter = given.fusion if self._slip is None else with_wander(given.fusion, self._odometry.model)
        self._filter = _Filter(settings_of_filter, position=position, yaw=yaw, parameters=prior)
        self._chain = self._make_chain()
        self._filter.join(self._chain)
        self._last_pose: dict[str, tuple[float, FloatArray, FloatArray]] = {}
        self._has_poses = False
        self._watch = Watch(given.monitor)
        self.monitor = self._watch.monitor
        """Reports a robot that is stuck or slides, and a change of ground."""
        self._chain.incoming.kind = NOTHING
        kernels.put(self._chain)  # compiles before the first signal

    def _make_chain(self) -> Chain:
        odometry, settings, memory = self._odometry, self.settings, self._filter._memory
        n, nj = settings.events, self.vehicle.n_joints
        chain: Chain = Chain.zeros(
            odometry=odometry._store, sample=odometry._sample, fusion=memory, kept=n, rows=n + 1, nj=nj,
            snapshots=SNAPSHOTS, words=memory.everything.size,
            suspicion=odometry._store.suspicion.everything.size, **self._slip_parts(),
        )  # fmt: skip
        chain.repoint(memory=odometry._memory.reshape(1), last=odometry._last.reshape(1))
        for name in ("delay", "rise", "rise_length", "sync", "turn_slip"):
            chain.settings[name] = getattr(settings, name)
        self._bind_slip(chain)
        chain.settings.spacing = settings.delay / PER_DELAY
        chain.snapshot_rows[:] = np.arange(SNAPSHOTS)
        chain.present.joints = math.nan
        chain.linear[:] = odometry._linear[0]
        self._incoming = chain.rates[n], chain.angles[n], chain.linear[n]
        self._currents = np.full(nj, np.nan)
        self._present = views(np.frombuffer(chain.present, dtype=PRESENT))
        self._counted = np.frombuffer(chain.counted, dtype=np.int64)
        return chain

    def _slip_parts(self) -> dict[str, Any]:
        """The learned correction, and sizes of what belongs to slip."""
        model = self._odometry.model.model
        own = model if isinstance(model, Corrected) else None
        n = 0 if own is None else len(own.correction)
        table = _NO_CORRECTION if own is None else own.table
        learned = 0 if self._slip is None else len(self._slip.names)
        return {"correction": table, "coefficients": n, "slopes": SURFACE + n, "learned": learned, "numbers": 0}

    def _bind_slip(self, chain: Chain) -> None:
        """Give the chain the numbers of the slip model; those of a law as a copy, which it may change for slopes."""
        odometry = self._odometry
        model, noise = odometry.model.model, odometry.model.noise
        if isinstance(model, Corrected):
            chain.coefficients[:] = model.correction
        if odometry._settings["noise"].any():
            chain.settings.wander[np.ix_(noise.indices, noise.indices)] = noise.long_run - noise.density
        if self._slip is None:
            return
        chain.learned[:] = self._slip.places
        if isinstance(model, Kinematics) and model.slip is not None:
            numbers = np.array(model.slip.pack())
            chain.repoint(law_numbers=numbers)
            store = odometry._store
            store.repoint(model=store.model.replace(slip_par=numbers.ctypes.data))

    def imu(self, t: float, gyro: ArrayLike, acceleration: ArrayLike) -> None:
        """A sample at time t [s]: rates [rad/s] and specific force [m/s²] in body axes, (3,) each."""
        self._filter.imu(t, gyro, acceleration)
        self.monitor.imu(t, gyro, acceleration)

    def joints(self, t: float, rates: Values, angles: Values | None = None, currents: Values | None = None) -> None:
        """Rates and angles of the joints at time t [s]: in their order, (nj,) [rad/s, rad or m], or by name.

        NaN, or left out, where not measured. currents: of the motors, or their torques, in any unit, likewise; with the
        sign of the torque. They are for the monitor.
        """
        odometry = self._odometry
        into_rates, into_angles, linear = self._incoming
        try:
            fill_joints(into_rates, self.vehicle, rates, "rates")
            fill_joints(into_angles, self.vehicle, odometry._missing if angles is None else angles, "angles")
            stamp = float(t)
        except (TypeError, ValueError, OverflowError) as reason:
            raise RobotError(
                f"joints at t = {t!r:.40}: {reason}; it takes a time, and {self.vehicle.n_joints} rates and angles"
            ) from None
        if odometry._map is not None:
            linear[:] = odometry._map.maps(into_rates[None], into_angles[None])[0]
        self._filter.take(WHEELS, stamp)
        if currents is not None:
            fill_joints(self._currents, self.vehicle, currents, "currents")
        last = self._chain.last["odometry_twist"][0]
        self._watch.joints(stamp, last[3], last[2], into_rates, None if currents is None else self._currents)

    def keyframe(self, t: float) -> None:
        """An image was taken at time t [s]; a relative pose from it or to it will come later."""
        self._filter.keyframe(t)

    def relative_pose(
        self, t_from: float, t_to: float, position: ArrayLike, quaternion: ArrayLike, covariance: ArrayLike
    ) -> None:
        """Pose of the body at t_to in the body's axes at t_from, as `Fusion.relative_pose` takes it."""
        self._filter.relative_pose(t_from, t_to, position, quaternion, covariance)
        self._has_poses = True
        self._watch.step(t_from, t_to, position, covariance)

    def pose(
        self,
        t: float,
        position: ArrayLike,
        quaternion: ArrayLike,
        covariance: ArrayLike | None = None,
        source: str = "",
    ) -> None:
        """Pose of the body at time t [s] in the world of another odometry, such as visual odometry.

        Its steps are used, not its world: from the pose before of the same source. covariance (6, 6): of the step,
        (rotation [rad], translation [m]), body axes; None: by `RobotSettings.visual`.
        """
        p, q = check.array(position, "position", (3,)), check.array(quaternion, "quaternion", (4,))
        stamp = check.number(t, "t")
        size = float(np.linalg.norm(q))
        if not size > 1e-6:
            raise RobotError(f"pose at t = {stamp:.12g}: its quaternion is zero; use w, x, y, z of length one")
        R = rotation.from_quaternion(q / size)
        before = self._last_pose.get(source)
        if before is not None and stamp <= before[0]:
            return  # a step back in time is no step
        self._last_pose[source] = stamp, p, R
        if before is None:
            self._filter.keyframe(stamp)
            return
        started, p_before, R_before = before
        step, turn = R_before.T @ (p - p_before), R_before.T @ R
        if covariance is None:
            move, per_way, twist, per_turn = self.settings.visual
            angle = math.acos(min(max(0.5 * (float(np.trace(turn)) - 1.0), -1.0), 1.0))
            along = move**2 + (per_way * float(np.linalg.norm(step))) ** 2
            covariance = np.diag(np.repeat([twist**2 + (per_turn * angle) ** 2, along], 3))
        self.relative_pose(started, stamp, step, rotation.to_quaternion(turn), covariance)

    def gps(self, t: float, position: ArrayLike, covariance: ArrayLike) -> None:
        """Position of the antenna in the world at time t [s], as `Fusion.gps` takes it."""
        self._filter.gps(t, position, covariance)
        self._watch.fix(t, position, covariance)

    def heading(self, t: float, yaw: float, sigma: float) -> None:
        """Yaw [rad] of the body in the world at time t [s], with one sigma [rad]."""
        self._filter.heading(t, yaw, sigma)

    def command(self, t: float, speed: float, turn: float) -> None:
        """Commanded speed [m/s] and turn rate [rad/s] of the body at time t [s]: for a `Response`, not the estimate."""
        stamp = check.number(t, "t")
        self.last_command = stamp, check.number(speed, "speed"), check.number(turn, "turn")

    @property
    def slip_parameters(self) -> dict[str, tuple[float, float]]:
        """Slip parameters of the fit as learned so far, by name: value and one sigma, each in its unit."""
        if self._slip is None:
            return {}
        k, memory = len(self._slip.names), self._filter._memory
        values = self._slip.values + memory.parameters[:k]
        sigma = np.sqrt(np.diag(memory.covariance)[PARAMETERS : PARAMETERS + k])
        return {n: (float(v), float(s)) for n, v, s in zip(self._slip.names, values, sigma, strict=True)}

    @property
    def ready(self) -> bool:
        """Whether the IMU is aligned, so that the estimate is that of the filter."""
        return self._filter.ready

    @property
    def estimate(self) -> RobotEstimate | None:
        """The latest; None before the first joint sample and the alignment."""
        fused, shift = self._filter.estimate, float(self._present["shift"])
        wheels = None
        if self._chain.memory[0]["started"]:
            wheels = Estimate(self._chain.last.copy().view(np.float64))
        degraded = self._degraded() if self.ready else ("imu",)
        excluded = () if wheels is None else tuple(np.array(self.vehicle.wheels)[wheels.excluded].tolist())
        alarms = self.monitor.active
        if fused is not None:
            alarms = alarms[0], alarms[1] or fused.motion == "sliding", alarms[2]
            fused = replace(fused, time=fused.time - shift) if shift else fused
        one: Any = fused or wheels
        if one is None:
            return None
        return RobotEstimate(
            one.time if fused else one.time - shift, one.position, one.quaternion, one.twist, one.pose_covariance,
            one.twist_covariance, fused, wheels, excluded, degraded, *alarms,
        )  # fmt: skip

    def _degraded(self) -> tuple[str, ...]:
        """Sources that fail; an IMU that is silent while others go on is one, poses that never came are none."""
        newest, now = float(self._present["newest"]), self._filter.time
        silent = newest - now > self.settings.fusion.missing_after
        found = self._filter.degraded + (("imu",) if silent else ())
        return tuple(dict.fromkeys(name for name in found if name != "poses" or self._has_poses))

    @property
    def faults(self) -> dict[str, int]:
        """Number of faults by kind, of signals, odometry and filter."""
        wheels = {f"odometry_{kind}": self._chain.faults[bit.bit_length() - 1] for bit, (kind, _) in FAULTS.items()}
        counted = dict(zip(COUNTED.names or (), self._counted.tolist(), strict=True))
        own = {f"signals_{kind}": counted[kind] for kind in ("too_late", "too_early", "clock")}
        found = {kind: int(n) for kind, n in {**own, **wheels, **self._filter.faults}.items() if n}
        if not self._has_poses:
            found.pop("poses_missing", None)
        return found

    @property
    def replays(self) -> tuple[int, int]:
        """Number of signals that were replayed, and of events that were processed again for them."""
        return int(self._chain.counted.replays), int(self._chain.counted.replayed)

    @property
    def nis(self) -> dict[str, Innovations]:
        """Innovations by source, as `Fusion.nis`."""
        return self._filter.nis


def _settings(given: Any, model: object) -> RobotSettings:
    if given is None:
        return RobotSettings()
    if isinstance(given, RobotSettings):
        return given
    from grouser.logs.manifest import Manifest
    from grouser.robot.from_manifest import live_settings

    if isinstance(given, str | os.PathLike | Manifest):
        return live_settings(given, model)
    return check.instance(given, RobotSettings, "settings", "use grouser.robot.RobotSettings(…) or a manifest")


def give(robot: Robot, event: Event) -> None:
    """Give an event of a log or a live topic to a `grouser.Robot`."""
    if event.kind == "relative_pose":
        started, *rest = event.values
        robot.relative_pose(started, event.t, *rest)
    else:
        getattr(robot, event.kind)(event.t, *event.values)


def _parts(robot: Robot) -> dict[str, Any]:
    """The arrays that change with signals, by name; views of the chain's own."""
    chain = robot._chain
    return {
        "odometry": chain.memory, "estimate": chain.last, "joints": chain.odometry.joints,
        "fusion": chain.fusion.everything, "suspicion": chain.odometry.suspicion.everything,
        "present": np.frombuffer(chain.present, dtype=PRESENT), "faults": chain.faults,
    }  # fmt: skip


def state_of(robot: Robot) -> dict[str, np.ndarray]:
    """Copies of the arrays, as bytes: their layout is that of this version."""
    return {name: np.frombuffer(one.tobytes(), np.uint8).copy() for name, one in _parts(robot).items()}


def restore(robot: Robot, state: Mapping[str, Any]) -> None:
    """Let a chain that has not begun continue from a state; refused, and unchanged, where the layout differs."""
    parts = _parts(robot)
    for name, one in parts.items():
        given = state.get(name)
        size = one.nbytes
        if not isinstance(given, np.ndarray) or given.dtype != np.uint8 or given.shape != (size,):
            raise RobotError(f"state of a robot: {name} does not fit this fit and version of grouser; start afresh")
    for name, one in parts.items():
        values = np.frombuffer(state[name].tobytes(), one.dtype).reshape(one.shape)
        if name == "present":
            for field in PRESENT.names or ():
                robot._chain.present[field] = values[field][0]
        else:
            one[...] = values
    robot._chain.present.kept = robot._chain.present.snapshots = 0
