"""A log as tables for pandas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from grouser.dataframe import Column, data_frame
from grouser.logs.log import Log, Poses

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["pose_table", "sample_table"]

JOINT_RATE, JOINT = "rad/s or m/s", "rad or m"
"""A log does not say which of its joints slide."""


def sample_table(log: Log) -> DataFrame:
    """What was measured at each sample, named as in a manifest: rate_FL, angle_s1, roll, gyro_z, …"""
    return data_frame(Column("t", "s", log.time), _samples(log))


def _samples(log: Log) -> Iterator[Column]:
    yield Column("segment", "", log.segment)
    yield Column("elapsed", "s", log.elapsed)
    for prefix, unit, table in (
        ("rate", JOINT_RATE, log.rates),
        ("angle", JOINT, log.angles),
        ("command", JOINT_RATE, log.commands),
    ):
        for name, values in table.items():
            yield Column(f"{prefix}_{name}", unit, values)
    for names, unit, array in (
        (("roll", "pitch"), "rad", log.attitude),
        (("gyro_x", "gyro_y", "gyro_z"), "rad/s", log.gyro),
        (("acceleration_x", "acceleration_y", "acceleration_z"), "m/s²", log.acceleration),
    ):
        if array is not None:
            for name, values in zip(names, array.T, strict=True):
                yield Column(name, unit, values)
    if log.body_command is not None:
        yield Column("command_speed", "m/s", log.body_command[:, 0])
        yield Column("command_turn", "rad/s", log.body_command[:, 1])
    for name, values in log.label.items():
        yield Column(f"label_{name}", "", values)


def pose_table(poses: Poses) -> DataFrame:
    """Position and attitude of the sensor at each fresh pose."""
    columns = [Column("segment", "", poses.segment)]
    columns += [Column(name, "m", values) for name, values in zip("xyz", poses.position.T, strict=True)]
    angles = zip(("roll", "pitch", "yaw"), poses.attitude.T, strict=True)
    return data_frame(Column("t", "s", poses.time), [*columns, *(Column(name, "rad", v) for name, v in angles)])
