"""`grouser calibrate`: a driving log to a calibrated model."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, values
from grouser.cli.values import option
from grouser.errors import GrouserError
from grouser.pictures import picture_suffix

EXAMPLES = (
    "drive.csv --manifest log.toml --out fit.toml",
    "drive.csv --manifest log.toml --parameters slip,noise --online --plot fit.png",
    "growing.csv --manifest log.toml --follow --checkpoint state.toml --out fit.toml",
    "--list-parameters --manifest log.toml",
)
MODELS = ("best", "kinematic", "perturbative", "diff-drive", "four-number", "bicycle", "dynamic")
CANDIDATES = ("kinematic", "perturbative")
"""The best of these is the one under which the held-out part of a log is most probable."""
CONTACTS = ("piecewise-linear", "pacejka")
GROUPS = ("slip", "sensor", "noise", "model", "contact", "actuator", "powertrain")
FORMS = ("diagonal", "full", "cholesky")
modelling, fitting, followed = (partial(option, panel=name) for name in ("Model", "Fitting", "Following"))


def calibrate(
    logs: Annotated[
        list[Path] | None, typer.Argument(metavar="LOG...", help="Driving logs: .csv, or a ROS bag or .mcap.")
    ] = None,
    manifest: Annotated[Path | None, option("Meaning of columns (.toml); `grouser check LOG` drafts it.")] = None,
    vehicle: Annotated[str | None, modelling("A shipped vehicle or a file; default: the manifest's.")] = None,
    model: Annotated[
        str,
        option(
            "best of several (default), kinematic, dynamic or another. "
            f"All are {', '.join(MODELS)}; best keeps the one with the highest held-out likelihood."
        ),
    ] = MODELS[0],
    contact: Annotated[str | None, modelling("Dynamic: piecewise-linear (default) or pacejka.")] = None,
    terrain: Annotated[str | None, modelling("The ground, if attitude is not measured; dynamic: default flat.")] = None,
    parameters: Annotated[str | None, option("Names or groups, with commas; default: a first fit's.")] = None,
    interval: values.Interval = None,
    distance: Annotated[float | None, fitting("Length of predictions, m; instead of --interval.")] = None,
    stride: Annotated[float | None, fitting("From start to start, s; less than --interval overlaps.")] = None,
    online: Annotated[bool, fitting("Filter interval by interval; default: least squares on all.", "--online")] = False,
    loss: Annotated[str, fitting("Outliers: mixture gives them no weight, huber or cauchy less; none.")] = "mixture",
    noise_form: Annotated[str, modelling("Process noise: diagonal, full or cholesky.")] = "diagonal",
    gate: Annotated[float, fitting("Online: squared Mahalanobis distance of an outlier.")] = 90.0,
    noise_gate: Annotated[float, fitting("The same for noise parameters.")] = 1000.0,
    prior: Annotated[list[str] | None, modelling("name=value:sigma, prior of a parameter; may be repeated.")] = None,
    split: Annotated[float | None, fitting("Share of the log to train on for held-out errors; 1 skips them.")] = None,
    out: Annotated[Path | None, option("File for the fit (.toml).")] = None,
    plot: Annotated[Path | None, option("Parameters over time, into a .png, .svg or .pdf file.")] = None,
    list_parameters: Annotated[
        bool, option("Print the parameters that can be calibrated, and stop.", "--list-parameters")
    ] = False,
    following: Annotated[bool, option("Calibrate while the log is being written; Ctrl-C ends it.", "--follow")] = False,
    checkpoint: Annotated[Path | None, followed("State to continue from after a stop (.toml).")] = None,
    poll: Annotated[float, followed("Seconds between looks at the file.")] = 0.5,
    idle_exit: Annotated[float | None, followed("End when the file has not grown for this time, s.")] = None,
    as_json: console.Json = False,
) -> None:
    """Fit the parameters of a motion model to a driving log.

    It prints them with their standard deviations, and the errors of predictions.
    """
    if manifest is None and not (list_parameters and vehicle is not None):
        raise GrouserError("--manifest: is missing; it names the columns, and `grouser check LOG` drafts one")
    given = Wanted(
        vehicle=vehicle, model=model, contact=contact, terrain=terrain, noise_form=noise_form, parameters=parameters,
        priors=tuple(prior or ()),
    )  # fmt: skip
    if list_parameters:
        _list(given.candidates()[0], manifest, as_json)
        return
    assert manifest is not None
    if not logs:
        raise GrouserError("LOG: is missing; name a driving log, or give --list-parameters")
    length, far = values.prediction(interval, distance)
    for value, name in ((gate, "--gate"), (noise_gate, "--noise-gate")):
        if not value > 0.0:
            raise GrouserError(f"{name}: {value:g} is not a positive number; inf rejects nothing")
    cut: dict[str, Any] = {
        "interval": length, "distance": far, "gate": gate, "noise_gate": noise_gate,
        "stride": None if stride is None else values.positive(stride, "--stride"),
    }  # fmt: skip
    for path in (out, plot, checkpoint):
        if path is not None and not path.parent.is_dir():
            raise GrouserError(f"{path}: its folder does not exist")
    if plot is not None:
        picture_suffix(plot)
    if following:
        from grouser.cli.follow import follow

        values.refuse({"--plot": plot, "--split": split}, "is not for --follow; leave it out")
        follow(
            logs, manifest, given, cut, checkpoint=checkpoint, out=out, poll=values.positive(poll, "--poll"),
            idle_exit=idle_exit, as_json=as_json,
        )  # fmt: skip
        return
    values.refuse({"--checkpoint": checkpoint, "--idle-exit": idle_exit}, "is for --follow; add it, or leave this out")
    share = split if split is not None else 0.7 if len(logs) == 1 else 1.0  # of several logs, none is held out
    if not 0.0 < share <= 1.0:
        raise GrouserError(f"--split: {share:g} is not above 0 and at most 1")
    log = console.read_log(logs, manifest)
    fit, chosen, tried = _best(given, log, share, {**cut, "online": online, "loss": loss})
    if out is not None:
        fit.save(out)
    if plot is not None:
        fit.plot(plot)
    summary = fit.summary()
    for p in fit.parameters:
        summary["parameters"][p.name] |= {"prior": p.value, "prior_sigma": p.sigma}
    summary["training"] |= {"part": "the whole log", "segments": log.n_segments}
    note = f"fit to the first {100 * share:g} % of the log by time, judged on the rest"
    held_out = {**tried[chosen].summary(), "trained_on": share, "note": note} if tried else None
    judged = {
        name: {"log_likelihood": one.errors.log_likelihood, **one.errors.summary()} for name, one in tried.items()
    }
    keys = ("log_likelihood", "position_rms", "yaw_rms_deg", "nees")
    result = {
        "model": chosen, "tried": {name: {key: one[key] for key in keys} for name, one in judged.items()}, **summary,
        "held_out": held_out, "vehicle": fit.model.vehicle.name, "fit": out, "plot": plot,
    }  # fmt: skip
    console.emit(result, as_json, lambda _: _print(fit, chosen, tried, share, log), (out, plot))
    if not as_json:
        again = f"calibrate {logs[0]} --manifest {manifest} --out fit.toml"
        then = f"evaluate ANOTHER_LOG --manifest {manifest} --fit {out}"
        typer.echo(f"next: grouser {again if out is None else then}")


def _best(
    given: Wanted, log: gr.Log, share: float, options: dict[str, Any]
) -> tuple[gr.Fit, str, dict[str, gr.calibration.Evaluation]]:
    """The fit to the whole log of the model with the highest held-out likelihood, its name, and all evaluations.

    Models are compared on the last part of the log, fitted to the first `share` of it; with a share of 1 none is.
    """

    def fit(one: Wanted, to: gr.Log, part: str) -> gr.Fit:
        motion = one.motion(log.vehicle, log.sensor)
        with console.progress(f"calibrating, {one.model} model, {part}") as report:
            return gr.calibrate(motion, to, one.chosen(motion), progress=report, **options)

    wanted, tried = given.candidates(), dict[str, Any]()
    if share < 1.0:
        train, test = log.split(share)
        cut = {name: options[name] for name in ("interval", "distance")}
        for one in wanted:
            tried[one.model] = gr.evaluate(fit(one, train, "training part"), test, same_drive=True, **cut)
        wanted.sort(key=lambda one: -tried[one.model].errors.log_likelihood)
    return fit(wanted[0], log, "whole log" if tried else "log"), wanted[0].model, tried


def _list(given: Wanted, manifest: Path | None, as_json: bool) -> None:
    from grouser.logs.manifest import load_manifest
    from grouser.motion.parameter_table import meaning
    from grouser.motion.parameters import default, unit_of

    read = None if manifest is None else load_manifest(manifest)
    motion = given.motion(read.vehicle if read else None, read.mounting() if read else gr.logs.Sensor())
    first = {p.name for p in given.chosen(motion)}
    rows: list[dict[str, Any]] = [
        {
            "name": p.name, "value": p.value, "sigma": p.sigma, "lower": p.lower, "upper": p.upper,
            "unit": unit_of(motion, p.name), "meaning": meaning(p.name), "default": p.name in first,
        }
        for p in (default(motion, name) for name in gr.motion.available(motion))
    ]  # fmt: skip
    if as_json:
        for row in rows:  # JSON has no infinity
            row |= {bound: row[bound] if abs(row[bound]) < math.inf else None for bound in ("lower", "upper")}
        console.print_json({"vehicle": motion.vehicle.name, "model": given.model, "parameters": rows})
        return
    console.print_table(
        f"{given.model} model of {motion.vehicle.name}",
        ("", "name", "value", "prior ±", "from", "to", "unit", "meaning"),
        [
            ("*" if row["default"] else "", row["name"], f"{row['value']:.4g}",
             *(f"{row[key]:.3g}" for key in ("sigma", "lower", "upper")), row["unit"], row["meaning"])
            for row in rows
        ],
        right=(2, 3, 4, 5),
    )  # fmt: skip
    groups = [g for g in GROUPS if any(row["name"].startswith(g + ".") for row in rows)]
    if not given.from_commands:
        typer.echo("--parameters powertrain,… predicts from commands, and adds powertrain.gain, .delay, .time_constant")
    typer.echo(f"* calibrated by default; groups: {', '.join(groups)}; * stands for any text")


def _print(fit: gr.Fit, model: str, tried: dict[str, gr.calibration.Evaluation], share: float, log: gr.Log) -> None:
    t = fit.training
    each = f"{t.interval:g} s" if t.interval is not None else f"{t.distance:g} m"
    how = "filtered online" if t.method == "online" else "least squares"
    print_parameters(fit, f"{fit.model.vehicle.name}, {model} model: {t.intervals} intervals of {each}, {how}")
    typer.echo("")
    if fit.undetermined:
        typer.echo("hardly determined, because the drive does not excite it; the values are mostly the prior:")
        for direction in fit.undetermined:
            typer.echo(f"  {direction}")
    word = "rejected as outliers" if t.method == "online" else "weigh less than half, as outliers"
    typer.echo(f"{t.rejected} of {t.intervals} intervals {word}")
    if t.overlapping:
        typer.echo("intervals overlap, so the uncertainties above are too small")
    for line in log.report.lines()[1:]:
        typer.echo(line)
    if not tried:
        typer.echo(f"errors on the log it was fitted to: {t.position_rms:.3f} m rms; no part was held out")
        return
    part = f"fitted to the first {100 * share:g} % of the log, judged on the rest"
    typer.echo(f"held-out errors of {tried[model].errors.summary()['n']} intervals, {part}:")
    rows = [("plain odometry", tried[model].baseline.summary(consistency=False))]
    rows += [(name, one.errors.summary()) for name, one in tried.items()]
    for name, one in rows:
        kept = " (kept: highest likelihood)" if name == model and len(tried) > 1 else ""
        typer.echo(f"  {name:<15} {one['position_rms']:.3f} m, {one['yaw_rms_deg']:.2f}° rms{kept}")
    typer.echo("the fit itself is made from the whole log")


def print_parameters(fit: gr.Fit, title: str) -> None:
    """A table of the parameters found."""
    from grouser.motion.parameter_table import meaning
    from grouser.motion.parameters import unit_of

    sigma = fit.sigma
    rows = [
        (p.name, f"{v:.5g}", f"± {sigma[p.name]:.2g}", f"{p.value:.4g} ± {p.sigma:.2g}", unit_of(fit.model, p.name),
         meaning(p.name))
        for p, v in zip(fit.parameters, fit.vector.tolist(), strict=True)
    ]  # fmt: skip
    typer.echo(title)
    columns = ("parameter", "value", "1σ", "prior", "unit", "meaning")
    shown = len(columns) if console.is_wide() else len(columns) - 1  # meanings would fold
    console.print_table("", columns[:shown], [row[:shown] for row in rows], right=(1,))


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

    def __post_init__(self) -> None:
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
