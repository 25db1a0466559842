"""Drives of an LRU for the fusion experiment: rough, sloping ground, turns, crab motion, stops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.lru_slip import ETNA
from experiments.sensors import SensorSuite
from experiments.stops import Motion, with_stops
from grouser import terrain
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.simulation import drive, simulate
from grouser.slip import BodySlip
from grouser.terrain import Terrain
from grouser.vehicles import vehicle

DT = 0.01  # s
RUN_OUT = 0.5
"""How much longer than its parts a run is driven [s]."""
RAMP = 1.0  # s, in which a command changes
ROUGH_RMS, ROUGH_LENGTH, SLOPE = 0.06, 1.0, 5.0  # m, m, °
SLIP_KNOWN = 0.8
"""Share of the true slip parameters that the odometry uses."""
SETTLE = 2.0
"""Seconds in which the vehicle settles on the ground, before its first stop."""


@dataclass(frozen=True)
class Profile:
    """What to drive."""

    parts: tuple[tuple[float, float, float, float], ...]
    """Seconds, speed forward and left [m/s], turn rate [rad/s], one after another."""
    stops: tuple[tuple[int, float], ...]
    """Before which part it stands, and for how long [s]; the last stop is at the end."""


PROFILES = {
    "loop": Profile(
        parts=(
            (12.0, 0.5, 0.0, 0.0),
            (10.0, 0.4, 0.0, 0.25),
            (8.0, 0.5, 0.0, 0.0),
            (10.0, 0.3, 0.25, 0.0),
            (10.0, 0.4, 0.0, -0.3),
            (12.0, 0.5, 0.0, 0.0),
            (10.0, 0.35, 0.0, 0.2),
        ),
        stops=((0, 4.0), (3, 3.0), (4, 2.0), (7, 3.0)),
    ),
    "crab": Profile(
        parts=(
            (10.0, 0.4, -0.2, 0.0),
            (12.0, 0.5, 0.0, -0.2),
            (14.0, 0.6, 0.0, 0.0),
            (12.0, 0.4, 0.0, 0.3),
            (10.0, -0.4, 0.0, 0.0),
            (12.0, 0.35, 0.3, 0.0),
        ),
        stops=((0, 4.0), (1, 2.0), (4, 3.0), (5, 2.0), (6, 3.0)),
    ),
}


def lru_motion(name: str = "loop", seed: int = 1) -> Motion:
    """One drive of the kinematic LRU-2 with the slip of L (5.35) on ground made from a seed."""
    if name not in PROFILES:
        raise SimulationError(f"drive: {name!r:.40} is not one of {', '.join(PROFILES)}")
    profile = PROFILES[name]
    starts = SETTLE + np.cumsum([0.0, *(part[0] for part in profile.parts)])
    knots = np.concatenate([[0.0], np.sort(np.concatenate([starts[1:-1], starts[1:-1] + RAMP])), [starts[-1]]])
    twist = np.array([part[1:] for part in profile.parts]).repeat(2, axis=0)
    ticks = np.arange(0.0, starts[-1], 0.1)
    ramped = [np.interp(ticks + 0.05, knots, twist[:, k]) for k in range(3)]
    parts = [(float(t), drive.twist(*(float(r[i]) for r in ramped))) for i, t in enumerate(ticks)]
    model = Kinematics(vehicle("lru2"), slip=BodySlip(-ETNA))
    # A little further than the last stop: smoothing bends the end of a run, and wheels and truth would disagree there.
    end = float(starts[-1]) + RUN_OUT
    run = simulate(model, sand(seed), drive.schedule(parts), duration=end, dt=DT)
    if run.steps * run.dt < end - DT:
        raise SimulationError(f"the drive '{name}' on ground {seed} ended early: {run.status}")
    return with_stops(run, [(float(starts[part]), rest) for part, rest in profile.stops])


def lru_sensors(name: str = "loop", seed: int = 1) -> SensorSuite:
    """Its sensors; the odometry uses most of the slip and assumes contacts straight below the axles."""
    motion = lru_motion(name, seed)
    return SensorSuite(motion, Kinematics(motion.vehicle, slip=BodySlip(-SLIP_KNOWN * ETNA)))


def sand(seed: int) -> Terrain:
    """A smooth surface of random bumps on a slope that rises along x."""
    side = 70.0
    rough = terrain.rough(ROUGH_RMS, ROUGH_LENGTH, seed, size=side + 1.0, spacing=0.25)
    x = np.linspace(-0.5 * side, 0.5 * side, 281)
    heights = rough.height(*np.meshgrid(x, x, indexing="ij")) + np.tan(np.radians(SLOPE)) * x[:, None]
    return terrain.spline(heights, x, x)
