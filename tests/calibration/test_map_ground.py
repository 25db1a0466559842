"""Maps of the ground from planted drives over two soils, one left and one right of a border."""

import json

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.map_ground import Felt, _Field, errors_by_map, map_ground, soils_of_map
from grouser.cli import run
from grouser.errors import CalibrationError
from tests.oracles import planar_slip as truth


def two_soils(x, y):
    return truth.FIRM if x < 0.0 else truth.SOFT


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("map")


@pytest.fixture(scope="module")
def fit(folder):
    """Of a day on each soil: their mean and spread."""
    model = gr.motion.Perturbative(vehicle=gr.vehicle("warthog"), gravity_grows="distance")
    soils = (truth.FIRM, truth.SOFT)
    logs = [
        truth.drive(folder, f"day{i}", lambda x, y, a=a: a, seed=10 + i, seconds=100.0) for i, a in enumerate(soils)
    ]
    return gr.calibration.calibrate_together(model, logs, ["slip", "noise"]).fit


@pytest.fixture(scope="module")
def mapped(folder, fit):
    return map_ground(fit, [truth.drive(folder, "first", two_soils, seed=20, seconds=240.0)], length=8.0)


@pytest.fixture(scope="module")
def second(folder):
    return truth.drive(folder, "second", two_soils, seed=40, seconds=240.0)


def test_the_border_is_found_within_the_correlation_length(mapped):
    found = mapped.map
    x = np.linspace(-12.0, 12.0, 97)
    turn = np.mean([found.at(x, np.full_like(x, y))[0][:, found.index("slip.a10")] for y in (-4, 0, 4)], axis=0)
    middle = 0.5 * (truth.FIRM[9] + truth.SOFT[9])
    left, right = x[turn > middle].max(), x[turn < middle].min()
    assert right > -8.0
    assert left < 8.0
    assert abs(0.5 * (left + right)) < 4.0
    assert turn[x < -6.0].mean() == pytest.approx(truth.FIRM[9], abs=0.04)
    assert turn[x > 6.0].mean() == pytest.approx(truth.SOFT[9], abs=0.04)


def test_a_second_drive_is_predicted_better_with_the_map_and_honestly(mapped, fit, second):
    """Paired, per interval: the log-likelihood gain is above zero by far; ellipses hold 92 to 99 % of 119 errors."""
    with_map, without = errors_by_map(mapped.map, fit, second)
    gain = without.position**2 - with_map.position**2
    assert gain.mean() > 3.0 * gain.std() / np.sqrt(len(gain))
    assert with_map.log_likelihood > without.log_likelihood + 1.0
    assert 0.92 <= with_map.inside.mean() <= 0.995
    assert 0.4 < with_map.nees.mean() < 1.3


def test_uncertainty_grows_with_distance_to_that_of_any_ground(mapped):
    found, k = mapped.map, mapped.map.index("slip.a10")
    start = found.path[:, 0].max()
    y = found.path[np.argmax(found.path[:, 0]), 1]
    sigma = np.sqrt(found.at(start + np.array([0.0, 4.0, 8.0, 16.0, 200.0]), np.full(5, y))[1][:, k, k])
    assert np.all(np.diff(sigma) > 0.0)
    assert sigma[-1] == pytest.approx(np.sqrt(found.outside_covariance[k, k]))
    assert sigma[0] < 0.4 * sigma[-1]
    assert np.linalg.eigvalsh(found.covariance).min() > 0.0


