"""Report of a simulation: the path of the vehicle, slip and load of its wheels."""

import math
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from grouser.kinematics import Kinematics
from grouser.simulation import Run, Status, simulate
from grouser.terrain import plane
from grouser.terrain.source import covers
from grouser.vehicles.toml import to_toml
from grouser.view.account import Following, account, following
from grouser.view.plot import plot_forces, plot_run
from grouser.view.report import Fact, Listing, Picture, Report, Section, Table, answer, number, repeat_sections

HELD = "The run's file holds vehicle, ground, commands and every recorded state; see it in 3D with: "
NOT_HELD = "It does not hold the parameters of slip, contact and actuators, nor the integrator: "


def report_run(
    run: Run,
    *,
    files: Sequence[str | os.PathLike[str]] = (),
    command: str = "",
    title: str = "",
    question: str = "",
) -> Report:
    """A report of a run; `files` it came from are named with their hashes, `command` is how the page was made."""
    name, numbers, kept = run.vehicle.name, run_numbers(run), following(run)
    ground = "its ground" if run.ground is None else run.ground.description or run.ground.kind
    asked = f"Where does {name} go when it is driven as commanded on {ground} for {numbers['seconds']:g} s, "
    commanded = _as_commanded(run)
    sections = [Section("Numbers", (_table(run, numbers),))]
    if len(run.time):
        sections = [Section("Numbers", (_table(run, numbers), _wheel_table(run))), _pictures(run, commanded)]
    if kept is not None:
        numbers["path"] = asdict(kept)
    return Report(
        kind="simulation",
        title=title or f"{name} on {ground}",
        question=question or asked + "and how do its wheels slip?",
        answer=answer(question, _facts(run, numbers, commanded, kept)),
        sections=(*sections, *_repeat(run, ground, files, command)),
        numbers=numbers,
    )


def run_numbers(run: Run) -> dict[str, Any]:
    """The run in plain numbers, as JSON takes them."""
    out = run.summary()
    if len(run.time) == 0:
        return out
    slip = run.contact.slip_speed
    out |= {
        "mean_slip_speed": float(slip.mean()),
        "largest_slip_speed": float(slip.max()),
        "largest_height_error": float(np.abs(run.contact.height_error).max()),
    }
    if run.solver is not None and run.power is not None:
        out |= {
            "mean_power": float(run.power.sum(axis=1).mean()),
            "newton_iterations": float(run.solver.iterations.mean()),
            "halved_steps": run.halved_steps,
        }
    return out


def _as_commanded(run: Run) -> Run | None:
    """The same commanded rates on flat ground, wheels rolling without slip; None where that would mislead."""
    rows = len(run.time)
    # Commands with feedback, as of a path follower, do not define a course.
    if run.drive not in ("", "commands") or run.path is not None:
        return None
    # Where wheels steer a passive joint (Zoë's axles), the rates depend on this ground.
    if any(steering.joint not in run.vehicle.actuated for steering in run.vehicle.steering):
        return None
    # Not every step was recorded.
    if rows < 2 or abs(float(run.time[1] - run.time[0]) - run.dt) > 1e-9 or run.steps != rows - 1:
        return None
    # The level of the ground below the start, so that both runs are seen at one height.
    level = plane(height=float(run.contact.point[0, :, 2].mean()))
    start = (*run.position[0, :2].tolist(), float(run.yaw[0]))
    model, seconds = Kinematics(run.vehicle), run.steps * run.dt
    commanded = simulate(model, level, run.command[:-1], duration=seconds, dt=run.dt, start=start)
    return commanded if commanded.status is Status.OK else None


