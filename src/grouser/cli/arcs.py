"""Random arcs, rolled out a block at a time so that memory does not grow with their number."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from grouser import checks, rotation
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.law import BoundLaw
from grouser.simulation import Status, drive, settle
from grouser.simulation.engine import Records, launch
from grouser.terrain import Terrain
from grouser.threads import thread_count

STEPS_AT_ONCE = 500_000
"""Steps of a block: about a second of work, so that progress can be shown."""
VALUES_AT_ONCE = 20_000_000
"""Numbers a block may record (160 MB)."""
CURVATURES = 201
"""Curvatures are drawn from so many evenly spaced ones, because steering angles are solved for each."""


@dataclass(frozen=True)
class Summary:
    """What became of all the arcs."""

    counts: dict[str, int]
    """How many ended in each way."""
    steps: int
    """Steps completed by all."""
    deficient: int
    """Steps whose constraints left a velocity open."""
    position_mean: list[float]
    """Mean of the last positions [m]."""
    position_std: list[float]
    """Their standard deviations [m]."""
    yaw_std: float
    """Standard deviation of the last yaw [rad]."""


class RandomArcs:
    """N arcs from one start: speeds uniform in 0 … max_speed [m/s], curvatures in ± max_curvature [1/m]."""

    def __init__(
        self,
        model: Kinematics,
        ground: Terrain,
        rollouts: int,
        steps: int,
        dt: float,
        seed: int,
        max_speed: float,
        max_curvature: float,
    ) -> None:
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
    ) -> Summary:
        """Roll all of them out; `out` receives what `every` asks for, block by block."""
        thread_count(threads)
        n, nq = len(self.speed), len(self.start)
        row = nq * (self.steps // every + 1 if every else 1)
        block = max(1, min(STEPS_AT_ONCE // self.steps, VALUES_AT_ONCE // row))
        final, status = np.empty((n, nq)), np.empty(n, dtype="<U11")
        done, deficient = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)

        def blocks(keep: Callable[[FloatArray], object] | None) -> None:
            for low in range(0, n, block):
                high = min(low + block, n)
                records = self._launch(low, high, steps=self.steps, every=every, threads=threads)
                final[low:high], status[low:high] = records.final, [str(s) for s in records.status]
                done[low:high], deficient[low:high] = records.steps, records.deficient
                if keep is not None:
                    keep(_filled(records))
                progress(high, n)

        if out is None:
            blocks(None)
        else:
            with _Archive(out) as archive:
                if every:
                    with archive.growing("state", (n, self.steps // every + 1, nq)) as file:
                        blocks(lambda states: file.write(states.tobytes()))
                    archive.add("time", self.dt * every * np.arange(self.steps // every + 1))
                else:
                    blocks(None)
                for name, array in (
                    ("speed", self.speed),
                    ("curvature", self.curvature),
                    ("final_state", final),
                    ("status", status),
                    ("steps", done),
                ):
                    archive.add(name, array)
        yaw = np.unwrap(rotation.to_rpy(rotation.from_quaternion(final[:, :4]))[:, 2])
        return Summary(
            counts={str(s): int(np.count_nonzero(status == str(s))) for s in Status},
            steps=int(done.sum()),
            deficient=int(deficient.sum()),
            position_mean=[float(v) for v in final[:, 4:7].mean(axis=0)],
            position_std=[float(v) for v in final[:, 4:7].std(axis=0)],
            yaw_std=float(_circular_std(yaw)),
        )

    def _launch(self, low: int, high: int, *, steps: int, every: int, threads: int | None) -> Records:
        bounds = [self._bound(i) for i in range(low, high)]
        return launch(
            self.model,
            self.ground,
            bounds,
            np.tile(self.start, (high - low, 1)),
            dt=self.dt,
            steps=steps,
            every=every,
            detailed=False,
            threads=threads,
        )

    def _bound(self, i: int) -> BoundLaw:
        """An arc: that of unit speed, its wheel rates scaled. Steering angles depend on the curvature alone."""
        which = int(self._which[i])
        if which not in self._unit:
            self._unit[which] = drive.arc(1.0, float(self.curvature[i])).bind(self.model.vehicle, self.dt)
        unit = self._unit[which]
        par = unit.parameters.copy()
        par[3::5] *= self.speed[i]  # (segments, actuators, start, then rate gain joint target limit of each actuator)
        return BoundLaw(unit.address, par)


def _filled(records: Records) -> FloatArray:
    """Recorded states, those after an early end repeating the last good one."""
    for state, rows, final in zip(records.state, records.rows, records.final, strict=True):
        state[rows:] = final
    return records.state


def _circular_std(yaw: FloatArray) -> float:
    """Spread of angles [rad], the same wherever ±π lies."""
    length = float(np.abs(np.exp(1j * yaw).mean()))
    return float(np.sqrt(max(0.0, -2.0 * np.log(max(length, 1e-12)))))


class _Archive:
    """A .npz file written member by member, then moved into its place."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self._part = target.with_name(f".{target.name}.{os.getpid()}.part")

    def __enter__(self) -> _Archive:
        try:
            self._zip = zipfile.ZipFile(self._part, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        except OSError as error:
            raise SimulationError(f"{self.target}: cannot be written: {error.strerror or error}") from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        reason = error
        try:
            self._zip.close()
            if kind is None:
                os.replace(self._part, self.target)
        except (OSError, ValueError) as failed:  # ValueError: a member was still open when its disk was full
            reason = reason or failed
        finally:
            self._part.unlink(missing_ok=True)
        if isinstance(reason, OSError):
            raise SimulationError(f"{self.target}: cannot be written ({reason.strerror or reason})") from None

    def growing(self, name: str, shape: tuple[int, ...]) -> IO[bytes]:
        """A float64 array of this shape, whose bytes are then written to the file returned."""
        file = self._zip.open(f"{name}.npy", "w", force_zip64=True)
        header = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_2_0(file, header)
        return file

    def add(self, name: str, array: NDArray[Any]) -> None:
        """A whole array."""
        with self._zip.open(f"{name}.npy", "w", force_zip64=True) as file:
            np.lib.format.write_array(file, array, allow_pickle=False)
