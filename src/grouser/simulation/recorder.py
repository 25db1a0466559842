"""Recording of a stepped simulation, as the run that `simulate` would return."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.simulation.rollout import COUNTED, END_COLUMNS, HALVED, RECORDED, TAKEN
from grouser.checks import FloatArray
from grouser.simulation.engine import recorded_arrays, records_of
from grouser.simulation.run import Run
from grouser.simulation.status import Status

if TYPE_CHECKING:
    from grouser.simulation.stepping import Simulation, Step

Row = tuple[FloatArray, FloatArray]


class Recorder:
    """Steps a simulation and records it.

    >>> recorder = gr.simulation.Recorder(sim)
    >>> while sim.time < 10.0 and recorder.step(controller(sim.state)).status is gr.Status.OK:
    ...     pass
    >>> recorder.run().save("run.npz")

    The run is to the bit that of `grouser.simulate` with the same commands and start.
    """

    def __init__(self, sim: Simulation, *, every: int = 1) -> None:
        """Record each `every`-th call of `step` of a simulation, from where it is now."""
        self.sim = sim
        """The simulation."""
        self.every = checks.count(every, "every")
        """Calls of `step` from one recorded row to the next."""
        self.steps = 0
        """Steps taken since the beginning of the recording."""
        self._calls = 0
        self._rows: list[Row] = []
        self._sums = np.zeros(END_COLUMNS, dtype=np.int64)

    def __len__(self) -> int:
        """Rows recorded so far."""
        return len(self._rows)

    @property
    def duration(self) -> float:
        """Time recorded so far [s]."""
        return self.steps * self.sim.dt

    def step(self, command: ArrayLike) -> Step:
        """As `Simulation.step`, and the row is kept."""
        sim = self.sim
        before, ends = sim.state, sim._room.batch.ends[0].copy()
        step = sim.step(command)
        now = sim._room.batch.ends[0]
        if now[RECORDED] and self._calls % self.every == 0:
            self._rows.append(self._row(before))
        self._calls += 1
        self._sums += now - ends
        self.steps += int(now[TAKEN] - ends[TAKEN])
        return step

    def run(self) -> Run:
        """The run so far; its last row is that of the state now, under the command of the last step."""
        sim, batch = self.sim, self.sim._room.batch
        rows = [*self._rows, *self._row_now()]
        blocks = np.array([block for _, block in rows]).reshape(len(rows), batch.memory_block.size)
        taken = SimpleNamespace(q=sim.state[None], v=sim.velocity[None])
        taken.states = np.array([state for state, _ in rows]).reshape(1, len(rows), len(sim.state))
        for name in recorded_arrays(sim.model):
            setattr(taken, name, batch.view_in(name, blocks)[None, :, 0, 0])
        taken.ends = np.zeros((1, END_COLUMNS), dtype=np.int64)
        taken.ends[0, [TAKEN, RECORDED]] = self.steps, len(rows)
        taken.ends[0, [COUNTED, HALVED]] = self._sums[[COUNTED, HALVED]]
        records = records_of(taken, sim.model.dynamic)._replace(status=(sim.status,))
        run = Run.from_records(sim.model, sim.ground, records, dt=sim.dt, every=self.every * sim._room.batch.steps)
        return run if sim.ruts is None else dataclasses.replace(run, ruts=sim.ruts)

    def _row(self, state: FloatArray) -> Row:
        """A state, and all that the step from there left."""
        return state, self.sim._room.batch.memory_block.copy()

    def _row_now(self) -> list[Row]:
        """The row of the present state, where one is due: that of a next step, which is taken and undone."""
        room = self.sim._room
        if self.sim.status is not Status.OK or self._calls == 0 or self._calls % self.every:
            return []
        memory, before = room.memory(), self.sim.state
        room.run()
        row = [self._row(before)] if room.rows else []
        room.recall(memory)
        return row
