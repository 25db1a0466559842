"""Pictures: axes carry units, files appear whole, nothing global is left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import grouser as gr
from grouser.view import plot_rollouts, plot_run, plot_runs
from grouser.view.account import account

GROUND = gr.terrain.rough(rms=0.08, length=0.6, seed=2)


@pytest.fixture(scope="module")
def run() -> gr.Run:
    return gr.simulate(gr.Kinematics(gr.vehicle("rocky7")), GROUND, gr.drive.arc(0.5), duration=4.0)


@pytest.fixture(scope="module")
def flat() -> gr.Run:
    return gr.simulate(gr.Kinematics(gr.vehicle("rocky7")), gr.terrain.plane(), gr.drive.arc(0.5), duration=4.0)


def labelled(figure: Figure) -> list[str]:
    """Labels of all axes, each of which must name a unit in brackets."""
    labels = [text for axes in figure.axes for text in (axes.get_xlabel(), axes.get_ylabel()) if text]
    assert labels
    assert all("[" in text and "]" in text for text in labels)
    return labels


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_run_is_drawn_into_a_file_of_the_kind_its_name_says(run: gr.Run, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run{suffix}"
    figure = run.plot(path)
    assert {"x [m]", "y [m]", "time [s]", "slip speed [cm/s]", "angle [°]", "Δz [mm]"} <= set(labelled(figure))
    magic = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(magic)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_other_suffixes_are_refused_before_anything_is_drawn(run: gr.Run, tmp_path: Path) -> None:
    with pytest.raises(gr.GrouserError, match=r"ends in one of \.png, \.svg, \.pdf"):
        plot_run(run, tmp_path / "run.jpeg")
    with pytest.raises(gr.GrouserError, match="cannot be written"):
        plot_run(run, tmp_path / "missing" / "run.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("curvature", [0.0, 0.8])
def test_every_shipped_vehicle_can_be_drawn_with_or_without_ground(curvature: float) -> None:
    for name in gr.vehicles.names():
        model = gr.Kinematics(gr.vehicle(name))
        labelled(plot_run(gr.simulate(model, gr.terrain.plane(), gr.drive.arc(0.5, curvature), duration=0.4)))


def test_runs_side_by_side_tell_what_happened(run: gr.Run, flat: gr.Run, tmp_path: Path) -> None:
    tale = account(run, flat)
    figure = plot_runs([run, run], tmp_path / "two.png", commanded=[flat, None], accounts=[tale, None])
    assert "slip speed [m/s]" in {axes.get_ylabel() for axes in figure.axes} | set(_inset_labels(figure))
    words = " ".join(text.get_text() for axes in figure.axes for text in axes.texts)
    assert "because" in words
    assert tale.headline() in {axes.get_title(loc="left") for axes in figure.axes}


def _inset_labels(figure: Figure) -> list[str]:
    return [child.get_ylabel() for axes in figure.axes for child in axes.child_axes]


def test_account_parts_add_up_to_the_sideways_motion(run: gr.Run, flat: gr.Run) -> None:
    tale = account(run, flat)
    # The run is integrated by Euler's method with the velocities that are summed here.
    assert tale.from_heading + tale.from_sliding == pytest.approx(tale.left, abs=1e-3)
    assert tale.left == pytest.approx(run.position[-1, 1], abs=1e-9)
    assert tale.ahead == pytest.approx(run.position[-1, 0] - flat.position[-1, 0], abs=1e-9)


def test_account_of_flat_ground_has_nothing_to_explain(flat: gr.Run) -> None:
    tale = account(flat, flat)
    assert tale.left == 0.0
    assert tale.reasons() == []


def test_fan_is_coloured_by_how_each_ended(tmp_path: Path) -> None:
    husky = gr.vehicle("husky")
    small = gr.terrain.rough(rms=0.02, length=0.5, seed=1, size=6.0)
    commands = np.repeat(np.linspace(1.0, 8.0, 20)[:, None, None] * np.ones((1, 1, 4)), 100, axis=1)
    fan = gr.rollout(gr.Kinematics(husky), small, commands, every=5)
    assert 0 < fan.counts()["off_terrain"] < 20
    figure = plot_rollouts(fan, small, tmp_path / "fan.png")
    labelled(figure)
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert {text.get_text().split(" (")[0] for text in legend.get_texts()} == {"ok", "off terrain"}
    with pytest.raises(gr.GrouserError, match="every="):
        plot_rollouts(gr.rollout(gr.Kinematics(husky), small, commands), small)


def test_run_without_states_is_refused(run: gr.Run) -> None:
    import dataclasses

    record = run.contact
    empty = dataclasses.replace(
        run,
        time=run.time[:0],
        state=run.state[:0],
        velocity=run.velocity[:0],
        contact=type(record)(*(v[:0] for v in vars(record).values() if v is not None)),
    )
    with pytest.raises(gr.GrouserError, match="no states to draw"):
        plot_run(empty)


def test_drawing_leaves_the_settings_of_the_user_alone(run: gr.Run) -> None:
    before = dict(matplotlib.rcParams)
    plot_run(run)
    assert dict(matplotlib.rcParams) == before


def test_drawing_needs_neither_pyplot_nor_a_display(tmp_path: Path) -> None:
    code = (
        "import sys, grouser as gr; "
        "gr.simulate(gr.Kinematics(gr.vehicle('husky')), gr.terrain.plane(), gr.drive.arc(1.0), duration=0.4)"
        ".plot('run.png'); sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={"HOME": str(Path.home())}, check=False)
    assert done.returncode == 0
    assert (tmp_path / "run.png").stat().st_size > 0


def test_same_run_gives_the_same_picture_bytes(run: gr.Run, tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        run.plot(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_curves_that_differ_by_rounding_only_are_drawn_as_constant():
    """On a straight run over flat ground slip, attitude and height error are rounding; no axis may zoom into it."""
    run = gr.simulate(gr.Kinematics(gr.vehicle("zoe")), gr.terrain.plane(), gr.drive.arc(1.0), duration=1.0)
    axes = run.plot().axes
    spans = {a.get_ylabel(): np.ptp(a.get_ylim()) for a in axes if "time" in a.get_xlabel()}
    assert len(spans) == 3
    assert all(span >= 0.1 for span in spans.values()), spans
    assert not any(a.yaxis.get_offset_text().get_text() for a in axes)
