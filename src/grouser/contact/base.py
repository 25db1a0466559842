"""What every wheel-ground contact model is: a law, its parameters for a wheel, and the force it gives."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.contact.laws import sample_contact
from grouser._kernels.law import Law
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.pictures import draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WHEEL = {"radius": 0.09, "width": 0.11, "load": 60.0}
"""The wheel of a plot that is given none: that of T Fig. C.5 [m, m, N]."""

Wheel = dict[str, float | None]
"""radius, width [m] and load [N] of a wheel, as in `Contact.bind`."""


class Contact(ABC):
    """A wheel-ground contact model: the force on a wheel as a function of how its contact point moves, T (C.1).

    All is in the contact frame: x ahead, y left, z along the ground normal. Models are immutable.
    """

    law: Law
    """The compiled law, see `_kernels/contact/laws.py`."""
    slip_by_wheel_speed: bool = False
    """Which slip ratio the model's plots show: −v_x/(Rω) if true, −v_x/V_x if false."""
    _picture = "contact over slip"

    @abstractmethod
    def bind(self, radius: float | None, width: float | None, load: float | None) -> FloatArray:
        """The law's parameters for a wheel.

        radius, width: of the wheel [m]. load: what it carries at rest on level ground [N]. A model that needs a
        value that is None says so.
        """

    def force(
        self,
        v: ArrayLike,
        r_omega: ArrayLike,
        dz: ArrayLike,
        *,
        radius: float | None = None,
        width: float | None = None,
        load: float | None = None,
    ) -> FloatArray:
        """Force on the wheel [N], shape (…, 3).

        v: velocity of the contact point [m/s], shape (…, 3). r_omega: wheel radius times spin rate [m/s], shape (…).
        dz: height error [m], negative is penetration, shape (…). Leading shapes broadcast.
        radius, width, load: of the wheel, as in `bind`.
        """
        return self._evaluate(v, r_omega, dz, radius, width, load)[0]

    def jacobian(
        self,
        v: ArrayLike,
        r_omega: ArrayLike,
        dz: ArrayLike,
        *,
        radius: float | None = None,
        width: float | None = None,
        load: float | None = None,
    ) -> FloatArray:
        """∂force/∂(v_x, v_y, v_z, Rω, Δz), shape (…, 3, 5); arguments as in `force`."""
        return self._evaluate(v, r_omega, dz, radius, width, load)[1]

    def axle_torque(
        self,
        v: ArrayLike,
        r_omega: ArrayLike,
        dz: ArrayLike,
        *,
        radius: float | None = None,
        width: float | None = None,
        load: float | None = None,
    ) -> FloatArray:
        """Torque of the ground about the wheel's axle [N m], positive against spinning ahead, shape (…).

        A force at the contact point gives R f_x, and rolling resistance R C_rr Rω; models whose stresses act along the
        rim give theirs. Arguments as in `force`; the radius [m] is needed.
        """
        return self._axle_torque(contact_states(v, r_omega, dz), {"radius": radius, "width": width, "load": load})

    def _axle_torque(self, states: FloatArray, wheel: Wheel) -> FloatArray:
        """Of states (…, 5) as `contact_states` makes them; what a model with stresses along the rim replaces."""
        return point_torque(self, states, wheel)

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        dz: float = -0.01,
        radius: float | None = None,
        width: float | None = None,
        load: float | None = None,
    ) -> Figure:
        """Normalised force over slip ratio and angle, or over slip velocity (T Fig. C.1–C.5); saved where path says.

        dz: height error [m]. radius, width, load: of the wheel; those of T Fig. C.5 where they are not given.
        """
        figure: Figure = draw(self._picture, self, checks.number(dz, "dz"), self._wheel(radius, width, load), path)
        return figure

    def fingerprint_for(self, radius: float | None, width: float | None, load: float | None) -> str:
        """A hash of the law and its parameters for a wheel."""
        return fingerprint(self.law.function, self.bind(radius, width, load))

    def _wheel(self, radius: float | None, width: float | None, load: float | None) -> Wheel:
        given = {"radius": radius, "width": width, "load": load}
        return {
            name: WHEEL[name] if value is None else checks.positive(value, f"wheel {name}")
            for name, value in given.items()
        }

    def _evaluate(
        self, v: Any, r_omega: Any, dz: Any, radius: float | None, width: float | None, load: float | None
    ) -> tuple[FloatArray, FloatArray]:
        par = self.bind(radius, width, load)
        states = contact_states(v, r_omega, dz)
        shape = states.shape[:-1]
        x = np.ascontiguousarray(states.reshape(-1, 5))
        out = np.empty((len(x), 3))
        jac = np.empty((len(x), 15))
        sample_contact(self.law.address, par.ctypes.data, x, out, jac)
        return out.reshape(*shape, 3), jac.reshape(*shape, 3, 5)


def point_torque(contact: Contact, states: FloatArray, wheel: Wheel) -> FloatArray:
    """The axle torque [N m] that the engine's wheels feel: of the force at the contact point, and of rolling."""
    if wheel["radius"] is None:
        raise SimulationError(f"{type(contact).__name__}: a torque needs the wheel's radius; give it [m]")
    R = checks.positive(wheel["radius"], "wheel radius")
    f = contact.force(states[..., :3], states[..., 3], states[..., 4], **wheel)
    rolling = float(getattr(contact, "rolling_resistance", 0.0)) * states[..., 3]
    torque: FloatArray = R * (f[..., 0] + np.where(f[..., 2] > 0.0, rolling, 0.0))
    return torque


def contact_states(v: Any, r_omega: Any, dz: Any) -> FloatArray:
    """(v_x, v_y, v_z, Rω, Δz) in one array, shape (…, 5)."""
    parts = []
    for value, name in ((v, "v"), (r_omega, "r_omega"), (dz, "dz")):
        try:
            shape = np.shape(value)
        except ValueError:
            raise SimulationError(f"{name}: is not an array of numbers") from None
        parts.append(checks.array(value, name, shape))
    velocity = parts[0]
    if velocity.ndim == 0 or velocity.shape[-1] != 3:
        raise SimulationError(f"v: has shape {velocity.shape}, needs (…, 3)")
    columns = [velocity[..., 0], velocity[..., 1], velocity[..., 2], parts[1], parts[2]]
    try:
        return np.stack(np.broadcast_arrays(*columns), axis=-1)
    except ValueError:
        raise SimulationError(
            f"v, r_omega and dz: shapes {velocity.shape}, {parts[1].shape} and {parts[2].shape} do not go together; "
            f"v needs (…, 3), the others (…)"
        ) from None


def fingerprint(function: Any, par: FloatArray) -> str:
    """A hash of a function's code and its parameters."""
    code = function.__code__
    digest = hashlib.sha256(f"{function.__qualname__} {code.co_consts!r} {code.co_names}".encode())
    digest.update(code.co_code)
    digest.update(par.tobytes())
    return digest.hexdigest()[:16]


def not_negative(value: Any, name: str) -> float:
    """A finite float, zero or above."""
    result = checks.number(value, name)
    if result < 0.0:
        raise SimulationError(f"{name}: {result:g} is negative")
    return result
