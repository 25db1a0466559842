"""A learned correction on the slip surface: bounded, with a memory, affine in its coefficients, the same in streams."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import grouser as gr
from grouser.errors import CalibrationError
from grouser.motion import Corrected, Perturbative
from grouser.motion.correction import HISTORY, TERMS, change_over, features
from grouser.motion.fit import Fit, Training
from grouser.motion.velocity import Inputs, SlipTwists

ROBOT = gr.vehicle("warthog")
REACH = (1.5, 0.8, 1.0, 0.6)


def made(seed: int = 3, **changes: object) -> Corrected:
    random = np.random.default_rng(seed)
    given = {
        "vehicle": ROBOT, "slip": 0.1 * random.normal(size=13), "gravity_grows": "distance",
        "terms": (1, 2, 3, 9, 10, 12), "widths": (0.03, 0.02, 0.05, 0.02, 0.03, 0.04), "reach": REACH,
        "correction": random.normal(size=9), **changes,
    }  # fmt: skip
    return Corrected(**given)  # type: ignore[arg-type]


def drive(n: int = 400, seed: int = 5, scale: float = 1.0) -> Inputs:
    """Smoothly varying rates of the two sides at 20 Hz."""
    random, robot = np.random.default_rng(seed), ROBOT
    t = 0.05 * np.arange(n)
    knots = np.arange(0.0, t[-1] + 1.0)
    rates = np.empty((n, robot.n_joints))
    for names in (("FL", "BL"), ("FR", "BR")):
        side = np.interp(t, knots, scale * random.uniform(-3.0, 4.0, len(knots)))
        for name in names:
            rates[:, robot.joint_index(name)] = side
    attitude = 0.1 * np.stack([np.sin(0.4 * t), np.cos(0.3 * t)], axis=1)
    return Inputs(time=t, attitude=attitude, rates=rates, angles=np.full_like(rates, np.nan))


def wheel_motion(inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
    """Speed and turn rate of the wheels, written out for the Warthog."""
    robot = ROBOT
    left, right = (inputs.rates[:, robot.joint_index(name)] for name in ("FL", "FR"))
    radius, y = robot.arrays.radius[0], robot.wheel_positions[:, 1]
    return 0.5 * radius * (left + right), radius * (right - left) / (y.max() - y.min())


def test_without_coefficients_it_is_the_slip_surface() -> None:
    model, inputs = made(correction=np.zeros(9)), drive()
    surface = Perturbative(vehicle=model.vehicle, slip=model.slip, gravity_grows="distance")
    assert np.allclose(model.twists(inputs), surface.twists(inputs), atol=1e-15)


def test_the_correction_is_what_its_definition_says_inside_the_range() -> None:
    """Sample by sample in plain Python: forward, by acceleration over the last second."""
    model, inputs = made(correction=[1.0, *np.zeros(8)], reach=(99.0,) * 4), drive(100)
    surface = Perturbative(vehicle=model.vehicle, slip=model.slip, gravity_grows="distance")
    extra = model.twists(inputs) - surface.twists(inputs)
    v, _ = wheel_motion(inputs)
    for k in range(100):
        before = v[max(k - 20, 0)]
        assert extra[k, 3] == pytest.approx(model.widths[0] * (v[k] - before), abs=1e-12)
    assert np.abs(np.delete(extra, 3, axis=1)).max() < 1e-15


def test_the_velocity_is_affine_in_all_slip_parameters() -> None:
    model, inputs = made(), drive()
    shared = SlipTwists(model, inputs)
    other = made(seed=11)
    assert shared.fits(other)
    assert not shared.fits(made(widths=(0.04,) * 6))
    assert np.allclose(shared.twists(other.affine_slip[None])[0], other.twists(inputs), atol=1e-12)
    for k, name in enumerate(model.parameters):
        high, low = (model.with_parameters({name: model.parameters[name] + h}).twists(inputs) for h in (0.5, -0.5))
        assert np.allclose(high - low, shared.slopes[..., k], atol=1e-12), name


def test_a_mirrored_drive_gets_the_mirrored_correction() -> None:
    v, w, a, b = np.random.default_rng(1).normal(size=(4, 50))
    inside = made(correction=[*made().correction[:6], 0.0, 0.0, 0.0])  # what is outside of the range has no sign
    here, there = inside.extra(v, w, a, b), inside.extra(v, -w, a, -b)
    assert np.allclose(there, here * [1.0, 1.0, -1.0, 1.0, -1.0, 1.0], atol=1e-15)


def test_outside_of_the_range_the_mean_is_bounded_and_the_uncertainty_grows() -> None:
    """Coefficients as after training, d unknown: the mean stays, sigma grows in proportion to the distance."""
    model = made(correction=[*np.random.default_rng(2).normal(size=6), 0.0, 0.0, 0.0])
    inputs = np.outer([1.0, 2.0, 4.0, 8.0], REACH)
    mean = model.extra(*inputs.T)
    assert np.allclose(mean, mean[0], atol=1e-15)
    beyond = model._slopes(*inputs.T)[:, [3, 4, 2], [6, 7, 8]]
    assert np.allclose(beyond[0], 0.0)
    assert (beyond[1] > 0.0).all()
    assert np.allclose(beyond[2:], beyond[1] * np.array([[3.0], [7.0]]), rtol=1e-12)
    # One range farther out in one input adds the prior sigma of the correction at the corner; here all four are.
    corner = features(np.array([REACH]))[0, [0, 1]] * model.widths[:2]
    assert beyond[1, 0] == pytest.approx(4.0 * np.linalg.norm(corner))


def test_history_ends_where_the_clock_jumps() -> None:
    t = np.concatenate([np.arange(0.0, 3.0, 0.1), np.arange(0.0, 3.0, 0.1), np.arange(7.0, 9.0, 0.1)])
    x = np.arange(len(t), dtype=float)[:, None] ** 2
    found = change_over(t, x, HISTORY)[:, 0]
    for start in (0, 30, 60):
        for k in (0, 3, 12):
            assert found[start + k] == pytest.approx(x[start + k, 0] - x[start + max(k - 10, 0), 0], rel=1e-9)


def test_a_part_of_a_log_with_its_last_second_gives_the_velocities_of_the_whole() -> None:
    model, inputs = made(), drive()
    whole, part = model.twists(inputs), model.twists(inputs.window(100, 200))
    assert np.allclose(part[21:], whole[121:200], atol=1e-14)
    assert np.abs(part[:20] - whole[100:120]).max() > 1e-4
    assert model.memory == HISTORY


@pytest.mark.parametrize("one_by_one", [False, True])
def test_odometry_takes_the_velocities_that_calibration_takes(one_by_one: bool) -> None:
    model, inputs = made(), drive(200)
    level = Inputs(time=inputs.time, attitude=np.zeros((200, 2)), rates=inputs.rates, angles=inputs.angles)
    odometry = gr.Odometry(model)
    if one_by_one:
        found = [odometry.update(t, r).twist for t, r in zip(level.time, level.rates, strict=True)]
    else:
        parts = [slice(0, 60), slice(60, 130), slice(130, 200)]
        rows = [odometry.run(level.time[p], level.rates[p], level.angles[p]) for p in parts]
        found = np.concatenate([one["twist"] for one in rows])
    assert np.allclose(found, model.twists(level), atol=1e-12)
    odometry.reset()
    assert np.allclose(odometry.update(50.0, level.rates[120]).twist, model.twists(level.window(120, 121))[0])


def test_a_fit_file_holds_it(tmp_path: Path) -> None:
    model = made()
    motion = gr.MotionModel(model=model)
    training = Training(
        log="a", samples=1, intervals=1, interval=2.0, distance=None, overlapping=False, rejected=0, position_rms=0.0,
        yaw_rms=0.0, method="batch",
    )  # fmt: skip
    parameters = tuple(gr.motion.resolve(motion, ["slip"]))
    n = len(parameters)
    assert n == 13 + 6 + 3
    fit = Fit(
        model=motion, parameters=parameters, vector=model.affine_slip, covariance=0.01 * np.eye(n),
        noise_covariance=np.zeros((0, 0)), training=training,
    )  # fmt: skip
    fit.save(tmp_path / "fit.toml")
    again = Fit.load(tmp_path / "fit.toml").model.model
    assert isinstance(again, Corrected)
    assert again.spec == model.spec
    assert again.parameters == model.parameters
    assert np.allclose(again.twists(drive()), model.twists(drive()), atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"terms": (2, 1, 3, 9, 10, 12)}, "rising numbers from 1 to 13"),
        ({"terms": (1, 2, 3, 9, 10, 14)}, "rising numbers from 1 to 13"),
        ({"widths": (1.0,) * 5}, "6 positive numbers"),
        ({"reach": (1.0, 1.0, 0.0, 1.0)}, "reach: must be 4 positive numbers"),
        ({"correction": np.full(9, np.nan)}, "9 finite numbers"),
    ],
)
def test_wrong_numbers_are_refused(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(CalibrationError, match=sentence):
        made(**changes)


def test_every_term_has_a_row_in_the_table_of_parameters() -> None:
    from grouser.motion.parameter_table import TABLE

    assert all(f"slip.c{k}" in TABLE for k in range(1, len(TERMS) + 1))
    ways = {0: "forward", 1: "sideways", 2: "turn"}
    for k, term in enumerate(TERMS, start=1):
        assert TABLE[f"slip.c{k}"].meaning.startswith(ways[term.axis])
