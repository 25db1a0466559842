"""`grouser calibrate`: a driving log to a calibrated model; with --share several logs, a ground each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, values
from grouser.cli.values import one_of, option, positive, requires
from grouser.cli.wanted import MODELS, Carried, Wanted
from grouser.errors import GrouserError

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
CONTACTS, FORMS = one_of("piecewise-linear", "pacejka"), one_of("diagonal", "full", "cholesky")
LOSSES, STARTS = one_of("mixture", "huber", "cauchy", "none"), one_of("poses", "wheels")
GATE = requires(lambda value: value > 0.0, "{:g} is not a positive number; inf rejects nothing")
NOTHING: Mapping[str, float] = MappingProxyType({})
GROUPS = ("slip", "sensor", "noise", "model", "contact", "actuator", "powertrain")
modelling, fitting, learning, followed = (
    partial(option, panel=name) for name in ("Model", "Fitting", "Online", "Following")
)


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
            f"All are {', '.join(MODELS)}; best keeps the one with the highest held-out likelihood.",
            check=one_of(*MODELS),
        ),
    ] = MODELS[0],
    start_velocity: Annotated[
        str, modelling("Dynamic: start velocity by poses (with gyro and wheels) or wheels.", check=STARTS)
    ] = "poses",
    contact: Annotated[str | None, modelling("Dynamic: piecewise-linear (default) or pacejka.", check=CONTACTS)] = None,
    terrain: Annotated[str | None, modelling("The ground, if attitude is not measured; dynamic: default flat.")] = None,
    parameters: Annotated[str | None, option("Names or groups, with commas; default: a first fit's.")] = None,
    interval: values.Interval = None,
    distance: Annotated[
        float | None, fitting("Length of predictions, m; instead of --interval.", check=positive)
    ] = None,
    stride: Annotated[
        float | None, fitting("From start to start, s; less than --interval overlaps.", check=positive)
    ] = None,
    online: Annotated[bool, fitting("Filter interval by interval; default: least squares on all.", "--online")] = False,
    loss: Annotated[
        str, fitting("Outliers: mixture gives them no weight, huber or cauchy less; none.", check=LOSSES)
    ] = "mixture",
    noise_form: Annotated[str, modelling("Process noise: diagonal, full or cholesky.", check=FORMS)] = "diagonal",
    gate: Annotated[float, fitting("Online: squared Mahalanobis distance of an outlier.", check=GATE)] = 1e4,
    prior: Annotated[list[str] | None, fitting("name=value:sigma, prior of a parameter; may be repeated.")] = None,
    start: Annotated[
        Path | None, learning("A fit to carry on: its values and covariance are the prior.", "--from")
    ] = None,
    memory: Annotated[Path | None, learning("Grounds to recall and to add to (.toml); made if missing.")] = None,
    steady: Annotated[bool, learning("One ground throughout: slip neither wanders nor changes.", "--steady")] = False,
    split: Annotated[float | None, fitting("Judge on what follows this share of the log; 1: hold nothing out.")] = None,
    shared: Annotated[bool, values.together("Fit one vehicle and a ground to each log.", "--share")] = False,
    label: Annotated[str | None, values.together("With --share: a label that names the ground.")] = None,
    jobs: values.Jobs = 1,
    scheduler: values.Scheduler = None,
    out: Annotated[Path | None, values.toml_file("File for the fit (.toml).")] = None,
    plot: Annotated[Path | None, values.picture("Parameters over time, into a .png, .svg or .pdf file.")] = None,
    list_parameters: Annotated[
        bool, option("Print the parameters that can be calibrated, and stop.", "--list-parameters")
    ] = False,
    following: Annotated[bool, option("Calibrate while the log is being written; Ctrl-C ends it.", "--follow")] = False,
    checkpoint: Annotated[Path | None, followed("State to continue from after a stop (.toml).")] = None,
    poll: Annotated[float, followed("Seconds between looks at the file.", check=positive)] = 0.5,
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
    if not (online or following):
        given_online = {"--memory": memory, "--steady": steady or None}
        values.refuse(given_online, "is for --online and --follow; add one of them, or leave this out")
    if start is not None:
        asked: dict[str, Any] = {
            "--model": None if model == "best" else model, "--parameters": parameters, "--prior": prior or None,
            "--share": shared or None, "--vehicle": vehicle,
            "--noise-form": None if noise_form == "diagonal" else noise_form,
        }  # fmt: skip
        values.refuse(asked, "belongs to the fit of --from; leave it out")
        why = "is not for --from, which judges each interval before it is used; leave it out"
        values.refuse({"--split": split}, why)
    for path in (out, plot, checkpoint, memory):
        if path is not None and not path.parent.is_dir():
            raise GrouserError(f"{path}: its folder does not exist")
    elsewhere = None
    if jobs > 1 or scheduler is not None:
        if following or shared or start is not None or split == 1.0 or model != "best":
            name = "--scheduler" if jobs == 1 else "--jobs"
            raise GrouserError(f"{name}: processes share the models of --model best, each one; leave this out")
        from grouser.cli import many_logs

        elsewhere = partial(many_logs.attempts_on, logs, manifest, given, jobs=jobs, scheduler=scheduler)
    cut: dict[str, Any] = {"interval": length, "distance": far, "gate": gate, "stride": stride}
    carried = Carried(start, memory, steady, terrain)
    if following:
        if interval == "whole":
            raise GrouserError("--interval: whole runs are known only once they ended; --follow needs seconds")
        if model == "corrected":
            raise GrouserError("--model: a correction is learned from a whole log; --follow cannot begin with it")
        from grouser.cli.follow import follow

        values.refuse({"--plot": plot, "--split": split}, "is not for --follow; leave it out")
        follow(
            logs, manifest, given, cut, carried=carried, checkpoint=checkpoint, out=out, poll=poll, idle_exit=idle_exit,
            as_json=as_json,
        )  # fmt: skip
        return
    if shared:
        wrong = {"--plot": plot, "--split": split, "--online": online or None}
        values.refuse(wrong, "is not for --share; leave it out")
        del cut["gate"]  # of a filter
        _share(logs, manifest, given, {**cut, "loss": loss, "label": label}, out=out, as_json=as_json)
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
    more = {"online": online, "loss": loss, "whole": interval == "whole", "elsewhere": elsewhere}
    fit, choice = _best(given, log, split, {**cut, **more}, carried)
    if out is not None:
        fit.save(out)
    if plot is not None:
        fit.plot(plot)
    known = carried.sigma
    summary = _with_priors(fit, fit.summary(), known)
    summary["training"] |= {"part": "the whole log", "segments": log.n_segments}
    result = {
        "model": choice.name, "tried": {name: one.summary() for name, one in choice.tried.items()},
        "not_tried": choice.refused, **summary, "held_out": _held_out(choice, split), "vehicle": fit.model.vehicle.name,
        "fit": out, "plot": plot, "memory": memory,
    }  # fmt: skip
    console.emit(result, as_json, lambda _: _print(fit, choice, split, log, known), (out, plot, memory))
    if not as_json:
        again = f"calibrate {logs[0]} --manifest {manifest} --out fit.toml"
        typer.echo(f"next: grouser {again if out is None else _then(manifest, out)}")


def _then(manifest: Path, fit: Path) -> str:
    """The command that follows a calibration."""
    return f"evaluate ANOTHER_LOG --manifest {manifest} --fit {fit}"


def _with_priors(fit: gr.Fit, summary: dict[str, Any], known: Mapping[str, float] = NOTHING) -> dict[str, Any]:
    """A summary for JSON, with the prior of each parameter; `known`: as in `print_parameters`."""
    for p in fit.parameters:
        summary["parameters"][p.name] |= {"prior": p.value, "prior_sigma": known.get(p.name, p.sigma)}
    return summary


def _best(
    given: Wanted, log: gr.Log, split: float | None, options: dict[str, Any], carried: Carried
) -> tuple[gr.Fit, gr.calibration.Choice]:
    """The fit to all logs of the model with the highest held-out likelihood, and the choice; none with a split of 1."""
    cut = {name: options[name] for name in ("interval", "distance", "stride")}
    learner = {name: options[name] for name in ("gate", "loss", "online")}
    length = {**cut, "interval": 2.0 if cut["interval"] is None and not options["whole"] else cut["interval"]}
    choice, parameters = None, None
    model: Any
    if carried.start is not None:
        model, name, what = carried.fit(), "carried on", f"carrying on {carried.start.name}"
    elif split == 1.0:
        first = given.candidates(log)[0]
        if first.learns:
            raise GrouserError("--model: a correction is chosen by what was held out; leave --split 1 out")
        model, parameters, name = first.motion, first.parameters, first.name
        what = f"calibrating, {name} model"
    else:
        choice = _chosen(given.candidates(log), log, {"split": split, "loss": options["loss"], **cut}, options)
        if not options["online"]:
            return choice.fit, choice
        model, parameters, name = choice.fit.model, list(choice.fit.parameters), choice.name
        what = f"filtering, {name} model"
    with console.progress(what) as report:
        fit = carried.calibrated(model, log, parameters, progress=report, **length, **learner)
    if choice is None:
        plain = gr.evaluate(fit, log, interval=length["interval"], distance=cut["distance"]).baseline
        choice = gr.calibration.Choice(name=name, fit=fit, tried={}, baseline=plain, folds=0, by="", refused={})
    return fit, choice


def _chosen(
    wanted: list[gr.calibration.Candidate], log: gr.Log, judged: dict[str, Any], options: dict[str, Any]
) -> gr.calibration.Choice:
    """The candidate that predicts held-out parts of the log best."""
    with console.progress(f"calibrating, {', '.join(one.name for one in wanted)}") as report:
        done = dict[str, float]()

        def part(name: str, step: int, steps: int) -> None:
            done[name] = step / steps
            report(round(100 * sum(done.values()) / len(wanted)), 100)

        elsewhere = options["elsewhere"] and options["elsewhere"](judged, progress=report)
        return gr.calibration.choose(log, wanted, progress=part, attempts=elsewhere, **judged)


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
        typer.echo(console.change_of_ground(change))
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
    sets = {"plain odometry": choice.baseline.summary(consistency=False)}
    sets |= {name: one.summary() for name, one in choice.tried.items()}
    formats = {"position_rms": ".3f", "yaw_rms_deg": ".2f", "nees": ".2f", "log_likelihood": ".2f"}
    kept = choice.name if len(choice.tried) > 1 else ""
    rows = [
        (name, *(format(s[key], form) if key in s else "" for key, form in formats.items()), "kept" * (name == kept))
        for name, s in sets.items()
    ]
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


def _share(
    logs: Sequence[Path], manifest: Path, given: Wanted, options: dict[str, Any], *, out: Path | None, as_json: bool
) -> None:
    """Fit every candidate to all logs together; keep that which predicts logs left out best."""
    if given.model == "corrected":
        raise GrouserError("--model: a correction is learned from one ground; --share fits any other model")
    read = [console.read_log([path], manifest) for path in logs]
    tried = {}
    for one in given.candidates(read[0]):
        if one.learns:
            continue
        with console.progress(f"calibrating {len(read)} logs together, {one.name} model") as report:
            tried[one.name] = gr.calibration.calibrate_together(
                one.motion, read, one.parameters, progress=report, **options
            )
    if not tried:
        raise GrouserError(f"--model: {given.model} cannot be fitted to several logs together; use perturbative")
    model = max(tried, key=lambda name: tried[name].log_likelihood)
    found = tried[model]
    if out is not None:
        found.fit.save(out)
    likelihoods = {name: one.log_likelihood for name, one in tried.items()}
    result = {
        "model": model, "tried": {name: {"log_likelihood": value} for name, value in likelihoods.items()},
        **_with_priors(found.fit, found.summary()), "vehicle": found.fit.model.vehicle.name, "fit": out, "plot": None,
    }  # fmt: skip
    console.emit(result, as_json, lambda _: _print_shared(found, model, likelihoods), (out,))
    if not as_json:
        typer.echo(f"next: {'add --out fit.toml to keep it' if out is None else f'grouser {_then(manifest, out)}'}")


def _print_shared(found: gr.calibration.SharedFit, model: str, likelihoods: dict[str, float]) -> None:
    fit = found.fit
    title = f"{fit.model.vehicle.name}, {model} model: {len(found.grounds)} grounds, {fit.training.intervals} intervals"
    print_parameters(fit, f"{title}; of the grounds the mean")
    typer.echo("")
    columns = ("of each ground", *(f"{k + 1}" for k in range(len(found.grounds))), "spread, 1σ")
    rows = [
        (name, *(f"{g.values[name]:.3f} ± {g.sigma[name]:.3f}" for g in found.grounds), f"{found.spread[name]:.3f}")
        for name in found.own
    ]
    console.print_table("", columns, rows, right=range(1, len(columns)))
    typer.echo("\nerrors on each ground, predicted from the other grounds with the spread between them:")
    for k, (g, errors) in enumerate(zip(found.grounds, found.left_out, strict=True)):
        one = errors.summary()
        each = f"{g.intervals} intervals, {one['position_rms']:.3f} m, {one['yaw_rms_deg']:.2f}° rms"
        own = f"with its own values {g.position_rms:.3f} m, {math.degrees(g.yaw_rms):.2f}°"
        typer.echo(f"  {k + 1}  {g.name}: {each}, 95 % ellipses hold {100 * one['inside_95']:.0f} %; {own}")
    if len(likelihoods) > 1:
        others = ", ".join(f"{name} {value:.3f}" for name, value in likelihoods.items())
        typer.echo(f"kept: highest likelihood of grounds left out ({others})")
    if not found.converged:
        typer.echo("the fit has not converged; leave out parameters that the logs do not determine")
