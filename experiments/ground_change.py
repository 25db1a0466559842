"""Soil that changes under a vehicle: is the online filter's uncertainty right, and does it notice, adapt and recall?

Planted truth (`planted_drive.py`), over many seeds: (a) z-scores of the parameters, (b) a change of soil and back,
(c) false alarms on one soil, (d) coverage of predicted ellipses on another drive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from experiments import planted_drive
from experiments.experiment import Experiment, Progress, Result, Row
from experiments.ground_change_plot import draw
from experiments.planted_drive import FIRM, LOOSE
from grouser.calibration import calibrate, evaluate
from grouser.calibration.online import ALARM, OnlineFilter, Update
from grouser.calibration.perturbative_filter import COMPONENTS
from grouser.checks import FloatArray
from grouser.logs import Log
from grouser.motion.fit import Fit
from grouser.motion.intervals import cut_log
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameters import resolve
from grouser.motion.predict import LogProblem
from grouser.motion.slip_surface import Perturbative
from grouser.vehicles import vehicle

SEEDS, QUICK = 100, 4
INTERVAL = 2.0  # s
STEADY, JUDGED = 600.0, 200.0  # s: drive on one soil, and when its parameters are judged
CHANGES, WHOLE = (300.0, 600.0), 900.0  # s: to the other soil and back; length of that drive
SETTLED = 40.0  # s after a change, from which on errors are compared with those of the true model
FITTED, HORIZONS = 300.0, (1.0, 2.0, 5.0, 10.0)  # s: drive to fit to and to judge by; of predictions
DENSITY = 0.01  # of the noise before anything was learned [m²/s, rad²/s]
PARAMETERS = ("slip", "noise")
INSIDE = 1.96
"""|z| that 95 % of normal errors do not exceed."""


@dataclass(frozen=True)
class Wanted:
    """Bounds of a number, both included; None: no bound."""

    low: float | None = None
    high: float | None = None

    def meets(self, value: float) -> bool:
        """Whether a number is within them."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def __str__(self) -> str:
        if self.low is None:
            return f"≤ {self.high:g}"
        return f"{self.low:g} to {self.high:g}"


Z, DELAY, RATIO, RECALL, FALSE, COVERED = (
    Wanted(0.8, 1.2), Wanted(high=10.0), Wanted(high=1.3), Wanted(high=5.0), Wanted(high=0.05), Wanted(0.92, 0.98),
)  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class Steady:
    """A drive on one soil."""

    z: FloatArray
    """Error over sigma of all parameters after `JUDGED`, (n,)."""
    alarms: int
    """Changes noticed in `STEADY`, all false."""
    updates: list[Update]


@dataclass(frozen=True, eq=False, kw_only=True)
class Changed:
    """A drive to another soil and back."""

    delay: float
    """Until another ground is believed in [s]; infinite: never."""
    ratio: float
    """Position rms after it settled by that of the true model."""
    recall: float
    """Until the first ground is believed in again [s]; infinite: never."""
    least: tuple[float, float]
    """Delay and recall of a test that knows both soils and the noise exactly, and the times of change [s]."""
    alarms: int
    """Changes noticed."""
    updates: list[Update]


def run(quick: bool, progress: Progress) -> Result:
    """All four parts for every seed."""
    seeds = range(QUICK if quick else SEEDS)
    steady, changed, covered = [], [], []
    for seed in seeds:
        steady.append(drive_steadily(seed))
        changed.append(drive_across(seed))
        covered.append(coverage(seed))
        progress(seed + 1, len(seeds))
    rows = [*z_rows(steady), *change_rows(steady, changed), *coverage_rows(covered)]
    missed = [row["quantity"] for row in rows if not row["met"]]
    return Result(
        name=GROUND_CHANGE.name,
        rows=rows,
        paper=[],
        notes=_notes(len(seeds), missed, changed),
        settings={
            "vehicle": "warthog", "model": "perturbative", "interval": INTERVAL, "soils": [FIRM, LOOSE],
            "noise": planted_drive.NOISE, "noise_at_first": DENSITY, "changes": CHANGES, "alarm": ALARM,
            "seeds": len(seeds), "quick": quick,
            "drives": [
                {
                    "seed": seed, "delay": _finite(c.delay), "ratio": c.ratio, "recall": _finite(c.recall),
                    "least": [_finite(t) for t in c.least],
                    "alarms": c.alarms, "false_alarms": s.alarms,
                }
                for seed, s, c in zip(seeds, steady, changed, strict=True)
            ],
        },
        keys=("quantity",),
        draw=lambda result, path: draw(result, changed[0].updates, path),
        summary={"missed": missed},
    )  # fmt: skip


