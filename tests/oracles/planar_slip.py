"""A skid-steered vehicle that drives from waypoint to waypoint over soils by place: a truth that shares no code.

Slip is P (13), with slip by gravity growing with the distance rolled; attitude swings slowly. Plain floats, midpoint
steps.
"""

import math

import numpy as np

import grouser as gr

RADIUS, HALF = 0.3, 0.54
"""Of the shipped Warthog: wheel radius, half the track [m]."""
FIRM = (-0.05, -0.03, -0.02, 0.003, 0.0, 0.08, -0.05, 0.002, 0.005, -0.45, 0.0, 0.001, 0.001)
SOFT = (-0.15, -0.08, -0.03, 0.010, 0.0, 0.12, -0.09, 0.008, -0.005, -0.60, 0.0, 0.002, -0.002)
"""α₁…α₁₃ of two soils."""
NOISE = (0.001, 0.001, 0.0005)
"""Densities of the noise of forward, sideways speed and turn rate [m², m², rad² per metre]."""
MANIFEST = """schema = "grouser/log@1"
vehicle = "warthog"
[time]
column = "t"
[rates]
FL = "wl"
BL = "wl"
FR = "wr"
BR = "wr"
[attitude]
roll = "roll"
pitch = "pitch"
[pose]
x = "x"
y = "y"
yaw = "yaw"
fresh = "k"
[sensor]
position_noise = 0.01
yaw_noise = 0.003
[labels]
soil = "soil"
"""


def slip(a, v, w, gx, gy):
    return (
        a[0] * v + a[1] * abs(w) + a[2] * v * abs(w) + a[3] * v * gx,
        a[4] * v + a[5] * w + a[6] * v * w + a[7] * v * gy,
        a[8] * v + a[9] * w + a[10] * v * w + a[11] * v * gx + a[12] * v * gy,
    )


def drive(folder, name, soil, *, seconds=120.0, seed=0, lag=0.0, arm=(0.0, 0.0), area=(20.0, 12.0), noise=NOISE):
    """A log of a drive; soil(x, y) gives α. area: half its sides [m]. arm: the pose sensor in the body [m]."""
    rng = np.random.default_rng(seed)
    dt, every, n = 0.01, 10, round(seconds / 0.01)
    shocks = rng.normal(size=(n, 3)).tolist()
    x, y, yaw = float(rng.uniform(-area[0], area[0])), 0.0, float(rng.uniform(-3, 3))
    goal, speed, v, w = (0.0, 0.0), 1.0, 0.5, 0.0
    rows, path = [], [(x, y, yaw)]
    for k in range(n):
        t = k * dt
        if k % 50 == 0 and (k == 0 or math.hypot(goal[0] - x, goal[1] - y) < 2.0 or rng.uniform() < 0.05):
            goal = tuple(float(g) for g in rng.uniform(-1, 1, size=2) * area)
            speed = float(rng.uniform(0.8, 2.5))
        off = math.remainder(math.atan2(goal[1] - y, goal[0] - x) - yaw, 2 * math.pi)
        turn = max(-1.8, min(1.8, 2.5 * off)) + 0.5 * math.sin(0.9 * t)
        v += max(-1.5 * dt, min(1.5 * dt, speed - v))
        w += max(-3 * dt, min(3 * dt, turn - w))
        roll, pitch = 0.12 * math.sin(0.31 * t), 0.12 * math.sin(0.23 * t + 1.0)
        a = soil(x, y)
        rows.append((t + 0.5 * dt, (v - HALF * w) / RADIUS, (v + HALF * w) / RADIUS, roll, pitch, -a[9]))
        gx, gy = 9.81 * math.sin(pitch), -9.81 * math.cos(pitch) * math.sin(roll)
        dx, dy, dw = slip(a, v, w, gx, gy)
        e = [s * math.sqrt(q * abs(v) / dt) for s, q in zip(shocks[k], noise, strict=True)]
        vx, vy, wz = v + dx + e[0], dy + e[1], w + dw + e[2]
        cb, sb, cg, sg = math.cos(pitch), math.sin(pitch), math.cos(roll), math.sin(roll)
        rise = cg / cb * wz * dt
        c, s = math.cos(yaw + 0.5 * rise), math.sin(yaw + 0.5 * rise)
        x += (c * cb * vx + (c * sb * sg - s * cg) * vy) * dt
        y += (s * cb * vx + (s * sb * sg + c * cg) * vy) * dt
        yaw += rise
        path.append((x, y, yaw))
    stamps = np.arange(0, n, every)
    truth, at = np.array(path), stamps * dt - lag
    poses = np.stack([np.interp(at, np.arange(n + 1) * dt, column) for column in truth.T], axis=1)
    tilt = np.array(rows)[:, 3:5]
    roll, pitch = (np.interp(at, (np.arange(n) + 0.5) * dt, column) for column in tilt.T)
    ahead, left = arm  # R = Rz Ry Rx of (ahead, left, 0)
    fx, fy = np.cos(pitch) * ahead + np.sin(pitch) * np.sin(roll) * left, np.cos(roll) * left
    c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    poses[:, 0] += c * fx - s * fy
    poses[:, 1] += s * fx + c * fy
    poses += rng.normal(size=poses.shape) * (0.01, 0.01, 0.003)
    file, manifest = folder / f"{name}.csv", folder / "planar_slip.toml"
    last = np.repeat(np.arange(len(stamps)), every)[:n]
    table = np.column_stack([np.array(rows), poses[last], last])[::2]
    head = "t,wl,wr,roll,pitch,soil,x,y,yaw,k"
    np.savetxt(file, table, delimiter=",", header=head, comments="", fmt="%.6f")
    manifest.write_text(MANIFEST)
    return gr.read_log(file, manifest=manifest)
