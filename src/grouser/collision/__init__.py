"""Wheel meets ground: contact point, frame and height error."""

from grouser.collision.contacts import Contacts, contacts

__all__ = ["Contacts", "contacts"]
