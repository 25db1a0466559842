"""What the file of a run keeps of a large map, and places far from the origin."""

import numpy as np
import pytest

import grouser as gr
from grouser.view.scene import make_scene

EAST, NORTH = 440_000.0, 5_310_000.0
NODES = 2000


@pytest.fixture(scope="module")
def survey():
    """2 × 2 km at 1 m with bumps that do not compress, where UTM puts it."""
    rng = np.random.default_rng(0)
    x = np.arange(NODES)
    heights = 20.0 * np.sin(0.01 * x)[:, None] * np.cos(0.013 * x)[None, :] + 0.02 * rng.standard_normal((NODES, NODES))
    return gr.terrain.grid((300.0 + heights).astype(np.float32), EAST + x, NORTH + x)


@pytest.fixture(scope="module")
def run(survey):
    start = (EAST + 1200.0, NORTH + 700.0, 0.5)
    return gr.simulate(gr.Kinematics(gr.vehicle("husky")), survey, gr.drive.arc(1.0, 0.05), duration=20.0, start=start)


@pytest.fixture(scope="module")
def saved(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "run.npz"
    run.save(path)
    return path


def test_a_run_of_20_s_on_a_large_map_takes_less_than_2_mb(saved):
    assert saved.stat().st_size < 2_000_000


def test_what_is_kept_is_the_same_ground_around_the_run(run, survey, saved):
    again = gr.Run.load(saved)
    xmin, xmax, ymin, ymax = again.ground.bounds
    low, high = run.position[:, :2].min(axis=0), run.position[:, :2].max(axis=0)
    assert xmin < low[0] - 8.0
    assert ymin < low[1] - 8.0
    assert xmax > high[0] + 8.0
    assert ymax > high[1] + 8.0
    x, y = np.random.default_rng(3).uniform((xmin + 1, ymin + 1), (xmax - 1, ymax - 1), (2000, 2)).T
    np.testing.assert_allclose(again.ground.height(x, y), survey.height(x, y), rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(again.ground.gradient(x, y), survey.gradient(x, y), rtol=0.0, atol=1e-9)
    assert again.ground.source.whole == survey.bounds
    assert again.ground.description.startswith("part of ")
    with np.load(saved) as file:
        np.testing.assert_array_equal(file["ground_whole"], survey.bounds)
    np.testing.assert_array_equal(again.position, run.position)
    assert run.ground is survey


def test_the_same_drive_on_what_is_kept_is_the_same(run, saved):
    again = gr.Run.load(saved)
    repeated = gr.simulate(
        gr.Kinematics(again.vehicle), again.ground, gr.drive.arc(1.0, 0.05), duration=20.0, start=again.state[0]
    )
    np.testing.assert_allclose(repeated.position, run.position, rtol=0.0, atol=2e-8)  # 20 ulp of the northing


def test_a_page_of_it_shows_the_ground_that_the_whole_map_would_show(run, saved):
    """And its numbers are near its own origin, so that single precision holds them."""
    whole, part = make_scene([run]), make_scene([gr.Run.load(saved)])
    for key in ("x", "y", "z", "inside"):
        assert whole["grounds"][0][key] == part["grounds"][0][key]
    origin = np.array(part["origin"])
    assert np.abs(origin - run.position[0]).max() < 1.0
    assert (origin == np.rint(origin)).all()
    assert max(map(abs, part["grounds"][0]["x"])) < 60.0


def test_small_grounds_are_kept_whole_and_long_runs_keep_all_they_touch(tmp_path, survey):
    model = gr.Kinematics(gr.vehicle("husky"))
    rough = gr.terrain.rough(rms=0.1, length=0.8, seed=1)
    run = gr.simulate(model, rough, gr.drive.arc(1.0), duration=1.0)
    run.save(tmp_path / "run.npz")
    assert gr.Run.load(tmp_path / "run.npz").ground.bounds == rough.bounds
    assert gr.Run.load(tmp_path / "run.npz").ground.source is None
    far = gr.simulate(
        model, survey, gr.drive.arc(10.0), duration=80.0, dt=0.1, every=20, start=(EAST + 300.0, NORTH + 400.0, 0.8)
    )
    far.save(tmp_path / "far.npz")
    kept = gr.Run.load(tmp_path / "far.npz").ground
    assert kept.contains(*far.position[:, :2].T).all()


def test_a_ground_of_several_is_cut_too(tmp_path, survey):
    both = gr.terrain.moved(
        gr.terrain.stack(survey, gr.terrain.ramp(1.0, 20.0, x=EAST + 900.0, y=NORTH + 900.0)), z=5.0
    )
    start = (EAST + 890.0, NORTH + 900.0, 0.0)
    run = gr.simulate(gr.Kinematics(gr.vehicle("husky")), both, gr.drive.arc(1.0), duration=4.0, start=start)
    run.save(tmp_path / "run.npz")
    assert (tmp_path / "run.npz").stat().st_size < 2_000_000
    kept = gr.Run.load(tmp_path / "run.npz").ground
    x, y = run.position[:, :2].T
    np.testing.assert_allclose(kept.height(x, y), both.height(x, y), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_drive_far_from_the_origin_is_that_drive(dynamic):
    """Moved by whole metres, of which doubles lose none. Northings round to 1e-9 m; wheels that cross the edges of
    these cells, bumps of RMS 5 cm every half metre, make up to 4e-6 m of that in 8 m."""
    rng = np.random.default_rng(6)
    heights = (0.05 * rng.standard_normal((80, 80))).astype(np.float32)
    nodes = 0.5 * np.arange(80)
    rover = gr.vehicle("husky")
    model = gr.Dynamics(rover) if dynamic else gr.Kinematics(rover)
    runs = [
        gr.simulate(
            model, gr.terrain.grid(heights, x + nodes, y + nodes), gr.drive.arc(1.0, 0.05), duration=8.0,
            start=(x + 15.0, y + 15.0, 0.4),
        )
        for x, y in ((0.0, 0.0), (EAST, NORTH))
    ]  # fmt: skip
    assert runs[0].status == runs[1].status == "ok"
    np.testing.assert_allclose(runs[1].position - (EAST, NORTH, 0.0), runs[0].position, rtol=0.0, atol=1e-5)


def test_tables_keep_micrometres_far_from_the_origin(run, tmp_path):
    run.write(tmp_path / "run.csv")
    run.write(tmp_path / "run.tum")
    run.write(tmp_path / "run.kitti")
    table = np.genfromtxt(tmp_path / "run.csv", delimiter=",", names=True)
    found = {
        "csv": np.column_stack([table[name] for name in "xyz"]),
        "tum": np.loadtxt(tmp_path / "run.tum")[:, 1:4],
        "kitti": np.loadtxt(tmp_path / "run.kitti")[:, [3, 7, 11]],
    }
    for name, position in found.items():
        np.testing.assert_allclose(position, run.position, rtol=0.0, atol=1e-7, err_msg=name)
