"""`grouser calibrate`: a driving log to a calibrated model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, many_logs, values
from grouser.cli.carried import Carried, said_of_change
from grouser.cli.values import option
from grouser.cli.wanted import MODELS, Wanted
from grouser.errors import GrouserError
from grouser.pictures import picture_suffix

EXAMPLES = (
    "drive.csv --manifest log.toml --out fit.toml",
    "drive.csv --manifest log.toml --parameters slip,noise --online --plot fit.png",
    "growing.csv --manifest log.toml --follow --checkpoint state.toml --out fit.toml",
    "--list-parameters --manifest log.toml",
    "a.csv b.csv c.csv --manifest log.toml --share --out fit.toml",
    "next.csv --manifest log.toml --online --from fit.toml --memory grounds.toml",
    "logs/*.csv --manifest log.toml --jobs 4 --out fleet.toml",
)
LEARNED = ("slip.c", "slip.beyond_")
"""How names of a learned correction begin."""
NOTHING: Mapping[str, float] = MappingProxyType({})
GROUPS = ("slip", "sensor", "noise", "model", "contact", "actuator", "powertrain")
modelling, fitting, followed = (partial(option, panel=name) for name in ("Model", "Fitting", "Following"))
together, learning = (partial(option, panel=name) for name in ("Several logs", "Online"))


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
    start_velocity: Annotated[
        str, modelling("Dynamic: velocity at the start by poses (with gyro and wheels) or wheels.")
    ] = "poses",
    contact: Annotated[str | None, modelling("Dynamic: piecewise-linear (default) or pacejka.")] = None,
    terrain: Annotated[str | None, modelling("The ground, if attitude is not measured; dynamic: default flat.")] = None,
    parameters: Annotated[str | None, option("Names or groups, with commas; default: a first fit's.")] = None,
    interval: values.Interval = None,
    distance: Annotated[float | None, fitting("Length of predictions, m; instead of --interval.")] = None,
    stride: Annotated[float | None, fitting("From start to start, s; less than --interval overlaps.")] = None,
    online: Annotated[bool, fitting("Filter interval by interval; default: least squares on all.", "--online")] = False,
    loss: Annotated[str, fitting("Outliers: mixture gives them no weight, huber or cauchy less; none.")] = "mixture",
    noise_form: Annotated[str, modelling("Process noise: diagonal, full or cholesky.")] = "diagonal",
    gate: Annotated[float, fitting("Online: squared Mahalanobis distance of an outlier.")] = 1e4,
    prior: Annotated[list[str] | None, fitting("name=value:sigma, prior of a parameter; may be repeated.")] = None,
    start: Annotated[
        Path | None, learning("A fit to carry on: its values and covariance are the prior.", "--from")
    ] = None,
    memory: Annotated[Path | None, learning("Grounds to recall and to add to (.toml); made if missing.")] = None,
    steady: Annotated[bool, learning("One ground throughout: slip neither wanders nor changes.", "--steady")] = False,
    split: Annotated[float | None, fitting("Judge on what follows this share of the log; 1: hold nothing out.")] = None,
    shared: Annotated[bool, together("Fit one vehicle and a ground to each log.", "--share")] = False,
    label: Annotated[str | None, together("With --share: a label of the manifest that names the ground.")] = None,
    jobs: many_logs.Jobs = 1,
    scheduler: many_logs.Scheduler = None,
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
        priors=tuple(prior or ()), start_velocity=start_velocity,
    )  # fmt: skip
    if list_parameters:
        _list(given.first, manifest, as_json)
        return
    assert manifest is not None
    if not logs:
        raise GrouserError("LOG: is missing; name a driving log, or give --list-parameters")
    length, far = values.prediction(interval, distance)
    values.one_of(loss, ("mixture", "huber", "cauchy", "none"), "--loss")
    if out is not None and out.suffix.lower() != ".toml":
        raise GrouserError(f"--out: {out} must end in .toml; a fit is a file of that kind")
    if not gate > 0.0:
        raise GrouserError(f"--gate: {gate:g} is not a positive number; inf rejects nothing")
    online_only = {"--memory": memory, "--steady": steady or None}
    if not (online or following):
        values.refuse(online_only, "is for --online and --follow; add one of them, or leave this out")
    if start is not None:
        asked: dict[str, Any] = {
            "--model": None if model == "best" else model,
            "--parameters": parameters,
            "--prior": prior or None,
        }
        asked |= {"--share": shared or None, "--vehicle": vehicle}
        asked |= {"--noise-form": None if noise_form == "diagonal" else noise_form}
        values.refuse(asked, "belongs to the fit of --from; leave it out")
        values.refuse(
            {"--split": split}, "is not for --from, which judges each interval before it is used; leave it out"
        )
    cut: dict[str, Any] = {
        "interval": length, "distance": far, "gate": gate,
        "stride": None if stride is None else values.positive(stride, "--stride"),
    }  # fmt: skip
    for path in (out, plot, checkpoint, memory):
        if path is not None and not path.parent.is_dir():
            raise GrouserError(f"{path}: its folder does not exist")
    if plot is not None:
        picture_suffix(plot)
    machines = many_logs.Machines(jobs, scheduler)
    if machines.several and (following or shared or start is not None or split == 1.0 or model != "best"):
        name = "--scheduler" if jobs == 1 else "--jobs"
        raise GrouserError(f"{name}: processes share the models of --model best, each one; leave this out")
    if following:
        if interval == "whole":
            raise GrouserError("--interval: whole runs are known only once they ended; --follow needs seconds")
        if model == "corrected":
            raise GrouserError("--model: a correction is learned from a whole log; --follow cannot begin with it")
        from grouser.cli.follow import follow

        values.refuse({"--plot": plot, "--split": split}, "is not for --follow; leave it out")
        carried = Carried(start, memory, steady, terrain)
        follow(
            logs, manifest, given, cut, carried=carried, checkpoint=checkpoint, out=out,
            poll=values.positive(poll, "--poll"), idle_exit=idle_exit, as_json=as_json,
        )  # fmt: skip
        return
    if shared:
        from grouser.cli.share import share as share_logs

        values.refuse(
            {"--plot": plot, "--split": split, "--online": online or None}, "is not for --share; leave it out"
        )
        share_logs(logs, manifest, given, {**cut, "loss": loss, "label": label}, out=out, as_json=as_json)
        return
    values.refuse({"--checkpoint": checkpoint, "--idle-exit": idle_exit}, "is for --follow; add it, or leave this out")
    values.refuse({"--label": label}, "is for --share; add it, or leave this out")
    if interval == "whole" and split is None:
        split = 1.0  # a log has few of them to hold out
    if split is not None and not 0.0 < split <= 1.0:
        raise GrouserError(f"--split: {split:g} is not above 0 and at most 1")
    log = console.read_log(logs, manifest)
    if interval is None:
        cut["interval"] = None  # the length that suits the logs
    carried = Carried(start, memory, steady, terrain)
    elsewhere = partial(many_logs.attempts_on, machines, logs, manifest, given) if machines.several else None
    more = {"online": online, "loss": loss, "whole": interval == "whole", "elsewhere": elsewhere}
    fit, choice = _best(given, log, split, {**cut, **more}, carried)
    if out is not None:
        fit.save(out)
    if plot is not None:
        fit.plot(plot)
    summary = fit.summary()
    known = carried.sigma
    for p in fit.parameters:
        summary["parameters"][p.name] |= {"prior": p.value, "prior_sigma": known.get(p.name, p.sigma)}
    summary["training"] |= {"part": "the whole log", "segments": log.n_segments}
    result = {
        "model": choice.name, "tried": {name: one.summary() for name, one in choice.tried.items()},
        "not_tried": choice.refused, **summary, "held_out": _held_out(choice, split), "vehicle": fit.model.vehicle.name,
        "fit": out, "plot": plot, "memory": memory,
    }  # fmt: skip
    console.emit(result, as_json, lambda _: _print(fit, choice, split, log, known), (out, plot, memory))
    if not as_json:
        again = f"calibrate {logs[0]} --manifest {manifest} --out fit.toml"
        then = f"evaluate ANOTHER_LOG --manifest {manifest} --fit {out}"
        typer.echo(f"next: grouser {again if out is None else then}")


def _best(
    given: Wanted, log: gr.Log, split: float | None, options: dict[str, Any], carried: Carried
) -> tuple[gr.Fit, gr.calibration.Choice]:
    """The fit to all logs of the model with the highest held-out likelihood, and the choice; none with a split of 1."""
    cut = {name: options[name] for name in ("interval", "distance", "stride")}
    learner = {name: options[name] for name in ("gate", "loss", "online")}
    length = {**cut, "interval": 2.0 if cut["interval"] is None and not options["whole"] else cut["interval"]}

    def nothing_compared(fit: gr.Fit, name: str) -> tuple[gr.Fit, gr.calibration.Choice]:
        plain = gr.evaluate(fit, log, interval=length["interval"], distance=cut["distance"]).baseline
        chosen = gr.calibration.Choice(name=name, fit=fit, tried={}, baseline=plain, folds=0, by="", refused={})
        return fit, chosen

    if carried.start is not None:
        with console.progress(f"carrying on {carried.start.name}") as report:
            fit = carried.calibrated(carried.fit(), log, progress=report, **length, **learner)
        return nothing_compared(fit, "carried on")
    wanted = given.candidates(log)
    if split == 1.0:
        first = wanted[0]
        if first.learns:
            raise GrouserError("--model: a correction is chosen by what was held out; leave --split 1 out")
        with console.progress(f"calibrating, {first.name} model") as report:
            fit = carried.calibrated(first.motion, log, first.parameters, progress=report, **length, **learner)
        return nothing_compared(fit, first.name)
    with console.progress(f"calibrating, {', '.join(one.name for one in wanted)}") as report:
        done = dict[str, float]()

        def part(name: str, step: int, steps: int) -> None:
            done[name] = step / steps
            if report is not None:
                report(round(100 * sum(done.values()) / len(wanted)), 100)

        judged = {"split": split, "loss": options["loss"], **cut}
        elsewhere = options["elsewhere"] and options["elsewhere"](judged, report)
        choice = gr.calibration.choose(log, wanted, progress=part, attempts=elsewhere, **judged)
    if not options["online"]:
        return choice.fit, choice
    with console.progress(f"filtering, {choice.name} model") as report:
        parameters = list(choice.fit.parameters)
        fit = carried.calibrated(choice.fit.model, log, parameters, progress=report, **length, **learner)
    return fit, choice


def _held_out(choice: gr.calibration.Choice, split: float | None) -> dict[str, Any] | None:
    """Errors of the chosen model on parts of the logs that its fit had not seen, as JSON."""
    if not choice.tried:
        return None
    out = {**choice.tried[choice.name].errors.summary(), "baseline": choice.baseline.summary(consistency=False)}
    out |= {"parts": choice.folds, "part": choice.by, "note": _parts(choice, split)}
    return out if split is None else {**out, "trained_on": split}


def _parts(choice: gr.calibration.Choice, split: float | None) -> str:
    """How errors were held out, in words."""
    if split is not None:
        return f"fitted to the first {100 * split:g} % of the intervals, judged on the rest"
    what = {"log": "logs", "block": "blocks of time"}[choice.by]
    return f"each of {choice.folds} {what} is predicted by a fit to the others"


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


def _print(
    fit: gr.Fit, choice: gr.calibration.Choice, split: float | None, log: gr.Log, known: dict[str, float]
) -> None:
    t = fit.training
    each = f"intervals of {t.interval:g} s" if t.interval is not None else "whole runs"
    if t.distance is not None:
        each = f"intervals of {t.distance:g} m"
    how = "filtered online" if t.method == "online" else "least squares"
    what = "a fit carried on" if known else f"{choice.name} model"
    print_parameters(fit, f"{fit.model.vehicle.name}, {what}: {t.intervals} {each}, {how}", known)
    typer.echo("")
    # Priors of learned coefficients are as wide as the log supports, so the log hardly shrinks them.
    weak = [one for one in fit.undetermined if not all(name.startswith(LEARNED) for name in one.parts)]
    if weak:
        typer.echo("hardly determined, because the drive does not excite it; the values are mostly the prior:")
        for direction in weak:
            typer.echo(f"  {direction}")
    for sentence in fit.warnings:
        typer.echo(f"warning: {sentence}")
    word = "rejected as outliers" if t.method == "online" else "weigh less than half, as outliers"
    typer.echo(f"{t.rejected} of {t.intervals} intervals {word}")
    if t.overlapping:
        typer.echo("intervals overlap, so the uncertainties above are too small")
    for change in fit.changes:
        typer.echo(said_of_change(change))
    for line in log.report.lines()[1:]:
        typer.echo(line)
    if not choice.tried:
        typer.echo(f"errors on the log it was fitted to: {t.position_rms:.3f} m rms; no part was held out")
        if fit.history is not None and len(fit.history.residual):
            before = math.sqrt(float((fit.history.residual[:, :2] ** 2).sum(axis=1).mean()))
            typer.echo(f"errors of predictions before each update: {before:.3f} m rms")
        return
    judged = choice.tried[choice.name].errors
    typer.echo(f"held-out errors of {len(judged.error)} intervals; {_parts(choice, split)}:")
    plain = choice.baseline.summary(consistency=False)
    rows = [("plain odometry", f"{plain['position_rms']:.3f}", f"{plain['yaw_rms_deg']:.2f}", "", "", "")]
    for name, one in choice.tried.items():
        s = one.summary()
        kept = "kept" if name == choice.name and len(choice.tried) > 1 else ""
        cells = (
            f"{s['position_rms']:.3f}",
            f"{s['yaw_rms_deg']:.2f}",
            f"{s['nees']:.2f}",
            f"{s['log_likelihood']:.2f}",
        )
        rows.append((name, *cells, kept))
    columns = ("model", "position rms, m", "yaw rms, °", "NEES", "log-likelihood", "")
    console.print_table("", columns, rows, right=(1, 2, 3, 4))
    for name, why in choice.refused.items():
        typer.echo(f"  {name}: {why}")
    typer.echo("the fit itself is made from the whole log")


def print_parameters(fit: gr.Fit, title: str, known: Mapping[str, float] = NOTHING) -> None:
    """A table of the parameters found; `known` has sigmas of priors where they are those of an earlier fit."""
    from grouser.motion.parameter_table import meaning
    from grouser.motion.parameters import unit_of

    sigma = fit.sigma
    rows = [
        (p.name, f"{v:.5g}", f"± {sigma[p.name]:.2g}", f"{p.value:.4g} ± {known.get(p.name, p.sigma):.2g}",
         unit_of(fit.model, p.name),
         meaning(p.name))
        for p, v in zip(fit.parameters, fit.vector.tolist(), strict=True)
    ]  # fmt: skip
    typer.echo(title)
    columns = ("parameter", "value", "1σ", "prior", "unit", "meaning")
    shown = len(columns) if console.is_wide() else len(columns) - 1  # meanings would fold
    console.print_table("", columns[:shown], [row[:shown] for row in rows], right=(1,))
