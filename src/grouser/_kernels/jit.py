"""How every kernel is compiled, and where its machine code is kept.

Numba's cache notices neither an edited callee nor changed flags, so kernels are cached in a folder named by a hash
of all that decides their machine code: the kernel sources, versions, flags and processor.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import llvmlite
import llvmlite.binding
import numba

# Plain fastmath=True would assume that no number is NaN, and isnan() would lie.
FLAGS = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz", "arcp"}}


def _fingerprint() -> str:
    # Numba finds cached code by the path of its source, so another copy of the package compiles anew.
    digest = hashlib.sha256(str(Path(__file__).parent).encode() + b"\0")
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    features = llvmlite.binding.get_host_cpu_features().flatten()
    settings = repr((sorted(FLAGS["fastmath"]), numba.config.BOUNDSCHECK, numba.config.OPT))
    for part in (sys.version, numba.__version__, llvmlite.__version__, features, settings):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:16]


def _writable_folder() -> Path:
    name = f"kernels-{_fingerprint()}"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    for root in (os.environ.get("GROUSER_CACHE_DIR"), os.path.join(home, "grouser")):
        if root is None:
            continue
        folder = Path(root) / name
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


@contextmanager
def _cached_here() -> Iterator[None]:
    """Point Numba's cache at our folder while a function is being decorated, and only then."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE_FOLDER)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def kernel(function):
    """Compile a function called from other kernels. It cannot allocate.

    Without Numba's reference counts: a function with branches would count the forty arrays of vehicle and scratch
    up and down at every call, which costs more than half a microsecond.
    """
    with _cached_here():
        return numba.njit(cache=True, _nrt=False, **FLAGS)(function)


def inlined(function):
    """As `kernel`, compiled into its callers."""
    with _cached_here():
        return numba.njit(cache=True, _nrt=False, forceinline=True, **FLAGS)(function)


def allocating(function):
    """Compile a function called from entries that makes arrays."""
    with _cached_here():
        return numba.njit(cache=True, **FLAGS)(function)


def entry(function):
    """Compile a function called from Python; the GIL is released while it runs."""
    with _cached_here():
        return numba.njit(cache=True, nogil=True, **FLAGS)(function)


def parallel_entry(function):
    """Compile a function called from Python whose prange loop runs on all cores."""
    with _cached_here():
        return numba.njit(cache=True, nogil=True, parallel=True, **FLAGS)(function)


def compile_law(function, signature, *, cached: bool):
    """Compile a C function with the signature of a law (see `law.py`)."""
    with _cached_here():
        return numba.cfunc(signature, cache=cached, **FLAGS)(function)
