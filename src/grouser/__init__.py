"""Grouser predicts how a wheeled robot moves on rough ground.

>>> import grouser as gr
>>> run = gr.simulate(gr.Kinematics(gr.vehicle("zoe")), gr.terrain.plane(), gr.drive.arc(1.0), duration=1.0)
"""

from typing import TYPE_CHECKING

from grouser import compiling as _compiling  # noqa: F401  it shows on stderr what is being compiled
from grouser import pictures as _pictures
from grouser._version import __version__
from grouser.lazy import lazy as _lazy

if TYPE_CHECKING:
    from grouser import (  # isort: skip
        actuation, calibration, collision, contact, dynamics, errors, fusion, gym, joints, kinematics, law,
        logs, motion, odometry, plan, robot, rolling, rotation, slip, terrain, traction, vehicles,
    )  # fmt: skip
    from grouser.calibration.calibrate import calibrate
    from grouser.calibration.evaluate import evaluate
    from grouser.dynamics import Dynamics, ExternalForce
    from grouser.errors import GrouserError
    from grouser.kinematics import Kinematics, actuate
    from grouser.law import param
    from grouser.logs import Log, read_log
    from grouser.motion.fit import Fit
    from grouser.motion.model import MotionModel
    from grouser.motion.noise import Noise
    from grouser.motion.parameters import Parameter
    from grouser.odometry.odometry import Odometry
    from grouser.robot.robot import Robot
    from grouser.simulation import drive
    from grouser.simulation.rollout import Rollouts, rollout
    from grouser.simulation.run import Run
    from grouser.simulation.settle import Settled, settle
    from grouser.simulation.simulate import simulate
    from grouser.simulation.status import Status
    from grouser.simulation.stepping import Simulation
    from grouser.study.run import study
    from grouser.vehicles.catalog import vehicle
    from grouser.vehicles.vehicle import Vehicle

__all__ = [
    "Dynamics", "ExternalForce", "Fit", "GrouserError", "Kinematics", "Log", "MotionModel", "Noise", "Odometry",
    "Parameter", "Robot", "Rollouts", "Run", "Settled", "Simulation", "Status", "Vehicle", "__version__", "actuate",
    "actuation", "calibrate", "calibration", "collision", "contact", "drive", "dynamics", "errors", "evaluate",
    "fusion", "gym", "joints", "kinematics", "law", "logs", "motion", "odometry", "param", "plan", "read_log", "robot",
    "rolling", "rollout", "rotation", "settle", "simulate", "slip", "study", "terrain", "traction", "vehicle",
    "vehicles",
]  # fmt: skip

_pictures.PAINTERS |= {
    "contact over slip": "grouser.view.contact:plot_slip",
    "contact over slip velocity": "grouser.view.contact:plot_slip_velocity",
    "fit": "grouser.view.calibration:plot_history",
    "ground map": "grouser.view.ground_map:plot_ground_map",
    "plan": "grouser.view.plan:plot_plan",
    "plan as page": "grouser.view.plan_page:view_plan",
    "rolling": "grouser.view.rolling:plot_rolling",
    "run": "grouser.view.plot:plot_run",
    "run as page": "grouser.view.page:view_runs",
    "run as mcap": "grouser.view.mcap:write_mcap",
    "study": "grouser.view.study:plot_study",
    "terrain": "grouser.view.terrain:plot_terrain",
    "study report": "grouser.view.report_study:report_study",
}
_lazy(__name__)
