"""Vehicles by name: those shipped with Grouser, or a file of the user's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from grouser.errors import VehicleError
from grouser.files import as_path
from grouser.vehicles.toml import read_toml
from grouser.vehicles.vehicle import Vehicle

if TYPE_CHECKING:
    from grouser.vehicles.mesh_path import Packages

DATA = Path(__file__).with_name("data")


def names() -> tuple[str, ...]:
    """Names of the shipped vehicles, sorted."""
    return tuple(sorted(path.stem for path in DATA.glob("*.toml")))


def vehicle(name_or_path: str | os.PathLike[str], *, packages: Packages = ()) -> Vehicle:
    """A vehicle by shipped name ("zoe"), or from a .toml, .urdf or .xacro file.

    packages: of the meshes of a URDF, see `read_urdf`.
    """
    path = as_path(name_or_path, VehicleError)
    suffix = path.suffix.lower()
    if suffix == ".toml":
        return read_toml(path)
    if suffix in (".urdf", ".xacro"):
        from grouser.vehicles.urdf import read_urdf

        return read_urdf(path, packages=packages)
    if str(name_or_path) in names():
        return read_toml(DATA / f"{name_or_path}.toml")
    raise VehicleError(
        f"there is no vehicle {str(name_or_path)!r:.60}; shipped are {', '.join(names())}; or give a"
        " .toml or .urdf file, or a .xacro that makes one"
    )
