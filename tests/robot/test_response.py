"""The response: stop, way back along the ruts; closed loop with a simulated robot that digs in and gets free."""

import numpy as np
import pytest

from grouser.robot import Monitor, Response

G = 9.81


class Robot:
    """A skid-steered robot on level ground with a soft patch that it enters at x = 5 m. Shares no code with Grouser.

    In the patch forward drive moves it with 3 % of the wheels' speed once it has sunk in, for 0.6 s; backwards, out
    along its ruts, the ground is firm.
    """

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.t = self.x = self.y = self.yaw = self.v = self.wheels = self.sunk = 0.0
        self.speed = self.turn = 0.0

    def step(self, monitor):
        """20 ms: two samples of the IMU, one of wheels, current and visual speed."""
        self.t += 0.02
        self.wheels += float(np.clip(self.speed - self.wheels, -0.03, 0.03))
        soft = self.x > 5.0
        self.sunk = min(self.sunk + 0.02 / 0.6, 1.0) if soft and self.wheels > 0.0 else self.sunk if soft else 0.0
        share = 0.93 - 0.9 * self.sunk if self.wheels > 0.0 else 0.8
        a = float(np.clip(share * self.wheels - self.v, -0.04, 0.04)) / 0.02
        rate = self.turn * (0.95 if share > 0.5 else share)
        for k in range(2):
            noise = self.rng.normal(size=6) * [0.01, 0.01, 0.005, *[0.05 + 0.6 * abs(self.v)] * 3]
            gyro = noise[:3] + np.array([0.0, 0.0, rate])
            monitor.imu(self.t - 0.01 + 0.01 * k, gyro, noise[3:] + np.array([a, self.v * rate, G]))
        self.v += 0.02 * a
        self.yaw += 0.02 * rate
        self.x += 0.02 * self.v * np.cos(self.yaw)
        self.y += 0.02 * self.v * np.sin(self.yaw)
        current = (1.0 + 2.0 * self.sunk) * (1.0 + 6.0 * abs(self.wheels)) + self.rng.normal(0.0, 0.2)
        seen = self.v + self.rng.normal(0.0, 0.03)
        turned = self.turn + self.rng.normal(0.0, 0.005)
        monitor.update(self.t, self.wheels, turned, current=current, velocity=seen, velocity_sigma=0.03)


@pytest.mark.parametrize("seed", range(5))
def test_a_robot_that_digs_in_is_stopped_and_reverses_out_along_its_ruts(seed):
    robot, monitor = Robot(seed), Monitor()
    response = Response(monitor, speed=0.3, distance=1.5)
    track, lost, stopped = [], None, None
    while robot.t < 30.0 and stopped is None:
        wanted = (0.5, 0.08 * np.sin(0.5 * robot.t)) if robot.t > 3.0 else (0.0, 0.0)
        robot.speed, robot.turn = response.command(robot.t, *wanted)
        robot.step(monitor)
        response.add_pose(robot.t, robot.x, robot.y, robot.yaw)
        track.append((robot.x, robot.y))
        if lost is None and robot.sunk > 0.0:
            lost = robot.t  # it begins to lose its speed, all of it within 0.6 s
        if response.stopped:
            stopped = robot.t
    assert lost is not None
    assert stopped is not None
    assert 0.1 < stopped - lost < 1.5
    assert robot.v < 0.5 * robot.wheels
    assert robot.x > 5.0
    for _ in range(100):  # the wheels stand; the alarm and the stop last
        robot.speed, robot.turn = response.command(robot.t, 0.5, 0.0)
        assert (robot.speed, robot.turn) == (0.0, 0.0)
        robot.step(monitor)
    way = response.proposal
    assert way is not None
    assert 1.2 < way.length < 1.8
    assert np.all(way.commands[:, 0] < 0.0)
    assert np.abs(way.commands[:, 0]).max() <= 0.3 + 1e-9
    off = np.linalg.norm(np.array(track)[None] - way.waypoints[:, None, :2], axis=2).min(axis=1)
    assert off.max() < 0.02  # the waypoints are on the path it came
    response.acknowledge()
    for speed, turn, duration in way.commands:
        end = robot.t + duration / 0.9
        while robot.t < end:
            robot.speed, robot.turn = response.command(robot.t, speed, turn)
            robot.step(monitor)
    assert not monitor.stuck  # it moves again
    assert not response.stopped
    assert robot.x < 4.7  # out of the patch
    nearest = np.linalg.norm(np.array(track) - [robot.x, robot.y], axis=1).min()
    assert nearest < 0.1  # within its ruts
    heading = robot.yaw
    speed, turn, duration = way.away
    end = robot.t + duration
    while robot.t < end:
        robot.speed, robot.turn = response.command(robot.t, speed, turn)
        robot.step(monitor)
    assert abs(robot.yaw - heading) > 0.3  # off the old path


def test_the_way_back_avoids_poses_without_grip_and_ends_where_the_path_begins():
    robot, monitor = Robot(), Monitor()
    response = Response(monitor, distance=10.0)
    assert response.proposal is None
    while not monitor.stuck and robot.t < 40.0:
        robot.speed, robot.turn = (0.5, 0.0) if robot.t > 3.0 else (0.0, 0.0)
        robot.step(monitor)
        response.add_pose(robot.t, robot.x, robot.y, robot.yaw)
    way = response.proposal
    assert way.waypoints[0, 0] > 5.0
    assert way.waypoints[-1, 0] == pytest.approx(0.0, abs=0.1)
    assert np.all(np.diff(way.waypoints[:, 0]) < 0.0)
    assert response.command(robot.t, 0.5, 0.1) == (0.0, 0.0)
    response.acknowledge()
    assert response.command(robot.t, -0.2, 0.1) == (-0.2, 0.1)
