"""A run that the caller steps: a controller, a simulator of sensors or a game in the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser.checks import FloatArray
from grouser.collision.frames import checked_state
from grouser.contact.ruts import pressed_cells
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.kinematics.workspace import Mover, Workspace
from grouser.simulation.run import RutRecord
from grouser.simulation.settle import start_state
from grouser.simulation.simulate import check_model, given_velocity
from grouser.simulation.status import OF_CODE, Status
from grouser.terrain import Terrain

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics


class Stepper(Mover):
    """A model on a ground, moved on by one step a call; to the bit as `grouser.simulate` moves it.

    >>> rover = gr.Stepper(model, ground, dt=0.04)
    >>> while rover.time < 10.0 and rover.step(controller(rover.state)) is gr.Status.OK:
    ...     print(rover.state[4:7])

    State and work space are made once, so a step costs the engine's own time and about 2 µs.
    """

    _remade = ("_room", "_command", "_velocity", "_contacts")

    def __init__(
        self,
        model: Kinematics | Dynamics,
        ground: Terrain,
        *,
        dt: float = 0.04,
        start: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
    ) -> None:
        """Put a model on a ground, to be moved in steps of dt [s].

        `start` is (x, y, yaw), settled on the ground, or a whole state; None is the origin. Dynamics starts with a
        joint-space `velocity` (nv,); None is at rest.
        """
        check_model(model, ground)
        self.model = model
        """The model that moves."""
        self.ground = ground
        """The ground it moves on."""
        self.dt = checks.positive(dt, "dt")
        """Step [s]."""
        self._make()
        self._status = Status.OK
        self._begin = self._started(start, velocity)
        self.reset()

    def step(self, command: ArrayLike) -> Status:
        """Move on by dt under commanded rates of the actuated joints (na,) [rad/s or m/s], held over the step.

        Returns how it went. After a bad end the state is the last good one and there is no further step, until a state
        is set or `reset` is called.
        """
        if self._status is not Status.OK:
            raise SimulationError(
                f"'{self.model.vehicle.name}' is stopped after {self.time:g} s, {self._status.meaning}; "
                "call reset or set a state"
            )
        checks.fill(self._command, command, "command")
        self._status = OF_CODE[self._room.run()]
        return self._status

    def reset(self, start: ArrayLike | None = None, velocity: ArrayLike | None = None) -> None:
        """Restart at time 0 from `start` with `velocity`, as given to the constructor; None: from where it began."""
        q, v = self._begin
        if start is not None or velocity is not None:
            q, v = self._started(q if start is None else start, velocity)
        self._room.clear()
        self._room.q[:], self._velocity[:] = q, v
        self._status = Status.OK

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
        self._status = Status.OK

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
        room = Workspace(self.model, self.ground.kernel, dt=self.dt)
        self._room, self._command = room, room.command
        self._velocity: FloatArray = room.velocity if dynamic else room.batch.velocities[0, 0]
        self._contacts: FloatArray | None = None if dynamic else room.batch.contacts[0, 0]

    def _started(self, start: ArrayLike | None, velocity: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
        model = self.model
        q = start_state(model.vehicle, self.ground, start, model.penetration)
        return q, np.zeros_like(self._velocity) if velocity is None else given_velocity(model, velocity)

    def __repr__(self) -> str:
        x, y, z = self._room.q[4:7]
        name = self.model.vehicle.name
        return f"<Stepper of '{name}': {self.time:g} s, ({x:.4g}, {y:.4g}, {z:.4g}) m, {self._status}>"
