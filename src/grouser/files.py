"""Writing files whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from grouser.errors import GrouserError


def write_whole(
    path: str | os.PathLike[str], write: Callable[[IO[bytes]], object], error: type[GrouserError]
) -> None:
    """Let `write` fill a file beside `path`, then move it there, so that no reader ever sees half of it."""
    try:
        target = Path(path)
        part = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
        try:
            with part.open("xb") as stream:
                write(stream)
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)
    except (OSError, ValueError, TypeError) as reason:
        said = getattr(reason, "strerror", None) or reason
        raise error(f"{path!s:.200}: cannot be written ({said})") from None
