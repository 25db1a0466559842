"""Pictures of a study: response curves with confidence bands, what a measure depends on, pair plots."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from grouser.study.results import Results
from grouser.study.sensitivity import response
from grouser.view import style

COLUMNS = 3
MOST_GROUPS = 8
"""Combinations of ground, soil and drive that are drawn apart."""
MOST_PAIRS = 5
"""Parameters of a pair plot."""
MOST_POINTS = 4000
"""Points of a scatter plot."""


def plot_study(results: Results, path: style.File = None, *, measure: str) -> Figure:
    """A response curve for each varied parameter, a colour for each ground, soil and drive, and shares of variance."""
    names = results.varied
    panels = len(names) + 1
    columns = 2 if panels == 4 else min(panels, COLUMNS)
    rows = math.ceil(panels / columns)
    with style.picture(path, 3.6 * columns, 2.9 * rows + 0.3, title=title(results)) as figure:
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for name, one in zip(names, axes, strict=False):
            _response(one, results, measure, name)
        _shares(axes[len(names)], results, measure)
        for empty in axes[panels:]:
            empty.set_visible(False)
        if len(results.by) > 1:
            handles = axes[0].get_legend_handles_labels()
            figure.legend(*handles, loc="outside lower center", ncols=min(len(results.by), 4), fontsize=8)
    return figure


def title(results: Results) -> str:
    """Title of the study, or its vehicle and number of runs."""
    return str(results.spec.fields["title"]) or f"{results.spec.fields['vehicle']}: {results.rows} runs"


def label(results: Results, name: str) -> str:
    """A column with its unit."""
    unit = results.units.get(name, "")
    return f"{name} [{'°' if unit == 'deg' else unit}]" if unit not in ("", "1") else name


def groups(results: Results) -> dict[str, np.ndarray]:
    """Rows by combination; together where those are many."""
    return results.by if len(results.by) <= MOST_GROUPS else {"all": np.arange(results.rows)}


def _response(axes: Axes, results: Results, measure: str, name: str) -> None:
    x, y = results.column(name), results.column(measure)
    for (group, rows), colour in zip(groups(results).items(), style.PALETTE, strict=False):
        found = response(x[rows], y[rows])
        axes.fill_between(found.x, found.low, found.high, color=colour, alpha=0.25, linewidth=0.0)
        axes.plot(found.x, found.mean, color=colour, linewidth=1.5, label=style.plain(group))
    style.label(axes, x=label(results, name), y=label(results, measure))


def _shares(axes: Axes, results: Results, measure: str) -> None:
    """Sobol indices where the design gives them, else shares of variance by the bins of the response curves."""
    names, y = results.varied, results.column(measure)
    place = np.arange(len(names))
    indices = results.indices(measure)
    if indices is None:
        for k, ((group, rows), colour) in enumerate(zip(groups(results).items(), style.PALETTE, strict=False)):
            shares = [response(results.column(name)[rows], y[rows]).share for name in names]
            height = 0.8 / len(groups(results))
            axes.barh(place + (k + 0.5) * height - 0.4, shares, height, color=colour, label=style.plain(group))
        style.label(axes, x="share of variance, alone [1]", title="")
    else:
        found = next(iter(indices.values()))
        first = (-0.2, found.first, found.first_interval, style.BLUE, "first order")
        for shift, values, bounds, colour, said in (
            first,
            (0.2, found.total, found.total_interval, style.ORANGE, "total"),
        ):
            error = np.abs(np.asarray(bounds) - values)
            axes.barh(place + shift, values, 0.38, xerr=error, color=colour, label=said, error_kw={"lw": 1.0})
        axes.legend(fontsize=8)
        style.label(axes, x="Sobol index [1]" + (f" ({next(iter(indices))})" if len(indices) > 1 else ""))
    axes.set_yticks(place, [style.plain(name) for name in names], fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0.0, max(1.0, axes.get_xlim()[1]))


def variant_means(results: Results, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """First row of each variant, and the mean of a measure over its grounds, soils and drives; NaN without a number."""
    _, first, which = np.unique(results.column("variant"), return_index=True, return_inverse=True)
    y = results.column(measure)
    good = np.isfinite(y)
    with np.errstate(invalid="ignore"):
        return first, np.bincount(which, np.where(good, y, 0.0)) / np.bincount(which, good)


def plot_pairs(results: Results, path: style.File = None, *, measure: str) -> Figure:
    """Every two of the first varied parameters, a point for each variant, coloured by its mean of a measure.

    Variants of which no run gave a number are grey.
    """
    names = results.varied[:MOST_PAIRS]
    n = max(len(names) - 1, 1)
    first, y = variant_means(results, measure)
    step = max(1, len(first) // MOST_POINTS)
    first, y = first[::step], y[::step]
    good = np.isfinite(y)
    heading = label(results, measure) + (", mean of each variant" if len(results.by) > 1 else "")
    with style.picture(path, 2.1 * n + 1.6, 2.0 * n + 0.4, title=heading) as figure:
        axes = figure.subplots(n, n, squeeze=False)
        shown = None
        for (i, j), one in np.ndenumerate(axes):
            if j > i or len(names) < 2:
                one.set_visible(False)
                continue
            a, b = results.column(names[j])[first], results.column(names[i + 1])[first]
            one.scatter(a[~good], b[~good], s=4, color="#BBBBBB", rasterized=True)
            shown = one.scatter(a[good], b[good], c=y[good], s=4, cmap="viridis", rasterized=True)
            x, y_name = label(results, names[j]), label(results, names[i + 1])
            style.label(one, x=x if i == n - 1 else "", y=y_name if j == 0 else "")
        if shown is not None:
            figure.colorbar(shown, ax=axes, shrink=0.7)
    return figure
