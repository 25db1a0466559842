"""Vehicle, model, ground and work space of streaming odometry in two flat arrays, of which the kernels take views.

Numba unpacks every array that Python hands to a kernel, and first asks each for its type: for the fifty of vehicle,
model and scratch that took nearly as long as the update itself. They are therefore packed once. `numbers` (float64) and
`indices` (int64) hold them one behind the other; `indices` begins with a table of where each starts and its shape.
"""

import numpy as np

from grouser._kernels.jit import allocating
from grouser._kernels.kinematics import KinematicModel
from grouser._kernels.scratch import Scratch
from grouser._kernels.terrain import Ground
from grouser._kernels.vehicle import VehicleArrays

# Places in the list of arrays: the vehicle's fields from 0 on, then weight, gain and target of the model, then
SCRATCH = len(VehicleArrays._fields) + 3
WORK = SCRATCH + len(Scratch._fields)  # (10, max(nq, 64)) work space
SHARES = WORK + 1  # (nv, nv) a second normal matrix
CHOICE = WORK + 2  # (2, nv) indices: known and unknown entries of the joint-space velocity
SINGLE = WORK + 3  # indices: mode, address and parameters of slip; address, parameters and stride of the ground
TIP = SINGLE + 1  # numbers: cosine of the tilt at which the vehicle counts as rolled over


def pack(vehicle, model, ground, scratch):
    """The arrays `numbers` and `indices`; what stands in them are copies."""
    nv = scratch.v.size
    own = np.zeros((10, max(nv + 1, 64))), np.zeros((nv, nv)), np.zeros((2, nv), dtype=np.int64)
    single = np.array([model.slip_mode, model.slip_address, model.slip_par, *ground], dtype=np.int64)
    arrays = [*vehicle, model.weight, model.gain, model.target, *scratch, *own, single, np.array([model.tip_cosine])]
    table = np.zeros((len(arrays), 4), dtype=np.int64)
    numbers, indices = [], [table.ravel()]
    for row, array in zip(table, arrays, strict=True):
        kind = indices if array.dtype == np.int64 else numbers
        row[0] = sum(one.size for one in kind)
        row[1 : 1 + array.ndim] = array.shape
        kind.append(array.ravel())
    return np.concatenate(numbers), np.concatenate(indices)


@allocating
def line(flat, indices, place):
    """Array `place`, of one dimension."""
    start = indices[4 * place]
    return flat[start : start + indices[4 * place + 1]]


@allocating
def grid(flat, indices, place):
    """Array `place`, of two dimensions."""
    start = indices[4 * place]
    rows = indices[4 * place + 1]
    columns = indices[4 * place + 2]
    return flat[start : start + rows * columns].reshape(rows, columns)


@allocating
def stack(flat, indices, place):
    """Array `place`, of three dimensions."""
    start = indices[4 * place]
    layers = indices[4 * place + 1]
    rows = indices[4 * place + 2]
    columns = indices[4 * place + 3]
    return flat[start : start + layers * rows * columns].reshape(layers, rows, columns)


@allocating
def vehicle_in(numbers, indices):
    return VehicleArrays(
        parent=line(indices, indices, 0),
        joint=line(indices, indices, 1),
        rotation=stack(numbers, indices, 2),
        offset=grid(numbers, indices, 3),
        mass=line(numbers, indices, 4),
        com=grid(numbers, indices, 5),
        inertia=stack(numbers, indices, 6),
        wheel=line(indices, indices, 7),
        radius=line(numbers, indices, 8),
        tyre=line(numbers, indices, 9),
        wheel_of_frame=line(indices, indices, 10),
        actuated=line(indices, indices, 11),
        coupling=grid(numbers, indices, 12),
        coupling_value=line(numbers, indices, 13),
    )


@allocating
def model_in(numbers, indices):
    """The kinematic model, without known and unknown velocities: each sample has its own."""
    single = line(indices, indices, SINGLE)
    return KinematicModel(
        known=indices[:0],
        unknown=indices[:0],
        weight=line(numbers, indices, SCRATCH - 3),
        gain=line(numbers, indices, SCRATCH - 2),
        target=line(numbers, indices, SCRATCH - 1),
        slip_mode=single[0],
        slip_address=single[1],
        slip_par=single[2],
        tip_cosine=line(numbers, indices, TIP)[0],
    )


@allocating
def ground_in(indices):
    single = line(indices, indices, SINGLE)
    return Ground(single[3], single[4], single[5])


@allocating
def scratch_in(numbers, indices):
    return Scratch(
        R_world_body=grid(numbers, indices, SCRATCH),
        p_world_body=line(numbers, indices, SCRATCH + 1),
        R=stack(numbers, indices, SCRATCH + 2),
        p=grid(numbers, indices, SCRATCH + 3),
        p_contact=grid(numbers, indices, SCRATCH + 4),
        axes=stack(numbers, indices, SCRATCH + 5),
        height_error=line(numbers, indices, SCRATCH + 6),
        rolling_radius=line(numbers, indices, SCRATCH + 7),
        rim=grid(numbers, indices, SCRATCH + 8),
        hub=grid(numbers, indices, SCRATCH + 9),
        A=grid(numbers, indices, SCRATCH + 10),
        rhs=line(numbers, indices, SCRATCH + 11),
        row=line(numbers, indices, SCRATCH + 12),
        B=grid(numbers, indices, SCRATCH + 13),
        normal=grid(numbers, indices, SCRATCH + 14),
        x=line(numbers, indices, SCRATCH + 15),
        work=grid(numbers, indices, SCRATCH + 16),
        pivot=line(indices, indices, SCRATCH + 17),
        v=line(numbers, indices, SCRATCH + 18),
        command=line(numbers, indices, SCRATCH + 19),
        drive_in=line(numbers, indices, SCRATCH + 20),
        ground_in=line(numbers, indices, SCRATCH + 21),
        ground_out=line(numbers, indices, SCRATCH + 22),
        slip_in=line(numbers, indices, SCRATCH + 23),
        slip_out=line(numbers, indices, SCRATCH + 24),
        unused=line(numbers, indices, SCRATCH + 25),
        stage=grid(numbers, indices, SCRATCH + 26),
        q_stage=line(numbers, indices, SCRATCH + 27),
        twists=grid(numbers, indices, SCRATCH + 28),
    )


@allocating
def store_in(numbers, indices):
    """Vehicle, model, ground and scratch; then work space, second normal matrix, and known and unknown entries."""
    return (
        vehicle_in(numbers, indices),
        model_in(numbers, indices),
        ground_in(indices),
        scratch_in(numbers, indices),
        grid(numbers, indices, WORK),
        grid(numbers, indices, SHARES),
        grid(indices, indices, CHOICE),
    )
