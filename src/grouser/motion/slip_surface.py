"""The perturbative model of P: odometry with attitude, and a slip surface of 13 parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from grouser._kernels.constants import GRAVITY
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.motion.noise import GROWTH
from grouser.motion.planar import nominal_model
from grouser.motion.velocity import Inputs, VelocityModel, rolling_speed
from grouser.vehicles import Vehicle

if TYPE_CHECKING:
    from typing import Self

NAMES = tuple(f"slip.a{i}" for i in range(1, 14))
"""Parameters of the slip surface, α₁…α₁₃ of P (13)."""
GRAVITY_TERMS = [3, 7, 11, 12]
"""Positions in α of those that multiply gravity."""
KEPT = 1 << 15
"""Samples whose regressors are held at once; they take 624 bytes each."""
ROWS = np.array([3, 4, 2])
"""Where δV_x, δV_y, δV_θ stand in a body velocity (ω, v)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Perturbative(VelocityModel):
    """A vehicle driven by its velocity, P §2, with slip rates added to what its wheels say, P (12), (13).

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

    def with_parameter(self, name: str, value: float) -> Self:
        """The same model with one of them changed, in its unit."""
        slip = self.slip.copy()
        slip[index_of(name)] = value
        return replace(self, slip=slip)

    def nominal(self, inputs: Inputs) -> FloatArray:
        """Velocity (ω, v) that the wheels say, without slip, (n, 6)."""
        return nominal_model(self.vehicle).twists(inputs)

    def regressors(self, inputs: Inputs, nominal: FloatArray) -> FloatArray:
        """∂(ω, v)/∂α at each sample, (n, 6, 13), C-contiguous: U_α of P (11); it does not depend on α."""
        g_x, g_y = gravity(inputs.attitude)
        if self.gravity_grows == "distance":
            speed = rolling_speed(inputs, self.vehicle)
            g_x, g_y = speed * g_x, speed * g_y
        out = np.zeros((len(inputs.time), 6, self.COUNT))
        out[:, ROWS] = surface_terms(nominal[:, 3], nominal[:, 2], g_x, g_y)
        return out

    def twists(self, inputs: Inputs) -> FloatArray:
        """Body velocity (ω, v) at each sample, (n, 6), P (12)."""
        n = len(inputs.time)
        if n > KEPT:
            whole = np.empty((n, 6))
            for low in range(0, n, KEPT):
                whole[low : low + KEPT] = self.twists(inputs.window(low, min(low + KEPT, n)))
            return whole
        # The regressors are the same for all α, so they stay with the inputs for the next candidate.
        key = (Perturbative, id(self.vehicle), self.gravity_grows)
        if key not in inputs.kept:
            nominal = self.nominal(inputs)
            inputs.kept[key] = (nominal, self.regressors(inputs, nominal), self.vehicle)
        nominal, regressors, _ = inputs.kept[key]
        out: FloatArray = nominal + regressors @ self.slip
        return out

    def slopes(self, inputs: Inputs, names: list[str]) -> FloatArray | None:
        """∂(ω, v)/∂parameters, (n, 6, np); None if some are not of the slip surface."""
        if any(name not in NAMES for name in names):
            return None
        return self.regressors(inputs, self.nominal(inputs))[:, :, [index_of(name) for name in names]]

    @property
    def spec(self) -> dict[str, Any]:
        """What a fit file says about the model beside its parameters and vehicle."""
        return {} if self.gravity_grows == "time" else {"gravity_grows": self.gravity_grows}

    def slip_surface(
        self, v_x: ArrayLike, v_theta: ArrayLike, g_x: ArrayLike = 0.0, g_y: ArrayLike = 0.0
    ) -> FloatArray:
        """δV_x, δV_y [m/s] and δV_θ [rad/s], shape (…, 3), over speed, turn rate and gravity, P Fig. 6."""
        out: FloatArray = surface_terms(v_x, v_theta, g_x, g_y) @ self.slip
        return out


def index_of(name: str) -> int:
    """Position of a parameter in α."""
    match = re.fullmatch(r"slip\.a(\d{1,2})", name)
    if match is None or name not in NAMES:
        raise CalibrationError(f"no parameter {name!r:.60} in Perturbative; there are slip.a1 … slip.a13")
    return int(match[1]) - 1


def gravity(attitude: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Components of gravity along the body's x and y [m/s²] for roll and pitch (n, 2); g_x < 0 uphill."""
    roll, pitch = attitude.T
    return GRAVITY * np.sin(pitch), -GRAVITY * np.cos(pitch) * np.sin(roll)


def surface_terms(v_x: ArrayLike, v_theta: ArrayLike, g_x: ArrayLike, g_y: ArrayLike) -> FloatArray:
    """What α multiplies in P (13), shape (…, 3, 13); rows are δV_x, δV_y, δV_θ."""
    v, w, x, y = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (v_x, v_theta, g_x, g_y)))
    out = np.zeros((*v.shape, 3, 13))
    for i, term in enumerate((v, np.abs(w), v * np.abs(w), x)):
        out[..., 0, i] = term
    for i, term in enumerate((v, w, v * w, y)):
        out[..., 1, 4 + i] = term
    for i, term in enumerate((v, w, v * w, x, y)):
        out[..., 2, 8 + i] = term
    return out


def transition(dx: float, dy: float) -> FloatArray:
    """Φ of P (7): how errors of (x, y, yaw) grow while the vehicle moves by (dx, dy); a yaw error turns the motion."""
    return np.array([[1.0, 0.0, -dy], [0.0, 1.0, dx], [0.0, 0.0, 1.0]])


def input_transition(dx: float, dy: float, *, roll: float, pitch: float, yaw: float) -> FloatArray:
    """Γ = Φ G of P (5), (8): errors of (x, y, yaw) per unit error of (V_x, V_y, V_θ) for a second.

    roll, pitch, yaw [rad] are those when the error acts, (dx, dy) [m] is the motion that follows.
    """
    c, s = np.cos(yaw), np.sin(yaw)
    G = np.array(
        [
            [c * np.cos(pitch), c * np.sin(pitch) * np.sin(roll) - s * np.cos(roll), 0.0],
            [s * np.cos(pitch), s * np.sin(pitch) * np.sin(roll) + c * np.cos(roll), 0.0],
            [0.0, 0.0, np.cos(roll) / np.cos(pitch)],
        ]
    )
    out: FloatArray = transition(dx, dy) @ G
    return out
