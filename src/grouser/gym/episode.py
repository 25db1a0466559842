"""One episode: the engine stepped under commands from outside, and what it leaves behind as a run."""

from __future__ import annotations

import numpy as np

from grouser.checks import FloatArray
from grouser.dynamics import Dynamics
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.simulation import Run, Status
from grouser.simulation.drive import Bound
from grouser.simulation.engine import Launcher, Records
from grouser.simulation.settle import start_state
from grouser.terrain import Terrain


class Episode:
    """A model on a ground, moved on some steps at a time."""

    def __init__(
        self, model: Kinematics | Dynamics, ground: Terrain, start: FloatArray, *, dt: float, steps: int
    ) -> None:
        self.model = model
        self.ground = ground
        self.dt = dt
        """Step [s]."""
        self.steps = steps
        """Steps a call of `move` takes."""
        self.state = start_state(model.vehicle, ground, start, model.penetration)
        """[quaternion w x y z, position x y z, joints], shape (nq,)."""
        self.velocity = np.zeros(6 + model.vehicle.n_joints)
        """[ω rad/s, v m/s, joint rates], body coordinates, shape (nv,); it begins at rest."""
        self.status = Status.OK
        self.launch = Launcher(model, ground, dt, steps, steps, True)
        self._parts: list[Records] = []

    def move(self, bound: Bound) -> None:
        """Take some steps under a drive; after an early end the state is the last good one."""
        records = self.launch([bound], self.state[None], self.velocity[None])
        self._parts.append(records)
        self.state, self.status = records.final[0], records.status[0]
        if records.forces is not None:
            self.velocity = records.forces.final_velocity[0]
        elif records.rows[0] > 0:
            self.velocity = records.velocity[0, records.rows[0] - 1]

    def run(self) -> Run:
        """What was driven so far, a row each time a drive was given and one at the end."""
        parts = self._parts
        if not parts:
            raise SimulationError("the episode has no steps yet, so there is no run; call step first")
        last = len(parts) - 1
        # The last row of a part is the first of the next, which knows the command that follows.
        kept = [int(part.rows[0]) if i == last else 1 for i, part in enumerate(parts)]

        def joined(arrays: list[FloatArray]) -> FloatArray:
            return np.concatenate([array[:, :rows] for array, rows in zip(arrays, kept, strict=True)], axis=1)

        whole = parts[-1]._replace(
            state=joined([p.state for p in parts]),
            velocity=joined([p.velocity for p in parts]),
            contact=joined([p.contact for p in parts]),
            command=joined([p.command for p in parts]),
            steps=np.sum([p.steps for p in parts], axis=0),
            deficient=np.sum([p.deficient for p in parts], axis=0),
            rows=np.array([sum(kept)]),
        )
        forces = [p.forces for p in parts if p.forces is not None]
        if forces:
            whole = whole._replace(
                forces=forces[-1]._replace(
                    force=joined([f.force for f in forces]),
                    power=joined([f.power for f in forces]),
                    torque=joined([f.torque for f in forces]),
                    solver=joined([f.solver for f in forces]),
                    iterations=np.sum([f.iterations for f in forces], axis=0),
                    halved=np.sum([f.halved for f in forces], axis=0),
                ),
            )
        return Run.from_records(self.model, self.ground, whole, dt=self.dt, every=self.steps)
