"""Random drives of a rich simulated vehicle, as its sensors would log them, in place of the papers' logs.

The driver picks a new speed and turn every few seconds, and turns home where it has come too far. Under each wheel the
friction and rolling resistance change from stretch to stretch, which no calibrated model describes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grouser import terrain
from grouser._kernels.constants import GRAVITY
from grouser.actuation import PI, Actuator
from grouser.calibration.simulated import log_of_run
from grouser.checks import FloatArray
from grouser.contact import Pacejka
from grouser.dynamics import Dynamics
from grouser.errors import SimulationError
from grouser.logs import Log
from grouser.logs.log import Sensor
from grouser.simulation import Run, Status, drive, simulate
from grouser.simulation.records import ContactRecord
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle, vehicle

DT = 0.02  # s
HELD = 0.2  # s: how long a command is held while it ramps
STRETCH = (1.0, 3.0)  # s: how long the driver and the ground under a wheel stay the same
POSITION_NOISE, YAW_NOISE = 0.02, 0.003  # m, rad: GPS with inertial navigation
RATE_NOISE, INCLINATION_NOISE = 0.05, 0.005  # rad/s, rad


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Hills with rough ground on them, and how its grip varies."""

    friction: float
    """Mean μ of the tyres."""
    variation: float
    """Standard deviation of ln μ from wheel to wheel and stretch to stretch."""
    resistance: float = 0.0
    """Mean rolling resistance, as a share of the wheel's load at 1 m/s."""
    drag: float = 0.0
    """Standard deviation of the rolling resistance, same unit."""
    grip: float = 1.0
    """Slip stiffness of the tyres over that of T Table C.1: soft ground shears before they do."""
    slope_rms: float = 0.0
    """Root mean square slope of the hills [°]."""
    hill_length: float = 60.0
    """Their correlation length [m]."""
    rough_rms: float = 0.01
    """Height of the roughness [m]."""
    rough_length: float = 2.0
    """[m]."""
    side: float = 240.0
    """Of the map [m]."""
    spacing: float = 0.5
    """Of its nodes [m]."""
    seed: int = 1

    def hills(self) -> Terrain:
        """The hills alone: what a map would show."""
        rms = np.tan(np.radians(self.slope_rms)) * self.hill_length / np.sqrt(2.0)
        return terrain.rough(
            rms,
            self.hill_length,
            self.seed,
            size=self.side + 20.0,
            spacing=self.hill_length / 12.0,
            interpolation="bicubic",
        )

    def terrain(self) -> Terrain:
        """What the vehicle drives on."""
        axis = np.linspace(-0.5 * self.side, 0.5 * self.side, round(self.side / self.spacing) + 1)
        at = np.meshgrid(axis, axis, indexing="ij")
        small = terrain.rough(
            self.rough_rms, self.rough_length, self.seed + 1, size=self.side + 4.0, spacing=self.spacing
        )
        return terrain.grid(self.hills().height(*at) + small.height(*at), axis, axis)

    def contacts(self, car: Vehicle, random: np.random.Generator) -> dict[str, Pacejka]:
        """Tyres as the ground is under each wheel for a while."""
        load = car.mass * GRAVITY / car.n_wheels
        tyre = Pacejka()
        along, across = (replace(curve, B=curve.B * self.grip) for curve in (tyre.longitudinal, tyre.lateral))
        return {
            wheel: Pacejka(
                friction=self.friction * float(np.exp(self.variation * random.standard_normal())),
                rolling_resistance=load * max(0.0, self.resistance + self.drag * float(random.standard_normal())),
                longitudinal=along,
                lateral=across,
            )
            for wheel in car.wheels
        }


@dataclass(frozen=True, kw_only=True)
class Driver:
    """How fast it drives and turns."""

    slowest: float
    """[m/s]."""
    fastest: float
    """[m/s]."""
    turn: float
    """Largest commanded turn rate [rad/s]; a skid-steered vehicle turns less."""
    sideways: float
    """Largest commanded speed times turn rate [m/s²]."""
    speeding: float = 1.5
    """How fast speed changes [m/s²]."""
    turning: float = 1.5
    """How fast the turn rate changes [rad/s²]."""
    turns: float = 0.67
    """Share of the stretches in which it turns."""
    home: float = 80.0
    """Distance from the middle beyond which it turns home [m]."""


def drive_randomly(
    car: Vehicle, actuator: Actuator, ground: Ground, driver: Driver, *, seconds: float, seed: int = 1
) -> Run:
    """Drive for some seconds, stretch after stretch."""
    random = np.random.default_rng(seed)
    surface = ground.terrain()
    model = Dynamics(car, actuator=actuator)
    parts: list[Run] = []
    start: FloatArray | None = None
    velocity: FloatArray | None = None
    speed, turn, left = driver.slowest, 0.0, round(seconds / DT)
    while left > 0:
        steps = min(left, round(random.uniform(*STRETCH) / DT))
        wanted = _choose(driver, parts[-1] if parts else None, random)
        plan = []
        for k in range(0, steps, round(HELD / DT)):
            speed = _toward(speed, wanted[0], driver.speeding * HELD)
            turn = _toward(turn, wanted[1], driver.turning * HELD)
            plan.append((k * DT, drive.twist(speed, 0.0, turn)))
        here = model.replace(contact=ground.contacts(car, random))
        run = simulate(here, surface, drive.schedule(plan), duration=steps * DT, dt=DT, start=start, velocity=velocity)
        if run.status is not Status.OK:
            raise SimulationError(f"{car.name}: the drive ended as {run.status} with {left} steps to go")
        parts.append(run)
        start, velocity = run.state[-1], run.velocity[-1]
        left -= steps
    return _joined(parts)


