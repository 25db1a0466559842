"""Five drives of a Warthog: calibrated models and a ridge regression, fitted to one, judged on the other four."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from experiments import ridge
from experiments.data import ROOT, folder
from experiments.experiment import Experiment, Progress, Result, Row
from grouser.calibration import choose, evaluate
from grouser.checks import FloatArray
from grouser.logs import Log, read_log
from grouser.motion.intervals import cut_log

TRAINED = "grass_20240808_1619"
JUDGED = ("grass_20240729_1446", "grass_20240808_1556", "grass_20240718_1659", "asphalt_20240920_0813")
SOURCE = "Warthog logs of the DRIVE data set"
INTERVAL, STRIDE = 2.0, 0.3  # s
RIDGE, OVERLAPPING, LAGGED = "ridge", "ridge, overlapping", ", own lag"
DRAWS = 10_000
BAND = (2.5, 97.5)  # %

WHY = (
    "Why the regression does nearly as well: most of the error of all of them is of the truth. Fitted to itself, each"
    " of the four logs leaves 0.050 to 0.066 m, which a scatter of the pose stamps of 0.03 to 0.06 s explains (process"
    " noise is found to be zero); the lag of the poses differs between logs by 0.19 s, which no slip model can know.",
    "What the regression saw and the slip surface lacks is a transient: the body is ahead of the measured wheel speeds"
    " while they rise (slip.c1, as if the rates came late), and sideways slip that grows faster than the turn rate"
    " and slower than the speed (slip.c8 to c10). Turn slip needs no further term.",
)
"""What was found by adding terms one by one to the slip surface and judging them inside the fitted log."""


def run(quick: bool, progress: Progress) -> Result:
    """Fit to one log; predict intervals of the others; pool their errors and resample them in pairs."""
    place = folder("warthog", f"warthog_{TRAINED}.csv", SOURCE)
    trained = log_of(place, TRAINED)
    judged = {name: log_of(place, name) for name in JUDGED}
    progress(1, 4)
    choice = choose(trained)
    robot = choice.fit.model.vehicle
    progress(2, 4)
    errors: dict[str, dict[str, FloatArray]] = {model: {} for model in choice.tried}
    ours, theirs = f"{choice.name}{LAGGED}", f"{OVERLAPPING}{LAGGED}"
    for model, tried in choice.tried.items():
        for name, log in judged.items():
            found = evaluate(tried.fit, log, interval=INTERVAL, own_lag=model == choice.name)
            errors[model][name] = found.errors.error
            if found.relagged is not None:
                errors.setdefault(ours, {})[name] = found.relagged.error
    progress(3, 4)
    motion = choice.fit.model
    settings: dict[str, Any] = {"trained": TRAINED, "interval": INTERVAL, "features": list(ridge.FEATURES)}
    for model, stride in ((RIDGE, None), (OVERLAPPING, STRIDE)):
        cut = cut_log(trained, motion, interval=INTERVAL, stride=stride)
        regression, lag, width = ridge.chosen(trained, cut, robot)
        for name, log in judged.items():
            own = cut_log(log, motion, interval=INTERVAL)
            error = own.measured[:, [0, 1, 5]] - regression(ridge.features(log, own, robot, lag))
            errors.setdefault(model, {})[name] = error
            if model == OVERLAPPING:
                errors.setdefault(theirs, {})[name] = ridge.own_lag(regression, log, own, robot, lag)
        settings[model] = {"intervals": len(cut), "lag": lag, "penalty": width}
    rows = [_row(model, name, errors[model]) for model in errors for name in (*JUDGED, "all")]
    draws = 1000 if quick else DRAWS
    pairs = [(rival, choice.name) for rival in errors if rival not in (choice.name, ours, theirs)] + [(theirs, ours)]
    bands = {rival: compare(_pooled(errors[rival]), _pooled(errors[mine]), draws) for rival, mine in pairs}
    progress(4, 4)
    return Result(
        name="warthog-ridge",
        rows=rows,
        paper=[],
        notes=[*_notes(choice.name, bands, settings), *WHY],
        settings={**settings, "chosen": choice.name, "bands": bands},
        keys=("model", "log"),
        draw=draw,
        summary={"margin": bands[RIDGE], "margin_overlapping": bands[OVERLAPPING], "margin_own_lag": bands[theirs]},
    )


def log_of(place: Path, name: str) -> Log:
    """A log by its name."""
    return read_log(place / f"warthog_{name}.csv", manifest=ROOT / "examples" / "warthog" / "log.toml")


def compare(rival: FloatArray, ours: FloatArray, draws: int, seed: int = 0) -> Row:
    """Difference of the pooled position rms, rival less ours [m], with a band by resampling intervals in pairs.

    rival, ours: errors of the same intervals, (I, 3).
    """
    squares = np.stack([np.sum(e[:, :2] ** 2, axis=1) for e in (rival, ours)])
    drawn = np.random.default_rng(seed).integers(0, squares.shape[1], (draws, squares.shape[1]))
    resampled = np.sqrt(squares[:, drawn].mean(axis=2))
    low, high = np.percentile(resampled[0] - resampled[1], BAND)
    first, second = np.sqrt(squares.mean(axis=1))
    return {"difference": float(first - second), "low": float(low), "high": float(high)}


def _pooled(errors: dict[str, FloatArray]) -> FloatArray:
    return np.concatenate([errors[name] for name in JUDGED])


def _row(model: str, name: str, errors: dict[str, FloatArray]) -> Row:
    e = _pooled(errors) if name == "all" else errors[name]
    position = np.hypot(e[:, 0], e[:, 1])
    yaw = float(np.degrees(_rms(e[:, 2])))
    return {
        "model": model, "log": name, "n": len(e), "position_rms": _rms(position),
        "position_median": float(np.median(position)), "yaw_rms_deg": yaw,
    }  # fmt: skip


def _notes(chosen: str, bands: dict[str, Row], settings: dict[str, Any]) -> list[str]:
    parts = [
        f"{name} {1e3 * b['difference']:+.1f} mm ({1e3 * b['low']:+.1f} to {1e3 * b['high']:+.1f})"
        for name, b in bands.items()
    ]
    return [
        f"Pooled position rms less that of {chosen}, which held-out likelihood inside {TRAINED} chose, with 95 % bands"
        f" of the paired difference: {'; '.join(parts)}.",
        f"The regression has {len(ridge.FEATURES)} features of the interval; its penalty and lag predict left-out"
        f" blocks of the fitted log best. It is fitted to the same {settings[RIDGE]['intervals']} intervals as the"
        f" models, or to {settings[OVERLAPPING]['intervals']} that overlap, which average the errors of the truth.",
        "Own lag: the delay of the poses of each half of a log is found from its other half, for both of them.",
    ]


def draw(result: Result, path: str | os.PathLike[str]) -> None:
    """Position rms of every model on every log."""
    from grouser.view import style

    models = list(dict.fromkeys(r["model"] for r in result.rows))
    logs = list(dict.fromkeys(r["log"] for r in result.rows))
    with style.picture(path, 9.0, 4.5) as figure:
        ax = figure.subplots()
        for k, model in enumerate(models):
            values = [r["position_rms"] for r in result.rows if r["model"] == model]
            at = np.arange(len(logs)) + (k - 0.5 * (len(models) - 1)) * 0.12
            ax.bar(at, values, 0.11, color=style.PALETTE[k], label=model)
        ax.set_xticks(range(len(logs)), [name.replace("_2024", "\n2024") for name in logs])
        ax.set_ylabel("position rms over 2 s [m]")
        ax.set_title(f"Fitted to {result.settings['trained']}, judged on other drives")
        ax.legend(ncols=2)


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))


WARTHOG_RIDGE = Experiment(
    "warthog-ridge", "Calibrated models against a ridge regression of 37 features, on other drives of a Warthog", run
)
