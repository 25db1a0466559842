"""Every rollout says how and when it ended."""

import math

import numpy as np
import pytest

import grouser as gr

HUSKY = gr.vehicle("husky")
DT = 0.04


def flat_map(half):
    x = np.linspace(-half, half, 11)
    return gr.terrain.grid(np.zeros((11, 11)), x, x)


def first_step_off(speed, half):
    """The contact search samples the rim almost to its front; that point leaves the map first."""
    reach = 0.256 + 0.165 * math.sin(math.radians(80.0))  # the foremost sample of the rim
    return math.floor((half - reach) / (speed * DT)) + 1


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_leaving_the_map_is_a_status_with_its_step(integrator):
    model = gr.Kinematics(HUSKY, integrator=integrator)
    speed = 1.0
    run = gr.simulate(model, flat_map(3.0), gr.drive.arc(speed), duration=4.0, dt=DT)
    assert run.status == "off_terrain"
    expected = first_step_off(speed, 3.0)
    # Runge–Kutta notices during the step that would leave, Euler after it.
    assert run.steps == (expected if integrator == "euler" else expected - 1)
    assert 0 <= expected - 1 - round(run.time[-1] / DT) <= 1
    assert np.isfinite(run.state).all()
    many = gr.rollout(model, flat_map(3.0), np.full((2, 100, 4), speed / 0.165), dt=DT)
    assert list(many.status) == ["off_terrain"] * 2
    assert list(many.steps) == [run.steps] * 2
    assert not many.ok.any()


@pytest.mark.parametrize(
    ("integrator", "every"),
    [
        ("euler", 1),
        ("euler", 4),
        ("rk4", 1),
        ("rk4", 4),
    ],
)
def test_every_row_of_a_rollout_that_ended_early_is_a_state(integrator, every):
    model = gr.Kinematics(HUSKY, integrator=integrator)
    many = gr.rollout(model, flat_map(3.0), np.full((1, 100, 4), 1.0 / 0.165), dt=DT, every=every)
    assert many.status[0] == "off_terrain"
    np.testing.assert_allclose(np.linalg.norm(many.state[0, :, :4], axis=1), 1.0, rtol=0.0, atol=1e-12)
    assert (np.diff(many.state[0, :, 4]) >= 0.0).all()  # it drove ahead, then the last state repeats


def test_a_start_beyond_the_map_is_an_error_and_over_its_edge_a_status():
    with pytest.raises(gr.GrouserError, match="no ground"):
        gr.simulate(gr.Kinematics(HUSKY), flat_map(3.0), gr.drive.arc(1.0), duration=1.0, start=(5.0, 0.0, 0.0))
    with pytest.raises(gr.GrouserError, match="ground ends"):
        gr.simulate(gr.Kinematics(HUSKY), flat_map(3.0), gr.drive.arc(1.0), duration=1.0, start=(2.9, 0.0, 0.0))
    state = gr.settle(HUSKY, flat_map(3.0)).state
    state[4] = 2.9
    run = gr.simulate(gr.Kinematics(HUSKY), flat_map(3.0), gr.drive.arc(1.0), duration=1.0, start=state)
    assert run.status == "off_terrain"
    assert run.steps == 0
    assert len(run.time) == 0
    assert run.distance == 0.0
    assert run.summary()["status"] == "off_terrain"


def test_tilting_beyond_the_tip_angle_is_rolled_over_with_its_step():
    ground = gr.terrain.ramp(2.0, 20.0, x=1.0)
    upright = gr.simulate(gr.Kinematics(HUSKY), ground, gr.drive.arc(0.5), duration=6.0, dt=DT)
    assert upright.status == "ok"
    tilt = np.arccos(gr.rotation.from_quaternion(upright.quaternion)[:, 2, 2])
    # A step of 2 cm across the foot of the ramp goes 2 cm · tan 20° wrong, over half a metre of wheelbase, and decays.
    assert tilt[-1] == pytest.approx(math.radians(20.0), abs=1e-3)
    limit = math.radians(10.0)
    run = gr.simulate(gr.Kinematics(HUSKY, tip_angle=limit), ground, gr.drive.arc(0.5), duration=6.0, dt=DT)
    assert run.status == "rolled_over"
    assert run.steps == np.argmax(tilt > limit)  # the first state beyond
    assert run.state.tobytes() == np.ascontiguousarray(upright.state[: run.steps]).tobytes()


