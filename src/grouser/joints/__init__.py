"""Models of passive joints: springs, stops, or a user's own. T (2.74)."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.joints.models import JointModel, Spring, Stops, law

__all__ = ["JointModel", "Spring", "Stops", "law"]

lazy(__name__)
