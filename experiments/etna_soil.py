"""A soil in which the LRU slips as L measured on Mt. Etna, and the steady slip of a wheel in any soil."""

from __future__ import annotations

import math
from dataclasses import dataclass

from grouser.contact import Contact, Ishigami

ETNA = Ishigami(bow_wave=0.55)
"""The simulant of T Table C.2 with a bow wave. Its share is ours (a): the middle of those, 0.4 to 0.67, with which slip
on 0, 5 and 9° lies between L's two calibrations. Without a bow wave slip on level ground is −0.008."""
P_1 = 0.7457
"""L (5.35): slip per tangent of the slope."""
P_2 = (0.03, 0.1093)
"""L §5.3.4: slip on level ground as tuned by hand for the long drive, and as calibrated in looser soil, (5.35)."""


@dataclass(frozen=True)
class SteadyWheel:
    """A wheel that climbs a slope at constant speed."""

    slip: float
    """1 − V_x/(Rω), a ratio; braked Rω/V_x − 1."""
    sinkage: float
    """[m]."""
    torque: float
    """Of the motor [N m]."""


def measured_slip(slope: float) -> tuple[float, float]:
    """L's slip on a slope [°]: with the smaller and the larger p₂."""
    climb = P_1 * math.tan(math.radians(slope))
    return P_2[0] + climb, P_2[1] + climb


def steady_wheel(
    soil: Contact, slope: float, *, load: float, radius: float, width: float, speed: float = 0.5
) -> SteadyWheel:
    """How a driven wheel climbs: f_z carries load cos δ and f_x pulls load sin δ, two equations in slip and sinkage.

    slope: δ [°], negative downhill. load: weight on the wheel [N]. radius, width: of the wheel [m]. speed: the larger
    of rim speed and travel [m/s].
    """
    from scipy.optimize import brentq

    wheel = {"radius": radius, "width": width}
    pull, press = (load * part(math.radians(slope)) for part in (math.sin, math.cos))

    def state(slip: float) -> tuple[list[float], float]:
        rim, travel = (speed, speed * (1.0 - slip)) if slip >= 0.0 else (speed * (1.0 + slip), speed)
        return [travel - rim, 0.0, 0.0], rim

    def sinkage(slip: float) -> float:
        return float(brentq(lambda h: soil.force(*state(slip), -h, **wheel)[2] - press, 1e-6, radius))

    slip = float(brentq(lambda s: soil.force(*state(s), -sinkage(s), **wheel)[0] - pull, -0.95, 0.95))
    depth = sinkage(slip)
    return SteadyWheel(slip, depth, -float(soil.torque(*state(slip), -depth, **wheel)))
