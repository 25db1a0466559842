"""`simulate` and `rollout` of a fit: covariance against closed forms and planted truths, the same bytes for a seed."""

import numpy as np
import pytest

import grouser as gr
from grouser.errors import SimulationError
from grouser.motion import Corrected, MotionModel, Noise, Powertrain
from tests.motion.uncertain_fit import fit_of

FLAT = gr.terrain.plane()
QUIET = Noise(density=np.zeros((3, 3)))
AHEAD = gr.drive.arc(speed=1.0, curvature=0.0)


def test_uncertain_parameters_spread_as_the_linearised_prediction_says():
    """Straight ahead δx = a1 s: sigma of x is sigma(a1) times the distance of the wheels."""
    run = gr.simulate(fit_of(sigma=0.02, noise=QUIET), FLAT, AHEAD, duration=4.0, samples=2000, seed=1)
    sigma = np.sqrt(run.covariance[:, 0, 0])
    # Sigma of 2000 samples is known to 1/√4000 = 1.6 %; four of these.
    np.testing.assert_allclose(sigma[1:], 0.02 * run.time[1:], rtol=0.065)
    assert run.covariance[:, [1, 3], [1, 3]].max() < 1e-20  # it does not turn: rounding alone
    assert run.position[-1, 0] == pytest.approx(4.0 * (1.0 - 0.02), abs=1e-9)


def test_noise_spreads_as_its_density_says():
    noise = Noise(density=np.diag([4e-4, 1e-4, 1e-6]))
    run = gr.simulate(fit_of(sigma=1e-9, noise=noise), FLAT, AHEAD, duration=4.0, samples=2000, seed=2)
    t = run.time[1:]
    yaw, lateral = 1e-6 * t, 1e-4 * t + 1e-6 * 0.98**2 * t**3 / 3.0
    np.testing.assert_allclose(run.covariance[1:, 0, 0], 4e-4 * t, rtol=0.13)  # variances: 3.2 %, four of these
    np.testing.assert_allclose(run.covariance[1:, 3, 3], yaw, rtol=0.13)
    np.testing.assert_allclose(run.covariance[1:, 1, 1], lateral, rtol=0.13)
    assert run.covariance[-1, 1, 3] > 0.0  # who turns left ends on the left


def test_predicted_sigmas_cover_runs_of_other_draws():
    """Truths drawn with another seed lie within the ellipse as often as a χ² of three says."""
    fit, ground = fit_of(noise=Noise(wander=np.full(3, 1e-4))), gr.terrain.rough(rms=0.05, length=1.0, seed=1)
    arc = gr.drive.arc(speed=0.8, curvature=0.3)
    run = gr.simulate(fit, ground, arc, duration=4.0, samples=300, seed=3)
    truth = gr.simulate(fit, ground, arc, duration=4.0, samples=300, seed=4).samples
    rows = np.ix_([0, 1, 3], [0, 1, 3])
    mean = np.append(run.samples.position[:, -1, :2].mean(axis=0), run.samples.yaw[:, -1].mean())
    error = np.column_stack([truth.position[:, -1, :2], truth.yaw[:, -1]]) - mean
    squared = np.einsum("ni,ij,nj->n", error, np.linalg.inv(run.covariance[-1][rows]), error)
    assert (squared < 7.81).mean() == pytest.approx(0.95, abs=0.05)
    assert (squared < 2.37).mean() == pytest.approx(0.5, abs=0.12)


def test_a_seed_gives_the_same_bytes_for_any_number_of_threads():
    fit, ground = fit_of(powertrain=Powertrain(delay=0.1)), gr.terrain.rough(rms=0.05, length=1.0, seed=1)
    commands = 2.0 + np.random.default_rng(0).random((6, 50, 4))
    one, two, eight = (gr.rollout(fit, ground, commands, samples=3, seed=7, threads=n) for n in (1, 2, None))
    assert one.final_state.tobytes() == two.final_state.tobytes() == eight.final_state.tobytes()
    alone = gr.rollout(fit, ground, commands[:1], samples=3, seed=7)
    assert alone.final_state.tobytes() == one.final_state[:3].tobytes()
    other = gr.rollout(fit, ground, commands, samples=3, seed=8)
    assert other.final_state.tobytes() != one.final_state.tobytes()
    assert one.final_covariance.shape == (6, 4, 4)
    assert np.isfinite(one.final_covariance).all()


