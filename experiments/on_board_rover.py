"""A cheap skid-steered robot as the monitor meets it, with known truth. Shares no code with Grouser.

Each seed is another robot on another drive: size, speed, grounds, slopes, bumps, turns, stops, vibration, current,
sensors and, in a dig, how it digs in. Forward motion is that of the wheels times a share m(t): with grip 1 − slip, in
a dig falling to less than a tenth. Vibration is made by the ground, in proportion to the true speed, by the gears and,
in a dig, by churning soil.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

FloatArray = NDArray[np.float64]

RATE = 100.0  # of the simulation and the IMU [Hz]
G = 9.81
GROUNDS = ("asphalt", "gravel", "grass", "sand")
SLIP = {"asphalt": 0.02, "gravel": 0.06, "grass": 0.09, "sand": 0.18}  # mean, share
SLIP_NOISE = {"asphalt": 0.01, "gravel": 0.03, "grass": 0.03, "sand": 0.06}
SHAKE = {"asphalt": 0.35, "gravel": 1.3, "grass": 0.9, "sand": 0.45}  # vertical, rms at 1 m/s [m/s²]
ROLLING = {"asphalt": 0.02, "gravel": 0.06, "grass": 0.09, "sand": 0.18}  # resistance by weight
TURNING = {"asphalt": 0.68, "gravel": 0.75, "grass": 0.7, "sand": 0.6}  # yaw rate by that of the wheels
BUMPS = {"asphalt": 0.02, "gravel": 0.1, "grass": 0.15, "sand": 0.08}  # per metre


@dataclass(frozen=True, eq=False)
class Truth:
    """A drive: truth and what sensors measure."""

    time: FloatArray
    """Of the IMU [s]."""
    gyro: FloatArray
    acceleration: FloatArray
    """(n, 3): rates [rad/s], specific force [m/s²]."""
    wheel_time: FloatArray
    """50 Hz."""
    speed: FloatArray
    turn: FloatArray
    """Of the body by the encoders [m/s, rad/s]."""
    current: FloatArray
    """Sum over the motors [A]."""
    visual: FloatArray
    visual_sigma: float
    """Forward speed by images at 10 Hz [m/s]; NaN between."""
    fix_time: FloatArray
    fix: FloatArray
    fix_sigma: float
    """Positions (k, 2) by GPS [m]."""
    moved: FloatArray
    """True speed at the times of the IMU [m/s]."""
    wheels: FloatArray
    """True speed of the wheels [m/s]."""
    digs: list[tuple[float, float]]
    """When the robot moves with less than a fifth of its wheels, and when the wheels stop or it is free again [s]."""
    grounds: list[tuple[float, str]]
    """When each ground begins [s]."""


def simulate(seed: int, *, duration: float, digs: int = 0, changes: bool = True) -> Truth:
    """One robot and one drive [s], with digs near its end, one every 25 s."""
    rng = np.random.default_rng([seed, 77])
    n = int(duration * RATE)
    t = np.arange(n) / RATE
    fastest = rng.uniform(0.4, 1.4)
    events = [duration - 25.0 * (digs - k) + rng.uniform(2.0, 8.0) for k in range(digs)]
    w, turn, stops = _commands(rng, t, fastest, events)
    which, grounds = _grounds(rng, t, changes)
    by = {name: np.array([table[g] for g in GROUNDS])[which] for name, table in _TABLES.items()}
    by = {name: _smooth(values, rng.uniform(0.15, 0.5)) for name, values in by.items()}
    way = np.cumsum(np.abs(w)) / RATE
    slope = _slope(rng, way)
    wander = by["slip_noise"] * _walk(rng, n, rng.uniform(0.5, 2.0))
    share = 1.0 - np.clip(by["slip"] + wander + 0.6 * by["slip"] * np.sign(w) * slope / 0.15, -0.02, 0.6)
    bump, dip = _bumps(rng, way, by["bumps"])
    share *= 1.0 - dip
    churn, load, sink = np.zeros(n), np.ones(n), np.zeros(n)
    found: list[tuple[float, float]] = []
    kinds = rng.permutation(digs) % 3
    for k, begin in enumerate(events):
        found.append(_dig(rng, t, (w, turn, share), (churn, load, sink), begin, stops[k], kinds[k] == 1))
    lag = rng.uniform(0.03, 0.12)
    v = _smooth(share * w, lag)
    yaw_rate = _smooth(turn * by["turning"] * np.where(share < 0.3, share / 0.5, 1.0), lag)
    yaw_rate += 0.03 * np.abs(v) * _walk(rng, n, 0.3)
    pitch = -np.arctan(slope) + bump + sink
    gyro, force = _imu(rng, t, v, w, yaw_rate, pitch, by["shake"], churn)
    return Truth(
        time=t, gyro=gyro, acceleration=force, **_wheels(rng, t, w, turn),
        current=_current(rng, t, w, turn, slope, by["rolling"], load),
        **_positions(rng, t, v, yaw_rate), moved=v, wheels=w, digs=_true_digs(t, v, w, found), grounds=grounds,
    )  # fmt: skip


_TABLES = {
    "slip": SLIP,
    "slip_noise": SLIP_NOISE,
    "shake": SHAKE,
    "rolling": ROLLING,
    "turning": TURNING,
    "bumps": BUMPS,
}


def _smooth(x: FloatArray, time: float) -> FloatArray:
    """First-order lag."""
    a = np.exp(-1.0 / (RATE * time))
    return np.asarray(lfilter([1.0 - a], [1.0, -a], x, zi=[a * x[0]])[0])


def _walk(rng: np.random.Generator, n: int, time: float) -> FloatArray:
    """Unit noise with a correlation time."""
    a = np.exp(-1.0 / (RATE * time))
    return np.asarray(lfilter([np.sqrt(1.0 - a * a)], [1.0, -a], rng.normal(size=n)))


def _commands(
    rng: np.random.Generator, t: FloatArray, fastest: float, events: list[float]
) -> tuple[FloatArray, FloatArray, list[float]]:
    """Speed and yaw rate of the wheels: stretches of driving, turns, stops, reversing. Digs drive on for 8 s."""
    speed, turn = np.zeros(len(t)), np.zeros(len(t))
    clock, stops = 4.0, []
    pending = list(events)
    while clock < t[-1]:
        length = rng.choice([rng.uniform(2, 6), rng.uniform(5, 20)])
        kind = rng.choice(["straight", "arc", "spot", "stop", "reverse"], p=[0.4, 0.25, 0.1, 0.15, 0.1])
        if pending and clock + length > pending[0] - 4.0:
            stop = pending.pop(0) + 8.0
            length, kind = stop - clock, rng.choice(["straight", "arc"], p=[0.65, 0.35])
            stops.append(stop)
        inside = (t >= clock) & (t < clock + length)
        v = fastest * rng.uniform(0.3, 1.0)
        speed[inside] = {"spot": 0.0, "stop": 0.0, "reverse": -0.6 * v}.get(kind, v)
        turn[inside] = rng.choice([-1, 1]) * {"arc": v * rng.uniform(0.2, 1.2), "spot": rng.uniform(0.3, 1.2)}.get(
            kind, 0
        )
        clock += length
        if stops and abs(clock - stops[-1]) < 1e-6:
            clock += rng.uniform(1.0, 3.0)  # it stands after a dig
    return _limited(speed, rng.uniform(0.5, 2.0)), _limited(turn, rng.uniform(1.0, 4.0)), stops


def _limited(x: FloatArray, rate: float) -> FloatArray:
    """A signal whose slope is limited."""
    out, now, step = x.copy(), 0.0, rate / RATE
    for k, want in enumerate(x.tolist()):
        now += min(max(want - now, -step), step)
        out[k] = now
    return _smooth(out, 0.04)


def _grounds(
    rng: np.random.Generator, t: FloatArray, changes: bool
) -> tuple[NDArray[np.int64], list[tuple[float, str]]]:
    which = np.zeros(len(t), dtype=np.int64)
    clock, now, begun = 0.0, int(rng.integers(4)), []
    while clock < t[-1]:
        which[t >= clock] = now
        begun.append((clock, GROUNDS[now]))
        clock += rng.uniform(30.0, 150.0) if changes else np.inf
        now = (now + int(rng.integers(1, 4))) % 4
    return which, begun


def _slope(rng: np.random.Generator, way: FloatArray) -> FloatArray:
    """Slope along the way, positive uphill: up to about 12°, changing within metres."""
    grid = np.arange(0.0, way[-1] + 30.0, 0.5)
    a = np.exp(-0.5 / rng.uniform(4.0, 15.0))
    profile = lfilter([1.0 - a], [1.0, -a], lfilter([np.sqrt(1.0 - a * a)], [1.0, -a], rng.normal(size=len(grid))))
    profile *= rng.uniform(0.02, 0.1) / max(float(np.std(profile)), 1e-9)
    return np.asarray(np.clip(np.interp(way, grid, profile), -0.22, 0.22))


def _bumps(rng: np.random.Generator, way: FloatArray, often: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pitch of bumps [rad], nose up first, and the speed they cost, share."""
    pitch, dip = np.zeros(len(way)), np.zeros(len(way))
    at = 0.0
    while at < way[-1]:
        at += rng.exponential(1.0 / 0.15)
        k = min(int(np.searchsorted(way, at)), len(way) - 1)
        if rng.uniform() > often[k] / 0.15:
            continue
        length = rng.uniform(0.3, 0.7)
        s = (way - at) / length
        inside = (s > 0.0) & (s < 1.0)
        pitch[inside] -= rng.uniform(0.02, 0.12) * np.sin(2.0 * np.pi * s[inside])
        dip[inside] += rng.uniform(0.0, 0.25) * np.sin(np.pi * s[inside])
    return pitch, dip


