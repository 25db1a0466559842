"""Measures of your own: Python functions that a study names as module:function, or that a program gives.

A module is imported only because a study names it, and its code then runs with your rights: read a study of others
before you run it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from grouser.checks import shown
from grouser.errors import StudyError

GIVEN: dict[str, Callable[..., Any]] = {}
"""Functions that a program gave, by the name that stands for them in this process."""
HERE = "<this program>:"


def give(function: Callable[..., Any]) -> str:
    """A name for a function of this program: module:function where other processes can import it."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "<lambda>")
    if module not in (None, "__main__") and name.isidentifier():
        found = getattr(sys.modules.get(module), name, None)
        if found is function:
            return f"{module}:{name}"
    key = f"{HERE}{name}#{len(GIVEN)}"
    GIVEN[key] = function
    return key


def named(name: str, where: str, folder: str) -> Callable[..., Any]:
    """The function of a name; a module is looked for in the folder of the study, too."""
    if name in GIVEN:
        return GIVEN[name]
    module, colon, attribute = name.partition(":")
    if name.startswith(HERE):
        raise StudyError(f"{where}: a function of another program cannot be called here; put it into a module")
    if not colon or not attribute.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        raise StudyError(f"{where}: {name!r:.60} is not module:function, such as my_measures:ground_clearance")
    kept = list(sys.path)
    try:
        sys.path.insert(0, folder)
        found = getattr(import_module(module), attribute)
    except AttributeError:
        raise StudyError(f"{where}: module '{module}' has no function '{attribute}'") from None
    except Exception as error:
        raise StudyError(f"{where}: module '{module}' cannot be imported ({_said(error)})") from None
    finally:
        sys.path[:] = kept
    if not callable(found):
        raise StudyError(f"{where}: {name} is not a function")
    return found  # type: ignore[no-any-return]


def call(function: Callable[..., Any], run: Any, row: Mapping[str, Any]) -> tuple[float, str]:
    """What it measures of a run, and why it could not."""
    name = getattr(function, "__name__", "function")
    try:
        given = function(run, row)
        if isinstance(given, (str, bytes)):
            return math.nan, f"{name} returned {shown(given)}, which is not a number"
        found = float(given)
    except (Exception, SystemExit) as error:
        return math.nan, f"{name} raised {_said(error)}"
    return (found, "") if math.isfinite(found) else (math.nan, f"{name} returned {found}, which is not a finite number")


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}".removesuffix(": ")
