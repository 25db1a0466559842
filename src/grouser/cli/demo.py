"""`grouser demo`: two rovers commanded straight over rough ground, and where they end."""

from __future__ import annotations

import math
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import grouser as gr
from grouser.cli import console, values
from grouser.cli.values import option

if TYPE_CHECKING:
    from grouser.view.account import Account


class Scene(NamedTuple):
    """A vehicle, the roughness of its ground [m], its speed [m/s] and time [s]."""

    vehicle: str
    rms: float
    length: float
    speed: float
    duration: float
    seed: int


EXAMPLES = ("", "--seed 5 --out /tmp/demo")
SCENES = (Scene("zoe", 0.15, 0.8, 1.0, 10.0, 3), Scene("rocky7", 0.05, 0.2, 0.5, 10.0, 1))


def demo(
    out: Annotated[Path, option("Folder for picture, 3D pages and tables.")] = Path("out/demo"),
    seed: Annotated[int | None, option("Seed of the ground; default: that of the README.", check=values.SEED)] = None,
    no_picture: Annotated[bool, option("Write the tables only, no picture, no 3D pages.", "--no-picture")] = False,
    forces: Annotated[bool, option("Show runs with masses and forces too, in 3D.", "--forces")] = False,
    as_json: console.Json = False,
) -> None:
    """Drive two rovers straight over rough ground; show where they end.

    They are Zoë and Rocky 7; the command also prints why they leave the commanded path.
    """
    began = time.monotonic()
    values.make_folder(out)

    from grouser.bench import prepare

    prepare(*(("none", "piecewise-linear") if forces else ("none",)))
    driven = []
    total = len(SCENES) + (0 if no_picture else 2)
    with console.progress("demo") as report:
        for scene in SCENES:
            driven.append(drive_scene(scene, seed))
            report(len(driven), total)
        runs, goals, accounts = (list(kind) for kind in zip(*driven, strict=True))
        files = [out / f"{run.vehicle.name}{suffix}" for run in runs for suffix in (".csv", ".tum")]
        for k, file in enumerate(files):
            runs[k // 2].write(file)
        if not no_picture:
            from grouser.view import plot_runs

            pages = [out / f"{run.vehicle.name}.html" for run in runs]
            files = [out / "demo.png", *pages, *files]
            plot_runs(runs, files[0], commanded=goals, accounts=accounts)
            report(total - 1, total)
            for scene, run, goal, page in zip(SCENES, runs, goals, pages, strict=True):
                _view(scene, run, goal, page, forces=forces)
            report(total, total)
    pairs = list(zip(runs, accounts, strict=True))
    result = {
        "runs": [{**run.summary(), "account": asdict(one), "words": one.sentence()} for run, one in pairs],
        "files": files,
        "seconds": round(time.monotonic() - began, 2),
    }
    console.emit(result, as_json, lambda _: _show(pairs), files)
    if not as_json and not no_picture:
        typer.echo(f"\nopen {out / SCENES[0].vehicle}.html in a browser to see the drive in 3D; it needs no network")
    if any(run.status != "ok" for run in runs):
        console.fail("a run ended early; see its status above")


def drive_scene(scene: Scene, seed: int | None) -> tuple[gr.Run, gr.Run, Account]:
    """The run on rough ground, the same command on flat ground, and the comparison."""
    from grouser.view.account import account

    model = gr.Kinematics(gr.vehicle(scene.vehicle))
    ground = gr.terrain.rough(rms=scene.rms, length=scene.length, seed=scene.seed if seed is None else seed)
    drive = gr.drive.arc(scene.speed)
    run = gr.simulate(model, ground, drive, duration=scene.duration)
    goal = gr.simulate(model, gr.terrain.plane(), drive, duration=scene.duration)
    return run, goal, account(run, goal)


def _view(scene: Scene, run: gr.Run, goal: gr.Run, page: Path, *, forces: bool) -> None:
    """A page that plays the run, the commanded one, and if asked for the run with masses and forces."""
    assert run.ground is not None
    name = run.vehicle.name
    runs = {f"{name}, kinematic" if forces else name: run, "as commanded, on flat ground": goal}
    if forces:
        dynamic = gr.Dynamics(run.vehicle)
        forced = gr.simulate(dynamic, run.ground, gr.drive.arc(scene.speed), duration=scene.duration)
        runs = {f"{name}, with forces": forced, **runs}
    first, *others = runs.values()
    first.view(page, *others, names=list(runs), title=f"{name} commanded straight over rough ground")


def _show(pairs: list[tuple[gr.Run, Account]]) -> None:
    for run, account in pairs:
        ground = run.ground.description if run.ground is not None else ""
        typer.echo(account.headline())
        typer.echo(f"  on {ground}, commanded straight ahead; status {run.status}; why:")
        for reason in account.reasons():
            typer.echo(f"  – {reason}")
        slip, tilt = 100 * account.mean_slip_speed, math.degrees(account.largest_tilt)
        typer.echo(f"  mean slip {slip:.1f} cm/s, largest tilt {tilt:.1f}°\n")
