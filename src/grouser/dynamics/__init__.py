"""Constrained dynamics: the acceleration of a vehicle, given its contacts and forces. T §2.4."""

from grouser.dynamics.external import ExternalForce
from grouser.dynamics.joints import JointModel, Spring, Stops
from grouser.dynamics.model import Dynamics
from grouser.dynamics.ode import OdeRun, simulate_ode
from grouser.dynamics.step import Step
from grouser.dynamics.thesis import thesis_step

__all__ = [
    "Dynamics",
    "ExternalForce",
    "JointModel",
    "OdeRun",
    "Spring",
    "Step",
    "Stops",
    "simulate_ode",
    "thesis_step",
]
