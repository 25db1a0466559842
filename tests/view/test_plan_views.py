"""Picture and page of a plan: ways with their costs and reasons, ellipses, samples, keep-outs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_viewer_chromium import Open, assert_drawn_as, assert_not_blank, opened, picture
from test_viewer_page import Page, decoded

import grouser as gr
from grouser.plan import KeepOut, Plan, Uncertain
from grouser.view.arrays import SIGMAS_95
from grouser.view.plan_page import SHOWN, Way, refused, routes

__all__ = ["opened"]


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Of an uncertain husky round a keep-out."""
    slip = np.array([-0.05, 0.0, -0.05, 0.0, 0.0, -0.05])
    husky = gr.Kinematics(gr.vehicle("husky"), slip=gr.slip.BodySlip(slip))
    model = Uncertain(
        model=husky,
        draw=lambda rng: husky.replace(slip=gr.slip.BodySlip(rng.normal(slip, 0.02))),
    )
    ground = gr.terrain.rough(rms=0.05, length=1.5, seed=2, size=16.0)
    keep_out = KeepOut.circles([(-2.0, -1.0, 0.6)], ground.bounds)
    return gr.plan.plan(model, ground, (-4.0, -2.0), (0.0, 0.0), samples=16, draws=10, risk=0.3, keep_out=keep_out)


@pytest.fixture(scope="module")
def page(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plan.view(tmp_path_factory.mktemp("plan") / "plan.html", title="husky: least energy")


def lines_of(scene: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one for one in scene["lines"]}


def test_the_page_has_the_route_the_samples_and_the_refused_way_with_its_reason(plan: Plan, page: Path) -> None:
    scene = json.loads(Page(page.read_text()).scripts["application/json"])
    lines, origin = lines_of(scene), np.array(scene["origin"])
    assert {"goal", "samples of the controller", "keep-outs", "refused: straight way"} <= lines.keys()
    (name,) = (name for name in lines if name.startswith("route of least energy"))
    route = decoded(lines[name]["paths"][0]) + origin[:2]
    np.testing.assert_allclose(route, plan.route.path[:, :2], rtol=0.0, atol=1e-5)
    assert lines["refused: straight way"]["detail"] == plan.refused[0].reason
    samples = [one for fan in plan.drive.fans for one in fan]
    assert len(lines["samples of the controller"]["paths"]) == len(samples) > 10
    np.testing.assert_allclose(
        decoded(lines["samples of the controller"]["paths"][3]) + origin, samples[3], rtol=0.0, atol=1e-5
    )
    ring = np.concatenate([decoded(one) + origin[:2] for one in lines["keep-outs"]["paths"]])
    np.testing.assert_allclose(np.hypot(*(ring - (-2.0, -1.0)).T), 0.6, rtol=0.0, atol=0.1)  # a cell
    energy = float(plan.drive.energy.sum())
    assert f"{energy:.0f} J" in scene["title"]
    assert "chance of failure" in scene["title"]
    (run,) = scene["runs"]
    assert run["rows"] == len(plan.run.time)


def test_the_page_has_the_ellipses_of_both_spreads_all_along_the_way(plan: Plan, page: Path) -> None:
    scene = json.loads(Page(page.read_text()).scripts["application/json"])
    lines, origin = lines_of(scene), np.array(scene["origin"])[:2]
    for name, spread in (("steered along the plan", plan.spread), ("without feedback", plan.blind)):
        assert spread is not None
        rings = lines[name]["paths"]
        assert len(rings) == 23
        off = decoded(rings[-1]) + origin - spread.mean[-1, :2]
        squared = np.einsum("ni,ij,nj->n", off, np.linalg.inv(spread.covariance[-1, :2, :2]), off)
        np.testing.assert_allclose(squared, SIGMAS_95**2, rtol=1e-2)  # places are rounded


def test_the_picture_names_every_line_with_its_cost(plan: Plan, tmp_path: Path) -> None:
    figure = plan.plot(tmp_path / "plan.png", title="husky")
    assert (tmp_path / "plan.png").stat().st_size > 20_000
    above, *below = figure.axes
    legend = above.get_legend()
    assert legend is not None
    words = [text.get_text() for text in legend.get_texts()]
    assert f"refused: straight way, {plan.refused[0].reason}" in words
    drive = plan.drive
    assert f"predicted drive: {plan.distance:.1f} m, {drive.time[-1]:.0f} s, {drive.energy.sum():.0f} J" in words
    assert {"95 % ellipses without feedback", "95 % ellipses, steered along the plan", "keep-out", "goal"} <= set(words)
    assert len(words) == len(set(words))
    assert [axes.get_ylabel() for axes in below[:3]] == ["tip margin [°]", "slip [%]", "speed [m/s]"]
    assert above.get_xlabel() == "x [m]"
    figure.canvas.draw()
    boxes = [axes.get_tightbbox() for axes in (above, *below[:3])]
    for one in range(len(boxes)):
        for other in range(one):
            assert not boxes[one].overlaps(boxes[other]), (one, other)  # nothing is printed over


def test_many_refused_ways_share_a_line(plan: Plan) -> None:
    ways = [Way(f"way {k}", "tips", np.zeros((2, 2)), "#000000") for k in range(20)]

    class Full:
        refused = tuple(
            gr.plan.Refusal(what=way.name, reason=way.detail, place=(0.0, 0.0), path=way.path) for way in ways
        )

    shown = refused(Full())  # type: ignore[arg-type]
    assert len(shown) == SHOWN
    assert shown[-1].name == "16 more ways"


def test_a_way_that_is_best_for_several_things_is_one_line_with_its_costs(plan: Plan) -> None:
    twins = [replace(plan.route, minimise=name, alternatives=()) for name in ("time", "risk")]
    (way,) = routes(replace(plan, route=replace(plan.route, minimise="energy", alternatives=tuple(twins))))
    assert way.name == "route of least energy, time and risk"
    assert f"{plan.route.distance:.1f} m" in way.detail
    far = replace(twins[0], driven=twins[0].driven + 2.0)
    first, second = routes(replace(plan, route=replace(plan.route, minimise="energy", alternatives=(far,))))
    assert (first.name, second.name) == ("route of least energy", "least time")


def test_in_a_browser_the_legend_says_it_all(opened: Open, plan: Plan, page: Path) -> None:
    with opened(page, width=1280, height=900) as shown:
        shown.evaluate("window.grouser.seek(2)")
        assert_drawn_as(shown, plan.run, 0, plan.run.state[20])
        legend = shown.locator("#legend").inner_text()
        for words in ("route", "samples of the controller", "refused: straight way", plan.refused[0].reason, "goal"):
            assert words in legend
        assert "without feedback" in legend
        assert_not_blank(picture(shown, "plan"))
        assert shown.evaluate("document.documentElement.scrollWidth") <= 1280
