"""Costs of chunks on a Dask cluster on loopback: of a task that does nothing, of moving bytes, of starting.

`python -m bench.fleet [--chunks N]` starts a scheduler and two workers of one thread, and prints what it measures, with
the load of the machine. Processor times are sums over a process, so that other work on the machine changes little.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grouser.study.executor import RUN_CHUNK, Work, run_chunks
from grouser.study.spec import Spec
from tests.study.dask_here import Cluster

NOTHING = "bench.fleet:nothing"


def nothing(manifest: Mapping[str, Any], index: int, threads: int) -> bytes:
    """A chunk that does nothing but give so many bytes."""
    return bytes(manifest["bytes"])


def main() -> None:
    """Measure and print."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--chunks", type=int, default=500)
    chosen = given.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder))
        cluster.start()
        try:
            _measure(cluster, chosen.chunks)
        finally:
            cluster.close()
    print(f"load {os.getloadavg()[0]:.1f} at the end")


def _measure(cluster: Cluster, chunks: int) -> None:
    _timed("first chunk: connecting, versions, a process per worker", {"bytes": 0}, 2, cluster)
    _timed("no-op chunks", {"bytes": 0}, chunks, cluster)
    _timed("no-op chunks, manifest of 20 kB", {"bytes": 0, "more": "x" * 20_000}, chunks, cluster)
    _timed("chunks of 1 MB", {"bytes": 1_000_000}, max(chunks // 10, 4), cluster)
    _timed("no-op chunks in one isolated process", {"bytes": 0}, chunks, None)
    spec = Spec.of(
        {
            "vehicle": "husky", "ground": "rough:rms=.1,length=1.5,seed=1", "drive": {"speed": 0.5}, "duration": 4.0,
            "dt": 0.04, "sampling": {"method": "random", "runs": 20_000, "chunk": 2500},
            "parameters": {"drive.speed": {"range": [0.1, 1.0]}, "drive.curvature": {"range": [-0.3, 0.3]}},
            "measures": ["advance", "x", "y", "yaw_deg"],
        }
    )  # fmt: skip
    manifest = spec.manifest()
    here = _timed("2500 kinematic rollouts of 100 steps a chunk, in this process", manifest, 8, None, RUN_CHUNK)
    there = _timed("the same on two workers", manifest, 8, cluster, RUN_CHUNK)
    assert here == there
    print(f"the same bytes; {sum(map(len, here.values())) / 20_000:.0f} bytes a row")


def _timed(
    name: str, manifest: Mapping[str, Any], chunks: int, cluster: Cluster | None, function: str = NOTHING
) -> dict[int, Any]:
    address, isolate = (None if cluster is None else cluster.address), cluster is None and function == NOTHING
    pids = [] if cluster is None else [cluster.scheduler, *cluster.workers]
    work, first = Work(manifest, function), 0.0
    if function != NOTHING:
        list(run_chunks(work, [0], threads=1))  # compiles
    mine, theirs, began = time.process_time(), [_used(one.pid) for one in pids], time.perf_counter()
    children = _children()
    found = {}
    for index, data in run_chunks(work, range(chunks), threads=1, scheduler=address, isolate=isolate):
        first = first or time.perf_counter() - began
        found[index] = data
    wall = time.perf_counter() - began
    cpu = {"client": time.process_time() - mine}
    if isolate:
        cpu["child"] = _children() - children
    for label, one, before in zip(("scheduler", "worker", "worker"), pids, theirs, strict=False):
        cpu[label] = cpu.get(label, 0.0) + _used(one.pid) - before
    said = ", ".join(f"{label} {1e3 * used / chunks:.2f}" for label, used in cpu.items())
    rest = 1e3 * (wall - first) / max(chunks - 1, 1)
    took = f"{chunks} chunks in {wall:.2f} s, first after {first:.2f} s, then {rest:.2f} ms each"
    print(f"{name}: {took}; CPU ms each: {said}", flush=True)
    return found


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _used(pid: int) -> float:
    """Processor time [s] of a process, with that of children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
