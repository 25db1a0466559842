"""Look of all pictures: colours that the colour-blind can distinguish, units on axes."""

import math
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from matplotlib.ticker import ScalarFormatter

from grouser.checks import FloatArray
from grouser.errors import GrouserError
from grouser.files import write_whole
from grouser.pictures import picture_suffix as picture_suffix
from grouser.view.arrays import SIGMAS_95
from grouser.view.colours import *  # noqa: F403  colours are part of the look
from grouser.view.colours import PALETTE

GROUND = LinearSegmentedColormap.from_list("ground", ["#D9D2C6", "#EDE9E1", "#FBFAF7"])
"""Pale sand: low is darker. Pale, so that lines on it stay readable."""
SLIP = LinearSegmentedColormap.from_list("slip", ["#7FB8D8", "#0072B2", "#5B3A8C", "#B5245C", "#D55E00"])
"""From rolling (blue) to slipping (orange-red); its lightness falls and its hue turns, so it reads in grey too."""
RUT = (0.42, 0.33, 0.22)
"""Pressed soil, drawn over the ground the more opaque the deeper."""
SIGNED = "PuOr_r"
"""Matplotlib's map for values of both signs: purple below zero, orange above, white between."""

_LOOK = matplotlib.rc_params_from_file(Path(__file__).with_name("look.mplstyle"), use_default_template=False)
File = str | os.PathLike[str] | None
"""Where a picture is written: .png, .svg or .pdf; None, nowhere."""


def look() -> AbstractContextManager[None]:
    """The look, for as long as a picture is being made; the user's own settings come back afterwards."""
    return matplotlib.rc_context(_LOOK)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure [inch] that needs neither a display nor pyplot."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def picture(path: File, width: float, height: float, *, title: str = "", dpi: float = 150.0) -> Iterator[Figure]:
    """A new figure [inch] in the look, written where a path is given; a name of another kind is refused first."""
    if path is not None:
        picture_suffix(path)
    with look():
        figure = new_figure(width, height)
        yield figure
        if title:
            figure.suptitle(plain(title), x=0.02, ha="left", fontsize=11)
        if path is not None:
            save(figure, path, dpi=dpi)


def ellipse(covariance: FloatArray, centre: FloatArray, factor: float = SIGMAS_95, **look: Any) -> Ellipse:
    """The curve at `factor` sigmas of a covariance (2, 2) [m²]; by default it holds 95 % of a normal distribution."""
    values, vectors = np.linalg.eigh(covariance)
    width, height = 2.0 * factor * np.sqrt(np.maximum(values[::-1], 0.0))
    angle = math.degrees(math.atan2(vectors[1, 1], vectors[0, 1]))
    return Ellipse((float(centre[0]), float(centre[1])), width, height, angle=angle, fill=False, **look)


class _Far(ScalarFormatter):
    """Ticks as usual; far from zero, as on a survey, what is left out of them is written with all its digits."""

    def __init__(self) -> None:
        super().__init__()
        self.set_powerlimits((-6, 9))  # 5309000, not 5.309 with 1e6 in a corner

    def get_offset(self) -> str:
        return f"{self.offset:+.10g} m" if self.offset else super().get_offset()


def label(axes: Axes, *, x: str = "", y: str = "", title: str = "") -> None:
    """Name the axes and the plot; a name from a file is text, never a formula."""
    if (x, y) == ("x [m]", "y [m]"):
        axes.xaxis.set_major_formatter(_Far())
        axes.yaxis.set_major_formatter(_Far())
    axes.set_xlabel(plain(x))
    axes.set_ylabel(plain(y))
    if title:
        axes.set_title(plain(title))


def colour_of(i: int) -> str:
    """Colour of curve i, of a wheel or joint."""
    return PALETTE[i % len(PALETTE)]


def draw_bar(axes: Axes, source: Any, words: str, *, left: float = 1.012, width: float = 0.011) -> None:
    """A colour bar as tall as the axes; its place in shares of their width."""
    assert isinstance(axes.figure, Figure)
    bar = axes.figure.colorbar(source, cax=axes.inset_axes((left, 0.0, width, 1.0)))
    bar.ax.grid(False)
    bar.set_label(words)
    bar.outline.set_visible(False)


def plain(text: str) -> str:
    """A text as Matplotlib takes it without reading formulas between dollar signs."""
    return text.replace("$", r"\$")


def save(figure: Figure, path: str | os.PathLike[str], *, dpi: float = 150.0) -> None:
    """Write a figure, whole or not at all; the same figure gives the same bytes."""
    kind = picture_suffix(path)[1:]
    metadata: Any = {"png": {"Software": "grouser"}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    with look():
        write_whole(path, lambda file: figure.savefig(file, format=kind, dpi=dpi, metadata=metadata), GrouserError)
