"""The live page in a real browser, with the network cut to all but loopback: keys, sliders, clicks, saving, leaving.

Pictures are kept in out/live.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grouser as gr
from grouser.cli.app import run as command
from grouser.collision.frames import frame_poses
from grouser.live.loop import LiveDrive
from grouser.live.pilot import Pilot
from grouser.live.session import Session
from tests.chromium import PATIENCE, Watch, until

PICTURES = Path(__file__).resolve().parents[2] / "out" / "live"
NOW = "window.grouser.state()"
STANDS = f"Math.abs({NOW}.frame.speed) < 0.02"

Open = Callable[..., Any]


@contextmanager
def served(name: str, ground: Any, *, kind: Any = gr.Dynamics, out: Path | None = None, **more: Any) -> Iterator[Any]:
    """A live drive in this process, so that the page can be compared with the simulation itself."""
    vehicle = gr.vehicle(name)

    def make(*, submit: Any, keep: Any) -> Session:
        sim = gr.Simulation(kind(vehicle), ground, dt=1.0 / 120.0)
        pilot = Pilot(gr.Kinematics(vehicle), ground, submit=submit)
        return Session(sim, limits=gr.plan.Limits.of(vehicle), pilot=pilot, keep=keep)

    live = LiveDrive(make, host="127.0.0.1", port=0, out=out, **more)
    live.start()
    try:
        yield live
    finally:
        live.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """Opens the page; errors on its console and requests to anywhere but its own server fail the test."""
    watch = Watch()

    @contextmanager
    def open_page(live: LiveDrive, *, width: int = 900, height: int = 500, **options: Any) -> Iterator[Any]:
        allowed = (live.address, "data:", "blob:")
        with watch.page(browser, allowed, viewport={"width": width, "height": height}, **options) as page:
            page.goto(live.address)
            page.wait_for_selector("html[data-ready=true]", state="attached")
            until(page, f"{NOW}.frame")
            yield page

    yield open_page
    # A page that is not let in, or a stream whose server has ended, is told to the console by the browser itself.
    assert [one for one in watch.said if "409" not in one and "ERR_" not in one] == []
    assert watch.asked == []


def hold(page: Any, key: str, condition: str | Callable[[], Any]) -> None:
    """Hold a key until a condition holds."""
    page.keyboard.down(key)
    until(page, condition)
    page.keyboard.up(key)


def tap(page: Any, key: str, milliseconds: int) -> None:
    page.keyboard.down(key)
    page.wait_for_timeout(milliseconds)
    page.keyboard.up(key)


def slide(page: Any, name: str, value: float) -> None:
    """Move a slider, as a hand would."""
    page.locator(f"#{name}").evaluate(
        "(s, v) => { s.value = v; s.dispatchEvent(new Event('input')); s.dispatchEvent(new Event('change')); }", value
    )


@pytest.mark.parametrize("kind", [gr.Kinematics, gr.Dynamics])
def test_keys_move_the_vehicle_and_the_picture_shows_it(opened: Open, kind: Any) -> None:
    with served("zoe", gr.terrain.rough(rms=0.05, length=1.0, seed=3), kind=kind) as live, opened(live) as page:
        assert page.evaluate(f"{NOW}.webgl")
        hold(page, "ArrowUp", f"{NOW}.frame.distance > 0.3")
        until(page, STANDS)
        ahead = live.session.pose
        assert ahead[0] > 0.25
        assert abs(ahead[1]) < 0.1
        page.keyboard.down("w")
        hold(page, "a", lambda: live.session.pose[2] > ahead[2] + 0.1)  # to the left
        page.keyboard.up("w")
        until(page, STANDS)
        # Every wheel is drawn where the simulation has it.
        page.keyboard.press(" ")
        until(page, f"{NOW}.frame.paused === 1")
        assert page.evaluate(NOW)["frame"]["time"] == pytest.approx(live.session.sim.time, abs=1e-9)
        vehicle = live.session.sim.model.vehicle
        R, p = frame_poses(vehicle, live.session.sim.state)
        for w, frame in enumerate(vehicle.arrays.wheel):
            pose = page.evaluate("(wheel) => window.grouser.wheelPose(wheel)", w)
            np.testing.assert_allclose(pose["position"], p[frame], atol=1e-6, rtol=0.0)
            np.testing.assert_allclose(np.reshape(pose["rotation"], (3, 3)), R[frame], atol=1e-6, rtol=0.0)
        # From key to picture: how long is measured, and written to the console of the test; it is not judged.
        page.keyboard.press(" ")
        for _ in range(10):
            tap(page, "ArrowUp", 120)
            page.wait_for_timeout(120)
        until(page, "window.grouser.latency().length >= 20")
        found = page.evaluate("window.grouser.latency()")
        for name in ("received", "drawn"):
            values = [one[name] for one in found]
            print(f"{kind.__name__}: key to {name}, median of {len(values)}: {np.median(values):.1f} ms")
            assert min(values) > 0.0


@pytest.mark.filterwarnings("ignore:contact. in snow a wheel")  # it goes to the terminal as well
def test_less_friction_on_a_slope_lets_it_slide(opened: Open) -> None:
    with served("husky", gr.terrain.slope(deg=15.0)) as live, opened(live) as page:
        until(page, f"{NOW}.frame.time > 1.0")
        parked = live.session.pose
        until(page, f"{NOW}.frame.time > 1.5")
        assert math.dist(live.session.pose, parked) < 1e-3
        slide(page, "friction", 0.1)
        until(page, f"{NOW}.frame.distance > 0.5")
        assert live.session.settings.friction == 0.1
        assert live.session.pose[0] < parked[0] - 0.4  # downhill is −x
        # Soil and mass follow their controls too; what the simulation says is shown.
        page.locator("#soil").select_option("pacejka")
        until(page, "document.querySelector('#friction').value !== '0.1'")
        assert isinstance(live.session.sim.model.contact, gr.contact.Pacejka)
        slide(page, "payload", 30.0)
        assert page.locator("output[for=payload]").inner_text() == "80.00 kg"
        until(page, lambda: live.session.sim.model.vehicle.mass == pytest.approx(80.0))
        # Who runs through the list of soils gets the first and the last: the tables of those between are not made.
        page.locator("#soil").evaluate(
            """(s) => ["snow", "dry_sand", "lete_sand", "ice_road"].forEach((name) => {
                s.value = name;
                s.dispatchEvent(new Event("change"));
            })"""
        )
        until(page, "document.querySelector('#notice').textContent.startsWith('in snow a wheel')")
        until(page, lambda: live.session.settings.soil == "ice_road")
        assert {soil for soil, _ in live.session.garage._made} == {"own", "pacejka", "snow", "ice_road"}


def test_a_click_drives_there_and_escape_cancels(opened: Open) -> None:
    with served("zoe", gr.terrain.plane()) as live, opened(live) as page:
        page.keyboard.press("2")  # from above
        page.keyboard.press("c")  # and the view keeps its direction
        at = page.evaluate("window.grouser.screen(1.6, 0.8)")
        page.mouse.click(at["x"], at["y"])
        until(page, f"{NOW}.planned > 10")
        assert math.dist(page.evaluate(NOW)["goal"], (1.6, 0.8)) < 0.05
        until(page, f"{NOW}.news === 'arrived'")
        assert math.dist(live.session.pose[:2], (1.6, 0.8)) < 0.4
        until(page, f"{NOW}.planned === 0 && {NOW}.goal === null")
        at = page.evaluate("window.grouser.screen(3.5, 0.5)")
        page.mouse.click(at["x"], at["y"])
        until(page, f"{NOW}.goal !== null")
        page.keyboard.press("Escape")
        until(page, f"{NOW}.goal === null")
        assert live.session.pilot.news == "cancelled"
        # A drag turns the view, and is no click.
        page.mouse.move(at["x"], at["y"])
        page.mouse.down()
        page.mouse.move(at["x"] + 60, at["y"] + 10, steps=3)
        page.mouse.up()
        page.keyboard.press(" ")  # commands are carried out in their order
        until(page, f"{NOW}.paused")
        assert live.session.pilot.goal is None


def test_pause_step_reset_and_speed(opened: Open) -> None:
    with served("husky", gr.terrain.plane(), kind=gr.Kinematics) as live, opened(live) as page:
        hold(page, "s", lambda: live.session.pose[0] < -0.05)  # backwards
        page.get_by_label("pause or go on (space)").click()
        until(page, f"{NOW}.frame.paused === 1")
        time = live.session.sim.time
        page.keyboard.press(".")
        page.get_by_label("one step (.)").click()
        until(page, f"Math.abs({NOW}.frame.time - {time + 2 / 120}) < 1e-9")
        assert live.session.sim.time == pytest.approx(time + 2 / 120)
        page.keyboard.press("Backspace")
        until(page, f"{NOW}.frame.time === 0")
        assert page.evaluate(NOW)["frame"]["distance"] == 0.0
        np.testing.assert_allclose(live.session.pose, 0.0, rtol=0.0, atol=1e-12)
        page.get_by_label("simulated over real time").select_option("5")
        page.keyboard.press(" ")
        until(page, f"{NOW}.factor === 5 && !{NOW}.paused")
        # A pace of five, as far as this machine can; it is measured, and shown.
        until(page, f"{NOW}.frame.pace > 1.5")
        assert "× real time" in page.locator("#now-time").inner_text()


def test_a_recording_is_saved_where_the_user_said_and_can_be_viewed(opened: Open, tmp_path: Path) -> None:
    out = tmp_path / "run.npz"
    ground = gr.terrain.rough(rms=0.05, length=1.0, seed=3, size=12.0)
    with served("husky", ground, out=out) as live, opened(live) as page:
        hold(page, "ArrowUp", f"{NOW}.frame.distance > 0.3")
        assert page.evaluate(f"{NOW}.recording")
        page.keyboard.press("r")
        until(page, "document.querySelector('#notice').textContent === 'wrote run.npz'")
        page.get_by_label("record, or stop and save (R)").click()
        until(page, f"{NOW}.recording")
        hold(page, "ArrowLeft", lambda: live.session.pose[2] > 0.1)
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("r")
        until(page, "document.querySelector('#notice').textContent === 'wrote run-2.npz'")
    run = gr.Run.load(out)
    assert run.status is gr.Status.OK
    assert run.distance > 0.3
    assert "driven by hand" in run.model
    assert gr.Run.load(tmp_path / "run-2.npz").yaw[-1] > 0.05
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run-2.npz", "run.npz"]
    assert command(["view", str(out), "--out", str(tmp_path / "run.html")]) == 0
    assert command(["report", str(out), "--out", str(tmp_path / "report.html")]) == 0


def test_without_a_file_recording_is_off_and_says_how(opened: Open) -> None:
    with served("husky", gr.terrain.plane(), kind=gr.Kinematics) as live, opened(live) as page:
        assert page.get_by_label("record, or stop and save (R)").is_disabled()
        page.keyboard.press("r")
        until(page, "document.querySelector('#notice').textContent.includes('--out run.npz')")


def test_one_page_drives_and_another_may_take_over(opened: Open) -> None:
    with served("husky", gr.terrain.plane(), kind=gr.Kinematics, stays=True) as live, opened(live) as first:
        second = first.context.new_page()
        second.goto(live.address)
        until(second, "document.querySelector('#notice').textContent.includes('open in another page')")
        tap(second, "ArrowUp", 300)
        assert live.session.pose[0] == pytest.approx(0.0, abs=1e-9)
        second.get_by_text("Drive here").click()
        until(second, f"{NOW}.frame && {NOW}.line === ''")
        until(first, "document.querySelector('#notice').textContent.includes('taken over')")
        hold(second, "ArrowUp", f"{NOW}.frame.distance > 0.05")
        # Loaded again it goes on: it is the page that was open.
        second.reload()
        until(second, f"window.grouser.ready && {NOW}.frame?.distance > 0.05")
        assert second.evaluate(f"{NOW}.line") == ""


def test_closing_the_page_ends_the_drive_unless_it_stays(opened: Open) -> None:
    for stays in (False, True):
        with served("husky", gr.terrain.plane(), kind=gr.Kinematics, stays=stays) as live:
            with opened(live):
                pass
            assert live._over.wait(5.0 if stays else PATIENCE / 1000) is not stays
            assert live.reason == ("" if stays else "its page was closed")


def test_the_page_says_when_the_simulation_is_over(opened: Open) -> None:
    small = gr.terrain.rough(rms=0.02, length=1.0, seed=1, size=5.0)
    with served("husky", small, kind=gr.Kinematics) as live, opened(live) as page:
        says = "document.querySelector('#notice').textContent"
        page.get_by_label("simulated over real time").select_option("5")
        page.keyboard.down("ArrowUp")
        until(page, f"{says}.includes('the ground ended under a wheel')")
        page.keyboard.up("ArrowUp")
        page.keyboard.press(" ")
        until(page, f"{NOW}.paused")
        page.get_by_text("Reset", exact=True).click()
        until(page, f"{NOW}.ended === '' && {NOW}.frame.time === 0")
        live.finish("it was ended by Ctrl-C")
        live.close()
        until(page, f"{says}.includes('ended by Ctrl-C')")


def test_a_gamepad_and_a_thumb_drive_too(opened: Open) -> None:
    with (
        served("husky", gr.terrain.plane(), kind=gr.Kinematics) as live,
        opened(live, width=390, height=800, has_touch=True, is_mobile=True) as page,
    ):
        page.evaluate(
            """() => {
                window.axes = [0, -1, 0, 0];
                const buttons = () => [{ pressed: window.button ?? false }];
                const pad = () => ({ connected: true, axes: window.axes, buttons: buttons() });
                Object.defineProperty(navigator, 'getGamepads', { value: () => [pad()], configurable: true });
                window.dispatchEvent(new Event('gamepadconnected'));
            }"""
        )
        until(page, f"{NOW}.frame.speed > 0.5")  # pushed away from the body is ahead
        page.evaluate("window.axes = [-1, 0, 0, 0]")
        until(page, f"{NOW}.frame.turn > 0.3")  # to the left is left
        page.evaluate("(window.axes = [0, 0, 0, 0], window.button = true)")
        until(page, f"{NOW}.paused")
        page.evaluate("(window.button = false, delete navigator.getGamepads)")
        page.keyboard.press(" ")
        until(page, f"!{NOW}.paused")
        # The pad is there where there is a finger, and down is backwards.
        box = page.locator("#pad").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 0.95 * box["height"])
        page.mouse.down()
        until(page, f"{NOW}.frame.speed < -0.3")
        page.mouse.up()
        until(page, STANDS)
        assert live.session.pilot.goal is None  # a thumb on the pad is no click on the ground


@pytest.mark.parametrize(("width", "height"), [(360, 740), (900, 700), (1600, 900)])
def test_it_fits_at_every_width_dark_and_light(opened: Open, width: int, height: int, tmp_path: Path) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    ground = gr.terrain.rough(rms=0.15, length=1.5, seed=1)
    with (
        served("zoe", ground, out=tmp_path / "a.npz") as live,
        opened(
            live, width=width, height=height, color_scheme="dark", has_touch=width < 500, is_mobile=width < 500
        ) as page,
    ):
        hold(page, "ArrowUp", f"{NOW}.frame.distance > 0.3")
        at = page.evaluate("window.grouser.screen(4, 1)")
        page.mouse.click(at["x"], at["y"])
        until(page, f"{NOW}.planned > 10")
        page.keyboard.press("?")
        assert page.locator("#help").evaluate("(help) => [help.open, help.scrollTop]") == [True, 0]
        page.keyboard.press("?")
        page.keyboard.press(" ")  # it is not the button's that was just hidden
        until(page, f"{NOW}.frame.paused === 1")
        for theme in ("dark", "light"):
            if page.evaluate(f"{NOW}.theme") != theme:
                page.keyboard.press("t")
            page.wait_for_timeout(2500)  # a fine picture
            page.screenshot(path=PICTURES / f"live-{width}-{theme}.png")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        boxes = page.evaluate(
            """() => [...document.querySelectorAll('#bar > *, .setting > *, #numbers > *, .values > *')].map((one) => {
                const { left, right, top, bottom } = one.getBoundingClientRect();
                const what = `${one.parentElement.id || one.parentElement.className}: ${one.textContent}`;
                return { what, left, right, top, bottom, cut: one.scrollWidth - one.clientWidth };
            })"""
        )
        for one in boxes:
            assert one["left"] >= 0, one
            assert one["right"] <= width + 0.5, one
            assert one["cut"] <= 1, one
        for i, a in enumerate(boxes):
            for b in boxes[:i]:
                apart = (
                    a["left"] >= b["right"] - 0.5 or b["left"] >= a["right"] - 0.5
                    or a["top"] >= b["bottom"] - 0.5 or b["top"] >= a["bottom"] - 0.5
                )  # fmt: skip
                hidden = a["what"].startswith(("bar", "values")) != b["what"].startswith(("bar", "values"))
                assert apart or hidden, (a, b)
