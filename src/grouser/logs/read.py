"""`read_log`: files and a manifest become a log."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs import report as reports
from grouser.logs.bags import is_bag
from grouser.logs.judge import Judged, judge
from grouser.logs.log import IntArray, Log, Poses, Sensor
from grouser.logs.raw import Raw, raw_csv

if TYPE_CHECKING:
    from grouser.logs.manifest import Manifest

__all__ = ["read_log"]

Name = str | os.PathLike[str]
MOST_FILES = 10_000


def read_log(paths: Name | Iterable[Name], *, manifest: Name | Mapping[str, Any] | Manifest) -> Log:
    """The log in a CSV file or a bag, read as its manifest says; several files are segments of one log.

    Samples that cannot be used are left out and counted in `log.report`; a fault of the whole file or of the
    manifest raises `LogError`. `manifest` is a TOML file, `schema = "grouser/log@1"`, or its tables as a mapping.
    """
    from grouser.logs.manifest import load_manifest

    given = load_manifest(manifest)
    files = _files(paths)
    log = log_of([judge(_raw(path, given), given) for path in files], given)
    if len(log) == 0:
        why = "; ".join(f"{one.count} rows: {reason}" for reason, one in log.report.rejected.items())
        raise LogError(f"{log.name}: none of its {log.report.rows} rows can be used ({why})")
    if given.vehicle is not None:
        _check_against_vehicle(log, given, given.vehicle)
    return log


def _check_against_vehicle(log: Log, manifest: Manifest, name: str) -> None:
    """The joints exist, and the wheels rolled about as far as the poses moved."""
    # The one place where a log asks about its vehicle; vehicles know nothing of logs.
    from grouser.logs.plausible import check_joints, check_units
    from grouser.vehicles.catalog import vehicle

    known = vehicle(name)
    check_joints(manifest, known)
    if manifest.limits.check_units and len(log.poses) > 1:
        check_units(log, manifest, known)


def _files(paths: Name | Iterable[Name]) -> list[Path]:
    single = isinstance(paths, (str, os.PathLike))
    try:
        files = [Path(paths)] if single else [Path(one) for one in paths]  # type: ignore[arg-type, union-attr]
    except TypeError:
        raise LogError(f"{paths!r:.60} is not the path of a log, nor a list of such") from None
    if not files:
        raise LogError("no file is given to read a log from")
    if len(files) > MOST_FILES:
        raise LogError(f"{len(files)} files are too many for one log, at most {MOST_FILES} are read")
    return files


def _raw(path: Path, manifest: Manifest) -> Raw:
    try:
        exists, folder = path.exists(), path.is_dir()
    except (OSError, ValueError) as error:
        raise LogError(f"{str(path)!r:.200}: cannot be read ({error})") from None
    if not exists:
        raise LogError(f"{path}: there is no such file")
    if is_bag(path):
        from grouser.logs.topics import raw_bag

        return raw_bag(path, manifest)
    if folder:
        raise LogError(f"{path}: is a folder but no ROS 2 bag, which would hold a metadata.yaml")
    if not path.is_file():
        raise LogError(f"{path}: is not a regular file")
    return raw_csv(path, manifest)


def log_of(parts: list[Judged], manifest: Manifest) -> Log:
    """The files one after the other, each beginning a segment of its own."""
    offsets = np.cumsum([0, *(part.n_segments for part in parts[:-1])])
    time = _joined([part.time for part in parts])
    segment: IntArray = np.concatenate([part.segment + k for part, k in zip(parts, offsets, strict=True)])
    pose_segment: IntArray = np.concatenate([part.poses.segment + k for part, k in zip(parts, offsets, strict=True)])
    pose_time = _joined([part.poses.time for part in parts])
    found = {key: _joined([part.signals[key] for part in parts]) for key in parts[0].signals}

    def group(table: str) -> dict[str, FloatArray]:
        return {key.split(".", 1)[1]: found[key] for key in found if key.startswith(f"{table}.")}

    def stacked(table: str, names: Iterable[str], missing: float) -> FloatArray | None:
        given = group(table)
        if not given:
            return None
        return np.stack([given.get(name, np.full(len(time), missing)) for name in names], axis=1)

    period = _period(time, segment)
    report = replace(
        reports.merged([part.report for part in parts]),
        samples=len(time),
        poses=len(pose_time),
        segments=int(segment[-1]) + 1 if len(segment) else 0,
        period=period,
        pose_period=_period(pose_time, pose_segment),
    )
    return Log(
        name=report.files[0],
        time=time,
        segment=segment,
        rates=group("rates"),
        angles=group("angles"),
        attitude=stacked("attitude", ("roll", "pitch"), 0.0),
        gyro=stacked("gyro", "xyz", np.nan),
        acceleration=stacked("acceleration", "xyz", np.nan),
        commands=group("commands"),
        body_command=stacked("body_command", ("speed", "turn"), np.nan),
        label=group("labels"),
        poses=Poses(
            time=pose_time,
            position=_joined([part.poses.position for part in parts]),
            attitude=_joined([part.poses.attitude for part in parts]),
            segment=pose_segment,
        ),
        sensor=Sensor(**manifest.sensor.model_dump()),
        vehicle=manifest.vehicle,
        report=report,
    )


def _joined(arrays: list[FloatArray]) -> FloatArray:
    """One after the other; a single one as it is, for the columns of a long log are best held once."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _period(time: FloatArray, segment: IntArray) -> float:
    steps = np.diff(time)[np.diff(segment) == 0]
    return float(np.median(steps)) if steps.size else 0.0
