"""`grouser warmup`: compile the engine ahead of its first use."""

from __future__ import annotations

import time
from collections.abc import Callable

import typer

from grouser.cli import console


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("warmup", epilog="Example: grouser warmup")(warmup)


def warmup(as_json: console.Json = False) -> None:
    """Compile all kernels now, so that nothing waits later.

    Once per machine and version is enough.
    """
    from grouser._kernels.store import folder

    began = time.monotonic()
    parts = _parts()
    for i, (name, build) in enumerate(parts):
        console.remark(f"{i + 1} of {len(parts)}: {name}")
        build()
    seconds = time.monotonic() - began
    if as_json:
        console.print_json({"seconds": round(seconds, 2), "cache": str(folder())})
    else:
        typer.echo(f"ready after {seconds:.1f} s; compiled kernels are kept in {folder()}")


def _parts() -> list[tuple[str, Callable[[], object]]]:
    """What is compiled, by using it once."""
    import numpy as np

    import grouser as gr
    from grouser.kinematics import frame_jacobian, frame_poses

    zoe = gr.vehicle("zoe")
    model = gr.Kinematics(zoe)
    flat = gr.terrain.plane()
    corners = np.array([[-9.0, -9.0, 0.0], [9.0, -9.0, 0.0], [9.0, 9.0, 0.0], [-9.0, 9.0, 0.0]])
    nodes = np.linspace(-9.0, 9.0, 19)
    level = np.zeros((19, 19))

    def grounds() -> None:
        surfaces = [
            gr.terrain.grid(level, nodes, nodes),
            gr.terrain.grid(level, nodes, nodes, interpolation="bicubic"),
            gr.terrain.mesh(corners, [[0, 1, 2], [0, 2, 3]]),
            gr.terrain.ramp(height=0.5, deg=20.0),
        ]
        for surface in [*surfaces, gr.terrain.spline(level, nodes, nodes), gr.terrain.stack(flat, surfaces[0])]:
            surface.sample(0.0, 0.0)

    def drive_and_slip() -> None:
        slipping = model.replace(slip=gr.slip.BodySlip(np.zeros(6)))
        run = gr.simulate(slipping, flat, gr.drive.arc(1.0, 0.1), duration=0.04)
        run.rollover_margin()
        gr.rollout(model, flat, np.zeros((2, 1, 4)))

    def dynamics() -> None:
        contacts = (gr.contact.PiecewiseLinear(), gr.contact.Pacejka(), gr.contact.Ishigami())
        for contact in contacts:
            dynamic = gr.Dynamics(zoe, contact=contact, actuator=gr.actuation.PI(gain=2000.0))
            gr.simulate(dynamic, flat, gr.drive.arc(1.0), duration=0.04)
        gr.contact.Table(contacts[-1], radius=0.3, width=0.1)
        dynamic = gr.Dynamics(zoe)
        gr.rollout(dynamic, flat, np.zeros((2, 1, 4)))
        state, velocity = gr.settle(zoe, flat, penetration=dynamic.penetration).state, np.zeros(6 + zoe.n_joints)
        dynamic.inertia_and_bias(state, velocity)
        dynamic.step(state, velocity, np.zeros(4), flat, dt=0.04)

    def probes() -> None:
        state = gr.settle(zoe, flat).state
        frame_poses(zoe, state)
        frame_jacobian(zoe, state, "FL")
        model.velocity(state, np.zeros(4), flat)
        model.velocity(state, np.zeros(4), angles=np.zeros(4))
        model.estimate(state, np.zeros(zoe.n_joints), flat)

    def calibration() -> None:
        t = np.arange(0.0, 4.0, 0.1)
        motion = gr.MotionModel(model=gr.Kinematics(gr.vehicle("husky")))
        wheels = dict.fromkeys(motion.vehicle.wheels, 1.0 + 0.0 * t)
        log = gr.calibration.log_of_motion(motion, t, wheels)
        gr.evaluate(motion, log, interval=1.0)
        gr.odometry.odometry_of(motion, log)

    def odometry() -> None:
        told = gr.Odometry(gr.Kinematics(zoe, slip=gr.slip.BodySlip(np.zeros(6))))
        told.update(0.0, np.zeros(zoe.n_joints), np.zeros(zoe.n_joints), (0.0, 0.0), (0.0, 0.0, 0.0))

    def rolling() -> None:
        upright, wheel = (np.pi, 0.0, 0.0, 0.0, np.pi), gr.rolling.Torus(0.5, 0.15)
        gr.rolling.roll_wheel(wheel, flat, (0.0, 1.0, 0.0), start=upright, duration=0.01)
        gr.rolling.roll(gr.vehicle("pvc"), flat, rates={"alpha1": 1.0}, duration=0.01)

    return [
        ("grounds", grounds),
        ("settling", lambda: gr.settle(zoe, flat)),
        ("rollouts, drives and slip", drive_and_slip),
        ("forces: contacts, actuators and dynamics", dynamics),
        ("contacts, velocities and frames", probes),
        ("predictions and odometry of logs", calibration),
        ("odometry", odometry),
        ("fusion", gr.odometry.Fusion),
        ("rolling", rolling),
    ]
