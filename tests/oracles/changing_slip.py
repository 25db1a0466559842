"""A skid-steered vehicle on soils that change at given times: a truth in NumPy that shares no code.

Slip is P (13) as in `planar_slip`, at speeds and turn rates that do not depend on the path, so that all steps are taken
at once. Wheels may spin for a while.
"""

import numpy as np

import grouser as gr
from tests.oracles.planar_slip import HALF, MANIFEST, NOISE, RADIUS, slip

FIRM = (-0.05, -0.03, -0.02, 0.003, 0.0, 0.08, -0.05, 0.002, 0.005, -0.45, 0.0, 0.001, 0.001)
SOFT = (-0.15, -0.10, -0.03, 0.008, 0.0, 0.12, -0.12, 0.006, -0.01, -0.65, 0.0, 0.002, -0.002)
"""α₁…α₁₃ of two soils: half the turn rate of the wheels is lost on one, two thirds on the other."""


def write(folder, name, soils, *, seed=0, spin=None, noise=NOISE):
    """Paths of a log and its manifest. soils: (seconds, α), one after another.

    spin: first and last second of wheels that turn three times as fast as the vehicle drives.
    """
    rng = np.random.default_rng(seed)
    dt, every = 0.02, 5
    a = np.concatenate([np.tile(one, (round(seconds / dt), 1)) for seconds, one in soils]).T
    n = a.shape[1]
    t = dt * (np.arange(n) + 0.5)
    phase = rng.uniform(0.0, 2.0 * np.pi, size=8)
    v = 1.5 + 0.6 * np.sin(0.37 * t + phase[0]) + 0.4 * np.sin(0.91 * t + phase[1])
    w = 0.8 * np.sin(0.53 * t + phase[2]) + 0.6 * np.sin(1.13 * t + phase[3])
    roll, pitch = 0.12 * np.sin(0.31 * t + phase[4]), 0.12 * np.sin(0.23 * t + phase[5])
    gx, gy = 9.81 * np.sin(pitch), -9.81 * np.cos(pitch) * np.sin(roll)
    shocks = rng.normal(size=(3, n)) * np.sqrt(np.outer(noise, v) / dt)
    vx, vy, wz = np.array([v, 0.0 * v, w]) + slip(a, v, w, gx, gy) + shocks
    rise = np.cos(roll) / np.cos(pitch) * wz * dt
    yaw = np.append(0.0, np.cumsum(rise))
    c, s = np.cos(yaw[:-1] + 0.5 * rise), np.sin(yaw[:-1] + 0.5 * rise)
    across = np.sin(pitch) * np.sin(roll)
    x = np.append(0.0, np.cumsum((c * np.cos(pitch) * vx + (c * across - s * np.cos(roll)) * vy) * dt))
    y = np.append(0.0, np.cumsum((s * np.cos(pitch) * vx + (s * across + c * np.cos(roll)) * vy) * dt))
    poses = np.stack([x, y, yaw], axis=1)[:-1:every] + rng.normal(size=(n // every, 3)) * (0.01, 0.01, 0.003)
    rates = np.stack([(v - HALF * w) / RADIUS, (v + HALF * w) / RADIUS])
    if spin is not None:
        rates[:, (t >= spin[0]) & (t < spin[1])] *= 3.0
    last = np.arange(n) // every
    table = np.column_stack([t, *rates, roll, pitch, -a[9], poses[last], last])
    # A pose stamped t_k is of that instant; samples are of the middle of their step.
    table[::every, 0] = dt * np.arange(0, n, every)
    file, manifest = folder / f"{name}.csv", folder / "log.toml"
    np.savetxt(file, table, delimiter=",", header="t,wl,wr,roll,pitch,soil,x,y,yaw,k", comments="", fmt="%.6f")
    manifest.write_text(MANIFEST)
    return file, manifest


def drive(folder, name, soils, **options):
    """The same as a log."""
    file, manifest = write(folder, name, soils, **options)
    return gr.read_log(file, manifest=manifest)


def model():
    """The motion model of this slip, without any: rates of a Warthog and a slip surface."""
    return gr.motion.Perturbative(vehicle=gr.vehicle("warthog"), gravity_grows="distance")
