"""What decides the bits of a result: versions of Grouser and of what it computes with, and the kind of processor."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from grouser._version import __version__

PACKAGES = ("numpy", "numba", "llvmlite", "scipy")
MACHINE_CODE = "machine code"


@cache
def installation() -> dict[str, str]:
    """Versions by name, that of Grouser with a digest of its sources."""
    found = {"grouser": f"{__version__} (sources {_sources()})", "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found | {MACHINE_CODE: _machine_code()}


def difference(here: Mapping[str, str], there: Mapping[str, str]) -> str:
    """What another installation has and what is here, in words; empty if they are alike."""
    other = [name for name in here if here[name] != there.get(name)]
    return " and ".join(f"{name} {there.get(name, 'missing')}, here it is {here[name]}" for name in other[:2])


def _sources() -> str:
    root = Path(__file__).parents[1]
    digest = sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:8]


def _machine_code() -> str:
    """The processor that kernels are compiled for: others add and multiply in another order."""
    from grouser._compile.fingerprint import target
    from grouser._compile.store import generic_target, why_not_shipped

    made_for = target() if why_not_shipped() else generic_target()
    name, _, features = made_for.partition(":")
    return f"for {name} ({sha256(features.encode()).hexdigest()[:6]})"
