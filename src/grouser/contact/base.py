"""Base of the wheel-ground contact models: a law, its parameters for a wheel, its force; and models of your own."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.contact.laws import own_contact, sample_contact
from grouser._kernels.law import Law
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.law import BoundLaw, Function, OwnLaw, Parametric, decorated, quantity
from grouser.pictures import draw

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.figure import Figure

DAMPING_TIME = 0.05
"""Damping over stiffness where no damping is given [s]."""
ONSET_SHARE = 0.1
"""Onset over static penetration where no onset is given."""


class Wheel(TypedDict, total=False):
    """The wheel that a contact model acts on, as in `Contact.bind`."""

    radius: float | None
    width: float | None
    load: float | None


class Contact(Parametric, ABC):
    """A wheel-ground contact model: force and torque on a wheel as its contact point moves, T (C.1).

    All is in the contact frame: x ahead, y left, z along the ground normal. Models are immutable.
    """

    law: Law
    """The compiled law, see `_kernels/contact/laws.py`."""
    soil_part: ClassVar[str] = "contact"
    """Which part of a soil it is, see `grouser.terrain.soils`."""
    slip_by_wheel_speed: bool = False
    """Which slip ratio the model's plots show: −v_x/(Rω) if true, −v_x/V_x if false."""
    rebound_at: int | None = None
    """Index of the number by which the law knows how pressed soil springs back (`Ruts`); None: it knows no ruts."""
    rolling_resistance: float = 0.0
    """C_rr [N·s/m], ≥ 0: force against rolling per Rω."""
    _picture = "contact over slip"

    @property
    def axle_couple(self) -> bool:
        """Whether the ground turns the wheel by more than a force at the contact point does.

        False: τ = −R f_x by construction, with the R of `bind`, and the couple τ + R f_x need not be computed.
        """
        return True

    @abstractmethod
    def pack(self, radius: float | None, width: float | None, load: float | None) -> FloatArray:
        """The law's numbers for a wheel, in SI units; radius, width [m] and load [N] as in `bind`."""

    def bind(self, radius: float | None = None, width: float | None = None, load: float | None = None) -> BoundLaw:
        """The law for a wheel.

        radius, width: of the wheel [m]. load: what it carries at rest on level ground [N]. A model refuses
        None for a value it needs. Without a radius the torque about the axle is NaN.
        """
        return BoundLaw(self.law.address, self.pack(radius, width, load), self.law)

    def at_load(self, load: float | None) -> Self:
        """The same model with the numbers that follow from the wheel's load [N] filled in."""
        return self

    def force(self, v: ArrayLike, r_omega: ArrayLike, dz: ArrayLike, **wheel: Unpack[Wheel]) -> FloatArray:
        """Force on the wheel [N], shape (…, 3).

        v: velocity of the contact point [m/s], shape (…, 3). r_omega: wheel radius times spin rate [m/s], shape (…).
        dz: height error [m], negative is penetration, shape (…). Leading shapes broadcast.
        wheel: radius, width [m] and load [N] of the wheel, as in `bind`.
        """
        return self._evaluate(v, r_omega, dz, wheel)[0][..., :3]

    def torque(self, v: ArrayLike, r_omega: ArrayLike, dz: ArrayLike, **wheel: Unpack[Wheel]) -> FloatArray:
        """Moment τ of the ground on the wheel about its +y axle [N m], shape (…); negative against spinning ahead.

        A force at the contact point gives −R f_x, and rolling resistance −R C_rr Rω more; models whose stresses act
        along the rim give theirs. Arguments as in `force`; the radius [m] is needed.
        """
        torque = self._evaluate(v, r_omega, dz, wheel)[0][..., 3]
        if np.isnan(torque).any() and wheel.get("radius") is None:
            raise SimulationError(f"{type(self).__name__}: a torque needs the wheel's radius; give it [m]")
        return torque

    def jacobian(self, v: ArrayLike, r_omega: ArrayLike, dz: ArrayLike, **wheel: Unpack[Wheel]) -> FloatArray:
        """∂(f_x, f_y, f_z, τ)/∂(v_x, v_y, v_z, Rω, Δz), shape (…, 4, 5); arguments as in `force`.

        τ as in `torque`; its row is NaN where no radius is given.
        """
        return self._evaluate(v, r_omega, dz, wheel)[1]

    def plot(self, path: str | os.PathLike[str] | None = None, *, dz: float = -0.01, **wheel: Unpack[Wheel]) -> Figure:
        """Normalised force over slip ratio and angle, or over slip velocity (T Fig. C.1–C.5); saved where path says.

        dz: height error [m]. wheel: radius, width [m] and load [N]; those of T Fig. C.5 where they are not given.
        """
        figure: Figure = draw(self._picture, self, checks.number(dz, "dz"), self._wheel(**wheel), path)
        return figure

    def _wheel(self, radius: float | None = None, width: float | None = None, load: float | None = None) -> Wheel:
        """The wheel of a plot: that of T Fig. C.5 where nothing is given."""
        given = [
            default if value is None else checks.positive(value, f"wheel {name}")
            for name, value, default in (("radius", radius, 0.09), ("width", width, 0.11), ("load", load, 60.0))
        ]
        return {"radius": given[0], "width": given[1], "load": given[2]}

    def _evaluate(self, v: Any, r_omega: Any, dz: Any, wheel: Wheel) -> tuple[FloatArray, FloatArray]:
        """(f_x, f_y, f_z, τ) and its Jacobian."""
        states = contact_states(v, r_omega, dz)
        out, jac = sample(self.bind(**wheel), states.reshape(-1, 5))
        shape = states.shape[:-1]
        return out.reshape(*shape, 4), jac.reshape(*shape, 4, 5)


