"""Body slip in the drive frame, for vehicles that also travel sideways: L (5.7)–(5.10)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.slip import laws
from grouser.errors import SimulationError
from grouser.slip.body import BodySlip, Slip, unit


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
        """Six parameters, or seven with the nonlinear rolling resistance; directions and application as `BodySlip`."""
        p = checks.array(parameters, "slip parameters", (None,))
        if len(p) not in (6, 7):
            raise SimulationError(f"slip parameters: are {len(p)}, need 6, or 7 with nonlinear rolling resistance")
        directions = [unit(value, name) for value, name in ((lon, "lon"), (lat, "lat"), (ang, "ang"), (up, "up"))]
        object.__setattr__(self, "parameters", p)
        object.__setattr__(self, "law", laws.drive_frame)
        object.__setattr__(self, "par", np.concatenate([p, np.zeros(7 - len(p)), *directions]))
        object.__setattr__(self, "apply", apply)
        Slip.__post_init__(self)
