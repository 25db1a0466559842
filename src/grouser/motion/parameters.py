"""Parameters by name: the numbers of a motion model that calibration may change, one by one or as a flat vector."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from grouser import checks, contact, slip
from grouser._kernels.constants import GRAVITY
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.motion import law_fields, vehicle_fields
from grouser.motion.model import MotionModel
from grouser.motion.parameter_table import row_of
from grouser.motion.velocity import VelocityModel, is_dynamic, is_kinematic

SENSOR = ("x", "y", "z", "yaw", "lag")
SENSOR_NOISE = ("position_noise", "yaw_noise", "time_noise")
OF_POSE = ("sensor", "noise")
"""Parts on which the velocity of the vehicle does not depend."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One number that calibration may change."""

    name: str
    """Name, such as slip.p6, sensor.lag, vehicle.radius, contact.friction, noise.vx."""
    value: float
    """Start value, in its unit (SI)."""
    sigma: float
    """Prior uncertainty of the start, one sigma, in its unit."""
    lower: float = -math.inf
    """Smallest value, in its unit."""
    upper: float = math.inf
    """Largest value, in its unit."""
    scale: float = 1.0
    """Typical size of a change, in its unit; finite differences take a ten-thousandth of it."""
    drift: float = 0.0
    """Random walk in a second of driving, one sigma [its unit per √s]: process noise of the online filter."""

    def clip(self, value: float) -> float:
        """The value within bounds, in its unit."""
        return min(max(value, self.lower), self.upper)


class Part(NamedTuple):
    """The numbers of one part of a motion model: their names begin with that of the part."""

    values: Mapping[str, float]
    """Present values by the rest of the name."""
    changed: Callable[[Any, Mapping[str, float]], dict[str, Any]]
    """Fields of a motion model that differ once some of them are changed."""
    listed: Sequence[str] | None = None
    """Names offered for calibration, in order; None: all."""
    units: Mapping[str, str] = {}
    """Units that a law declares; they go before those of the table."""
    prior: Callable[[str], tuple[float, float, float, float]] | None = None
    """Sigma, lower, upper and scale of a number of a law; None: by the table."""
    group: Sequence[str] | None = None
    """Names that the part alone, as a group, stands for; None: all that are offered."""


NOTHING = Part({}, lambda m, v: {})


def _sensor_part(motion: MotionModel) -> Part:
    values = {field: float(getattr(motion.sensor, field)) for field in SENSOR + SENSOR_NOISE}
    return Part(values, lambda m, v: {"sensor": replace(m.sensor, **v)}, SENSOR)


def _powertrain_part(motion: MotionModel) -> Part | None:
    if motion.powertrain is None:
        return None
    return Part(vars(motion.powertrain), lambda m, v: {"powertrain": replace(m.powertrain, **v)})


def _model_part(motion: MotionModel, part: str = "model") -> Part | None:
    """Parameters of a velocity model whose names begin with `part`."""
    if not isinstance(motion.model, VelocityModel):
        return None
    values = {n.partition(".")[2]: v for n, v in motion.model.parameters.items() if n.startswith(part + ".")}
    return Part(values, lambda m, v: {"model": m.model.with_parameters({f"{part}.{k}": x for k, x in v.items()})})


def _slip_part(motion: MotionModel) -> Part | None:
    """p₁, p₂, … of a body slip; without slip they are zero, of a robot on rollers those of the direction of travel.

    Of a velocity model its own.
    """
    if not is_kinematic(motion.model):
        return _model_part(motion, "slip")
    kind = slip.DriveFrameSlip if motion.vehicle.drives_any_way else slip.BodySlip
    base = kind(np.zeros(6)) if motion.model.slip is None else motion.model.slip
    if not isinstance(base, slip.BodySlip):
        return _law_part(motion, "slip")
    values = {f"p{i}": p for i, p in enumerate(base.coefficients.tolist(), start=1)}
    return Part(values, lambda m, v: {"model": m.model.replace(slip=base.with_parameters(_array({**values, **v})))})