def start_of(log: Log) -> MotionModel:
    """A model that knows nothing of slip."""
    noise = Noise(components=COMPONENTS, density=DENSITY * np.eye(3), form="full", grows="time")
    return MotionModel(model=Perturbative(vehicle=vehicle("warthog")), sensor=log.sensor, noise=noise)


def filtered(log: Log) -> tuple[OnlineFilter, list[Update], LogProblem]:
    """The filter after a log, and what every interval did."""
    motion = start_of(log)
    problem = LogProblem(log, motion, cut_log(log, motion, interval=INTERVAL))
    learner = OnlineFilter(motion, resolve(motion, PARAMETERS))
    return learner, [learner.update(problem, k) for k in range(len(problem.intervals))], problem


def drive_steadily(seed: int) -> Steady:
    """On the firm or, every second time, on the loose soil."""
    soil = LOOSE if seed % 2 else FIRM
    learner, updates, _ = filtered(planted_drive.drive(STEADY, 1000 + seed, soils=((0.0, soil),)).log)
    then = next(u for u in reversed(updates) if u.time <= JUDGED)
    x, y, yaw = planted_drive.NOISE
    truth = np.array([*soil, x, 0.0, 0.0, y, 0.0, yaw])
    return Steady(z=(then.values - truth) / then.sigma, alarms=len(learner.changes), updates=updates)


def drive_across(seed: int) -> Changed:
    """From the firm to the loose soil and back."""
    there, back = CHANGES
    log = planted_drive.drive(WHOLE, seed, soils=((0.0, FIRM), (there, LOOSE), (back, FIRM))).log
    learner, updates, problem = filtered(log)
    first = next((c.from_ for c in learner.changes if there < c.time <= back), None)
    on_loose = [u for u in updates if there < u.time <= back]
    on_firm = [u for u in updates if u.time > back]
    noticed = first is not None and on_loose[-1].ground != first
    delay = next((u.time for u in on_loose if u.ground != first), np.inf) - there if noticed else np.inf
    recall = next((u.time for u in on_firm if u.ground == first), np.inf) - back if noticed else np.inf
    firm, loose = (judged_by(problem, learner.motion, soil) for soil in (FIRM, LOOSE))
    best, gained = loose[0], loose[1] - firm[1]
    end = problem.intervals.times[:, 1]
    least = tuple(
        first_above(end[part] - since, ratio[part])
        for since, part, ratio in ((there, (end > there) & (end <= back), gained), (back, end > back, -gained))
    )
    settled = np.array([there + SETTLED < u.time <= back for u in updates])
    ours = np.array([u.residual for u in updates])
    ratio = _position_rms(ours[settled]) / _position_rms(best[settled])
    return Changed(
        delay=delay,
        ratio=ratio,
        recall=recall,
        least=(least[0], least[1]),
        alarms=len(learner.changes),
        updates=updates,
    )


