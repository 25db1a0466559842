"""`grouser evaluate`: how good a calibrated model predicts a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from grouser.cli import console, values
from grouser.errors import GrouserError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "evaluate",
        epilog="Example: grouser evaluate another.csv --manifest log.toml --fit fit.toml\n\n"
        "Example: grouser evaluate another.csv --manifest log.toml --fit fit.toml --json\n\n"
        "Example: grouser evaluate another.csv --manifest log.toml --fit fit.toml --distance 5 --plot errors.png",
    )(evaluate)


def evaluate(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="A driving log; several files are one log.")],
    manifest: Annotated[Path, typer.Option(help="What the columns are (.toml).")],
    fit: Annotated[Path, typer.Option(help="What `grouser calibrate` wrote (.toml).")],
    interval: Annotated[float | None, typer.Option(help="How long predictions are, s; 2 unless given.")] = None,
    distance: Annotated[float | None, typer.Option(help="How long predictions are, m; instead of --interval.")] = None,
    own_lag: Annotated[
        bool,
        typer.Option("--own-lag", help="Also with the sensor's lag of this log. Each half's is from the other half."),
    ] = False,
    terrain: Annotated[str | None, typer.Option(help="Ground the model was calibrated on, if other than flat.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Errors with ellipses, into a .png, .svg or .pdf file.")] = None,
    as_json: console.Json = False,
) -> None:
    """Predict every moving interval of a log and compare its end.

    Plain odometry stands beside. Neither position nor yaw is used inside an interval, and none is left out.
    """
    if interval is not None and distance is not None:
        raise GrouserError("--distance: predictions are of a time or of a distance; leave --interval or --distance out")
    length = values.positive(2.0 if interval is None else interval, "--interval")
    far = None if distance is None else values.positive(distance, "--distance")
    if plot is not None:
        from grouser.view.style import picture_suffix

        picture_suffix(plot)

    import grouser as gr
    from grouser.calibration.evaluate import evaluate as judge
    from grouser.motion.fit import Fit

    found = Fit.load(fit, ground=None if terrain is None else gr.terrain.parse(terrain))
    log = console.read_log(logs, manifest)
    judged = judge(found, log, interval=length, distance=far, own_lag=own_lag)
    summary = judged.summary()
    if plot is not None:
        from grouser.view.calibration import plot_evaluation

        each = f"{length:g} s" if far is None else f"{far:g} m"
        plot_evaluation(judged, plot, title=f"{log.name}: errors after {each}, {fit.name}")
    if as_json:
        console.print_json({**summary, "log": log.name, "fit": str(fit), "plot": None if plot is None else str(plot)})
        return
    _print(summary, log.name, f"{length:g} s" if far is None else f"{far:g} m")
    if plot is not None:
        typer.echo(f"wrote {plot}")


def _print(summary: dict[str, Any], log: str, each: str) -> None:
    sets = [("plain odometry", summary["baseline"]), ("calibrated", summary)]
    if "own_lag" in summary:
        sets.append(("with this log's lag", summary["own_lag"]))
    rows = [
        (
            name, f"{one['position_rms']:.3f} m", f"{one['position_median']:.3f} m", f"{one['yaw_rms_deg']:.2f}°",
            f"{one['yaw_median_deg']:.2f}°",
        )
        for name, one in sets
    ]  # fmt: skip
    typer.echo(f"{log}: errors of {summary['n']} predictions of {each}")
    console.print_table("", ("", "position rms", "median", "yaw rms", "median"), rows, right=(1, 2, 3, 4))
    typer.echo("")
    ratio = summary["baseline"]["position_rms"] / max(summary["position_rms"], 1e-12)
    better = f"{ratio:.1f} times smaller than" if ratio >= 1.0 else f"{1.0 / ratio:.1f} times larger than"
    typer.echo(f"position errors are {better} plain odometry's")
    typer.echo(f"95 % ellipses hold {100.0 * summary['inside_95']:.0f} % of the errors")
    typer.echo(_consistency(summary["nees"], summary["nees_band"]))
    if "own_lag" in summary:
        first, second = summary["own_lag"]["lag"]
        typer.echo(f"the pose sensor is {first:.3f} s late in the first half of the log, {second:.3f} s in the second")
    if summary["trained_on_this_log"]:
        typer.echo("the fit was made from this very log, so these errors are not held out; try another log")


def _consistency(nees: float, band: list[float]) -> str:
    """What the mean NEES of x, y and yaw says: 1 is consistent, 95 % of such means lie in the band."""
    said = f"NEES {nees:.2f}, {band[0]:.2f} to {band[1]:.2f} if consistent: "
    if nees > band[1]:
        return said + "errors are larger than the model's covariance says"
    if nees < band[0]:
        return said + "errors are smaller than the model's covariance says"
    return said + "errors are consistent with the model's covariance"