def _vehicle_part(motion: MotionModel) -> Part:
    values, listed = vehicle_fields.numbers(motion.vehicle), vehicle_fields.listed(motion.vehicle)
    return Part(values, lambda m, v: {"model": replace(m.model, vehicle=vehicle_fields.changed(m.vehicle, v))}, listed)


def _noise_part(motion: MotionModel) -> Part:
    names = [name.partition(".")[2] for name in motion.noise.names]
    values = dict(zip(names, motion.noise.values.tolist(), strict=True))
    return Part(values, lambda m, v: {"noise": m.noise.with_values(_array({**values, **v}))})


def _array(values: Mapping[str, float]) -> FloatArray:
    return np.array(list(values.values()), dtype=np.float64)


def _law_part(motion: MotionModel, field: str) -> Part | None:
    """Numbers of the laws in a field of a model; defaults follow from the load of a wheel. None where it has none."""
    laws = _by_owner(getattr(motion.model, field))
    load = motion.vehicle.mass * GRAVITY / motion.vehicle.n_wheels or GRAVITY
    radius = float(motion.vehicle.arrays.radius.mean())
    found: dict[str, tuple[Any, Any]] = {}
    group: list[str] = []
    for owner, law in laws.items():
        loaded = law.at_load(load) if isinstance(law, contact.Contact) else law
        before = f"{owner}." if owner else ""
        found |= {before + name: (loaded, p) for name, p in law_fields.numbers(loaded).items()}
        group += [before + name for name in law_fields.in_group(loaded)]

    def prior(name: str) -> tuple[float, float, float, float]:
        law, p = found[name]
        return law_fields.prior(law, p, load, radius)

    return Part(
        values={name: float(p.value) for name, (_, p) in found.items()},
        changed=lambda m, v: {"model": m.model.replace(**{field: _with_laws(getattr(m.model, field), v)})},
        units={name: p.unit for name, (_, p) in found.items()},
        prior=prior,
        group=group,
    )


def _by_owner(laws: Any) -> dict[str, Any]:
    """A law as {"": law}, contact laws by wheel, joint laws by joint; a second one on the same joint has a 2 behind."""
    if not isinstance(laws, tuple):
        return dict(laws) if isinstance(laws, Mapping) else {} if laws is None else {"": laws}
    found: dict[str, Any] = {}
    for law in laws:
        on = law.joints if isinstance(law.joints, str) else "+".join(law.joints)
        found[next(n for k in range(1, 1000) if (n := on if k == 1 else f"{on}:{k}") not in found)] = law
    return found


def _with_laws(laws: Any, values: Mapping[str, float]) -> Any:
    """The laws with some numbers changed, by names such as friction or FL.friction, in the form they are given in."""
    out = _by_owner(laws)
    for owner, law in out.items():
        before = f"{owner}." if owner else ""
        own = {name.removeprefix(before): v for name, v in values.items() if name.startswith(before)}
        out[owner] = law_fields.changed(law, own) if own else law
    return tuple(out.values()) if isinstance(laws, tuple) else out if isinstance(laws, Mapping) else out[""]


def _dynamic_part(motion: MotionModel, field: str) -> Part | None:
    """Numbers of laws that only dynamics has; of the hull only where the vehicle has one."""
    present = is_dynamic(motion.model) and (field != "hull" or len(motion.vehicle.arrays.hull_frame) > 0)
    return _law_part(motion, field) if present else None


PARTS: dict[str, Callable[[MotionModel], Part | None]] = {
    "sensor": _sensor_part,
    "powertrain": _powertrain_part,
    "slip": _slip_part,
    "model": _model_part,
    **{field: partial(_dynamic_part, field=field) for field in ("contact", "hull", "joints", "actuator")},
    "vehicle": _vehicle_part,
    "noise": _noise_part,
}
"""Parts by the first word of a name, in the order in which parameters are listed."""


def part_of(motion: MotionModel, name: str) -> Part:
    """A part by its name; empty where the motion model has none."""
    return (PARTS[name](motion) if name in PARTS else None) or NOTHING


