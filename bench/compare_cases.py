"""What `compare.py` times, through the public API only, so that two versions of Grouser can run it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import numpy as np

DT = 0.04
STEPS = 2000
"""Steps of a simulated run, about 5 to 15 ms."""
ROLLOUTS, SECONDS = 1000, 10.0
CALLS = 100
"""Calls of what is called step by step from Python, in one timing."""
ROUGH: dict[str, Any] = {"rms": 0.15, "length": 0.8, "seed": 1}
"""Ground for Zoë and LandTamer [m]."""
FINE: dict[str, Any] = {"rms": 0.05, "length": 0.2, "seed": 1}
"""Ground for Rocky 7, which is smaller [m]."""


class Timed(NamedTuple):
    """A case made ready in one version."""

    run: Callable[[], int]
    """Does it once; returns how many units that were."""
    begin: Callable[[], None] = lambda: None
    """What comes before each run, untimed."""


class Case(NamedTuple):
    """A case and how it is timed."""

    make: Callable[[], Timed]
    unit: str = "step"
    """What the time is given per."""
    threads: int = 1
    """On one thread CPU time counts, on several wall time."""
    repeats: int = 3
    """Runs in one timing; the least time counts."""
    every: int = 1
    """Takes part in every so many rounds."""


def _simulated(vehicle: str, ground: dict[str, Any], speed: float, curvature: float, law: str, every: int) -> Timed:
    """A drive in circles on rough ground, from rest on the ground."""
    import grouser as gr

    model = _model(vehicle, law)
    terrain, drive = gr.terrain.rough(**ground), gr.drive.arc(speed, curvature)
    start = gr.settle(model.vehicle, terrain, penetration=model.penetration).state

    def run() -> int:
        done = gr.simulate(model, terrain, drive, duration=STEPS * DT, dt=DT, start=start, every=every)
        if done.steps != STEPS:
            raise RuntimeError(f"the run ended after {done.steps} of {STEPS} steps: {done.status}")
        return STEPS

    return Timed(run)


def _model(vehicle: str, law: str) -> Any:
    import grouser as gr

    rover = gr.vehicle(vehicle)
    if law == "kinematic":
        return gr.Kinematics(rover)
    if law == "terramechanics":
        wheel: Any = next(frame for frame in rover.frames if frame.is_wheel)  # Zoë's are alike
        soil = gr.contact.Table(gr.contact.Ishigami(), radius=wheel.radius, width=wheel.width, speed=1.0)
        return gr.Dynamics(rover, contact=soil)
    plain = {"piecewise-linear": gr.contact.PiecewiseLinear, "pacejka": gr.contact.Pacejka}
    return gr.Dynamics(rover, contact=plain[law]())


def _simulate(
    vehicle: str = "zoe",
    law: str = "kinematic",
    *,
    ground: dict[str, Any] = ROUGH,
    speed: float = 1.0,
    curvature: float = 0.2,
    every: int = STEPS,
) -> Case:
    return Case(lambda: _simulated(vehicle, ground, speed, curvature, law, every))


def _rolled_out(law: str, threads: int) -> Timed:
    """Zoë from 20 places, each rollout with its own steering of the front wheels."""
    import grouser as gr

    model, terrain = _model("zoe", law), gr.terrain.rough(**ROUGH)
    rng = np.random.default_rng(1)
    starts = [
        gr.settle(model.vehicle, terrain, x=x, y=y, yaw=yaw, penetration=model.penetration).state
        for x, y, yaw in rng.uniform((-3.0, -3.0, -3.1), (3.0, 3.0, 3.1), (20, 3)).tolist()
    ]
    start = np.array(starts)[np.arange(ROLLOUTS) % len(starts)]
    radius = next(frame.radius for frame in model.vehicle.frames if frame.is_wheel)
    turn = rng.uniform(-0.1, 0.1, (ROLLOUTS, 1, 1)) * np.array([-1.0, 1.0, 0.0, 0.0])
    commands = np.repeat((1.0 + turn) / radius, round(SECONDS / DT), axis=1)

    def run() -> int:
        return int(gr.rollout(model, terrain, commands, start=start, dt=DT, threads=threads, outcome=False).steps.sum())

    return Timed(run)


def _rollout(law: str, threads: int) -> Case:
    return Case(lambda: _rolled_out(law, threads), threads=threads, repeats=1, every=3)


def _settled() -> Timed:
    import grouser as gr

    rover, terrain = gr.vehicle("zoe"), gr.terrain.rough(**ROUGH)
    places = np.random.default_rng(0).uniform((-3.0, -3.0, -3.1), (3.0, 3.0, 3.1), (CALLS, 3)).tolist()

    def run() -> int:
        for x, y, yaw in places:
            gr.settle(rover, terrain, x=x, y=y, yaw=yaw)
        return len(places)

    return Timed(run)


def _stepped() -> Timed:
    """`Dynamics.step` at states of a drive."""
    import grouser as gr

    model, terrain = _model("zoe", "piecewise-linear"), gr.terrain.rough(**ROUGH)
    drive = gr.simulate(model, terrain, gr.drive.arc(1.0, 0.2), duration=CALLS * DT, dt=DT)
    rows = list(zip(drive.state[:CALLS], drive.velocity[:CALLS], drive.command[:CALLS], strict=True))

    def run() -> int:
        for state, velocity, command in rows:
            model.step(state, velocity, command, terrain, dt=DT)
        return len(rows)

    return Timed(run)


def _kinematic_step() -> Timed:
    """`Kinematics.step` at states of a drive; an older version has none."""
    import grouser as gr

    model, terrain = _model("zoe", "kinematic"), gr.terrain.rough(**ROUGH)
    drive = gr.simulate(model, terrain, gr.drive.arc(1.0, 0.2), duration=CALLS * DT, dt=DT)
    rows = list(zip(drive.state[:CALLS], drive.command[:CALLS], strict=True))

    def run() -> int:
        for state, command in rows:
            model.step(state, command, terrain, dt=DT)
        return len(rows)

    return Timed(run)


def _steps_of(law: str) -> Timed:
    """`Simulation.step` along a drive; an older version has none."""
    import grouser as gr

    model, terrain = _model("zoe", law), gr.terrain.rough(**ROUGH)
    commands = list(gr.simulate(model, terrain, gr.drive.arc(1.0, 0.2), duration=CALLS * DT, dt=DT).command[:CALLS])
    rover = gr.Simulation(model, terrain, dt=DT)

    def run() -> int:
        for command in commands:
            rover.step(command)
        return len(commands)

    return Timed(run, rover.reset)


def _short(law: str) -> Timed:
    """A run of one step: what `simulate` costs beside its steps."""
    import grouser as gr

    model, terrain, drive = _model("zoe", law), gr.terrain.rough(**ROUGH), gr.drive.arc(1.0, 0.2)
    start = gr.settle(model.vehicle, terrain, penetration=model.penetration).state

    def run() -> int:
        for _ in range(CALLS):
            gr.simulate(model, terrain, drive, duration=DT, dt=DT, start=start)
        return CALLS

    return Timed(run)


def _asked(name: str) -> Timed:
    """Single questions to a model or vehicle."""
    import grouser as gr

    model, terrain = _model("zoe", "kinematic"), gr.terrain.rough(**ROUGH)
    rover = model.vehicle
    state, command, rates = gr.settle(rover, terrain).state, np.full(4, 3.0), np.full(rover.n_joints, 0.1)
    ask = {
        "velocity": lambda: model.velocity(state, command, terrain),
        "estimate": lambda: model.estimate(state, rates, terrain),
        "frame_poses": lambda: gr.kinematics.frame_poses(rover, state),
        "contacts": lambda: gr.collision.contacts(rover, state, terrain),
    }[name]

    def run() -> int:
        for _ in range(CALLS):
            ask()
        return CALLS

    return Timed(run)


def _updated() -> Timed:
    """`Odometry.update` of the LRU that weaves on a slope, with slip, process noise and encoder noise."""
    import grouser as gr

    lru = gr.vehicle("lru1")
    slip = gr.slip.BodySlip([-0.7457, -0.1093, -0.0303, -0.0187, -0.0062, -0.0627])
    motion = gr.MotionModel(model=gr.Kinematics(lru, slip=slip), noise=gr.Noise())
    odometry = gr.Odometry(motion, noise=gr.odometry.EncoderNoise.lru())
    phase = np.linspace(0.0, 2.0 * np.pi, 200)
    rates, angles = np.zeros((200, lru.n_joints)), np.zeros((200, lru.n_joints))
    for wheel in lru.wheels:
        rates[:, lru.joint_index(wheel)] = 4.0 + np.sin(phase)
    attitude = [(float(0.1 * np.cos(p)), float(0.1 * np.sin(p))) for p in phase]
    samples = count()

    def run() -> int:
        for _ in range(4 * CALLS):
            i = next(samples)
            odometry.update(0.01 * i, rates[i % 200], angles[i % 200], attitude[i % 200])
        return 4 * CALLS

    return Timed(run)


def _gym() -> Timed:
    """Steps of an episode that does not end; each holds an action for five steps of the model."""
    import grouser as gr

    terrain = gr.terrain.rough(**ROUGH)
    env = gr.gym.RoughTerrainEnv("zoe", terrain, action="arc", start=(0.0, 0.0, 0.0), goal=(15.0, 15.0), horizon=1e4)
    action = np.array([1.0, 0.5], np.float32)

    def begin() -> None:
        env.reset(seed=0)

    def run() -> int:
        for _ in range(CALLS):
            env.step(action)
        return CALLS

    return Timed(run, begin)


CASES = {
    "simulate zoe, kinematic": _simulate(),
    "simulate rocky7, kinematic": _simulate("rocky7", ground=FINE, speed=0.5, curvature=0.4),
    "simulate landtamer, kinematic": _simulate("landtamer", curvature=0.6),
    "simulate zoe, piecewise-linear": _simulate(law="piecewise-linear"),
    "simulate zoe, pacejka": _simulate(law="pacejka"),
    "simulate zoe, terramechanics table": _simulate(law="terramechanics"),
    "simulate zoe, kinematic, all recorded": _simulate(every=1),
    "simulate zoe, piecewise-linear, all recorded": _simulate(law="piecewise-linear", every=1),
    "rollout 1000 zoe, kinematic, 1 thread": _rollout("kinematic", 1),
    "rollout 1000 zoe, kinematic, 2 threads": _rollout("kinematic", 2),
    "rollout 1000 zoe, piecewise-linear, 1 thread": _rollout("piecewise-linear", 1),
    "rollout 1000 zoe, piecewise-linear, 2 threads": _rollout("piecewise-linear", 2),
    "settle": Case(_settled, unit="call"),
    "Odometry.update": Case(_updated, unit="call"),
    "Dynamics.step": Case(_stepped, unit="call"),
    "Kinematics.step": Case(_kinematic_step, unit="call"),
    "Simulation.step, kinematic": Case(lambda: _steps_of("kinematic"), unit="call"),
    "Simulation.step, piecewise-linear": Case(lambda: _steps_of("piecewise-linear"), unit="call"),
    "Kinematics.velocity": Case(lambda: _asked("velocity"), unit="call"),
    "Kinematics.estimate": Case(lambda: _asked("estimate"), unit="call"),
    "frame_poses": Case(lambda: _asked("frame_poses"), unit="call"),
    "contacts": Case(lambda: _asked("contacts"), unit="call"),
    "simulate of one step, kinematic": Case(lambda: _short("kinematic"), unit="call"),
    "simulate of one step, piecewise-linear": Case(lambda: _short("piecewise-linear"), unit="call"),
    "gymnasium step": Case(_gym, unit="call"),
}
"""By name, in the order of a round."""
