"""The file of a mesh that a URDF names: next to the URDF, in its package, or on a search path as in ROS."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from urllib.parse import unquote

from grouser.errors import VehicleError

VARIABLES = ("GROUSER_MESH_PATH", "ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")
"""Environment variables with folders of packages, in the order in which they are searched."""
DEPTH = 4
"""How deep in a folder of the search path a package may lie."""
MOST_FOLDERS = 4000
"""Folders that are looked into on one entry of the search path."""
Packages = Mapping[str, str | os.PathLike[str]] | Sequence[str | os.PathLike[str]] | str | os.PathLike[str]
"""Folders of packages: by package name, or folders that hold packages or are one."""


def find_mesh(name: str, folder: Path, packages: Packages = ()) -> Path:
    """The file that `name` means in a URDF of a folder: package://, model:// or file:// address, or a path.

    packages: searched after the folders above the URDF and before those of the environment (VARIABLES).
    """
    scheme, separator, rest = name.partition("://")
    scheme, rest = (scheme.lower(), unquote(rest)) if separator else ("", name)
    if scheme not in ("", "file", "package", "model"):
        raise VehicleError(f"'{name:.100}': this kind of address is not read; use package://, file:// or a path")
    if scheme in ("", "file"):
        file = folder / rest
        elsewhere = ((entry / rest.lstrip("/"), entry / file.name) for entry in _entries(packages))
        places: Iterator[Path] = chain([file], chain.from_iterable(elsewhere))
        missing = f" in {folder.resolve()}, nor" if not Path(rest).is_absolute() else ", nor"
    else:
        package, _, inside = rest.partition("/")
        places = (root / inside for root in _roots(package, folder.resolve(), packages))
        missing = "; the package is to be a folder above the URDF, or"
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise VehicleError(f"'{name:.150}' is not found{missing} on {_path_in_words(packages)}")
    return found


def found_mesh(name: str, folder: Path, packages: Packages = ()) -> str:
    """The whole path of a mesh; one that is not there keeps its name, and is missed when it is to be drawn."""
    try:
        return str(find_mesh(name, folder, packages).resolve())
    except VehicleError:
        return name if "://" in name else str((folder / name).resolve())


def _roots(package: str, folder: Path, packages: Packages) -> Iterator[Path]:
    """Folders that may be the package of a name, the likeliest first."""
    if isinstance(packages, Mapping) and package in packages:
        yield Path(packages[package])
    for above in (folder, *folder.parents):
        if above.name == package:
            yield above
        yield above / package
    for entry in _entries(packages):
        yield from _packages_in(entry, package)


def _entries(packages: Packages) -> Iterator[Path]:
    """Folders to search: those given, then those of the environment."""
    given: Iterable[str | os.PathLike[str]]
    if isinstance(packages, Mapping):
        given = packages.values()
    else:
        given = [packages] if isinstance(packages, (str, os.PathLike)) else packages
    yield from map(Path, given)
    for variable in VARIABLES:
        for text in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            yield Path(text)
            if variable == "AMENT_PREFIX_PATH":
                yield Path(text) / "share"


def _packages_in(entry: Path, package: str) -> Iterator[Path]:
    """Folders of a package's name: the entry itself, in it, or some way below."""
    if entry.name == package:
        yield entry
    if (entry / package).is_dir():
        yield entry / package
    level, looked = [entry], 0
    for _ in range(DEPTH):
        below: list[Path] = []
        for folder in level:
            try:
                below += [Path(one.path) for one in os.scandir(folder) if one.is_dir() and not one.name.startswith(".")]
            except OSError:
                continue
            looked += 1
            if looked > MOST_FOLDERS:
                return
        yield from (one / package for one in below if (one / package).is_dir())
        level = below


def _path_in_words(packages: Packages) -> str:
    """The search path for a message."""
    folders = [str(entry) for entry in _entries(packages)]
    shown = os.pathsep.join(folders[:6]) + ("…" if len(folders) > 6 else "")
    return f"the search path ({shown or 'it is empty'}; {VARIABLES[0]} sets it)"
