"""Slip by gravity that grows with the distance the wheels roll: none at rest, P's own at 1 m/s."""

from __future__ import annotations

import numpy as np
import pytest

import grouser as gr
from grouser.errors import CalibrationError
from grouser.motion import Perturbative
from grouser.motion.velocity import Inputs

SLIP = np.linspace(-0.1, 0.1, 13)


@pytest.mark.parametrize("speed", [0.0, 0.25, 1.0])
def test_slip_by_gravity_is_proportional_to_the_rim_speed(speed: float) -> None:
    vehicle = gr.vehicle("warthog")
    rates = np.full((1, 4), speed / 0.3)
    level, leaning = (
        Inputs(time=np.zeros(1), attitude=np.array([lean]), rates=rates, angles=np.full((1, 4), np.nan))
        for lean in ([0.0, 0.0], [0.1, -0.2])
    )
    by_time, by_distance = (
        model.twists(leaning) - model.twists(level)
        for model in (Perturbative(vehicle=vehicle, slip=SLIP, gravity_grows=g) for g in ("time", "distance"))
    )
    assert np.abs(by_time).max() > 0.05
    assert by_distance == pytest.approx(speed * by_time, abs=1e-12)
    odometry = gr.Odometry(Perturbative(vehicle=vehicle, slip=SLIP, gravity_grows="distance"))
    streamed = odometry.update(0.0, rates[0], attitude=(0.1, -0.2)).twist
    expected = Perturbative(vehicle=vehicle, slip=SLIP, gravity_grows="distance").twists(leaning)[0]
    assert streamed[2:5] == pytest.approx(expected[2:5], abs=1e-12)


def test_a_fit_file_says_it_and_others_are_refused() -> None:
    model = Perturbative(vehicle=gr.vehicle("warthog"), slip=SLIP, gravity_grows="distance")
    assert model.spec == {"gravity_grows": "distance"}
    assert Perturbative(vehicle=model.vehicle).spec == {}
    with pytest.raises(CalibrationError, match="gravity_grows 'never': is not one of distance, time"):
        Perturbative(vehicle=model.vehicle, gravity_grows="never")
