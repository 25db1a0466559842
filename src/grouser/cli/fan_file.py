"""The file of `grouser rollout --out`, read back."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from grouser.errors import GrouserError, SimulationError

if TYPE_CHECKING:
    from grouser.simulation.rollout import Rollouts

MOST_BYTES = 8_000_000_000
"""What the arrays of a file may take in memory."""


def read_fan(path: Path) -> Rollouts:
    """Rollouts with the states they passed; SimulationError where the file holds none."""
    import numpy as np

    from grouser.simulation import Rollouts, Status

    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
                raise SimulationError(f"{path}: unpacks to more than {MOST_BYTES} bytes; not read")
        with np.load(path, allow_pickle=False) as archive:
            wanted = ("state", "time", "status", "steps", "final_state")
            values = {name: archive[name] for name in wanted if name in archive.files}
    except GrouserError:
        raise
    except FileNotFoundError:
        raise SimulationError(f"{path}: no such file") from None
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen kinds on damaged files
        raise SimulationError(f"{path}: not a readable .npz file ({str(error)[:100]})") from None
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
