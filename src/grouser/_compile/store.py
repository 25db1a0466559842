"""Where machine code is kept: one file for each entry and law, named by the digest of all that decides its code.

Looked for in the folder that came with the package (for a generic processor, `x86-64-v3`), then in the user's. Nothing
that is wrong with a file is more than a reason to compile: one cut short, of another user, or not writable.
"""

import contextlib
import hashlib
import os
import pickle
import platform
import re
import time
import uuid
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from grouser._compile import alone, watch
from grouser._compile.fingerprint import CallTree, name_of, target, versions

SHIPPED = Path(__file__).parent / "compiled"
"""Machine code that came with the package; only a wheel built by `make wheel` has it."""
GENERIC = {
    "x86_64": ("x86-64-v3", "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 sse4.2 ssse3 xsave"),
    "aarch64": ("generic", "neon"),
}
"""Processor that shipped code is made for, and the features it needs."""
_MAGIC = b"grouser kernel 1\n"
_OURS = re.compile(r".+-[0-9a-f]{32}(\.[0-9a-f]{12})?")
_MOST_BYTES, _UNUSED_SECONDS = 200e6, 180 * 86400.0


def generic_target() -> str:
    """The target of shipped code, as `target()` says it; empty if this kind of machine has none."""
    name, features = GENERIC.get(platform.machine(), ("", ""))
    return f"{name}:{','.join('+' + one for one in features.split())}" if name else ""


def has_generic_features() -> bool:
    """Whether this processor has what shipped code needs."""
    features = llvm.get_host_cpu_features()
    return all(features.get(one) for one in GENERIC[platform.machine()][1].split())


@cache
def why_not_shipped() -> str:
    """Why the code that came with the package is not used, in a sentence; empty if it is."""
    if numba.config.DISABLE_JIT:
        return "NUMBA_DISABLE_JIT=1 runs kernels as plain Python"
    try:
        made_for = (SHIPPED / "versions.txt").read_text(encoding="utf-8").split()
    except OSError:
        return "this installation came without compiled kernels, as a clone or a plain wheel does"
    for name in ("CPU_NAME", "CPU_FEATURES"):
        if getattr(numba.config, name) is not None:
            return f"NUMBA_{name}={getattr(numba.config, name)} asks for another processor"
    if not generic_target():
        return f"they were not made for {platform.machine()} processors"
    if not has_generic_features():
        return f"this processor lacks some instructions of {GENERIC[platform.machine()][0]}"
    here = versions().split()
    if made_for != here:
        other = " ".join(one for one in made_for if one not in here)
        return f"they were made for {other}, and this is {' '.join(one for one in here if one not in made_for)}"
    return ""


@cache
def folder() -> Path:
    """Where this user's machine code is kept; $GROUSER_CACHE_DIR moves it. It may be missing or read-only."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    roots = [os.path.expanduser(os.environ.get("GROUSER_CACHE_DIR", "")), os.path.join(home, "grouser")]
    places = [Path(root).absolute() / "kernels" for root in roots if root and not root.startswith("~")]
    for place in places:
        with contextlib.suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            if os.access(place, os.W_OK):
                return place
    places.append(Path(os.devnull) / "kernels")  # for a user without a home
    Counts.not_kept = f"compiled kernels cannot be kept, as {places[0]} is not writable; every process compiles again"
    # Code that cannot be written can still be read, as from a layer of a container.
    return next((place for place in places if place.is_dir()), places[0])


class Counts:
    """What happened to kernels in this process."""

    loaded = 0
    """Entries and laws whose machine code was found."""
    shipped = 0
    """Those of them that came with the package."""
    compiled = 0
    """Entries and laws compiled."""
    not_kept = ""
    """Why compiled code could not be kept, in a sentence."""
    refused = ""
    """Why a file was not used, in a sentence."""


def _read(path: Path, *owners: int) -> memoryview | None:
    """What `_write` wrote, or None; it must belong to this user, root or one of the owners."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_uid not in (os.getuid(), 0, *owners) or status.st_mode & 0o002:
                Counts.refused = f"{path} belongs to another user or is writable by all, and is not used"
                return None
            data = file.read()
    except OSError:
        return None
    start = len(_MAGIC) + 32
    if data[: len(_MAGIC)] != _MAGIC or hashlib.sha256(data[start:]).digest() != data[len(_MAGIC) : start]:
        Counts.refused = f"{path} is damaged, and is not used"
        return None
    return memoryview(data)[start:]


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not writable by others even where the umask would let them: such a file would be refused.
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
            file.write(_MAGIC + hashlib.sha256(data).digest() + data)
        os.replace(temporary, path)
    except OSError as error:
        Counts.not_kept = f"compiled kernels could not be kept in {path.parent} ({error.strerror}); they compile again"
        with contextlib.suppress(OSError):
            temporary.unlink()


