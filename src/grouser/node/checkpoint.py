"""State from which a node continues after a restart: written every second, whole or not at all, without pickle."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from grouser.errors import GrouserError
from grouser.files import read_npz, write_whole

SCHEMA = "grouser/checkpoint@1"
MOST_BYTES = 100_000_000


class CheckpointError(GrouserError):
    """A checkpoint cannot be read or written."""


def read_checkpoint(path: str | os.PathLike[str], vehicle: str) -> dict[str, Any] | None:
    """The arrays of a checkpoint of this vehicle; None where there is no file yet."""
    if not Path(path).exists():
        return None
    arrays = read_npz(path, CheckpointError, most=MOST_BYTES)
    schema, owner = (str(arrays.pop(key, "")) for key in ("schema", "vehicle"))
    if schema != SCHEMA:
        raise CheckpointError(f"{path}: has the schema {schema!r:.60}, not {SCHEMA!r}; remove it to start afresh")
    if owner != vehicle:
        raise CheckpointError(f"{path}: is of vehicle {owner!r:.60}, not of {vehicle!r}; remove it to start afresh")
    return arrays


class Checkpoints:
    """Writes checkpoints in a thread of its own: a slow disk delays no message."""

    def __init__(self, path: str | os.PathLike[str], vehicle: str) -> None:
        """Into this file."""
        self._path, self._vehicle = Path(path), vehicle
        self._next: Mapping[str, Any] | None = None
        self._ready = threading.Condition()
        self._closing = False
        self.written = 0
        """Number of checkpoints written."""
        self.problem = ""
        """Why the last one could not be written; empty if it was."""
        self._thread = threading.Thread(target=self._work, name="checkpoints", daemon=True)
        self._thread.start()

    def put(self, arrays: Mapping[str, Any]) -> None:
        """Write these arrays (copies) next, in place of any that still wait."""
        with self._ready:
            self._next = arrays
            self._ready.notify()

    def close(self, arrays: Mapping[str, Any] | None = None) -> None:
        """Write these arrays, or those that still wait, and end."""
        with self._ready:
            self._next = arrays or self._next
            self._closing = True
            self._ready.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._ready:
                while self._next is None and not self._closing:
                    self._ready.wait()
                arrays, self._next = self._next, None
            if arrays is None:
                return
            try:
                whole = {"schema": np.array(SCHEMA), "vehicle": np.array(self._vehicle), **arrays}
                write_whole(self._path, partial(np.savez, **whole), CheckpointError)
                self.written, self.problem = self.written + 1, ""
            except CheckpointError as problem:
                self.problem = str(problem)
