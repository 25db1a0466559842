"""Hulls of vehicles: shapes as points, files, URDF collision shapes, the mirror."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.errors import VehicleError
from grouser.vehicles import Hull, read_toml, to_toml, write_toml
from grouser.vehicles.hull import MESH_POINTS, hull_of_mesh
from grouser.vehicles.toml import parse_toml

POINTS = ((0.1, 0.2, 0.3), (0.0, -0.1, 0.4))
SHAPES = [
    Hull("body", "sphere", xyz=(0.1, 0.2, 0.3), radius=0.1),
    Hull("body", "capsule", rpy=(0.1, 0.2, 0.3), radius=0.1, length=0.5, spacing=0.1),
    Hull("body", "cylinder", xyz=(0.0, 0.3, 0.0), rpy=(0.5, 0.0, 0.2), radius=0.2, length=0.4),
    Hull("body", "box", xyz=(0.0, 0.1, 0.2), rpy=(0.3, 0.2, 0.1), size=(0.8, 0.4, 0.2), spacing=0.1),
    Hull("body", "points", points=POINTS, radius=0.05),
]


def local(one):
    """Points of a hull in the axes of its shape."""
    return (one.centres - np.array(one.xyz)) @ gr.rotation.from_rpy(*one.rpy)


def test_points_of_a_box_are_on_its_surface_with_all_corners_and_no_larger_gaps_than_the_spacing():
    box = SHAPES[3]
    p, half = local(box), np.array(box.size) / 2
    assert np.abs(np.abs(p) / half).max() == pytest.approx(1.0)
    assert (np.abs(np.abs(p) / half).max(axis=1) > 1.0 - 1e-12).all()
    corners = np.array(np.meshgrid(*([-1, 1],) * 3)).reshape(3, -1).T * half
    for corner in corners:
        assert np.abs(p - corner).max(axis=1).min() < 1e-12
    for _ in range(200):  # any point of the belly has a neighbour within half a spacing along each side
        spot = np.random.default_rng(1).uniform(-half, half) * [1, 1, 0] - [0, 0, half[2]]
        assert np.abs(p - spot).max(axis=1).min() <= 0.05 + 1e-12


def test_points_of_a_cylinder_are_on_its_surface():
    one = SHAPES[2]
    x, y, z = local(one).T
    on_side, on_end = np.abs(np.hypot(x, y) - 0.2) < 1e-12, np.abs(np.abs(z) - 0.2) < 1e-12
    assert (on_side | on_end).all()
    assert (np.hypot(x, y) < 0.2 + 1e-12).all()
    assert len(np.unique(np.round(local(one), 9), axis=0)) == len(x)


def test_balls_of_a_capsule_reach_from_end_to_end():
    assert np.allclose(local(SHAPES[1])[:, 2], np.linspace(-0.25, 0.25, 6))
    assert SHAPES[1].ball_radius == 0.1
    assert SHAPES[0].ball_radius == 0.1
    assert SHAPES[3].ball_radius == 0.0


@pytest.mark.parametrize("one", SHAPES, ids=lambda one: one.shape)
def test_the_mirror_image_of_a_hull_has_mirrored_points(one):
    mirrored = np.array(sorted(map(tuple, np.round(one.mirrored().centres, 9) + 0.0)))
    image = np.array(sorted(map(tuple, np.round(one.centres * [1.0, -1.0, 1.0], 9) + 0.0)))
    assert np.abs(mirrored - image).max() < 1e-8
    assert one.mirrored().mirrored() == one


def test_a_vehicle_file_keeps_the_hull(tmp_path):
    vehicle = gr.vehicle("husky").replace(hull=tuple(SHAPES))
    write_toml(vehicle, tmp_path / "a.toml")
    assert read_toml(tmp_path / "a.toml") == vehicle
    assert parse_toml(to_toml(vehicle), "a") == vehicle
    assert len(vehicle.arrays.hull_frame) == sum(len(one.centres) for one in SHAPES)
    assert "hull body: box, 0.8 × 0.4 × 0.2 m" in vehicle.summary()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"shape": "cone"}, "hull of 'body', field shape"),
        ({"shape": "sphere"}, "hull of 'body', field radius: is missing; a sphere needs it"),
        ({"shape": "sphere", "radius": -1.0}, "hull of 'body', field radius"),
        ({"shape": "sphere", "radius": 1.0, "length": 1.0}, "field length: a sphere has none; it has radius"),
        ({"shape": "box", "size": (1.0, 2.0)}, "field size"),
        ({"shape": "box", "size": (1.0, 1.0, 1.0), "spacing": 1e-6}, "field spacing: makes"),
        ({"shape": "points", "points": []}, "field points"),
        ({"shape": "points", "points": [[1.0, 2.0]]}, "field points"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(fields, message):
    with pytest.raises(VehicleError, match=message):
        Hull("body", **fields)


@pytest.mark.parametrize(
    ("hull", "message"),
    [
        ([Hull("FL", "sphere", radius=0.1)], "hull 1, field frame: 'FL' is a wheel"),
        ([Hull("roof", "sphere", radius=0.1)], "hull 1, field frame: 'roof' is not a frame; frames are body"),
        ([Hull("body", "box", size=(1.0, 1.0, 1.0), spacing=0.05)], "points, at most 2000 are accepted"),
        (["box"], "field hull"),
    ],
)
def test_a_hull_that_does_not_fit_the_vehicle_is_refused(hull, message):
    with pytest.raises(VehicleError, match=message):
        gr.vehicle("husky").replace(hull=hull)


def ball(path, rings=24):
    """A sphere as an ASCII .obj file, with many more corners than a hull keeps."""
    lines = []
    for i in range(1, rings):
        for k in range(2 * rings):
            a, b = math.pi * i / rings, math.pi * k / rings
            lines.append(f"v {math.sin(a) * math.cos(b):.9f} {math.sin(a) * math.sin(b):.9f} {math.cos(a):.9f}")
    lines += [f"f {i} {i + 1} {i + 2}" for i in range(1, len(lines) - 1)]
    path.write_text("\n".join(lines) + "\n")


def test_a_mesh_becomes_points_that_are_spread_over_its_convex_hull(tmp_path):
    pytest.importorskip("trimesh")
    ball(tmp_path / "ball.obj")
    points = np.array(hull_of_mesh(tmp_path / "ball.obj", (0.5, 0.5, 0.5)))
    assert len(points) == MESH_POINTS
    assert np.allclose(np.linalg.norm(points, axis=1), 0.5)
    directions = np.random.default_rng(3).normal(size=(300, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert (directions @ points.T).max(axis=1).min() > 0.48  # 200 even points on a sphere leave no larger gap


def test_a_vehicle_file_names_a_mesh_beside_it(tmp_path):
    pytest.importorskip("trimesh")
    ball(tmp_path / "ball.obj")
    text = to_toml(gr.vehicle("husky"))
    row = 'hull = [{ frame = "body", shape = "mesh", file = "ball.obj", xyz = [0.0, 0.0, 0.5] }]\n'
    (tmp_path / "a.toml").write_text(text + row)
    vehicle = read_toml(tmp_path / "a.toml")
    assert vehicle.hull[0].shape == "points"
    assert len(vehicle.hull[0].centres) == MESH_POINTS
    (tmp_path / "b.toml").write_text(text + row.replace("ball.obj", "none.obj"))
    with pytest.raises(VehicleError, match=r"b.toml, hull 1: .*none.obj"):
        read_toml(tmp_path / "b.toml")
    (tmp_path / "c.toml").write_text(text + row.replace('file = "ball.obj", ', ""))
    with pytest.raises(VehicleError, match=r"c.toml, hull 1, field file: is missing"):
        read_toml(tmp_path / "c.toml")


MASS = '<inertial><mass value="10"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
URDF = """<robot name="cart">
  <link name="base">{mass}
    <collision><origin xyz="0 0 0.1"/><geometry><box size="0.6 0.4 0.2"/></geometry></collision>
    {mesh}</link>
  <link name="mast"><collision><origin rpy="1.5707963267948966 0 0"/>
    <geometry><cylinder radius="0.05" length="0.4"/></geometry></collision></link>
  <link name="wheel">{mass}<collision><geometry><sphere radius="0.15"/></geometry></collision></link>
  <link name="arm">{mass}<collision><geometry><sphere radius="0.02"/></geometry></collision></link>
  <joint name="bolt" type="fixed"><parent link="base"/><child link="mast"/><origin xyz="0 0 0.4"/></joint>
  <joint name="axle" type="continuous"><parent link="base"/><child link="wheel"/><axis xyz="0 1 0"/></joint>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