def _mark_used(path: Path) -> None:
    """Renew the time of a file once a day; access times are often not kept."""
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > 86400.0:
            os.utime(path)


def _prune(place: Path) -> None:
    """Where files take more than 200 MB, remove those unused for 180 days; whoever is about to read one compiles."""
    with contextlib.suppress(OSError):
        files = {path: path.stat() for path in place.iterdir() if _OURS.fullmatch(path.name)}
        if sum(one.st_size for one in files.values()) > _MOST_BYTES:
            for path, status in files.items():
                if time.time() - status.st_mtime > _UNUSED_SECONDS:
                    path.unlink(missing_ok=True)


def _rebuild(path: Path, context: Any, *owners: int) -> CompileResult | None:
    """The compiled function of a file, or None."""
    data = _read(path, *owners)
    if data is None:
        return None
    try:
        found = CompileResult._rebuild(context, *pickle.loads(data))
    except Exception as error:  # whatever a damaged environment makes of it, compiling still works
        Counts.refused = f"{path} cannot be used here ({error})"
        return None
    Counts.loaded += 1
    return found


class ContentCache:
    """The cache of one entry or law, in the form that Numba's dispatchers use."""

    def __init__(self, function: Any, flags: object, *, kept: bool = True) -> None:
        self._function, self._flags, self._kept = function, flags, kept

    @cached_property
    def tree(self) -> CallTree:
        """The function with all it calls."""
        return CallTree(self._function, self._flags)

    def _name(self, signature: Any, made_for: str) -> str:
        parts = (self.tree.digest, name_of(signature).encode(), made_for.encode(), versions().encode())
        return f"{self._function.__name__}-{hashlib.sha256(b'|'.join(parts)).hexdigest()[:32]}"

    def load_overload(self, signature: Any, context: Any) -> CompileResult | None:
        """The compiled function for a signature, or None if there is none and it is compiled next."""
        if not self._kept:
            watch.begin("your function", ())
            return None
        context.refresh()
        if not why_not_shipped():
            # Whoever owns the package could change its sources as well.
            path = SHIPPED / self._name(signature, generic_target())
            found = _rebuild(path, context, os.stat(__file__).st_uid)
            if found is not None:
                Counts.shipped += 1
                return found
        path = folder() / self._name(signature, target())
        found = _rebuild(path, context)
        if found is not None:
            _mark_used(path)
            return found
        began = partial(watch.begin, self._function.__qualname__, self.tree.kernels)
        if alone.take(path, began):
            return _rebuild(path, context)  # made by another process meanwhile, or nothing if that failed
        if (found := _rebuild(path, context) if path.exists() else None) is None:
            began()
        return found

    def save_overload(self, signature: Any, result: CompileResult) -> None:
        """Keep a compiled function."""
        if not self._kept:
            return
        Counts.compiled += 1
        if not result.library.has_dynamic_globals:
            path = folder() / self._name(signature, target())
            _write(path, dumps(result._reduce()))
            _prune(path.parent)

    def flush(self) -> None:
        """Numba's ways to forget and to switch: files named by content stay right, and the cache is always on."""

    enable = disable = flush
