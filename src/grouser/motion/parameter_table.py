"""The table of parameters: meaning, unit and prior of every parameter of calibration."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

Prior = Callable[[float], tuple[float, float, float, float]]
"""From the present value to (sigma, lower, upper, scale), in the unit of the parameter."""


class Row(NamedTuple):
    """Meaning, unit and prior of a parameter."""

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


def sensor_noise(value: float) -> tuple[float, float, float, float]:
    """A sigma of the pose sensor."""
    return value, 1e-6, 1.0, value


MOUNTED, SLIP, LAG = near(0.5, 5.0), within(0.5, -5.0, 5.0), within(0.1, -0.5, 0.5)
TURN_SLIP = within(0.1, -5.0, 5.0)
"""Prior of a turn per distance [rad/m]: 0.1 is a turn of 6° a metre."""
LEARNED = within(1.0, -30.0, 30.0)
"""Prior of a coefficient of the learned correction, in units of the width that its training gave it."""
DIRECTIONS = {"x": "ahead", "y": "left", "z": "up"}
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
    # of the learned correction, in units of the widths of their priors: `Corrected`, terms in the order of `TERMS`
    "slip.c1": Row("forward slip by acceleration", "1", LEARNED),
    "slip.c2": Row("forward slip by speed and acceleration", "1", LEARNED),
    "slip.c3": Row("sideways slip by speed and turn acceleration", "1", LEARNED),
    "slip.c4": Row("turn slip by turn acceleration", "1", LEARNED),
    "slip.c5": Row("turn slip by turn rate and acceleration", "1", LEARNED),
    "slip.c6": Row("forward slip by speed squared", "1", LEARNED),
    "slip.c7": Row("forward slip by speed and turn rate squared", "1", LEARNED),
    "slip.c8": Row("sideways slip by turn rate squared", "1", LEARNED),
    "slip.c9": Row("sideways slip by speed squared and turn rate", "1", LEARNED),
    "slip.c10": Row("sideways slip by speed and turn rate squared", "1", LEARNED),
    "slip.c11": Row("turn slip by turn rate squared", "1", LEARNED),
    "slip.c12": Row("turn slip by absolute speed and turn rate", "1", LEARNED),
    "slip.c13": Row("turn slip by absolute speed and turn rate squared", "1", LEARNED),
    "slip.beyond_x": Row("forward slip outside the trained range", "1", LEARNED),
    "slip.beyond_y": Row("sideways slip outside the trained range", "1", LEARNED),
    "slip.beyond_yaw": Row("turn slip outside the trained range", "1", LEARNED),
    "model.speed_gain": Row("speed per wheel speed", "1", near(0.3)),
    "model.yaw_gain": Row("turn rate per that of the wheels", "1", near(0.3)),
    "model.lateral": Row("sideways speed per turn rate", "m", near(0.3)),
    "model.yaw_per_speed": Row("turn per distance", "rad/m", near(0.3)),
    "model.gain_x": Row("forward speed per wheel speed", "1", near(0.5)),
    "model.gain_y": Row("sideways speed per wheel speed", "1", near(0.5)),
    "model.gain_turn": Row("turn rate per that of the wheels", "1", near(0.5)),
    "model.x_per_y": Row("forward speed per sideways speed", "1", near(0.1)),
    "model.y_per_x": Row("sideways speed per forward speed", "1", near(0.1)),
    "model.turn_per_x": Row("turn per distance ahead", "rad/m", near(0.3)),
    "model.turn_per_y": Row("turn per distance to the left", "rad/m", near(0.3)),
    "model.x_per_turn": Row("forward speed per turn rate", "m", near(0.1)),
    "model.y_per_turn": Row("sideways speed per turn rate", "m", near(0.1)),
    "model.steering_offset": Row("steering angle at zero", "rad", near(0.3)),
    "model.wheelbase": Row("distance of the axles", "m", length),
    "vehicle.radius": Row("wheel radius, all", "m", length),
    "vehicle.radius.left": Row("wheel radius, left", "m", length),
    "vehicle.radius.right": Row("wheel radius, right", "m", length),
    "vehicle.track": Row("distance of the sides", "m", length),
    "vehicle.wheelbase": Row("distance of the axles", "m", length),
    "vehicle.mass": Row("mass of the body", "kg", coefficient),
    **{f"vehicle.cg.{a}": Row(f"centre of gravity, {w}", "m", near(0.1)) for a, w in DIRECTIONS.items()},
    # of every frame
    "vehicle.*.radius": Row("radius of {}", "m", length),
    "vehicle.*.mass": Row("mass of {}", "kg", coefficient),
    **{f"vehicle.*.{a}": Row(f"place of {{}}, {w}", "m", near(0.3)) for a, w in DIRECTIONS.items()},
    **{f"vehicle.*.{a}": Row(f"{a} of {{}}", "rad", near(0.3)) for a in ("roll", "pitch", "yaw")},
    "vehicle.*.stiffness": Row("stiffness of {}", "N m/rad or N/m", coefficient),
    "vehicle.*.damping": Row("damping of {}", "N m s/rad or N s/m", coefficient),
    **{f"vehicle.*.com_{a}": Row(f"centre of mass of {{}}, {w}", "m", near(0.3)) for a, w in DIRECTIONS.items()},
}
OF_LAWS = {
    "stiffness": "stiffness",
    "damping": "damping",
    "friction": "coefficient of friction",
    "friction.x": "coefficient of friction, along",
    "friction.y": "coefficient of friction, across",
    "slip_stiffness_x": "force per slip speed, along",
    "slip_stiffness_y": "force per slip speed, across",
    "rolling_resistance": "force against rolling per rim speed",
    "static_penetration": "penetration under the load, which sets the stiffness",
    "onset": "penetration over which damping comes in",
    "dynamic_share": "dynamic over static friction",
    "stribeck": "slip speed over which friction falls",
    "smoothing": "speed below which slip has no meaning",
    **{f"{axis}.{k}": f"{word} of the force over {slip}"
       for axis, slip in (("longitudinal", "slip ratio"), ("lateral", "slip angle"))
       for k, word in (("B", "stiffness factor"), ("C", "shape factor"), ("D", "peak"), ("E", "curvature factor"),
                       ("K", "scale of slip"))},
    "cohesion": "cohesion of the soil",
    "friction_angle": "internal friction angle of the soil",
    "destructive_angle": "angle of the soil ploughed aside",
    "k_c": "pressure-sinkage modulus by cohesion",
    "k_phi": "pressure-sinkage modulus by friction",
    "n": "sinkage exponent",
    "a_0": "where on the rim stress is largest, at zero slip",
    "a_1": "how that moves with slip",
    "density": "density of the soil",
    "sinkage_ratio": "height of the rut behind the wheel over sinkage",
    "shear_x.zero": "shear deformation modulus along, at slip angle zero",
    "shear_x.growth": "its growth with slip angle",
    "shear_y.zero": "shear deformation modulus across, at slip angle zero",
    "shear_y.growth": "its growth with slip angle",
    "isotropic_shear": "shear deformation modulus of isotropic soil",
    "bow_wave": "share of the resistance of soil pushed ahead",
    "erp": "share of the height error removed in a step",
    "cfm": "constraint force mixing",
    "force_dependent_slip": "slip speed per force",
    "gain": "torque per rate error",
    "integral": "torque per integral of the rate error",
    "limit": "largest torque",
    "rotor_inertia": "rotor inertia",
    "stall_torque": "stall torque of the motor",
    "no_load_speed": "no-load speed of the motor",
    "gear": "turns of the motor per turn of the joint",
    "coupling": "stiffness between joints of one motor",
    "natural": "displacement without force",
    "lower": "lower stop",
    "upper": "upper stop",
}  # fmt: skip
"""Meaning of the numbers of shipped contact, actuator and joint laws; units are those that the laws declare."""
LAWS = ("contact", "hull", "joints", "actuator")
"""Parts whose numbers are those of laws."""
NOISY = {"v": ("speed", "m"), "w": ("turn rate", "rad")}


def row_of(name: str) -> Row:
    """The row of a parameter; one of a law that is not in the table gets its name as meaning."""
    if name in TABLE:
        return TABLE[name]
    part, _, field = name.partition(".")
    frame, _, last = field.rpartition(".")
    if field.startswith("wander_"):  # the variance of a slip error that stays the same over some distance
        word, unit = NOISY.get(field[7:8], ("velocity", "m"))
        return Row(f"variance of slip that wanders, {word} {field[8:]}", f"{unit}²/m²", near(1.0))
    if part == "noise":  # a density vx, or a covariance vx_wz; it grows with distance
        parts = field.split("_")
        kinds = [NOISY.get(p[:1], ("velocity", "m")) for p in parts]
        words = " and ".join(f"{word} {p[1:]}" for (word, _), p in zip(kinds, parts, strict=True))
        unit = f"{kinds[0][1]}²/m" if len(set(kinds)) == 1 else f"{kinds[0][1]} {kinds[-1][1]}/m"
        return Row(f"noise density of {words}", unit, near(1.0))
    of_frames = TABLE.get(f"vehicle.*.{last}") if part == "vehicle" else None
    if of_frames is not None:
        return of_frames._replace(meaning=of_frames.meaning.format(frame))
    if part in LAWS:  # the owner stands before: a wheel in contact.FL.friction; or behind: a joint in actuator.gain.FL
        path = field.split(".")
        spans = [(i, j) for j in range(len(path), 0, -1) for i in range(j)]
        known = next(((i, j) for i, j in spans if ".".join(path[i:j]) in OF_LAWS), None)
        if known is not None:
            owner = "hull" if part == "hull" else ".".join(path[: known[0]] + path[known[1] :])
            return Row(OF_LAWS[".".join(path[slice(*known)])] + (f", {owner}" if owner else ""), "SI", coefficient)
    return Row(f"{last.replace('_', ' ')} of the {part}", "SI", coefficient if part in LAWS else near(0.3))


def meaning(name: str) -> str:
    """A few words."""
    return row_of(name).meaning
