"""What of one file can be used: samples in segments, fresh poses, and an account of the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grouser.checks import FloatArray
from grouser.logs.log import IntArray, Poses
from grouser.logs.poses import fresh_poses, placed
from grouser.logs.raw import Raw
from grouser.logs.report import MOST_GAPS, Gap, Report
from grouser.logs.rows import Rows, usable_rows

if TYPE_CHECKING:
    from grouser.logs.manifest import Manifest

__all__ = ["Judged", "judge"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Judged:
    """The usable part of one file; fields as in `Log`."""

    time: FloatArray
    segment: IntArray
    signals: dict[str, FloatArray]
    poses: Poses
    report: Report

    @property
    def n_segments(self) -> int:
        """Number of unbroken stretches."""
        return int(self.segment[-1]) + 1 if len(self.segment) else 0


def judge(raw: Raw, manifest: Manifest) -> Judged:
    """Samples and poses of a file, and what was left out.

    The columns of `raw` are used up: a long log has no room for numbers that nobody needs any more.
    """
    fresh = fresh_poses(raw, manifest)
    raw.pose.clear()
    rows = usable_rows(raw, manifest, fresh.jumps)
    poses = placed(fresh, rows)
    gaps = _gaps(rows)
    report = Report(
        files=(raw.file,),
        rows=raw.rows,
        rejected=raw.tally.rejections(),
        rejected_poses=fresh.tally.rejections(),
        cells=raw.tally.cells(),
        gaps=tuple(gaps[:MOST_GAPS]),
        n_gaps=len(gaps),
    )
    return Judged(time=rows.time, segment=rows.segment, signals=rows.values, poses=poses, report=report)


def _gaps(rows: Rows) -> list[Gap]:
    """The holes at which a segment ends, unless the log itself says that it does."""
    gaps = []
    window = rows.window
    for k in np.flatnonzero(np.diff(rows.segment)):
        here, there = rows.row[k], rows.row[k + 1]
        if window is not None and window[here] != window[there]:
            continue
        duration = float(rows.time[k + 1] - rows.time[k])
        if duration <= 0.0:
            reason = "clock jumped back"
        elif rows.outage[here:there].any():
            reason = "outage"
        elif there - here == 1 and duration <= 2.0 * _step(rows, int(k)):
            reason = "pose jumped"
        else:
            reason = "no samples"
        gaps.append(Gap(start=float(rows.time[k]), duration=duration, reason=reason))
    return gaps


def _step(rows: Rows, k: int) -> float:
    """Time between the two samples before sample k + 1 [s]."""
    return float(rows.time[k] - rows.time[k - 1]) if k else 0.0
