"""Pure rolling on smooth ground: surfaces in contact, one wheel, whole vehicles, and designs compared (R)."""

from grouser.rolling.contact import contact_angle, contact_matrix, contact_rates, wheel_pose
from grouser.rolling.design import Design, compare, judge, load_shares
from grouser.rolling.measure import Measures, measure
from grouser.rolling.mobility import Mobility
from grouser.rolling.model import RollingModel
from grouser.rolling.motion import roll
from grouser.rolling.start import Start, find_start
from grouser.rolling.surfaces import Ellipsoid, Forms, GroundSurface, Sphere, Surface, Torus
from grouser.rolling.wheel import Rolling, roll_wheel

__all__ = [
    "Design",
    "Ellipsoid",
    "Forms",
    "GroundSurface",
    "Measures",
    "Mobility",
    "Rolling",
    "RollingModel",
    "Sphere",
    "Start",
    "Surface",
    "Torus",
    "compare",
    "contact_angle",
    "contact_matrix",
    "contact_rates",
    "find_start",
    "judge",
    "load_shares",
    "measure",
    "roll",
    "roll_wheel",
    "wheel_pose",
]
