"""Fusion of IMU, wheels and visual odometry on drives of an LRU (L §2.3), with the faults a rover meets."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from experiments.alone import poses_alone, wheels_alone
from experiments.consistency import Consistency, consistency, nees
from experiments.experiment import Experiment, Progress, Result, Row
from experiments.fusion_drives import lru_sensors
from experiments.sensors import ImuModel, SensedDrive, SensorSuite, VisualModel, WheelFault, WheelModel
from grouser import rotation
from grouser.checks import FloatArray
from grouser.fusion.sensor_log import FusedPath, fuse
from grouser.fusion.settings import FusionSettings

IMU_PLACE = (0.1, 0.05, 0.1)  # m (a): L gives none
GROUND_LEVEL = (0.0, 0.0, -0.49)  # m: axles 0.365 below the body frame, wheels of 0.125
SETTINGS = FusionSettings(
    imu_position=IMU_PLACE,
    wheel_point=GROUND_LEVEL,
    slip=(0.06, 0.04, 0.08),
    slip_length=1.0,
    lasting_slip=(0.05, 0.03, 0.03),
    lasting_length=20.0,
)
"""Slip chosen on the drive 'loop' over ground 1, which the experiment does not use: from the residuals of the wheels
there, enlarged by up to half until the consistency there was best."""
LOW_GYRO = 0.2  # rad/s: a range that turns exceed for seconds
SHOCKS = ((12.0, 12.05), (20.0, 20.1), (33.0, 33.05), (52.0, 52.1), (64.0, 64.05))  # s
EVERY = 25  # IMU samples per recorded estimate
DRIVES = ("loop", "crab")
GROUNDS = (2, 3, 4, 5)
"""Errors that the ground makes are the same for every noise, so the runs are over several grounds."""
SOURCES = ("wheels", "visual", "imu", "fusion")


@dataclass(frozen=True)
class Scenario:
    """What goes wrong."""

    name: str
    imu: ImuModel = field(default_factory=lambda: ImuModel(place=IMU_PLACE))
    wheels: WheelModel = field(default_factory=WheelModel)
    visual: VisualModel = field(default_factory=VisualModel)
    settings: FusionSettings = SETTINGS


SCENARIOS = (
    Scenario("no fault"),
    Scenario("10 s without images", visual=VisualModel(outages=((30.0, 40.0),))),
    Scenario("a stuck wheel", wheels=WheelModel(faults=(WheelFault("FL", "stuck", 25.0, 45.0),))),
    Scenario("a frozen encoder", wheels=WheelModel(faults=(WheelFault("BR", "frozen", 15.0, 40.0),))),
    Scenario(
        "IMU saturated",
        imu=ImuModel(place=IMU_PLACE, gyro_range=LOW_GYRO, shocks=SHOCKS),
        settings=replace(SETTINGS, gyro_range=LOW_GYRO),
    ),
    Scenario("5 % outliers", wheels=WheelModel(outliers=0.05), visual=VisualModel(outliers=0.05)),
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """One scenario on one drive, over all runs."""

    scenario: str
    drive: str
    error: dict[str, FloatArray]
    """Distance from the truth at the estimates' times by source, (runs, n) [m]."""
    consistency: Consistency
    fused: FusedPath
    """Of the last run."""
    sensed: SensedDrive

    def row(self) -> Row:
        """As a row of the table: mean error at the end and root mean square along the way [m]."""
        row: Row = {"scenario": self.scenario, "drive": self.drive}
        for source in SOURCES:
            row[f"{source}_end"] = float(self.error[source][:, -1].mean())
            row[f"{source}_rms"] = float(np.sqrt((self.error[source] ** 2).mean()))
        c = self.consistency
        row |= {"nees": c.average, "band": f"{c.band[0]:.2f}–{c.band[1]:.2f}", "inside": c.inside, "above": c.above}
        return row


def evaluate(suites: Sequence[SensorSuite], scenario: Scenario, drive: str, seeds: range) -> Outcome:
    """Filter a drive on each ground with each seed of noise, and evaluate each source alone."""
    errors: dict[str, list[FloatArray]] = {source: [] for source in SOURCES}
    normalised = []
    for (k, suite), seed in product(enumerate(suites), seeds):
        path = suite.path
        start, first = path.position(path.start), path.quaternion(path.start)
        rpy = rotation.to_rpy(rotation.from_quaternion(path.quaternion(suite.time)))
        yaw = float(rpy[0, 2])
        sensed = suite.sense(1000 * k + seed, imu=scenario.imu, wheels=scenario.wheels, visual=scenario.visual)
        log = sensed.log
        fused = fuse(log, scenario.settings, position=start, yaw=yaw, every=EVERY)
        alone = {
            "wheels": wheels_alone(log, rpy[:, :2], position=start, yaw=yaw, point=GROUND_LEVEL),
            "visual": poses_alone(log, position=start, quaternion=first),
            "fusion": (fused.time, fused.position),
        }
        if seed == seeds[0]:  # it drifts by hundreds of metres: once per ground is enough
            imu = fuse(log.without("wheels", "poses"), scenario.settings, position=start, yaw=yaw, every=EVERY)
            alone["imu"] = (imu.time, imu.position)
        for source, (t, p) in alone.items():
            there = np.stack([np.interp(fused.time, t, p[:, k]) for k in range(3)], axis=1)
            errors[source].append(np.linalg.norm(there - path.position(fused.time), axis=1))
        normalised.append(nees(fused, sensed))
    return Outcome(
        scenario.name,
        drive,
        {source: np.stack(values) for source, values in errors.items()},
        consistency(fused.time, normalised),
        fused,
        sensed,
    )