def _facts(run: Run, numbers: dict[str, Any], commanded: Run | None, kept: Following | None) -> list[Fact]:
    """Facts for the answer, the most important first."""
    why = ("why", "goal", "make", "finish", "complet", "succe", "fail", "surviv", "status", "ended")
    if len(run.time) == 0:
        return [Fact(f"It did not move: {run.status.meaning} in its first step.", why)]
    x, y, z = run.position[-1]
    where = f"x {x:.2f} m, y {y:.2f} m, z {z:.2f} m, yaw {math.degrees(run.yaw[-1]):.1f}°".replace("-", "−")
    went = ("where", "go", "reach", "arriv", "position", "place", "far", "distance", "long", "time")
    early = run.status is not Status.OK
    ended = f"The run ended early: {run.status.meaning}." if early else "It reached its full duration."
    facts = [
        Fact(ended, why, early),
        Fact(f"It drove {run.distance:.2f} m in {run.steps * run.dt:g} s and ended at {where}.", went),
    ]
    course = ("path", "track", "follow", "cours", "deviat", "stray", "drift", "straight", "command", "head", "off",
              "keep", "control")  # fmt: skip
    if kept is not None:
        facts.append(Fact(kept.sentence(), course))
    elif commanded is not None and not early:
        facts.append(Fact(account(run, commanded).sentence(), course))
    slid = numbers["slid"]
    facts += [Fact(f"{one[0].upper()}{one[1:]}.", ("slid", "tip", "safe", "real"), True) for one in numbers["remarks"]]
    margin, tilt, slip = numbers["least_tip_margin_deg"], numbers["largest_tilt_deg"], numbers["largest_slip"]
    over = "It rolled over." if run.rolled_over else "It did not roll over."
    left = "" if margin is None else f" Its least tip margin is {margin:.1f}°; below zero a wheel lifts."
    tips = ("tip", "roll", "overturn", "toppl", "fall", "upright", "stab", "safe", "lift")
    leans = ("tilt", "lean", "steep", "slope", "attitude", "pitch", "climb", "hill", "uphill")
    slips = ("slip", "grip", "traction", "spin", "skid")
    fastest = float(np.linalg.norm(run.velocity[:, 3:6], axis=1).max())
    mean = run.distance / (run.steps * run.dt) if run.steps else 0.0
    facts += [
        Fact(f"It drove at {number(mean, 'm/s')} on average and at most {number(fastest, 'm/s')}.",
             ("fast", "quick", "slow", "speed", "veloc"), False),
        Fact(over + left, tips, False),
        Fact(
            f"Its body leaned by at most {tilt or 0.0:.1f}°, and it ended "
            f"{number(float(run.position[-1, 2] - run.position[0, 2]), 'm')} higher than it began.", leans, False
        ),
        Fact(f"Its wheels slipped by at most {100.0 * (slip or 0.0):.1f} % of their rim speed, on average "
             f"{number(numbers['mean_slip_speed'], 'm/s')}.", slips, False),
        Fact("It did not slide." if slid == 0.0 else
             f"It slid {number(slid, 'm')} in {number(numbers['sliding_time'], 's')}.", ("slid", "hold"), False),
        Fact(_energy(numbers), ("energ", "power", "work", "watt", "joule", "batter", "consum", "torque"), False),
    ]  # fmt: skip
    return facts


def _energy(numbers: dict[str, Any]) -> str:
    if numbers["energy"] is None:
        return "Its energy is not known: a kinematic model has no forces; use a dynamic one."
    mean = number(numbers["mean_power"], "W")
    return f"Its actuators worked {number(numbers['energy'], 'J')} where they drove, and gave {mean} on average."


def _table(run: Run, numbers: dict[str, Any]) -> Table:
    words = {
        "mean_slip_speed": ("mean slip of a wheel", "m/s"),
        "largest_slip_speed": ("largest slip of a wheel", "m/s"),
        "largest_tilt_deg": ("largest tilt of the body", "°"),
        "least_tip_margin_deg": ("least tip margin (below zero a wheel lifts)", "°"),
        "slid": ("way on which it slid", "m"),
        "energy": ("work of the actuators where they drive", "J"),
        "largest_height_error": ("largest height error of a wheel", "m"),
        "mean_power": ("mean power of all actuators", "W"),
        "newton_iterations": ("Newton iterations per step", "1"),
    }
    rows = [
        ("status", f"{str(run.status).replace('_', ' ')}: {run.status.meaning}"),
        ("time driven", number(numbers["seconds"], "s")),
        ("distance", number(numbers["distance"], "m")),
    ]
    if numbers["final_position"]:
        rows.append(("final position x, y, z", ", ".join(number(v) for v in numbers["final_position"]) + " m"))
        rows.append(("final yaw", number(math.degrees(numbers["final_yaw"]), "°")))
    rows += [(said, number(numbers[key], unit)) for key, (said, unit) in words.items() if numbers.get(key) is not None]
    rows.append(("underdetermined steps", str(run.deficient_steps)))
    if run.solver is not None:
        rows.append(("halved steps", str(run.halved_steps)))
    return Table("The run", ("what", "value"), tuple(rows))


