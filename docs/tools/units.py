"""Whether a docstring says in which unit a quantity is, or that it has none."""

from __future__ import annotations

import re

SYMBOLS = r"(?:m|mm|km|s|ms|rad|deg|N|kN|kg|g|Pa|kPa|J|W|Hz|V|A|Ω|K|h|min|px|bytes|°|%|1)"
BRACKETS = re.compile(rf"\[[^\]]*(?<![\w.]){SYMBOLS}[²³⁴]?(?!\w)[^\]]*\]")
"""A unit in square brackets, alone or after what it is of: [m], [rad/s], [ω rad/s, v m/s]."""
WORDS = (
    "seconds since", "orthonormal", "ratio", "share", "per cent", "percent", "factor", "exponent", "dimensionless",
    "normalised", "number of", "how many",
    "count", "probability", "likelihood", "mahalanobis", "nees", "unit vector", "direction", "ground normal", "normals",
    "si units", "its unit", "their unit", "its parameters", "μ", "efficiency", "index", "jacobian", "∂",
)  # fmt: skip
"""Words that say a quantity has no unit, or has the unit of something named."""
ELSEWHERE = re.compile(r"\bas `|\bas (?:in|of|for|those of|that of) `|likewise|those of `|that of `")
"""Where a docstring points to another that says it."""
QUANTITY = re.compile(r"\b(?:float|FloatArray|float64)\b")
CONVENTIONAL = re.compile(r"state|quaternion|rotation|^R_")
"""Names whose meaning and units are the same everywhere: docs/models.md, "State"."""


def is_quantity(name: str, annotation: str) -> bool:
    """Whether a name is of real numbers that may have a unit."""
    return bool(QUANTITY.search(annotation)) and not CONVENTIONAL.search(name)


def says_unit(doc: str) -> bool:
    """Whether a docstring names a unit in brackets, says that there is none, or points to where it is said."""
    low = doc.lower()
    return bool(BRACKETS.search(doc) or ELSEWHERE.search(doc)) or any(word in low for word in WORDS)
