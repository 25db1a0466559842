"""What a metre of driving costs on every slope and soil: rollouts of the engine on planes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser import terrain
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.plan.limits import Limits
from grouser.plan.trials import Bounds, Effort, Roller
from grouser.simulation.settle import start_state
from grouser.terrain import SoilRaster, Terrain

LARGEST = 0.9
"""Largest slope of the table, rise per way: 42°."""
PER_SLOPE = 15.0
"""Entries in a unit of slope: about 3.5° apart."""
SECONDS = 3.0
"""Time that each is driven [s]."""
SETTLED = 1.0
"""Time at the beginning that is left out [s]: slip and speed settle."""
TIP_SIGMA = math.radians(4.0)
"""Spread of the tip margin that the slope at the scale of the vehicle leaves [rad], assumed."""
SLIP_SIGMA = 0.1
"""The same of slip, assumed."""
LARGEST_SLIP = 0.8
"""Slip at which a vehicle is as good as stuck."""


@dataclass(frozen=True, eq=False)
class SlopeTable:
    """Means by soil, slope ahead and slope across, (soils, n, m); not finite where the drive fails."""

    time: FloatArray
    """Of a metre [s/m]."""
    energy: FloatArray
    """Of a metre [J/m]."""
    hazard: FloatArray
    """Chance of failure in a metre [1/m]."""
    tip_margin: FloatArray
    """[rad]."""
    slip: FloatArray
    """Ratio."""
    ahead: FloatArray
    """Slopes ahead, (n,)."""
    across: FloatArray
    """Slopes across, (m,)."""

    def cost(self, minimise: str) -> FloatArray:
        """Cost of a metre."""
        if minimise == "risk":
            # A little time, so that of two safe ways the shorter is taken.
            return np.asarray(-np.log1p(-np.minimum(self.hazard, 0.999)) + 1e-5 * self.time)
        return self.time if minimise == "time" else self.energy


def slope_table(
    models: Sequence[Any], ground: Terrain, *, limits: Limits, effort: Effort | None, bounds: Bounds | None
) -> SlopeTable:
    """Drive straight over planes of all slopes and of every soil of a ground, with each of the drawn models.

    A slope fails if the drive ends early, or moves less than a tenth of what the wheels do. The hazard is the share of
    models that fail; of those that do not, the normal tails of tip margin and slip, with the assumed sigmas above.
    """
    ahead = np.arange(-round(LARGEST * PER_SLOPE), round(LARGEST * PER_SLOPE) + 1) / PER_SLOPE
    across = np.arange(0, round(LARGEST * PER_SLOPE) + 1) / PER_SLOPE
    soils = _single_soils(ground)
    shape = (len(soils), len(ahead), len(across))
    time, energy, hazard, tip, slip = (np.full(shape, np.inf) for _ in range(5))
    for index in np.ndindex(shape):
        s, i, j = index
        if math.hypot(ahead[i], across[j]) > LARGEST * 1.05:
            continue
        found = [
            _driven(model, soils[s], float(ahead[i]), float(across[j]), limits, effort, bounds) for model in models
        ]
        good = [one for one in found if one is not None]
        if 2 * len(good) <= len(found):
            continue
        mean = np.mean(good, axis=0)
        time[index], energy[index], tip[index], slip[index] = mean
        tails = [_tail(t / TIP_SIGMA) + _tail((LARGEST_SLIP - sl) / SLIP_SIGMA) for _, _, t, sl in good]
        hazard[index] = min(1.0 - len(good) / len(found) + float(np.mean(tails)), 1.0)
    return SlopeTable(time, energy, hazard, tip, slip, ahead, across)


def _driven(
    model: Any, soil: Any, ahead: float, across: float, limits: Limits, effort: Effort | None, bounds: Bounds | None
) -> tuple[float, float, float, float] | None:
    """Time and energy of a metre, least tip margin and slip of a straight drive on a plane; None if it fails."""
    steep, heading = math.degrees(math.atan(math.hypot(ahead, across))), math.degrees(math.atan2(across, ahead))
    plane = terrain.slope(steep, heading_deg=heading)
    if soil is not None:
        plane = terrain.soils(plane, *soil)
    dt = 0.1
    roller = Roller(model, plane, dt=dt, effort=effort, bounds=bounds, threads=1)
    wanted = np.zeros((1, round(SECONDS / dt), 3))
    wanted[..., 0] = limits.speed
    moving = np.array([limits.speed, 0.0, 0.0])
    try:
        q = start_state(model.vehicle, plane, (0.0, 0.0, 0.0), model.penetration)
    except SimulationError:
        return None
    trials = roller.run(wanted, q, moving=moving, record=True)
    if not trials.ok[0]:
        return None
    k = round(SETTLED / dt)
    forward = trials.state[0, -1, 4] - trials.state[0, k, 4]
    if forward < 0.1 * limits.speed * (SECONDS - SETTLED) * math.cos(math.atan(ahead)):
        return None
    energy = float(trials.energy[0]) / SECONDS * (SECONDS - SETTLED)
    metres = forward / math.cos(math.atan(ahead))
    tip, slip = float(trials.least_tip_margin[0]), float(trials.largest_slip[0])
    return (SECONDS - SETTLED) / metres, energy / metres, tip, slip


def _single_soils(ground: Terrain) -> list[Any]:
    """For the model's own soil and each of a ground: raster and laws that make a plane of it alone, or None."""
    found: list[Any] = [None]
    if ground.soils is None:
        return found
    for one in ground.soils.soils:
        parts = [part for part in (one.contact, one.slip) if part is not None]
        law = None if not parts else parts[0] if len(parts) == 1 else tuple(parts)
        raster = SoilRaster(classes=np.zeros((1, 1), dtype=np.uint8), origin=(0.0, 0.0), cell=1.0, outside=0)
        found.append(None if law is None else (raster, [law]))
    return found


def _tail(sigmas: float) -> float:
    """Chance that a standard normal number is below −sigmas."""
    return 0.5 * math.erfc(sigmas / math.sqrt(2.0))
