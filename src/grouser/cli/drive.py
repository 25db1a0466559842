"""`grouser drive`: a vehicle driven by hand in real time, in a page served on loopback."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, driven, values
from grouser.cli.values import option, requires
from grouser.errors import GrouserError
from grouser.files import check_target

EXAMPLES = (
    "zoe --terrain rough:rms=.15,length=.8,seed=1",
    "husky --terrain slope:deg=15 --friction 0.5 --out run.npz",
    "warthog --fit fit.toml --terrain dem.tif --start 120,80,90 --speed 2",
    "rocky7 --model kinematic --port 8080 --no-browser --keep",
)
STEP = 1.0 / 120.0
"""Step unless it is given [s]: two in a picture at 60 a second."""
MODELS = values.one_of("dynamic", "kinematic")
STEPS = requires(lambda value: 1e-4 <= value <= 0.1, "{:g} s is not from 0.0001 to 0.1")
served = partial(option, panel="Page")


def drive(
    vehicle: driven.Vehicle,
    terrain: driven.Ground = "flat",
    speed: Annotated[float, option("Largest speed, m/s; a slider changes it.")] = 1.0,
    start: driven.Start = None,
    heading: driven.Heading = None,
    dt: Annotated[float, driven.steps("Step, s; 1/120 unless given (default).", check=STEPS)] = STEP,
    model: Annotated[
        str, option("dynamic (default): masses, forces; kinematic: wheels roll.", check=MODELS)
    ] = "dynamic",
    contact: driven.Contact = None,
    friction: driven.Friction = None,
    fit: driven.FitFile = None,
    soil_raster: driven.SoilFile = None,
    soil: driven.SoilLaws = None,
    out: Annotated[Path | None, values.npz_file("File for the recording (.npz); further ones get a number.")] = None,
    host: Annotated[str, served("Address to serve on; 127.0.0.1 is this machine only.")] = "127.0.0.1",
    port: Annotated[int, served("Port; 0 is any that is free.")] = 0,
    browser: Annotated[
        bool, served("Open the page in a browser, or print its address only.", "--browser/--no-browser")
    ] = True,
    keep: Annotated[bool, served("Go on when the page is closed; Ctrl-C ends it.", "--keep")] = False,
    as_json: console.Json = False,
) -> None:
    """Drive a vehicle by hand in a live 3D page; keys, gamepad or clicks."""
    from grouser.live import pilot, settings
    from grouser.live.loop import LiveDrive
    from grouser.live.server import is_loopback
    from grouser.live.session import Session
    from grouser.motion.on_ground import engine_model

    for file in values.make_folders([out]):
        check_target(file, GrouserError)
    laws = {"--contact": contact, "--friction": friction}
    driven.refuse_other_model(model, laws)
    settings.check_speed(speed, "--speed")
    rover, bare = driven.moved(vehicle, speed), values.terrain(terrain)
    place = driven.start_pose(start, heading, bare)
    moving: Any = gr.Kinematics(rover)
    planned: Any = moving
    if fit is not None:
        values.refuse(laws, driven.FIT_MOVES)
        found = driven.load_fit(fit, rover, bare)
        moving = engine_model(found.model)
        planned = planned if moving.dynamic else found
    elif model == "dynamic":
        moving = gr.Dynamics(rover, contact=driven.contact_model(contact, rover, friction, speed))
    ground = driven.with_soils(bare, soil_raster, soil, rover, forces=moving.dynamic, speed=speed)
    if warning := gr.terrain.steep_warning(ground):
        console.remark(f"grouser: {warning}")
    sim = gr.Simulation(moving, ground, dt=dt, start=place)
    limits = dataclasses.replace(gr.plan.Limits.of(rover), speed=speed)

    def session(*, submit: Any, keep: Any) -> Session:
        driver = pilot.Pilot(planned, bare if moving.dynamic else ground, submit=submit)
        return Session(sim, limits=limits, pilot=driver, settings=settings.Settings(speed=speed), keep=keep)

    live = LiveDrive(session, host=host, port=port, out=out, stays=keep)
    if not is_loopback(host):
        console.remark(
            f"grouser: warning: {host} is reached from other machines, without encryption: anyone with the address "
            "can drive; leave out --host to serve this machine only"
        )
    signal.signal(signal.SIGTERM, lambda *_: live.finish("it was stopped"))
    say = console.remark if as_json else typer.echo
    written: list[Path] = []
    try:
        live.start()
        say(f"{live.session.sim.model.vehicle.name} on {live.session.sim.ground.description}: {live.address}")
        if not (browser and _open(live.address)):
            say("open this address in a browser")
        say("Ctrl-C ends it" + ("" if keep else ", and so does closing the page"))
        sys.stdout.flush()
        live.wait()
    except KeyboardInterrupt:
        live.finish("it was ended by Ctrl-C")
    finally:
        written = live.close()
    forces = driven.MODELS[moving.dynamic]
    result: dict[str, Any] = {**live.session.summary(), "model": forces, "ended": live.reason, "files": written}
    console.emit(result, as_json, _print, written)


def _open(address: str) -> bool:
    """Open the page, where there is a screen; a browser for terminals would take this one."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    return True


def _print(result: dict[str, Any]) -> None:
    pairs = [
        ("status", result["status"]),
        ("drove", f"{result['distance']:.3f} m in {result['seconds']:.1f} s"),
        ("ended at", console.place(result["final_position"])),
    ]
    console.print_pairs(f"{result['vehicle']}: {result['ended']}", pairs)
