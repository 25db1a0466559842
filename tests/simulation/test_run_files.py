"""Runs in files: exactly in .npz, readable in CSV and TUM."""

import numpy as np
import pytest

import grouser as gr


@pytest.fixture(scope="module")
def run():
    model = gr.Kinematics(gr.vehicle("rocky7"))
    ground = gr.terrain.rough(0.03, 0.5, 4, size=8.0)
    return gr.simulate(model, ground, gr.drive.arc(0.3, 0.4), duration=2.0, start=(0.2, -0.1, 2.9))


def test_a_saved_run_comes_back_to_the_last_bit(run, tmp_path):
    run.save(tmp_path / "run.npz")
    back = gr.Run.load(tmp_path / "run.npz")
    assert back.vehicle == run.vehicle
    assert (back.status, back.steps, back.dt, back.deficient_steps) == (
        run.status,
        run.steps,
        run.dt,
        run.deficient_steps,
    )
    for name in ("time", "state", "velocity", "command"):
        assert getattr(back, name).tobytes() == getattr(run, name).tobytes()
    for name in ("point", "normal", "velocity", "height_error", "angle"):
        np.testing.assert_array_equal(getattr(back.contact, name), getattr(run.contact, name))
    x = np.linspace(-1, 1, 7)
    np.testing.assert_array_equal(back.ground.height(x, x), run.ground.height(x, x))
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]  # nothing half-written beside it


def test_a_run_that_ended_at_once_is_saved_too(tmp_path):
    x = np.linspace(-1, 1, 5)
    ground = gr.terrain.grid(np.zeros((5, 5)), x, x)
    state = gr.settle(gr.vehicle("husky"), ground).state
    state[4] = 0.9
    empty = gr.simulate(gr.Kinematics(gr.vehicle("husky")), ground, gr.drive.arc(1.0), duration=1.0, start=state)
    assert len(empty.time) == 0
    empty.save(tmp_path / "empty.npz")
    assert gr.Run.load(tmp_path / "empty.npz").status == "off_terrain"
    empty.to_csv(tmp_path / "empty.csv")
    empty.to_tum(tmp_path / "empty.tum")


def test_csv_has_a_named_column_for_everything(run, tmp_path):
    run.to_csv(tmp_path / "run.csv")
    table = np.genfromtxt(tmp_path / "run.csv", delimiter=",", names=True)
    assert len(table) == len(run.time)
    np.testing.assert_allclose(table["t"], run.time, rtol=1e-11)
    for i, axis in enumerate("xyz"):
        np.testing.assert_allclose(table[axis], run.position[:, i], rtol=1e-11)
    np.testing.assert_allclose(table["yaw"], run.yaw, rtol=1e-11)
    np.testing.assert_allclose(table["angle_D1"], run.joint("D1"), rtol=1e-11, atol=1e-20)
    np.testing.assert_allclose(table["command_A1"], run.command[:, run.vehicle.actuated.index("A1")], rtol=1e-11)
    np.testing.assert_allclose(
        table["height_error_A6"], run.contact.height_error[:, run.vehicle.wheels.index("A6")], rtol=1e-11
    )


def test_tum_has_time_position_and_quaternion_x_y_z_w(run, tmp_path):
    run.to_tum(tmp_path / "run.tum")
    rows = np.loadtxt(tmp_path / "run.tum")
    np.testing.assert_allclose(rows[:, 0], run.time, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(rows[:, 1:4], run.position, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(rows[:, 7], run.quaternion[:, 0], rtol=0.0, atol=1e-9)  # w is last
    np.testing.assert_allclose(rows[:, 4:7], run.quaternion[:, 1:], rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "schema", "newer", "shape", "nan", "status"])
def test_a_damaged_file_is_refused(run, tmp_path, damage):
    path = tmp_path / "run.npz"
    run.save(path)
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "text":
        path.write_text("not a run")
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-400])
    else:
        with np.load(path) as archive:
            values = dict(archive)
        values |= {
            "schema": {"schema": np.array("something/else@1")},
            "newer": {"schema": np.array("grouser/run@2")},
            "shape": {"state": values["state"][:, :-1]},
            "nan": {"velocity": np.full_like(values["velocity"], np.nan)},
            "status": {"status": np.array("fine")},
        }[damage]
        np.savez(path, **values)
    with pytest.raises(gr.GrouserError, match=r"run\.npz"):
        gr.Run.load(path)


def test_missing_files_and_wrong_names_are_named(run, tmp_path):
    with pytest.raises(gr.GrouserError, match="no such file"):
        gr.Run.load(tmp_path / "none.npz")
    with pytest.raises(gr.GrouserError, match=r"\.npz"):
        run.save(tmp_path / "run.pickle")
    with pytest.raises(gr.GrouserError, match="cannot be written"):
        run.save(tmp_path / "no" / "folder" / "run.npz")
