"""Numbers of contact, actuator, joint and slip laws by name, with priors in their unit and the scale of the vehicle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from grouser.errors import GrouserError
from grouser.law import LawParameter, OwnLaw

PAIRS = {
    "friction": ("1", ("x", "y"), 0.0), "shear_x": ("m", ("zero", "growth"), 1e-6),
    "shear_y": ("m", ("zero", "growth"), 1e-6),
}  # fmt: skip
"""Fields that may hold two numbers: unit, names of both, and their smallest value; growth is per radian."""
SETTINGS = ("smoothing", "dt", "onset", "static_penetration", "K", "C", "D", "E", "dynamic_share", "stribeck")
"""Numbers of shipped laws that a group of parameters leaves out: settings, shapes of curves, and doubles of others."""
TRIES = 40
"""Halvings by which a bound that a law accepts is found."""


def numbers(law: Any) -> dict[str, LawParameter]:
    """All finite numbers of a law by name; of a pair as field.x, of one for each joint as field.joint."""
    found = {p.name: p for p in law.parameters}
    if isinstance(law, OwnLaw):
        return found
    for field, (unit, names, low) in PAIRS.items():
        value = getattr(law, field, None)
        if isinstance(value, tuple):
            found |= {
                f"{field}.{name}": LawParameter(f"{field}.{name}", float(v), f"{unit}/rad" if k and low else unit, low)
                for k, (name, v) in enumerate(zip(names, value, strict=True))
            }
    for field, declared in getattr(type(law), "__dataclass_fields__", {}).items():
        value = getattr(law, field)
        if "check" in declared.metadata and isinstance(value, Mapping):
            unit, low, high = (declared.metadata[key] for key in ("unit", "low", "high"))
            found |= {f"{field}.{j}": LawParameter(f"{field}.{j}", float(v), unit, low, high) for j, v in value.items()}
    return {name: p for name, p in found.items() if math.isfinite(p.value)}


def changed(law: Any, values: Mapping[str, float]) -> Any:
    """The law with some of its numbers changed, each in its unit."""
    given: dict[str, Any] = {}
    for name, value in values.items():
        field, _, last = name.partition(".")
        whole = given.get(field, getattr(law, field, None)) if last else None
        if isinstance(whole, tuple):
            at = PAIRS[field][1].index(last)
            given[field] = tuple(value if k == at else v for k, v in enumerate(whole))
        elif isinstance(whole, Mapping):
            given[field] = {**whole, last: value}
        else:
            given[name] = value
    return law.replace(**given)


def in_group(law: Any) -> list[str]:
    """Names that stand for the law as a group: all of a user's own, of a shipped one those that are no settings."""
    named = numbers(law)
    return [n for n in named if isinstance(law, OwnLaw) or not set(n.split(".")) & set(SETTINGS)]


def size(p: LawParameter, load: float, radius: float) -> float:
    """Typical size of a number by its unit, for a wheel of this load [N] and radius [m], or by its own bounds."""
    if p.value:
        return abs(p.value)
    if math.isfinite(p.high - p.low):
        return 0.25 * (p.high - p.low)
    by_unit = {
        "N s/m": 0.1 * load, "N/m": load / 0.02, "N": load, "N m": load * radius, "N m s/rad": load * radius,
        "N m/rad": load * radius, "kg m²": 0.01 * load * radius**2, "Pa": 1e3, "m": 0.1 * radius,
        "m/rad": 0.1 * radius, "rad": 0.15, "m/s": 0.1, "s/m": 1.0, "kg/m³": 1e3, "rad/s": 10.0, "1": 0.3,
        "m/(N s)": 1.0 / load, "kg": 0.1 * load,
    }  # fmt: skip
    return by_unit.get(p.unit.partition(" or ")[0], 1.0)


def prior(law: Any, p: LawParameter, load: float, radius: float) -> tuple[float, float, float, float]:
    """Sigma, lower, upper, scale [its unit]: sigma of a coefficient is its typical size, of a ratio or angle less.

    Bounds are those the law declares, as far as the law accepts them.
    """
    typical = size(p, load, radius)
    near = p.unit in ("1", "rad") and not p.name.endswith(("friction", "friction.x", "friction.y", ".B"))
    own = isinstance(law, OwnLaw)
    sigma = max(0.3 * typical, 0.05) if near and not own else typical
    least = 0.02 * p.value if p.value > 0.0 else -20.0 * typical
    most = 3.0 if p.name.startswith("friction") else 20.0 * typical
    low = p.low if own and math.isfinite(p.low) else max(p.low, least)
    high = p.high if own and math.isfinite(p.high) else min(p.high, most)
    return sigma, _accepted(law, p, min(low, p.value)), _accepted(law, p, max(high, p.value)), typical


def _accepted(law: Any, p: LawParameter, bound: float) -> float:
    """The bound, or the value nearest to it that the law accepts: it may depend on other numbers of the law."""

    def takes(value: float) -> bool:
        try:
            changed(law, {p.name: value})
        except GrouserError:
            return False
        return True

    if not math.isfinite(bound) or takes(bound):
        return bound
    good = p.value
    for _ in range(TRIES):
        middle = 0.5 * (good + bound)
        good, bound = (middle, bound) if takes(middle) else (good, middle)
    return good
