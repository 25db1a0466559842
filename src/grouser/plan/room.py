"""What the engine works on while it rolls out a batch of planned motions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numpy.typing import NDArray

from grouser._compile.lanes import LANES
from grouser._kernels.plan import rollout as kernels
from grouser._kernels.plan.cost import PRESENT, SUMS
from grouser._kernels.plan.drive import Driving, DrivingScratch
from grouser._kernels.plan.lane_rollout import AGAIN, planned_lanes
from grouser._kernels.plan.lane_scratch import make_lane_scratch
from grouser._kernels.scratch import make_scratch
from grouser._kernels.simulation import drive as laws
from grouser._kernels.simulation.rollout import STATUS, Batch
from grouser.checks import FloatArray
from grouser.errors import PlanError
from grouser.kinematics import Kinematics
from grouser.kinematics.inverse import steering_plan
from grouser.once import once_each
from grouser.plan.cost import NO_RASTER
from grouser.threads import in_slices
from grouser.vehicles import Vehicle

if TYPE_CHECKING:
    from grouser.plan.trials import Roller

SLICE = 16
"""Rollouts that a thread takes at a time."""
FEEDBACK = np.array([0.8, 1.0, 1.5])
"""Gains of the feedback on a reference: distance ahead [1/s], to the side [1/m²], heading [1/s]."""


class Room:
    """All that the engine works on for a batch of a given size; kept from call to call."""

    def __init__(self, roller: Roller, n: int, steps: int, past: int) -> None:
        model, ground = roller.model, roller.ground
        vehicle, effort, bounds = model.vehicle, roller.effort, roller.bounds
        arrays = model.vehicle_arrays
        nv, nw, na = 5 + len(arrays.parent), len(arrays.wheel), len(arrays.actuated)
        if n % len(roller.models):
            raise PlanError(f"{n} rollouts are not a whole number for each of {len(roller.models)} models")
        self.n, self.each, self.most_steps = n, n // len(roller.models), steps
        self.batch: Any = Batch.zeros(
            n=n, nq=nv + 1, nv=nv, nw=nw, na=na, rows=0, details=0, forced=0, disturbed=0, t0=0.0, dt=roller.dt,
            steps=steps, order=1, every=1, closing=False,
        )  # fmt: skip
        self.trial: Any = kernels.Trial(
            wanted=np.zeros((n, steps, 3)),
            white=np.zeros((0, 0, 6)),
            wander=np.zeros((0, 0, 6)),
            together=self.each,
            reference=np.zeros((0, 0, 3)),
            feedback=FEEDBACK,
            by_distance=False,
            sums=np.zeros((n, SUMS)),
            present=np.zeros(n, dtype=PRESENT),
            corners=support_corners(vehicle),
            mass=vehicle.mass,
            gravity=model.gravity,
            rolling=effort.rolling,
            scrub=effort.scrub,
            idle=effort.idle,
            tip_limit=bounds.tip_margin,
            reach=roller.reach,
            bounds=np.array(ground.bounds),
            stuck_slip=bounds.stuck_slip,
            stuck_time=bounds.stuck_time,
        )
        self.dynamic = not isinstance(model, Kinematics)
        keep = NO_RASTER if roller.keep_out is None else roller.keep_out.raster
        driving = roller.driving(None, None)
        self.jobs: list[list[Any]] = []
        kind: Any = kernels.PlannedDynamics if self.dynamic else kernels.PlannedKinematics
        for _ in range(min(roller.threads, n // SLICE + 1)):
            shared: dict[str, Any] = {
                "ground": ground.kernel, "batch": self.batch, "s": make_scratch(arrays), "driving": driving,
                "trial": self.trial, "cost": roller.cost.arrays, "keep_out": keep, "field": roller.cost.field,
                "w": _scratch(vehicle, steps + past),
            }  # fmt: skip
            if not self.dynamic:
                shared["lanes"], shared["look"] = make_lane_scratch(arrays, driving.steering, steps + past)
            self.jobs.append([])
            for one in roller.models:
                made: Any = one.arrays(roller.dt, soils=ground.soils)
                if self.dynamic and "d" not in shared:
                    from grouser._kernels.dynamics.scratch import make_dynamic_scratch

                    shared["d"] = make_dynamic_scratch(arrays, made)
                job = kind(vehicle=one.vehicle_arrays, model=made, **shared)
                job.keep = (one, roller.cost)
                self.jobs[-1].append(job)
        alone = kernels.planned_dynamics if self.dynamic else kernels.planned_kinematics
        self.in_lanes = self._fits_lanes(roller)
        self.kernel: Any = planned_lanes if self.in_lanes else alone
        self.kernel(self.jobs[0][0], 0, 0)  # no rollout: compiles before there are threads

    def _fits_lanes(self, roller: Roller) -> bool:
        """Whether eight rollouts can be stepped at once: kinematics on thin wheels without springs or soils.

        And eight of a model at least, unless there is one only: what others are in a batch changes no byte.
        """
        if self.dynamic or numba.config.DISABLE_JIT:
            return False
        if len(roller.models) > 1 and self.each % LANES:
            return False
        for job in self.jobs[0]:
            if job.model.suspension.springs or job.vehicle.tyre.any() or job.vehicle.still.any():
                return False
            if job.model.slip_mode and len(job.model.soil_slip) > 1 and job.ground.soils.size:
                return False
        return True

    def prepare(
        self, driving: Driving, starts: FloatArray, velocities: FloatArray | None, record: bool, segment: int
    ) -> None:
        """Set where a batch starts, also along a path, and how it is driven, and clear what the last one left."""
        batch, trial = self.batch, self.trial
        batch.ends[:] = 0
        batch.q[:] = starts
        batch.v[:] = 0.0 if velocities is None else velocities
        rows = batch.steps + 1 if record else 0
        batch.repoint(states=np.zeros((self.n, rows, batch.q.shape[1])))
        self.segment = segment
        trial.sums[:], trial.present.segment = 0.0, segment
        for jobs in self.jobs:
            for job in jobs:
                job.repoint(driving=driving)

    def run(self) -> None:
        """Roll out the batch; a slice never reaches from one group into the next."""
        size = min(SLICE, self.each)
        parts = -(-self.each // size)

        def work(worker: int, first: int, last: int) -> None:
            for k in range(first, last):
                group, part = divmod(k, parts)
                low = group * self.each + part * size
                high = min(low + size, (group + 1) * self.each)
                self.kernel(self.jobs[worker][group], low, high)

        slices = parts * (self.n // self.each)
        in_slices(work, slices, threads=len(self.jobs), size=max(1, SLICE // size))
        for n in np.flatnonzero(self.batch.ends[:, STATUS] == AGAIN):
            self.batch.ends[n], self.trial.present[n].segment = 0, self.segment
            kernels.planned_kinematics(self.jobs[0][n // self.each], int(n), int(n) + 1)


@once_each
def support_corners(vehicle: Vehicle) -> NDArray[np.int64]:
    """Wheels at the corners of the support polygon at rest, counter-clockwise from above."""
    from scipy.spatial import ConvexHull, QhullError

    points = vehicle.wheel_positions[:, :2]
    try:
        return np.asarray(ConvexHull(points).vertices, dtype=np.int64)
    except (QhullError, ValueError):
        raise PlanError(f"'{vehicle.name}': its wheels stand in a line, so it has no support polygon") from None


@once_each
def half_width(vehicle: Vehicle) -> float:
    """Largest distance of a wheel from the middle line [m]: the room that a vehicle needs on each side of its path."""
    return float(np.abs(vehicle.wheel_positions[:, 1]).max())


def driving_scratch(vehicle: Vehicle, queue: int) -> DrivingScratch:
    """Work space of the drive of one vehicle; queue: commands of a rollout and before it."""
    made: DrivingScratch = DrivingScratch.zeros(
        table=3 + len(vehicle.actuated), queue=queue, nj=vehicle.n_joints, nf=1 + vehicle.n_joints,
        ns=len(steering_plan(vehicle).joint),
    )  # fmt: skip
    made.rates[:3] = 1.0, len(vehicle.actuated), 1.0
    return made


def _scratch(vehicle: Vehicle, queue: int) -> kernels.TrialScratch:
    """Work space of one thread."""
    driving = driving_scratch(vehicle, queue)
    address = driving.rates.ctypes.data
    made: kernels.TrialScratch = kernels.TrialScratch.zeros(driving=driving, table=laws.table.address, rates=address)
    return made
