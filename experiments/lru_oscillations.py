"""L Fig. 4.5 and 5.3: the LRU's running gear swings while it drives, and when a motor is switched off for a moment."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from experiments.experiment import Experiment, Progress, Result, Row
from experiments.lru_running_gear import GEARS, MOST_TWIST, ROTOR, SPRING, plant
from experiments.lru_traction import ROUGH_LENGTH, ROUGH_RMS, SOILS, vertical_acceleration
from experiments.switched_law import switched
from grouser import terrain
from grouser.actuation import PI
from grouser.checks import FloatArray
from grouser.law import BoundLaw
from grouser.simulation import Run, drive, simulate
from grouser.vehicles import Vehicle, vehicle

SOIL = "wedged gravel"
SPEED, SETTLED, DT = 0.5, 2.0, 0.002  # [m/s], [s], [s]
OFF, PERIOD = 0.1, 0.6  # [s] L §5.2.1: off for 100 ms, then 500 ms with all motors
WHEEL, OTHER = "BR", "FL"  # L's wheels 3 and 1
CASES = ("rough ground", "motor off")
"""Fig. 4.5, on the ground of lru-traction without its slope; Fig. 5.3, on a plane."""


@dataclass(frozen=True, kw_only=True)
class SwitchedPI(PI):
    """PI rate control of all motors, of which that of WHEEL is switched off for OFF seconds, every PERIOD."""

    law = switched

    def bind(self, vehicle: Vehicle) -> BoundLaw:
        motor = vehicle.actuated.index(vehicle.motors[WHEEL])
        par = [len(vehicle.actuated), motor, SETTLED, OFF, PERIOD, self.gain, self.integral]
        return BoundLaw(self.law.address, np.array(par, dtype=np.float64), self.law)

    def start_memory(self, vehicle: Vehicle) -> FloatArray:
        return np.zeros(2 * len(vehicle.actuated))


def run_oscillations(quick: bool, progress: Progress) -> Result:
    """Both cases with rigid and with elastic running gear; the quick version drives for half the time."""
    rover = vehicle("lru1")
    duration = SETTLED + (5.0 if quick else 10.0) * PERIOD
    runs: dict[tuple[str, str], Run] = {}
    for case in CASES:
        size = 4.0 + 2.0 * duration * SPEED
        rough = terrain.rough(ROUGH_RMS, ROUGH_LENGTH, 1, size=(size, 4.0), spacing=ROUGH_LENGTH / 6.0)
        for gear in GEARS:
            model = plant(rover, gear, SOILS[SOIL])
            kind = PI if case == "rough ground" else SwitchedPI
            model = model.replace(actuator=kind(gain=20.0, integral=100.0, rotor_inertia=ROTOR))
            ground = rough if case == "rough ground" else terrain.plane()
            runs[case, gear] = simulate(model, ground, drive.arc(SPEED), duration=duration, dt=DT)
            progress(len(runs), len(CASES) * len(GEARS))
    rows = [measure(case, gear, run) for (case, gear), run in runs.items()]
    return Result(
        name=LRU_OSCILLATIONS.name,
        rows=rows,
        paper=[],
        notes=_notes(rows),
        settings={
            "vehicle": "lru1",
            "soil": repr(SOILS[SOIL]),
            "speed": SPEED,
            "elastic": {"spring": SPRING[0], "damping": SPRING[1], "twist": MOST_TWIST, "rotor_inertia": ROTOR},
            "off": OFF,
            "period": PERIOD,
            "wheel": WHEEL,
            "dt": DT,
            "quick": quick,
        },
        keys=("case", "gear"),
        draw=lambda result, file: draw(runs, file),
    )


LRU_OSCILLATIONS = Experiment(
    name="lru-oscillations",
    description="LRU with rigid and elastic running gear: motor torque on rough ground, and a motor switched off",
    body=run_oscillations,
)


def encoder(run: Run, wheel: str) -> FloatArray:
    """Rate of a wheel's motor [rad/s], shape (T,)."""
    rates: FloatArray = run.velocity[:, 6 + run.vehicle.joint_index(run.vehicle.motors[wheel])]
    return rates


