"""Visuals: corners of meshes are where a hand puts them, in every format; files are found, missed and stored."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import grouser as gr
from grouser import rotation
from grouser.collision.frames import frame_poses
from grouser.vehicles import Visual
from grouser.vehicles.hull import hull_of_mesh
from grouser.vehicles.mesh import MeshPart, read_mesh
from grouser.vehicles.mesh_path import VARIABLES, find_mesh
from grouser.vehicles.visual_meshes import fewer, simplified
from tests.vehicles.visual_files import HULL_XYZ, WRITERS, body_points, wedge, write_dae, write_robot, write_stl

pytest.importorskip("trimesh")


@pytest.fixture(autouse=True)
def no_search_path(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def drawn(vehicle: gr.Vehicle, frame: str, number: int = 0) -> np.ndarray:
    """Corners of a mesh visual in its frame, sorted, each once."""
    one = [visual for visual in vehicle.visuals if visual.frame == frame][number]
    corners = np.concatenate([part.vertices for part in one.read()])
    return np.unique(np.round(corners @ one.rotation.T + one.xyz, 6) + 0.0, axis=0)


def sorted_points(points: np.ndarray) -> np.ndarray:
    return np.unique(np.round(points, 6) + 0.0, axis=0)


@pytest.mark.parametrize("mesh", WRITERS)
def test_the_hull_lies_on_the_body_as_its_visual_origin_turns_it(tmp_path: Path, mesh: str) -> None:
    vehicle = gr.vehicle(write_robot(tmp_path, mesh))
    # The chassis hangs 0.0345 m above the root link, the body.
    expected = sorted_points(body_points(wedge()[0]) + np.array((0.0, 0.0, 0.0345)))
    np.testing.assert_allclose(drawn(vehicle, "base_link"), expected, rtol=0.0, atol=2e-6)
    # By eye: the mast is behind and to the left, and its top is the highest corner; the hull is lowest in front.
    top = expected[np.argmax(expected[:, 2])]
    assert top[0] < 0.0 < top[1]


def test_roll_pitch_yaw_of_an_origin_turn_about_fixed_axes_in_that_order(tmp_path: Path) -> None:
    vehicle = gr.vehicle(write_robot(tmp_path, "hull.stl"))
    visual = vehicle.visuals[0]
    # Roll 90°, then yaw 90°: the mesh's z (ahead) goes to −y and then to x, its y (up) to z, its x (left) to y.
    np.testing.assert_allclose(visual.rotation, [[0, 0, 1], [1, 0, 0], [0, 1, 0]], rtol=0.0, atol=1e-12)
    roll, yaw = rotation.from_rpy(0.5 * math.pi, 0, 0), rotation.from_rpy(0, 0, 0.5 * math.pi)
    assert not np.allclose(roll @ yaw, visual.rotation, atol=0.1)  # so the order of this origin cannot be changed


def test_three_different_angles_of_an_origin_are_roll_pitch_and_yaw(tmp_path: Path) -> None:
    path = write_robot(tmp_path, "hull.obj")
    text = path.read_text()
    path.write_text(text.replace('rpy="1.5707963267948966 0.0 1.5707963267948966"', 'rpy="0.3 -0.4 1.1"', 1))
    assert path.read_text() != text
    c, s = np.cos, np.sin
    Rx = np.array([[1, 0, 0], [0, c(0.3), -s(0.3)], [0, s(0.3), c(0.3)]])
    Ry = np.array([[c(-0.4), 0, s(-0.4)], [0, 1, 0], [-s(-0.4), 0, c(-0.4)]])
    Rz = np.array([[c(1.1), -s(1.1), 0], [s(1.1), c(1.1), 0], [0, 0, 1]])
    hand = wedge()[0] @ (Rz @ Ry @ Rx).T + np.array(HULL_XYZ) + np.array((0.0, 0.0, 0.0345))
    np.testing.assert_allclose(drawn(gr.vehicle(path), "base_link"), sorted_points(hand), rtol=0.0, atol=2e-6)


def test_visuals_of_a_turning_link_move_with_its_joint(tmp_path: Path) -> None:
    vehicle = gr.vehicle(write_robot(tmp_path, "hull.obj"))
    bar = next(v for v in vehicle.visuals if v.frame == "front_left" and v.shape == "box")
    state = np.zeros(7 + vehicle.n_joints)
    state[0] = 1.0
    index = vehicle.frame_index("front_left")
    for angle, hand in ((0.0, (0.05, 0.022, 0.0)), (0.5 * math.pi, (0.0, 0.022, -0.05))):
        state[7 + vehicle.joint_index("front_left")] = angle
        R, p = frame_poses(vehicle, state)
        place = R[index] @ bar.xyz + p[index]
        # The chassis is 0.0345 m up, the wheel's joint as much again; a positive turn about y takes x to −z.
        np.testing.assert_allclose(place, np.array((0.131, 0.188, 0.069)) + hand, rtol=0.0, atol=1e-9)


def test_visuals_turn_with_a_fixed_joint_and_with_the_axis_of_a_wheel(tmp_path: Path) -> None:
    path = write_robot(tmp_path, "hull.stl")
    text = path.read_text()
    text = text.replace('<origin xyz="0 0 0.0345"/>', '<origin xyz="0.1 0 0.0345" rpy="0 0 1.5707963267948966"/>')
    path.write_text(text.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 -1 0"/>'))
    vehicle = gr.vehicle(path)
    x, y, z = body_points(wedge()[0]).T
    hand = np.column_stack([0.1 - y, x, 0.0345 + z])  # the chassis looks to the left
    np.testing.assert_allclose(drawn(vehicle, "base_link"), sorted_points(hand), rtol=0.0, atol=2e-6)
    # The front left wheel is at (0.131, 0.188) of the chassis; its frame's y points to its right, its bar stays ahead.
    R, p = frame_poses(vehicle, np.array([1.0, *np.zeros(6 + vehicle.n_joints)]))
    index = vehicle.frame_index("front_left")
    bar = next(v for v in vehicle.visuals if v.frame == "front_left" and v.shape == "box")
    np.testing.assert_allclose(R[index] @ bar.xyz + p[index], (0.1 - 0.21, 0.131 + 0.05, 0.069), rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(np.abs(R[index] @ bar.rotation), [[0, 1, 0], [1, 0, 0], [0, 0, 1]], rtol=0.0, atol=1e-9)


def test_colours_are_those_of_the_link_of_a_name_or_of_the_mesh(tmp_path: Path) -> None:
    vehicle = gr.vehicle(write_robot(tmp_path, "hull.dae"))
    by_frame: dict[str, list[Visual]] = {}
    for one in vehicle.visuals:
        by_frame.setdefault(one.frame, []).append(one)
    hull, ball = by_frame["base_link"]
    assert hull.color == (1.0, 0.8, 0.0, 1.0)
    assert ball.color == (0.0, 0.6, 0.2, 0.6)
    assert [one.color for one in by_frame["rear_left"]] == [(0.15, 0.15, 0.15, 1.0), None]
    write_dae(tmp_path / "two.dae", *wedge(), mast="0.8 0.1 0.1 1")
    assert [part.color for part in read_mesh(tmp_path / "two.dae")] == [(1.0, 0.8, 0.0, 1.0), (0.8, 0.1, 0.1, 1.0)]


def test_a_mesh_is_placed_by_its_numbers_whatever_it_says_is_up(tmp_path: Path) -> None:
    for up in ("X_UP", "Y_UP", "Z_UP"):  # as in RViz and Gazebo, for which URDF files are written
        write_dae(tmp_path / f"{up}.dae", *wedge(), up=up)
        corners = np.concatenate([part.vertices for part in read_mesh(tmp_path / f"{up}.dae")])
        np.testing.assert_allclose(sorted_points(corners), sorted_points(wedge()[0]), rtol=0.0, atol=2e-6)


def test_triangles_keep_their_outside_through_formats_scale_and_mirror(tmp_path: Path) -> None:
    for mesh, write in WRITERS.items():
        write(tmp_path / mesh, *wedge())
        for scale in ((1.0, 1.0, 1.0), (2.0, 1.0, 0.5), (1.0, -1.0, 1.0)):
            parts = Visual("body", mesh=str(tmp_path / mesh), scale=scale).read()
            enclosed = sum(volume(part.vertices, part.faces) for part in parts)
            assert enclosed == pytest.approx(abs(np.prod(scale)) * volume(*wedge()), rel=1e-5), (mesh, scale)
    assert volume(*wedge()) > 0.0


def test_a_collision_mesh_may_be_a_dae(tmp_path: Path) -> None:
    for mesh in ("hull.dae", "hull.stl"):
        WRITERS[mesh](tmp_path / mesh, *wedge())
    corners = [sorted_points(np.array(hull_of_mesh(tmp_path / mesh))) for mesh in ("hull.dae", "hull.stl")]
    np.testing.assert_allclose(corners[0], corners[1], rtol=0.0, atol=2e-6)
    assert len(corners[0]) > 8


def volume(vertices: np.ndarray, faces: np.ndarray) -> float:
    """By the divergence theorem [m³]; negative if triangles run clockwise seen from outside."""
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def test_a_mirrored_vehicle_looks_like_its_mirror_image(tmp_path: Path) -> None:
    vehicle = gr.vehicle(write_robot(tmp_path, "hull.stl"))
    expected = drawn(vehicle, "base_link") * (1.0, -1.0, 1.0)
    np.testing.assert_allclose(drawn(vehicle.mirrored(), "base_link"), sorted_points(expected), rtol=0.0, atol=2e-6)
    again = vehicle.mirrored().mirrored()
    np.testing.assert_allclose(drawn(again, "base_link"), drawn(vehicle, "base_link"), rtol=0.0, atol=2e-6)


@pytest.mark.parametrize("where", [*VARIABLES, "folder", "mapping", "deep"])
def test_a_package_is_found_on_the_search_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    urdf = write_robot(tmp_path / "here", "hull.stl")
    home = tmp_path / "install" / ("share" if where == "AMENT_PREFIX_PATH" else "")
    if where == "deep":
        home = home / "src" / "jackal"
    (home / "jackalish_description").mkdir(parents=True)
    shutil.move(urdf.parents[1] / "meshes", home / "jackalish_description" / "meshes")
    packages: object = ()
    if where in ("folder", "deep"):
        packages = [tmp_path / "install"]
    elif where == "mapping":
        packages = {"jackalish_description": home / "jackalish_description"}
    else:
        monkeypatch.setenv(where, f"{tmp_path / 'nothing'}:{tmp_path / 'install'}")
    vehicle = gr.vehicle(urdf, packages=packages)
    assert vehicle.visuals[0].mesh == str((home / "jackalish_description/meshes/hull.stl").resolve())
    assert len(drawn(vehicle, "base_link")) == 16


@pytest.mark.parametrize("address", ["../meshes/{}", "file://{folder}/meshes/{}", "{folder}/meshes/{}"])
def test_meshes_are_named_by_path_too(tmp_path: Path, address: str) -> None:
    folder = tmp_path / "a folder" / "jackalish_description"
    full = address.replace("{folder}", str(folder).replace(" ", "%20" if "file:" in address else " "))
    vehicle = gr.vehicle(write_robot(tmp_path / "a folder", "hull.obj", address=full))
    assert len(drawn(vehicle, "base_link")) == 16


def test_a_missing_mesh_is_missed_only_where_it_is_drawn_and_the_sentence_says_where_it_was_sought(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    from grouser.view.scene_vehicle import scene_vehicle

    monkeypatch.setenv("GROUSER_MESH_PATH", str(tmp_path / "elsewhere"))
    urdf = write_robot(tmp_path, "hull.stl")
    shutil.rmtree(urdf.parents[1] / "meshes")
    vehicle = gr.vehicle(urdf)
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"package://jackalish_description/meshes/hull.stl' is not found.*elsewhere"):
        frames = scene_vehicle(vehicle, {})["frames"]
    assert [shape["kind"] for shape in frames[0]["shapes"]] == ["body", "solid"]  # a box for the hull, and the ball
    bare = vehicle.replace(visuals=vehicle.visuals[:1])
    with pytest.warns(UserWarning, match="jackalish: a visual is not drawn"):
        frames = scene_vehicle(bare, {})["frames"]
    assert frames[0]["shapes"][0]["kind"] == "body"
    assert [shape["kind"] for shape in frames[1]["shapes"]] == ["wheel"]


def test_visuals_change_nothing_of_the_motion(tmp_path: Path) -> None:
    vehicle = gr.vehicle(write_robot(tmp_path, "hull.stl"))
    plain = vehicle.replace(visuals=())
    assert vehicle == plain
    runs = [
        gr.simulate(gr.Kinematics(v), gr.terrain.plane(), gr.drive.arc(0.5), duration=0.4) for v in (vehicle, plain)
    ]
    np.testing.assert_array_equal(runs[0].state, runs[1].state)


def test_a_saved_run_needs_no_mesh_files(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    from grouser.view.scene_vehicle import scene_vehicle

    write_robot(tmp_path, "hull.dae")
    write_dae(tmp_path / "jackalish_description/meshes/hull.dae", *wedge(), mast="0.8 0.1 0.1 1")
    vehicle = gr.vehicle(tmp_path / "jackalish_description/urdf/hull_dae.urdf")
    run = gr.simulate(gr.Kinematics(vehicle), gr.terrain.plane(), gr.drive.arc(0.5), duration=0.4)
    run.save(tmp_path / "run.npz")
    before = scene_vehicle(vehicle, {})
    shutil.rmtree(tmp_path / "jackalish_description")
    loaded = gr.Run.load(tmp_path / "run.npz")
    after = scene_vehicle(loaded.vehicle, {})
    assert after["frames"] == before["frames"]
    for a, b in zip(after["meshes"][0]["parts"], before["meshes"][0]["parts"], strict=True):
        assert a["color"] == b["color"]
        np.testing.assert_allclose(a["low"], b["low"], rtol=0.0, atol=1e-6)
    assert not recwarn.list
    loaded.save(tmp_path / "again.npz")  # what was loaded is kept
    assert len(drawn(gr.Run.load(tmp_path / "again.npz").vehicle, "base_link")) == 16


def test_a_vehicle_file_has_visuals_and_keeps_them(tmp_path: Path) -> None:
    write_stl(tmp_path / "hull.stl", *wedge())
    rows = [
        'visuals = [{ frame = "body", mesh = "hull.stl", xyz = [0.1, 0.0, 0.0], rpy = [0.0, 0.0, 1.0], '
        "scale = [2.0, 1.0, 1.0], color = [1.0, 0.5, 0.0] },",
        '{ frame = "FL", shape = "cylinder", radius = 0.1, length = 0.05 }]',
    ]
    bare = gr.vehicles.to_toml(gr.vehicle("husky").replace(hull=()))
    (tmp_path / "own.toml").write_text("\n".join(rows) + "\n" + bare.replace(bare.split("\n")[0] + "\n", ""))
    text = (tmp_path / "own.toml").read_text()
    (tmp_path / "own.toml").write_text('schema = "grouser/vehicle@1"\n' + text)
    vehicle = gr.vehicle(tmp_path / "own.toml")
    assert vehicle.visuals[0].color == (1.0, 0.5, 0.0, 1.0)
    hand = (wedge()[0] * (2.0, 1.0, 1.0)) @ rotation.from_rpy(0.0, 0.0, 1.0).T + (0.1, 0.0, 0.0)
    np.testing.assert_allclose(drawn(vehicle, "body"), sorted_points(hand), rtol=0.0, atol=2e-6)
    gr.vehicles.write_toml(vehicle, tmp_path / "elsewhere.toml")
    assert gr.vehicle(tmp_path / "elsewhere.toml").visuals == vehicle.visuals


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"shape": "cone"}, "field shape: 'cone' is not one of box, cylinder, sphere, mesh"),
        ({"shape": "mesh"}, "field mesh: is missing"),
        ({"shape": "box"}, "field size: is missing"),
        ({"shape": "box", "size": (1, 1, 0)}, "field size: 0 is not positive"),
        ({"shape": "sphere", "radius": 1, "length": 1}, "a sphere has none; it has radius"),
        ({"shape": "sphere", "radius": 1, "scale": (2, 2, 2)}, "is for a mesh"),
        ({"mesh": "a.stl", "scale": (1, 0, 1)}, "has a zero"),
        ({"mesh": "a.stl", "color": (1, 2, 0)}, "field color: 2 is not a number from 0 to 1"),
        ({"mesh": "a.stl", "color": (1, 1)}, "field color: has 2 entries"),
    ],
)
def test_a_visual_that_cannot_be_is_refused_in_a_sentence(fields: dict, said: str) -> None:
    with pytest.raises(gr.errors.VehicleError, match=said):
        Visual("body", **fields)


def test_a_visual_of_no_frame_is_refused() -> None:
    with pytest.raises(gr.errors.VehicleError, match=r"visual 1, field frame: 'roof' is not a frame; frames are body"):
        gr.vehicle("zoe").replace(visuals=(Visual("roof", "sphere", radius=0.1),))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.replace("?>", '?><!DOCTYPE x [<!ENTITY a "b">]>', 1), "DOCTYPE or entity declaration is refused"),
        (lambda t: t[: len(t) // 2], "not well-formed XML"),
        (lambda t: t.replace('meter="0.0254"', 'meter="-1"'), "<unit>"),
        (lambda t: re.sub(r"<p>\d+", "<p>99", t), "names a corner it has not"),
        (lambda t: re.sub(r"<p>\d+", "<p>x", t), "damaged COLLADA"),
        (lambda t: t.replace("<rotate>", "<matrix>").replace("</rotate>", "</matrix>"), "damaged COLLADA"),
        (lambda t: t.replace('url="#hull"', 'url="#none"'), "has no triangles"),
        (lambda t: t.replace("COLLADA", "collada"), "begins with <COLLADA>"),
        (lambda t: t.replace("<instance_geometry", '<instance_node url="#inner"/><instance_geometry'), "deeper than"),
    ],
)
def test_a_damaged_or_hostile_dae_is_refused_in_a_sentence(tmp_path: Path, change, said: str) -> None:
    file = tmp_path / "hull.dae"
    write_dae(file, *wedge())
    file.write_text(change(file.read_text()))
    with pytest.raises(gr.errors.VehicleError, match=said) as caught:
        read_mesh(file)
    assert "hull.dae" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["triangles", "polylist", "polygons", "trifans", "tristrips"])
def test_every_way_of_listing_triangles_gives_the_same_square(tmp_path: Path, kind: str) -> None:
    lists = {
        "triangles": "<p>0 1 2 0 2 3</p>", "polylist": "<vcount>4</vcount><p>0 1 2 3</p>", "polygons": "<p>0 1 2 3</p>",
        "trifans": "<p>0 1 2 3</p>", "tristrips": "<p>0 1 3 2</p>",
    }  # fmt: skip
    (tmp_path / "square.dae").write_text(f"""<c:COLLADA xmlns:c="http://www.collada.org/2005/11/COLLADASchema">
      <c:library_geometries><geometry id="g"><mesh>
      <source id="s"><float_array id="f">7 0 0 0 7 1 0 0 7 1 1 0 7 0 1 0</float_array>
        <technique_common><accessor offset="1" stride="4"/></technique_common></source>
      <vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
      <{kind}><input semantic="VERTEX" source="#v" offset="0"/>{lists[kind]}</{kind}>
      </mesh></geometry></c:library_geometries></c:COLLADA>""")
    (part,) = read_mesh(tmp_path / "square.dae")
    a, b, c = np.moveaxis(part.vertices[part.faces], 1, 0)
    np.testing.assert_allclose(np.cross(b - a, c - a), [[0, 0, 1], [0, 0, 1]])


def sphere(rings: int) -> MeshPart:
    """A ball of radius 1 m."""
    theta, phi = np.linspace(0, math.pi, rings), np.linspace(0, 2 * math.pi, 2 * rings)
    t, p = (grid.ravel() for grid in np.meshgrid(theta, phi, indexing="ij"))
    corner = np.arange(rings * 2 * rings).reshape(rings, 2 * rings)
    a, b, c, d = (g.ravel() for g in (corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]))
    faces = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    return MeshPart(np.column_stack([np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)]), faces)


def test_a_simplified_ball_is_a_ball_and_a_simplified_box_keeps_its_corners() -> None:
    ball = fewer(sphere(200), 5000)
    assert 2000 < len(ball.faces) <= 5000
    assert np.abs(np.linalg.norm(ball.vertices, axis=1) - 1.0).max() < 0.01
    assert volume(ball.vertices, ball.faces) == pytest.approx(4.0 / 3.0 * math.pi, rel=0.02)
    trimesh = pytest.importorskip("trimesh")
    box = trimesh.creation.box((2.0, 1.0, 0.5)).subdivide_loop(0)
    for _ in range(6):
        box = box.subdivide()
    small = fewer(MeshPart(np.asarray(box.vertices), np.asarray(box.faces)), 2000)
    assert len(small.faces) <= 2000 < len(box.faces)
    assert volume(small.vertices, small.faces) == pytest.approx(1.0, rel=0.01)
    for corner in np.array(np.meshgrid((-1.0, 1.0), (-0.5, 0.5), (-0.25, 0.25))).reshape(3, -1).T:
        assert np.linalg.norm(small.vertices - corner, axis=1).min() < 0.01


def test_all_meshes_of_a_vehicle_share_one_limit_and_small_ones_stay_whole() -> None:
    large, small = (sphere(150),), (sphere(10),)
    made = simplified([large, small, large], 10_000)
    assert made[1][0] is small[0]
    assert sum(len(part.faces) for mesh in made for part in mesh) <= 10_000
    assert len(made[0][0].faces) > 3000


def test_a_search_finds_nothing_it_was_not_asked_for(tmp_path: Path) -> None:
    for name, said in (("http://x/y.stl", "this kind of address is not read"), ("package://p/a.stl", "it is empty")):
        with pytest.raises(gr.errors.VehicleError, match=said):
            find_mesh(name, tmp_path)
