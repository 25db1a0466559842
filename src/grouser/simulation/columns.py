"""A run as one table: everything that changes with time, a named column with a unit for each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from grouser.dataframe import Column
from grouser.simulation.run import Run
from grouser.vehicles.frame import Frame

AXES = ("ahead", "left", "up")
"""Of a contact frame."""


def run_columns(run: Run) -> list[Column]:
    """Time `t` first, then pose, joints, velocity, commands, torques, contacts and rolling, shape (T,) each."""
    parts = (_pose(run), _joints(run), _actuators(run), _contacts(run), _rolling(run))
    return [Column("t", "s", run.time), *chain.from_iterable(parts)]


def _pose(run: Run) -> Iterator[Column]:
    names = ("qw", "qx", "qy", "qz", "x", "y", "z")
    for name, values in zip(names, run.state[:, :7].T, strict=True):
        yield Column(name, "m" if name in "xyz" else "", values)
    for name, values in zip(("roll", "pitch", "yaw"), run.rpy.T, strict=True):
        yield Column(name, "rad", values)


def _joints(run: Run) -> Iterator[Column]:
    frames = run.vehicle.frames[1:]
    for frame, values in zip(frames, run.joints.T, strict=True):
        yield Column(f"angle_{frame.name}", _unit(frame), values)
    for name, values in zip(("wx", "wy", "wz", "vx", "vy", "vz"), run.velocity[:, :6].T, strict=True):
        yield Column(name, "rad/s" if name.startswith("w") else "m/s", values)
    for frame, values in zip(frames, run.velocity[:, 6:].T, strict=True):
        yield Column(f"rate_{frame.name}", f"{_unit(frame)}/s", values)


def _actuators(run: Run) -> Iterator[Column]:
    driven = [frame for frame in run.vehicle.frames if frame.actuated]
    for frame, values in zip(driven, run.command.T, strict=True):
        yield Column(f"command_{frame.name}", f"{_unit(frame)}/s", values)
    if run.torque is not None:
        for frame, values in zip(driven, run.torque.T, strict=True):
            yield Column(f"torque_{frame.name}", "N m" if _unit(frame) == "rad" else "N", values)
    if run.power is not None:
        for frame, values in zip(driven, run.power.T, strict=True):
            yield Column(f"power_{frame.name}", "W", values)


def _contacts(run: Run) -> Iterator[Column]:
    c = run.contact
    for w, name in enumerate(run.vehicle.wheels):
        if c.force is not None:
            for axis, values in zip(AXES, c.force[:, w].T, strict=True):
                yield Column(f"force_{axis}_{name}", "N", values)
        if c.power is not None:
            yield Column(f"contact_power_{name}", "W", c.power[:, w])
        for axis, values in zip("xyz", c.point[:, w].T, strict=True):
            yield Column(f"contact_{axis}_{name}", "m", values)
        for axis, values in zip(AXES, c.velocity[:, w].T, strict=True):
            yield Column(f"slip_{axis}_{name}", "m/s", values)
        yield Column(f"height_error_{name}", "m", c.height_error[:, w])
        yield Column(f"contact_angle_{name}", "rad", c.angle[:, w])


def _rolling(run: Run) -> Iterator[Column]:
    rolling = run.rolling
    if rolling is None:
        return
    for frame, values in zip(run.vehicle.frames[1:], rolling.desired.T, strict=True):
        yield Column(f"desired_{frame.name}", f"{_unit(frame)}/s", values)
    for w, name in enumerate(run.vehicle.wheels):
        for axis, values in zip("uv", rolling.coordinates[:, w, :2].T, strict=True):
            yield Column(f"{axis}_{name}", "rad", values)
    yield Column("degrees_of_freedom", "", rolling.degrees_of_freedom)
    yield Column("closure_error", "m", rolling.closure_error)


def _unit(frame: Frame) -> str:
    """Of the displacement of a frame's joint."""
    return "m" if frame.joint is not None and frame.joint.startswith("P") else "rad"
