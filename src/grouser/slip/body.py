"""Slip laws: six or seven coefficients, T (2.48), (2.49), L (5.7)–(5.10), the slip surface of P (13), or your own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.law import Law
from grouser._kernels.slip import laws
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.law import BoundLaw, Function, LawParameter, OwnLaw, Recipe, decorated

if TYPE_CHECKING:
    from typing import Self

APPLICATIONS = ("body", "wheels")
UNITS = ("1", "m/rad", "s/rad", "s", "1", "m/rad", "s/rad", "s", "rad/m", "1", "s/m", "rad s/m", "rad s/m")
"""Units of α₁…α₁₃ where gravity acts by time; by distance α₄, α₈, α₁₂, α₁₃ have one of them over m/s."""
STEADY = 8
"""Terms of a learned correction that depend on speed and turn rate alone."""


class Slip(ABC):
    """A slip law with its parameters: what `Kinematics(slip=...)` takes."""

    law: Law
    """The compiled law, called with (ω, v_cg, force per mass) at the centre of mass, body coordinates."""
    soil_part: ClassVar[str] = "slip"
    """Which part of a soil it is, see `grouser.terrain.soils`."""
    apply: str
    """"body": the slip is added to the body's velocity, T (2.51), wheels may leave the ground for a while;
    "wheels": it becomes slip at the wheels and the velocity is solved again, T (2.52)."""

    @property
    @abstractmethod
    def parameters(self) -> tuple[LawParameter, ...]:
        """Its numbers by name."""

    @abstractmethod
    def replace(self, **values: float) -> Self:
        """The same slip with some of its numbers changed, each in its unit."""

    @abstractmethod
    def pack(self) -> FloatArray:
        """The law's numbers, in SI units."""

    @cached_property
    def bound(self) -> BoundLaw:
        """The law for the engine; valid while this slip is alive."""
        return BoundLaw(self.law.address, self.pack(), self.law)

    def recipe(self) -> dict[str, Any] | None:
        """Name and settings as in JSON, from which a file makes it again; None: no file holds a function."""
        return None

    def changed(self, values: Mapping[str, float]) -> FloatArray:
        """All its numbers, each in its unit, with some of them changed."""
        found = {p.name: p.value for p in self.parameters}
        for name, value in values.items():
            if name not in found:
                raise SimulationError(f"slip parameters: no {name!r:.40}; there are {', '.join(found)}")
            found[name] = checks.number(value, f"slip {name}")
        return np.array(list(found.values()))

    def _check_apply(self) -> None:
        if self.apply not in APPLICATIONS:
            raise SimulationError(f"slip: apply = {self.apply!r:.40} is not one of {', '.join(APPLICATIONS)}")

    def __getstate__(self) -> dict[str, Any]:
        # An address is not valid in another process: a copy binds its own.
        return {name: value for name, value in self.__dict__.items() if name != "bound"}