def measure(case: str, gear: str, run: Run) -> Row:
    """Swings of motor torque, wheel rates and body once it drives steadily."""
    assert run.torque is not None
    late = run.time >= SETTLED
    motor = run.vehicle.actuated.index(run.vehicle.motors[WHEEL])
    torque = run.torque[late[: len(run.torque)], motor]
    ahead = np.gradient(run.velocity[:, 3], run.dt)[late]
    wheel, other = (encoder(run, name)[late] for name in (WHEEL, OTHER))
    return {
        "case": case,
        "gear": gear,
        "torque_mean": float(torque.mean()),
        "torque_rms": float(torque.std()),
        "ax_rms": float(ahead.std()),
        "az_rms": float(vertical_acceleration(run)[late].std()),
        "rate_low": float(wheel.min()),
        "rate_high": float(wheel.max()),
        "other_low": float(other.min()),
        "other_high": float(other.max()),
    }


def _notes(rows: list[Row]) -> list[str]:
    by = {(row["case"], row["gear"]): row for row in rows}
    rough, off = ([by[case, gear] for gear in GEARS] for case in CASES)
    return [
        f"Torque [N m] and rate [rad/s] are of the motor of {WHEEL}, other of that of {OTHER}; rms is about the mean; "
        "accelerations [m/s²] are those of the body.",
        f"Fig. 4.5: on rough ground torque varies by {rough[0]['torque_rms']:.2f} N m (rigid) and "
        f"{rough[1]['torque_rms']:.2f} N m (elastic) about its mean of {rough[1]['torque_mean']:.2f} N m: the ground "
        "does it, and springs smooth it. The paper prints no numbers; its torque is far from constant at a constant "
        "commanded speed.",
        f"Fig. 5.3: switched off, a rigid wheel slows to {off[0]['rate_low']:.2f} rad/s, that of the soil, and "
        f"recovers without a swing. An elastic one snaps back against its wheel, {off[1]['rate_low']:.2f} to "
        f"{off[1]['rate_high']:.2f} rad/s, and shakes the body along its path, {off[1]['ax_rms']:.2f} against "
        f"{off[0]['ax_rms']:.2f} m/s².",
        "The paper's wheel is LRU-2's, whose spokes it takes as rigid; it blames bogies and suspensions, which do not "
        "bend here. The springs are those it measured on LRU-1.",
    ]


def draw(runs: dict[tuple[str, str], Run], file: str | os.PathLike[str]) -> None:
    """Torque on rough ground above, rates with the motor switched off below; rigid left, elastic right."""
    from grouser.view import style

    with style.picture(file, 10.0, 6.4) as figure:
        axes = figure.subplots(2, 2, sharey="row")
        for column, gear in enumerate(GEARS):
            top, bottom = axes[:, column]
            run = runs["rough ground", gear]
            assert run.torque is not None
            motor = run.vehicle.actuated.index(run.vehicle.motors[WHEEL])
            shown = run.time[: len(run.torque)] >= SETTLED
            top.plot(run.time[: len(shown)][shown], run.torque[shown, motor], color=style.PALETTE[0], lw=0.8)
            top.set_title(f"{gear} running gear")
            run = runs["motor off", gear]
            part = (run.time >= SETTLED - 0.2) & (run.time <= SETTLED + 2.0 * PERIOD)
            for k in range(2):
                start = SETTLED + k * PERIOD
                bottom.axvspan(start, start + OFF, color="#E4E4E4", zorder=0)
            for wheel, colour in ((OTHER, style.PALETTE[1]), (WHEEL, style.PALETTE[0])):
                bottom.plot(run.time[part], encoder(run, wheel)[part], color=colour, lw=1.2, label=wheel)
            for ax in (top, bottom):
                ax.set_xlabel("time [s]")
        axes[0, 0].set_ylabel(f"motor torque of {WHEEL} [N m]")
        axes[1, 0].set_ylabel("motor rate at the wheel [rad/s]")
        axes[1, 0].legend(loc="lower right")
        figure.suptitle(f"LRU in soft soil: rough ground (top); motor of {WHEEL} off where grey (bottom)")
