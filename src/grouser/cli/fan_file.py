"""The file of `grouser rollout --out`, read back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grouser.errors import SimulationError
from grouser.files import read_npz

if TYPE_CHECKING:
    from grouser.simulation.rollout import Rollouts


def read_fan(path: Path) -> Rollouts:
    """Rollouts with the states they passed; SimulationError where the file holds none."""
    import numpy as np

    from grouser.simulation import Rollouts, Status

    wanted = ("state", "time", "status", "steps", "final_state")
    values = {name: array for name, array in read_npz(path, SimulationError).items() if name in wanted}
    if "status" in values and "state" not in values:
        raise SimulationError(f"{path}: holds last states only; run grouser rollout again with --every K")
    shapes = {name: array.shape for name, array in values.items()}
    state = shapes.get("state", ())
    n, rows, nq = state if len(state) == 3 else (0, 0, 0)
    right = {"state": (n, rows, nq), "time": (rows,), "status": (n,), "steps": (n,), "final_state": (n, nq)}
    if shapes != right or nq < 7 or n == 0 or values["state"].dtype != np.float64:
        raise SimulationError(f"{path}: is not what grouser rollout --every K --out FILE writes; make it again")
    known = {str(status) for status in Status}
    if not np.isfinite(values["state"]).all() or not np.isfinite(values["time"]).all() or set(values["status"]) - known:
        raise SimulationError(f"{path}: has states that are not finite, or endings that are not known; make it again")
    return Rollouts(**values, deficient=np.zeros(n, dtype=np.int64))
