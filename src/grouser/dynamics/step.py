"""Forward dynamics of one step from Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.dynamics.probe import StepJob, forward
from grouser._kernels.dynamics.scratch import make_dynamic_scratch
from grouser._kernels.scratch import make_scratch
from grouser._kernels.terrain.ground import Ground
from grouser.checks import FloatArray
from grouser.collision.frames import made_ready
from grouser.errors import SimulationError
from grouser.once import Pool
from grouser.terrain import Terrain

if TYPE_CHECKING:
    from grouser.dynamics.model import Dynamics


@dataclass(frozen=True)
class Step:
    """What forward dynamics gives for one state."""

    acceleration: FloatArray
    """q̈′ = (next velocity − velocity)/dt [rad/s² and m/s²], shape (nv,)."""
    velocity: FloatArray
    """Joint-space velocity at the end of the step [ω rad/s, v m/s, joint rates], shape (nv,)."""
    force: FloatArray
    """Contact forces on the wheels in their contact frames [N], shape (nw, 3)."""
    torque: FloatArray
    """Torque of each actuator [N m], shape (na,)."""
    residual: FloatArray
    """Force balance that is left [N and N m], shape (nv,); rows of ideal actuators hold their torque."""
    converged: bool
    """Whether the balance was met within the tolerance."""
    iterations: int
    """Newton iterations taken."""
    state: FloatArray | None = None
    """State at the end of the step [quaternion w x y z, position x y z, joints], shape (nq,); None: `thesis_step` does
    not move it."""


def take_step(
    model: Dynamics,
    state: ArrayLike,
    velocity: ArrayLike,
    command: ArrayLike,
    ground: Terrain,
    dt: float,
    angles: ArrayLike | None,
) -> Step:
    """As `Dynamics.step`."""
    job = made_ready(_jobs, model, state, command, ground, dt)
    q = job.q
    checks.fill(job.v, velocity, "velocity")
    job.at_angles[0] = angles is not None
    if angles is not None:
        checks.fill(job.angles, angles, "angles")
    inside, converged, iterations = forward(job)
    if not inside:
        raise SimulationError(f"the ground ends under a wheel at x = {q[4]:g}, y = {q[5]:g} m; move it inside")
    made = Step(
        job.acceleration.copy(), job.velocity.copy(), job.force.copy(), job.torque.copy(), job.residual.copy(),
        converged, iterations, job.state.copy(),
    )  # fmt: skip
    _jobs.give(model, job)
    return made


def _job(model: Dynamics, ground: Ground, dt: float) -> StepJob:
    vehicle, arrays = model.vehicle_arrays, model.arrays(dt, soils=ground.keep)
    nv = 5 + len(vehicle.parent)
    job: StepJob = StepJob.zeros(
        nw=len(vehicle.wheel), nv=nv, nq=nv + 1, na=len(vehicle.actuated), vehicle=vehicle, model=arrays, ground=ground,
        s=make_scratch(vehicle), d=make_dynamic_scratch(vehicle, arrays), dt=dt,
    )  # fmt: skip
    return job


_jobs: Pool[StepJob] = Pool(_job)
