"""The page of the viewer, without a browser: it holds everything, fetches nothing, and no name in it can do harm."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grouser as gr
from grouser.kinematics import frame_poses
from grouser.rotation import from_quaternion
from grouser.simulation.samples import Samples
from grouser.view import UncertainPoses, arrays, scene, scene_run, view_runs
from grouser.view.page import VIEWER, make_page
from grouser.view.scene import make_scene
from grouser.view.scene_ground import round_step, same_ground

REPOSITORY = Path(__file__).resolve().parents[2]
HOSTILE = "</script><img src=x onerror=window.hurt=1><script>window.hurt=1</script>{{script}}<!--"
TYPES = {"f8": "<f8", "f4": "<f4", "u4": "<u4", "u2": "<u2", "u1": "<u1"}


def decoded(encoded: dict[str, Any]) -> np.ndarray:
    values = np.frombuffer(base64.b64decode(encoded["base64"]), dtype=TYPES[encoded["type"]])
    return values.reshape(encoded["shape"])


def without_states(run: gr.Run) -> gr.Run:
    record = run.contact
    empty = type(record)(**{k: None if v is None else v[:0] for k, v in vars(record).items()})
    cut = {name: getattr(run, name)[:0] for name in ("time", "state", "velocity", "command")}
    return dataclasses.replace(run, **cut, contact=empty, status=gr.Status.DIVERGED, steps=0, torque=None, solver=None)


@pytest.fixture(scope="module")
def ground() -> gr.terrain.Terrain:
    return gr.terrain.rough(rms=0.1, length=0.8, seed=2, size=12.0)


@pytest.fixture(scope="module")
def run(ground: gr.terrain.Terrain) -> gr.Run:
    return gr.simulate(gr.Kinematics(gr.vehicle("rocky7")), ground, gr.drive.arc(0.4, 0.2), duration=4.0)


@pytest.fixture(scope="module")
def forced(ground: gr.terrain.Terrain) -> gr.Run:
    return gr.simulate(gr.Dynamics(gr.vehicle("zoe")), ground, gr.drive.arc(0.5), duration=3.0)


class Page(HTMLParser):
    """Elements, what they would load, and the texts of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.handlers: list[str] = []
        self.scripts: dict[str | None, str] = {}
        self.styles: list[str] = []
        self.policy = ""
        self._kind: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.loads += [given[name] or "" for name in ("src", "href", "data", "poster", "srcset") if name in given]
        self.handlers += [name for name in given if name.startswith("on")]
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""
        self._kind = {"script": given.get("type") or "code", "style": "style"}.get(tag)

    def handle_endtag(self, tag: str) -> None:
        self._kind = None

    def handle_data(self, data: str) -> None:
        if self._kind == "style":
            self.styles.append(data)
        elif self._kind is not None:
            self.scripts[self._kind] = self.scripts.get(self._kind, "") + data


def test_built_viewer_is_that_of_its_sources() -> None:
    """`make viewer` notes a hash of what it built from; sources that changed since then need it again."""
    folder = REPOSITORY / "viewer"
    if not folder.is_dir():
        pytest.skip("the sources of the viewer are not here")
    total = hashlib.sha256()
    sources = sorted((one for one in (folder / "src").rglob("*") if one.is_file()), key=lambda file: file.as_posix())
    for file in [*sources, folder / "build.mjs", folder / "package-lock.json"]:
        total.update(f"{file.relative_to(folder).as_posix()}\n".encode())
        total.update(file.read_bytes())
    noted = (VIEWER / "sources.sha256").read_text().strip()
    assert noted == total.hexdigest(), "viewer/src has changed since the viewer was built; run: make viewer"
    assert (VIEWER / "shared.js").stat().st_size > 100_000
    assert "MIT" in (VIEWER / "three.LICENSE").read_text()
    # Its notice goes along with every page; three.js is in the package once.
    assert ["Three.js Authors" in file.read_text() for file in sorted(VIEWER.glob("*.js"))] == [False, True, False]
    assert not re.search(r"registry|resolved", (folder / "package-lock.json").read_text())


