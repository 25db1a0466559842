"""What a metre of driving costs on every slope and soil: rollouts of the engine on planes, all in one batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grouser import rotation, terrain
from grouser.checks import FloatArray
from grouser.errors import PlanError, SimulationError
from grouser.plan.limits import Limits
from grouser.plan.trials import Bounds, Effort, Roller, Trials, start_states
from grouser.simulation.settle import start_state
from grouser.terrain import SoilRaster, Terrain

LARGEST = 1.2
"""Largest slope of the table, rise per way: 50°."""
PER_SLOPE = 17.5
"""Entries in a unit of slope: about 3.3° apart."""
DOUBTFUL = 2
"""Entries beyond the last slope that a vehicle climbs on a plane that it may climb on real ground, where slopes change
and soils are mixed; the engine judges edges before they are used."""
PACE = 0.8
"""Speed of routes as a share of the largest, so that a vehicle that slips can keep up."""
DT = 0.1
"""Step of the rollouts that judge routes [s]."""
SECONDS = 2.0
"""Time that each plane is driven [s]."""
SETTLED = 1.0
"""Time before that, until slip and speed have settled [s]."""
TIP_SIGMA = math.radians(4.0)
"""Spread of the tip margin that a map leaves [rad], assumed: stones and holes smaller than its cells."""
SLIP_SIGMA = 0.1
"""The same of slip, a ratio, assumed."""
LARGEST_SLIP = 0.8
"""Slip at which a vehicle is as good as stuck."""
UNHURRIED = 1e-5
"""Chance of failure that a second of driving counts as, where risk is minimised: of safe paths the fastest is taken."""
LOW_HAZARD = 0.3
"""Share of the hazard that an edge counts before the engine has judged it."""
CRITERIA = ("energy", "time", "risk")


@dataclass(frozen=True, eq=False)
class SlopeTable:
    """Means by soil, slope ahead and slope across, (soils, n, m); not finite where the drive fails."""

    time: FloatArray
    """Of a metre on the map [s/m]."""
    energy: FloatArray
    """Of a metre [J/m]."""
    hazard: FloatArray
    """Chance of failure in a metre [1/m]."""
    spot: tuple[float, float]
    """Time [s/rad] and energy [J/rad] of a turn on the spot, on level ground; infinite for a vehicle that cannot."""
    arc: tuple[float, float]
    """What a turn on the way costs more than going straight: time [s/rad], energy [J/rad], on level ground."""
    gain: float = 1.0
    """Turn that must be commanded on the way for a turn of 1, a ratio: wheels that skid turn less."""

    def cost(self, minimise: str) -> FloatArray:
        """Cost of a metre [J/m, s/m, or −log of the chance of success in a metre], with what is doubtful filled in.

        Hazard, which grows tenfold in a few degrees, is taken low: the engine raises it where it is higher.
        """
        if minimise == "risk":
            return _with_doubtful(as_risk(LOW_HAZARD * self.hazard, self.time))
        return _with_doubtful(self.time if minimise == "time" else self.energy)

    def turn(self, minimise: str) -> float:
        """Cost of a radian on the spot."""
        return self._of_turn(self.spot, minimise)

    def bend(self, minimise: str) -> float:
        """Cost of a radian on the way."""
        return self._of_turn(self.arc, minimise)

    @staticmethod
    def _of_turn(turn: tuple[float, float], minimise: str) -> float:
        return {"time": turn[0], "energy": turn[1], "risk": UNHURRIED * turn[0]}[minimise]


def as_risk(hazard: FloatArray, time: FloatArray) -> FloatArray:
    """−log of the chance of success, with a little for the time [s]; not finite where the time is not."""
    return np.asarray(-np.log1p(-np.minimum(hazard, 0.999)) + UNHURRIED * time)


def slope_table(
    models: Sequence[Any], ground: Terrain, *, limits: Limits, effort: Effort | None, bounds: Bounds | None
) -> SlopeTable:
    """Drive straight over planes of all slopes and of every soil of a ground, with each of the models.

    The planes are tiles of one ground, so that a soil is one batch of rollouts. A slope fails if half of the models end
    early, or move less than a tenth of what the wheels do.
    """
    half = round(LARGEST * PER_SLOPE)
    ahead, across = np.meshgrid(np.arange(-half, half + 1), np.arange(half + 1), indexing="ij")
    drivable = np.hypot(ahead, across) <= half * 1.05
    slopes = np.column_stack([ahead[drivable], across[drivable]]) / PER_SLOPE
    speed = PACE * limits.speed
    side = 2.0 * (SETTLED + SECONDS) * limits.speed + 2.0 * float(np.ptp(models[0].vehicle.wheel_positions[:, 0])) + 2.0
    flat, middles = _tiles(slopes, side)
    spots = np.column_stack([middles[:, 0] - 0.25 * side, middles[:, 1], np.zeros(len(slopes))])
    soils = _single_soils(ground)
    time, energy, hazard = (np.full((len(soils), *ahead.shape), np.inf) for _ in range(3))
    for s, soil in enumerate(soils):
        tiles = flat if soil is None else terrain.soils(flat, *soil)
        one = judge_straight(
            Roller(list(models), tiles, dt=DT, limits=paced(limits), effort=effort, bounds=bounds),
            spots, speed=speed, seconds=SECONDS, before=SETTLED,
        )  # fmt: skip
        for values, out in ((one.time, time), (one.energy, energy), (one.hazard, hazard)):
            out[s][drivable] = values
    if not np.isfinite(time).any():
        raise PlanError("the vehicle cannot drive on any slope of this ground, not even on a level one")
    level = middles[int(np.argmin(np.hypot(*slopes.T)))]
    roller = Roller(models[0], flat, dt=DT, effort=effort, bounds=bounds, threads=1)
    spot = (math.inf, math.inf, 1.0)
    if math.isinf(limits.curvature):
        spot = _turned(roller, level, 0.0, PACE * limits.turn)
    # Nothing is gained by a turn; a little is added, so that of two paths of one length the straighter is taken.
    bent = _turned(roller, level, speed, min(0.5 * limits.turn, 0.5 * limits.curvature * speed))
    least = (0.01 / speed, 0.01 * float(energy[0, half, 0]))
    arc = (max(bent[0], least[0]), max(bent[1], least[1])) if math.isfinite(bent[1]) else least
    return SlopeTable(time, energy, hazard, spot[:2], arc, min(max(bent[2], 1.0), 4.0))


@dataclass(frozen=True, eq=False)
class Judged:
    """What straight pieces cost a metre, means over the models; not finite where most of them fail."""

    time: FloatArray
    """[s/m], (N,)."""
    energy: FloatArray
    """[J/m], (N,)."""
    hazard: FloatArray
    """[1/m], (N,)."""
    trials: Trials
    """The rollouts, those of the first model first."""


def judge_straight(roller: Roller, places: FloatArray, *, speed: float, seconds: float, before: float = 0.0) -> Judged:
    """Drive straight ahead from places x, y [m], yaw [rad], (N, 3), with a speed [m/s], for some time [s].

    A metre is one on the map. before: time that is left out [s].
    """
    count, many = len(places), len(roller.models)
    settled, stands = _settled(roller, places)
    starts, alive = np.tile(settled, (many, 1)), np.tile(stands, many)
    heading = np.tile(np.column_stack([np.cos(places[:, 2]), np.sin(places[:, 2])]), (many, 1))
    velocities = np.tile(rolling(roller.model, speed), (len(starts), 1))
    for duration in (before, seconds):
        steps = max(round(duration / DT), 1)
        if duration == 0.0:
            continue
        wanted = np.zeros((len(starts), steps, 3))
        wanted[..., 0] = speed
        along = speed * DT * np.arange(steps)
        line = np.empty((len(starts), steps, 3))
        line[..., :2] = starts[:, None, 4:6] + along[:, None] * heading[:, None]
        line[..., 2] = np.tile(places[:, 2], many)[:, None]
        trials = roller.run(
            wanted, starts, velocities=velocities, moving=np.array([speed, 0.0, 0.0]), reference=line
        )  # fmt: skip
        alive &= trials.ok
        if duration == seconds:
            break
        starts, velocities = trials.final_state, trials.final_velocity
    forward = np.einsum("ni,ni->n", trials.final_state[:, 4:6] - starts[:, 4:6], heading)
    alive &= forward > 0.1 * speed * steps * DT
    safe = np.where(alive, forward, np.inf)
    tails = _tail(trials.least_tip_margin / TIP_SIGMA) + _tail((LARGEST_SLIP - trials.largest_slip) / SLIP_SIGMA)
    shape = (many, count)
    good = alive.reshape(shape)
    number = good.sum(axis=0)
    passes = 2 * number > many

    def mean(values: FloatArray) -> FloatArray:
        total = np.where(good, values.reshape(shape), 0.0).sum(axis=0)
        return np.asarray(np.where(passes, total / np.maximum(number, 1), np.inf))

    failed = (1.0 - number / many) / max(speed * seconds, 1e-9)
    hazard = np.where(passes, np.minimum(failed + mean(tails), 1.0), np.inf)
    return Judged(mean(steps * DT / safe), mean(trials.energy / safe), hazard, trials)


def _settled(roller: Roller, places: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """States at rest at places (N, 3), and where there is one; elsewhere it is that of another place."""
    model = roller.model
    states = np.zeros((len(places), 7 + model.vehicle.n_joints))
    stands = np.zeros(len(places), dtype=bool)
    for i, place in enumerate(places):
        with suppress(SimulationError):
            states[i] = start_state(model.vehicle, roller.ground, place, model.penetration)
            stands[i] = True
    if stands.any():
        states[~stands] = states[np.argmax(stands)]
    return states, stands


def _turned(roller: Roller, middle: FloatArray, speed: float, rate: float) -> tuple[float, float, float]:
    """Time [s/rad] and energy [J/rad] that a turn at a rate [rad/s] costs more than driving on with a speed [m/s].

    The third is the turn commanded by that made, a ratio.
    """
    steps = round(SECONDS / DT)
    wanted = np.zeros((2, steps, 3))
    wanted[..., 0], wanted[1, :, 2] = speed, rate
    start = start_states(roller.model, roller.ground, (middle[0], middle[1], 0.0), 2)
    velocities = np.tile(rolling(roller.model, speed), (2, 1))
    before, after = (
        roller.run(
            np.ascontiguousarray(wanted[n : n + 1]), start[n : n + 1], velocities=velocities[:1], moving=wanted[n, 0]
        )
        for n in range(2)
    )
    q = after.final_state[0]
    angle = abs(float(rotation.yaw_of(q[:4])))
    if not (before.ok[0] and after.ok[0] and angle > 0.1 * rate * SECONDS):
        return math.inf, math.inf, 1.0
    late = max(float(before.distance[0] - after.distance[0]) / speed, 0.0) if speed > 0.0 else SECONDS
    return late / angle, float(after.energy[0] - before.energy[0]) / angle, rate * SECONDS / angle


def _with_doubtful(cost: FloatArray) -> FloatArray:
    """Entries that fail, next to such that do not, as costly as the costliest of these."""
    from scipy.ndimage import maximum_filter

    for _ in range(DOUBTFUL):
        known = np.where(np.isfinite(cost), cost, -np.inf)
        near = maximum_filter(known, size=(1, 3, 3), mode="nearest")
        cost = np.where(np.isfinite(cost), cost, np.where(np.isfinite(near), near, np.inf))
    return cost


def _tiles(slopes: FloatArray, side: float) -> tuple[Terrain, FloatArray]:
    """A ground of square planes with slopes along x and y, (n, 2), and their middles [m], (n, 2)."""
    columns = math.ceil(math.sqrt(len(slopes)))
    nodes = 12  # the slope of the outermost is not that of the plane
    cell = side / nodes
    heights = np.zeros((nodes * columns, nodes * columns))
    at = (np.arange(nodes) - 0.5 * (nodes - 1)) * cell
    middles = np.zeros((len(slopes), 2))
    for k, (along, across) in enumerate(slopes):
        i, j = divmod(k, columns)
        heights[nodes * i : nodes * (i + 1), nodes * j : nodes * (j + 1)] = along * at[:, None] + across * at
        middles[k] = (nodes * i + 0.5 * (nodes - 1)) * cell, (nodes * j + 0.5 * (nodes - 1)) * cell
    axis = np.arange(nodes * columns) * cell
    return terrain.grid(heights, axis, axis), middles


def _single_soils(ground: Terrain) -> list[Any]:
    """For the model's own soil and each of a ground: raster and laws that make a plane of it alone, or None."""
    found: list[Any] = [None]
    if ground.soils is None:
        return found
    for one in ground.soils.soils:
        parts = [part for part in (one.contact, one.slip) if part is not None]
        law = None if not parts else parts[0] if len(parts) == 1 else tuple(parts)
        raster = SoilRaster(classes=np.zeros((1, 1), dtype=np.uint8), origin=(0.0, 0.0), cell=1.0, outside=0)
        found.append(None if law is None else (raster, [law]))
    return found


def paced(limits: Limits) -> Limits:
    """Limits with the speed of routes as the largest: a vehicle that slips is late and does not speed up."""
    return replace(limits, speed=PACE * limits.speed)


def rolling(model: Any, speed: float) -> FloatArray:
    """Velocity of a vehicle that rolls straight ahead on level ground, (nv,)."""
    arrays = model.vehicle.arrays
    v = np.zeros(6 + model.vehicle.n_joints)
    v[3] = speed
    v[5 + arrays.wheel] = speed / arrays.radius
    return v


def _tail(sigmas: FloatArray) -> FloatArray:
    """Chance that a standard normal number is below −sigmas."""
    from scipy.special import erfc

    return np.asarray(0.5 * erfc(np.asarray(sigmas) / math.sqrt(2.0)))