def test_a_rolled_over_vehicle_is_a_normal_state_if_the_tip_angle_allows():
    q = gr.settle(HUSKY, gr.terrain.plane()).state
    q[:4] = gr.rotation.to_quaternion(gr.rotation.from_rpy(math.pi, 0.0, 0.0))
    model = gr.Kinematics(HUSKY, tip_angle=math.pi)
    run = gr.simulate(model, gr.terrain.plane(), gr.drive.arc(0.5), duration=1.0, start=q)
    assert run.status == "ok"
    assert np.isfinite(run.state).all()
    assert (
        gr.simulate(gr.Kinematics(HUSKY), gr.terrain.plane(), gr.drive.arc(0.5), duration=1.0, start=q).status
        == "rolled_over"
    )


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_a_command_that_is_no_number_is_diverged_with_its_step(value, integrator):
    def drive(t, state, velocity):
        return 1.0, 1.0, value if t > 0.5 else 1.0, 1.0

    run = gr.simulate(
        gr.Kinematics(HUSKY, integrator=integrator), gr.terrain.plane(), gr.drive.law(drive), duration=2.0, dt=DT
    )
    assert run.status == "diverged"
    assert run.steps == 13  # 13 · 0.04 s is the first time above 0.5 s
    assert np.isfinite(run.state).all()
    assert np.isfinite(run.velocity).all()


def test_every_status_says_what_it_means():
    for status in gr.Status:
        assert status.meaning
    known = {"ok", "off_terrain", "rolled_over", "diverged", "unsolved", "too_sharp", "gained_energy", "buried"}
    assert {str(s) for s in gr.Status} == known | {"interrupted", "stopped"}


def test_simulate_and_rollout_count_deficient_steps_alike():
    from grouser.vehicles import Frame, Vehicle

    balancing = Vehicle(
        "balancing",
        (
            Frame("body", mass=10.0),
            Frame("left", "body", "RY", True, xyz=(0, 0.3, 0), radius=0.2, mass=1.0),
            Frame("right", "body", "RY", True, xyz=(0, -0.3, 0), radius=0.2, mass=1.0),
        ),
    )
    model = gr.Kinematics(balancing)
    run = gr.simulate(model, gr.terrain.plane(), np.ones((10, 2)), duration=0.4)
    many = gr.rollout(model, gr.terrain.plane(), np.ones((1, 10, 2)))
    assert many.deficient[0] == 10
    assert run.deficient_steps == many.deficient[0]


def test_settling_names_the_wheels_that_cannot_touch():
    """Husky has no suspension: one wheel on a 0.1 m bump lifts, and so does its diagonal neighbour's partner."""

    def bump(x, y):
        d = (x - 0.256) ** 2 + (y - 0.275) ** 2
        return 0.1 * math.exp(-d / 0.02)

    ground = gr.terrain.law(bump)
    settled = gr.settle(HUSKY, ground)
    assert settled.converged
    assert set(settled.off_ground) == {"FR", "BL"}  # it rocks over the diagonal FL – BR
    # Least squares share the misfit equally: up, down, down, up.
    np.testing.assert_allclose(np.abs(settled.height_error), np.abs(settled.height_error).mean(), rtol=0.1)
    assert gr.settle(HUSKY, gr.terrain.plane()).off_ground == ()
    assert gr.settle(gr.vehicle("zoe"), ground).off_ground == ()  # its rear axle rolls
