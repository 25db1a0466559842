"""Small URDFs with the quirks of eight known robots, written for these tests; sizes are our own, in the same range.

Each function gives the text of a URDF or xacro file.
"""

HALF_PI = 1.5707963267948966


def inertial(mass, xyz="0 0 0", i=(0.01, 0.01, 0.01)):
    terms = f'ixx="{i[0]}" iyy="{i[1]}" izz="{i[2]}" ixy="0" ixz="0" iyz="0"'
    return f'<inertial><origin xyz="{xyz}"/><mass value="{mass}"/><inertia {terms}/></inertial>'


def shape(kind, size, xyz="0 0 0", rpy="0 0 0", tag="collision"):
    return f'<{tag}><origin xyz="{xyz}" rpy="{rpy}"/><geometry><{kind} {size}/></geometry></{tag}>'


def cylinder(radius, length, xyz="0 0 0", rpy=f"{HALF_PI} 0 0", tag="collision"):
    return shape("cylinder", f'radius="{radius}" length="{length}"', xyz, rpy, tag)


def box(x, y, z, xyz="0 0 0", tag="collision"):
    return shape("box", f'size="{x} {y} {z}"', xyz, tag=tag)


def link(name, *parts):
    return f'<link name="{name}">{"".join(parts)}</link>'


def joint(name, kind, parent, child, xyz="0 0 0", rpy="0 0 0", axis=None, extra=""):
    axis = f'<axis xyz="{axis}"/>' if axis else ""
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}<origin xyz="{xyz}" rpy="{rpy}"/>{axis}{extra}</joint>'


def limit(lower, upper, velocity=100.0):
    return f'<limit lower="{lower}" upper="{upper}" effort="10" velocity="{velocity}"/>'


def transmission(name, interface="VelocityJointInterface"):
    inner = f'<joint name="{name}"><hardwareInterface>hardware_interface/{interface}</hardwareInterface></joint>'
    return (
        f'<transmission name="{name}_trans"><type>SimpleTransmission</type>{inner}<actuator name="m"/></transmission>'
    )


def control(*names, interface="velocity"):
    rows = "".join(
        f'<joint name="{n}"><command_interface name="{interface}"/><state_interface name="position"/></joint>'
        for n in names
    )
    return f'<ros2_control name="hw" type="system"><hardware><plugin>fake</plugin></hardware>{rows}</ros2_control>'


def robot(name, *parts):
    body = "\n".join(parts)
    return f'<?xml version="1.0"?>\n<robot name="{name}">\n{body}\n</robot>\n'


def husky():
    """Skid-steer; the body's mass hangs on a link of its own; <transmission>s; the root link weighs nothing."""
    parts = [link("base_link", box(0.98, 0.57, 0.1, "0 0 0.06")), link("inertial_link", inertial(46.0, "0 0 0.12"))]
    parts.append(joint("inertial_joint", "fixed", "base_link", "inertial_link"))
    for name, x, y in (("front_left", 1, 1), ("front_right", 1, -1), ("rear_left", -1, 1), ("rear_right", -1, -1)):
        tyre = inertial(2.6, i=(0.025, 0.044, 0.025))
        parts.append(link(f"{name}_wheel_link", tyre, cylinder(0.17, 0.11)))
        xyz = f"{x * 0.25} {y * 0.28} 0.03"
        parts.append(joint(f"{name}_wheel", "continuous", "base_link", f"{name}_wheel_link", xyz, axis="0 1 0"))
        parts.append(transmission(f"{name}_wheel"))
    return robot("husky", *parts)


def jackal():
    """Skid-steer; motors in <ros2_control>, and <transmission>s that name joints which do not exist."""
    parts = [link("base_link"), link("chassis_link", inertial(16.0, "0.01 0 0.07"), box(0.42, 0.31, 0.18, "0 0 0.09"))]
    parts.append(joint("base_link_joint", "fixed", "base_link", "chassis_link"))
    names = []
    for name, x, y in (("front_left", 1, 1), ("front_right", 1, -1), ("rear_left", -1, 1), ("rear_right", -1, -1)):
        parts.append(link(f"{name}_wheel_link", inertial(0.5), cylinder(0.1, 0.04)))
        xyz = f"{x * 0.13} {y * 0.19} 0.035"
        names.append(f"{name}_wheel_joint")
        parts.append(joint(names[-1], "continuous", "chassis_link", f"{name}_wheel_link", xyz, axis="0 1 0"))
        parts.append(transmission(f"{name}_wheel"))
    return robot("jackal", *parts, control(*names))


