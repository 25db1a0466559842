"""Parameters by name: what calibration may change in a motion model, with prior, bounds and scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

import numpy as np

from grouser import checks
from grouser.contact import Contact
from grouser.dynamics import Dynamics
from grouser.errors import CalibrationError
from grouser.kinematics import Kinematics
from grouser.motion import vehicle_fields
from grouser.motion.model import MotionModel
from grouser.motion.velocity import VelocityModel
from grouser.slip import BodySlip

SENSOR = ("x", "y", "z", "yaw", "lag")
SENSOR_NOISE = ("position_noise", "yaw_noise", "time_noise")
POWERTRAIN = ("gain", "delay", "time_constant")
CONTACT = (
    "stiffness",
    "damping",
    "slip_stiffness_x",
    "slip_stiffness_y",
    "friction",
    "rolling_resistance",
    "longitudinal.B",
    "lateral.B",
)


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One number that calibration may change."""

    name: str
    """Such as slip.p6, sensor.lag, vehicle.radius, contact.friction, noise.vx."""
    value: float
    """Where it starts, in its unit (SI)."""
    sigma: float
    """How far the start may be off, one sigma, in its unit: the prior."""
    lower: float = -math.inf
    """Smallest value, in its unit."""
    upper: float = math.inf
    """Largest value, in its unit."""
    scale: float = 1.0
    """A change of it that is felt, in its unit; differences are taken with a ten-thousandth of this."""
    drift: float = 0.0
    """How far it may wander in a second of driving, one sigma [its unit per √s]: process noise of the online filter."""

    def clip(self, value: float) -> float:
        """The value within bounds, in its unit."""
        return min(max(value, self.lower), self.upper)


def is_noise(name: str) -> bool:
    """Whether a parameter belongs to the stochastic model."""
    return name.startswith("noise.") or name.removeprefix("sensor.") in SENSOR_NOISE


def value_of(motion: MotionModel, name: str) -> float:
    """The present value of a parameter."""
    part, _, field = name.partition(".")
    model = motion.model
    if part == "sensor" and field in SENSOR + SENSOR_NOISE:
        return float(getattr(motion.sensor, field))
    if part == "noise" and name in motion.noise.names:
        return float(motion.noise.values[motion.noise.names.index(name)])
    if part == "powertrain" and field in POWERTRAIN and motion.powertrain is not None:
        return float(getattr(motion.powertrain, field))
    if isinstance(model, VelocityModel) and name in model.parameters:
        return float(model.parameters[name])
    if isinstance(model, Kinematics) and name in slip_names(model):
        return 0.0 if model.slip is None else float(_body_slip(model).coefficients[slip_names(model).index(name)])
    if part == "vehicle":
        try:
            return vehicle_fields.get(motion.vehicle, field)
        except CalibrationError:
            raise CalibrationError(_unknown(motion, name)) from None
    if isinstance(model, Dynamics) and part == "contact":
        return _contact_value(model, field)
    if isinstance(model, Dynamics) and part == "actuator" and model.actuator is not None:
        value = getattr(model.actuator, field, None)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    raise CalibrationError(_unknown(motion, name))


def with_values(motion: MotionModel, values: Mapping[str, float]) -> MotionModel:
    """The motion model with some parameters changed."""
    for name in values:
        if not _settable(motion, name):
            raise CalibrationError(_unknown(motion, name))
    sensor = {name.partition(".")[2]: float(v) for name, v in values.items() if name.startswith("sensor.")}
    noise = {name: float(v) for name, v in values.items() if name.startswith("noise.")}
    train = {name.partition(".")[2]: float(v) for name, v in values.items() if name.startswith("powertrain.")}
    vehicle = {name.partition(".")[2]: float(v) for name, v in values.items() if name.startswith("vehicle.")}
    rest = {
        n: float(v) for n, v in values.items() if n.split(".")[0] not in ("sensor", "noise", "powertrain", "vehicle")
    }
    model = motion.model
    if vehicle:
        changed = vehicle_fields.changed(motion.vehicle, vehicle)
        model = replace(model, vehicle=changed)  # type: ignore[type-var]
    if isinstance(model, VelocityModel):
        for name, value in rest.items():
            model = model.with_parameter(name, value)
    elif isinstance(model, Kinematics) and rest:
        model = model.replace(slip=_with_slip(model, rest))
    elif isinstance(model, Dynamics) and rest:
        model = _with_contact(model, rest)
    changes: dict[str, object] = {}
    if model is not motion.model:
        changes["model"] = model
    if sensor:
        changes["sensor"] = replace(motion.sensor, **sensor)
    if train and motion.powertrain is not None:
        changes["powertrain"] = replace(motion.powertrain, **train)
    if noise:
        s = motion.noise.values
        for name, value in noise.items():
            s[motion.noise.names.index(name)] = value
        changes["noise"] = motion.noise.with_values(s)
    return motion.replace(**changes) if changes else motion


