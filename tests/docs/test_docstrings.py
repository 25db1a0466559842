"""Every public name says what it is, and every quantity in which unit."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import grouser

pytest.importorskip("gymnasium", reason="grouser.gym is public and needs it")

TOOLS = Path(__file__).parents[2] / "docs" / "tools"
sys.path.insert(0, str(TOOLS))
import public_names  # noqa: E402
import units  # noqa: E402


@cache
def names() -> list[public_names.Name]:
    """All public names; found when first needed, as it imports everything."""
    return public_names.all_names()


def named(paths: list[str]) -> list[str]:
    """Names with something missing, each once."""
    return sorted(set(paths))


def test_every_module_of_the_top_level_is_walked() -> None:
    parts = {n for n in grouser.__all__ if isinstance(getattr(grouser, n), ModuleType)}
    assert parts - {m.rpartition(".")[2] for m in public_names.MODULES} == set()
    walked = {id(name.value) for name in names()}
    assert [n for n in public_names.top_level() if id(getattr(grouser, n)) not in walked] == []
    assert len(names()) > 150


def test_every_public_name_has_a_docstring() -> None:
    missing = [name.path for name in names() if not name.doc]
    missing += [m.path for name in names() for m in name.members if not m.doc and m.kind != "value"]
    assert named(missing) == []


def test_every_field_and_property_that_is_a_quantity_says_its_unit() -> None:
    silent = [
        f"{m.path}: {m.doc!r:.70}"
        for name in names()
        for m in name.members
        if m.kind in ("field", "property") and units.is_quantity(m.name, m.annotation) and not units.says_unit(m.doc)
    ]
    assert named(silent) == []


def test_every_function_of_a_number_says_its_unit() -> None:
    silent = [
        name.path
        for name in names()
        if name.kind == "function" and ": float" in name.signature and not units.says_unit(name.doc)
    ]
    silent += [
        m.path
        for name in names()
        for m in name.members
        if m.kind == "method" and ": float" in m.annotation and not units.says_unit(m.doc)
    ]
    assert named(silent) == []


@pytest.mark.parametrize(
    "doc",
    ["Wheel radius [m], > 0.", "[rad], left positive.", "[ω rad/s, v m/s, joint rates].", "[m or rad].", "[kg m²].",
     "K_d [N·s/m].", "Share of the log.", "Angle [°].", "[1/s].", "K_p [N m/(rad/s)].", "[s/m], ≥ 0."],
)  # fmt: skip
def test_a_unit_is_seen(doc: str) -> None:
    assert units.says_unit(doc)


@pytest.mark.parametrize(
    "doc",
    ["Wheel radius.", "", "Contact points, shape (T, nw, 3).", "[quaternion w x y z, joints].", "Slip [ahead, left].",
     "T (2.8), (2.9).", "Samples [low, high)."],
)  # fmt: skip
def test_a_missing_unit_is_seen(doc: str) -> None:
    assert not units.says_unit(doc)
