"""Grounds of your own: a formula, a grid of heights, and a ramp laid on top of it."""

import math
from pathlib import Path

import numpy as np

import grouser as gr

out = Path("out/own_terrain")
out.mkdir(parents=True, exist_ok=True)


@gr.terrain.law
def waves(x: float, y: float) -> float:
    """Long waves across the way; compiled, so as fast as the built-in grounds."""
    return 0.1 * math.sin(1.5 * x) * math.cos(0.8 * y)


x = y = np.linspace(-8.0, 12.0, 201)
heights = 0.05 * np.sin(3.0 * x)[:, None] * np.cos(2.0 * y)[None, :]
field = gr.terrain.grid(heights, x, y, interpolation="bicubic")
course = gr.terrain.stack(field, gr.terrain.ramp(height=0.4, deg=12.0, x=2.0, width=3.0))  # the highest wins
course.save(out / "course.npz")  # grouser simulate zoe --terrain course.npz

model = gr.Kinematics(gr.vehicle("warthog"))
for name, ground in (("waves", waves), ("course", course)):
    run = gr.simulate(model, ground, gr.drive.arc(1.0), duration=6.0)
    print(name, run, f"largest pitch {np.degrees(abs(run.pitch)).max():.1f}°")
    run.plot(out / f"{name}.png")
