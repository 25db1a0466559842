"""Structs: the same values in Python and in compiled code, and no struct with the wrong fields."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from grouser._compile.jit import entry, kernel
from grouser._compile.struct import Struct, array, block, indices, integer, number, record, record_type, struct


class Wheel(Struct):
    """A few fields of each kind."""

    radius = number()
    count = integer()
    driven = integer()
    points = array("n", 3)


class Rover(Struct):
    """Holds another struct, and arrays of three dimensions."""

    mass = number()
    wheel = struct(Wheel)
    cube = array("a", "b", "c")
    order = indices("n")


class Room(Struct):
    """Work space."""

    everything = block()
    corner = array(3)
    matrix = array("n", "m")
    where = indices("n")


@entry
def read_wheel(wheel, out):
    out[0] = wheel.radius
    out[1] = wheel.count
    out[2] = 1.0 if wheel.driven else -1.0
    out[3] = wheel.points.shape[0]
    out[4] = wheel.points.size
    for i in range(wheel.points.shape[0]):
        out[5] += wheel.points[i, 2] * 10.0**i


@kernel
def through_a_kernel(rover, a, b, c):
    return rover.cube[a, b, c]


@entry
def read_rover(rover, out):
    out[0] = rover.mass
    out[1] = rover.wheel.radius
    out[2] = rover.wheel.points[1, 0]
    k = 3
    for a in range(rover.cube.shape[0]):
        for b in range(rover.cube.shape[1]):
            for c in range(rover.cube.shape[2]):
                out[k] = through_a_kernel(rover, a, b, c)
                k += 1
    out[k] = rover.order[rover.order[0]]


@entry
def fill_room(room):
    for i in range(3):
        room.corner[i] = 1.0 + i
    for i in range(room.matrix.shape[0]):
        room.where[i] = 10 + i
        for j in range(room.matrix.shape[1]):
            room.matrix[i, j] = 100.0 * i + j


@entry
def fill_block(room):
    room.everything[:] = 2.0


def wheel(**changes):
    values = {"radius": 0.25, "count": 7, "driven": True, "points": np.arange(6.0).reshape(2, 3)}
    return Wheel(**(values | changes))


def rover():
    cube = np.arange(24.0).reshape(2, 3, 4)
    return Rover(mass=-1.5, wheel=wheel(), cube=cube, order=[2, 0, -7])


def seen(one):
    out = np.zeros(6)
    read_wheel(one, out)
    return out.tolist()


def test_compiled_code_sees_numbers_whole_numbers_truths_and_arrays():
    assert seen(wheel()) == [0.25, 7.0, 1.0, 2.0, 6.0, 2.0 + 50.0]
    assert seen(wheel(radius=-1e300, count=-(2**40), driven=False))[:3] == [-1e300, -(2.0**40), -1.0]
    assert seen(wheel(radius=3, count=np.int32(4)))[:2] == [3.0, 4.0]
    assert np.isnan(seen(wheel(radius=np.nan))[0])


def test_compiled_code_sees_structs_in_structs_and_three_dimensions():
    out = np.zeros(28)
    read_rover(rover(), out)
    assert out[:3].tolist() == [-1.5, 0.25, 3.0]
    assert out[3:27].tolist() == list(range(24))
    assert out[27] == -7.0


@pytest.mark.parametrize("shape", [(0, 3), (1, 3)])
def test_arrays_without_entries_are_arrays(shape):
    assert seen(wheel(points=np.ones(shape))) == [0.25, 7.0, 1.0, shape[0], 3.0 * shape[0], float(shape[0])]


def test_python_sees_what_was_given():
    one = rover()
    assert (one.mass, one.wheel.radius, one.wheel.count, one.wheel.driven) == (-1.5, 0.25, 7, 1)
    assert one.cube.shape == (2, 3, 4)
    assert one.order.dtype == np.int64
    with pytest.raises(AttributeError, match="Rover has no field 'colour'"):
        _ = one.colour


def test_fields_go_by_order_or_by_name():
    points = np.ones((2, 3))
    assert seen(Wheel(0.5, 1, False, points)) == seen(Wheel(0.5, 1, points=points, driven=False))


def test_an_array_that_fits_is_shared_and_any_other_is_copied():
    points = np.zeros((2, 3))
    one = wheel(points=points)
    points[0, 2] = 4.0
    assert one.points is points
    assert seen(one)[5] == 4.0
    turned = wheel(points=np.arange(6).reshape(3, 2).T)  # neither contiguous nor floats
    assert turned.points.flags.c_contiguous
    assert seen(turned)[5] == 4.0 + 50.0


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"radius": 1.0}, r"Wheel: fields \['count', 'driven', 'points'\] do not fit"),
        (
            {"radius": 1.0, "count": 1, "driven": 1, "points": [[1.0]], "colour": 1},
            r"Wheel: fields \['colour'\] do not fit",
        ),
        ({"radius": 1.0, "count": 1, "driven": 1, "points": [1.0]}, r"Wheel.points: has 1 dimensions, needs 2"),
    ],
)
def test_wrong_fields_are_refused(fields, words):
    with pytest.raises(TypeError, match=words):
        Wheel(**fields)


def test_a_field_cannot_have_the_name_of_a_method():
    """Python would find the method, compiled code the field."""
    with pytest.raises(TypeError, match="Wrong: a field cannot be called 'replace'"):
        type("Wrong", (Struct,), {"replace": number()})


def test_replace_changes_a_field_and_shares_the_rest():
    old = wheel()
    new = old.replace(radius=0.5)
    assert (seen(old)[0], seen(new)[0]) == (0.25, 0.5)
    assert new.points is old.points
    with pytest.raises((TypeError, KeyError), match="colour"):
        old.replace(colour=1)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))], ids=["deep", "pickle"])
def test_copies_have_memory_of_their_own(copied):
    old = rover()
    new = copied(old)
    old.cube[:], old.wheel.points[:] = -1.0, -1.0
    out = np.zeros(28)
    read_rover(new, out)
    assert out[2] == 3.0
    assert out[3:27].tolist() == list(range(24))
    assert (new.wheel.driven, new.order.tolist()) == (1, [2, 0, -7])


def test_a_copy_outlives_what_it_was_made_from():
    """The words of the copy must point to its own arrays."""
    new = pickle.loads(pickle.dumps(rover()))
    filler = [np.full(24, -3.0) for _ in range(100)]
    out = np.zeros(28)
    read_rover(new, out)
    assert out[3:27].tolist() == list(range(24))
    assert len(filler) == 100


def test_zeros_is_one_block_that_compiled_code_and_python_share():
    room = Room.zeros(n=2, m=4)
    assert (room.corner.shape, room.matrix.shape, room.where.shape) == ((3,), (2, 4), (2,))
    assert room.everything.shape == (3 + 8 + 2,)
    assert not room.everything.any()
    fill_room(room)
    assert room.corner.tolist() == [1.0, 2.0, 3.0]
    assert room.matrix.tolist() == [[0.0, 1.0, 2.0, 3.0], [100.0, 101.0, 102.0, 103.0]]
    assert room.where.tolist() == [10, 11]
    assert room.everything[:3].tolist() == [1.0, 2.0, 3.0]
    fill_block(room)
    assert room.matrix.tolist() == [[2.0] * 4] * 2


def test_zeros_of_another_size_is_another_block():
    small, large = Room.zeros(n=0, m=4), Room.zeros(n=3, m=1)
    fill_room(small)
    fill_room(large)
    assert small.matrix.shape == (0, 4)
    assert small.where.size == 0
    assert large.matrix.tolist() == [[0.0], [100.0], [200.0]]
    assert large.where.tolist() == [10, 11, 12]


def test_a_copy_of_zeros_keeps_its_numbers():
    room = Room.zeros(n=2, m=2)
    fill_room(room)
    new = copy.deepcopy(room)
    room.matrix[:] = 0.0
    assert new.matrix.tolist() == [[0.0, 1.0], [100.0, 101.0]]
    assert new.where.tolist() == [10, 11]


class Job(Struct):
    room = struct(Room)
    scale = number()
    count = integer()
    out = array("n")


@entry
def do_job(job):
    for i in range(job.out.size):
        job.out[i] = job.scale * job.room.matrix[0, i] + job.count


def test_zeros_takes_numbers_and_structs_and_they_may_change_between_two_calls():
    rooms = [Room.zeros(n=1, m=3) for _ in range(2)]
    rooms[1].matrix[:] = [[1.0, 2.0, 3.0]]
    job = Job.zeros(n=3, room=rooms[0], scale=2.0, count=-1)
    do_job(job)
    assert (job.out.tolist(), job.scale, job.count) == ([-1.0, -1.0, -1.0], 2.0, -1)
    job.repoint(room=rooms[1], scale=3.0)
    do_job(job)
    assert (job.out.tolist(), job.scale) == ([2.0, 5.0, 8.0], 3.0)
    job.repoint(out=np.zeros(2))
    do_job(job)
    assert job.out.tolist() == [2.0, 5.0]


def test_copies_of_the_block_are_read_by_name():
    room = Room.zeros(n=2, m=2)
    fill_room(room)
    blocks = np.array([room.memory_block, 2.0 * room.memory_block])
    assert room.view_in("matrix", blocks).tolist() == [[[0.0, 1.0], [100.0, 101.0]], [[0.0, 2.0], [200.0, 202.0]]]
    assert room.view_in("where", blocks)[0].tolist() == [10, 11]


POSE = record_type(time=(), position=3, covariance=(2, 2), samples=int)


class Track(Struct):
    """Numbers that a kernel changes: one record, a ring of them, and an array after them."""

    ahead = array(2)
    now = record(POSE)
    past = record(POSE, "n")
    behind = array("n")


@kernel
def keep(pose, track, row):
    """Records go to kernels as they are."""
    track.past[row].time = pose.time
    for i in range(3):
        track.past[row].position[i] = pose.position[i]
    track.past[row].samples = pose.samples


@entry
def move(track, dt):
    now = track.now
    now.time += dt
    now.samples += 1
    now.position[0] += 2.0 * dt
    now.covariance[1, 0] = track.behind[track.behind.shape[0] - 1]
    keep(now, track, now.samples % track.past.shape[0])


@pytest.mark.parametrize("name", ["sum", "mean", "dtype", "size", "real", "round"])
def test_a_field_of_a_record_is_not_called_as_what_all_records_have(name):
    with pytest.raises(TypeError, match=f"a field of a record cannot be called '{name}', which is an attribute"):
        record_type(time=(), **{name: 3})


def test_records_change_in_compiled_code_and_are_seen_in_python():
    track = Track.zeros(n=3)
    track.ahead[:] = 7.0
    track.behind[:] = [1.0, 2.0, 5.0]
    for _ in range(4):
        move(track, 0.25)
    assert track.now.time == 1.0
    assert track.now.samples == 4
    assert track.now.position.tolist() == [2.0, 0.0, 0.0]
    assert track.now.covariance.tolist() == [[0.0, 0.0], [5.0, 0.0]]
    assert track.past.time.tolist() == [0.75, 1.0, 0.5]
    assert track.past[1].position[0] == 2.0
    assert track.past.samples.tolist() == [3, 4, 2]
    assert track.ahead.tolist() == [7.0, 7.0]
    assert track.behind.tolist() == [1.0, 2.0, 5.0]


def test_python_writes_into_records_that_compiled_code_reads():
    track = Track.zeros(n=2)
    track.now.time = 10.0
    track.now.position[0] = -1.0
    move(track, 0.5)
    assert track.now.time == 10.5
    assert track.now.position[0] == 0.0


def test_records_are_given_pointed_elsewhere_and_copied():
    pose = np.zeros((), POSE)
    track = Track(ahead=np.zeros(2), now=pose, past=np.zeros(2, POSE), behind=np.zeros(2))
    move(track, 1.0)
    assert pose["time"] == 1.0
    other = np.zeros((), POSE)
    track.repoint(now=other)
    move(track, 3.0)
    assert (pose["time"], other["time"]) == (1.0, 3.0)
    copied = pickle.loads(pickle.dumps(track))
    move(copied, 1.0)
    assert (copied.now.time, other["time"]) == (4.0, 3.0)


def test_records_work_interpreted():
    track = Track.zeros(n=2)
    keep.py_func(track.past[1], track, 0)
    track.past[1].time = 2.5
    keep.py_func(track.past[1], track, 0)
    assert track.past[0].time == 2.5
