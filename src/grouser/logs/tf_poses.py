"""Poses of a frame in another by the chain of tf links between them, composed at the times at which it is measured.

A chain map → odom → base_link holds two things: odom → base_link is wheel odometry and fast, map → odom is what a
map or a GPS corrects it by, and slow. Poses are taken where the uppermost link that moves changed, for only there
something was measured; the links below are interpolated to that time.
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs import bags
from grouser.logs.bags import stamp_of
from grouser.logs.frames import composed, part, plain, wxyz, xyz
from grouser.logs.mounts import read_frames, tf_topics
from grouser.logs.signals import between, changes, default_gap, same_signs
from grouser.rotation import from_quaternion, to_quaternion

STILL = 1e-9
"""A link whose numbers differ by less does not move."""


class TfPoses(NamedTuple):
    """A pose at some times."""

    time: FloatArray
    """[s], (m,)."""
    pose: dict[str, FloatArray]
    """pose.x … pose.qz, (m,) each."""
    moves_in: str
    """The frame in which the uppermost link moves: "odom" if nothing corrects wheel odometry."""
    said: str
    """How it was found, for people."""


class Moves(NamedTuple):
    """A link in the course of time."""

    time: FloatArray
    """Rising [s], (k,)."""
    values: FloatArray
    """x, y, z [m] and w, x, y, z without jumps of sign, (k, 7)."""

    @property
    def moving(self) -> bool:
        """Whether it is not the same throughout."""
        return bool(np.ptp(self.values, axis=0).max() > STILL)

    @property
    def fresh(self) -> FloatArray:
        """Times at which it changed."""
        return self.time[changes(self.values)]

    def at(self, time: FloatArray) -> tuple[FloatArray, FloatArray]:
        """R (m, 3, 3) and p (m, 3), which is NaN outside the link's times and where these have a gap."""
        found = between(self.values, self.time, time, default_gap(float(np.median(np.diff(self.time)))))
        found[np.isnan(found[:, 0]), 3:] = 1.0
        return from_quaternion(found[:, 3:]), found[:, :3]


def tf_poses(path: Path, frame: str, world: str, near: str, *, by_header: bool) -> TfPoses:
    """The pose of a frame in a world by tf of a bag, of the robot of the topic `near`.

    by_header: at the stamps of its links.
    """
    there = bags.topics(path)
    _, topics = tf_topics(there, near)
    if not topics:
        raise LogError(f"{path.name}: has no /tf, which [pose] frame asks for; give x, y and yaw of another topic")
    frames = read_frames(path, there, near, moving=True)
    try:
        up, down = frames.chain(frame, world)
    except LogError:  # a map may be found late in a drive
        frames = read_frames(path, there, near, moving=True, most=None)
        try:
            up, down = frames.chain(frame, world)
        except LogError as error:
            raise LogError(f"{path.name}, [pose] frame and world: {error}") from None
    named = [*up, *down]
    moves = _moves(path, topics, [name for name in named if not frames.links[name].static], by_header=by_header)
    moving = [name for name in named if name in moves and moves[name].moving]
    chain = " → ".join([plain(world), *reversed(named[: len(up)])] if not down else [plain(world), plain(frame)])
    if not moving:
        raise LogError(f"{path.name}: tf {chain} does not move, so it is no pose of a drive; is world the right frame?")
    top = moving[len([name for name in moving if name in up]) - 1]  # the uppermost on the way up, else the last one
    time = moves[top].fresh

    def link(name: str) -> tuple[FloatArray, FloatArray]:
        return moves[name].at(time) if name in moving else frames.links[name][1:3]

    (R_a, p_a), (R_b, p_b) = (composed(map(link, names)) for names in (up, down))
    R = np.broadcast_to(np.swapaxes(R_b, -1, -2) @ R_a, (len(time), 3, 3))
    p = np.broadcast_to(np.einsum("...ji,...j->...i", R_b, p_a - p_b), (len(time), 3))
    q = np.full((len(time), 4), np.nan)
    good = np.isfinite(p).all(axis=1)
    q[good] = to_quaternion(R[good])
    place = {f"pose.{axis}": p[:, k] for k, axis in enumerate("xyz")}
    turned = {f"pose.q{axis}": q[:, k] for k, axis in enumerate("wxyz")}
    parent = frames.links[top].parent
    said = f"pose of {plain(frame)} by tf {chain}, where {parent} → {top} changed"
    return TfPoses(time, place | turned, parent, said)


def _moves(path: Path, topics: list[str], names: list[str], *, by_header: bool) -> dict[str, Moves]:
    """Links of some frames in the course of time."""
    rows: dict[str, array[float]] = {name: array("d") for name in names}
    for _, recorded, message in bags.messages(path, topics):
        for one in part(message, "transforms", ()):
            name = plain(part(one, "child_frame_id"))
            if name in rows:
                transform = part(one, "transform")
                t = stamp_of(one, recorded) if by_header else recorded
                rows[name].extend((t, *xyz(part(transform, "translation")), *wxyz(part(transform, "rotation"))))
    return {name: _sorted(np.array(found).reshape(-1, 8)) for name, found in rows.items() if len(found) >= 16}


def _sorted(table: FloatArray) -> Moves:
    """Rows t, x, y, z, qw … qz in order of time, each time once; what is no rotation is left out."""
    size = np.linalg.norm(table[:, 4:], axis=1, keepdims=True)
    table = np.where(np.arange(8) < 4, table, table / np.where(size > 0.0, size, np.nan))
    table = table[np.isfinite(table).all(axis=1)]
    _, first = np.unique(table[:, 0], return_index=True)
    table = table[first]
    return Moves(table[:, 0], np.concatenate([table[:, 1:4], same_signs(table[:, 4:])], axis=1))