def judged_by(problem: LogProblem, motion: MotionModel, soil: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """Errors (I, 3) of the model with the true slip of a soil, and their log-likelihoods by the true noise (I,)."""
    noise = replace(motion.noise, density=np.diag(planted_drive.NOISE))
    true = motion.replace(model=Perturbative(vehicle=motion.vehicle, slip=np.array(soil)), noise=noise)
    predicted = problem.errors(true)
    error, S = problem.residuals(predicted.poses), problem.covariance(true, predicted)
    square = np.einsum("ia,iab,ib->i", error, np.linalg.inv(S), error)
    return error, -0.5 * (square + np.linalg.slogdet(S)[1])


def first_above(delay: FloatArray, ratio: FloatArray) -> float:
    """When the sum of log-likelihood ratios exceeds that of an alarm [s]; infinite: never."""
    above = np.cumsum(ratio) > np.log(ALARM)
    return float(delay[int(np.argmax(above))]) if above.any() else np.inf


def coverage(seed: int) -> dict[tuple[str, float], float]:
    """Share of positions inside their 95 % ellipse, on another drive on the soil of the fit, by fit and horizon."""
    train, other = (planted_drive.drive(FITTED, base + seed).log for base in (2000, 3000))
    fits: dict[str, Fit] = {
        name: calibrate(start_of(train), train, PARAMETERS, interval=INTERVAL, online=name == "online")
        for name in ("batch", "online")
    }
    found: dict[tuple[str, float], float] = {}
    for name, fit in fits.items():
        for same in (False, True):
            judged = evaluate(fit, other, interval=INTERVAL, horizons=HORIZONS, same_drive=same)
            label = f"{name}, ground known" if same else name
            found |= {(label, h.interval): float(np.mean(h.errors.inside)) for h in judged.horizons}
    return found


def z_rows(steady: Sequence[Steady]) -> Iterator[Row]:
    """(a): of each parameter."""
    z = np.array([s.z for s in steady])
    density = Noise(components=COMPONENTS, form="full").names
    names = [*(f"slip.a{k}" for k in range(1, 14)), *density]
    for name, column in zip(names, z.T, strict=True):
        rms = float(np.sqrt(np.mean(column**2)))
        yield _row(f"z {name}", Z, rms, np.abs(column), float(np.mean(np.abs(column) <= INSIDE)))


def change_rows(steady: Sequence[Steady], changed: Sequence[Changed]) -> Iterator[Row]:
    """(b) and (c)."""
    for name, wanted, field in (
        ("detected after [s]", DELAY, "delay"),
        ("error by that of the true model", RATIO, "ratio"),
        ("recalled after [s]", RECALL, "recall"),
    ):
        values = np.array([getattr(c, field) for c in changed])
        share = float(np.mean([wanted.meets(v) for v in values]))
        yield _row(name, wanted, float(np.max(values)), values, share)
    alarms = np.array([s.alarms for s in steady])
    share = float(np.mean(alarms > 0))
    yield _row(f"drives of {STEADY:g} s with a false alarm", FALSE, share, alarms, 1.0 - share)


def coverage_rows(covered: Sequence[dict[tuple[str, float], float]]) -> Iterator[Row]:
    """(d): of each fit and horizon, over all drives."""
    for fit, horizon in covered[0]:
        shares = np.array([one[fit, horizon] for one in covered])
        met = float(np.mean([COVERED.meets(s) for s in shares]))
        yield _row(f"inside 95 %, {fit}, {horizon:g} s", COVERED, float(shares.mean()), shares, met)


def _row(quantity: str, wanted: Wanted, value: float, of_seeds: FloatArray, share: float) -> Row:
    """value: what is judged; of_seeds: that of each; share: of seeds that meet what is wanted."""
    return {
        "quantity": quantity,
        "value": _finite(value),
        "wanted": str(wanted),
        "met": wanted.meets(value),
        "median": _finite(float(np.median(of_seeds))),
        "worst": _finite(float(np.max(of_seeds))),
        "share_of_seeds": share,
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _mean(values: Sequence[float] | FloatArray) -> str:
    return f"{np.mean(values):.1f}" if len(values) else "-"


def _position_rms(errors: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.sum(errors[:, :2] ** 2, axis=1))))


def _notes(seeds: int, missed: Sequence[str], changed: Sequence[Changed]) -> list[str]:
    unsure = sum(c.alarms != 2 for c in changed)
    late = [c for c in changed if not DELAY.meets(c.delay)]
    slow = [c for c in changed if not RECALL.meets(c.recall)]
    least = np.array([c.least for c in changed])
    return [
        f"{seeds} seeds. z: error of an online parameter over its sigma after {JUDGED:g} s; value is its rms over"
        " seeds, median and worst are of |z|, the share of seeds is of |z| ≤ 1.96 (95 % wanted). Drives on the firm"
        " and on the loose soil take turns.",
        f"The soil changes after {CHANGES[0]:g} s and back after {CHANGES[1]:g} s: value is of the worst seed; '-' is"
        " never. The error is the position rms of predictions made before their interval was learned from, from"
        f" {SETTLED:g} s after the change on, by that of the model with the true slip. {unsure} of {seeds} drives"
        " noticed another number of changes than two.",
        f"{len(late)} drives were late to notice and {len(slow)} to recall. A test that knows both soils and the time"
        f" of the change exactly, with the same bound on false alarms, needs {_mean(least[:, 0])} s and"
        f" {_mean(least[:, 1])} s on average, in those drives {_mean([c.least[0] for c in late])} s"
        f" and {_mean([c.least[1] for c in slow])} s: driving straight, intervals say little about the soil.",
        f"Inside 95 %: of predictions of another drive of {FITTED:g} s on the same soil, as `grouser evaluate` gives"
        " them for ground that may differ, or with the ground known to be that of the fit; value is the mean of all"
        " seeds, worst here the largest share.",
        "Missed: " + (", ".join(missed) or "nothing") + ".",
    ]


GROUND_CHANGE = Experiment(
    "ground-change", "Planted soil that changes: online z-scores, detection, recall, false alarms and coverage", run
)
