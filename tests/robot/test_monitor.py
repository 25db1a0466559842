"""The monitor: stuck, sliding, ground changed, on signals written out here."""

import copy
import math
import pickle

import numpy as np
import pytest
from scipy.special import i0e

from grouser._compile.jit import entry
from grouser._kernels.robot.hidden_motion import rice
from grouser.errors import OdometryError
from grouser.robot import Monitor, MonitorSettings

G = 9.81


class Ride:
    """A robot on level ground: its wheels and what it does are given sample by sample."""

    def __init__(self, seed=0, **settings):
        self.monitor = Monitor(MonitorSettings(**settings))
        self.rng = np.random.default_rng(seed)
        self.t = self.v = self.wheels = self.yaw = 0.0

    def go(self, duration, wheels, moved=None, *, turn=0.0, turned=None, load=5.0, visual=False, imu=True, shake=None):
        """Drive; speeds reach their values with 1.5 m/s². `moved` is the share of the wheels' motion."""
        for _ in range(round(duration / 0.02)):
            self.t += 0.02
            self.wheels += float(np.clip(wheels - self.wheels, -0.03, 0.03))
            goal = self.wheels * (0.95 if moved is None else moved)
            step = float(np.clip(goal - self.v, -0.03, 0.03))
            level = 0.05 + (0.6 * abs(self.v) if shake is None else shake)
            for k in range(2 * imu):
                noise = self.rng.normal(0.0, 1.0, 6) * [0.01, 0.01, 0.005, level, level, level]
                rate = turn if turned is None else turned
                gyro = noise[:3] + np.array([0.0, 0.0, rate])
                force = noise[3:] + np.array([step / 0.02, self.v * rate, G])
                self.monitor.imu(self.t - 0.01 + 0.01 * k, gyro, force)
            self.v += step
            seen = {"velocity": self.v + self.rng.normal(0.0, 0.03), "velocity_sigma": 0.03} if visual else {}
            current = load * (0.2 + abs(self.wheels)) + self.rng.normal(0.0, 0.2)
            self.monitor.update(self.t, self.wheels, turn, current=current, **seen)
        return self.monitor


def kinds(monitor):
    return [alarm.kind for alarm in monitor.alarms]


def test_a_calm_drive_with_stops_raises_nothing():
    ride = Ride()
    for k in range(12):
        ride.go(4.0, 0.0)
        ride.go(16.0, 0.3 + 0.05 * k)
    assert kinds(ride.monitor) == []
    assert not ride.monitor.stuck
    assert ride.monitor.moved_share > 0.7


def test_a_robot_that_loses_its_speed_is_stuck_until_it_moves():
    ride = Ride()
    ride.go(3.0, 0.0)
    ride.go(20.0, 0.6)
    before = ride.t
    monitor = ride.go(2.5, 0.6, 0.0)
    assert monitor.stuck
    assert before - 0.5 < monitor.stuck.since < before + 1.0
    assert monitor.stuck.probability > 0.5
    assert not monitor.sliding
    assert monitor.moved_share < 0.25
    assert ride.go(3.0, 0.6, 0.0).stuck
    assert ride.go(2.0, 0.0, 0.0).stuck  # wheels that stand do not end it
    assert not ride.go(4.0, -0.5, 0.95).stuck
    alarm = monitor.alarms[0]
    assert alarm.kind == "stuck"
    assert alarm.ended > alarm.time > alarm.since
    assert alarm.summary()["kind"] == "stuck"


def test_a_robot_that_never_starts_is_stuck():
    ride = Ride()
    ride.go(4.0, 0.0)
    ride.go(20.0, 0.5)
    ride.go(4.0, 0.0)
    assert ride.go(2.0, 0.6, 0.0).stuck


def test_wheels_that_turn_a_robot_which_does_not_turn_are_stuck():
    ride = Ride()
    ride.go(4.0, 0.0)
    for sign in (1.0, -1.0, 1.0):
        ride.go(4.0, 0.4, turn=0.5 * sign)
    assert not ride.monitor.stuck
    ride.go(3.0, 0.0)
    assert ride.go(1.5, 0.0, turn=0.6, turned=0.0).stuck


def test_visual_speed_alone_finds_it_and_without_sensors_nothing_is_claimed():
    ride = Ride()
    ride.go(10.0, 0.5, imu=False, visual=True)
    assert not ride.monitor.stuck
    assert ride.go(1.5, 0.5, 0.0, imu=False, visual=True).stuck
    blind = Ride(false_alarm_hours=2.0)
    blind.go(20.0, 0.5, imu=False, load=0.0)
    blind.go(60.0, 0.5, 0.0, imu=False, load=0.0)
    assert kinds(blind.monitor) == []
    assert blind.monitor.stuck.probability < 0.01  # evidence is forgotten, no time alone raises an alarm


