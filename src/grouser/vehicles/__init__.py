"""Vehicles: frames, couplings and steering, from code, from TOML or from URDF; several are shipped."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.vehicles.catalog import names, vehicle
    from grouser.vehicles.hull import Hull
    from grouser.vehicles.rows import Coupling, Frame, Steering, box_inertia, wheel_inertia
    from grouser.vehicles.toml import read_toml, to_toml, write_toml
    from grouser.vehicles.tracks import Track
    from grouser.vehicles.urdf import read_urdf
    from grouser.vehicles.vehicle import Vehicle
    from grouser.vehicles.visual import Visual

__all__ = [
    "Coupling", "Frame", "Hull", "Steering", "Track", "Vehicle", "Visual", "box_inertia", "names", "read_toml",
    "read_urdf", "to_toml", "vehicle", "wheel_inertia", "write_toml",
]  # fmt: skip

lazy(__name__)
