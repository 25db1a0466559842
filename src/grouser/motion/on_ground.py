"""A calibrated motion model on any ground: the model that the engine rolls out, draws of it, and its process noise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from grouser import checks
from grouser._kernels.kinematics.probe import centre_forces
from grouser.checks import FloatArray
from grouser.collision.frames import with_scratch
from grouser.errors import CalibrationError
from grouser.kinematics import Kinematics
from grouser.model import Model
from grouser.motion.correction import STEADY, TERMS, Corrected
from grouser.motion.fit import Fit
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameters import ParameterVector
from grouser.motion.planar import Bicycle, DifferentialDrive, FourNumbers, TwoSided, nominal_model
from grouser.motion.powertrain import Powertrain
from grouser.motion.slip_surface import Perturbative
from grouser.motion.velocity import Inputs, VelocityModel, rim_speed, twists
from grouser.once import once_each
from grouser.slip import SurfaceSlip
from grouser.vehicles import Vehicle

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics

FIRST_STEADY = 5
"""Position of the first steady one among the terms of a learned correction."""


def engine_model(motion: MotionModel) -> Kinematics | Dynamics:
    """The model that the engine rolls out on any ground; `left_out` says what of the motion model it has not.

    Kinematics and dynamics are taken as they are. The slip surface, its learned correction and the planar baselines
    become slip of a `Kinematics`, added to the body. Their odometry is that of `nominal_model`, which is not what the
    wheels' least squares give: of a skid-steered vehicle these turn less, as they share the slip in a turn among all
    directions. The difference, linear in v_x and ω_z, is measured on a plane and added, so that on planes the body
    velocity is that of the motion model exactly if the wheels of a side turn alike, and if steered wheels point to one
    centre. On rough ground, with wheels at different contact angles, it is an approximation. The centre of mass is
    taken where the joints rest.
    """
    if isinstance(motion.model, Model):
        return motion.model
    model = motion.model
    if isinstance(model, Bicycle):  # its steering offset and wheelbase are of the vehicle
        model = replace(model, vehicle=model.driven_vehicle)
    return Kinematics(model.vehicle, slip=_surface(model))


def left_out(motion: MotionModel) -> str | None:
    """What `engine_model` leaves out of a motion model, in a sentence; None: nothing."""
    model = motion.model
    if isinstance(model, Corrected) and min(model.terms) <= FIRST_STEADY:
        return "the learned correction is used without its transient terms, which need the speeds of the last second"
    return None


def _surface(model: VelocityModel) -> SurfaceSlip:
    vehicle = model.vehicle
    steady = np.array([np.inf, np.inf, *np.zeros(11)])
    if isinstance(model, Perturbative):
        slip, by_distance = model.slip, model.gravity_grows == "distance"
        if isinstance(model, Corrected):
            steady = _steady(model)
    else:
        slip, by_distance = _baseline(model), False
    return SurfaceSlip(
        coefficients=slip,
        by_distance=by_distance,
        centre=_centre(vehicle),
        match=_match(vehicle),
        wheels=_rims(vehicle),
        steady=steady,
    )


def _steady(model: Corrected) -> FloatArray:
    """Reach, coefficients of steady terms and what is added beyond the reach, as `SurfaceSlip.steady` takes them."""
    out = np.zeros(len(TERMS))
    n = len(model.terms)
    out[[k - 1 for k in model.terms]] = model.correction[:n] * model.widths
    assert all(TERMS[k].group == STEADY for k in range(FIRST_STEADY, len(TERMS)))
    beyond = np.zeros(6)
    beyond[model.table.corner_rows] = model.correction[n:] * model.table.corners
    return np.concatenate([model.reach[:2], out[FIRST_STEADY:], beyond[[3, 4, 2]]])


def _baseline(model: VelocityModel) -> FloatArray:
    """A planar baseline as α of P (13): its difference from the plain odometry of its vehicle."""
    x, y = model.vehicle.drive_point
    name = type(model).__name__
    if isinstance(model, TwoSided) and (model.left is not None or model.right is not None):
        raise CalibrationError(f"{name} of chosen wheels cannot be driven over a ground; leave out left and right")
    match model:  # gains of speed and turn rate; d and c as in `FourNumbers`
        case DifferentialDrive():
            v, w, d, c = 1.0, model.yaw_gain, -x, 0.0
        case FourNumbers():
            v, w, d, c = model.speed_gain, model.yaw_gain, model.lateral, model.yaw_per_speed
        case Bicycle():
            v, w, d, c = model.speed_gain, model.speed_gain, -x, 0.0
        case _:
            raise CalibrationError(
                f"{name} cannot be driven over a ground; use grouser.Kinematics, Dynamics or a surface"
            )
    if y != 0.0 and not isinstance(model, Bicycle):
        raise CalibrationError(
            f"{name} of '{model.vehicle.name}', whose drive point lies {y:g} m aside, cannot be driven over a ground"
        )
    alpha = np.zeros(13)
    alpha[[0, 4, 5, 8, 9]] = v - 1.0, d * c * v, d * w + x, c * v, w - 1.0
    return alpha


@once_each
def _centre(vehicle: Vehicle) -> FloatArray:
    """Centre of mass in the body with the joints at rest [m], (3,)."""
    q = np.concatenate([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], vehicle.rest])[None]
    centre, force = np.zeros((1, 3)), np.zeros((1, 3))
    with_scratch(centre_forces, vehicle.arrays, 0.0, q, np.zeros((1, 6 + vehicle.n_joints)), centre, force)
    return np.asarray(centre[0])


@once_each
def _match(vehicle: Vehicle) -> FloatArray:
    """What V_x, V_y, V_θ of the plain odometry have more than those of the wheels, per v_x and ω_z of these, (3, 2)."""
    if any(vehicle.steered):
        return np.zeros((3, 2))  # wheels that point to one centre roll without slip: both are the same
    rates = np.full((2, vehicle.n_joints), np.nan)
    _, y, _ = vehicle.wheel_positions.T
    driven = np.isin(vehicle.arrays.wheel - 1, vehicle.arrays.actuated)
    for w in np.flatnonzero(driven):
        j, r = vehicle.arrays.wheel[w] - 1, vehicle.arrays.radius[w]
        rates[:, j] = (1.0 - y[w]) / r, (1.0 + y[w]) / r
    inputs = Inputs(
        time=np.arange(2.0), attitude=np.zeros((2, 2)), rates=rates, angles=np.full((2, vehicle.n_joints), np.nan)
    )
    axes = [3, 4, 2]
    wanted = nominal_model(vehicle).twists(inputs)[:, axes]
    found = twists(Kinematics(vehicle), inputs)[:, axes]
    return np.ascontiguousarray(np.linalg.lstsq(found[:, [0, 2]], wanted - found, rcond=None)[0].T)


@once_each
def _rims(vehicle: Vehicle) -> FloatArray:
    """x, y [m] of the driven wheels and whether each is steered, (k, 3)."""
    driven = np.isin(vehicle.arrays.wheel - 1, vehicle.arrays.actuated)
    x, y, _ = vehicle.wheel_positions.T
    return np.column_stack([x, y, np.array(vehicle.steered, dtype=np.float64)])[driven]


def draws(motion: Fit | MotionModel, count: int, seed: int = 0) -> list[MotionModel]:
    """Motion models with parameters drawn from the covariance of a fit, kept within their bounds.

    The first of more draws are those of fewer. The ground is not that of the log, so the spread between grounds is
    added, that of the fit or a default (`ground_spread`). A motion model has no covariance: it is returned `count`
    times.
    """
    from grouser.motion.ground_draws import ground_spread  # which drives a few arcs

    n = checks.count(count, "count")
    rng = np.random.default_rng((0, checks.count(seed, "seed", least=0, most=2**63 - 1)))
    if not isinstance(motion, Fit):
        return [motion] * n
    if not len(motion.covariance):
        return [motion.model] * n
    P = motion.covariance + ground_spread(motion)
    vector = ParameterVector(motion.model, [p.name for p in motion.systematic])
    values, vectors = np.linalg.eigh(0.5 * (P + P.T))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    X = motion.vector[: len(P)] + rng.standard_normal((n, len(P))) @ root.T
    lower, upper = np.array([(p.lower, p.upper) for p in motion.systematic]).T
    return [vector.model(x) for x in np.clip(X, lower, upper)]


def scaled_noise(noise: Noise, speed: FloatArray, dt: float, unit: FloatArray) -> FloatArray:
    """Disturbances of the body velocity (ω, v) in steps of dt [s], (…, T, 6), for rim speeds (…, T) [m/s].

    unit: standard normal numbers (…, T, 2, nd). Added to the velocity of a step, white noise moves the vehicle by its
    density per second or metre. Noise that wanders is held over a step: steps are short compared to its length.
    `driven_speed` gives the rim speeds.
    """
    n = len(noise.components)
    intensity = np.asarray(speed) if noise.grows == "distance" else np.ones(np.shape(speed))
    distance = intensity * dt
    values, vectors = np.linalg.eigh(noise.density)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    moved = np.sqrt(distance)[..., None] * (unit[..., 0, :] @ root)
    if noise.wander is not None:
        keep = np.exp(-distance / noise.length)
        fresh = np.sqrt(np.maximum(1.0 - keep**2, 0.0))
        slip, sigma = np.empty((*distance.shape, n)), np.sqrt(noise.wander)
        # Stationary from the first step on; then each keeps its share of the last.
        slip[..., 0, :] = unit[..., 0, 1, :]
        for k in range(1, distance.shape[-1]):
            slip[..., k, :] = keep[..., k, None] * slip[..., k - 1, :] + fresh[..., k, None] * unit[..., k, 1, :]
        moved = moved + distance[..., None] * sigma * slip
    out = np.zeros((*distance.shape, 6))
    out[..., noise.indices] = moved / dt
    return out


def driven_speed(vehicle: Vehicle, rates: FloatArray) -> FloatArray:
    """Mean rim speed of the driven wheels [m/s], (…,), for rates of the actuated joints (…, na)."""
    joints = np.full((*rates.shape[:-1], vehicle.n_joints), np.nan)
    joints[..., vehicle.arrays.actuated] = rates
    return rim_speed(vehicle, joints)


def driven_rates(powertrain: Powertrain | None, commands: FloatArray, dt: float) -> FloatArray:
    """Mean rates over each step for commands (…, T, na) held for dt [s] each, behind a powertrain.

    It begins as if the first command had been held for long. Exact: of rate′ = (gain · command − rate)/τ the mean over
    a step is gain · mean command − τ Δrate/dt.
    """
    if powertrain is None:
        return commands
    flat = np.moveaxis(np.asarray(commands, dtype=np.float64), -2, 0)
    steps = len(flat)
    wide = flat.reshape(steps, -1)
    time = dt * np.arange(steps + 1, dtype=np.float64)
    rate = powertrain.rates(time, np.concatenate([wide, wide[-1:]]))
    late = powertrain.delay / dt
    whole = int(np.floor(late + 1e-9))
    share = max(late - whole, 0.0)
    rows = np.arange(steps) - whole
    held = (1.0 - share) * wide[np.maximum(rows, 0)] + share * wide[np.maximum(rows - 1, 0)]
    mean = powertrain.gain * held - powertrain.time_constant * np.diff(rate, axis=0) / dt
    return np.ascontiguousarray(np.moveaxis(mean.reshape(flat.shape), 0, -2))
