"""Where machine code is kept: one file for each entry and law, named by the digest of all that decides its code.

Looked for in the folder that came with the package (for a generic processor, `x86-64-v3`), then in the user's. Nothing that
is wrong with a file is more than a reason to compile: one cut short, of another user, or not writable.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import platform
import tempfile
import uuid
from functools import cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from grouser._kernels import watch
from grouser._kernels.fingerprint import CallTree, target, versions

SHIPPED = Path(__file__).parent / "compiled"
"""Machine code that came with the package; only a wheel built by `make wheel` has it."""
GENERIC = {
    "x86_64": ("x86-64-v3", "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 sse4.2 ssse3 xsave"),
    "aarch64": ("generic", "neon"),
}
"""Processor that shipped code is made for, and the features it needs."""
_MAGIC = b"grouser kernel 1\n"


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
    if not SHIPPED.is_dir():
        return "this installation came without compiled kernels, as a clone or a plain wheel does"
    if numba.config.CPU_NAME is not None:
        return f"NUMBA_CPU_NAME={numba.config.CPU_NAME} asks for another processor"
    if not generic_target():
        return f"there are none for {platform.machine()}"
    if not has_generic_features():
        return f"this processor lacks some of {GENERIC[platform.machine()][0]}"
    made_for = (SHIPPED / "versions.txt").read_text(encoding="utf-8").strip()
    if made_for != versions():
        return f"they were made for {made_for}, and this is {versions()}"
    return ""


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


@cache
def folder() -> Path:
    """Where this user's machine code is kept; $GROUSER_CACHE_DIR moves it."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    roots = [root for root in (os.environ.get("GROUSER_CACHE_DIR"), os.path.join(home, "grouser")) if root]
    places = [Path(root) / "kernels" for root in roots]
    for place in places:
        if _writable(place):
            return place
    for place in places:  # code that cannot be written can still be read, as from a layer of a container
        if place.is_dir():
            return place
    # A folder of our own, not a guessable shared one: machine code must not come from another user.
    Counts.not_kept = f"compiled kernels cannot be kept, as {places[0]} is not writable; every process compiles anew"
    return Path(tempfile.mkdtemp(prefix="grouser-"))


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


def _trusted(path: Path) -> bool:
    """Whether nobody but this user or root can have written a file."""
    status = path.stat()
    if status.st_uid not in (os.getuid(), 0) or status.st_mode & 0o002:
        Counts.refused = f"{path} belongs to another user or is writable by all, and is not used"
        return False
    return True


def _read(path: Path) -> Any:
    """What `_write` wrote, or None."""
    try:
        if not _trusted(path):
            return None
        data = path.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + 32
    if data[: len(_MAGIC)] != _MAGIC or hashlib.sha256(data[start:]).digest() != data[len(_MAGIC) : start]:
        Counts.refused = f"{path} is damaged, and is not used"
        return None
    return pickle.loads(memoryview(data)[start:])


def _write(path: Path, value: Any) -> None:
    """Write a file whole or not at all."""
    data = dumps(value)
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        temporary.write_bytes(_MAGIC + hashlib.sha256(data).digest() + data)
        os.replace(temporary, path)
    except OSError as error:
        Counts.not_kept = f"compiled kernels could not be kept in {path.parent} ({error.strerror}); they compile anew"
        with contextlib.suppress(OSError):
            temporary.unlink()


class ContentCache:
    """The cache of one entry or law, in the form that Numba's dispatchers use."""

    def __init__(self, function: Any, flags: object, *, kept: bool = True) -> None:
        self._function, self._flags, self._kept = function, flags, kept
        self._tree: CallTree | None = None

    @property
    def tree(self) -> CallTree:
        """The function with all it calls."""
        if self._tree is None:
            self._tree = CallTree(self._function, self._flags)
        return self._tree

    def _name(self, signature: Any, made_for: str) -> str:
        parts = (self.tree.digest, str(signature).encode(), made_for.encode(), versions().encode())
        return f"{self._function.__qualname__}-{hashlib.sha256(b'|'.join(parts)).hexdigest()[:32]}"

    def load_overload(self, signature: Any, context: Any) -> CompileResult | None:
        """The compiled function for a signature, or None if there is none and it is compiled next."""
        if not self._kept:
            watch.begin("your function", ())
            return None
        context.refresh()
        found = None
        if not why_not_shipped():
            found = _read(SHIPPED / self._name(signature, generic_target()))
            Counts.shipped += found is not None
        if found is None:
            found = _read(folder() / self._name(signature, target()))
        if found is None:
            watch.begin(self._function.__qualname__, self.tree.kernels)
            return None
        Counts.loaded += 1
        return CompileResult._rebuild(context, *found)

    def save_overload(self, signature: Any, result: CompileResult) -> None:
        """Keep a compiled function."""
        if not self._kept:
            return
        Counts.compiled += 1
        if not result.library.has_dynamic_globals:
            _write(folder() / self._name(signature, target()), result._reduce())

    def flush(self) -> None:
        """Numba's way to forget; files named by content need not be."""

    def enable(self) -> None:
        """Numba's switch; this cache is always on."""

    disable = enable
