"""The spring and damper under a wheel that several contact models share, T (C.3), (C.4)."""

from __future__ import annotations

from dataclasses import dataclass

from grouser import checks
from grouser.contact.base import Contact, not_negative
from grouser.errors import SimulationError

DAMPING_TIME = 0.05
"""Damping over stiffness where no damping is given [s]."""
ONSET_SHARE = 0.1
"""Onset over static penetration where no onset is given."""


@dataclass(frozen=True)
class Spring:
    """Normal force −K_p Δz − K_d v_z of one wheel."""

    stiffness: float
    """K_p [N/m]."""
    damping: float
    """K_d [N·s/m]."""
    onset: float
    """Penetration over which the damper comes in [m]."""


@dataclass(frozen=True, kw_only=True)
class SpringContact(Contact):
    """A contact model on a spring and damper."""

    stiffness: float | None = None
    """K_p [N/m], > 0; None: what the load needs to sink in by static_penetration."""
    damping: float | None = None
    """K_d [N·s/m], ≥ 0; None: stiffness × 0.05 s."""
    static_penetration: float = 0.02
    """Penetration at rest on level ground [m], > 0; sets the stiffness if that is None. The default is that of a soft
    tyre: a tall vehicle leans on it by more than the slope, and tips earlier than its geometry says. 1e-4 is hard."""
    onset: float | None = None
    """Penetration over which damping comes in [m], ≥ 0; None: a tenth of static_penetration. With 0 the force
    jumps at touchdown, as in (C.3), and a step of the simulation may have no solution."""
    rolling_resistance: float = 0.0
    """C_rr [N·s/m], ≥ 0: force against rolling per Rω."""

    def __post_init__(self) -> None:
        where = type(self).__name__
        if self.stiffness is not None:
            checks.positive(self.stiffness, f"{where} stiffness")
        checks.positive(self.static_penetration, f"{where} static_penetration")
        not_negative(self.rolling_resistance, f"{where} rolling_resistance")
        for name in ("damping", "onset"):
            value = getattr(self, name)
            if value is not None:
                not_negative(value, f"{where} {name}")

    def spring(self, load: float | None) -> Spring:
        """The spring under a wheel with this load [N]."""
        stiffness = self.stiffness
        if stiffness is None:
            if load is None:
                raise SimulationError(f"{type(self).__name__}: give a stiffness, or the wheel's load to derive it from")
            stiffness = checks.positive(load, "wheel load") / self.static_penetration
        return Spring(
            float(stiffness),
            float(DAMPING_TIME * stiffness if self.damping is None else self.damping),
            float(ONSET_SHARE * self.static_penetration if self.onset is None else self.onset),
        )
