"""Likely mistakes in a vehicle: no motors, millimetres, wheels in the air or all on one side.

A vehicle is sound if the engine can move it (`Vehicle` sees to that); it is plausible if it would stand and drive.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from grouser.checks import listed
from grouser.vehicles.tree import forward_kinematics
from grouser.vehicles.vehicle import Vehicle

__all__ = ["implausible"]

Array = NDArray[np.float64]
LARGEST = 20.0
"""Largest radius of a wheel [m], and, with LONGEST, signs of millimetres."""
LONGEST = 200.0
"""Largest distance of two wheels [m]."""
APART = 100.0
"""Distance of two wheels, in radii of the largest wheel, above which distance and radius have different units."""
DENSITIES = (1.0, 8000.0)
"""Mass over the volume of the box around the wheels [kg/m³]: of foam, of solid steel."""
ALOFT = 0.1
"""Height of a wheel above the plane on which others stand, as a share of its radius, from which it has no contact."""
MOST_FEET = 40
"""Wheels beyond which the plane they stand on is not searched: each three of them are tried."""
TILTED = 20.0
"""Tilt [deg] at which a vehicle stands on level ground, from which a wheel is at the wrong height."""


def implausible(vehicle: Vehicle) -> list[str]:
    """Likely mistakes, a sentence each with a remedy; none for a vehicle that would stand and drive."""
    stand = _Stand(vehicle)
    found = list(_units(stand))
    if not found:
        found = [*_masses(stand), *_overlaps(stand), *_support(stand)]
    return [*_motors(vehicle), *found, *_loose(vehicle)]


class _Stand:
    """Wheels of a vehicle at rest, in body axes."""

    def __init__(self, vehicle: Vehicle) -> None:
        self.vehicle, arrays = vehicle, vehicle.arrays
        R, p_frame = forward_kinematics(vehicle.frames, vehicle.rest)
        self.centre: Array = p_frame[arrays.wheel]
        self.axle: Array = R[arrays.wheel][:, :, 1]
        self.radius: Array = arrays.radius
        # The lowest point of a disc: down, less its part along the axle.
        down = np.array([0.0, 0.0, -1.0]) + self.axle[:, 2:] * self.axle
        length = np.linalg.norm(down, axis=1, keepdims=True)
        self.foot: Array = self.centre + self.radius[:, None] * down / np.maximum(length, 1e-9)
        mass, points = arrays.mass, p_frame + np.einsum("fij,fj->fi", R, arrays.com)
        self.com: Array = mass @ points / max(float(mass.sum()), 1e-12)
        at = arrays.hull_frame
        self.hull: Array = p_frame[at] + np.einsum("fij,fj->fi", R[at], arrays.hull_point)


def _motors(vehicle: Vehicle) -> Iterator[str]:
    if not vehicle.actuated:
        yield (
            "no joint has a motor, so no command moves it; list the driven joints (actuated = true in the rows of a"
            " vehicle file, actuated = [...] in the side file of a URDF)"
        )
    elif not vehicle.motors:
        yield f"motors turn {listed(vehicle.actuated, 4)} but no wheel; let the driven wheels be actuated too"


def _units(stand: _Stand) -> Iterator[str]:
    radius = float(stand.radius.max())
    size = max((float(np.linalg.norm(a - b)) for a, b in combinations(stand.centre, 2)), default=0.0)
    wheel = stand.vehicle.wheels[int(stand.radius.argmax())]
    if radius > LARGEST or (size > LONGEST and size < APART * radius):
        yield (
            f"wheel '{wheel}' has a radius of {radius:g} m and the wheels stand up to {size:g} m apart; lengths are in"
            " metres, these look like millimetres: divide them by 1000"
        )
    elif size > APART * radius:
        yield (
            f"the wheels stand up to {size:g} m apart and have a radius of at most {radius:g} m; lengths are in metres:"
            " is one of both in millimetres?"
        )


def _masses(stand: _Stand) -> Iterator[str]:
    vehicle = stand.vehicle
    span = np.ptp(stand.centre, axis=0) + 2.0 * stand.radius.max() * np.array([1.0, 0.5, 1.0])
    volume, mass = float(np.prod(span)), vehicle.mass
    low, high = (limit * volume for limit in DENSITIES)
    if not low <= mass <= high:
        unit = "tonnes" if mass < low else "grams"
        yield (
            f"a mass of {mass:.3g} kg is too {'small' if mass < low else 'large'} for a vehicle of"
            f" {span[0]:.2g} × {span[1]:.2g} × {span[2]:.2g} m; masses are in kilograms: are some in {unit},"
            " or missing?"
        )
    elif not any(frame.mass > 0.0 for frame in vehicle.frames if not frame.is_wheel):
        yield f"the body '{vehicle.frames[0].name}' has no mass, all {mass:.3g} kg are in the wheels; give it its mass"


def _overlaps(stand: _Stand) -> Iterator[str]:
    frames = [stand.vehicle.frames[int(i)] for i in stand.vehicle.arrays.wheel]
    for i, k in combinations(range(len(frames)), 2):
        if (frames[i].turns_with or frames[i].name) == (frames[k].turns_with or frames[k].name):
            continue  # under one belt
        apart = stand.centre[k] - stand.centre[i]
        along = abs(float(apart @ stand.axle[i]))
        across = float(np.linalg.norm(apart - (apart @ stand.axle[i]) * stand.axle[i]))
        widths = [frame.width or 0.0 for frame in (frames[i], frames[k])]
        parallel = abs(float(stand.axle[i] @ stand.axle[k])) > 0.95
        if (
            parallel
            and along <= 0.5 * sum(widths) - 1e-6 + 1e-3 * (not any(widths))
            and across < 0.98 * (stand.radius[i] + stand.radius[k])
        ):
            yield (
                f"wheels '{frames[i].name}' and '{frames[k].name}' overlap: their centres are"
                f" {float(np.linalg.norm(apart)):.3g} m apart and their radii {stand.radius[i]:g} and"
                f" {stand.radius[k]:g} m; check their places and radii"
            )
            return


def _support(stand: _Stand) -> Iterator[str]:
    """Wheels on one side, a centre of mass beyond them, wheels and hulls at wrong heights."""
    vehicle, foot = stand.vehicle, stand.foot
    n = len(foot)
    if n < 2:
        return
    middle = foot.mean(axis=0)
    _, spread, axes = np.linalg.svd(foot[:, :2] - middle[:2])
    if n == 2 or spread[1] < 0.02 * spread[0]:
        if abs(axes[0][1]) < 0.5 and n > 2:
            yield (
                f"all wheels stand on one line, {middle[1]:+.3g} m to the left: on one side only; are the others"
                " missing, or did their y lose its sign?"
            )
        else:
            yield (
                "all wheels stand on one axle, so it would fall over; add its castor or skid as a wheel with"
                " slides = 0.2"
            )
        return
    outside = _outside(foot[:, :2], stand.com[:2])
    if outside > 0.0:
        yield (
            f"the centre of mass, at x {stand.com[0]:.3g} and y {stand.com[1]:.3g} m, lies {outside:.2g} m outside the"
            " wheels, so it would tip over; check com and masses, or add the wheel, castor or skid that is missing"
        )
        return
    if any(_moves(vehicle, i) for i in vehicle.arrays.wheel):
        return  # what hangs from rockers finds the ground by itself
    plane = _plane(foot, stand.com[:2])
    if plane is None:
        return
    normal, height = plane
    tilt = float(np.degrees(np.arccos(min(normal[2], 1.0))))
    if tilt > TILTED:
        yield f"on level ground it stands tilted by {tilt:.0f}°; check the height and radius of each wheel and castor"
        return
    over = foot @ normal - height
    high = np.flatnonzero(over > ALOFT * np.maximum(stand.radius, 0.2 * stand.radius.max()) + 1e-4)
    if len(high):
        yield (
            f"wheel '{vehicle.wheels[high[0]]}' does not reach the ground: it hangs {over[high[0]]:.3g} m over the"
            " plane on which others stand; check its height and radius"
        )
    if len(stand.hull):
        under = height - (stand.hull @ normal - vehicle.arrays.hull_radius)
        worst = int(np.argmax(under))
        if under[worst] > ALOFT * float(stand.radius.max()):
            name = vehicle.frames[int(vehicle.arrays.hull_frame[worst])].name
            yield (
                f"the hull of '{name}' reaches {under[worst]:.3g} m below the wheels, so it would lie on it; name what"
                " carries it there as a wheel, or say hull = false"
            )


def _moves(vehicle: Vehicle, frame: int) -> bool:
    """Whether a passive joint, other than a swivel, lies between a wheel and the body."""
    at = int(vehicle.arrays.parent[frame])
    while at > 0:
        one = vehicle.frames[at]
        if not one.actuated and one.joint != "RZ":
            return True
        at = int(vehicle.arrays.parent[at])
    return False


def _outside(points: Array, point: Array) -> float:
    """Distance [m] of a point from the convex hull of points in the plane; 0 inside."""
    angles = np.linspace(0.0, 2.0 * np.pi, 360, endpoint=False)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    gap = float((directions @ point - (points @ directions.T).max(axis=0)).max())  # the farthest supporting line
    return max(gap - 1e-6, 0.0)


def _plane(foot: Array, com: Array) -> tuple[Array, float] | None:
    """Normal and height of the plane on which a rigid vehicle stands: three feet around the centre of mass, none below.

    None where no three do, or there are too many.
    """
    if len(foot) > MOST_FEET:
        return None
    best: tuple[Array, float] | None = None
    for three in combinations(range(len(foot)), 3):
        a, b, c = foot[list(three)]
        normal = np.cross(b - a, c - a)
        length = float(np.linalg.norm(normal))
        if length < 1e-9 or abs(normal[2]) < 1e-3 * length:
            continue
        normal = normal / length * np.sign(normal[2])
        if (foot @ normal - a @ normal).min() < -1e-6 or _outside(foot[list(three), :2], com) > 1e-6:
            continue
        if best is None or normal[2] > best[0][2]:
            best = normal, float(a @ normal)
    return best


def _loose(vehicle: Vehicle) -> Iterator[str]:
    """Passive joints that neither the ground nor a coupling holds."""
    coupled = {joint for one in vehicle.couplings for joint in one.joints}
    carries: dict[str | None, bool] = {}
    for frame in reversed(vehicle.frames):
        carries[frame.name] = carries.get(frame.name, False) or frame.is_wheel
        carries[frame.parent] = carries.get(frame.parent, False) or carries[frame.name]
    held = coupled.union(vehicle.actuated)
    loose = [name for name in vehicle.joints if name not in held and not carries[name]]
    if loose:
        carry, them = ("carries", "it") if len(loose) == 1 else ("carry", "them")
        yield (
            f"{listed(loose, 4)} {carry} no wheel and nothing holds {them}; lock (lock = [...] in the side file of a"
            f" URDF), couple or drive {them}"
        )
    # A body on level ground has three freedoms (height, roll, pitch); each passive hinge adds one, each rigid coupling
    # and each wheel takes one.
    hinges = [
        f.name
        for f in vehicle.frames[1:]
        if not f.is_wheel and not f.actuated and f.joint in ("RX", "RY", "PZ") and f.name not in loose
    ]
    sprung = {joint for one in vehicle.couplings if not one.is_rigid for joint in one.joints}
    rigid = [one for one in vehicle.couplings if one.is_rigid and set(one.joints) & set(hinges)]
    free = 3 + len([name for name in hinges if name not in sprung]) - len(rigid)
    if vehicle.n_wheels >= 3 and hinges and free > vehicle.n_wheels:
        yield (
            f"{listed(hinges, 6)} leave{'s' if len(hinges) == 1 else ''} the body {free - vehicle.n_wheels} freedom"
            f"{'' if free - vehicle.n_wheels == 1 else 's'} that the wheels do not hold; couple them (a differential:"
            " couplings = [...]) or lock some"
        )
