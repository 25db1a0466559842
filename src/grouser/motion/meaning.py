"""Parameters for people: what each means in a few words, and its unit."""

from __future__ import annotations

WORDS = {
    "sensor.x": ("pose sensor ahead of the body's origin", "m"),
    "sensor.y": ("pose sensor to the left of it", "m"),
    "sensor.z": ("pose sensor above it", "m"),
    "sensor.yaw": ("pose sensor turned to the left", "rad"),
    "sensor.lag": ("poses are so late", "s"),
    "sensor.position_noise": ("noise of a measured coordinate", "m"),
    "sensor.yaw_noise": ("noise of a measured yaw", "rad"),
    "sensor.time_noise": ("scatter of the lag from pose to pose", "s"),
    "powertrain.gain": ("rate per command", "1"),
    "powertrain.delay": ("command to first effect", "s"),
    "powertrain.time_constant": ("then so slow", "s"),
    "slip.p1": ("forward slip per speed and force ahead", "1"),
    "slip.p2": ("forward slip per speed", "1"),
    "slip.p3": ("sideways slip per speed and side force", "1"),
    "slip.p4": ("turn slip per speed and side force", "rad/m"),
    "slip.p5": ("turn slip per speed", "rad/m"),
    "slip.p6": ("turn slip per turn rate", "1"),
    "slip.p7": ("forward slip per speed squared", "s/m"),
    "vehicle.radius": ("wheel radius, all", "m"),
    "vehicle.radius.left": ("wheel radius, left", "m"),
    "vehicle.radius.right": ("wheel radius, right", "m"),
    "vehicle.track": ("distance of the sides", "m"),
    "vehicle.wheelbase": ("distance of the axles", "m"),
    "vehicle.mass": ("mass of the body", "kg"),
    "model.speed_gain": ("speed per wheel speed", "1"),
    "model.yaw_gain": ("turn rate per that of the wheels", "1"),
    "model.lateral": ("sideways speed per turn rate", "m"),
    "model.yaw_per_speed": ("turn per distance", "rad/m"),
    "model.steering_offset": ("steering angle at zero", "rad"),
    "model.wheelbase": ("distance of the axles", "m"),
    "contact.stiffness": ("ground stiffness", "N/m"),
    "contact.damping": ("ground damping", "N s/m"),
    "contact.friction": ("coefficient of friction", "1"),
    "contact.slip_stiffness_x": ("force per slip speed, along", "N s/m"),
    "contact.slip_stiffness_y": ("force per slip speed, across", "N s/m"),
    "contact.rolling_resistance": ("rolling resistance", "1"),
}
SURFACE = {
    1: ("forward slip per speed", "1"),
    2: ("forward slip per turn rate", "m"),
    3: ("forward slip per speed and turn rate", "s"),
    4: ("forward slip downhill per speed", "s²/m"),
    5: ("sideways slip per speed", "1"),
    6: ("sideways slip per turn rate", "m"),
    7: ("sideways slip per speed and turn rate", "s"),
    8: ("sideways slip downhill per speed", "s²/m"),
    9: ("turn slip per speed", "rad/m"),
    10: ("turn slip per turn rate", "1"),
    11: ("turn slip per speed and turn rate", "s/m"),
    12: ("turn slip by pitch per speed", "rad s²/m²"),
    13: ("turn slip by roll per speed", "rad s²/m²"),
}
"""α₁…α₁₃ of P (13), slip by gravity growing with distance: `Perturbative.gravity_grows`."""
AXES = {"x": "ahead", "y": "left", "z": "up"}
NOISY = {"v": ("speed", "m"), "w": ("turn rate", "rad")}


def meaning(name: str) -> str:
    """A few words."""
    return _found(name)[0]


def unit_of(name: str) -> str:
    """SI; "1" for a mere number."""
    return _found(name)[1]


def _found(name: str) -> tuple[str, str]:
    if name in WORDS:
        return WORDS[name]
    part, _, field = name.partition(".")
    if part == "slip" and field[:1] == "a" and field[1:].isdecimal() and int(field[1:]) in SURFACE:
        return SURFACE[int(field[1:])]
    if part == "noise":
        return _noise(field)
    last = field.rpartition(".")[2]
    frame = field.rpartition(".")[0]
    if part == "vehicle":
        if frame == "cg":
            return f"centre of gravity, {AXES.get(last, last)}", "m"
        if last in AXES:
            return f"place of {frame}, {AXES[last]}", "m"
        if last in ("roll", "pitch", "yaw"):
            return f"{last} of {frame}", "rad"
        if last.startswith("com_"):
            return f"centre of mass of {frame}, {AXES.get(last[4:], last)}", "m"
        return f"{last} of {frame}", {"radius": "m", "mass": "kg"}.get(last, "1")
    return f"{last.replace('_', ' ')} of the {part}", "SI"


def _noise(field: str) -> tuple[str, str]:
    parts = field.split("_")
    said = [NOISY.get(p[:1], ("velocity", "m")) for p in parts]
    words = " and ".join(f"{word} {p[1:]}" for (word, _), p in zip(said, parts, strict=True))
    unit = f"{said[0][1]}²/m" if len(set(said)) == 1 else f"{said[0][1]} {said[-1][1]}/m"  # it grows with distance
    return f"noise density of {words}", unit
