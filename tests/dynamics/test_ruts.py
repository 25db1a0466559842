"""Vehicles in soil that remembers: rear wheels in the ruts of the front ones, their own ruts on the way back."""

import copy

import numpy as np
import pytest

import grouser as gr
from grouser._compile.jit import entry
from grouser._kernels.contact.ruts import AHEAD, entry_distance
from grouser.errors import SimulationError

DT, SPEED = 0.02, 0.2
STAYS = gr.contact.Ishigami(sinkage_ratio=0.1)
"""Soil that stays down behind a wheel, as far as `Ruts` lets it spring back."""
FORTH, BACK = 250, 250


def lru(**options):
    return gr.Dynamics(gr.vehicle("lru1"), **{"contact": STAYS, "ruts": gr.contact.Ruts(), **options})


def straight(model, duration=12.0, **options):
    drive = gr.drive.arc(speed=SPEED, curvature=0.0)
    return gr.simulate(model, gr.terrain.plane(), drive, duration=duration, dt=DT, **options)


def to_and_fro():
    """Commands of the LRU that drives ahead, stops and comes back over its own tracks, (T, na)."""
    rover = gr.vehicle("lru1")
    wheels = np.array([name in rover.wheels for name in rover.actuated])
    profile = np.concatenate([np.full(FORTH, 1.0), np.linspace(1.0, -1.0, 25), np.full(BACK, -1.0)])
    return profile[:, None] * wheels * SPEED / 0.125


@pytest.fixture(scope="module")
def driven():
    return straight(lru())


@pytest.fixture(scope="module")
def there_and_back():
    commands = to_and_fro()
    return gr.simulate(lru(), gr.terrain.plane(), commands, duration=len(commands) * DT, dt=DT)


def wheels_of(run, letter):
    return [i for i, name in enumerate(run.vehicle.wheels) if name.startswith(letter)]


def test_without_ruts_nothing_is_kept():
    run = straight(lru(ruts=None), duration=0.2)
    assert run.ruts is None
    assert "deepest_rut" not in run.summary()


def test_until_rear_wheels_reach_a_rut_the_run_is_that_without_ruts_to_the_bit(driven):
    """Front wheels press soil that their own rim has not felt; the rear ones are 0.68 m behind."""
    plain = straight(lru(ruts=None))
    ahead = driven.contact.point[:, wheels_of(driven, "B"), 0].max(axis=1) + 0.1
    reached = int(np.argmax(ahead > driven.contact.point[0, wheels_of(driven, "F"), 0].min() - 0.05))
    assert reached > 100
    assert driven.state[:reached].tobytes() == plain.state[:reached].tobytes()
    assert not np.array_equal(driven.state, plain.state)


def test_rear_wheels_in_the_ruts_of_front_ones_sink_little_more_and_need_less_torque(driven):
    front, rear, last = wheels_of(driven, "F"), wheels_of(driven, "B"), slice(-100, -1)
    sinkage = -driven.contact.height_error[last]
    kept = sinkage[:, front].mean()
    plain = straight(lru(ruts=None))
    alone = -plain.contact.height_error[last][:, rear].mean()
    assert kept < sinkage[:, rear].mean() < 1.3 * kept
    assert sinkage[:, rear].mean() > alone
    torque, torque_alone = (np.abs(run.contact.torque[last]) for run in (driven, plain))
    assert torque[:, rear].mean() < 0.7 * torque[:, front].mean()
    assert torque[:, rear].mean() < 0.6 * torque_alone[:, rear].mean()
    # what the ground takes from the wheels
    assert (-driven.contact.power[last][:, rear] < 0.7 * -driven.contact.power[last][:, front]).all()


def test_the_ruts_are_as_wide_as_the_wheels_and_as_deep_as_they_went(driven):
    ruts = driven.ruts
    # two tracks of 0.1 m at y = ±0.3 m, in cells of 0.05 m whose centres are multiples of it
    assert set(np.round(np.abs(ruts.y), 9)) == {0.25, 0.3, 0.35}
    deepest = -driven.contact.height_error.min()
    assert ruts.sinkage.max() == pytest.approx(deepest, rel=0.02)
    assert driven.summary()["deepest_rut"] == pytest.approx(0.9 * ruts.sinkage.max())
    assert ruts.x.min() > driven.contact.point[..., 0].min() - 0.05
    assert ruts.x.max() < driven.contact.point[..., 0].max() + 0.05
    # no hole along a track
    for y in (-0.3, 0.3):
        along = np.sort(ruts.x[np.abs(ruts.y - y) < 1e-9])
        np.testing.assert_allclose(np.diff(along), 0.05, rtol=0.0, atol=1e-9)


