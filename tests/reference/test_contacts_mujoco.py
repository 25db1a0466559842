"""Hull and second contacts against MuJoCo: where a vehicle comes to rest, and what friction holds.

Both engines let bodies sink into the ground a little: here by some tenths of a millimetre. Rest poses have to agree
within 2 mm, and friction within 2 %, which covers that, the spacing of the hull's points and the slip velocity at which
friction is full.
"""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.vehicles import Frame, Hull, Vehicle, box_inertia, wheel_inertia

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed (pip install mujoco)")

GRAVITY = 9.81
POSITION = 2e-3
ANGLE = 5e-3
FRICTION = 0.02
HARD = {"static_penetration": 2e-4, "cone": True}


def numbers(values):
    return " ".join(f"{x:.17g}" for x in np.ravel(values))


def car(*, belly, friction, height=0.1):
    """The model of a car of 50 kg with locked wheels, a box as its hull, and a centre of mass at a height."""
    frames = [Frame("body", mass=46.0, com=(0.0, 0.0, height), inertia=box_inertia(46.0, 0.8, 0.4, 0.2))]
    for name, x, y in (("FL", 1, 1), ("FR", 1, -1), ("BL", -1, 1), ("BR", -1, -1)):
        wheel = {"mass": 1.0, "inertia": wheel_inertia(1.0, 0.16, 0.1), "radius": 0.16, "width": 0.1}
        frames.append(Frame(name, "body", "RY", actuated=True, xyz=(0.3 * x, 0.3 * y, 0.0), **wheel))
    vehicle = Vehicle("car", tuple(frames), hull=(belly,))
    law = gr.contact.PiecewiseLinear(friction=friction, **HARD)
    return gr.Dynamics(vehicle, contact=law, hull=law, gravity=GRAVITY)


def scene(model, ground, friction, *, wheel_joints="", actuators=""):
    """The vehicle of a model on MuJoCo's ground; wheels are locked unless they have joints."""
    bodies = []
    for frame in model.vehicle.frames[1:]:
        bodies.append(
            f'<body name="{frame.name}" pos="{numbers(frame.xyz)}">{wheel_joints.format(frame.name)}'
            f'<inertial pos="0 0 0" mass="{frame.mass}" diaginertia="{numbers(np.diag(frame.inertia_matrix))}"/>'
            f'<geom type="cylinder" size="{frame.radius} {frame.width / 2}" euler="1.5707963267948966 0 0"/></body>'
        )
    body = model.vehicle.frames[0]
    boxes = "".join(
        f'<geom type="box" size="{numbers(np.array(one.size) / 2)}" pos="{numbers(one.xyz)}"/>'
        for one in model.vehicle.hull
    )
    xml = (
        f'<mujoco><compiler angle="radian"/><option timestep="0.0005" gravity="0 0 {-GRAVITY}" cone="elliptic"'
        ' impratio="100" integrator="implicitfast"/>'
        f'<default><geom friction="{friction} 0 0" condim="3" solref="0.002 1" solimp="0.99 0.999 0.0005"/></default>'
        f'<worldbody>{ground}<body name="body"><freejoint/>'
        f'<inertial pos="{numbers(body.com)}" mass="{body.mass}"'
        f' diaginertia="{numbers(np.diag(body.inertia_matrix))}"/>'
        f"{boxes}{''.join(bodies)}</body></worldbody>{actuators}</mujoco>"
    )
    made = mujoco.MjModel.from_xml_string(xml)
    return made, mujoco.MjData(made)


def theirs(model, ground, friction, state, seconds, *, speed=0.0):
    """MuJoCo's position and rotation of the body after some seconds from a state, sliding along x at first."""
    made, data = scene(model, ground, friction)
    data.qpos[:3], data.qpos[3:7] = state[4:7], state[:4]
    data.qvel[0] = speed
    for _ in range(round(seconds / made.opt.timestep)):
        mujoco.mj_step(made, data)
    assert abs(data.qvel).max() < 1e-3
    return data.qpos[:3].copy(), gr.rotation.from_quaternion(data.qpos[3:7])


def ours(model, ground, state, seconds, *, speed=0.0, dt=0.005):
    """The run from a state, sliding along the world's x at first."""
    velocity = np.zeros(6 + model.vehicle.n_joints)
    velocity[3:6] = gr.rotation.from_quaternion(state[:4]).T @ [speed, 0.0, 0.0]
    still = np.zeros((1, len(model.vehicle.actuated)))
    run = gr.simulate(model, ground, still, duration=seconds, dt=dt, start=state, velocity=velocity)
    assert run.status == "ok"
    assert np.abs(run.velocity[-1]).max() < 1e-3
    return run


