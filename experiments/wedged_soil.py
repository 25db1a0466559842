"""Volcanic gravel as L §6 describes it: shear strength is high at slow slip and falls at fast slip."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from experiments import wedged_law as laws
from grouser import checks
from grouser.checks import FloatArray
from grouser.contact import Contact, Ishigami
from grouser.errors import SimulationError


@dataclass(frozen=True, kw_only=True)
class WedgedSoil(Contact):
    """A soil whose shear strength c + σ tan φ falls with the speed v of slip, to m_∞ + (1 − m_∞) exp(−v/v₀) of it."""

    law = laws.wedged
    slip_by_wheel_speed = True

    soil: Ishigami = field(default_factory=Ishigami)
    """At full strength, as at very slow slip."""
    residual: float = 0.75
    """m_∞, 0 < m_∞ ≤ 1: share of the strength that fast slip leaves."""
    speed: float = 0.1
    """v₀ [m/s], > 0: speed of slip at which most of the rest is lost."""
    _kept: dict[tuple[float | None, float | None], FloatArray] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.instance(self.soil, Ishigami, "wedged soil", "use grouser.contact.Ishigami(…)")
        checks.positive(self.speed, "wedged soil speed")
        if not 0.0 < checks.number(self.residual, "wedged soil residual") <= 1.0:
            raise SimulationError(f"wedged soil residual: {self.residual:g} is not above 0 and at most 1")

    def pack(self, radius: float | None, width: float | None, load: float | None) -> FloatArray:
        # The law holds addresses, so what they point to lives as long as this model.
        inner = self._kept.get((radius, width))
        if inner is None:
            full = self.soil.pack(radius, width, load)
            none = full.copy()
            none[laws.STRENGTH] = 0.0
            inner = np.ascontiguousarray(np.stack([full, none]))
            self._kept[radius, width] = inner
        head = (self.soil.law.address, inner[0].ctypes.data, inner[1].ctypes.data, self.residual, self.speed)
        return np.array(head, dtype=np.float64)