class ParameterVector:
    """Some parameters of a motion model as one flat vector; names are resolved once."""

    def __init__(self, motion: MotionModel, names: Iterable[str]) -> None:
        """Any names of `available`, or of further numbers of a law or a frame."""
        self.motion = motion
        self.names = tuple(names)
        self._columns: dict[str, list[tuple[str, int]]] = {}
        for k, name in enumerate(self.names):
            part, _, field = name.partition(".")
            self._columns.setdefault(part, []).append((field, k))
        self._parts = {part: part_of(motion, part) for part in self._columns}
        # Numbers of the vehicle first: they replace what the others then change.
        self._order = sorted(self._columns, key=lambda part: part != "vehicle")
        self._vehicle: tuple[dict[str, float], MotionModel] | None = None
        self.values = self.read(motion)
        """Present values, (n,), in their units."""

    def read(self, motion: MotionModel) -> FloatArray:
        """Values of another motion model, (n,)."""
        out = np.empty(len(self.names))
        for part, columns in self._columns.items():
            own = self._parts[part] if motion is self.motion else part_of(motion, part)
            for field, k in columns:
                if field not in own.values:
                    raise CalibrationError(_unknown(motion, self.names[k]))
                out[k] = own.values[field]
        return out

    def model(self, x: FloatArray) -> MotionModel:
        """The motion model with the values x (n,)."""
        motion = self.motion
        for part in self._order:
            values = {field: float(x[k]) for field, k in self._columns[part]}
            if part == "vehicle":
                if self._vehicle is None or self._vehicle[0] != values:
                    self._vehicle = (values, motion.replace(**self._parts[part].changed(motion, values)))
                motion = self._vehicle[1]
            else:
                motion = motion.replace(**self._parts[part].changed(motion, values))
        return motion

    @cached_property
    def present(self) -> MotionModel:
        """The motion model with its present values; a model without slip has one of zero where slip is among them."""
        return self.model(self.values)

    @cached_property
    def slip(self) -> list[tuple[int, int]]:
        """(column, position in the slip parameters) where velocities along a log are affine in them."""
        shared = self.motion.velocity_driven and self.motion.powertrain is None and "vehicle" not in self._columns
        if not shared or "slip" not in self._columns:
            return []
        order = list(self._parts["slip"].values)
        return [(k, order.index(field)) for field, k in self._columns["slip"]]

    @cached_property
    def remade(self) -> list[int]:
        """Columns of which another value needs another model: not of slip, pose sensor or noise."""
        free = [*OF_POSE, "slip"] if self.slip else OF_POSE
        return [k for part, own in self._columns.items() if part not in free for _, k in own]

    @cached_property
    def _mounting(self) -> FloatArray:
        return np.array([float(getattr(self.motion.sensor, field)) for field in SENSOR])

    def mountings(self, X: FloatArray) -> FloatArray:
        """x, y, z, yaw [m, rad] and lag [s] of the pose sensor for rows X (S, n), (S, 5)."""
        out = np.empty((len(X), len(SENSOR)))
        out[:] = self._mounting
        for field, k in self._columns.get("sensor", []):
            if field in SENSOR:
                out[:, SENSOR.index(field)] = X[:, k]
        return out


def is_noise(name: str) -> bool:
    """Whether a parameter belongs to the stochastic model."""
    return name.startswith("noise.") or name.removeprefix("sensor.") in SENSOR_NOISE


def value_of(motion: MotionModel, name: str) -> float:
    """The present value of a parameter."""
    return float(ParameterVector(motion, [name]).values[0])


def with_values(motion: MotionModel, values: Mapping[str, float]) -> MotionModel:
    """The motion model with some parameters changed."""
    return ParameterVector(motion, values).model(_array(values))


def available(motion: MotionModel) -> list[str]:
    """Names of all parameters of a motion model."""
    checks.instance(motion, MotionModel, "motion", "use fit.model, or grouser.MotionModel(model=…)")
    names = []
    for part in PARTS:
        own = part_of(motion, part)
        names += [f"{part}.{field}" for field in (own.values if own.listed is None else own.listed)]
    return names + [f"sensor.{field}" for field in SENSOR_NOISE]


