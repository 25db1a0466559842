"""State of a chain on board as plain arrays, so that another one continues from it.

It is what a snapshot of the chain holds, with its clock. Signals kept for a replay are not part of it: what comes late
to the second is not replayed before its beginning. A pause of some seconds is a silence for the chain: its
motion is extrapolated with a larger covariance. After a longer one it continues as if its clock was set: no motion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grouser._kernels.robot.memory import PRESENT
from grouser.errors import RobotError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grouser.robot.robot import Robot

__all__ = ["restore", "state_of"]


def _parts(robot: Robot) -> dict[str, Any]:
    """The arrays that change with signals, by name; views of the chain's own."""
    chain = robot._chain
    return {
        "odometry": chain.memory, "estimate": chain.last, "joints": chain.odometry.joints,
        "fusion": chain.fusion.everything, "suspicion": chain.odometry.suspicion.everything,
        "present": np.frombuffer(chain.present, dtype=PRESENT), "faults": chain.faults,
    }  # fmt: skip


def state_of(robot: Robot) -> dict[str, np.ndarray]:
    """Copies of the arrays, as bytes: their layout is that of this version."""
    return {name: np.frombuffer(one.tobytes(), np.uint8).copy() for name, one in _parts(robot).items()}


def restore(robot: Robot, state: Mapping[str, Any]) -> None:
    """Let a chain that has not begun continue from a state; refused, and unchanged, where the layout differs."""
    parts = _parts(robot)
    for name, one in parts.items():
        given = state.get(name)
        size = one.nbytes
        if not isinstance(given, np.ndarray) or given.dtype != np.uint8 or given.shape != (size,):
            raise RobotError(f"state of a robot: {name} does not fit this fit and version of grouser; start afresh")
    for name, one in parts.items():
        values = np.frombuffer(state[name].tobytes(), one.dtype).reshape(one.shape)
        if name == "present":
            for field in PRESENT.names or ():
                robot._chain.present[field] = values[field][0]
        else:
            one[...] = values
    robot._chain.present.kept = robot._chain.present.snapshots = 0