def _settable(motion: MotionModel, name: str) -> bool:
    """Whether a name is of a part the motion model has; those of vehicle and model are checked as they are set."""
    part, _, field = name.partition(".")
    if part == "sensor":
        return field in SENSOR + SENSOR_NOISE
    if part == "noise":
        return name in motion.noise.names
    if part == "powertrain":
        return field in POWERTRAIN and motion.powertrain is not None
    return part in ("vehicle", "contact", "actuator") or not isinstance(motion.model, Dynamics)


def available(motion: MotionModel) -> list[str]:
    """Names of all parameters of a motion model."""
    checks.instance(motion, MotionModel, "motion", "use fit.model, or grouser.MotionModel(model=…)")
    model = motion.model
    names = [f"sensor.{field}" for field in SENSOR]
    if motion.powertrain is not None:
        names += [f"powertrain.{field}" for field in POWERTRAIN]
    if isinstance(model, VelocityModel):
        names += list(model.parameters)
    elif isinstance(model, Kinematics):
        names += slip_names(model)
    else:
        names += [f"contact.{field}" for field in CONTACT if _has_contact(model, field)]
        if model.actuator is not None:
            fields = vars(model.actuator)
            names += [f"actuator.{f}" for f, v in fields.items() if isinstance(v, float)]
    names += [f"vehicle.{field}" for field in vehicle_fields.names(motion.vehicle)]
    return names + list(motion.noise.names) + [f"sensor.{field}" for field in SENSOR_NOISE]


def resolve(motion: MotionModel, names: Sequence[str | Parameter]) -> list[Parameter]:
    """Parameters of names and groups: "slip", "sensor", "noise", "contact", "powertrain", "vehicle.*.radius"."""
    checks.instance(motion, MotionModel, "motion", "use fit.model, or grouser.MotionModel(model=…)")
    everything = available(motion)
    chosen: dict[str, Parameter] = {}
    for one in names:
        if isinstance(one, Parameter):
            value_of(motion, one.name)
            chosen[one.name] = one
            continue
        for name in _expand(motion, str(one), everything):
            chosen[name] = default(motion, name)
    _refuse_overlap(chosen)
    return list(chosen.values())


def _refuse_overlap(names: Iterable[str]) -> None:
    """Two names of one number: neither could be told from the other, and which is set last would decide."""
    fields = [name.removeprefix("vehicle.") for name in names if name.startswith("vehicle.")]
    for whole, last in (("radius", "radius"), ("track", "y"), ("wheelbase", "x")):
        parts = [f for f in fields if f.startswith(f"{whole}.") or (f.rpartition(".")[2] == last and "." in f)]
        parts = [f for f in parts if not f.startswith("cg.")]
        single = [f for f in parts if not f.startswith(f"{whole}.")]
        if parts and whole in fields:
            raise CalibrationError(f"vehicle.{whole} and vehicle.{parts[0]} set the same number; calibrate one")
        if single and len(parts) > len(single):
            first = next(f for f in parts if f not in single)
            raise CalibrationError(f"vehicle.{first} and vehicle.{single[0]} set the same number; calibrate one")


def default(motion: MotionModel, name: str) -> Parameter:
    """A parameter with the prior, bounds and scale that an expert would start from."""
    value = value_of(motion, name)
    part, _, field = name.partition(".")
    last = field.rpartition(".")[2]
    if part == "noise":
        return _noise_parameter(motion, name, value)
    if part == "sensor" and last in SENSOR_NOISE:
        start = value or 0.02
        return Parameter(name=name, value=start, sigma=start, lower=1e-5, upper=1.0, scale=start)
    if part == "sensor":
        if last == "lag":
            return Parameter(name=name, value=value, sigma=0.1, lower=-0.5, upper=0.5, scale=0.1)
        return Parameter(name=name, value=value, sigma=0.5, lower=value - 5.0, upper=value + 5.0, scale=0.1)
    if part == "powertrain":
        upper = math.inf if last == "gain" else 2.0
        return Parameter(name=name, value=value, sigma=0.3, lower=0.0, upper=upper, scale=0.1)
    if part == "slip":
        sigma = 0.1 if last in ("p4", "p5") else 0.5  # rad/m, of which a tenth is a turn of 6° a metre
        return Parameter(name=name, value=value, sigma=sigma, lower=-5.0, upper=5.0, scale=0.1)
    if part == "contact" or part == "actuator" or last == "mass":
        size = abs(value) or 1.0
        upper = 20.0 * size if last != "friction" else 3.0
        return Parameter(name=name, value=value, sigma=size, lower=0.02 * value, upper=upper, scale=size)
    if last in ("radius", "left", "right", "track", "wheelbase"):
        size = abs(value)
        return Parameter(name=name, value=value, sigma=0.1 * size, lower=0.3 * size, upper=3.0 * size, scale=0.1 * size)
    sigma = 0.1 if field.startswith("cg.") else 0.3
    return Parameter(name=name, value=value, sigma=sigma, lower=value - 3.0, upper=value + 3.0, scale=0.1)


