"""Designs led along one path: only a vehicle without the joint that it needs must slip."""

import numpy as np
import pytest
from rolling_grounds import model_of

import grouser as gr
from grouser.errors import SimulationError
from grouser.rolling import compare, judge, load_shares, measure
from grouser.rolling.closure import contacts_at, wheel_jacobians

PATH = {"speed": 0.65, "start": (0.0, 0.3, 0.0), "duration": 8.0, "dt": 0.01, "every": 8}


@pytest.fixture(scope="module")
def ground():
    """Hills of slopes up to 30°: on gentler ones a locked vehicle slips too, but less than this can tell."""
    return gr.terrain.rough(rms=0.4, length=3.0, seed=3, size=(16.0, 8.0), center=(5.0, 0.0), interpolation="spline")


@pytest.fixture(scope="module")
def designs(ground):
    names = ("pvc", "pvc_locked", "pvc_axle", "pvc_rocker")
    return compare([gr.vehicle(name) for name in names], ground, **PATH)


def test_with_camber_locked_there_are_fewer_freedoms_and_measurable_slip(designs):
    free, locked = designs["pvc"], designs["pvc_locked"]
    assert set(free.run.rolling.degrees_of_freedom) == {3}
    assert locked.run.rolling.degrees_of_freedom.max() < 3
    assert locked.slip_per_metre > 1e-4  # m per m
    for name in ("pvc", "pvc_axle", "pvc_rocker"):
        # What is left is the weight of joint rates, RATE_WEIGHT² of them: a millionth.
        assert designs[name].slip_per_metre < 1e-6
        assert designs[name].energy_per_metre < 1e-3 * locked.energy_per_metre


def test_all_designs_follow_the_same_path(designs):
    for design in designs.values():
        run = design.run
        # A tenth of the length of the hills: all designs meet the same ones.
        assert np.abs(run.position[:, 1] - 0.3).max() < 0.3
        assert run.position[-1, 0] == pytest.approx(0.65 * 8.0, abs=0.05)
        assert run.rolling.closure_error.max() < 3e-4
        assert measure(run).contact_gap.max() < 1e-6
        assert measure(run).normal_error.max() < 1e-6


def test_recorded_slip_is_the_velocity_of_the_material_contact_points(designs):
    run = designs["pvc_locked"].run
    at = contacts_at(run.vehicle, run.ground, run.state, run.rolling.coordinates)
    moving, _ = wheel_jacobians(run.vehicle, run.state, at.point_on_wheel)
    velocity = np.einsum("twij,tj->twi", moving, run.velocity)
    np.testing.assert_allclose(
        np.linalg.norm(velocity, axis=-1), designs["pvc_locked"].slip_speed, rtol=0.0, atol=2e-6
    )  # the rest is along the normal, where σ closes 1e-7 m


def test_slip_is_the_least_of_all_motions_that_follow_the_path(designs):
    """Any other wheel rates slip more: differences of the sum of squares along what the constraints leave open."""
    run = designs["pvc_locked"].run
    k = int(np.argmax(designs["pvc_locked"].slip_speed.sum(axis=1)))
    at = contacts_at(run.vehicle, run.ground, run.state[k], run.rolling.coordinates[k])
    moving, _ = wheel_jacobians(run.vehicle, run.state[k], at.point_on_wheel)
    normal = np.einsum("wi,wij->wj", at.ground.normal, moving)
    R = gr.rotation.from_quaternion(run.state[k, :4])
    heading = R[:2, 0] / np.linalg.norm(R[:2, 0])
    led = np.zeros((2, 10))
    led[0, 3:6] = heading @ R[:2]
    led[1, 6] = 1.0  # phi1
    _, s, Vt = np.linalg.svd(np.concatenate((normal, led)))
    free = Vt[len(s) :].T
    assert free.shape[1] == 5
    rows = moving.reshape(-1, 10)
    gradient = free.T @ rows.T @ rows @ run.velocity[k]
    speed = np.linalg.norm(rows @ run.velocity[k])
    # The weight of joint rates adds 1e-6 times rates of about 1 rad/s.
    assert np.abs(gradient).max() < 1e-5
    assert speed > 1e-4


def test_on_flat_ground_nothing_slips_and_power_is_friction_times_load_times_slip(designs):
    flat = judge(model_of("pvc_locked", gr.terrain.plane()), **PATH)
    assert flat.slip_speed.max() < 1e-12
    assert flat.power.max() < 1e-9
    locked = designs["pvc_locked"]
    twice = judge(model_of("pvc_locked", locked.run.ground), **PATH, friction=1.2)
    assert twice.energy_per_metre == pytest.approx(2.0 * locked.energy_per_metre, rel=1e-12)
    by_hand = 0.6 * np.sum(locked.load * np.linalg.norm(locked.run.contact.velocity[..., :2], axis=-1), axis=1)
    np.testing.assert_allclose(locked.power, by_hand, rtol=1e-12)


def test_an_arc_is_followed_with_ackermann_steering_on_flat_ground():
    options = {**PATH, "start": (0.0, 0.0, 0.0), "duration": 32.0, "dt": 0.04}
    design = judge(model_of("pvc_four", gr.terrain.plane()), **options, curvature=0.2)
    x, y, _ = design.run.position[-1]
    heading = 0.2 * 0.65 * 32.0
    # It starts with straight wheels and comes back to the arc, within (1 + s/2 m) exp(−s/2 m) of some decimetres.
    assert [x, y] == pytest.approx([5.0 * np.sin(heading), 5.0 * (1.0 - np.cos(heading))], abs=0.002)
    left, right = (np.tan(design.run.joint(name)[-1]) for name in ("phi1", "phi2"))
    assert 1.0 / right - 1.0 / left == pytest.approx(1.5 / 1.5, abs=0.002)  # track over wheelbase
    assert design.slip_speed[-1].max() < 1e-5


def test_loads_carry_the_weight_about_the_centre_of_mass():
    """The three-wheeler on level ground: 84 kg, centre of mass (60·0.5 + 8·1.5)/84 = 0.5 m ahead of the rear axle."""
    model = model_of("pvc", gr.terrain.plane())
    start = model.start()
    load = load_shares(model, start.state, start.contact)
    weight = 84.0 * 9.81
    np.testing.assert_allclose(load, weight * np.array([1 / 3, 1 / 3, 1 / 3]), rtol=1e-9)
    sloped = model_of("pvc", gr.terrain.slope(deg=20.0))
    start = sloped.start()
    load = load_shares(sloped, start.state, start.contact)
    assert load.sum() == pytest.approx(weight * np.cos(np.radians(20.0)), rel=1e-9)
    assert load[1] == pytest.approx(load[2], rel=1e-9)
    # Uphill ahead: the centre of mass, 0.85 m over the ground, moves back over the rear wheels.
    assert load[0] < 0.3 * weight


def test_what_cannot_be_judged_is_a_sentence(ground):
    model = model_of("pvc", ground)
    for options, words in (
        ({"speed": 0.0}, "speed: 0 is not positive"),
        ({"friction": -0.1}, "friction: -0.1 is negative"),
        ({"curvature": np.inf}, "curvature: inf"),
    ):
        with pytest.raises(SimulationError, match=words):
            judge(model, **{**PATH, **options})
    with pytest.raises(SimulationError, match=r"'pvc' ended after .* s: the ground ended under a wheel"):
        compare([gr.vehicle("pvc")], ground, **{**PATH, "duration": 30.0})
