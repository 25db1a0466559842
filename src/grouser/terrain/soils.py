"""Soils by place: a ground with a raster of soil classes, and what each class is."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from grouser.checks import FloatArray, shown
from grouser.errors import TerrainError
from grouser.law import Recipe
from grouser.terrain.ground import Terrain, checked
from grouser.terrain.soil_raster import NO_CLASS, SoilRaster, read_soils

PARTS = ("contact", "slip")


@dataclass(frozen=True, eq=False)
class Soil:
    """A soil: what models use on it in place of their own laws."""

    kind: int
    """Its class in the raster."""
    name: str
    """What it is called, for people."""
    contact: Any = None
    """Contact model of `grouser.contact`, or one for each wheel by name; None: that of the dynamic model."""
    slip: Any = None
    """Slip model of `grouser.slip`; None: that of the kinematic model."""


@dataclass(frozen=True, eq=False)
class Soils:
    """The soils of a ground and where they lie. The engine's soil 0 is a model's own law, soil 1 the first here."""

    raster: SoilRaster
    """Which class lies where."""
    soils: tuple[Soil, ...]
    """What the classes are."""
    place: FloatArray
    """World x, y of the raster's corner [m]; cells per metre [1/m] along its first index by x, by y, and its second;
    shape (6,)."""

    @cached_property
    def fields(self) -> tuple[npt.NDArray[np.int64], FloatArray, tuple[int, int, int]]:
        """The last fields of a kernel's ground: a byte a cell, place [m, 1/m], shape [cells], soil outside."""
        number = np.zeros(256, dtype=np.uint8)
        for i, soil in enumerate(self.soils):
            number[soil.kind] = i + 1
        raster = self.raster
        nx, ny = raster.classes.shape
        cells = np.zeros(8 * ((nx * ny + 7) // 8), dtype=np.uint8)
        cells[: nx * ny] = number[raster.classes].ravel()
        outside = -1 if raster.outside is None else int(number[raster.outside])
        return cells.view("<i8"), self.place, (nx, ny, outside)

    def moved(self, x: float, y: float, c: float, s: float, side: float) -> Soils:
        """Mirrored (side −1), turned (cosine c, sine s), then shifted by x, y [m]."""
        px, py = self.place[0], side * self.place[1]
        ux, uy, vx, vy = self.place[2:]
        return dataclasses.replace(
            self,
            place=np.array(
                [
                    x + c * px - s * py, y + s * px + c * py,
                    ux * c - uy * side * s, ux * s + uy * side * c, vx * c - vy * side * s, vx * s + vy * side * c,
                ]
            ),
        )  # fmt: skip


def soils(
    ground: Terrain,
    raster: SoilRaster | str | os.PathLike[str],
    laws: Sequence[Any] | Mapping[int, Any],
    *,
    names: Sequence[str] | None = None,
) -> Terrain:
    """The same ground with soils by place; each wheel has the soil under its own contact.

    ground: any ground.
    raster: soil classes from `SoilRaster(…)` or `polygons(…)`, or the path of a file for `read_soils`.
    laws: what each class is, by class: a list (class 0 first) or a mapping. Each is a contact model, which dynamic
        models use in place of their own, a slip model, which kinematic models use in place of theirs, a pair of both,
        or None: models use their own there, as on cells without a class. A contact model may be given by wheel name.
    names: of the soils in pictures, as many as laws; default: their class and model.
    """
    checked.instance(ground, Terrain, "ground", "use gr.terrain.plane() or another")
    if ground.soils is not None:
        raise TerrainError("the ground has soils already; give all of them in one raster")
    if not isinstance(raster, SoilRaster):
        if not isinstance(raster, (str, os.PathLike)):
            raise TerrainError(f"raster: {shown(raster)} is neither a SoilRaster nor a path; use SoilRaster(classes=…)")
        raster = read_soils(raster)
    if not isinstance(laws, (Mapping, list, tuple)):
        raise TerrainError(f"laws: {shown(laws)} is not a list of contact or slip models, one a class")
    given = dict(laws) if isinstance(laws, Mapping) else dict(enumerate(laws))
    called = [None] * len(given) if names is None else [checked.name(name, "a soil") for name in names]
    if len(called) != len(given):
        raise TerrainError(f"names: are {len(called)}, for {len(given)} soils; give one each")
    found = [_soil(kind, law, name) for (kind, law), name in zip(given.items(), called, strict=True)]
    missing = [kind for kind in raster.present if kind not in given]
    if missing:
        raise TerrainError(
            f"laws: class {missing[0]} of the raster has none, classes are {', '.join(map(str, raster.present))} and "
            f"laws are given for {', '.join(map(str, given)) or 'none'}; give one for each, None for the model's own"
        )
    return _with_soils(ground, raster, tuple(found))


def rebuilt_soils(
    ground: Terrain,
    *,
    classes: npt.ArrayLike,
    origin: Sequence[float],
    cell: float,
    outside: int | None,
    soils: Sequence[Any],
    description: str = "",
) -> Terrain:
    """A ground with soils out of its settings, as a file or another process has them."""
    checked.instance(ground, Terrain, "ground of the soils", "save the ground again")
    if ground.soils is not None or not isinstance(soils, (list, tuple)) or len(soils) >= NO_CLASS:
        raise TerrainError(f"soils in it, {shown(soils)}, are not a list on a plain ground; save the ground again")
    raster = SoilRaster(classes=classes, origin=origin, cell=cell, outside=outside)  # type: ignore[arg-type]
    found = []
    for one in soils:
        match one:
            case Soil():
                found.append(one)
            case {"kind": int(kind), "name": str(name), "contact": contact, "slip": slip}:
                parts = {part: _recipe(value, part) for part, value in zip(PARTS, (contact, slip), strict=True)}
                kind = checked.count(kind, "a class of soil", least=0, most=NO_CLASS - 1)
                found.append(Soil(kind, checked.name(name, "a soil"), **parts))
            case _:
                raise TerrainError("a soil in it lacks kind, name, contact or slip; save the ground again")
    return _with_soils(ground, raster, tuple(found), description)


def _with_soils(ground: Terrain, raster: SoilRaster, found: tuple[Soil, ...], description: str = "") -> Terrain:
    per_metre = 1.0 / raster.cell
    return Terrain(
        kind="soils",
        law=ground.law,
        second_law=ground.second_law,
        par=ground.par,
        bounds=ground.bounds,
        description=description or f"{ground.description} with {len(found)} soil{'s' if len(found) != 1 else ''}",
        settings={
            "classes": raster.classes,
            "origin": list(raster.origin),
            "cell": raster.cell,
            "outside": raster.outside,
            "soils": list(found),
        },
        children=(ground,),
        soils=Soils(raster, found, np.array([*raster.origin, per_metre, 0.0, 0.0, per_metre])),
    )


def _soil(kind: Any, law: Any, name: str | None) -> Soil:
    """A soil from what a user gave for its class."""
    kind = checked.count(kind, "a class of soil", least=0, most=NO_CLASS - 1)
    parts: dict[str, Any] = {}
    for one in law if isinstance(law, (tuple, list)) else (law,):
        if one is None:
            continue
        by_wheel = isinstance(one, Mapping) and len(one) > 0
        roles = {getattr(part, "soil_part", None) for part in (one.values() if by_wheel else (one,))}
        role = roles.pop() if len(roles) == 1 else None
        if role not in PARTS or (by_wheel and role != "contact"):
            raise TerrainError(
                f"soil {kind}: {shown(one)} is not a law of soil; use a contact model such as gr.contact.Pacejka(), a "
                "slip model such as gr.slip.BodySlip([…]), a pair of them, or None"
            )
        if role in parts:
            raise TerrainError(f"soil {kind}: has two {role} models; give one contact and one slip model at most")
        parts[role] = dict(one) if by_wheel else one
    return Soil(kind, name or _default_name(kind, parts), **parts)


def _default_name(kind: int, parts: dict[str, Any]) -> str:
    """Class, model and friction of a soil."""
    law = parts.get("contact", parts.get("slip"))
    law = next(iter(law.values())) if isinstance(law, Mapping) else law
    if law is None:
        return f"{kind}: the model's own"
    friction = getattr(law, "friction", None)
    about = f", μ = {friction:g}" if isinstance(friction, (int, float)) else ""
    return f"{kind}: {getattr(law, 'name', type(law).__name__)}{about}"


def stored_soil(soil: Soil) -> dict[str, Any]:
    """A soil as JSON; TerrainError where a law cannot be stored."""
    return {
        "kind": soil.kind,
        "name": soil.name,
        **{part: _stored(getattr(soil, part), soil) for part in PARTS},
    }


def _stored(law: Any, soil: Soil) -> Any:
    if law is None:
        return None
    if isinstance(law, Mapping):
        return {"wheels": {name: _stored(one, soil) for name, one in law.items()}}
    recipe = law.recipe() if hasattr(law, "recipe") else None
    if recipe is None:
        raise TerrainError(
            f"soil '{soil.name}': {shown(law)} was made of a Python function and cannot be saved; use a built-in model"
        )
    return dict(recipe)


def _recipe(value: Any, part: str) -> Any:
    """A law out of a file, made when a model first uses it: the ground does not know the laws."""
    match value:
        case None:
            return None
        case {"wheels": dict(wheels)} if wheels:
            return {str(name): _recipe(one, part) for name, one in wheels.items()}
        case {"law": str()}:
            return Recipe(value, part)
    raise TerrainError(f"a soil in it has the {part} model {shown(value)}, which names no law; save the ground again")
