"""Ideal wheels: odometry is the true path."""

import numpy as np
import pytest
from exact_drives import Hill, Ramp, follow, on_plane, straight_over

import grouser as gr
from grouser.vehicles.mirror import signs

PER_METRE = 1e-6
"""What the issue asks for; steps are short enough that the second order of the rule is well below."""


def largest_error(drive, place, yaw):
    turned = np.abs(yaw - drive.yaw).max()
    return max(np.linalg.norm(place - drive.position, axis=1).max(), turned) / drive.length


@pytest.mark.parametrize("tilt", [0.0, 0.25, -0.15])
def test_ideal_wheels_on_a_plane_or_slope_give_the_true_path(tilt):
    drive = on_plane(tilt)
    odometry = gr.Odometry("lru2", position=drive.position[0], yaw=drive.yaw[0])
    assert largest_error(drive, *follow(odometry, drive)) < PER_METRE
    assert odometry.faults == {}


def test_without_attitude_a_slope_is_flattened():
    drive = on_plane(0.25)
    place, _ = follow(gr.Odometry("lru2"), drive, attitude=False)
    assert abs(place[-1, 2]) < 1e-12
    assert abs(drive.position[-1, 2] - drive.position[0, 2]) > 1.0


def test_a_known_ramp_gives_the_true_path():
    husky = gr.vehicle("husky")
    curve = Ramp(float(husky.arrays.radius[0]), height=0.3, angle=0.3, top=0.5)
    drive = straight_over(curve, husky, begin=9.0, seconds=4.5, dt=0.001)
    assert drive.position[:, 2].max() - drive.position[0, 2] > 0.29  # it was on the top
    odometry = gr.Odometry(husky, position=drive.position[0])
    assert largest_error(drive, *follow(odometry, drive, contact=True)) < PER_METRE


def test_with_contact_angles_of_zero_the_ramp_is_worse_than_with_known_ones():
    husky = gr.vehicle("husky")
    curve = Ramp(float(husky.arrays.radius[0]), height=0.3, angle=0.3, top=0.5)
    drive = straight_over(curve, husky, begin=9.0, seconds=4.5, dt=0.005)
    place, yaw = follow(gr.Odometry(husky, position=drive.position[0]), drive)
    assert 1e-3 < largest_error(drive, place, yaw) < 0.1


def test_contacts_found_on_a_known_hill_give_the_true_path():
    husky = gr.vehicle("husky")
    radius = float(husky.arrays.radius[0])
    drive = straight_over(Hill(radius, height=0.3, wave=3.0), husky, begin=-1.0, seconds=6.0, dt=0.002)
    k = 2.0 * np.pi / 3.0
    x = np.linspace(-4.0, 9.0, 2601)
    heights = np.tile(0.15 * (1.0 - np.cos(k * x)), (5, 1)).T
    ground = gr.terrain.spline(heights, x, np.linspace(-2.0, 2.0, 5))
    odometry = gr.Odometry(husky, contact_angles=ground, position=drive.position[0])
    assert largest_error(drive, *follow(odometry, drive)) < PER_METRE
    assert odometry.estimate.observed.all()
    assert odometry.faults == {}


def test_in_the_plane_two_dimensions_are_three():
    drive = on_plane(0.0)
    place, yaw = follow(gr.Odometry("lru2"), drive)
    flat, heading = follow(gr.Odometry("lru2", planar=True), drive)
    assert np.abs(place - flat).max() < 1e-12
    assert np.abs(yaw - heading).max() < 1e-12


def test_planar_odometry_ignores_attitude_and_bogies():
    drive = on_plane(0.25)
    lru = gr.vehicle("lru2")
    bogies = [lru.joint_index(j) for j in ("bogieF", "bogieB")]
    plain, _ = follow(gr.Odometry(lru, planar=True), drive, attitude=False)
    drive.angles[:, bogies] = 0.3
    drive.rates[:, bogies] = 0.2
    leaning, _ = follow(gr.Odometry(lru, planar=True), drive)
    assert np.abs(plain - leaning).max() == 0.0


def test_the_start_only_moves_and_turns_the_path():
    drive = on_plane(0.25)
    here, yaw = follow(gr.Odometry("lru2"), drive)
    there, turned = follow(gr.Odometry("lru2", position=(3.0, -2.0, 1.0), yaw=2.0), drive)
    c, s = np.cos(2.0), np.sin(2.0)
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    assert np.abs(there - (here @ R.T + [3.0, -2.0, 1.0])).max() < 1e-9
    assert np.abs(turned - yaw - 2.0).max() < 1e-9


def test_a_mirrored_vehicle_drives_the_mirrored_path():
    drive = on_plane(0.25)
    lru = gr.vehicle("lru2")
    mirrored = lru.mirrored()
    slip = gr.slip.BodySlip([-0.5, -0.1, -0.6, -0.3, 0.0, -0.4])
    place, yaw = follow(gr.Odometry(gr.Kinematics(lru, slip=slip)), drive)
    sign = signs(lru)
    drive.rates, drive.angles = drive.rates * sign, drive.angles * sign
    drive.attitude = drive.attitude * [-1.0, 1.0]
    other, heading = follow(gr.Odometry(gr.Kinematics(mirrored, slip=slip)), drive)
    assert np.abs(other - place * [1.0, -1.0, 1.0]).max() < 1e-9
    assert np.abs(heading + yaw).max() < 1e-9


def test_rates_that_are_not_measured_are_solved_for():
    # Zoë's axles turn freely: left out, their rates follow from the wheels.
    zoe = gr.vehicle("zoe")
    given = dict.fromkeys(zoe.wheels, 2.0)
    full = gr.Odometry(zoe).update(0.0, {**given, **dict.fromkeys(set(zoe.joints) - set(zoe.wheels), 0.0)})
    assert np.abs(gr.Odometry(zoe).update(0.0, given).twist - full.twist).max() < 1e-9
    assert full.twist[3] == pytest.approx(2.0 * zoe.arrays.radius[0], abs=1e-12)


def test_estimated_contact_angles_show_the_pitch_rate_that_zero_ones_hide():
    husky = gr.vehicle("husky")
    hill = Hill(float(husky.arrays.radius[0]), height=0.3, wave=3.0)
    drive = straight_over(hill, husky, begin=-1.0, seconds=6.0, dt=0.01)
    true = np.gradient(drive.attitude[:, 1], drive.time)
    error, observed = {}, {}
    for way in ("zero", "estimated"):
        odometry = gr.Odometry(husky, contact_angles=way, position=drive.position[0])
        rows = zip(drive.time, drive.rates, drive.angles, drive.attitude, strict=True)
        found = [odometry.update(*row) for row in rows]
        error[way] = np.std([e.twist[1] for e in found] - true)
        observed[way] = np.mean([e.observed[1] for e in found])
    assert error["estimated"] < 0.25 * error["zero"]
    assert observed["zero"] == 0.0
    assert observed["estimated"] > 0.5
