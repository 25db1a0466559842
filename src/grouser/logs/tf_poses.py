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
from grouser.logs.bag_frames import read_frames, tf_topics
from grouser.logs.bags import stamp_of
from grouser.logs.frames import part, plain, wxyz, xyz
from grouser.logs.signals import changes, default_gap
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
    p: FloatArray
    """(k, 3) [m]."""
    q: FloatArray
    """w x y z without jumps of sign, (k, 4)."""

    @property
    def moving(self) -> bool:
        """Whether it is not the same throughout."""
        return bool(np.ptp(self.p, axis=0).max() > STILL or np.ptp(self.q, axis=0).max() > STILL)

    @property
    def fresh(self) -> FloatArray:
        """Times at which it changed."""
        return self.time[changes(np.concatenate([self.p, self.q], axis=1))]

    def at(self, time: FloatArray) -> tuple[FloatArray, FloatArray]:
        """R (m, 3, 3) and p (m, 3); NaN outside the link's times and where these have a gap."""
        n = len(self.time)
        after = np.clip(np.searchsorted(self.time, time), 1, n - 1)
        before = after - 1
        span = self.time[after] - self.time[before]
        share = np.clip((time - self.time[before]) / span, 0.0, 1.0)[:, None]
        gap = default_gap(float(np.median(np.diff(self.time))))
        near = np.minimum(np.abs(time - self.time[before]), np.abs(time - self.time[after])) < 1e-6
        good = (time >= self.time[0]) & (time <= self.time[-1]) & ((span <= gap) | near)
        p = self.p[before] + share * (self.p[after] - self.p[before])
        q = self.q[before] + share * (self.q[after] - self.q[before])
        p[~good] = np.nan
        return from_quaternion(q), p


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

    def composed(names: list[str]) -> tuple[FloatArray, FloatArray]:
        """The lowest of the frames in the parent of the last, at all times."""
        R, p = np.tile(np.eye(3), (len(time), 1, 1)), np.zeros((len(time), 3))
        for name in names:
            link = frames.links[name]
            if name in moving:
                R_link, p_link = moves[name].at(time)
            else:
                R_link, p_link = link.R_parent_frame[None], link.p_parent_frame[None]
            p = np.einsum("kij,kj->ki", np.broadcast_to(R_link, R.shape), p) + p_link
            R = R_link @ R
        return R, p

    (R_a, p_a), (R_b, p_b) = composed(up), composed(down)
    R = np.swapaxes(R_b, 1, 2) @ R_a
    p = np.einsum("kji,kj->ki", R_b, p_a - p_b)
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
    size = np.linalg.norm(table[:, 4:], axis=1)
    table = table[np.isfinite(table).all(axis=1) & (size > 0.0)]
    _, first = np.unique(table[:, 0], return_index=True)
    table = table[first]
    q = table[:, 4:] / np.linalg.norm(table[:, 4:], axis=1, keepdims=True)
    flips = np.append(1.0, np.where(np.sum(q[1:] * q[:-1], axis=1) < 0.0, -1.0, 1.0))[: len(q)]
    return Moves(table[:, 0], table[:, 1:4], q * np.cumprod(flips)[:, None])
