"""One look for all pictures: every one goes through view/style.py, axes carry units, colours are the palette's."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Text

import grouser as gr
from experiments import drive_windows_plot, surface_plot, table_2_4_plot
from experiments.experiment import Result
from experiments.step_plot import draw_steps
from grouser.view import plot_rollouts, plot_run, style
from grouser.view.plot import plot_forces

SOURCES = sorted(Path(gr.__file__).parent.rglob("*.py"))
NAMED = {*style.PALETTE, style.BLACK, style.INK, style.FAINT, style.SLATE}
MAGIC = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def calls(path: Path) -> Iterator[tuple[ast.Call, str]]:
    """Every call in a file, and the name that is called."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            function = node.func
            yield node, function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def test_every_picture_goes_through_the_style() -> None:
    may = {"style.py", "report.py"}  # the second embeds figures that the first made
    for path in SOURCES:
        names = {name for _, name in calls(path)}
        assert path.name in may or not {"savefig", "Figure", "rc_context"} & names, path
        assert "pyplot" not in path.read_text(encoding="utf-8").replace("nor pyplot", ""), path


def test_every_label_that_is_written_out_has_a_unit() -> None:
    found = 0
    for path in SOURCES:
        for call, name in calls(path):
            labels = list(call.args[:1]) if name in ("set_xlabel", "set_ylabel") else []
            wanted = ("x", "y") if name == "label" else ("xlabel", "ylabel")
            labels += [keyword.value for keyword in call.keywords if keyword.arg in wanted]
            for label in labels:
                text = written(label)
                if text:
                    found += 1
                    assert has_unit(text), f"{path.name}, line {label.lineno}: {text!r} has no unit in brackets"
    assert found > 40


def written(node: ast.expr) -> str:
    """A text as it stands in the code; what is filled in later may bring the unit."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "[?]" for v in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else ""


def has_unit(text: str) -> bool:
    return 0 <= text.find("[") < text.find("]") - 1


@pytest.fixture(scope="module")
def run() -> gr.Run:
    ground = gr.terrain.rough(rms=0.1, length=0.8, seed=3)
    return gr.simulate(gr.Dynamics(gr.vehicle("zoe")), ground, gr.drive.arc(1.0), duration=1.0)


def made_up(**columns: list[Any]) -> Result:
    """A result of made-up rows, half of them the paper's too."""
    rows = [dict(zip(columns, row, strict=True)) for row in itertools.product(*columns.values())]
    return Result("made up", rows, rows[::2], [], {}, (), draw=lambda result, path: None)


def steps(path: Path) -> None:
    result = made_up(contact=["a", "b", "c", "d", "e"], dt=[0.01, 0.1], error=[0.2])
    draw_steps(result, path, by="contact", panels=[("error", "error [m]")], title="Errors", logarithmic=["error"])


def table(path: Path) -> None:
    methods = list(table_2_4_plot.STYLES)
    numbers = {name: [0.1] for name in ("contact_speed", "position_error", "yaw_error", "us_per_step")}
    table_2_4_plot.draw(made_up(method=methods, dt=[0.01, 0.1], **numbers), path)


def surfaces(path: Path) -> None:
    columns = {"surface": ["sand", "rock"], "model": ["a", "b"], "horizon": [10.0, 20.0]}
    surface_plot.draw(made_up(**columns, position_error=[0.2], yaw_error=[0.1]), "Errors", path)


def windows(path: Path) -> None:
    columns = {"model": ["a", "b"], "poses": ["own"], "surface": ["grass", "ice"], "windows": ["steady", "transient"]}
    errors = {"surface": "ice", "steady": [1, 0], "kinematic": [0.1, 0.2], "piecewise-linear": [0.2, 0.1]}
    result = made_up(**columns, position_median=[0.2], yaw_median_deg=[3.0])
    result.settings.update(surfaces=["grass", "ice"], errors=errors)
    drive_windows_plot.draw(result, path)


def fan(path: Path) -> None:
    model = gr.Kinematics(gr.vehicle("husky"))
    commands = np.full((3, 10, 4), 2.0)
    commands[1, :, ::2] = 1.0
    plot_rollouts(gr.rollout(model, gr.terrain.plane(), commands, every=2), gr.terrain.plane(), path)


DRAWN: dict[str, Callable[[Path], object]] = {
    "steps": steps,
    "table": table,
    "surfaces": surfaces,
    "windows": windows,
    "fan": fan,
    "tyre": lambda path: gr.contact.Pacejka().plot(path),
    "piecewise": lambda path: gr.contact.PiecewiseLinear().plot(path),
}


