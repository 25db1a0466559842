"""Random arcs, rolled out a block at a time so that memory does not grow with their number, and their file."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from grouser._kernels.simulation.rollout import CONTACT_COLUMNS
from grouser.checks import FloatArray
from grouser.dynamics import Dynamics
from grouser.errors import SimulationError
from grouser.files import read_npz, write_whole
from grouser.kinematics import Kinematics
from grouser.law import BoundLaw
from grouser.simulation import Rollouts, drive, settle
from grouser.simulation.engine import Records, launch
from grouser.simulation.outcome import Outcome, nothing, outcome_of
from grouser.simulation.rollout import joined_outcomes, kept_going, raise_late, rollout
from grouser.simulation.simulate import start_velocity
from grouser.simulation.status import OF_ROLLOUT, Status
from grouser.terrain import Terrain, plane
from grouser.threads import thread_count

if TYPE_CHECKING:
    from grouser.motion.fit import Fit

STEPS_AT_ONCE = 500_000
"""Steps of a block: about a second of work between reports of progress."""
VALUES_AT_ONCE = 20_000_000
"""Numbers a block may record (160 MB)."""
CURVATURES = 201
"""Number of evenly spaced curvatures to draw from: steering angles are solved for each."""
MOST_COMMANDS = 50_000_000
"""Numbers that the commands of arcs may be (400 MB)."""
ARCS_AT_ONCE = 64
"""Arcs whose commands are recorded together."""


class RandomArcs:
    """N arcs from one start: speeds uniform in 0 … max_speed [m/s], curvatures in ± max_curvature [1/m]."""

    def __init__(
        self, model: Kinematics | Dynamics, ground: Terrain, *, rollouts: int, steps: int, dt: float, seed: int,
        max_speed: float, max_curvature: float, start: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> None:  # fmt: skip
        """From a start x, y [m], yaw [rad]."""
        self.model, self.ground, self.steps, self.dt, self.place = model, ground, steps, dt, start
        model.arrays(self.dt)  # refuses a step that is too long for it
        draws = np.random.default_rng(seed).random((rollouts, 2))
        self.speed: FloatArray = max_speed * draws[:, 0]
        grid = max_curvature * np.linspace(-1.0, 1.0, CURVATURES)
        self._which = np.minimum((CURVATURES * draws[:, 1]).astype(np.int64), CURVATURES - 1)
        self.curvature: FloatArray = grid[self._which]
        self._unit: dict[int, BoundLaw] = {}
        x, y, yaw = start
        self.start = settle(model.vehicle, ground, x=x, y=y, yaw=yaw, penetration=model.penetration).state

    def compile(self) -> None:
        """Take one step, so that the notice of compiling comes before any progress bar."""
        outcome_of(self.model, self._launch(0, 1, steps=1, threads=None), self.dt)

    def run(
        self, *, threads: int | None, every: int, out: Path | None, progress: Callable[[int, int], None]
    ) -> dict[str, Any]:
        """Roll all of them out; `out` receives every `every`-th state, block by block. Returns numbers for JSON."""
        thread_count(threads)
        n, nq = len(self.speed), len(self.start)
        rows = self.steps // every + 1 if every else 1
        each = (self.steps + 1) * (2 * nq + CONTACT_COLUMNS * self.model.vehicle.n_wheels)
        block = max(1, min(STEPS_AT_ONCE // self.steps, VALUES_AT_ONCE // each))
        outcomes: list[Outcome] = []
        final, status = np.tile(self.start, (n, 1)), np.full(n, str(Status.INTERRUPTED), dtype="<U13")
        done, deficient = np.zeros((2, n), dtype=np.int64)

        def rolled(low: int, halted: bool) -> tuple[Records, Outcome]:
            high = min(low + block, n)
            found = self._launch(low, high, steps=self.steps, threads=threads, halted=halted)
            if halted:
                return found, nothing(high - low, forces=isinstance(self.model, Dynamics))
            return found, outcome_of(self.model, found, self.dt)

        def blocks(keep: Callable[[FloatArray], object]) -> None:
            halted = False
            for low in range(0, n, block):
                if halted:  # the rest at once: they stay where they start
                    outcomes.append(nothing(n - low, forces=isinstance(self.model, Dynamics)))
                    for k in range(low, n, block) if every else ():
                        keep(np.tile(self.start, (min(block, n - k), rows, 1)))
                    break
                some = slice(low, min(low + block, n))
                (records, happened), halted = kept_going(rolled, low, halted, partial(progress, some.stop, n))
                assert happened is not None
                outcomes.append(happened)
                if every:
                    kept = np.zeros((len(records.final), rows, nq))
                    kept[:, : -(-records.state.shape[1] // every)] = records.state[:, ::every]
                    for state, recorded, last in zip(kept, records.rows.tolist(), records.final, strict=True):
                        state[-(-recorded // every) :] = last  # after an early end
                    keep(kept)
                final[some], status[some] = records.final, [str(s) for s in records.status]
                done[some], deficient[some] = records.steps, records.deficient
            raise_late(halted, [Status(s) for s in status])

        def write(stream: IO[bytes]) -> None:
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                if every:
                    header = {"descr": "<f8", "fortran_order": False, "shape": (n, rows, nq)}
                    with archive.open("state.npy", "w", force_zip64=True) as file:
                        np.lib.format.write_array_header_2_0(file, header)
                        blocks(lambda states: file.write(states.tobytes()))
                else:
                    blocks(lambda _: None)
                for name, array in self._arrays(many()).items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                        np.lib.format.write_array(file, array, allow_pickle=False)

        def many() -> Rollouts:
            time = self.dt * every * np.arange(rows if every else 0, dtype=np.float64)
            return Rollouts(final, final[:, None], time, status, done, deficient, outcome=joined_outcomes(outcomes))

        if out is None:
            blocks(lambda _: None)
        else:
            write_whole(out, write, SimulationError)
        return summary_of(many())

    def sampled(
        self, fit: Fit, ground: Terrain, *, samples: int | None, seed: int, every: int, **options: Any
    ) -> tuple[dict[str, Any], Rollouts]:
        """Samples of the arcs by a fit: numbers for JSON, and the rollouts. options: as of `grouser.rollout`."""
        vehicle, n = self.model.vehicle, len(self.speed)
        if n * self.steps * len(vehicle.actuated) > MOST_COMMANDS:
            raise SimulationError(
                f"--rollouts: commands of {n} arcs of {self.steps} steps do not fit in memory; take fewer"
            )
        options |= {"start": self.place, "dt": self.dt, "every": every or None, "samples": samples, "seed": seed}
        many = rollout(fit, ground, self.commands(), **options)
        spread = many.final_covariance
        known = np.isfinite(spread).all(axis=(1, 2))
        mean = np.sqrt(np.diagonal(spread[known], axis1=1, axis2=2).mean(axis=0)).tolist() if known.any() else None
        numbers = {
            "samples": many.samples,
            "mean_sigma": None if mean is None else mean[:3],
            "mean_yaw_sigma_deg": None if mean is None else float(np.degrees(mean[3])),
        }
        return summary_of(many) | numbers, many

    def _launch(self, low: int, high: int, *, steps: int, threads: int | None, halted: bool = False) -> Records:
        drives, start = [self._bound(i) for i in range(low, high)], np.tile(self.start, (high - low, 1))
        options: dict[str, Any] = {"dt": self.dt, "steps": steps, "threads": threads, "halted": halted}
        options["velocities"] = start_velocity(self.model, self.ground, drives, start, None, self.dt)
        return launch(self.model, self.ground, drives, start, every=int(not halted), detailed=not halted, **options)

    def write(self, many: Rollouts, out: Path) -> None:
        """The file of `run` for samples of the arcs, one row each; speeds and curvatures are repeated."""
        arrays = self._arrays(many) | {"samples": np.array(many.samples)}
        if len(many.time):
            arrays["state"] = many.state
        write_whole(out, lambda stream: np.savez_compressed(stream, **arrays), SimulationError)

    def _arrays(self, many: Rollouts) -> dict[str, Any]:
        """What a file holds besides the states."""
        arrays = {
            "speed": np.repeat(self.speed, many.samples), "curvature": np.repeat(self.curvature, many.samples),
            "final_state": many.final_state, "status": many.status, "steps": many.steps,
        }  # fmt: skip
        if len(many.time):
            arrays["time"] = many.time
        return arrays | {name: one for name, one in vars(many.outcome).items() if one is not None}

    def commands(self) -> FloatArray:
        """Commands of all steps on level ground, (N, T, na) [rad/s or m/s], recorded some arcs at a time."""
        flat, n = plane(), len(self.speed)
        model = Kinematics(self.model.vehicle)
        start = settle(model.vehicle, flat).state
        parts = []
        for low in range(0, n, ARCS_AT_ONCE):
            drives = [self._bound(i) for i in range(low, min(low + ARCS_AT_ONCE, n))]
            starts = np.tile(start, (len(drives), 1))
            steps = self.steps - 1
            records = launch(model, flat, drives, starts, dt=self.dt, steps=steps, every=1, detailed=True)
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


def summary_of(many: Rollouts) -> dict[str, Any]:
    """Where rollouts ended, the worst tilt, tip margin, slip and slide, and means, for JSON."""
    outcome = many.outcome
    assert outcome is not None

    def worst(values: FloatArray, of: Callable[[FloatArray], Any] = np.max) -> float | None:
        known = values[np.isfinite(values)]
        return float(of(known)) if len(known) else None

    tilt, margin = worst(outcome.largest_tilt), worst(outcome.least_tip_margin, np.min)
    begun = many.steps > 0 if many.steps.any() else slice(None)  # not those that Ctrl-C left at their start
    position, yaw = many.final_position[begun], many.final_yaw[begun]
    length = np.clip(np.abs(np.exp(1j * yaw).mean()), 1e-12, 1.0)  # of the mean direction
    return {
        "status": many.counts(),
        "final_position_mean": position.mean(axis=0).tolist(),
        "final_position_std": position.std(axis=0).tolist(),
        "final_yaw_std": float(np.sqrt(-2.0 * np.log(length))),
        "distance_mean": float(outcome.distance.mean()),
        "largest_tilt_deg": None if tilt is None else float(np.degrees(tilt)),
        "least_tip_margin_deg": None if margin is None else float(np.degrees(margin)),
        "tipping": int(np.count_nonzero(outcome.least_tip_margin < 0.0)),
        "largest_slip": worst(outcome.largest_slip),
        "sliding": int(np.count_nonzero(outcome.slid > 0.0)),
        "largest_slide": worst(outcome.slid),
        "energy_mean": None if outcome.energy is None else float(outcome.energy.mean()),
        "underdetermined_steps": int(many.deficient.sum()),
        "steps": int(many.steps.sum()),
    }


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
    known = {str(status) for status in (*OF_ROLLOUT, Status.INTERRUPTED)}
    if not np.isfinite(values["state"]).all() or not np.isfinite(values["time"]).all() or set(values["status"]) - known:
        raise SimulationError(f"{path}: has states that are not finite, or endings that are not known; make it again")
    return Rollouts(**values, deficient=np.zeros(n, dtype=np.int64))
