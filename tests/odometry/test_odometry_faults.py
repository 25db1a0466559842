"""Bad inputs: counted, said once, and the estimate goes on with a larger covariance."""

import logging
import math

import numpy as np
import pytest

import grouser as gr
from grouser.errors import GrouserError, OdometryError
from grouser.odometry import EncoderNoise

RATE = 5.0


def run(odometry, samples, *, wheels=None, start=0, **fault):
    """So many samples at 100 Hz straight on; what is given in `fault` replaces inputs of the last one."""
    for k in range(start, start + samples):
        rates = dict.fromkeys(odometry.vehicle.wheels, RATE)
        given = {"t": 0.01 * k, "rates": rates, "angles": None, "attitude": (0.0, 0.0)}
        if k == start + samples - 1:
            given.update(fault)
        estimate = odometry.update(**given)
    return estimate


def husky(**options):
    return gr.Odometry("husky", **options)


def lru():
    vehicle = gr.vehicle("lru2")
    stops = {f"steer{w}": (-1.0, 1.0) for w in vehicle.wheels}
    return gr.Odometry(vehicle, stops=stops), dict.fromkeys((f"steer{w}" for w in vehicle.wheels), 0.0)


def without(wheel, value=math.nan):
    rates = dict.fromkeys(gr.vehicle("husky").wheels, RATE)
    rates[wheel] = value
    return rates


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e12])
def test_a_wheel_without_a_rate_is_left_out(value):
    good, bad = run(husky(), 20), husky()
    e = run(bad, 20, rates=without("FL", value))
    assert bad.faults == {"rate": 1}
    assert e.degraded
    assert not good.degraded
    assert e.wheels == 3
    assert e.twist == pytest.approx(good.twist, abs=1e-12)
    assert e.twist_covariance[3, 3] > 1.2 * good.twist_covariance[3, 3]
    assert np.trace(e.pose_covariance) > np.trace(good.pose_covariance)


def test_a_wheel_that_is_missing_from_the_sample_is_a_fault_each_time():
    odometry = husky()
    rates = without("BR")
    del rates["BR"]
    for k in range(7):
        e = odometry.update(0.01 * k, rates)
    assert odometry.faults == {"rate": 7}
    assert e.twist[3] == pytest.approx(RATE * odometry.vehicle.arrays.radius[0])


def test_what_was_never_to_be_measured_is_no_fault():
    odometry = gr.Odometry("husky", measured=["FL", "FR"])
    odometry.update(0.0, {"FL": 1.0, "FR": 1.0})
    assert odometry.faults == {}


def test_without_any_wheel_the_motion_is_open():
    odometry = husky()
    good = run(odometry, 20)
    e = run(odometry, 1, start=20, rates={})
    assert {"rate", "unobserved"} <= set(odometry.faults)
    assert not e.observed[3]  # no sideways slip still tells that it does not turn
    assert e.twist_covariance[3, 3] > 0.5
    assert np.isfinite(e.pose_covariance).all()
    assert e.pose_covariance[3, 3] > 5.0 * good.pose_covariance[3, 3]


@pytest.mark.parametrize("late", [0.1, 0.19, math.nan, math.inf, 1e15])
def test_late_samples_are_ignored(late):
    odometry = husky()
    good = run(odometry, 20)
    e = run(odometry, 1, t=late)
    assert odometry.faults == {"time": 1}
    assert e.degraded
    assert e.time == good.time
    assert e.position == pytest.approx(good.position, abs=0.0)
    plain = run(husky(), 21)
    later = run(odometry, 1, start=20)
    assert later.position == pytest.approx(plain.position, abs=1e-12)
    assert np.trace(later.pose_covariance) > np.trace(plain.pose_covariance)
    assert not later.degraded


def test_a_clock_that_was_set_back_is_followed_after_some_samples():
    odometry = husky()
    run(odometry, 200)
    for k in range(40):
        e = odometry.update(0.01 * k, dict.fromkeys(odometry.vehicle.wheels, RATE), None, (0.0, 0.0))
    assert odometry.faults == {"time": 11, "clock": 1}
    assert e.time == pytest.approx(0.39)
    assert not e.degraded


def test_a_gap_goes_on_with_a_covariance_that_grows_with_it():
    def after(gap):
        odometry = husky(acceleration=2.0)
        before = run(odometry, 20)
        e = run(odometry, 1, t=0.19 + gap)
        assert odometry.faults == {"gap": 1}
        assert e.degraded
        v = RATE * odometry.vehicle.arrays.radius[0]
        assert e.position[0] - before.position[0] == pytest.approx(v * gap)
        return e.pose_covariance[3, 3]

    # One sigma a h²/(4√3).
    assert after(4.0) > (2.0 * 16.0 / (4.0 * math.sqrt(3.0))) ** 2
    assert after(4.0) / after(2.0) == pytest.approx(16.0, rel=0.05)