def _noise_parameter(motion: MotionModel, name: str, value: float) -> Parameter:
    noise = motion.noise
    i, j = noise.pairs[noise.names.index(name)]
    size = float(np.sqrt(noise.density[i, i] * noise.density[j, j]))
    if noise.form == "cholesky":
        root = math.sqrt(max(noise.density[j, j], noise.LOWEST))
        return Parameter(name=name, value=value, sigma=2.0 * root, scale=root)
    lower = noise.LOWEST if i == j else -math.inf
    return Parameter(name=name, value=value, sigma=3.0 * size, lower=lower, upper=noise.HIGHEST, scale=size)


def _expand(motion: MotionModel, name: str, everything: Iterable[str]) -> list[str]:
    if name in ("slip", "sensor", "noise", "contact", "powertrain", "actuator", "model"):
        inside = [n for n in everything if n.startswith(name + ".") and is_noise(n) == (name == "noise")]
        if not inside:
            raise CalibrationError(_unknown(motion, name))
        return inside
    if "*" in name:
        head, tail = name.split("*", 1)
        inside = [n for n in everything if n.startswith(head) and n.endswith(tail) and len(n) >= len(head) + len(tail)]
        if not inside:
            raise CalibrationError(_unknown(motion, name))
        return inside
    value_of(motion, name)
    return [name]


def _unknown(motion: MotionModel, name: str) -> str:
    names = available(motion)
    near = get_close_matches(name, names, 3, 0.4)
    hint = f"did you mean {', '.join(near)}" if near else f"there are {', '.join(names[:8])} …"
    kind = type(motion.model).__name__
    return f"no parameter {name!r:.60} in {kind} of '{motion.vehicle.name}'; {hint} (--list-parameters shows all)"


def slip_names(model: Kinematics) -> list[str]:
    """slip.p1, slip.p2, …: six, or seven where the slip has a nonlinear rolling resistance."""
    count = len(model.slip.coefficients) if isinstance(model.slip, BodySlip) else 6
    return [f"slip.p{i}" for i in range(1, count + 1)]


def _body_slip(model: Kinematics) -> BodySlip:
    if not isinstance(model.slip, BodySlip):
        raise CalibrationError(
            "slip.p1, slip.p2, … are parameters of BodySlip and DriveFrameSlip; this model has a slip law of its own"
        )
    return model.slip


def _with_slip(model: Kinematics, values: Mapping[str, float]) -> BodySlip:
    base = BodySlip(np.zeros(6)) if model.slip is None else _body_slip(model)
    p = base.coefficients.copy()
    names = slip_names(model)
    for name, value in values.items():
        if name not in names:
            raise CalibrationError(f"no parameter {name!r:.60} in Kinematics")
        p[names.index(name)] = value
    return base.with_parameters(p)


def _one_contact(model: Dynamics) -> Contact:
    if not isinstance(model.contact, Contact):
        raise CalibrationError("contact parameters are of one contact model; this vehicle has one per wheel")
    return model.contact


def _has_contact(model: Dynamics, field: str) -> bool:
    return isinstance(model.contact, Contact) and hasattr(model.contact, field.partition(".")[0])


def _contact_value(model: Dynamics, field: str) -> float:
    contact = _one_contact(model)
    curve, _, factor = field.partition(".")
    value = getattr(getattr(contact, curve, None), factor, None) if factor else getattr(contact, field, None)
    if value is None:  # what follows from the load
        value = getattr(contact.at_load(model.wheel_load), field, None)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        names = [n for n in CONTACT if _has_contact(model, n)]
        raise CalibrationError(
            f"{type(contact).__name__} has no number '{field}' to calibrate; it has {', '.join(names)}"
        )
    return float(value)


def _with_contact(model: Dynamics, values: Mapping[str, float]) -> Dynamics:
    contact = {n.partition(".")[2]: v for n, v in values.items() if n.startswith("contact.")}
    actuator = {n.partition(".")[2]: v for n, v in values.items() if n.startswith("actuator.")}
    changes: dict[str, object] = {}
    if contact:
        law = _one_contact(model)
        fields: dict[str, object] = {}
        for name, value in contact.items():
            curve, _, factor = name.partition(".")
            fields[curve] = replace(fields.get(curve, getattr(law, curve)), **{factor: value}) if factor else value  # type: ignore[type-var]
        changes["contact"] = replace(law, **fields)  # type: ignore[type-var]
    if actuator:
        changes["actuator"] = replace(model.actuator, **actuator)  # type: ignore[type-var]
    return model.replace(**changes)
