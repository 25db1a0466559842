"""The vehicle as the engine sees it: one struct of C-contiguous arrays, all sizes decided at run time."""

from grouser._compile.struct import Struct, array, indices


class VehicleArrays(Struct):
    """A vehicle of nf frames (frame 0 is the body), nj = nf − 1 joints, nw wheels, na actuated joints, nc couplings.

    Its hull is nh balls, which may be points.

    Frame i moves by joint i − 1, which is entry 6 + i − 1 of a joint-space velocity and 7 + i − 1 of a state.
    """

    parent = indices("nf")  # parent frame, always smaller than the frame; −1 for the body
    joint = indices("nf")  # spatial index of the joint: 0 1 2 turn about, 3 4 5 slide along x y z; −1: body
    rotation = array("nf", 3, 3)  # R_parent_frame at zero displacement
    offset = array("nf", 3)  # p_parent_frame at zero displacement [m]
    mass = array("nf")  # [kg]
    com = array("nf", 3)  # centre of mass in frame axes [m]
    inertia = array("nf", 3, 3)  # about the centre of mass, frame axes [kg m²]
    wheel = indices("nw")  # frame of each wheel
    radius = array("nw")  # wheel radius [m]
    tyre = array("nw")  # radius of the tyre's cross-section [m]; 0: a thin disc
    rollers = indices("nw")  # whether rollers free one direction of each wheel
    held = array("nw", 2)  # the direction that is held, along the wheel and left of that; (1, 0) without rollers
    friction = array("nb")  # friction coefficient of each ball that slides; they are the last nb of the wheels
    leader = indices("nw")  # frame whose joint turns each wheel: its own, or that of a wheel it turns with
    follower = indices("nt")  # the wheels that turn with another
    still = indices("nj")  # whether a joint does not move by itself: of what slides, of wheels that turn with another
    wheel_of_frame = indices("nf")  # index of the wheel this frame is, else −1
    actuated = indices("na")  # joint index (frame − 1) of each actuated joint, in order of the frames
    coupling = array("nc", "nj")  # rows C of the holonomic joint constraints C θ − d = 0
    coupling_value = array("nc")  # the d of those [rad or m]
    hull_frame = indices("nh")  # frame of each ball of the hull
    hull_point = array("nh", 3)  # its centre in frame axes [m]
    hull_radius = array("nh")  # [m]
