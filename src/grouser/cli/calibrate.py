"""`grouser calibrate`: a driving log to a calibrated model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grouser.cli import console, follow, motions, values
from grouser.errors import GrouserError

if TYPE_CHECKING:
    from grouser.calibration.evaluate import Evaluation
    from grouser.logs import Log
    from grouser.motion.fit import Fit
    from grouser.motion.model import MotionModel
    from grouser.motion.parameters import Parameter

MODEL, FITTING, FOLLOWING = "Model", "Fitting", "Following"
"""Panels of `--help-all`; `--help` only names what is in them."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "calibrate",
        epilog="Example: grouser calibrate drive.csv --manifest log.toml --out fit.toml\n\n"
        "Example: grouser calibrate drive.csv --manifest log.toml --parameters slip,noise --online --plot fit.png\n\n"
        "Example: grouser calibrate growing.csv --manifest log.toml --follow --checkpoint state.toml --out fit.toml\n\n"
        "Example: grouser calibrate --list-parameters --manifest log.toml",
    )(calibrate)


def calibrate(
    logs: Annotated[
        list[Path] | None, typer.Argument(metavar="LOG...", help="Driving logs: .csv, or a ROS bag or .mcap.")
    ] = None,
    manifest: Annotated[
        Path | None, typer.Option(help="What columns mean (.toml); `grouser check LOG` drafts it.")
    ] = None,
    vehicle: Annotated[
        str | None, typer.Option(help="A shipped vehicle or a file; else the manifest's.", rich_help_panel=MODEL)
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help="best of several (default), kinematic, dynamic or another. "
            f"All are {', '.join(motions.MODELS)}; best keeps the one under which held-out parts are most probable.",
            show_default=False,
        ),
    ] = motions.MODELS[0],
    contact: Annotated[
        str | None, typer.Option(help="Dynamic: piecewise-linear (default) or pacejka.", rich_help_panel=MODEL)
    ] = None,
    terrain: Annotated[
        str | None,
        typer.Option(
            help="The ground, where attitude is not measured; dynamic: flat unless given.", rich_help_panel=MODEL
        ),
    ] = None,
    parameters: Annotated[
        str | None, typer.Option(help="Names or groups, with commas; else those of a first fit.")
    ] = None,
    interval: Annotated[float | None, typer.Option(help="How long predictions are, s; 2 unless given.")] = None,
    distance: Annotated[
        float | None,
        typer.Option(help="How long predictions are, m; instead of --interval.", rich_help_panel=FITTING),
    ] = None,
    stride: Annotated[
        float | None,
        typer.Option(
            help="Start of one to start of the next, s; less than --interval overlaps.", rich_help_panel=FITTING
        ),
    ] = None,
    online: Annotated[
        bool,
        typer.Option(
            "--online",
            help="One interval after another, as while driving; else all at once.",
            rich_help_panel=FITTING,
        ),
    ] = False,
    loss: Annotated[
        str,
        typer.Option(help="All at once: huber or cauchy weigh outliers less; none.", rich_help_panel=FITTING),
    ] = "huber",
    noise_form: Annotated[
        str, typer.Option(help="Process noise: diagonal, full or cholesky.", rich_help_panel=MODEL)
    ] = "diagonal",
    gate: Annotated[
        float,
        typer.Option(help="Online: squared Mahalanobis distance of an outlier.", rich_help_panel=FITTING),
    ] = 90.0,
    noise_gate: Annotated[float, typer.Option(help="The same for noise parameters.", rich_help_panel=FITTING)] = 1000.0,
    prior: Annotated[
        list[str] | None,
        typer.Option(help="name=value:sigma, where a parameter starts; may be repeated.", rich_help_panel=MODEL),
    ] = None,
    split: Annotated[
        float | None,
        typer.Option(help="Share of the log to train on for held-out errors; 1 skips them.", rich_help_panel=FITTING),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where the fit goes (.toml).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Parameters over time, into a .png, .svg or .pdf file.")] = None,
    list_parameters: Annotated[
        bool, typer.Option("--list-parameters", help="Print what can be calibrated, and stop.")
    ] = False,
    following: Annotated[
        bool, typer.Option("--follow", help="Calibrate while the log is being written; Ctrl-C ends it.")
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Where to go on from if stopped or killed (.toml).", rich_help_panel=FOLLOWING),
    ] = None,
    poll: Annotated[float, typer.Option(help="Seconds between looks at the file.", rich_help_panel=FOLLOWING)] = 0.5,
    idle_exit: Annotated[
        float | None,
        typer.Option(help="End when the file has not grown for so many seconds.", rich_help_panel=FOLLOWING),
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Find the parameters under which predictions of a log come true.

    It also says how sure they are.
    """
    if manifest is None and not (list_parameters and vehicle is not None):
        raise GrouserError("--manifest: is missing; it says what the columns are, and `grouser check LOG` drafts one")
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
    if interval is not None and distance is not None:
        raise GrouserError("--distance: predictions are of a time or of a distance; leave --interval or --distance out")
    length = values.positive(2.0 if interval is None else interval, "--interval")
    far = None if distance is None else values.positive(distance, "--distance")
    gap = None if stride is None else values.positive(stride, "--stride")
    for value, option in ((gate, "--gate"), (noise_gate, "--noise-gate")):
        if not value > 0.0:
            raise GrouserError(f"{option}: {value:g} is not a positive number; inf rejects nothing")
    for path in (out, plot, checkpoint):
        _refuse_missing_folder(path)
    if plot is not None:
        from grouser.view.style import picture_suffix

        picture_suffix(plot)
    if following:
        follow.run(
            logs, manifest, given.candidates()[0], interval=length, distance=far, stride=gap, gate=gate,
            noise_gate=noise_gate, checkpoint=checkpoint, out=out, poll=values.positive(poll, "--poll"),
            idle_exit=idle_exit, as_json=as_json, refused={"--plot": plot, "--split": split},
        )  # fmt: skip
        return
    for option, unused in (("--checkpoint", checkpoint), ("--idle-exit", idle_exit)):
        if unused is not None:
            raise GrouserError(f"{option}: is for --follow; add it, or leave {option} out")
    share = _share(split, len(logs))

    from grouser.calibration.evaluate import evaluate

    log = console.read_log(logs, manifest)
    options: dict[str, Any] = {
        "interval": length, "distance": far, "stride": gap, "online": online, "loss": loss,
        "gate": gate, "noise_gate": noise_gate,
    }  # fmt: skip
    held_out = None
    tried: dict[str, Evaluation] = {}
    wanted = given.candidates() if share < 1.0 else given.candidates()[:1]
    if share < 1.0:
        train, test = log.split(share)
        for one in wanted:
            motion = one.motion(log.vehicle, log.sensor)
            part = _fit(f"{one.model} model, training part", motion, train, one.chosen(motion), options)
            tried[one.model] = evaluate(part, test, interval=length, distance=far, same_drive=True)
        wanted.sort(key=lambda one: -tried[one.model].errors.log_likelihood)
        held_out = tried[wanted[0].model]
    motion = wanted[0].motion(log.vehicle, log.sensor)
    what = f"{wanted[0].model} model, {'whole log' if held_out is not None else 'log'}"
    fit = _fit(what, motion, log, wanted[0].chosen(motion), options)
    if out is not None:
        fit.save(out)
    if plot is not None:
        fit.plot(plot)
    if as_json:
        chosen = {"model": wanted[0].model, "tried": {name: _judged(one) for name, one in tried.items()}}
        console.print_json({**chosen, **_as_json(fit, held_out, share, log, out, plot)})
    else:
        _print(fit, wanted[0].model, tried, share, log, logs, manifest, out, plot)


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


def _refuse_missing_folder(path: Path | None) -> None:
    """Before an hour of work, not after it."""
    if path is not None and not path.parent.is_dir():
        raise GrouserError(f"{path}: its folder does not exist")


def _list(given: motions.Wanted, manifest: Path | None, as_json: bool) -> None:
    from grouser.logs.log import Sensor
    from grouser.logs.manifest import load_manifest
    from grouser.motion.parameter_table import meaning, unit_of
    from grouser.motion.parameters import available, default

    read = None if manifest is None else load_manifest(manifest)
    sensor = Sensor() if read is None else Sensor(**read.sensor.model_dump())
    motion = given.motion(None if read is None else read.vehicle, sensor)
    first = {p.name for p in given.chosen(motion)}
    found = [default(motion, name) for name in available(motion)]
    if as_json:
        rows = [
            {
                "name": p.name, "value": p.value, "sigma": p.sigma,
                "lower": _finite(p.lower), "upper": _finite(p.upper), "unit": unit_of(p.name),
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
                f"{p.upper:.3g}", unit_of(p.name), meaning(p.name),
            )
            for p in found
        ],
        right=(2, 3, 4, 5),
    )  # fmt: skip
    groups = [g for g in motions.GROUPS if any(p.name.startswith(g + ".") for p in found)]
    if not given.from_commands:
        typer.echo("--parameters powertrain,… predicts from commands, and adds powertrain.gain, .delay, .time_constant")
    typer.echo(f"* calibrated unless --parameters says otherwise; groups: {', '.join(groups)}; * stands for any text")


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def _as_json(
    fit: Fit, held_out: Evaluation | None, share: float, log: Log, out: Path | None, plot: Path | None
) -> dict[str, Any]:
    summary = fit.summary()
    for p in fit.parameters:
        summary["parameters"][p.name] |= {"prior": p.value, "prior_sigma": p.sigma}
    summary["training"] |= {"part": "the whole log", "segments": log.n_segments}
    if held_out is None:
        summary["held_out"] = None
    else:
        said = f"fit to the first {100 * share:g} % of the log by time, judged on the rest"
        summary["held_out"] = {**held_out.summary(), "trained_on": share, "note": said}
    return {**summary, "vehicle": fit.model.vehicle.name, "fit": _path(out), "plot": _path(plot)}


def _path(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _judged(one: Evaluation) -> dict[str, float]:
    """What decides between models, and the errors beside it."""
    found = one.errors.summary()
    names = ("position_rms", "yaw_rms_deg", "nees")
    return {"log_likelihood": one.errors.log_likelihood, **{name: found[name] for name in names}}


def _print(
    fit: Fit,
    model: str,
    tried: dict[str, Evaluation],
    share: float,
    log: Log,
    logs: list[Path],
    manifest: Path,
    out: Path | None,
    plot: Path | None,
) -> None:
    t = fit.training
    each = f"{t.interval:g} s" if t.interval is not None else f"{t.distance:g} m"
    how = "one after another" if t.method == "online" else "all at once"
    print_parameters(fit, f"{fit.model.vehicle.name}, {model} model: {t.intervals} intervals of {each}, {how}")
    typer.echo("")
    if fit.undetermined:
        typer.echo("hardly determined, because the drive does not excite it: what is given is mostly the prior")
        for direction in fit.undetermined:
            typer.echo(f"  {direction}")
    word = "rejected as outliers" if t.method == "online" else "count for less than half, as outliers"
    typer.echo(f"{t.rejected} of {t.intervals} intervals {word}")
    if t.overlapping:
        typer.echo("intervals overlap, so the uncertainties above are too small")
    for line in log.report.lines()[1:]:
        typer.echo(line)
    if tried:
        _print_held_out(tried, model, share)
        typer.echo("the fit itself is made from the whole log")
    else:
        typer.echo(f"errors on the log it was fitted to: {t.position_rms:.3f} m rms; none was held out")
    for file in (out, plot):
        if file is not None:
            typer.echo(f"wrote {file}")
    where = "fit.toml" if out is None else out
    if out is None:
        typer.echo(f"next: grouser calibrate {logs[0]} --manifest {manifest} --out {where}")
    else:
        typer.echo(f"next: grouser evaluate ANOTHER_LOG --manifest {manifest} --fit {where}")


def print_parameters(fit: Fit, title: str) -> None:
    """A table of what was found."""
    from grouser.motion.parameter_table import meaning, unit_of

    sigma = fit.sigma
    rows = [
        (
            p.name, f"{v:.5g}", f"± {sigma[p.name]:.2g}", f"{p.value:.4g} ± {p.sigma:.2g}", unit_of(p.name),
            meaning(p.name),
        )
        for p, v in zip(fit.parameters, fit.vector.tolist(), strict=True)
    ]  # fmt: skip
    typer.echo(title)
    columns = ("parameter", "value", "1σ", "prior", "unit", "meaning")
    shown = len(columns) if console.is_wide() else len(columns) - 1  # meanings would fold and push all else apart
    console.print_table("", columns[:shown], [row[:shown] for row in rows], right=(1,))


def _print_held_out(tried: dict[str, Evaluation], model: str, share: float) -> None:
    held_out = tried[model]
    part = f"fitted to the first {100 * share:g} % of the log, judged on the rest"
    typer.echo(f"held-out errors of {held_out.errors.summary()['n']} intervals, {part}:")
    rows = [("plain odometry", held_out.baseline.summary(consistency=False))]
    rows += [(name, one.errors.summary()) for name, one in tried.items()]
    for name, one in rows:
        chosen = " (kept: most probable)" if name == model and len(tried) > 1 else ""
        typer.echo(f"  {name:<15} {one['position_rms']:.3f} m, {one['yaw_rms_deg']:.2f}° rms{chosen}")
