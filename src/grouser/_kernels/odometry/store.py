"""All that streaming odometry works on, behind one address, so that an update from Python costs one call."""

import numpy as np

from grouser._compile.struct import Struct, array, indices, struct
from grouser._kernels.kinematics.velocity import KinematicModel
from grouser._kernels.scratch import Scratch, make_scratch
from grouser._kernels.terrain.ground import Ground
from grouser._kernels.vehicles.arrays import VehicleArrays


class OdometryStore(Struct):
    """Vehicle, model, ground, settings, memory and work space; `odometry_slots.py` says what stands where."""

    vehicle = struct(VehicleArrays)
    model = struct(KinematicModel)  # each sample writes which velocities are known
    ground = struct(Ground)
    s = struct(Scratch)
    work = array(10, "widest")  # work space
    shares = array("nv", "nv")  # a second normal matrix
    settings = array("settings")  # numbers that do not change
    joints = array("nj", "columns")  # what is known of each joint
    linear = array("rows", "columns")
    contact = array("nw")  # contact angles
    memory = array("memory")  # what is kept between updates


class Samples(Struct):
    """Samples to take one after the other, and what they give."""

    rates = array("n", "nj")
    angles = array("n", "nj")
    sense = array("n", 6)  # time, roll, pitch, gyro; infinity for a roll or a first turn rate that is not given
    by_speed = indices("k")  # settings that grow with the speed: sliding × speed of each sample
    sliding = array("k")
    speed = array("n")
    last = array("out")  # the estimate before, and the last one after
    out = array("n", "out")  # estimates; may have no rows
    bits = indices("n")  # faults


def make_store(vehicle, model, ground, settings, joints, linear, contact, memory):
    """A store with room of its own around arrays that the caller keeps."""
    nv = 5 + len(vehicle.parent)
    none = np.zeros(nv, dtype=np.int64)
    return OdometryStore(
        vehicle=vehicle,
        model=model.replace(known=none, unknown=none.copy(), counts=np.zeros(2, dtype=np.int64)),
        ground=ground,
        s=make_scratch(vehicle),
        work=np.zeros((10, max(nv + 1, 64))),
        shares=np.zeros((nv, nv)),
        settings=settings,
        joints=joints,
        linear=linear,
        contact=contact,
        memory=memory,
    )