def leo():
    """Four wheels on rockers that are fixed though they have axes and a mimic; the left one is turned about.

    Wheels stand beside their joints, their axes point right where the frame is turned; two cylinders each.
    """
    parts = [link("base_footprint"), link("base_link", inertial(3.0), box(0.3, 0.2, 0.1))]
    parts.append(joint("base_joint", "fixed", "base_footprint", "base_link", "0 0 0.2"))
    for side, y, yaw, mimic in (
        ("L", 0.14, "3.141592653589793", ""),
        ("R", -0.14, "0", '<mimic joint="rocker_L_joint"/>'),
    ):
        parts.append(link(f"rocker_{side}_link", inertial(1.4, "0 0.01 -0.06"), box(0.3, 0.02, 0.05, "0 0 -0.05")))
        rocker = joint(
            f"rocker_{side}_joint", "fixed", "base_link", f"rocker_{side}_link", f"0 {y} -0.05", f"0 0 {yaw}", "0 1 0",
            limit(-0.24, 0.24) + mimic,
        )  # fmt: skip
        parts += [rocker, transmission(f"rocker_{side}_joint", "EffortJointInterface")]
    for name, side, x in (("FL", "L", -0.15), ("RL", "L", 0.15), ("FR", "R", 0.15), ("RR", "R", -0.15)):
        tyre = cylinder(0.058, 0.07, "0 0.045 0"), cylinder(0.0625, 0.04, "0 0.045 0")
        parts.append(link(f"wheel_{name}_link", inertial(0.28, "0 0.03 0"), *tyre))
        axis = "0 -1 0" if side == "L" else "0 1 0"
        ends = f"rocker_{side}_link", f"wheel_{name}_link"
        parts.append(joint(f"wheel_{name}_joint", "continuous", *ends, f"{x} -0.08 -0.0875", axis=axis))
        parts.append(transmission(f"wheel_{name}_joint"))
    return robot("leo", *parts)


def osr():
    """Xacro with macros and properties: fixed rockers, loose bogies, four corners steered, wheels only as meshes."""
    return """<?xml version="1.0"?>
<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="rover">
  <xacro:property name="wheel_height" value="0.075"/>
  <xacro:macro name="mass" params="kg">
    <inertial><mass value="${kg}"/>
      <inertia ixx="${kg/100}" iyy="${kg/100}" izz="${kg/100}" ixy="0" ixz="0" iyz="0"/></inertial>
  </xacro:macro>
  <xacro:macro name="wheel" params="name side parent x z">
    <link name="${name}_wheel_link_${side}"><xacro:mass kg="0.8"/>
      <collision><origin rpy="-1.57 0 0"/><geometry><mesh filename="package://osr/meshes/wheel.stl"/></geometry></collision>
    </link>
    <joint name="${name}_wheel_joint_${side}" type="continuous"><parent link="${parent}"/>
      <child link="${name}_wheel_link_${side}"/><origin xyz="${x} 0 ${z}"/><axis xyz="0 1 0"/></joint>
    <transmission name="${name}_${side}_t"><type>SimpleTransmission</type>
      <joint name="${name}_wheel_joint_${side}"><hardwareInterface>VelocityJointInterface</hardwareInterface></joint>
    </transmission>
  </xacro:macro>
  <xacro:macro name="corner" params="name side parent x z">
    <link name="${name}_knuckle_${side}"><xacro:mass kg="0.5"/></link>
    <joint name="corner_${name}_joint_${side}" type="revolute"><parent link="${parent}"/>
      <child link="${name}_knuckle_${side}"/><origin xyz="${x} 0 ${z}"/><axis xyz="0 0 1"/>
      <limit lower="-0.8" upper="0.8" effort="10" velocity="3"/></joint>
    <transmission name="${name}_${side}_s"><type>SimpleTransmission</type>
      <joint name="corner_${name}_joint_${side}"><hardwareInterface>PositionJointInterface</hardwareInterface></joint>
    </transmission>
    <xacro:wheel name="${name}" side="${side}" parent="${name}_knuckle_${side}" x="0" z="-0.15"/>
  </xacro:macro>
  <xacro:macro name="side" params="side y">
    <link name="rocker_link_${side}"><xacro:mass kg="2"/></link>
    <joint name="rocker_joint_${side}" type="fixed"><parent link="base_link"/><child link="rocker_link_${side}"/>
      <origin xyz="0 ${y} 0"/></joint>
    <link name="bogie_link_${side}"><xacro:mass kg="1"/></link>
    <joint name="bogie_joint_${side}" type="revolute"><parent link="rocker_link_${side}"/>
      <child link="bogie_link_${side}"/><origin xyz="0.15 0 -0.1"/><axis xyz="0 1 0"/>
      <limit lower="-0.5" upper="0.5" effort="10" velocity="1"/></joint>
    <xacro:corner name="rear" side="${side}" parent="rocker_link_${side}" x="-0.3" z="${wheel_height + 0.15 - 0.3}"/>
    <xacro:corner name="front" side="${side}" parent="bogie_link_${side}" x="0.15" z="${wheel_height + 0.15 - 0.2}"/>
    <xacro:wheel name="middle" side="${side}" parent="bogie_link_${side}" x="-0.15" z="${wheel_height - 0.2}"/>
  </xacro:macro>
  <link name="base_footprint"/>
  <link name="base_link"><xacro:mass kg="10"/></link>
  <joint name="base_joint" type="fixed"><parent link="base_footprint"/><child link="base_link"/>
    <origin xyz="0 0 0.3"/></joint>
  <xacro:side side="L" y="0.2"/>
  <xacro:side side="R" y="-0.2"/>
</robot>
"""