def _wheel_table(run: Run) -> Table:
    columns = ["wheel", "mean slip [m/s]", "largest slip [m/s]", "mean height error [mm]"]
    slip, height = run.contact.slip_speed, 1000.0 * run.contact.height_error
    values = [slip.mean(axis=0), slip.max(axis=0), height.mean(axis=0)]
    if run.contact.force is not None:
        columns += ["mean load [N]", "least load [N]"]
        values += [run.contact.force[..., 2].mean(axis=0), run.contact.force[..., 2].min(axis=0)]
    if run.contact.power is not None:
        columns.append("mean power of the ground [W]")
        values.append(run.contact.power.mean(axis=0))
    rows = tuple((name, *(number(float(value[w])) for value in values)) for w, name in enumerate(run.vehicle.wheels))
    return Table("The wheels", tuple(columns), rows, numeric=tuple(range(1, len(columns))))


def _pictures(run: Run, commanded: Run | None) -> Section:
    words = "From above, with the tracks of the wheels; slip speed, attitude and height errors over time."
    words += "" if run.path is None else " Dotted: the path it was to follow."
    words += "" if commanded is None else " Dashed: the same commanded rates on flat ground."
    out = [Picture(plot_run(run, commanded=commanded), words)]
    if run.contact.force is not None and run.solver is not None:
        out.append(Picture(plot_forces(run), "Forces on the wheels, power and energy over time."))
    return Section("Pictures", tuple(out))


def _repeat(run: Run, ground: str, files: Sequence[str | os.PathLike[str]], command: str) -> tuple[Section, Section]:
    forced = run.solver is not None
    settings = [
        ("vehicle", f"{run.vehicle.name}, {run.vehicle.n_wheels} wheels, {number(run.vehicle.mass, 'kg')}"),
        ("model", "dynamic: masses, contact forces, actuators" if forced else "kinematic: wheels roll, no forces"),
        ("ground", ground),
        ("step", number(run.dt, "s")),
        ("steps", str(run.steps)),
        ("states recorded", str(len(run.time))),
    ]
    if run.ground is not None:
        plain = {k: v for k, v in run.ground.settings.items() if isinstance(v, (bool, int, float, str))}
        part = run.ground.source
        if part is not None and part.whole is not None:
            settings.insert(
                3, ("ground in the file", f"{covers(run.ground.bounds)}; the whole map: {covers(part.whole)}")
            )
        if plain:
            settings.insert(3, ("settings of the ground", ", ".join(f"{k} = {v}" for k, v in plain.items())))
    if len(run.time):
        x, y, z = (number(float(v), digits=6 if abs(v) < 1e4 else 10) for v in run.position[0])
        yaw = number(round(math.degrees(float(run.yaw[0])), 9) + 0.0, digits=6)
        settings.append(("start", f"x {x} m, y {y} m, z {z} m, yaw {yaw}°"))
        settings += [(f"command to {name}", _commanded(run, a)) for a, name in enumerate(run.vehicle.actuated)]
    listings = [Listing("The vehicle as it drove (.toml)", to_toml(run.vehicle), folded=True)]
    notes = [HELD + "grouser view RUN.npz"]
    if run.model:
        settings.insert(2, ("its settings", run.model))
    else:
        notes.append(NOT_HELD + "those are in the command or program that made it.")
    return repeat_sections(settings, command=command, files=files, listings=listings, notes=notes)


def _commanded(run: Run, actuator: int) -> str:
    values = run.command[:, actuator]
    joint = run.vehicle.frames[int(run.vehicle.arrays.actuated[actuator]) + 1]
    unit = "m/s" if (joint.joint or "").startswith("P") else "rad/s"
    if np.ptp(values) < 1e-9:
        return number(float(values[0]), unit)
    return f"{number(float(values.min()))} to {number(float(values.max()), unit)}"
