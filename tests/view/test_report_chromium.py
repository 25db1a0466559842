"""A report in a real browser: it opens from disk with the network cut, shows its pictures, and prints to PDF."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import grouser as gr
from grouser.view.report_run import report_run
from tests.chromium import Watch

KEPT = Path(__file__).resolve().parents[2] / "out" / "report"
HOSTILE = "</h1><script>window.hurt=1</script><img src=x onerror=window.hurt=1>"


def test_a_report_opens_offline_shows_its_pictures_and_prints(browser: Any, tmp_path: Path) -> None:
    ground = gr.terrain.rough(rms=0.15, length=0.8, seed=3)
    run = gr.simulate(gr.Dynamics(gr.vehicle("zoe")), ground, gr.drive.arc(1.0), duration=2.0)
    hostile = dataclasses.replace(run, vehicle=dataclasses.replace(run.vehicle, name=HOSTILE))
    file = report_run(hostile).write(tmp_path / "report.html")
    watch = Watch()
    viewport = {"width": 900, "height": 700}
    with watch.page(browser, ("file:", "data:"), viewport=viewport, offline=True) as page:
        page.goto(file.as_uri())
        pictures = page.evaluate(
            "[...document.images].map(i => [i.complete, i.naturalWidth, i.getBoundingClientRect().right])"
        )
        assert len(pictures) == 2
        assert all(complete and wide > 300 and right <= 900 for complete, wide, right in pictures)
        assert page.evaluate("window.hurt") is None
        # The style is let through by the page's own policy: its rules are in force.
        assert page.evaluate("getComputedStyle(document.querySelector('.answer')).borderLeftWidth") == "4px"
        assert page.evaluate("document.documentElement.scrollWidth") <= 900
        KEPT.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(KEPT / "report.png"), full_page=True)
        printed = page.pdf(path=str(KEPT / "report.pdf"), format="A4", print_background=True)
        assert printed.startswith(b"%PDF")
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 2
    assert watch.asked == []
    assert watch.said == []
