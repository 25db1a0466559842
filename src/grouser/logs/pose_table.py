"""The tables [pose] and [sensor] of a manifest: the reference that predictions are compared with."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from grouser.logs.signal_table import Finite, NotNegative, Positive, Seconds, Source, Table, Vector, given


class PoseTable(Table):
    """The pose sensor; what is not given is zero. Roll, pitch, yaw or a quaternion; x, y, z or a GPS fix."""

    x: Source | None = None
    y: Source | None = None
    z: Source | None = None
    roll: Source | None = None
    pitch: Source | None = None
    yaw: Source | None = None
    """Counter-clockwise from x."""
    heading: Source | None = None
    """Instead of yaw: clockwise from north (y), as compasses and GPS receivers give it; yaw = π/2 − heading."""
    qw: Source | None = None
    qx: Source | None = None
    qy: Source | None = None
    qz: Source | None = None
    latitude: Source | None = None
    """With longitude, instead of x and y: WGS-84 [deg], made x east and y north of the datum [m]."""
    longitude: Source | None = None
    altitude: Source | None = None
    """Height above the ellipsoid [m]."""
    status: Source | None = None
    """A fix is used where this is 0 or more, as in sensor_msgs/NavSatFix."""
    sigma_x: Source | None = None
    """One sigma of x (east) of each pose [m]; with unit "m^2" its variance. Where missing, zero or not finite, that of
    [sensor] holds."""
    sigma_y: Source | None = None
    sigma_yaw: Source | None = None
    """[rad]"""
    datum: Vector | None = None
    """Latitude, longitude [deg], height [m] of the origin; default: the first fix."""
    increments: bool = False
    """Whether x, y and yaw are what the pose changed by since the row above, in axes of the sensor at that row."""
    fresh: Source | None = None
    """A pose is fresh where this value changes; without it, where the pose itself does."""
    catches_up: bool = False
    """Whether poses are stamped when they arrive and queue up behind a slow one, as those of lidar matching do.

    Then poses after a hole in their stream are later than usual, for about as long as the hole, and are left out.
    """

    frame: str | None = None
    """Instead of x, y and yaw: the frame whose pose tf gives, "base_link". Bags only."""
    world: str | None = None
    """The frame that it is in: "map"; above "odom", which wheel odometry moves."""
    yaw_from: Literal["motion"] | None = None
    """Where no yaw is measured: from the course over ground, joined by the turns of the gyro or else of the wheels."""

    @model_validator(mode="after")
    def _one_attitude(self) -> PoseTable:
        names = [name for name, _ in given(self)]
        if self.frame is not None or self.world is not None:
            return self._by_tf(names)
        quaternion = [name for name in ("qw", "qx", "qy", "qz") if name in names]
        if quaternion and len(quaternion) < 4:
            raise ValueError(f"has {', '.join(quaternion)}; a quaternion needs all of qw, qx, qy, qz")
        if quaternion and any(name in names for name in ("roll", "pitch", "yaw", "heading")):
            raise ValueError("has both a quaternion and roll, pitch or yaw; give one")
        if "yaw" in names and "heading" in names:
            raise ValueError("has both yaw and heading; give one")
        measured = [*quaternion, *(name for name in ("yaw", "heading") if name in names)]
        if measured and self.yaw_from is not None:
            raise ValueError(f"has both yaw_from and {measured[0]}; give one")
        if not measured and self.yaw_from is None:
            gps = "; a single GPS antenna measures none: take a compass, two antennas or the orientation of an IMU"
            gps += ', or yaw_from = "motion"'
            raise ValueError(f"needs yaw, heading or a quaternion qw, qx, qy, qz{gps if self.is_gps else ''}")
        self._one_place(names)
        if self.increments and (self.is_gps or not {"x", "y", "yaw"} <= set(names)):
            raise ValueError("increments are those of x, y and yaw, in axes of the sensor; give these")
        if self.increments and (other := [name for name in ("z", "roll", "pitch") if name in names]):
            raise ValueError(f"has increments and {', '.join(other)}; increments are of x, y and yaw alone")
        for name, signal in given(self):
            if signal.lag or signal.kind:
                raise ValueError(f"{name}: lag and kind are not for poses; the lag belongs to [sensor]")
        return self

    def _by_tf(self, names: list[str]) -> PoseTable:
        if self.frame is None or self.world is None:
            raise ValueError('needs both frame = "base_link" and world = "map", as tf names them')
        if names or self.yaw_from is not None or self.increments:
            other = [*names, *(["yaw_from"] if self.yaw_from else ["increments"])]
            raise ValueError(f"has both frame and {other[0]}; tf gives the whole pose")
        return self

    def _one_place(self, names: list[str]) -> None:
        wanted = ("latitude", "longitude") if self.is_gps else ("x", "y")
        if missing := [name for name in wanted if name not in names]:
            raise ValueError(f"needs {' and '.join(missing)}")
        if both := [name for name in ("x", "y", "z") if self.is_gps and name in names]:
            raise ValueError(f"has both latitude and {', '.join(both)}; give one")
        if "altitude" in names and not self.is_gps:
            raise ValueError("altitude belongs to latitude and longitude; x and y have z")
        if self.datum is not None and not (self.is_gps and abs(self.datum[0]) <= 90.0 and abs(self.datum[1]) <= 360.0):
            raise ValueError("datum is the latitude and longitude [deg] and height [m] of the origin of a GPS log")

    @property
    def is_gps(self) -> bool:
        """Whether positions are latitude and longitude."""
        return self.latitude is not None or self.longitude is not None


Place = Annotated[Finite, Field(ge=-100.0, le=100.0)]
"""Of a sensor on a body [m]; more is millimetres."""


class SensorTable(Table):
    """Mounting, lag and noise of the pose sensor; the fields of `grouser.logs.Sensor`."""

    x: Place = 0.0
    y: Place = 0.0
    z: Place = 0.0
    yaw: Annotated[Finite, Field(ge=-2.0 * math.pi, le=2.0 * math.pi)] = 0.0
    lag: Seconds = 0.0
    position_noise: Positive = 0.01
    yaw_noise: Positive = 0.005
    attitude_noise: Positive = 0.005
    time_noise: NotNegative = 0.0
    lag_spread: NotNegative = 0.0
