"""The perturbative model of P: signs of slip, closed transitions, planted parameters, and the lean filter."""

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.batch import gauss_newton
from grouser.calibration.perturbative_filter import COMPONENTS, PerturbativeFilter
from grouser.calibration.simulated import dead_reckoning, log_of_motion
from grouser.errors import CalibrationError
from grouser.logs.log import Sensor
from grouser.motion.intervals import cut_log
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameters import default, resolve
from grouser.motion.predict import LogProblem
from grouser.motion.sensitivity import jacobian
from grouser.motion.slip_surface import NAMES, Perturbative, gravity
from grouser.motion.velocity import Inputs, inputs_of
from tests.motion.convolution import convolution

ALPHA = np.array([-0.05, -0.1, 0.02, 0.2, 0.01, -0.1, 0.05, 0.05, 0.005, -0.6, 0.02, 0.01, -0.02])
DENSITY = np.array([[0.04, 0.005, 0.001], [0.005, 0.03, 0.002], [0.001, 0.002, 0.01]])
CAR = gr.vehicle("crusher")


def transition(dx: float, dy: float) -> np.ndarray:
    """Φ of P (7): how errors of (x, y, yaw) grow while the vehicle moves by (dx, dy); a yaw error turns the motion."""
    return np.array([[1.0, 0.0, -dy], [0.0, 1.0, dx], [0.0, 0.0, 1.0]])


