"""Models of passive joints: springs, stops. T (2.74)."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.joints.models import JointModel, Spring, Stops

__all__ = ["JointModel", "Spring", "Stops"]

lazy(__name__)
