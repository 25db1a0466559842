"""The viewer in a real browser: opened from disk with the network cut, it draws what the run says.

Pictures are kept in out/viewer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

import grouser as gr
from grouser.kinematics import frame_poses
from grouser.view import UncertainPoses, arrays, view_runs
from tests.chromium import Watch, until

PICTURES = Path(__file__).resolve().parents[2] / "out" / "viewer"
HOSTILE = "</script><img src=x onerror=window.hurt=1><svg onload=window.hurt=1>"

Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Open a page from disk with the network cut; errors on its console and requests to anywhere fail the test."""
    watch = Watch()

    @contextmanager
    def open_page(path: Path | str, *, width: int = 900, height: int = 420, **options: Any) -> Iterator[Any]:
        viewport = {"width": width, "height": height}
        with watch.page(browser, "file:", viewport=viewport, offline=True, **options) as page:
            page.goto(path.as_uri() if isinstance(path, Path) else path)
            page.wait_for_selector("html[data-ready=true]", state="attached")
            drawn(page)
            yield page

    yield open_page
    assert not watch.said
    assert not watch.asked


def drawn(page: Any) -> None:
    """Wait until what was asked for is on the screen: the first charts come a moment after the first picture."""
    frame = "(act) => requestAnimationFrame(() => act())"
    page.evaluate(f"() => new Promise((done) => {{ const f = {frame}; f(() => setTimeout(() => f(done))); }})")


@pytest.fixture(scope="module")
def ground() -> gr.terrain.Terrain:
    return gr.terrain.rough(rms=0.1, length=0.8, seed=2, size=12.0)


@pytest.fixture(scope="module")
def forced(ground: gr.terrain.Terrain) -> gr.Run:
    return gr.simulate(gr.Dynamics(gr.vehicle("rocky7")), ground, gr.drive.arc(0.4, 0.3), duration=4.0)


@pytest.fixture(scope="module")
def rolling(ground: gr.terrain.Terrain) -> gr.Run:
    return gr.simulate(gr.Kinematics(gr.vehicle("zoe")), ground, gr.drive.arc(0.7, -0.1), duration=3.0)


def assert_drawn_as(page: Any, run: gr.Run, index: int, state: np.ndarray) -> None:
    """Every wheel stands as in a state of the run."""
    R_world_frame, p_world_frame = frame_poses(run.vehicle, state)
    for w, frame in enumerate(run.vehicle.arrays.wheel):
        pose = page.evaluate("([run, wheel]) => window.grouser.wheelPose(run, wheel)", [index, w])
        np.testing.assert_allclose(pose["position"], p_world_frame[frame], atol=1e-6, rtol=0.0)
        np.testing.assert_allclose(np.reshape(pose["rotation"], (3, 3)), R_world_frame[frame], atol=1e-6, rtol=0.0)