class OwnContact(OwnLaw, Contact):
    """A contact model made from a Python function by `law`."""

    kind = "contact law"
    arguments = ("v", "r_omega", "dz")
    returns = "(f_x, f_y, f_z) or (f_x, f_y, f_z, torque)"

    def __init__(self, function: Function, jacobian: Function | None = None) -> None:
        super().__init__(function, jacobian=jacobian)
        # Driving with a little slip.
        examples = (np.array([-0.1, 0.05, 0.0]), 1.0, -0.01)
        self._values = 3

        def build(call: Any, count: int, slopes: Any) -> Law:
            self._values = count
            return own_contact(call, count, slopes)

        self.law = self._law(None, examples, build, {3: (15, 20), 4: (20,)}, offset=1)

    @property
    def axle_couple(self) -> bool:
        """True where the function returns the moment about the axle too."""
        return self._values == 4

    def pack(self, radius: float | None, width: float | None, load: float | None) -> FloatArray:
        return np.array([radius_of(radius), *self.values])


@overload
def law(function: Function) -> OwnContact: ...
@overload
def law(*, jacobian: Function | None = None) -> Callable[[Function], OwnContact]: ...
def law(function: Function | None = None, *, jacobian: Function | None = None) -> Any:
    """Make a contact model of a plain Python function; a decorator, with or without arguments.

    function: `f(v, r_omega, dz, *, stiffness=gr.param(2e4, "N/m", low=0), …)` returns (f_x, f_y, f_z) on the wheel [N]
        in the contact frame, or with them the moment of the ground on the wheel about its +y axle [N m], which is
        otherwise that of a force at the contact point, −R f_x. v (3,) is the velocity of the contact point [m/s],
        r_omega wheel radius times spin rate [m/s], dz the height error [m], always negative: off the ground it is not
        called. Where it gives f_z ≤ 0 there is no force. It may use numbers, `math` and NumPy, and must not change v.
    jacobian: a function of the same arguments that returns ∂(f_x, f_y, f_z)/∂(v_x, v_y, v_z, r_omega, dz), 3 rows of
        5, or 4 with that of the moment; without it derivatives are central differences, at ten more calls.

    It is compiled by Numba in this process, at once; the engine is not compiled again.
    """
    return decorated(OwnContact, function, jacobian=jacobian)