def test_the_field_is_the_gaussian_process_written_out():
    """Two intervals of one residual at single places: the posterior by the textbook formula."""
    places = np.array([[0.0, 0.0], [3.0, 4.0]])
    felt = Felt(
        residual=np.array([[0.3], [-0.1]]),
        slopes=np.array([[[1.0, 0.5]], [[-0.2, 2.0]]]),
        noise=np.array([[[0.04]], [[0.01]]]),
        places=np.repeat(places[:, None], 4, axis=1),
        times=np.zeros((2, 2)),
    )
    S, length = np.array([[0.5, 0.1], [0.1, 0.3]]), 4.0
    mean, covariance = _Field(felt, S, length).at(np.array([[3.0, 0.0]]))
    H = np.array([[1.0, 0.5, 0.0, 0.0], [0.0, 0.0, -0.2, 2.0]])
    near = np.exp(-np.array([[0.0, 5.0, 3.0], [5.0, 0.0, 4.0], [3.0, 4.0, 0.0]]) / length)
    prior = np.kron(near, S)
    gain = prior[4:, :4] @ H.T @ np.linalg.inv(H @ prior[:4, :4] @ H.T + np.diag([0.04, 0.01]))
    np.testing.assert_allclose(mean[0], gain @ [0.3, -0.1], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(covariance[0], prior[4:, 4:] - gain @ H @ prior[:4, 4:], rtol=0.0, atol=1e-12)


def test_slopes_of_the_likelihood_are_its_differences():
    rng = np.random.default_rng(2)
    felt = Felt(
        residual=rng.normal(size=(5, 3)), slopes=rng.normal(size=(5, 3, 2)), noise=np.tile(0.5 * np.eye(3), (5, 1, 1)),
        places=rng.normal(size=(5, 4, 2)), times=np.zeros((5, 2)),
    )  # fmt: skip
    S = np.array([[0.5, 0.1], [0.1, 0.3]])
    _, slopes = _Field(felt, S, 1.0).slopes()
    for k in range(2):
        value = []
        for step in (1e-5, -1e-5):
            scale = np.exp(step * (np.arange(2) == k))
            value.append(_Field(felt, S * np.outer(scale, scale), 1.0).log_likelihood)
        assert slopes[k] == pytest.approx((value[0] - value[1]) / 2e-5, rel=1e-6)


def test_a_map_becomes_soils_of_a_simulation(folder, second):
    """Kinematic slip: a vehicle turns less on the soft side, by the map alone."""
    kinematic = gr.MotionModel(model=gr.Kinematics(gr.vehicle("warthog")), sensor=second.sensor)
    fit = gr.calibrate(kinematic, second, ["slip", "noise"])
    found = map_ground(fit, [second], length=8.0, parameters=["slip.p2", "slip.p6"]).map
    ground = soils_of_map(found, fit, gr.terrain.plane(), count=2)
    turned = []
    for x in (-8.0, 8.0):
        run = gr.simulate(
            fit.model.model, ground, gr.drive.arc(speed=0.5, curvature=1.0), start=(x, 0.0, 0.0), duration=1.0, dt=0.04
        )
        turned.append(run.yaw[-1] - run.yaw[0])
    assert turned[0] > turned[1] + 0.02


def test_the_command_prints_and_writes_a_map(folder, fit, second, capsys):
    fit.save(folder / "fit.toml")
    arguments = ["groundmap", str(folder / "first.csv"), "--manifest", str(folder / "planar_slip.toml")]
    arguments += ["--fit", str(folder / "fit.toml"), "--length", "8", "--predict", str(folder / "second.csv")]
    out, plot = folder / "map.npz", folder / "map.png"
    assert run([*arguments, "--out", str(out), "--plot", str(plot), "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert one["parameters"]["slip.a10"]["least"] < -0.53 < -0.5 < one["parameters"]["slip.a10"]["most"]
    assert one["prediction"]["with_map"]["yaw_rms_deg"] < 0.8 * one["prediction"]["without_map"]["yaw_rms_deg"]
    assert gr.terrain.read_ground_map(out).names[9] == "slip.a10"
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert run([*arguments[:-2], "--parameters", "slip.a1"]) == 0
    assert "correlation length 8 m" in capsys.readouterr().out


def test_mistakes_are_one_sentence(fit, second, capsys):
    with pytest.raises(CalibrationError, match="no ground parameter of the fit"):
        map_ground(fit, [second], parameters=["sensor.x"])
    with pytest.raises(CalibrationError, match="in a list"):
        map_ground(fit, second)
    with pytest.raises(CalibrationError, match="larger cells"):
        map_ground(fit, [second], length=8.0, cell=0.05)
    assert run(["groundmap", "a.csv", "--manifest", "m.toml", "--fit", "f.toml", "--cell", "-1"]) == 2
    assert "--cell" in capsys.readouterr().err


def test_friction_by_place_is_found_with_dynamics():
    """Simulated on 0.3 left and 0.8 right of a border; fitted and mapped with a model that knows one soil."""
    model = gr.Dynamics(gr.vehicle("warthog"), contact=gr.contact.PiecewiseLinear(friction=0.6))
    halves = gr.terrain.SoilRaster(classes=np.array([[0], [1]]), origin=(-100.0, -50.0), cell=100.0)
    contacts = [gr.contact.PiecewiseLinear(friction=friction) for friction in (0.3, 0.8)]
    ground = gr.terrain.soils(gr.terrain.plane(), halves, contacts)
    rng = np.random.default_rng(0)
    runs = [
        gr.simulate(
            model, ground, gr.drive.arc(speed=2.0, curvature=float(rng.uniform(0.3, 0.7))),
            start=(-8.0 + 3.0 * k, 0.0, float(rng.uniform(-3.0, 3.0))), duration=8.0, dt=0.04,
        )
        for k in range(6)
    ]  # fmt: skip
    log = gr.calibration.log_of_run(runs, position_noise=0.01, yaw_noise=0.003)
    motion = gr.MotionModel(model=model, ground=gr.terrain.plane(), sensor=log.sensor)
    fit = gr.calibrate(motion, log, ["contact.friction", "noise"])
    found = map_ground(fit, [log], length=8.0).map
    mean, covariance = found.at([-5.0, 5.0], [0.0, 0.0])
    sigma = np.sqrt(covariance[:, 0, 0])
    assert np.all(np.abs(mean[:, 0] - [0.3, 0.8]) < 2.0 * sigma)
    assert mean[1, 0] - mean[0, 0] > 0.25
    soils = soils_of_map(found, fit, gr.terrain.plane(), count=2).soils.soils
    assert soils[0].contact.friction < soils[1].contact.friction
