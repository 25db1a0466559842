"""Picture of how sure a fit is: how far the log narrowed each parameter, and which of them move together."""

from __future__ import annotations

import math
import os

import numpy as np
from matplotlib.figure import Figure

from grouser.checks import FloatArray
from grouser.errors import GrouserError
from grouser.motion.fit import WEAK, Fit
from grouser.view import style

MOST = 24
"""Parameters drawn; of more, the first."""


def plot_certainty(fit: Fit, path: str | os.PathLike[str] | None = None) -> Figure:
    """Left: sigma before over sigma after, by parameter; right: correlations. Of the systematic parameters."""
    names = [p.name for p in fit.systematic][:MOST]
    if not names:
        raise GrouserError("this fit has no systematic parameters to draw: only noise was calibrated")
    n = len(names)
    before = np.array([p.sigma for p in fit.systematic[:n]])
    after = np.sqrt(np.maximum(np.diag(fit.covariance)[:n], 1e-300))
    with style.picture(path, 12.0, max(4.2, 2.2 + 0.32 * n)) as figure:
        bars, square = figure.subplots(1, 2, width_ratios=[1.0, 1.1])
        narrowed = np.maximum(before / after, 1.0)
        colours = [style.VERMILLION if x < WEAK else style.BLUE for x in narrowed]
        bars.barh(range(n), narrowed, color=colours, height=0.7)
        bars.axvline(WEAK, color=style.FAINT, lw=1.0, ls="--")
        bars.set_xscale("log")
        bars.set_xlim(0.9, max(2.0 * float(narrowed.max()), 10.0))
        bars.xaxis.set_major_formatter("{x:g}")
        bars.set_yticks(range(n), [style.plain(name) for name in names])
        bars.invert_yaxis()
        bars.grid(visible=False, axis="y")
        style.label(
            bars, x="prior sigma over sigma [1]", title=f"What the log told (dashed: {WEAK:g}, hardly anything)"
        )
        image = square.imshow(correlation(fit)[:n, :n], cmap=style.SIGNED, vmin=-1.0, vmax=1.0)
        square.set_xticks(range(n), [style.plain(name) for name in names], rotation=90)
        square.set_yticks(range(n), [style.plain(name) for name in names])
        square.grid(visible=False)
        style.label(square, title="Which move together")
        figure.colorbar(image, ax=square, shrink=0.9).set_label("correlation [1]")
    return figure


def correlation(fit: Fit) -> FloatArray:
    """Of the systematic parameters, (np, np)."""
    sigma = np.sqrt(np.maximum(np.diag(fit.covariance), math.ulp(0.0)))
    result: FloatArray = np.clip(fit.covariance / np.outer(sigma, sigma), -1.0, 1.0)
    return result
