"""The DRIVE windows: their files, and each window as one interval to predict."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments import data
from grouser.checks import FloatArray
from grouser.logs import Log, read_log
from grouser.motion.intervals import Intervals, relative_poses

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

FOLDER = "drive-windows"
SOURCE = "windows of the DRIVE data set, Baril et al., arXiv 2309.10718"
MANIFESTS = data.ROOT / "examples" / "drive-windows"
FILES = {
    "gravel": ("warthog_gravel_20240806.csv", "warthog-gravel.toml"),
    "asphalt": ("warthog_asphalt_20240807.csv", "warthog.toml"),
    "sand": ("warthog_sand_20240925_1413.csv", "warthog.toml"),
    "tile": ("husky_tile_20231212.csv", "husky.toml"),
}
"""By surface: log and manifest. The Husky drove on tile, the Warthog on the others."""

KNOWN = 0.3
"""Seconds of a window that a prediction may look at."""
LAST = 1.95
"""The last row of a window [s]."""
FASTEST = 4.0
"""Slopes of poses off the wheels' speed by more than this [m/s, rad/s] are no speeds but jumps of the truth."""


@dataclass(frozen=True, eq=False)
class Windows:
    """The windows of one surface."""

    surface: str
    log: Log

    @cached_property
    def even(self) -> IntArray:
        """Windows to fit."""
        return np.arange(0, self.log.n_segments, 2)

    @cached_property
    def odd(self) -> IntArray:
        """Windows to judge."""
        return np.arange(1, self.log.n_segments, 2)

    @cached_property
    def steady(self) -> BoolArray:
        """Whether the command has stood for at least 2 s where a window begins."""
        return np.asarray(self.log.label["steady"][self.log.segment_bounds[:-1]] > 0.0)

    @cached_property
    def _pose_bounds(self) -> IntArray:
        return np.searchsorted(self.log.poses.segment, np.arange(self.log.n_segments + 1)).astype(np.int64)

    @cached_property
    def first(self) -> IntArray:
        """The last fresh pose of the first 0.3 s: where a prediction begins."""
        known = self.log.poses.time <= KNOWN + 1e-9
        found = [low + int(known[low:high].sum()) - 1 for low, high in self._pairs()]
        return np.array(found, dtype=np.int64)

    @cached_property
    def last(self) -> IntArray:
        """The last fresh pose."""
        return self._pose_bounds[1:] - 1

    def _pairs(self) -> list[tuple[int, int]]:
        return [(int(a), int(b)) for a, b in zip(self._pose_bounds[:-1], self._pose_bounds[1:], strict=True)]

    @cached_property
    def overdue(self) -> FloatArray:
        """How much longer than usual each pose was waited for [s], ≥ 0: by so much it is older than usual."""
        poses = self.log.poses
        wait = np.full(len(poses), np.nan)
        wait[1:] = np.diff(poses.time)
        wait[self._pose_bounds[:-1]] = np.nan
        usual = float(np.nanmedian(wait))
        late: FloatArray = np.maximum(np.nan_to_num(wait, nan=usual) - usual, 0.0)
        return late

    def intervals(self, poses: str, velocity: FloatArray | None = None) -> Intervals:
        """Every window from its pose at 0.3 s to its last; the motion measured between is the same for all `poses`.

        What differs is when the poses count as taken. "rows": at the rows where they stand, 0.3 s and 1.95 s. "stamps":
        at the rows where they first appeared, less what they were overdue. The sensor's lag comes off either.
        """
        log, i, j = self.log, self.first, self.last
        if poses == "rows":
            times = np.tile([KNOWN, LAST], (log.n_segments, 1))
        else:
            taken = log.poses.time - self.overdue
            times = np.stack([taken[i], taken[j]], axis=1)
        bounds = log.segment_bounds
        six = np.concatenate([log.poses.position, log.poses.attitude], axis=1)
        return Intervals(
            times=times,
            ranges=np.stack([bounds[:-1], bounds[1:]], axis=1),
            measured=relative_poses(six[i], six[j]),
            start=six[i],
            segment=log.poses.segment[i],
            velocity=velocity,
            overlapping=False,
        )

    def at(self, column: FloatArray, time: FloatArray) -> FloatArray:
        """A column of the log, (n, …), at one time of each window, (I, …); before its first row, that of the row."""
        bounds = self.log.segment_bounds
        out = np.empty((self.log.n_segments, *column.shape[1:]))
        for k in range(self.log.n_segments):
            part = slice(int(bounds[k]), int(bounds[k + 1]))
            t, values = self.log.time[part], column[part]
            for index in np.ndindex(*column.shape[1:]):
                out[(k, *index)] = np.interp(time[k], t, values[(slice(None), *index)])
        return out

    def pose_velocity(self, rolling: FloatArray) -> FloatArray:
        """Turn rate, forward and left speed by a line through the fresh poses of the first 0.3 s, (I, 3).

        As the wheels roll (`rolling`, (I, 3)) where there is one pose, or where they jump.
        """
        poses, out = self.log.poses, rolling.copy()
        for k, (low, _) in enumerate(self._pairs()):
            part = slice(low, int(self.first[k]) + 1)
            if part.stop - part.start < 2:
                continue
            yaw = poses.attitude[part, 2]
            turn, x, y = np.polyfit(poses.time[part], np.column_stack([yaw, poses.position[part, :2]]), 1)[0]
            c, s = np.cos(yaw.mean()), np.sin(yaw.mean())
            found = np.array([turn, c * x + s * y, c * y - s * x])
            if np.abs(found - rolling[k]).max() < FASTEST:
                out[k] = found
        return out


def find_data() -> Path:
    """The folder with the windows: that of `--data`, or the clone's own."""
    return data.folder(FOLDER, FILES["gravel"][0], SOURCE)


def read(surface: str) -> Windows:
    """The windows of a surface."""
    file, manifest = FILES[surface]
    return Windows(surface, read_log(find_data() / file, manifest=MANIFESTS / manifest))
