"""Runs in files, written whole or not at all: .npz (everything, exactly), CSV (a table), TUM and KITTI (paths)."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from grouser import rotation
from grouser.errors import GrouserError, SimulationError, TerrainError
from grouser.files import check_file, write_whole
from grouser.simulation.columns import run_columns
from grouser.simulation.run import ContactRecord, Run, SolverRecord
from grouser.simulation.status import Status
from grouser.terrain import Terrain
from grouser.terrain.archive import load, pack
from grouser.vehicles.toml import parse_toml, to_toml

SCHEMA = "grouser/run@1"
MOST_BYTES = 8_000_000_000
"""What the arrays of a file may take in memory."""

_ARRAYS = ("time", "state", "velocity", "command")
_CONTACT_ARRAYS = ("point", "normal", "velocity", "height_error", "angle")
_SOLVER_ARRAYS = ("iterations", "residual", "kinetic", "potential")


def save_run(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run to a .npz file."""
    if Path(path).suffix.lower() != ".npz":
        raise SimulationError(f"{path}: a run is saved as .npz; name the file {Path(path).stem}.npz")
    arrays: dict[str, Any] = {name: getattr(run, name) for name in _ARRAYS}
    arrays |= {f"contact_{name}": getattr(run.contact, name) for name in _CONTACT_ARRAYS}
    if run.torque is not None and run.contact.force is not None and run.solver is not None:
        arrays |= {"torque": run.torque, "contact_force": run.contact.force}
        if run.contact.power is not None:
            arrays["contact_power"] = run.contact.power
        arrays |= {f"solver_{name}": getattr(run.solver, name) for name in _SOLVER_ARRAYS}
    ground = ground_bytes(run.ground)
    if ground is not None:
        arrays["ground"] = np.frombuffer(ground, dtype=np.uint8)
    write_whole(
        path,
        lambda file: np.savez_compressed(
            file,
            schema=np.array(SCHEMA),
            vehicle=np.array(to_toml(run.vehicle)),
            status=np.array(str(run.status)),
            model=np.array(run.model),
            numbers=np.array([run.steps, run.dt, run.deficient_steps, run.halved_steps], dtype=np.float64),
            **arrays,
        ),
        SimulationError,
    )


def load_run(path: str | os.PathLike[str]) -> Run:
    """Read a run; TerrainError and VehicleError name what is inside it."""
    values = unpacked(path)
    schema = str(values.get("schema", ""))
    if schema != SCHEMA:
        family, _, version = schema.partition("@")
        if family == "grouser/run" and version.isdecimal():
            raise SimulationError(f"{path}: written by a newer Grouser (schema {schema}); this one reads {SCHEMA}")
        raise SimulationError(f"{path}: schema is {schema!r:.60}; a run file has {SCHEMA}")
    try:
        vehicle = parse_toml(str(values["vehicle"]), str(path))
        steps, dt, deficient, *rest = values["numbers"]
        dynamic: dict[str, Any] = {}
        if "torque" in values:
            solver = SolverRecord(**{name: values[f"solver_{name}"] for name in _SOLVER_ARRAYS})
            dynamic = {"torque": values["torque"], "solver": solver, "halved_steps": int(rest[0])}
        run = Run(
            vehicle=vehicle,
            status=Status(str(values["status"])),
            steps=int(steps),
            dt=float(dt),
            deficient_steps=int(deficient),
            model=str(values.get("model", "")),
            contact=ContactRecord(
                **{name: values[f"contact_{name}"] for name in _CONTACT_ARRAYS},
                force=values.get("contact_force"),
                power=values.get("contact_power"),
            ),
            ground=ground_of_bytes(values.get("ground"), path),
            **{name: values[name] for name in _ARRAYS},
            **dynamic,
        )
    except (KeyError, ValueError, TypeError) as error:
        raise SimulationError(f"{path}: is damaged ({str(error)[:100]}); save the run again") from None
    _check_shapes(run, path)
    return run


def unpacked(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The arrays of a .npz file, none of which may run code, by name."""
    check_file(path, SimulationError)
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
                raise SimulationError(f"{path}: unpacks to more than {MOST_BYTES} bytes; not read")
        with np.load(path, allow_pickle=False) as archive:
            values = {name: archive[name] for name in archive.files}
    except GrouserError:
        raise
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen kinds on damaged files
        raise SimulationError(f"{path}: not a readable .npz file ({str(error)[:100]})") from None
    return values


def _check_shapes(run: Run, path: str | os.PathLike[str]) -> None:
    v = run.vehicle
    rows = run.time.shape[:1]
    wanted = {
        "time": rows,
        "state": (*rows, 7 + v.n_joints),
        "velocity": (*rows, 6 + v.n_joints),
        "command": (*rows, len(v.actuated)),
    }
    pairs = [(name, getattr(run, name), shape) for name, shape in wanted.items()]
    for name, last in zip(_CONTACT_ARRAYS, ((3,), (3,), (3,), (), ()), strict=True):
        pairs.append((f"contact_{name}", getattr(run.contact, name), (*rows, v.n_wheels, *last)))
    if run.torque is not None and run.solver is not None:
        pairs += [("torque", run.torque, wanted["command"])]
        pairs += [("contact_force", run.contact.force, (*rows, v.n_wheels, 3))]
        if run.contact.power is not None:  # files of 0.1 before it was recorded have none
            pairs += [("contact_power", run.contact.power, (*rows, v.n_wheels))]
        pairs += [(f"solver_{name}", getattr(run.solver, name), rows) for name in _SOLVER_ARRAYS]
    for name, array, shape in pairs:
        if array is None or array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
            raise SimulationError(f"{path}: '{name}' is not {shape} finite numbers; save the run again")


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
    write_whole(path, lambda file: np.savetxt(file, poses.reshape(-1, 12), fmt="%.12g"), SimulationError)


def write_csv(run: Run, path: str | os.PathLike[str]) -> None:
    """Everything that changes with time, one row a state, with a header."""
    columns = run_columns(run)
    header = ",".join(_quoted(column.name) for column in columns)
    rows = np.column_stack([column.values for column in columns])
    write_whole(
        path,
        lambda file: np.savetxt(file, rows, fmt="%.12g", delimiter=",", header=header, comments=""),
        SimulationError,
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"\n') else name
