"""When a drive ends by itself."""

from __future__ import annotations

from typing import Any

import pytest

import grouser as gr
from grouser.live import loop
from grouser.live.pilot import Pilot
from grouser.live.session import Session


@pytest.fixture
def live() -> Any:
    """Not started: its clock is the test's."""
    model, ground = gr.Kinematics(gr.vehicle("husky")), gr.terrain.plane()

    def make(*, submit: Any, keep: Any) -> Session:
        sim, pilot = gr.Simulation(model, ground, dt=1.0 / 120.0), Pilot(model, ground, submit=submit)
        return Session(sim, limits=gr.plan.Limits.of(model.vehicle), pilot=pilot, keep=keep)

    made = loop.LiveDrive(make, host="127.0.0.1", port=0)
    yield made
    made.close()


def test_a_page_that_is_loaded_again_slowly_does_not_end_the_drive(live: loop.LiveDrive) -> None:
    live.page()
    live.channel.enter("a", take=False)
    assert live._watched(live._asked_for[1] + 100.0)
    live.page()  # a browser asks for the page again before it lets the old one go
    now = live._asked_for[1]
    live.channel.leave("a")
    for late in (0.0, loop.GRACE + 1.0, loop.LOADING - 1.0):
        assert not live._watched(now + late)
        assert live.reason == ""
    live.channel.enter("b", take=False)
    assert live._watched(now + loop.LOADING)
    # One that is closed for good does.
    live.channel.leave("b")
    assert not live._watched(now + loop.LOADING)
    assert live.reason == ""
    assert not live._watched(now + loop.LOADING + loop.GRACE + 0.1)
    assert live.reason == "its page was closed"


def test_a_page_that_never_comes_ends_it_too(live: loop.LiveDrive) -> None:
    live.channel.enter("a", take=False)
    live.channel.leave("a")
    live.page()
    now = live._asked_for[1]
    assert not live._watched(now)
    assert live.reason == ""
    assert not live._watched(now + loop.LOADING + loop.GRACE)
    assert live.reason == "its page was closed"
