"""The drive that T Tables 2.6 and 2.7 share: Zoë, 10 m straight over rough ground, by one model at one step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from experiments.contacts import erp_cfm, start_rolling
from experiments.experiment import Row
from experiments.timing import us_per_step
from grouser import terrain
from grouser.checks import FloatArray
from grouser.contact.named import contact_named
from grouser.dynamics import Dynamics
from grouser.kinematics import Kinematics
from grouser.simulation import Run, drive, settle, simulate
from grouser.terrain import Terrain
from grouser.vehicles import vehicle

KINEMATIC = "kinematic"
ERP_CFM = "erp/cfm"
PIECEWISE = "piecewise-linear"
PACEJKA = "pacejka"
TERRAMECHANICS = "terramechanics"

SPEED = 1.0  # m/s
DURATION = 10.0  # s
RMS = 0.15  # m
LENGTH = 0.8  # m
STEPS = (0.01, 0.02, 0.04, 0.10)  # s; the first is the reference
COMMAND = drive.arc(SPEED)


@dataclass(frozen=True)
class Trial:
    """One model on one terrain at one step."""

    model: Kinematics | Dynamics
    ground: Terrain
    dt: float
    start: FloatArray
    velocity: FloatArray | None

    def run(self) -> Run:
        """The drive, recorded."""
        return simulate(
            self.model,
            self.ground,
            COMMAND,
            duration=DURATION,
            dt=self.dt,
            start=self.start,
            velocity=self.velocity,
        )

    def us_per_step(self) -> float | None:
        """CPU time of a step [µs]."""
        return us_per_step(
            self.model, self.ground, COMMAND, self.start, dt=self.dt, duration=DURATION, velocity=self.velocity
        )


def trial(name: str, seed: int, dt: float, integrator: str = "euler") -> Trial:
    """A model by its name in the tables; a dynamic one is integrated as `Dynamics.integrator` says."""
    ground = _ground(seed)
    model = _model(name, dt, integrator)
    if isinstance(model, Kinematics):
        return Trial(model, ground, dt, settle(model.vehicle, ground).state, None)
    return Trial(model, ground, dt, *start_rolling(model, ground, COMMAND))


def settings(seeds: range, quick: bool, integrator: str = "euler") -> Row:
    """What decides the numbers."""
    return {
        "vehicle": "zoe",
        "speed": SPEED,
        "duration": DURATION,
        "ground": {"rms": RMS, "length": LENGTH, "spacing": LENGTH / 8.0, "interpolation": "bilinear"},
        "seeds": list(seeds),
        "integrator": integrator,
        "actuator": "ideal",
        "friction": 1.0,
        "static_penetration": 0.02,
        "soil": "lunar simulant of T Table C.2, read from a table",
        "start": "at rest on its contacts, rolling as the kinematic model would",
        "quick": quick,
    }


@lru_cache(maxsize=64)
def _ground(seed: int) -> Terrain:
    return terrain.rough(rms=RMS, length=LENGTH, seed=seed)


@lru_cache(maxsize=32)
def _model(name: str, dt: float, integrator: str) -> Kinematics | Dynamics:
    zoe = vehicle("zoe")
    if name == KINEMATIC:
        return Kinematics(zoe)
    if name == ERP_CFM:
        return Dynamics(zoe, contact=erp_cfm(Dynamics(zoe), dt), integrator=integrator)
    return _contact_model(name).replace(integrator=integrator)


@lru_cache(maxsize=8)
def _contact_model(name: str) -> Dynamics:
    zoe = vehicle("zoe")
    return Dynamics(zoe, contact=contact_named(name, zoe, speed=SPEED))
