"""Rolling runs in files: .npz (everything, exactly) and CSV (a table). Written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from grouser.errors import SimulationError
from grouser.files import write_whole
from grouser.rolling.run import RollingRun, RollingStatus
from grouser.simulation.files import ground_bytes, ground_of_bytes, unpacked
from grouser.vehicles.toml import parse_toml, to_toml

__all__ = ["load_run", "save_run", "write_csv"]

SCHEMA = "grouser/rolling@1"
ARRAYS = ("time", "state", "contact", "velocity", "contact_rate", "slip", "closure_error", "desired")


def save_run(run: RollingRun, path: str | os.PathLike[str]) -> None:
    """Write a run to a .npz file."""
    if Path(path).suffix.lower() != ".npz":
        raise SimulationError(f"{path}: a run is saved as .npz; name the file {Path(path).stem}.npz")
    arrays: dict[str, Any] = {name: getattr(run, name) for name in ARRAYS}
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
            numbers=np.array([run.steps, run.dt, run.sigma], dtype=np.float64),
            degrees_of_freedom=run.degrees_of_freedom,
            **arrays,
        ),
        SimulationError,
    )


def load_run(path: str | os.PathLike[str]) -> RollingRun:
    """Read a run; errors name the file and what is wrong in it."""
    values = unpacked(path)
    schema = str(values.get("schema", ""))
    if schema != SCHEMA:
        raise SimulationError(f"{path}: schema is {schema!r:.60}; a rolling run has {SCHEMA}")
    try:
        steps, dt, sigma = values["numbers"]
        run = RollingRun(
            vehicle=parse_toml(str(values["vehicle"]), str(path)),
            status=RollingStatus(str(values["status"])),
            steps=int(steps),
            dt=float(dt),
            sigma=float(sigma),
            degrees_of_freedom=values["degrees_of_freedom"],
            ground=ground_of_bytes(values.get("ground"), path),
            **{name: values[name] for name in ARRAYS},
        )
    except (KeyError, ValueError, TypeError) as error:
        raise SimulationError(f"{path}: is damaged ({str(error)[:100]}); save the run again") from None
    _check_shapes(run, path)
    return run


def _check_shapes(run: RollingRun, path: str | os.PathLike[str]) -> None:
    rows, nw, nj = len(np.atleast_1d(run.time)), run.vehicle.n_wheels, run.vehicle.n_joints
    wanted = {
        "time": (rows,),
        "state": (rows, 7 + nj),
        "contact": (rows, nw, 4),
        "velocity": (rows, 6 + nj),
        "contact_rate": (rows, nw, 4),
        "slip": (rows, nw, 2),
        "closure_error": (rows,),
        "desired": (rows, nj),
        "degrees_of_freedom": (rows,),
    }
    for name, shape in wanted.items():
        array = getattr(run, name)
        if array.shape != shape or array.dtype.kind not in "if" or not np.isfinite(array).all():
            raise SimulationError(f"{path}: '{name}' is not {shape} finite numbers; save the run again")


def write_csv(run: RollingRun, path: str | os.PathLike[str]) -> None:
    """Everything that changes with time, one row a state, with a header."""
    columns: list[tuple[str, Any]] = [("t", run.time)]
    columns += zip(("qw", "qx", "qy", "qz", "x", "y", "z"), run.state[:, :7].T, strict=True)
    for kind, values in (("angle", run.joints), ("rate", run.joint_rates), ("desired", run.desired)):
        columns += ((f"{kind}_{name}", v) for name, v in zip(run.vehicle.joints, values.T, strict=True))
    columns += zip(("vx", "vy", "vz", "wx", "wy", "wz"), run.platform_velocity.T, strict=True)
    for w, name in enumerate(run.vehicle.wheels):
        columns += zip((f"{a}_{name}" for a in ("u", "v", "contact_x", "contact_y")), run.contact[:, w].T, strict=True)
        columns += zip((f"slip_{a}_{name}" for a in ("x", "y")), run.slip[:, w].T, strict=True)
    columns += [("degrees_of_freedom", run.degrees_of_freedom), ("closure_error", run.closure_error)]
    header = ",".join('"' + name.replace('"', '""') + '"' if set(name) & set(',"\n') else name for name, _ in columns)
    rows = np.column_stack([values for _, values in columns])
    write_whole(
        path,
        lambda file: np.savetxt(file, rows, fmt="%.12g", delimiter=",", header=header, comments=""),
        SimulationError,
    )
