"""Pictures that explain the models in the documentation, each made by running the model it is about."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

import grouser as gr
from grouser.calibration.simulated import log_of_run
from grouser.view import style


def contact(path: Path) -> None:
    """A wheel above waves, cut along its plane: contact point and frame, height error, contact angle; T Fig. 2.3."""

    @gr.terrain.law
    def waves(x: float, y: float) -> float:
        return 0.10 * math.sin(2.6 * x + 0.4)

    zoe = gr.vehicle("zoe")
    state = gr.settle(zoe, waves, x=1.2).state
    state[6] += 0.06  # lifted, so that the height error can be seen
    found = gr.collision.contacts(zoe, state, waves)
    _, p = gr.kinematics.frame_poses(zoe, state)
    w = zoe.wheels.index("FL")
    centre = p[zoe.frame_index("FL")]
    radius = float(zoe.arrays.radius[w])
    with style.picture(path, 7.5, 4.6) as figure:
        axes = figure.subplots()
        x = np.linspace(centre[0] - 0.75, centre[0] + 0.75, 400)
        axes.plot(x, waves.height(x, np.full_like(x, centre[1])), color=style.INK, lw=2.0, label="ground")
        turn = np.linspace(0.0, 2.0 * np.pi, 200)
        axes.plot(centre[0] + radius * np.sin(turn), centre[2] + radius * np.cos(turn), color=style.BLUE, label="wheel")
        point, axis = found.point[w], found.rotation[w]
        for column, name, colour in ((0, "x, ahead", style.ORANGE), (2, "z, normal", style.GREEN)):
            tip = point + 0.25 * axis[:, column]
            axes.annotate(
                "", (tip[0], tip[2]), (point[0], point[2]), arrowprops={"arrowstyle": "->", "color": colour, "lw": 1.8}
            )
            axes.annotate(name, (tip[0], tip[2]), color=colour, xytext=(4, 2), textcoords="offset points")
        axes.plot([centre[0], point[0]], [centre[2], point[2]], color=style.FAINT, ls="--", lw=1.0)
        axes.plot([centre[0], centre[0]], [centre[2], centre[2] - radius], color=style.FAINT, ls=":", lw=1.0)
        below = point - found.height_error[w] * axis[:, 2]
        axes.plot([point[0], below[0]], [point[2], below[2]], color=style.VERMILLION, lw=2.0)
        axes.plot(point[0], point[2], "o", color=style.VERMILLION, ms=5)
        text = f"Δz = {1000.0 * found.height_error[w]:.0f} mm, contact angle {math.degrees(found.angle[w]):.0f}°"
        axes.annotate(text, (point[0], point[2]), xytext=(14, -30), textcoords="offset points", color=style.VERMILLION)
        axes.set_aspect("equal")
        axes.legend(loc="upper right")
        style.label(axes, x="x [m]", y="z [m]", title="Where a wheel meets the ground")


def stabilisation(path: Path) -> None:
    """Height errors that decay: T (2.35), two time constants, from a start 3 cm above the ground."""
    zoe = gr.vehicle("zoe")
    ground = gr.terrain.rough(rms=0.1, length=0.8, seed=3)
    state = gr.settle(zoe, ground).state
    state[6] += 0.03
    with style.picture(path, 7.5, 3.6) as figure:
        axes = figure.subplots()
        for colour, seconds in zip(style.PALETTE, (0.05, 0.1, 0.4), strict=False):
            model = gr.Kinematics(zoe, time_constant=seconds)
            run = gr.simulate(model, ground, gr.drive.arc(1.0), duration=1.2, dt=0.01, start=state)
            largest = 1000.0 * np.abs(run.contact.height_error).max(axis=1)
            axes.plot(run.time, largest, color=colour, label=f"{seconds:g} s")
        axes.set_yscale("log")
        axes.legend(title="time constant 1/σ")
        style.label(axes, x="time [s]", y="largest |Δz| [mm]", title="Constraint errors decay; they do not build up")


def slip(path: Path) -> None:
    """The same wheel rates on one slope: pure rolling, body slip fitted to tyres on other slopes, and the tyres."""
    husky = gr.vehicle("husky")
    tyres = gr.Dynamics(husky, contact=gr.contact.Pacejka(friction=0.8))
    learnt = []
    for k, turn in enumerate((-0.4, -0.2, 0.0, 0.2, 0.4, 0.3)):
        slope = gr.terrain.slope(deg=8.0, heading_deg=60.0 * k)
        learnt.append(gr.simulate(tyres, slope, gr.drive.arc(1.0, turn), duration=8.0))
    fit = gr.calibrate(gr.Kinematics(husky), log_of_run(learnt), ["slip", "noise"])
    assert isinstance(fit.model.model, gr.Kinematics)
    ground = gr.terrain.slope(deg=12.0, heading_deg=90.0)
    models: dict[str, gr.Kinematics | gr.Dynamics] = {
        "kinematic": gr.Kinematics(husky),
        "kinematic, slip fitted to the tyres": fit.model.model,
        "dynamic, tyres": tyres,
    }
    with style.picture(path, 7.5, 3.3) as figure:
        axes = figure.subplots()
        for k, (name, model) in enumerate(models.items()):
            run = gr.simulate(model, ground, gr.drive.arc(1.0, 0.15), duration=8.0)
            dashes = "--" if k == 2 else "-"
            axes.plot(run.position[:, 0], run.position[:, 1], color=style.PALETTE[k], ls=dashes, label=name, lw=2.0)
        arrow = {"arrowstyle": "->", "color": style.FAINT}
        axes.annotate("uphill", (0.3, 2.2), xytext=(0.3, 1.3), ha="center", arrowprops=arrow)
        axes.set_aspect("equal")
        axes.legend(loc="lower right")
        style.label(axes, x="x [m]", y="y [m]", title="One command, three models, a slope of 12°")


def contact_models(path: Path) -> None:
    """Force ahead over load against slip ratio, of the three families."""
    wheel = {"radius": 0.15, "width": 0.1, "load": 100.0}
    models = {
        "piecewise-linear": gr.contact.PiecewiseLinear(friction=0.8),
        "Pacejka": gr.contact.Pacejka(friction=0.8),
        "Ishigami, loose soil": gr.contact.Ishigami(),
    }
    slip = np.linspace(-0.9, 0.9, 361)
    travel = np.full_like(slip, 0.5)
    with style.picture(path, 7.5, 3.8) as figure:
        axes = figure.subplots()
        for colour, (name, model) in zip(style.PALETTE, models.items(), strict=False):
            depth = _depth(model, wheel)
            rim = np.where(slip >= 0.0, travel / (1.0 - slip), travel * (1.0 + slip))
            v = np.stack([travel - rim, np.zeros_like(slip), np.zeros_like(slip)], axis=-1)
            force = model.force(v, rim, np.full_like(slip, -depth), **wheel)
            label = f"{name}, {1000.0 * depth:.0f} mm deep"
            axes.plot(100.0 * slip, force[:, 0] / force[:, 2], color=colour, label=label)
        axes.legend()
        title = "Three contact models, 0.5 m/s"
        style.label(axes, x="slip [%], driving positive, braking negative", y="f_x/f_z [-]", title=title)


def _depth(model: gr.contact.Contact, wheel: dict[str, float]) -> float:
    """Penetration at which a rolling wheel carries its load [m]."""
    depth = np.linspace(0.0, 0.07, 1401)
    force = model.force(np.zeros((len(depth), 3)), np.full(len(depth), 0.5), -depth, **wheel)[:, 2]
    return float(np.interp(wheel["load"], force, depth))


def uncertainty(path: Path) -> None:
    """Predictions of a log that fitting never saw, with what the fit claims about their errors."""
    from grouser.view.evaluation import draw_errors, ellipse_legend

    husky = gr.vehicle("husky")
    truth = gr.Dynamics(husky, contact=gr.contact.Pacejka(friction=0.7))
    runs = []
    for seed in range(1, 17):
        ground = gr.terrain.rough(rms=0.04, length=0.6, seed=seed, size=24.0)
        turn = 0.5 * math.sin(1.7 * seed)
        runs.append(gr.simulate(truth, ground, gr.drive.arc(1.0, turn), duration=8.0, dt=0.02))
    learnt, judged = (log_of_run(part, position_noise=0.01, yaw_noise=0.003, seed=1) for part in (runs[:8], runs[8:]))
    fit = gr.calibrate(gr.Kinematics(husky), learnt, ["slip", "noise"])
    found = gr.evaluate(fit, judged)
    sets = {"plain odometry": found.baseline, "calibrated": found.errors}
    with style.picture(path, 10.2, 5.4) as figure:
        for axes, (name, errors) in zip(figure.subplots(1, 2), sets.items(), strict=True):
            draw_errors(axes, errors, name, True)
        ellipse_legend(figure)


PICTURES: dict[str, Callable[[Path], None]] = {
    "contact": contact,
    "stabilisation": stabilisation,
    "slip": slip,
    "contact-models": contact_models,
    "uncertainty": uncertainty,
}
"""Name of each picture and what draws it."""
