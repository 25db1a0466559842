"""The Gymnasium environment: passes the checker, repeats by seed, sees and rewards what it says it does."""

from __future__ import annotations

import importlib
import sys
import warnings

import numpy as np
import pytest

import grouser as gr

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed; it is in the extra [gym]")

import grouser.gym  # noqa: E402
from grouser.gym import RoughTerrainEnv  # noqa: E402

ROUGH = "rough:rms=.05,length=.8,seed=3,size=14"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"vehicle": "husky", "model": "dynamic", "terrain": ROUGH},
        {"vehicle": "rocky7", "action": "arc", "terrain": ROUGH},
    ],
    ids=["zoe on new ground", "dynamic husky", "steered rocky7"],
)
def test_gymnasiums_checker_finds_nothing(options):
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make(grouser.gym.ID, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what the checker doubts, it warns of
        check_env(env.unwrapped, skip_render_check=True)


def driven(env, seed, n=6):
    observation, _ = env.reset(seed=seed)
    env.action_space.seed(seed)
    seen = [observation]
    rewards = []
    for _ in range(n):
        observation, reward, *_ = env.step(env.action_space.sample())
        seen.append(observation)
        rewards.append(reward)
    return seen, rewards


def test_a_seed_repeats_ground_goal_and_motion():
    (a, rewards_a), (b, rewards_b) = (driven(RoughTerrainEnv(), 7) for _ in range(2))
    assert rewards_a == rewards_b
    for one, other in zip(a, b, strict=True):
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
    c, _ = driven(RoughTerrainEnv(), 8)
    assert not np.array_equal(a[0]["goal"], c[0]["goal"])
    assert not np.array_equal(a[0]["heights"], c[0]["heights"])
    again = RoughTerrainEnv()
    first = driven(again, 7)[0]
    np.testing.assert_array_equal(driven(again, 7)[0][-1]["velocity"], first[-1]["velocity"])


def test_full_speed_ahead_reaches_a_goal_ahead_and_the_reward_is_as_stated():
    env = RoughTerrainEnv("zoe", "flat", start=(0, 0, 0), goal=(3, 0), goal_radius=0.5, max_speed=1.0)
    observation, info = env.reset(seed=0)
    assert observation["goal"] == pytest.approx([3.0, 0.0], abs=1e-6)
    total, terminated, n = 0.0, False, 0
    while not terminated:
        observation, reward, terminated, truncated, info = env.step(np.ones(4, dtype=np.float32))
        assert not truncated
        total += reward
        n += 1
    assert info["is_success"]
    assert info["status"] == "ok"
    assert observation["goal"][0] == pytest.approx(info["distance"], abs=1e-6)
    assert info["time"] == pytest.approx(0.2 * n)
    assert n == 13  # 2.5 m at 1 m/s in parts of 0.2 s
    assert total == pytest.approx(10.0 + 3.0 - info["distance"] - 0.05 * info["time"], abs=1e-9)
    assert observation["velocity"][3] == pytest.approx(1.0, abs=1e-6)  # v ahead comes after ω
    with pytest.raises(gr.GrouserError, match="call reset"):
        env.step(np.ones(4))


@pytest.mark.parametrize("vehicle", ["husky", "rocky7"])
def test_positive_curvature_turns_left_and_the_goal_is_seen_in_the_heading(vehicle):
    env = RoughTerrainEnv(vehicle, "flat", action="arc", start=(1, -2, 2.0), max_speed=0.5)
    goal = np.array([1.0, -2.0]) + 4.0 * np.array([np.cos(2.0 + np.pi / 2), np.sin(2.0 + np.pi / 2)])
    yaw = {}
    for curvature in (1.0, -1.0):
        observation, _ = env.reset(seed=0, options={"goal": goal})
        assert observation["goal"] == pytest.approx([0.0, 4.0], abs=1e-5)  # on the left
        for _ in range(10):
            observation, *_ = env.step([1.0, curvature])
        run = env.run()
        yaw[curvature] = run.yaw[-1]
        R = np.array([[np.cos(run.yaw[-1]), -np.sin(run.yaw[-1])], [np.sin(run.yaw[-1]), np.cos(run.yaw[-1])]])
        np.testing.assert_allclose(observation["goal"], R.T @ (goal - run.position[-1, :2]), rtol=0.0, atol=1e-5)
    assert yaw[1.0] > 2.05
    assert yaw[-1.0] < 1.95


def test_heights_run_from_behind_to_ahead_and_from_right_to_left():
    ground = gr.terrain.slope(8.0)
    env = RoughTerrainEnv("husky", ground, start=(0.5, 0.2, 0.6), goal=(3, 3), map_size=2.0, map_nodes=5)
    observation, _ = env.reset(seed=0)
    state = env._episode.state
    for i, ahead in enumerate(np.linspace(-1, 1, 5)):
        for k, left in enumerate(np.linspace(-1, 1, 5)):
            x = state[4] + ahead * np.cos(0.6) - left * np.sin(0.6)
            y = state[5] + ahead * np.sin(0.6) + left * np.cos(0.6)
            wanted = float(ground.height(x, y)) - state[6]
            assert observation["heights"][i, k] == pytest.approx(wanted, abs=1e-5)
    up = np.array([float(ground.height(1.0, 0.0)), float(ground.height(0.0, 1.0))])
    assert abs(up[0]) > 0.1 or abs(up[1]) > 0.1  # or the map could be turned unnoticed


@pytest.mark.parametrize("kind", ["kinematic", "dynamic"])
def test_an_episode_is_the_run_that_simulate_gives(kind):
    """Action by action or in one go: the same steps, with the velocity carried over."""
    vehicle = gr.vehicle("husky")
    ground = gr.terrain.parse(ROUGH)
    env = RoughTerrainEnv(vehicle, ground, model=kind, start=(0.3, 0.1, 0.5), goal=(50, 0), hold=4)
    env.reset(seed=0)
    action = np.array([0.5, 0.7, 0.5, 0.7])
    for _ in range(5):
        env.step(action)
    run = env.run()
    rate = action / vehicle.frames[vehicle.frame_index(vehicle.wheels[0])].radius
    rest = None if kind == "kinematic" else np.zeros(6 + vehicle.n_joints)
    whole = gr.simulate(
        env.model, ground, gr.drive.constant(rate), duration=0.8, start=(0.3, 0.1, 0.5), velocity=rest, every=4
    )
    np.testing.assert_allclose(run.time, whole.time, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(run.state, whole.state, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(run.velocity, whole.velocity, rtol=0.0, atol=2e-11)
    np.testing.assert_allclose(run.command, whole.command, rtol=0.0, atol=1e-12)
    assert run.steps == whole.steps == 20
    assert (run.contact.force is None) == (kind == "kinematic")


def test_the_run_of_an_episode_can_be_saved_and_has_the_path(tmp_path):
    env = RoughTerrainEnv("zoe", "flat", start=(0, 0, 0), goal=(9, 0))
    env.reset(seed=0)
    with pytest.raises(gr.GrouserError, match="no steps yet"):
        env.run()
    env.step(np.ones(4))
    env.run().save(tmp_path / "run.npz")
    assert gr.Run.load(tmp_path / "run.npz").distance == pytest.approx(0.2, abs=1e-6)


def test_leaving_the_map_and_tipping_over_end_badly_and_time_runs_out():
    x = np.linspace(-2, 2, 9)
    off = RoughTerrainEnv("husky", gr.terrain.grid(np.zeros((9, 9)), x, x), start=(0.6, 0, 0), goal=(-1, 0))
    off.reset(seed=0)
    for _ in range(20):
        _, reward, terminated, truncated, info = off.step(np.ones(4))
        if terminated:
            break
    assert (terminated, truncated, info["status"], info["is_success"]) == (True, False, "off_terrain", False)
    assert reward < -9.0

    model = gr.Kinematics(gr.vehicle("husky"), tip_angle=np.radians(5.0))
    tipped = RoughTerrainEnv(terrain=gr.terrain.slope(10.0), model=model, goal=(3, 0))
    tipped.reset(seed=0)
    _, reward, terminated, _, info = tipped.step(np.zeros(4))
    assert (terminated, info["status"]) == (True, "rolled_over")
    assert reward < -9.0

    late = RoughTerrainEnv("husky", "flat", goal=(9, 0), horizon=0.6)
    late.reset(seed=0)
    ends = [late.step(np.zeros(4))[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vehicle": "zoee"}, "zoee"),
        ({"model": "magic"}, "kinematic, dynamic"),
        ({"action": "wings"}, "joints, arc"),
        ({"terrain": 3}, "terrain"),
        ({"terrain": "swamp"}, "swamp"),
        ({"dt": 0.0}, "dt"),
        ({"hold": 0}, "hold"),
        ({"goal": (1, 2, 3)}, "goal"),
        ({"goal_range": (4.0, 2.0)}, "goal_range"),
        ({"map_nodes": 1}, "map_nodes"),
        ({"horizon": float("nan")}, "horizon"),
        ({"render_mode": "human"}, "render_mode"),
    ],
)
def test_a_wrong_argument_is_named(options, message):
    with pytest.raises(gr.GrouserError, match=message):
        RoughTerrainEnv(**options)


def test_wrong_actions_options_and_maps_without_room_are_named():
    env = RoughTerrainEnv("husky", "flat")
    with pytest.raises(gr.GrouserError, match="call reset"):
        env.step(np.ones(4))
    with pytest.raises(gr.GrouserError, match="wind is not known"):
        env.reset(options={"wind": 3})
    env.reset(seed=0)
    for action in (np.ones(3), [np.nan] * 4, "left"):
        with pytest.raises(gr.GrouserError, match="action"):
            env.step(action)
    x = np.linspace(-2, 2, 9)
    small = RoughTerrainEnv("husky", gr.terrain.grid(np.zeros((9, 9)), x, x))
    with pytest.raises(gr.GrouserError, match="no room for a goal"):
        small.reset(seed=0)


def test_without_the_library_one_sentence_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("grouser.gym")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(gr.GrouserError, match=r"pip install grouser\[gym\]"):
        importlib.import_module("grouser.gym")
