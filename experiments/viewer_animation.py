"""The animation of the README: a page of the viewer, opened in Chromium and photographed at even times of a run."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grouser.cli.console import Progress
from grouser.errors import GrouserError
from grouser.files import write_whole

LARGEST = 1_500_000
"""Bytes of the animation."""
SIZE = (1080, 560)
"""Of the page [px]."""
RATE = 10
"""Pictures a second."""
SPEED = 2.0
"""Times real time."""
QUALITY = (45, 35, 25)
"""Of WebP; the first that is small enough."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SOFTWARE = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
"""3D without a graphics card: the same pixels on every machine with the same browser."""


def draw_animation(path: Path, quick: bool, progress: Progress) -> None:
    """Rocky 7 over rough ground with its forces, slip and charts; an animated WebP file."""
    import grouser as gr

    ground = gr.terrain.rough(rms=0.06, length=0.45, seed=4, size=14.0)
    seconds = 1.0 if quick else 12.0
    run = gr.simulate(gr.Dynamics(gr.vehicle("rocky7")), ground, gr.drive.arc(0.35, 0.25), duration=seconds)
    count = int(run.time[-1] / SPEED * RATE)
    pictures = []
    with tempfile.TemporaryDirectory() as folder:
        page = run.view(Path(folder) / "run.html", title="Rocky 7")
        with opened(f"{page.as_uri()}#charts=slip,force,margin") as shown:
            shown.keyboard.press("l")  # without the legend
            shown.get_by_label("speed", exact=True).select_option(f"{SPEED:g}")
            for k in range(count):
                shown.evaluate(
                    "async (t) => { window.grouser.seek(t); await window.grouser.settle(); }", SPEED * k / RATE
                )
                pictures.append(shown.screenshot())
                progress(k + 1, count)
    film = next((film for q in QUALITY if len(film := _film(pictures, q)) <= LARGEST), None)
    if film is None:
        raise GrouserError(f"{path}: the animation is larger than {LARGEST / 1e6:g} MB; make it shorter or smaller")
    write_whole(path, lambda file: file.write(film), GrouserError)


def _film(pictures: list[bytes], quality: int) -> bytes:
    from PIL import Image

    first, *others = (Image.open(io.BytesIO(one)).convert("RGB") for one in pictures)
    stream = io.BytesIO()
    first.save(
        stream,
        format="webp",
        save_all=True,
        append_images=others,
        duration=1000 // RATE,
        loop=0,
        quality=quality,
        method=4,
    )
    return stream.getvalue()


@contextmanager
def opened(address: str) -> Iterator[Any]:
    """A page in the system's Chromium, without a network."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        found = None
    if found is None:
        raise GrouserError(
            "the animation needs playwright and Chromium; pip install playwright, apt-get install chromium"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(SOFTWARE))
        width, height = SIZE
        look: Any = {"viewport": {"width": width, "height": height}, "color_scheme": "light"}
        context = browser.new_context(**look, offline=True)
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("html[data-ready=true]", state="attached")
        yield page
        browser.close()