</robot>"""


def write_urdf(folder, mesh="", side=""):
    (folder / "cart.urdf").write_text(URDF.format(mesh=mesh, mass=MASS))
    (folder / "cart.grouser.toml").write_text(
        f'schema = "grouser/urdf@1"\nwheels = [{{joint = "axle", radius = 0.15}}]\n{side}'
    )
    return folder / "cart.urdf"


def test_collision_shapes_of_links_that_are_no_wheels_become_the_hull(tmp_path):
    box, mast, arm = gr.vehicle(write_urdf(tmp_path)).hull
    assert (box.frame, box.shape, box.xyz, box.size) == ("base", "box", (0.0, 0.0, 0.1), (0.6, 0.4, 0.2))
    assert (mast.frame, mast.shape) == ("base", "cylinder")  # held by a fixed joint
    assert np.allclose(mast.centres.min(axis=0), [-0.05, -0.2, 0.35], atol=0.003)
    assert (arm.frame, arm.shape) == ("hinge", "sphere")
    assert gr.vehicle(write_urdf(tmp_path, side="hull = false\n")).hull == ()


def test_a_collision_mesh_is_found_in_its_package_or_left_out_with_a_warning(tmp_path):
    pytest.importorskip("trimesh")
    file = "package://cart_description/a.obj"
    mesh = f'<collision><geometry><mesh filename="{file}" scale="2 2 2"/></geometry></collision>'
    folder = tmp_path / "cart_description" / "urdf"
    folder.mkdir(parents=True)
    path = write_urdf(folder, mesh)
    with pytest.warns(UserWarning, match=r"collision mesh of 'base': 'package://cart_description/a.obj' is not found"):
        assert len(gr.vehicle(path).hull) == 3
    with pytest.raises(VehicleError, match="hull = false"):
        gr.vehicle(write_urdf(folder, mesh, "hull = true\n"))
    ball(tmp_path / "cart_description" / "a.obj")
    found = gr.vehicle(write_urdf(folder, mesh)).hull[1]
    assert np.allclose(np.linalg.norm(found.centres, axis=1), 2.0)
