"""`grouser warmup`: compile kernels ahead of their first use, on all cores."""

from __future__ import annotations

import json
import os
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Annotated, Any

import typer

from grouser.cli import console
from grouser.cli.values import option
from grouser.cli.warmup_parts import FAMILIES, PARTS
from grouser.errors import GrouserError
from grouser.study.child import Child
from grouser.study.executor import Failure, Work

BUILD = "grouser.cli.warmup_parts:build"
"""What runs in the processes that compile."""
EXAMPLES = ("", "--part kinematics --part dynamics --json")


def warmup(
    part: Annotated[
        list[str] | None,
        option(f"Only this part; may be repeated. Parts are {', '.join(PARTS)}.", "--part", metavar="NAME"),
    ] = None,
    jobs: Annotated[int | None, option("Processes at once; default: all cores.", metavar="N")] = None,
    as_json: console.Json = False,
) -> None:
    """Compile all kernels now, so that later commands start at once.

    Once per machine and version is enough: compiled kernels are kept, also for other clones and environments.
    """
    began = time.monotonic()
    for name in part or ():
        if name not in PARTS:
            raise GrouserError(f"--part: no part {name!r:.40}; parts are {', '.join(PARTS)}")
    wanted = [name for name in PARTS if not part or name in part]
    if jobs is not None and jobs < 1:
        raise GrouserError(f"--jobs: {jobs} is not a whole number above 0")
    try:
        parts = _build(wanted, min(jobs or os.cpu_count() or 1, len(wanted)))
    except GrouserError as error:
        console.fail(str(error))
    numbers = ("cpu_seconds", "compiled", "loaded")
    result = {
        "parts": [{"name": one["name"], **{key: round(one[key], 2) for key in numbers}} for one in parts],
        "cpu_seconds": round(sum(os.times()[:4]), 2),
        "seconds": round(time.monotonic() - began, 2),
        "cache": parts[0]["cache"],
        "compiled": sum(one["compiled"] for one in parts),
        "loaded": sum(one["loaded"] for one in parts),
        "shipped": parts[0]["shipped"],
        **{key: next((one[key] for one in parts if one[key]), None) for key in ("not_kept", "refused")},
    }
    console.emit(result, as_json, _print)


def _build(wanted: list[str], jobs: int) -> list[dict[str, Any]]:
    """Each process takes the next part until none is left; what they answered, in the order of `wanted`."""
    plan, done = Plan(wanted), dict[str, dict[str, Any]]()
    workers = [Child(Work({"parts": wanted}, BUILD)) for _ in range(jobs)]

    def work(worker: Child) -> None:
        mine: set[int] = set()
        while (part := plan.take(mine)) is not None:
            found = worker.run(wanted.index(part))
            if isinstance(found, Failure):
                raise GrouserError(f"compiling {part} failed: {found.reason}")
            done[part] = one = json.loads(found)
            said = f"{part}, {one['cpu_seconds']:.1f} CPU s" if one["compiled"] else f"{part}: compiled before"
            console.remark(f"{len(done)} of {len(wanted)}: {said}")

    with ThreadPoolExecutor(jobs) as pool:
        try:
            ended, _ = wait([pool.submit(work, worker) for worker in workers], return_when=FIRST_EXCEPTION)
            for one in ended:
                one.result()
        finally:
            for worker in workers:
                worker.close()
    return [done[name] for name in wanted]


class Plan:
    """Which part a process compiles next."""

    def __init__(self, wanted: list[str]) -> None:
        self._families = [[part.__name__ for part in family if part.__name__ in wanted] for family in FAMILIES]
        self._begun: set[int] = set()
        self._lock = threading.Lock()

    def take(self, mine: set[int]) -> str | None:
        """Of a family that the process has begun, which are `mine`; else of one that no process has; else of any."""
        with self._lock:
            waiting = [k for k, family in enumerate(self._families) if family]
            if not waiting:
                return None
            k = min(waiting, key=lambda k: (k not in mine, k in self._begun))
            mine.add(k)
            self._begun.add(k)
            return self._families[k].pop(0)


def _print(result: dict[str, Any]) -> None:
    kernels = f"{result['compiled']} compiled, {result['loaded']} loaded"
    typer.echo(f"ready after {result['seconds']:.1f} s ({result['cpu_seconds']:.1f} CPU s): {kernels}")
    typer.echo(f"compiled kernels are kept in {result['cache']}")
    why_not = result["shipped"]["why_not"]
    typer.echo(f"machine code shipped with grouser is {'used' if not why_not else f'not used: {why_not}'}")
    for trouble in (result["not_kept"], result["refused"]):
        if trouble:
            typer.echo(trouble)
