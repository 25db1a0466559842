"""Runs in files, written whole or not at all: .npz (everything, exactly), CSV (a table), TUM and KITTI (paths)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grouser import rotation
from grouser._kernels.constants import GRAVITY
from grouser.checks import FloatArray
from grouser.dataframe import Column
from grouser.errors import SimulationError, TerrainError
from grouser.files import check_schema, read_npz, write_whole
from grouser.simulation.ground_near import ground_near
from grouser.simulation.records import ContactRecord, HullRecord, RollingRecord, RutRecord, SolverRecord
from grouser.simulation.run import Run
from grouser.simulation.status import Status
from grouser.terrain import Terrain
from grouser.terrain.archive import load, pack
from grouser.vehicles import Vehicle
from grouser.vehicles.rows import Frame
from grouser.vehicles.toml import parse_toml, to_toml

SCHEMA = "grouser/run@1"
OLD_ROLLING = "grouser/rolling@1"
"""Schema of rolling runs of Grouser 0.1."""

_SHAPES: dict[str, tuple[int | str, ...]] = {
    **dict.fromkeys(("time", "hull_touching", "hull_power", "rolling_closure_error", "rolling_degrees_of_freedom"), ()),
    **dict.fromkeys(("solver_iterations", "solver_residual", "solver_kinetic", "solver_potential"), ()),
    **dict.fromkeys(("hull_force", "hull_point"), (3,)),
    **dict.fromkeys(("command", "torque", "power"), ("na",)),
    **dict.fromkeys(("contact_height_error", "contact_angle", "contact_power", "contact_torque"), ("nw",)),
    **dict.fromkeys(("contact_point", "contact_normal", "contact_velocity", "contact_force"), ("nw", 3)),
    **dict.fromkeys(("contact_second_force", "contact_second_point"), ("nw", 3)),
    **dict.fromkeys(("rolling_coordinates", "rolling_rates"), ("nw", 4)),
    "state": ("nq",),
    "velocity": ("nv",),
    "rolling_desired": ("nj",),
}
"""Shape of each array after its rows. Prefixes are the parts of a run; what a run does not have is left out."""
AXES = ("ahead", "left", "up")
"""Axes of a contact frame."""
_PARTS = ("contact", "solver", "rolling", "hull")


def save_run(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run to a .npz file."""
    if Path(path).suffix.lower() != ".npz":
        raise SimulationError(f"{path}: a run is saved as .npz; name the file {Path(path).stem}.npz")
    arrays: dict[str, Any] = {}
    for name in _SHAPES:
        part, _, field = name.partition("_")
        value = getattr(getattr(run, part), field, None) if part in _PARTS else getattr(run, name)
        if value is not None:
            arrays[name] = value
    if run.rolling is not None:
        arrays["rolling_sigma"] = np.array(run.rolling.sigma)
    if run.ruts is not None:
        arrays["ruts"] = np.column_stack([run.ruts.x, run.ruts.y, run.ruts.sinkage])
        arrays["ruts_soil"] = np.array([run.ruts.cell, run.ruts.rebound])
    if run.path is not None:
        arrays["path"] = run.path
    if run.vehicle.visuals:
        from grouser.vehicles.visual_meshes import mesh_arrays

        arrays |= mesh_arrays(run.vehicle)
    near = ground_near(run)
    ground = ground_bytes(near)
    if ground is not None:
        arrays["ground"] = np.frombuffer(ground, dtype=np.uint8)
    if near is not run.ground and run.ground is not None:
        arrays["ground_whole"] = np.array(run.ground.bounds)  # for people: the ground is a part of this rectangle
    numbers = [run.steps, run.dt, run.deficient_steps, run.halved_steps, run.gravity]
    write_whole(
        path,
        lambda file: np.savez_compressed(
            file,
            schema=np.array(SCHEMA),
            vehicle=np.array(to_toml(run.vehicle)),
            status=np.array(str(run.status)),
            model=np.array(run.model),
            drive=np.array(run.drive),
            numbers=np.array(numbers, dtype=np.float64),
            **arrays,
        ),
        SimulationError,
    )


