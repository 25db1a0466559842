"""One rollout that Python advances a few steps a call, in arrays that are made once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from grouser._kernels.kinematics.velocity import KinematicModel
from grouser._kernels.scratch import make_scratch
from grouser._kernels.simulation import drive as laws
from grouser._kernels.simulation import rollout as engine
from grouser._kernels.terrain.ground import Ground
from grouser.checks import FloatArray

if TYPE_CHECKING:
    from grouser._kernels.dynamics.scratch import DynamicModel
    from grouser._kernels.simulation.dynamic_rollout import DynamicJob


class Workspace:
    """A batch of one rollout and all that its kernel works on.

    A call of `run` takes some steps under the drive and leaves state, velocity and records in `batch`. It continues
    with the memory of the steps before (actuators, the start of Newton's method), or without it after `forget`.
    """

    def __init__(
        self, model: Any, ground: Ground, *, dt: float, steps: int = 1, rows: int = 0, closing: bool = False
    ) -> None:
        """For a `Kinematics` or a `Dynamics`, a ground as the engine takes it, and steps of dt [s].

        steps: taken in a call, recorded are the first state and, if `closing`, the last; rows: of recorded states.
        """
        vehicle, arrays = model.vehicle_arrays, model.arrays(dt, soils=ground.keep)
        dynamic = not isinstance(arrays, KinematicModel)
        nv, na = 5 + len(vehicle.parent), len(vehicle.actuated)
        details = 1 + closing
        self.batch: engine.Batch = engine.Batch.zeros(
            n=1, nq=nv + 1, nv=nv, nw=len(vehicle.wheel), na=na, rows=rows, details=details,
            forced=details if dynamic else 0, disturbed=0, t0=0.0, dt=dt, steps=steps, order=model.order, every=steps,
            closing=closing,
        )  # fmt: skip
        self.q: FloatArray = self.batch.q[0]
        """[quaternion w x y z, position x y z, joints], shape (nq,): where it is."""
        self.velocity: FloatArray = self.batch.v[0]
        """[ω rad/s, v m/s, joint rates], shape (nv,); of a dynamic model."""
        self.scratch = make_scratch(vehicle)
        self.dynamic_scratch: Any = None
        self.job: engine.KinematicJob | DynamicJob
        if not isinstance(arrays, KinematicModel):
            # Loaded when used: it takes 20 ms.
            from grouser._kernels.dynamics.scratch import make_dynamic_scratch
            from grouser._kernels.simulation.dynamic_rollout import DynamicJob, dynamic_rollouts

            self.dynamic_scratch = make_dynamic_scratch(vehicle, arrays)
            self.job = DynamicJob(vehicle, arrays, ground, self.batch, self.scratch, self.dynamic_scratch)
            self._kernel = dynamic_rollouts
        else:
            self.job = engine.KinematicJob(vehicle, arrays, ground, self.batch, self.scratch)
            self._kernel = engine.kinematic_rollouts
        self.ground, self.dt = ground, dt
        self._ends: NDArray[np.int64] = self.batch.ends[0]
        par = np.array([1.0, na, 1.0, *np.zeros(na)])
        self.drive(laws.table.address, par)
        self.command: FloatArray = par[3:]
        """Rates that the actuated joints are to have [rad/s or m/s], shape (na,), unless there is another drive."""
        self._kernel(self.job, 0, 0)  # no rollout: compiles before the first step

    def repoint(self, *, model: KinematicModel | DynamicModel, ground: Ground, dt: float) -> None:
        """Continue on another ground or with another step [s]; the model is given for that step."""
        self.job.repoint(model=model, ground=ground)
        self.batch.repoint(dt=dt)
        self.ground, self.dt = ground, dt

    def drive(self, address: int, par: FloatArray) -> None:
        """Use the drive law at an address; its parameters may change from call to call."""
        self._par = par
        self.batch.drives[0] = address, par.ctypes.data

    def run(self) -> int:
        """Take the steps; returns the status as a number. After an early end the state is the last good one."""
        self._kernel(self.job, 0, 1)
        return self._ends.item(engine.STATUS)

    @property
    def steps(self) -> int:
        """Steps taken since `forget`."""
        return self._ends.item(engine.TAKEN)

    @property
    def rows(self) -> int:
        """States that the last call recorded."""
        return self._ends.item(engine.RECORDED)

    @property
    def deficient(self) -> int:
        """Steps since `forget` whose constraints left a velocity open; kinematics only."""
        return self._ends.item(engine.COUNTED)

    def forget(self) -> None:
        """Start again from the state: the count of steps is zero, and nothing is remembered of any."""
        self._ends[:] = 0

    def release(self) -> None:
        """State or velocity were set from outside: energy and contacts of the steps before are not compared with it."""
        if self.dynamic_scratch is not None:
            self.dynamic_scratch.begun[:] = 0.0
            self.dynamic_scratch.face[:] = 0.0
            self.dynamic_scratch.account[:] = 0.0

    def clear(self) -> None:
        """As it was made, except for the drive; state and velocity are zero."""
        drives = self.batch.drives.copy()
        self.batch.memory_block[:] = 0.0
        self.batch.drives[:] = drives
        self.scratch.memory_block[:] = 0.0

    def memory(self) -> list[FloatArray]:
        """Copies of all that changes, which another workspace for the same model can `recall`."""
        return [one.copy() for one in self._changing()]

    def recall(self, memory: list[FloatArray]) -> None:
        """Continue from the memory of another workspace."""
        own = self.batch.drives.copy()
        for room, kept in zip(self._changing(), memory, strict=True):
            room[:] = kept
        self.batch.drives[:] = own

    def _changing(self) -> list[FloatArray]:
        rooms = (self.batch, self.scratch, self.dynamic_scratch)
        return [*(room.memory_block for room in rooms if room is not None), self._par]


class Mover:
    """Base of classes with a workspace. Its addresses are of this process: a copy, pickled or deep, makes its own."""

    _room: Workspace
    _remade: ClassVar[tuple[str, ...]]
    """Attributes that `_make` makes; the others are copied."""

    def _make(self) -> None:
        """Make the workspace, and what looks into it."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name not in self._remade}
        return kept | {"memory": self._room.memory()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        memory = kept.pop("memory")
        self.__dict__.update(kept)
        self._make()
        self._room.recall(memory)
