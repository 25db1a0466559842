"""Scene of the 3D viewer as JSON types: runs, grounds, rollouts, uncertain poses, lines."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._version import __version__
from grouser.checks import FloatArray
from grouser.errors import GrouserError
from grouser.simulation.run import Run
from grouser.simulation.status import Status
from grouser.spacing import evenly
from grouser.terrain.ground import Terrain
from grouser.view import arrays, colours
from grouser.view.scene_ground import Box, same_ground, scene_ground, surroundings
from grouser.view.scene_run import good_rows, scene_run
from grouser.view.scene_vehicle import vehicle_size

if TYPE_CHECKING:
    from grouser.simulation.rollout import Rollouts
    from grouser.vehicles.visual import Visual

SCHEMA = "grouser/scene@2"
MOST_ROLLOUTS = 1000
"""Rollouts of a fan that are drawn; of more, evenly spaced ones, and the page says so."""
MOST_STATES = 120
"""States of each that are drawn."""
MOST_POSES = 2000
"""Uncertain poses that are drawn of one set."""
MARGIN = 2.0
"""Ground around what is drawn, in lengths of the largest vehicle, at least."""


@dataclass(frozen=True)
class UncertainPoses:
    """Poses with covariance, drawn as 95 % ellipses on the ground.

    With times, the ellipse of now moves along with the vehicle and leaves a trail of some; without, all are drawn.
    """

    position: ArrayLike
    """World x, y and, if known, z [m], shape (n, 2) or (n, 3)."""
    covariance: ArrayLike
    """Shape (n, k, k), k ≥ 2: the first two rows and columns are of x and y [m²]; the others are not drawn."""
    name: str = "poses"
    """What they are called in the legend."""
    time: ArrayLike | None = None
    """Time of each [s], rising, on the clock of the runs, shape (n,); None if they have none."""


@dataclass(frozen=True)
class Lines:
    """Lines on the ground under one name in the legend, such as a route."""

    paths: Sequence[ArrayLike]
    """World x, y and, if it is not on the ground, z [m]; shape (n, 2) or (n, 3) each, n ≥ 2."""
    name: str
    """What they are called in the legend."""
    colour: str
    """As in HTML, #RRGGBB."""
    detail: str = ""
    """Further text in the legend."""
    width: float = 3.0
    """[px]."""
    opacity: float = 1.0
    """Share of the colour, 0 to 1."""
    dash: float = 0.0
    """Length of dashes [m]; 0: none."""


def make_scene(
    runs: Sequence[Run] = (),
    *,
    names: Sequence[str] | None = None,
    fan: Rollouts | None = None,
    ground: Terrain | None = None,
    poses: UncertainPoses | Sequence[UncertainPoses] = (),
    lines: Sequence[Lines] = (),
    meshes: Mapping[str, str | os.PathLike[str]] | None = None,
    title: str = "",
) -> dict[str, Any]:
    """A scene of runs and of what is drawn with them; see `view_runs` for the arguments."""
    called = run_names(runs, names)
    sets = [poses] if isinstance(poses, UncertainPoses) else list(poses)
    sets += [one for run, name in zip(runs, called, strict=True) if (one := spread(run, name)) is not None]
    if not runs and fan is None and not sets:
        raise GrouserError("there is nothing to view; give a run, a fan of rollouts or poses")
    if fan is not None and fan.state.shape[1] == 0:
        raise GrouserError("these rollouts kept their last states only; record paths with every=…")
    ellipses = [_checked_poses(one) for one in sets]
    shapes = _read_meshes(runs, meshes or {})
    grounds, of_run = _grounds(runs, ground)
    rest = 0 if grounds else None  # a fan and poses are on the ground given, or on that of the first run
    drawn = []
    for g, run in zip(of_run, runs, strict=True):
        n = good_rows(run)
        drawn.append((g, np.concatenate([run.position[:n], run.contact.point[:n].reshape(-1, 3)])))
    drawn += [(rest, position) for position, _, _ in ellipses]
    paths = [_checked_lines(one) for one in lines]
    drawn += [(rest, path) for several in paths for path in several]
    if fan is not None:
        drawn.append((rest, fan.state[:, :, 4:7].reshape(-1, 3)))
    # A whole metre near the first point: float32 positions are relative to it.
    first = next((points[0] for _, points in drawn if len(points)), np.zeros(3))
    origin: FloatArray = np.rint(np.append(first, 0.0)[:3])
    size = max((vehicle_size(run.vehicle) for run in runs), default=1.0)
    return {
        "schema": SCHEMA,
        "version": __version__,
        "title": title or ", ".join(dict.fromkeys(called)) or "rollouts",
        "origin": [float(x) for x in origin],
        "size": size,
        "palette": list(colours.PALETTE),
        "grounds": [
            scene_ground(one, _box([points for g, points in drawn if g == i], size), origin)
            for i, one in enumerate(grounds)
        ],
        "runs": [scene_run(run, name, origin, g, shapes) for run, name, g in zip(runs, called, of_run, strict=True)],
        "fan": None if fan is None else _fan(fan, origin),
        "poses": [_ellipses(one.name, *checked, origin) for one, checked in zip(sets, ellipses, strict=True)],
        "lines": [_lines(one, several, origin) for one, several in zip(lines, paths, strict=True)],
    }


