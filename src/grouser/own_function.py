"""A user's own functions before they are compiled: what is wrong with one is said in words, not in the compiler's.

Compiled code does not check indices: a law that reads p[7] of two parameters would get whatever lies there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grouser.errors import SimulationError

Function = Callable[..., Any]


def name_of(function: Any) -> str:
    """What a function calls itself."""
    return str(getattr(function, "__name__", type(function).__name__))


def check_arguments(function: Function, wanted: Sequence[str], what: str) -> None:
    """Refuse a function that cannot be called with the wanted arguments."""
    try:
        signature = inspect.signature(getattr(function, "py_func", function))
    except (TypeError, ValueError):
        return  # it has no signature to look at; the compiler will say
    try:
        signature.bind(*wanted)
    except TypeError:
        taken = ", ".join(signature.parameters)
        raise SimulationError(
            f"{what} '{name_of(function)}' does not compile: it takes ({taken}), and must take ({', '.join(wanted)})"
        ) from None


def try_out(function: Function, arguments: Sequence[Any], what: str) -> Any:
    """Call it once in plain Python, where an index beyond an array is an error; returns what it returns, or None."""
    try:
        with np.errstate(all="ignore"):
            return getattr(function, "py_func", function)(*arguments)
    except IndexError as error:
        raise SimulationError(f"{what} '{name_of(function)}' reaches beyond the end of an array: {error}") from None
    except Exception:  # such as a division by zero, which compiled code lets pass; its rollout ends with a status
        return None


def compiler_reason(error: Exception) -> str:
    """The one line of a Numba message that says what is wrong."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("Failed in", "-", "During:"))]
    return (telling or lines or [type(error).__name__])[0].rstrip(".")[:300]


def stays_here(what: str) -> SimulationError:
    """Why something that was compiled from a user's function cannot be pickled."""
    return SimulationError(
        f"{what} was compiled from a function in this process and cannot be pickled; make it again in the other process"
    )