def test_fixes_find_it_whatever_the_heading():
    for heading in (0.3, 2.5):
        monitor, x = Monitor(), 0.0
        rng = np.random.default_rng(3)
        for k in range(1, 1501):
            t = 0.02 * k
            x += 0.02 * (0.5 if t < 20.0 else 0.0)
            if k % 10 == 0:
                place = x * np.array([math.cos(heading), math.sin(heading)]) + rng.normal(0.0, 0.02, 2)
                monitor.fix(t, place, 0.02)
            monitor.update(t, 0.5)
            assert not (monitor.stuck and t < 20.0)
        assert monitor.stuck
        assert monitor.alarms[0].time < 22.0


@entry
def likelihood_of_distance(moved, way, sigma, floor):
    return rice(moved, way, sigma, floor)


@pytest.mark.parametrize("moved", [0.0, 0.01, 0.3, 2.0])
@pytest.mark.parametrize("way", [0.0, 0.02, 0.25, 1.9])
def test_the_likelihood_of_a_distance_between_two_fixes_is_rices(moved, way):
    sigma = 0.1
    exact = i0e(moved * way / sigma**2) * np.exp(-0.5 * ((moved - way) / sigma) ** 2)
    # The polynomials are good to 1.9e-7 of e^−x √x I₀, which is 0.4 where x is large.
    assert likelihood_of_distance(moved, way, sigma, 0.0) == pytest.approx(exact, rel=1e-6, abs=1e-300)


@pytest.mark.parametrize("slip", [0.0, 0.3, 0.55])
def test_fixes_of_a_robot_that_slips_as_it_is_known_to_are_no_alarm(slip):
    monitor, rng, x = Monitor(), np.random.default_rng(5), 0.0
    for k in range(1, 3001):
        x += 0.02 * 0.5 * (1.0 - slip)
        if k % 10 == 0:
            monitor.fix(0.02 * k, np.array([x, 0.0]) + rng.normal(0.0, 0.01, 2), 0.01)
        monitor.update(0.02 * k, 0.5, slip=slip)
    assert kinds(monitor) == []
    assert monitor.moved_share > 0.9


def test_one_outlier_is_no_evidence():
    ride = Ride()
    ride.go(3.0, 0.0)
    ride.go(15.0, 0.5, visual=True)
    monitor = ride.monitor
    ride.t += 0.02
    monitor.update(ride.t, 0.5, velocity=0.0, velocity_sigma=0.001)
    ride.go(0.2, 0.5, visual=True)
    monitor.imu(ride.t + 0.001, np.zeros(3), np.array([-60.0, 0.0, G]))
    ride.go(3.0, 0.5, visual=True)
    assert kinds(monitor) == []


def test_wheels_that_stand_while_the_robot_moves_slide():
    ride = Ride()
    ride.go(10.0, 0.0)
    t, v = ride.t, 0.0
    for k in range(200):
        t += 0.01
        a = 1.0 if v < 0.8 else 0.0
        v += 0.01 * a
        ride.monitor.imu(t, ride.rng.normal(0, 0.005, 3), np.array([a, 0.0, G]) + ride.rng.normal(0, 0.05, 3))
        if k % 2:
            ride.monitor.update(t, 0.0)
    assert ride.monitor.sliding
    assert not ride.monitor.stuck


def test_a_slow_slide_is_found_by_visual_speed():
    monitor, rng = Monitor(), np.random.default_rng(1)
    for k in range(1, 1001):
        speed = 0.05 if k > 500 else 0.0
        monitor.update(0.02 * k, 0.0, velocity=speed + rng.normal(0.0, 0.01), velocity_sigma=0.01)
        assert not (monitor.sliding and k <= 500)
    assert monitor.sliding
    assert monitor.alarms[0].time < 13.0


@pytest.mark.parametrize(("load", "shake"), [(12.0, None), (5.0, 1.2)])
def test_ground_that_takes_more_current_or_shakes_more_is_noticed(load, shake):
    ride = Ride()
    ride.go(3.0, 0.0)
    ride.go(40.0, 0.5)
    assert "ground_changed" not in kinds(ride.monitor)
    begin = ride.t
    ride.go(4.0, 0.5, load=load, shake=shake)
    (alarm,) = [a for a in ride.monitor.alarms if a.kind == "ground_changed"]
    assert begin < alarm.time < begin + 2.5
    assert begin - 0.5 < alarm.since
    ride.go(40.0, 0.5, load=load, shake=shake)
    assert kinds(ride.monitor).count("ground_changed") == 1  # the new ground is usual now
    assert not ride.monitor.ground_changed


