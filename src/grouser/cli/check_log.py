"""What `grouser check` says of a log: what is in it, what was rejected, and what can be calibrated from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grouser.cli import console
from grouser.errors import GrouserError

if TYPE_CHECKING:
    from grouser.logs.assess import Assessment
    from grouser.logs.log import Log

Found = tuple[str, str, dict[str, Any]]
"""Kind, description for people, and numbers."""


def looks_like_log(file: Path) -> bool:
    """Whether a file is a log by its name."""
    from grouser.logs.bags import is_bag

    return file.suffix.lower() in (".csv", ".tsv") or is_bag(file)


def is_manifest(file: Path) -> bool:
    """Whether a TOML file calls itself a log's manifest."""
    try:
        with file.open("rb") as stream:
            return b"grouser/log@" in stream.read(100_000)
    except OSError:
        return False


def describe_manifest(file: Path) -> Found:
    """The signals a manifest names."""
    from grouser.logs.manifest import load_manifest

    manifest = load_manifest(file)
    signals = {**manifest.signals(), **manifest.pose_signals()}
    words = "\n".join(f"  {key:<22} {signal.source}" for key, signal in signals.items())
    numbers = {"vehicle": manifest.vehicle, "signals": {key: signal.source for key, signal in signals.items()}}
    return "log manifest", words, numbers


def describe_log(files: Sequence[Path], manifest: Path) -> Found:
    """A log read with its manifest."""
    from grouser.logs.assess import assess

    log = console.read_log(files, manifest)
    found = assess(log)
    pairs = _pairs(log, found)
    width = max(len(name) for name, _ in pairs)
    words = [f"  {name:<{width}}  {value}" for name, value in pairs]
    words += [f"  {line}" for line in log.report.lines()[1:]]
    words.append("can be calibrated" if found.can_calibrate else "cannot be calibrated")
    words += [f"  cannot determine {line}" for line in found.cannot_determine]
    return "log", "\n".join(words), {**found.as_dict(), "vehicle": log.vehicle, "report": log.report.as_dict()}


def describe_unread(file: Path) -> Found:
    """A log without a manifest: what it holds, and a manifest to start from."""
    from grouser.logs import bags
    from grouser.logs.skeleton import bag_skeleton

    if bags.is_bag(file):
        topics = bags.topics(file)
        lines = [f"  {topic}  {kind}" for topic, kind in sorted(topics.items())]
        text = bag_skeleton(file, topics)
        hint = "say what they are in a manifest and pass it with --manifest; to start from:"
        return "bag", "\n".join(["topics:", *lines, hint, "", text]), {"topics": topics, "manifest": text}
    from grouser.logs.skeleton import layout, skeleton

    found = layout(file)
    text = skeleton(found)
    said = ", ".join(found.names) if found.header else f"{len(found.names)} without a heading"
    words = f"columns: {said}\nsay what they are in a manifest and pass it with --manifest; to start from:\n\n{text}"
    numbers = {"columns": list(found.names), "header": found.header, "delimiter": found.delimiter, "manifest": text}
    return "table", words, numbers


def refuse_several(files: Sequence[Path]) -> None:
    """Only a log may lie in several files."""
    if len(files) > 1:
        raise GrouserError(f"{len(files)} files are given; only the parts of a log go together, with --manifest")


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