def input_transition(dx: float, dy: float, *, roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Γ = Φ G of P (5), (8): errors of (x, y, yaw) per unit error of (V_x, V_y, V_θ) for a second.

    roll, pitch, yaw [rad] are those when the error acts, (dx, dy) [m] is the motion that follows.
    """
    c, s = np.cos(yaw), np.sin(yaw)
    G = np.array(
        [
            [c * np.cos(pitch), c * np.sin(pitch) * np.sin(roll) - s * np.cos(roll), 0.0],
            [s * np.cos(pitch), s * np.sin(pitch) * np.sin(roll) + c * np.cos(roll), 0.0],
            [0.0, 0.0, np.cos(roll) / np.cos(pitch)],
        ]
    )
    return transition(dx, dy) @ G


def wandering(random, n, size, seconds, dt):
    """A smooth random signal."""
    kernel = np.exp(-np.arange(0.0, 4.0 * seconds, dt) / seconds)
    x = np.convolve(random.standard_normal(n + len(kernel) - 1), kernel, "valid")
    return size * x / x.std()


def wheel_rates(speed, turn, track=2.95, radius=0.7):
    """Of a Crusher whose sides roll as differential drive says."""
    sides = {"L": (speed - 0.5 * track * turn) / radius, "R": (speed + 0.5 * track * turn) / radius}
    return {row + side: rate for side, rate in sides.items() for row in "FMB"}


@pytest.fixture(scope="module")
def course():
    """Ten minutes of a drive: time, speed, turn, attitude."""
    random = np.random.default_rng(1)
    n, dt = 12000, 0.05
    speed = 3.0 + wandering(random, n, 1.5, 5.0, dt)
    turn = wandering(random, n, 0.8, 2.0, dt)
    attitude = np.stack([wandering(random, n, 0.15, 3.0, dt), wandering(random, n, 0.12, 3.0, dt)], axis=1)
    return dt * np.arange(n), speed, turn, attitude


def motion(slip, density=DENSITY, **sensor):
    noise = Noise(components=COMPONENTS, density=density, form="full", grows="time")
    return MotionModel(model=Perturbative(vehicle=CAR, slip=slip), noise=noise, sensor=Sensor(**sensor))


def log_of(course, model, seed):
    time, speed, turn, attitude = course
    return log_of_motion(model, time, wheel_rates(speed, turn), attitude=attitude, poses_every=2, seed=seed)


@pytest.fixture(scope="module")
def noisy(course):
    return log_of(course, motion(ALPHA, position_noise=0.02, yaw_noise=0.005), 3)


def steady(slip, *, speed=2.0, turn=0.0, roll=0.0, pitch=0.0):
    """Velocity (ω, v) of a Crusher that drives steadily."""
    rates = wheel_rates(np.array([speed]), np.array([turn]))
    inputs = Inputs(
        time=np.zeros(1),
        attitude=np.array([[roll, pitch]]),
        rates=np.array([[rates[j][0] if j in rates else np.nan for j in CAR.joints]]),
        angles=np.full((1, CAR.n_joints), np.nan),
    )
    return Perturbative(vehicle=CAR, slip=slip).twists(inputs)[0]


def only(**values):
    slip = np.zeros(13)
    for name, value in values.items():
        slip[int(name[1:]) - 1] = value
    return slip


def test_without_slip_the_velocity_is_that_of_the_wheels():
    v = steady(np.zeros(13), speed=2.0, turn=0.5, roll=0.2, pitch=-0.1)
    assert v[[3, 2]] == pytest.approx([2.0, 0.5], rel=1e-12)
    # The drive point rolls straight ahead; the body frame lies behind it.
    assert v[4] == pytest.approx(-0.5 * CAR.drive_point[0], rel=1e-12)


def test_uphill_and_downhill_the_vehicle_slips_down():
    slip = only(a4=0.1)
    assert steady(slip, pitch=-0.3)[3] < 2.0  # nose up
    assert steady(slip, pitch=0.3)[3] > 2.0
    assert steady(slip, speed=-2.0, pitch=-0.3)[3] < -2.0  # backing down
    assert steady(slip, speed=-2.0, pitch=0.3)[3] > -2.0  # backing up


def test_on_a_side_slope_the_vehicle_slips_toward_the_low_side():
    slip = only(a8=0.1)
    assert steady(slip, roll=0.3)[4] < 0.0  # left side up: to the right
    assert steady(slip, roll=-0.3)[4] > 0.0
    g_x, g_y = gravity(np.array([[0.3, 0.2]]))
    R = gr.rotation.from_rpy(0.3, 0.2, 1.0)
    assert [g_x[0], g_y[0]] == pytest.approx((R.T @ [0.0, 0.0, -9.81])[:2], rel=1e-12)


def test_a_skid_steered_vehicle_turns_a_third_as_fast_to_both_sides():
    """With |V_θ| as P (13) prints it, one of the two turns would be faster than the wheels say."""
    for turn in (-0.9, 0.9):
        assert steady(only(a10=-2.0 / 3.0), turn=turn)[2] == pytest.approx(turn / 3.0, rel=1e-12)


def test_turning_slows_the_vehicle_alike_to_both_sides_and_throws_it_outward():
    left, right = (steady(only(a2=-0.1, a3=-0.05, a7=-0.04), turn=turn) for turn in (1.0, -1.0))
    assert left[3] == right[3] < 2.0
    outward = -CAR.drive_point[0]
    assert left[4] - outward < 0.0 < right[4] + outward


def test_every_parameter_has_its_own_term_and_the_surface_is_what_the_wheels_miss():
    for k, name in enumerate(NAMES):
        slip = np.zeros(13)
        slip[k] = 0.01
        model = Perturbative(vehicle=CAR).with_parameters({name: 0.01})
        assert np.array_equal(model.slip, slip)
        moved = steady(slip, turn=0.7, roll=0.1, pitch=0.2) - steady(np.zeros(13), turn=0.7, roll=0.1, pitch=0.2)
        row = 3 if k < 4 else 4 if k < 8 else 2
        assert np.flatnonzero(np.abs(moved) > 1e-12).tolist() == [row]
        g_x, g_y = gravity(np.array([[0.1, 0.2]]))
        assert model.slip_surface(2.0, 0.7, g_x[0], g_y[0]) == pytest.approx(moved[[3, 4, 2]], abs=1e-12)
    assert model.slip_surface(np.ones((4, 5)), np.ones((4, 5))).shape == (4, 5, 3)


def test_mirrored_slip_drives_the_mirrored_path(course):
    """Left for right: terms of δV_x even in turn stay, as do those of δV_y, δV_θ odd in it; the others change sign."""
    time, speed, turn, attitude = course
    mirror = np.ones(13)
    mirror[[4, 8, 11]] = -1.0  # α₅, α₉, α₁₂: sideways or turning for no sideways reason
    paths = []
    for sign in (1.0, -1.0):
        model = motion(ALPHA * (mirror if sign < 0.0 else 1.0))
        log = log_of_motion(model, time, wheel_rates(speed, sign * turn), attitude=attitude * [sign, 1.0], seed=None)
        paths.append(np.column_stack([log.poses.position, log.poses.attitude[:, 2]]))
    assert paths[1] == pytest.approx(paths[0] * [1.0, -1.0, 1.0, -1.0], abs=1e-9)


def test_a_steady_drive_is_an_arc():
    n = 41
    time = np.linspace(0.0, 2.0, n)
    model = motion(only(a1=-0.1, a10=-0.5))
    log = log_of_motion(model, time, wheel_rates(np.full(n, 2.0), np.full(n, 1.0)), seed=None)
    v, w, angle = 1.8, 0.5, 1.0
    side = -1.0 * CAR.drive_point[0]  # sideways speed of the body frame, which nothing corrects
    along, across = np.sin(angle) / w, (1.0 - np.cos(angle)) / w
    expected = [v * along - side * across, v * across + side * along]
    assert log.poses.position[-1, :2] == pytest.approx(expected, rel=1e-12)
    assert log.poses.attitude[-1, 2] == pytest.approx(angle, rel=1e-12)


def test_the_transitions_are_slopes_of_the_nonlinear_integral(course):
    """Φ and Γ of P (7), (8) against a nudge of the yaw at the start, or of the velocity of one step."""
    time, speed, turn, attitude = (values[:81] for values in course)
    log = log_of_motion(motion(ALPHA), time, wheel_rates(speed, turn), attitude=attitude, seed=None)
    inputs = inputs_of(log, CAR)
    velocity = motion(ALPHA).model.twists(inputs)
    none = np.zeros((80, 6))
    position, yaw = dead_reckoning(inputs, velocity, none)
    dx, dy = position[-1, :2]
    h = 1e-6
    nudged = np.array([np.cos(h) * dx - np.sin(h) * dy, np.sin(h) * dx + np.cos(h) * dy])
    assert (nudged - [dx, dy]) / h == pytest.approx(transition(dx, dy)[:2, 2], abs=1e-5)
    step, k = time[1] - time[0], 30
    roll, pitch = attitude[k : k + 2].mean(axis=0)
    middle = 0.5 * (position[k] + position[k + 1])
    Gamma = input_transition(dx - middle[0], dy - middle[1], roll=roll, pitch=pitch, yaw=0.5 * (yaw[k] + yaw[k + 1]))
    for column, row in enumerate((3, 4, 2)):
        moved = none.copy()
        moved[k, row] = h
        p, psi = dead_reckoning(inputs, velocity, moved)
        slope = np.array([*(p[-1] - position[-1])[:2], psi[-1] - yaw[-1]]) / (h * step)
        # A step turns by some 0.05 rad, whose square is left out.
        assert slope == pytest.approx(Gamma[:, column], abs=2e-3 * max(1.0, float(np.abs(Gamma[:, column]).max())))


def test_the_convolution_integral_is_the_slope_of_the_prediction(noisy):
    model = motion(ALPHA, x=0.4, y=-0.2, yaw=0.1)
    problem = LogProblem(noisy, model, cut_log(noisy, model))
    parameters = resolve(model, ["slip"])
    _, H = jacobian(problem, model, parameters, ALPHA)
    _, J = convolution(problem, model, list(NAMES))
    np.testing.assert_allclose(J, H, rtol=0.0, atol=2e-3 * float(np.abs(H).max()))


def test_thirteen_planted_parameters_come_back_without_noise(course):
    log = log_of(course, motion(ALPHA), None)
    start = motion(np.zeros(13))
    problem = LogProblem(log, start, cut_log(log, start))
    unit = np.tile(np.eye(3), (len(problem.intervals), 1, 1))
    fit = gauss_newton(
        problem, start, resolve(start, ["slip"]), prior=False, loss="none", covariance=unit, tolerance=1e-9
    )
    assert fit.converged
    assert fit.values == pytest.approx(ALPHA, abs=1e-6)


def sigmas_off(course, start, names, seeds=4):
    """How far parameters are from the truth after a drive, in their own sigmas, (seeds, n)."""
    truth = motion(ALPHA, position_noise=0.02, yaw_noise=0.005)
    true = np.concatenate([ALPHA, truth.noise.values])
    far = []
    for seed in range(seeds):
        log = log_of(course, truth, seed)
        problem = LogProblem(log, start, cut_log(log, start))
        learner = PerturbativeFilter(problem, start, resolve(start, names))
        updates = [learner.update(problem, k) for k in range(len(problem.intervals))]
        far.append((learner.values - true[: len(learner.values)]) / updates[-1].sigma)
    return np.abs(far)


def test_the_filter_finds_slip_within_its_sigmas(course):
    """52 Gaussians: one beyond 3.5σ would come once in 40 such tests."""
    start = motion(0.7 * ALPHA, position_noise=0.02, yaw_noise=0.005)
    assert sigmas_off(course, start, ["slip"]).max() < 3.5


def test_the_filter_finds_slip_and_noise_together_within_their_sigmas(course):
    start = motion(0.7 * ALPHA, density=np.diag([0.05, 0.05, 0.02]), position_noise=0.02, yaw_noise=0.005)
    assert sigmas_off(course, start, ["slip", "noise"]).max() < 4.0


def test_some_parameters_may_stay_as_they_are(noisy):
    start = motion(ALPHA, position_noise=0.02, yaw_noise=0.005)
    problem = LogProblem(noisy, start, cut_log(noisy, start))
    learner = PerturbativeFilter(problem, start, [default(start, "slip.a10"), default(start, "slip.a4")])
    for k in range(len(problem.intervals)):
        learner.update(problem, k)
    slip = learner.calibrated.model.slip
    assert np.array_equal(np.delete(slip, [3, 9]), np.delete(ALPHA, [3, 9]))
    assert slip[[3, 9]] == pytest.approx(ALPHA[[3, 9]], abs=0.02)


def test_mistakes_get_one_sentence(noisy):
    with pytest.raises(CalibrationError, match=r"slip\.a1 … slip\.a13"):
        Perturbative(vehicle=CAR).with_parameters({"slip.a14": 0.0})
    with pytest.raises(CalibrationError, match="13 finite numbers"):
        Perturbative(vehicle=CAR, slip=np.zeros(6))
    start = motion(ALPHA)
    problem = LogProblem(noisy, start, cut_log(noisy, start))
    with pytest.raises(CalibrationError, match=r"sensor\.x is not of the slip surface"):
        PerturbativeFilter(problem, start, resolve(start, ["slip", "sensor.x"]))
    with pytest.raises(CalibrationError, match="not Kinematics"):
        PerturbativeFilter(problem, start.replace(model=gr.Kinematics(CAR)))
    with pytest.raises(CalibrationError, match="steers all its wheels"):
        Perturbative(vehicle=gr.vehicle("lru1")).nominal(problem.inputs)
