"""Messages of joints as one event for all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs.bags import FieldReader
from grouser.logs.manifest import Manifest
from grouser.logs.report import key_place
from grouser.logs.signal_table import Signal
from grouser.logs.signals import default_gap

TABLES = ("rates", "angles", "currents")
"""Tables of a manifest that go to the chain, in the order of its arguments."""


class JointMessages:
    """Values of all joints. The topic of the first rate makes the events; those of other topics are held until then."""

    def __init__(self, manifest: Manifest, joints: Sequence[str]) -> None:
        """joints: of the vehicle, in its order."""
        keys = {key: one for key, one in manifest.signals().items() if key.split(".", 1)[0] in TABLES}
        rates = [one for key, one in keys.items() if key.startswith("rates.")]
        if not rates:
            raise LogError(f"{manifest.file}, table [rates]: is empty; the chain on board needs rates of the wheels")
        self.base = str(rates[0].topic)
        """Topic whose messages make events."""
        given = [table for table in TABLES if any(key.startswith(f"{table}.") for key in keys)]
        count = 1 + max(TABLES.index(table) for table in given)
        self._values = [np.full(len(joints), np.nan) for _ in range(max(count, 2))]
        self._topics: dict[str, list[_Value]] = {}
        self._held: dict[str, float] = {}
        self._gap = manifest.segments.longest_gap or default_gap(0.0)
        for key, signal in keys.items():
            table, joint = key.split(".", 1)
            if joint not in joints:
                known = ", ".join(joints)
                raise LogError(f"{manifest.file}, {key_place(key)}: the vehicle has no such joint; joints are {known}")
            place = (self._values[TABLES.index(table)], list(joints).index(joint))
            self._topics.setdefault(str(signal.topic), []).append(_Value(key, signal, place, manifest.file))
        lags = {key: one.lag for key, one in keys.items() if str(one.topic) == self.base}
        if len(set(lags.values())) > 1:
            raise LogError(f"{manifest.file}, {key_place(*lags)}: have different lags, but come in one message")
        self._lag = rates[0].lag

    @property
    def topics(self) -> list[str]:
        """All topics with joints."""
        return list(self._topics)

    def take(self, topic: str, t: float, message: Any) -> tuple[float, tuple[FloatArray, ...]] | None:
        """Time [s] and rates, angles (currents) of all joints, (nj,) each; None for a message that makes no event."""
        if not any(value.reader.is_in(message) for value in self._topics[topic]):
            return None  # of another publisher, an arm
        for value in self._topics[topic]:
            value.take(t, message)
        self._held[topic] = t
        if topic != self.base:
            return None
        # What another topic said too long ago is not known any more.
        for other, last in self._held.items():
            if other != topic and abs(t - last) > self._gap:
                for value in self._topics[other]:
                    value.forget()
        return t - self._lag, tuple(values.copy() for values in self._values)


class _Value:
    """One number of a message: unchanged, or the rate from positions or counts since the message before."""

    def __init__(self, key: str, signal: Signal, place: tuple[FloatArray, int], file: str) -> None:
        self.reader = FieldReader(key, signal, file)
        self._factor, self._kind = signal.factor(key), signal.kind
        self._round = None if signal.wraps is None else abs(signal.wraps * self._factor)
        self._values, self._at = place
        self._last: tuple[float, float] | None = None
        self._counted = 0.0

    def forget(self) -> None:
        self._values[self._at] = np.nan

    def take(self, t: float, message: Any) -> None:
        value = self._factor * self.reader.number(message)
        if self._kind not in ("position", "increment"):
            self._values[self._at] = value
            return
        if not np.isfinite(value):
            self.forget()
            return
        last = self._last
        if last is not None and t <= last[0]:
            self._counted += value if self._kind == "increment" else 0.0  # late: it counts with the next
            return
        moved = value + self._counted if self._kind == "increment" else value - (last[1] if last is not None else value)
        if self._round is not None:  # a counter that wrapped: the shorter way round
            moved = math.remainder(moved, self._round)
        self._counted, self._last = 0.0, (t, value)
        self._values[self._at] = np.nan if last is None else moved / (t - last[0])
