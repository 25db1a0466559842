"""The contacts of one state, for a drive in Python that asks for them while the engine runs."""

from grouser._compile.jit import entry
from grouser._kernels.arrays import copy
from grouser._kernels.contact.second import find_wheel_contacts
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.simulation.rollout import record_contacts
from grouser._kernels.vehicles.frames import pose_frames


@entry
def look(vehicle, ground, second, q, v, out, s):
    """Contacts of state q with velocity v into out (nw, CONTACT_COLUMNS), as they are recorded; False off the ground.

    s is work space of the caller's own, not the engine's; it remembers the search of the last call.
    """
    pose_frames(vehicle, q, s)
    if not find_wheel_contacts(vehicle, ground, second, s):
        return False
    wheel_jacobians(vehicle, s)
    copy(v, s.v)
    record_contacts(vehicle, s, out)
    return True
