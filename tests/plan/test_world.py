"""Sensors of the simulated world against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import grouser as gr
from grouser import rotation
from grouser.errors import PlanError
from grouser.logs.log import Sensor
from grouser.plan.world import Sensors, World

PERFECT = Sensors(
    wheel_rate=0.0, angle=0.0, gyro=0.0, accelerometer=0.0, position=0.0, yaw=0.0, attitude=0.0, pose_rate=10.0
)
HUSKY = gr.vehicle("husky")
SPEED, TURN = 0.8, 0.4


def on_a_circle(**options: object) -> tuple[World, float]:
    """A skid-steered vehicle that rolls without slip on a level circle, and the rim speed of its left wheels."""
    world = World(
        gr.Kinematics(HUSKY), gr.terrain.plane(), start=(0, 0, 0), dt=0.02, sensors=options.pop("sensors", PERFECT),
        **options,
    )  # type: ignore[arg-type]  # fmt: skip
    controller = gr.plan.MPPI(gr.Kinematics(HUSKY), gr.terrain.plane(), gr.plan.Cost(gr.plan.Goal(1, 0)), samples=8)
    rates = controller.rates((SPEED, 0.0, TURN), world.state)
    for _ in range(50):
        world.move(rates)
    return world, float(rates.min())


def test_at_rest_the_imu_reads_g_upwards_also_on_a_slope() -> None:
    slope = gr.terrain.slope(deg=10.0)
    world = World(gr.Kinematics(HUSKY), slope, start=(0, 0, 0.3), dt=0.02, sensors=PERFECT)
    read = world.read()
    R = rotation.from_quaternion(world.state[:4])
    assert R @ read.force == pytest.approx([0.0, 0.0, world.model.gravity], abs=1e-9)
    assert abs(R[2, 0]) > 0.1, "the slope tilts the body, so that the axes matter"
    assert np.all(read.gyro == 0.0)
    assert read.attitude == pytest.approx(tuple(rotation.to_rpy(R)[:2]))


def test_on_a_circle_the_imu_reads_the_turn_rate_and_the_centripetal_acceleration() -> None:
    world, _ = on_a_circle()
    read = world.read()
    turn, speed = world.velocity[2], world.velocity[3]
    # Skid steering turns less than asked: the wheels share the slip. The circle is that of the true velocity.
    assert 0.1 < turn <= TURN + 1e-9
    assert speed == pytest.approx(SPEED, rel=0.05)
    assert read.gyro == pytest.approx([0.0, 0.0, turn], abs=1e-9)
    g = world.model.gravity
    sideways = world.velocity[4]
    assert read.force == pytest.approx([-turn * sideways, turn * speed, g], abs=1e-6)


def test_wheel_rates_are_those_of_the_rims() -> None:
    world, slower = on_a_circle()
    wheels = [HUSKY.joints.index(name) for name in HUSKY.wheels]
    rates = world.read().rates[wheels]
    radius = next(frame.radius for frame in HUSKY.frames if frame.is_wheel)
    assert rates.min() == pytest.approx(slower, rel=1e-9)
    assert rates.mean() * radius == pytest.approx(SPEED, rel=1e-6)


def test_poses_come_at_their_rate_and_from_where_the_sensor_sits() -> None:
    world, _ = on_a_circle(mount=Sensor(x=0.3, y=-0.1, z=0.5))
    due = []
    for _ in range(50):
        world.move(np.zeros(len(HUSKY.actuated)))
        read = world.read()
        if read.position is not None:
            due.append(read.time)
            R = rotation.from_quaternion(world.state[:4])
            assert read.position == pytest.approx(world.position + R @ [0.3, -0.1, 0.5], abs=1e-12)
            assert read.yaw == pytest.approx(world.yaw)
        else:
            assert math.isnan(read.yaw)
    assert np.diff(due[10:]) == pytest.approx(0.1)


def test_noise_has_its_sigma_and_is_the_same_for_a_seed() -> None:
    sensors = Sensors()
    read = []
    for seed in (3, 3, 4):
        world = World(gr.Kinematics(HUSKY), gr.terrain.plane(), start=(0, 0, 0), dt=0.02, sensors=sensors, seed=seed)
        read.append(np.array([(*(r := world.read()).gyro, *r.force, *r.rates) for _ in range(500)]))
    assert np.array_equal(read[0], read[1])
    assert not np.array_equal(read[0], read[2])
    sigma = read[0].std(axis=0)
    assert sigma[:3] == pytest.approx(sensors.gyro, rel=0.15)
    assert sigma[3:6] == pytest.approx(sensors.accelerometer, rel=0.15)
    assert sigma[6:] == pytest.approx(sensors.wheel_rate, rel=0.15)


@pytest.mark.parametrize("values", [{"gyro": -0.1}, {"pose_rate": 0.0}, {"position": math.nan}])
def test_bad_noise_is_one_sentence(values: dict[str, float]) -> None:
    with pytest.raises(PlanError, match=f"sensors {next(iter(values))}"):
        Sensors(**values)
