"""Picture of errors over the duration of a prediction: their size, and the share in the predicted 95 % ellipses."""

import numpy as np
from matplotlib.axes import Axes

from grouser.calibration.evaluate import Horizon
from grouser.view import style


def draw_horizons(sizes: Axes, shares: Axes, horizons: tuple[Horizon, ...]) -> None:
    """Position errors against those predicted, and coverage, of each duration, into two panels."""
    T = np.array([horizon.interval for horizon in horizons])
    order = np.argsort(T)
    T = T[order]
    found = [horizons[k].summary() for k in order]
    sizes.plot(T, [one["position_rms"] for one in found], "o-", color=style.VERMILLION, label="of these errors")
    sizes.plot(T, [one["expected_rms"] for one in found], "s--", color=style.BLUE, label="as predicted")
    sizes.set(ylim=(0.0, None), xlim=(0.0, None))
    sizes.legend(loc="upper left")
    style.label(sizes, x="duration of a prediction [s]", y="position error, rms [m]", title="Errors by duration")
    inside = np.array([one["inside_95"] for one in found])
    # Two sigma of a share of n independent intervals, if 95 % is the truth.
    band = 2.0 * np.sqrt(0.95 * 0.05 / np.array([one["intervals"] for one in found]))
    shares.axhline(95.0, color=style.FAINT, lw=1.0, ls="--")
    shares.fill_between(
        T, 95.0 - 100.0 * band, np.minimum(95.0 + 100.0 * band, 100.0), color=style.BLUE, alpha=0.15, lw=0
    )
    shares.plot(T, 100.0 * inside, "o-", color=style.VERMILLION)
    shares.set(ylim=(min(60.0, 95.0 * float(inside.min())), 101.0), xlim=(0.0, None))
    style.label(
        shares,
        x="duration of a prediction [s]",
        y="in their 95 % ellipse [%]",
        title="Coverage (band: chance, 2 sigma)",
    )
