"""Soil that remembers the wheels that have pressed it: settings of the patch around the vehicle, and what is in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grouser import checks
from grouser.checks import FloatArray
from grouser.errors import SimulationError

MOST_CELLS = 4096
"""Cells along a side of the largest patch: 270 MB."""


@dataclass(frozen=True, kw_only=True)
class Ruts:
    """Wheels leave ruts, and those that follow meet pressed soil: `Dynamics(…, contact=Ishigami(), ruts=Ruts())`.

    Each cell of a square patch around the vehicle keeps the deepest sinkage r it has seen, below the ground as it was
    before. Let go, it springs back to z_p = (1 − rebound) r. Pressed again, it carries p = k rⁿ (z − z_p)/(rebound r)
    up to z = r, and k zⁿ beyond, as soil that is pressed for the first time. A wheel in a rut enters the soil at z_p,
    so it sinks further by less than the first one did, and its resistance is that of the fresh part of its sinkage
    and of the spring: b (rebound k rⁿ⁺¹/2 + k (hⁿ⁺¹ − rⁿ⁺¹)/(n + 1)) by Bekker, for h ≥ r.

    A wheel feels the mean of r across its width where its rim enters the soil, ahead in the direction of travel. Walls
    and ends of ruts have no slope of their own: they push no wheel sideways, and none has to climb out.
    """

    cell: float = 0.05
    """Side of a cell [m], > 0. Cells wider than half a wheel's contact blur the ends of ruts."""
    size: float = 12.8
    """Side of the patch [m], rounded up to a power of two of cells. Ruts that far behind may be forgotten."""
    rebound: float = 0.1
    """Share of its deepest sinkage by which soil springs back when it is let go, 0.01 to 0.99. An assumption; the
    reloading stiffness of Wong's plate tests is k rⁿ⁻¹/rebound [Pa/m]. It acts on what presses the soil next;
    `Ishigami.sinkage_ratio` says how high the soil rises along the rim of the wheel that has just pressed it."""

    def __post_init__(self) -> None:
        checks.positive(self.cell, "Ruts cell")
        checks.positive(self.size, "Ruts size")
        checks.number(self.rebound, "Ruts rebound", low=0.01, high=0.99, unit="of the sinkage")
        if not 4 <= self.size / self.cell <= MOST_CELLS:
            raise SimulationError(
                f"Ruts size: {self.size:g} m are {self.size / self.cell:.3g} cells of {self.cell:g} m; "
                f"a patch has 4 to {MOST_CELLS} along its side"
            )

    @property
    def side(self) -> int:
        """Cells along a side of the patch, a power of two."""
        return 1 << math.ceil(math.log2(self.size / self.cell))


def pressed_cells(sinkage: FloatArray, key: NDArray[np.int64], cell: float) -> FloatArray:
    """Centres x, y [m] of the cells that were pressed and their deepest sinkage [m], shape (n, 3), row by row of y.

    sinkage, key: the patch as the engine has it, shape (side, side). cell: side of its cells [m].
    """
    found = sinkage > 0.0
    keys = key[found]
    row = keys.astype(np.int32).astype(np.int64)
    cells = np.column_stack([cell * (keys >> 32), cell * row, sinkage[found]])
    return cells[np.lexsort((cells[:, 0], cells[:, 1]))]
