"""L Fig. 4.5 and 5.3 in small: what elastic running gear does, and what it does not."""

import json

import pytest

from experiments.lru_oscillations import LRU_OSCILLATIONS, OFF, SETTLED, WHEEL, SwitchedPI
from grouser import drive, simulate, terrain, vehicle
from grouser.dynamics import Dynamics


@pytest.fixture(scope="module")
def rows():
    result = LRU_OSCILLATIONS.run(quick=True)
    json.dumps(result.to_json(), allow_nan=False)
    return {(row["case"], row["gear"]): row for row in result.rows}


def test_a_motor_switched_off_snaps_back_only_on_a_spring(rows):
    """A rigid wheel goes on at what the soil lets it; a wound-up motor swings beyond that and overshoots."""
    rigid, elastic = rows["motor off", "rigid"], rows["motor off", "elastic"]
    assert rigid["rate_high"] - 4.0 < 0.01
    assert elastic["rate_low"] < rigid["rate_low"] - 0.5
    assert elastic["rate_high"] - 4.0 > 0.03
    assert elastic["ax_rms"] > 1.5 * rigid["ax_rms"]


def test_torque_is_far_from_constant_at_a_constant_commanded_speed(rows):
    for gear in ("rigid", "elastic"):
        row = rows["rough ground", gear]
        assert row["torque_rms"] > 0.3 * row["torque_mean"]
        assert row["rate_high"] - row["rate_low"] < 0.2


def test_a_switched_motor_has_no_torque_while_it_is_off_and_the_others_do():
    rover = vehicle("lru1")
    model = Dynamics(rover, actuator=SwitchedPI(gain=20.0, integral=100.0))
    run = simulate(model, terrain.slope(5.0), drive.arc(0.3), duration=SETTLED + 2 * OFF, dt=0.01)
    motor = rover.actuated.index(WHEEL)
    torque = run.torque[: len(run.time) - 1]
    # Row i is of the step that starts at time i: off are those that end within (2.0, 2.1] s.
    off = (run.time[1:] > SETTLED + 1e-9) & (run.time[1:] <= SETTLED + OFF + 1e-9)
    assert off.sum() == 10
    assert (torque[off, motor] == 0.0).all()
    assert (torque[~off & (run.time[1:] > 1.0), motor] != 0.0).all()
    assert (torque[off][:, rover.actuated.index("FL")] > 0.0).all()