def log_of_drive(
    runs: Run | list[Run],
    *,
    name: str,
    sensor: Sensor | None = None,
    offsets: Mapping[str, float] | None = None,
    hidden: Collection[str] = (),
    seed: int = 1,
) -> Log:
    """Readings of GPS with inertial navigation, wheel encoders and an inclinometer along one or several drives.

    sensor: where the pose sensor really sits; the log does not say so. offsets: added to the logged angles of joints
    [rad], as of an encoder whose zero is off. hidden: joints without an encoder.
    """
    log = log_of_run(
        runs,
        sensor=sensor,
        position_noise=POSITION_NOISE,
        yaw_noise=YAW_NOISE,
        attitude_noise=INCLINATION_NOISE,
        rate_noise=RATE_NOISE,
        inclination_noise=INCLINATION_NOISE,
        seed=seed,
        name=name,
    )
    angles = {j: a + (offsets or {}).get(j, 0.0) for j, a in log.angles.items() if j not in hidden}
    return replace(log, angles=angles, sensor=replace(log.sensor, x=0.0, y=0.0))


def with_jumps(
    log: Log, *, every: float, sizes: tuple[float, float], lasting: tuple[float, float], seed: int = 1
) -> Log:
    """The log of a GPS that at times loses satellites and is off by metres for a moment.

    every: mean time between two such jumps [s]; sizes: the least and the largest [m]; lasting: the same of time [s].
    """
    random = np.random.default_rng(seed)
    poses = log.poses
    position = poses.position.copy()
    for segment in np.unique(poses.segment):
        here = poses.segment == segment
        first, last = poses.time[here][[0, -1]]
        at = first + random.exponential(every)
        while at < last:
            end = at + random.uniform(*lasting)
            angle, size = random.uniform(-np.pi, np.pi), random.uniform(*sizes)
            off = here & (poses.time >= at) & (poses.time < end)
            position[off, :2] += size * np.array([np.cos(angle), np.sin(angle)])
            at = end + random.exponential(every)
    return replace(log, poses=replace(poses, position=position))


CRUSHER_GROUND = Ground(
    friction=0.8,
    variation=0.15,
    resistance=0.01,
    drag=0.01,
    slope_rms=8.0,
    rough_rms=0.03,
    rough_length=2.5,
    side=480.0,
    spacing=0.8,
)
CRUSHER_DRIVER = Driver(slowest=2.0, fastest=6.0, turn=1.8, sideways=9.0, turns=0.55, home=120.0)
CRUSHER_GAIN = 20000.0  # N m/(rad/s)


def drive_crusher(seconds: float, seed: int) -> Run:
    """Crusher on steep hills of their own, T §3.4.1: up to 6 m/s, 40 °/s and 30° of roll."""
    ground = replace(CRUSHER_GROUND, seed=10 * seed)
    return drive_randomly(vehicle("crusher"), PI(gain=CRUSHER_GAIN), ground, CRUSHER_DRIVER, seconds=seconds, seed=seed)


def _choose(driver: Driver, before: Run | None, random: np.random.Generator) -> tuple[float, float]:
    """Speed and turn rate for the next stretch."""
    speed = random.uniform(driver.slowest, driver.fastest)
    most = min(driver.turn, driver.sideways / speed)
    turn = float(random.random() < driver.turns) * random.uniform(-most, most)
    if before is not None:
        x, y = before.position[-1, :2]
        if np.hypot(x, y) > driver.home:
            away = np.arctan2(-y, -x) - before.yaw[-1]
            turn = most * float(np.clip(np.arctan2(np.sin(away), np.cos(away)), -1.0, 1.0))
    return speed, turn


def _toward(now: float, wanted: float, most: float) -> float:
    return now + min(max(wanted - now, -most), most)


def _joined(parts: list[Run]) -> Run:
    """Stretches as one run."""

    def chained(owners: list[Any], name: str) -> FloatArray:
        # The last row of a stretch is the first of the next.
        return np.concatenate([*(getattr(one, name)[:-1] for one in owners[:-1]), getattr(owners[-1], name)])

    contacts = [p.contact for p in parts]
    state = chained(parts, "state")
    fields = ("point", "normal", "velocity", "height_error", "angle", "force")
    record = ContactRecord(*(chained(contacts, name) for name in fields))
    return replace(
        parts[-1],
        time=DT * np.arange(len(state), dtype=np.float64),
        state=state,
        velocity=chained(parts, "velocity"),
        command=chained(parts, "command"),
        contact=record,
        torque=None,
        solver=None,
        steps=sum(p.steps for p in parts),
        halved_steps=sum(p.halved_steps for p in parts),
    )
