"""Sensors that stopped: poses that repeat while the wheels turn, wheels at zero while the poses move."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from grouser.checks import FloatArray
from grouser.logs.log import BoolArray, IntArray, Log
from grouser.logs.manifest import Manifest
from grouser.logs.report import Problem, Rejection, counted, error, rate_keys, warning
from grouser.logs.windows import distinct, integral, rolled, windows_of
from grouser.vehicles.vehicle import Vehicle

FROZEN = "frozen: the same numbers again while the wheels turn"
"""Reason for which poses are left out."""
TURNED = 2.0
"""Mean turning of the wheels [rad, m] in which a pose must change."""
SHORTEST = 1.0
"""Time in which it must [s]."""
FAR = 30.0
"""Travel of a wheel at zero rate, in wheel radii, that shows its encoder to be dead."""
LONG = 5.0
"""Duration of the zero rate [s]."""
OFTEN = 0.05
"""Share of rows or poses left out for one reason that is worth a warning."""


def turned_by(rates: Iterable[FloatArray], time: FloatArray, segment: IntArray) -> FloatArray:
    """Mean turning of the wheels from the first sample to each, either way [rad or m], shape (n,)."""
    some = distinct(rates)
    return integral(np.mean(np.abs(some), axis=0) if some else np.zeros(len(time)), time, segment)


def frozen(poses: FloatArray, time: FloatArray, segment: IntArray, turned: FloatArray) -> BoolArray:
    """Poses (m, k) equal in all numbers to the last, of which the first came long ago by the turning of the wheels."""
    same = np.zeros(len(time), np.bool_)
    same[1:] = (np.diff(segment) == 0) & np.all(poses[1:] == poses[:-1], axis=1)
    first = np.maximum.accumulate(np.where(same, 0, np.arange(len(time))))
    return same & (turned - turned[first] > TURNED) & (time - time[first] > SHORTEST)


def without_dead_encoders(log: Log, manifest: Manifest, vehicle: Vehicle) -> Log:
    """The log without the time in which a wheel's rate is zero while the poses move the wheel."""
    if len(log.poses) < 2 or not log.rates:
        return log
    of_source = {manifest.rates[wheel].source: wheel for wheel in reversed(log.rates)}  # one wheel of each column
    still = {wheel: runs for wheel in of_source.values() if len(runs := _standing(log.rates[wheel], log))}
    if not still:
        return log
    found = windows_of(log, 1.0)
    wheels = rolled(vehicle, found)
    if wheels is None:
        return log
    dead, problems = np.zeros(len(log), np.bool_), []
    begin, end = found.begin, found.end
    for wheel, runs in still.items():
        if wheel not in wheels.rim:
            continue
        by_poses, rim = wheels.by_poses[wheel], wheels.rim[wheel]
        off, size = np.abs(by_poses - rim), np.maximum(np.abs(by_poses), np.abs(rim))
        moves = size > max(7.0 * log.sensor.position_noise, 0.2 * float(np.percentile(size, 90.0)))
        far = FAR * vehicle.arrays.radius[vehicle.wheels.index(wheel)]
        for first, last in runs.tolist():
            inside = moves & (begin > log.elapsed[first]) & (end < log.elapsed[last])
            missed = float(off[inside].sum())
            if missed > far and missed > 0.7 * float(size[inside].sum()):
                dead[first : last + 1] = True
                problems.append(_dead(log, manifest, wheel, (first, last), missed))
    if not problems or dead.all():
        return log
    return _without(log, dead, problems)


def _standing(rate: FloatArray, log: Log) -> IntArray:
    """First and last sample of each stretch of one segment in which a rate is zero for long, (k, 2)."""
    moves = (np.diff(rate) != 0.0) | (np.diff(log.segment) != 0)
    ends = np.append(np.flatnonzero(moves), len(rate) - 1)
    first = np.append(0, ends[:-1] + 1)
    runs = np.stack([first, ends], axis=1)
    return np.asarray(runs[(rate[first] == 0.0) & (log.elapsed[ends] - log.elapsed[first] > LONG)])


def _dead(log: Log, manifest: Manifest, wheel: str, run: tuple[int, int], missed: float) -> Problem:
    first, last = log.time[run[0]], log.time[run[1]]
    source = manifest.rates[wheel].source
    message = f"{source} stays 0 from t = {first:.1f} s to {last:.1f} s, where the poses move the wheel {missed:.3g} m"
    return warning(
        rate_keys(one for one in log.rates if manifest.rates[one].source == source),
        f"{message}; the encoder is likely dead, and this time is left out",
        "if the rate was right, set check_units = false in [limits]",
    )


