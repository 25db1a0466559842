"""T §2.5.3, Fig. 2.16 to 2.19: the LandTamer spins and locks its wheels on a slippery plane, straight and turning."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from experiments.experiment import Experiment, Progress, Result, Row
from experiments.landtamer import GAIN, landtamer
from grouser import terrain
from grouser.checks import FloatArray
from grouser.contact import Contact
from grouser.dynamics import Dynamics
from grouser.simulation import Run, drive, simulate

FRICTION = 0.6
SLOW, FAST, TURN = 0.5, 5.0, 2.0  # m/s, m/s, rad/s at full speed
PHASES = {"rolling": (0.0, 1.0), "accelerating": (1.0, 3.0), "braking": (3.0, 5.0)}
"""From and to [s]."""
DURATION, DT = 5.0, 0.01  # s
CASES = {"straight": 0.0, "turning": TURN}
DISTURBANCE = 1e-4  # rad/s
PAPER: list[Row] = [
    {"case": "straight", "phase": phase, "critical_slip": 0.38} for phase in ("accelerating", "braking")
]
"""Of Table C.1's curve; the 0.2 in the text is tyre data of others."""


def run_traction(quick: bool, progress: Progress) -> Result:
    """Straight and turning, the same in the quick version."""
    model = landtamer(friction=FRICTION)
    runs, rows = {}, []
    for done, (case, turn) in enumerate(CASES.items()):
        runs[case] = simulate(model, terrain.plane(), _schedule(turn), duration=DURATION, dt=DT)
        rows += [_row(model, case, phase, turn, runs[case]) for phase in PHASES]
        progress(done + 1, len(CASES))
    return Result(
        name=TRACTION_LOSS.name,
        rows=rows,
        paper=PAPER,
        notes=_notes(rows),
        settings={
            "vehicle": model.vehicle.name,
            "contact": "pacejka",
            "friction": FRICTION,
            "actuator": {"kind": "P", "gain": GAIN},
            "schedule": f"{SLOW:g} m/s; {FAST:g} m/s from 1 s; {SLOW:g} m/s from 3 s; the same curvature throughout",
            "turn_at_full_speed": list(CASES.values()),
            "dt": DT,
            "disturbance": DISTURBANCE,
            "quick": quick,
        },
        keys=("case", "phase"),
        draw=lambda result, path: draw(model, runs, path),
    )


TRACTION_LOSS = Experiment(
    name="traction-loss",
    description="LandTamer on a slippery plane: force beyond the critical slip, and yaw stability while turning",
    body=run_traction,
)


def _schedule(turn: float, since: float = 0.0) -> Any:
    """The commands as seen from a time `since` after their beginning [s]."""
    slow = drive.twist(forward=SLOW, turn=turn * SLOW / FAST)
    fast = drive.twist(forward=FAST, turn=turn)
    return drive.schedule([(0.0 - since, slow), (1.0 - since, fast), (3.0 - since, slow)])


