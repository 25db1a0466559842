"""Drives whose path and ideal wheel rates are known in closed form: arcs on a plane and a slope, a ramp, a hill."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import grouser as gr
from grouser import rotation


@dataclass
class Drive:
    """Samples of a drive: inputs of odometry, and the true pose at each."""

    time: np.ndarray
    rates: np.ndarray
    angles: np.ndarray
    attitude: np.ndarray
    contact: np.ndarray
    position: np.ndarray
    yaw: np.ndarray

    @property
    def length(self) -> float:
        """Of the path [m]."""
        return float(np.linalg.norm(np.diff(self.position, axis=0), axis=1).sum())


def follow(odometry: gr.Odometry, drive: Drive, *, contact: bool = False, attitude: bool = True):
    """All samples of a drive through odometry; positions (n, 3) and yaws (n,)."""
    place, heading = [], []
    for k, t in enumerate(drive.time):
        told = drive.contact[k] if contact else None
        lean = drive.attitude[k] if attitude else None
        e = odometry.update(t, drive.rates[k], drive.angles[k], lean, contact_angles=told)
        place.append(e.position)
        heading.append(e.yaw)
    return np.array(place), np.array(heading)


def steered_rates(vehicle: gr.Vehicle, forward, sideways, turn):
    """Rates and angles (n, nj) with which every wheel rolls without slip while the body moves so in the plane."""
    n = len(forward)
    rates, angles = np.zeros((n, vehicle.n_joints)), np.zeros((n, vehicle.n_joints))
    for wheel, place, radius in zip(vehicle.wheels, vehicle.wheel_positions, vehicle.arrays.radius, strict=True):
        x, y = forward - turn * place[1], sideways + turn * place[0]
        rates[:, vehicle.joint_index(wheel)] = np.hypot(x, y) / radius
        angles[:, vehicle.joint_index(f"steer{wheel}")] = np.arctan2(y, x)
    return rates, angles


def on_plane(tilt: float = 0.0, heading: float = 0.3, seconds: float = 20.0, dt: float = 0.01) -> Drive:
    """The LRU on a plane that rises by `tilt` [rad] along x, crabbing and turning with speeds that vary."""
    vehicle = gr.vehicle("lru2")
    t = dt * np.arange(round(seconds / dt) + 1)

    def motion(t):
        return 0.8 + 0.2 * np.sin(0.5 * t), 0.1 * np.cos(0.4 * t), 0.25 * np.sin(0.3 * t) + 0.1

    def slope(t, s):
        v, u, w = motion(t)
        c, d = math.cos(s[2]), math.sin(s[2])
        return [c * v - d * u, d * v + c * u, w]

    path = solve_ivp(slope, (0.0, t[-1]), [0.0, 0.0, heading], t_eval=t, rtol=1e-12, atol=1e-13, method="DOP853").y.T
    R_world_plane = rotation.from_rpy(0.0, -tilt, 0.0)
    R = R_world_plane @ rotation.from_rpy(0.0, 0.0, path[:, 2])
    rpy = rotation.to_rpy(R)
    rates, angles = steered_rates(vehicle, *(np.broadcast_to(v, t.shape) for v in motion(t)))
    position = np.column_stack([path[:, :2], np.zeros(len(t))]) @ R_world_plane.T
    return Drive(t, rates, angles, rpy[:, :2], np.zeros((len(t), 4)), position, np.unwrap(rpy[:, 2]))


class Ramp:
    """The path of a wheel's centre over a ramp: lines, and arcs about the edges; u is its length."""

    def __init__(self, radius: float, height: float, angle: float, top: float) -> None:
        run = height / math.tan(angle)
        corners = np.array(
            [[-10.0, 0.0], [0.0, 0.0], [run, height], [run + top, height], [2 * run + top, 0.0], [20.0, 0.0]]
        )
        slopes = [0.0, angle, 0.0, -angle, 0.0]
        self.pieces: list[tuple[float, float, np.ndarray, float, float]] = []
        u, at = 0.0, corners[0] + radius * _normal(slopes[0])
        for k, beta in enumerate(slopes):
            corner = corners[k + 1]
            end = corner + radius * _normal(beta)
            if k + 1 < len(slopes) and slopes[k + 1] > beta:  # a hollow: the wheel touches both sides
                end = end - radius * math.tan(0.5 * (slopes[k + 1] - beta)) * _along(beta)
            length = float((end - at) @ _along(beta))
            self.pieces.append((u, u + length, at, beta, 0.0))
            u, at = u + length, end
            if k + 1 < len(slopes) and slopes[k + 1] < beta:  # an edge: the centre circles about it
                turn = beta - slopes[k + 1]
                self.pieces.append((u, u + radius * turn, corner, beta, radius))
                u, at = u + radius * turn, corner + radius * _normal(slopes[k + 1])
        self.breaks = [piece[1] for piece in self.pieces[:-1]]

    def at(self, u: float) -> tuple[np.ndarray, float, float]:
        """Centre (x, z), direction of its motion [rad, up positive] and its speed per unit of u."""
        piece = next(p for p in self.pieces if u < p[1] or p is self.pieces[-1])
        low, _, start, beta, radius = piece
        if radius == 0.0:
            return start + (u - low) * _along(beta), beta, 1.0
        angle = beta - (u - low) / radius
        return start + radius * _normal(angle), angle, 1.0


