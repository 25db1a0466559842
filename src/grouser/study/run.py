"""Running a study: the missing chunks, here or on a cluster; rows that crash their process are recorded as crashed."""

from __future__ import annotations

import io
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grouser.errors import StudyError
from grouser.study.executor import Failure, Progress, Work, run_chunks
from grouser.study.folder import Folder, arrow, crashed, read_table, run_chunk, written
from grouser.study.measures import HERE, give
from grouser.study.results import Results
from grouser.study.spec import Spec
from grouser.study.variants import Variants

if TYPE_CHECKING:
    from pandas import DataFrame

WARM_UP = "grouser.study.run:warm_up"


def study(
    tables: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    **fields: Any,
) -> DataFrame:
    """Run a study and return its rows as a pandas table; `attrs["units"]` maps columns to units.

    tables: a study file (.toml), its tables as a dictionary, or nothing; fields: tables by name, which go before those.
        Times are in seconds, `start` is x, y [m] and yaw [°]; a measure may be a Python function (run, row) → number.
    out: folder that keeps the rows; started again with it, only what is missing is run. None: nothing is kept.
    scheduler: address of a Dask scheduler. progress: called with rows done and all rows.

    >>> rows = gr.study(
    ...     vehicle="husky", drive={"speed": 0.5}, duration=5.0, measures=["distance", "yaw_deg"],
    ...     parameters={"vehicle.track": {"range": [0.5, 0.6], "unit": "m"}}, sampling={"method": "sobol", "runs": 64},
    ... )
    """
    if isinstance(tables, (str, os.PathLike)):
        if fields:
            raise StudyError("a study file is run as it is; leave the other fields out, or give all of them here")
        spec = Spec.read(tables)
    else:
        spec = Spec.of({**(tables or {}), **_given(fields, tables)})
    options: dict[str, Any] = {"threads": threads, "scheduler": scheduler, "progress": progress}
    if out is not None:
        return run_study(spec, out, **options).to_pandas()
    with tempfile.TemporaryDirectory(prefix="grouser-study-") as folder:
        return run_study(spec, folder, **options).to_pandas()


def _given(fields: Mapping[str, Any], tables: Mapping[str, Any] | None) -> dict[str, Any]:
    """Fields with the functions among the measures named."""
    made = dict(fields)
    measures = made.get("measures", (tables or {}).get("measures", {}))
    if isinstance(measures, Mapping):
        made["measures"] = {name: {"function": give(m)} if callable(m) else m for name, m in measures.items()}
    elif isinstance(measures, Sequence) and not isinstance(measures, str):
        listed = [(m.__name__, {"function": give(m)}) if callable(m) else (m, m) for m in measures]
        made["measures"] = dict(listed)
    return made


def run_study(
    spec: Spec,
    out: str | os.PathLike[str],
    *,
    threads: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    memory: int | None = None,
) -> Results:
    """Run what is missing of a study in a folder; `memory` is what a chunk may take [bytes] where it may crash."""
    began = time.perf_counter()
    prepared = Variants(spec)
    folder = Folder.begin(out, prepared)
    own = [name for name in _functions(spec) if name.startswith(HERE)]
    if own and scheduler is not None:
        raise StudyError("scheduler: workers cannot import a function of this program; put it into a module")
    # The engine itself does not crash; a function of the user's may, and then it must not take the study with it.
    isolate = bool(_functions(spec)) and not own and scheduler is None
    work = Work({**folder.manifest, "folder": spec.folder}, warm_up=WARM_UP)
    missing = folder.missing()
    done = folder.rows - sum(map(folder.size, missing))
    if progress is not None:
        progress(done, folder.rows)
    options: dict[str, Any] = {"threads": threads, "scheduler": scheduler, "isolate": isolate, "memory": memory}
    for index, found in run_chunks(work, missing, progress=None, **options):
        data = found if isinstance(found, bytes) else _rescued(work, index, prepared, options)
        folder.write(index, data)
        done += folder.size(index)
        if progress is not None:
            progress(done, folder.rows)
    return Results(folder, run_rows=sum(map(folder.size, missing)), seconds=time.perf_counter() - began)


def _functions(spec: Spec) -> list[str]:
    """Names of the functions that measure."""
    tables = (m for m in spec.fields["measures"].values() if isinstance(m, Mapping))
    return [str(m["function"]) for m in tables if "function" in m]


def _rescued(work: Work, index: int, study: Variants, options: Mapping[str, Any]) -> bytes:
    """A chunk that failed, row by row: those that fail alone are recorded as crashed, with the reason."""
    pa, size = arrow(), int(work.manifest["chunk"])
    own = any(name.startswith(HERE) for name in _functions(study.spec))
    again = {**options, "isolate": options["scheduler"] is None and not own}
    todo = range(index * size, min((index + 1) * size, study.rows))
    rows: dict[int, Any] = {}
    for row, found in run_chunks(Work(_with_chunk(work.manifest, 1)), todo, progress=None, **again):
        rows[row] = crashed(study, row, found.reason) if isinstance(found, Failure) else read_table(io.BytesIO(found))
    return written(pa.concat_tables([rows[row] for row in todo]).combine_chunks())


def _with_chunk(manifest: Mapping[str, Any], size: int) -> dict[str, Any]:
    """The same study in chunks of another size; rows do not depend on it."""
    sampling = {**manifest["study"]["sampling"], "chunk": size}
    return {**manifest, "study": {**manifest["study"], "sampling": sampling}}


def warm_up(manifest: Mapping[str, Any]) -> str:
    """Compile what chunks of a study need, by running its first row; or say which file is missing or another."""
    said = Spec.from_manifest(manifest).other_file()
    if not said:
        run_chunk(_with_chunk(manifest, 1), 0, 1)
    return said


def read_study(path: str | os.PathLike[str]) -> Results:
    """The results in the folder of a study, as far as it was run."""
    return Results(Folder.open(Path(path)))
