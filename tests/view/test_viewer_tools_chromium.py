"""Pointing, measuring, kept views, pictures and videos of the viewer in a browser, against the run and geometry."""

from __future__ import annotations

import base64
import io
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from test_viewer_chromium import PICTURES, Open, assert_not_blank, opened, picture

import grouser as gr
from grouser.kinematics import frame_poses
from tests.chromium import PATIENCE, SOFTWARE, program, until

__all__ = ["opened"]

STEEP = 12.0
"""Slope of the ground [°]; it climbs along HEADING."""
HEADING = 30.0


@pytest.fixture(scope="module")
def run() -> gr.Run:
    """Far from the origin, on a slope of two soils: the first for x < 1001 m."""
    ground = gr.terrain.slope(deg=STEEP, heading_deg=HEADING)
    shapes = [
        (kind, [(a, -2050.0), (b, -2050.0), (b, -1950.0), (a, -1950.0), (a, -2050.0)])
        for kind, a, b in ((0, 950.0, 1001.0), (1, 1001.0, 1050.0))
    ]
    raster = gr.terrain.polygons(shapes, cell=0.5)
    laws = [gr.contact.Pacejka(friction=0.9), gr.contact.Pacejka(friction=0.7)]
    ground = gr.terrain.soils(ground, raster, laws, names=["sand <b>", "clay"])
    model = gr.Dynamics(gr.vehicle("husky"))
    return gr.simulate(model, ground, gr.drive.arc(0.6, 0.4), duration=3.0, start=(1000.0, -2000.0, 0.3))


