"""Base of models of motion: settings, from which the arrays of the engine are made once."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

T = TypeVar("T")

MOST_KEPT = 16
"""Choices, such as of a step, for which a model keeps what the engine takes."""


class Model:
    """Base of frozen dataclasses whose fields are settings, one of them `vehicle`."""

    dynamic: ClassVar[bool] = False
    """Whether forces move it; so the kind is known without loading the other one."""

    def __getstate__(self) -> dict[str, Any]:
        # Addresses of laws and parameters are not valid in another process, nor once this model is gone: a copy,
        # pickled or deep, makes its own.
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def describe(self) -> str:
        """The model and all its settings but the vehicle, as text for people."""
        return self._described

    @cached_property
    def _described(self) -> str:
        settings = (f"{name}={value!r}" for name, value in self.__getstate__().items() if name != "vehicle")
        return f"{type(self).__name__}({', '.join(settings)})"

    @cached_property
    def _kept(self) -> dict[Hashable, Any]:
        """What the engine takes, by choice."""
        return {}

    def _keep(self, key: Hashable, made: T) -> T:
        """Keep what the engine takes for a choice; all are forgotten where there are too many."""
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[key] = made
        return made
