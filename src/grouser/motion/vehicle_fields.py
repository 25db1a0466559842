"""Numbers of a vehicle by name: radius, track, wheelbase, mass, cg, every field of every frame, and its springs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from grouser.once import once_each
from grouser.vehicles import Vehicle
from grouser.vehicles.rows import Frame

PARTS = {
    **{axis: ("xyz", i) for i, axis in enumerate("xyz")},
    **{angle: ("rpy", i) for i, angle in enumerate(("roll", "pitch", "yaw"))},
    **{f"com_{axis}": ("com", i) for i, axis in enumerate("xyz")},
}
"""Fields of a frame that are one number of several, with their place."""
SIDES = {"radius": 0.0, "radius.left": 1.0, "radius.right": -1.0}
SCALED = {"track": 1, "wheelbase": 0}
"""Axis along which all frames move."""
SPRING = "coupling."
"""Prefix of the names of spring parameters."""
ASIDE = 1e-6
"""Distance from the middle from which a wheel belongs to a side [m]."""


@once_each
def numbers(vehicle: Vehicle) -> Mapping[str, float]:
    """All numbers by name, those of the whole vehicle first."""
    x, y, _ = vehicle.wheel_positions.T
    r, body = vehicle.arrays.radius, vehicle.frames[0]
    if (count := vehicle.n_wheels - len(vehicle.sliding)) > 0:  # balls stand last; they do not roll
        x, y, r = x[:count], y[:count], r[:count]
    out = {"radius": float(r.mean())}
    if (y > ASIDE).any() and (y < -ASIDE).any():
        out |= {"radius.left": float(r[y > ASIDE].mean()), "radius.right": float(r[y < -ASIDE].mean())}
    out |= {name: float(np.ptp(p)) for name, p in (("track", y), ("wheelbase", x)) if np.ptp(p) > ASIDE}
    out |= {"mass": float(body.mass), **{f"cg.{axis}": float(c) for axis, c in zip("xyz", body.com, strict=True)}}
    for frame in vehicle.frames[1:]:
        own_radius = ["radius"] if frame.is_wheel and frame.has_own_turn else []
        fields = [*own_radius, "x", "y", "z", "roll", "pitch", "yaw", "mass", "com_x", "com_y", "com_z"]
        out |= {f"{frame.name}.{field}": _get(frame, field) for field in fields}
    for spring in vehicle.couplings:
        if spring.stiffness is not None:
            out[f"{SPRING}{spring.name}.stiffness"] = spring.stiffness
            out[f"{SPRING}{spring.name}.damping"] = spring.damping or 0.0
    return out


@once_each
def listed(vehicle: Vehicle) -> list[str]:
    """Names of all numbers but those of the mass of frames that have none."""
    bare = [frame.name for frame in vehicle.frames[1:] if frame.mass <= 0.0]
    left_out = {f"{name}.{field}" for name in bare for field in ("mass", "com_x", "com_y", "com_z")}
    return [name for name in numbers(vehicle) if name not in left_out]


def changed(vehicle: Vehicle, values: Mapping[str, float]) -> Vehicle:
    """The vehicle with some numbers changed; those of the whole vehicle first, then those of frames."""
    now = numbers(vehicle)
    frames = {frame.name: frame for frame in vehicle.frames}
    body = vehicle.frames[0].name
    springs = {c.name: c for c in vehicle.couplings}
    for name, value in sorted(values.items(), key=lambda item: item[0].count(".")):
        f = frames[body]
        if name in SIDES:
            for wheel, p in zip(vehicle.wheels, vehicle.wheel_positions, strict=True):
                of_side = SIDES[name] == 0.0 or SIDES[name] * p[1] > ASIDE
                if of_side and wheel not in vehicle.sliding:
                    frames[wheel] = replace(frames[wheel], radius=(frames[wheel].radius or 0.0) * (value / now[name]))
        elif name in SCALED:
            for other in list(frames.values()):
                if other is not f:
                    xyz = list(other.xyz)
                    xyz[SCALED[name]] *= value / now[name]
                    frames[other.name] = replace(other, xyz=tuple(xyz))
        elif name == "mass":
            inertia = np.array(f.inertia) * (value / f.mass)
            frames[body] = replace(f, mass=value, inertia=tuple(map(tuple, inertia)))
        elif name.startswith(SPRING):
            spring, _, field = name.removeprefix(SPRING).rpartition(".")
            change: dict[str, Any] = {field: value}
            springs[spring] = replace(springs[spring], **change)
        elif name.startswith("cg."):
            frames[body] = _put(f, f"com_{name[3:]}", value)
        else:
            frame, _, field = name.rpartition(".")
            alike = [one.name for one in vehicle.frames if field == "radius" and one.turns_with == frame]
            for of in [frame, *alike]:
                frames[of] = _put(frames[of], field, value)
    return replace(vehicle, frames=tuple(frames.values()), couplings=tuple(springs.values()))


def _get(frame: Frame, field: str) -> float:
    attribute, i = PARTS.get(field, (field, None))
    value = getattr(frame, attribute)
    return float(value if i is None else value[i])


def _put(frame: Frame, field: str, value: float) -> Frame:
    attribute, i = PARTS.get(field, (field, None))
    whole: Any = value
    if i is not None:
        whole = list(getattr(frame, attribute))
        whole[i] = value
    return replace(frame, **{attribute: whole})