def test_on_the_way_back_all_wheels_run_in_their_own_ruts(there_and_back):
    run = there_and_back
    assert run.status is gr.Status.OK
    forth, back = slice(FORTH // 2, FORTH), slice(FORTH + 25 + BACK // 2, FORTH + 25 + BACK)
    torque = np.abs(run.contact.torque)
    front = wheels_of(run, "F")
    assert (torque[back][:, front].mean(axis=0) < 0.7 * torque[forth][:, front].mean(axis=0)).all()
    sinkage = -run.contact.height_error
    more = sinkage[back][:, front].mean() / sinkage[forth][:, front].mean()
    assert 1.0 < more < 1.4


@entry
def entered(vehicle, model, w, depth, d):
    return entry_distance(vehicle, model, w, depth, d)


@pytest.mark.parametrize(("depth", "felt"), [(0.05, 0.0), (0.05, 0.03), (0.05, 0.04), (0.02, 0.04)])
def test_the_rim_enters_a_rut_ahead_by_half_the_chord_below_its_floor(depth, felt):
    """The floor is at what the soil kept, less the share that springs back; half a chord h deep is √(2 R h)."""
    model = lru(ruts=gr.contact.Ruts(cell=0.02, size=2.56, rebound=0.25))
    d = gr.Simulation(model, gr.terrain.plane(), dt=DT)._room.dynamic_scratch
    d.rut_felt[:] = felt
    vehicle = model.vehicle_arrays
    found = entered(vehicle, model.arrays(DT), 0, depth, d)
    below = max(depth - 0.75 * felt, 0.0)
    assert found == pytest.approx(max(np.sqrt(2.0 * vehicle.radius[0] * below), AHEAD * 0.02), rel=1e-12)


def test_a_stopped_vehicle_stays_in_its_ruts():
    """What a wheel has pressed itself does not let it sink."""
    commands = to_and_fro()
    commands[FORTH:] = 0.0
    run = gr.simulate(lru(), gr.terrain.plane(), commands, duration=len(commands) * DT, dt=DT)
    assert np.abs(np.diff(run.position[-100:, 2])).max() < 1e-6
    assert np.abs(run.contact.height_error[-1] - run.contact.height_error[-101]).max() < 1e-6


def test_ground_takes_energy_in_and_out_of_ruts(there_and_back):
    """Over any half second, also where wheels enter ruts and leave them, and the balance with gravity is met."""
    run = there_and_back
    taken = -run.contact.power.sum(axis=1) * DT
    assert np.convolve(taken, np.ones(25), "valid").min() > 0.0
    given = run.power.sum(axis=1) * DT
    energy = run.solver.kinetic + run.solver.potential
    balance = np.cumsum(given - taken)[:-1] - (energy[1:] - energy[0])
    # first order in dt: the height moves with the new velocity, forces act at the mean one
    assert np.abs(balance).max() < 0.02 * taken.sum()


def test_a_mirrored_drive_leaves_mirrored_ruts():
    left, right = (
        gr.simulate(lru(), gr.terrain.plane(), gr.drive.arc(speed=SPEED, curvature=c), duration=8.0, dt=DT)
        for c in (0.5, -0.5)
    )
    mirror = np.array([1.0, -1.0, 1.0])
    # the iteration stops at a residual of 1e-4 of the weight, not at the same one on both sides
    np.testing.assert_allclose(left.position, right.position * mirror, rtol=0.0, atol=1e-4)
    cells = [set(zip(np.rint(r.ruts.x / 0.05), sign * np.rint(r.ruts.y / 0.05), strict=True))
             for r, sign in ((left, 1), (right, -1))]  # fmt: skip
    assert len(cells[0] ^ cells[1]) <= 0.02 * len(cells[0])


@pytest.mark.parametrize("yaw", [0.0, 0.7])
def test_a_patch_that_wraps_round_reads_old_cells_as_untouched(yaw):
    """Over 12 m straight ahead on a patch of 3.2 m, more than three times round: as on a patch that forgets nothing."""
    options = {"duration": 40.0, "start": (0.0, 0.0, yaw)}
    small, large = (straight_fast(lru(ruts=gr.contact.Ruts(size=size)), **options) for size in (3.2, 51.2))
    assert small.distance > 12.0
    assert small.state.tobytes() == large.state.tobytes()
    kept, all_of_them = (
        set(zip(r.ruts.x.tolist(), r.ruts.y.tolist(), r.ruts.sinkage.tolist(), strict=True)) for r in (small, large)
    )
    assert kept <= all_of_them
    if yaw == 0.0:  # each round comes to the cells of the one before, which are forgotten; slantwise it passes by them
        assert len(kept) < 0.35 * len(all_of_them)
        assert np.abs(small.position[-1, 0] - small.ruts.x).max() < 4.0


def straight_fast(model, **options):
    drive = gr.drive.arc(speed=0.5, curvature=0.0)
    return gr.simulate(model, gr.terrain.plane(), drive, dt=0.04, every=10, **options)


def test_a_simulation_and_a_rollout_move_as_a_run_does(there_and_back):
    commands = to_and_fro()
    model, ground = lru(), gr.terrain.plane()
    start, velocity = there_and_back.state[0], there_and_back.velocity[0]
    many = gr.rollout(model, ground, np.stack([0.7 * commands, commands]), start=start, velocity=velocity, dt=DT)
    assert many.final_state[1].tobytes() == there_and_back.state[-1].tobytes()
    rover = gr.Simulation(model, ground, dt=DT, start=start, velocity=velocity)
    for command in commands[:FORTH]:
        rover.step(command)
    twin = copy.deepcopy(rover)
    for one in (rover, twin):
        for command in commands[FORTH:]:
            one.step(command)
        assert one.state.tobytes() == there_and_back.state[-1].tobytes()
        assert one.ruts.sinkage.tobytes() == there_and_back.ruts.sinkage.tobytes()
    rover.reset()
    assert len(rover.ruts.x) == 0
    rover.step(commands[0])
    assert 0 < len(rover.ruts.x) < 40


def test_each_rollout_has_untouched_soil_whatever_the_threads():
    commands = np.stack([scale * to_and_fro()[:200] for scale in np.linspace(0.5, 1.5, 12)])
    model, ground = lru(), gr.terrain.plane()
    found = [gr.rollout(model, ground, commands, dt=DT, threads=n).final_state for n in (1, 2)]
    assert found[0].tobytes() == found[1].tobytes()
    alone = gr.rollout(model, ground, commands[7:8], dt=DT).final_state
    assert alone[0].tobytes() == found[0][7].tobytes()


def test_ruts_are_saved_with_the_run_and_drawn(driven, tmp_path):
    driven.save(tmp_path / "run.npz")
    loaded = gr.Run.load(tmp_path / "run.npz")
    for name in ("x", "y", "sinkage", "depth"):
        assert getattr(loaded.ruts, name).tobytes() == getattr(driven.ruts, name).tobytes()
    assert (loaded.ruts.cell, loaded.ruts.rebound) == (0.05, 0.1)
    driven.plot(tmp_path / "with.png")
    straight(lru(ruts=None), duration=0.2).plot(tmp_path / "without.png")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"contact": gr.contact.Pacejka()}, "ruts: Pacejka, the contact law of 'FL', knows no soil"),
        ({"ruts": gr.contact.Ruts(size=0.8)}, "patch of 0.8 m is too small for wheels"),
        ({"ruts": 0.05}, "ruts: 0.05 is not a Ruts"),
    ],
)
def test_what_cannot_leave_ruts_is_refused(options, words):
    with pytest.raises(SimulationError, match=words):
        lru(**options)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"cell": 0.0}, "Ruts cell: 0 is not positive"),
        ({"cell": 1e-4}, "Ruts size: 12.8 m are 1.28e\\+05 cells"),
        ({"rebound": 1.0}, "Ruts rebound: 1 is not a number from 0.01 to 0.99"),
    ],
)
def test_bad_settings_are_refused(settings, words):
    with pytest.raises(SimulationError, match=words):
        gr.contact.Ruts(**settings)
