"""`grouser calibrate`: a driving log to a calibrated model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grouser.cli import console, motions, values
from grouser.cli.values import option
from grouser.errors import GrouserError
from grouser.pictures import picture_suffix

if TYPE_CHECKING:
    from grouser.calibration.evaluate import Evaluation
    from grouser.logs import Log
    from grouser.motion.fit import Fit
    from grouser.motion.model import MotionModel
    from grouser.motion.parameters import Parameter

EXAMPLES = (
    "drive.csv --manifest log.toml --out fit.toml",
    "drive.csv --manifest log.toml --parameters slip,noise --online --plot fit.png",
    "growing.csv --manifest log.toml --follow --checkpoint state.toml --out fit.toml",
    "--list-parameters --manifest log.toml",
)
MODEL, FITTING, FOLLOWING = "Model", "Fitting", "Following"
"""Panels of `--help-all`; `--help` only names what is in them."""


def calibrate(
    logs: Annotated[
        list[Path] | None, typer.Argument(metavar="LOG...", help="Driving logs: .csv, or a ROS bag or .mcap.")
    ] = None,
    manifest: Annotated[Path | None, option("Meaning of columns (.toml); `grouser check LOG` drafts it.")] = None,
    vehicle: Annotated[str | None, option("A shipped vehicle or a file; default: the manifest's.", panel=MODEL)] = None,
    model: Annotated[
        str,
        option(
            "best of several (default), kinematic, dynamic or another. "
            f"All are {', '.join(motions.MODELS)}; best keeps the one with the highest held-out likelihood.",
            show_default=False,
        ),
    ] = motions.MODELS[0],
    contact: Annotated[str | None, option("Dynamic: piecewise-linear (default) or pacejka.", panel=MODEL)] = None,
    terrain: Annotated[
        str | None, option("The ground, if attitude is not measured; dynamic: default flat.", panel=MODEL)
    ] = None,
    parameters: Annotated[str | None, option("Names or groups, with commas; default: a first fit's.")] = None,
    interval: values.Interval = None,
    distance: Annotated[float | None, option("Length of predictions, m; instead of --interval.", panel=FITTING)] = None,
    stride: Annotated[
        float | None, option("From start to start, s; less than --interval overlaps.", panel=FITTING)
    ] = None,
    online: Annotated[
        bool, option("Filter interval by interval; default: least squares on all.", "--online", panel=FITTING)
    ] = False,
    loss: Annotated[str, option("Least squares: huber or cauchy weigh outliers less; none.", panel=FITTING)] = "huber",
    noise_form: Annotated[str, option("Process noise: diagonal, full or cholesky.", panel=MODEL)] = "diagonal",
    gate: Annotated[float, option("Online: squared Mahalanobis distance of an outlier.", panel=FITTING)] = 90.0,
    noise_gate: Annotated[float, option("The same for noise parameters.", panel=FITTING)] = 1000.0,
    prior: Annotated[
        list[str] | None, option("name=value:sigma, prior of a parameter; may be repeated.", panel=MODEL)
    ] = None,
    split: Annotated[
        float | None, option("Share of the log to train on for held-out errors; 1 skips them.", panel=FITTING)
    ] = None,
    out: Annotated[Path | None, option("File for the fit (.toml).")] = None,
    plot: Annotated[Path | None, option("Parameters over time, into a .png, .svg or .pdf file.")] = None,
    list_parameters: Annotated[
        bool, option("Print the parameters that can be calibrated, and stop.", "--list-parameters")
    ] = False,
    following: Annotated[bool, option("Calibrate while the log is being written; Ctrl-C ends it.", "--follow")] = False,
    checkpoint: Annotated[Path | None, option("State to continue from after a stop (.toml).", panel=FOLLOWING)] = None,
    poll: Annotated[float, option("Seconds between looks at the file.", panel=FOLLOWING)] = 0.5,
    idle_exit: Annotated[
        float | None, option("End when the file has not grown for this time, s.", panel=FOLLOWING)
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Fit the parameters of a motion model to a driving log.

    It prints them with their standard deviations, and the errors of predictions.
    """
    if manifest is None and not (list_parameters and vehicle is not None):
        raise GrouserError("--manifest: is missing; it names the columns, and `grouser check LOG` drafts one")
    given = motions.Wanted(
        vehicle=vehicle, model=model, contact=contact, terrain=terrain, noise_form=noise_form, parameters=parameters,
        priors=tuple(prior or ()),
    )  # fmt: skip
    given.check()
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

        follow(
            logs, manifest, given, cut, checkpoint=checkpoint, out=out, poll=values.positive(poll, "--poll"),
            idle_exit=idle_exit, as_json=as_json, refused={"--plot": plot, "--split": split},
        )  # fmt: skip
        return
    for name, unused in (("--checkpoint", checkpoint), ("--idle-exit", idle_exit)):
        if unused is not None:
            raise GrouserError(f"{name}: is for --follow; add it, or leave {name} out")
    share = _share(split, len(logs))
    log = console.read_log(logs, manifest)
    fit, chosen, tried = _best(given, log, share, {**cut, "online": online, "loss": loss})
    if out is not None:
        fit.save(out)
    if plot is not None:
        fit.plot(plot)
    if as_json:
        judged = {"model": chosen, "tried": {name: _judged(one) for name, one in tried.items()}}
        console.print_json({**judged, **_as_json(fit, tried.get(chosen), share, log, out, plot)})
    else:
        _print(fit, chosen, tried, share, log)
        for file in (out, plot):
            if file is not None:
                typer.echo(f"wrote {file}")
        again = f"calibrate {logs[0]} --manifest {manifest} --out fit.toml"
        then = f"evaluate ANOTHER_LOG --manifest {manifest} --fit {out}"
        typer.echo(f"next: grouser {again if out is None else then}")


