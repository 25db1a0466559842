"""Random crashes: a vehicle driven fast into walls, steps, drops, ditches and rubble, and the energy it gained."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import grouser as gr
from grouser.checks import FloatArray
from grouser.simulation import Run

GROUNDS = ("ramp", "wall", "step", "drop", "ditch", "rubble", "rough")
VEHICLES = ("husky", "zoe", "rocky7", "landtamer", "recbot", "warthog")
SECONDS = 3.0
SHARE = 0.05
"""Of the energy turned over: what an integrator may be wrong by without a crash being wrong."""
HEIGHT = 0.05
"""Height whose potential energy a run may gain without it being said [m]."""


@dataclass(frozen=True)
class Scene:
    """One crash."""

    seed: int
    """All follows from it."""
    ground: str
    """Kind of ground, one of `GROUNDS`."""
    vehicle: str
    """Name of the vehicle."""
    speed: float
    """Commanded, and at the start [m/s]."""
    dt: float
    """Step [s]."""
    model: gr.Dynamics
    """Of motion."""
    terrain: gr.terrain.Terrain
    """The ground."""
    start: tuple[float, float, float]
    """x, y [m] and yaw [rad]."""

    def run(self) -> Run:
        """Drive it."""
        steps = max(1, round(SECONDS / self.dt))
        drive = gr.drive.arc(self.speed)
        return gr.simulate(self.model, self.terrain, drive, duration=steps * self.dt, dt=self.dt, start=self.start)


def scene(seed: int) -> Scene:
    """The crash of a seed."""
    rng = np.random.default_rng(seed)
    kind = GROUNDS[seed % len(GROUNDS)]
    name = str(rng.choice(VEHICLES))
    vehicle = gr.vehicle(name)
    size = float(vehicle.arrays.radius[0])
    dt = round(float(np.exp(rng.uniform(math.log(0.002), math.log(0.1)))), 4)
    speed = float(rng.uniform(0.5, 10.0)) * (1.0 if rng.random() < 0.85 else -1.0)
    friction = float(rng.uniform(0.2, 1.2))
    sink = float(rng.uniform(0.05, 0.2)) * size
    contact: gr.contact.Contact = gr.contact.PiecewiseLinear(friction=friction, static_penetration=sink)
    if rng.random() < 0.4:
        contact = gr.contact.Pacejka(friction=friction, static_penetration=sink)
    weight = vehicle.mass * 9.81
    actuator = None
    if rng.random() < 0.6:
        actuator = gr.actuation.PI(gain=weight * size, limit=0.5 * weight * size / vehicle.n_wheels)
    model = gr.Dynamics(
        vehicle,
        contact=contact,
        actuator=actuator,
        integrator="midpoint" if rng.random() < 0.2 else "euler",
        newton="single" if rng.random() < 0.1 else "full",
        tip_angle=math.pi,
    )
    away = 1.0 if speed > 0.0 else -1.0
    reach = away * (1.5 + 6.0 * size)
    yaw = float(rng.uniform(-1.0, 1.0)) if rng.random() < 0.5 else 0.0
    terrain, x = _ground(kind, size, reach, rng)
    return Scene(seed, kind, name, speed, dt, model, terrain, (x, 0.0, yaw))


def _ground(kind: str, size: float, reach: float, rng: np.random.Generator) -> tuple[gr.terrain.Terrain, float]:
    """The ground with its obstacle at x = reach, and where to start."""
    ahead = 0.0 if reach > 0.0 else 180.0
    height = size * float(rng.uniform(0.3, 6.0))
    if kind == "ramp":
        deg = float(rng.uniform(40.0, 85.0))
        return gr.terrain.ramp(height, deg, x=reach, heading_deg=ahead, top=float(rng.uniform(0.2, 4.0))), 0.0
    if kind == "wall":
        # the vertical end of a ramp that rises from the far side
        length = height / math.tan(math.radians(30.0)) + 2.0
        far = reach + math.copysign(length, reach)
        return gr.terrain.ramp(height, 30.0, x=far, heading_deg=180.0 - ahead, top=2.0, down=False), 0.0
    if kind == "step":
        low = size * float(rng.uniform(0.1, 1.5))
        return gr.terrain.ramp(low, 85.0, x=reach, heading_deg=ahead, top=math.inf, down=False), 0.0
    if kind == "drop":
        return gr.terrain.ramp(
            height, 30.0, x=-math.copysign(50.0, reach), heading_deg=ahead, down=False,
            top=50.0 + abs(reach) - height / math.tan(math.radians(30.0)),
        ), 0.0  # fmt: skip
    if kind == "ditch":
        width = size * float(rng.uniform(1.0, 8.0))
        side = gr.terrain.ramp(
            height, 85.0, x=-math.copysign(100.0, reach), heading_deg=ahead, down=False, top=100.0 + abs(reach) - 0.5,
            base=False,
        )  # fmt: skip
        over = reach + math.copysign(width, reach)
        other = gr.terrain.ramp(height, 85.0, x=over, heading_deg=ahead, down=False, top=math.inf, base=False)
        return gr.terrain.stack(side, other, gr.terrain.plane()), 0.0
    if kind == "rubble":
        n = 161
        x = np.linspace(-20.0, 20.0, n)
        blocks = size * float(rng.uniform(0.2, 1.5)) * rng.random((n // 2 + 1, n // 2 + 1))
        heights = np.repeat(np.repeat(blocks, 2, axis=0), 2, axis=1)[:n, :n]
        return gr.terrain.stack(gr.terrain.grid(heights, x, x), gr.terrain.plane()), 0.0
    rms = size * float(rng.uniform(0.2, 1.0))
    return gr.terrain.rough(rms=rms, length=float(rng.uniform(2.0, 6.0)) * size, seed=int(rng.integers(1000))), 0.0


def energy(model: gr.Dynamics, state: FloatArray, velocity: FloatArray) -> float:
    """Kinetic energy, that of the height and that of the vehicle's springs [J], from M alone."""
    M, _ = model.inertia_and_bias(state, velocity)
    moment = np.array([M[2, 4], M[0, 5], M[1, 3]])  # m c of the centre of mass c: the block [m c]×
    w, x, y, z = state[:4]
    up = np.array([2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)])
    total = 0.5 * velocity @ M @ velocity + model.gravity * (M[3, 3] * state[6] + up @ moment)
    arrays = model.vehicle_arrays
    for row, value, coupling in zip(arrays.coupling, arrays.coupling_value, model.vehicle.couplings, strict=True):
        total += 0.5 * (coupling.stiffness or 0.0) * float(row @ state[7:] - value) ** 2
    return float(total)


