"""Time MPPI of Grouser, in 3D on rough ground, and pytorch-mppi with its planar unicycle in the same run.

    python -m venv /tmp/torch && /tmp/torch/bin/pip install torch pytorch-mppi
    python bench/planning.py --torch /tmp/torch/bin/python

pytorch-mppi runs in a process of its own, with the interpreter that has it. Both are asked in turn, round by round; the
ratios are of the rounds. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__)
SIZES = ((1000, 35), (2000, 56))
"""Samples and steps."""
DT = 0.08
THREADS = (1, 2)
MISSING = "pytorch-mppi is not installed there (pip install torch pytorch-mppi): not compared"


def clocks() -> tuple[float, float]:
    """Wall time and CPU time of this process [s]."""
    return time.perf_counter(), time.process_time()


def since(began: tuple[float, float]) -> tuple[float, float]:
    """Wall and CPU time [s] that has passed."""
    wall, cpu = clocks()
    return wall - began[0], cpu - began[1]


def torch_worker() -> None:
    """Answer lines `samples steps threads` with wall and CPU time of one pytorch-mppi command; the first warms up."""
    try:
        import torch
        from pytorch_mppi import MPPI
    except ImportError:
        print(json.dumps({"missing": True}), flush=True)
        return
    from importlib.metadata import version

    goal = torch.tensor([8.0, 3.0])

    def unicycle(state: Any, command: Any) -> Any:
        x, y, yaw = state[:, 0], state[:, 1], state[:, 2]
        v, w = command[:, 0], command[:, 1]
        return torch.stack([x + DT * v * torch.cos(yaw), y + DT * v * torch.sin(yaw), yaw + DT * w], dim=1)

    def cost(state: Any, command: Any) -> Any:
        return torch.linalg.vector_norm(state[:, :2] - goal, dim=1)

    print(json.dumps({"torch": torch.__version__, "pytorch_mppi": version("pytorch_mppi")}), flush=True)
    made: dict[tuple[int, int], Any] = {}
    start = torch.zeros(3)
    sigma = torch.diag(torch.tensor([0.12, 0.1]))
    most = torch.tensor([1.0, 0.8])
    for line in sys.stdin:
        samples, steps, threads = map(int, line.split())
        torch.set_num_threads(threads)
        with torch.no_grad():
            if (samples, steps) not in made:
                made[samples, steps] = MPPI(
                    unicycle, cost, 3, sigma, num_samples=samples, horizon=steps, lambda_=0.1, u_min=-most, u_max=most
                )
                made[samples, steps].command(start)
            began = clocks()
            made[samples, steps].command(start)
            print(*since(began), flush=True)


class Torch:
    """pytorch-mppi in its own process."""

    def __init__(self, python: str) -> None:
        self.process = subprocess.Popen(
            [python, str(HERE), "--torch-worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.asks, self.answers = self.process.stdin, self.process.stdout
        self.versions: dict[str, Any] = json.loads(self.answers.readline() or '{"missing": true}')

    def seconds(self, samples: int, steps: int, threads: int) -> tuple[float, float]:
        """Wall and CPU time of one command."""
        print(samples, steps, threads, file=self.asks, flush=True)
        wall, cpu = map(float, self.answers.readline().split())
        return wall, cpu

    def close(self) -> None:
        """End the process."""
        self.asks.close()
        self.process.wait()


def measure(python: str, *, rounds: int = 11, sizes: tuple[tuple[int, int], ...] = SIZES) -> dict[str, Any]:
    """Medians of the wall time of a command, and of the ratios of the rounds; JSON types only."""
    from grouser.bench import machine
    from grouser.bench.benchmark import commands
    from grouser.bench.engine import BATCHES

    torch = Torch(python)
    compared = not torch.versions.get("missing")
    cases = []
    for samples, steps in sizes:
        for case in BATCHES:
            works = commands(case, samples=samples, steps=steps, dt=DT, threads=THREADS)
            cases += [(case.about()["model"], samples, steps, work.threads, work.run) for work in works]
    ours: list[list[tuple[float, float]]] = [[] for _ in cases]
    theirs: list[list[tuple[float, float]]] = [[] for _ in cases]
    before = os.getloadavg()[0]
    for _ in range(rounds):
        for i, (_, samples, steps, threads, run) in enumerate(cases):
            if compared:
                theirs[i].append(torch.seconds(samples, steps, threads))
            began = clocks()
            run()
            ours[i].append(since(began))
    after = os.getloadavg()[0]
    torch.close()
    rows = []
    for (model, samples, steps, threads, _), own, other in zip(cases, ours, theirs, strict=True):
        seconds, cpu = (statistics.median(one) for one in zip(*own, strict=True))
        row: dict[str, Any] = {
            "model": model, "samples": samples, "steps": steps, "dt": DT, "threads": threads,
            "seconds": round(seconds, 5), "cpu_seconds": round(cpu, 5), "hertz": round(1.0 / seconds, 2),
            "steps_per_second": round(samples * steps / seconds),
        }  # fmt: skip
        if compared:
            wall, cpu = (statistics.median(one) for one in zip(*other, strict=True))
            row["pytorch_mppi_seconds"], row["pytorch_mppi_cpu_seconds"] = round(wall, 5), round(cpu, 5)
            row["pytorch_mppi_steps_per_second"] = round(samples * steps / wall)
            for k, name in enumerate(("ratio", "cpu_ratio")):
                row[name] = round(statistics.median(b[k] / a[k] for a, b in zip(own, other, strict=True)), 3)
        rows.append(row)
    said = {} if compared else {"not_compared": MISSING}
    versions = torch.versions if compared else {}
    return {
        "machine": {**machine(), **versions},
        "load_average": [round(before, 2), round(after, 2)],
        "rounds": rounds,
        **said,
        "planning": rows,
        "notes": "ratio: time of pytorch-mppi's planar unicycle with a distance as cost over that of Grouser's vehicle "
        "in 3D on rough ground with tip margin and command rate as costs; above 1 Grouser is faster. On a machine that "
        "does other work, cpu_ratio on one thread is what can be compared: with two, torch waits by spinning",
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--torch", default=sys.executable, help="interpreter that has torch and pytorch-mppi")
    parser.add_argument("--rounds", type=int, default=11, help="timings of each case")
    parser.add_argument("--torch-worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.torch_worker:
        torch_worker()
    elif given.rounds < 1:
        parser.error(f"--rounds: {given.rounds} is not at least 1")
    else:
        print(json.dumps(measure(given.torch, rounds=given.rounds), indent=2, allow_nan=False))
