"""Many logs on several processes or a cluster: `grouser calibrate` and `grouser evaluate` with --jobs or --scheduler.

What a process gets is the paths of the files and the options. On a cluster the workers read the same paths, as from a
file system that all share. Serial and parallel results are the same bits: one function does the work either way.
"""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import grouser as gr
from grouser.cli import console, values
from grouser.cli.wanted import Wanted
from grouser.errors import GrouserError, LogError

if TYPE_CHECKING:
    from grouser.calibration.choose import Tried
    from grouser.calibration.evaluate import Errors
    from grouser.study.executor import Failure

COLUMNS = ("error", "covariance", "times")
"""Fields of errors of predictions."""


def shared_out(
    function: Callable[..., bytes], count: int, logs: Sequence[Path], manifest: Path, more: dict[str, Any], *,
    jobs: int, scheduler: str | None, progress: console.Progress,
) -> list[bytes | Failure]:  # fmt: skip
    """What a function of this module gives for each number below `count`, in their order; more: what it reads."""
    if scheduler is not None and jobs != 1:
        raise GrouserError("--jobs: a scheduler has its own workers; leave --jobs or --scheduler out")
    from grouser.study.executor import Work, run_chunks

    files = {"logs": [sent(path) for path in logs], "manifest": sent(manifest)}
    work = Work({**files, **more}, f"{__name__}:{function.__name__}")
    isolated = jobs > 1
    # The last candidates take longest: a correction starts from a fit of the model before.
    found = run_chunks(
        work, range(count)[::-1], threads=1 if isolated or scheduler else None, scheduler=scheduler, progress=progress,
        isolate=isolated, jobs=jobs,
    )  # fmt: skip
    return [data for _, data in sorted(found, key=itemgetter(0))]


def sent(path: Path | None) -> str | None:
    """A file by its whole path, for another process."""
    return None if path is None else str(path.absolute())


def _packed(words: Mapping[str, Any], **errors: Errors) -> bytes:
    """JSON and errors of predictions as one .npz file."""
    import numpy as np

    arrays = {f"{name}.{column}": getattr(one, column) for name, one in errors.items() for column in COLUMNS}
    stream = io.BytesIO()
    text = np.frombuffer(json.dumps(words).encode(), dtype=np.uint8)
    np.savez(stream, allow_pickle=False, words=text, **arrays)
    return stream.getvalue()


def _unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, Errors]]:
    from grouser.calibration.evaluate import Errors
    from grouser.files import read_npz

    arrays = read_npz("a result", LogError, data=data)
    words = json.loads(arrays.pop("words").tobytes())
    names = dict.fromkeys(key.partition(".")[0] for key in arrays)
    return words, {name: Errors(**{column: arrays[f"{name}.{column}"] for column in COLUMNS}) for name in names}


def attempt_candidate(manifest: Mapping[str, Any], index: int, threads: int) -> bytes:
    """Fit and judge one candidate; threads are those of the process."""
    from grouser.calibration.choose import attempt
    from grouser.motion.fit_file import fit_text

    log = gr.read_log(manifest["logs"], manifest=manifest["manifest"])
    given = Wanted(**{**manifest["wanted"], "priors": tuple(manifest["wanted"]["priors"])})
    found = attempt(log, given.candidates(log), index, **manifest["options"])
    if isinstance(found, str):
        return _packed({"refused": found})
    return _packed({"fit": fit_text(found.fit)}, errors=found.errors)


def attempts_on(
    logs: Sequence[Path], manifest: Path, given: Wanted, options: dict[str, Any], **machines: Any
) -> Callable[[Sequence[gr.calibration.Candidate]], list[Tried | str]]:
    """For `gr.calibration.choose`: candidates, each tried by another process."""
    from grouser.calibration.choose import Tried
    from grouser.motion.fit_file import fit_of_text

    def attempts(wanted: Sequence[gr.calibration.Candidate]) -> list[Tried | str]:
        asked = dataclasses.asdict(given)
        if given.vehicle is not None and Path(given.vehicle).is_file():
            asked["vehicle"] = sent(Path(given.vehicle))
        more = {"wanted": asked, "options": options}
        found = shared_out(attempt_candidate, len(wanted), logs, manifest, more, **machines)
        out: list[Tried | str] = []
        for one, data in zip(wanted, found, strict=True):
            if not isinstance(data, bytes):
                raise GrouserError(f"{one.name} model: {data.reason}")
            words, errors = _unpacked(data)
            if "refused" in words:
                out.append(words["refused"])
            else:
                fit = fit_of_text(words["fit"], f"fit of the {one.name} model", ground=one.motion.ground)
                out.append(Tried(fit=fit, errors=errors["errors"]))
        return out

    return attempts


def evaluate_one(manifest: Mapping[str, Any], index: int, threads: int) -> bytes:
    """Errors of a fit on one of the logs; threads are those of the process."""
    found = gr.Fit.load(manifest["fit"], ground=values.ground(manifest["terrain"]))
    memory = manifest["memory"]
    log = gr.read_log([manifest["logs"][index]], manifest=manifest["manifest"])
    judged = gr.evaluate(
        found, log, **manifest["options"], memory=None if memory is None else gr.calibration.Memory.load(memory)
    )
    return _packed(judged.summary(), errors=judged.best, baseline=judged.baseline)


def evaluate_each(
    logs: Sequence[Path], manifest: Path, more: dict[str, Any], *, jobs: int, scheduler: str | None
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """A row for each log, with what went wrong where it could not be judged, and a row of all predictions together."""
    from grouser.calibration.evaluate import Errors

    rows: list[dict[str, Any]] = []
    errors: list[Errors] = []
    plain: list[Errors] = []
    with console.progress(f"evaluating {len(logs)} logs") as report:
        machines: dict[str, Any] = {"jobs": jobs, "scheduler": scheduler, "progress": report}
        found = shared_out(evaluate_one, len(logs), logs, manifest, more, **machines)
    for path, data in zip(logs, found, strict=True):
        if not isinstance(data, bytes):
            rows.append({"log": path, "failed": data.reason})
            continue
        words, both = _unpacked(data)
        rows.append({"log": path, **words})
        errors.append(both["errors"])
        plain.append(both["baseline"])
    if not errors:
        return rows, None
    pooled = Errors.joined(plain).summary(consistency=False)
    return rows, {**Errors.joined(errors).summary(), "baseline": pooled}


def print_each(rows: Sequence[dict[str, Any]], pooled: dict[str, Any] | None, each: str) -> None:
    """A table of logs, and one line for all."""
    judged = [row for row in rows if "failed" not in row]
    everything = [] if pooled is None else [{"log": "all together", **pooled}]
    typer.echo(f"errors of predictions of {each}, {len(judged)} of {len(rows)} logs")
    cells = [
        (str(getattr(row["log"], "name", row["log"])), str(row["n"]), f"{row['baseline']['position_rms']:.3f} m",
         f"{row['position_rms']:.3f} m", f"{row['yaw_rms_deg']:.2f}°", f"{100 * row['inside_95']:.0f} %",
         f"{row['nees']:.2f}")
        if "failed" not in row else (row["log"].name, "–", "–", "–", "–", "–", "–")
        for row in [*rows, *everything]
    ]  # fmt: skip
    names = ("log", "n", "plain odometry", "position rms", "yaw rms", "in 95 % ellipse", "NEES")
    console.print_table("", names, cells, right=tuple(range(1, len(names))))
    for row in rows:
        if "failed" in row:
            typer.echo(f"{row['log'].name}: not judged: {row['failed']}")
