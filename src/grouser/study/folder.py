"""A study on disk: a folder with its manifest, and the rows of each chunk as a Parquet file.

The bytes of a chunk depend on the study and the chunk alone; a file is written whole or not at all.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from grouser.checks import shown
from grouser.errors import StudyError
from grouser.files import read_limited, write_whole
from grouser.study.rows import CRASHED, Outcome, run_rows
from grouser.study.spec import Spec
from grouser.study.variants import NAMED, Inputs, Variants

METADATA = b"grouser"
MANIFEST, CHUNKS = "manifest.json", "chunks"
LARGEST_MANIFEST = 10_000_000


def arrow() -> Any:
    """The package pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise StudyError(
            "results of a study are Parquet files, which need pyarrow; run: pip install grouser[cluster]"
        ) from None
    return pyarrow


def run_chunk(manifest: Mapping[str, Any], index: int, threads: int) -> bytes:
    """Run the rows of a chunk and return them as a Parquet file; `manifest` is what `Spec.manifest` gives."""
    study, size = prepared(json.dumps(manifest)), int(manifest["study"]["sampling"]["chunk"])
    inputs = study.inputs(index * size, min((index + 1) * size, study.rows))
    return written(table(study, inputs, run_rows(study, inputs, threads)))


@lru_cache(maxsize=2)
def prepared(manifest: str) -> Variants:
    """The study of a manifest as JSON text."""
    return Variants(Spec.from_manifest(json.loads(manifest)))


def crashed(study: Variants, row: int, reason: str) -> Any:
    """A row whose process crashed, as a table."""
    inputs = study.inputs(row, row + 1)
    outcome = Outcome(study, 1)
    outcome.refuse(np.array([0]), reason, CRASHED)
    return table(study, inputs, outcome)


def table(study: Variants, inputs: Inputs, outcome: Outcome) -> Any:
    """Rows with inputs, measures, status, reason, seed and version; the unit of a column is in its metadata."""
    pa = arrow()
    columns: dict[str, Any] = {"row": inputs.row, "variant": inputs.variant}
    for name, known in zip(NAMED, (study.grounds, study.soils, tuple(study.drives)), strict=True):
        columns[name] = np.array(known, dtype=object)[getattr(inputs, name)]
    columns |= {name: np.ascontiguousarray(inputs.values[:, k]) for k, name in enumerate(study.names)}
    columns |= {**outcome.measures, "status": outcome.status, "reason": outcome.reason}
    columns |= {"seed": study.seeds(inputs.row), "version": np.full(len(inputs.row), study.spec.version, dtype=object)}
    units = {**study.units, **{name: measure.unit for name, measure in study.measures.items()}}
    arrays = [pa.array(one, type=pa.string() if one.dtype == object else None) for one in columns.values()]
    fields = [
        pa.field(name, array.type, nullable=False, metadata={"unit": units[name]} if units.get(name) else None)
        for name, array in zip(columns, arrays, strict=True)
    ]
    about = {"study": study.spec.digest, "version": study.spec.version}
    schema = pa.schema(fields, metadata={METADATA: json.dumps(about)})
    return pa.Table.from_arrays(arrays, schema=schema)


def read_table(source: Any, columns: list[str] | None = None) -> Any:
    """The rows of a Parquet file, on this thread alone."""
    with arrow().parquet.ParquetFile(source) as file:
        return file.read(columns=columns, use_threads=False)


def written(rows: Any) -> bytes:
    """A table as the bytes of a Parquet file."""
    stream = io.BytesIO()
    pa = arrow()
    repeated = [field.name for field in rows.schema if pa.types.is_string(field.type)]
    pa.parquet.write_table(rows, stream, compression="zstd", compression_level=1, use_dictionary=repeated)
    return stream.getvalue()


class Folder:
    """The manifest and the finished chunks of a study."""

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