def test_a_gentle_curve_that_takes_twice_the_current_is_no_other_ground():
    """Skid steering: 0.08 rad/s is hardly a curve, but costs current. Straight, the same current is another ground."""
    ride = Ride()
    ride.go(3.0, 0.0)
    ride.go(40.0, 0.5)
    ride.go(10.0, 0.5, turn=0.08, load=11.0)
    ride.go(10.0, 0.5)
    assert "ground_changed" not in kinds(ride.monitor)
    ride.go(5.0, 0.5, load=11.0)
    assert "ground_changed" in kinds(ride.monitor)


def test_currents_within_the_band_are_no_evidence_however_long_they_last():
    ride = Ride()
    ride.go(3.0, 0.0)
    ride.go(40.0, 0.5)
    ride.go(30.0, 0.5, load=5.8)  # 16 % more, the band is a quarter
    assert "ground_changed" not in kinds(ride.monitor)


def test_a_change_is_noticed_soon_again_after_another():
    """What belongs to the robot is not learned again: a few seconds on the new ground suffice."""
    ride = Ride()
    ride.go(3.0, 0.0)
    ride.go(40.0, 0.5)
    ride.go(8.0, 0.5, load=12.0)
    begin = ride.t
    ride.go(4.0, 0.5)
    times = [a.time for a in ride.monitor.alarms if a.kind == "ground_changed"]
    assert len(times) == 2
    assert begin < times[1] < begin + 3.0


def test_a_first_second_with_hardly_any_current_sets_no_scale():
    ride = Ride()
    ride.go(3.0, 0.0)
    ride.go(1.0, 0.5, load=0.02)
    ride.go(40.0, 0.5)
    assert "ground_changed" not in kinds(ride.monitor)
    ride.go(4.0, 0.5, load=12.0)
    assert kinds(ride.monitor).count("ground_changed") == 1


@pytest.mark.parametrize("visual", [False, True])
def test_a_stuck_robot_whose_wheels_turn_does_not_slide(visual):
    ride = Ride()
    ride.go(3.0, 0.0, visual=visual)
    ride.go(30.0, 0.8, visual=visual)
    ride.go(8.0, 0.8, moved=0.0, visual=visual)
    assert ride.monitor.stuck
    assert not ride.monitor.sliding
    assert all(a.ended == a.ended for a in ride.monitor.alarms if a.kind == "sliding")


def test_rarer_false_alarms_need_more_evidence():
    low, high = (Monitor(MonitorSettings(false_alarm_hours=h)).stuck.threshold for h in (2.0, 20.0))
    assert high - low == pytest.approx(math.log(10.0))


def test_a_copy_continues_from_the_same_state():
    ride = Ride()
    ride.go(3.0, 0.0)
    ride.go(10.0, 0.5)
    for twin in (copy.deepcopy(ride.monitor), pickle.loads(pickle.dumps(ride.monitor))):
        other = Ride()
        other.__dict__.update({**copy.deepcopy(ride.__dict__), "monitor": twin})
        other.go(3.0, 0.5, 0.0)
        assert twin.stuck
    assert not ride.monitor.stuck
    ride.go(3.0, 0.5, 0.0)
    assert [a.summary() for a in ride.monitor.alarms] == [a.summary() for a in other.monitor.alarms]


def test_late_and_broken_samples_are_left_out():
    ride = Ride()
    ride.go(5.0, 0.5)
    monitor = ride.monitor
    before = monitor._memory.state.copy()
    monitor.update(1.0, 0.5)
    monitor.update(math.nan, 0.5)
    monitor.update(ride.t + 0.01, math.nan)
    monitor.imu(ride.t + 0.01, [math.nan] * 3, [0.0] * 3)
    monitor.fix(ride.t, [math.nan, 0.0], 1.0)
    after = monitor._memory.state.copy()
    before.late = after.late = 0
    assert before.tobytes() == after.tobytes()
    ride.t += 3000.0
    assert not ride.go(10.0, 0.5).stuck


def test_mistakes_are_named():
    with pytest.raises(OdometryError, match="false_alarm_hours"):
        MonitorSettings(false_alarm_hours=-1.0)
    with pytest.raises(OdometryError, match="gyro needs 3"):
        Monitor().imu(0.0, [1.0, 2.0], [0.0, 0.0, 9.8])
    with pytest.raises(OdometryError, match="monitor at t"):
        Monitor().update(0.0, "fast")
