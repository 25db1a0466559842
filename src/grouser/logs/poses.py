"""The pose sensor's fresh measurements in one file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grouser.checks import FloatArray
from grouser.logs import signals
from grouser.logs.fixes import NO_FIX, localise
from grouser.logs.log import BoolArray, IntArray, Poses
from grouser.logs.manifest import Manifest
from grouser.logs.raw import Raw
from grouser.logs.report import Tally
from grouser.logs.stuck import FROZEN, frozen, turned_by

if TYPE_CHECKING:
    from grouser.logs.rows import Rows

FARTHEST = 2e7
"""Coordinates [m] beyond this are no place on a map (UTM northings reach 1e7)."""
SLACK = 0.1
"""A step [m] that is never called a jump."""
HOLE = 2.1
"""A step between poses that is a hole in their stream, in median steps: one pose dropped by a busy computer is none."""
TURNED = 1 << 16
"""Quaternions made into angles at a time."""
OFTEN = 0.05
"""Fraction of poses beyond which jumps are not removed."""


class Fresh(NamedTuple):
    """Fresh poses of a file, not yet in segments."""

    row: IntArray
    """Row of the file at or after which each came, shape (m,)."""
    poses: Poses
    """Their segment is zero, and yaw is not unwrapped."""
    jumps: IntArray
    """Rows at which the sensor lost its place: it jumped and stayed there."""
    tally: Tally
    """Poses left out."""


def fresh_poses(raw: Raw, manifest: Manifest) -> Fresh:
    """Poses that are new where they stand, finite, and within reach of the one before."""
    tally, none = Tally(raw.tally.file, raw.tally.what), np.empty(0, dtype=np.int64)
    if not raw.pose:
        nothing = np.empty((0, 3))
        return Fresh(none, Poses(time=np.empty(0), position=nothing, attitude=nothing, segment=none), none, tally)
    datum, no_fix = None, np.zeros(len(raw.pose_time), np.bool_)
    if "pose.latitude" in raw.pose:
        datum, no_fix = localise(raw, manifest)
    lost = _integrate(raw) if manifest.pose is not None and manifest.pose.increments else none
    # Column by column, and tables only of the poses that are kept: a long log has room for its numbers, not for copies.
    position, attitude = [_column(raw, name) for name in "xyz"], _attitude(raw)
    good, window = np.arange(len(raw.pose_time)), _windows(raw)

    def drop(bad: BoolArray, reason: str) -> None:
        nonlocal good
        tally.add(reason, _lines(raw.line, raw.pose_row[good[bad]]))
        good = good[~bad]

    drop(no_fix, NO_FIX)
    finite = np.isfinite(raw.pose_time)
    numbers = {key: column for key, column in raw.pose.items() if not key.startswith("pose.sigma")}
    for column in (*numbers.values(), *attitude):
        finite &= np.isfinite(column)
    drop(~finite[good], "missing or not finite")
    far = np.zeros(len(good), np.bool_)
    for column in position:
        far |= np.abs(column[good]) >= FARTHEST
    drop(far, f"farther than {FARTHEST:g} m from the origin")
    counter = raw.pose.get("pose.fresh")
    new = signals.changes(window[good, None])
    for column in numbers.values() if counter is None else (counter,):
        new |= signals.changes(column[good, None])
    good = good[new]
    for number, outage in enumerate(manifest.outages, start=1):
        if outage.signal in ("pose", "all"):
            time = raw.pose_time[good]
            drop((time >= outage.start) & (time <= outage.stop), f"in outage {number} of the manifest")
    fastest = manifest.limits.body_speed
    stray, jumped = _jumps(_rows(position, good), raw.pose_time[good], window[good], fastest)
    jumps = np.union1d(raw.pose_row[good[jumped]], raw.pose_row[lost])
    drop(stray, f"a stray pose, faster than limits.body_speed = {fastest:g} m/s there and back")
    if manifest.pose is not None and manifest.pose.catches_up:
        late = _catching_up(raw.pose_time[good], window[good])
        drop(late, "late, the sensor was catching up after a hole in its stream")
    poses = Poses(
        time=_some(raw.pose_time, good), position=_rows(position, good), attitude=_rows(attitude, good),
        segment=np.zeros(len(good), np.int64), sigma=_sigma(raw, manifest, good), datum=datum,
    )  # fmt: skip
    return Fresh(_some(raw.pose_row, good), poses, jumps, tally)


def _integrate(raw: Raw) -> IntArray:
    """Makes poses of increments, from the origin; returns the poses after a missing increment, where it is lost.

    The pose moves by R(yaw of the row above) (dx, dy), then turns by dyaw. A segment's column begins no new sum.
    """
    dx, dy, turn = (raw.pose[f"pose.{name}"] for name in ("x", "y", "yaw"))
    missing = ~(np.isfinite(dx) & np.isfinite(dy) & np.isfinite(turn))
    dx, dy, turn = (np.where(missing, 0.0, one) for one in (dx, dy, turn))
    yaw = np.cumsum(turn)
    before = yaw - turn
    raw.pose["pose.x"] = np.cumsum(np.cos(before) * dx - np.sin(before) * dy)
    raw.pose["pose.y"] = np.cumsum(np.sin(before) * dx + np.cos(before) * dy)
    raw.pose["pose.yaw"] = yaw
    raw.pose["pose.yaw"][missing] = np.nan
    after = np.flatnonzero(missing) + 1
    return after[after < len(missing)]


def placed(fresh: Fresh, rows: Rows) -> Poses:
    """The poses in the segments of the rows around them; a pose between two segments belongs to none."""
    poses = fresh.poses
    kept, last = np.arange(len(poses)), len(rows.row) - 1
    if last < 0:
        return poses.some(slice(0, 0))

    def drop(bad: BoolArray, reason: str) -> None:
        nonlocal kept
        fresh.tally.add(reason, _lines(rows.raw.line, fresh.row[kept[bad]]))
        kept = kept[~bad]

    before = np.searchsorted(rows.row, fresh.row, side="right") - 1
    after = np.searchsorted(rows.row, fresh.row, side="left")
    segment = rows.segment[np.maximum(before, 0)]
    inside = (before >= 0) & (after <= last) & (segment == rows.segment[np.minimum(after, last)])
    drop(~inside, "between two segments, where the inputs are missing")
    # A clock that stands still or runs back inside a segment makes a pose worthless.
    drop(~_rising(poses.time[kept], segment[kept]), "out of order or repeated")
    rates = [column for key, column in rows.values.items() if key.startswith("rates.")]
    turned = turned_by(rates, rows.time, rows.segment)[before[kept]]
    pose = np.concatenate([poses.position[kept], poses.attitude[kept]], axis=1)
    drop(frozen(pose, poses.time[kept], segment[kept], turned), FROZEN)
    found = replace(poses, segment=segment)
    found = found if len(kept) == len(poses) else found.some(kept)  # a long log is best held once
    found.attitude[:, 2] = signals.unwrap(found.attitude[:, 2], found.segment)  # this array is ours alone
    return found


def _rising(time: FloatArray, segment: IntArray) -> BoolArray:
    """Poses later than all before them in their segment."""
    rising = np.ones(len(time), np.bool_)
    for part in signals.pieces(segment):
        rising[part][1:] = time[part][1:] > np.maximum.accumulate(time[part])[:-1]
    return rising


def _attitude(raw: Raw) -> list[FloatArray]:
    """Columns of roll, pitch, yaw [rad]."""
    if "pose.heading" in raw.pose:
        return [_column(raw, "roll"), _column(raw, "pitch"), 0.5 * np.pi - raw.pose["pose.heading"]]
    if "pose.qw" not in raw.pose:
        return [_column(raw, name) for name in ("roll", "pitch", "yaw")]
    result = np.empty((3, len(raw.pose_time)))
    for first in range(0, len(raw.pose_time), TURNED):
        part = slice(first, first + TURNED)
        quaternion = np.stack([raw.pose[f"pose.{q}"][part] for q in ("qw", "qx", "qy", "qz")], axis=1)
        result[:, part] = signals.rpy_from_quaternions(quaternion).T
    return list(result)


def _sigma(raw: Raw, manifest: Manifest, chosen: IntArray) -> FloatArray | None:
    """One sigma of x, y [m], yaw [rad] of some poses; the sensor's noise where the log has no number above zero."""
    signals = {key: signal for key, signal in manifest.pose_signals().items() if key.startswith("pose.sigma")}
    if not signals:
        return None
    sensor = manifest.sensor
    result = np.tile([sensor.position_noise, sensor.position_noise, sensor.yaw_noise], (len(chosen), 1))
    for out, name in zip(result.T, ("x", "y", "yaw"), strict=True):
        key = f"pose.sigma_{name}"
        if key not in signals:
            continue
        given = np.abs(raw.pose[key][chosen])
        if (signals[key].unit or "").endswith("^2"):
            given = np.sqrt(given)
        known = np.isfinite(given) & (given > 0.0)
        out[known] = given[known]
    return result