def check_axes(figure: Figure) -> None:
    """Axes that show a quantity name it and its unit; colours that carry meaning are the palette's."""
    for axes in figure.axes:
        for axis, label in ((axes.xaxis, axes.get_xlabel()), (axes.yaxis, axes.get_ylabel())):
            said = [tick.get_text() for tick in axis.get_ticklabels()]
            counted = any(text.replace("−", "").replace(".", "").isdigit() for text in said)
            assert has_unit(label) or not counted or shared(axes, axis), f"{label!r} of {axes.get_title()!r}"
        for line in axes.lines:
            single = len(line.get_xdata()) == 1 or line.get_linestyle() == "None"
            assert known(line.get_markeredgecolor() if single else line.get_color()), line
        for patch in axes.patches:
            assert known(patch.get_facecolor()) or known(patch.get_edgecolor()), patch


def shared(axes: Any, axis: Any) -> bool:
    """Whether another axis says what this one is: a shared one, or none at all on a colour bar's idle side."""
    others = axes.get_shared_x_axes() if axis is axes.xaxis else axes.get_shared_y_axes()
    return len(others.get_siblings(axes)) > 1 or not axis.get_visible() or not axis.get_ticklocs().size


def known(colour: Any) -> bool:
    """Of the palette, or a grey."""
    red, green, blue, _ = to_rgba(colour)
    return any(to_rgb(name) == pytest.approx((red, green, blue), abs=0.01) for name in NAMED) or red == green == blue


@pytest.mark.parametrize("name", DRAWN)
def test_figures_have_units_and_colours_of_the_palette(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = []
    save = style.save
    monkeypatch.setattr(
        style, "save", lambda figure, path, **more: (figures.append(figure), save(figure, path, **more))
    )
    DRAWN[name](tmp_path / "picture.svg")
    (figure,) = figures
    figure.draw_without_rendering()
    check_axes(figure)
    assert (tmp_path / "picture.svg").read_bytes().startswith(MAGIC[".svg"])


def test_pictures_of_a_run_have_units_and_colours_of_the_palette(run: gr.Run) -> None:
    for figure in (plot_run(run), plot_forces(run)):
        figure.draw_without_rendering()
        check_axes(figure)


@pytest.mark.parametrize("suffix", MAGIC)
def test_vectors_and_bitmaps_by_the_name_of_the_file(run: gr.Run, suffix: str, tmp_path: Path) -> None:
    plot_forces(run, tmp_path / f"forces{suffix}")
    gr.contact.Pacejka().plot(tmp_path / f"tyre{suffix}")
    for file in tmp_path.iterdir():
        assert file.read_bytes().startswith(MAGIC[suffix])


def test_another_suffix_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    with pytest.raises(gr.GrouserError, match=r"one of \.png, \.svg, \.pdf"), style.picture(tmp_path / "a.gif", 1, 1):
        pytest.fail("drew")
    assert list(tmp_path.iterdir()) == []


def test_a_failing_picture_leaves_no_file_and_the_users_settings(tmp_path: Path) -> None:
    import matplotlib

    before = matplotlib.rcParams["axes.grid"]
    with pytest.raises(ZeroDivisionError), style.picture(tmp_path / "a.png", 1, 1):
        raise ZeroDivisionError
    assert matplotlib.rcParams["axes.grid"] == before
    assert list(tmp_path.iterdir()) == []


def test_dollar_signs_are_text_and_not_a_formula() -> None:
    figure = style.new_figure(3.0, 2.0)
    axes = figure.subplots()
    style.label(axes, x="x [m]", title="costs $\\frac$ 5")
    figure.draw_without_rendering()  # a formula that cannot be read would raise here
    assert isinstance(axes.title, Text)
    assert axes.title.get_text() == "costs \\$\\frac\\$ 5"


def test_colours_of_the_palette_differ_for_every_kind_of_eye() -> None:
    """CIE 1976 differences after Viénot, Brettel and Mollon (1999); 2.3 is just noticeable, 10 plain to see."""
    blind = {
        "normal": np.eye(3),
        "protanope": np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]]),
        "deuteranope": np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]),
    }
    for eye, seen in blind.items():
        colours = [lab(np.clip(seen @ linear(np.array(to_rgb(c))), 0.0, 1.0)) for c in style.PALETTE]
        for (i, a), (j, b) in itertools.combinations(enumerate(colours), 2):
            assert np.linalg.norm(a - b) > 10.0, f"{eye}: {style.PALETTE[i]} and {style.PALETTE[j]}"


def linear(rgb: Any) -> Any:
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb: Any) -> Any:
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ rgb
    f = np.cbrt(np.maximum(xyz / [0.9505, 1.0, 1.089], 1e-6))
    return np.array([116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])])
