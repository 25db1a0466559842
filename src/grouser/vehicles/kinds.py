"""What kinds of wheels a vehicle has, in words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from grouser.vehicles.rows import Frame

if TYPE_CHECKING:
    from grouser.vehicles.vehicle import Vehicle


def kind_of(wheel: Frame) -> str:
    """ "wheel", "omni wheel", "mecanum wheel", "ball that slides" or "wheel that turns with" another."""
    if wheel.slides is not None:
        return "ball that slides"
    if wheel.turns_with is not None:
        return f"wheel that turns with {wheel.turns_with}"
    if wheel.rollers is None:
        return "wheel"
    return "omni wheel" if abs(wheel.rollers) == 90.0 else "mecanum wheel"


def kinds_of_wheels(vehicle: Vehicle) -> str:
    """All wheels counted by kind: "2 wheels, 1 ball that slides", "2 rows of 5 wheels"."""
    followers = Counter(f.turns_with for f in vehicle.frames if f.turns_with is not None)
    words: Counter[tuple[str, str]] = Counter()
    for frame in vehicle.frames:
        if not frame.is_wheel or frame.turns_with is not None:
            continue
        if frame.name in followers:
            size = f"of {1 + followers[frame.name]} wheels"
            words[f"row {size}", f"rows {size}"] += 1
        else:
            words[
                kind_of(frame),
                kind_of(frame).replace("wheel", "wheels").replace("ball that slides", "balls that slide"),
            ] += 1
    return ", ".join(f"{count} {one if count == 1 else many}" for (one, many), count in words.items())
