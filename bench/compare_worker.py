"""One version of Grouser in a process of its own, which `compare.py` asks to prepare and to time cases.

A question is a line of JSON, {"do": "prepare" or "time", "case": NAME}, and so is each answer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from compare_cases import CASES, Case, Timed

REST = 0.05
"""Pause after work on several threads [s], as in `grouser.bench.rounds`, which an older version does not have."""


def about() -> dict[str, Any]:
    """Which version this is."""
    import grouser

    return {"package": os.path.dirname(grouser.__file__ or ""), "version": getattr(grouser, "__version__", "unknown")}


def prepare(case: Case) -> Timed:
    """Make a case ready and run it once."""
    timed = case.make()
    timed.begin()
    timed.run()
    return timed


def measure(case: Case, timed: Timed) -> dict[str, float]:
    """Least CPU and wall time [s] of a few runs, and the units of work of one."""
    cpu, wall, units = [], [], 0
    for _ in range(case.repeats):
        timed.begin()
        # CPU time of the process: the engine may work on a thread of its own even where it uses only one.
        began = time.process_time(), time.perf_counter()
        units = timed.run()
        ended = time.process_time(), time.perf_counter()
        cpu.append(ended[0] - began[0])
        wall.append(ended[1] - began[1])
    if case.threads > 1:
        time.sleep(REST)
    return {"cpu": min(cpu), "wall": min(wall), "units": units}


def main() -> None:
    """Answer each line of stdin with one line; what Grouser prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(value: dict[str, Any]) -> None:
        print(json.dumps(value), file=answers, flush=True)

    ready: dict[str, Timed] = {}
    answer(about())
    for line in sys.stdin:
        asked = json.loads(line)
        name = asked["case"]
        try:
            if asked["do"] == "prepare":
                ready[name] = prepare(CASES[name])
                answer({})
            else:
                answer(measure(CASES[name], ready[name]))
        except Exception as error:  # a version may lack anything
            answer({"error": f"{type(error).__name__}: {error}".partition("\n")[0]})


if __name__ == "__main__":
    main()
