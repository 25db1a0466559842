"""The table of parameters: meaning, unit and prior of every parameter of calibration."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

Prior = Callable[[float], tuple[float, float, float, float]]
"""From the present value to (sigma, lower, upper, scale), in the unit of the parameter."""


class Row(NamedTuple):
    """What is known of a parameter before it is calibrated."""

    meaning: str
    """A few words."""
    unit: str
    """SI; "1" for a mere number."""
    prior: Prior


def near(sigma: float, reach: float = 3.0) -> Prior:
    """Bounds about the present value."""
    return lambda value: (sigma, value - reach, value + reach, 0.1)


def within(sigma: float, lower: float, upper: float) -> Prior:
    """Bounds that do not depend on the value."""
    return lambda value: (sigma, lower, upper, 0.1)


def length(value: float) -> tuple[float, float, float, float]:
    """A length of the vehicle, known to a tenth."""
    size = abs(value)
    return 0.1 * size, 0.3 * size, 3.0 * size, 0.1 * size


def coefficient(value: float) -> tuple[float, float, float, float]:
    """A number of a law, known in its order of magnitude."""
    size = abs(value) or 1.0
    return size, 0.02 * value, 20.0 * size, size


def friction(value: float) -> tuple[float, float, float, float]:
    """As `coefficient`, at most 3."""
    sigma, lower, _, scale = coefficient(value)
    return sigma, lower, 3.0, scale


def sensor_noise(value: float) -> tuple[float, float, float, float]:
    """A sigma of the pose sensor."""
    return value, 1e-5, 1.0, value


MOUNTED, SLIP, LAG = near(0.5, 5.0), within(0.5, -5.0, 5.0), within(0.1, -0.5, 0.5)
TURN_SLIP = within(0.1, -5.0, 5.0)
"""Prior of a turn per distance [rad/m]: 0.1 is a turn of 6° a metre."""
WAYS = {"x": "ahead", "y": "left", "z": "up"}
TABLE = {
    "sensor.x": Row("pose sensor ahead of the body's origin", "m", MOUNTED),
    "sensor.y": Row("pose sensor to the left of it", "m", MOUNTED),
    "sensor.z": Row("pose sensor above it", "m", MOUNTED),
    "sensor.yaw": Row("pose sensor turned to the left", "rad", MOUNTED),
    "sensor.lag": Row("delay of the pose stamps", "s", LAG),
    "sensor.position_noise": Row("noise of a measured coordinate", "m", sensor_noise),
    "sensor.yaw_noise": Row("noise of a measured yaw", "rad", sensor_noise),
    "sensor.time_noise": Row("scatter of the lag from pose to pose", "s", sensor_noise),
    "powertrain.gain": Row("rate per command", "1", within(0.3, 0.0, math.inf)),
    "powertrain.delay": Row("from command to first effect", "s", within(0.15, 0.0, 2.0)),
    "powertrain.time_constant": Row("time constant of the rate", "s", within(0.15, 0.0, 2.0)),
    "slip.p1": Row("forward slip per speed and force ahead", "1", SLIP),
    "slip.p2": Row("forward slip per speed", "1", SLIP),
    "slip.p3": Row("sideways slip per speed and side force", "1", SLIP),
    "slip.p4": Row("turn slip per speed and side force", "rad/m", TURN_SLIP),
    "slip.p5": Row("turn slip per speed", "rad/m", TURN_SLIP),
    "slip.p6": Row("turn slip per turn rate", "1", SLIP),
    "slip.p7": Row("forward slip per speed squared", "s/m", SLIP),
    # α₁…α₁₃ of P (13), slip by gravity growing with distance: `Perturbative.gravity_grows`
    "slip.a1": Row("forward slip per speed", "1", SLIP),
    "slip.a2": Row("forward slip per turn rate", "m", SLIP),
    "slip.a3": Row("forward slip per speed and turn rate", "s", SLIP),
    "slip.a4": Row("forward slip downhill per speed", "s²/m", SLIP),
    "slip.a5": Row("sideways slip per speed", "1", SLIP),
    "slip.a6": Row("sideways slip per turn rate", "m", SLIP),
    "slip.a7": Row("sideways slip per speed and turn rate", "s", SLIP),
    "slip.a8": Row("sideways slip downhill per speed", "s²/m", SLIP),
    "slip.a9": Row("turn slip per speed", "rad/m", SLIP),
    "slip.a10": Row("turn slip per turn rate", "1", SLIP),
    "slip.a11": Row("turn slip per speed and turn rate", "s/m", SLIP),
    "slip.a12": Row("turn slip by pitch per speed", "rad s²/m²", SLIP),
    "slip.a13": Row("turn slip by roll per speed", "rad s²/m²", SLIP),
    "model.speed_gain": Row("speed per wheel speed", "1", near(0.3)),
    "model.yaw_gain": Row("turn rate per that of the wheels", "1", near(0.3)),
    "model.lateral": Row("sideways speed per turn rate", "m", near(0.3)),
    "model.yaw_per_speed": Row("turn per distance", "rad/m", near(0.3)),
    "model.steering_offset": Row("steering angle at zero", "rad", near(0.3)),
    "model.wheelbase": Row("distance of the axles", "m", length),
    "contact.stiffness": Row("ground stiffness", "N/m", coefficient),
    "contact.damping": Row("ground damping", "N s/m", coefficient),
    "contact.friction": Row("coefficient of friction", "1", friction),
    "contact.slip_stiffness_x": Row("force per slip speed, along", "N s/m", coefficient),
    "contact.slip_stiffness_y": Row("force per slip speed, across", "N s/m", coefficient),
    "contact.rolling_resistance": Row("rolling resistance", "N s/m", coefficient),
    "vehicle.radius": Row("wheel radius, all", "m", length),
    "vehicle.radius.left": Row("wheel radius, left", "m", length),
    "vehicle.radius.right": Row("wheel radius, right", "m", length),
    "vehicle.track": Row("distance of the sides", "m", length),
    "vehicle.wheelbase": Row("distance of the axles", "m", length),
    "vehicle.mass": Row("mass of the body", "kg", coefficient),
    **{f"vehicle.cg.{a}": Row(f"centre of gravity, {w}", "m", near(0.1)) for a, w in WAYS.items()},
    # of every frame
    "vehicle.*.radius": Row("radius of {}", "m", length),
    "vehicle.*.mass": Row("mass of {}", "kg", coefficient),
    **{f"vehicle.*.{a}": Row(f"place of {{}}, {w}", "m", near(0.3)) for a, w in WAYS.items()},
    **{f"vehicle.*.{a}": Row(f"{a} of {{}}", "rad", near(0.3)) for a in ("roll", "pitch", "yaw")},
    **{f"vehicle.*.com_{a}": Row(f"centre of mass of {{}}, {w}", "m", near(0.3)) for a, w in WAYS.items()},
}
NOISY = {"v": ("speed", "m"), "w": ("turn rate", "rad")}


def row_of(name: str) -> Row:
    """The row of a parameter; one of a law that is not in the table gets its name as meaning."""
    if name in TABLE:
        return TABLE[name]
    part, _, field = name.partition(".")
    frame, _, last = field.rpartition(".")
    if part == "noise":  # a density vx, or a covariance vx_wz; it grows with distance
        parts = field.split("_")
        kinds = [NOISY.get(p[:1], ("velocity", "m")) for p in parts]
        words = " and ".join(f"{word} {p[1:]}" for (word, _), p in zip(kinds, parts, strict=True))
        unit = f"{kinds[0][1]}²/m" if len(set(kinds)) == 1 else f"{kinds[0][1]} {kinds[-1][1]}/m"
        return Row(f"noise density of {words}", unit, near(1.0))
    of_frames = TABLE.get(f"vehicle.*.{last}") if part == "vehicle" else None
    if of_frames is not None:
        return of_frames._replace(meaning=of_frames.meaning.format(frame))
    prior = coefficient if part in ("contact", "actuator") else near(0.3)
    return Row(f"{last.replace('_', ' ')} of the {part}", "SI", prior)


def meaning(name: str) -> str:
    """A few words."""
    return row_of(name).meaning
