"""A vehicle as a text table, for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grouser.vehicles.rows import Coupling
    from grouser.vehicles.vehicle import Vehicle

__all__ = ["table"]

COLUMNS = ("frame", "parent", "joint", "act.", "x y z [m]", "roll pitch yaw [rad]", "mass [kg]", "radius [m]")


def table(vehicle: Vehicle) -> str:
    """Frames one per line as in T Table 2.2, then couplings, steering and the drive point."""
    rows = [COLUMNS]
    for frame in vehicle.frames:
        rows.append(
            (
                frame.name,
                frame.parent or "world",
                frame.joint or "free",
                "yes" if frame.actuated else "",
                _spaced(frame.xyz),
                _spaced(frame.rpy) if any(frame.rpy) else "",
                f"{frame.mass:.4g}",
                "" if frame.radius is None else f"{frame.radius:.4g}",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = [repr(vehicle)[1:-1]]
    if vehicle.description:
        lines.append(vehicle.description)
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += [f"coupling {_equation(coupling)}" for coupling in vehicle.couplings]
    for steering in vehicle.steering:
        limit = "" if math.isinf(steering.limit) else f", limit {steering.limit:g}"
        lines.append(f"steering {steering.joint}: gain {steering.gain:g}{limit}")
    lines += [f"hull {one.frame}: {one.describe()}" for one in vehicle.hull]
    lines.append(f"drive point {_spaced(vehicle.drive_point)} m")
    if vehicle.source:
        lines.append(f"source: {vehicle.source}")
    return "\n".join(lines)


def _spaced(values: Sequence[float]) -> str:
    return " ".join(f"{value + 0.0:.4g}" for value in values)


def _equation(coupling: Coupling) -> str:
    terms = " + ".join(name if k == 1.0 else f"{k:g}·{name}" for name, k in coupling.joints.items())
    if coupling.stiffness is None:
        spring = "rigid"
    else:
        spring = f"stiffness {coupling.stiffness:g}, damping {coupling.damping or 0.0:g}"
    return f"{coupling.name}: {terms} = {coupling.value:g}, {spring}"
