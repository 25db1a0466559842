"""A run for other tools: KITTI and pandas; and every writer on a disk that is full."""

from __future__ import annotations

import builtins
import errno
import os
import resource

import numpy as np
import pytest

import grouser as gr
from grouser import rotation
from grouser.calibration.evaluate import Errors
from grouser.cli import run as command
from grouser.errors import SimulationError
from grouser.files import check_file, write_whole
from grouser.logs.log import Poses
from grouser.motion.fit import Fit, Training
from grouser.motion.model import MotionModel
from grouser.motion.parameters import resolve, value_of
from grouser.vehicles.toml import write_toml


@pytest.fixture(scope="module")
def run():
    model = gr.Kinematics(gr.vehicle("rocky7"))
    ground = gr.terrain.rough(0.03, 0.5, 4, size=8.0)
    return gr.simulate(model, ground, gr.drive.arc(0.3, 0.4), duration=1.2, start=(0.2, -0.1, 2.9))


@pytest.fixture(scope="module")
def forced():
    return gr.simulate(gr.Dynamics(gr.vehicle("husky")), gr.terrain.plane(), gr.drive.arc(0.5), duration=0.4)


def test_kitti_has_the_twelve_entries_of_each_pose_row_by_row(run, tmp_path):
    run.to_kitti(tmp_path / "run.kitti")
    rows = np.loadtxt(tmp_path / "run.kitti")
    assert rows.shape == (len(run.time), 12)
    poses = rows.reshape(-1, 3, 4)
    np.testing.assert_allclose(poses[:, :, 3], run.position, rtol=0.0, atol=1e-9)  # the last column is the position
    np.testing.assert_allclose(poses[:, :, :3], rotation.from_quaternion(run.quaternion), rtol=0.0, atol=1e-9)
    # The first column is where the body's x axis points: in the plan, its heading.
    np.testing.assert_allclose(np.unwrap(np.arctan2(poses[:, 1, 0], poses[:, 0, 0])), run.yaw, rtol=0.0, atol=1e-9)


def test_pandas_has_the_columns_of_the_csv_with_units_and_time_as_index(forced, tmp_path):
    pandas = pytest.importorskip("pandas")
    table = forced.to_pandas()
    forced.to_csv(tmp_path / "run.csv")
    read = pandas.read_csv(tmp_path / "run.csv", index_col="t")
    assert list(table.columns) == list(read.columns)
    np.testing.assert_array_equal(table.index, forced.time)
    np.testing.assert_allclose(table.to_numpy(), read.to_numpy(), rtol=1e-11, atol=1e-20)
    units = table.attrs["units"]
    assert set(units) == {"t", *table.columns}
    wheel = forced.vehicle.wheels[0]
    wanted = {
        "t": "s",
        "qw": "",
        "x": "m",
        "yaw": "rad",
        "wz": "rad/s",
        "vx": "m/s",
        f"angle_{wheel}": "rad",
        f"rate_{wheel}": "rad/s",
        f"torque_{wheel}": "N m",
        f"power_{wheel}": "W",
        f"force_up_{wheel}": "N",
        f"slip_ahead_{wheel}": "m/s",
        f"contact_angle_{wheel}": "rad",
    }
    assert {name: units[name] for name in wanted} == wanted


def test_writing_into_a_table_leaves_the_run_alone(run):
    pytest.importorskip("pandas")
    before = run.state.copy()
    table = run.to_pandas()
    table.loc[:, "x"] = -1.0
    np.testing.assert_array_equal(run.state, before)


def test_rollouts_are_a_row_each():
    pytest.importorskip("pandas")
    husky = gr.vehicle("husky")
    commands = np.ones((3, 10, 4)) * np.array([1.0, 2.0, -1.0])[:, None, None]
    fan = gr.rollout(gr.Kinematics(husky), gr.terrain.plane(), commands)
    table = fan.to_pandas()
    np.testing.assert_array_equal(table[["x", "y", "z"]], fan.final_position)
    np.testing.assert_allclose(table["yaw"], fan.final_yaw)
    assert list(table["status"]) == ["ok"] * 3
    assert table.attrs["units"]["x"] == "m"


def test_poses_and_errors_of_a_calibration_are_tables(tmp_path):
    pytest.importorskip("pandas")
    poses = Poses(
        time=np.array([0.0, 0.5]),
        position=np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        attitude=np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]),
        segment=np.array([0, 0]),
    ).to_pandas()
    assert poses.loc[0.5, ["x", "y", "z", "roll", "pitch", "yaw"]].tolist() == [4.0, 5.0, 6.0, 0.4, 0.5, 0.6]
    errors = Errors(
        error=np.array([[3.0, 4.0, 0.1]]),
        covariance=np.diag([4.0, 9.0, 0.25])[None],
        times=np.array([[10.0, 12.0]]),
    ).to_pandas()
    assert errors.index.tolist() == [10.0]
    row = errors.loc[10.0]
    assert row[["end", "error_x", "error_y", "error_yaw"]].tolist() == [12.0, 3.0, 4.0, 0.1]
    assert row[["sigma_x", "sigma_y", "sigma_yaw"]].tolist() == [2.0, 3.0, 0.5]
    assert row["position_error"] == 5.0
    assert row["nees"] == pytest.approx((2.25 + 16 / 9 + 0.04) / 3)
    assert bool(row["inside_95"])
    assert errors.attrs["units"]["sigma_yaw"] == "rad"