def _dig(
    rng: Any, t: FloatArray, motion: Any, effects: Any, begin: float, stop: float, at_rest: bool
) -> tuple[float, float]:
    """Dig in at a time until the wheels stop; at rest: the robot stands before and cannot start."""
    w, turn, share = motion
    churn, load, sink = effects
    length, rest = rng.uniform(0.3, 2.0), rng.uniform(0.0, 0.1)
    if at_rest:
        w[(t > begin - 2.0) & (t < begin)] = 0.0
        turn[(t > begin - 2.0) & (t < begin)] = 0.0
        ramp = np.clip((t - begin) / rng.uniform(0.3, 1.0), 0.0, 1.0)
        inside = (t >= begin) & (t < stop)
        w[inside] *= ramp[inside]
        turn[inside] *= ramp[inside]
        length = 0.05
    inside = (t >= begin) & (t < stop + 0.8)
    lost = np.clip((t[inside] - begin) / length, 0.0, 1.0)
    lost = lost if rng.uniform() < 0.5 else 0.5 - 0.5 * np.cos(np.pi * lost)
    share[inside] = share[inside] * (1.0 - lost) + rest * lost
    churn[inside] = rng.uniform(0.0, 0.5) * lost
    load[inside] = 1.0 + (np.exp(rng.uniform(np.log(0.5), np.log(2.5))) - 1.0) * lost
    sunk = rng.uniform(-0.01, 0.06)
    sink[inside] -= sunk * np.clip((t[inside] - begin) / 4.0, 0.0, 1.0)
    after = t >= stop + 0.8
    sink[after] -= sunk * np.exp(-np.cumsum(np.abs(w[after])) / RATE / 0.4)  # it climbs out as it drives on
    return begin, stop