def turtlebot():
    """Two driven wheels, laid on their sides by −1.57, and a castor ball on a fixed joint; a plugin drives them."""
    parts = [link("base_footprint"), link("base_link", inertial(0.8), box(0.14, 0.14, 0.14, "-0.03 0 0.07"))]
    parts.append(joint("base_joint", "fixed", "base_footprint", "base_link", "0 0 0.01"))
    for side, y in (("left", 0.08), ("right", -0.08)):
        turned = cylinder(0.033, 0.018, rpy="0 0 0")
        parts.append(link(f"wheel_{side}_link", inertial(0.03, i=(1e-5, 1e-5, 2e-5)), turned))
        ends = "base_link", f"wheel_{side}_link"
        parts.append(joint(f"wheel_{side}_joint", "continuous", *ends, f"0 {y} 0.023", "-1.57 0 0", "0 0 1"))
    ball = shape("sphere", 'radius="0.005"')
    parts.append(link("caster_back_link", inertial(0.005, i=(1e-6, 1e-6, 1e-6)), ball))
    parts.append(joint("caster_back_joint", "fixed", "base_link", "caster_back_link", "-0.08 0 -0.005", "-1.57 0 0"))
    parts.append(link("base_scan", inertial(0.1), cylinder(0.055, 0.03, rpy="0 0 0")))
    parts.append(joint("scan_joint", "fixed", "base_link", "base_scan", "-0.03 0 0.17"))
    drive = "<left_joint>wheel_left_joint</left_joint><right_joint>wheel_right_joint</right_joint>"
    plugin = f'<plugin name="diff_drive" filename="libgazebo_ros_diff_drive.so">{drive}</plugin>'
    states = "<joint_name>scan_joint</joint_name>"
    other = f'<plugin name="joint_state" filename="libgazebo_ros_joint_state_publisher.so">{states}</plugin>'
    return robot("turtlebot", *parts, f"<gazebo>{plugin}</gazebo><gazebo>{other}</gazebo>")


def racecar():
    """Ackermann; the hinges turn about x of frames pitched by 90°, so about an axis that points down.

    Wheels turn about −z and their tyres stand beside their joints; the rear axle is the root link.
    """
    parts = [link("chassis"), link("chassis_inertia", inertial(4.0, "0.15 0 0"))]
    parts.append(joint("chassis_inertia_joint", "fixed", "chassis", "chassis_inertia"))
    for side, y, out in (("left", 0.1, -0.0225), ("right", -0.1, 0.0225)):
        tyre = inertial(0.34, f"0 0 {out}"), cylinder(0.05, 0.045, f"0 0 {out}", "0 0 0")
        for end, parent in (("rear", "chassis"), ("front", f"{side}_hinge")):
            name = f"{side}_{end}_wheel"
            xyz = f"0 {y} 0" if end == "rear" else "0 0 0"
            rpy = "1.5708 0 0"
            parts.append(link(name, *tyre))
            parts.append(joint(f"{name}_joint", "continuous", parent, name, xyz, rpy, "0 0 -1"))
            parts.append(transmission(f"{name}_joint", "EffortJointInterface"))
        parts.append(link(f"{side}_hinge", inertial(0.1, i=(1e-5, 1e-5, 1e-5))))
        hinge = f"{side}_steering_hinge_joint"
        ends = "chassis", f"{side}_hinge"
        parts.append(joint(hinge, "revolute", *ends, f"0.325 {y} 0", "0 1.5708 0", "1 0 0", limit(-1, 1)))
        parts.append(transmission(hinge, "EffortJointInterface"))
    return robot("racecar", *parts)


