"""Speed of streaming odometry: time of one update from Python, slip of a fit included."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from grouser.bench.rounds import Sample, Spread, Work
from grouser.kinematics import Kinematics
from grouser.motion import MotionModel, Noise
from grouser.odometry import EncoderNoise, Odometry
from grouser.slip import BodySlip
from grouser.vehicles import vehicle

BATCH = 400
"""Updates in one timing, about 5 ms."""


def odometry_update() -> Work:
    """Updates of the LRU that steers on a slope.

    Rates and angles come as arrays. The model is that of a fit: body slip of six parameters and process noise.
    `us_wall` is what a clock on the wall says, with whatever else the machine does.
    """
    lru = vehicle("lru1")
    slip = BodySlip([-0.7457, -0.1093, -0.0303, -0.0187, -0.0062, -0.0627])
    odometry = Odometry(MotionModel(model=Kinematics(lru, slip=slip), noise=Noise()), noise=EncoderNoise.lru())
    rates, angles = np.zeros((200, lru.n_joints)), np.zeros((200, lru.n_joints))
    phase = np.linspace(0.0, 2.0 * np.pi, 200)
    for wheel in lru.wheels:
        rates[:, lru.joint_index(wheel)] = 4.0 + np.sin(phase)
    for one in lru.steering:
        front = 1.0 if lru.wheel_positions[lru.wheels.index(one.joint.removeprefix("steer")), 0] > 0.0 else -1.0
        angles[:, lru.joint_index(one.joint)] = 0.2 * front * np.sin(phase)
    attitude = [(float(0.1 * np.cos(p)), float(0.1 * np.sin(p))) for p in phase]
    samples_in = count()

    def update() -> int:
        for _ in range(BATCH):
            i = next(samples_in)
            row = i % 200
            odometry.update(0.01 * i, rates[row], angles[row], attitude[row])
        return BATCH

    def report(samples: Sequence[Sample]) -> dict[str, Any]:
        spread = Spread.of([s.cpu for s in samples], scale=1e6)
        return {
            "vehicle": "lru1",
            "model": "6 slip parameters, process noise, encoder noise",
            **spread.json("us_per_update", 2),
            "us_fastest": round(spread.minimum, 2),
            "us_wall": round(Spread.of([s.wall for s in samples], scale=1e6).median, 2),
            "updates": BATCH * len(samples),
        }

    update()
    return Work(update, report)
