"""Dynamics, rolling and fusion compiled, against the same functions as plain Python, where every index is checked."""

import os
import subprocess
import sys

import numpy as np

SCRIPT = """
import sys
import numpy as np
import grouser as gr

ground = gr.terrain.rough(rms=0.04, length=0.5, seed=2, size=6.0, interpolation="spline")
arrays = []
contacts = (gr.contact.PiecewiseLinear(cone=True), gr.contact.Pacejka(), gr.contact.Ishigami())
for name, contact in zip(("zoe", "rocky7", "husky"), contacts, strict=True):
    vehicle = gr.vehicle(name)
    motor = gr.actuation.PI(gain=200.0, integral=50.0, limit=80.0)
    model = gr.Dynamics(vehicle, contact=contact, actuator=motor, tolerance=1e-9 * vehicle.mass * 9.81)
    run = gr.simulate(model, ground, gr.drive.arc(0.5, 0.2), duration=0.16, dt=0.04)
    assert run.status == "ok", run.status
    arrays += [run.state, run.velocity, run.contact.force / vehicle.mass, run.torque / vehicle.mass]

hills = gr.terrain.rough(rms=0.1, length=3.0, seed=3, size=20.0, interpolation="spline")
model = gr.rolling.RollingModel(gr.vehicle("pvc"), hills)
start = model.start(x=0.0, y=0.0, yaw=0.2)
run = gr.rolling.roll(model, rates={"alpha1": 1.0, "alpha2": 1.0, "alpha3": 1.0}, duration=0.05, start=start)
arrays += [run.state, run.rolling.coordinates]

rng = np.random.default_rng(1)
fusion = gr.fusion.Fusion(gr.fusion.FusionSettings(align=0.1, imu_position=(0.1, 0.0, 0.2)))
for k in range(40):
    t = 0.01 * k
    moving = min(max(k - 15, 0), 10) / 10.0
    fusion.imu(t, 1e-3 * rng.normal(size=3) + [0.0, 0.0, 0.1 * moving], [0.5 * moving, 0.0, 9.81])
    if k % 5 == 0:
        fusion.keyframe(t)
        twist = np.array([0.0, 0.0, 0.1 * moving, 0.05 * moving, 0.0, 0.0])
        fusion.wheels(t, twist, 1e-4 * np.eye(6))
fusion.relative_pose(0.05, 0.35, (0.01, 0.0, 0.0), (1.0, 0.0, 0.0, 0.01), 1e-4 * np.eye(6))
e = fusion.estimate
arrays += [e.position, e.quaternion, e.velocity, e.covariance]
np.save(sys.argv[1], np.concatenate([np.ravel(a) for a in arrays]))
"""


def numbers(path, **environment):
    """What the script computes in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return np.load(path)


def test_compiled_and_interpreted_dynamics_rolling_and_fusion_agree(tmp_path):
    """1e-8: sums are taken in another order, and Newton ends where its balance is met, to 1e-9 of the weight."""
    compiled = numbers(tmp_path / "compiled.npy")
    interpreted = numbers(tmp_path / "interpreted.npy", NUMBA_DISABLE_JIT="1")
    assert np.isfinite(compiled).all()
    np.testing.assert_allclose(compiled, interpreted, atol=1e-8, rtol=1e-8)
