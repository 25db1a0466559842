"""The perturbative model of P: odometry with attitude, and a slip surface of 13 parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from grouser._kernels.constants import GRAVITY
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.motion.noise import GROWTH
from grouser.motion.planar import nominal_model
from grouser.motion.velocity import Inputs, VelocityModel, rolling_speed
from grouser.vehicles import Vehicle

NAMES = tuple(f"slip.a{i}" for i in range(1, 14))
"""Parameters of the slip surface, α₁…α₁₃ of P (13)."""
ROWS = np.array([3, 4, 2])
"""Where δV_x, δV_y, δV_θ stand in a body velocity (ω, v)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Perturbative(VelocityModel):
    """A vehicle driven by its velocity, P §2, with slip rates added to the velocity from its wheels, P (12), (13).

    δV_x = α₁ V_x + α₂ |V_θ| + α₃ V_x |V_θ| + α₄ g_x,
    δV_y = α₅ V_x + α₆ V_θ + α₇ V_x V_θ + α₈ g_y,
    δV_θ = α₉ V_x + α₁₀ V_θ + α₁₁ V_x V_θ + α₁₂ g_x + α₁₃ g_y.

    α₆ and α₁₀ multiply V_θ, not |V_θ| as printed: a vehicle that turns too little does so in both directions.
    Downhill slip needs α₄, α₈ > 0; a turn rate of one third of the odometry's is α₁₀ = −2/3.
    """

    COUNT: ClassVar[int] = len(NAMES)
    """Number of slip parameters."""

    vehicle: Vehicle
    """The vehicle: skid-steered, or with some wheels steered."""
    slip: FloatArray = field(default_factory=lambda: np.zeros(13))
    """α₁…α₁₃, (13,), each in its unit: δV [m/s, rad/s] over V_x [m/s], V_θ [rad/s] and g [m/s²]."""
    gravity_grows: str = "time"
    """Slip by gravity grows with "time", P (13), or with the "distance" the wheels roll.

    Then g_x, g_y are multiplied by the rim speed [m/s], as rolling creep has it: a vehicle at rest does not slide.
    """

    def __post_init__(self) -> None:
        if self.gravity_grows not in GROWTH:
            raise CalibrationError(f"gravity_grows {self.gravity_grows!r:.40}: is not one of {', '.join(GROWTH)}")
        slip = np.array(self.slip, dtype=np.float64)
        if slip.shape != (self.COUNT,) or not np.isfinite(slip).all():
            raise CalibrationError(f"slip: must be {self.COUNT} finite numbers, α₁…α₁₃ of P (13)")
        object.__setattr__(self, "slip", slip)

    @property
    def parameters(self) -> dict[str, float]:
        """slip.a1 … slip.a13, in their units."""
        return dict(zip(NAMES, self.slip.tolist(), strict=True))

    def with_parameters(self, values: Mapping[str, float]) -> Self:
        """The same model with some of them changed, each in its unit."""
        slip = self.slip.copy()
        for name, value in values.items():
            if name not in NAMES:
                raise CalibrationError(f"no parameter {name!r:.60} in Perturbative; there are slip.a1 … slip.a13")
            slip[NAMES.index(name)] = value
        return replace(self, slip=slip)

    @property
    def affine_slip(self) -> FloatArray:
        """α, in which the velocity is affine, (13,), each in its unit."""
        return self.slip

    def nominal(self, inputs: Inputs) -> FloatArray:
        """Velocity (ω, v) of the wheels without slip, (n, 6)."""
        return nominal_model(self.vehicle).twists(inputs)

    def slip_terms(self, inputs: Inputs) -> tuple[FloatArray, FloatArray]:
        """Velocity without slip (n, 6), and U_α of P (11): ∂(ω, v)/∂α at each sample, (n, 6, 13)."""
        nominal = self.nominal(inputs)
        g_x, g_y = gravity(inputs.attitude)
        if self.gravity_grows == "distance":
            speed = rolling_speed(inputs, self.vehicle)
            g_x, g_y = speed * g_x, speed * g_y
        slopes = np.zeros((len(inputs.time), 6, self.COUNT))
        slopes[:, ROWS] = surface_terms(nominal[:, 3], nominal[:, 2], g_x, g_y)
        return nominal, slopes

    def twists(self, inputs: Inputs) -> FloatArray:
        """Body velocity (ω, v) at each sample, (n, 6), P (12)."""
        nominal, slopes = self.slip_terms(inputs)
        return np.asarray(nominal + slopes @ self.affine_slip)

    @property
    def spec(self) -> dict[str, Any]:
        """Fields that a fit file holds besides parameters and vehicle."""
        return {} if self.gravity_grows == "time" else {"gravity_grows": self.gravity_grows}

    def slip_surface(
        self, v_x: ArrayLike, v_theta: ArrayLike, g_x: ArrayLike = 0.0, g_y: ArrayLike = 0.0
    ) -> FloatArray:
        """δV_x, δV_y [m/s] and δV_θ [rad/s], shape (…, 3), over speed, turn rate and gravity, P Fig. 6."""
        return np.asarray(surface_terms(v_x, v_theta, g_x, g_y) @ self.slip)


def gravity(attitude: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Components of gravity along the body's x and y [m/s²] for roll and pitch (n, 2); g_x < 0 uphill."""
    roll, pitch = attitude.T
    return GRAVITY * np.sin(pitch), -GRAVITY * np.cos(pitch) * np.sin(roll)


def surface_terms(v_x: ArrayLike, v_theta: ArrayLike, g_x: ArrayLike, g_y: ArrayLike) -> FloatArray:
    """What α multiplies in P (13), shape (…, 3, 13); rows are δV_x, δV_y, δV_θ."""
    v, w, x, y = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (v_x, v_theta, g_x, g_y)))
    out = np.zeros((*v.shape, 3, 13))
    out[..., 0, :4] = np.stack((v, np.abs(w), v * np.abs(w), x), axis=-1)
    out[..., 1, 4:8] = np.stack((v, w, v * w, y), axis=-1)
    out[..., 2, 8:] = np.stack((v, w, v * w, x, y), axis=-1)
    return out
