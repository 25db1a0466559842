"""A vehicle of your own: a four-wheel skid-steer with a passive front rocker, built in Python and saved as TOML."""

from pathlib import Path

import grouser as gr
from grouser.vehicles import Frame, Vehicle, box_inertia, wheel_inertia, write_toml

out = Path("out/own_vehicle")
out.mkdir(parents=True, exist_ok=True)


def wheel(name: str, parent: str, x: float, y: float) -> Frame:
    """A driven wheel: radius 0.15 m, width 0.08 m, 2 kg."""
    return Frame(
        name, parent, "RY", actuated=True, xyz=(x, y, 0.0), radius=0.15, width=0.08,
        mass=2.0, inertia=wheel_inertia(2.0, 0.15, 0.08),
    )  # fmt: skip


scout = Vehicle(
    name="scout",
    frames=(
        Frame("body", mass=30.0, com=(0.0, 0.0, 0.05), inertia=box_inertia(30.0, 0.8, 0.5, 0.2)),
        Frame("rocker", "body", "RX", xyz=(0.3, 0.0, 0.0)),     # the front axle rolls freely
        wheel("front_left", "rocker", 0.0, 0.3),
        wheel("front_right", "rocker", 0.0, -0.3),
        wheel("rear_left", "body", -0.3, 0.3),
        wheel("rear_right", "body", -0.3, -0.3),
    ),
    description="Four-wheel skid-steer with a rolling front axle",
)  # fmt: skip
print(scout.summary())
write_toml(scout, out / "scout.toml")  # edit it, then: grouser check scout.toml

ground = gr.terrain.rough(rms=0.05, length=0.5, seed=2)
run = gr.simulate(gr.Kinematics(scout), ground, gr.drive.arc(0.5, 0.4), duration=8.0)
print(run, "rocker up to", abs(run.joint("rocker")).max(), "rad")
run.plot(out / "scout.png")
