"""Streaming wheel odometry for any vehicle: velocity from the wheels, slip removed, pose with covariance."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from grouser._kernels.motion.arc import Arc
from grouser._kernels.odometry import state
from grouser._kernels.odometry import update as kernels
from grouser._kernels.scratch import make_scratch
from grouser.checks import FloatArray
from grouser.errors import OdometryError
from grouser.kinematics import Kinematics
from grouser.motion import MotionModel, Noise
from grouser.motion.correction import Corrected
from grouser.motion.slip_surface import Perturbative
from grouser.motion.velocity import VelocityModel, is_dynamic
from grouser.odometry.arms import wheel_arms, wheels_steer
from grouser.odometry.estimate import Estimate
from grouser.odometry.inputs import EncoderNoise, FaultCounts, check, fill_joints
from grouser.odometry.rate_map import CorrectionStream, RateMap
from grouser.odometry.suspicion import WheelSuspicion, make_suspicion
from grouser.terrain import Terrain, plane
from grouser.vehicles import Vehicle, vehicle

ATTITUDE_DRIFT = 0.1  # Rate of change of roll and pitch while they are not measured, one sigma [rad/s]

Values = ArrayLike | Mapping[str, float]


class Odometry:
    """Wheel odometry as a robot runs it: one `update` per sample, constant memory.

    Body velocity is the weighted least-squares solution of the wheels' constraints, L (4.35), T (2.37), with the slip
    of the model on top. Roll and pitch are taken as measured; yaw and position integrate along them, on arcs, velocity
    and attitude linear between samples. Faults of the inputs are counted in `faults`; the estimate continues with a
    larger covariance. An odometry can be copied and pickled; the copy continues from the same state.
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
        pitch_rate: str | None = None,
        bogies: str = "free",
        suspicion: WheelSuspicion | bool | None = None,
    ) -> None:
        """For the motion model of a fit, a `Kinematics`, a baseline, or a vehicle (plain wheel odometry).

        planar: motion in the plane, L §4.3.2: attitude and suspension joints are ignored.
        contact_angles: "zero" (straight down in the body, or in the bogie that carries the wheel), "estimated" from the
        rates (see `ContactAngleEstimator`), a terrain (found on it at the estimated pose), or one angle per wheel (nw,)
        [rad], in the frame that carries the wheel; contact ahead is negative.
        noise: of the inputs. slip_scale: k of f(s) = (1 + k s)² that scales the covariance with slip (4.48).
        position [m], yaw [rad]: where it starts. process_noise: None takes that of a motion model, else there is none.
        measured: joints whose rates will come, None: the driven wheels; one that is missing is a fault.
        stops: joint → (lowest, highest) angle [rad or m]. gap: longest step that is no fault [s].
        acceleration: largest in a gap [m/s², rad/s²]: it adds a h²/(4√3) to one sigma of position and yaw.
        pitch_rate: source of the turn rates about the body's x and y axes where there is no gyro: "attitude", its
        differences, or "wheels", which know them only if contact angles are known. None: "wheels" for a motion model,
        as in the prediction of logs that it was calibrated with, "attitude" for a vehicle.
        bogies: passive joints whose rates are not measured are "free" and follow the wheels, or "held", L §4.4.2.
        suspicion: wheels that disagree with the others are left out until they agree again, see `WheelSuspicion` for
        the rules; False uses all, None those of models that do not say how each wheel rolls, as a bicycle.
        """
        self._options: dict[str, Any] = {
            "planar": planar, "contact_angles": contact_angles, "noise": noise, "slip_scale": slip_scale,
            "process_noise": process_noise, "measured": measured, "stops": stops, "gap": gap,
            "acceleration": acceleration, "pitch_rate": pitch_rate, "bogies": bogies, "suspicion": suspicion,
        }  # fmt: skip
        self.model = _motion(model)
        if process_noise is None and not isinstance(model, (str, Vehicle, Kinematics, VelocityModel)):
            process_noise = self.model.noise
        self.vehicle: Vehicle = self.model.vehicle
        hint = "use grouser.odometry.EncoderNoise(rate=…)"
        self.noise = EncoderNoise() if noise is None else check.instance(noise, EncoderNoise, "noise", hint)
        self.planar = bool(planar)
        self._settings = s = np.zeros((), state.SETTINGS)
        self._table = self._joint_table(measured, stops)
        self._contact = np.zeros(self.vehicle.n_wheels)
        self._arms = wheel_arms(self.vehicle)
        self._ground: Terrain = plane()
        self._estimator: Any = None
        self._map: RateMap | None = None
        self._correction: CorrectionStream | None = None
        self._set_contacts(contact_angles)
        self._usual = self._contact.copy(), int(s["contacts"]), int(s["contacts_known"])
        self._contacts_given = False
        self._set_numbers(slip_scale, gap, acceleration, process_noise)
        if pitch_rate is None:
            pitch_rate = self._options["pitch_rate"] = "attitude" if isinstance(model, (str, Vehicle)) else "wheels"
        s["pitch_measured"] = _chosen("pitch_rate", pitch_rate, ("wheels", "attitude"))
        s["bogies_held"] = _chosen("bogies", bogies, ("free", "held"))
        place = self.vehicle.wheel_positions
        s["contact_height"], s["span"] = np.mean(place[:, 2] - self.vehicle.arrays.radius), np.ptp(place[:, 0])
        s["skids"] = s["span"] > 0.0 and not wheels_steer(self.vehicle)
        nj = self.vehicle.n_joints
        self._joints = self._table.copy()
        self._memory, self._last = np.zeros((), state.MEMORY), np.zeros((), state.ESTIMATE)
        if suspicion is None:
            suspicion = self._options["suspicion"] = not self._settings["linear"]
        self._suspicion = make_suspicion(self.vehicle, suspicion).memory_block
        self._unsuspected = self._suspicion.copy()
        self._rates, self._angles, self._missing = np.full((3, nj), np.nan)
        self._sense, self._out = np.zeros(1, state.SENSE), np.zeros(1, state.ESTIMATE)
        self._linear, self._extra = np.zeros((1, 6, nj)), np.zeros((1, 6))
        self._pack()
        kernels.take_samples(self._store, self._sample)  # no samples: compiles before the first one
        self.reset(position=position, yaw=yaw)

    @property
    def estimate(self) -> Estimate | None:
        """The latest; None before the first sample."""
        return self._estimate

    @property
    def faults(self) -> dict[str, int]:
        """Number of faults by kind: {kind: count}."""
        return dict(self._faults.counts)

    def reset(self, *, position: ArrayLike = (0.0, 0.0, 0.0), yaw: float = 0.0) -> None:
        """Start again at a place [m] and heading [rad], known exactly; counts and memories are cleared."""
        place, heading = check.array(position, "position", (3,)), check.number(yaw, "yaw")
        for record in (self._memory, self._last):
            record[...] = np.zeros((), record.dtype)
            record["position"], record["yaw"] = place, heading
        self._memory["attitude_seen"] = -math.inf
        self._last["quaternion"] = math.cos(0.5 * heading), 0.0, 0.0, math.sin(0.5 * heading)
        self._joints[:] = self._table
        self._suspicion[:] = self._unsuspected
        self._faults = FaultCounts()
        self._estimate: Estimate | None = None
        for part in (self._estimator, self._map, self._correction):
            if part is not None:
                part.reset()

    def continued(self, model: MotionModel | Kinematics | VelocityModel) -> Odometry:
        """The odometry that continues from here with another model, such as one whose slip was learned meanwhile.

        It is of the same vehicle, whose numbers may differ, with the same options; this one stays as it is.
        """
        other = Odometry(model, **self._options)
        if other.vehicle.joints != self.vehicle.joints:
            raise OdometryError(f"model: is of '{other.vehicle.name}', whose joints are not those of this odometry")
        for mine, its in ((other._memory, self._memory), (other._last, self._last), (other._joints, self._joints)):
            mine[...] = its
        other._suspicion[:] = self._suspicion
        other._faults, other._estimate = copy.deepcopy(self._faults), self._estimate
        other._estimator = copy.deepcopy(self._estimator)
        if other._map is not None and self._map is not None:
            other._map.continue_from(self._map)
        if other._correction is not None and self._correction is not None:
            other._correction.continue_from(self._correction)
        return other

    def doubt(self, odds: ArrayLike) -> None:
        """Evidence of another source, (nw,): logarithm of the odds that each wheel slips, such as
        `MotorSlip.evidence`; it helps to decide which of several wheels slips, until it is given again."""
        self._doubt[:] = check.array(odds, "doubt", self._contact.shape)

    def begin_faults(self, logged: set[str]) -> None:
        """Count faults from zero; kinds in `logged` are not logged, and those that are logged join it."""
        self._faults = FaultCounts(logged)

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
        try:
            self._time[0] = t
            fill_joints(self._rates, self.vehicle, rates, "rates")
            fill_joints(self._angles, self.vehicle, self._missing if angles is None else angles, "angles")
            self._given[0][0] = attitude is not None
            if attitude is not None:
                self._attitude[0], self._attitude[1] = cast(Any, attitude)
            self._given[1][0] = gyro is not None
            if gyro is not None:
                self._gyro[0], self._gyro[1], self._gyro[2] = cast(Any, gyro)
        except (TypeError, ValueError, OverflowError) as reason:
            raise OdometryError(
                f"a sample of odometry at t = {t!r:.40}: {reason}; it takes a time, {self.vehicle.n_joints} rates and"
                " angles, (roll, pitch) and three turn rates, all numbers"
            ) from None
        if contact_angles is not None:
            self._give_contacts(contact_angles)
            self._contacts_given = True
        elif self._contacts_given:
            self._contact[:], self._settings["contacts"], self._settings["contacts_known"] = self._usual
            self._contacts_given = False
        if self._estimator is not None and contact_angles is None and abs(self._time[0]) < state.LATEST:
            self._contact[:], valid = self._estimator.update(t, self._rates, self._angles, attitude, gyro=gyro)
            self._settings["contacts_known"] = state.ESTIMATED_WELL if valid.all() else state.ESTIMATED
        if self._map is not None:
            self._linear[:] = self._map.maps(self._rates[None], self._angles[None])
        if self._correction is not None:
            self._extra[:] = self._correction.extra(self._time, self._rates[None], self._linear)
        kernels.take_samples(self._store, self._sample)
        found = Estimate(self._words.copy())
        if self._sample.faults[0]:
            self._faults.add(self._sample.faults, self._time, self._out, self.vehicle)
            if self._sample.faults[0] == state.FAULT_TIME and self._estimate is None:
                return found
        self._estimate = found
        return found

    def run(
        self,
        time: FloatArray,
        rates: FloatArray,
        angles: FloatArray,
        attitude: FloatArray | None = None,
        gyro: FloatArray | None = None,
    ) -> np.ndarray:
        """Take n samples; the same as n updates, much faster.

        time (n,), rates and angles (n, nj), attitude (n, 2), gyro (n, 3), as of `update`. Returns a structured array
        (n,) whose fields are the properties of `Estimate`; `Estimate.rows` makes these.
        """
        n, nj = len(time), self.vehicle.n_joints
        given = {"rates": (rates, nj), "angles": (angles, nj), "attitude": (attitude, 2), "gyro": (gyro, 3)}
        for name, (values, width) in given.items():
            if values is not None and np.shape(values) != (n, width):
                raise OdometryError(f"{name}: has shape {np.shape(values)}, needs {(n, width)}, one row per sample")
        out, faults = np.zeros(n, state.ESTIMATE), np.zeros(n, np.int64)
        if self._estimator is not None:
            for k in range(n):
                lean = None if attitude is None else attitude[k]
                out[k] = self.update(time[k], rates[k], angles[k], lean, None if gyro is None else gyro[k])._values
            return out
        sense = np.zeros(n, state.SENSE)
        sense["time"] = time
        for name, values in (("attitude", attitude), ("gyro", gyro)):
            if values is not None:
                sense[name], sense[f"{name}_given"] = values, 1
        if n:
            linear = self._linear[:0] if self._map is None else self._map.maps(rates, angles)
            extra = self._extra[:0] if self._correction is None else self._correction.extra(time, rates, linear)
            samples = state.Samples(
                sense=sense, rates=rates, angles=angles, linear=linear, extra=extra, last=self._last, out=out,
                faults=faults,
            )  # fmt: skip
            kernels.take_samples(self._store, samples)
            self._faults.add(faults, time, out, self.vehicle)
            self._estimate = Estimate(out[-1:].copy().view(np.float64))
        return out

    def _give_contacts(self, angles: ArrayLike) -> None:
        if self.planar:
            raise OdometryError("contact_angles: planar odometry has none; leave them out or use planar=False")
        self._contact[:] = check.array(angles, "contact_angles", self._contact.shape)
        self._settings["contacts"], self._settings["contacts_known"] = state.CONTACTS_GIVEN, 1

    def _joint_table(
        self, measured: Sequence[str] | None, stops: Mapping[str, tuple[float, float]] | None
    ) -> np.ndarray:
        """What is known of each joint before the first sample."""
        vehicle = self.vehicle
        table = np.zeros(vehicle.n_joints, state.JOINT)
        table["rate_variance"], table["angle_sigma"] = self.noise.of_joints(vehicle)
        table["below"], table["above"], table["angle_seen"] = -math.inf, math.inf, math.nan
        table["last_angle"] = table["rest"] = vehicle.rest
        steering = {one.joint for one in vehicle.steering}
        table["angle_wanted"] = [joint in steering for joint in vehicle.joints]
        table["held"] = [joint not in steering and joint not in vehicle.wheels for joint in vehicle.joints]
        table["driven"] = [joint in vehicle.actuated for joint in vehicle.joints]
        driven = [w for w in vehicle.wheels if w in vehicle.actuated] or list(vehicle.rolling_wheels)
        if measured is not None:
            if isinstance(measured, str) or not isinstance(measured, Iterable):
                raise OdometryError(f"measured: {measured!r:.60} is not a list of joints, such as {driven[:1]}")
            driven = list(measured)
        table["rate_wanted"][[vehicle.joint_index(joint) for joint in driven]] = 1
        self._settings["wheels_wanted"] = table["rate_wanted"][vehicle.arrays.wheel - 1].sum()
        given: Mapping[str, Any] = check.instance(stops or {}, Mapping, "stops", "use {joint: (lowest, highest)}")
        for joint, ends in given.items():
            low, high = check.array(ends, f"stops of '{joint}'", (2,))
            if low >= high:
                raise OdometryError(f"stops of '{joint}': {low:g} must be below {high:g}")
            one = table[vehicle.joint_index(joint) :][:1]
            one["below"], one["above"] = low, high
        return table

    def _set_contacts(self, given: str | Terrain | ArrayLike) -> None:
        if isinstance(given, str) and given == "zero":
            self._contact[:] = -(self._arms @ self.vehicle.rest)
            self._settings["contacts"] = state.CONTACTS_GIVEN if self.planar else state.CONTACTS_BELOW_ARMS
        elif self.planar or not isinstance(given, (str, Terrain)):
            self._give_contacts(given)  # type: ignore[arg-type]
        elif isinstance(given, Terrain):
            self._ground = given
            self._settings["contacts"], self._settings["contacts_known"] = state.CONTACTS_ON_GROUND, 1
        elif given == "estimated":
            from grouser.odometry.contact_angles import SMOOTHING, ContactAngleEstimator

            turning = max(0.03, self.noise.attitude / SMOOTHING)  # noise of differences of attitude [rad/s]
            self._estimator = ContactAngleEstimator(self.vehicle, mean=0.01, attitude_rate_noise=turning)
            self._settings["contacts_known"] = state.ESTIMATED
        else:
            hint = "is not 'zero', 'estimated', a terrain or an array of angles"
            raise OdometryError(f"contact_angles: {given!r:.40} {hint}")

    def _set_numbers(self, slip_scale: float, gap: float, acceleration: float, process_noise: Noise | None) -> None:
        s, noise = self._settings, self.noise
        s["slip_scale"], s["planar"] = check.not_negative(slip_scale, "slip_scale"), self.planar
        s["gap"], s["acceleration"] = check.positive(gap, "gap"), check.positive(acceleration, "acceleration")
        s["white"], s["period"], s["gyro_variance"] = noise.white, noise.period, noise.gyro**2
        s["attitude_sigma"] = 0.0 if self.planar else noise.attitude
        s["attitude_time"], s["attitude_drift"] = noise.attitude_time, ATTITUDE_DRIFT
        s["contact_sigma"] = noise.contact_angle
        if process_noise is not None:
            check.instance(process_noise, Noise, "process_noise", "use that of a fit, fit.model.noise, or None")
            s["noise"][np.ix_(process_noise.indices, process_noise.indices)] = process_noise.long_run
            s["noise_by_distance"] = process_noise.grows == "distance"
        model = self.model.model
        if isinstance(model, VelocityModel):
            self._map = RateMap(model)
            s["linear"] = 1
        if isinstance(model, Perturbative):
            s["surface"], s["gravity_by_distance"] = model.slip, model.gravity_grows == "distance"
        if isinstance(model, Corrected):
            self._correction = CorrectionStream(model)

    def _pack(self) -> None:
        """Arguments of the kernel, and views of the sample's fields: writing them one by one is faster."""
        sense = self._sense
        self._time, self._attitude, self._gyro = sense["time"], sense["attitude"][0], sense["gyro"][0]
        self._given, self._words = (sense["attitude_given"], sense["gyro_given"]), self._out.view(np.float64)
        model = self.model.model
        arrays = (model if isinstance(model, Kinematics) else Kinematics(self.vehicle)).arrays()
        n, counts = 6 + self.vehicle.n_joints, np.zeros(2, np.int64)
        known, unknown = np.zeros((2, n), np.int64)
        suspicion = make_suspicion(self.vehicle, self._options["suspicion"])
        suspicion.memory_block[:] = self._suspicion
        self._suspicion, self._doubt = suspicion.memory_block, suspicion.doubt
        self._store = state.OdometryStore.zeros(
            vehicle=self.vehicle.arrays, s=make_scratch(self.vehicle.arrays), ground=self._ground.kernel,
            # Angles are measured: nothing is pulled back to the ground or to the couplings.
            model=arrays.replace(known=known, unknown=unknown, counts=counts, gain=np.zeros_like(arrays.gain)),
            arc=Arc.zeros(), suspicion=suspicion, nw=self.vehicle.n_wheels, nj=n - 6, nv=n, nq=n + 1,
        )  # fmt: skip
        kept = ("settings", "joints", "memory", "contact", "arms")
        self._store.repoint(**{name: getattr(self, f"_{name}") for name in kept})
        self._sample = state.Samples(
            sense=sense, rates=self._rates[None], angles=self._angles[None], linear=self._linear,
            extra=self._extra, last=self._last, out=self._out, faults=np.zeros(1, np.int64),
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        # Slip and ground are addresses in this process, views share memory: a copy, pickled or deep, makes its own.
        own = ("_store", "_sample", "_doubt", "_time", "_attitude", "_gyro", "_given", "_words")
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        self._pack()


def _chosen(name: str, value: str, options: tuple[str, str]) -> int:
    """Position of an option that is one of two."""
    if value not in options:
        raise OdometryError(f"{name}: {value!r:.40} is not {' or '.join(map(repr, options))}")
    return options.index(value)


def _motion(model: Any) -> MotionModel:
    if isinstance(getattr(model, "model", None), MotionModel):
        model = model.model  # a fit
    if isinstance(model, (str, Vehicle)):
        model = Kinematics(vehicle(model) if isinstance(model, str) else model)
    if isinstance(model, (Kinematics, VelocityModel)):
        return MotionModel(model=model)
    if is_dynamic(model) or is_dynamic(getattr(model, "model", None)):
        raise OdometryError(
            "odometry takes what wheels measure, and a dynamic model predicts it; use grouser.Kinematics(vehicle), or"
            " the fit of a kinematic model"
        )
    if isinstance(model, MotionModel):
        if not model.velocity_driven:
            raise OdometryError(
                "odometry takes attitude as measured; its motion model must have no ground: calibrate without a terrain"
            )
        return model
    raise OdometryError(f"model: {model!r:.60} is not a vehicle or motion model; use grouser.Odometry(fit.model)")
