"""One step of a kinematic model from Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from grouser._kernels.simulation import step as codes
from grouser.checks import FloatArray
from grouser.collision.frames import made_ready
from grouser.errors import SimulationError
from grouser.kinematics.workspace import Workspace
from grouser.once import Pool
from grouser.terrain import Terrain

if TYPE_CHECKING:
    from grouser.kinematics.model import Kinematics


@dataclass(frozen=True)
class Step:
    """Result of one step of a kinematic model."""

    state: FloatArray
    """At the end of the step: [quaternion w x y z, position x y z, joints], shape (nq,)."""
    velocity: FloatArray
    """At its beginning: [ω (3) rad/s, v (3) m/s, joint rates], body coordinates, shape (nv,)."""
    contact_velocity: FloatArray
    """Velocity of each contact point in its own frame: slip ahead, slip left, rise [m/s], shape (nw, 3)."""
    height_error: FloatArray
    """Δz of T (2.8) of each wheel at the beginning [m], negative is penetration, shape (nw,)."""
    deficient: bool
    """Whether the constraints left some velocity open; the solution of smallest norm was taken."""


def take_step(model: Kinematics, state: ArrayLike, command: ArrayLike, ground: Terrain, dt: float) -> Step:
    """As `Kinematics.step`."""
    room = made_ready(_rooms, model, state, command, ground, dt)
    room.forget()
    code, q = room.run(), room.q
    if code != codes.OK:
        raise SimulationError(_why(model, code, q))
    contact = room.batch.contacts[0, 0]
    made = Step(
        q.copy(), room.batch.velocities[0, 0].copy(), contact[:, 6:9].copy(), contact[:, 9].copy(), room.deficient > 0
    )
    _rooms.give(model, room)
    return made


def _why(model: Kinematics, code: int, q: FloatArray) -> str:
    where = f"'{model.vehicle.name}' at x = {q[4]:g}, y = {q[5]:g} m"
    if code == codes.OFF_TERRAIN:
        return f"the ground ends under a wheel of {where}; move it onto the map"
    if code == codes.ROLLED_OVER:
        return f"{where} is tilted beyond tip_angle, {model.tip_angle:g} rad; give a state that is not"
    return f"the velocity of {where} is not finite; see its slip and its weights"


_rooms: Pool[Workspace] = Pool(lambda model, ground, dt: Workspace(model, ground, dt=dt))
