"""Models of passive joints: springs, stops, or a user's own. T (2.74)."""

from grouser.joints.models import JointModel, Spring, Stops, law

__all__ = ["JointModel", "Spring", "Stops", "law"]