@dataclass(frozen=True, eq=False, init=False, repr=False)
class BodySlip(Slip):
    """Slip velocity of the body about its centre of gravity, v_true = v_odometry + v_slip.

    v_lon = p₁ (f_lon/f_z) |V_lon| + p₂ V_lon, v_lat = p₃ (f_lat/f_z) |V_lon|,
    ω_ang = p₄ (f_lat/f_z) V_lon + p₅ V_lon + p₆ V_ang. Downhill slip, outward slip and rolling resistance need
    p₁, p₃, p₂ < 0; understeer p₄, p₆ < 0.
    """

    law = laws.six_parameters
    units: ClassVar[tuple[str, ...]] = ("1", "1", "1", "rad/m", "rad/m", "1")
    """Units of p₁, p₂, …"""

    coefficients: FloatArray
    """p₁, p₂, p₃, p₆ (ratios), p₄, p₅ [rad/m] and perhaps p₇ [s/m], shape (6,) or (7,)."""
    axes: FloatArray
    """The directions lon, lat, ang, up in body coordinates, shape (4, 3)."""
    apply: str = "wheels"
    """"body" or "wheels", as in `Slip`."""

    def __init__(
        self,
        parameters: ArrayLike,
        *,
        lon: ArrayLike = (1.0, 0.0, 0.0),
        lat: ArrayLike = (0.0, 1.0, 0.0),
        ang: ArrayLike = (0.0, 0.0, 1.0),
        up: ArrayLike = (0.0, 0.0, 1.0),
        apply: str = "wheels",
    ) -> None:
        """Parameters p₁, p₂, …, the body directions they act along (T Fig. 2.7), and how slip is applied."""
        directions = ((lon, "lon"), (lat, "lat"), (ang, "ang"), (up, "up"))
        axes = np.array([_unit(value, name) for value, name in directions])
        self.__dict__.update(coefficients=self._checked(parameters), axes=axes, apply=apply)
        self._check_apply()

    @property
    def parameters(self) -> tuple[LawParameter, ...]:
        values = enumerate(self.coefficients.tolist())
        return tuple(LawParameter(f"p{i + 1}", value, self.units[i], -5.0, 5.0) for i, value in values)

    def replace(self, **values: float) -> Self:
        return self.with_parameters(self.changed(values))

    def with_parameters(self, parameters: ArrayLike) -> Self:
        """The same slip along the same directions with other coefficients, as many as it has."""
        changed = object.__new__(type(self))
        p = checks.array(parameters, "slip parameters", self.coefficients.shape)
        changed.__dict__.update(self.__getstate__(), coefficients=p)
        return changed

    def pack(self) -> FloatArray:
        missing = np.zeros(laws.LON - len(self.coefficients))
        return np.concatenate([self.coefficients, missing, self.axes.ravel()])

    def recipe(self) -> dict[str, Any]:
        directions = dict(zip(("lon", "lat", "ang", "up"), self.axes.tolist(), strict=True))
        law, parameters = type(self).__name__, self.coefficients.tolist()
        return {"law": law, "parameters": parameters, **directions, "apply": self.apply}

    def _checked(self, parameters: ArrayLike) -> FloatArray:
        return checks.array(parameters, "slip parameters", (6,))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.coefficients.tolist()}, apply={self.apply!r})"

    def __deepcopy__(self, memo: object) -> Self:
        return self


@dataclass(frozen=True, eq=False, init=False, repr=False)
class DriveFrameSlip(BodySlip):
    """Body slip about the direction of travel: crab motion slips as driving ahead does, v_true = v_odometry + v_slip.

    The drive frame's x axis points where the vehicle travels in the plane of lon and lat, L (5.9); p₁…p₆ are those of
    `BodySlip` there, and the slip velocity is rotated back to the body, L (5.10). Without lateral velocity it equals
    `BodySlip`, ahead and in reverse. L's own parameters have the opposite sign, L (5.6).

    A seventh parameter [s/m] adds p₇ |V| V to the slip velocity, a rolling resistance whose share of the speed grows
    with speed: L saw wheels slip less when slow (§5.3.4, outlook). It needs p₇ < 0. V|V| is the simplest term
    that does so, is odd in V, vanishes with its slope at standstill, and is linear in the parameters.
    """

    law = laws.drive_frame
    units = (*BodySlip.units, "s/m")

    def _checked(self, parameters: ArrayLike) -> FloatArray:
        p = checks.array(parameters, "slip parameters", (None,))
        if len(p) not in (6, 7):
            raise SimulationError(f"slip parameters: are {len(p)}, need 6, or 7 with nonlinear rolling resistance")
        return p


def _unit(value: ArrayLike, name: str) -> FloatArray:
    """A direction of length one in body axes."""
    direction = checks.array(value, f"slip direction {name}", (3,))
    size = float(np.linalg.norm(direction))
    if size < 1e-9:
        raise SimulationError(f"slip direction {name}: is zero; give a direction in body axes, such as (1, 0, 0)")
    return direction / size


def _no_correction() -> FloatArray:
    return np.array([np.inf, np.inf, *np.zeros(STEADY + 3)])


