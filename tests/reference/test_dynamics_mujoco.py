"""Accelerations in free flight against MuJoCo, another independent engine.

MuJoCo's free joint has the linear velocity in world axes and the angular velocity in body axes; its linear acceleration
is that of the origin in the world. Ours is the derivative of body coordinates: a_world = R (v̇ + ω × v).
"""

import numpy as np
import pytest

import grouser as gr

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed (pip install mujoco)")

RELATIVE = 1e-8
GRAVITY = 9.81
AXIS = {"X": "1 0 0", "Y": "0 1 0", "Z": "0 0 1"}


def numbers(values):
    return " ".join(f"{x:.17g}" for x in np.ravel(values))


def mjcf(vehicle):
    """The vehicle's rows as MuJoCo's XML."""

    def body(frame):
        place = f'pos="{numbers(frame.xyz)}" quat="{numbers(gr.rotation.to_quaternion(frame.rotation))}"'
        joint = '<freejoint name="root"/>'
        if frame.joint is not None:
            kind = "hinge" if frame.joint[0] == "R" else "slide"
            joint = f'<joint name="{frame.name}" type="{kind}" axis="{AXIS[frame.joint[1]]}"/>'
        I = frame.inertia_matrix
        full = numbers([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
        inertial = f'<inertial pos="{numbers(frame.com)}" mass="{frame.mass:.17g}" fullinertia="{full}"/>'
        children = "".join(body(f) for f in vehicle.frames if f.parent == frame.name)
        return f'<body name="{frame.name}" {place}>{joint}{inertial}{children}</body>'

    return (
        f'<mujoco><compiler angle="radian"/><option gravity="0 0 {-GRAVITY}">'
        f'<flag contact="disable" constraint="disable"/></option>'
        f"<worldbody>{body(vehicle.frames[0])}</worldbody></mujoco>"
    )


def articulated(name):
    """Without its differential; MuJoCo wants mass on every moving body, so massless links get some, out of balance."""
    vehicle = gr.vehicle(name).replace(couplings=())
    for i, f in enumerate(vehicle.frames):
        if f.mass == 0.0:
            inertia = (0.011, 0.012, 0.014, 0.001, -0.002, 0.0015)
            vehicle = vehicle.replace_frame(f.name, mass=0.2 + 0.05 * i, com=(0.03, -0.02, 0.04), inertia=inertia)
    one = vehicle.wheels[0]
    return vehicle.replace_frame(one, com=(0.02, 0.01, -0.03))  # an unbalanced wheel


@pytest.mark.parametrize("name", ["zoe", "rocky7"])
def test_accelerations_in_flight_equal_mujocos(name):
    vehicle = articulated(name)
    theirs = mujoco.MjModel.from_xml_string(mjcf(vehicle))
    data = mujoco.MjData(theirs)
    assert theirs.nv == 6 + vehicle.n_joints
    q_of = [theirs.joint(j).qposadr[0] for j in vehicle.joints]
    v_of = [theirs.joint(j).dofadr[0] for j in vehicle.joints]
    model = gr.Dynamics(
        vehicle, actuator=gr.actuation.PI(gain=0.0), tolerance=1e-10 * vehicle.mass * GRAVITY, gravity=GRAVITY
    )
    rng, ground = np.random.default_rng(7), gr.terrain.plane()
    nothing = np.zeros(len(vehicle.actuated))
    worst = 0.0
    for _ in range(100):
        quaternion = rng.normal(size=4)
        quaternion /= np.linalg.norm(quaternion)
        q = np.concatenate([quaternion, rng.uniform(-3, 3, 2), [500.0], rng.uniform(-2, 2, vehicle.n_joints)])
        v = rng.uniform(-2, 2, 6 + vehicle.n_joints)
        step = model.step(q, v, nothing, ground, dt=1e-3)
        assert step.converged
        R = gr.rotation.from_quaternion(quaternion)
        data.qpos[:3], data.qpos[3:7] = q[4:7], quaternion
        data.qpos[q_of] = q[7:]
        data.qvel[:3], data.qvel[3:6] = R @ v[3:6], v[:3]
        data.qvel[v_of] = v[6:]
        mujoco.mj_forward(theirs, data)
        linear = R.T @ data.qacc[:3] - np.cross(v[:3], v[3:6])
        wanted = np.concatenate([data.qacc[3:6], linear, data.qacc[v_of]])
        worst = max(worst, np.abs(step.acceleration - wanted).max() / np.abs(wanted).max())
    print(f"\n{name} in flight against MuJoCo: {worst:.1e}")
    assert worst < RELATIVE
