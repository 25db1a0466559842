"""The compiled filter against the same functions run by plain Python, which checks every index, too."""

import os
import subprocess
import sys

import numpy as np

SCRIPT = """
import sys
import numpy as np
from grouser.fusion import Fusion, FusionSettings
fusion = Fusion(FusionSettings(imu_position=(0.1, 0.2, 0.3), history=0.2, align=0.3))
random = np.random.default_rng(0)
for k in range(80):
    t, turn = 0.01 * k, 0.2 * (k > 40)
    noise = 3e-3 * random.standard_normal(6)
    fusion.imu(t, [0.0, 0.0, turn] + noise[:3], [0.0, 0.1, 9.81] + noise[3:])
    fusion.wheels(t - 0.03 * (k % 2), [0, 0, turn, 0.5 * turn, 0, 0], 1e-4 * np.eye(6))
    if k % 10 == 0:
        fusion.keyframe(t)
        if k > 50:
            fusion.relative_pose(t - 0.1, t, (0.01, 0, 0), (1, 0, 0, 0.01), 1e-3 * np.eye(6))
e = fusion.estimate
used = [source.used for source in fusion.nis.values()]
assert min(used[:2]) > 1, used
np.save(sys.argv[1], np.concatenate([e.position, e.quaternion, e.twist, e.covariance.ravel(), e.slip, used]))
"""


def numbers(tmp_path, **environment):
    file = tmp_path / f"numbers{len(environment)}.npy"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(file)], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return np.load(file)


def test_compiled_and_interpreted_filters_agree(tmp_path):
    np.testing.assert_allclose(numbers(tmp_path), numbers(tmp_path, NUMBA_DISABLE_JIT="1"), rtol=1e-9, atol=1e-12)
