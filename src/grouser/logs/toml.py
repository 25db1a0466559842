"""The tables of a manifest file."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

from grouser.errors import LogError

__all__ = ["SCHEMA", "read_tables"]

SCHEMA = "grouser/log@1"
MAX_BYTES = 200_000
# tomllib takes quadratic time in the parts of a dotted key; nothing here needs more than a few.
LONG_KEY = re.compile(r"""(?:^|[{,\[])[ \t]*+(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){8}""", re.MULTILINE)


def read_tables(path: str | os.PathLike[str]) -> tuple[Path, dict[str, Any]]:
    """The path and the tables of a TOML file, whose schema line must say `SCHEMA` and is left out."""
    try:
        where = Path(path)
        if not where.is_file():
            raise LogError(f"manifest {where}: {'is a folder' if where.is_dir() else 'there is no such file'}")
        with where.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise LogError(f"{where.name}: is larger than {MAX_BYTES // 1000} kB, which no manifest needs")
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LogError(f"{where.name}: is not UTF-8 text (byte {error.start}); a manifest is TOML") from None
    except (OSError, ValueError, TypeError) as error:
        raise LogError(f"manifest {path!s:.200}: cannot be read ({error})") from None
    return where, parse_tables(content, where.name)


def parse_tables(content: str, file: str) -> dict[str, Any]:
    """The tables in the text of a manifest; `file` stands for it in messages."""
    if LONG_KEY.search(content):
        raise LogError(f"{file}: has a dotted key of more than 8 parts, which no manifest needs")
    try:
        tables = tomllib.loads(content)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else f"{error!s:.200}"
        raise LogError(f"{file}: is not TOML: {reason}") from None
    check_schema(tables.pop("schema", None), file)
    return tables


def check_schema(given: Any, file: str) -> None:
    """Refuses a manifest of another kind or of a newer version."""
    if given == SCHEMA:
        return
    if given is None:
        raise LogError(f'{file}, field schema: is missing, a manifest must begin with schema = "{SCHEMA}"')
    if isinstance(given, str) and re.fullmatch(r"grouser/log@[1-9][0-9]{0,8}", given, re.ASCII):
        raise LogError(
            f"{file}, field schema: '{given}' was written by a newer Grouser, this one reads '{SCHEMA}'; update Grouser"
        )
    raise LogError(f"{file}, field schema: {given!r:.60} is not a schema read here, expected '{SCHEMA}'")
