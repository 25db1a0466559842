"""One episode: a simulation that holds each command, and what it leaves behind as a run."""

from types import SimpleNamespace
from typing import ClassVar

import numpy as np

from grouser._kernels.simulation import drive as laws
from grouser._kernels.simulation.rollout import RECORDED
from grouser.checks import FloatArray
from grouser.dynamics import Dynamics
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.kinematics.workspace import Workspace
from grouser.simulation import Run, Simulation
from grouser.simulation.drive import write_level_motion
from grouser.simulation.engine import recorded_arrays, records_of
from grouser.simulation.status import OF_CODE
from grouser.terrain import Terrain


class Episode(Simulation):
    """A simulation that holds each command, of rates or of speed and turn rate, for some steps; it keeps a run."""

    _remade: ClassVar[tuple[str, ...]] = (*Simulation._remade, "_segment", "_seen", "law", "q")

    def __init__(
        self, model: Kinematics | Dynamics, ground: Terrain, start: FloatArray, *, dt: float, hold: int, steers: bool
    ) -> None:
        """`steers`: it is driven by speed and turn rate, else by the rates of the actuated joints."""
        self.steers = steers
        self._parts: list[FloatArray] = []
        self._rows = 0
        super().__init__(model, ground, dt=dt, start=start, hold=hold)

    def _workspace(self) -> Workspace:
        # The first state of a command is recorded, and the last with its velocity.
        return Workspace(self.model, self.ground.kernel, dt=self.dt, steps=self.hold, rows=2, closing=True)

    def _make(self) -> None:
        super()._make()
        room = self._room
        self.law = self.ground.kernel
        """The ground as kernels take it."""
        if self.steers:
            na = len(room.command)
            par = np.zeros(3 + 5 * na)
            par[:2] = 1.0, na
            room.drive(laws.schedule.address, par)
            self._segment = par[3:].reshape(-1, 5)
        self.q = room.q
        """The state itself, not a copy: [quaternion w x y z, position x y z, joints], shape (nq,)."""
        dynamic = isinstance(self.model, Dynamics)
        self._seen: list[FloatArray] = [room.velocity] * 2 if dynamic else list(room.batch.velocities[0])

    @property  # type: ignore[misc]  # it is looked at, not set
    def velocity(self) -> FloatArray:
        """[ω rad/s, v m/s, joint rates], body coordinates, shape (nv,); it begins at rest."""
        return self._seen[self._rows - 1]

    def drive(self, rates: list[float]) -> None:
        """Take the steps with rates of the actuated joints [rad/s or m/s]; an early end leaves the last good state."""
        self._room.command[:] = rates
        self._move()

    def steer(self, speed: float, turn: float) -> None:
        """Take the steps with a speed [m/s] and turn rate [rad/s], as if the ground were level."""
        write_level_motion(self.model.vehicle, speed, 0.0, turn, self._segment)
        self._move()

    def _move(self) -> None:
        room = self._room
        self._status = OF_CODE[room.run()]
        self._rows = room.rows or self._rows
        self._parts.append(room.batch.memory_block.copy())

    def run(self) -> Run:
        """What was driven so far, a row each time a drive was given and one at the end."""
        if not self._parts:
            raise SimulationError("the episode has no steps yet, so there is no run; call step first")
        batch, blocks = self._room.batch, np.array(self._parts)
        ends = batch.view_in("ends", blocks)[:, 0]
        last = int(ends[-1, RECORDED])

        def rows(name: str) -> FloatArray:
            # The last row of a part is the first of the next, which has the command that follows.
            each = batch.view_in(name, blocks)[:, 0]
            whole: FloatArray = np.concatenate([each[:-1, 0], each[-1, :last]])
            return whole[None]

        dynamic = isinstance(self.model, Dynamics)
        names = ("states", *recorded_arrays(self.model))
        total = ends[-1].copy()
        total[RECORDED] = len(blocks) - 1 + last
        q, v = (batch.view_in(name, blocks)[-1] for name in ("q", "v"))
        whole = SimpleNamespace(q=q, v=v, ends=total[None], **{name: rows(name) for name in names})
        return Run.from_records(self.model, self.ground, records_of(whole, dynamic), dt=self.dt, every=self.hold)
