"""Soils by place: a Husky brakes on gravel with its left wheels on ice, and turns towards the gravel."""

from pathlib import Path

import numpy as np

import grouser as gr

out = Path("out/gravel_to_ice")
out.mkdir(parents=True, exist_ok=True)

GRAVEL, ICE = 0, 1
ice = [(4.0, 0.0), (20.0, 0.0), (20.0, 4.0), (4.0, 4.0), (4.0, 0.0)]  # corners [m], the last repeats the first
where = gr.terrain.polygons([(ICE, ice)], cell=0.05, background=GRAVEL)
laws = [gr.contact.PiecewiseLinear(friction=0.8, cone=True), gr.contact.PiecewiseLinear(friction=0.1, cone=True)]
ground = gr.terrain.soils(gr.terrain.plane(), where, laws, names=["gravel", "ice"])
ground.save(out / "ground.npz")  # grouser simulate husky --model dynamic --terrain ground.npz

husky = gr.vehicle("husky")
model = gr.Dynamics(husky)
commands = np.full((300, 4), 2.5 / 0.165)  # 2.5 m/s over the wheel radius
commands[200:] = 0.0  # wheels lock 5 m from the start
run = gr.simulate(model, ground, commands, duration=8.0, dt=0.01, start=(0.0, 0.0, 0.0))
on_ice = ground.soil(run.contact.point[..., 0], run.contact.point[..., 1]) == ICE
print(run)
print("seconds on ice:", dict(zip(husky.wheels, (0.01 * on_ice.sum(axis=0)).round(2).tolist(), strict=True)))
print(f"stops after {run.position[-1, 0]:.2f} m, turned by {np.degrees(run.yaw[-1]):.0f}°")
run.plot(out / "gravel_to_ice.png")
