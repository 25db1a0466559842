"""`grouser check --installation`: versions, processor, threads, and where compiled kernels come from."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from typing import Any

import grouser as gr


def describe() -> tuple[str, dict[str, Any]]:
    """Sentences for people, and the same as numbers."""
    import numba
    import numpy as np

    from grouser._compile import store
    from grouser._compile.fingerprint import target
    from grouser.threads import thread_count

    folder = store.folder()
    sizes = [file.stat().st_size for file in (folder.iterdir() if folder.is_dir() else ()) if file.is_file()]
    why_not, not_kept = store.why_not_shipped(), store.Counts.not_kept
    generic, _ = store.GENERIC.get(platform.machine(), ("", ""))
    has_generic, writable = bool(generic) and store.has_generic_features(), os.access(folder, os.W_OK)
    facts: dict[str, Any] = {
        "grouser": gr.__version__,
        "folder": os.path.dirname(gr.__file__),
        "python": platform.python_version(),
        "numba": numba.__version__,
        "llvmlite": version("llvmlite"),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": target().split(":")[0],
        "generic_processor": generic or None,
        "has_generic_features": has_generic,
        "cores": os.cpu_count() or 1,
        "threads": thread_count(None),
        "cache": {
            "folder": str(folder), "writable": writable, "files": len(sizes), "bytes": sum(sizes),
            "not_kept": not_kept or None,
        },
        "shipped": {"used": not why_not, "why_not": why_not or None, "target": store.generic_target() or None},
        "compiles": not numba.config.DISABLE_JIT,
    }  # fmt: skip
    features = f", {'with' if has_generic else 'without'} the features of {generic}" if generic else ""
    lines = [
        "grouser {grouser} in {folder}".format(**facts),
        "Python {python}, Numba {numba}, llvmlite {llvmlite}, NumPy {numpy}".format(**facts),
        f"{facts['system']}, processor {facts['processor']}{features}",
        f"{_of(facts['cores'], 'core')}; batches run on {_of(facts['threads'], 'thread')}",
        f"No compiled kernels that came with grouser are used: {why_not}."
        if why_not
        else f"Compiled kernels that came with grouser are used, for {generic}.",
        f"Kernels compiled here are kept in {folder}: {_of(len(sizes), 'file')}, {sum(sizes) / 1e6:.1f} MB"
        + ("." if writable else "; it is not writable."),
    ]
    if not_kept:
        lines.append(f"But {not_kept}.")
    if not facts["compiles"]:
        lines.append("NUMBA_DISABLE_JIT is set: kernels run as plain Python, a thousand times slower.")
    elif why_not and not sizes:
        lines.append("Nothing is compiled yet: each part compiles when it is first used; grouser warmup compiles all.")
    return "\n".join(lines), facts


def _of(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
