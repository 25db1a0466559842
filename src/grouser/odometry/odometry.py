"""Streaming wheel odometry for any vehicle: velocity from the wheels, slip removed, pose with covariance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.kinematics.velocity import KinematicModel
from grouser._kernels.odometry import slots
from grouser._kernels.odometry import update as kernels
from grouser._kernels.odometry.store import Samples, make_store
from grouser.checks import FloatArray
from grouser.dynamics import Dynamics
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.motion import MotionModel, Noise
from grouser.motion.slip_surface import GRAVITY_TERMS, Perturbative
from grouser.motion.velocity import VelocityModel
from grouser.odometry.arms import SwingArms
from grouser.odometry.estimate import Estimate
from grouser.odometry.faults import FaultCounts
from grouser.odometry.linear import RateMap, rate_map
from grouser.odometry.noise import EncoderNoise
from grouser.terrain import Terrain, plane
from grouser.vehicles import Vehicle, vehicle

ATTITUDE_DRIFT = 0.1
"""How fast roll and pitch may change while they are not seen, one sigma [rad/s]."""

NOT_DYNAMIC = (
    "odometry takes what wheels measure, and a dynamic model predicts it; use grouser.Kinematics(vehicle), or the fit"
    " of a kinematic model"
)

BY_GRAVITY = [slots.SURFACE + k for k in GRAVITY_TERMS]

Values = ArrayLike | Mapping[str, float]


class Odometry:
    """Wheel odometry as a robot runs it: one `update` per sample, constant memory.

    Body velocity is the weighted least-squares solution of the wheels' constraints, L (4.35), T (2.37), with the slip
    of the model on top. Roll and pitch are taken as measured; yaw and position integrate along them, on arcs, velocity
    and attitude linear between samples. Faults of the inputs are counted in `faults`; the estimate goes on with a
    larger covariance. An odometry can be copied and pickled; the copy goes on where it was.
    """

    def __init__(
        self,
        model: MotionModel | Kinematics | VelocityModel | Vehicle | str,
        *,
        planar: bool = False,
        contact_angles: str | Terrain | ArrayLike = "zero",
        noise: EncoderNoise | None = None,
        slip_scale: float = 10.0,
        position: ArrayLike = (0.0, 0.0, 0.0),
        yaw: float = 0.0,
        process_noise: Noise | None = None,
        measured: Sequence[str] | None = None,
        stops: Mapping[str, tuple[float, float]] | None = None,
        gap: float = 0.25,
        acceleration: float = 1.0,
        pitch_rate: str = "wheels",
    ) -> None:
        """For the motion model of a fit, a `Kinematics`, a baseline, or a vehicle (plain wheel odometry).

        planar: motion in the plane, L §4.3.2: attitude and suspension joints are ignored.
        contact_angles: "zero" (straight down in the body, or in the bogie that carries it), "estimated" from the rates
        (see `ContactAngleEstimator`), a terrain (found on it at the estimated pose), or one angle per wheel (nw,)
        [rad], in the frame that carries the wheel; contact ahead is negative.
        noise: of the inputs. slip_scale: k of f(s) = (1 + k s)² that scales the covariance with slip (4.48).
        position [m], yaw [rad]: where it starts. process_noise: None takes that of a motion model, else there is none.
        measured: joints whose rates will come, None: the driven wheels; one that is missing is a fault.
        stops: joint → (lowest, highest) angle [rad or m]. gap: longest step that is no fault [s].
        acceleration: largest in a gap [m/s², rad/s²]: it adds a h²/(4√3) to one sigma of position and yaw.
        pitch_rate: whence the turn rate about the body's y axis, whose part in yaw grows with roll: "wheels", as in the
        prediction of logs, or "attitude", its differences, which is right also where contact angles are not known.
        """
        self.model = _motion(model)
        self._process = None if isinstance(model, (str, Vehicle, Kinematics, VelocityModel)) else self.model.noise
        self.vehicle: Vehicle = self.model.vehicle
        self.noise = (
            EncoderNoise()
            if noise is None
            else checks.instance(noise, EncoderNoise, "noise", "use grouser.odometry.EncoderNoise(rate=…)")
        )
        self.planar = bool(planar)
        self._index = {name: j for j, name in enumerate(self.vehicle.joints)}
        self._settings = np.zeros(slots.SETTINGS)
        self._joints = self._joint_table(measured, stops)
        self._contact = np.zeros(self.vehicle.n_wheels)
        self._ground: Terrain = plane()
        self._estimator: Any = None
        self._arms: SwingArms | None = None
        self._set_contacts(contact_angles)
        self._usual = self._contact.copy(), self._settings[slots.ON_GROUND : slots.CONTACT_KNOWN + 1].copy()
        self._told = False
        self._map: RateMap | None = None
        self._sliding: FloatArray | None = None
        self._kinematics, self._linear = self._set_model(self.model.model)
        self._set_numbers(slip_scale, gap, acceleration, process_noise)
        if pitch_rate not in ("wheels", "attitude"):
            raise SimulationError(f"pitch_rate: {pitch_rate!r:.40} is not 'wheels' or 'attitude'")
        self._settings[slots.PITCHING] = float(pitch_rate == "attitude")
        self._make_arrays()
        self.reset(position=position, yaw=yaw)

    @property
    def estimate(self) -> Estimate | None:
        """The latest; None before the first sample."""
        return self._estimate

    @property
    def faults(self) -> dict[str, int]:
        """How often each kind of fault was met: {kind: count}."""
        return dict(self._faults.counts)

    def reset(self, *, position: ArrayLike = (0.0, 0.0, 0.0), yaw: float = 0.0) -> None:
        """Begin anew at a place [m] and heading [rad], known exactly; counts and memories are cleared."""
        place = checks.array(position, "position", (3,))
        heading = checks.number(yaw, "yaw")
        self._memory[:] = 0.0
        self._memory[slots.M_POSITION : slots.M_POSITION + 3] = place
        self._memory[slots.M_POSITION + 3] = heading
        self._memory[slots.M_ATTITUDE_SEEN] = -math.inf
        self._joints[:] = self._table
        self._out[:] = 0.0
        self._out[slots.O_POSITION : slots.O_POSITION + 3], self._out[slots.O_YAW] = place, heading
        self._out[slots.O_QUATERNION], self._out[slots.O_QUATERNION + 3] = (
            math.cos(0.5 * heading),
            math.sin(0.5 * heading),
        )
        self._faults = FaultCounts()
        self._estimate: Estimate | None = None
        if self._estimator is not None:
            self._estimator.reset()
        if self._arms is not None:
            self._arms.reset()

    def begin_faults(self, said: set[str]) -> None:
        """Count faults from zero; kinds in `said` are not logged, and those that are logged join it."""
        self._faults = FaultCounts(said)

    def update(
        self,
        t: float,
        rates: Values,
        angles: Values | None = None,
        attitude: ArrayLike | None = None,
        gyro: ArrayLike | None = None,
        *,
        contact_angles: ArrayLike | None = None,
    ) -> Estimate:
        """Take one sample at time t [s] and return the estimate at that time.

        rates, angles: of the joints in their order, (nj,) [rad/s, rad or m], NaN where not measured; or by name.
        attitude: (roll, pitch) [rad]; None: level, or the last one. gyro: turn rates (3,) in body axes [rad/s]; given,
        they replace those of the wheels. contact_angles: of the wheels, (nw,) [rad], known for this sample.
        """
        sense = self._sense
        try:
            sense[0] = t
            self._fill(self._rates, rates, "rates")
            self._fill(self._angles, self._none if angles is None else angles, "angles")
            if attitude is None:
                sense[1] = math.inf
            else:
                sense[1], sense[2] = cast(Any, attitude)
                if sense[1] == math.inf:
                    sense[1] = math.nan
            if gyro is None:
                sense[3] = math.inf
            else:
                sense[3], sense[4], sense[5] = cast(Any, gyro)
                if sense[3] == math.inf:
                    sense[3] = math.nan
        except (TypeError, ValueError, OverflowError) as reason:
            raise SimulationError(
                f"a sample of odometry at t = {t!r:.40}: {reason}; it takes a time, {len(self._index)} rates, angles,"
                " (roll, pitch) and three turn rates, all numbers"
            ) from None
        if contact_angles is not None:
            self._take_contacts(contact_angles)
        elif self._told:
            self._contact[:], self._told = self._usual[0], False
            self._settings[slots.ON_GROUND : slots.CONTACT_KNOWN + 1] = self._usual[1]
        elif self._estimator is not None:
            self._estimate_contacts()
        if self._arms is not None and contact_angles is None:
            self._contact[self._arms.wheels] = self._arms.contact_angles(self._angles)
        if self._map is not None:
            self._map.fill(self._rates, self._angles, self._linear)
            if self._sliding is not None:
                self._settings[BY_GRAVITY] = self._sliding * self._rim_speed()
        kernels.take_samples(self._store, self._sample)
        bits = int(self._sample.bits[0])
        if bits:
            self._count(bits)
            if bits == slots.FAULT_TIME:
                late = Estimate(self._out.copy(), late=True)
                self._estimate = None if self._estimate is None else late
                return late
        self._estimate = Estimate(self._out.copy())
        return self._estimate

    def _fill(self, into: FloatArray, values: Any, name: str) -> None:
        if getattr(values, "shape", None) != into.shape:  # an array of the right shape first: it is what robots send
            if isinstance(values, Mapping):
                into[:] = np.nan
                for joint, value in values.items():
                    if joint not in self._index:
                        self.vehicle.joint_index(joint)  # says which joints there are
                    into[self._index[joint]] = value
                return
            values = np.asarray(values, dtype=np.float64)
            if values.shape != into.shape:
                raise SimulationError(f"{name}: has shape {values.shape}, needs {into.shape}, one per joint")
        into[:] = values

    def _rim_speed(self) -> float:
        """Mean rim speed of the measured wheels of the sample, without sign [m/s]."""
        arrays = self.vehicle.arrays
        rims = np.abs(self._rates[arrays.wheel - 1] * arrays.radius)
        rims = rims[np.isfinite(rims)]
        return float(rims.mean()) if rims.size else 0.0

    def _count(self, bits: int) -> None:
        names = self.vehicle.joints
        where = {}
        for kinds, slot in ((("rate",), slots.O_RATE_JOINT), (("stop", "angle"), slots.O_ANGLE_JOINT)):
            joint = int(self._out[slot])
            if joint >= 0:
                where.update(dict.fromkeys(kinds, f"joint '{names[joint]}'"))
        self._faults.add(bits, where, float(self._sense[0]))

    def _take_contacts(self, given: ArrayLike) -> None:
        """Use contact angles for one sample."""
        if self.planar:
            raise SimulationError("contact_angles: planar odometry has none; leave them out or use planar=False")
        self._contact[:] = checks.array(given, "contact_angles", self._contact.shape)
        self._settings[slots.ON_GROUND], self._settings[slots.CONTACT_KNOWN] = 0.0, 1.0
        self._told = True

    def _estimate_contacts(self) -> None:
        sense = self._sense
        if not abs(sense[0]) < slots.LATEST:
            return
        # What is not finite counts as not measured.
        found, valid = self._estimator.update(float(sense[0]), self._rates, self._angles, sense[1:3], gyro=sense[3:6])
        self._contact[:] = found
        self._settings[slots.CONTACT_KNOWN] = float(valid.all())

    def _joint_table(
        self, measured: Sequence[str] | None, stops: Mapping[str, tuple[float, float]] | None
    ) -> FloatArray:
        vehicle = self.vehicle
        table = np.zeros((vehicle.n_joints, slots.COLUMNS))
        table[:, slots.RATE_VARIANCE], table[:, slots.ANGLE_SIGMA] = self.noise.of_joints(vehicle)
        table[:, slots.BELOW], table[:, slots.ABOVE] = -math.inf, math.inf
        table[:, slots.LAST_ANGLE] = table[:, slots.HELD + 1] = vehicle.rest
        table[:, slots.ANGLE_SEEN] = math.nan
        steering = {one.joint for one in vehicle.steering}
        wheels = set(vehicle.wheels)
        for j, joint in enumerate(vehicle.joints):
            table[j, slots.HELD] = float(joint not in steering and joint not in wheels)
            table[j, slots.ANGLE_WANTED] = float(joint in steering)
        driven = [w for w in vehicle.wheels if w in vehicle.actuated] or list(vehicle.wheels)
        if measured is not None:
            if isinstance(measured, str) or not isinstance(measured, Iterable):
                raise SimulationError(f"measured: {measured!r:.60} is not a list of joints, such as {driven[:1]}")
            driven = list(measured)
        for joint in driven:
            table[vehicle.joint_index(joint), slots.RATE_WANTED] = 1.0
        self._settings[slots.WHEELS_WANTED] = sum(
            table[vehicle.joint_index(w), slots.RATE_WANTED] for w in vehicle.wheels
        )
        given: Mapping[str, Any] = checks.instance(stops or {}, Mapping, "stops", "use {joint: (lowest, highest)}")
        for joint, ends in given.items():
            low, high = checks.array(ends, f"stops of '{joint}'", (2,))
            if low >= high:
                raise SimulationError(f"stops of '{joint}': {low:g} must be below {high:g}")
            table[vehicle.joint_index(joint), [slots.BELOW, slots.ABOVE]] = low, high
        return table

    def _set_contacts(self, given: str | Terrain | ArrayLike) -> None:
        if isinstance(given, Terrain):
            self._ground = given
            self._settings[[slots.ON_GROUND, slots.CONTACT_KNOWN]] = 1.0
        elif isinstance(given, str):
            if given not in ("zero", "estimated"):
                raise SimulationError(
                    f"contact_angles: {given!r:.40} is not 'zero', 'estimated', a terrain or an array of angles"
                )
            if given == "estimated":
                from grouser.odometry.contact_angles import ContactAngleEstimator

                self._estimator = ContactAngleEstimator(self.vehicle)
            else:
                arms = SwingArms(self.vehicle)
                self._contact[arms.wheels] = arms.contact_angles(self.vehicle.rest)
                self._arms = arms if len(arms.wheels) and not self.planar else None
        else:
            self._contact[:] = checks.array(given, "contact_angles", self._contact.shape)
            self._settings[slots.CONTACT_KNOWN] = 1.0
        if self.planar and not (isinstance(given, str) and given == "zero"):
            raise SimulationError("contact_angles: planar odometry has none; leave them out or use planar=False")

    def _set_model(self, model: Kinematics | VelocityModel | Dynamics) -> tuple[KinematicModel, FloatArray]:
        """The model as the kernel takes it, and the map from rates to velocity of models that have one."""
        linear = np.zeros((6, self.vehicle.n_joints))
        if isinstance(model, Kinematics):
            arrays = model.arrays()
        elif isinstance(model, VelocityModel):
            arrays = Kinematics(self.vehicle).arrays()
            self._map = rate_map(model)
            if isinstance(model, Perturbative) and model.gravity_grows == "distance":
                self._sliding = model.slip[GRAVITY_TERMS]
            self._settings[slots.LINEAR] = 1.0
            self._settings[slots.SURFACE : slots.SURFACE + 13] = self._map.surface
        else:
            raise SimulationError(NOT_DYNAMIC)
        # Angles are measured: nothing is pulled back to the ground or to the couplings.
        return arrays.replace(gain=np.zeros_like(arrays.gain)), linear

    def _set_numbers(self, slip_scale: float, gap: float, acceleration: float, process_noise: Noise | None) -> None:
        s, noise = self._settings, self.noise
        scale = checks.number(slip_scale, "slip_scale")
        if scale < 0.0:
            raise SimulationError(f"slip_scale: {scale:g} must be at least 0")
        s[slots.SLIP_SCALE] = scale
        s[slots.PLANAR] = float(self.planar)
        s[slots.GAP] = checks.positive(gap, "gap")
        s[slots.ACCELERATION] = checks.positive(acceleration, "acceleration")
        s[slots.WHITE], s[slots.PERIOD] = noise.white, noise.period
        s[slots.GYRO_VARIANCE] = noise.gyro**2
        s[slots.ATTITUDE_SIGMA] = 0.0 if self.planar else noise.attitude
        s[slots.ATTITUDE_TIME], s[slots.ATTITUDE_DRIFT] = noise.attitude_time, ATTITUDE_DRIFT
        s[slots.CONTACT_SIGMA] = noise.contact_angle
        process_noise = self._process if process_noise is None else process_noise
        if process_noise is not None:
            checks.instance(process_noise, Noise, "process_noise", "use that of a fit, fit.model.noise, or None")
            density = np.zeros((6, 6))
            density[np.ix_(process_noise.indices, process_noise.indices)] = process_noise.density
            s[slots.NOISE : slots.NOISE + 36] = density.ravel()
            s[slots.NOISE + 36] = float(process_noise.grows == "distance")

    def _make_arrays(self) -> None:
        """All that an update works on, made once, and the kernel compiled."""
        nj = self.vehicle.n_joints
        self._memory = np.zeros(slots.MEMORY)
        self._rates, self._angles, self._sense = np.empty(nj), np.empty(nj), np.empty(6)
        self._none = np.full(nj, np.nan)
        self._out = np.zeros(slots.OUT)
        self._table = self._joints.copy()
        self._pack()
        # Once on nothing, so that the first sample need not wait for the compiler.
        self._rates[:], self._angles[:], self._sense[:] = np.nan, np.nan, 0.0
        kernels.take_samples(self._store, self._sample)

    def _pack(self) -> None:
        """What the kernel is called with."""
        arrays = (self._settings, self._joints, self._linear, self._contact, self._memory)
        ground = self._ground.kernel
        self._store = make_store(self.vehicle.arrays, self._kinematics, ground, *arrays)  # type: ignore[no-untyped-call]
        nothing, sample = np.zeros(0), (self._rates[None], self._angles[None], self._sense[None])
        self._sample = Samples(
            *sample, nothing, nothing, np.zeros(1), self._out, np.zeros((0, slots.OUT)), np.zeros(1, dtype=np.int64)
        )

    def __getstate__(self) -> dict[str, Any]:
        # Slip and ground are addresses in this process: a copy, pickled or deep, finds its own.
        own = ("_store", "_sample", "_kinematics")
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._kinematics, _ = self._set_model(self.model.model)
        self._pack()


def _motion(model: Any) -> MotionModel:
    if hasattr(model, "model") and isinstance(getattr(model, "model", None), MotionModel):
        model = model.model  # a fit
    if isinstance(model, (str, Vehicle)):
        model = Kinematics(vehicle(model) if isinstance(model, str) else model)
    if isinstance(model, (Kinematics, VelocityModel)):
        return MotionModel(model=model)
    if isinstance(model, Dynamics) or isinstance(getattr(model, "model", None), Dynamics):
        raise SimulationError(NOT_DYNAMIC)
    if isinstance(model, MotionModel):
        if not model.velocity_driven:
            raise SimulationError(
                "odometry takes attitude as measured; its motion model must have no ground: calibrate without a terrain"
            )
        return model
    raise SimulationError(f"model: {model!r:.60} is not a vehicle or motion model; use grouser.Odometry(fit.model)")
