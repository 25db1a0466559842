"""The line of units above the numbers of a CSV: what it says where the manifest says nothing."""

from __future__ import annotations

from collections.abc import Mapping

from grouser.errors import LogError
from grouser.logs.manifest import Manifest
from grouser.logs.signal_table import Signal
from grouser.logs.unit_words import bare, unit_word

CLOCKS = ("s", "ms", "us", "ns")
AS_LOGGED = ("labels", "segments", "pose.fresh", "pose.status")
"""Signals that are taken as they are."""
SAYS_NOTHING = ("", "-", "1", "none", "n/a", "bool", "enum")


class Units:
    """The texts of a line of units, and which of them were used."""

    def __init__(self, texts: Mapping[str | int, str], manifest: Manifest, file: str) -> None:
        self._texts, self._manifest, self._file = texts, manifest, file
        self._used: dict[str, str] = {}

    def of_time(self) -> str:
        """The unit of the clock."""
        time = self._manifest.time
        text = self._texts.get("" if time.column is None else time.column, "")
        if "unit" in time.model_fields_set or bare(text).lower() in SAYS_NOTHING:
            return time.unit
        word = unit_word(text)
        if word not in CLOCKS:
            raise self._unknown(text, time.column, "[time]", CLOCKS)
        self._used[str(time.column)] = word
        return word

    def of(self, key: str, signal: Signal) -> str | None:
        """The unit of a signal for which the manifest gives none; None: SI, or as it is."""
        text = self._texts.get("" if signal.column is None else signal.column, "")
        as_logged = key in AS_LOGGED or key.split(".", 1)[0] in AS_LOGGED
        if signal.says_unit or as_logged or bare(text).lower() in SAYS_NOTHING:
            return None
        word, known = unit_word(text), signal.units(key)
        if word is None or word not in known:
            table, name = key.split(".", 1)
            raise self._unknown(text, signal.column, f"[{table}] {name}", tuple(known))
        self._used[str(signal.column)] = word
        return word

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was converted, a sentence; none without a line of units."""
        other = {column: word for column, word in self._used.items() if word not in ("s", "m", "rad", "rad/s", "A")}
        if not other:
            return ()
        line = self._manifest.csv.units_line
        return (f"units by line {line} of {self._file}: {', '.join(f'{k} in {v}' for k, v in other.items())}",)

    def _unknown(self, text: str, column: object, key: str, known: tuple[str, ...]) -> LogError:
        return LogError(
            f"{self._manifest.file}, {key}: line {self._manifest.csv.units_line} of {self._file} says {text!r:.40} for"
            f" column {column}, which is not one of {', '.join(known)}; give unit, scale or ticks_per_turn"
        )
