"""`grouser check --installation`: versions, processor, threads, and where compiled kernels come from."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from typing import Any


def describe() -> tuple[str, dict[str, Any]]:
    """Sentences for people, and the same as numbers."""
    facts = _facts()
    return _words(facts), facts


def _facts() -> dict[str, Any]:
    import numba
    import numpy as np

    import grouser
    from grouser._compile import store
    from grouser._compile.fingerprint import target
    from grouser.threads import thread_count

    folder = store.folder()
    files = folder.iterdir() if folder.is_dir() else ()
    sizes = [file.stat().st_size for file in files if file.is_file()]
    why_not = store.why_not_shipped()
    generic, _ = store.GENERIC.get(platform.machine(), ("", ""))
    return {
        "grouser": grouser.__version__,
        "folder": os.path.dirname(grouser.__file__),
        "python": platform.python_version(),
        "numba": numba.__version__,
        "llvmlite": version("llvmlite"),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": target().split(":")[0],
        "generic_processor": generic or None,
        "has_generic_features": bool(generic) and store.has_generic_features(),
        "cores": os.cpu_count() or 1,
        "threads": thread_count(None),
        "cache": {
            "folder": str(folder),
            "writable": os.access(folder, os.W_OK),
            "files": len(sizes),
            "bytes": sum(sizes),
            "not_kept": store.Counts.not_kept or None,
        },
        "shipped": {"used": not why_not, "why_not": why_not or None, "target": store.generic_target() or None},
        "compiles": not numba.config.DISABLE_JIT,
    }


def _words(facts: dict[str, Any]) -> str:
    cache, shipped = facts["cache"], facts["shipped"]
    lines = [
        f"grouser {facts['grouser']} in {facts['folder']}",
        f"Python {facts['python']}, Numba {facts['numba']}, llvmlite {facts['llvmlite']}, NumPy {facts['numpy']}",
        f"{facts['system']}, processor {facts['processor']}{_generic(facts)}",
        f"{_of(facts['cores'], 'core')}; batches run on {_of(facts['threads'], 'thread')}",
    ]
    if shipped["used"]:
        lines.append(f"Compiled kernels that came with grouser are used, for {facts['generic_processor']}.")
    else:
        lines.append(f"No compiled kernels that came with grouser are used: {shipped['why_not']}.")
    lines.append(
        f"Kernels compiled here are kept in {cache['folder']}: {_of(cache['files'], 'file')}, "
        f"{cache['bytes'] / 1e6:.1f} MB{'' if cache['writable'] else '; it is not writable'}."
    )
    if cache["not_kept"]:
        lines.append(f"But {cache['not_kept']}.")
    if not facts["compiles"]:
        lines.append("NUMBA_DISABLE_JIT is set: kernels run as plain Python, a thousand times slower.")
    elif not shipped["used"] and not cache["files"]:
        lines.append("Nothing is compiled yet: each part compiles when it is first used; grouser warmup compiles all.")
    return "\n".join(lines)


def _generic(facts: dict[str, Any]) -> str:
    if facts["generic_processor"] is None:
        return ""
    return f", {'with' if facts['has_generic_features'] else 'without'} the features of {facts['generic_processor']}"


def _of(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
