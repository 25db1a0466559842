"""A process that compiles parts for `grouser warmup`: takes their names from stdin, answers each with a line of JSON.

Python's compiler lock lets one thread compile at a time, so that only processes use all cores.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def main() -> None:
    """Compile until stdin ends."""
    from grouser._compile import watch

    watch.watchers.clear()  # the parent shows how far all is
    spent, compiled, loaded = 0.0, 0, 0  # imports count for the first part
    for line in sys.stdin:
        done = build(line.strip())
        done["compiled"], compiled = done["compiled"] - compiled, done["compiled"]
        done["loaded"], loaded = done["loaded"] - loaded, done["loaded"]
        done["cpu_seconds"], spent = done["cpu_seconds"] - spent, done["cpu_seconds"]
        print(json.dumps(done), flush=True)


def build(part: str) -> dict[str, Any]:
    """Compile a part, or load what is there; what this process did so far, and where code is kept."""
    import numba

    from grouser._compile import store
    from grouser.cli.warmup_parts import PARTS

    if numba.config.DISABLE_JIT:
        store.Counts.not_kept = "NUMBA_DISABLE_JIT is set, so nothing is compiled"
    else:
        PARTS[part]()
    why_not = store.why_not_shipped()
    return {
        "name": part,
        "cpu_seconds": time.process_time(),
        "compiled": store.Counts.compiled,
        "loaded": store.Counts.loaded,
        "cache": str(store.folder()),
        "not_kept": store.Counts.not_kept or None,
        "refused": store.Counts.refused or None,
        "shipped": {"used": not why_not, "why_not": why_not or None, "target": store.generic_target() or None},
    }


if __name__ == "__main__":
    main()