def picture(page: Any, name: str) -> np.ndarray:
    """The canvas as pixels, after what was asked for has been drawn, finely; the whole page is kept."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    drawn(page)
    until(page, "window.grouser.state().fine")
    drawn(page)
    page.screenshot(path=PICTURES / f"{name}.png")
    box = page.locator("#stage").bounding_box()
    pixels = imread(PICTURES / f"{name}.png")[..., :3]
    scale = pixels.shape[1] / page.viewport_size["width"]
    left, top, wide, high = (int(scale * box[key]) for key in ("x", "y", "width", "height"))
    part: np.ndarray = pixels[top : top + high, left : left + wide]
    return part


def assert_not_blank(pixels: np.ndarray) -> None:
    shades = np.unique((255 * pixels).astype(int).reshape(-1, 3), axis=0)
    assert len(shades) > 500  # a blank sky has some dozens
    assert pixels.std(axis=(0, 1)).max() > 0.03


def test_wheels_are_drawn_where_the_run_has_them(opened: Open, forced: gr.Run, rolling: gr.Run, tmp_path: Path) -> None:
    path = forced.view(tmp_path / "two.html", rolling, names=["forces", "no forces"])
    with opened(path) as page:
        state = page.evaluate("window.grouser.state()")
        assert state["webgl"]
        assert state["duration"] == forced.time[-1]
        assert [(run["name"], run["rows"]) for run in state["runs"]] == [("forces", 101), ("no forces", 76)]
        for row in (0, 37, 75):
            page.evaluate("(t) => window.grouser.seek(t)", float(forced.time[row]))
            assert_drawn_as(page, forced, 0, forced.state[row])
            assert_drawn_as(page, rolling, 1, rolling.state[row])
        # Between two states it stands between them.
        page.evaluate("(t) => window.grouser.seek(t)", 0.5 * float(forced.time[50] + forced.time[51]))
        assert_drawn_as(page, forced, 0, 0.5 * (forced.state[50] + forced.state[51]))
        # A run that has ended stays where it ended; beyond the end is the end.
        page.evaluate("window.grouser.seek(99)")
        assert page.evaluate("window.grouser.state().time") == forced.time[-1]
        assert_drawn_as(page, rolling, 1, rolling.state[-1])


def test_page_draws_plays_pauses_and_switches(opened: Open, forced: gr.Run, rolling: gr.Run, tmp_path: Path) -> None:
    path = forced.view(tmp_path / "two.html", rolling, names=["forces", "no forces"])
    with opened(path, color_scheme="dark") as page:
        page.evaluate("window.grouser.seek(2)")
        page.keyboard.press("l")
        both = picture(page, "two-dark")
        assert_not_blank(both)

        # Without the followed run its pixels change.
        page.get_by_label("show forces", exact=True).first.uncheck()
        assert [run["shown"] for run in page.evaluate("window.grouser.state().runs")] == [False, True]
        assert np.abs(picture(page, "two-hidden") - both).max(axis=-1).mean() > 0.002
        assert page.get_by_label("show no forces", exact=True).is_checked()
        page.get_by_label("show forces", exact=True).first.check()

        # Light follows the switch, help the key; typing a key moves one recorded step.
        page.get_by_label("dark or light (D)").click()
        assert page.evaluate("window.grouser.state().theme") == "light"
        light = picture(page, "two-light")
        assert_not_blank(light)
        assert light.mean() > both.mean() + 0.1
        page.keyboard.press("?")
        assert page.locator("#help").is_visible()
        page.keyboard.press("Escape")
        page.keyboard.press(".")
        assert page.evaluate("window.grouser.state().time") == pytest.approx(2.04, abs=1e-12)
        page.keyboard.press("n")
        assert page.evaluate("window.grouser.state().focus") == 1

        # Playing, time passes and pictures are drawn; paused, neither.
        page.keyboard.press("Home")
        page.get_by_label("play or pause (space)").click()
        until(page, "window.grouser.state().time > 0")
        page.evaluate("window.grouser.pause()")
        picture(page, "two-paused")  # waits until nothing is left to draw
        before = page.evaluate("window.grouser.state()")
        page.wait_for_timeout(400)
        after = page.evaluate("window.grouser.state()")
        assert not after["playing"]
        assert (after["time"], after["draws"]) == (before["time"], before["draws"])

        # The slider scrubs, and a click on a curve seeks.
        page.locator(".slider").evaluate("(s) => { s.value = 1.5; s.dispatchEvent(new Event('input')); }")
        assert page.evaluate("window.grouser.state().time") == 1.5
        curve = page.locator("canvas.plot").first
        box = curve.bounding_box()
        curve.click(position={"x": box["width"] - 10, "y": 30})
        assert page.evaluate("window.grouser.state().time") == pytest.approx(4.0, abs=0.05)


def test_hostile_names_and_runs_without_states_do_no_harm(opened: Open, rolling: gr.Run, tmp_path: Path) -> None:
    vehicle = rolling.vehicle.replace(name=HOSTILE)
    hostile = dataclasses.replace(rolling, vehicle=vehicle)
    record = rolling.contact
    empty = dataclasses.replace(
        hostile,
        **{name: getattr(rolling, name)[:0] for name in ("time", "state", "velocity", "command")},
        contact=type(record)(**{name: None if v is None else v[:0] for name, v in vars(record).items()}),
        status=gr.Status.DIVERGED,
        steps=0,
    )
    with opened(hostile.view(tmp_path / "hostile.html", empty, names=[HOSTILE, HOSTILE], title=HOSTILE)) as page:
        assert page.evaluate("window.hurt === undefined && document.images.length === 0")
        assert page.locator("h1").inner_text() == HOSTILE
        assert page.evaluate("document.title").startswith(HOSTILE)
        assert page.evaluate("window.grouser.state().runs.map((run) => run.rows)") == [76, 0]
        assert page.evaluate("window.grouser.state().runs[1].name") == HOSTILE
        assert_not_blank(picture(page, "hostile"))
    with opened(empty.view(tmp_path / "empty.html")) as page:
        state = page.evaluate("(window.grouser.play(), window.grouser.seek(3), window.grouser.state())")
        assert (state["duration"], state["time"], state["playing"]) == (0, 0, False)
        page.keyboard.press("l")
        assert "non-finite" in page.locator("#legend").inner_text()
        picture(page, "empty")


def test_fan_of_a_thousand_is_drawn_by_status(opened: Open, ground: gr.terrain.Terrain, tmp_path: Path) -> None:
    husky = gr.vehicle("husky")
    rng = np.random.default_rng(3)
    rates = rng.uniform(2.0, 14.0, (1200, 1, 1)) * (1.0 + 0.4 * rng.uniform(-1.0, 1.0, (1200, 1, 1)) * [-1, 1, -1, 1])
    fan = gr.rollout(gr.Kinematics(husky), ground, np.repeat(rates, 150, axis=1), every=5)
    counts = {name.replace("_", " "): n for name, n in fan.counts().items() if n}
    assert len(counts) > 1
    with opened(view_runs([], tmp_path / "fan.html", fan=fan, ground=ground, title="fan")) as page:
        state = page.evaluate("window.grouser.state()")
        assert state["fan"] == {"total": 1200, "drawn": 1000}
        assert state["calls"] < 20  # one for all paths of a status, one for their points: that is what stays smooth
        page.keyboard.press("l")
        words = page.locator("#legend").inner_text()
        assert "1000 of 1200 are drawn, evenly chosen, with all 31 states of each." in words
        assert "1000 of 1200 rollouts, each with 31 of 31 states" in page.locator("#subtitle").inner_text()
        for name, n in counts.items():
            assert f"{name}\n{n}:" in words
        # While only the points move, the paths under them are not drawn again: two calls, one for each status.
        start = picture(page, "fan-start")
        page.evaluate("window.grouser.seek(4)")
        whole = picture(page, "fan")
        assert_not_blank(whole)
        assert page.evaluate("window.grouser.state().calls") == len(counts)
        moved = np.abs(whole - start).max(axis=-1) > 0.05
        assert 0.0005 < moved.mean() < 0.1  # the points, and nothing but them
        page.get_by_label("show ok", exact=True).uncheck()
        assert np.abs(picture(page, "fan-others") - whole).max(axis=-1).mean() > 0.002


def test_ellipse_moves_with_the_clock(opened: Open, rolling: gr.Run, tmp_path: Path) -> None:
    """Between two poses it stands between them, and those behind it stay."""
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    time = np.array([0.5, 1.5, 2.0])
    position = np.array([[5e5, 1.0], [5e5 + 2.0, 3.0], [5e5 + 4.0, 4.0]])
    covariance = np.array([turn @ np.diag(d) @ turn.T for d in ([0.01, 0.04], [0.04, 0.09], [0.3, 0.2])])
    poses = UncertainPoses(position, covariance, "odometry", time)
    with opened(rolling.view(tmp_path / "timed.html", poses=poses)) as page:

        def drawn_at(t: float) -> Any:
            return page.evaluate("(t) => (window.grouser.seek(t), window.grouser.ellipse(0))", t)

        assert drawn_at(0.4) is None
        assert drawn_at(2.1) is None
        for t, middle, spread, behind in (
            (0.5, position[0], covariance[0], 1),
            (1.25, 0.25 * position[0] + 0.75 * position[1], 0.25 * covariance[0] + 0.75 * covariance[1], 1),
            (2.0, position[2], covariance[2], 3),
        ):
            now = drawn_at(t)
            np.testing.assert_allclose(now["centre"], middle, atol=1e-6, rtol=0.0)
            np.testing.assert_allclose(np.array(now["shape"]) / arrays.SIGMAS_95**2, spread, rtol=0.0, atol=1e-6)
            assert now["behind"] == behind
        page.keyboard.press("l")
        assert "95 % ellipses, now and 3 of 3 along the path" in page.locator("#legend").inner_text()
    untimed = dataclasses.replace(poses, time=None)
    with opened(rolling.view(tmp_path / "untimed.html", poses=untimed)) as page:
        assert page.evaluate("(window.grouser.seek(1), window.grouser.ellipse(0))") is None


def test_page_says_whose_ground_is_drawn(opened: Open, rolling: gr.Run, tmp_path: Path) -> None:
    """Of runs on different grounds that of the followed one is solid; another is seen through if it is wanted."""
    tilted = gr.terrain.slope(deg=9.0)
    flat = gr.simulate(gr.Kinematics(gr.vehicle("zoe")), tilted, gr.drive.arc(0.7, -0.1), duration=3.0)
    with opened(rolling.view(tmp_path / "grounds.html", flat, names=["rough", "tilted"])) as page:

        def grounds() -> list[tuple[bool, bool]]:
            return [(one["shown"], one["main"]) for one in page.evaluate("window.grouser.state().grounds")]

        subtitle = page.locator("#subtitle")
        assert grounds() == [(True, True), (False, False)]
        assert subtitle.inner_text().startswith(f"on the ground of rough: {rolling.ground.description}")
        page.keyboard.press("l")
        assert f"{tilted.description}, not drawn" in page.locator("#legend").inner_text()
        one = picture(page, "grounds-one")
        page.get_by_label("show ground of tilted", exact=True).check()
        assert grounds() == [(True, True), (True, False)]
        assert f"{tilted.description}, seen through" in page.locator("#legend").inner_text()
        assert np.abs(picture(page, "grounds-both") - one).max(axis=-1).mean() > 0.002
        page.keyboard.press("n")
        assert grounds() == [(False, False), (True, True)]
        assert subtitle.inner_text().startswith(f"on the ground of tilted: {tilted.description}")


def test_phone_far_from_the_origin(opened: Open, tmp_path: Path) -> None:
    """On a small screen all is there; a map in UTM metres is drawn as exactly as one at the origin."""
    model = gr.Kinematics(gr.vehicle("husky"))
    start = (452_310.0, 5_412_870.0, 0.4)
    run = gr.simulate(model, gr.terrain.plane(), gr.drive.arc(0.8, 0.2), duration=4.0, start=start)
    poses = UncertainPoses(run.position[::20, :2], [np.diag([0.02, 0.05]) * (1 + i) for i in range(6)], "odometry")
    path = run.view(tmp_path / "phone.html", poses=poses)
    with opened(path, width=390, height=760, color_scheme="light", has_touch=True, is_mobile=True) as page:
        page.evaluate("(t) => window.grouser.seek(t)", float(run.time[60]))
        assert_drawn_as(page, run, 0, run.state[60])
        assert_not_blank(picture(page, "phone"))
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        for label in ("play or pause (space)", "time", "keys (?)"):
            box = page.get_by_label(label, exact=True).bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 390
            assert box["height"] >= 30  # a finger's
        page.locator(".legend-fold").tap()
        assert "95 % ellipses, 6" in page.locator("#legend").inner_text()
