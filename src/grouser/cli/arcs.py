"""Random arcs, rolled out a block at a time so that memory does not grow with their number, and their file."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from grouser import checks, rotation
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.files import read_npz, write_whole
from grouser.kinematics import Kinematics
from grouser.law import BoundLaw
from grouser.simulation import Rollouts, drive, settle
from grouser.simulation.engine import Records, launch
from grouser.simulation.status import OF_ROLLOUT
from grouser.terrain import Terrain, plane
from grouser.threads import thread_count

STEPS_AT_ONCE = 500_000
"""Steps of a block: about a second of work between reports of progress."""
VALUES_AT_ONCE = 20_000_000
"""Numbers a block may record (160 MB)."""
CURVATURES = 201
"""Number of evenly spaced curvatures to draw from: steering angles are solved for each."""


class RandomArcs:
    """N arcs from one start: speeds uniform in 0 … max_speed [m/s], curvatures in ± max_curvature [1/m]."""

    def __init__(
        self, model: Kinematics, ground: Terrain, *, rollouts: int, steps: int, dt: float, seed: int,
        max_speed: float, max_curvature: float,
    ) -> None:  # fmt: skip
        self.model, self.ground, self.steps, self.dt = model, ground, steps, checks.positive(dt, "dt")
        model.gain(self.dt)
        draws = np.random.default_rng(seed).random((rollouts, 2))
        self.speed: FloatArray = checks.positive(max_speed, "max-speed") * draws[:, 0]
        grid = checks.number(max_curvature, "max-curvature") * np.linspace(-1.0, 1.0, CURVATURES)
        self._which = np.minimum((CURVATURES * draws[:, 1]).astype(np.int64), CURVATURES - 1)
        self.curvature: FloatArray = grid[self._which]
        self._unit: dict[int, BoundLaw] = {}
        self.start = settle(model.vehicle, ground, penetration=model.penetration).state

    def compile(self) -> None:
        """Take one step, so that the notice of compiling comes before any progress bar."""
        self._launch(0, 1, steps=1, every=0, threads=None)

    def run(
        self, *, threads: int | None, every: int, out: Path | None, progress: Callable[[int, int], None]
    ) -> dict[str, Any]:
        """Roll all of them out; `out` receives every `every`-th state, block by block. Returns numbers for JSON."""
        thread_count(threads)
        n, nq = len(self.speed), len(self.start)
        rows = self.steps // every + 1 if every else 1
        block = max(1, min(STEPS_AT_ONCE // self.steps, VALUES_AT_ONCE // (nq * rows)))
        final, status = np.empty((n, nq)), np.empty(n, dtype="<U11")
        done, deficient = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)

        def blocks(keep: Callable[[FloatArray], object] = lambda _: None) -> None:
            for low in range(0, n, block):
                high = min(low + block, n)
                records = self._launch(low, high, steps=self.steps, every=every, threads=threads)
                final[low:high], status[low:high] = records.final, [str(s) for s in records.status]
                done[low:high], deficient[low:high] = records.steps, records.deficient
                for state, rows, last in zip(records.state, records.rows, records.final, strict=True):
                    state[rows:] = last  # after an early end
                keep(records.state)
                progress(high, n)

        def write(stream: IO[bytes]) -> None:
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                arrays = {"speed": self.speed, "curvature": self.curvature, "final_state": final, "status": status,
                          "steps": done}  # fmt: skip
                if every:
                    header = {"descr": "<f8", "fortran_order": False, "shape": (n, rows, nq)}
                    with archive.open("state.npy", "w", force_zip64=True) as file:
                        np.lib.format.write_array_header_2_0(file, header)
                        blocks(lambda states: file.write(states.tobytes()))
                    arrays["time"] = self.dt * every * np.arange(rows)
                else:
                    blocks()
                for name, array in arrays.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                        np.lib.format.write_array(file, array, allow_pickle=False)

        if out is None:
            blocks()
        else:
            write_whole(out, write, SimulationError)
        yaw = rotation.to_rpy(rotation.from_quaternion(final[:, :4]))[:, 2]
        length = np.clip(np.abs(np.exp(1j * yaw).mean()), 1e-12, 1.0)  # of the mean direction
        return {
            "status": {str(s): int(np.count_nonzero(status == str(s))) for s in OF_ROLLOUT},
            "final_position_mean": final[:, 4:7].mean(axis=0).tolist(),
            "final_position_std": final[:, 4:7].std(axis=0).tolist(),
            "final_yaw_std": float(np.sqrt(-2.0 * np.log(length))),
            "underdetermined_steps": int(deficient.sum()),
            "steps": int(done.sum()),
        }

    def _launch(self, low: int, high: int, *, steps: int, every: int, threads: int | None) -> Records:
        drives, start = [self._bound(i) for i in range(low, high)], np.tile(self.start, (high - low, 1))
        options: dict[str, Any] = {"dt": self.dt, "steps": steps, "every": every, "threads": threads}
        return launch(self.model, self.ground, drives, start, detailed=False, **options)

    def write(self, many: Rollouts, out: Path) -> None:
        """The same file for samples of the arcs, one row each; speeds and curvatures are repeated."""
        arrays: dict[str, Any] = {
            "speed": np.repeat(self.speed, many.samples), "curvature": np.repeat(self.curvature, many.samples),
            "final_state": many.final_state, "status": many.status, "steps": many.steps,
            "samples": np.array(many.samples),
        }  # fmt: skip
        if many.outcome is not None:
            arrays |= {name: one for name, one in vars(many.outcome).items() if one is not None}
        if len(many.time):
            arrays |= {"state": many.state, "time": many.time}
        write_whole(out, lambda stream: np.savez_compressed(stream, **arrays), SimulationError)

    def commands(self, block: int) -> FloatArray:
        """Commands of all steps on level ground, (N, T, na) [rad/s or m/s], recorded `block` arcs at a time."""
        flat, n = plane(), len(self.speed)
        start = settle(self.model.vehicle, flat, penetration=self.model.penetration).state
        parts = []
        for low in range(0, n, block):
            drives = [self._bound(i) for i in range(low, min(low + block, n))]
            starts = np.tile(start, (len(drives), 1))
            steps = self.steps - 1
            records = launch(self.model, flat, drives, starts, dt=self.dt, steps=steps, every=1, detailed=True)
            parts.append(records.command)
        return np.concatenate(parts)

    def _bound(self, i: int) -> BoundLaw:
        """An arc: that of unit speed, its wheel rates scaled. Steering angles depend on the curvature alone."""
        which = int(self._which[i])
        if which not in self._unit:
            self._unit[which] = drive.arc(1.0, float(self.curvature[i])).bind(self.model.vehicle, self.dt)
        unit = self._unit[which]
        par = unit.parameters.copy()
        par[3::5] *= self.speed[i]  # (segments, actuators, start, then rate gain joint target limit of each actuator)
        return BoundLaw(unit.address, par)


def read_fan(path: Path) -> Rollouts:
    """Rollouts with the states they passed; SimulationError where the file holds none."""
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
    known = {str(status) for status in OF_ROLLOUT}
    if not np.isfinite(values["state"]).all() or not np.isfinite(values["time"]).all() or set(values["status"]) - known:
        raise SimulationError(f"{path}: has states that are not finite, or endings that are not known; make it again")
    return Rollouts(**values, deficient=np.zeros(n, dtype=np.int64))
