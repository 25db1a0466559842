"""Files: written whole or not at all, refused in one sentence where they cannot be read; TOML with a schema line."""

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from grouser.errors import GrouserError

MOST_BYTES = 8_000_000_000
"""What the arrays of a .npz file may take in memory."""
# tomllib takes quadratic time in the parts of a dotted key; no file of ours needs more than a few.
LONG_KEY = re.compile(r"""(?:^|[{,\[])[ \t]*+(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){8}""", re.MULTILINE)


def write_whole(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object], error: type[GrouserError]) -> None:
    """Let `write` fill another file in the folder, then rename it to `path`, so that no reader ever sees half of it."""
    try:
        part = _beside(path)
        try:
            with part.open("xb") as stream:
                write(stream)
                # A full disk or a lost server may fail only here; the old file is then still there.
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
    except (OSError, ValueError, TypeError) as reason:
        raise _cannot("written", path, reason, error) from None


def check_target(path: str | os.PathLike[str], error: type[GrouserError]) -> None:
    """Refuse a place where nothing can be written, before the work whose result would be lost."""
    try:
        if Path(path).is_dir():
            raise error(f"{path}: is a folder, not a file")
        part = _beside(path)
        part.open("xb").close()
        part.unlink()
    except (OSError, ValueError) as reason:
        raise _cannot("written", path, reason, error) from None


def _cannot(be: str, path: Any, reason: Exception, error: type[GrouserError]) -> GrouserError:
    return error(f"{path!s:.200}: cannot be {be} ({getattr(reason, 'strerror', None) or reason})")


def _beside(path: str | os.PathLike[str]) -> Path:
    """A name of its own in the folder of a file."""
    return Path(path).with_name(f".{Path(path).name}.{os.urandom(4).hex()}.part")


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
        raise _cannot("read", path, reason, error) from None
    if empty:
        raise error(f"{path}: is empty")


def write_npz(
    path: str | os.PathLike[str], what: str, schema: str, arrays: Mapping[str, Any], error: type[GrouserError]
) -> None:
    """Write arrays and the schema to a compressed .npz file, whole or not at all; `what` it is, for messages."""
    import numpy as np

    check_npz_name(path, what, error)
    write_whole(path, lambda file: np.savez_compressed(file, schema=np.array(schema), **arrays), error)


def check_npz_name(path: str | os.PathLike[str], what: str, error: type[GrouserError]) -> None:
    """Refuse the name of a file that does not end in .npz."""
    target = as_path(path, error)
    if target.suffix.lower() != ".npz":
        raise error(f"{target}: a {what} is saved as .npz; name the file {target.stem}.npz")


def read_npz(
    path: str | os.PathLike[str],
    error: type[GrouserError],
    *,
    schema: str | None = None,
    data: bytes | None = None,
    most: int = MOST_BYTES,
) -> dict[str, Any]:
    """The arrays of a .npz file by name; none of them may run code.

    schema: that its array `schema`, which is left out, must hold. data: its bytes, found at that path.
    """
    import io
    import zipfile

    import numpy as np

    if data is None:
        check_file(path, error)
    source = path if data is None else io.BytesIO(data)
    try:
        with zipfile.ZipFile(source) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size <= most:
            with np.load(source, allow_pickle=False) as archive:
                values = {name: archive[name] for name in archive.files}
    except Exception as reason:  # zipfile, zlib and NumPy raise a dozen kinds on damaged files
        raise error(f"{path}: not a readable .npz file ({str(reason)[:100]})") from None
    if size > most:
        raise error(f"{path}: unpacks to {size} bytes; at most {most} are read")
    if schema is not None:
        check_schema(str(values.pop("schema", "")), str(path), schema, error)
    return values


