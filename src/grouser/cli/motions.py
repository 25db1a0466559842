"""Motion models by name, from options of the command line."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grouser.errors import GrouserError

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics
    from grouser.kinematics import Kinematics
    from grouser.logs.log import Sensor
    from grouser.motion.model import MotionModel
    from grouser.motion.parameters import Parameter
    from grouser.motion.velocity import VelocityModel
    from grouser.vehicles import Vehicle

MODELS = ("best", "kinematic", "perturbative", "diff-drive", "four-number", "bicycle", "dynamic")
CANDIDATES = ("kinematic", "perturbative")
"""The best of these is the one under which the held-out part of a log is most probable."""
CONTACTS = ("piecewise-linear", "pacejka")
GROUPS = ("slip", "sensor", "noise", "model", "contact", "actuator", "powertrain")
FORMS = ("diagonal", "full", "cholesky")


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Options of a command that calibrates."""

    vehicle: str | None
    model: str
    contact: str | None
    terrain: str | None
    noise_form: str
    parameters: str | None
    priors: tuple[str, ...]

    def check(self) -> None:
        """Refuses what needs no file to be seen wrong."""
        for value, known, option in (
            (self.model, MODELS, "--model"),
            (self.contact or CONTACTS[0], CONTACTS, "--contact"),
            (self.noise_form, FORMS, "--noise-form"),
        ):
            if value not in known:
                raise GrouserError(f"{option}: {value!r:.40} is not one of {', '.join(known)}")
        if self.contact is not None and self.model != "dynamic":
            raise GrouserError("--contact: is for the dynamic model; add --model dynamic, or leave it out")
        if self.terrain is not None and self.model not in ("best", "kinematic", "dynamic"):
            raise GrouserError(f"--terrain: the {self.model} model takes its attitude from the log; leave it out")
        for text in self.priors:
            _prior(text)

    def candidates(self) -> list[Wanted]:
        """The models among which held-out errors decide; one, if a model or what belongs to one was asked for."""
        if self.model != "best":
            return [self]
        open_ = self.parameters is None and not self.priors and self.terrain is None
        return [dataclasses.replace(self, model=name) for name in (CANDIDATES if open_ else CANDIDATES[:1])]

    def motion(self, vehicle: str | None, sensor: Sensor) -> MotionModel:
        """The model before calibration; the vehicle is that of the log unless one was asked for."""
        import grouser as gr
        from grouser.motion.model import MotionModel
        from grouser.motion.noise import Noise
        from grouser.motion.powertrain import Powertrain

        name = self.vehicle or vehicle
        if name is None:
            raise GrouserError("--vehicle: is missing, and the manifest names none")
        ground = self.terrain or ("flat" if self.model == "dynamic" else None)
        return MotionModel(
            model=self._model(gr.vehicle(name)),
            sensor=sensor,
            noise=Noise(form=self.noise_form),
            powertrain=Powertrain() if self.from_commands else None,
            ground=None if ground is None else gr.terrain.parse(ground),
        )

    @property
    def from_commands(self) -> bool:
        """Whether predictions start from the log's commands: only then has the powertrain anything to do."""
        return any(name.strip().startswith("powertrain") for name in (self.parameters or "").split(","))

    def chosen(self, motion: MotionModel) -> list[Parameter]:
        """The parameters to calibrate, with priors as asked for."""
        from grouser.motion.parameters import resolve

        names = self._first(motion)
        if self.parameters is not None:
            names = [name.strip() for name in self.parameters.split(",") if name.strip()]
            if not names:
                raise GrouserError(f"--parameters: {self.parameters!r:.60} names none, such as slip,sensor.x,noise")
        found = {p.name: p for p in resolve(motion, names)}
        for text in self.priors:
            name, value, sigma = _prior(text)
            if name not in found:
                raise GrouserError(f"--prior: {name!r:.60} is not calibrated; calibrated are {', '.join(found)}")
            p = found[name]
            if not p.lower <= value <= p.upper:
                raise GrouserError(f"--prior: {name} = {value:g} is not between {p.lower:g} and {p.upper:g}")
            found[name] = dataclasses.replace(p, value=value, sigma=sigma)
        return list(found.values())

    def _model(self, vehicle: Vehicle) -> Kinematics | Dynamics | VelocityModel:
        import grouser as gr
        from grouser.motion import planar, slip_surface

        if self.model == "kinematic":
            return gr.Kinematics(vehicle)
        if self.model == "dynamic":
            kind = gr.contact.Pacejka if self.contact == "pacejka" else gr.contact.PiecewiseLinear
            return gr.Dynamics(vehicle, contact=kind())
        if self.model == "bicycle" and not (any(vehicle.steered) and not all(vehicle.steered)):
            raise GrouserError(f"--model: a bicycle steers some of its wheels and not others, unlike '{vehicle.name}'")
        kinds = {
            "diff-drive": planar.DifferentialDrive,
            "four-number": planar.FourNumbers,
            "bicycle": planar.Bicycle,
            "perturbative": slip_surface.Perturbative,
        }
        # Logs hold stops, and slow and fast driving: gravity slides a vehicle only as its wheels roll.
        rolling = {"gravity_grows": "distance"} if self.model == "perturbative" else {}
        made: VelocityModel = kinds[self.model](vehicle=vehicle, **rolling)
        return made

    def _first(self, motion: MotionModel) -> list[str]:
        """What a first fit of this model calibrates."""
        from grouser.calibration.calibrate import DEFAULTS
        from grouser.motion.parameters import available

        if self.model == "kinematic":
            return list(DEFAULTS)
        if self.model == "perturbative":  # its α₆ and the sensor's place ahead cannot be distinguished
            return [name for name in DEFAULTS if name != "sensor.x"]
        instead = ["model"]
        if self.model == "dynamic":
            wanted = ("contact.friction", "contact.slip_stiffness_x", "contact.slip_stiffness_y")
            instead = [name for name in available(motion) if name in wanted]
        return [*instead, *(name for name in DEFAULTS if name != "slip")]


def _prior(text: str) -> tuple[str, float, float]:
    name, equals, rest = text.partition("=")
    value, colon, sigma = rest.partition(":")
    try:
        numbers = float(value), float(sigma)
    except ValueError:
        numbers = (math.nan, math.nan)
    if not (name and equals and colon and math.isfinite(sum(numbers)) and numbers[1] > 0.0):
        raise GrouserError(f"--prior: {text!r:.60} is not name=value:sigma, such as slip.p2=-0.05:0.1")
    return (name.strip(), *numbers)
