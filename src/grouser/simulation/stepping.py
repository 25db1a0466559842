"""A simulation that the caller steps: a controller, simulated sensors or a game in the loop."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser.checks import FloatArray
from grouser.collision.frames import checked_state
from grouser.contact.ruts import pressed_cells
from grouser.errors import SimulationError
from grouser.files import as_path, check_schema, read_npz, write_whole
from grouser.kinematics import Kinematics
from grouser.kinematics.workspace import Mover, Workspace
from grouser.simulation.records import ContactRecord, RutRecord
from grouser.simulation.settle import start_state
from grouser.simulation.simulate import check_model, given_velocity
from grouser.simulation.status import OF_CODE, Status
from grouser.terrain import Terrain

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics

SCHEMA = "grouser/simulation@1"


class Step(NamedTuple):
    """Result of a step of a `Simulation`; all arrays are copies."""

    status: Status
    """How it went."""
    state: FloatArray
    """[quaternion w x y z, position x y z, joints], shape (nq,)."""
    velocity: FloatArray
    """[ω rad/s, v m/s, joint rates], body coordinates, shape (nv,), as `Simulation.velocity`."""
    contact: ContactRecord
    """Contacts at the beginning of the step, and of dynamics the forces over it; without an axis of time."""


class Simulation(Mover):
    """A model on a ground, moved on by one step a call; to the bit as `grouser.simulate` moves it.

    >>> sim = gr.Simulation(model, ground, dt=0.04)
    >>> while sim.time < 10.0 and sim.step(controller(sim.state)).status is gr.Status.OK:
    ...     print(sim.state[4:7])

    State and work space are made once, so a step costs the engine's own time and a few µs. Actuators keep their memory
    from step to step. `copy` gives a second simulation that continues alike; `save` and `restore` keep it in a file.
    """

    _remade: ClassVar[tuple[str, ...]] = ("_room", "_command", "_velocity", "_columns", "_contacts", "_forces")

    def __init__(
        self,
        model: Kinematics | Dynamics,
        ground: Terrain,
        *,
        dt: float = 0.04,
        start: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        hold: int = 1,
        stop: Callable[[Simulation], str | None] | None = None,
    ) -> None:
        """Put a model on a ground, to be moved in steps of dt [s].

        `start` is (x, y, yaw), settled on the ground, or a whole state; None is the origin. Dynamics starts with a
        joint-space `velocity` (nv,); None is at rest. A call of `step` takes `hold` steps with its command, as a slow
        controller would: contacts and forces are then those of the first of them. `stop(simulation)` is
        called after each call; if it returns a text, the simulation ends with the status `stopped`, and the text is its
        `reason`.
        """
        check_model(model, ground)
        self.model = model
        """The model that moves."""
        self.ground = ground
        """The ground it moves on."""
        self.dt = checks.positive(dt, "dt")
        """Step [s]."""
        self.hold = checks.count(hold, "hold", most=100_000)
        """Steps that a call of `step` takes."""
        self._stop = stop
        self._make()
        self._status, self._why = Status.OK, ""
        self._begin = self._started(start, velocity)
        self.reset()

    def step(self, command: ArrayLike) -> Step:
        """Take `hold` steps of dt with commanded rates of the actuated joints (na,) [rad/s or m/s], held over them.

        Returns how it went, and where it is. After an end the state is the last good one and there is no further step,
        until a state is set or `reset` is called.
        """
        if self._status is not Status.OK:
            raise SimulationError(
                f"'{self.model.vehicle.name}' is stopped after {self.time:g} s, {self.reason}; "
                "call reset or set a state"
            )
        checks.fill(self._command, command, "command")
        self._status = OF_CODE[self._room.run()]
        if self._stop is not None and self._status is Status.OK:
            self._why = self._stop(self) or ""
            if self._why:
                self._status = Status.STOPPED
        return Step(self._status, self._room.q.copy(), self._velocity.copy(), self.contact)

    def reset(self, start: ArrayLike | None = None, velocity: ArrayLike | None = None) -> None:
        """Restart at time 0 from `start` with `velocity`, as given to the constructor; None: from where it began."""
        q, v = self._begin
        if start is not None or velocity is not None:
            q, v = self._started(q if start is None else start, velocity)
        self._room.clear()
        self._room.q[:], self._velocity[:] = q, v
        self._status, self._why = Status.OK, ""

    def copy(self) -> Simulation:
        """A second simulation that continues as this one would, with the memory of its actuators and contacts."""
        return copy.deepcopy(self)

    def replace_model(self, model: Kinematics | Dynamics) -> None:
        """Continue with another model of a vehicle with the same joints: other friction, soil, masses.

        State, velocity and time stay; actuators and contacts keep their memory where both models have the same kind.
        """
        check_model(model, self.ground)
        ours, theirs = self.model.vehicle, model.vehicle
        if type(model) is not type(self.model) or theirs.joints != ours.joints or theirs.wheels != ours.wheels:
            raise SimulationError(f"model: is not a {type(self.model).__name__} with the joints of '{ours.name}'")
        memory = self._room.memory()
        q, v, ends = self.state, self.velocity, self._room.batch.ends.copy()
        self.model = model
        self._make()
        shapes = [one.shape for one in self._room.memory()]
        if shapes == [one.shape for one in memory]:
            self._room.recall(memory)
        self._room.q[:], self._velocity[:], self._room.batch.ends[:] = q, v, ends
        self._room.release()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write where it is, with the memory of actuators and contacts, to a .npz file for `restore`."""
        if as_path(path, SimulationError).suffix.lower() != ".npz":
            raise SimulationError(f"{path}: a simulation is saved as .npz; give the file that ending")
        arrays = {f"memory_{i}": one for i, one in enumerate(self._room.memory())}
        about = {"schema": SCHEMA, "of": self._of(), "status": str(self._status), "reason": self._why}
        write_whole(path, lambda file: np.savez(file, **arrays, **about), SimulationError)  # type: ignore[arg-type]

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Continue from a file of `save`, to the bit; it must be of the same vehicle, model and step."""
        values = read_npz(path, SimulationError)
        check_schema(str(values.get("schema")), str(path), SCHEMA, SimulationError)
        if str(values.get("of")) != self._of():
            raise SimulationError(f"{path}: is of another vehicle, model or step ({str(values.get('of'))[:80]} …)")
        memory = self._room.memory()
        kept = [values.get(f"memory_{i}", np.zeros(0)) for i in range(len(memory))]
        if any(a.shape != b.shape or a.dtype != b.dtype for a, b in zip(kept, memory, strict=True)):
            raise SimulationError(f"{path}: is damaged, or of another version of Grouser; save the simulation again")
        self._room.recall(kept)
        self._status, self._why = Status(str(values["status"])), str(values["reason"])

    def _of(self) -> str:
        return f"{self.model.vehicle.name}, {self.model.describe()}, dt {self.dt!r} s"

    @property
    def state(self) -> FloatArray:
        """[quaternion w x y z, position x y z, joints], shape (nq,); a copy.

        It may be set: motion continues from there, and actuators keep their memory.
        """
        return self._room.q.copy()

    @state.setter
    def state(self, state: ArrayLike) -> None:
        self._room.q[:] = checked_state(self.model.vehicle, state)
        self._room.release()
        self._status, self._why = Status.OK, ""

    @property
    def velocity(self) -> FloatArray:
        """[ω rad/s, v m/s, joint rates], body coordinates, shape (nv,); a copy.

        Of a dynamic model it is that at the state, and may be set. Of a kinematic model it is that at the beginning of
        the last step, as in `Run.velocity`, and zero before the first.
        """
        return self._velocity.copy()

    @velocity.setter
    def velocity(self, velocity: ArrayLike) -> None:
        self._velocity[:] = given_velocity(self.model, velocity)
        self._room.release()

    @property
    def time(self) -> float:
        """Since the beginning [s]."""
        return self._room.steps * self.dt

    @property
    def steps(self) -> int:
        """Steps taken since the beginning."""
        return self._room.steps

    @property
    def status(self) -> Status:
        """How the last step went."""
        return self._status

    @property
    def reason(self) -> str:
        """Why it ended, in words; empty before that."""
        return "" if self._status is Status.OK else self._why or self._status.meaning

    @property
    def contact(self) -> ContactRecord:
        """Contacts at the beginning of the last step, and of dynamics the forces over it; without an axis of time."""
        forces = None if self._forces is None else self._forces.copy()
        return ContactRecord.from_columns(self._columns.copy(), forces)

    @property
    def contact_velocity(self) -> FloatArray:
        """Velocity of each contact point in its own frame: slip ahead, slip left, rise [m/s], shape (nw, 3).

        Of a kinematic model at the beginning of the last step, as in `Run.contact`; of a dynamic one at its end.
        """
        if self._contacts is not None:
            return self._contacts[:, 6:9].copy()
        nw = self.model.vehicle.n_wheels
        jacobian: FloatArray = self._room.scratch.A[: 3 * nw]
        return (jacobian @ self._velocity).reshape(nw, 3)

    @property
    def force(self) -> FloatArray | None:
        """Force on each wheel in its contact frame over the last step [N], shape (nw, 3); dynamics only, else None."""
        return None if self._contacts is not None else self._room.batch.forces[0, 0, :, :3].copy()

    @property
    def torque(self) -> FloatArray | None:
        """Torque of each actuator over the last step [N m], shape (na,); dynamics only, else None."""
        return None if self._contacts is not None else self._room.batch.torques[0, 0, :, 0].copy()

    @property
    def power(self) -> FloatArray | None:
        """Mean mechanical power of each actuator over the last step [W], shape (na,); dynamics only, else None."""
        return None if self._contacts is not None else self._room.batch.torques[0, 0, :, 1].copy()

    @property
    def ruts(self) -> RutRecord | None:
        """Soil that the wheels have pressed since the beginning; None where no soil remembers (`Dynamics.ruts`)."""
        ruts = None if isinstance(self.model, Kinematics) else self.model.ruts
        if ruts is None:
            return None
        d = self._room.dynamic_scratch
        # The engine clears the patch with the first step.
        cells = pressed_cells(d.rut_depth, d.rut_key, ruts.cell) if self.steps else np.zeros((0, 3))
        return RutRecord.from_cells(cells, ruts)

    def _make(self) -> None:
        dynamic = not isinstance(self.model, Kinematics)
        room = self._workspace()
        self._room, self._command = room, room.command
        self._velocity: FloatArray = room.velocity if dynamic else room.batch.velocities[0, 0]
        self._columns: FloatArray = room.batch.contacts[0, 0]
        self._contacts: FloatArray | None = None if dynamic else self._columns
        self._forces: FloatArray | None = room.batch.forces[0, 0] if dynamic else None

    def _workspace(self) -> Workspace:
        return Workspace(self.model, self.ground.kernel, dt=self.dt, steps=self.hold)

    def _started(self, start: ArrayLike | None, velocity: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
        model = self.model
        q = start_state(model.vehicle, self.ground, start, model.penetration)
        return q, np.zeros_like(self._velocity) if velocity is None else given_velocity(model, velocity)

    def __repr__(self) -> str:
        x, y, z = self._room.q[4:7]
        name = self.model.vehicle.name
        return f"<Simulation of '{name}': {self.time:g} s, ({x:.4g}, {y:.4g}, {z:.4g}) m, {self._status}>"
