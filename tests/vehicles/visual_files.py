"""A small robot like Clearpath's Jackal, with its quirk: a hull mesh that stands on end until its origin turns it."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np

from grouser import rotation

# Modelled with y up and z ahead, as some CAD programs have it: a wedge, low in front, with a mast at its left rear.
# In body axes (x ahead, y left, z up) its numbers (x, y, z) are (left, up, ahead).
HULL_RPY = (0.5 * math.pi, 0.0, 0.5 * math.pi)
HULL_XYZ = (0.02, 0.0, -0.05)
WHEELS = {
    "front_left": (0.131, 0.188),
    "front_right": (0.131, -0.188),
    "rear_left": (-0.131, 0.188),
    "rear_right": (-0.131, -0.188),
}


def wedge() -> tuple[np.ndarray, np.ndarray]:
    """Corners and triangles of the hull and its mast, in the axes of the mesh [m]."""
    left, ahead = 0.155, 0.21
    # left, up, ahead
    hull = [(s * left, up, a) for a, top in ((-ahead, 0.18), (ahead, 0.08)) for s in (1, -1) for up in (0.0, top)]
    mast = [(0.13 + s * 0.015, up, -0.18 + a * 0.015) for a in (-1, 1) for s in (1, -1) for up in (0.16, 0.34)]
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    faces = np.array(triangles)
    return np.array(hull + mast), outward(np.array(hull + mast), np.concatenate([faces, faces + 8]))


def outward(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Triangles of two convex bodies, each of 12, counterclockwise seen from outside."""
    made = faces.copy()
    for first in range(0, len(faces), 12):
        middle = vertices[faces[first : first + 12]].mean(axis=(0, 1))
        for k in range(first, first + 12):
            a, b, c = vertices[made[k]]
            if np.cross(b - a, c - a) @ (a - middle) < 0.0:
                made[k] = made[k][::-1]
    return made


def body_points(vertices: np.ndarray) -> np.ndarray:
    """Where corners of the mesh are on the chassis, by hand: (left, up, ahead) becomes (ahead, left, up), shifted."""
    return vertices[:, [2, 0, 1]] + HULL_XYZ


def write_stl(path: Path, vertices: np.ndarray, faces: np.ndarray) -> None:
    rows = vertices[faces].astype("<f4")
    with path.open("wb") as stream:
        stream.write(b"\0" * 80 + struct.pack("<I", len(faces)))
        for row in rows:
            stream.write(np.zeros(3, "<f4").tobytes() + row.tobytes() + b"\0\0")


def write_ascii_stl(path: Path, vertices: np.ndarray, faces: np.ndarray) -> None:
    lines = ["solid hull"]
    for row in vertices[faces]:
        corners = "".join(f"vertex {x:.9g} {y:.9g} {z:.9g}\n" for x, y, z in row)
        lines.append(f"facet normal 0 0 0\nouter loop\n{corners}endloop\nendfacet")
    path.write_text("\n".join([*lines, "endsolid hull\n"]))


def write_obj(path: Path, vertices: np.ndarray, faces: np.ndarray) -> None:
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in vertices]
    path.write_text("\n".join([*lines, *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces), ""]))


def write_dae(
    path: Path, vertices: np.ndarray, faces: np.ndarray, *, mast: str = "1 0.8 0 1", up: str = "Z_UP", head: str = ""
) -> None:
    """In inches, moved and turned, which the unit and the nodes of the scene undo; the mast has a colour of its own."""
    inch = 0.0254
    R, p = rotation.from_rpy(0.3, -0.4, 1.1), np.array([0.4, -0.2, 0.1])
    local = (vertices - p) @ R / inch  # vertices = inch (R local + p / inch)
    angle, axis = _axis_angle(R)
    turn = " ".join(f"{x:.12g}" for x in (*axis, math.degrees(angle)))
    text, half = (" ".join(f"{x:.12g}" for x in values.ravel()) for values in (local, 0.5 * p / inch))

    # Corner, normal, corner, normal, …: as exporters interleave them.
    def indices(rows: np.ndarray) -> str:
        return " ".join(f"{k} 0" for k in rows.ravel())

    path.write_text(f"""<?xml version="1.0" encoding="utf-8"?>{head}
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="inch" meter="{inch}"/><up_axis>{up}</up_axis></asset>
  <library_effects>
    <effect id="paint-effect"><profile_COMMON><technique sid="common"><phong>
      <diffuse><color sid="diffuse">1 0.8 0 1</color></diffuse></phong></technique></profile_COMMON></effect>
    <effect id="mast-effect"><profile_COMMON><technique sid="common"><lambert>
      <diffuse><color>{mast}</color></diffuse></lambert></technique></profile_COMMON></effect>
  </library_effects>
  <library_materials>
    <material id="paint"><instance_effect url="#paint-effect"/></material>
    <material id="mast"><instance_effect url="#mast-effect"/></material>
  </library_materials>
  <library_geometries><geometry id="hull"><mesh>
    <source id="hull-positions"><float_array id="hull-array" count="{local.size}">{text}</float_array>
      <technique_common><accessor source="#hull-array" count="{len(local)}" stride="3"/></technique_common></source>
    <source id="hull-normals"><float_array id="n" count="3">0 0 1</float_array>
      <technique_common><accessor source="#n" count="1" stride="3"/></technique_common></source>
    <vertices id="hull-vertices"><input semantic="POSITION" source="#hull-positions"/></vertices>
    <triangles material="paint" count="12"><input semantic="VERTEX" source="#hull-vertices" offset="0"/>
      <input semantic="NORMAL" source="#hull-normals" offset="1"/><p>{indices(faces[:12])}</p></triangles>
    <polylist material="mast" count="12"><input semantic="VERTEX" source="#hull-vertices" offset="0"/>
      <input semantic="NORMAL" source="#hull-normals" offset="1"/>
      <vcount>{"3 " * 12}</vcount><p>{indices(faces[12:])}</p></polylist>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="scene"><node id="outer">
    <translate>{half}</translate><node id="inner"><translate>{half}</translate><rotate>{turn}</rotate>
      <instance_geometry url="#hull"><bind_material><technique_common>
        <instance_material symbol="paint" target="#paint"/><instance_material symbol="mast" target="#mast"/>
      </technique_common></bind_material></instance_geometry></node>
  </node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#scene"/></scene>
</COLLADA>
""")


