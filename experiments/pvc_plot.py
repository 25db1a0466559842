"""Pictures of R §16.4: the chapter's figures of one run, and a comparison of designs."""

from __future__ import annotations

import os
from pathlib import Path

from experiments.experiment import Result
from grouser.rolling.design import Design
from grouser.simulation.run import Run


def draw(result: Result, path: str | os.PathLike[str], *, run: Run, designs: dict[str, Design]) -> None:
    """Joint angles and rates, velocities, errors and paths into `path`; designs into a file `…-designs` next to it."""
    from grouser.view.rolling import plot_designs, plot_rolling

    plot_rolling(run, path)
    target = Path(path)
    title = f"Kinematic slip of designs led straight over the ground of {result.name}"
    plot_designs(designs, target.with_name(f"{target.stem}-designs{target.suffix}"), title=title)
