"""The command that ends at a pose on rough ground, by Newton's method on rollouts, Howard and Kelly 2007."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import Checker, FloatArray
from grouser.collision.frames import planar_pose
from grouser.errors import PlanError
from grouser.plan.legs import Legs
from grouser.plan.limits import Limits, limits_for
from grouser.plan.newton import Solver
from grouser.plan.places import check_on_map
from grouser.plan.shapes import Stretch
from grouser.plan.trials import Roller, start_states
from grouser.vehicles import Vehicle

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics
    from grouser.kinematics import Kinematics
    from grouser.simulation.drive import Drive
    from grouser.terrain import Terrain

checked = Checker(PlanError)


@dataclass(frozen=True, eq=False)
class Reach:
    """A drive to a pose."""

    reached: bool
    """Whether it ends there, within tolerance and limits."""
    reason: str
    """In words, why not; or "reached"."""
    pose: FloatArray
    """Where it was to end (x, y [m], yaw [rad]), (3,)."""
    stretches: tuple[Stretch, ...]
    """Curvature as polynomials of the way, and speed over time, of the commanded path, one after another."""
    twists: FloatArray
    """Commands forward, left [m/s] and turn [rad/s], each held for dt, (T, 3); from rest to rest."""
    dt: float
    """[s]."""
    distance: float
    """Driven [m]."""
    error: tuple[float, float]
    """Of the end: position [m] and yaw [rad], without sign."""
    iterations: int
    """Newton steps of all shapes that were tried."""
    rollouts: int
    """Rollouts taken."""
    final_state: FloatArray
    """State at the end, (nq,)."""
    least_tip_margin: float
    """[rad]."""
    energy: float
    """Of the motors [J]."""
    vehicle: Vehicle = field(repr=False)
    """That drives."""

    @property
    def duration(self) -> float:
        """[s]."""
        return len(self.twists) * self.dt

    def drive(self) -> Drive:
        """For `gr.simulate` with steps of dt, without a powertrain; dynamics starts at rest, with velocity zero."""
        from grouser.simulation import drive

        # Rows begin half a step early, so that rounding of the time does not matter.
        begin = np.maximum(np.arange(len(self.twists)) - 0.5, 0.0) * self.dt
        rows = zip(begin.tolist(), self.twists.tolist(), strict=True)
        return drive.schedule([(t, drive.twist(*row)) for t, row in rows])


def reach(
    model: Kinematics | Dynamics,
    ground: Terrain,
    start: ArrayLike | None,
    pose: ArrayLike,
    *,
    dt: float = 0.08,
    limits: Limits | None = None,
    tolerance: tuple[float, float] = (1e-3, 1e-2),
    **options: Any,
) -> Reach:
    """Find commands that bring a vehicle from rest at `start` to rest at a pose (x, y [m], yaw [rad]).

    start: (x, y, yaw), a whole state, or None for the origin. limits: None are those of the vehicle. tolerance: of the
    end's position [m] and yaw [rad]. options: powertrain, keep_out, effort and bounds, as in `Roller`. Curves with a
    cubic turn are tried, then arcs with cusps, or turns on the spot, the quickest first, each corrected by rollouts.
    """
    limits = limits_for(model.vehicle, limits)
    wanted = np.array(checked.numbers(pose, 3, "pose"))
    close = np.array([checked.positive(one, "tolerance") for one in checked.numbers(tolerance, 2, "tolerance")])
    state = start_states(model, ground, start, 1)
    check_on_map(ground, wanted[0], wanted[1], f"pose: ({wanted[0]:g}, {wanted[1]:g}) m")
    roller = Roller(model, ground, dt=dt, threads=1, **options)
    return _result(Legs(Solver(roller, limits, state, wanted, close)))


def _result(legs: Legs) -> Reach:
    """What is found, or the nearest to it."""
    solver, reached = legs.root, legs.search()
    best = legs.solution if reached else solver.best
    dt = solver.roller.dt
    states = solver.state if best is None else best.trials.final_state
    off = solver.pose - planar_pose(states[:1])[0]
    stretches = () if best is None else best.shape.stretches()
    return Reach(
        reached=reached,
        reason="reached" if reached else solver.reason,
        pose=solver.pose,
        stretches=legs.found.stretches if reached and legs.found else stretches,
        twists=np.zeros((0, 3)) if best is None else best.twists,
        dt=dt,
        distance=0.0 if best is None else float(best.trials.distance[0]),
        error=(math.hypot(off[0], off[1]), abs(math.remainder(off[2], math.tau))),
        iterations=legs.iterations,
        rollouts=legs.spent,
        final_state=states[0],
        least_tip_margin=math.nan if best is None else float(best.trials.least_tip_margin[0]),
        energy=0.0 if best is None else float(best.trials.energy[0]),
        vehicle=solver.roller.model.vehicle,
    )