def test_the_samples_of_a_run_are_rollouts_of_its_commands():
    fit = fit_of()
    run = gr.simulate(fit, FLAT, AHEAD, duration=2.0, samples=4, seed=5, every=10)
    assert run.samples.state.shape[:2] == (4, len(run.time))
    commands = np.repeat(run.command[:1], 50, axis=0)[None]
    many = gr.rollout(fit, FLAT, commands, samples=4, seed=5)
    np.testing.assert_array_equal(run.samples.state[:, -1], many.final_state)


def test_commands_pass_the_powertrain():
    """A step of the command at 0.4 s: the body follows after the delay with the lag, in closed form."""
    train = Powertrain(gain=0.9, delay=0.21, time_constant=0.3)
    fit = fit_of(noise=QUIET, powertrain=train)
    commands = np.zeros((75, 4))
    commands[10:] = 2.0
    run = gr.simulate(fit, FLAT, commands, duration=3.0, samples=0)
    t = np.maximum(run.time - 0.4 - 0.21, 0.0)
    travel = 0.9 * 2.0 * (t - 0.3 * (1.0 - np.exp(-t / 0.3)))
    np.testing.assert_allclose(run.position[:, 0], 0.165 * 0.98 * travel, rtol=0.0, atol=1e-9)
    assert run.covariance is None


def test_gravity_on_a_slope_pulls_it_back():
    """a4 = 0.01 s uphill: −0.01 g sin(10°) along the body, after a drive of 0.98 m/s."""
    run = gr.simulate(fit_of(noise=QUIET), gr.terrain.slope(deg=10.0), AHEAD, duration=2.0, samples=0)
    speed = 0.98 - 0.01 * 9.80665 * np.sin(np.radians(10.0))
    assert np.linalg.norm(run.position[-1] - run.position[0]) == pytest.approx(2.0 * speed, rel=1e-3)


def test_samples_that_end_early_do_not_count_afterwards():
    ground = gr.terrain.grid(np.zeros((21, 21)), np.linspace(-2.0, 2.0, 21), np.linspace(-2.0, 2.0, 21))
    run = gr.simulate(fit_of(sigma=0.1), ground, AHEAD, duration=2.0, samples=30, seed=1)
    assert {"off_terrain"} <= set(run.samples.counts())
    assert run.samples.reached[:, 0].all()
    assert not run.samples.reached[:, -1].all()


def test_the_summary_says_how_it_went():
    kinematic = gr.simulate(fit_of(), FLAT, AHEAD, duration=1.0, samples=20).summary()
    assert kinematic["largest_slip"] == pytest.approx(0.02, abs=1e-6)
    assert kinematic["energy"] is None
    assert kinematic["least_tip_margin_deg"] > 20.0
    assert kinematic["samples_ended"] == {"ok": 20}
    assert len(kinematic["final_sigma"]) == 3


def test_dynamics_with_noise_does_its_work_and_spreads():
    motion = MotionModel(model=gr.Dynamics(gr.vehicle("husky")), ground=FLAT, noise=Noise(density=np.eye(3) * 1e-4))
    run = gr.simulate(motion, gr.terrain.slope(deg=10.0), AHEAD, duration=2.0, samples=200)
    height = run.position[-1, 2] - run.position[0, 2]
    assert run.summary()["energy"] > 50.0 * 9.8 * height > 0.0
    assert np.sqrt(run.covariance[-1, 0, 0] / np.cos(np.radians(10.0)) ** 2) == pytest.approx(
        np.sqrt(2e-4), rel=0.25
    )  # sigma of 200: 5 %, and wheels at speeds that differ a little


def test_what_is_not_uncertain_or_not_whole_is_refused_or_said():
    husky = gr.vehicle("husky")
    with pytest.raises(SimulationError, match="a model alone is certain"):
        gr.simulate(gr.Kinematics(husky), FLAT, AHEAD, duration=1.0, samples=10)
    with pytest.raises(SimulationError, match="a model alone is certain"):
        gr.rollout(gr.Kinematics(husky), FLAT, np.ones((1, 5, 4)), samples=10)
    with pytest.warns(UserWarning, match="without its transient terms") as said:
        gr.simulate(MotionModel(model=Corrected(vehicle=husky)), FLAT, AHEAD, duration=1.0, samples=2)
    assert len(said) == 1
