"""The vehicle as the engine sees it: one NamedTuple of C-contiguous arrays, all sizes decided at run time."""

from typing import NamedTuple

import numpy as np


class VehicleArrays(NamedTuple):
    """A vehicle of nf frames (frame 0 is the body), nj = nf − 1 joints, nw wheels, na actuated joints, nc couplings.

    Frame i moves by joint i − 1, which is entry 6 + i − 1 of a joint-space velocity and 7 + i − 1 of a state.
    """

    parent: np.ndarray  # (nf,) int64, parent frame, always smaller than the frame; −1 for the body
    joint: np.ndarray  # (nf,) int64, spatial index of the joint: 0 1 2 turn about, 3 4 5 slide along x y z; −1: body
    rotation: np.ndarray  # (nf, 3, 3) R_parent_frame at zero displacement
    offset: np.ndarray  # (nf, 3) p_parent_frame at zero displacement [m]
    mass: np.ndarray  # (nf,) [kg]
    com: np.ndarray  # (nf, 3) centre of mass in frame axes [m]
    inertia: np.ndarray  # (nf, 3, 3) about the centre of mass, frame axes [kg m²]
    wheel: np.ndarray  # (nw,) int64, frame of each wheel
    radius: np.ndarray  # (nw,) wheel radius [m]
    tyre: np.ndarray  # (nw,) radius of the tyre's cross-section [m]; 0: a thin disc
    wheel_of_frame: np.ndarray  # (nf,) int64, index of the wheel this frame is, else −1
    actuated: np.ndarray  # (na,) int64, joint index (frame − 1) of each actuated joint, in order of the frames
    coupling: np.ndarray  # (nc, nj) rows C of the holonomic joint constraints C θ − d = 0
    coupling_value: np.ndarray  # (nc,) the d of those [rad or m]