def test_page_holds_everything_and_fetches_nothing(run: gr.Run, tmp_path: Path) -> None:
    page = Page(run.view(tmp_path / "run.html").read_text(encoding="utf-8"))
    assert page.loads == ["data:,"]
    assert not page.handlers
    assert page.tags.count("script") == 2
    assert "url(" not in "".join(page.styles)
    assert "@import" not in "".join(page.styles)
    policy = dict(rule.strip().split(" ", 1) for rule in page.policy.split(";"))
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in page.policy
    for name, text in (("script-src", page.scripts["code"]), ("style-src", "".join(page.styles))):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert policy[name] == f"'sha256-{digest}'"
    # An XML namespace is a name, not a place that is fetched.
    assert set(re.findall(r"https?://[^\"'` )]+", page.scripts["code"])) <= {"http://www.w3.org/1999/xhtml"}


def test_hostile_names_stay_text(run: gr.Run) -> None:
    vehicle = run.vehicle.replace(name=HOSTILE, description=HOSTILE)
    text = make_page(make_scene([dataclasses.replace(run, vehicle=vehicle)], names=[HOSTILE], title=HOSTILE))
    plain = make_page(make_scene([run]))
    page = Page(text)
    assert page.tags == Page(plain).tags
    assert page.loads == ["data:,"]
    assert "<img" not in text
    scene = json.loads(page.scripts["application/json"])
    assert scene["title"] == scene["runs"][0]["name"] == scene["runs"][0]["vehicle"]["name"] == HOSTILE


