"""Sprung joints roll as free ones: they count as freedoms, and springs bring them back where that is open."""

import dataclasses

import numpy as np
import pytest

import grouser as gr
from grouser.errors import SimulationError
from grouser.rolling import RollingModel, measure, roll

GROUND = gr.terrain.rough(rms=0.05, length=1.0, seed=4, size=30.0, interpolation="spline")


def lru(**changes):
    """LRU-1 with round tyres."""
    vehicle = gr.vehicle("lru1")
    frames = tuple(dataclasses.replace(f, tyre_radius=0.04) if f.is_wheel else f for f in vehicle.frames)
    return vehicle.replace(frames=frames, **changes)


SPRUNG = lru()
BOGIES = [7 + SPRUNG.joint_index(name) for name in ("bogieF", "bogieB")]
RATES = dict.fromkeys(SPRUNG.wheels, 2.0)


def test_sprung_joints_are_freedoms_as_free_ones_are():
    model = RollingModel(SPRUNG, GROUND)
    start = model.start(0.0, 0.0, 0.3)
    mobility = model.mobility(start.state, start.contact)
    assert mobility.is_sure
    # Six velocities and ten joints, three rows for each of four wheels.
    assert mobility.degrees_of_freedom == 6 + 10 - 12
    free = RollingModel(lru(couplings=()), GROUND).mobility(start.state, start.contact)
    np.testing.assert_array_equal(mobility.admissible, free.admissible)
    assert len(model.closure(start.state, start.contact)) == 5 * 4


def test_rigid_bogies_take_freedoms_and_cannot_stand_on_uneven_ground():
    rigid = tuple(dataclasses.replace(c, stiffness=None, damping=None) for c in SPRUNG.couplings)
    with pytest.raises(SimulationError, match="cannot all touch the ground at once"):
        RollingModel(lru(couplings=rigid), GROUND).start(0.0, 0.0, 0.3)


def test_where_bogies_must_turn_it_starts_where_the_springs_carry_the_weight():
    start = RollingModel(SPRUNG, GROUND).start(0.0, 0.0, 0.3)
    settled = gr.settle(SPRUNG, GROUND, yaw=0.3)
    # Settling lets the springs lift the wheels by some hundredths of a millimetre, over 0.29 m.
    np.testing.assert_allclose(start.state, settled.state, rtol=0.0, atol=5e-4)
    assert start.closure < 1e-12
    given = RollingModel(SPRUNG, GROUND).start(0.0, 0.0, 0.3, joints={"bogieF": 0.02})
    assert given.state[BOGIES[0]] == 0.02


def test_rolling_keeps_to_the_ground_without_slip():
    run = roll(RollingModel(SPRUNG, GROUND), rates=RATES, duration=3.0, start=(0.0, 0.0, 0.3))
    assert run.status == "ok"
    assert (run.rolling.degrees_of_freedom == 4).all()
    measured = measure(run)
    assert measured.contact_gap.max() < 1e-6
    assert measured.rolling_residual.max() < 2e-5  # of differences over 0.01 s


@pytest.mark.parametrize("ground", [gr.terrain.plane(), gr.terrain.slope(10.0, heading_deg=90.0)], ids=lambda g: g.kind)
def test_springs_bring_the_body_back_at_the_rate_asked_for(ground):
    """On level ground d/dt of the bogies' angle is −ρ (1 − m g h / 2 k), as in kinematics; on a slope the end is that
    of settling. Without `returning` nothing moves."""
    model = RollingModel(SPRUNG, ground)
    start = model.start()
    state = start.state.copy()
    state[:4] = gr.rotation.to_quaternion(gr.rotation.from_quaternion(state[:4]) @ gr.rotation.from_rpy(0.02, 0.0, 0.0))
    state[BOGIES] -= 0.02
    leaning = dataclasses.replace(start, state=state)
    still = roll(model, rates={}, duration=1.0, start=leaning)
    np.testing.assert_allclose(still.state[-1], state, rtol=0.0, atol=1e-9)
    run = roll(model.replace(returning=2.0), rates={}, duration=6.0, start=leaning)
    settled = gr.settle(SPRUNG, ground).state[BOGIES[0]]
    angle = run.state[:, BOGIES[0]] - settled
    rate = 2.0 * (1.0 - 36.0 * 9.81 * 0.05 / 140.0)
    # The weight's stiffness falls with the cosine of the tilt.
    assert abs(angle[0]) > 4e-3
    assert abs(angle[-1]) < 1e-6
    np.testing.assert_allclose(angle, angle[0] * np.exp(-rate * run.time), rtol=0.0, atol=2e-4)


@pytest.mark.parametrize("bad", [-1.0, np.nan, "fast"])
def test_a_bad_rate_of_return_is_refused(bad):
    with pytest.raises(gr.GrouserError, match="returning"):
        RollingModel(SPRUNG, GROUND, returning=bad)
