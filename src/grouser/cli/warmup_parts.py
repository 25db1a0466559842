"""What `grouser warmup` compiles, part by part: each uses all of its entries and laws once.

Python's compiler lock lets one thread compile at a time, so that only processes use all cores: `build` runs in them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

import grouser as gr

SHORT = 0.04
"""Seconds that runs last: one step."""


def grounds() -> None:
    """Every kind of ground, and second derivatives where it has them."""
    nodes, level = np.linspace(-9.0, 9.0, 19), np.zeros((19, 19))
    corners = np.array([[-9.0, -9.0, 0.0], [9.0, -9.0, 0.0], [9.0, 9.0, 0.0], [-9.0, 9.0, 0.0]])
    smooth = [
        gr.terrain.plane(),
        gr.terrain.grid(level, nodes, nodes, interpolation="bicubic"),
        gr.terrain.spline(level, nodes, nodes),
        gr.terrain.moved(gr.terrain.plane(), x=1.0),
    ]
    others = [
        gr.terrain.grid(level, nodes, nodes),
        gr.terrain.grid(level.astype(np.float32), nodes, nodes),
        gr.terrain.mesh(corners, [[0, 1, 2], [0, 2, 3]]),
        gr.terrain.ramp(height=0.5, deg=20.0),
        gr.terrain.stack(*smooth[:2]),
    ]
    for ground in [*smooth, *others]:
        ground.sample(0.0, 0.0)
        _ = ground.kernel  # asks for many points at once
    for ground in smooth:
        ground.second_derivatives([[0.0, 0.0]])
    gr.terrain.soils(smooth[0], gr.terrain.SoilRaster(classes=np.zeros((1, 1), dtype=np.uint8), cell=1.0), [None]).soil(
        0.0, 0.0
    )


def kinematics() -> None:
    """Settling, runs and rollouts, slip, contacts, velocities, frames, rollover, inverse kinematics."""
    zoe, flat = gr.vehicle("zoe"), gr.terrain.plane()
    model = gr.Kinematics(zoe, slip=gr.slip.BodySlip(np.zeros(6)))
    gr.simulate(model, flat, gr.drive.arc(1.0, 0.1), duration=SHORT).rollover_margin()
    gr.simulate(gr.Kinematics(zoe, slip=gr.slip.DriveFrameSlip(np.zeros(7))), flat, np.zeros((1, 4)), duration=SHORT)
    gr.simulate(
        gr.Kinematics(zoe, slip=gr.slip.SurfaceSlip(coefficients=np.zeros(13))), flat, np.zeros((1, 4)), duration=SHORT
    )
    gr.rollout(model, flat, np.zeros((2, 1, 4)))
    gr.simulate(model, flat, lambda time, state, velocity, contact: np.zeros(4), duration=SHORT)
    state = gr.settle(zoe, flat).state
    gr.collision.contacts(zoe, state, flat)
    gr.kinematics.frame_poses(zoe, state)
    gr.kinematics.frame_jacobian(zoe, state, "FL")
    model.velocity(state, np.zeros(4), flat)
    model.velocity(state, np.zeros(4), angles=np.zeros(4))
    model.estimate(state, np.zeros(zoe.n_joints), flat)
    inverse = gr.kinematics.InverseKinematics(gr.vehicle("husky"))
    inverse.wheel_rates(np.zeros(3), inverse.solve(0.5).steering)


def contacts() -> None:
    """Contact models: piecewise linear, Pacejka, soil, tables."""
    models = (gr.contact.PiecewiseLinear(), gr.contact.Pacejka(), gr.contact.Ishigami())
    wheel = {"radius": 0.3, "width": 0.1, "load": 100.0}
    for model in models:
        model.jacobian([0.1, 0.0, 0.0], 1.0, -0.01, **wheel)
        model.torque([0.1, 0.0, 0.0], 1.0, -0.01, **wheel)
    gr.contact.Table(models[-1], radius=0.3, width=0.1).force([0.1, 0.0, 0.0], 1.0, -0.01, **wheel)


def dynamics() -> None:
    """Runs and rollouts with forces, actuators, joint models, single steps."""
    zoe, flat = gr.vehicle("zoe"), gr.terrain.plane()
    joint = zoe.joints[0]
    models = [
        gr.Dynamics(zoe),
        gr.Dynamics(zoe, actuator=gr.actuation.PI(gain=2000.0)),
        gr.Dynamics(zoe, actuator=gr.actuation.DCMotor(stall_torque=100.0, no_load_speed=10.0)),
        gr.Dynamics(zoe, actuator=gr.actuation.SharedDrive(groups=[], gain=2000.0)),
        gr.Dynamics(zoe, joints=(gr.joints.Stops(joints=joint, lower=-0.5, upper=0.5, stiffness=1e3),)),
        gr.Dynamics(zoe, joints=(gr.joints.Spring(joints=joint, stiffness=1.0),)),
    ]
    for dynamic in models:
        gr.simulate(dynamic, flat, gr.drive.arc(1.0), duration=SHORT)
    gr.rollout(models[0], flat, np.zeros((2, 1, 4)))
    state, velocity = gr.settle(zoe, flat, penetration=models[0].penetration).state, np.zeros(6 + zoe.n_joints)
    models[0].inertia_and_bias(state, velocity)
    models[0].step(state, velocity, np.zeros(4), flat, dt=SHORT)


def planning() -> None:
    """Planned rollouts with costs, eight at a time, one by one (RecBot has springs) and dynamic; a command; a route."""
    zoe, nodes = gr.vehicle("zoe"), np.linspace(-9.0, 9.0, 19)
    ground, cost = gr.terrain.grid(np.zeros((19, 19)), nodes, nodes), gr.plan.Cost(gr.plan.Goal(1.0, 0.0))
    for model in (gr.Kinematics(zoe), gr.Kinematics(gr.vehicle("recbot")), gr.Dynamics(zoe)):
        gr.plan.roll_out(model, ground, np.zeros((2, 1, 3)), cost=cost)
    gr.plan.MPPI(gr.Kinematics(zoe), ground, cost).issue(np.zeros(3))
    gr.plan.route(gr.Kinematics(zoe), ground, (-3.0, 0.0), (3.0, 0.0), alternatives=False)


def logs() -> None:
    """CSV files."""
    from grouser.logs.report import Tally
    from grouser.logs.table import RowReader

    RowReader({0: 0}, ["a", "b"], ",", Tally("warmup")).compiled(0, b"1,2\n3,4")


def calibration() -> None:
    """Predictions along logs, and a powertrain."""
    t = np.arange(0.0, 12.0, 0.1)
    motion = gr.MotionModel(model=gr.Kinematics(gr.vehicle("husky"), slip=gr.slip.BodySlip(np.zeros(6))))
    log = gr.calibration.log_of_motion(motion, t, dict.fromkeys(motion.vehicle.rolling_wheels, 1.0 + 0.0 * t))
    gr.evaluate(motion, log, interval=1.0)
    gr.calibrate(motion, log, interval=0.4, online=True)  # long enough for a test of changes to run
    gr.motion.correction.features(np.ones((1, 4)))
    surface = gr.MotionModel(model=gr.motion.Perturbative(vehicle=gr.vehicle("husky")))
    gr.simulate(surface, gr.terrain.plane(), np.zeros((1, 4)), duration=SHORT, samples=0)
    gr.motion.LogProblem(log, motion, gr.calibration.cut_log(log, motion, interval=1.0)).poses([motion])
    gr.motion.Powertrain(delay=0.1).rates(t, np.ones((len(t), 1)))


def odometry() -> None:
    """Odometry and contact angles."""
    zoe = gr.vehicle("zoe")
    still = np.zeros(zoe.n_joints)
    odometry = gr.Odometry(gr.Kinematics(zoe, slip=gr.slip.BodySlip(np.zeros(6))))
    odometry.update(0.0, still, still, (0.0, 0.0), (0.0, 0.0, 0.0))
    gr.odometry.ContactAngleEstimator(zoe).update(0.0, still, still, (0.0, 0.0))


def fusion() -> None:
    """Fusion of wheels, IMU and poses."""
    gr.fusion.Fusion()


def robot() -> None:
    """The chain on board, with its monitor."""
    gr.Robot("lru2")


def rolling() -> None:
    """Pure rolling of wheels and vehicles."""
    upright, wheel = (np.pi, 0.0, 0.0, 0.0, np.pi), gr.rolling.Torus(0.5, 0.15)
    gr.rolling.roll_wheel(wheel, gr.terrain.plane(), (0.0, 1.0, 0.0), start=upright, duration=0.01)
    gr.rolling.measure(
        gr.rolling.roll(gr.vehicle("pvc"), gr.terrain.plane(), rates={"alpha1": 1.0}, duration=0.05)
    ).summary()


def gym() -> None:
    """What a Gymnasium environment observes; nothing where Gymnasium is missing."""
    with suppress(gr.GrouserError):
        gr.gym.RoughTerrainEnv("zoe", gr.terrain.plane()).reset(seed=0)


FAMILIES: tuple[tuple[Callable[[], None], ...], ...] = (
    (dynamics, planning, kinematics, odometry, calibration, gym),
    (fusion, robot, rolling, contacts, grounds, logs),
)
"""Parts of one family share kernels, which one process compiles once; what takes longest stands first."""
PARTS: dict[str, Callable[[], None]] = {part.__name__: part for family in FAMILIES for part in family}
"""All parts by name."""


_before: dict[str, float] = dict.fromkeys(("compiled", "loaded", "cpu_seconds"), 0)
"""What this process did before the part that it compiles now; imports count for the first."""


def build(manifest: Mapping[str, Any], index: int, threads: int) -> bytes:
    """Compile or load one of `manifest["parts"]`: JSON of what that took, and where code is kept."""
    import numba

    from grouser._compile import store, watch

    watch.watchers.clear()  # the parent shows progress
    part = manifest["parts"][index]
    if numba.config.DISABLE_JIT:
        store.Counts.not_kept = "NUMBA_DISABLE_JIT is set, so nothing is compiled"
    else:
        PARTS[part]()
    counts = {"cpu_seconds": time.process_time(), "compiled": store.Counts.compiled, "loaded": store.Counts.loaded}
    spent = {key: count - _before[key] for key, count in counts.items()}
    _before.update(counts)
    why_not = store.why_not_shipped()
    found = {
        "name": part, **spent, "cache": str(store.folder()),
        "not_kept": store.Counts.not_kept or None, "refused": store.Counts.refused or None,
        "shipped": {"used": not why_not, "why_not": why_not or None, "target": store.generic_target() or None},
    }  # fmt: skip
    return json.dumps(found).encode()