def f1tenth():
    """Ackermann; nothing but what is drawn: no masses, no collision shapes, no motors named."""
    parts = [link("base_link", box(0.5, 0.2, 0.1, "0.16 0 0.08", "visual"))]
    for end, x in (("front", 0.32), ("back", 0.0)):
        for side, y in (("left", 0.12), ("right", -0.12)):
            name, parent, xyz = f"{end}_{side}", "base_link", f"{x} {y} 0.05"
            parts.append(link(f"{name}_wheel", cylinder(0.05, 0.04, tag="visual")))
            if end == "front":
                parts.append(link(f"{name}_hinge"))
                parts.append(joint(f"base_to_{name}_hinge", "continuous", parent, f"{name}_hinge", xyz, axis="0 0 1"))
                parent, xyz = f"{name}_hinge", "0 0 0"
            parts.append(joint(f"{name}_wheel_joint", "continuous", parent, f"{name}_wheel", xyz, axis="0 1 0"))
    parts.append(link("laser"))
    parts.append(joint("laser_joint", "fixed", "base_link", "laser", "0.27 0 0.12"))
    return robot("f1tenth", *parts)


def curiosity():
    """Rocker-bogie that drives along −y of its root link; one rocker mimics the other; arm and mast have motors."""
    parts = [link("base_footprint"), link("chassis", inertial(500.0, "0 0 0.1", (200, 100, 250)), box(1.2, 2.0, 0.4))]
    parts.append(joint("base_joint", "fixed", "base_footprint", "chassis", "0 0 0.9"))
    for side, x in (("L", 1.0), ("R", -1.0)):
        mimic = '<mimic joint="rocker_L_joint" multiplier="-1"/>' if side == "R" else ""
        parts.append(link(f"rocker_{side}", inertial(30.0, i=(5, 1, 5))))
        parts.append(
            joint(f"rocker_{side}_joint", "revolute", "chassis", f"rocker_{side}", f"{x} 0 0", axis="1 0 0",
                  extra=limit(-0.3, 0.3) + mimic)
        )  # fmt: skip
        parts.append(link(f"bogie_{side}", inertial(15.0, i=(2, 1, 2))))
        ends = f"rocker_{side}", f"bogie_{side}"
        parts.append(
            joint(f"bogie_{side}_joint", "revolute", *ends, "0 0.5 -0.2", axis="1 0 0", extra=limit(-0.5, 0.5))
        )
        wheels = (
            ("front", f"rocker_{side}", -1.1, 0.15),
            ("middle", f"bogie_{side}", -0.5, -0.45),
            ("back", f"bogie_{side}", 0.6, 0.35),
        )
        for end, parent, y, z in wheels:
            xyz = f"0 {y} {z}"
            if end != "middle":
                knuckle = f"steer_{end}_{side}"
                parts.append(link(knuckle, inertial(5.0, i=(0.1, 0.1, 0.1))))
                parts.append(
                    joint(f"{knuckle}_joint", "revolute", parent, knuckle, xyz, axis="0 0 1", extra=limit(-1, 1, 0.5))
                )
                parts.append(transmission(f"{knuckle}_joint"))
                parent, xyz = knuckle, "0 0 -0.8"
            name = f"{end}_wheel_{side}"
            # laid on its side twice over: the joint pitches the frame by 90°, and its z is the axle
            parts.append(link(name, inertial(8.0, i=(0.2, 0.2, 0.3)), cylinder(0.25, 0.4, rpy="0 0 0")))
            parts.append(joint(f"{name}_joint", "continuous", parent, name, xyz, f"0 {HALF_PI} 0", "0 0 1"))
            parts.append(transmission(f"{name}_joint", "EffortJointInterface"))
    parts.append(link("mast", inertial(10.0), cylinder(0.05, 0.8, "0 0 0.4", "0 0 0")))
    parts.append(joint("mast_joint", "revolute", "chassis", "mast", "0.4 -0.8 0.3", axis="0 0 1", extra=limit(-3, 3)))
    parts += [transmission("mast_joint"), link("arm", inertial(20.0, "0 -0.4 0"))]
    parts.append(joint("arm_joint", "revolute", "chassis", "arm", "0 -1.0 0", axis="1 0 0", extra=limit(0.2, 1.5)))
    parts += [link("turret", inertial(5.0)), transmission("arm_joint")]
    parts.append(joint("turret_joint", "continuous", "arm", "turret", "0 -0.8 0", axis="0 1 0"))
    return robot("curiosity", *parts)


def cart(*parts, wheels=((0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2)), extra="", tyre=None):
    """A body with wheels at x, y; wheel_1, wheel_2, …"""
    out = [link("base", inertial(20.0), box(0.5, 0.3, 0.1, "0 0 0.1"))]
    for n, (x, y) in enumerate(wheels, start=1):
        out.append(link(f"tyre_{n}", inertial(1.0), tyre or cylinder(0.1, 0.05)))
        out.append(joint(f"wheel_{n}", "continuous", "base", f"tyre_{n}", f"{x} {y} 0", axis="0 1 0"))
    return robot("cart", *out, *parts, extra)


FAMILIES = {f.__name__: f for f in (husky, jackal, leo, osr, turtlebot, racecar, f1tenth, curiosity)}
