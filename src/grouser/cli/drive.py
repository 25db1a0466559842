"""`grouser drive`: a vehicle driven by hand in real time, in a page served on loopback."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import grouser as gr
from grouser.cli import console, fitted, soils, values
from grouser.cli.values import option
from grouser.errors import GrouserError
from grouser.files import check_target

if TYPE_CHECKING:
    from collections.abc import Callable

    from grouser.live.session import Session

EXAMPLES = (
    "zoe --terrain rough:rms=.15,length=.8,seed=1",
    "husky --terrain slope:deg=15 --friction 0.5 --out run.npz",
    "warthog --fit fit.toml --terrain dem.tif --start 120,80,90 --speed 2",
    "rocky7 --model kinematic --port 8080 --no-browser --keep",
)
STEP = 1.0 / 120.0
"""Step unless it is given [s]: two in a picture at 60 a second."""
served = partial(option, panel="Page")


def drive(
    vehicle: values.Vehicle,
    terrain: values.Ground = "flat",
    speed: Annotated[float, option("Largest speed, m/s; a slider changes it.")] = 1.0,
    start: values.Start = None,
    heading: values.Heading = None,
    dt: Annotated[float, values.steps("Step, s; 1/120 unless given (default).")] = STEP,
    model: Annotated[str, option("dynamic (default): masses, forces; kinematic: wheels roll.")] = "dynamic",
    contact: values.Contact = None,
    friction: values.Friction = None,
    fit: fitted.FitFile = None,
    soil_raster: soils.SoilFile = None,
    soil: soils.SoilLaws = None,
    out: Annotated[Path | None, option("File for the recording (.npz); further ones get a number.")] = None,
    host: Annotated[str, served("Address to serve on; 127.0.0.1 is this machine only.")] = "127.0.0.1",
    port: Annotated[int, served("Port; 0 is any that is free.")] = 0,
    browser: Annotated[
        bool, served("Open the page in a browser, or print its address only.", "--browser/--no-browser")
    ] = True,
    keep: Annotated[bool, served("Go on when the page is closed; Ctrl-C ends it.", "--keep")] = False,
    as_json: console.Json = False,
) -> None:
    """Drive a vehicle by hand in a live 3D page; keys, gamepad or clicks."""
    from grouser.live.loop import LiveDrive
    from grouser.live.server import is_loopback

    if out is not None:
        if out.suffix.lower() != ".npz":
            raise GrouserError(f"--out: {out} must end in .npz; grouser view and grouser report read it")
        values.make_folder(out.parent)
        check_target(out, GrouserError)
    make = _session(vehicle, terrain, model, fit, soil_raster, soil, contact=contact, friction=friction, speed=speed,
                    start=start, heading=heading, dt=dt)  # fmt: skip
    live = LiveDrive(make, host=host, port=port, out=out, stays=keep)
    if not is_loopback(host):
        console.remark(
            f"grouser: warning: {host} is reached from other machines, without encryption: whoever has the address "
            "drives; leave out --host to serve this machine only"
        )
    signal.signal(signal.SIGTERM, lambda *_: live.finish("it was stopped"))
    say = console.remark if as_json else lambda text: typer.echo(text)
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
    result: dict[str, Any] = {**live.session.summary(), "model": model, "ended": live.reason, "files": written}
    console.emit(result, as_json, _print, written)


def _session(
    vehicle: str, terrain: str, model: str, fit: Path | None, soil_raster: Path | None, soil: list[str] | None,
    *, contact: str | None, friction: float | None, speed: float, start: str | None, dt: float,
    heading: float | None = None,
) -> Callable[..., Session]:  # fmt: skip
    """What makes the session, once it is known where plans are made and recordings go."""
    from grouser.live import pilot, settings
    from grouser.live.session import Session
    from grouser.motion.on_ground import engine_model

    values.pose(start, heading)
    values.one_of(model, ("dynamic", "kinematic"), "--model")
    if model == "kinematic":
        values.refuse({"--contact": contact, "--friction": friction}, "is for the dynamic model; leave it out")
    settings.check_speed(speed, "--speed")
    if not 1e-4 <= dt <= 0.1:
        raise GrouserError(f"--dt: {dt:g} s is not from 0.0001 to 0.1")
    rover, bare = values.moved(vehicle, speed), values.terrain(terrain)
    place = values.start_pose(start, heading, bare)
    flat = gr.Kinematics(rover)
    moving: Any = flat
    planned: Any = flat
    if fit is not None:
        values.refuse(
            {"--contact": contact, "--friction": friction}, "the fit says how the vehicle moves; leave it out"
        )
        planned = fitted.load_fit(fit, rover, bare)
        moving = engine_model(planned.model)
        planned = flat if moving.dynamic else planned
    elif model == "dynamic":
        from grouser.contact.named import contact_named

        named = contact_named(contact or "piecewise-linear", rover, friction=friction, speed=max(speed, 0.1))
        moving = gr.Dynamics(rover, contact=named)
    ground = soils.with_soils(bare, soil_raster, soil, rover, dynamic=moving.dynamic, speed=speed)
    if warning := gr.terrain.steep_warning(ground):
        console.remark(f"grouser: {warning}")
    sim = gr.Simulation(moving, ground, dt=dt, start=place)
    limits = dataclasses.replace(gr.plan.Limits.of(rover), speed=speed)

    def make(*, submit: Any, keep: Any) -> Session:
        driver = pilot.Pilot(planned, bare if moving.dynamic else ground, submit=submit)
        return Session(sim, limits=limits, pilot=driver, settings=settings.Settings(speed=speed), keep=keep)

    return make


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
