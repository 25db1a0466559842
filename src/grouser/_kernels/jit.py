"""How every kernel is compiled, and where its machine code is kept.

Numba's cache notices neither an edited callee nor changed flags, so the kernels of a module are cached in a folder
named by a hash of all that decides their machine code: its source and those of the modules it imports, versions,
flags and processor.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import llvmlite
import llvmlite.binding
import numba

# Plain fastmath=True would assume that no number is NaN, and isnan() would lie.
FLAGS = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz", "arcp"}}


_SOURCES = Path(__file__).parent
_IMPORT = re.compile(r"^from grouser\._kernels(?:\.(\w+) import|\s+import \(?([\w\s,]+))", re.MULTILINE)
_LAYOUT = re.compile(r"^class \w+\(NamedTuple\):\n(?:(?: .*)?\n)+", re.MULTILINE)
_FIELD = re.compile(r"^    (\w+):", re.MULTILINE)


@cache
def _source(module: str) -> str:
    return (_SOURCES / f"{module}.py").read_text(encoding="utf-8")


@cache
def _imports(module: str) -> frozenset[str]:
    """The kernel modules that a kernel module names in its imports, itself included."""
    found = {module}
    for one, several in _IMPORT.findall(_source(module)):
        found.update([one] if one else [name.split(" as ")[0].strip() for name in several.split(",")])
    return frozenset(name for name in found if (_SOURCES / f"{name}.py").exists())


def _sources_of(modules: frozenset[str]) -> frozenset[str]:
    """These kernel modules and all they import, directly or not."""
    while True:
        reached = frozenset().union(*(_imports(module) for module in modules))
        if reached == modules:
            return modules
        modules = reached


@cache
def _layouts() -> list[str]:
    """The NamedTuples of all kernels: a kernel may take one whose module it does not import."""
    return [layout for source in sorted(_SOURCES.glob("*.py")) for layout in _LAYOUT.findall(_source(source.stem))]


def _fingerprint(modules: frozenset[str]) -> str:
    text = "\0".join(f"{module}\0{_source(module)}" for module in sorted(modules))
    taken = [one for one in _layouts() if any(f".{field}" in text for field in _FIELD.findall(one))]
    # Numba finds cached code by the path of its source, so another copy of the package compiles anew.
    digest = hashlib.sha256("\0".join([str(_SOURCES), text, *taken]).encode())
    features = llvmlite.binding.get_host_cpu_features().flatten()
    settings = repr((sorted(FLAGS["fastmath"]), numba.config.BOUNDSCHECK, numba.config.OPT))
    for part in (sys.version, numba.__version__, llvmlite.__version__, features, settings):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:16]


def _writable_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    for root in (os.environ.get("GROUSER_CACHE_DIR"), os.path.join(home, "grouser")):
        if root is None:
            continue
        folder = Path(root) / "kernels"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    # A folder of our own, not a guessable shared one: cached machine code must not come from another user.
    return Path(tempfile.mkdtemp(prefix="grouser-"))


CACHE_FOLDER = _writable_folder()
"""Where compiled kernels are kept; $GROUSER_CACHE_DIR moves it."""


FINGERPRINT = _fingerprint(frozenset(source.stem for source in _SOURCES.glob("*.py")))
"""Of all kernels together."""


@cache
def _folder_of(module: str) -> str:
    """Where the kernels of a module are cached; a law from outside the kernels depends on all of them."""
    own = module.rpartition(".")[2] if module.startswith("grouser._kernels.") else ""
    mark = _fingerprint(_sources_of(frozenset([own]))) if own else FINGERPRINT
    return str(CACHE_FOLDER / f"{own or 'other'}-{mark}")


@contextmanager
def _cached_for(function) -> Iterator[None]:
    """Point Numba's cache at the folder of a function's module while it is being decorated, and only then."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _folder_of(function.__module__)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def kernel(function):
    """Compile a function called from other kernels. It cannot allocate.

    Without Numba's reference counts: a function with branches would count the forty arrays of vehicle and scratch
    up and down at every call, which costs more than half a microsecond.
    """
    with _cached_for(function):
        return numba.njit(cache=True, _nrt=False, **FLAGS)(function)


def inlined(function):
    """As `kernel`, compiled into its callers."""
    with _cached_for(function):
        return numba.njit(cache=True, _nrt=False, forceinline=True, **FLAGS)(function)


def allocating(function):
    """Compile a function called from entries that makes arrays."""
    with _cached_for(function):
        return numba.njit(cache=True, **FLAGS)(function)


def entry(function):
    """Compile a function called from Python; the GIL is released while it runs."""
    with _cached_for(function):
        return numba.njit(cache=True, nogil=True, **FLAGS)(function)


def exact_entry(function):
    """As `entry`, without the liberties of the other kernels: for where the last bit counts."""
    with _cached_for(function):
        return numba.njit(cache=True, nogil=True, error_model="numpy")(function)


def parallel_entry(function):
    """Compile a function called from Python whose prange loop runs on all cores."""
    with _cached_for(function):
        return numba.njit(cache=True, nogil=True, parallel=True, **FLAGS)(function)


def compile_law(function, signature, *, cached: bool):
    """Compile a C function with the signature of a law (see `law.py`)."""
    with _cached_for(function):
        return numba.cfunc(signature, cache=cached, **FLAGS)(function)
