"""What is made once for each vehicle or model: results, and work space that short runs share."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, TypeVar

Owner = TypeVar("Owner")
T = TypeVar("T")


def once_each(make: Callable[[Owner], T]) -> Callable[[Owner], T]:
    """Decorate a function of something immutable: what it returns is kept while that lives, and not to be changed.

    By identity, as hashing a vehicle takes long. What is kept must not hold its owner, or neither is ever freed.
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


class Pool(Generic[T]):
    """Work space of each owner, lent to one caller at a time and then again: making it takes longer than most calls."""

    def __init__(self, make: Callable[..., T]) -> None:
        """`make(owner, …)` makes one, from what `take` is called with."""
        self._make = make
        self._free: Callable[[Any], list[T]] = once_each(lambda _: [])

    def take(self, owner: Any, *more: Any) -> T:
        """One that no other caller has."""
        try:
            return self._free(owner).pop()
        except IndexError:
            return self._make(owner, *more)

    def give(self, owner: Any, one: T) -> None:
        """Make it available to the next caller. After an error it may be dropped."""
        self._free(owner).append(one)
