"""Constrained dynamics: the acceleration of a vehicle, given its contacts and forces. T §2.4."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.dynamics.external import ExternalForce
    from grouser.dynamics.model import Dynamics
    from grouser.dynamics.step import Step

__all__ = ["Dynamics", "ExternalForce", "Step"]

lazy(__name__)
