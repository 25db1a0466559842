"""One wheel or ball that rolls, and slides where given a sliding velocity, over a surface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser import rotation
from grouser._kernels.rolling import contact as kernels
from grouser._kernels.simulation import step as codes
from grouser.checks import FloatArray, array, count, positive
from grouser.errors import SimulationError
from grouser.rolling.contact import contact_angle, contact_matrix, sharp_sentence, wheel_pose
from grouser.rolling.surfaces import GroundSurface, Surface, Torus
from grouser.terrain.ground import Terrain

AXES = ("world", "wheel", "contact")
METHODS = ("rk4", "adaptive")
NAMES = ("omega", "sliding")
Velocity = ArrayLike | Callable[[float], ArrayLike]
Twist = tuple[Velocity, Velocity]


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
    time = np.arange(steps + 1, dtype=np.float64) * dt
    if isinstance(wheel, Torus) and isinstance(surface, GroundSurface) and method == "rk4":
        return _by_kernel(wheel, surface, (omega, sliding), axes, time, eta)
    return _by_scipy(wheel, surface, (omega, sliding), axes, time, eta)


def _by_kernel(
    wheel: Torus,
    ground: GroundSurface,
    velocities: Twist,
    axes: str,
    time: FloatArray,
    eta: FloatArray,
) -> Rolling:
    law, rows = ground.terrain.curvature, len(time)
    job = kernels.RollingWheel.zeros(
        rows=rows,
        halves=2 * rows - 1,
        address=law.address,
        par=law.par_address,
        rim=wheel.rim_radius,
        tyre=wheel.tyre_radius,
        dt=time[1],
        given=AXES.index(axes),
    )
    job.twist[:] = np.hstack(
        [_samples(v, name, 0.5 * time[1], 2 * rows - 1) for v, name in zip(velocities, NAMES, strict=True)]
    )
    job.states[0, :4] = rotation.to_quaternion(wheel_pose(wheel, ground, eta)[0])
    job.states[0, 7:] = eta[:4]
    status, filled = kernels.roll_torus(job)
    contact = job.states[:, 7:].copy()
    if status != codes.OK:
        reason = _reason(status, contact[filled - 1])
        raise SimulationError(f"rolling stopped after {(filled - 1) * time[1]:g} s: {reason}")
    u, v, x, y = contact.T
    R, touched = rotation.from_quaternion(job.states[:, :4]), ground.forms(x, y).point
    psi = contact_angle(wheel, ground, contact, R)
    return Rolling(
        time=time,
        eta=np.column_stack((contact, np.unwrap(np.append(eta[4], psi))[1:])),
        rotation=R,
        centre=touched - np.einsum("kij,kj->ki", R, wheel.forms(u, v).point),
        contact=touched,
    )


def _by_scipy(
    wheel: Surface, ground: Surface, velocities: Twist, axes: str, time: FloatArray, eta: FloatArray
) -> Rolling:
    from scipy.integrate import solve_ivp

    def rates(t: float, eta: FloatArray) -> FloatArray:
        vectors = np.array([_at(velocity, name, t) for velocity, name in zip(velocities, NAMES, strict=True)])
        if axes != "contact":
            frame = wheel.forms(eta[0], eta[1]).frame
            if axes == "world":
                frame = wheel_pose(wheel, ground, eta)[0] @ frame
            vectors = vectors @ frame
        result: FloatArray = contact_matrix(wheel, ground, eta) @ np.concatenate((vectors[0], vectors[1, :2]))
        return result

    found = solve_ivp(rates, (0.0, time[-1]), eta, method="DOP853", t_eval=time, rtol=1e-12, atol=1e-13)
    if not found.success:
        raise SimulationError(f"rolling stopped after {found.t[-1]:g} s: {found.message}")
    rows = np.ascontiguousarray(found.y.T)
    R, centre = wheel_pose(wheel, ground, rows)
    return Rolling(time, rows, R, centre, ground.forms(rows[:, 2], rows[:, 3]).point)


def _at(velocity: Velocity, name: str, t: float) -> FloatArray:
    if callable(velocity):
        return array(velocity(t), f"{name}({t:g})", (3,))
    return array(velocity, name, (3,))


def _samples(velocity: Velocity, name: str, dt: float, count: int) -> FloatArray:
    """At `count` times, dt [s] apart, (count, 3)."""
    if callable(velocity):
        return np.array([_at(velocity, name, dt * k) for k in range(count)])
    return np.tile(_at(velocity, name, 0.0), (count, 1))


def _reason(status: int, contact: FloatArray) -> str:
    x, y = contact[2:]
    if status == codes.TOO_SHARP:
        return sharp_sentence(x, y)
    if status == codes.OFF_TERRAIN:
        return f"the map ends near (x, y) = ({x:g}, {y:g}) m; use a larger map or a shorter duration"
    return "the contact left every bound; use a smaller dt or angular velocity"
