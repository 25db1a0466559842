"""`read_log`: files and a manifest become a log."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs.decoy import decoy_problems
from grouser.logs.fixes import with_datum
from grouser.logs.log import IntArray, Log, Poses, period
from grouser.logs.manifest import Manifest, load_manifest
from grouser.logs.plausible import check_joints, find_problems, refuse
from grouser.logs.raw import Raw, is_bag, raw_csv
from grouser.logs.report import MOST_GAPS, Report, errors, merged
from grouser.logs.rows import Judged, judge
from grouser.logs.stuck import without_dead_encoders

Name = str | os.PathLike[str]
MOST_FILES = 10_000


def read_log(
    paths: Name | Iterable[Name],
    *,
    manifest: Name | Mapping[str, Any] | Manifest,
    progress: Callable[[int, int], None] | None = None,
    strict: bool = True,
) -> Log:
    """The log in a CSV file or a bag, read as its manifest says; several files are segments of one log.

    Samples that cannot be used are left out and counted in `log.report`; a fault of the whole file or of the
    manifest raises `LogError`. `manifest` is a TOML file, `schema = "grouser/log@1"`, or its tables as a mapping.
    A log whose signals contradict each other so that nothing can be learned from it (units, signs, sides) is
    refused too, unless `strict` is false or the manifest says `check_units = false` in [limits]; `log.report.problems`
    lists all contradictions. Files are read a piece at a time, and only the columns or fields that the manifest names
    are kept; `progress` gets the bytes read so far and those of all files.
    """
    given = load_manifest(manifest)
    files = _files(paths)
    sizes = [_size(path) for path in files]
    before, total = 0, sum(sizes)

    def within(done: int) -> None:
        if progress is not None:
            progress(min(before + done, total), total)

    parts: list[Judged] = []
    try:
        for path, size in zip(files, sizes, strict=True):
            raw = _raw(path, given, within)
            if is_bag(path) or given.robot.R_body_imu is not None or (given.pose is not None and given.pose.frame):
                from grouser.logs.mounted import placed

                raw, given = placed(raw, path, given)
            if given.pose is not None and given.pose.is_gps:
                given = with_datum(given, raw)  # the first file's, for all
            parts.append(judge(raw, given))
            before += size
        imu_by = parts[0].imu_by
        log = log_of(parts, given)
    except MemoryError:
        name = files[0].name if len(files) == 1 else f"{len(files)} files"
        remedy = f"name fewer columns in {given.file}, or read a part of the log"
        said = f"the numbers asked for do not fit in memory; {remedy}"
        raise LogError(f"{name} ({total / 1e6:.0f} MB): {said}") from None
    if len(log) == 0:
        why = "; ".join(f"{one.count} rows: {reason}" for reason, one in log.report.rejected.items())
        raise LogError(f"{log.name}: none of its {log.report.rows} rows can be used ({why})")
    known = None
    if given.vehicle is not None:  # the one place where a log needs its vehicle
        from grouser.vehicles.catalog import vehicle

        known = vehicle(given.vehicle)
        check_joints(given, known)
        log = without_dead_encoders(log, given, known) if given.limits.check_units else log
    if given.limits.check_units and log.gyro is not None and log.acceleration is not None:
        from grouser.logs.alignment import aligned

        no_yaw = given.pose is not None and given.pose.yaw_from is not None
        bare = replace(log, gyro=None, acceleration=None)
        # Wheels with wrong signs would turn the IMU round.
        if no_yaw or not errors(find_problems(bare, given, known)):
            log = aligned(log, known, imu_by)
    if given.pose is not None and given.pose.yaw_from is not None:
        from grouser.logs.course import with_heading

        log = with_heading(log, given, known)
    problems = find_problems(log, given, known)
    if not errors(problems):
        problems += decoy_problems(log, given, known, files[0])
    if not given.limits.check_units:
        problems = [replace(one, severity="warning") for one in problems]
    elif strict:
        refuse(log, given, [*log.report.problems, *problems])
    return replace(log, report=replace(log.report, problems=(*problems, *log.report.problems)))


def _files(paths: Name | Iterable[Name]) -> list[Path]:
    several: Iterable[Any] = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    try:
        files = [Path(one) for one in several]
    except TypeError:
        raise LogError(f"{paths!r:.60} is not the path of a log, nor a list of such") from None
    if len(set(files)) < len(files):
        twice = next(one for k, one in enumerate(files) if one in files[:k])
        raise LogError(f"{twice}: is given twice, and its drive would count twice; give it once")
    if not 0 < len(files) <= MOST_FILES:
        raise LogError(f"a log is read from 1 to {MOST_FILES} files; {len(files)} are given")
    return files


def _size(path: Path) -> int:
    """Bytes of a file, or of the files in a folder; 0 where there is none; reading it raises the error."""
    try:
        return sum(one.stat().st_size for one in path.iterdir()) if path.is_dir() else path.stat().st_size
    except (OSError, ValueError):
        return 0


def _raw(path: Path, manifest: Manifest, progress: Callable[[int], None]) -> Raw:
    try:
        if not path.exists():
            raise LogError(f"{path}: there is no such file")
    except (OSError, ValueError) as error:
        raise LogError(f"{str(path)!r:.200}: cannot be read ({error})") from None
    if is_bag(path):
        from grouser.logs.bags import raw_bag

        return raw_bag(path, manifest, progress)
    if path.is_dir():
        raise LogError(f"{path}: is a folder but no ROS 2 bag, which would hold a metadata.yaml, .db3 or .mcap")
    if not path.is_file():
        raise LogError(f"{path}: is not a regular file")
    return raw_csv(path, manifest, progress)


def log_of(parts: list[Judged], manifest: Manifest) -> Log:
    """The files one after the other, each with new segments; the columns of the parts are emptied to save memory."""
    offsets = np.cumsum([0, *(part.n_segments for part in parts[:-1])]).tolist()
    numbered = list(zip(parts, offsets, strict=True))
    time = _joined([part.time for part in parts])
    segment: IntArray = _joined([part.segment + k if k else part.segment for part, k in numbered])
    poses = Poses(
        time=_joined([part.poses.time for part in parts]),
        position=_joined([part.poses.position for part in parts]),
        attitude=_joined([part.poses.attitude for part in parts]),
        segment=_joined([part.poses.segment + k if k else part.poses.segment for part, k in numbered]),
        sigma=None if parts[0].poses.sigma is None else _joined([part.poses.sigma for part in parts]),
        datum=parts[0].poses.datum,
    )
    # Columns are taken out in place: a long log is held only once.
    found = {key: _joined([part.signals.pop(key) for part in parts]) for key in list(parts[0].signals)}

    def group(table: str) -> dict[str, FloatArray]:
        keys = [key for key in found if key.startswith(f"{table}.")]
        return {key.split(".", 1)[1]: found.pop(key) for key in keys}

    def stacked(table: str, names: Sequence[str], missing: float) -> FloatArray | None:
        given = group(table)
        if not given:
            return None
        result = np.full((len(time), len(names)), missing)
        while given:
            name, column = given.popitem()
            result[:, names.index(name)] = column
        return result

    gaps = [gap for part in parts for gap in part.gaps]
    report = Report(
        files=tuple(part.tally.file for part in parts),
        file_segments=tuple(part.n_segments for part in parts),
        rows=sum(part.rows for part in parts),
        samples=len(time),
        poses=len(poses),
        segments=sum(part.n_segments for part in parts),
        period=period(time, segment),
        pose_period=period(poses.time, poses.segment),
        rejected=merged(part.tally.rows for part in parts),
        rejected_poses=merged(part.pose_tally.rows for part in parts),
        cells=merged(part.tally.cells for part in parts),
        gaps=tuple(gaps[:MOST_GAPS]),
        n_gaps=len(gaps),
        remarks=tuple(dict.fromkeys(said for part in parts for said in part.remarks)),
    )
    return Log(
        name=report.files[0], vehicle=manifest.vehicle, sensor=manifest.mounting(), report=report,
        time=time, segment=segment, poses=poses,
        rates=group("rates"), angles=group("angles"), commands=group("commands"), label=group("labels"),
        currents=group("currents"), efforts=group("efforts"),
        attitude=stacked("attitude", ("roll", "pitch"), 0.0),
        gyro=stacked("gyro", "xyz", np.nan),
        acceleration=stacked("acceleration", "xyz", np.nan),
        body_command=stacked("body_command", ("speed", "turn"), np.nan),
    )  # fmt: skip


def _joined(arrays: list[Any]) -> Any:
    """The arrays concatenated; a single one without a copy, to save memory."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