def slip_and_grip(run: Run) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Slip ratio −v_x/V_x, f_x/f_z and |f_xy|/f_z of every wheel at the end of every step, shape (T − 1, nw).

    The force of a step belongs to the velocities at its end.
    """
    force = run.contact.force
    assert force is not None
    v = run.contact.velocity[1:]
    radius = np.array([frame.radius for frame in run.vehicle.frames if frame.is_wheel], dtype=np.float64)
    rim = run.velocity[1:, 6 + run.vehicle.arrays.wheel - 1] * radius
    over_ground = v[..., 0] + rim
    load = np.maximum(force[:-1, :, 2], 1.0)
    return -v[..., 0] / over_ground, force[:-1, :, 0] / load, np.hypot(force[:-1, :, 0], force[:-1, :, 1]) / load


def _row(model: Dynamics, case: str, phase: str, turn: float, run: Run) -> Row:
    low, high = PHASES[phase]
    slip, grip, total = slip_and_grip(run)
    during = (run.time[1:] > low) & (run.time[1:] <= high)
    slip, grip, total = np.abs(slip[during]).ravel(), np.abs(grip[during]).ravel(), total[during].ravel()
    peak, most = int(grip.argmax()), int(slip.argmax())
    v = run.velocity[1:][during]
    sideslip = np.degrees(np.abs(np.arctan2(v[:, 4], v[:, 3])))
    return {
        "case": case,
        "phase": phase,
        "critical_slip": float(slip[peak]) if turn == 0.0 and slip[most] > 0.5 else None,
        "peak_force": float(grip[peak]),
        "largest_slip": float(slip[most]),
        "force_there": float(grip[most]),
        "largest_sideslip_deg": float(sideslip.max()),
        "yaw_sensitivity": _yaw_sensitivity(model, turn, run, low),
    }


def _yaw_sensitivity(model: Dynamics, turn: float, run: Run, at: float) -> float:
    """Heading gained within 0.5 s per disturbance of the yaw rate at a time [s]: seconds for which nothing stops it."""
    row = round(at / DT)
    ends = []
    for disturbance in (0.0, DISTURBANCE):
        velocity = run.velocity[row].copy()
        velocity[2] += disturbance
        again = simulate(
            model.replace(tolerance=1e-7),
            terrain.plane(),
            _schedule(turn, since=at - 1e-9),
            duration=0.5,
            dt=DT,
            start=run.state[row],
            velocity=velocity,
        )
        ends.append(again.yaw[-1])
    return float((ends[1] - ends[0]) / DISTURBANCE)


def _notes(rows: list[Row]) -> list[str]:
    by = {(row["case"], row["phase"]): row for row in rows}
    spin, lock = by["straight", "accelerating"], by["straight", "braking"]
    turn, calm = by["turning", "braking"], by["straight", "rolling"]
    return [
        "Slip is the ratio −v_x/V_x of T (C.11); forces are f_x/f_z. Critical slip is that at the largest force; it is "
        "measured in the straight runs, where slip passes through it.",
        f"Beyond it force falls: spinning, from {spin['peak_force']:.3f} to {spin['force_there']:.3f} at slip "
        f"{spin['largest_slip']:.1f}; locking, from {lock['peak_force']:.3f} to {lock['force_there']:.3f} at "
        f"{lock['largest_slip']:.2f}.",
        "Yaw sensitivity is the heading gained within 0.5 s per small disturbance of the yaw rate at the beginning of "
        "the phase: tyres that grip stop a yaw within hundredths of a second, and 0.5 s would mean that nothing does. "
        f"Rolling straight it is {calm['yaw_sensitivity']:.3f} s, rolling in a slow turn "
        f"{by['turning', 'rolling']['yaw_sensitivity']:.3f} s, straight with wheels spinning "
        f"{spin['yaw_sensitivity']:.2f} s, straight with wheels locking {lock['yaw_sensitivity']:.2f} s, and turning "
        f"under the brakes {turn['yaw_sensitivity']:.2f} s: stability in yaw is lost with traction.",
        f"Turning, the LandTamer slides at up to {by['turning', 'accelerating']['largest_sideslip_deg']:.0f}° to its "
        f"heading before the brakes and {turn['largest_sideslip_deg']:.0f}° under them: it turns into the curve and "
        "drifts on across it, as in T Fig. 2.18.",
    ]


def draw(model: Dynamics, runs: dict[str, Run], path: str | os.PathLike[str]) -> None:
    """Force over slip on the contact model's curve, forces and slip over time, paths with heading."""
    from grouser.view import style

    with style.picture(path, 11.0, 7.5) as figure:
        (curve, over_time), (turned, plan) = figure.subplots(2, 2)
        slip, grip, _ = slip_and_grip(runs["straight"])
        s, f = _curve(model)
        curve.plot(s, f, color=style.FAINT, lw=3, label="contact model")
        for i, wheel in enumerate(model.vehicle.wheels):
            curve.plot(slip[:, i], grip[:, i], ".", ms=3, color=style.PALETTE[i], label=wheel)
            over_time.plot(runs["straight"].time[1:], grip[:, i], color=style.PALETTE[i], lw=1.2, label=wheel)
        curve.axvline(0.38, color=style.FAINT, lw=0.8, ls=":")
        curve.axvline(-0.38, color=style.FAINT, lw=0.8, ls=":")
        curve.set(xlim=(-1.0, 3.0), xlabel="slip ratio [1]", ylabel="f_x / f_z [1]", title="straight: force over slip")
        curve.legend(ncols=2)
        over_time.set(xlabel="time [s]", ylabel="f_x / f_z [1]", title="straight: force over time")
        run = runs["turning"]
        turned.plot(run.time, run.velocity[:, 2], color=style.PALETTE[0], label="yaw rate [rad/s]")
        commanded = np.interp(run.time, [0, 1, 1.001, 3, 3.001, 5], [0.2, 0.2, 2.0, 2.0, 0.2, 0.2])
        turned.plot(run.time, commanded, color=style.PALETTE[0], ls="--", label="commanded [rad/s]")
        turned.plot(
            run.time, np.arctan2(run.velocity[:, 4], run.velocity[:, 3]), color=style.PALETTE[1], label="sideslip [rad]"
        )
        turned.set(xlabel="time [s]", ylabel="[rad/s] and [rad]", title="turning: yaw rate and sideslip")
        turned.legend()
        for i, (name, one) in enumerate(runs.items()):
            plan.plot(one.position[:, 0], one.position[:, 1], color=style.PALETTE[i], label=name)
            every = slice(0, None, 25)
            heading = one.yaw[every]
            plan.quiver(
                one.position[every, 0], one.position[every, 1], np.cos(heading), np.sin(heading),
                color=style.PALETTE[i], width=0.004, scale=18.0,
            )  # fmt: skip
        plan.set_aspect("equal", adjustable="datalim")
        plan.set(xlabel="x [m]", ylabel="y [m]", title="path and heading every 0.25 s")
        plan.legend()
        figure.suptitle("LandTamer with μ 0.6: 0.5 to 5 m/s at 1 s, back at 3 s (T Fig. 2.16 to 2.19)")


def _curve(model: Dynamics) -> tuple[FloatArray, FloatArray]:
    """Normalised longitudinal force of the contact model over slip ratio at 5 m/s."""
    contact = model.contact
    assert isinstance(contact, Contact)
    slip = np.linspace(-1.0, 3.0, 401)
    v = np.stack([-slip * FAST, np.zeros_like(slip), np.zeros_like(slip)], axis=-1)
    force = contact.force(v, FAST + slip * FAST, -0.02, load=model.wheel_load)
    return slip, force[:, 0] / force[:, 2]
