"""Grouser predicts how a wheeled robot moves on rough ground.

>>> import grouser as gr
>>> run = gr.simulate(gr.Kinematics(gr.vehicle("zoe")), gr.terrain.plane(), gr.drive.arc(1.0), duration=1.0)
"""

from grouser import collision, errors, kinematics, rotation, slip, terrain, vehicles
from grouser._version import __version__
from grouser.errors import GrouserError
from grouser.kinematics import Kinematics, actuate
from grouser.simulation import Rollouts, Run, Settled, Status, drive, rollout, settle, simulate
from grouser.vehicles import Vehicle, vehicle

__all__ = [
    "GrouserError",
    "Kinematics",
    "Rollouts",
    "Run",
    "Settled",
    "Status",
    "Vehicle",
    "__version__",
    "actuate",
    "collision",
    "drive",
    "errors",
    "kinematics",
    "rollout",
    "rotation",
    "settle",
    "simulate",
    "slip",
    "terrain",
    "vehicle",
    "vehicles",
]
