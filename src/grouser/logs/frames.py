"""Frames of a robot as tf messages give them, and where sensors sit on the body by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from grouser.checks import FloatArray, listed, nearest
from grouser.errors import LogError
from grouser.rotation import from_quaternion

DEEPEST = 1000
"""Links of the longest chain; a longer one is a loop."""


def part(message: Any, name: str, default: Any = None) -> Any:
    """A field of a message, which is an object or a dictionary."""
    return message.get(name, default) if isinstance(message, dict) else getattr(message, name, default)


def xyz(message: Any) -> FloatArray:
    """A Vector3 or Point, (3,)."""
    return np.array([part(message, "x"), part(message, "y"), part(message, "z")], dtype=np.float64)


def wxyz(message: Any) -> FloatArray:
    """A Quaternion, (4,), w x y z."""
    return np.array([part(message, name) for name in ("w", "x", "y", "z")], dtype=np.float64)


def plain(frame: Any) -> str:
    """The name of a frame; ROS 1 wrote some with a slash in front."""
    return str(frame or "").lstrip("/")


def leaf(frame: Any) -> str:
    """The name of a frame without the prefix of its robot: base_link of r1/base_link."""
    return plain(frame).rpartition("/")[2]


class Link(NamedTuple):
    """A frame in its parent."""

    parent: str
    R_parent_frame: FloatArray
    p_parent_frame: FloatArray
    static: bool


@dataclass(frozen=True, eq=False)
class Mount:
    """Where a sensor sits on the body."""

    R_body_sensor: FloatArray
    """Its axes in the body frame, (3, 3)."""
    p_body_sensor: FloatArray
    """Its origin in the body frame, (3,) [m]."""
    said: str
    """How it was found, for people."""


class Frames:
    """The tree of frames that tf messages described so far."""

    def __init__(self) -> None:
        self.links: dict[str, Link] = {}
        """By the name of the frame."""

    def take(self, message: Any, *, static: bool) -> None:
        """A tf2_msgs/TFMessage; of a link that is given again the last one holds, and a static one before others."""
        for one in part(message, "transforms", ()):
            frame, parent = plain(part(one, "child_frame_id")), plain(part(part(one, "header"), "frame_id"))
            before = self.links.get(frame)
            if not frame or not parent or (before is not None and before.static and not static):
                continue
            transform = part(one, "transform")
            q, p = wxyz(part(transform, "rotation")), xyz(part(transform, "translation"))
            if np.isfinite(q).all() and q.any() and np.isfinite(p).all():
                self.links[frame] = Link(parent, from_quaternion(q), p, static)

    @property
    def names(self) -> list[str]:
        """All frames, sorted."""
        return sorted({*self.links, *(link.parent for link in self.links.values())})

    def mount(self, frame: str, base: str) -> Mount:
        """A frame in another one; `LogError` with the frames that are known where there is no chain."""
        up, down = self.chain(frame, base)
        frame, base = plain(frame), plain(base)
        common = self.links[up[-1]].parent if up else frame
        (R_a, p_a), (R_b, p_b) = (self._in(start, common) for start in (frame, base))
        names = [*up, common, *reversed(down)]
        moving = sorted(name for name in (*up, *down) if not self.links[name].static)
        said = f"tf {' → '.join(names)}" if len(names) > 1 else "it is the body's frame"
        if moving:
            said += f" ({', '.join(moving)} from /tf, taken as fixed)"
        return Mount(R_b.T @ R_a, R_b.T @ (p_a - p_b), said)

    def chain(self, frame: str, base: str) -> tuple[list[str], list[str]]:
        """Frames from one, and from the other, up to below the frame that both hang on; `LogError` if there is none."""
        frame, base = plain(frame), plain(base)
        up, down = self._ancestors(frame), self._ancestors(base)
        common = next((name for name in up if name in down), None)
        if common is None:
            for name in (frame, base):
                if name not in self.names:
                    hint = nearest(name, self.names)
                    known = listed(self.names, most=40)
                    raise LogError(f"tf has no frame {name!r:.60}; {hint}frames are {known}")
            tops = f"{frame!r:.60} hangs on {up[-1]!r:.60} and {base!r:.60} on {down[-1]!r:.60}"
            raise LogError(f"tf does not join {frame!r:.60} to {base!r:.60}: {tops}; a link between them is missing")
        return up[: up.index(common)], down[: down.index(common)]

    def _ancestors(self, frame: str) -> list[str]:
        """The frame and those above it."""
        chain = [frame]
        while chain[-1] in self.links:
            chain.append(self.links[chain[-1]].parent)
            if len(chain) > DEEPEST or chain[-1] in chain[:-1]:
                raise LogError(f"tf has a loop at frame {chain[-1]!r:.60}; each frame has one parent, up to the world")
        return chain

    def _in(self, frame: str, above: str) -> tuple[FloatArray, FloatArray]:
        """R and p of a frame in one of its ancestors."""
        R, p = np.eye(3), np.zeros(3)
        while frame != above:
            link = self.links[frame]
            R, p, frame = link.R_parent_frame @ R, link.R_parent_frame @ p + link.p_parent_frame, link.parent
        return R, p
