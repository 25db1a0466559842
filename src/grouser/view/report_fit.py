"""Report of a calibration: parameters, their uncertainty, and errors of predictions of a log."""

import math
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from grouser.calibration.evaluate import Evaluation, evaluate
from grouser.errors import CalibrationError
from grouser.logs import Log
from grouser.motion.fit import Fit
from grouser.motion.parameter_table import meaning
from grouser.motion.parameters import unit_of
from grouser.vehicles.toml import to_toml
from grouser.view.calibration import plot_certainty, plot_history, plot_segments
from grouser.view.evaluation import plot_evaluation
from grouser.view.report import (
    ERRORS,
    TRUST,
    Fact,
    Listing,
    Picture,
    Report,
    Section,
    Table,
    answer,
    number,
    repeat_sections,
)
from grouser.view.words import HELD_OUT, better_than, consistency

SEGMENT = 10.0
"""Length of the predicted pieces of the path that are drawn [s]."""


def report_fit(
    fit: Fit,
    log: Log | None = None,
    *,
    interval: float = 2.0,
    files: Sequence[str | os.PathLike[str]] = (),
    command: str = "",
    title: str = "",
    question: str = "",
) -> Report:
    """A report of a fit; with a log, its predictions of every interval [s] of that log are evaluated too."""
    name, source = fit.model.vehicle.name, fit.training.log
    judged = None if log is None else evaluate(fit, log, interval=interval)
    asked = f"Which motion parameters of {name} does the log {source} give, and how uncertain are they?"
    if log is not None:
        asked += f" How large are the errors of predictions of {log.name} over {interval:g} s?"
    table = [] if judged is None else _judged_table(judged, interval)
    weak = "; ".join(str(d) for d in fit.undetermined)
    hardly = [f"Hardly determined by the log: {weak}."] if weak else []
    sections = [Section("Numbers", (*table, _parameters(fit), *hardly))]
    pictures = _pictures(fit, log, judged, interval)
    if pictures:
        sections.append(Section("Pictures", tuple(pictures)))
    numbers: dict[str, Any] = fit.summary()
    if judged is not None and log is not None:
        numbers |= {"evaluation": judged.summary(), "log": log.name, "interval": interval}
    return Report(
        kind="calibration",
        title=title or f"Calibration of {name} from {source}",
        question=question or asked,
        answer=answer(question, _facts(fit, judged, interval)),
        sections=(*sections, *_repeat(fit, log, interval, files, command)),
        numbers=numbers,
    )


def _facts(fit: Fit, judged: Evaluation | None, interval: float) -> list[Fact]:
    """Facts for the answer; one for each parameter."""
    facts = []
    if judged is not None:
        mine, plain = judged.errors.summary(), judged.baseline.summary(consistency=False)
        compared = better_than(mine["position_rms"], plain["position_rms"], "plain odometry")
        errors = (
            f"Over {mine['n']} predictions of {interval:g} s the position error is {mine['position_rms']:.3f} m rms "
            f"and the yaw error {mine['yaw_rms_deg']:.2f}° rms; the position error is {compared}."
        )
        facts.append(Fact(errors, ERRORS))
        facts.append(Fact(f"95 % ellipses hold {100.0 * mine['inside_95']:.0f} % of the errors.", TRUST))
        if judged.trained_on_this:
            facts.append(Fact(HELD_OUT, (*ERRORS, *TRUST)))
    training = fit.training
    fitted = (
        f"{len(fit.parameters)} parameters were fitted to {training.intervals} intervals"
        f" ({training.rejected} rejected); after the fit their errors are {training.position_rms:.3f} m and "
        f"{math.degrees(training.yaw_rms):.2f}° rms."
    )
    facts.append(Fact(fitted, ("fitted", "residual", "interval", "number", "parameter")))
    improve = ("improv", "determin", "enough", "drive", "missing", "weak", "log")
    if fit.undetermined:
        said = "; ".join(str(one) for one in fit.undetermined)
        facts.append(Fact(f"The log hardly determines {len(fit.undetermined)} of their combinations: {said}.", improve))
    else:
        facts.append(Fact("The log determines all of them.", improve, False))
    for one, value in zip(fit.parameters, fit.vector.tolist(), strict=True):
        said = f"{one.name}, {meaning(one.name)}: {number(value)} ± {number(fit.sigma[one.name], digits=2)}"
        unit, words = unit_of(fit.model, one.name), re.findall(r"[a-z]{4,}", f"{one.name} {meaning(one.name)}".lower())
        stems = tuple(word for word in words if word not in ("that", "from", "with"))
        facts.append(Fact(f"{said}{'' if unit == '1' else f' {unit}'}.", stems, False))
    return facts


