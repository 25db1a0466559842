"""Files: written whole or not at all, refused in one sentence where they cannot be read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from grouser.errors import GrouserError

MOST_BYTES = 8_000_000_000
"""What the arrays of a .npz file may take in memory."""


def write_whole(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object], error: type[GrouserError]) -> None:
    """Let `write` fill a file beside `path`, then move it there, so that no reader ever sees half of it."""
    try:
        target = Path(path)
        part = _beside(target)
        try:
            with part.open("xb") as stream:
                write(stream)
                # A disk that is full, or a server that is gone, may say so only here; the old file still stands then.
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)
    except (OSError, ValueError, TypeError) as reason:
        said = getattr(reason, "strerror", None) or reason
        raise error(f"{path!s:.200}: cannot be written ({said})") from None


def check_target(path: str | os.PathLike[str], error: type[GrouserError]) -> None:
    """Refuse a place where nothing can be written, before the work whose result would be lost."""
    try:
        target = Path(path)
        if target.is_dir():
            raise error(f"{path}: is a folder, not a file")
        part = _beside(target)
        part.open("xb").close()
        part.unlink()
    except (OSError, ValueError) as reason:
        said = getattr(reason, "strerror", None) or reason
        raise error(f"{path!s:.200}: cannot be written ({said})") from None


def _beside(target: Path) -> Path:
    """A name of its own in the folder of a file."""
    return target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")


def check_file(path: str | os.PathLike[str], error: type[GrouserError]) -> None:
    """Refuse what is not there, a folder, and a file with nothing in it."""
    try:
        file = Path(path)
        if file.is_dir():
            raise error(f"{file}: is a folder, not a file")
        empty = file.stat().st_size == 0 and file.is_file()
    except FileNotFoundError:
        raise error(f"{path}: no such file") from None
    except (OSError, ValueError) as reason:
        said = getattr(reason, "strerror", None) or reason
        raise error(f"{path!s:.200}: cannot be read ({said})") from None
    if empty:
        raise error(f"{path}: is empty")


def read_npz(path: str | os.PathLike[str], error: type[GrouserError]) -> dict[str, Any]:
    """The arrays of a .npz file by name; none of them may run code."""
    import zipfile

    import numpy as np

    check_file(path, error)
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size <= MOST_BYTES:
            with np.load(path, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
    except Exception as reason:  # zipfile, zlib and NumPy raise a dozen kinds on damaged files
        raise error(f"{path}: not a readable .npz file ({str(reason)[:100]})") from None
    raise error(f"{path}: unpacks to more than {MOST_BYTES} bytes; not read")
