"""What is worked out once for each vehicle or model, however many short runs it makes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Owner = TypeVar("Owner")
T = TypeVar("T")


def once_each(make: Callable[[Owner], T]) -> Callable[[Owner], T]:
    """Decorate a function of something immutable: what it returns is kept while that lives, and not to be changed.

    It is found by identity: to compare or hash a vehicle takes longer than most of what is kept. What is kept must not
    hold what it belongs to, or that would live for ever.
    """
    made: dict[int, T] = {}

    @wraps(make)
    def kept(owner: Owner) -> T:
        key = id(owner)
        if key not in made:
            made[key] = make(owner)
            weakref.finalize(owner, made.pop, key, None)  # the number may be given to another object
        return made[key]

    return kept
