"""Charts of the viewer in a real browser: what they say, which are shown, and that nothing is printed over another."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_viewer_chromium import PICTURES, Open, opened

import grouser as gr
from tests.chromium import until

__all__ = ["opened"]

LONG = [f"{place}_{side}_wheel_drive_link" for side in ("left", "right") for place in ("front", "middle", "rear")]


@pytest.fixture(scope="module")
def run() -> gr.Run:
    """Of a rover whose six wheels have long names."""
    rocky = gr.vehicle("rocky7")
    ground = gr.terrain.rough(rms=0.1, length=0.8, seed=2, size=12.0)
    run = gr.simulate(gr.Dynamics(rocky), ground, gr.drive.arc(0.4, 0.3), duration=4.0)
    names = dict(zip(rocky.wheels, LONG, strict=True))
    frames = tuple(dataclasses.replace(one, name=names.get(one.name, one.name)) for one in rocky.frames)
    return dataclasses.replace(run, vehicle=dataclasses.replace(rocky, frames=frames))


@pytest.fixture(scope="module")
def path(run: gr.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run.view(tmp_path_factory.mktemp("charts") / "run.html")


def boxes(page: Any, selector: str) -> list[dict[str, float]]:
    """Of what is shown, by the browser's layout."""
    script = """(s) => [...document.querySelectorAll(s)]
        .map((e) => e.getBoundingClientRect().toJSON()).filter((b) => b.width)"""
    found: list[dict[str, float]] = page.evaluate(script, selector)
    return found


def overlap(a: dict[str, float], b: dict[str, float]) -> bool:
    wide = min(a["right"], b["right"]) - max(a["left"], b["left"])
    high = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
    return wide > 0.5 and high > 0.5


def assert_nothing_is_printed_over(page: Any) -> None:
    cards = boxes(page, ".card")
    words = boxes(page, ".card h2, .card .frame, .card .values > span")
    assert len(words) >= 2 * len(cards) > 0
    for group in (cards, words):
        for i, one in enumerate(group):
            assert not any(overlap(one, other) for other in group[:i])
    for one in boxes(page, ".card h2, .card .frame, .card .values, .card .values b"):
        assert any(c["left"] - 0.5 <= one["left"] and one["right"] <= c["right"] + 0.5 for c in cards)
        assert any(c["top"] - 0.5 <= one["top"] and one["bottom"] <= c["bottom"] + 0.5 for c in cards)