def _judged_table(judged: Evaluation, interval: float) -> list[Table | str]:
    mine, plain = judged.errors.summary(), judged.baseline.summary(consistency=False)
    digits = {"position_rms": 3, "position_median": 3, "yaw_rms_deg": 2, "yaw_median_deg": 2}
    rows = tuple(
        (name, *(f"{one[key]:.{n}f}" for key, n in digits.items()))
        for name, one in (("plain odometry", plain), ("calibrated", mine))
    )
    columns = ("", "position rms [m]", "median [m]", "yaw rms [°]", "median [°]")
    table = Table(f"Errors of {mine['n']} predictions of {interval:g} s", columns, rows, numeric=(1, 2, 3, 4))
    known = consistency(mine["nees"], mine["nees_band"], "the model")
    return [table, f"NEES of x, y and yaw (1 is consistent): {known}."]


def _parameters(fit: Fit) -> Table:
    sigma = fit.sigma
    rows = tuple(
        (p.name, meaning(p.name), number(value), number(sigma[p.name], digits=2), number(p.value),
         number(p.sigma, digits=2), unit_of(fit.model, p.name))
        for p, value in zip(fit.parameters, fit.vector.tolist(), strict=True)
    )  # fmt: skip
    columns = ("parameter", "meaning", "value", "± 1σ", "prior", "± 1σ", "unit")
    return Table("Parameters", columns, rows, numeric=(2, 3, 4, 5))


def _pictures(fit: Fit, log: Log | None, judged: Evaluation | None, interval: float) -> list[Picture]:
    out = []
    if judged is not None and log is not None:
        words = f"Errors after {interval:g} s, plain odometry and calibrated: positions with ellipses, and yaw."
        out.append(Picture(plot_evaluation(judged), words))
        words = f"Pieces of the path of {log.name}, {SEGMENT:g} s each: measured and predicted, with ellipses."
        with suppress(CalibrationError):  # no part of the log is so long
            out.append(Picture(plot_segments(fit, log, interval=SEGMENT), words))
    if len(fit.covariance):
        words = "How far the log narrowed each parameter, and the correlations of parameters."
        out.append(Picture(plot_certainty(fit), words))
    if fit.history is not None and len(fit.history.time):
        out.append(Picture(plot_history(fit), "Parameters during the fit, with one-sigma bands."))
    return out


def _repeat(
    fit: Fit, log: Log | None, interval: float, files: Sequence[str | os.PathLike[str]], command: str
) -> tuple[Section, Section]:
    training, motion = fit.training, fit.model
    each = f"{training.interval:g} s" if training.interval is not None else f"{training.distance or 0.0:g} m"
    sensor = motion.sensor
    place = ", ".join(number(v) for v in (sensor.x, sensor.y, sensor.z))
    settings = [
        ("vehicle", motion.vehicle.name),
        ("model", type(motion.model).__name__),
        ("fitted to", f"{training.log}, {training.samples} samples"),
        ("method", training.method),
        ("intervals", f"{training.intervals} of {each}{', overlapping' if training.overlapping else ''}"),
        ("noise", f"{', '.join(motion.noise.components)}, {motion.noise.form}, grows with {motion.noise.grows}"),
        ("pose sensor", f"at {place} m, yaw {number(math.degrees(sensor.yaw))}°, lag {number(sensor.lag)} s"),
    ]
    if motion.ground is not None:
        ground = motion.ground.description or motion.ground.kind
        settings += [("ground", ground), ("step", number(motion.dt, "s"))]
    if log is not None:
        settings.append(("evaluated on", f"{log.name}, {len(log)} samples, {log.duration:.0f} s, {interval:g} s ahead"))
    notes = ["Nothing in a calibration is random: the same log and settings give the same parameters."]
    if any(p.sigma <= 0.0 for p in fit.parameters):
        notes.append("Parameters with a prior sigma of zero were held.")
    vehicle = Listing("The vehicle as calibrated (.toml)", to_toml(motion.vehicle), folded=True)
    return repeat_sections(settings, command=command, files=files, listings=[vehicle], notes=notes)
