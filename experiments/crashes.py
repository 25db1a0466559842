"""1000 random crashes: how they end, and whether any ends `ok` with energy it was not given. No paper has these."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field

from experiments.crash_scenes import GROUNDS, HEIGHT, SECONDS, SHARE, gain, sank, scene
from experiments.experiment import Experiment, Progress, Result, Row

SCENES = 1000
QUICK = 70
ENDS = ("ok", "off_terrain", "unsolved", "gained_energy", "buried", "diverged")
"""How a crash can end."""


@dataclass
class Tally:
    """The crashes on one kind of ground."""

    ends: Counter[str] = field(default_factory=Counter)
    wrong: int = 0
    worst: float = 0.0
    sunk: int = 0

    def row(self, ground: str) -> Row:
        count = sum(self.ends.values())
        others = {name: self.ends[name] for name in ENDS[1:]}
        return {
            "ground": ground, "scenes": count, "ok": self.ends["ok"], **others,
            "ok_with_energy": self.wrong, "worst_gain": self.worst, "sank": self.sunk,
        }  # fmt: skip


def run_crashes(quick: bool, progress: Progress) -> Result:
    """Every scene once; energies from states and velocities, not from the engine's own account."""
    count = QUICK if quick else SCENES
    found = {ground: Tally() for ground in GROUNDS}
    for seed in range(count):
        crash = scene(seed)
        run = crash.run()
        tally = found[crash.ground]
        tally.ends[str(run.status)] += 1
        if run.status == "ok":
            excess = gain(crash.model, run).excess
            tally.wrong += excess > 1.0
            tally.worst = max(tally.worst, excess)
            tally.sunk += sank(crash.model, run)
        progress(seed + 1, count)
    rows = [found[ground].row(ground) for ground in GROUNDS]
    return Result(
        name="crashes",
        rows=rows,
        paper=[],
        notes=[
            f"worst_gain: energy gained by a run that ended ok, over what the method may gain: {SHARE:.0%} of the "
            f"largest kinetic energy and the weight times {HEIGHT:g} m; ok_with_energy counts those above 1",
            "sank: ended ok, a wheel's diameter below all ground around it",
        ],
        settings={"scenes": count, "seconds": SECONDS, "speed": [0.5, 10.0], "dt": [0.002, 0.1]},
        keys=("ground",),
        draw=_draw,
        summary={
            "share_ok": sum(row["ok"] for row in rows) / count,
            "ok_with_energy": sum(row["ok_with_energy"] for row in rows),
            "worst_gain": max(row["worst_gain"] for row in rows),
        },
    )


def _draw(result: Result, path: str | os.PathLike[str]) -> None:
    """How the crashes on each ground ended."""
    from grouser.simulation import Status
    from grouser.view import colours, style

    with style.picture(path, 7.0, 4.2) as figure:
        ax = figure.subplots()
        names = [row["ground"] for row in result.rows]
        below = [0] * len(names)
        for name in ENDS:
            values = [row[name] for row in result.rows]
            ax.bar(names, values, bottom=below, color=colours.STATUS[Status(name)], label=name.replace("_", " "))
            below = [a + b for a, b in zip(below, values, strict=True)]
        ax.set_ylabel("number of crashes")
        figure.legend(loc="outside lower center", ncols=5)
        figure.suptitle(f"How {result.settings['scenes']} random crashes ended")


CRASHES = Experiment("crashes", "Random crashes into walls, steps, drops and ditches: how they end", run_crashes)
