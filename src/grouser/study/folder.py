"""The folder of a study: its manifest and its chunks, each a Parquet file that is written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grouser.checks import shown
from grouser.errors import StudyError
from grouser.files import read_limited, write_whole
from grouser.study.chunk import METADATA, arrow, read_table
from grouser.study.spec import Spec
from grouser.study.variants import Variants

MANIFEST, CHUNKS = "manifest.json", "chunks"
LARGEST_MANIFEST = 10_000_000


class Folder:
    """What a study has left so far."""

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path, self.manifest = path, manifest
        self.rows, self.chunk, self.digest = int(manifest["rows"]), int(manifest["chunk"]), str(manifest["digest"])

    @classmethod
    def begin(cls, path: str | os.PathLike[str], study: Variants) -> Folder:
        """A new folder for a study, or the one it was begun in; refused if another study is in it."""
        where, spec = Path(path), study.spec
        arrow()
        if (where / MANIFEST).exists():
            found = cls.open(where)
            if found.digest != spec.digest:
                other = found.manifest.get("version")
                why = (
                    f"was begun with Grouser {other}"
                    if other != spec.version
                    else "holds another study, or this one before it was changed"
                )
                raise StudyError(f"{where}: {why}; give another --out, or remove the folder")
            return found
        if where.exists() and (not where.is_dir() or any(where.iterdir())):
            raise StudyError(f"{where}: is not an empty folder, and has no {MANIFEST} of a study; give another --out")
        manifest = spec.manifest()
        manifest["study"] = {**spec.fields, "sampling": {**spec.fields["sampling"], "chunk": study.chunk}}
        manifest |= {"digest": spec.digest, "rows": study.rows, "chunk": study.chunk}
        manifest["columns"] = {
            "parameters": list(study.names), "varied": list(study.varied), "measures": list(study.measures)
        }  # fmt: skip
        manifest["units"] = {**study.units, **{name: m.unit for name, m in study.measures.items()}}
        try:
            (where / CHUNKS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StudyError(f"{where}: this folder cannot be made ({error.strerror or error})") from None
        text = json.dumps(manifest, indent=1, ensure_ascii=False)
        write_whole(where / MANIFEST, lambda stream: stream.write(text.encode()), StudyError)
        return cls(where, manifest)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Folder:
        """The folder of a study that was begun."""
        where = Path(path)
        if not (where / MANIFEST).is_file():
            raise StudyError(
                f"{where}: has no {MANIFEST}, so it is not the folder of a study; run one with --out {where}"
            )
        try:
            manifest = json.loads(read_limited(where / MANIFEST, LARGEST_MANIFEST, StudyError))
            Spec.from_manifest(manifest)
            return cls(where, manifest)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise StudyError(
                f"{where / MANIFEST}: is damaged ({shown(str(error))}); remove the folder and run it again"
            ) from None

    @property
    def chunks(self) -> int:
        """Chunks of the whole study."""
        return -(-self.rows // self.chunk)

    def file(self, index: int) -> Path:
        """Where a chunk is."""
        return self.path / CHUNKS / f"{index:06d}.parquet"

    def size(self, index: int) -> int:
        """Rows of a chunk."""
        return min(self.chunk, self.rows - index * self.chunk)

    def missing(self) -> list[int]:
        """Chunks that are not there, or are not of this study."""
        return [index for index in range(self.chunks) if not self._is_there(index)]

    def _is_there(self, index: int) -> bool:
        file = self.file(index)
        if not file.is_file():
            return False
        try:
            about = arrow().parquet.read_metadata(file)
            own = json.loads((about.metadata or {}).get(METADATA, b"{}"))
        except (OSError, ValueError):  # of pyarrow too: its errors are of these
            return False
        return bool(own.get("study") == self.digest and about.num_rows == self.size(index))

    def write(self, index: int, data: bytes) -> None:
        """Put a chunk in its place."""
        write_whole(self.file(index), lambda stream: stream.write(data), StudyError)

    def tables(self, columns: list[str] | None = None) -> Iterator[Any]:
        """The rows of the chunks that are there, in order."""
        for index in range(self.chunks):
            if self._is_there(index):
                yield read_table(self.file(index), columns)