def _best(
    given: motions.Wanted, log: Log, share: float, options: dict[str, Any]
) -> tuple[Fit, str, dict[str, Evaluation]]:
    """The fit to the whole log of the model with the highest held-out likelihood, its name, and all evaluations.

    Models are compared on the last part of the log, fitted to the first `share` of it; with a share of 1 none is.
    """
    wanted, tried = given.candidates(), dict[str, Any]()
    if share < 1.0:
        from grouser.calibration.evaluate import evaluate

        train, test = log.split(share)
        for one in wanted:
            motion = one.motion(log.vehicle, log.sensor)
            part = _fit(f"{one.model} model, training part", motion, train, one.chosen(motion), options)
            tried[one.model] = evaluate(
                part, test, interval=options["interval"], distance=options["distance"], same_drive=True
            )
        wanted.sort(key=lambda one: -tried[one.model].errors.log_likelihood)
    best = wanted[0]
    motion = best.motion(log.vehicle, log.sensor)
    what = f"{best.model} model, {'whole log' if tried else 'log'}"
    return _fit(what, motion, log, best.chosen(motion), options), best.model, tried


def _fit(what: str, motion: MotionModel, log: Log, chosen: list[Parameter], options: dict[str, Any]) -> Fit:
    from grouser.calibration.calibrate import calibrate as fit_to

    with console.progress(f"calibrating, {what}") as report:
        return fit_to(motion, log, chosen, progress=report, **options)


def _share(split: float | None, logs: int) -> float:
    """The share to train on: 70 % of one log; of several, all."""
    if split is None:
        return 0.7 if logs == 1 else 1.0
    if not 0.0 < split <= 1.0:
        raise GrouserError(f"--split: {split:g} is not above 0 and at most 1")
    return split


