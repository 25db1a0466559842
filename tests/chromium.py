"""The browser of the tests: how it is started, and how they wait, for what a page says and never for a time.

Chromium or Chrome of the system is used where there is one; with GROUSER_NEEDS_CHROMIUM=1 a missing one is a failure.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SOFTWARE = (
    "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip
"""3D without a graphics card, and no names of other machines."""
PATIENCE = 180_000
"""Milliseconds; a busy machine without a graphics card takes its time, and how long is not what is tested."""
POLL = 50
"""Milliseconds from one look at the page to the next."""


def program() -> str | None:
    """Where the browser of the system is."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def start_browser() -> Iterator[Any]:
    """The browser, for a fixture."""
    found = program()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        found, sync_playwright = None, None
    if found is None or sync_playwright is None:
        reason = f"no playwright, or none of {', '.join(BROWSERS)}; on Debian: apt-get install chromium"
        if os.environ.get("GROUSER_NEEDS_CHROMIUM") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=list(SOFTWARE), timeout=PATIENCE)
        yield started
        started.close()


class Watch:
    """What the pages of a test said on their consoles, and asked of others than they may."""

    def __init__(self) -> None:
        self.said: list[str] = []
        """Errors."""
        self.asked: list[str] = []
        """Addresses that were refused."""

    @contextmanager
    def page(self, browser: Any, allowed: str | tuple[str, ...], **options: Any) -> Iterator[Any]:
        """A new page that may ask for nothing but addresses that begin as is allowed."""

        def answer(route: Any) -> None:
            if route.request.url.startswith(allowed):
                route.continue_()
            else:
                self.asked.append(route.request.url)
                route.abort()

        context = browser.new_context(**options)
        try:
            context.set_default_timeout(PATIENCE)
            context.route("**/*", answer)
            page = context.new_page()
            page.on("console", lambda message: self.said.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: self.said.append(str(error)))
            yield page
        finally:
            context.close()


def until(page: Any, condition: str | Callable[[], Any]) -> None:
    """Wait until something holds, of the page (JavaScript) or of this process.

    It is asked again and again, as the policy of our pages lets nothing be evaluated in them.
    """
    for _ in range(PATIENCE // POLL):
        if condition() if callable(condition) else page.evaluate(f"Boolean({condition})"):
            return
        page.wait_for_timeout(POLL)
    pytest.fail(f"never: {condition}; the page says {page.evaluate('window.grouser?.state?.()')}")
