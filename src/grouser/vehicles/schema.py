"""What a vehicle file and a URDF's side file may hold.

Imported only when a file is read, because pydantic is slow to load.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from grouser.errors import VehicleError

__all__ = ["UrdfSideFile", "VehicleFile", "validate"]

Model = TypeVar("Model", bound=BaseModel)


class Row(BaseModel):
    """A table of a file: no unknown keys, no conversion of text to numbers."""

    model_config = ConfigDict(extra="forbid", strict=True)


class FrameRow(Row):
    """One frame; the fields of `grouser.vehicles.Frame`."""

    name: str
    parent: str | None = None
    joint: str | None = None
    actuated: bool = False
    xyz: list[float] = [0.0, 0.0, 0.0]
    rpy: list[float] = [0.0, 0.0, 0.0]
    mass: float = 0.0
    com: list[float] = [0.0, 0.0, 0.0]
    inertia: list[float] | list[list[float]] = [0.0, 0.0, 0.0]
    radius: float | None = None
    width: float | None = None
    tyre_radius: float | None = None


class CouplingRow(Row):
    """One coupling; the fields of `grouser.vehicles.Coupling`."""

    name: str
    joints: dict[str, float]
    value: float = 0.0
    stiffness: float | None = None
    damping: float | None = None


class SteeringRow(Row):
    """One steered joint; the fields of `grouser.vehicles.Steering`."""

    joint: str
    gain: float
    limit: float = float("inf")


class VehicleFile(Row):
    """A vehicle file, `schema = "grouser/vehicle@1"`."""

    name: str
    description: str = ""
    source: str = ""
    frames: list[FrameRow]
    couplings: list[CouplingRow] = []
    steering: list[SteeringRow] = []
    drive_reference: list[float] | None = None


class WheelRow(Row):
    """Which URDF joint turns a wheel, and the wheel's size [m]."""

    joint: str
    radius: float
    width: float | None = None
    tyre_radius: float | None = None


class UrdfSideFile(Row):
    """What a URDF cannot say, `schema = "grouser/urdf@1"`; joints go by their URDF names."""

    wheels: list[WheelRow]
    actuated: list[str] = []
    couplings: list[CouplingRow] = []
    steering: list[SteeringRow] = []
    drive_reference: list[float] | None = None
    description: str = ""
    source: str = ""


SINGULAR = {"frames": "frame", "couplings": "coupling", "steering": "steering", "wheels": "wheel"}


def validate(model: type[Model], data: Mapping[str, Any], file: str) -> Model:
    """The data as a model; the first thing wrong becomes one sentence that names file, row and field."""
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        # A union reports every branch; the first error is in the first branch, which is the usual form.
        first = error.errors(include_url=False, include_context=False)[0]
        raise VehicleError(f"{file}, {_place(first['loc'], data)}: {_sentence(first, model)}") from None
    except (OverflowError, RecursionError) as error:
        raise VehicleError(f"{file}: cannot be read ({error})") from None


def _place(loc: tuple[int | str, ...], data: Mapping[str, Any]) -> str:
    if len(loc) >= 2 and isinstance(loc[1], int):
        group, row = str(loc[0]), loc[1]
        place = f"{SINGULAR.get(group, group)} {row + 1}"
        table = data[group][row]
        named = table.get("name", table.get("joint")) if isinstance(table, dict) else None
        if isinstance(named, str):
            place += f" {named!r:.60}"
        return place if len(loc) == 2 else f"{place}, field {loc[2]}"
    return f"field {loc[0]!s:.60}" if loc else "the file"


def _sentence(error: Any, model: type[BaseModel]) -> str:
    if error["type"] == "extra_forbidden":
        return "is not a field Grouser knows; check its spelling"
    if error["type"] == "missing":
        return "is missing"
    return f"{error['msg'][:1].lower()}{error['msg'][1:]}, not {error['input']!r:.60}"
