"""One wheel or ball that rolls, and slides if told to, over a surface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser._kernels.rolling import contact as kernels
from grouser.checks import FloatArray, array, count, positive
from grouser.errors import SimulationError
from grouser.rolling.contact import contact_matrix, sharp_sentence, wheel_pose
from grouser.rolling.surfaces import GroundSurface, Surface, Torus
from grouser.terrain.ground import Terrain

AXES = ("world", "wheel", "contact")
METHODS = ("rk4", "adaptive")
Velocity = ArrayLike | Callable[[float], ArrayLike]


@dataclass(frozen=True)
class Rolling:
    """A wheel that rolled; the first axis of every array is time."""

    time: FloatArray
    """[s], (n,)."""
    eta: FloatArray
    """u, v [rad], x, y [m], ψ [rad], (n, 5): contact on wheel and ground, angle about the normal; it goes on past π."""
    rotation: FloatArray
    """R_world_wheel, (n, 3, 3)."""
    centre: FloatArray
    """Position of the wheel's frame [m], (n, 3)."""
    contact: FloatArray
    """Position of the contact on the ground [m], (n, 3)."""


def roll_wheel(
    wheel: Surface,
    ground: Terrain | Surface,
    omega: Velocity,
    *,
    start: ArrayLike,
    duration: float,
    dt: float = 0.01,
    sliding: Velocity = (0.0, 0.0, 0.0),
    axes: str = "world",
    method: str | None = None,
) -> Rolling:
    """Roll a wheel with a given angular velocity.

    wheel: Torus, Sphere or Ellipsoid.
    ground: a twice-differentiable terrain, or another surface that stands still.
    omega: angular velocity relative to the ground (3,) [rad/s], or a function of the time [s] that returns it.
    start: η = (u, v, x, y, ψ) at time 0; an upright wheel that heads along +x on level ground has (π, 0, x, y, π).
    duration, dt: [s]; the result has a row every dt.
    sliding: velocity (3,) [m/s] of the wheel's own point at the contact, or a function; its part along the normal
        is left out.
    axes: in which omega and sliding are: "world", "wheel", or "contact", the wheel's contact frame of R (16.1).
    method: "rk4", compiled, of the fourth order with step dt, for a torus on a terrain; "adaptive", (16.3) by SciPy's
        DOP853 to 1e-12, for any two surfaces; None for the first where it can be used.
    """
    surface = GroundSurface(ground) if isinstance(ground, Terrain) else ground
    quick = isinstance(wheel, Torus) and isinstance(surface, GroundSurface)
    method = method or ("rk4" if quick else "adaptive")
    if method not in METHODS or (method == "rk4" and not quick):
        raise SimulationError(f"method: {method!r:.40} is not 'adaptive', or 'rk4' for a torus on a terrain")
    if axes not in AXES:
        raise SimulationError(f"axes: {axes!r:.40} is not one of {', '.join(AXES)}")
    eta = array(start, "start", (5,))
    dt = positive(dt, "dt")
    steps = count(round(positive(duration, "duration") / dt), "duration over dt", most=10**7)
    contact_matrix(wheel, surface, eta)  # refuses a start where they cannot touch
    if isinstance(wheel, Torus) and isinstance(surface, GroundSurface) and method == "rk4":
        return _by_kernel(wheel, surface, omega, sliding, AXES.index(axes), eta, dt, steps)
    return _by_scipy(wheel, surface, omega, sliding, axes, eta, dt, steps)


