"""`grouser check`: what is in a file, and whether it can be used; or the installation."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, values
from grouser.cli.values import option
from grouser.errors import GrouserError, VehicleError
from grouser.files import read_limited, write_whole
from grouser.logs.log import JOINTS
from grouser.logs.report import counted

if TYPE_CHECKING:
    from grouser.logs.assess import Assessment

EXAMPLES = (
    "my-rover.toml",
    "run.npz --json",
    "dem.tif --out map.png",
    "drive.csv --manifest log.toml",
    "husky.urdf --write husky.grouser.toml",
)
Found = tuple[str, str, dict[str, Any]]
"""Kind, description for people, and numbers."""


def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="A vehicle, a terrain, a run, a log or its manifest. A vehicle is .toml, .urdf or .xacro, a terrain "
            ".npz .asc .tif .stl .obj or .ply, a run .npz, a log .csv .bag .db3 or .mcap, a manifest .toml.",
        ),
    ] = None,
    manifest: Annotated[Path | None, option("Meaning of the columns or topics of a log (.toml).")] = None,
    write: Annotated[Path | None, values.toml_file("Write the draft of a side file or manifest (.toml).")] = None,
    vehicle: Annotated[str | None, option("Of a log without a manifest: vehicle for the draft.")] = None,
    out: Annotated[Path | None, values.picture("Picture of a terrain: .png .svg or .pdf.")] = None,
    installation: Annotated[
        bool, option("Print versions, processor and origin of compiled kernels.", "--installation")
    ] = False,
    as_json: console.Json = False,
) -> None:
    """Check a file: print what it holds, or what is wrong with it.

    Several files are the parts of one log.
    """
    if installation:
        if files or manifest is not None or write is not None:
            raise GrouserError("--installation: takes no file; leave FILE, --manifest and --write out")
        words, facts = _installation()
        console.emit(facts, as_json, lambda _: typer.echo(words))
        return
    if not files:
        raise GrouserError("FILE: is missing; name one, or give --installation; see: grouser check --help")
    file, drawn = files[0], list[Path]()
    if write is not None and write.exists():
        raise GrouserError(f"--write: {write} exists and is not overwritten; remove it, or give another name")
    if manifest is None and len(files) > 1:
        raise GrouserError(f"{len(files)} files are given; several files must be parts of one log, with --manifest")
    if manifest is None and _is_terrain(file):
        from grouser.cli.check_terrain import look

        words, numbers, drawn = look(str(file), out)
        kind = "terrain"
    elif out is not None:
        raise GrouserError(f"--out: draws a terrain, and {file} is none; leave it out")
    else:
        kind, words, numbers = _look(file, vehicle, write) if manifest is None else _log(files, manifest)
    if write is not None and "written" not in numbers:
        if "manifest" not in numbers:
            raise GrouserError(
                f"--write: {file} is a {kind}; a draft is made of a URDF, or of a log without --manifest; leave it out"
            )
        write_whole(write, lambda stream: stream.write(numbers["manifest"].encode()), GrouserError)
    result = {"file": file, "kind": kind, **numbers, "files": drawn}
    severities = [one["severity"] for one in numbers.get("problems", ())]
    errors, warned = severities.count("error"), severities.count("warning") if kind == "vehicle" else 0
    found = counted(errors, "error") if errors else "no errors"
    found += f", {counted(warned, 'warning')}" if warned else ""
    console.emit(result, as_json, lambda _: typer.echo(f"{file}: a {kind}, {found}\n{words}"), drawn)
    if errors:
        raise typer.Exit(2)


def _is_terrain(file: Path) -> bool:
    """Whether it names a terrain, maybe a part of it."""
    from grouser.terrain.spec import file_of

    named = file_of(str(file))
    return named is not None and (Path(named).suffix.lower() != ".npz" or not file.is_file() or _holds_terrain(file))


def _look(file: Path, vehicle: str | None, write: Path | None) -> Found:
    """Any file but a terrain or a log with its manifest."""
    from grouser.logs.raw import is_bag
    from grouser.terrain.files import SUFFIXES

    suffix = file.suffix.lower()
    if suffix in (".urdf", ".xacro"):
        return _urdf(file, write)
    if (suffix in (".csv", ".tsv") and file.is_file()) or (is_bag(file) and file.exists()):
        return _unread(file, vehicle)
    if not file.is_file():
        raise GrouserError(f"{file}: {'is a folder, not a file' if file.is_dir() else 'no such file'}")
    if suffix == ".toml" and b"grouser/log@" in read_limited(file, 1_000_000, GrouserError):
        return _manifest(file)
    if suffix == ".toml":
        return _vehicle(gr.vehicle(file))
    if suffix == ".npz":
        run = gr.Run.load(file)
        return "run", "\n".join([repr(run)[1:-1], *_ground_kept(run)]), run.summary()
    known = ", ".join(dict.fromkeys((".toml", ".urdf", ".xacro", *SUFFIXES, ".csv", ".bag", ".db3", ".mcap")))
    raise GrouserError(f"{file}: is of no known kind; files that can be checked end in {known}")


def _vehicle(vehicle: gr.Vehicle) -> Found:
    """A vehicle, with warnings of what is implausible."""
    from grouser.cli.vehicles import summary
    from grouser.vehicles.plausible import implausible

    problems = [{"severity": "warning", "problem": sentence} for sentence in implausible(vehicle)]
    words = [vehicle.summary(), *(f"warning: {one['problem']}" for one in problems)]
    return "vehicle", "\n".join(words), {**summary(vehicle), "problems": problems}


def _urdf(file: Path, write: Path | None) -> Found:
    """The vehicle of a URDF with its side file; that is drafted if there is none, or one is to be written."""
    from grouser.vehicles.urdf import read_urdf, vehicle_of
    from grouser.vehicles.urdf_draft import draft
    from grouser.vehicles.urdf_model import read_robot
    from grouser.vehicles.urdf_side import parse_side, side_path

    place = side_path(file)
    if write is None and place.exists():
        return _vehicle(read_urdf(file))
    robot = read_robot(file)
    made = draft(robot, file)
    try:
        _, words, numbers = _vehicle(vehicle_of(robot, parse_side(made.text, place.name), file))
    except VehicleError as error:
        words, numbers = "", {"problems": []}
        if not made.missing:
            made.missing.append(f"the draft makes no vehicle: {error}")
    errors = [{"severity": "error", "problem": one} for one in made.missing]
    numbers["problems"] = [*errors, *numbers["problems"]]
    lines = (
        [words] * bool(words) + [f"error: {one}" for one in made.missing] + [f"guess: {one}" for one in made.guesses]
    )
    if write is not None:
        write_whole(write, lambda stream: stream.write(made.text.encode()), GrouserError)
        lines.append(f"wrote {write}; look through its comments")
        if write.resolve() != place.resolve():
            lines.append(f"it is used when it is called {place}")
    else:
        how = f"write it with --write {place}, and look through its comments"
        lines += [f"there is no {place.name}; a draft of it ({how}):", "", made.text.rstrip("\n")]
    found = {"drafted": True, "side_file": made.text, "guesses": made.guesses, "written": write}
    return "vehicle", "\n".join(lines), {**numbers, **found}


def _ground_kept(run: gr.Run) -> list[str]:
    """Which part of a large map the file of a run holds."""
    source = None if run.ground is None else run.ground.source
    if run.ground is None or source is None or source.whole is None:
        return []
    from grouser.terrain.source import covers

    return [f"ground near the run: {run.ground.description}, {covers(run.ground.bounds)} of {covers(source.whole)}"]


def _holds_terrain(file: Path) -> bool:
    """Whether the schema of an archive is that of a terrain; any other is read as a run, which reports errors."""
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


def _unread(file: Path, vehicle: str | None) -> Found:
    """A log without a manifest: what it holds, and a manifest to start from."""
    from grouser.logs import bag_draft, bags, raw, skeleton

    hint = "give them a meaning in a manifest, passed with --manifest; a draft:"
    if raw.is_bag(file):
        topics, remarks = bags.contents(file)
        lines = [*remarks, "topics:", *(f"  {topic}  {kind}" for topic, kind in sorted(topics.items()))]
        draft = bag_draft.bag_draft(file, topics, None if vehicle is None else gr.vehicle(vehicle), vehicle or "")
        noted = [*remarks, *draft.found]
        lines += [*(f"found: {one}" for one in draft.found), hint, "", draft.text]
        return "bag", "\n".join(lines), {"topics": topics, "remarks": noted, "manifest": draft.text}
    found = skeleton.layout(file)
    text = skeleton.skeleton(found, None if vehicle is None else gr.vehicle(vehicle), vehicle or "")
    said = ", ".join(found.names) if found.header else f"{len(found.names)} without a heading"
    return "table", f"columns: {said}\n{hint}\n\n{text}", {
        "columns": list(found.names), "header": found.header, "delimiter": found.csv.delimiter, "manifest": text
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