def assert_sharp(page: Any) -> None:
    """A chart has a pixel of its own for each one of the screen: text is neither stretched nor squashed."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")
    until(
        page,
        """(() => {
            const charts = [...document.querySelectorAll("canvas.plot")].filter((c) => c.clientWidth);
            const near = (pixels, size) => Math.abs(pixels - size * devicePixelRatio) <= 1;
            return charts.length && charts.every((c) => near(c.width, c.clientWidth) && near(c.height, c.clientHeight));
        })()""",
    )


@pytest.mark.parametrize(
    ("width", "height", "ratio", "scheme"),
    [(320, 640, 2, "light"), (768, 600, 1, "dark"), (1280, 800, 2, "dark"), (2500, 1200, 1, "light")],
)
def test_charts_are_whole_at_every_width(
    opened: Open, path: Path, width: int, height: int, ratio: int, scheme: str
) -> None:
    look: dict[str, Any] = {"width": width, "height": height, "device_scale_factor": ratio, "color_scheme": scheme}
    with opened(path, **look) as page:
        assert_nothing_is_printed_over(page)
        assert_sharp(page)
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=PICTURES / f"charts-{width}-{scheme}.png")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        bar = boxes(page, "#bar > *")
        assert all(one["left"] >= 0 and one["right"] <= width for one in bar)
        assert not any(overlap(one, other) for i, one in enumerate(bar) for other in bar[:i])
        # Another size, and more charts, while it is open.
        page.set_viewport_size({"width": max(320, round(0.7 * width)), "height": height - 100})
        page.locator(".chooser summary").click()
        for name in ("Motor torque", "Joint angles"):
            page.get_by_role("checkbox", name=name, exact=True).check()
        assert_nothing_is_printed_over(page)
        assert_sharp(page)


def test_a_chart_says_what_the_run_has_where_somebody_points(opened: Open, run: gr.Run, path: Path) -> None:
    assert run.contact.force is not None
    with opened(path, width=1280, height=800) as page:
        page.evaluate("window.grouser.seek(1)")
        assert page.evaluate("window.grouser.chart('force').time") == 1.0
        chart = page.get_by_role("img", name="Normal force over time")
        box = chart.bounding_box()
        said = []
        for part in (0.45, 0.8):
            chart.hover(position={"x": part * box["width"], "y": 0.4 * box["height"]})
            now = page.evaluate("window.grouser.chart('force')")
            row = int(np.searchsorted(run.time, now["time"], side="right")) - 1
            assert [one["name"] for one in now["values"]] == LONG
            for w, one in enumerate(now["values"]):
                assert one["time"] == run.time[row]
                assert one["value"] == pytest.approx(run.contact.force[row, w, 2], rel=1e-6)
                assert float(one["text"].replace("−", "-")) == pytest.approx(one["value"], abs=0.0051)
            slip = page.evaluate("window.grouser.chart('slip')")  # all charts tell the same time
            np.testing.assert_allclose([one["value"] for one in slip["values"]], run.contact.slip_speed[row], rtol=1e-6)
            shown = page.locator(".card", has=chart).locator(".cursor.pointed").get_attribute("data-time")
            assert shown == f"{now['time']:.2f} s"
            said.append(now["time"])
        # Pixels of the chart are times: the way between both is that of the pointer, but for the margins.
        assert (said[1] - said[0]) / run.time[-1] == pytest.approx(0.35 * box["width"] / (box["width"] - 56), abs=0.02)
        page.mouse.move(5, 5)
        assert page.evaluate("window.grouser.chart('force').time") == 1.0


def test_every_chart_is_the_quantity_it_names(opened: Open, run: gr.Run, path: Path) -> None:
    row = 60
    assert run.torque is not None
    assert run.power is not None
    steered = [i for i, frame in enumerate(run.vehicle.frames[1:]) if not frame.is_wheel]
    margin = np.degrees(run.rollover_margin().angle[row])
    expected = {
        "torque": run.torque[row], "power": run.power[row], "joints": np.degrees(run.joints[row, steered]),
        "rates": run.joint_rates[row, run.vehicle.arrays.wheel - 1], "margin": [margin],
        "speed": run.velocity[row, 3:5], "height": [run.position[row, 2]], "heading": [np.degrees(run.yaw[row])],
        "attitude": np.degrees([run.roll[row], run.pitch[row]]),
    }  # fmt: skip
    with opened(f"{path.as_uri()}#charts={','.join(expected)}", width=1280, height=800) as page:
        page.evaluate("(t) => window.grouser.seek(t)", float(run.time[row]))
        for key, values in expected.items():
            now = page.evaluate("(key) => window.grouser.chart(key)", key)
            np.testing.assert_allclose(
                [one["value"] for one in now["values"]], values, rtol=1e-5, atol=1e-6, err_msg=key
            )


def test_runs_are_compared_in_charts_of_one_curve_each(opened: Open, run: gr.Run, tmp_path: Path) -> None:
    assert run.torque is not None
    other = dataclasses.replace(run, state=run.state + np.eye(run.state.shape[1])[6] * 0.25)  # a quarter of a metre up
    both = run.view(tmp_path / "both.html", other, names=["a", "b"])
    with opened(f"{both.as_uri()}#charts=height,torque", width=1280, height=800) as page:
        page.evaluate("(t) => window.grouser.seek(t)", float(run.time[30]))
        height, torque = (page.evaluate("(key) => window.grouser.chart(key)", key) for key in ("height", "torque"))
        assert [one["name"] for one in height["values"]] == ["a", "b"]
        z = run.position[30, 2]
        np.testing.assert_allclose([one["value"] for one in height["values"]], [z, z + 0.25], rtol=0.0, atol=1e-6)
        most = np.abs(run.torque[30]).max()
        np.testing.assert_allclose([one["value"] for one in torque["values"]], [most, most], rtol=1e-6)


def test_the_choice_of_charts_is_remembered(opened: Open, path: Path) -> None:
    def shown(page: Any) -> list[str]:
        names: list[str] = page.locator(".card:visible h2 > span:first-child").all_inner_texts()
        return names

    first = ["Slip speed", "Normal force", "Energy", "Attitude"]
    with opened(path, width=1280, height=900) as page:
        assert shown(page) == first
        page.locator(".chooser summary").click()
        page.get_by_role("checkbox", name="Energy", exact=True).uncheck()
        page.get_by_role("checkbox", name="Tip margin", exact=True).check()
        chosen = ["Slip speed", "Normal force", "Attitude", "Tip margin"]
        assert shown(page) == chosen
        assert page.evaluate("location.hash") == "#charts=slip,force,attitude,margin"
        page.reload()
        assert shown(page) == chosen  # by the address
        page.goto("about:blank")
        page.goto(path.as_uri())
        assert shown(page) == chosen  # by the browser's storage
    with opened(f"{path.as_uri()}#charts=nothing,of,this", width=1280, height=900) as page:
        assert shown(page) == first
    with opened(f"{path.as_uri()}#charts=height,nothing", width=1280, height=900) as page:
        assert shown(page) == ["Height"]
        # Where nothing can be stored, the page still works.
        page.evaluate("Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })")
        page.locator(".chooser summary").click()
        page.get_by_role("checkbox", name="Speed", exact=True).check()
        assert shown(page) == ["Speed", "Height"]
