"""Xacro, the macros in which many URDFs are written, expanded by the package `xacro`.

Xacro evaluates expressions and reads the files that it names: expand those of people you trust.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grouser.errors import VehicleError


def expanded(path: Path, most: int) -> bytes:
    """The URDF in a xacro file, of at most `most` bytes; `$(find package)` is a folder of that name above the file."""
    try:
        import xacro
    except ImportError:
        raise VehicleError(
            f"{path.name}: reading xacro needs the package xacro; run pip install grouser[xacro], or expand it where"
            " ROS is installed: xacro robot.urdf.xacro > robot.urdf"
        ) from None
    try:
        with _packages_above(path), contextlib.redirect_stderr(io.StringIO()):
            text = xacro.process_file(str(path)).toxml()
    except Exception as error:  # expressions in xacro raise whatever Python does
        ours: BaseException | None = error
        while ours is not None and not isinstance(ours, VehicleError):
            ours = ours.__context__
        said = " ".join(str(ours or error).split()) or type(error).__name__
        hint = f"; give it its arguments: xacro {path.name} NAME:=VALUE > robot.urdf" * ("argument" in said)
        raise VehicleError(f"{path.name}: xacro cannot expand it: {said:.200}{hint}") from None
    data = str(text).encode()
    if len(data) > most:
        raise VehicleError(f"{path.name}: expands to more than {most // 1000} kB, the most that is read")
    return data


@contextlib.contextmanager
def _packages_above(path: Path) -> Iterator[None]:
    """Lets xacro find packages without ROS: folders above the file, and next to those, that have the package's name."""
    from xacro import substitution_args

    module: Any = substitution_args
    before = module._eval_find

    def find(package: str) -> str:
        for folder in path.resolve().parents:
            for root in (folder, folder / package):
                if root.name == package and root.is_dir():
                    return str(root)
        try:
            return str(before(package))
        except ImportError:
            raise VehicleError(
                f"package '{package:.60}' is not found; it is to be a folder above the file, or next to one of those"
            ) from None

    module._eval_find = module._eval_dict["find"] = find
    try:
        yield
    finally:
        module._eval_find = module._eval_dict["find"] = before
