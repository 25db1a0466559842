"""200,000 kinematic rollouts through a study against one `gr.rollout` of the same, in one run.

`python -m bench.study [--rows N] [--seconds S] [--threads K]` prints the ratio of their times, the overhead of a row
and the largest memory. Times are CPU times of this process, so that other work on the machine changes little.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from typing import Any

import numpy as np

import grouser as gr
from grouser.simulation.drive import level_motion
from grouser.study.run import run_study
from grouser.study.spec import Spec
from grouser.study.variants import Variants


def main() -> None:
    """Measure and print."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--rows", type=int, default=200_000)
    given.add_argument("--seconds", type=float, default=4.0)
    given.add_argument("--threads", type=int, default=None)
    given.add_argument("--vehicle", default="husky")
    chosen = given.parse_args()
    spec = Spec.of(
        {
            "vehicle": chosen.vehicle,
            "ground": "rough:rms=.1,length=1.5,seed=1",
            "drive": {"speed": 0.5},
            "duration": chosen.seconds,
            "dt": 0.04,
            "parameters": {"drive.speed": {"range": [0.1, 1.0]}, "drive.curvature": {"range": [-0.3, 0.3]}},
            "sampling": {"method": "random", "runs": chosen.rows},
            "measures": ["advance", "x", "y", "yaw_deg"],
        }
    )
    study = Variants(spec)
    print(f"{chosen.rows} rollouts of {study.steps} steps, {chosen.vehicle}, chunks of {study.chunk} rows")
    _run(Spec.of({**spec.fields, "sampling": {"method": "random", "runs": 64}}), chosen.threads)  # compiles
    begin = _memory()
    found, through, wall = _run(spec, chosen.threads)
    after = _memory()
    plain, direct = _direct(study, chosen.threads)
    worst = max(float(np.abs(found[name] - plain[:, 4 + k]).max()) for k, name in enumerate("xy"))
    each = 1e6 * direct / (chosen.rows * study.steps)
    print(f"study: {through:.2f} s CPU ({wall:.2f} s), gr.rollout: {direct:.2f} s CPU, {each:.2f} µs a step")
    print(f"speed of the study over that of gr.rollout: {100.0 * direct / through:.1f} %")
    print(f"overhead of the study: {1e6 * (through - direct) / chosen.rows:.2f} µs a row")
    print(f"largest memory: {begin:.0f} MB before, {after:.0f} MB after the study, {_memory():.0f} MB after gr.rollout")
    print(f"largest difference of x and y: {worst:.3g} m")


def _run(spec: Spec, threads: int | None) -> tuple[dict[str, Any], float, float]:
    with tempfile.TemporaryDirectory() as folder:
        began, wall = time.process_time(), time.perf_counter()
        results = run_study(spec, folder + "/out", threads=threads)
        used, passed = time.process_time() - began, time.perf_counter() - wall
        return {name: results.column(name) for name in ("x", "y")}, used, passed


def _direct(study: Variants, threads: int | None) -> tuple[np.ndarray, float]:
    """Final states of one `gr.rollout` of the same rows, and its time; commands are made before."""
    inputs = study.inputs(0, study.rows)
    model, ground = study.model(0, inputs.values[0]), study.ground(0, inputs.values[0])
    speed, curvature = inputs.values.T
    rates = [
        level_motion(model.vehicle, v, 0.0, v * c).rate for v, c in zip(speed.tolist(), curvature.tolist(), strict=True)
    ]
    commands = np.broadcast_to(np.array(rates)[:, None], (len(rates), study.steps, len(rates[0])))
    began = time.process_time()
    many = gr.rollout(model, ground, commands, dt=study.dt, start=(0.0, 0.0, 0.0), threads=threads, outcome=False)
    return many.final_state, time.process_time() - began


def _memory() -> float:
    """Most memory this process has had so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


if __name__ == "__main__":
    main()
