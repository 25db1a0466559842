"""What drives a vehicle: each kind commands what it says, when it says."""

import numpy as np
import pytest

import grouser as gr

HUSKY, ROCKY = gr.vehicle("husky"), gr.vehicle("rocky7")
PLANE = gr.terrain.plane()


def run(drive, vehicle=HUSKY, duration=1.0, dt=0.1, **options):
    return gr.simulate(gr.Kinematics(vehicle), PLANE, drive, duration=duration, dt=dt, **options)


def test_a_constant_is_for_all_for_each_or_by_name():
    np.testing.assert_array_equal(run(gr.drive.constant(2.0)).command, np.full((11, 4), 2.0))
    np.testing.assert_array_equal(run(gr.drive.constant([1, 2, 3, 4])).command, np.tile([1.0, 2, 3, 4], (11, 1)))
    named = run(gr.drive.constant({"BR": 3.0, "FL": -1.0})).command
    np.testing.assert_array_equal(named, np.tile([-1.0, 0, 0, 3.0], (11, 1)))


def test_an_arc_gives_each_wheel_the_speed_of_its_place():
    command = run(gr.drive.arc(1.0, 0.5)).command[0]
    np.testing.assert_allclose(
        command * 0.165, [1 - 0.5 * 0.275, 1 + 0.5 * 0.275] * 2, rtol=0.0, atol=1e-12
    )  # left is inner
    back = run(gr.drive.arc(-1.0, 0.5)).command[0]
    np.testing.assert_allclose(back, -command, rtol=0.0, atol=1e-12)  # same circle, driven backwards


def test_a_twist_moves_sideways_where_the_wheels_can():
    lru = gr.vehicle("lru1")
    moved = gr.simulate(gr.Kinematics(lru), PLANE, gr.drive.twist(0.2, 0.2), duration=8.0)
    # Steering needs a moment (gain 5/s); then it drives at 45° without turning.
    direction = moved.position[-1] - moved.position[100]
    assert direction[0] == pytest.approx(direction[1], abs=1e-6)
    assert moved.yaw[-1] == pytest.approx(moved.yaw[100], abs=1e-6)
    for joint in ("steerFL", "steerFR", "steerBL", "steerBR"):
        assert moved.joint(joint)[-1] == pytest.approx(np.pi / 4, abs=1e-9)


def test_a_steered_vehicle_closes_the_loop_on_its_steering():
    start = gr.settle(ROCKY, PLANE).state
    start[7 + ROCKY.joint_index("S1")] = 0.2
    moved = run(gr.drive.arc(0.2), ROCKY, duration=1.0, dt=0.02, start=start)
    s1 = ROCKY.actuated.index("S1")
    np.testing.assert_allclose(moved.command[:, s1], -5.0 * moved.joint("S1"), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(
        moved.joint("S1"), 0.2 * 0.9 ** np.arange(51), rtol=0.0, atol=1e-12
    )  # Euler: 1 − 5 · 0.02 a step


def test_a_schedule_switches_at_its_times():
    parts = [(0.0, gr.drive.constant(1.0)), (0.3, gr.drive.constant(2.0)), (0.7, gr.drive.arc(0.165))]
    command = run(gr.drive.schedule(parts)).command[:, 0]
    # At 0.3 s and 0.7 s the new part begins, though 3 · 0.1 is a little more than 0.3 and 7 · 0.1 than 0.7.
    np.testing.assert_allclose(command, [1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1])


def test_a_schedule_wants_rising_times():
    fixed = gr.drive.constant(1.0)
    for parts in ([], [(0.0, fixed), (0.0, fixed)], [(1.0, fixed), (0.5, fixed)], [(0.0, "go")], [0.0]):
        with pytest.raises(gr.GrouserError, match="schedule"):
            gr.drive.schedule(parts)


def test_a_table_holds_each_row_and_its_last_to_the_end():
    rows = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(run(gr.drive.table(rows)).command, rows[[0, 1, *[2] * 9]])
    np.testing.assert_array_equal(run(gr.drive.table(rows, dt=0.3)).command, rows[[0, 0, 0, 1, 1, 1, *[2] * 5]])
    np.testing.assert_array_equal(run(rows).command, run(gr.drive.table(rows)).command)  # an array is a table


def test_a_python_function_and_its_compiled_form_drive_alike():
    def weave(t, state):
        left = 2.0 + np.sin(3 * t) - state[5]
        return [left, 2.0, left, 2.0]

    def compiled(t, state, velocity):
        left = 2.0 + np.sin(3 * t) - state[5]
        return left, 2, left, 2.0

    python, numba = run(weave, duration=4.0), run(gr.drive.law(compiled), duration=4.0)
    np.testing.assert_allclose(python.state, numba.state, rtol=0.0, atol=1e-12)
    assert np.ptp(python.command[:, 0]) > 0.5


def test_a_compiled_drive_sees_the_velocity_of_the_last_step():
    def accelerate(t, state, velocity):
        return velocity[6:] + 1.0

    np.testing.assert_allclose(run(gr.drive.law(accelerate)).command[:, 0], np.arange(1, 12))


def test_what_a_python_drive_raises_is_raised():
    def fails(t, state):
        if t > 0.35:
            raise RuntimeError("the tyre is flat")
        return np.ones(4)

    with pytest.raises(gr.GrouserError, match=r"fails.*RuntimeError.*the tyre is flat") as caught:
        run(fails)
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize("returned", [np.ones(3), [1.0, 2.0, np.nan, 4.0], "fast", None])
def test_a_python_drive_that_returns_nonsense_is_named(returned):
    with pytest.raises(gr.GrouserError, match="command of the drive"):
        run(lambda t, state: returned)


def test_a_compiled_drive_that_does_not_compile_is_an_error():
    def impossible(t, state, velocity):
        return undefined_name  # noqa: F821

    with pytest.raises(gr.GrouserError, match=r"impossible.*does not compile"):
        run(gr.drive.law(impossible))


@pytest.mark.parametrize(
    "drive",
    [
        np.ones((5, 3)),
        np.ones(4),
        np.ones((0, 4)),
        [[1.0, 2.0, 3.0, np.inf]],
        gr.drive.constant([1.0, 2.0]),
        gr.drive.constant({"wheel 7": 1.0}),
        gr.drive.constant("fast"),
        gr.drive.constant(np.nan),
        "forward",
        None,
        3.0,
    ],
    ids=str,
)
def test_commands_of_the_wrong_shape_or_kind_are_refused(drive):
    with pytest.raises(gr.GrouserError):
        run(drive)