def test_page_of_a_minute_is_small_and_its_poses_are_exact(tmp_path: Path) -> None:
    model = gr.Dynamics(gr.vehicle("zoe"))
    long = gr.simulate(model, gr.terrain.plane(), gr.drive.arc(1.0, 0.05), duration=60.0)
    path = long.view(tmp_path / "long.html")
    assert path.stat().st_size < 2.5e6
    assert [p.name for p in tmp_path.iterdir()] == ["long.html"]
    drawn = json.loads(Page(path.read_text()).scripts["application/json"])["runs"][0]
    body = drawn["poses"][0]
    origin = json.loads(Page(path.read_text()).scripts["application/json"])["origin"]
    np.testing.assert_allclose(decoded(body["position"]) + origin, long.position, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(np.abs(decoded(body["quaternion"])), np.abs(long.quaternion), rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(decoded(drawn["time"]), long.time)


def test_wheels_that_turn_more_than_half_a_turn_between_rows_keep_their_direction() -> None:
    model = gr.Kinematics(gr.vehicle("husky"))
    run = gr.simulate(model, gr.terrain.plane(), gr.drive.arc(1.0), duration=6.0, every=15)
    turned = np.diff(run.joints[:, 0])
    assert np.pi < turned.min() < turned.max() < 2.0 * np.pi
    frame = int(run.vehicle.arrays.wheel[0])
    q = decoded(make_scene([run])["runs"][0]["poses"][frame]["quaternion"])
    # What rows.js does halfway between two rows: the middle of the arc that the signs give.
    middle = q[1:] + q[:-1]
    for k, row in enumerate(0.5 * (run.state[1:] + run.state[:-1])):
        R, _ = frame_poses(run.vehicle, row)
        np.testing.assert_allclose(from_quaternion(middle[k]), R[0].T @ R[frame], rtol=0.0, atol=2e-6)


def test_runs_longer_than_a_page_are_thinned_and_say_so(run: gr.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene_run, "MOST_ROWS", 35)
    drawn = make_scene([run])["runs"][0]
    assert (drawn["rows"], drawn["drawn"]) == (101, 35)
    assert decoded(drawn["time"])[-1] == run.time[-1]  # every third, and the last
    assert decoded(drawn["contact"]["point"]).shape == (35, 6, 3)


def test_forces_in_the_world_carry_the_weight_of_a_vehicle_on_a_slope() -> None:
    """A wrong axis or sign of a contact frame would tilt the sum."""
    slope = gr.terrain.slope(deg=12.0, heading_deg=40.0)
    vehicle = gr.vehicle("husky")
    parked = gr.simulate(gr.Dynamics(vehicle), slope, gr.drive.arc(0.0), duration=4.0, start=(1.0, 2.0, 0.7))
    total = decoded(make_scene([parked])["runs"][0]["contact"]["force"])[-1].sum(axis=0)
    np.testing.assert_allclose(total, [0.0, 0.0, vehicle.mass * 9.81], rtol=0.0, atol=2e-3 * vehicle.mass * 9.81)


def test_slip_in_the_world_is_the_velocity_of_the_contact_points() -> None:
    """Sliding down a slope with locked wheels, contact points move as the body does: no rotation, no rolling."""
    slope = gr.terrain.slope(deg=30.0, heading_deg=0.0)
    model = gr.Dynamics(gr.vehicle("husky"), contact=gr.contact.PiecewiseLinear(friction=0.1))
    sliding = gr.simulate(model, slope, gr.drive.arc(0.0), duration=1.0, start=(0.0, 0.0, 1.0), velocity=np.zeros(10))
    slip = decoded(make_scene([sliding])["runs"][0]["contact"]["slip"])[-2].mean(axis=0)
    moved = np.diff(sliding.position, axis=0)[-1] / sliding.dt
    assert np.linalg.norm(moved) > 1.0
    np.testing.assert_allclose(slip, moved, rtol=0.0, atol=0.05 * float(np.linalg.norm(moved)))


def test_ground_is_that_of_the_run_where_the_map_covers_it(run: gr.Run, ground: gr.terrain.Terrain) -> None:
    made = make_scene([run])
    drawn = made["grounds"][0]
    height, inside = decoded(drawn["height"]), drawn["inside"]
    low, high = drawn["z"]
    ny, nx = height.shape
    x = np.linspace(*drawn["x"], nx) + made["origin"][0]
    y = np.linspace(*drawn["y"], ny) + made["origin"][1]
    assert ground.bounds[0] <= x[0] < x[-1] <= ground.bounds[1]
    truth = ground.sample(x[None, :], y[:, None])
    assert inside is None
    assert truth.inside.all()
    np.testing.assert_allclose(
        low + (high - low) * height / 65535 + made["origin"][2], truth.height, rtol=0.0, atol=(high - low) / 65535
    )
    assert drawn["contour"] in (0.05, 0.1)
    assert make_scene([dataclasses.replace(run, ground=None)])["grounds"] == []


def test_runs_on_equal_grounds_share_one(run: gr.Run, forced: gr.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run.npz")
    again = gr.Run.load(tmp_path / "run.npz")
    flat = gr.simulate(gr.Kinematics(run.vehicle), gr.terrain.plane(), gr.drive.arc(0.4), duration=0.4)
    made = make_scene([run, again, forced, flat])
    assert [one["ground"] for one in made["runs"]] == [0, 0, 0, 1]
    assert len(made["grounds"]) == 2
    assert not same_ground(gr.terrain.plane(), gr.terrain.slope(deg=5.0))


def test_links_are_boxes_of_their_mass_and_inertia() -> None:
    husky = gr.vehicle("husky")
    run = gr.simulate(gr.Kinematics(husky), gr.terrain.plane(), gr.drive.arc(1.0), duration=0.4)
    shape = make_scene([run])["runs"][0]["vehicle"]["frames"][0]["shapes"][0]
    assert shape["kind"] == "body"
    inertia = gr.vehicles.box_inertia(husky.frames[0].mass, *shape["size"])
    np.testing.assert_allclose(inertia, np.diag(husky.frames[0].inertia_matrix), rtol=1e-9)


def test_a_round_tyre_is_a_torus(run: gr.Run) -> None:
    name = run.vehicle.wheels[0]
    vehicle = run.vehicle.replace_frame(name, tyre_radius=0.02)
    frames = make_scene([dataclasses.replace(run, vehicle=vehicle)])["runs"][0]["vehicle"]["frames"]
    wheels = [shape for frame in frames for shape in frame["shapes"] if shape["kind"] == "wheel"]
    assert [shape["tyre"] for shape in wheels] == [0.02, None, None, None, None, None]
    assert len(wheels) == 6


def test_run_without_states_is_a_name_and_a_reason(run: gr.Run, tmp_path: Path) -> None:
    empty = without_states(run)
    made = make_scene([empty, run])
    assert made["runs"][0]["rows"] == 0
    assert "non-finite" in made["runs"][0]["meaning"]
    assert empty.view(tmp_path / "empty.html").exists()


def test_curves_are_those_of_the_run(run: gr.Run, forced: gr.Run) -> None:
    plots = {plot["key"]: plot for plot in make_scene([forced])["runs"][0]["plots"]}
    body = ["attitude", "margin", "speed", "height", "heading"]
    assert list(plots) == ["slip", "force", "energy", *body, "torque", "power", "rates", "joints"]
    assert forced.contact.force is not None
    assert forced.solver is not None
    np.testing.assert_allclose(decoded(plots["force"]["curves"]), forced.contact.force[..., 2].T, rtol=1e-6)
    np.testing.assert_allclose(decoded(plots["slip"]["whole"]), forced.contact.slip_speed.mean(axis=1), rtol=1e-5)
    # Energy balances up to what the contacts' springs hold and the integrator's first-order error, 2.3 % of the motors'
    # work here (a bound chosen after seeing that); a missing term or a wrong sign would be half of it.
    kinetic, potential, motors, soil = decoded(plots["energy"]["curves"])
    drift = kinetic + potential - (kinetic + potential)[0] - motors - soil
    assert np.abs(drift).max() < 0.03 * np.ptp(motors)
    assert [plot["key"] for plot in make_scene([run])["runs"][0]["plots"]] == ["slip", *body, "rates", "joints"]


def test_samples_of_a_run_are_ellipses_while_two_are_on_their_way(run: gr.Run) -> None:
    rng = np.random.default_rng(5)
    state = np.tile(run.state, (6, 1, 1))
    walk = np.cumsum(rng.normal(0.0, [0.01, 0.03], (6, len(run.time), 2)), axis=1)
    state[:, :, 4:6] += walk
    steps = np.array([100, 100, 60, 60, 60, 100])  # of 100
    status = np.where(steps < 100, "off_terrain", "ok")
    made = make_scene([dataclasses.replace(run, samples=Samples(state, status, steps, 1))], names=["r"])
    (one,) = made["poses"]
    assert one["name"] == "6 samples of r"
    np.testing.assert_array_equal(decoded(one["time"]), run.time)
    half = np.stack([decoded(one["major"]), decoded(one["minor"])], axis=2) / arrays.SIGMAS_95
    for row, who in ((40, slice(None)), (80, [0, 1, 5])):
        there = state[who, row, 4:6]
        np.testing.assert_allclose(half[row] @ half[row].T, np.cov(there.T), rtol=1e-6, atol=1e-12)
        centre = decoded(one["centre"])[row] + made["origin"][:2]
        np.testing.assert_allclose(centre, there.mean(axis=0), rtol=0.0, atol=1e-9)
    alone = Samples(state, np.where(steps < 100, "off_terrain", "ok"), np.array([100, 60, 60, 60, 60, 60]), 1)
    (one,) = make_scene([dataclasses.replace(run, samples=alone)])["poses"]
    np.testing.assert_array_equal(decoded(one["time"]), run.time[:61])
    assert make_scene([run])["poses"] == []


def test_the_ground_of_a_page_knows_its_soils() -> None:
    raster = gr.terrain.polygons([(7, [(0, -9), (9, -9), (9, 9), (0, 9), (0, -9)])], cell=0.5)
    ground = gr.terrain.soils(gr.terrain.plane(), raster, {7: gr.contact.Pacejka(friction=0.3)}, names=["ice"])
    run = gr.simulate(gr.Dynamics(gr.vehicle("husky")), ground, gr.drive.arc(0.5), duration=0.4)
    made = make_scene([run])
    (drawn,) = made["grounds"]
    at = decoded(drawn["soil"]["at"])
    assert drawn["soil"]["names"] == ["the model's own", "ice"]
    assert at.shape == tuple(drawn["height"]["shape"])
    x = np.linspace(*drawn["x"], at.shape[1]) + made["origin"][0]
    np.testing.assert_array_equal(at, np.broadcast_to(x >= 0.0, at.shape))
    assert make_scene([dataclasses.replace(run, ground=gr.terrain.plane())])["grounds"][0]["soil"] is None


def test_fan_is_thinned_evenly_and_says_so(ground: gr.terrain.Terrain, monkeypatch: pytest.MonkeyPatch) -> None:
    speed = np.linspace(1.0, 20.0, 30)[:, None, None]
    fan = gr.rollout(gr.Kinematics(gr.vehicle("husky")), ground, speed * np.ones((1, 100, 4)), every=2)
    assert 0 < fan.counts()["off_terrain"] < 30
    monkeypatch.setattr(scene, "MOST_ROLLOUTS", 10)
    monkeypatch.setattr(scene, "MOST_STATES", 20)
    made = make_scene([], fan=fan, ground=ground)
    drawn = made["fan"]
    assert (drawn["total"], drawn["drawn"], drawn["states"], drawn["statesDrawn"]) == (30, 10, 51, 20)
    counts = {name: n for name, n in fan.counts().items() if n}
    assert {group["status"]: group["total"] for group in drawn["groups"]} == counts
    assert sum(group["paths"]["shape"][0] for group in drawn["groups"]) == 10
    last = decoded(drawn["groups"][-1]["paths"])[-1, -1] + made["origin"]
    np.testing.assert_allclose(last, fan.state[-1, -1, 4:7], rtol=0.0, atol=1e-5)
    short = gr.rollout(gr.Kinematics(gr.vehicle("husky")), ground, speed * np.ones((1, 100, 4)))
    with pytest.raises(gr.GrouserError, match="every="):
        make_scene([], fan=short)


def test_ellipses_hold_95_percent_of_what_the_covariance_says() -> None:
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    covariance = turn @ np.diag([0.04, 0.01]) @ turn.T
    made = make_scene([], poses=UncertainPoses([[3.0, 4.0]], [np.pad(covariance, (0, 1))], "odometry"))
    one = made["poses"][0]
    half = np.vstack([decoded(one["major"]), decoded(one["minor"])]).astype(float)
    rng = np.random.default_rng(1)
    points = rng.multivariate_normal([0.0, 0.0], covariance, 20_000)
    inside = (np.square(points @ np.linalg.inv(half)).sum(axis=1) <= 1.0).mean()
    assert inside == pytest.approx(0.95, abs=0.006)  # four standard deviations of the count
    for position, bad in (
        ([[0.0, 0.0]], [[[1.0, 2.0], [2.0, 1.0]]]),
        ([[0.0, 0.0]], [[[1.0, 0.5], [0.0, 1.0]]]),
        ([[0.0, np.nan]], [np.eye(2)]),
        ([[0.0, 0.0]], [np.eye(2), np.eye(2)]),
        ([0.0, 0.0], [np.eye(2)]),
    ):
        with pytest.raises(gr.GrouserError, match=r"poses\.(position|covariance)"):
            make_scene([], poses=UncertainPoses(position, bad))


def test_times_of_poses_go_along_and_rise(monkeypatch: pytest.MonkeyPatch) -> None:
    position, covariance = np.zeros((5, 2)), np.tile(np.eye(2), (5, 1, 1))
    monkeypatch.setattr(scene, "MOST_POSES", 3)
    made = make_scene([], poses=UncertainPoses(position, covariance, time=[0.0, 0.1, 0.2, 0.3, 0.4]))
    np.testing.assert_array_equal(decoded(made["poses"][0]["time"]), [0.0, 0.2, 0.4])
    for time in ([0.0, 0.1, 0.1, 0.3, 0.4], [0.0, 0.1], [0.0, np.nan, 0.2, 0.3, 0.4]):
        with pytest.raises(gr.GrouserError, match=r"poses\.time"):
            make_scene([], poses=UncertainPoses(position, covariance, time=time))


def test_meshes_are_drawn_for_frames_that_exist(run: gr.Run, tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    for suffix in (".stl", ".obj"):
        file = tmp_path / f"hull{suffix}"
        trimesh.creation.box((0.4, 0.3, 0.2)).export(file)
        vehicle = make_scene([run], meshes={"body": file})["runs"][0]["vehicle"]
        shape = vehicle["frames"][0]["shapes"]
        assert [one["kind"] for one in shape] == ["mesh"]
        (part,) = vehicle["meshes"][shape[0]["mesh"]]["parts"]
        steps = decoded(part["vertices"])[decoded(part["faces"])]
        corners = np.array(part["low"]) + np.array(part["step"]) * steps
        np.testing.assert_allclose(np.abs(corners).max(axis=(0, 1)), [0.2, 0.15, 0.1], rtol=0.0, atol=1e-5)
    (tmp_path / "bad.stl").write_bytes(b"solid nothing")
    for meshes, said in (
        ({"hull": file}, "no vehicle has a frame 'hull'"),
        ({"body": tmp_path / "hull.glb"}, r"ends in one of \.stl, \.obj"),
        ({"body": tmp_path / "missing.stl"}, "no such file"),
        ({"body": tmp_path / "bad.stl"}, r"bad\.stl"),
    ):
        with pytest.raises(gr.GrouserError, match=said):
            make_scene([run], meshes=meshes)


def test_what_cannot_be_viewed_is_refused_and_an_old_page_stays(run: gr.Run, tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    page.write_text("old")
    for call, said in (
        (lambda: run.view(tmp_path / "run.png"), r"ends in \.html"),
        (lambda: run.view(tmp_path / "missing" / "run.html"), "cannot be written"),
        (lambda: view_runs([], page), "nothing to view"),
        (lambda: view_runs(["run"], page), "is not a run"),  # type: ignore[list-item]
        (lambda: run.view(page, names=["a", "b"]), "one name for each of the 1 runs"),
        (lambda: run.view(page, ground="flat"), "is not a Terrain"),
    ):
        with pytest.raises(gr.GrouserError, match=said):
            call()
    assert page.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["run.html"]


def test_runs_of_one_vehicle_are_told_apart(run: gr.Run, forced: gr.Run) -> None:
    assert [one["name"] for one in make_scene([run, forced, run])["runs"]] == ["rocky7 (1)", "zoe", "rocky7 (2)"]


def test_contacts_are_drawn_near_the_origin_of_the_scene() -> None:
    """Float32 holds a millimetre of 4 km only; relative to the scene's origin it holds micrometres."""
    far = gr.simulate(
        gr.Kinematics(gr.vehicle("husky")), gr.terrain.plane(), gr.drive.arc(1.0), duration=1.0, start=(4e5, -5e6, 0.3)
    )
    made = make_scene([far])
    points = decoded(made["runs"][0]["contact"]["point"]).astype(float) + made["origin"]
    assert np.abs(points - far.contact.point).max() < 1e-6


@pytest.mark.parametrize(("wanted", "step"), [(0.07, 0.1), (0.1, 0.1), (1.2, 2.0), (3.0, 5.0), (7.0, 10.0)])
def test_contours_are_round_numbers_apart(wanted: float, step: float) -> None:
    assert round_step(wanted) == pytest.approx(step)