def run_fusion(quick: bool, progress: Progress) -> Result:
    """Six scenarios on two drives over four grounds, 5 noises each; the quick version takes one drive and 2 noises."""
    drives = DRIVES[:1] if quick else DRIVES
    seeds = range(2 if quick else 5)
    outcomes = []
    for name in drives:
        suites = [lru_sensors(name, ground) for ground in GROUNDS]
        for scenario in SCENARIOS:
            with _without_warnings():
                outcomes.append(evaluate(suites, scenario, name, seeds))
            progress(len(outcomes), len(drives) * len(SCENARIOS))
    return Result(
        name=FUSION.name,
        rows=[outcome.row() for outcome in outcomes],
        paper=[],
        notes=[
            "Errors in metres: mean at the end of a drive of 27 to 29 m, and root mean square along it. Wheels alone "
            "are given the true roll and pitch; visual alone loses the motion while there are no images.",
            "`nees` is the mean over runs and time, of all 15 states and divided by 15 (1 is consistent); `band` is "
            "where the mean over runs lies with 95 % at one time, `inside` the share of the time it does, `above` the "
            "share in which it is overconfident.",
            "The slip settings are from another ground than these. The paper gives no numbers of its filter.",
        ],
        settings={
            "vehicle": "lru2",
            "drives": list(drives),
            "ground_seeds": list(GROUNDS),
            "noises": len(seeds),
            "imu": "100 Hz, 3e-4 rad/s/√Hz, 1e-3 m/s²/√Hz, biases 0.01 rad/s, 0.05 m/s²",
            "wheels": "100 Hz, encoder noise of L (4.43), 80 % of the slip known, 3 % random slip",
            "visual": "10 Hz, 0.2 s late, 2 mm + 3 % of the step and 1 mrad per frame",
            "quick": quick,
        },
        keys=("scenario", "drive"),
        draw=lambda result, path: draw(outcomes, path),
    )


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Silence the warnings of the filter: the scenarios contain hundreds of faults."""
    logger = logging.getLogger("grouser.odometry")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


FUSION = Experiment(
    name="fusion",
    description="LRU-2 on rough ground: IMU, wheels and visual odometry fused, with faults; errors and consistency",
    body=run_fusion,
)


def draw(outcomes: list[Outcome], path: str | os.PathLike[str]) -> None:
    """Paths of one drive, errors by scenario, and NEES over time."""
    from grouser.view import style

    first = [outcome for outcome in outcomes if outcome.drive == outcomes[0].drive]
    colors = dict(zip(SOURCES, style.PALETTE, strict=False))
    with style.look():
        figure = style.new_figure(12.0, 8.0)
        (top, bars), (growth, band) = figure.subplots(2, 2)
        shown = first[1] if len(first) > 1 else first[0]
        truth = shown.sensed.path.position(shown.fused.time)
        top.plot(truth[:, 0], truth[:, 1], color=style.BLACK, lw=1.0, label="truth")
        top.plot(shown.fused.position[:, 0], shown.fused.position[:, 1], color=colors["fusion"], label="fusion")
        top.set_aspect("equal")
        top.legend()
        style.label(top, x="x [m]", y="y [m]", title=shown.scenario)
        width = 0.2
        for k, source in enumerate(SOURCES):
            ends = [np.sqrt((o.error[source] ** 2).mean()) for o in first]
            bars.bar(np.arange(len(first)) + (k - 1.5) * width, ends, width, color=colors[source], label=source)
        bars.set(yscale="log", xticks=range(len(first)))
        bars.set_ylim(top=5.0 * bars.get_ylim()[1])  # room for the legend above the bars
        bars.set_xticklabels([o.scenario for o in first], rotation=20, ha="right")
        bars.legend(ncols=len(SOURCES), loc="upper center")
        style.label(bars, y="position error, rms [m]", title="each source alone, and all of them")
        for source in SOURCES:
            if source != "imu":
                mean = shown.error[source].mean(axis=0)
                growth.plot(shown.fused.time, mean, color=colors[source], label=source)
        growth.legend()
        style.label(growth, x="time [s]", y="position error [m]", title=shown.scenario)
        for k, outcome in enumerate(first):
            c = outcome.consistency
            band.plot(c.time, c.mean, lw=0.9, color=style.PALETTE[k], label=outcome.scenario)
        low, high = first[0].consistency.band
        band.axhspan(low, high, color=style.FAINT, alpha=0.2)
        band.set_ylim(top=1.3 * band.get_ylim()[1])  # as above
        band.legend(ncols=2, loc="upper right")
        style.label(band, x="time [s]", y="mean NEES of 15 states / 15 [1]", title="95 % band shaded")
        style.save(figure, path)
