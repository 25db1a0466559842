"""A memory of grounds: files to the last bit, grounds merged as Gaussians, one ground or two, and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.memory import KEPT, SCHEMA, WANDER, Feeling, Felt, Ground, Memory, felt
from grouser.errors import CalibrationError
from grouser.motion.intervals import cut_log
from grouser.motion.model import MotionModel
from grouser.motion.parameters import resolve
from grouser.motion.predict import LogProblem
from tests.motion import planted_logs as drives


def motion() -> MotionModel:
    return drives.slipping(np.zeros(6))


def of_names(*names: str) -> Memory:
    start = motion()
    return Memory.of(start, resolve(start, list(names)))


def ground(name: str, mean, sigma, **more) -> Ground:
    mean = np.atleast_1d(np.asarray(mean, dtype=float))
    return Ground(name=name, mean=mean, covariance=np.diag(np.broadcast_to(sigma, mean.shape) ** 2.0), **more)


def one_parameter(*grounds: Ground) -> Memory:
    memory = of_names("slip.p6")
    memory.grounds += grounds
    return memory


def test_parameters_of_the_vehicle_and_the_noise_are_not_remembered() -> None:
    assert of_names("slip.p2", "slip.p6", "sensor.lag", "vehicle.radius", "noise").names == ["slip.p2", "slip.p6"]


def test_a_file_gives_back_every_bit(tmp_path) -> None:
    rng = np.random.default_rng(1)
    memory = of_names("slip")
    for name in ("grass", 'wet "sand"', "Schnee, 5 °C"):
        A = rng.normal(size=(6, 6))
        feel = {"vibration": Felt(mean=rng.normal(), sigma=rng.uniform(), count=17)}
        memory.grounds.append(
            Ground(name=name, mean=rng.normal(size=6), covariance=A @ A.T / 7.0, seconds=rng.uniform(0, 100), visits=2,
                   feel=feel)
        )  # fmt: skip
    memory.save(tmp_path / "m.toml")
    again = Memory.load(tmp_path / "m.toml")
    assert again.tables() == memory.tables()  # equal doubles are equal bits: none is zero or NaN
    for a, b in zip(again.grounds, memory.grounds, strict=True):
        assert a.mean.tobytes() == b.mean.tobytes()
        assert a.covariance.tobytes() == b.covariance.tobytes()
    again.save(tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_bytes() == (tmp_path / "m.toml").read_bytes()


def test_an_empty_memory_is_a_file_too(tmp_path) -> None:
    of_names("slip").save(tmp_path / "m.toml")
    assert Memory.load(tmp_path / "m.toml").grounds == []


def test_merging_is_the_product_of_two_gaussians() -> None:
    """By hand: precisions 100 and 25 add to 125; the mean is (100·0.1 + 25·0.6)/125 = 0.2."""
    a = ground("a", 0.1, 0.1, seconds=10.0, visits=2, feel={"slope": Felt(mean=0.1, sigma=0.0, count=1)})
    b = ground("b", 0.6, 0.2, seconds=5.0, feel={"slope": Felt(mean=0.3, sigma=0.0, count=1)})
    memory = one_parameter(a, b)
    memory.merge("a", "b")
    (one,) = memory.grounds
    assert one.name == "a"
    assert one.mean[0] == pytest.approx(0.2, rel=1e-12)
    assert one.covariance[0, 0] == pytest.approx(1.0 / 125.0, rel=1e-12)
    assert (one.seconds, one.visits) == (15.0, 3)
    assert one.feel["slope"].mean == pytest.approx(0.2)


def test_merging_correlated_grounds_adds_their_information() -> None:
    rng = np.random.default_rng(3)
    A, B = (M @ M.T for M in rng.normal(size=(2, 6, 6)))
    a, b = rng.normal(size=(2, 6))
    memory = of_names("slip")
    memory.grounds += [Ground(name="a", mean=a, covariance=A), Ground(name="b", mean=b, covariance=B)]
    memory.merge("a", "b")
    both = np.linalg.inv(A) + np.linalg.inv(B)
    np.testing.assert_allclose(memory["a"].covariance, np.linalg.inv(both), rtol=1e-7, atol=1e-9)
    wanted = np.linalg.solve(both, np.linalg.solve(A, a) + np.linalg.solve(B, b))
    np.testing.assert_allclose(memory["a"].mean, wanted, rtol=1e-7, atol=1e-9)


def test_felt_together_is_the_mean_and_sigma_of_all() -> None:
    values = np.random.default_rng(0).normal(3.0, 2.0, size=37)
    parts = np.split(values, [5, 6, 20])
    felts = [Felt(mean=float(p.mean()), sigma=float(p.std()), count=len(p)) for p in parts]
    all_of_them = felts[0].with_(felts[1]).with_(felts[2].with_(felts[3]))
    assert all_of_them.count == 37
    assert all_of_them.mean == pytest.approx(values.mean(), rel=1e-12)
    assert all_of_them.sigma == pytest.approx(values.std(), rel=1e-12)


def a_problem() -> LogProblem:
    truth = drives.slipping()
    log = drives.winding_log(truth, seed=1, seconds=2.0 * (2 * KEPT + 9), dt=0.1)
    rng = np.random.default_rng(5)
    z = np.column_stack([np.zeros((len(log), 2)), 9.81 + rng.normal(0.0, 0.7, size=len(log))])
    log = replace(log, acceleration=z, label={"current_left": np.full(len(log), -2.0), "current_right": 3.0 + z[:, 0]})
    return LogProblem(log, truth, cut_log(log, truth, interval=2.0))


def test_what_a_ground_feels_like_is_that_of_all_its_intervals() -> None:
    problem = a_problem()
    feeling, n = Feeling(), len(problem.intervals)
    assert n > 2 * KEPT  # so that the first are no longer held one by one
    for k in range(n):
        feeling.add(problem, k)
    rows = [felt(problem, k) for k in range(n)]
    found = feeling.take(4)
    for signal in ("vibration", "slope", "current"):
        values = np.array([row[signal] for row in rows[:-4]])
        assert found[signal].count == n - 4
        assert found[signal].mean == pytest.approx(values.mean(), rel=1e-12)
        assert found[signal].sigma == pytest.approx(values.std(), rel=1e-9, abs=1e-12)
    assert found["vibration"].mean == pytest.approx(0.7, rel=0.05)  # as planted: white, with gravity taken off
    assert found["current"].mean == pytest.approx(5.0)  # sizes add
    assert feeling.rows == rows[-4:]  # kept for the next ground


def test_a_close_visit_is_the_same_ground_and_a_far_one_another() -> None:
    memory = one_parameter(ground("grass", -0.4, 0.005), ground("sand", -0.7, 0.005))
    spread = float(np.sqrt(memory.spread[0, 0]))
    assert memory.remember(ground("new", -0.4 + 0.3 * WANDER * spread, 0.005), recalled=False) == "grass"
    assert memory["grass"].visits == 2
    assert memory.remember(ground("new", -0.4 + 1.0 * spread, 0.005), recalled=False) == "new"
    assert [g.name for g in memory.grounds] == ["grass", "sand", "new"]


def test_where_one_and_two_grounds_are_as_probable_is_as_by_hand() -> None:
    """N(d; 0, c) = N(d; 0, c + 2 s²) at d² = ln((c + 2 s²)/c) / (1/c − 1/(c + 2 s²)), c = 2 σ² + (WANDER s)²."""
    memory = one_parameter(ground("a", 0.0, 0.02))
    s2 = memory.spread[0, 0]
    c = 2 * 0.02**2 + WANDER**2 * s2
    d = np.sqrt(np.log((c + 2 * s2) / c) / (1 / c - 1 / (c + 2 * s2)))
    assert memory.copy().remember(ground("b", 0.99 * d, 0.02), recalled=False) == "a"
    assert memory.copy().remember(ground("b", 1.01 * d, 0.02), recalled=False) == "b"


def test_a_recalled_ground_is_replaced_for_its_estimate_holds_what_was_known() -> None:
    old = {"slope": Felt(mean=0.1, sigma=0.0, count=3), "current": Felt(mean=4.0, sigma=1.0, count=3)}
    memory = one_parameter(ground("a", -0.4, 0.02, seconds=30.0, feel=old), ground("b", -0.7, 0.02))
    visit = ground("a", -0.41, 0.01, seconds=12.0, feel={"slope": Felt(mean=0.2, sigma=0.0, count=1)})
    assert memory.remember(visit, recalled=True) == "a"
    found = memory["a"]
    assert (found.mean[0], found.covariance[0, 0]) == (-0.41, 0.01**2)
    assert (found.seconds, found.visits) == (42.0, 2)
    assert found.feel["slope"].mean == pytest.approx((3 * 0.1 + 0.2) / 4)
    assert found.feel["current"].count == 3


def test_the_spread_is_assumed_before_two_grounds_and_then_follows_them() -> None:
    memory = one_parameter(ground("a", -0.4, 0.01))
    assumed = memory.spread[0, 0]
    assert assumed == of_names("slip.p6").spread[0, 0] > 0.0
    memory.grounds += [ground(str(k), value, 0.01) for k, value in enumerate((0.2, -0.9, 0.5, -0.1, 0.8))]
    assert memory.spread[0, 0] > 4.0 * assumed  # these differ by 0.6, one sigma
    memory.grounds = [ground(str(k), -0.4 + 1e-3 * k, 0.001) for k in range(6)]
    assert memory.spread[0, 0] < assumed  # not the one of the grounds before


def test_names_are_given_and_grounds_forgotten() -> None:
    memory = one_parameter(ground("ground 1", -0.4, 0.02), ground("ground 2", -0.7, 0.02))
    memory.rename("ground 1", "grass")
    assert [g.name for g in memory.grounds] == ["grass", "ground 2"]
    assert memory["grass"].mean[0] == -0.4
    assert memory.fresh_name() == "ground 1"
    assert memory.fresh_name(["ground 1"]) == "ground 3"
    memory.forget("grass")
    assert [g.name for g in memory.grounds] == ["ground 2"]


def test_another_robot_of_the_kind_gets_wider_grounds_and_no_visits() -> None:
    memory = one_parameter(ground("a", -0.4, 0.01, seconds=5.0), ground("b", -0.7, 0.02))
    other = memory.for_another_robot()
    for mine, its in zip(memory.grounds, other.grounds, strict=True):
        assert its.mean[0] == mine.mean[0]
        assert its.covariance[0, 0] == pytest.approx(mine.covariance[0, 0] + WANDER**2 * memory.spread[0, 0])
        assert (its.seconds, its.visits) == (0.0, 0)
    assert memory["a"].seconds == 5.0  # left as it was


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda m: m.rename("c", "d"), "no ground 'c'; it has a, b"),
        (lambda m: m.rename("a", "b"), "has a ground 'b' already"),
        (lambda m: m.rename("a", "  "), "the new name of a ground is empty"),
        (lambda m: m.merge("a", "a"), "cannot be merged with itself"),
        (lambda m: m.merge("a", "c"), "no ground 'c'"),
        (lambda m: m.forget("c"), "no ground 'c'"),
    ],
)
def test_what_cannot_be_done_changes_nothing(act, sentence: str) -> None:
    memory = one_parameter(ground("a", -0.4, 0.02), ground("b", -0.7, 0.02))
    before = memory.tables()
    with pytest.raises(CalibrationError, match=sentence):
        act(memory)
    assert memory.tables() == before


def test_another_vehicle_or_model_is_refused_in_one_sentence() -> None:
    memory = of_names("slip")
    memory.check_serves(motion(), resolve(motion(), ["slip", "sensor.lag"]))
    husky = replace(motion(), model=gr.Kinematics(gr.vehicle("husky"), slip=gr.slip.BodySlip(np.zeros(6))))
    surface = MotionModel(model=gr.motion.Perturbative(vehicle=gr.vehicle("warthog")))
    refused = [
        (husky, "slip", "of 'warthog', not of 'husky'"),
        (motion(), "slip.p2", "slip.p1, .* not of Kinematics with slip.p2; use the same"),
        (motion(), "sensor.lag", "with no parameter of the ground"),
        (surface, "slip", "of a Kinematics model .* not of Perturbative"),
    ]
    for other, name, sentence in refused:
        with pytest.raises(CalibrationError, match=sentence) as error:
            memory.check_serves(other, resolve(other, [name]))
        assert "\n" not in str(error.value)
        with pytest.raises(CalibrationError, match=sentence):
            gr.calibration.OnlineFilter(other, resolve(other, [name]), memory=memory)


def damaged(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (SCHEMA, "grouser/memory@2", "grouser/memory@1"),
        (SCHEMA, "grouser/fit@1", "grouser/memory@1"),
        ('name = "b"', 'name = "a"', "ground 'a' is there twice"),
        ("covariance = [[0.25]]", "covariance = [[-0.25]]", "ground 'b' needs 1 finite numbers and a positive"),
        ("covariance = [[0.25]]", "covariance = [[nan]]", "ground 'b' needs 1 finite"),
        ("covariance = [[0.25]]", "covariance = [[0.25, 0.0]]", "ground 'b' needs 1 finite"),
        ("mean = [0.5]", "mean = [0.5, 1.0]", "ground 'b' needs 1 finite"),
        ("mean = [0.5]", 'mean = ["half"]', "m.toml"),
        ("mean = [0.5]", "", "m.toml"),
        ("[[parameters]]", "[[parameter]]", "m.toml"),
        ("mean = [0.5]", "mean = [0.5", "m.toml"),
    ],
)
def test_a_damaged_file_is_refused_with_its_name(old: str, new: str, sentence: str, tmp_path) -> None:
    path = tmp_path / "m.toml"
    one_parameter(ground("a", -0.4, 0.02), ground("b", 0.5, 0.5)).save(path)
    path.write_text(damaged(path.read_text(), old, new))
    with pytest.raises(CalibrationError, match=sentence) as error:
        Memory.load(path)
    assert "m.toml" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_covariance_must_be_symmetric_and_may_round_to_a_little_below_zero(tmp_path) -> None:
    memory = of_names("slip.p2", "slip.p6")
    v = np.array([[0.3, 0.1]])
    flat = v.T @ v - 1e-16 * np.eye(2)  # of rank one, as two parameters that only appear as a sum have it
    assert np.linalg.eigvalsh(flat)[0] < 0.0
    memory.grounds.append(Ground(name="a", mean=np.zeros(2), covariance=flat))
    memory.save(tmp_path / "m.toml")
    assert Memory.load(tmp_path / "m.toml").names == memory.names
    memory.grounds[0] = replace(memory.grounds[0], covariance=np.array([[1.0, 0.5], [0.0, 1.0]]))
    memory.save(tmp_path / "m.toml")
    with pytest.raises(CalibrationError, match="ground 'a' needs 2 finite numbers and a positive covariance"):
        Memory.load(tmp_path / "m.toml")


def test_a_file_that_is_not_there_says_what_makes_one(tmp_path) -> None:
    with pytest.raises(CalibrationError, match=r"no such file; `grouser calibrate .* --memory"):
        Memory.load(tmp_path / "m.toml")
