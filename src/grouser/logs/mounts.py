"""Where the sensors of a robot sit: by its manifest, else by tf, else at the body's origin; and which it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs.frames import Frames, Mount, plain
from grouser.logs.manifest import Axes, Manifest

AS_GIVEN = "its rotation is not used, because [gyro] and [acceleration] turn or leave out axes themselves"


@dataclass(frozen=True, eq=False)
class Mounts:
    """Sensors on the body."""

    imu: Mount
    antenna: Mount
    visual: Mount

    def lines(self, manifest: Manifest) -> list[str]:
        """How each was found, for people; of sensors that the manifest names."""
        robot = manifest.robot
        named = {
            "IMU": self.imu if manifest.gyro or manifest.acceleration else None,
            "antenna": self.antenna if manifest.pose_use == "gps" or (robot.gps and robot.gps.topic) else None,
            "visual odometry": self.visual if robot.visual else None,
        }
        return [f"{name}: {_numbers(mount.p_body_sensor)} m, {mount.said}" for name, mount in named.items() if mount]


def mounts_of(manifest: Manifest, frames: Frames | None = None, seen: Mapping[str, str] | None = None) -> Mounts:
    """By the manifest, and by tf where it leaves them out.

    frames: of tf; None: there is none. seen: frame_id (child_frame_id of an odometry) of the messages of "imu", "gps"
    and "visual".
    """
    robot, names = manifest.robot, seen or {}
    imu = _mount("IMU", robot.R_body_imu, robot.imu_position, frames, names.get("imu"), manifest, "imu_rpy")
    turned = bool((imu.R_body_sensor != np.eye(3)).any())
    if turned and robot.R_body_imu is None and not (_in_order(manifest.gyro) and _in_order(manifest.acceleration)):
        imu = Mount(np.eye(3), imu.p_body_sensor, f"{imu.said}; {AS_GIVEN}")
    antenna = robot.antenna
    if antenna is None and manifest.pose is not None and manifest.pose.is_gps:
        sensor = manifest.sensor
        antenna = [sensor.x, sensor.y, sensor.z] if any((sensor.x, sensor.y, sensor.z)) else None
    gps = _mount("GPS antenna", np.eye(3), antenna, frames, names.get("gps"), manifest, "antenna")
    camera = robot.visual
    R, p = (None, None) if camera is None else (camera.R_body_sensor, camera.position)
    visual = _mount("visual odometry", R, p, frames, names.get("visual"), manifest, "[robot.visual] position and rpy")
    return Mounts(imu, gps, visual)


def _mount(
    what: str, R: FloatArray | None, p: list[float] | None, frames: Frames | None, frame: str | None,
    manifest: Manifest, remedy: str,
) -> Mount:  # fmt: skip
    """R and p where they are given; the rest by tf, if there is tf and the messages name a frame."""
    base = manifest.robot.topics.base_frame
    if R is not None and p is not None:
        return Mount(R, np.array(p), "by the manifest")
    found = Mount(np.eye(3), np.zeros(3), "nothing gives its place: the body's origin and axes are assumed")
    if frame and plain(frame) == plain(base):
        found = Mount(np.eye(3), np.zeros(3), f"its frame is that of the body, {plain(base)}")
    elif frame and frames is not None and frames.links:
        try:
            found = frames.mount(frame, base)
        except LogError as error:
            said = f"give {remedy} in [robot] of {manifest.file}, or base_frame in [robot.topics]"
            raise LogError(f"{what}, frame {plain(frame)!r:.60}: {error}; {said}") from None
    if R is None and p is None:
        return found
    return Mount(
        found.R_body_sensor if R is None else R, found.p_body_sensor if p is None else np.array(p),
        "by the manifest" if R is None or not found.said.startswith("tf") else f"{found.said}, place only",
    )  # fmt: skip


def _in_order(axes: Axes | None) -> bool:
    """Whether x is x of the messages and so on, none turned round: then tf says which way the axes point."""
    if axes is None:
        return True
    given = {name: signal for name, signal in axes if signal is not None}
    return all(
        signal.topic is not None and str(signal.field).endswith(f".{name}") and signal.sign * signal.scale > 0.0
        for name, signal in given.items()
    )


def _numbers(values: FloatArray) -> str:
    return "(" + ", ".join(f"{value + 0.0:.3g}" for value in values) + ")"
