"""Wheel meets ground: contact point, frame and height error; frames of a state."""

from grouser.collision.contacts import Contacts, contacts

__all__ = ["Contacts", "contacts"]
