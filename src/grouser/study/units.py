"""Units that a study may give its numbers in, and their factors to SI."""

from __future__ import annotations

import math

from grouser.errors import StudyError

FACTORS: dict[str, dict[str, float]] = {
    "m": {"mm": 1e-3, "cm": 1e-2, "km": 1e3},
    "rad": {"deg": math.pi / 180.0, "°": math.pi / 180.0, "mrad": 1e-3},
    "kg": {"g": 1e-3, "t": 1e3},
    "s": {"ms": 1e-3, "min": 60.0},
    "m/s": {"cm/s": 1e-2, "mm/s": 1e-3, "km/h": 1.0 / 3.6},
    "rad/s": {"deg/s": math.pi / 180.0, "rpm": math.pi / 30.0},
    "Pa": {"kPa": 1e3, "MPa": 1e6, "N/m²": 1.0},
    "N": {"kN": 1e3},
    "N/m": {"kN/m": 1e3, "N/mm": 1e3},
    "N m": {"Nm": 1.0, "mN m": 1e-3, "kN m": 1e3},
    "kg/m³": {"g/cm³": 1e3, "t/m³": 1e3},
    "1": {"%": 1e-2},
}
"""Other units of the same quantity, by SI unit: one of them times its factor is SI."""


def factor(given: str, unit: str, name: str) -> float:
    """What a number in the given unit is multiplied by to be in `unit`, the SI unit of the parameter of that name."""
    written = given.replace("^2", "²").replace("^3", "³").replace("·", " ")
    choices = unit.split(" or ")
    if written in choices or unit in ("", "SI"):
        return 1.0
    for one in choices:
        if written in FACTORS.get(one, {}):
            return FACTORS[one][written]
    known = [*choices, *(other for one in choices for other in FACTORS.get(one, {}))]
    what = "a ratio, unit 1" if unit == "1" else f"in {unit}"
    raise StudyError(f"{name}: is {what}, and {given!r:.30} is not a unit of it; give one of {', '.join(known)}")