def start(model, quaternion, position):
    return np.concatenate([quaternion, position, np.zeros(model.vehicle.n_joints)])


def apart(run, position, R):
    """Distance [m] and angle [rad] of the last pose from another one."""
    turned = gr.rotation.from_quaternion(run.quaternion[-1]).T @ R
    return np.abs(run.position[-1] - position).max(), math.acos(min(1.0, (np.trace(turned) - 1.0) / 2.0))


PLANE = '<geom type="plane" size="9 9 1"/>'
ROOF = Hull("body", "box", xyz=(0.0, 0.0, 0.1), size=(0.8, 0.36, 0.36))


def test_a_vehicle_dropped_on_its_back_lies_where_mujocos_does():
    model = car(belly=ROOF, friction=0.7)
    leaning = gr.rotation.to_quaternion(gr.rotation.from_rpy(math.pi - 0.15, 0.1, 0.0))
    q = start(model, leaning, (0.0, 0.0, 0.4))
    run = ours(model, gr.terrain.plane(), q, 4.0)
    position, R = theirs(model, PLANE, 0.7, q, 4.0)
    assert R[2, 2] < -0.999
    _, angle = apart(run, position, R)
    print(f"\non its back: z {run.position[-1, 2]:.5f} m, MuJoCo {position[2]:.5f}; {angle:.1e} rad apart")
    assert abs(run.position[-1, 2] - position[2]) < POSITION
    assert angle < 0.05  # it bounces: yaw is not a matter of the rest pose
    assert np.abs(R[2] - gr.rotation.from_quaternion(run.quaternion[-1])[2]).max() < ANGLE
    assert run.hull.force[-1, 2] == pytest.approx(50.0 * GRAVITY, rel=1e-3)
    assert not run.contact.force[-1].any()


def test_a_vehicle_on_its_back_slides_as_far_as_mujocos():
    friction, speed = 0.4, 2.0
    model = car(belly=ROOF, friction=friction)
    q = start(model, (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 0.28))
    run = ours(model, gr.terrain.plane(), q, 2.0, speed=speed, dt=0.002)
    position, _ = theirs(model, PLANE, friction, q, 2.0, speed=speed)
    way = speed**2 / (2.0 * friction * GRAVITY)
    print(f"\nsliding on its back: {run.position[-1, 0]:.4f} m, MuJoCo {position[0]:.4f}, v²/(2 μ g) {way:.4f}")
    assert run.position[-1, 0] == pytest.approx(position[0], rel=FRICTION)
    assert run.position[-1, 0] == pytest.approx(way, rel=FRICTION)


@gr.terrain.law
def ridge(x, y):
    """Half a cylinder of radius 5 cm along y, its top at 30 cm, on a plane."""
    if abs(x) > 0.0475:
        return 0.0, 0.0, 0.0
    rise = math.sqrt(0.05 * 0.05 - x * x)
    return 0.25 + rise, -x / rise, 0.0


def test_a_vehicle_high_centred_on_a_ridge_rests_as_mujocos():
    belly = Hull("body", "box", xyz=(0.0, 0.0, 0.05), size=(0.5, 0.2, 0.1), spacing=0.02)
    model = car(belly=belly, friction=0.8, height=0.3)
    # The belly touches the ridge 3 cm behind the origin, nose down; the front wheels are a centimetre above the plane.
    pitch, behind = 0.42, 0.03
    x = 0.05 * math.sin(pitch) + behind * math.cos(pitch)
    z = 0.25 + 0.05 * math.cos(pitch) - behind * math.sin(pitch)
    q = start(model, gr.rotation.to_quaternion(gr.rotation.from_rpy(0.0, pitch, 0.0)), (x, 0.0, z + 1e-3))
    run = ours(model, ridge, q, 3.0)
    position, R = theirs(model, PLANE + '<geom type="capsule" size="0.05" fromto="0 -1 0.25 0 1 0.25"/>', 0.8, q, 3.0)
    distance, angle = apart(run, position, R)
    share = run.hull.force[-1, 2] / (50.0 * GRAVITY)
    print(f"\nhigh-centred: {run.position[-1]} m, MuJoCo {position}; {angle:.1e} rad apart; hull carries {share:.2f}")
    assert run.pitch[-1] > pitch
    assert share > 0.2
    assert run.contact.height_error[-1, 2:].min() > 0.1  # rear wheels hang in the air
    assert distance < POSITION
    assert angle < ANGLE


