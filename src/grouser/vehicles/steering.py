"""How a drive steers one joint of a vehicle."""

from __future__ import annotations

import math
from dataclasses import dataclass

from grouser.errors import VehicleError
from grouser.vehicles.frame import checked

__all__ = ["Steering"]


@dataclass(frozen=True)
class Steering:
    """Feedback from steering angle to command, on a joint that turns about z.

    An actuated joint turns at gain·(command − angle) [rad/s]. A passive one (Zoë's axles) is steered by its
    wheels: the left wheel slows and the right wheel speeds up by gain·(command − angle) [m/s], at most
    `limit`.
    """

    joint: str
    """Name of the frame whose joint is steered; its type is RZ."""
    gain: float
    """[1/s] for an actuated joint, [m/s per rad] for a passive one; > 0."""
    limit: float = math.inf
    """Largest magnitude of that feedback, [rad/s] for an actuated joint, [m/s] for a passive one; > 0."""

    def __post_init__(self) -> None:
        joint = checked.name(self.joint, "steering")
        where = f"steering of '{joint}', field"
        object.__setattr__(self, "gain", checked.positive(self.gain, f"{where} gain"))
        if isinstance(self.limit, float) and self.limit == math.inf:
            return
        limit = checked.number(self.limit, f"{where} limit")
        if limit <= 0.0:
            raise VehicleError(f"{where} limit: {limit:g} is not positive; leave it out for no limit")
        object.__setattr__(self, "limit", limit)
