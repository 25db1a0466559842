"""Report of an odometry evaluation: wheel odometry along a log, compared with the log's poses."""

import math
import os
from collections.abc import Sequence
from typing import Any

from grouser.errors import GrouserError
from grouser.logs import Log
from grouser.motion.fit import Fit
from grouser.motion.model import MotionModel
from grouser.odometry.compare import compare
from grouser.odometry.judge import STRETCH, Judgement
from grouser.odometry.log import LogOdometry, Progress
from grouser.view.odometry import plot_odometry
from grouser.view.report import ERRORS, TRUST, Fact, Picture, Report, Section, Table, answer, number, repeat_sections
from grouser.view.words import HELD_OUT, better_than, consistency, odometry_name


def report_odometry(
    log: Log,
    fit: Fit | None = None,
    *,
    gyro: bool = False,
    files: Sequence[str | os.PathLike[str]] = (),
    command: str = "",
    title: str = "",
    question: str = "",
    progress: Progress | None = None,
) -> Report:
    """A report of odometry along a log that has poses; without a fit, of plain odometry.

    gyro: use its turn rates. progress: called with the percentage done.
    """
    if len(log.poses) < 2:
        raise GrouserError(f"{log.name}: has no poses to compare odometry with; name them in its manifest under [pose]")
    found = compare(log, fit, gyro=gyro, progress=progress)
    run, plain, judged, baseline = found.run, found.plain, found.judged, found.baseline
    assert plain is not None and judged is not None and baseline is not None  # noqa: PT018  it has poses
    name = odometry_name(fit is not None, gyro)
    numbers: dict[str, Any] = {
        **judged.summary(),
        "baseline": {key: baseline.summary()[key] for key in ("end_error", "end_error_percent", "yaw_error_deg")},
        "log": log.name,
        "gyro": gyro,
        "faults": run.faults,
        "trained_on_this_log": found.trained,
    }
    remarks = [f"{count} samples with a fault: {kind}." for kind, count in run.faults.items()]
    if run.drive[-1] > 0:
        remarks.append(f"Gaps break the log into {int(run.drive[-1]) + 1} drives; the longest is evaluated.")
    words = f"{name.capitalize()}, aligned with the poses at the first of them."
    pictures, other = [Picture(plot_odometry(run, judged), words)], None
    if fit is not None or gyro:
        pictures.append(Picture(plot_odometry(plain, baseline), "Plain odometry of the same log."))
        other = baseline
    return Report(
        kind="odometry",
        title=title or f"{log.name}: {name}",
        question=question or f"How large are the errors of {name} on {log.name}, and do they fit its covariance?",
        answer=answer(question, _facts(judged, other, found.trained)),
        sections=(
            Section("Numbers", (_table(judged, other, name), *remarks)),
            Section("Pictures", tuple(pictures)),
            *repeat_sections(
                _settings(log, fit, found.motion, run),
                command=command,
                files=files,
                notes=["Odometry does not use the poses of the log. Nothing in it is random."],
            ),
        ),
        numbers=numbers,
    )


def _facts(judged: Judgement, baseline: Judgement | None, trained: bool) -> list[Fact]:
    """Facts for the answer."""
    one = judged.summary()
    share = "" if one["end_error_percent"] is None else f", {one['end_error_percent']:.2f} % of the path"
    end = (
        f"After {judged.distance:.1f} m and {math.degrees(judged.turning):.0f}° of turning in total the error is "
        f"{judged.end_error:.2f} m{share}, and {one['yaw_error_deg']:.1f}° in yaw.".replace("-", "−")
    )
    facts = [Fact(end, (*ERRORS, "where", "end", "yaw", "heading", "turn", "distance", "drift"))]
    if baseline is not None:
        better = better_than(judged.end_error, baseline.end_error, "plain odometry")
        facts.append(Fact(f"Its end error is {better}.", ("plain", "better", "worse", "calibrat", "fit", "compar")))
    known = consistency(one["nees"], one["nees_band"], "odometry")
    facts.append(Fact(f"NEES of {one['nees_stretches']} stretches of {STRETCH:g} m: {known}.", TRUST))
    return [*facts, Fact(HELD_OUT, (*ERRORS, *TRUST))] if trained else facts


def _table(judged: Judgement, baseline: Judgement | None, name: str) -> Table:
    columns = ("", "end error [m]", "of the path [%]", "yaw error [°]", "of the turning [%]", "height rms [m]")
    keys = ("end_error", "end_error_percent", "yaw_error_deg", "yaw_error_percent", "height_rms")
    sets = [(said, one.summary()) for said, one in (("plain odometry", baseline), (name, judged)) if one is not None]
    rows = tuple(
        (said, *("–" if one[key] is None else number(one[key], digits=3) for key in keys)) for said, one in sets
    )
    return Table("Errors at the end of the drive", columns, rows, numeric=(1, 2, 3, 4, 5))


def _settings(log: Log, fit: Fit | None, motion: MotionModel, run: LogOdometry) -> list[tuple[str, str]]:
    settings = [
        ("log", f"{log.name}, {len(log)} samples, {log.duration:.0f} s, {len(log.poses)} poses"),
        ("vehicle", motion.vehicle.name),
        ("model", type(motion.model).__name__),
        ("fit", "none" if fit is None else f"of {fit.training.log}, {fit.training.method}"),
        ("lag of the pose sensor", number(motion.sensor.lag, "s")),
        ("uncertain parameters", ", ".join(run.parameters) or "nothing"),
    ]
    if run.gyro is not None:
        late = "not estimated" if run.gyro.lag is None else number(run.gyro.lag, "s")
        settings.append(("lag of the gyro beyond the manifest's", late))
        settings.append(("bias of the gyro about z", number(float(run.gyro.bias[2]), "rad/s")))
    return settings
