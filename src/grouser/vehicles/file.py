"""Files read with a limit on their size."""

from __future__ import annotations

import os
from pathlib import Path

from grouser.errors import VehicleError

__all__ = ["as_path", "read_limited"]


def as_path(path: str | os.PathLike[str]) -> Path:
    """The path, or a `VehicleError` if it is none."""
    try:
        return Path(path)
    except TypeError:
        raise VehicleError(f"{path!r:.60} is not the path of a file") from None


def read_limited(path: str | os.PathLike[str], limit: int) -> bytes:
    """The bytes of a regular file of at most `limit` bytes; anything else is a `VehicleError`."""
    try:
        where = as_path(path)
        if not where.exists():
            raise VehicleError(f"{where}: there is no such file")
        if not where.is_file():
            raise VehicleError(f"{where}: is not a regular file")
        with where.open("rb") as stream:
            data = stream.read(limit + 1)
    except (OSError, ValueError) as error:
        raise VehicleError(f"{path!s:.200}: cannot be read ({error})") from None
    if len(data) > limit:
        raise VehicleError(f"{where.name}: is larger than {limit // 1000} kB, which no vehicle needs")
    return data
