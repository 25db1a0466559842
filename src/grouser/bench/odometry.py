"""Speed of streaming odometry: time of one update from Python, slip of a fit included."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from grouser.calibration import MotionModel, Noise
from grouser.kinematics import Kinematics
from grouser.odometry import EncoderNoise, Odometry
from grouser.slip import BodySlip
from grouser.vehicles import vehicle

BATCH = 100
"""Updates that are timed together: the clock of CPU time is coarse."""


def update_time(*, updates: int = 20000) -> dict[str, Any]:
    """CPU time of an update of the LRU that steers on a slope; JSON types only.

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
    cpu, wall = [], []
    for k in range(0, updates + BATCH, BATCH):
        began, clock = time.process_time(), time.perf_counter()
        for i in range(k, k + BATCH):
            row = i % 200
            odometry.update(0.01 * i, rates[row], angles[row], attitude[row])
        cpu.append((time.process_time() - began) / BATCH)
        wall.append((time.perf_counter() - clock) / BATCH)
    return {
        "vehicle": "lru1",
        "model": "6 slip parameters, process noise, encoder noise",
        "us_per_update": round(1e6 * statistics.median(cpu[1:]), 2),
        "us_fastest": round(1e6 * min(cpu[1:]), 2),
        "us_wall": round(1e6 * statistics.median(wall[1:]), 2),
        "updates": updates,
    }