@dataclass(frozen=True, eq=False, kw_only=True)
class SurfaceSlip(Slip):
    """Slip rates of the body's origin over speed, turn rate and gravity, P (13): α as in `grouser.motion.Perturbative`.

    It is added to the body's velocity. `grouser.motion.on_ground.engine_model` makes one of a calibrated motion model.
    """

    law = laws.surface

    coefficients: FloatArray
    """α₁…α₁₃, (13,), each in its unit."""
    by_distance: bool = False
    """Whether slip by gravity grows with the distance that the wheels roll, not with time."""
    centre: FloatArray = field(default_factory=lambda: np.zeros(3))
    """Centre of mass in the body [m], (3,): the engine takes slip there."""
    match: FloatArray = field(default_factory=lambda: np.zeros((3, 2)))
    """Excess of V_x, V_y [m/s], V_θ [rad/s] of the surface's odometry over the solution of the wheels, per v_x and ω_z
    of that, (3, 2)."""
    steady: FloatArray = field(default_factory=_no_correction)
    """Reach of speed [m/s] and turn rate [rad/s], coefficients of the steady terms of a learned correction (8), and
    what is added beyond the reach to x, y [m/s] and yaw [rad/s], (13,)."""
    wheels: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))
    """x, y [m] of the wheels whose rim speeds count, and 1 where one is steered, (k, 3)."""
    apply: str = "body"
    """"body" or "wheels", as in `Slip`."""

    def __post_init__(self) -> None:
        self._check_apply()
        shapes = {"coefficients": (13,), "centre": (3,), "match": (3, 2), "wheels": (None, 3)}
        for name, shape in shapes.items():
            object.__setattr__(self, name, checks.array(getattr(self, name), f"slip surface {name}", shape))
        if self.by_distance and not len(self.wheels):
            raise SimulationError("slip surface: slip by distance needs wheels, whose rim speed is the distance")

    @property
    def parameters(self) -> tuple[LawParameter, ...]:
        named = enumerate(zip(self.coefficients.tolist(), UNITS, strict=True), start=1)
        return tuple(LawParameter(f"a{i}", value, unit, -5.0, 5.0) for i, (value, unit) in named)

    def replace(self, **values: float) -> Self:
        return replace(self, coefficients=self.changed(values))

    def pack(self) -> FloatArray:
        parts = (
            self.coefficients, [float(self.by_distance)], self.centre, self.match.ravel(), self.steady,
            [float(len(self.wheels))], self.wheels.ravel(),
        )  # fmt: skip
        return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])


def slip_of(recipe: Recipe) -> Slip:
    """The slip model of a recipe, as a file has it."""
    from grouser import slip

    made: Slip = recipe.made(slip, ("BodySlip", "DriveFrameSlip"))
    return made


class OwnSlip(OwnLaw, Slip):
    """A slip model made from a Python function by `law`."""

    kind = "slip law"
    arguments = ("omega", "v", "force")
    returns = "six numbers, angular slip (3) and linear slip (3)"

    def __init__(self, function: Function, apply: str = "wheels") -> None:
        from grouser._kernels.own_law import own_law

        super().__init__(function)
        self.apply = apply
        self._check_apply()
        examples = (np.array([0.0, 0.0, 0.2]), np.array([0.5, 0.1, 0.0]), np.array([0.0, 0.0, -9.81]))
        self.law = self._law(None, examples, partial(own_law, inputs=9, outputs=6), {6: ()})

    def replace(self, **values: float) -> Self:
        changed = super().replace(**values)
        changed.__dict__.pop("bound", None)
        return changed

    def pack(self) -> FloatArray:
        return np.array([*self.values, 0.0])


@overload
def law(function: Function) -> OwnSlip: ...
@overload
def law(*, apply: str = "wheels") -> Callable[[Function], OwnSlip]: ...
def law(function: Function | None = None, *, apply: str = "wheels") -> Any:
    """Make a slip model of a plain Python function; a decorator, with or without arguments.

    function: `f(omega, v, force, *, drag=gr.param(0.1, "1"), …)` returns six numbers: the angular slip [rad/s] and the
        slip velocity of the centre of mass [m/s]. omega and v are the body's angular velocity [rad/s] and the velocity
        of its centre of mass [m/s], force the force per mass there [m/s²], all arrays (3,) in body axes.
    apply: how slip is applied, as in `Slip.apply`.
    """
    return decorated(OwnSlip, function, apply=apply)
