"""Numbers of a vehicle by name: radius, track, wheelbase, cg, and every field of every frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.vehicles import Vehicle
from grouser.vehicles.frame import Frame

AXES = ("x", "y", "z")
ANGLES = ("roll", "pitch", "yaw")
CENTRE = ("com_x", "com_y", "com_z")


def names(vehicle: Vehicle) -> list[str]:
    """All names, those of the whole vehicle first."""
    whole = ["radius", "radius.left", "radius.right", "track", "wheelbase", "mass", "cg.x", "cg.y", "cg.z"]
    frames = []
    for frame in vehicle.frames[1:]:
        fields: tuple[str, ...] = AXES + ANGLES
        if frame.is_wheel:
            fields = ("radius", *fields)
        if frame.mass > 0.0:
            fields = (*fields, "mass", *CENTRE)
        frames += [f"{frame.name}.{field}" for field in fields]
    return [n for n in whole if _applies(vehicle, n)] + frames


def get(vehicle: Vehicle, name: str) -> float:
    """The present value."""
    x, y, _ = _places(vehicle).T
    r = vehicle.arrays.radius
    if name == "radius":
        return float(r.mean())
    if name in ("radius.left", "radius.right") and _applies(vehicle, name):
        return float(r[y > 1e-6].mean() if name.endswith("left") else r[y < -1e-6].mean())
    if name == "track" and _applies(vehicle, name):
        return float(y.max() - y.min())
    if name == "wheelbase" and _applies(vehicle, name):
        return float(x.max() - x.min())
    body = vehicle.frames[0]
    if name == "mass":
        return float(body.mass)
    if name.startswith("cg.") and name[3:] in AXES:
        return float(body.com[AXES.index(name[3:])])
    frame, _, field = name.rpartition(".")
    if frame in vehicle.joints:
        return _frame_value(vehicle.frames[vehicle.frame_index(frame)], field)
    raise CalibrationError(
        f"vehicle '{vehicle.name}' has no number '{name:.60}'; it has {', '.join(names(vehicle)[:8])}, and"
        " <frame>.x y z roll pitch yaw radius mass com_x com_y com_z"
    )


def changed(vehicle: Vehicle, values: Mapping[str, float]) -> Vehicle:
    """The vehicle with some numbers changed; those of the whole vehicle first, then those of frames."""
    frames = {frame.name: frame for frame in vehicle.frames}
    body = vehicle.frames[0].name
    positions = dict(zip(vehicle.wheels, _places(vehicle), strict=True))
    for name, value in sorted(values.items(), key=lambda item: item[0].count(".")):
        get(vehicle, name)
        if name == "radius" or name.startswith("radius."):
            ratio = value / get(vehicle, name)
            side = {"radius.left": 1.0, "radius.right": -1.0}.get(name, 0.0)
            for wheel, p in positions.items():
                if side == 0.0 or side * p[1] > 1e-6:
                    frames[wheel] = replace(frames[wheel], radius=(frames[wheel].radius or 0.0) * ratio)
        elif name in ("track", "wheelbase"):
            axis = 1 if name == "track" else 0
            ratio = value / get(vehicle, name)
            for f in frames.values():
                if f.name != body:
                    xyz = list(f.xyz)
                    xyz[axis] *= ratio
                    frames[f.name] = replace(f, xyz=tuple(xyz))
        elif name == "mass":
            f = frames[body]
            ratio = value / f.mass
            inertia = np.array(f.inertia) * ratio
            frames[body] = replace(f, mass=value, inertia=tuple(map(tuple, inertia)))
        elif name.startswith("cg."):
            com = list(frames[body].com)
            com[AXES.index(name[3:])] = value
            frames[body] = replace(frames[body], com=tuple(com))
        else:
            frame, _, field = name.rpartition(".")
            frames[frame] = _with_field(frames[frame], field, value)
    return replace(vehicle, frames=tuple(frames.values()))


@lru_cache(maxsize=64)
def _places(vehicle: Vehicle) -> FloatArray:
    """Wheel centres in the body with the joints at rest, (nw, 3) [m]."""
    return vehicle.wheel_positions


def _applies(vehicle: Vehicle, name: str) -> bool:
    p = _places(vehicle)
    if name in ("radius.left", "radius.right"):
        return bool((p[:, 1] > 1e-6).any() and (p[:, 1] < -1e-6).any())
    if name == "track":
        return float(np.ptp(p[:, 1])) > 1e-6
    if name == "wheelbase":
        return float(np.ptp(p[:, 0])) > 1e-6
    return True


def _frame_value(frame: Frame, field: str) -> float:
    if field in AXES:
        return float(frame.xyz[AXES.index(field)])
    if field in ANGLES:
        return float(frame.rpy[ANGLES.index(field)])
    if field in CENTRE:
        return float(frame.com[CENTRE.index(field)])
    if field == "mass":
        return float(frame.mass)
    if field == "radius" and frame.radius is not None:
        return float(frame.radius)
    raise CalibrationError(
        f"frame '{frame.name}' has no number '{field:.40}'; it has x, y, z, roll, pitch, yaw, mass, com_x, com_y, com_z"
        + (", radius" if frame.is_wheel else "")
    )


def _with_field(frame: Frame, field: str, value: float) -> Frame:
    for group, attribute in ((AXES, "xyz"), (ANGLES, "rpy"), (CENTRE, "com")):
        if field in group:
            values = list(getattr(frame, attribute))
            values[group.index(field)] = value
            return replace(frame, **{attribute: tuple(values)})  # type: ignore[arg-type]  # a field of that type
    return replace(frame, **{field: value})  # type: ignore[arg-type]  # radius or mass
