"""Units as people write them: in names of columns, "[deg/s]", and in the line of units of a CSV."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from grouser.errors import LogError
from grouser.logs.manifest import Manifest
from grouser.logs.signal_table import CLOCK, Signal

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
AS_LOGGED = ("labels", "segments", "pose.fresh", "pose.status")
"""Signals without conversion."""
SAYS_NOTHING = ("", "-", "1", "none", "n/a", "bool", "enum")


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


class Units:
    """The texts of a line of units, and those that were used."""

    def __init__(self, texts: Mapping[str | int, str], manifest: Manifest, file: str) -> None:
        self._texts, self._manifest, self._file = texts, manifest, file
        self._used: dict[str, str] = {}

    def of_time(self) -> str:
        """The unit of the clock."""
        time = self._manifest.time
        return self._word(time.column, "[time]", CLOCK, "unit" in time.model_fields_set) or time.unit

    def of(self, key: str, signal: Signal) -> str | None:
        """The unit of a signal for which the manifest gives none; None: SI, or without conversion."""
        table, name = key.split(".", 1)
        as_logged = signal.says_unit or key in AS_LOGGED or table in AS_LOGGED
        return self._word(signal.column, f"[{table}] {name}", signal.units(key), as_logged)

    def _word(self, column: str | int | None, key: str, known: Collection[str], as_logged: bool) -> str | None:
        """The unit by the line of units, one of those known; None where it gives none."""
        text = self._texts.get("" if column is None else column, "")
        if as_logged or bare(text).lower() in SAYS_NOTHING:
            return None
        word = unit_word(text)
        if word is None or word not in known:
            raise LogError(
                f"{self._manifest.file}, {key}: line {self._manifest.csv.units_line} of {self._file} says {text!r:.40}"
                f" for column {column}, which is not one of {', '.join(known)}; give unit, scale or ticks_per_turn"
            )
        self._used[str(column)] = word
        return word

    @property
    def remarks(self) -> tuple[str, ...]:
        """The conversions, one sentence; none without a line of units."""
        other = {column: word for column, word in self._used.items() if word not in ("s", "m", "rad", "rad/s", "A")}
        if not other:
            return ()
        line = self._manifest.csv.units_line
        return (f"units by line {line} of {self._file}: {', '.join(f'{k} in {v}' for k, v in other.items())}",)
