"""`grouser check`: what is in a file, and whether it can be used; or the installation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grouser.cli import console
from grouser.cli.values import option
from grouser.errors import GrouserError

if TYPE_CHECKING:
    from grouser.logs.assess import Assessment
    from grouser.logs.log import Log
    from grouser.terrain import Terrain


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
        from grouser.cli.installation import describe

        if files or manifest is not None:
            raise GrouserError("--installation: takes no file; leave FILE and --manifest out")
        words, facts = describe()
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
    result = {"file": str(file), "kind": kind, **numbers}
    console.emit(result, as_json, lambda _: typer.echo(f"{file}: a {kind}, no errors\n{words}"))


def _look(file: Path) -> Found:
    """Any file but a log with its manifest."""
    import grouser as gr
    from grouser.logs.raw import is_bag
    from grouser.terrain.files import SUFFIXES

    suffix = file.suffix.lower()
    if (suffix in (".csv", ".tsv") or is_bag(file)) and file.exists():
        return _unread(file)
    if not file.is_file():
        raise GrouserError(f"{file}: {'is a folder, not a file' if file.is_dir() else 'no such file'}")
    if suffix == ".toml" and _is_manifest(file):
        return _manifest(file)
    if suffix in (".toml", ".urdf"):
        from grouser.cli.vehicles import summary

        vehicle = gr.vehicle(file)
        return "vehicle", vehicle.summary(), summary(vehicle)
    if suffix == ".npz" and not _holds_terrain(file):
        run = gr.Run.load(file)
        return "run", repr(run)[1:-1], run.summary()
    if suffix in SUFFIXES:
        return _terrain(gr.terrain.read(file))
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


def _terrain(ground: Terrain) -> Found:
    import math

    from grouser.terrain import steep_warning, steepest

    box = [None if math.isinf(value) else float(value) for value in ground.bounds]
    names = ("xmin", "xmax", "ymin", "ymax")
    edges = " ".join("endless" if v is None else f"{name} {v:g} m" for name, v in zip(names, box, strict=True))
    warning = steep_warning(ground)
    words = f"{ground.description}; {edges}" + (f"\nwarning: {warning}" if warning else "")
    return "terrain", words, {
        "terrain": ground.kind, "description": ground.description, "bounds": box,
        "steepest": steepest(ground)._asdict(), "warning": warning,
    }  # fmt: skip


def _is_manifest(file: Path) -> bool:
    """Whether a TOML file calls itself a log's manifest."""
    try:
        with file.open("rb") as stream:
            return b"grouser/log@" in stream.read(100_000)
    except OSError:
        return False


def _manifest(file: Path) -> Found:
    """The signals a manifest names."""
    from grouser.logs.manifest import load_manifest

    manifest = load_manifest(file)
    signals = {**manifest.signals(), **manifest.pose_signals()}
    words = "\n".join(f"  {key:<22} {signal.source}" for key, signal in signals.items())
    numbers = {"vehicle": manifest.vehicle, "signals": {key: signal.source for key, signal in signals.items()}}
    return "log manifest", words, numbers


def _log(files: Sequence[Path], manifest: Path) -> Found:
    """A log read with its manifest."""
    from grouser.logs.assess import assess

    log = console.read_log(files, manifest)
    found = assess(log)
    words = console.pair_lines(_pairs(log, found))
    words += [f"  {line}" for line in log.report.lines()[1:]]
    words.append("can be calibrated" if found.can_calibrate else "cannot be calibrated")
    words += [f"  cannot determine {line}" for line in found.cannot_determine]
    return "log", "\n".join(words), {**found.as_dict(), "vehicle": log.vehicle, "report": log.report.as_dict()}


def _unread(file: Path) -> Found:
    """A log without a manifest: what it holds, and a manifest to start from."""
    from grouser.logs.raw import is_bag

    if is_bag(file):
        from grouser.logs import bags
        from grouser.logs.skeleton import bag_skeleton

        topics = bags.topics(file)
        lines = [f"  {topic}  {kind}" for topic, kind in sorted(topics.items())]
        text = bag_skeleton(file, topics)
        hint = "give them a meaning in a manifest, passed with --manifest; a draft:"
        return "bag", "\n".join(["topics:", *lines, hint, "", text]), {"topics": topics, "manifest": text}
    from grouser.logs.skeleton import layout, skeleton

    found = layout(file)
    text = skeleton(found)
    said = ", ".join(found.names) if found.header else f"{len(found.names)} without a heading"
    words = f"columns: {said}\ngive them a meaning in a manifest, passed with --manifest; a draft:\n\n{text}"
    numbers = {"columns": list(found.names), "header": found.header, "delimiter": found.delimiter, "manifest": text}
    return "table", words, numbers


def _pairs(log: Log, found: Assessment) -> list[tuple[str, str]]:
    report = log.report
    pairs = [
        ("duration", f"{found.duration:.1f} s in {log.n_segments} segment{'' if log.n_segments == 1 else 's'}"),
        ("rows", f"{report.rows}, of which {report.samples} are samples and {report.n_rejected} rejected"),
        ("signals", ", ".join(_signals(log))),
    ]
    if found.sample_rate is not None:
        pairs.append(("sample rate", f"{found.sample_rate:.4g} Hz"))
    if found.pose_rate is not None:
        pairs.append(("poses", f"{report.poses}, {found.pose_rate:.3g} Hz"))
    if found.distance is not None:
        pairs += [
            ("driving", f"{found.moving:.1f} s, {found.distance:.1f} m, up to {found.top_speed:.2f} m/s"),
            ("turning", f"left {found.turned_left:.0f}°, right {found.turned_right:.0f}°,"
                        f" up to {found.top_turn_rate:.2f} rad/s"),
        ]  # fmt: skip
    for name, span in (("roll", found.roll), ("pitch", found.pitch)):
        if span is not None:
            pairs.append((name, f"{span[0]:.1f}° to {span[1]:.1f}° (5 to 95 %)"))
    if found.lag is not None:
        pairs.append(("pose lag", f"about {found.lag:.2f} s by this log, {log.sensor.lag:.2f} s by the manifest"))
    return pairs


def _signals(log: Log) -> list[str]:
    given = [f"rates {' '.join(log.rates)}"] if log.rates else []
    given += [f"angles {' '.join(log.angles)}"] if log.angles else []
    given += [f"commands {' '.join(log.commands)}"] if log.commands else []
    for name in ("attitude", "gyro", "acceleration", "body_command"):
        given += [name] if getattr(log, name) is not None else []
    return given + [f"labels {' '.join(log.label)}"] * bool(log.label)