@pytest.fixture(scope="module")
def path(run: gr.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run.view(tmp_path_factory.mktemp("tools") / "run.html")


def plain(page: Any) -> None:
    """Without the legend, so that the picture's middle is that of the camera."""
    page.keyboard.press("l")
    assert page.locator(".legend-body").is_hidden()


def ray(page: Any, x: float, y: float) -> tuple[np.ndarray, np.ndarray]:
    """Where the camera is, and which way a pixel looks, from its pose alone."""
    camera, box = page.evaluate("window.grouser.camera()"), page.locator("#canvas").bounding_box()
    ahead = np.subtract(camera["target"], camera["position"])
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    half = np.tan(np.radians(0.5 * camera["fov"]))
    u = (2.0 * (x - box["x"]) / box["width"] - 1.0) * half * box["width"] / box["height"]
    v = (1.0 - 2.0 * (y - box["y"]) / box["height"]) * half
    return np.array(camera["position"]), ahead + u * right + v * np.cross(right, ahead)


def on_slope(run: gr.Run, x: float, y: float) -> np.ndarray:
    assert run.ground is not None
    return np.array([x, y, float(run.ground.height(x, y))])


def click(page: Any, place: np.ndarray) -> None:
    page.mouse.click(*page.evaluate("(p) => window.grouser.project(p)", [float(v) for v in place]))


def test_a_wheel_says_its_load_slip_and_torque(opened: Open, run: gr.Run, path: Path) -> None:
    assert run.contact.force is not None
    assert run.torque is not None
    with opened(path, width=1280, height=720) as page:
        plain(page)
        for row, key in ((40, "3"), (60, "2")):
            page.keyboard.press("Escape")
            page.evaluate("(t) => window.grouser.seek(t)", float(run.time[row]))
            page.keyboard.press(key)
            _, p_world_frame = frame_poses(run.vehicle, run.state[row])
            wheel = 0 if key == "2" else int(np.argmin(p_world_frame[run.vehicle.arrays.wheel, 1]))
            frame = int(run.vehicle.arrays.wheel[wheel])
            x, y = page.evaluate("(p) => window.grouser.project(p)", p_world_frame[frame].tolist())
            page.mouse.move(x, y)
            page.wait_for_selector("#tip:not([hidden])")
            name = run.vehicle.wheels[wheel]
            assert page.locator("#tip h2").inner_text() == name
            page.mouse.click(x, y)
            now = page.evaluate("window.grouser.probe()")
            assert now["title"] == name
            motor = run.vehicle.actuated.index(name)
            for which, value in (
                ("force", run.contact.force[row, wheel, 2]),
                ("slip", run.contact.slip_speed[row, wheel]),
                ("torque", run.torque[row, motor]),
                ("rates", run.joint_rates[row, frame - 1]),
            ):
                assert now[which] == pytest.approx(value, rel=1e-5, abs=1e-7), which
            load = page.locator("#probe dd").first.inner_text()
            assert float(load.split()[0]) == pytest.approx(run.contact.force[row, wheel, 2], abs=0.051)
            assert load.endswith(" N")
        # It goes along with the clock.
        page.evaluate("(t) => window.grouser.seek(t)", float(run.time[20]))
        assert page.evaluate("window.grouser.probe().force") == pytest.approx(run.contact.force[20, 0, 2], rel=1e-5)
        # By keys alone: the wheels one after the other.
        page.keyboard.press("Escape")
        assert page.evaluate("window.grouser.probe()") is None
        for name in (*run.vehicle.wheels, run.vehicle.wheels[0]):
            page.keyboard.press("w")
            assert page.evaluate("window.grouser.probe().title") == name


def test_the_ground_says_where_it_is_how_steep_and_which_soil(opened: Open, run: gr.Run, path: Path) -> None:
    with opened(path, width=1000, height=600) as page:
        plain(page)
        page.keyboard.press("2")
        found = []
        for x, y in ((150, 420), (620, 90)):
            eye, way = ray(page, x, y)
            rise = np.tan(np.radians(STEEP)) * np.array([np.cos(np.radians(HEADING)), np.sin(np.radians(HEADING))])
            level = on_slope(run, 1000.0, -2000.0)
            # eye + t way on the plane z = level_z + rise · (xy − level_xy)
            t = (level[2] + rise @ (eye[:2] - level[:2]) - eye[2]) / (way[2] - rise @ way[:2])
            page.mouse.click(x, y)
            now = page.evaluate("window.grouser.probe()")
            np.testing.assert_allclose([now["x"], now["y"], now["height"]], eye + t * way, atol=2e-3, rtol=0.0)
            assert now["slope"] == pytest.approx(STEEP, abs=0.05)
            assert now["soil"] == ("sand <b>" if now["x"] < 1001.0 else "clay")
            assert page.locator("#probe dd").last.inner_text() == now["soil"]
            found.append(now["soil"])
        assert set(found) == {"sand <b>", "clay"}
        page.mouse.click(500, 3)  # the sky, or the ground: never an error
        assert not page.evaluate("document.querySelector('#probe b')")


def test_the_ruler_measures_what_geometry_says(opened: Open, run: gr.Run, path: Path) -> None:
    along = np.array([np.cos(np.radians(HEADING)), np.sin(np.radians(HEADING))])
    across = np.array([-along[1], along[0]])
    with opened(path, width=1400, height=900) as page:
        plain(page)
        page.keyboard.press("2")
        page.get_by_label("measure between two places (M)").click()
        assert "Click two places." in page.locator("#probe").inner_text()
        start = np.array([999.4, -2001.1])  # beside the vehicle
        for way, length, slope in ((along, 1.2, STEEP), (-along, 0.9, -STEEP), (across, 1.0, 0.0)):
            a, b = (on_slope(run, *p) for p in (start, start + length * way))
            click(page, a)
            click(page, b)
            now = page.evaluate("window.grouser.probe()")
            # A click is at a whole pixel: half a centimetre here.
            assert now["level"] == pytest.approx(length, abs=0.02)
            assert now["slope"] == pytest.approx(slope, abs=0.9)
            assert now["climb"] == pytest.approx(b[2] - a[2], abs=0.01)
            assert now["distance"] == pytest.approx(np.hypot(now["level"], now["climb"]), rel=1e-9)
            assert now["distance"] == pytest.approx(length / np.cos(np.radians(slope)), abs=0.02)
        picture(page, "ruler")
        page.keyboard.press("Escape")
        assert page.locator("#probe").is_hidden()
        assert page.get_by_label("measure between two places (M)").get_attribute("aria-pressed") == "false"


def test_views_are_kept_and_go_along_with_the_vehicle(opened: Open, run: gr.Run, path: Path) -> None:
    def seen(page: Any, row: int) -> np.ndarray:
        """Camera and its target in axes of the vehicle, turned by its heading."""
        page.evaluate("(t) => window.grouser.seek(t)", float(run.time[row]))
        camera = page.evaluate("window.grouser.camera()")
        c, s = np.cos(run.yaw[row]), np.sin(run.yaw[row])
        turn = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
        return np.array([turn @ (np.array(camera[end]) - run.position[row]) for end in ("position", "target")])

    with opened(path, width=1000, height=600) as page:
        page.evaluate("window.grouser.seek(0)")
        page.keyboard.press("4")
        behind = seen(page, 0)
        assert behind[0, 0] < -1.0
        assert abs(behind[0, 1]) < 0.2 * abs(behind[0, 0])
        page.keyboard.press("2")
        above = seen(page, 0)
        assert above[0, 2] > 3.0 * np.hypot(*above[0, :2])
        page.keyboard.press("3")
        assert abs(seen(page, 0)[0, 1]) > 3.0 * abs(seen(page, 0)[0, 0])
        page.mouse.move(500, 300)
        before = page.evaluate("window.grouser.camera().position")
        page.mouse.wheel(0, -400)
        until(page, lambda: page.evaluate("window.grouser.camera().position") != before)
        kept = seen(page, 0)
        page.keyboard.press("Shift+Digit7")
        page.keyboard.press("4")
        assert np.abs(seen(page, 0) - kept).max() > 0.5
        page.evaluate("(t) => window.grouser.seek(t)", float(run.time[70]))
        page.keyboard.press("7")
        np.testing.assert_allclose(seen(page, 70), kept, rtol=0.0, atol=1e-5)
        # Where the vehicle is not followed, a view stays where it is, and a number may be given anew.
        page.keyboard.press("f")
        fixed = page.evaluate("window.grouser.camera()")
        page.keyboard.press("Shift+Digit1")
        page.keyboard.press("2")
        page.evaluate("window.grouser.seek(1)")
        page.keyboard.press("1")
        now = page.evaluate("window.grouser.camera()")
        np.testing.assert_allclose(now["position"], fixed["position"], rtol=0.0, atol=1e-6)
        assert not page.evaluate("window.grouser.state().following")
        # They are there when the page is opened again; the list has them.
        page.reload()
        page.evaluate("(t) => window.grouser.seek(t)", float(run.time[40]))
        page.keyboard.press("7")
        np.testing.assert_allclose(seen(page, 40), kept, rtol=0.0, atol=1e-5)
        page.get_by_role("button", name="Views", exact=True).click()
        listed = page.locator(".menu-list").inner_text()
        assert "kept view 1" in listed
        assert "kept view 7" in listed
        assert "from behind" in listed
        page.keyboard.press("Escape")
        assert page.locator(".menu-list").is_hidden()


def test_a_picture_is_saved_at_the_size_that_is_asked_for(opened: Open, path: Path, tmp_path: Path) -> None:
    with opened(path, width=700, height=420) as page:
        before = picture(page, "before-saving")
        page.keyboard.press("e")
        page.get_by_label("width in pixels").fill("640")
        page.get_by_label("height in pixels").fill("480")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save picture (PNG)").click()
        file = tmp_path / "saved.png"
        download.value.save_as(file)
        assert download.value.suggested_filename == "husky.png"
        saved = imread(file)[..., :3]
        assert saved.shape == (480, 640, 3)
        assert_not_blank(saved)
        page.get_by_label("width in pixels").fill("9")
        assert page.get_by_role("button", name="Save picture (PNG)").is_disabled()
        assert "whole numbers" in page.locator("#export").inner_text()
        page.keyboard.press("Escape")
        # The page is as it was.
        assert np.abs(picture(page, "after-saving") - before).max(axis=-1).mean() < 0.002


def test_a_video_has_the_run_at_even_times(opened: Open, run: gr.Run, path: Path, tmp_path: Path, browser: Any) -> None:
    with opened(path, width=700, height=420) as page:
        page.get_by_label("speed", exact=True).select_option("5")
        page.evaluate("window.grouser.seek(0.5)")
        page.get_by_label("save a picture or a video (E)").click()
        page.get_by_label("width in pixels").fill("320")
        page.get_by_label("height in pixels").fill("180")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save video (WebM)").click()
        file = tmp_path / "saved.webm"
        download.value.save_as(file)
        assert "Saved husky.webm" in page.locator("#export").inner_text()
        assert page.evaluate("window.grouser.state().time") == 0.5
    # 3 s at five times the speed, 30 pictures a second: 19 of them, also the last state.
    count = round(3.0 / 5.0 * 30) + 1
    page = browser.new_page()
    film = base64.b64encode(file.read_bytes()).decode()
    about = page.evaluate(
        """async ([film, count, patience]) => {
            const video = document.createElement("video");
            video.muted = true;
            video.src = `data:video/webm;base64,${film}`;
            await new Promise((done, fail) => {
                video.onloadeddata = done;
                video.onerror = () => fail(video.error.message);
            });
            const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
            const pen = canvas.getContext("2d");
            const looks = [];
            const look = () => {
                pen.clearRect(0, 0, canvas.width, canvas.height);
                pen.drawImage(video, 0, 0);
                return Array.from(pen.getImageData(0, 0, canvas.width, canvas.height).data);
            };
            // The picture that was sought may come after "seeked": it is awaited until it differs from the last one,
            // at first from one with nothing in it.
            const draw = async (k) => {
                video.currentTime = (k + 0.5) / 30;
                await new Promise((done) => { video.onseeked = done; });
                const last = looks.at(-1) ?? Array(4 * canvas.width * canvas.height).fill(0);
                for (const end = performance.now() + patience; performance.now() < end;) {
                    const now = look();
                    if (now.some((value, i) => value !== last[i])) return now;
                    await new Promise((done) => setTimeout(done, 50));
                }
                return last;
            };
            for (const k of [0, 9, count - 1]) looks.push(await draw(k));
            return { duration: video.duration, width: video.videoWidth, height: video.videoHeight, looks };
        }""",
        [film, count, PATIENCE],
    )
    page.close()
    assert (about["width"], about["height"]) == (320, 180)
    assert about["duration"] == pytest.approx(count / 30.0, abs=1e-3)
    first, middle, last = (np.array(look).reshape(180, 320, 4)[..., :3] / 255.0 for look in about["looks"])
    assert_not_blank(first)
    assert np.abs(first - middle).mean() > 0.005
    assert np.abs(middle - last).mean() > 0.005


@pytest.mark.parametrize(("width", "height"), [(320, 640), (768, 600), (1280, 800)])
def test_what_opens_stays_in_the_window(opened: Open, path: Path, width: int, height: int) -> None:
    with opened(path, width=width, height=height) as page:

        def inside(selector: str) -> bool:
            box = page.locator(selector).bounding_box()
            return bool(
                box["x"] >= 0
                and box["x"] + box["width"] <= width
                and box["y"] >= 0
                and box["y"] + box["height"] <= height
            )

        page.keyboard.press("Shift+Digit6")
        page.get_by_role("button", name="Views", exact=True).click()
        assert inside(".menu-list")
        page.keyboard.press("Escape")
        page.keyboard.press("w")
        assert inside("#probe")
        page.keyboard.press("Escape")
        page.keyboard.press("e")
        assert inside("#export")
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        assert inside("#help")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_browser_without_encoder_says_so(opened: Open, path: Path) -> None:
    with opened(path, width=700, height=420) as page:
        page.evaluate("delete window.VideoEncoder")
        page.keyboard.press("e")
        until(page, "document.querySelector('#export [role=status]').textContent")
        assert page.get_by_role("button", name="Save video (WebM)").is_disabled()
        assert not page.get_by_role("button", name="Save picture (PNG)").is_disabled()
        said = page.locator("#export [role=status]").inner_text()
        assert said.startswith("This browser cannot encode WebM video")
        assert said.count(".") == 1


def test_keys_and_names_are_there_for_those_who_do_not_see_or_point(opened: Open, path: Path) -> None:
    for scheme in ("dark", "light"):
        with opened(path, width=900, height=700, color_scheme=scheme) as page:
            nameless = page.evaluate(
                """() => {
                    const named = (e) => e.ariaLabel || e.textContent.trim() || e.closest("label")?.textContent.trim();
                    const all = document.querySelectorAll("button, input, select, canvas:not([aria-hidden]), dialog");
                    return [...all].filter((e) => !named(e)).map((e) => e.outerHTML);
                }"""
            )
            assert nameless == []
            page.keyboard.press("?")
            words = page.locator("#help").inner_text()
            for said in ("ruler", "keep the view of now", "save a picture", "next wheel", "dark or light", "space"):
                assert said in words
            page.keyboard.press("m")  # keys do nothing behind the list
            assert page.evaluate("window.grouser.probe()") is None
            page.screenshot(path=PICTURES / f"help-{scheme}.png")
            page.keyboard.press("?")
            assert page.locator("#help").is_hidden()


@pytest.mark.parametrize("budget", [1, 3000])
def test_a_screenshot_with_a_time_budget_is_not_black(path: Path, browser: Any, tmp_path: Path, budget: int) -> None:
    """As `chromium --headless --screenshot` makes one: it does not wait for the page."""
    file = tmp_path / "shot.png"
    subprocess.run(
        [program(), "--headless", "--no-sandbox", *SOFTWARE, f"--screenshot={file}", "--window-size=900,500",
         f"--user-data-dir={tmp_path / 'profile'}", f"--virtual-time-budget={budget}", path.as_uri()],
        check=True, capture_output=True, timeout=PATIENCE / 1000,
    )  # fmt: skip
    pixels = imread(io.BytesIO(file.read_bytes()))[..., :3]
    assert_not_blank(pixels[60:300, 280:560])
