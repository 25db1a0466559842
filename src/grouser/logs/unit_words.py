"""Units as people write them in headings of files: "[deg/s]", "km/h", "rad/sec"."""

from __future__ import annotations

import re

WORDS = {
    "s": "s sec secs second seconds", "ms": "ms msec millisecond milliseconds", "us": "us µs μs usec microseconds",
    "ns": "ns nsec nanosecond nanoseconds",
    "m": "m meter metre meters metres", "cm": "cm", "mm": "mm", "km": "km",
    "rad": "rad rads radian radians", "mrad": "mrad", "deg": "deg degs degree degrees °", "rev": "rev revs turn turns",
    "m/s": "m/s m/sec mps m.s-1 ms-1", "cm/s": "cm/s", "mm/s": "mm/s", "km/h": "km/h kmh kph kmph",
    "rad/s": "rad/s rad/sec rads/s rps_rad", "mrad/s": "mrad/s", "deg/s": "deg/s deg/sec dps °/s degs/s",
    "rev/s": "rev/s", "rpm": "rpm rev/min 1/min min-1",
    "m/s^2": "m/s^2 m/s2 m/s² m/s/s m/sec^2 mps2", "mm/s^2": "mm/s^2 mm/s2", "g": "g",
    "A": "a amp amps ampere", "mA": "ma", "N m": "nm n.m n*m n m", "N": "n",
}  # fmt: skip
"""Unit of a manifest → words for it, in lower case."""
KNOWN = {word: unit for unit, words in WORDS.items() for word in ([words] if unit == "N m" else words.split())}
KNOWN |= dict.fromkeys(("nm", "n.m", "n*m", "n m"), "N m")
COUNTS = ("tick", "ticks", "count", "counts", "pulse", "pulses", "inc", "incs", "imp")
"""Words for counts of an encoder."""
IN_NAME = re.compile(
    r"[\[({<]\s*([^\])}>]*?)\s*[\])}>]\s*$|[_ .]([a-zµ°]{1,5}(?:[/_](?:s|sec|h|min))?)$", re.IGNORECASE
)
"""The unit at the end of a name: "speed [km/h]", "yaw_deg"."""


def bare(text: str) -> str:
    """A unit without brackets and blanks around it."""
    return text.strip().strip("[](){}<>").strip()


def unit_word(text: str) -> str | None:
    """The unit of a manifest that a text means; None where it means none."""
    return KNOWN.get(bare(text).lower())


def unit_in(name: str) -> str | None:
    """The unit at the end of a column's name."""
    found = IN_NAME.search(name)
    if found is None:
        return None
    if found[1] is None and len(found[2]) == 1 and found[2] not in "m°":
        return None  # v_a, omega_s, x_g: an index rather than a unit
    return unit_word((found[1] or found[2] or "").replace("_", "/"))


def is_counts(text: str) -> bool:
    """Whether a text means counts of an encoder."""
    return bare(text).lower() in COUNTS
