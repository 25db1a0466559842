"""Which wheel of a vehicle a joint of a robot's messages is, by its name."""

from __future__ import annotations

import re
from collections.abc import Sequence

SIDES = {"l": "left", "left": "left", "r": "right", "right": "right"}
PLACES = {"f": "front", "front": "front", "b": "back", "back": "back", "rear": "back", "m": "middle", "mid": "middle",
          "middle": "middle", "center": "middle", "centre": "middle"}  # fmt: skip
PAIR = re.compile(r"([fbmr])([lr])", re.IGNORECASE)
"""FL, rr: of two letters the first is a place, and r the rear."""


def matched(wheels: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Wheel of the vehicle → joint of the messages; empty where not every wheel has one.

    By equal names, else by front, middle, back and left, right in them; a robot whose messages have one joint a side
    gives it to all wheels of that side.
    """
    if set(wheels) <= set(names):
        return {wheel: wheel for wheel in wheels}
    known = {name: signature(name) for name in names}
    found: dict[str, str] = {}
    for wheel in wheels:
        place, side = signature(wheel)
        if side is None:
            return {}
        exact = [name for name, (p, s) in known.items() if (p, s) == (place, side)]
        of_side = [name for name, (p, s) in known.items() if p is None and s == side]
        fits = exact or of_side
        if len(fits) != 1:
            return {}
        found[wheel] = fits[0]
    return found


def signature(name: str) -> tuple[str | None, str | None]:
    """Place and side that a name says: front, middle, back; left, right; None where it does not."""
    words = [one.lower() for one in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]
    place = next((PLACES[word] for word in words if word in PLACES), None)
    side = next((SIDES[word] for word in words if word in SIDES), None)
    for word in words:
        if side is None and re.fullmatch(r"[wv][lr]", word):  # wl, vr: rate of a side
            side = SIDES[word[1]]
        pair = PAIR.fullmatch(word)
        if pair is not None and side is None:
            first = pair[1].lower()
            place, side = ("back" if first == "r" else PLACES[first]), SIDES[pair[2].lower()]
    return place, side
