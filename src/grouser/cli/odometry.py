"""`grouser odometry`: where a log's wheels say the vehicle went, judged by the log's poses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grouser.cli import console, values
from grouser.errors import GrouserError

if TYPE_CHECKING:
    from grouser.logs import Log
    from grouser.motion.fit import Fit
    from grouser.odometry.estimate import Estimate
    from grouser.odometry.log import LogOdometry

OUTPUTS = (".tum", ".csv")
SEEN = 1000
"""Progress of writing is told every so many estimates."""
ERRORS = ("end_error", "end_error_percent", "yaw_error_deg", "yaw_error_percent", "height_rms")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "odometry",
        epilog="Example: grouser odometry drive.csv --manifest log.toml --fit fit.toml --gyro\n\n"
        "Example: grouser odometry drive.csv --manifest log.toml --plot drive.png\n\n"
        "Example: grouser odometry drive.csv --manifest log.toml --fit fit.toml --plot drive.png --out drive.tum",
    )(odometry)


def odometry(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="A driving log; several files are one log.")],
    manifest: Annotated[Path, typer.Option(help="What the columns are (.toml).")],
    fit: Annotated[
        Path | None, typer.Option(help="What `grouser calibrate` wrote; without it, plain odometry. A .toml file.")
    ] = None,
    gyro: Annotated[
        bool, typer.Option("--gyro", help="Turn rates of the gyro; bias and lag are found from the log.")
    ] = False,
    same_ground: Annotated[
        bool, typer.Option("--same-ground", help="Slip is that of the fit's ground, not of a similar one.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Poses into .tum, or everything with covariances into .csv.")] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Path, height and yaw error into .png, .svg or .pdf. The path is drawn with ellipses."),
    ] = None,
    view: Annotated[
        Path | None,
        typer.Option(help="The drive in 3D into .html, with a moving ellipse. Plain odometry and the poses beside."),
    ] = None,
    as_json: console.Json = False,
) -> None:
    """Follow a log by its wheels and attitude; its poses only judge.

    A gyro may help. Plain odometry stands beside.
    """
    if plot is not None:
        from grouser.view.style import picture_suffix

        picture_suffix(plot)
    if view is not None:
        from grouser.view.page import check_page

        check_page(view)
    if out is not None and out.suffix.lower() not in OUTPUTS:
        raise GrouserError(f"{out}: odometry is written into a file that ends in {' or '.join(OUTPUTS)}")

    from grouser.motion.fit import Fit
    from grouser.odometry.compare import compare

    found = None if fit is None else Fit.load(fit)
    log = console.read_log(logs, manifest)
    with console.progress("odometry, %") as report:
        both = compare(log, found, gyro=gyro, same_ground=same_ground, progress=report)
    run, judged, baseline = both.run, both.judged, both.baseline
    if found is not None:
        _same_vehicle(found, log)
    # What a log without poses cannot say is null.
    result: dict[str, Any] = dict.fromkeys(("distance", "turning_deg", *ERRORS, "nees", "baseline"))
    not_judged = None if len(log.poses) > 1 else f"has {len(log.poses) or 'no'} poses, and two are needed to judge by"
    if judged is not None and baseline is not None:
        plain = baseline.summary()
        result = {**judged.summary(), "baseline": {key: plain[key] for key in ERRORS}}
    elif plot is not None:
        raise GrouserError(f"{log.name}: {not_judged}, so nothing can be drawn against them; leave --plot out")
    _write(run, out)
    if plot is not None and judged is not None:
        from grouser.view.odometry import plot_odometry

        values.make_folder(plot.parent)
        plot_odometry(run, judged, plot, title=f"{log.name}: {_name(found, gyro)}")
    if view is not None:
        from grouser.view.drive_page import view_odometry

        values.make_folder(view.parent)
        view_odometry(log, both, view, name=_name(found, gyro))
    result |= {
        "log": log.name,
        "vehicle": both.motion.vehicle.name,
        "not_judged": not_judged,
        "fit": None if fit is None else str(fit),
        "gyro": None if run.gyro is None else {
            "lag": run.gyro.lag, "bias": run.gyro.bias.tolist(), "rest": run.gyro.rest, "noise": run.gyro.noise
        },
        "drives": int(run.drive[-1]) + 1,
        "samples": len(log),
        "faults": run.faults,
        "trained_on_this_log": both.trained,
        "out": None if out is None else str(out),
        "plot": None if plot is None else str(plot),
        "view": None if view is None else str(view),
    }  # fmt: skip
    if as_json:
        console.print_json(result)
    else:
        _print(result, found, gyro)


def _same_vehicle(fit: Fit, log: Log) -> None:
    """Say so where the fit is of another vehicle than the manifest names: the fit's is used."""
    import grouser as gr

    if log.vehicle is None:
        return
    try:
        named = gr.vehicle(log.vehicle).name
    except GrouserError:
        named = log.vehicle  # one that only its fit holds
    if named != fit.model.vehicle.name:
        console.remark(
            f"grouser: the fit is of vehicle '{fit.model.vehicle.name}', which is used; the manifest names '{named}'"
        )


