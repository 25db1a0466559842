"""`grouser check`: what is in a file, and whether it can be used; or the installation."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import grouser as gr
from grouser.cli import console
from grouser.cli.values import option
from grouser.errors import GrouserError
from grouser.files import read_limited
from grouser.logs.log import JOINTS
from grouser.logs.report import counted

if TYPE_CHECKING:
    from grouser.logs.assess import Assessment

EXAMPLES = ("my-rover.toml", "run.npz --json", "drive.csv --manifest log.toml", "--installation")
Found = tuple[str, str, dict[str, Any]]
"""Kind, description for people, and numbers."""


def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="A vehicle, a terrain, a run, a log or its manifest. A vehicle is .toml or .urdf, a terrain .npz .asc "
            ".tif .stl .obj or .ply, a run .npz, a log .csv .bag .db3 or .mcap, a manifest .toml.",
        ),
    ] = None,
    manifest: Annotated[Path | None, option("Meaning of the columns or topics of a log (.toml).")] = None,
    installation: Annotated[
        bool, option("Print versions, processor and origin of compiled kernels.", "--installation")
    ] = False,
    as_json: console.Json = False,
) -> None:
    """Read a file and print what is in it, or what is wrong with it.

    Several files are the parts of one log.
    """
    if installation:
        if files or manifest is not None:
            raise GrouserError("--installation: takes no file; leave FILE and --manifest out")
        words, facts = _installation()
        console.emit(facts, as_json, lambda _: typer.echo(words))
        return
    if not files:
        raise GrouserError("FILE: is missing; name one, or give --installation; see: grouser check --help")
    file = files[0]
    if manifest is not None:
        kind, words, numbers = _log(files, manifest)
    elif len(files) > 1:
        raise GrouserError(f"{len(files)} files are given; several files must be parts of one log, with --manifest")
    else:
        kind, words, numbers = _look(file)
    result = {"file": file, "kind": kind, **numbers}
    errors = sum(one["severity"] == "error" for one in numbers.get("problems", ()))
    found = counted(errors, "error") if errors else "no errors"
    console.emit(result, as_json, lambda _: typer.echo(f"{file}: a {kind}, {found}\n{words}"))
    if errors:
        raise typer.Exit(2)


def _look(file: Path) -> Found:
    """Any file but a log with its manifest."""
    from grouser.logs.raw import is_bag
    from grouser.terrain.files import SUFFIXES

    suffix = file.suffix.lower()
    if (suffix in (".csv", ".tsv") or is_bag(file)) and file.exists():
        return _unread(file)
    if not file.is_file():
        raise GrouserError(f"{file}: {'is a folder, not a file' if file.is_dir() else 'no such file'}")
    if suffix == ".toml" and b"grouser/log@" in read_limited(file, 1_000_000, GrouserError):
        return _manifest(file)
    if suffix in (".toml", ".urdf"):
        from grouser.cli.vehicles import summary

        vehicle = gr.vehicle(file)
        return "vehicle", vehicle.summary(), summary(vehicle)
    if suffix == ".npz" and not _holds_terrain(file):
        run = gr.Run.load(file)
        return "run", repr(run)[1:-1], run.summary()
    if suffix in SUFFIXES:
        ground = gr.terrain.read(file)
        box = [None if math.isinf(value) else float(value) for value in ground.bounds]
        names = ("xmin", "xmax", "ymin", "ymax")
        edges = " ".join("endless" if v is None else f"{name} {v:g} m" for name, v in zip(names, box, strict=True))
        warning, steepest = gr.terrain.steep_warning(ground), gr.terrain.steepest(ground)._asdict()
        numbers = {"terrain": ground.kind, "description": ground.description, "bounds": box}
        words = f"{ground.description}; {edges}" + (f"\nwarning: {warning}" if warning else "")
        return "terrain", words, {**numbers, "steepest": steepest, "warning": warning}
    known = ", ".join(dict.fromkeys((".toml", ".urdf", *SUFFIXES, ".csv", ".bag", ".db3", ".mcap")))
    raise GrouserError(f"{file}: is of no known kind; files that can be checked end in {known}")


def _holds_terrain(file: Path) -> bool:
    """Whether an archive calls itself a terrain; anything else is read as a run, which reports what is wrong."""
    import numpy as np

    try:
        with np.load(file, allow_pickle=False) as archive:
            return str(archive["schema"]).startswith("grouser/terrain")
    except Exception:  # damaged files raise a dozen kinds; reading it as a run names the trouble
        return False


def _manifest(file: Path) -> Found:
    """The signals a manifest names."""
    from grouser.logs.manifest import load_manifest

    manifest = load_manifest(file)
    signals = {**manifest.signals(), **manifest.pose_signals()}
    sources = {key: signal.source for key, signal in signals.items()}
    words = "\n".join(f"  {key:<22} {source}" for key, source in sources.items())
    return "log manifest", words, {"vehicle": manifest.vehicle, "signals": sources}


def _log(files: Sequence[Path], manifest: Path) -> Found:
    """A log read with its manifest."""
    from grouser.logs.assess import assess

    log = console.read_log(files, manifest, strict=False)
    found = assess(log)
    words = console.pair_lines(_pairs(log, found))
    words += [f"  {line}" for line in log.report.lines()[1:]]
    words += [f"{one.severity}: {one}" for one in log.report.problems]
    words.append("can be calibrated" if found.can_calibrate else "cannot be calibrated")
    words += [f"  cannot determine {line}" for line in found.cannot_determine]
    report = log.report.as_dict()
    problems = list(report.pop("problems"))
    return "log", "\n".join(words), {**asdict(found), "vehicle": log.vehicle, "problems": problems, "report": report}


def _unread(file: Path) -> Found:
    """A log without a manifest: what it holds, and a manifest to start from."""
    from grouser.logs import bags, raw, skeleton

    hint = "give them a meaning in a manifest, passed with --manifest; a draft:"
    if raw.is_bag(file):
        topics = bags.topics(file)
        lines = [f"  {topic}  {kind}" for topic, kind in sorted(topics.items())]
        text = skeleton.bag_skeleton(file, topics)
        return "bag", "\n".join(["topics:", *lines, hint, "", text]), {"topics": topics, "manifest": text}
    found = skeleton.layout(file)
    text = skeleton.skeleton(found)
    said = ", ".join(found.names) if found.header else f"{len(found.names)} without a heading"
    return "table", f"columns: {said}\n{hint}\n\n{text}", {
        "columns": list(found.names), "header": found.header, "delimiter": found.delimiter, "manifest": text
    }  # fmt: skip


def _pairs(log: gr.Log, found: Assessment) -> list[tuple[str, str]]:
    report = log.report
    given = [f"{name} {' '.join(getattr(log, name))}" for name in JOINTS if getattr(log, name)]
    given += [name for name in ("attitude", "gyro", "acceleration", "body_command") if getattr(log, name) is not None]
    given += [f"labels {' '.join(log.label)}"] * bool(log.label)
    pairs = [
        ("duration", f"{found.duration:.1f} s in {log.n_segments} segment{'' if log.n_segments == 1 else 's'}"),
        ("rows", f"{report.rows}, of which {report.samples} are samples and {report.n_rejected} rejected"),
        ("signals", ", ".join(given)),
    ]
    if found.sample_rate is not None:
        pairs.append(("sample rate", f"{found.sample_rate:.4g} Hz"))
    if found.pose_rate is not None:
        pairs.append(("poses", f"{report.poses}, {found.pose_rate:.3g} Hz"))
    if found.distance is not None:
        turned = f"left {found.turned_left:.0f}°, right {found.turned_right:.0f}°"
        pairs.append(("driving", f"{found.moving:.1f} s, {found.distance:.1f} m, up to {found.top_speed:.2f} m/s"))
        pairs.append(("turning", f"{turned}, up to {found.top_turn_rate:.2f} rad/s"))
    for name, span in (("roll", found.roll), ("pitch", found.pitch)):
        if span is not None:
            pairs.append((name, f"{span[0]:.1f}° to {span[1]:.1f}° (5 to 95 %)"))
    if found.lag is not None:
        pairs.append(("pose lag", f"about {found.lag:.2f} s by this log, {log.sensor.lag:.2f} s by the manifest"))
    return pairs


def _installation() -> tuple[str, dict[str, Any]]:
    """Sentences for people, and the same as numbers."""
    import numba
    import numpy as np

    from grouser._compile import store
    from grouser._compile.fingerprint import target
    from grouser.threads import thread_count

    folder = store.folder()
    sizes = [file.stat().st_size for file in (folder.iterdir() if folder.is_dir() else ()) if file.is_file()]
    why_not, not_kept = store.why_not_shipped(), store.Counts.not_kept
    generic, _ = store.GENERIC.get(platform.machine(), ("", ""))
    has_generic, writable = bool(generic) and store.has_generic_features(), os.access(folder, os.W_OK)
    facts: dict[str, Any] = {
        "grouser": gr.__version__,
        "folder": os.path.dirname(gr.__file__),
        "python": platform.python_version(),
        "numba": numba.__version__,
        "llvmlite": version("llvmlite"),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": target().split(":")[0],
        "generic_processor": generic or None,
        "has_generic_features": has_generic,
        "cores": os.cpu_count() or 1,
        "threads": thread_count(None),
        "cache": {
            "folder": str(folder), "writable": writable, "files": len(sizes), "bytes": sum(sizes),
            "not_kept": not_kept or None,
        },
        "shipped": {"used": not why_not, "why_not": why_not or None, "target": store.generic_target() or None},
        "compiles": not numba.config.DISABLE_JIT,
    }  # fmt: skip
    features = f", {'with' if has_generic else 'without'} the features of {generic}" if generic else ""
    lines = [
        "grouser {grouser} in {folder}".format(**facts),
        "Python {python}, Numba {numba}, llvmlite {llvmlite}, NumPy {numpy}".format(**facts),
        f"{facts['system']}, processor {facts['processor']}{features}",
        f"{counted(facts['cores'], 'core')}; batches run on {counted(facts['threads'], 'thread')}",
        f"No compiled kernels that came with grouser are used: {why_not}."
        if why_not
        else f"Compiled kernels that came with grouser are used, for {generic}.",
        f"Kernels compiled here are kept in {folder}: {counted(len(sizes), 'file')}, {sum(sizes) / 1e6:.1f} MB"
        + ("." if writable else "; it is not writable."),
    ]
    if not_kept:
        lines.append(f"But {not_kept}.")
    if not facts["compiles"]:
        lines.append("NUMBA_DISABLE_JIT is set: kernels run as plain Python, a thousand times slower.")
    elif why_not and not sizes:
        lines.append("Nothing is compiled yet: each part compiles when it is first used; grouser warmup compiles all.")
    return "\n".join(lines), facts
