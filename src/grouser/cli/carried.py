"""What a calibration starts from and what it remembers: a fit, a memory of grounds, ground that does not change."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import grouser as gr
from grouser.cli import values


class Carried(NamedTuple):
    """Options of commands that learn while driving."""

    start: Path | None
    """A fit to carry on."""
    memory: Path | None
    """A file of grounds, which need not exist yet."""
    steady: bool
    """Whether the ground is taken for one and the same throughout."""
    terrain: str | None = None
    """Ground of the fit, if other than flat."""

    def fit(self) -> gr.Fit:
        """The fit to carry on."""
        assert self.start is not None
        return gr.Fit.load(self.start, ground=values.ground(self.terrain))

    @property
    def sigma(self) -> dict[str, float]:
        """Sigmas of the systematic parameters of the fit to carry on: those of the prior. None without one."""
        if self.start is None:
            return {}
        fit = self.fit()
        return {p.name: fit.sigma[p.name] for p in fit.systematic}

    def grounds(self) -> gr.calibration.Memory | None:
        """The memory, where there is one already."""
        return gr.calibration.Memory.load(self.memory) if self.memory is not None and self.memory.exists() else None

    def calibrated(self, model: Any, log: gr.Log, parameters: Any = None, **options: Any) -> gr.Fit:
        """A calibration with a memory, which is written with the grounds of this log."""
        if not options["online"]:
            return gr.calibrate(model, log, **({} if parameters is None else {"parameters": parameters}), **options)
        memory = self.grounds() or self._new(model, parameters)
        given = {} if parameters is None else {"parameters": parameters}
        fit = gr.calibrate(model, log, **given, adapt=not self.steady, memory=memory, **options)
        self.write(memory)
        return fit

    def _new(self, model: Any, parameters: Any) -> gr.calibration.Memory | None:
        """An empty memory for a model, where a file is to hold one."""
        if self.memory is None:
            return None
        motion, chosen = (model.model, model.systematic) if isinstance(model, gr.Fit) else (model, parameters)
        return gr.calibration.Memory.of(motion, chosen)

    def write(self, memory: gr.calibration.Memory | None) -> None:
        """Write the memory, if a file was named."""
        if self.memory is not None and memory is not None:
            memory.save(self.memory)


def said_of_change(change: dict[str, Any]) -> str:
    """A change of ground in words."""
    how = "recalled" if change["recalled"] else "new"
    return (
        f"ground changed at about {change['since']:.1f} s, noticed at {change['time']:.1f} s: from"
        f" {change['from']} to {change['to']} ({how})"
    )