def _rows(columns: list[FloatArray], chosen: IntArray) -> FloatArray:
    """Some rows of columns side by side, shape (rows, columns)."""
    return np.stack([column[chosen] for column in columns], axis=1)


def _some(values: NDArray[Any], chosen: IntArray) -> Any:
    """Rows by their rising numbers; all of them without a copy, for a long log is best held once."""
    return values if len(chosen) == len(values) else values[chosen]


def _column(raw: Raw, name: str) -> FloatArray:
    given = raw.pose.get(f"pose.{name}")
    return np.broadcast_to(np.float64(0.0), len(raw.pose_time)) if given is None else given


def _windows(raw: Raw) -> FloatArray:
    """The value of the segment column at each pose; a pose is fresh where it changes, even if it is the same."""
    column = raw.signals.get("segments.column")
    if column is None or len(column) == 0:
        return np.broadcast_to(np.float64(0.0), len(raw.pose_time))
    return column[np.clip(raw.pose_row, 0, len(column) - 1)]


def _jumps(position: FloatArray, time: FloatArray, window: FloatArray, speed: float) -> tuple[BoolArray, BoolArray]:
    """Poses out of reach of both neighbours (stray), and poses out of reach of the last but not of the next."""
    step = np.diff(time)
    comparable = (np.diff(window) == 0.0) & (step > 0.0)
    far = comparable & (np.linalg.norm(np.diff(position, axis=0), axis=1) > speed * step + SLACK)
    if np.count_nonzero(far) > OFTEN * np.count_nonzero(comparable):
        far[:] = False  # if jumps are that frequent, the unit or the limit is wrong, not the sensor
    from_last, to_next = np.append(False, far)[: len(time)], np.append(far, False)[: len(time)]
    stray = from_last & to_next
    # The step after a stray leads back; it is no jump of its own.
    after_stray = np.append(False, stray[:-1])[: len(time)]
    return stray, from_last & ~to_next & ~after_stray


def _catching_up(time: FloatArray, window: FloatArray) -> BoolArray:
    """Poses that come within a hole's length after it: the queue that built up is being worked off."""
    late = np.zeros(len(time), np.bool_)
    step = np.diff(time)
    goes_on = (np.diff(window) == 0.0) & (step > 0.0)
    if not goes_on.any():
        return late
    end_of_run = np.append(np.flatnonzero(~goes_on), len(time) - 1)  # the queue restarts with the clock
    for k in np.flatnonzero(goes_on & (step > HOLE * np.median(step[goes_on]))):
        stop = int(end_of_run[np.searchsorted(end_of_run, k)]) + 1
        until = int(np.searchsorted(time[k + 1 : stop], time[k + 1] + step[k], side="right"))
        late[k + 1 : k + 1 + until] = True
    return late


def _lines(line: IntArray, row: IntArray) -> IntArray:
    """Lines of rows, of which some come before the first or after the last; 0 in a file without rows."""
    return line[np.clip(row, 0, len(line) - 1)] if len(line) else np.zeros_like(row)