def _without(log: Log, dead: BoolArray, problems: list[Problem]) -> Log:
    """The log without some samples, cut there."""
    segment = log.segment + np.cumsum(np.append(False, dead[1:] != dead[:-1]))
    last = len(log) - 1
    before = np.clip(np.searchsorted(log.elapsed, log.pose_elapsed, side="right") - 1, 0, last)
    after = np.clip(np.searchsorted(log.elapsed, log.pose_elapsed), 0, last)
    keep = ~dead[before] & ~dead[after] & (segment[before] == segment[after])
    cut = replace(log, segment=segment, poses=replace(log.poses, segment=segment[before]))
    left = cut._only(~dead, keep)
    count, start = int(dead.sum()), log.time[int(np.argmax(dead))]
    why = {"a wheel's rate is zero while the poses move it": Rejection(count=count, first=(f"t = {start:.1f} s",))}
    report = replace(left.report, rejected={**log.report.rejected, **why}, problems=(*log.report.problems, *problems))
    return replace(left, report=report)


def reading_problems(log: Log, manifest: Manifest) -> list[Problem]:
    """Rows left out for one reason more often than OFTEN; long holes and jumps of the poses."""
    report, problems = log.report, []
    for reason, one in report.rejected.items():
        by_input = reason.startswith(("rates.", "angles.", "attitude.")) and "has no sample" not in reason
        known = by_input or "time stamp" in reason or reason.startswith("alone")
        if known and one.count > OFTEN * max(report.rows, 1):
            share = f"{one.count} of {report.rows} rows ({100.0 * one.count / report.rows:.0f} %)"
            key = reason.partition(" ")[0] if by_input else "time.column"
            remedy = "see why the recorder writes them; the rest is used"
            problems.append(warning(key, f"{share} are left out: {reason}", remedy))
    if manifest.pose is None:
        return problems
    return [*problems, *_pose_holes(log, manifest.pose.catches_up), *_pose_jumps(log)]


def _pose_holes(log: Log, catches_up: bool) -> list[Problem]:
    """Poses that are frozen, or do not come, while the wheels turn; those that catch up are left out on purpose."""
    turned = turned_by(log.rates.values(), log.time, log.segment)
    same = log.report.rejected_poses.get(FROZEN)
    frozen_share = same.count / (same.count + len(log.poses)) if same else 0.0
    total = float(turned[-1]) if len(turned) else 0.0
    if total > 5.0 * TURNED and (frozen_share > 0.9 or len(log.poses) < 2):
        what = "the pose never changes" if same or len(log.poses) else "there is no row with a pose, all finite numbers"
        said = f"though the wheels turn {total:.0f} rad" + (f" ({same.count} poses repeat)" if same else "")
        remedy = "the pose sensor stood still or another column is meant; leave [pose] out to use the rates alone"
        return [error("pose.x", f"{what}, {said}", remedy)]
    remedy = "the pose sensor stood still meanwhile: see why; the rest is used"
    if same:
        said = f"{counted(same.count, 'pose')} repeat the last one while the wheels turn and are left out"
        return [warning("pose.x", f"{said}, the first at {same.first[0]}", remedy)]
    clock, at = log.elapsed, log.pose_elapsed
    if len(at) < 2 or catches_up:
        return []
    hole = np.diff(at)
    far = np.diff(np.interp(at, clock, turned))
    long = (hole > max(5.0, 20.0 * log.report.pose_period)) & (far > 5.0 * TURNED) & (np.diff(log.poses.segment) == 0)
    if not long.any():
        return []
    said = f"no new pose for {hole[long].sum():.0f} s while the wheels turn"
    return [warning("pose.x", f"{said}, first after t = {log.poses.time[int(np.argmax(long))]:.1f} s", remedy)]


def _pose_jumps(log: Log) -> list[Problem]:
    """Poses that jump and stay there."""
    starts = [gap.start for gap in log.report.gaps if gap.reason == "pose jumped"]
    border = np.flatnonzero(np.diff(log.poses.segment) != 0)
    if not starts or not len(border):
        return []
    far = np.linalg.norm(log.poses.position[border + 1] - log.poses.position[border], axis=1)
    remedy = 'name that time in [[outages]] with signal = "pose", or raise body_speed if it did drive that fast'
    if far.max() > 1e5:
        remedy = "if the UTM zone changed, give latitude and longitude instead of x and y"
    times = f"{len(starts)} times" if len(starts) > 1 else "once"
    message = f"the pose jumps {times} faster than body_speed, by up to {far.max():.3g} m, first at t = {starts[0]:.1f}"
    return [warning("limits.body_speed", f"{message} s; the log is cut there", remedy)]
