"""Time and memory of a route over large maps: rough fractal ground with soils and keep-outs, made here.

    python bench/route.py                    # 2000 × 2000 and 4000 × 4000 cells
    python bench/route.py --cells 2000

Each map is searched in a process of its own, so that its peak memory is its own. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

CELL = 0.5
"""Side of a cell [m]."""


def fractal(cells: int, seed: int, *, rise: float = 0.035, roughness: float = 2.2) -> Any:
    """Heights [m] of cells × cells with a spectrum that falls with frequency; rise: RMS slope of neighbours."""
    rng = np.random.default_rng(seed)
    noise = np.fft.rfft2(rng.standard_normal((cells, cells)))
    f = np.hypot(np.fft.fftfreq(cells)[:, None], np.fft.rfftfreq(cells)[None])
    f[0, 0] = np.inf
    heights = np.fft.irfft2(noise * f**-roughness, s=(cells, cells))
    slope = np.sqrt(np.mean(np.diff(heights, axis=0) ** 2)) / CELL
    return heights * (rise * 8.0 / slope)


def run(cells: int, seed: int, minimise: str, vehicle: str, alternatives: bool) -> dict[str, Any]:
    """One route from corner to corner; JSON types only."""
    import grouser as gr
    from grouser.plan import lattice

    side = CELL * (cells - 1)
    axis = np.linspace(0.0, side, cells)
    ground = gr.terrain.grid(fractal(cells, seed), axis, axis)
    rng = np.random.default_rng([seed, 1])
    raster = gr.terrain.SoilRaster(
        classes=rng.integers(0, 2, (12, 12)).astype(np.uint8), origin=(0.0, 0.0), cell=side / 12
    )
    ground = gr.terrain.soils(ground, raster, [None, gr.slip.BodySlip([-0.3, -0.1, -0.2, 0.0, 0.0, 0.0])])
    circles = [(*rng.uniform(0.1 * side, 0.9 * side, 2), rng.uniform(0.01, 0.04) * side) for _ in range(40)]
    circles = [one for one in circles if min(abs(one[0] - one[1]) + one[0], 2 * side - one[0] - one[1]) > 0.15 * side]
    keep_out = gr.plan.KeepOut.circles(circles, (0.0, side, 0.0, side), cell=2.0)
    model = gr.Kinematics(gr.vehicle(vehicle))
    gr.plan.route(
        model, gr.terrain.rough(rms=0.1, length=2.0, seed=1), (-5, -5), (5, 5), alternatives=False
    )  # compiles
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    made: list[Any] = []
    own = lattice.Lattice.__init__

    def kept(self: Any, *args: Any, **options: Any) -> None:
        made.append(self)
        own(self, *args, **options)

    lattice.Lattice.__init__ = kept  # type: ignore[method-assign]
    steps: list[tuple[int, int]] = []
    began, cpu = time.perf_counter(), time.process_time()
    way = gr.plan.route(
        model, ground, (0.03 * side, 0.03 * side), (0.97 * side, 0.97 * side), minimise=minimise,
        keep_out=keep_out, alternatives=alternatives, progress=lambda done, of: steps.append((done, of)),
    )  # fmt: skip
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    return {
        "cells": cells, "seed": seed, "minimise": minimise, "vehicle": vehicle, "alternatives": alternatives,
        "places": list(made[0].shape), "spacing": made[0].spacing,
        "seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2),
        "peak_MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0),
        "peak_before_MB": round(before), "nodes_expanded": made[0].expanded,
        "progress_reports": len(steps), "progress_grows": all(a[0] < b[0] for a, b in zip(steps, steps[1:])),  # noqa: B905, RUF007
        "reached": way.reached, "reason": way.reason, "distance": way.distance, "duration": way.duration,
        "energy": way.energy, "risk": way.risk, "cost": way.summary()["cost"],
        "refused": [str(one) for one in way.refused],
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="*", default=[2000, 4000], help="cells along a side")
    parser.add_argument("--minimise", default="energy", choices=["energy", "time", "risk"])
    parser.add_argument("--vehicle", default="zoe")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--alternatives", action="store_true", help="the best ways for the other two as well")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        print(json.dumps(run(given.cells[0], given.seed, given.minimise, given.vehicle, given.alternatives)))
    else:
        rows = []
        for cells in given.cells:
            command = [sys.executable, __file__, "--worker", "--cells", str(cells), "--minimise", given.minimise]
            command += ["--vehicle", given.vehicle, "--seed", str(given.seed)]
            command += ["--alternatives"] if given.alternatives else []
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            rows.append(json.loads(done.stdout))
        print(json.dumps({"routes": rows}, indent=2))
