"""A planner's fan: 500 constant wheel commands rolled out at once, drawn by how each ended."""

import time
from pathlib import Path

import numpy as np

import grouser as gr
from grouser.view import plot_rollouts

out = Path("out/fan")
out.mkdir(parents=True, exist_ok=True)

husky = gr.vehicle("husky")
ground = gr.terrain.rough(rms=0.1, length=1.0, seed=1, size=9.0)
side = np.sign(husky.wheel_positions[:, 1])

random = np.random.default_rng(0)
ahead, turn = random.uniform(1.0, 4.0, 500), random.uniform(-1.5, 1.5, 500)
rates = ahead[:, None] - turn[:, None] * side  # (N, n_act) [rad/s]
commands = np.repeat(rates[:, None, :], 200, axis=1)  # (N, T, n_act): held for 200 steps

began = time.perf_counter()
fan = gr.rollout(gr.Kinematics(husky), ground, commands, dt=0.04, every=4)
print(f"{fan}, {time.perf_counter() - began:.2f} s")
best = np.argmax(np.where(fan.ok, fan.final_position[:, 0], -np.inf))
print(f"farthest ahead: {fan.final_position[best, 0]:.2f} m with wheel rates {rates[best].round(2)}")
plot_rollouts(fan, ground, out / "fan.png")
