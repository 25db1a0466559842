"""Work space of eight kinematic rollouts that are stepped together, a lane each."""

import numpy as np

from grouser._compile.lanes import LANES, zero_struct
from grouser._compile.struct import Struct, array, lanes
from grouser._kernels.contact.search import SAMPLES
from grouser._kernels.kinematics.steering import SteeringPlan
from grouser._kernels.plan.cost import OWN_INPUTS
from grouser._kernels.vehicles.arrays import VehicleArrays

COST, TIP, SLIP, ENERGY, DISTANCE, CLEARANCE, STALLED, GOAL = range(8)
"""What is added up, as in `TALLY`."""


class LaneScratch(Struct):
    """Fields of `Scratch`, `DrivingScratch` and `TrialScratch` that have these names mean the same."""

    number = lanes(1)  # 0, 1, 2, …: which lane it is
    q = lanes("nq")
    v = lanes("nv")
    R_world_body = lanes(3, 3)
    p_world_body = lanes(3)
    R = lanes("nf", 3, 3)
    p = lanes("nf", 3)
    rims = lanes("nw", 3, 3)
    cosine = lanes("nw")  # of the rim angle of each contact, and its sine
    sine = lanes("nw")
    height_error = lanes("nw")
    slope_x = lanes("nw")  # of the ground at each contact
    slope_y = lanes("nw")
    p_contact = lanes("nw", 3)
    axes = lanes("nw", 3, 3)
    A = lanes("nr", "nv")
    rhs = lanes("nr")
    row = lanes("nr")
    B = lanes("nv", "nr")
    normal = lanes("nv", "nv")
    x = lanes("nv")
    slip_in = lanes(9)
    slip_out = lanes(6)
    queue = lanes("queue", 3)
    aim = lanes(3)
    acted = lanes(3)
    twist = lanes(3)
    change = lanes(3)
    rates = lanes("na")
    joints = lanes("nj")  # steering plan: displacements, and the pose of every frame on level ground
    level_frames = lanes("nf", 3, 3)
    level_places = lanes("nf", 3)
    centre = lanes(3)
    v_centre = lanes(3)
    force = lanes(3)
    inputs = lanes(OWN_INPUTS)
    total = lanes(8)


class LaneGround(Struct):
    """Points of the ground that are looked up together, as the laws of grounds take them."""

    points = array("n2")
    heights = array("n")
    grounds = array("n3")
    ground_in = array(2)
    ground_out = array(3)
    unused = array(1)


def make_lane_scratch(vehicle: VehicleArrays, plan: SteeringPlan, queue: int) -> tuple[LaneScratch, LaneGround]:
    """For a vehicle; queue: commands of a rollout and before it."""
    nf, nw, nc = len(vehicle.parent), len(vehicle.wheel), len(vehicle.coupling_value)
    nv, nr = 5 + nf, 3 * nw + nc
    s = zero_struct(
        LaneScratch, nf=nf, nw=nw, nr=nr, nv=nv, nq=nv + 1, na=len(vehicle.actuated), nj=nf - 1, queue=queue
    )
    s.number[:] = np.arange(LANES)
    s.R[0] = np.eye(3)[..., None]
    s.A[3 * nw :, 6:] = vehicle.coupling[..., None]
    s.joints[:] = plan.rest[:, None]
    s.level_frames[:], s.level_places[:] = plan.R[..., None], plan.p[..., None]
    n = LANES * SAMPLES
    return s, LaneGround.zeros(n=n, n2=2 * n, n3=3 * n)