def load_run(path: str | os.PathLike[str]) -> Run:
    """Read a run; TerrainError and VehicleError name what is inside it."""
    values = read_npz(path, SimulationError)
    schema = str(values.get("schema", ""))
    if schema == OLD_ROLLING:
        raise SimulationError(f"{path}: is a rolling run of Grouser 0.1 ({schema}), which is not read; roll it again")
    check_schema(schema, str(path), SCHEMA, SimulationError)
    try:
        vehicle = parse_toml(str(values["vehicle"]), str(path))
        if vehicle.visuals:
            from grouser.vehicles.visual_meshes import with_meshes

            vehicle = with_meshes(vehicle, values)
        parts = _checked_parts(values, vehicle, path)
        numbers: list[float] = values["numbers"].tolist()
        # Files of 0.1 end before halved steps or gravity.
        steps, dt, deficient, halved, gravity = [*numbers, *(0.0, GRAVITY)[len(numbers) - 3 :]]
        rolling = parts.get("rolling")
        return Run(
            vehicle=vehicle,
            status=Status(str(values["status"])),
            steps=int(steps),
            dt=float(dt),
            deficient_steps=int(deficient),
            halved_steps=int(halved),
            gravity=float(gravity),
            model=str(values.get("model", "")),
            drive=str(values.get("drive", "")),
            path=_path(values.get("path")),
            contact=ContactRecord(**parts["contact"]),
            solver=SolverRecord(**parts["solver"]) if "solver" in parts else None,
            hull=HullRecord(**parts["hull"]) if "hull" in parts else None,
            rolling=RollingRecord(**rolling, sigma=float(values["rolling_sigma"])) if rolling else None,
            ruts=_ruts(values, path),
            ground=ground_of_bytes(values.get("ground"), path),
            **parts["run"],  # type: ignore[arg-type]  # of arrays, by name
        )
    except (KeyError, ValueError, TypeError) as error:
        raise SimulationError(f"{path}: is damaged ({str(error)[:100]}); save the run again") from None


def _path(corners: NDArray[Any] | None) -> NDArray[np.float64] | None:
    if corners is None:
        return None
    if corners.ndim != 2 or corners.shape[1] != 2 or not np.isfinite(corners.astype(np.float64)).all():
        raise ValueError("path: is not rows of x, y")
    return np.asarray(corners, dtype=np.float64)


def _checked_parts(
    values: dict[str, Any], vehicle: Vehicle, path: str | os.PathLike[str]
) -> dict[str, dict[str, NDArray[Any]]]:
    """The arrays of a file by the part of the run they belong to, "run" for its own."""
    nj = vehicle.n_joints
    sizes = {"nq": 7 + nj, "nv": 6 + nj, "nj": nj, "na": len(vehicle.actuated), "nw": vehicle.n_wheels}
    rows = values["time"].shape[:1]
    out: dict[str, dict[str, NDArray[Any]]] = {"run": {}}
    for name, last in _SHAPES.items():
        if name not in values:
            continue
        array, shape = values[name], (*rows, *(sizes[n] if isinstance(n, str) else n for n in last))
        whole = name == "rolling_degrees_of_freedom"
        if array.shape != shape or array.dtype != (np.int64 if whole else np.float64) or not np.isfinite(array).all():
            raise SimulationError(f"{path}: '{name}' is not {shape} finite numbers; save the run again")
        part, _, field = name.partition("_")
        if part in _PARTS:
            out.setdefault(part, {})[field] = array
        else:
            out["run"][name] = array
    return out


def _ruts(values: dict[str, Any], path: str | os.PathLike[str]) -> RutRecord | None:
    """The ruts of a run's file, if it has any."""
    if "ruts" not in values:
        return None
    cells, soil = values["ruts"], values["ruts_soil"]
    fit = cells.ndim == 2 and cells.shape[1] == 3 and soil.shape == (2,)
    if not fit or not all(a.dtype == np.float64 and np.isfinite(a).all() for a in (cells, soil)):
        raise SimulationError(f"{path}: 'ruts' is not rows of 3 finite numbers; save the run again")
    return RutRecord(*np.ascontiguousarray(cells.T), *soil.tolist())


def ground_bytes(ground: Terrain | None) -> bytes | None:
    """The ground as the bytes of its own file, or None for one that cannot be stored (a user's function)."""
    if ground is None:
        return None
    try:
        return pack(ground)
    except TerrainError:
        return None


def ground_of_bytes(values: Any, path: str | os.PathLike[str]) -> Terrain | None:
    """The ground that `ground_bytes` packed into an array of a run's file."""
    return None if values is None else load(Path(path), np.asarray(values, dtype=np.uint8).tobytes())


def write_tum(run: Run, path: str | os.PathLike[str]) -> None:
    """Poses as `t x y z qx qy qz qw`, one a line."""
    rows = np.column_stack([run.time, run.position, run.quaternion[:, [1, 2, 3, 0]]])
    write_whole(path, lambda file: np.savetxt(file, rows, fmt="%.9f"), SimulationError)


