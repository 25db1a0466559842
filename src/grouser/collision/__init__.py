"""Wheel meets ground: contact point, frame and height error; frames of a state."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.collision.contacts import Contacts, contacts

__all__ = ["Contacts", "contacts"]

lazy(__name__)
