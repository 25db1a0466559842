"""The compiled update against the same functions run by plain Python, where numpy checks every index."""

import os
import subprocess
import sys

import numpy as np

SCRIPT = """
import sys
import numpy as np
import grouser as gr
from grouser.motion.slip_surface import Perturbative
random = np.random.default_rng(0)
slip = gr.slip.BodySlip([-0.5, -0.1, -0.6, -0.3, 0.05, -0.4])
noise = gr.odometry.EncoderNoise(angle=0.01, contact_angle=0.02, attitude_time=0.1)
made = [
    gr.Odometry(gr.MotionModel(model=gr.Kinematics(gr.vehicle("lru2"), slip=slip)), noise=noise),
    gr.Odometry(gr.MotionModel(model=gr.Kinematics(gr.vehicle("zoe"))), noise=noise, planar=True),
    gr.Odometry("husky", contact_angles=gr.terrain.plane(), position=(0.0, 0.0, 0.13)),
    gr.Odometry(Perturbative(vehicle=gr.vehicle("warthog"), slip=np.linspace(-0.1, 0.1, 13)), pitch_rate="attitude"),
]
out = []
for odometry in made:
    n = odometry.vehicle.n_joints
    for k in range(6):
        rates, angles = random.normal(3.0, 1.0, n), random.normal(0.0, 0.2, n)
        rates[odometry.vehicle.joint_index(odometry.vehicle.wheels[0])] *= np.nan if k == 3 else 1.0
        gyro = (0.1, 0.2, 0.3) if k == 4 else None
        e = odometry.update(0.01 * k if k < 5 else 1.0, rates, angles, (0.1 * k, 0.05 * k), gyro)
        out += [e.position, e.twist, e.slip, e.observed, e.twist_covariance.ravel(), e.pose_covariance.ravel()]
np.save(sys.argv[1], np.concatenate(out))
"""


def numbers(file, **environment):
    """What the script computes in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(file)], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return np.load(file)


def test_compiled_and_interpreted_updates_agree(tmp_path):
    """1e-9 of the numbers: differences of slopes by steps of 1e-4 amplify the order of sums."""
    compiled = numbers(tmp_path / "compiled.npy")
    interpreted = numbers(tmp_path / "interpreted.npy", NUMBA_DISABLE_JIT="1")
    assert np.isfinite(compiled).all()
    np.testing.assert_allclose(compiled, interpreted, atol=1e-9, rtol=1e-8)
