"""A chunk of a study: a run of rows as the bytes of a Parquet file, which depend on the study and the chunk alone."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from grouser.errors import StudyError
from grouser.study.rows import CRASHED, Outcome, run_rows
from grouser.study.spec import Spec
from grouser.study.variants import Inputs, Variants

METADATA = b"grouser"


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
    """The row that no process survives, as a table."""
    inputs = study.inputs(row, row + 1)
    outcome = Outcome(study, 1)
    outcome.refuse(np.array([0]), reason, CRASHED)
    return table(study, inputs, outcome)


def table(study: Variants, inputs: Inputs, outcome: Outcome) -> Any:
    """Rows with inputs, measures, status, reason, seed and version; the unit of a column is in its metadata."""
    pa = arrow()
    n = len(inputs.row)
    columns: list[tuple[str, str, Any]] = [("row", "", inputs.row), ("variant", "", inputs.variant)]
    for name, which, names in (
        ("ground", inputs.ground, study.grounds),
        ("soil", inputs.soil, study.soils),
        ("drive", inputs.drive, tuple(study.drives)),
    ):
        columns.append((name, "", pa.array(np.array(names, dtype=object)[which], type=pa.string())))
    columns += [(name, study.units[name], inputs.values[:, k]) for k, name in enumerate(study.names)]
    columns += [(name, study.measures[name].unit, values) for name, values in outcome.measures.items()]
    columns += [("status", "", pa.array(outcome.status, type=pa.string()))]
    columns += [("reason", "", pa.array(outcome.reason, type=pa.string()))]
    columns += [("seed", "", study.seeds(inputs.row))]
    columns += [("version", "", pa.array(np.full(n, study.spec.version, dtype=object), type=pa.string()))]
    arrays = [one if isinstance(one, pa.Array) else pa.array(np.ascontiguousarray(one)) for _, _, one in columns]
    fields = [
        pa.field(name, array.type, nullable=False, metadata={"unit": unit} if unit else None)
        for (name, unit, _), array in zip(columns, arrays, strict=True)
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
