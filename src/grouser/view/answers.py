"""The answer box of a report: first what was asked for, by the words of the question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

NOT_ASKED = "The words of the question fit nothing that this page measures; what it knows:"


ERRORS = ("error", "far", "off", "accura", "predict", "good", "well", "better")
"""Stems of words that ask how good a prediction is."""
TRUST = ("trust", "consisten", "covarian", "uncertain", "certain", "sigma", "nees", "ellips", "sure")
"""Of words that ask whether its uncertainty is right."""


class Fact(NamedTuple):
    """A sentence, and the stems of words that ask for it."""

    sentence: str
    asked_by: tuple[str, ...]
    always: bool = True
    """Whether it is in the box without being asked for."""


def answer(question: str, facts: Sequence[Fact]) -> tuple[str, ...]:
    """The sentences that a question asks for first, then those that are always given, each once.

    Where a question asks for none of them the box says so. An empty question asks for nothing.
    """
    words = re.findall(r"[^\W\d_]+", question.lower())
    fits = {fact: sum(word.startswith(fact.asked_by) for word in words) for fact in facts}
    asked = sorted((fact for fact in facts if fits[fact]), key=lambda fact: -fits[fact])  # most of its words first
    rest = [fact for fact in facts if fact.always and fact not in asked]
    lines = tuple(fact.sentence for fact in [*asked, *rest])
    return (NOT_ASKED, *lines) if words and not asked else lines
