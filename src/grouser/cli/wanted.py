"""Options of commands that calibrate: vehicle, model, parameters and priors; the fit and the grounds to start from."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import grouser as gr
from grouser.cli import values
from grouser.errors import GrouserError

MODELS = (
    "best", "kinematic", "perturbative", "sliding", "corrected", "diff-drive", "four-number", "bicycle", "omni",
    "dynamic",
)  # fmt: skip
VELOCITY_MODELS = {
    "corrected": "Corrected", "perturbative": "Perturbative", "sliding": "Perturbative", "bicycle": "Bicycle",
    "diff-drive": "DifferentialDrive", "omni": "Holonomic", "four-number": "FourNumbers",
}  # fmt: skip
"""Classes of `grouser.motion` by the name of the model."""
SURFACE = ("perturbative", "sliding", "corrected")
"""Models with the 13 slip parameters of a surface."""


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
    start_velocity: str = "poses"

    def __post_init__(self) -> None:
        """Refuses what needs no file to be seen wrong."""
        if self.contact is not None and self.model != "dynamic":
            raise GrouserError("--contact: is for the dynamic model; add --model dynamic, or leave it out")
        if self.terrain is not None and self.model not in ("best", "kinematic", "dynamic"):
            raise GrouserError(f"--terrain: the {self.model} model takes its attitude from the log; leave it out")
        for text in self.priors:
            _prior(text)

    def candidates(self, log: gr.Log) -> list[gr.calibration.Candidate]:
        """The models among which held-out likelihood decides; one, if a model or what belongs to one was asked for."""
        if self.model == "best" and self.parameters is None and not self.priors and self.terrain is None:
            noise = gr.Noise(form=self.noise_form)
            return gr.calibration.candidates(gr.vehicle(self._vehicle(log.vehicle)), log, noise=noise)
        one = self.first
        motion = one.motion(log.vehicle, log.sensor)
        if one.model == "corrected":
            surface = replace(one, model="perturbative")
            motion = surface.motion(log.vehicle, log.sensor)
            chosen = surface.chosen(motion)
            return [gr.calibration.Candidate(name=one.model, motion=motion, parameters=chosen, learns=True)]
        return [gr.calibration.Candidate(name=one.model, motion=motion, parameters=one.chosen(motion))]

    @property
    def first(self) -> Wanted:
        """The model of a fit without comparison: kinematic in place of best."""
        return replace(self, model="kinematic") if self.model == "best" else self

    def _vehicle(self, named: str | None) -> str:
        """The vehicle asked for, or that of the log."""
        name = self.vehicle or named
        if name is None:
            raise GrouserError("--vehicle: is missing, and the manifest names none")
        return name

    def motion(self, vehicle: str | None, sensor: gr.logs.Sensor) -> gr.MotionModel:
        """The model before calibration; the vehicle is that of the log unless one was asked for."""
        name = self._vehicle(vehicle)
        ground = self.terrain or ("flat" if self.model == "dynamic" else None)
        return gr.MotionModel(
            model=self._model(gr.vehicle(name)),
            sensor=sensor,
            noise=gr.Noise(form=self.noise_form),
            powertrain=gr.motion.Powertrain() if self.from_commands else None,
            ground=values.ground(ground),
            start=self.start_velocity,
        )

    @property
    def from_commands(self) -> bool:
        """Whether predictions use the log's commands, which the powertrain model needs."""
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
        if self.model == "bicycle" and (all(vehicle.steered) or not any(vehicle.steered)):
            raise GrouserError(f"--model: a bicycle steers some of its wheels and not others, unlike '{vehicle.name}'")
        # Logs hold stops, and slow and fast driving: gravity slides a vehicle only as its wheels roll.
        rolls = {"gravity_grows": "distance"} if self.model in ("corrected", "perturbative") else {}
        made: gr.motion.VelocityModel = getattr(gr.motion, VELOCITY_MODELS[self.model])(vehicle=vehicle, **rolls)
        return made

    def _first(self, motion: gr.MotionModel) -> list[str]:
        """What a first fit of this model calibrates."""
        first = list(gr.calibration.DEFAULTS)
        if self.model == "kinematic":
            return first
        if self.model in SURFACE:  # its α₆ and the sensor's place ahead cannot be distinguished
            return [name for name in first if name != "sensor.x"]
        instead = ["model"]
        if self.model == "dynamic":
            wanted = ("contact.friction", "contact.slip_stiffness_x", "contact.slip_stiffness_y")
            instead = [name for name in gr.motion.available(motion) if name in wanted]
        return [*instead, *(name for name in first if name != "slip")]


class Carried(NamedTuple):
    """Options of a calibration that starts from a fit, or remembers grounds."""

    start: Path | None
    """A fit to carry on."""
    memory: Path | None
    """A file of grounds, which need not exist yet."""
    steady: bool
    """Whether the ground is taken for one and the same throughout."""
    terrain: str | None = None
    """Ground of the fit, if other than flat."""

    def fit(self) -> gr.Fit:
        """The fit to carry on."""
        assert self.start is not None
        return gr.Fit.load(self.start, ground=values.ground(self.terrain))

    @property
    def sigma(self) -> dict[str, float]:
        """Sigmas of the systematic parameters of the fit to carry on: those of the prior. None without one."""
        if self.start is None:
            return {}
        fit = self.fit()
        return {p.name: fit.sigma[p.name] for p in fit.systematic}

    def grounds(self) -> gr.calibration.Memory | None:
        """The memory, where there is one already."""
        return gr.calibration.Memory.load(self.memory) if self.memory is not None and self.memory.exists() else None

    def calibrated(self, model: Any, log: gr.Log, parameters: Any = None, **options: Any) -> gr.Fit:
        """A calibration of a model or a fit; a memory is written with the grounds of this log."""
        if parameters is not None:
            options["parameters"] = parameters
        if not options["online"]:
            return gr.calibrate(model, log, **options)
        memory = self.grounds()
        if memory is None and self.memory is not None:
            fit = model if isinstance(model, gr.Fit) else None
            memory = gr.calibration.Memory.of(*((model, parameters) if fit is None else (fit.model, fit.systematic)))
        found = gr.calibrate(model, log, adapt=not self.steady, memory=memory, **options)
        self.write(memory)
        return found

    def write(self, memory: gr.calibration.Memory | None) -> None:
        """Write the memory, if a file was named."""
        if self.memory is not None and memory is not None:
            memory.save(self.memory)


def _prior(text: str) -> tuple[str, float, float]:
    form = "name=value:sigma, such as slip.p2=-0.05:0.1"
    name, rest = values.pair(text, "--prior", form)
    value, _, sigma = rest.partition(":")
    mean, spread = values.number(value), values.number(sigma)
    if not (math.isfinite(mean) and math.isfinite(spread) and spread > 0.0):
        raise GrouserError(f"--prior: {text!r:.60} is not {form}")
    return name, mean, spread
