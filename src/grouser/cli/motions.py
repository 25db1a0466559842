"""Motion models by name, from options of the command line."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import grouser as gr
from grouser.cli import values
from grouser.errors import GrouserError

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
        values.one_of(self.model, MODELS, "--model")
        values.one_of(self.contact or CONTACTS[0], CONTACTS, "--contact")
        values.one_of(self.noise_form, FORMS, "--noise-form")
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
        return [replace(self, model=name) for name in (CANDIDATES if open_ else CANDIDATES[:1])]

    def motion(self, vehicle: str | None, sensor: gr.logs.Sensor) -> gr.MotionModel:
        """The model before calibration; the vehicle is that of the log unless one was asked for."""
        name = self.vehicle or vehicle
        if name is None:
            raise GrouserError("--vehicle: is missing, and the manifest names none")
        ground = self.terrain or ("flat" if self.model == "dynamic" else None)
        return gr.MotionModel(
            model=self._model(gr.vehicle(name)),
            sensor=sensor,
            noise=gr.Noise(form=self.noise_form),
            powertrain=gr.motion.Powertrain() if self.from_commands else None,
            ground=values.ground(ground),
        )

    @property
    def from_commands(self) -> bool:
        """Whether predictions start from the log's commands: only then has the powertrain anything to do."""
        return any(name.strip().startswith("powertrain") for name in (self.parameters or "").split(","))

    def chosen(self, motion: gr.MotionModel) -> list[gr.Parameter]:
        """The parameters to calibrate, with priors as asked for."""
        names = self._first(motion)
        if self.parameters is not None:
            names = [name.strip() for name in self.parameters.split(",") if name.strip()]
            if not names:
                raise GrouserError(f"--parameters: {self.parameters!r:.60} names none, such as slip,sensor.x,noise")
        found = {p.name: p for p in gr.motion.resolve(motion, names)}
        for text in self.priors:
            name, value, sigma = _prior(text)
            if name not in found:
                raise GrouserError(f"--prior: {name!r:.60} is not calibrated; calibrated are {', '.join(found)}")
            p = found[name]
            if not p.lower <= value <= p.upper:
                raise GrouserError(f"--prior: {name} = {value:g} is not between {p.lower:g} and {p.upper:g}")
            found[name] = replace(p, value=value, sigma=sigma)
        return list(found.values())

    def _model(self, vehicle: gr.Vehicle) -> gr.Kinematics | gr.Dynamics | gr.motion.VelocityModel:
        if self.model == "kinematic":
            return gr.Kinematics(vehicle)
        if self.model == "dynamic":
            kind = gr.contact.Pacejka if self.contact == "pacejka" else gr.contact.PiecewiseLinear
            return gr.Dynamics(vehicle, contact=kind())
        if self.model == "perturbative":
            # Logs hold stops, and slow and fast driving: gravity slides a vehicle only as its wheels roll.
            return gr.motion.Perturbative(vehicle=vehicle, gravity_grows="distance")
        if self.model == "diff-drive":
            return gr.motion.DifferentialDrive(vehicle=vehicle)
        if self.model == "four-number":
            return gr.motion.FourNumbers(vehicle=vehicle)
        if all(vehicle.steered) or not any(vehicle.steered):
            raise GrouserError(f"--model: a bicycle steers some of its wheels and not others, unlike '{vehicle.name}'")
        return gr.motion.Bicycle(vehicle=vehicle)

    def _first(self, motion: gr.MotionModel) -> list[str]:
        """What a first fit of this model calibrates."""
        first = list(gr.calibration.DEFAULTS)
        if self.model == "kinematic":
            return first
        if self.model == "perturbative":  # its α₆ and the sensor's place ahead cannot be distinguished
            return [name for name in first if name != "sensor.x"]
        instead = ["model"]
        if self.model == "dynamic":
            wanted = ("contact.friction", "contact.slip_stiffness_x", "contact.slip_stiffness_y")
            instead = [name for name in gr.motion.available(motion) if name in wanted]
        return [*instead, *(name for name in first if name != "slip")]


def _prior(text: str) -> tuple[str, float, float]:
    name, _, rest = text.partition("=")
    value, _, sigma = rest.partition(":")
    mean, spread = values.number(value), values.number(sigma)
    if not (name and math.isfinite(mean) and math.isfinite(spread) and spread > 0.0):
        raise GrouserError(f"--prior: {text!r:.60} is not name=value:sigma, such as slip.p2=-0.05:0.1")
    return name.strip(), mean, spread