def sample(bound: BoundLaw, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(f_x, f_y, f_z, τ) (n, 4) and its Jacobian (n, 20) at states x (n, 5)."""
    out, jac = np.empty((len(x), 4)), np.empty((len(x), 20))
    sample_contact(*bound.pair, np.ascontiguousarray(x), out, jac)
    return out, jac


def radius_of(radius: float | None) -> float:
    """A wheel radius [m]; NaN if it is not known, and so is the torque about the axle then."""
    return np.nan if radius is None else checks.positive(radius, "wheel radius")


def contact_states(v: Any, r_omega: Any, dz: Any) -> FloatArray:
    """(v_x, v_y, v_z, Rω, Δz) in one array, shape (…, 5)."""
    parts = []
    for value, name in ((v, "v"), (r_omega, "r_omega"), (dz, "dz")):
        given = checks.real(value, name)
        parts.append(checks.array(given, name, given.shape))
    velocity = parts[0]
    if velocity.ndim == 0 or velocity.shape[-1] != 3:
        raise SimulationError(f"v: has shape {velocity.shape}, needs (…, 3)")
    try:
        return np.stack(np.broadcast_arrays(*np.moveaxis(velocity, -1, 0), *parts[1:]), axis=-1)
    except ValueError:
        raise SimulationError(
            f"v, r_omega and dz: shapes {velocity.shape}, {parts[1].shape} and {parts[2].shape} do not match; "
            f"v needs (…, 3), the others (…)"
        ) from None


@dataclass(frozen=True, kw_only=True)
class SpringContact(Contact):
    """A contact model on a spring and damper: normal force −K_p Δz − K_d v_z."""

    stiffness: float | None = quantity(None, "N/m", checks.positive)
    """K_p [N/m], > 0; None: what the load needs to sink in by static_penetration."""
    damping: float | None = quantity(None, "N s/m", checks.not_negative)
    """K_d [N·s/m], ≥ 0; None: stiffness × 0.05 s."""
    static_penetration: float = quantity(0.02, "m", checks.positive)
    """Penetration at rest on level ground [m], > 0; sets the stiffness if that is None. The default is that of a soft
    tyre: a tall vehicle leans by more than the slope, and tips earlier than a rigid one. 1e-4 is hard."""
    onset: float | None = quantity(None, "m", checks.not_negative)
    """Penetration over which damping comes in [m], ≥ 0; None: a tenth of static_penetration. With 0 the force
    jumps at touchdown, as in (C.3), and a step of the simulation may have no solution."""
    rolling_resistance: float = quantity(0.0, "N s/m", checks.not_negative)
    """C_rr [N·s/m], ≥ 0: force against rolling per Rω."""

    @property
    def axle_couple(self) -> bool:
        """True with rolling resistance, whose moment on the wheel is −R C_rr Rω."""
        return self.rolling_resistance > 0.0

    def at_load(self, load: float | None) -> Self:
        stiffness = self.stiffness
        if stiffness is None:
            if load is None:
                raise SimulationError(f"{type(self).__name__}: give a stiffness, or the wheel's load to derive it from")
            stiffness = checks.positive(load, "wheel load") / self.static_penetration
        return self.replace(
            stiffness=stiffness,
            damping=DAMPING_TIME * stiffness if self.damping is None else self.damping,
            onset=ONSET_SHARE * self.static_penetration if self.onset is None else self.onset,
        )

    def _spring(self, radius: float | None) -> list[float | None]:
        """The entries of par that all laws on a spring share, once the load is known."""
        return [self.stiffness, self.damping, self.onset, self.rolling_resistance, radius_of(radius)]