def _by_kernel(
    wheel: Torus,
    ground: GroundSurface,
    omega: Velocity,
    sliding: Velocity,
    axes: int,
    eta: FloatArray,
    dt: float,
    steps: int,
) -> Rolling:
    twist = np.hstack(
        [_samples(velocity, name, dt, steps) for velocity, name in ((omega, "omega"), (sliding, "sliding"))]
    )
    rotation = np.empty((steps + 1, 3, 3))
    contact = np.empty((steps + 1, 4))
    R, _ = wheel_pose(wheel, ground, eta)
    law = ground.terrain.curvature
    status, rows = kernels.roll_torus(
        law.address,
        law.par_address,
        wheel.rim_radius,
        wheel.tyre_radius,
        np.ascontiguousarray(twist),
        axes,
        dt,
        np.ascontiguousarray(R),
        eta[:4].copy(),
        rotation,
        contact,
    )
    if status != kernels.OK:
        raise SimulationError(f"rolling stopped after {(rows - 1) * dt:g} s: {_reason(status, contact[rows - 1])}")
    u, v, x, y = contact.T
    reach = wheel.rim_radius + wheel.tyre_radius * np.cos(v)
    points = np.column_stack((reach * np.sin(u), wheel.tyre_radius * np.sin(v), reach * np.cos(u)))
    sample = ground.terrain.sample(x, y)
    touched = np.column_stack((x, y, sample.height))
    e_u = np.einsum("kij,kj->ki", rotation, np.column_stack((np.cos(u), np.zeros_like(u), -np.sin(u))))
    e_1 = np.column_stack((np.ones_like(x), np.zeros_like(x), sample.gradient[:, 0]))
    e_1 /= np.linalg.norm(e_1, axis=1)[:, None]
    e_2 = np.cross(sample.normal, e_1)
    psi = np.arctan2(-np.sum(e_2 * e_u, axis=1), np.sum(e_1 * e_u, axis=1))
    return Rolling(
        time=np.arange(steps + 1, dtype=np.float64) * dt,
        eta=np.column_stack((contact, np.unwrap(np.append(eta[4], psi))[1:])),
        rotation=rotation,
        centre=touched - np.einsum("kij,kj->ki", rotation, points),
        contact=touched,
    )


def _by_scipy(
    wheel: Surface,
    ground: Surface,
    omega: Velocity,
    sliding: Velocity,
    axes: str,
    eta: FloatArray,
    dt: float,
    steps: int,
) -> Rolling:
    from scipy.integrate import solve_ivp

    def rates(t: float, eta: FloatArray) -> FloatArray:
        vectors = np.array([_at(omega, "omega", t), _at(sliding, "sliding", t)])
        if axes != "contact":
            frame = wheel.forms(eta[0], eta[1]).frame
            if axes == "world":
                frame = wheel_pose(wheel, ground, eta)[0] @ frame
            vectors = vectors @ frame
        result: FloatArray = contact_matrix(wheel, ground, eta) @ np.concatenate((vectors[0], vectors[1, :2]))
        return result

    time = np.arange(steps + 1, dtype=np.float64) * dt
    found = solve_ivp(rates, (0.0, time[-1]), eta, method="DOP853", t_eval=time, rtol=1e-12, atol=1e-13)
    if not found.success:
        raise SimulationError(f"rolling stopped after {found.t[-1]:g} s: {found.message}")
    rows = np.ascontiguousarray(found.y.T)
    poses = [wheel_pose(wheel, ground, row) for row in rows]
    return Rolling(
        time=time,
        eta=rows,
        rotation=np.array([R for R, _ in poses]),
        centre=np.array([p for _, p in poses]),
        contact=np.array([ground.derivatives(x, y)[0] for x, y in rows[:, 2:4]]),
    )


def _at(velocity: Velocity, name: str, t: float) -> FloatArray:
    if callable(velocity):
        return array(velocity(t), f"{name}({t:g})", (3,))
    return array(velocity, name, (3,))


def _samples(velocity: Velocity, name: str, dt: float, steps: int) -> FloatArray:
    """Every half step, (2 steps + 1, 3)."""
    if callable(velocity):
        return np.array([_at(velocity, name, 0.5 * dt * k) for k in range(2 * steps + 1)])
    return np.tile(_at(velocity, name, 0.0), (2 * steps + 1, 1))


def _reason(status: int, contact: FloatArray) -> str:
    if status == kernels.TOO_SHARP:
        return sharp_sentence(contact)
    if status == kernels.OFF_TERRAIN:
        return f"the map ends near (x, y) = ({contact[2]:g}, {contact[3]:g}) m; use a larger map or a shorter duration"
    return "the contact left every bound; use a smaller dt or angular velocity"
