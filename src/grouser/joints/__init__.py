"""Models of passive joints: springs, stops. T (2.74)."""

from grouser.joints.models import JointModel, Spring, Stops

__all__ = ["JointModel", "Spring", "Stops"]
