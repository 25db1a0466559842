"""What an environment prepares once is its own: copies go on alike, and the eyes see what NumPy would."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest

import grouser as gr
from grouser import rotation

pytest.importorskip("gymnasium", reason="gymnasium is not installed; it is in the extra [gym]")

from grouser.gym import RoughTerrainEnv

ROUGH = "rough:rms=.05,length=.8,seed=3,size=14"
SLIP = gr.slip.BodySlip([-0.2, -0.03, -0.3, 0.01, 0.0, -0.4])
CASES = {
    "kinematic": {"model": gr.Kinematics(gr.vehicle("zoe"), slip=SLIP), "terrain": ROUGH, "action": "arc"},
    "dynamic": {"vehicle": "husky", "model": "dynamic", "terrain": ROUGH},
}


@pytest.mark.parametrize("name", CASES)
def test_a_copied_environment_goes_on_alike_after_its_original_is_gone(name):
    env = RoughTerrainEnv(**CASES[name])
    env.reset(seed=2)
    env.action_space.seed(2)
    actions = [env.action_space.sample() for _ in range(6)]
    for action in actions[:3]:
        env.step(action)
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    wanted = [env.step(action) for action in actions[3:]]
    run = env.run()
    del env
    gc.collect()
    np.full(100_000, np.nan)  # what was freed is likely overwritten
    for other in copies:
        for action, (observation, reward, *ends) in zip(actions[3:], wanted, strict=True):
            found, found_reward, *found_ends = other.step(action)
            for key, values in observation.items():
                np.testing.assert_array_equal(found[key], values)
            assert (found_reward, found_ends) == (reward, ends)
        np.testing.assert_array_equal(other.run().state, run.state)


@pytest.mark.parametrize("action", ["joints", "arc"])
def test_what_is_seen_is_what_numpy_makes_of_the_state(action):
    x = np.linspace(-2.5, 2.5, 41)
    rng = np.random.default_rng(4)
    ground = gr.terrain.grid(0.02 * rng.normal(size=(41, 41)).cumsum(axis=0), x, x)
    env = RoughTerrainEnv("rocky7", ground, action=action, start=(0.4, 0.3, 2.5), goal=(150.0, -1.0), map_nodes=9)
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(4):
        observation, _, over, _, info = env.step(env.action_space.sample())
        assert not over
        q, v = env._episode.state, env._episode.velocity
        roll, pitch, yaw = rotation.to_rpy(rotation.from_quaternion(q[:4]))
        np.testing.assert_allclose(observation["attitude"], [roll, pitch], rtol=1e-6, atol=1e-12)
        R = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
        to_goal = R @ (np.array([150.0, -1.0]) - q[4:6])
        np.testing.assert_allclose(observation["goal"], np.clip(to_goal, -100, 100), rtol=1e-6)
        assert np.abs(observation["goal"]).max() == 100.0  # farther than what can be shown
        np.testing.assert_allclose(observation["velocity"], v, rtol=1e-6, atol=1e-12)
        wheels = {int(w) - 1 for w in env.vehicle.arrays.wheel}
        np.testing.assert_allclose(
            observation["joints"], [q[7 + j] for j in range(env.vehicle.n_joints) if j not in wheels], rtol=1e-6
        )
        ahead, left = np.meshgrid(np.linspace(-2, 2, 9), np.linspace(-2, 2, 9), indexing="ij")
        there = np.tensordot(R.T, np.array([ahead, left]), axes=1) + q[4:6, None, None]
        sample = ground.sample(*there)
        assert not sample.inside.all()
        wanted = np.where(sample.inside, sample.height - q[6], -10.0)
        np.testing.assert_allclose(observation["heights"], wanted, rtol=1e-5, atol=1e-7)
        assert info["distance"] == pytest.approx(np.hypot(*to_goal), rel=1e-12)
