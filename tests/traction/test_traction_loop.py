"""The closed loop: sensors, odometry, slip filter, control, inverse kinematics and motors on a simulated flank."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.errors import SimulationError
from grouser.traction import ClosedLoop, Path, PurePursuit, Sensors, TractionControl, drive_loop, ellipse

QUIET = Sensors(wheel_rate=0.0, attitude=0.0, fused_velocity=0.0, fused_turn=0.0)
SLOPE = 12.0


@pytest.fixture(scope="module")
def lru():
    return gr.vehicle("lru1")


def climb(lru, control, *, speed=0.6, sensors=QUIET, duration=8.0):
    """Straight up a slope of the simulant, with a slip model that knows nothing: the fused velocity must tell."""
    loop = ClosedLoop(
        PurePursuit(Path([[0.0, 0.0], [20.0, 0.0]]), speed=speed),
        gr.Kinematics(lru, slip=gr.slip.BodySlip([-0.9, 0.0, 0.0, 0.0, 0.0, 0.0])),
        control=control,
        sensors=sensors,
    )
    plant = gr.Dynamics(lru, contact=gr.contact.Ishigami(), actuator=gr.actuation.PI(gain=20.0, integral=100.0))
    run = drive_loop(plant, gr.terrain.slope(SLOPE), loop, start=(0.0, 0.0, 0.0), duration=duration, dt=0.01)
    return run, loop.record


@pytest.fixture(scope="module")
def both(lru):
    return climb(lru, None), climb(lru, TractionControl())


def test_the_rover_slips_on_the_climb_and_control_slows_it(both):
    (_, free), (_, held) = both
    end = slice(-50, None)
    assert free.command[end, 0] == pytest.approx(0.6, abs=1e-9)
    s = held.slip[end, 0].mean()
    assert 0.1 < s < 0.5
    assert held.command[end, 0].mean() == pytest.approx((1.0 - 0.8 * s) * 0.6, rel=1e-3)


def test_estimated_slip_is_that_of_the_plant(both):
    """In quiet the filter mixes model and truth; the truth lies within what the model is off by."""
    for run, record in both:
        true = run.velocity[-50:, 3].mean() - record.odometry[-50:, 0].mean()
        assert true < -0.05
        assert record.slip_velocity[-50:, 0].mean() == pytest.approx(true, rel=0.1)


def test_control_lowers_the_speed_of_slip_and_the_largest_slip_while_setting_off(both):
    def slip(run, record):
        v = np.interp(record.time, run.time, run.velocity[:, 3])
        wheels = record.odometry[:, 0]
        moving = wheels > 0.1
        return (wheels - v)[-50:].mean(), (1.0 - v[moving] / wheels[moving]).max()

    (fast, most), (slow, least) = slip(*both[0]), slip(*both[1])
    assert slow < 0.95 * fast
    assert least < most


def test_the_command_never_changes_faster_than_the_limit(both):
    for (_, record), motor in zip(both, (0.63, 0.8 * 0.63), strict=True):
        change = np.abs(np.diff(record.command[:, 0])) / 0.02
        # The limit of a sample acts on the command it gives.
        assert (change <= record.acceleration_limit[1:] + 1e-9).all()
        assert change.max() <= 0.63 + 1e-9
        moving = np.abs(record.odometry[1:, 0]) > 0.1
        assert change[moving].max() <= motor + 1e-9


def test_the_same_seed_gives_the_same_drive_and_noise_does_not_stop_it(lru):
    one, other = (climb(lru, TractionControl(), sensors=Sensors(seed=3), duration=3.0) for _ in range(2))
    assert one[0].state.tobytes() == other[0].state.tobytes()
    assert one[0].position[-1, 0] > 0.8


def test_pure_pursuit_stays_on_an_ellipse(lru):
    path = ellipse(3.0, 1.5)
    loop = ClosedLoop(PurePursuit(path, speed=0.5, lookahead=0.5), gr.Kinematics(lru), control=None, sensors=QUIET)
    plant = gr.Dynamics(lru)
    run = drive_loop(plant, gr.terrain.plane(), loop, start=(0.0, -1.5, 0.0), duration=45.0, dt=0.01)
    assert loop.planner.finished
    end = int(np.argmax(loop.record.along >= path.length - 1e-6))
    assert np.abs(loop.record.off[:end]).max() < 0.1
    x, y = run.position[: 2 * end, :2].T
    assert np.abs(np.hypot(x / 3.0, y / 1.5) - 1.0).max() < 0.07
    assert run.position[-1, :2] == pytest.approx([0.0, -1.5], abs=0.4)
    assert np.abs(run.velocity[-1, 3:5]).max() < 1e-3


def test_a_path_knows_its_length_and_its_sides():
    path = Path([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0]])
    assert path.length == pytest.approx(3.0)
    assert path.nearest(1.0, -0.2, start=0.0, end=2.0) == pytest.approx((1.0, 0.2))  # right of it
    assert path.nearest(1.5, 0.5, start=2.0, end=3.0) == pytest.approx((2.5, -0.5))  # left of it
    assert path.point(3.5) == pytest.approx([2.0, 1.5])
    assert ellipse(2.0, 1.0).length == pytest.approx(9.68845, rel=1e-3)  # Ramanujan


def test_pursuit_turns_towards_the_path():
    path = Path([[0.0, 0.0], [10.0, 0.0]])
    assert PurePursuit(path, speed=0.5).desired(1.0, -0.3, 0.0)[2] > 0.0
    assert PurePursuit(path, speed=0.5).desired(1.0, 0.3, 0.0)[2] < 0.0
    assert PurePursuit(path, speed=0.5).desired(1.0, 0.0, 0.2)[2] < 0.0


def test_what_does_not_fit_is_refused(lru):
    path = Path([[0.0, 0.0], [1.0, 0.0]])
    loop = ClosedLoop(PurePursuit(path, speed=0.3), gr.Kinematics(lru), control=None)
    with pytest.raises(SimulationError, match="control period"):
        drive_loop(gr.Dynamics(lru), gr.terrain.plane(), loop, start=(0.0, 0.0, 0.0), duration=1.0, dt=0.05)
    with pytest.raises(SimulationError, match="husky"):
        drive_loop(gr.Dynamics(gr.vehicle("husky")), gr.terrain.plane(), loop, start=(0, 0, 0), duration=1.0, dt=0.01)
    with pytest.raises(SimulationError, match="two"):
        Path([[0.0, 0.0]])
    with pytest.raises(SimulationError, match="wheel_rate"):
        Sensors(wheel_rate=-1.0)
    with pytest.raises(SimulationError, match="finite"):
        Path([[0.0, 0.0], [math.nan, 1.0]])
