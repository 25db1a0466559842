"""A URDF and its side file give the same mechanism, checked against transforms composed from the raw XML."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from grouser.errors import VehicleError
from grouser.vehicles import Coupling, Steering, read_urdf, vehicle
from grouser.vehicles.tree import forward_kinematics

INERTIAL = '<inertial><origin xyz="{xyz}" rpy="{rpy}"/><mass value="{mass}"/>{inertia}</inertial>'
BOX = '<inertia ixx="0.9" iyy="1.1" izz="1.3" ixy="0.05" ixz="-0.04" iyz="0.03"/>'
DISC = '<inertia ixx="0.02" iyy="0.035" izz="0.02" ixy="0" ixz="0" iyz="0"/>'
DISC_Z = '<inertia ixx="0.02" iyy="0.02" izz="0.035" ixy="0" ixz="0" iyz="0"/>'


def link(name, mass=None, xyz="0 0 0", rpy="0 0 0", inertia=""):
    inner = "" if mass is None else INERTIAL.format(xyz=xyz, rpy=rpy, mass=mass, inertia=inertia)
    return f'<link name="{name}">{inner}</link>'


def joint(name, kind, parent, child, xyz="0 0 0", rpy="0 0 0", axis=None, extra=""):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/>' + (f'<axis xyz="{axis}"/>' if axis else "") + extra + "</joint>"
    )


ROVER = "\n".join(
    [
        '<?xml version="1.0"?><robot name="rover">',
        joint("steer_fl", "revolute", "base", "knuckle", "0.5 0.3 0.1", "0 0.1 0", "0 0 1",
              '<limit lower="-1" upper="1" effort="1" velocity="1"/>'),
        joint("wheel_fl", "continuous", "knuckle", "tyre_fl", "0 0.05 -0.1", axis="0 1 0"),
        # a wheel modelled along its own z, laid on its side, as many URDFs do
        joint("wheel_fr", "continuous", "base", "tyre_fr", "0.5 -0.3 0", "-1.5707963267948966 0 0", "0 0 1"),
        joint("wheel_rl", "continuous", "base", "tyre_rl", "-0.5 0.3 0", "0.1 0.2 0.3", "0 -2 0"),
        joint("rocker", "revolute", "base", "rocker_arm", "-0.4 -0.3 0", "0.3 -0.2 0.1", "1 0.2 -0.3"),
        joint("wheel_rr", "continuous", "rocker_arm", "tyre_rr", "-0.1 0 0", "0.2 0.1 0", "0.1 1 0.2"),
        joint("mast_mount", "fixed", "base", "mast", "0.1 0.05 0.4", "0.3 0.2 0.1"),
        joint("camera_mount", "fixed", "mast", "camera", "0 0 0.5", "0 0.5 0"),
        joint("lift", "prismatic", "camera", "sensor", "0.1 0 0.1", "0.1 0.2 0.3", "0 0 -1"),
        joint("hub", "fixed", "tyre_fl", "cap", "0 0.04 0", "0.4 0 0"),
        joint("follower", "revolute", "mast", "flag", "0 0 1", axis="-1 0 0",
              extra='<mimic joint="rocker" multiplier="-0.5" offset="0.2"/>'),
        link("base", 20, "0.05 0.02 0.1", "0.1 0.2 0.3", BOX),
        link("knuckle"),
        link("tyre_fl", 2, inertia=DISC), link("tyre_fr", 2, inertia=DISC_Z),
        link("tyre_rl", 2, "0 0.01 0", inertia=DISC), link("tyre_rr", 2, inertia=DISC),
        link("rocker_arm", 1.5, "-0.05 0.01 0", "0 0.3 0", BOX),
        link("mast", 3, "0 0 0.2", "0.3 0 0", BOX), link("camera", 0.7, "0.1 0 0", inertia=DISC),
        link("sensor", 0.4, "0 0.1 0", "0 0 0.7", DISC), link("cap", 0.2, "0 0.01 0.02", inertia=DISC),
        link("flag", 0.1, "0 0 0.1", inertia=DISC),
        '<gazebo><link name="ignored"/></gazebo><material name="grey"/>',
        "</robot>",
    ]
)  # fmt: skip
SIDE = """
schema = "grouser/urdf@1"
wheels = [
    { joint = "wheel_fl", radius = 0.2, width = 0.1 },
    { joint = "wheel_fr", radius = 0.21 },
    { joint = "wheel_rl", radius = 0.22 },
    { joint = "wheel_rr", radius = 0.23 },
]
actuated = ["wheel_rr", "steer_fl", "wheel_fl"]
couplings = [ { name = "spring", joints = { lift = 1.0 }, value = 0.1, stiffness = 100.0, damping = 5.0 } ]
steering = [ { joint = "steer_fl", gain = 5.0 } ]
drive_reference = [-0.5, 0.0]
"""


@pytest.fixture
def load(tmp_path):
    def load(urdf=ROVER, side=SIDE):
        path = tmp_path / "rover.urdf"
        path.write_bytes(urdf.encode() if isinstance(urdf, str) else urdf)
        if side is not None:
            (tmp_path / "rover.grouser.toml").write_text(side)
        return read_urdf(path)

    return load


@pytest.fixture
def refused(load):
    def refused(*words, urdf=ROVER, side=SIDE):
        with pytest.raises(VehicleError) as caught:
            load(urdf, side)
        message = str(caught.value)
        assert "\n" not in message
        for word in ("rover", *words):
            assert word in message, message

    return refused


def transform(xyz, rpy):
    (sr, sp, sy), (cr, cp, cy) = np.sin(rpy), np.cos(rpy)
    T = np.eye(4)
    T[:3, :3] = (
        np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
        @ np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
        @ np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    )
    T[:3, 3] = xyz
    return T


def numbers(element, key, default):
    return np.array([float(word) for word in (default if element is None else element.get(key, default)).split()])


def motion(kind, axis, q):
    T = np.eye(4)
    if kind == "prismatic":
        T[:3, 3] = axis * q
    elif kind != "fixed":
        K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
        T[:3, :3] = np.eye(3) + np.sin(q) * K + (1 - np.cos(q)) * K @ K
    return T


def raw_link_poses(urdf, angles):
    """T_base_link of every link, straight from the XML."""
    robot = ET.fromstring(urdf)
    joints = robot.findall("joint")
    poses = {"base": np.eye(4)}
    while len(poses) <= len(joints):
        for one in joints:
            parent, child = one.find("parent").get("link"), one.find("child").get("link")
            if parent in poses and child not in poses:
                origin, axis = one.find("origin"), numbers(one.find("axis"), "xyz", "1 0 0")
                T = transform(numbers(origin, "xyz", "0 0 0"), numbers(origin, "rpy", "0 0 0"))
                moved = motion(one.get("type"), axis / np.linalg.norm(axis), angles.get(one.get("name"), 0.0))
                poses[child] = poses[parent] @ T @ moved
    return robot, poses


def raw_mass_properties(urdf, angles):
    """Total mass, centre of mass and inertia about the base origin, base axes, straight from the XML."""
    robot, poses = raw_link_poses(urdf, angles)
    mass, moment, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
    for one in robot.findall("link"):
        inertial = one.find("inertial")
        if inertial is None:
            continue
        origin = inertial.find("origin")
        T = poses[one.get("name")] @ transform(numbers(origin, "xyz", "0 0 0"), numbers(origin, "rpy", "0 0 0"))
        m = float(inertial.find("mass").get("value"))
        entries = {key: float(value) for key, value in inertial.find("inertia").attrib.items()}
        own = np.array([[entries["i" + "".join(sorted(a + b))] for b in "xyz"] for a in "xyz"])
        p = T[:3, 3]
        mass += m
        moment += m * p
        inertia += T[:3, :3] @ own @ T[:3, :3].T + m * (p @ p * np.eye(3) - np.outer(p, p))
    return mass, moment / mass, inertia


def mass_properties(rover, theta):
    R, p = forward_kinematics(rover.frames, theta)
    mass, moment, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
    for frame, R_i, p_i in zip(rover.frames, R, p, strict=True):
        c = p_i + R_i @ frame.com
        mass += frame.mass
        moment += frame.mass * c
        inertia += R_i @ frame.inertia_matrix @ R_i.T + frame.mass * (c @ c * np.eye(3) - np.outer(c, c))
    return mass, moment / mass, inertia


def test_frames_take_the_names_of_moving_joints(load):
    rover = load()
    assert rover.name == "rover"
    assert rover.frames[0].name == "base"
    moving = ["steer_fl", "wheel_fl", "wheel_fr", "wheel_rl", "rocker", "wheel_rr", "lift", "follower"]
    assert list(rover.joints) == moving
    assert rover.wheels == ("wheel_fl", "wheel_fr", "wheel_rl", "wheel_rr")
    assert rover.actuated == ("steer_fl", "wheel_fl", "wheel_rr")
    assert list(rover.arrays.radius) == [0.2, 0.21, 0.22, 0.23]
    assert [frame.joint for frame in rover.frames[1:]] == ["RZ", "RY", "RY", "RY", "RX", "RY", "PZ", "RX"]
    parents = {frame.name: frame.parent for frame in rover.frames}
    assert parents["lift"] == parents["follower"] == "base"
    assert rover.steering == (Steering("steer_fl", 5.0),)
    assert rover.drive_point == (-0.5, 0.0)


def test_mimic_becomes_a_coupling(load):
    mimic, spring = load().couplings
    assert dict(mimic.joints) == {"follower": 1.0, "rocker": 0.5}
    assert (mimic.value, mimic.stiffness) == (0.2, None)
    assert spring == Coupling("spring", {"lift": 1.0}, value=0.1, stiffness=100.0, damping=5.0)


def test_every_frame_moves_as_its_link_does_in_the_urdf(load):
    rover = load()
    children = {one.get("name"): one.find("child").get("link") for one in ET.fromstring(ROVER).findall("joint")}
    rng = np.random.default_rng(0)
    _, at_zero = raw_link_poses(ROVER, {})
    R_zero, _ = forward_kinematics(rover.frames, np.zeros(rover.n_joints))
    for _ in range(20):
        theta = rng.uniform(-3, 3, rover.n_joints)
        _, raw = raw_link_poses(ROVER, dict(zip(rover.joints, theta, strict=True)))
        R, p = forward_kinematics(rover.frames, theta)
        for i, name in enumerate(rover.joints, start=1):
            T = raw[children[name]]
            np.testing.assert_allclose(p[i], T[:3, 3], rtol=0.0, atol=1e-12)
            # The frame is fixed in its link: the same rotation between them at every displacement.
            fixed = at_zero[children[name]][:3, :3].T @ R_zero[i]
            np.testing.assert_allclose(T[:3, :3].T @ R[i], fixed, rtol=0.0, atol=1e-12)


def test_a_wheel_turns_about_its_urdf_axis(load):
    rover = load()
    R, _ = forward_kinematics(rover.frames, np.zeros(rover.n_joints))
    _, raw = raw_link_poses(ROVER, {})
    axes = {"wheel_fl": [0, 1, 0], "wheel_fr": [0, 0, 1], "wheel_rl": [0, -1, 0], "wheel_rr": [0.1, 1, 0.2]}
    for name, axis in axes.items():
        expected = raw["tyre_" + name[-2:]][:3, :3] @ axis / np.linalg.norm(axis)
        np.testing.assert_allclose(R[rover.frame_index(name)][:, 1], expected, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(R[rover.frame_index("wheel_fr")], np.eye(3), rtol=0.0, atol=1e-12)


def test_mass_centre_and_inertia_are_conserved_at_any_displacement(load):
    rover = load()
    rng = np.random.default_rng(1)
    for _ in range(20):
        theta = rng.uniform(-3, 3, rover.n_joints)
        raw = raw_mass_properties(ROVER, dict(zip(rover.joints, theta, strict=True)))
        ours = mass_properties(rover, theta)
        assert ours[0] == pytest.approx(raw[0], rel=1e-12)
        np.testing.assert_allclose(ours[1], raw[1], rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(ours[2], raw[2], rtol=0.0, atol=1e-11)
    assert rover.frames[0].mass == pytest.approx(23.7)  # base, mast, camera
    assert rover.frames[rover.frame_index("wheel_fl")].mass == pytest.approx(2.2)  # tyre, cap


def test_the_catalogue_reads_urdf_and_a_side_file_may_stand_elsewhere(load, tmp_path):
    rover = load()
    assert vehicle(tmp_path / "rover.urdf") == rover
    (tmp_path / "rover.grouser.toml").rename(tmp_path / "elsewhere.toml")
    assert read_urdf(tmp_path / "rover.urdf", tmp_path / "elsewhere.toml") == rover


def test_a_root_link_without_inertia_is_welcome(load):
    urdf = ROVER.replace(link("base", 20, "0.05 0.02 0.1", "0.1 0.2 0.3", BOX), '<link name="base"/>')
    assert load(urdf).mass == pytest.approx(sum([2, 2, 2, 2, 1.5, 3, 0.7, 0.4, 0.2, 0.1]))


def test_a_missing_side_file_is_refused_with_its_name(refused):
    refused("rover.grouser.toml", "wheels", side=None)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('joint = "wheel_fl"', 'joint = "weel"', ["wheels", "'weel'", "wheel_fl"]),
        ('joint = "wheel_fl"', 'joint = "hub"', ["wheels", "'hub'"]),
        ('joint = "wheel_fl"', 'joint = "lift"', ["'lift'", "prismatic"]),
        ('joint = "wheel_fl"', 'joint = "rocker"', ["'rocker'", "wheel"]),
        ('joint = "wheel_fr"', 'joint = "wheel_fl"', ["'wheel_fl'", "twice"]),
        ('"wheel_rr", "steer_fl"', '"wheel_rr", "mast_mount"', ["actuated", "'mast_mount'"]),
        ("radius = 0.21", "radius = 0", ["wheel_fr", "radius", "positive"]),
        ("radius = 0.21", 'radius = "big"', ["frame 'wheel_fr'", "field radius", "number"]),
        ("radius = 0.21", "radus = 0.21", ["wheel 2 'wheel_fr'"]),
        ("urdf@1", "urdf@2", ["newer Grouser"]),
        ("urdf@1", "vehicle@1", ["expected 'grouser/urdf@1'"]),
        ('{ lift = 1.0 }', "{ hub = 1.0 }", ["coupling 'spring'", "'hub'"]),
        ('joint = "steer_fl"', 'joint = "rocker"', ["steering of 'rocker'", "RZ"]),
    ],
)  # fmt: skip
def test_a_fault_in_the_side_file_is_named(refused, old, new, words):
    assert SIDE.count(old) == 1
    refused(*words, side=SIDE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name="lift" type="prismatic"', 'name="lift" type="floating"',
         ["joint 'lift'", "'floating'", "revolute"]),
        ('name="lift" type="prismatic"', 'name="lift" type="planar"', ["joint 'lift'", "'planar'"]),
        ('name="lift" type="prismatic"', 'name="lift"', ["joint 'lift'", "type"]),
        ('name="lift" type="prismatic"', 'name="hub" type="prismatic"', ["joint 'hub'", "names must differ"]),
        ('<link name="knuckle">', '<link name="mast">', ["link 'mast'", "names must differ"]),
        ('<link name="knuckle">', "<link>", ["<link>", "name"]),
        ('<link name="knuckle"></link>', "", ["joint 'steer_fl'", "'knuckle'", "links are"]),
        ('<child link="knuckle"/>', '<child link="tyre_fr"/>', ["tyre_fr", "'steer_fl' and 'wheel_fr'"]),
        ('<child link="knuckle"/>', "", ["joint 'steer_fl'", "child"]),
        ('<child link="knuckle"/>', '<child link="base"/>', ["knuckle"]),
        ('<axis xyz="0 -2 0"/>', '<axis xyz="0 0 0"/>', ["joint 'wheel_rl'", "axis", "zero"]),
        ('<axis xyz="0 -2 0"/>', '<axis xyz="0 2"/>', ["joint 'wheel_rl'", "axis", "needs 3"]),
        ('<axis xyz="0 -2 0"/>', '<axis xyz="0 2 q"/>', ["joint 'wheel_rl'", "'0 2 q' is not numbers"]),
        ('<axis xyz="0 -2 0"/>', '<axis xyz="0 nan 0"/>', ["joint 'wheel_rl'", "finite"]),
        ('<mass value="1.5"/>', '<mass value="-1.5"/>', ["link 'rocker_arm'", "mass", "negative"]),
        ('<mass value="1.5"/>', '<mass value="inf"/>', ["link 'rocker_arm'", "mass", "finite"]),
        ('<mass value="1.5"/>', "", ["link 'rocker_arm'", "mass"]),
        ('<mass value="20"/>', '<mass value="1e12"/>', ["frame 'base'", "field mass", "too large"]),
        ('<mimic joint="rocker"', '<mimic joint="hub"', ["joint 'follower'", "'hub'"]),
        ('<mimic joint="rocker"', '<mimic joint="follower"', ["joint 'follower'", "another"]),
        ("<robot name", "<xobot name", ["XML"]),
        ("</robot>", "", ["XML"]),
        ("<gazebo>", "<xacro:macro/><gazebo>", ["xacro"]),
        ('<child link="cap"/>', '<child link="nowhere"/>', ["joint 'hub'", "'nowhere'"]),
        ('name="hub" type="fixed"', 'name="hub" type="continuous"', ["wheel_fl", "hub"]),
    ],
)  # fmt: skip
def test_a_fault_in_the_urdf_is_named(refused, old, new, words):
    assert ROVER.count(old) == 1
    refused(*words, urdf=ROVER.replace(old, new))


def test_a_wheel_without_mass_is_refused(refused):
    refused("wheel_fr", "mass", urdf=ROVER.replace(link("tyre_fr", 2, inertia=DISC_Z), link("tyre_fr")))


def test_a_closed_loop_of_joints_is_refused(refused):
    loop = joint("l1", "fixed", "p", "q") + joint("l2", "fixed", "q", "p") + link("p") + link("q")
    refused("cycle", urdf=ROVER.replace("</robot>", loop + "</robot>"))
    refused("cycle", urdf='<robot name="r">' + loop + "</robot>")


def test_two_separate_robots_are_refused(refused):
    refused("base, spare", urdf=ROVER.replace("</robot>", link("spare") + "</robot>"))


LAUGHS = '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(12)
)


@pytest.mark.parametrize(
    "content",
    [
        (LAUGHS + '<robot name="&m;"/>]>').encode(),
        (LAUGHS + ']><robot name="&m;"/>').encode(),
        (LAUGHS + ']><robot name="&m;"/>').encode("utf-16"),
        ("\ufeff" + LAUGHS + ']><robot name="&m;"/>').encode("utf-16-be"),
        b'<!DOCTYPE robot SYSTEM "file:///etc/passwd"><robot name="r"/>',
        b'<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="r">&x;</robot>',
        b"<!doctype robot><robot name='r'/>",
    ],
)
def test_doctype_and_entities_are_refused(refused, content):
    refused("DOCTYPE", urdf=content)


def test_unknown_entities_encodings_and_bytes_are_refused(refused):
    for content in (
        b"<robot name='r'>&x;</robot>",
        b"<?xml version='1.0' encoding='utf-7'?><robot name='r'/>",
        b"<?xml version='1.0' encoding='nonsense'?><robot name='r'/>",
        b"<?xml version='1.0' encoding='cp037'?><robot name='r'/>",
        b"<?xml version='1.0' encoding='shift_jis'?><robot name='r'/>",
        b"",
        b"\0\0",
        b"\xff\xfe",
        b"<robot name='r'/><robot name='r'/>",
    ):
        refused(urdf=content)


def test_a_file_that_is_too_large_deep_or_long_is_refused(refused):
    refused("larger than", urdf="<robot name='r'>" + " " * 5_000_000 + "</robot>")
    refused("nested deeper", urdf="<robot name='r'>" + "<a>" * 100_000)
    refused("elements", urdf="<robot name='r'>" + "<a/>" * 100_000 + "</robot>")
    refused("501 links", urdf="<robot name='r'>" + "".join(link(f"l{i}") for i in range(501)) + "</robot>")


def test_a_missing_urdf_is_refused(tmp_path):
    with pytest.raises(VehicleError, match="no such file"):
        read_urdf(tmp_path / "none.urdf")
    with pytest.raises(VehicleError, match="is a folder"):
        read_urdf(tmp_path)
    with pytest.raises(VehicleError):
        read_urdf(None)