def read_mesh(
    path: str | os.PathLike[str], error: type[GrouserError], *, limit: int, most_triangles: int
) -> tuple[Any, Any]:
    """Corners (n, 3) and triangles (k, 3) of a .stl, .obj or .ply file of at most `limit` bytes.

    Materials and other files that it names are not read.
    """
    import io

    import numpy as np

    try:
        import trimesh
    except ImportError:
        raise error(f"{path}: reading meshes needs trimesh; run: pip install grouser[mesh]") from None
    data, kind = read_limited(path, limit, error), Path(path).suffix.lower()
    options = {"skip_materials": True} if kind == ".obj" else {}
    try:
        if kind == ".obj":
            data.decode()  # trimesh would guess another encoding where a library for that is installed
        loaded = trimesh.load_mesh(io.BytesIO(data), file_type=kind[1:], process=False, **options)
        vertices, faces = np.asarray(loaded.vertices), np.asarray(loaded.faces)
    except (ImportError, UnicodeDecodeError):  # ImportError: of a library that guesses encodings
        raise error(f"{path}: not a readable {kind} mesh (its text is not UTF-8)") from None
    except Exception as reason:  # trimesh lets through whatever a damaged file makes NumPy raise
        raise error(f"{path}: not a readable {kind} mesh ({str(reason)[:100]})") from None
    if len(faces) > most_triangles:
        raise error(f"{path}: {len(faces)} triangles; at most {most_triangles} are read")
    return vertices, faces


def as_path(path: str | os.PathLike[str], error: type[GrouserError]) -> Path:
    """The path, if it is one."""
    try:
        return Path(path)
    except TypeError:
        raise error(f"{path!r:.60} is not the path of a file") from None


def read_limited(path: str | os.PathLike[str], limit: int, error: type[GrouserError]) -> bytes:
    """The bytes of a regular file of at most `limit` bytes."""
    where = as_path(path, error)
    check_file(where, error)
    if not where.is_file():
        raise error(f"{where}: is not a regular file")
    try:
        with where.open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError as reason:
        raise _cannot("read", path, reason, error) from None
    if len(data) > limit:
        raise error(f"{where.name}: is larger than {limit // 1000} kB, the most that is read")
    return data


def read_toml(
    path: str | os.PathLike[str], schema: str, error: type[GrouserError], *, limit: int = 1_000_000
) -> dict[str, Any]:
    """The tables of a TOML file of at most `limit` bytes; its schema line must say `schema` and is left out."""
    data, file = read_limited(path, limit, error), Path(path).name
    try:
        return parse_toml(data.decode("utf-8-sig"), file, schema, error)
    except UnicodeDecodeError as reason:
        raise error(f"{file}: is not UTF-8 text (byte {reason.start}), as TOML is") from None


def parse_toml(content: str, file: str, schema: str, error: type[GrouserError]) -> dict[str, Any]:
    """As `read_toml`, of text; `file` stands for it in messages."""
    if LONG_KEY.search(content):
        raise error(f"{file}: has a dotted key of more than 8 parts, which no such file needs")
    try:
        tables = tomllib.loads(content)
    except (ValueError, RecursionError) as reason:
        said = "nested too deeply" if isinstance(reason, RecursionError) else f"{reason!s:.200}"
        raise error(f"{file}: is not TOML: {said}") from None
    check_schema(tables.pop("schema", None), file, schema, error)
    return tables


def check_schema(given: Any, file: str, schema: str, error: type[GrouserError]) -> None:
    """Refuse a file of another kind or of a newer version."""
    if given == schema:
        return
    if given is None:
        raise error(f'{file}, field schema: is missing, the file must begin with schema = "{schema}"')
    kind, _, version = schema.partition("@")
    match = re.fullmatch(rf"{re.escape(kind)}@([1-9][0-9]{{0,8}})", given, re.ASCII) if isinstance(given, str) else None
    if match and int(match[1]) > int(version):
        newer = f"'{given}' was written by a newer Grouser, this one reads '{schema}'; update Grouser"
        raise error(f"{file}, field schema: {newer}")
    raise error(f"{file}, field schema: {given!r:.60} is not a schema read here, expected '{schema}'")


def toml_value(value: Any) -> str:
    """Text, a number, a truth value, or a list or table of such, as TOML writes it; reading gives the same bits.

    TOML has no null: entries of a table that are None are left out.
    """
    if isinstance(value, Mapping):
        rows = (f"{toml_key(str(key))} = {toml_value(one)}" for key, one in value.items() if one is not None)
        return "{ " + ", ".join(rows) + " }"
    if isinstance(value, str):
        # JSON's escapes are TOML's, except that TOML also wants DEL escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Iterable):
        return "[" + ", ".join(toml_value(one) for one in value) + "]"
    if hasattr(value, "item"):  # NumPy's own repr names its type
        return toml_value(value.item())
    if not isinstance(value, (int, float)):
        raise TypeError(f"TOML has no value for {value!r:.60}")
    return repr(value)


def toml_key(name: str) -> str:
    """A key of a TOML table, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)
