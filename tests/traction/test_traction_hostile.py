"""What a careless user gives to inverse kinematics, traction control and its loop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import grouser as gr
from grouser.errors import GrouserError
from grouser.traction import ClosedLoop, ModeDriver, Path, PurePursuit, TractionControl, ellipse


def loop(**options: Any) -> ClosedLoop:
    given = {"control": TractionControl(), **options}
    return ClosedLoop(PurePursuit(ellipse(5.0, 3.0), speed=0.5), gr.Kinematics(gr.vehicle("lru2")), **given)


@pytest.mark.parametrize("bad", ["fast", None, [0.1, 0.2], math.nan])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_driver_refuses_velocities_that_are_none(bad: Any, place: int) -> None:
    """Also the one that its mode leaves out."""
    given: list[Any] = [0.1, 0.0, 0.0]
    given[place] = bad
    for mode in ("ackermann", "crab"):
        with pytest.raises(GrouserError, match=r"^" + ("forward", "left", "turn")[place]):
            ModeDriver(gr.vehicle("lru2"), mode=mode).update(*given, 0.02)


def test_a_mode_that_is_none_is_refused() -> None:
    with pytest.raises(GrouserError, match="mode:"):
        ModeDriver(gr.vehicle("lru2"), mode=["crab"])  # type: ignore[arg-type]


@pytest.mark.parametrize("slip", ["much", (0.1, 0.2), math.nan])
def test_control_refuses_slip_that_is_none(slip: Any) -> None:
    for ask in (TractionControl().velocity_scale, TractionControl().acceleration_limit):
        with pytest.raises(GrouserError, match="slip:"):
            ask((0.3, 0.0, 0.0), slip)


def test_one_slip_stands_for_three() -> None:
    control = TractionControl()
    assert control.velocity_scale((0.3, 0.0, 0.0), 0.25) == pytest.approx([1.0 - 0.8 * 0.25] * 3)
    assert control.velocity_scale((0.3, 0.0, 0.0), (0.25, 0.0, 0.1)) == pytest.approx([0.8, 1.0, 0.92])


@pytest.mark.parametrize("place", [(math.nan, 0.0, 0.0), ("a", 0.0, 0.0), (0.0, 0.0, math.inf)])
def test_a_planner_refuses_a_place_that_is_none(place: tuple[Any, ...]) -> None:
    with pytest.raises(GrouserError, match="is not a"):
        PurePursuit(ellipse(5.0, 3.0), speed=0.5).desired(*place)


def test_a_path_that_doubles_back_is_driven_on() -> None:
    """0.4 m before the turning point the point 0.8 m ahead is where the vehicle stands."""
    planner = PurePursuit(Path([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), speed=1.0, lookahead=0.8)
    planner.along = 0.6
    with np.errstate(all="raise"):
        assert planner.desired(0.6, 0.0, 0.0) == pytest.approx([1.0, 0.0, 0.0])


def test_a_loop_says_what_it_needs_and_has_an_empty_record_before_it_drives() -> None:
    with pytest.raises(GrouserError, match="control: 3 is not a TractionControl"):
        loop(control=3)
    record = loop().record
    assert record.time.shape == record.along.shape == (0,)
    assert record.command.shape == record.slip.shape == (0, 3)
    with pytest.raises(GrouserError, match="number of points"):
        ellipse(1.0, 1.0, spacing=1e-300)
