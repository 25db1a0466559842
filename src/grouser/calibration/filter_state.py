"""The state of an online filter as plain numbers, and back, to the last bit."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.calibration.change import Change, Hypotheses, Prior
from grouser.calibration.interval_filter import Linear, set_state, state_of
from grouser.calibration.memory import Memory

if TYPE_CHECKING:
    from grouser.calibration.online import OnlineFilter

PLAIN = {
    "updates": int, "rejected": int, "pace": int, "ground": str, "recalled": bool, "informed": bool, "seconds": float,
}  # fmt: skip
"""Fields that are stored as they are."""


def state_of_filter(f: OnlineFilter) -> dict[str, Any]:
    """All that a filter needs to continue."""
    recent = [
        {**{n: np.asarray(v).tolist() for n, v in one._asdict().items()}, "start": start, "p": p.tolist(),
         "P": P.tolist(), "noise": noise}
        for one, start, p, P, noise in f.recent
    ]  # fmt: skip
    return {
        **{name: getattr(f, name) for name in PLAIN}, **state_of(f, "pP"), "noise": f.noise.state,
        "shape": list(f.limits[0]), "window": f.window.state if f.size else {},
        "tests": {**f.tests.running.state, "next": f.tests.next} if f.tests else {},
        "open": {**f.open.state, "names": f.open.names} if f.open else {}, "recent": recent,
        "memory": f.memory.tables(), "feel": f.feeling.state, "changes": [asdict(change) for change in f.changes],
    }  # fmt: skip


def restore(f: OnlineFilter, state: dict[str, Any]) -> None:
    """Set the state of a filter."""
    f.memory = Memory.of_tables(state["memory"], "state")
    for name, kind in PLAIN.items():
        setattr(f, name, kind(state[name]))
    set_state(f, "pP", state)
    f.noise.state, f.feeling.state = state["noise"], state["feel"]
    f.changes = [Change(**change) for change in state["changes"]]
    f.tests, f.open, f.recent, f.size = None, None, [], int(state["shape"][0])
    if not f.size:
        return
    f.make_runs(f.size)
    f.window.state = state["window"]
    if state["open"]:
        f.open = Hypotheses(1, [Prior(str(name), f.p, f.P, 1.0) for name in state["open"]["names"]], f.limits)
        f.open.state = state["open"]
    if state["tests"]:
        f.tests = f.new_tests()
        f.tests.running.state, f.tests.next = state["tests"], int(state["tests"]["next"])
    shapes = {name: getattr(f.window.run, name).shape[1:] for name in Linear._fields}
    for row in state["recent"]:
        read: dict[str, Any] = {
            name: np.array(row[name], dtype=np.float64).reshape(shape) for name, shape in shapes.items()
        }
        one = Linear(**{**read, "seconds": float(row["seconds"])})
        p, P = (np.array(row[name], dtype=np.float64).reshape(getattr(f, name).shape) for name in "pP")
        f.recent.append((one, float(row["start"]), p, P, row["noise"]))
