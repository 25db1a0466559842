"""The state of an online filter as plain numbers, and back, to the last bit."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.calibration.change import Change, Hypotheses, Prior
from grouser.calibration.interval_filter import Linear, Window, make_run
from grouser.calibration.memory import Memory
from grouser.checks import FloatArray

if TYPE_CHECKING:
    from grouser.calibration.online import OnlineFilter

PLAIN = {"updates": int, "rejected": int, "pace": int, "ground": str, "recalled": bool, "informed": bool}
"""Fields that are stored as they are."""


def state_of(filter: OnlineFilter) -> dict[str, Any]:
    """All that a filter needs to continue."""
    f = filter
    recent = [
        {**{n: np.asarray(v).tolist() for n, v in one._asdict().items()}, "start": start, "p": p.tolist(),
         "P": P.tolist(), "noise": noise}
        for one, start, p, P, noise in f.recent
    ]  # fmt: skip
    return {
        **{name: getattr(f, name) for name in PLAIN}, "p": f.p.tolist(), "P": f.P.tolist(), "seconds": f.seconds,
        "noise": f.noise.state, "shape": list(f.shape), "window": f.window.state if f.window else {},
        "tests": {**f.tests.running.state, "next": f.tests.next} if f.tests else {},
        "open": {**f.open.state, "names": f.open.names} if f.open else {}, "recent": recent,
        "memory": f.memory.tables(), "feel": f.feeling.state, "changes": [asdict(change) for change in f.changes],
    }  # fmt: skip


def restore(filter: OnlineFilter, state: dict[str, Any]) -> None:
    """Bring a filter to a state."""
    f, n = filter, len(filter.p)
    f.memory = Memory.of_tables(state["memory"], "state")
    for name, kind in PLAIN.items():
        setattr(f, name, kind(state[name]))
    f.p, f.P, f.seconds = _array(state["p"], n), _array(state["P"], n, n), float(state["seconds"])
    f.noise.state, f.feeling.state = state["noise"], state["feel"]
    f.changes = [Change(**change) for change in state["changes"]]
    f.window, f.tests, f.open, f.recent = None, None, None, []
    m, _, ns = f.shape = tuple(int(size) for size in state["shape"])  # type: ignore[assignment]  # of three
    if not m:
        return
    f.window = Window(*f.limits)
    f.window.state = state["window"]
    f.trial, f.reach = make_run(1, *f.limits), make_run(1, f.shape, np.inf, f.limits[2])
    if state["open"]:
        f.open = Hypotheses(1, [Prior(str(name), f.p, f.P, 1.0) for name in state["open"]["names"]], f.limits)
        f.open.state = state["open"]
    if state["tests"]:
        f.tests = f.new_tests()
        f.tests.running.state, f.tests.next = state["tests"], int(state["tests"]["next"])
    for r in state["recent"]:
        one = Linear(
            _array(r["y"], m), _array(r["H"], m, n), _array(r["fixed"], m, m), _array(r["basis"], ns, m, m),
            float(r["seconds"]), _array(r["lasting"], m, m),
        )  # fmt: skip
        f.recent.append((one, float(r["start"]), _array(r["p"], n), _array(r["P"], n, n), r["noise"]))


def _array(values: Any, *shape: int) -> FloatArray:
    return np.array(values, dtype=np.float64).reshape(shape)
