"""One wheel that rolls over a ground, and slides where given a sliding velocity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser import rotation
from grouser._kernels.rolling import contact as kernels
from grouser._kernels.simulation import step as codes
from grouser.checks import FloatArray, array, count, instance, positive
from grouser.errors import SimulationError
from grouser.rolling.closure import contact_angle, ground_frame, on_ground, on_tyre
from grouser.terrain import Terrain

AXES = ("world", "wheel", "contact")
Velocity = ArrayLike | Callable[[float], ArrayLike]


@dataclass(frozen=True)
class Torus:
    """A wheel with a round tyre; axle along y. u runs around the wheel, v across the tyre; u = π is its lowest point.

    w(u, v) = ((R + r cos v) sin u, r sin v, (R + r cos v) cos u).
    """

    rim_radius: float
    """R [m] > 0: of the circle in the middle of the tyre."""
    tyre_radius: float
    """r [m] > 0: of the tyre's cross-section, at most R. The wheel's outer radius is R + r."""

    def __post_init__(self) -> None:
        rim = positive(self.rim_radius, "torus rim_radius")
        tyre = positive(self.tyre_radius, "torus tyre_radius")
        if tyre > rim:
            raise SimulationError(
                f"torus tyre_radius: {tyre:g} m is larger than the rim radius {rim:g} m, and the tyre would pass "
                "through itself; it must be at most the rim radius"
            )
        object.__setattr__(self, "rim_radius", rim)
        object.__setattr__(self, "tyre_radius", tyre)


@dataclass(frozen=True)
class Rolling:
    """A wheel that rolled; the first axis of every array is time."""

    time: FloatArray
    """[s], (n,)."""
    eta: FloatArray
    """u, v [rad], x, y [m], ψ [rad], (n, 5): contact on wheel and ground, angle about the normal, not wrapped."""
    rotation: FloatArray
    """R_world_wheel, (n, 3, 3)."""
    centre: FloatArray
    """Position of the wheel's frame [m], (n, 3)."""
    contact: FloatArray
    """Position of the contact on the ground [m], (n, 3)."""


def roll_wheel(
    wheel: Torus,
    ground: Terrain,
    omega: Velocity,
    *,
    start: ArrayLike,
    duration: float,
    dt: float = 0.01,
    sliding: Velocity = (0.0, 0.0, 0.0),
    axes: str = "world",
) -> Rolling:
    """Roll a wheel with a given angular velocity, by Runge–Kutta steps of the fourth order.

    wheel: a torus.
    ground: a twice-differentiable terrain.
    omega: angular velocity relative to the ground (3,) [rad/s], or a function of the time [s] that returns it.
    start: η = (u, v, x, y, ψ) at time 0; an upright wheel that heads along +x on level ground has (π, 0, x, y, π).
    duration, dt: [s]; the result has a row every dt.
    sliding: velocity (3,) [m/s] of the wheel's own point at the contact, or a function; its part along the normal
        is left out.
    axes: in which omega and sliding are: "world", "wheel", or "contact", the wheel's contact frame of R (16.1).
    """
    instance(wheel, Torus, "wheel", "use grouser.rolling.Torus(rim_radius, tyre_radius)")
    law = instance(ground, Terrain, "ground", "use grouser.terrain.spline(...) or another").curvature
    if axes not in AXES:
        raise SimulationError(f"axes: {axes!r:.40} is not one of {', '.join(AXES)}")
    eta = array(start, "start", (5,))
    dt = positive(dt, "dt")
    rows = 1 + count(round(positive(duration, "duration") / dt), "duration over dt", most=10**7)
    time = np.arange(rows, dtype=np.float64) * dt
    job = kernels.RollingWheel.zeros(
        rows=rows, halves=2 * rows - 1, address=law.address, par=law.par_address,
        rim=wheel.rim_radius, tyre=wheel.tyre_radius, dt=dt, given=AXES.index(axes),
    )  # fmt: skip
    job.twist[:, :3] = _samples(omega, "omega", 0.5 * dt, 2 * rows - 1)
    job.twist[:, 3:] = _samples(sliding, "sliding", 0.5 * dt, 2 * rows - 1)
    job.states[0, :4] = rotation.to_quaternion(_orientation(wheel, ground, eta))
    job.states[0, 7:] = eta[:4]
    status, filled = kernels.roll_torus(job)
    contact = job.states[:, 7:].copy()
    if status != codes.OK:
        when = f"rolling stopped after {(filled - 1) * dt:g} s: " if filled else ""
        raise SimulationError(when + _reason(status, contact[max(filled - 1, 0)]))
    R = rotation.from_quaternion(job.states[:, :4])
    u, v, x, y = contact.T
    tyre, touched = on_tyre(wheel.rim_radius, wheel.tyre_radius, u, v), on_ground(ground, x, y)
    e_u = np.einsum("kij,kj->ki", R, tyre.frame[..., 0])
    psi = contact_angle(ground_frame(touched), e_u)
    return Rolling(
        time=time,
        eta=np.column_stack((contact, np.unwrap(np.append(eta[4], psi))[1:])),
        rotation=R,
        centre=touched.point - np.einsum("kij,kj->ki", R, tyre.point),
        contact=touched.point,
    )


def _orientation(wheel: Torus, ground: Terrain, eta: FloatArray) -> FloatArray:
    """R_world_wheel of a wheel that touches the ground at η: its normal is opposite to the ground's."""
    u, v, x, y, psi = eta
    c, s = np.cos(psi), np.sin(psi)
    between = np.array([[c, -s, 0.0], [-s, -c, 0.0], [0.0, 0.0, -1.0]])
    R: FloatArray = (
        ground_frame(on_ground(ground, x, y)) @ between @ on_tyre(wheel.rim_radius, wheel.tyre_radius, u, v).frame.T
    )
    return R


def sharp_sentence(x: float, y: float) -> str:
    """The message where the curvature condition fails."""
    return (
        f"at the ground's ({x:g}, {y:g}) the ground bends more sharply than the wheel, which cannot touch it at one "
        "point; smooth the ground or use a smaller wheel or tyre"
    )


def _samples(velocity: Velocity, name: str, dt: float, count: int) -> FloatArray:
    """At `count` times, dt [s] apart, (count, 3)."""
    if callable(velocity):
        return np.array([array(velocity(dt * k), f"{name}({dt * k:g})", (3,)) for k in range(count)])
    return np.tile(array(velocity, name, (3,)), (count, 1))


def _reason(status: int, contact: FloatArray) -> str:
    x, y = contact[2:]
    if status == codes.TOO_SHARP:
        return sharp_sentence(x, y)
    if status == codes.OFF_TERRAIN:
        return f"the map ends near (x, y) = ({x:.9g}, {y:.9g}) m; use a larger map or a shorter duration"
    return "the contact left every bound; use a smaller dt or angular velocity"