def axle(*, inertia=1.0):
    """Two wheels with the mass of the vehicle hanging below: it does not tip over in a groove."""
    wheel = {"mass": 1.0, "inertia": wheel_inertia(1.0, 0.3, 0.1), "radius": 0.3, "width": 0.1}
    return Vehicle(
        "axle",
        (
            Frame("body", mass=20.0, com=(0.0, 0.0, -0.4), inertia=(inertia, inertia, inertia)),
            Frame("L", "body", "RY", actuated=True, xyz=(0.0, 0.4, 0.0), **wheel),
            Frame("R", "body", "RY", actuated=True, xyz=(0.0, -0.4, 0.0), **wheel),
        ),
    )


@gr.terrain.law
def groove(x, y):
    return abs(x), 1.0 if x > 0.0 else -1.0, 0.0


GROOVE = '<geom type="plane" size="9 9 1" zaxis="-1 0 1"/><geom type="plane" size="9 9 1" zaxis="1 0 1"/>'


def test_a_wheel_rests_in_a_groove_as_mujocos():
    model = gr.Dynamics(axle(), contact=gr.contact.PiecewiseLinear(friction=0.6, **HARD), gravity=GRAVITY)
    q = start(model, (1.0, 0.0, 0.0, 0.0), (0.02, 0.0, 0.3 * math.sqrt(2.0) + 0.03))
    run = ours(model, groove, q, 4.0)
    position, R = theirs(model, GROOVE, 0.6, q, 4.0)
    distance, _ = apart(run, position, R)
    print(f"\nin a groove: {run.position[-1]} m, MuJoCo {position}, geometry {0.3 * math.sqrt(2.0):.5f}")
    assert distance < POSITION
    first = run.contact.normal[-1, 0]
    second = run.contact.second_point[-1, 0] - run.position[-1] - [0.0, 0.4, 0.0]
    assert first @ (-second / np.linalg.norm(second)) == pytest.approx(0.0, abs=1e-6)  # the sides are at 90°


@pytest.mark.parametrize("share", [1.0 - FRICTION, 1.0 + FRICTION])
def test_friction_in_a_groove_holds_the_torque_that_mujocos_does(share):
    """N₁ + N₂ = √2 W/(1 + μ²) on two sides at 45° where both slip, so the largest torque is μ R √2 W/(1 + μ²).

    Below it a wheel stays, above it spins, here and there. The body turns so slowly that it does not swing meanwhile.
    """
    friction, seconds = 0.5, 2.0
    torque = share * friction * 0.3 * math.sqrt(2.0) * 11.0 * GRAVITY / (1.0 + friction**2)
    turning = (("L", torque), ("R", torque), ("body", -2.0 * torque))
    model = gr.Dynamics(
        axle(inertia=2000.0),
        contact=gr.contact.PiecewiseLinear(friction=friction, **HARD),
        actuator=gr.actuation.PI(gain=0.0),
        external=[gr.ExternalForce(frame=one, torque=(0.0, y, 0.0)) for one, y in turning],
        gravity=GRAVITY,
    )
    q = start(model, (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.3 * math.sqrt(2.0)))
    run = gr.simulate(model, groove, np.zeros((1, 2)), duration=seconds, dt=0.002, start=q, velocity=np.zeros(8))
    joint = '<joint name="{}" axis="0 1 0"/>'
    motors = "".join(f'<motor joint="{one}"/>' for one in ("L", "R"))
    made, data = scene(model, GROOVE, friction, wheel_joints=joint, actuators=f"<actuator>{motors}</actuator>")
    data.qpos[:3] = q[4:7]
    for _ in range(round(seconds / made.opt.timestep)):
        data.ctrl[:] = torque * min(1.0, data.time)
        mujoco.mj_step(made, data)
    print(f"\n{share:g} of the torque that a groove holds: {run.joint_rates[-1]} rad/s, MuJoCo {data.qvel[6:]}")
    for rates in (run.joint_rates[-1], data.qvel[6:]):
        assert (rates > 5.0).all() if share > 1.0 else (np.abs(rates) < 0.5).all()
