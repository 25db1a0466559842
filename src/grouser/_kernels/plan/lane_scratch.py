"""Work space of eight kinematic rollouts that are stepped together, a lane each."""

import numpy as np

from grouser._compile.lanes import LANES, zero_struct
from grouser._compile.struct import Struct, array, lanes, struct
from grouser._kernels.contact.search import SAMPLES
from grouser._kernels.kinematics.steering import SteeringPlan
from grouser._kernels.plan.cost import OWN_INPUTS, SUMS
from grouser._kernels.plan.drive import LaneDriving
from grouser._kernels.vehicles.arrays import VehicleArrays


class LaneScratch(Struct):
    """Fields of `Scratch` and `TrialScratch` that have these names mean the same."""

    number = lanes(1)  # 0, 1, 2, …: which lane it is
    q = lanes("nq")
    v = lanes("nv")
    R_world_body = lanes(3, 3)
    p_world_body = lanes(3)
    R = lanes("nf", 3, 3)
    p = lanes("nf", 3)
    rims = lanes("nw", 3, 3)
    rolling_radius = lanes("nw")
    cosine = lanes("nw")  # of the rim angle of each contact, and its sine
    sine = lanes("nw")
    height_error = lanes("nw")
    slope_x = lanes("nw")  # of the ground at each contact
    slope_y = lanes("nw")
    p_contact = lanes("nw", 3)
    axes = lanes("nw", 3, 3)
    A = lanes("nr", "nv")
    sag = lanes("nc")  # zero: no springs
    rhs = lanes("nr")
    row = lanes("nr")
    B = lanes("nv", "nr")
    normal = lanes("nv", "nv")
    x = lanes("nv")
    work = lanes(4, 3)
    slip_in = lanes(9)
    slip_out = lanes(6)
    driving = struct(LaneDriving)
    centre = lanes(3)
    v_centre = lanes(3)
    force = lanes(3)
    inputs = lanes(OWN_INPUTS)
    sums = lanes(SUMS)


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
    table, ns = 3 + len(vehicle.actuated), len(plan.joint)
    driving = zero_struct(LaneDriving, table=table, queue=queue, nj=nf - 1, nf=nf, ns=ns)
    s = zero_struct(LaneScratch, nf=nf, nw=nw, nc=nc, nr=nr, nv=nv, nq=nv + 1, driving=driving)
    s.number[:] = np.arange(LANES)
    s.R[0] = np.eye(3)[..., None]
    s.A[3 * nw :, 6:] = vehicle.coupling[..., None]
    n = LANES * SAMPLES
    return s, LaneGround.zeros(n=n, n2=2 * n, n3=3 * n)
