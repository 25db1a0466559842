"""`grouser demo`: two rovers told to drive straight over rough ground, and where they really end up."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from grouser.cli import console, values

if TYPE_CHECKING:
    from grouser.simulation.run import Run
    from grouser.view.account import Account


class Scene(NamedTuple):
    """A vehicle, the roughness of its ground [m], its speed [m/s] and time [s]."""

    vehicle: str
    rms: float
    length: float
    speed: float
    duration: float
    seed: int


SCENES = (Scene("zoe", 0.15, 0.8, 1.0, 10.0, 3), Scene("rocky7", 0.05, 0.2, 0.5, 10.0, 1))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", epilog="Example: grouser demo\n\nExample: grouser demo --seed 5 --out /tmp/demo")(demo)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for picture, 3D pages and tables.")] = Path("out/demo"),
    seed: Annotated[int | None, typer.Option(help="Of the ground; without it, the grounds of the README.")] = None,
    no_picture: Annotated[
        bool, typer.Option("--no-picture", help="Write the tables only, neither picture nor 3D pages.")
    ] = False,
    forces: Annotated[bool, typer.Option("--forces", help="Show runs with masses and forces too, in 3D.")] = False,
    as_json: console.Json = False,
) -> None:
    """Send two rovers straight over rough ground; say where they end up.

    They are Zoë and Rocky 7, and it also says why.
    """
    began = time.monotonic()
    values.make_folder(out)
    if seed is not None:
        values.whole(seed, 0, 2**63 - 1, "--seed")

    from grouser.bench import prepare

    prepare(*(("none", "piecewise-linear") if forces else ("none",)))
    runs, goals, accounts = [], [], []
    total = len(SCENES) + (0 if no_picture else 2)
    with console.progress("demo") as report:
        for i, scene in enumerate(SCENES):
            run, goal, account = drive_scene(scene, seed)
            runs.append(run)
            goals.append(goal)
            accounts.append(account)
            report(i + 1, total)
        files = []
        for run in runs:
            files += [out / f"{run.vehicle.name}.csv", out / f"{run.vehicle.name}.tum"]
            run.to_csv(files[-2])
            run.to_tum(files[-1])
        if not no_picture:
            from grouser.view import plot_runs

            files.insert(0, out / "demo.png")
            plot_runs(runs, files[0], commanded=goals, accounts=accounts)
            report(total - 1, total)
            for i, (scene, run, goal) in enumerate(zip(SCENES, runs, goals, strict=True), start=1):
                files.insert(i, out / f"{run.vehicle.name}.html")
                _view(scene, run, goal, files[i], forces=forces)
            report(total, total)
    seconds = time.monotonic() - began
    if as_json:
        console.print_json(
            {
                "runs": [
                    {**run.summary(), "account": account.to_json(), "words": account.sentence()}
                    for run, account in zip(runs, accounts, strict=True)
                ],
                "files": [str(file) for file in files],
                "seconds": round(seconds, 2),
            }
        )
    else:
        for run, account in zip(runs, accounts, strict=True):
            _tell(run, account)
        for file in files:
            typer.echo(f"wrote {file}")
        if not no_picture:
            typer.echo(f"\nopen {out / SCENES[0].vehicle}.html in a browser to see it drive in 3D; it needs no network")
    if any(run.status != "ok" for run in runs):
        console.remark("grouser: a run ended early; see its status above")
        raise typer.Exit(1)


def drive_scene(scene: Scene, seed: int | None) -> tuple[Run, Run, Account]:
    """On rough ground, as commanded on flat ground, and what came of it."""
    import grouser as gr
    from grouser.view.account import account

    model = gr.Kinematics(gr.vehicle(scene.vehicle))
    ground = gr.terrain.rough(rms=scene.rms, length=scene.length, seed=scene.seed if seed is None else seed)
    drive = gr.drive.arc(scene.speed)
    run = gr.simulate(model, ground, drive, duration=scene.duration)
    goal = gr.simulate(model, gr.terrain.plane(), drive, duration=scene.duration)
    return run, goal, account(run, goal)


def _view(scene: Scene, run: Run, goal: Run, page: Path, *, forces: bool) -> None:
    """A page that plays the run and what was commanded, and if asked for the same with masses and forces."""
    import grouser as gr

    assert run.ground is not None
    name = run.vehicle.name
    runs = {f"{name}, kinematic" if forces else name: run, "as commanded, on flat ground": goal}
    if forces:
        dynamic = gr.Dynamics(run.vehicle)
        forced = gr.simulate(dynamic, run.ground, gr.drive.arc(scene.speed), duration=scene.duration)
        runs = {f"{name}, with forces": forced, **runs}
    first, *others = runs.values()
    first.view(page, *others, names=list(runs), title=f"{name} told to drive straight over rough ground")


def _tell(run: Run, account: Account) -> None:
    ground = run.ground.description if run.ground is not None else ""
    typer.echo(account.headline())
    typer.echo(f"  on {ground}, commanded straight ahead; status {run.status}; why:")
    for reason in account.reasons():
        typer.echo(f"  – {reason}")
    typer.echo(
        f"  mean slip {100 * account.mean_slip_speed:.1f} cm/s, largest tilt "
        f"{math.degrees(account.largest_tilt):.1f}°\n"
    )