def resolve(motion: MotionModel, names: Sequence[str | Parameter]) -> list[Parameter]:
    """Parameters of names and groups: "slip", "sensor", "noise", "contact", "powertrain", "vehicle.*.radius"."""
    everything = available(motion)
    chosen: dict[str, Parameter] = {}
    for one in names:
        if isinstance(one, Parameter):
            value_of(motion, one.name)
            chosen[one.name] = one
        else:
            chosen |= {name: default(motion, name) for name in _expand(motion, str(one), everything)}
    _refuse_overlap(chosen)
    return list(chosen.values())


def _expand(motion: MotionModel, name: str, everything: Iterable[str]) -> list[str]:
    if name in PARTS and name != "vehicle":
        inside = [n for n in everything if n.startswith(name + ".") and is_noise(n) == (name == "noise")]
        group = part_of(motion, name).group
        inside = inside if group is None else [n for n in inside if n.partition(".")[2] in group]
    elif "*" in name:
        head, tail = name.split("*", 1)
        inside = [n for n in everything if n.startswith(head) and n.endswith(tail) and len(n) >= len(head) + len(tail)]
    else:
        return [name]
    if not inside:
        raise CalibrationError(_unknown(motion, name))
    return inside


def _refuse_overlap(names: Iterable[str]) -> None:
    """Refuse two names of the same number: they cannot be distinguished."""
    fields = [name.removeprefix("vehicle.") for name in names if name.startswith("vehicle.")]
    for whole, last in (("radius", "radius"), ("track", "y"), ("wheelbase", "x")):
        parts = [f for f in fields if f.startswith(f"{whole}.") or (f.endswith(f".{last}") and not f.startswith("cg."))]
        single = [f for f in parts if not f.startswith(f"{whole}.")]
        if parts and whole in fields:
            raise CalibrationError(f"vehicle.{whole} and vehicle.{parts[0]} set the same number; calibrate one")
        if single and len(parts) > len(single):
            first = next(f for f in parts if f not in single)
            raise CalibrationError(f"vehicle.{first} and vehicle.{single[0]} set the same number; calibrate one")


def default(motion: MotionModel, name: str) -> Parameter:
    """A parameter with default prior, bounds and scale."""
    value = value_of(motion, name)
    part, _, field = name.partition(".")
    if part == "noise":
        noise = motion.noise
        if field.startswith("wander_"):
            size = max(value, noise.expected[name])
            return Parameter(
                name=name, value=value, sigma=3.0 * size, lower=noise.LOWEST, upper=noise.HIGHEST, scale=size
            )
        i, j = noise.pairs[noise.names.index(name)]
        size = float(np.sqrt(noise.density[i, i] * noise.density[j, j]))
        if noise.form == "cholesky":
            root = math.sqrt(max(noise.density[j, j], noise.LOWEST))
            return Parameter(name=name, value=value, sigma=2.0 * root, scale=root)
        lower = 0.0 if i == j else -math.inf  # a fitted density may be a prior, however small
        return Parameter(name=name, value=value, sigma=3.0 * size, lower=lower, upper=noise.HIGHEST, scale=size)
    if is_noise(name):
        value = value or 0.02
    own = part_of(motion, part).prior
    sigma, lower, upper, scale = row_of(name).prior(value) if own is None else own(field)
    if part == "vehicle" and value == 0.0 and field.endswith(".damping"):  # of a spring: that of a tenth of a second
        sigma = scale = 0.1 * value_of(motion, name.removesuffix("damping") + "stiffness")
        upper = 20.0 * sigma
    return Parameter(name=name, value=value, sigma=sigma, lower=lower, upper=upper, scale=scale)


def unit_of(motion: MotionModel, name: str) -> str:
    """Unit of a parameter, as its law declares it or else the table; "1" for a mere number."""
    part, _, field = name.partition(".")
    return part_of(motion, part).units.get(field) or row_of(name).unit


def _unknown(motion: MotionModel, name: str) -> str:
    names = available(motion)
    near = get_close_matches(name, names, 3, 0.4)
    hint = f"did you mean {', '.join(near)}" if near else f"there are {', '.join(names[:8])} …"
    kind = type(motion.model).__name__
    return f"no parameter {name!r:.60} in {kind} of '{motion.vehicle.name}'; {hint} (--list-parameters shows all)"