@dataclass(frozen=True)
class Gain:
    """Energy that a run had and was not given."""

    joules: float
    """Largest rise of energy less work of the motors and what contacts can have stored, over any time [J]."""
    allowed: float
    """What of it the method may have [J]: `SHARE` of the largest kinetic energy and `HEIGHT` of weight."""

    @property
    def excess(self) -> float:
        """The gain over what is allowed; above 1 is wrong."""
        return self.joules / self.allowed


def gain(model: gr.Dynamics, run: Run) -> Gain:
    """The energy a run gained, from its states, velocities, and powers of its motors."""
    if len(run.time) < 2 or run.power is None or run.contact.force is None:
        return Gain(0.0, 1.0)
    held = np.array([energy(model, q, v) for q, v in zip(run.state, run.velocity, strict=True)])
    work = np.concatenate([[0.0], np.cumsum(run.power.sum(axis=1)[:-1] * np.diff(run.time))])
    given = held - work
    # a spring that pushes with f at a depth Δz holds at most f |Δz|; the force of a row is that of the step after it
    depth = np.maximum(-run.contact.height_error, 0.0)
    force = run.contact.force[..., 2]
    stored = (np.maximum(force, np.roll(force, 1, axis=0)) * depth).sum(axis=1)
    stored[0] = (force[0] * depth[0]).sum()
    rise = float(np.max(given - np.minimum.accumulate(given + stored)))
    kinetic = np.array([v @ model.inertia_and_bias(q, v)[0] @ v for q, v in zip(run.state, run.velocity, strict=True)])
    return Gain(rise, SHARE * 0.5 * float(kinetic.max()) + HEIGHT * model.vehicle.mass * model.gravity)


def sank(model: gr.Dynamics, run: Run) -> bool:
    """Whether the body ended deeper than a wheel's diameter below all ground within a metre."""
    if run.ground is None or len(run.time) == 0:
        return False
    x, y, z = run.position[-1]
    around = np.linspace(-1.0, 1.0, 21)
    found = run.ground.sample(*np.meshgrid(x + around, y + around))
    lowest = float(found.height[found.inside].min(initial=math.inf))
    return bool(z < lowest - 2.0 * float(model.vehicle.arrays.radius.max()))
