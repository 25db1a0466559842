"""A controller in the loop: a skid-steered Husky holds its course over rough ground."""

from pathlib import Path

import numpy as np

import grouser as gr

out = Path("out/closed_loop")
out.mkdir(parents=True, exist_ok=True)

husky = gr.vehicle("husky")
model = gr.Kinematics(husky)
ground = gr.terrain.rough(rms=0.08, length=0.6, seed=4)
side = np.sign(husky.wheel_positions[:, 1])  # +1 for left wheels, −1 for right


def hold_the_line(time: float, state: np.ndarray) -> np.ndarray:
    """Wheel rates that steer back to y = 0: state is [quaternion w x y z, position x y z, joints]."""
    w, x, y, z = state[:4]
    yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    turn = -1.0 * state[5] - 1.5 * yaw
    return 4.0 - 3.0 * np.clip(turn, -1.0, 1.0) * side


for name, drive in (("open loop", gr.drive.constant(4.0)), ("closed loop", hold_the_line)):
    run = gr.simulate(model, ground, drive, duration=12.0)
    print(f"{name}: ended {run.position[-1, 1]:+.3f} m off the line after {run.distance:.2f} m")
    run.plot(out / f"{name.replace(' ', '_')}.png")

rover = gr.Simulation(model, ground)  # the same from a loop of one's own
while rover.steps < run.steps and rover.step(hold_the_line(rover.time, rover.state)).status is gr.Status.OK:
    pass  # read sensors, send messages, draw
print(f"stepped: {rover}, {'the same to the bit' if np.array_equal(rover.state, run.state[-1]) else 'another path'}")