def _list(given: motions.Wanted, manifest: Path | None, as_json: bool) -> None:
    from grouser.logs.log import Sensor
    from grouser.logs.manifest import load_manifest
    from grouser.motion.parameter_table import meaning
    from grouser.motion.parameters import available, default, unit_of

    read = None if manifest is None else load_manifest(manifest)
    sensor = Sensor() if read is None else Sensor(**read.sensor.model_dump())
    motion = given.motion(None if read is None else read.vehicle, sensor)
    first = {p.name for p in given.chosen(motion)}
    found = [default(motion, name) for name in available(motion)]
    if as_json:
        rows = [
            {
                "name": p.name, "value": p.value, "sigma": p.sigma,
                "lower": _finite(p.lower), "upper": _finite(p.upper), "unit": unit_of(motion, p.name),
                "meaning": meaning(p.name), "default": p.name in first,
            }
            for p in found
        ]  # fmt: skip
        console.print_json({"vehicle": motion.vehicle.name, "model": given.model, "parameters": rows})
        return
    console.print_table(
        f"{given.model} model of {motion.vehicle.name}",
        ("", "name", "value", "prior ±", "from", "to", "unit", "meaning"),
        [
            (
                "*" if p.name in first else "", p.name, f"{p.value:.4g}", f"{p.sigma:.3g}", f"{p.lower:.3g}",
                f"{p.upper:.3g}", unit_of(motion, p.name), meaning(p.name),
            )
            for p in found
        ],
        right=(2, 3, 4, 5),
    )  # fmt: skip
    groups = [g for g in motions.GROUPS if any(p.name.startswith(g + ".") for p in found)]
    if not given.from_commands:
        typer.echo("--parameters powertrain,… predicts from commands, and adds powertrain.gain, .delay, .time_constant")
    typer.echo(f"* calibrated by default; groups: {', '.join(groups)}; * stands for any text")


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def _as_json(
    fit: Fit, held_out: Evaluation | None, share: float, log: Log, out: Path | None, plot: Path | None
) -> dict[str, Any]:
    summary = fit.summary()
    for p in fit.parameters:
        summary["parameters"][p.name] |= {"prior": p.value, "prior_sigma": p.sigma}
    summary["training"] |= {"part": "the whole log", "segments": log.n_segments}
    note = f"fit to the first {100 * share:g} % of the log by time, judged on the rest"
    judged = None if held_out is None else {**held_out.summary(), "trained_on": share, "note": note}
    files = {"fit": console.path_of(out), "plot": console.path_of(plot)}
    return {**summary, "held_out": judged, "vehicle": fit.model.vehicle.name, **files}


def _judged(one: Evaluation) -> dict[str, float]:
    """The likelihood, which decides between models, and the errors."""
    found = one.errors.summary()
    names = ("position_rms", "yaw_rms_deg", "nees")
    return {"log_likelihood": one.errors.log_likelihood, **{name: found[name] for name in names}}


def _print(fit: Fit, model: str, tried: dict[str, Evaluation], share: float, log: Log) -> None:
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
    if tried:
        _print_held_out(tried, model, share)
        typer.echo("the fit itself is made from the whole log")
    else:
        typer.echo(f"errors on the log it was fitted to: {t.position_rms:.3f} m rms; no part was held out")


def print_parameters(fit: Fit, title: str) -> None:
    """A table of the parameters found."""
    from grouser.motion.parameter_table import meaning
    from grouser.motion.parameters import unit_of

    sigma = fit.sigma
    rows = [
        (
            p.name, f"{v:.5g}", f"± {sigma[p.name]:.2g}", f"{p.value:.4g} ± {p.sigma:.2g}",
            unit_of(fit.model, p.name), meaning(p.name),
        )
        for p, v in zip(fit.parameters, fit.vector.tolist(), strict=True)
    ]  # fmt: skip
    typer.echo(title)
    columns = ("parameter", "value", "1σ", "prior", "unit", "meaning")
    shown = len(columns) if console.is_wide() else len(columns) - 1  # meanings would fold
    console.print_table("", columns[:shown], [row[:shown] for row in rows], right=(1,))


def _print_held_out(tried: dict[str, Evaluation], model: str, share: float) -> None:
    held_out = tried[model]
    part = f"fitted to the first {100 * share:g} % of the log, judged on the rest"
    typer.echo(f"held-out errors of {held_out.errors.summary()['n']} intervals, {part}:")
    rows = [("plain odometry", held_out.baseline.summary(consistency=False))]
    rows += [(name, one.errors.summary()) for name, one in tried.items()]
    for name, one in rows:
        chosen = " (kept: highest likelihood)" if name == model and len(tried) > 1 else ""
        typer.echo(f"  {name:<15} {one['position_rms']:.3f} m, {one['yaw_rms_deg']:.2f}° rms{chosen}")