def _true_digs(t: FloatArray, v: FloatArray, w: FloatArray, found: Any) -> list[tuple[float, float]]:
    """From when the true speed is below a fifth of the wheels', while they turn with more than 0.05 m/s."""
    result = []
    for begin, stop in found:
        inside = (t >= begin) & (t < stop) & (np.abs(w) > 0.05) & (np.abs(v) < 0.2 * np.abs(w))
        first = t[np.argmax(inside)] if inside.any() else stop
        result.append((float(first), float(stop)))
    return result


def _imu(
    rng: Any, t: FloatArray, v: FloatArray, w: FloatArray, yaw_rate: FloatArray, pitch: FloatArray, *ground: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Gyro and accelerometer: motion, gravity, vibration, bias, noise."""
    n = len(t)
    shake, churn = ground
    size = np.abs(v) ** rng.uniform(0.9, 1.4) * shake + churn * shake * np.abs(w)
    gears = rng.uniform(0.03, 0.2) * np.abs(w)

    def band(low: float, high: float) -> FloatArray:
        f, r = rng.uniform(low, high), rng.uniform(0.7, 0.93)
        a = [1.0, -2.0 * r * np.cos(2.0 * np.pi * f / RATE), r * r]
        x = lfilter([1.0, -1.0], a, rng.normal(size=n))
        return np.asarray(x / np.std(x))

    force, gyro = np.empty((n, 3)), np.empty((n, 3))
    parts = np.array([rng.uniform(0.3, 0.6), rng.uniform(0.3, 0.7), 1.0])
    for k in range(3):
        force[:, k] = parts[k] * size * band(4.0, 25.0) + gears * band(20.0, 45.0)
        gyro[:, k] = rng.uniform(0.04, 0.1) * (0.4 if k == 2 else 1.0) * size * band(3.0, 20.0)
    force += rng.normal(0.0, rng.uniform(0.02, 0.08), size=(n, 3)) + rng.normal(0.0, 0.05, size=3)
    gyro += rng.normal(0.0, rng.uniform(0.002, 0.006), size=(n, 3)) + rng.normal(0.0, 0.008, size=3)
    payload = np.zeros(n)  # an arm or a mast that moves now and then
    for at in rng.uniform(0.0, t[-1], size=int(t[-1] / 60.0)):
        s = (t - at) / rng.uniform(0.3, 1.0)
        payload += rng.uniform(-0.4, 0.4) * np.where((s > 0.0) & (s < 1.0), np.sin(2.0 * np.pi * s), 0.0)
    force[:, 0] += np.gradient(v, t) - G * np.sin(pitch) + payload
    force[:, 1] += v * yaw_rate
    force[:, 2] += G * np.cos(pitch)
    gyro[:, 1] += np.gradient(pitch, t)
    gyro[:, 0] -= yaw_rate * np.sin(pitch)  # a turn about the vertical, with roll zero
    gyro[:, 2] += yaw_rate * np.cos(pitch)
    return gyro, force


def _wheels(rng: Any, t: FloatArray, w: FloatArray, turn: FloatArray) -> dict[str, Any]:
    """Encoders of both sides at 50 Hz with ticks, and the body's motion by them."""
    half, radius = rng.uniform(0.2, 0.4), rng.uniform(0.08, 0.18)
    tick = 2.0 * np.pi * radius / rng.choice([512, 1024, 4096])
    at = slice(None, None, 2)
    sides = []
    for sign in (-1.0, 1.0):
        way = np.floor(np.cumsum(w + sign * half * turn) / RATE / tick) * tick
        sides.append(np.diff(way[at], prepend=way[0]) * 0.5 * RATE)
    left, right = sides
    return {"wheel_time": t[at], "speed": 0.5 * (left + right), "turn": (right - left) / (2.0 * half)}


def _current(
    rng: Any, t: FloatArray, w: FloatArray, turn: FloatArray, slope: FloatArray, rolling: FloatArray, load: FloatArray
) -> FloatArray:
    """Sum of the motors' currents at 50 Hz: rolling, slope, acceleration, turning, friction; ripple and noise."""
    a = np.gradient(w, t)
    ahead = np.tanh(w / 0.03)
    force = ahead * rolling + slope + a / G + 0.05 * ahead * np.tanh(np.abs(turn) / 0.3)
    spot = 0.15 * np.tanh(np.abs(turn) / 0.2)
    amperes = rng.uniform(10.0, 60.0) * (0.03 + np.maximum(ahead * force * load, -0.05) + spot)
    ripple = 1.0 + rng.uniform(0.03, 0.15) * np.sin(np.cumsum(np.abs(w)) / RATE * rng.uniform(40.0, 120.0))
    noise = rng.uniform(0.02, 0.08) * np.mean(np.abs(amperes)) * (_walk(rng, len(t), 0.1) + rng.normal(size=len(t)))
    amperes = np.where(np.abs(w) + np.abs(turn) > 0.01, amperes * ripple, 0.3) + noise
    return np.asarray(amperes[::2])


def _positions(rng: Any, t: FloatArray, v: FloatArray, yaw_rate: FloatArray) -> dict[str, Any]:
    """Visual speed at 10 Hz, and GPS of 1 to 5 Hz with white and slow errors."""
    sigma = rng.uniform(0.02, 0.06)
    visual = np.full(len(t[::2]), np.nan)
    visual[::5] = v[::10] * (1.0 + 0.02 * rng.normal()) + sigma * rng.normal(size=len(visual[::5]))
    bad = rng.uniform(size=len(visual)) < 0.02
    visual[bad] += rng.normal(0.0, 0.5, size=int(bad.sum()))  # outliers
    yaw = np.cumsum(yaw_rate) / RATE
    p = np.stack([np.cumsum(v * np.cos(yaw)), np.cumsum(v * np.sin(yaw))], axis=1) / RATE
    every = int(RATE / rng.choice([1.0, 2.0, 5.0]))
    noise = float(np.exp(rng.uniform(np.log(0.02), np.log(1.0))))
    fix = p[::every] + noise * rng.normal(size=(len(p[::every]), 2))
    return {"visual": visual, "visual_sigma": float(sigma), "fix_time": t[::every], "fix": fix, "fix_sigma": noise}
