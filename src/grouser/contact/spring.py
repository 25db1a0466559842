"""The spring and damper under a wheel that several contact models share, T (C.3), (C.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grouser import checks
from grouser.contact.base import Contact, radius_of
from grouser.errors import SimulationError
from grouser.law import quantity

if TYPE_CHECKING:
    from typing import Self

DAMPING_TIME = 0.05
"""Damping over stiffness where no damping is given [s]."""
ONSET_SHARE = 0.1
"""Onset over static penetration where no onset is given."""


@dataclass(frozen=True, kw_only=True)
class SpringContact(Contact):
    """A contact model on a spring and damper: normal force −K_p Δz − K_d v_z."""

    stiffness: float | None = quantity(None, "N/m", checks.positive)
    """K_p [N/m], > 0; None: what the load needs to sink in by static_penetration."""
    damping: float | None = quantity(None, "N s/m", checks.not_negative)
    """K_d [N·s/m], ≥ 0; None: stiffness × 0.05 s."""
    static_penetration: float = quantity(0.02, "m", checks.positive)
    """Penetration at rest on level ground [m], > 0; sets the stiffness if that is None. The default is that of a soft
    tyre: a tall vehicle leans on it by more than the slope, and tips earlier than its geometry says. 1e-4 is hard."""
    onset: float | None = quantity(None, "m", checks.not_negative)
    """Penetration over which damping comes in [m], ≥ 0; None: a tenth of static_penetration. With 0 the force
    jumps at touchdown, as in (C.3), and a step of the simulation may have no solution."""
    rolling_resistance: float = quantity(0.0, "N s/m", checks.not_negative)
    """C_rr [N·s/m], ≥ 0: force against rolling per Rω."""

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