def write_kitti(run: Run, path: str | os.PathLike[str]) -> None:
    """Poses as the upper three rows of T_world_body, row by row: 12 numbers a line, without time stamps.

    Body axes are Grouser's, x ahead, y left, z up; KITTI's own camera looks along z.
    """
    poses = np.concatenate([rotation.from_quaternion(run.quaternion), run.position[:, :, None]], axis=2)
    rows = poses.reshape(-1, 12)
    write_whole(path, lambda file: np.savetxt(file, rows, fmt=_formats(rows)), SimulationError)


def write_csv(run: Run, path: str | os.PathLike[str]) -> None:
    """Everything that changes with time, one row a state, with a header."""
    columns = run_columns(run)
    header = ",".join(_quoted(column.name) for column in columns)
    rows = np.column_stack([column.values for column in columns])
    write_whole(
        path,
        lambda file: np.savetxt(file, rows, fmt=_formats(rows), delimiter=",", header=header, comments=""),
        SimulationError,
    )


def _formats(rows: FloatArray) -> list[str]:
    """Twelve digits a column; fifteen of large numbers, so that places on a survey keep their micrometres."""
    return ["%.15g" if most >= 1e4 else "%.12g" for most in np.abs(rows).max(axis=0, initial=0.0)]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"\n') else name


def run_columns(run: Run) -> list[Column]:
    """Time `t` first, then pose, joints, velocity, commands, torques, contacts and rolling, shape (T,) each."""
    out = [Column("t", "s", run.time)]

    def add(pattern: str, names: Iterable[str], unit: str | list[str], values: FloatArray | None) -> None:
        """A column for each name, of one unit or one each; none where there are no values (T, n)."""
        if values is not None:
            units = [unit] * values.shape[1] if isinstance(unit, str) else unit
            rows = zip(names, units, values.T, strict=True)
            out.extend(Column(pattern.format(name), each, column) for name, each, column in rows)

    frames = run.vehicle.frames[1:]
    joints, units, rates = _named(frames)
    driven, driven_units, driven_rates = _named([frame for frame in frames if frame.actuated])
    add("q{}", "wxyz", "", run.quaternion)
    add("{}", "xyz", "m", run.position)
    add("{}", ("roll", "pitch", "yaw"), "rad", run.rpy)
    add("angle_{}", joints, units, run.joints)
    add("w{}", "xyz", "rad/s", run.velocity[:, :3])
    add("v{}", "xyz", "m/s", run.velocity[:, 3:6])
    add("rate_{}", joints, rates, run.joint_rates)
    add("command_{}", driven, driven_rates, run.command)
    add("torque_{}", driven, ["N m" if unit == "rad" else "N" for unit in driven_units], run.torque)
    add("power_{}", driven, "W", run.power)
    _add_contacts(run, add)
    if run.hull is not None:
        add("hull_force_{}", "xyz", "N", run.hull.force)
        out += [Column("hull_touching", "", run.hull.touching), Column("hull_power", "W", run.hull.power)]
    if run.rolling is not None:
        add("desired_{}", joints, rates, run.rolling.desired)
        for w, name in enumerate(run.vehicle.wheels):
            add("{}_" + _literal(name), "uv", "rad", run.rolling.coordinates[:, w, :2])
        out.append(Column("degrees_of_freedom", "", run.rolling.degrees_of_freedom))
        out.append(Column("closure_error", "m", run.rolling.closure_error))
    return out


def _add_contacts(run: Run, add: Callable[..., None]) -> None:
    c, second = run.contact, run.contact.second_force
    for w, name in enumerate(run.vehicle.wheels):
        for what, axes, unit, values in (
            ("force_{}", AXES, "N", c.force),
            ("contact_power", ("",), "W", c.power),
            ("contact_torque", ("",), "N m", c.torque),
            ("contact_{}", "xyz", "m", c.point),
            ("slip_{}", AXES, "m/s", c.velocity),
            ("height_error", ("",), "m", c.height_error),
            ("contact_angle", ("",), "rad", c.angle),
            ("second_force_{}", "xyz", "N", second if second is not None and second[:, w].any() else None),
        ):
            column = None if values is None else values[:, w].reshape(len(values), len(axes))
            add(f"{what}_{_literal(name)}", axes, unit, column)


def _literal(name: str) -> str:
    """A name as it stands in a pattern."""
    return name.replace("{", "{{").replace("}", "}}")


def _named(frames: Sequence[Frame]) -> tuple[list[str], list[str], list[str]]:
    """Names of frames, units of the displacements of their joints, and units of the rates."""
    units = ["m" if frame.joint is not None and frame.joint.startswith("P") else "rad" for frame in frames]
    return [frame.name for frame in frames], units, [f"{unit}/s" for unit in units]
