"""Checks a wheel of `make wheel` as a user meets it: `python release/check_wheel.py dist/grouser-….whl`.

In a fresh environment with an empty home, `grouser simulate` draws a picture, compiles nothing, and takes less than
10 s of CPU. Then a kernel is taken away: it is compiled, and the others are used.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

MOST_BYTES = 40e6
MOST_CPU_SECONDS = 10.0
COUNTED = """
import atexit, json, sys
from grouser._compile import store
from grouser.cli import main

def say():
    counts = {name: getattr(store.Counts, name) for name in ("compiled", "loaded", "shipped", "refused", "not_kept")}
    print(json.dumps(counts | {"why_not": store.why_not_shipped()}))

atexit.register(say)
main()
"""


def main() -> None:
    """Install it, use it, and say what was found."""
    wheel = Path(sys.argv[1]).resolve()
    size = wheel.stat().st_size
    _require(size <= MOST_BYTES, f"{wheel.name} has {size / 1e6:.1f} MB")
    with tempfile.TemporaryDirectory(prefix="grouser-check-") as work:
        place = Path(work)
        venv.create(place / "env", with_pip=True)
        python = str(place / "env" / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True, cwd=place)
        counts, seconds = use(python, place)
        _require(counts["compiled"] == 0, f"kernels were compiled: {counts}")
        _require(counts["loaded"] == counts["shipped"] > 0, f"shipped kernels were not used: {counts}")
        _require(seconds < MOST_CPU_SECONDS, f"simulate took {seconds:.1f} s of CPU")
        shipped = next(place.glob("env/lib/python*/site-packages/grouser/_compile/compiled"))
        for file in shipped.glob("kinematic_rollouts-*"):
            file.unlink()
        less, _ = use(python, place)
        _require(less["compiled"] == 1, f"the missing kernel was not compiled: {less}")
        _require(less["shipped"] == counts["shipped"] - 1, f"the other kernels were not used: {less}")
    print(
        f"{wheel.name}: {size / 1e6:.1f} MB; simulate used {counts['shipped']} shipped kernels, compiled none, "
        f"and took {seconds:.1f} s of CPU"
    )


def use(python: str, place: Path) -> tuple[dict[str, Any], float]:
    """Simulate with an empty home: what happened to kernels, and CPU seconds."""
    with tempfile.TemporaryDirectory(dir=place) as home:
        ours = ("NUMBA", "PYTHON", "GROUSER")
        settings = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        settings |= {"HOME": home, "XDG_CACHE_HOME": f"{home}/cache"}
        before = _cpu_seconds()
        command = [python, "-c", COUNTED, "simulate", "zoe", "--out", f"{home}/run.png"]
        done = subprocess.run(command, check=True, cwd=home, env=settings, stdout=subprocess.PIPE, text=True)
        seconds = _cpu_seconds() - before
        _require(Path(home, "run.png").stat().st_size > 10_000, "the picture is missing")
        return json.loads(done.stdout.splitlines()[-1]), seconds


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _require(fact: bool, otherwise: str) -> None:
    if not fact:
        sys.exit(f"check_wheel: {otherwise}")


if __name__ == "__main__":
    main()