def _write(run: LogOdometry, out: Path | None) -> None:
    if out is None:
        return
    from grouser.odometry.output import write_csv, write_tum

    values.make_folder(out.parent)
    poses = out.suffix.lower() == ".tum"
    with console.progress(f"writing {out.name}") as report:

        def each() -> Iterator[Estimate]:
            for k, one in enumerate(run.each_estimate(systematic=not poses)):
                if k % SEEN == 0:
                    report(k, len(run.drive))
                yield one

        (write_tum if poses else write_csv)(out, each())


def _name(fit: Fit | None, gyro: bool) -> str:
    wheels = "plain odometry" if fit is None else "calibrated odometry"
    return f"{wheels} with gyro" if gyro else wheels


def _print(result: dict[str, Any], fit: Fit | None, gyro: bool) -> None:
    if result["not_judged"] is None:
        rows = [_row("plain odometry", result["baseline"]), _row(_name(fit, gyro), result)]
        rows = rows[1:] if fit is None and not gyro else rows
        typer.echo(
            f"{result['log']}: {result['distance']:.1f} m driven, {result['turning_deg']:.0f}° turned in all;"
            " errors at the end"
        )
        columns = ("", "end", "of the way", "yaw", "of the turning", "height rms")
        console.print_table("", columns, rows, right=range(1, 6))
        typer.echo("")
        k = result["nees_stretches"]
        each = f"of {k} stretches of 10 m" if k > 1 else "of the one stretch"
        typer.echo(_consistency(each, result["nees"], result["nees_band"]))
        typer.echo(_consistency("since the start", result["nees_since_start"], result["nees_since_start_band"]))
    else:
        typer.echo(f"{result['log']}: {result['not_judged']}")
    if result["gyro"] is not None:
        _print_gyro(result["gyro"])
    if result["drives"] > 1:
        typer.echo(f"gaps break the log into {result['drives']} drives; the longest is judged")
    for kind, count in result["faults"].items():
        typer.echo(f"{count} samples with a fault: {kind}")
    if result["trained_on_this_log"]:
        typer.echo("the fit was made from this very log, so these errors are not held out; try another log")
    for key in ("out", "plot", "view"):
        if result[key] is not None:
            typer.echo(f"wrote {result[key]}")


def _row(name: str, one: dict[str, Any]) -> tuple[str, ...]:
    def share(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f} %"

    height = "-" if one["height_rms"] is None else f"{one['height_rms']:.3f} m"
    return (
        name, f"{one['end_error']:.2f} m", share(one["end_error_percent"]), f"{one['yaw_error_deg']:.1f}°",
        share(one["yaw_error_percent"]), height,
    )  # fmt: skip


def _print_gyro(gyro: dict[str, Any]) -> None:
    if gyro["lag"] is None:
        typer.echo("gyro: the log does not tell its lag beside the manifest's")
    else:
        late = "late" if gyro["lag"] >= 0.0 else "early"
        typer.echo(f"gyro: {abs(gyro['lag']):.3f} s {late} beside the manifest's lag, found from the wheels' turning")
    if gyro["rest"] < 2.0:
        typer.echo("gyro: the vehicle was hardly ever at rest, so its bias is not known and taken as zero")
    else:
        typer.echo(f"gyro: bias {gyro['bias'][2]:.2e} rad/s about z, from {gyro['rest']:.0f} s at rest")


def _consistency(where: str, nees: float, band: list[float]) -> str:
    """What the normalised error squared of x, y, yaw says, per degree of freedom: 1 if all is as claimed."""
    said = f"mean normalised error squared {where} {nees:.2f}, {band[0]:.2f} to {band[1]:.2f} expected: "
    if nees > band[1]:
        return said + "odometry is surer of itself than it should be here"
    if nees < band[0]:
        return said + "errors are smaller than odometry claims"
    return said + "odometry knows how good it is"