def spread(run: Run, name: str) -> UncertainPoses | None:
    """Mean and covariance of the samples of a run, while at least two go on; None without samples."""
    if run.samples is None:
        return None
    n = good_rows(run)
    covariance = run.samples.covariance[:n, :2, :2]
    reached = run.samples.reached[:, :n, None]
    there = np.isfinite(covariance).all(axis=(1, 2))
    n = n if there.all() else int(np.argmin(there))
    if n == 0:
        return None
    count = reached[:, :n].sum(axis=0)
    mean = np.where(reached[:, :n], run.samples.position[:, :n, :2], 0.0).sum(axis=0) / count
    words = f"{len(run.samples)} samples of {name}"
    covariance = 0.5 * (covariance + covariance.swapaxes(1, 2))
    return UncertainPoses(mean, covariance[:n], words, run.time[:n])


def run_names(runs: Sequence[Run], names: Sequence[str] | None) -> list[str]:
    """Names of the runs: as given, or of their vehicles, numbered where two are equal."""
    if names is not None:
        if isinstance(names, str) or len(names) != len(runs) or not all(isinstance(name, str) for name in names):
            raise GrouserError(f"names: {names!r:.60} is not one name for each of the {len(runs)} runs")
        return list(names)
    plain = [run.vehicle.name for run in runs]
    return [n if plain.count(n) == 1 else f"{n} ({plain[: i + 1].count(n)})" for i, n in enumerate(plain)]


def _grounds(runs: Sequence[Run], given: Terrain | None) -> tuple[list[Terrain], list[int | None]]:
    """The distinct grounds, and the index of the ground of each run."""
    grounds, of_run = [], []
    if given is not None:
        grounds.append(checks.instance(given, Terrain, "ground", "use grouser.terrain.plane() or another"))
    for ground in (given if run.ground is None else run.ground for run in runs):
        alike = [i for i, one in enumerate(grounds) if ground is not None and same_ground(one, ground)]
        if ground is not None and not alike:
            alike = [len(grounds)]
            grounds.append(ground)
        of_run.append(alike[0] if alike else None)
    return grounds, of_run


def _box(points: Sequence[FloatArray], size: float) -> Box:
    """A rectangle around points with a margin [m]."""
    found = [one[:, :2] for one in points if len(one)] or [np.zeros((1, 2))]
    xmin, xmax, ymin, ymax = surroundings(found, margin=0.08)
    return xmin - MARGIN * size, xmax + MARGIN * size, ymin - MARGIN * size, ymax + MARGIN * size


def _read_meshes(runs: Sequence[Run], meshes: Mapping[str, str | os.PathLike[str]]) -> dict[str, Visual]:
    known = {frame.name for run in runs for frame in run.vehicle.frames}
    for name in meshes:
        if name not in known:
            raise GrouserError(f"mesh: no vehicle has a frame {name!r:.60}; frames are {', '.join(sorted(known)):.400}")
    if not meshes:
        return {}
    from grouser.vehicles.mesh import read_mesh
    from grouser.vehicles.visual import Visual

    return {name: Visual(name, mesh=os.fspath(file), geometry=read_mesh(file)) for name, file in meshes.items()}