class Hill:
    """The path of a wheel's centre over z = a (1 − cos k x)/2; u is the x of the contact."""

    breaks = ()

    def __init__(self, radius: float, height: float, wave: float) -> None:
        self.radius, self.a, self.k = radius, 0.5 * height, 2.0 * math.pi / wave

    def at(self, u: float) -> tuple[np.ndarray, float, float]:
        """Centre (x, z), direction of its motion and its speed per unit of u."""
        z, g = self.a * (1.0 - math.cos(self.k * u)), self.a * self.k * math.sin(self.k * u)
        bend = self.a * self.k**2 * math.cos(self.k * u) / (1.0 + g * g)
        angle = math.atan(g)
        return np.array([u, z]) + self.radius * _normal(angle), angle, math.sqrt(1.0 + g * g) - self.radius * bend


def straight_over(curve: Ramp | Hill, vehicle: gr.Vehicle, *, begin: float, seconds: float, dt: float) -> Drive:
    """A vehicle of two axles, stiff, straight over a profile; its rear wheels' u grows by one each second.

    The centres of both axles are on the curve, so the velocities along the line between them are equal.
    """
    places, radius = vehicle.wheel_positions, float(vehicle.arrays.radius[0])
    rear, front = places[:, 0].min(), places[:, 0].max()
    base, height = front - rear, places[0, 2]

    def front_of(u):
        c = curve.at(u)[0]
        return brentq(lambda f: np.linalg.norm(curve.at(f)[0] - c) - base, u + 0.6 * base, u + 1.5 * base, xtol=1e-14)

    t = dt * np.arange(round(seconds / dt) + 1)
    events = []
    for u in curve.breaks:
        events.append(u - begin)
        events.append(brentq(lambda r, u=u: front_of(r) - u, u - 1.5 * base, u - 0.6 * base, xtol=1e-13) - begin)
    for event in events:  # wheel velocities jump there: one sample on either side
        if 0.0 < event < t[-1]:
            t = np.append(t[np.abs(t - event) > 1e-6], [event - 1e-8, event + 1e-8])
    t = np.sort(t)
    n, nj = len(t), vehicle.n_joints
    drive = Drive(
        t,
        np.zeros((n, nj)),
        np.full((n, nj), np.nan),
        np.zeros((n, 2)),
        np.zeros((n, 4)),
        np.zeros((n, 3)),
        np.zeros(n),
    )
    for k, time in enumerate(t):
        u = begin + time
        f = front_of(u)
        (c_r, a_r, s_r), (c_f, a_f, _) = curve.at(u), curve.at(f)
        nose = math.atan2(*(c_f - c_r)[::-1])
        v_r = s_r
        v_f = v_r * math.cos(a_r - nose) / math.cos(a_f - nose)
        turn = (v_f * math.sin(a_f - nose) - v_r * math.sin(a_r - nose)) / base
        origin = c_r - rear * _along(nose) - height * _normal(nose)
        drive.position[k] = origin[0], 0.0, origin[1]
        drive.attitude[k] = 0.0, -nose
        for w, wheel in enumerate(vehicle.wheels):
            v, a = (v_f, a_f) if places[w, 0] == front else (v_r, a_r)
            # The encoder sits on the body, which turns too; a contact ahead has a negative angle.
            drive.rates[k, vehicle.joint_index(wheel)] = v / radius + turn
            drive.contact[k, w] = -(a - nose)
    return drive


def _along(angle: float) -> np.ndarray:
    return np.array([math.cos(angle), math.sin(angle)])


def _normal(angle: float) -> np.ndarray:
    return np.array([-math.sin(angle), math.cos(angle)])