def test_a_stamp_of_next_year_does_not_drive_the_vehicle_away():
    odometry = husky()
    run(odometry, 20)
    e = run(odometry, 1, t=3e7)
    assert abs(e.position[0]) < 20.0
    assert np.isfinite(e.pose_covariance).all()


def test_an_angle_beyond_its_stop_is_taken_at_the_stop():
    odometry, straight = lru()
    good = odometry.update(0.0, dict.fromkeys(odometry.vehicle.wheels, RATE), straight)
    assert odometry.faults == {}
    e = odometry.update(0.01, dict.fromkeys(odometry.vehicle.wheels, RATE), {**straight, "steerFL": 1.4})
    other, _ = lru()
    other.update(0.0, dict.fromkeys(odometry.vehicle.wheels, RATE), straight)
    stop = other.update(0.01, dict.fromkeys(odometry.vehicle.wheels, RATE), {**straight, "steerFL": 1.0})
    assert odometry.faults == {"stop": 1}
    assert e.twist == pytest.approx(stop.twist, abs=1e-12)
    assert np.trace(e.twist_covariance) > np.trace(stop.twist_covariance) > 0.0
    assert e.degraded
    assert not good.degraded


def test_an_angle_that_goes_missing_keeps_its_last_value():
    odometry, _ = lru()
    turned = {f"steer{w}": 0.2 if w[0] == "F" else -0.2 for w in odometry.vehicle.wheels}
    rates = dict.fromkeys(odometry.vehicle.wheels, RATE)
    good = odometry.update(0.0, rates, turned)
    e = odometry.update(0.1, rates, {**turned, "steerFL": math.nan})
    assert odometry.faults == {"angle": 1}
    assert e.twist == pytest.approx(good.twist, abs=1e-12)
    assert e.twist_covariance[2, 2] > good.twist_covariance[2, 2]
    worse = odometry.update(0.3, rates, {**turned, "steerFL": math.nan})
    assert worse.twist_covariance[2, 2] > e.twist_covariance[2, 2]


def test_steering_that_is_never_measured_is_said():
    odometry = gr.Odometry("lru2")
    assert odometry.update(0.0, dict.fromkeys(odometry.vehicle.wheels, RATE)).degraded
    assert odometry.faults == {"angle": 1}


@pytest.mark.parametrize("attitude", [None, (math.nan, 0.1), (0.0, math.inf), (math.inf, 0.0)])
def test_attitude_that_goes_missing_keeps_its_last_value(attitude):
    odometry = husky()
    run(odometry, 20, attitude=(0.1, 0.2))
    e = run(odometry, 1, start=20, attitude=attitude)
    assert odometry.faults == {"attitude": 1}
    assert e.attitude == pytest.approx([0.1, 0.2])
    assert e.degraded
    later = run(odometry, 1, t=0.4, attitude=attitude)
    assert later.pose_covariance[1, 1] > e.pose_covariance[1, 1] > EncoderNoise().attitude ** 2


def test_attitude_that_was_never_given_is_level_and_no_fault():
    odometry = husky()
    assert run(odometry, 20, attitude=None).attitude == pytest.approx([0.0, 0.0])
    plain = gr.Odometry("husky")
    plain.update(0.0, dict.fromkeys(plain.vehicle.wheels, RATE))
    assert plain.faults == {}


def test_a_gyro_that_is_not_finite_leaves_the_turn_to_the_wheels():
    odometry = husky()
    e = run(odometry, 20, gyro=(math.nan, math.nan, math.inf))
    assert odometry.faults == {"gyro": 1}
    assert e.twist[2] == pytest.approx(0.0, abs=1e-12)


def test_ground_that_ends_is_a_fault():
    ground = gr.terrain.grid(np.zeros((21, 21)), np.linspace(-1.0, 1.0, 21), np.linspace(-1.0, 1.0, 21))
    odometry = gr.Odometry("husky", contact_angles=ground, position=(0.0, 0.0, 0.13))
    run(odometry, 20)
    assert odometry.faults == {}
    e = run(odometry, 100, start=20)
    assert odometry.faults["ground"] > 10
    assert not e.observed[5]
    assert np.isfinite(e.position).all()


def test_each_kind_is_logged_once(caplog):
    odometry = husky()
    with caplog.at_level(logging.WARNING, "grouser.odometry"):
        for k in range(5):
            run(odometry, 1, start=k, rates=without("FL"))
            run(odometry, 1, start=0, t=-1.0)
    texts = [record.getMessage() for record in caplog.records]
    assert len(texts) == 2
    assert "'FL'" in texts[0]
    assert "t = 0 s" in texts[0]
    assert odometry.faults == {"rate": 5, "time": 5}


