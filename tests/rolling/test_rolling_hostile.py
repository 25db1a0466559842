"""What a careless user gives to rolling vehicles, and two independent checks of signs and frames."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import grouser as gr
from grouser import rotation
from grouser.collision.contacts import camber
from grouser.errors import GrouserError
from grouser.rolling import RollingModel, Start, compare, roll

RATES = {"alpha1": 1.0, "alpha2": 0.9, "alpha3": 1.1, "phi1": 0.05}


def model(**options: Any) -> RollingModel:
    return RollingModel(gr.vehicle("pvc"), gr.terrain.plane(), **options)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"dt": 0.1, "sigma": 28.0}, "sigma: 28 1/s is too fast for steps of 0.1 s"),
        ({"rates": {"alpha1": 400.0}}, "rates: a wheel at 400 rad/s turns by more than half a turn"),
        ({"rates": lambda t: {"alpha1": 400.0 * t}, "duration": 1.0}, "more than half a turn"),
        ({"dt": 1e-300}, "duration over dt"),
    ],
)
def test_steps_that_cannot_follow_are_refused_and_not_blamed_on_the_ground(
    options: dict[str, Any], sentence: str
) -> None:
    given = {"rates": RATES, "duration": 0.5, **options}
    with pytest.raises(GrouserError) as caught:
        roll(model(sigma=given.pop("sigma", 5.0)), **given)
    assert sentence in str(caught.value)


def test_the_largest_sigma_still_closes_a_violation() -> None:
    start = model().start()
    state = start.state.copy()
    state[6] += 1e-4
    run = roll(model(sigma=27.0), rates={}, duration=20.0, dt=0.1, start=Start(state, start.contact, 0, 0.0))
    assert run.rolling.closure_error[0] > 1e-4
    assert run.rolling.closure_error[-1] < 1e-9


def test_text_is_no_number_and_none_no_mapping() -> None:
    with pytest.raises(GrouserError, match=r"duration: '0\.1' is not a number"):
        roll(model(), rates=RATES, duration="0.1")  # type: ignore[arg-type]
    for weights in (None, [1.0]):
        with pytest.raises(GrouserError, match=r"weights: .* is not a Mapping"):
            model(weights=weights)
    with pytest.raises(GrouserError, match=r"joints: .* is not a Mapping"):
        model().start(joints=[1.0])  # type: ignore[arg-type]
    with pytest.raises(GrouserError, match="'pvc' is given twice"):
        compare([gr.vehicle("pvc"), gr.vehicle("pvc")], gr.terrain.plane(), speed=0.5, duration=0.1)


def test_a_slope_is_a_plane_in_a_tilted_frame() -> None:
    """Without gravity nothing tells them apart: poses differ by the tilt, joints and freedoms not at all."""
    flat = roll(model(), rates=RATES, duration=3.0)
    tilt = rotation.from_rpy(0.0, -math.radians(20.0), 0.0)
    state = flat.state[0].copy()
    state[:4] = rotation.to_quaternion(tilt @ rotation.from_quaternion(state[:4]))
    state[4:7] = tilt @ state[4:7]
    contact = flat.rolling.coordinates[0].copy()
    for one in contact:
        one[2:] = (tilt @ np.append(one[2:], 0.0))[:2]
    slope = RollingModel(gr.vehicle("pvc"), gr.terrain.slope(20.0))
    assert np.linalg.norm(slope.closure(state, contact)) < 1e-12
    run = roll(slope, rates=RATES, duration=3.0, start=Start(state, contact, 0, 0.0))
    assert run.position[-1, 2] > run.position[0, 2] + 0.5
    assert run.position == pytest.approx(flat.position @ tilt.T, abs=1e-10)
    assert run.joints == pytest.approx(flat.joints, abs=1e-10)
    assert (run.rolling.degrees_of_freedom == flat.rolling.degrees_of_freedom).all()


@pytest.mark.parametrize("roll_angle", [0.1, -0.2])
@pytest.mark.parametrize("yaw", [0.0, 2.0])
def test_camber_is_the_roll_of_the_wheel_whatever_its_heading(roll_angle: float, yaw: float) -> None:
    vehicle = gr.vehicle("pvc")
    quaternion = rotation.to_quaternion(rotation.from_rpy(roll_angle, 0.0, yaw)).ravel()
    state = np.concatenate((quaternion, (0.0, 0.0, 1.0), np.zeros(vehicle.n_joints)))
    assert camber(vehicle, state, np.tile([0.0, 0.0, 1.0], (3, 1))) == pytest.approx([roll_angle] * 3)