def _fan(fan: Rollouts, origin: FloatArray) -> dict[str, Any]:
    """Paths of evenly chosen rollouts, each cut where it ended, sorted by how they ended."""
    total, rows = fan.state.shape[:2]
    chosen = evenly(total, MOST_ROLLOUTS)
    kept = evenly(rows, MOST_STATES)
    paths = fan.state[np.ix_(chosen, kept)][:, :, 4:7]
    finite = np.isfinite(paths).all(axis=(1, 2))
    chosen, paths = chosen[finite], paths[finite] - origin
    status = fan.status[chosen]
    return {
        "total": total,
        "drawn": len(chosen),
        "states": rows,
        "statesDrawn": len(kept),
        "time": arrays.exact(fan.time[kept]),
        "groups": [
            {
                "status": str(one),
                "meaning": one.meaning,
                "colour": colours.STATUS[one],
                "total": int(np.count_nonzero(fan.status == str(one))),
                "paths": arrays.single(paths[status == str(one)]),
            }
            for one in Status
            if (status == str(one)).any()
        ],
    }


def _checked_lines(lines: Any) -> list[FloatArray]:
    checks.instance(lines, Lines, "lines", "use grouser.view.Lines")
    name = f"lines '{lines.name:.40}'"
    found = [_points(path, name) for path in lines.paths]
    for points in found:
        if len(points) < 2:
            raise GrouserError(f"{name}: a line has {len(points)} points; it needs at least 2")
    return found


def _lines(lines: Lines, paths: Sequence[FloatArray], origin: FloatArray) -> dict[str, Any]:
    look = {name: getattr(lines, name) for name in ("name", "detail", "colour", "width", "opacity", "dash")}
    return {**look, "paths": [arrays.single(path - origin[: path.shape[1]]) for path in paths]}


def _points(values: ArrayLike, name: str) -> FloatArray:
    """x, y and, if given, z [m], (n, 2) or (n, 3)."""
    width = np.shape(values)[-1] if np.ndim(values) == 2 else 2
    return checks.array(values, name, (None, 3 if width == 3 else 2))


def _checked_poses(poses: Any) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Positions (n, 2 or 3), covariances (n, 2, 2) of x and y, and times if given, all checked."""
    checks.instance(poses, UncertainPoses, "poses", "use grouser.view.UncertainPoses")
    position = _points(poses.position, "poses.position")
    sides = np.shape(poses.covariance)
    k = sides[-1] if len(sides) == 3 and sides[-1] >= 2 else 2
    covariance = checks.array(poses.covariance, "poses.covariance", (len(position), k, k))[:, :2, :2]
    near = 1e-9 * np.abs(covariance).max(initial=1e-300)
    lopsided = np.abs(covariance - covariance.swapaxes(1, 2)).max(initial=0.0) > near
    if lopsided or np.linalg.eigvalsh(covariance).min(initial=0.0) < -near:
        raise GrouserError("poses.covariance: a covariance is symmetric and has no negative variance; one here is not")
    if poses.time is None:
        return position, covariance, None
    time = checks.array(poses.time, "poses.time", (len(position),))
    if np.any(np.diff(time) <= 0.0):
        raise GrouserError("poses.time: times rise from one pose to the next; here they do not")
    return position, covariance, time


def _ellipses(
    name: str, position: FloatArray, covariance: FloatArray, time: FloatArray | None, origin: FloatArray
) -> dict[str, Any]:
    """Centres and half axes of 95 % ellipses [m]."""
    chosen = evenly(len(position), MOST_POSES)
    half = arrays.half_axes(covariance[chosen])
    return {
        "name": str(name),
        "total": len(position),
        "drawn": len(chosen),
        "onGround": position.shape[1] == 2,
        "time": None if time is None else arrays.exact(time[chosen]),
        "centre": arrays.exact(position[chosen] - origin[: position.shape[1]]),
        "major": arrays.exact(half[:, :, 1]),
        "minor": arrays.exact(half[:, :, 0]),
    }