def test_a_sideways_glance_does_not_confuse_a_roll_past_half_a_turn():
    # Upside down, roll jumps from π to −π: the mean of the two must not be level.
    odometry = gr.Odometry("husky")
    wheels = dict.fromkeys(odometry.vehicle.wheels, RATE)
    gyro = (0.0, 0.0, -0.5)
    odometry.update(0.0, wheels, None, (math.pi - 1e-3, 0.0), gyro)
    e = odometry.update(0.1, wheels, None, (-math.pi + 1e-3, 0.0), gyro)
    assert e.yaw == pytest.approx(0.05, rel=1e-3)


def test_reset_forgets_everything():
    odometry = husky()
    first = run(odometry, 20, rates=without("FL"))
    odometry.reset(position=(1.0, 2.0, 3.0), yaw=0.5)
    assert odometry.estimate is None
    assert odometry.faults == {}
    again = run(odometry, 20, rates=without("FL"))
    assert again.yaw == pytest.approx(0.5, abs=1e-12)
    assert again.pose_covariance == pytest.approx(first.pose_covariance, rel=1e-9, abs=1e-15)


def test_a_late_first_sample_stays_at_the_start():
    odometry = husky(position=(1.0, 2.0, 3.0), yaw=0.5)
    e = run(odometry, 1, t=math.nan)
    assert e.degraded
    assert e.position == pytest.approx([1.0, 2.0, 3.0])
    assert e.quaternion == pytest.approx([math.cos(0.25), 0.0, 0.0, math.sin(0.25)])


@pytest.mark.parametrize(
    "given",
    [
        {"rates": [1.0, 2.0]},
        {"rates": "fast"},
        {"rates": {"nose": 1.0}},
        {"t": "now"},
        {"attitude": (1.0,)},
        {"attitude": 0.1},
        {"gyro": (1.0, 2.0)},
        {"contact_angles": [0.0]},
        {"contact_angles": [math.nan] * 4},
    ],
)
def test_samples_of_the_wrong_form_are_refused(given):
    with pytest.raises(GrouserError):
        run(husky(), 1, **given)


@pytest.mark.parametrize(
    "options",
    [
        {"contact_angles": "down"},
        {"contact_angles": [0.0]},
        {"planar": True, "contact_angles": [0.0] * 4},
        {"slip_scale": -1.0},
        {"gap": 0.0},
        {"acceleration": math.nan},
        {"yaw": math.inf},
        {"stops": {"FL": (1.0, 0.0)}},
        {"stops": {"nose": (0.0, 1.0)}},
        {"measured": ["nose"]},
        {"noise": 0.1},
        {"pitch_rate": "guess"},
    ],
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(GrouserError):
        gr.Odometry("husky", **options)


@pytest.mark.parametrize("options", [{"rate": -1.0}, {"white": 2.0}, {"angle": {"FL": -1.0}}, {"attitude": math.nan}])
def test_noise_that_makes_no_sense_is_refused(options):
    with pytest.raises(OdometryError, match="noise"):
        EncoderNoise(**options)


def test_a_dynamic_model_is_refused():
    with pytest.raises(OdometryError, match="Kinematics"):
        gr.Odometry(gr.Dynamics(gr.vehicle("husky")))


@pytest.mark.parametrize("name", ["husky", "lru2", "zoe", "rocky7"])
@pytest.mark.parametrize("options", [{}, {"planar": True}, {"contact_angles": "ground"}])
def test_rubbish_never_gives_a_pose_that_is_not_a_number(name, options):
    random = np.random.default_rng(7)
    vehicle = gr.vehicle(name)
    if options.get("contact_angles") == "ground":
        options = {"contact_angles": gr.terrain.rough(rms=0.05, length=0.5, seed=1, size=(6.0, 6.0))}
    slip = gr.slip.BodySlip([-0.5, -0.1, -0.6, -0.3, 0.05, -0.4])
    odometry = gr.Odometry(gr.MotionModel(model=gr.Kinematics(vehicle, slip=slip)), **options)
    rubbish = np.array([math.nan, math.inf, -math.inf, 1e300, -1e9, 1e8, 0.0, 1e-300])
    n = vehicle.n_joints

    def some(size, spread):
        values = spread * random.standard_normal(size)
        return np.where(random.random(size) < 0.15, random.choice(rubbish, size), values)

    for k in range(400):
        t = 0.01 * k if random.random() > 0.1 else float(some(1, 10.0)[0])
        attitude = None if random.random() < 0.1 else some(2, 1.0)
        gyro = None if random.random() < 0.5 else some(3, 1.0)
        e = odometry.update(t, some(n, 5.0), some(n, 1.0), attitude, gyro)
        for part in (e.position, e.quaternion, e.twist, e.slip, e.twist_covariance, e.pose_covariance, e.time, e.yaw):
            assert np.isfinite(part).all()
        assert np.linalg.eigvalsh(e.pose_covariance).min() > -1e-6 * max(np.trace(e.pose_covariance), 1e-9)
        assert np.linalg.eigvalsh(e.twist_covariance).min() > -1e-6 * max(np.trace(e.twist_covariance), 1e-9)
