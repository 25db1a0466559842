"""Forces from outside: a payload, a drawbar, thrust, a manipulator's reaction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser import checks
from grouser.checks import FloatArray
from grouser.vehicles import Vehicle


@dataclass(frozen=True, kw_only=True)
class ExternalForce:
    """A constant force and torque on a point of a frame."""

    frame: str
    """Name of the frame it acts on."""
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """[N]."""
    torque: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """[N m]."""
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Where it acts, in the frame's own axes [m]."""
    axes: str = "world"
    """"world": force and torque keep their direction in the world; "frame": they turn with the frame."""

    def __post_init__(self) -> None:
        checks.choice(self.axes, "external force, axes", ("world", "frame"))
        for name in ("force", "torque", "point"):
            checks.array(getattr(self, name), f"external force, {name}", (3,))

    def pack(self, vehicle: Vehicle) -> FloatArray:
        """As the engine reads it, shape (11,)."""
        head = [float(vehicle.frame_index(self.frame)), float(self.axes == "world")]
        return np.concatenate([head, self.point, self.force, self.torque])
