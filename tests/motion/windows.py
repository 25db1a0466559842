"""Windows of a log driven again by `gr.rollout` of a fit on level ground: ends of samples, and the measured ones."""

from __future__ import annotations

import numpy as np

import grouser as gr
from grouser.motion.consistency import INSIDE_2, pose_noise
from grouser.motion.intervals import cut_log
from grouser.motion.on_ground import draws
from grouser.motion.predict import LogProblem
from grouser.motion.velocity import inputs_of

PLANE = gr.terrain.plane()


def window_rates(log, motion, cut, dt):
    """Rates of the actuated joints in each window, mean over steps of about dt, (I, T, na), and the step [s]."""
    inputs = inputs_of(log, motion.vehicle)
    rates = np.nan_to_num(inputs.rates[:, motion.vehicle.arrays.actuated])
    # Travel is the integral of the linear interpolation: means of it are exact.
    t = inputs.time
    travel = np.vstack([np.zeros(rates.shape[1]), np.cumsum(0.5 * (rates[1:] + rates[:-1]) * np.diff(t)[:, None], 0)])
    length = float(np.median(cut.times[:, 1] - cut.times[:, 0]))
    steps = max(round(length / dt), 1)
    share = np.linspace(0.0, 1.0, steps + 1)
    found = []
    for start, end in cut.times - motion.sensor.lag:
        at = start + (end - start) * share
        # A parabola within an interval between samples.
        k = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(t) - 2)
        h = (at - t[k])[:, None]
        slope = (rates[k + 1] - rates[k]) / np.diff(t)[k][:, None]
        there = travel[k] + h * rates[k] + 0.5 * h**2 * slope
        found.append(np.diff(there, axis=0) / (length / steps))
    return np.array(found), length / steps


def sensed(states, sensor):
    """x, y [m], yaw [rad] of the sensor from where it was at the start of a drive from the origin, (…, 3)."""
    w, x, y, z = np.moveaxis(states[..., :4], -1, 0)
    yaw = np.arctan2(2.0 * (x * y + w * z), 1.0 - 2.0 * (y * y + z * z))
    c, s = np.cos(yaw), np.sin(yaw)
    px = states[..., 4] + c * sensor.x - s * sensor.y - sensor.x
    py = states[..., 5] + s * sensor.x + c * sensor.y - sensor.y
    turn = sensor.yaw
    return np.stack([np.cos(turn) * px + np.sin(turn) * py, np.cos(turn) * py - np.sin(turn) * px, yaw], axis=-1)


def sensed_ends(fit, log, interval, *, samples=100, seed=0, dt=0.05, every=1):
    """Where the sensor of each sample ends in each window, (I, samples, 3), and the windows.

    A draw has a sensor of its own: its place and sideways slip are known together much better than each alone.
    """
    motion = fit.model
    cut = cut_log(log, motion, interval=interval).only(slice(None, None, every))
    rates, step = window_rates(log, motion, cut, dt)
    many = gr.rollout(fit, PLANE, rates, dt=step, samples=samples, seed=seed)
    states = many.final_state.reshape(len(rates), samples, -1)
    mounted = [one.sensor for one in draws(fit, samples, seed)]
    return np.stack([sensed(states[:, k], sensor) for k, sensor in enumerate(mounted)], axis=1), cut


def measured_noise(log, motion, cut):
    """Covariance of x, y [m], yaw [rad] of the measured motion in each window, (I, 3, 3)."""
    predicted = LogProblem(log, motion, cut, encoders=False).errors(motion)
    noise = pose_noise(motion.sensor, predicted.poses, *predicted.ends.swapaxes(0, 1), other_log=True)
    return noise[:, [0, 1, 3]][:, :, [0, 1, 3]]


def coverage(fit, log, interval, *, samples=100, seed=0, dt=0.05, every=1):
    """Shares of measured end positions within the 95 % ellipses of the samples, without and with the sensor's noise.

    Returned with the number of windows. Ground is taken as level: the fit's slip by gravity has no effect.
    """
    ends, cut = sensed_ends(fit, log, interval, samples=samples, seed=seed, dt=dt, every=every)
    error = cut.measured[:, :2] - ends.mean(axis=1)[:, :2]
    spread = np.array([np.cov(one[:, :2].T) for one in ends]) * (1.0 + 1.0 / samples)
    noise = measured_noise(log, fit.model, cut)[:, :2, :2]
    inside = [
        float((np.einsum("ni,nij,nj->n", error, np.linalg.inv(P), error) < INSIDE_2).mean())
        for P in (spread, spread + noise)
    ]
    return inside[0], inside[1], len(ends)
