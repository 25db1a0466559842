"""Numbers and origins in the elements of a URDF."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray
from grouser.errors import VehicleError
from grouser.vehicles.rows import checked


def origin(element: Element, where: str) -> tuple[FloatArray, FloatArray]:
    """R and p [m] of the <origin> of an element in its parent; where: the element, for messages."""
    found = element.find("origin")
    if found is None:
        return np.eye(3), np.zeros(3)
    xyz = floats(found.get("xyz", "0 0 0"), 3, f"{where}, field origin xyz")
    rpy = floats(found.get("rpy", "0 0 0"), 3, f"{where}, field origin rpy")
    return rotation.from_rpy(*rpy), np.array(xyz)


def floats(text: str, count: int, where: str) -> list[float]:
    """As many finite numbers as there must be."""
    words = text.split()
    if len(words) != count:
        raise VehicleError(f"{where}: '{text:.60}' has {len(words)} numbers, needs {count}")
    try:
        return [checked.number(float(word), where) for word in words]
    except ValueError:
        raise VehicleError(f"{where}: '{text:.60}' is not numbers") from None