def _axis_angle(R: np.ndarray) -> tuple[float, np.ndarray]:
    angle = math.acos(0.5 * (np.trace(R) - 1.0))
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return angle, axis / np.linalg.norm(axis)


WRITERS = {"hull.stl": write_stl, "ascii.stl": write_ascii_stl, "hull.obj": write_obj, "hull.dae": write_dae}
ROBOT = """<robot name="jackalish">
  <material name="yellow"><color rgba="1 0.8 0 1"/></material>
  <material name="dark"><color rgba="0.15 0.15 0.15 1"/></material>
  <link name="base_link"/>
  <link name="chassis">
    <inertial><origin xyz="0.012 0.002 0.067"/><mass value="16.5"/>
      <inertia ixx="0.31" iyy="0.44" izz="0.45"/></inertial>
    <visual><origin xyz="{xyz}" rpy="{rpy}"/><geometry>{hull}</geometry><material name="yellow"/></visual>
    <visual><origin xyz="-0.1 0 0.2"/><geometry><sphere radius="0.03"/></geometry>
      <material name="green"><color rgba="0 0.6 0.2 0.6"/></material></visual>
  </link>
  <joint name="base" type="fixed"><origin xyz="0 0 0.0345"/><parent link="base_link"/><child link="chassis"/></joint>
{wheels}</robot>
"""
WHEEL = """  <link name="{name}_link">
    <inertial><mass value="0.477"/><inertia ixx="0.0013" iyy="0.0024" izz="0.0013"/></inertial>
    <visual><origin rpy="1.5707963267948966 0 0"/><geometry><cylinder radius="0.098" length="0.04"/></geometry>
      <material name="dark"/></visual>
    <visual><origin xyz="0.05 {out} 0" rpy="0 0 0"/><geometry><box size="0.06 0.005 0.015"/></geometry></visual>
  </link>
  <joint name="{name}" type="continuous"><origin xyz="{x} {y} 0.0345"/><axis xyz="0 1 0"/>
    <parent link="chassis"/><child link="{name}_link"/></joint>
"""


def write_robot(folder: Path, mesh: str, *, address: str = "package://jackalish_description/meshes/{}") -> Path:
    """`jackalish_description/urdf/NAME.urdf` with its side file and its mesh, one of WRITERS."""
    package = folder / "jackalish_description"
    for name in ("urdf", "meshes"):
        (package / name).mkdir(parents=True, exist_ok=True)
    WRITERS[mesh](package / "meshes" / mesh, *wedge())
    wheels = "".join(WHEEL.format(name=name, x=x, y=y, out=math.copysign(0.022, y)) for name, (x, y) in WHEELS.items())
    hull = f'<mesh filename="{address.format(mesh)}"/>'
    numbers = {"xyz": " ".join(map(repr, HULL_XYZ)), "rpy": " ".join(map(repr, HULL_RPY))}
    path = package / "urdf" / f"{mesh.replace('.', '_')}.urdf"
    path.write_text(ROBOT.format(hull=hull, wheels=wheels, **numbers))
    rows = ", ".join(f'{{ joint = "{name}", radius = 0.098, width = 0.04 }}' for name in WHEELS)
    actuated = ", ".join(f'"{name}"' for name in WHEELS)
    path.with_suffix(".grouser.toml").write_text(
        f'schema = "grouser/urdf@1"\nwheels = [{rows}]\nactuated = [{actuated}]\n'
    )
    return path