def test_a_log_is_a_table_with_its_segments(tmp_path):
    pytest.importorskip("pandas")
    t = np.arange(0.0, 5.0, 0.05)
    lines = ["t,w,x,y,yaw", *(f"{a:.2f},{1 + 0.1 * a:.6f},{0.3 * a:.6f},0,0" for a in t)]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    log = gr.read_log(
        tmp_path / "log.csv",
        manifest={
            "time": {"column": "t"},
            "rates": {"FL": "w", "FR": "w"},
            "pose": {"x": "x", "y": "y", "yaw": "yaw"},
        },
    )
    table = log.to_pandas()
    np.testing.assert_array_equal(table.index, log.time)
    assert list(table.columns) == ["segment", "elapsed", "rate_FL", "rate_FR"]
    np.testing.assert_array_equal(table["rate_FR"], log.rates["FR"])
    assert table.attrs["units"]["elapsed"] == "s"
    assert len(log.poses.to_pandas()) == len(log.poses)


def test_without_pandas_one_sentence_says_what_to_install(run, monkeypatch):
    real = builtins.__import__

    def missing(name, *rest, **more):
        if name.startswith("pandas"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(gr.GrouserError, match=r"pip install grouser\[pandas\]"):
        run.to_pandas()


def save_fit(path):
    motion = MotionModel(model=gr.Kinematics(gr.vehicle("husky")))
    training = Training(
        log="drive.csv", samples=7, intervals=3, interval=None, distance=1.0, overlapping=True, rejected=1,
        position_rms=0.1, yaw_rms=0.1, method="online",
    )  # fmt: skip
    parameters = resolve(motion, ["vehicle.radius"])
    Fit(
        model=motion,
        parameters=tuple(parameters),
        vector=np.array([value_of(motion, one.name) for one in parameters]),
        covariance=np.eye(len(parameters)),
        noise_covariance=np.zeros((0, 0)),
        training=training,
        undetermined=(),
    ).save(path)


WRITERS = {
    "run.npz": lambda run, path: run.save(path),
    "run.csv": lambda run, path: run.to_csv(path),
    "run.tum": lambda run, path: run.to_tum(path),
    "run.kitti": lambda run, path: run.to_kitti(path),
    "run.mcap": lambda run, path: run.to_mcap(path),
    "run.html": lambda run, path: run.view(path),
    "run.png": lambda run, path: run.plot(path),
    "ground.npz": lambda run, path: run.ground.save(path),
    "rover.toml": lambda run, path: write_toml(run.vehicle, path),
    "fit.toml": lambda _, path: save_fit(path),
}


@pytest.fixture
def full_disk():
    """Files of this process may not grow beyond 500 bytes: the system itself refuses to write on."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_one_sentence_and_the_old_file_stays(name, run, tmp_path, full_disk):
    path = tmp_path / name
    path.write_bytes(b"what was there before")
    with pytest.raises(gr.GrouserError) as caught:
        WRITERS[name](run, path)
    sentence = str(caught.value)
    assert name in sentence
    assert "cannot be written (File too large)" in sentence
    assert "\n" not in sentence
    assert path.read_bytes() == b"what was there before"
    assert [one.name for one in tmp_path.iterdir()] == [name]  # nothing half-written beside it


@pytest.mark.parametrize("name", WRITERS)
def test_with_room_each_of_them_replaces_the_old_file(name, run, tmp_path):
    """Or the test above could pass for a writer that never writes."""
    path = tmp_path / name
    path.write_bytes(b"what was there before")
    WRITERS[name](run, path)
    assert path.stat().st_size > 500
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_a_disk_that_says_only_at_the_end_that_it_is_full(tmp_path, monkeypatch):
    """Network drives take what is written and refuse when it is to be kept."""
    path = tmp_path / "run.tum"
    path.write_text("before")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SimulationError, match=r"run\.tum: cannot be written \(No space left on device\)"):
        write_whole(path, lambda stream: stream.write(b"after"), SimulationError)
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["run.tum"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "husky", "--duration", "0.4", "--out", "kept.npz"],
        ["rollout", "husky", "--rollouts", "20", "--duration", "0.4", "--every", "1", "--out", "kept.npz"],
    ],
    ids=["simulate", "rollout"],
)
def test_the_command_line_names_the_file_it_could_not_write(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept.npz").write_bytes(b"before")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
    try:
        code = command(arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    lines = [line for line in capsys.readouterr().err.splitlines() if "compiling" not in line]
    assert code == 2
    assert len(lines) == 1
    assert "kept.npz: cannot be written" in lines[0]
    assert (tmp_path / "kept.npz").read_bytes() == b"before"
    assert [one.name for one in tmp_path.iterdir()] == ["kept.npz"]


def test_what_cannot_be_read_is_said_before_anyone_tries(tmp_path):
    (tmp_path / "empty.npz").write_bytes(b"")
    for path, said in (
        (tmp_path / "none.npz", "no such file"),
        (tmp_path, "is a folder"),
        (tmp_path / "empty.npz", "is empty"),
        ("a\0b", "cannot be read"),
    ):
        with pytest.raises(SimulationError, match=said):
            check_file(path, SimulationError)


def test_a_saved_run_says_which_model_made_it(tmp_path):
    model = gr.Dynamics(gr.vehicle("husky"), contact=gr.contact.Pacejka(friction=0.37), integrator="midpoint")
    run = gr.simulate(model, gr.terrain.plane(), gr.drive.arc(speed=1.0), duration=0.08, dt=0.04)
    run.save(tmp_path / "run.npz")
    told = type(run).load(tmp_path / "run.npz").model
    assert told == run.model
    assert "friction=0.37" in told
    assert "integrator='midpoint'" in told
