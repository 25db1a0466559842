"""Inertia, bias force and free flight of every vehicle against Pinocchio, an independent rigid-body library.

Pinocchio's free flyer has q = (position, quaternion x y z w) and v = (linear, angular) in body axes, accelerations
likewise; ours are (quaternion w x y z, position) and (angular, linear), and the acceleration of the body is the
derivative of those coordinates, which is what Pinocchio's spatial acceleration is too. Its inertia is built column by
column from its inverse dynamics, because `crba` wants joints depth first (errata).
"""

import numpy as np
import pytest

import grouser as gr
from grouser.vehicles import Frame, Vehicle

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed (pip install pin)")

# Both sides sum a few hundred products in double precision; 1e-9 is asked for, rounding stays below 1e-12 of the
# largest entry. Accelerations divide by M: its condition, up to 1e6 for the random trees, multiplies that.
RELATIVE = 1e-9
ABOVE_GROUND = 1000.0
# Wheels that turn with another are eliminated from the balance: `test_tracks.py` compares these with single motors.
FREE_WHEELS = [name for name in gr.vehicles.names() if not any(f.turns_with for f in gr.vehicle(name).frames)]


def rotation_from_rpy(roll, pitch, yaw):
    """R = Rz Ry Rx from Pinocchio's own exponentials, not from ours."""
    return pin.exp3(np.array([0, 0, yaw])) @ pin.exp3(np.array([0, pitch, 0])) @ pin.exp3(np.array([roll, 0, 0]))


class Reference:
    """The same tree in Pinocchio, and how its vectors are ordered in ours."""

    def __init__(self, vehicle, gravity):
        self.vehicle, self.model = vehicle, pin.Model()
        self.model.gravity = pin.Motion(np.array([0.0, 0.0, -gravity, 0.0, 0.0, 0.0]))
        joint = {}
        for frame in vehicle.frames:
            if frame.parent is None:
                kind, parent, placement = pin.JointModelFreeFlyer(), 0, pin.SE3.Identity()
            else:
                kind, parent = getattr(pin, f"JointModel{frame.joint}")(), joint[frame.parent]
                placement = pin.SE3(rotation_from_rpy(*frame.rpy), np.array(frame.xyz))
            joint[frame.name] = self.model.addJoint(parent, kind, placement, frame.name)
            inertia = pin.Inertia(frame.mass, np.array(frame.com), np.array(frame.inertia, dtype=float))
            self.model.appendBodyToJoint(joint[frame.name], inertia, pin.SE3.Identity())
        self.data = self.model.createData()
        self.q_of = [self.model.idx_qs[joint[f.name]] for f in vehicle.frames[1:]]
        v_of = [self.model.idx_vs[joint[f.name]] for f in vehicle.frames[1:]]
        self.order = np.array([3, 4, 5, 0, 1, 2, *v_of])  # theirs[order] is ours

    def state(self, q):
        theirs = pin.neutral(self.model)
        theirs[:3], theirs[3:7] = q[4:7], q[[1, 2, 3, 0]]
        theirs[self.q_of] = q[7:]
        return theirs

    def velocity(self, ours):
        theirs = np.zeros(self.model.nv)
        theirs[self.order] = ours
        return theirs

    def forces(self, q, v, a):
        """M a + c, in our order."""
        result = pin.rnea(self.model, self.data, self.state(q), self.velocity(v), self.velocity(a))
        return result[self.order]

    def inertia_and_bias(self, q, v):
        zero = np.zeros(len(v))
        c = self.forces(q, v, zero)
        M = np.column_stack([self.forces(q, v, unit) - c for unit in np.eye(len(v))])
        return M, c

    def acceleration(self, q, v, tau):
        result = pin.aba(self.model, self.data, self.state(q), self.velocity(v), self.velocity(tau))
        return result[self.order]


def random_state(vehicle, rng, z=0.0):
    quaternion = rng.normal(size=4)
    q = np.concatenate(
        [quaternion / np.linalg.norm(quaternion), rng.uniform(-5, 5, 3), rng.uniform(-2, 2, vehicle.n_joints)]
    )
    q[6] += z
    return q, rng.uniform(-2, 2, 6 + vehicle.n_joints)


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


def random_inertia(rng, mass):
    """Of a random cloud of points: full, and a body's own (it satisfies the triangle inequality)."""
    points = rng.normal(size=(6, 3)) * rng.uniform(0.05, 0.5, 3)
    share = mass / len(points)
    return share * sum(np.dot(p, p) * np.eye(3) - np.outer(p, p) for p in points)


def random_tree(rng):
    """Up to eight joints in a row, every kind of joint, every axis, any mass, centre and inertia, wheels too."""

    def body(name, parent=None, joint=None, **more):
        mass = float(rng.uniform(0.2, 20.0))
        placed = {} if parent is None else {"xyz": rng.uniform(-1, 1, 3), "rpy": rng.uniform(-np.pi, np.pi, 3)}
        com, inertia = rng.uniform(-0.3, 0.3, 3), random_inertia(rng, mass)
        return Frame(name, parent, joint, mass=mass, com=com, inertia=inertia, **placed, **more)

    frames, depth = [body("body")], {"body": 0}
    for i in range(int(rng.integers(1, 12))):
        candidates = [f.name for f in frames if depth[f.name] < 7]
        parent = candidates[-1] if rng.random() < 0.6 else candidates[int(rng.integers(len(candidates)))]
        depth[f"link{i}"] = depth[parent] + 1
        frames.append(body(f"link{i}", parent, str(rng.choice(["RX", "RY", "RZ", "PX", "PY", "PZ"]))))
    parents = {f.parent for f in frames}
    for i, leaf in enumerate([f for f in frames if f.name not in parents]):
        frames.append(body(f"wheel{i}", leaf.name, "RY", radius=0.3))  # unbalanced: its centre is off the axle
    rng.shuffle(frames)  # rows may come in any order
    return Vehicle("tree", tuple(frames))


def check_inertia_and_bias(vehicle, rng, gravity=9.81):
    reference = Reference(vehicle, gravity)
    q, v = random_state(vehicle, rng)
    M, c = gr.Dynamics(vehicle, gravity=gravity).inertia_and_bias(q, v)
    wanted_M, wanted_c = reference.inertia_and_bias(q, v)
    assert relative(M, wanted_M) < RELATIVE
    assert relative(c, wanted_c) < RELATIVE
    np.testing.assert_array_equal(M, M.T)
    smallest = np.linalg.eigvalsh(M)[0]
    if all(f.mass > 0.0 for f in vehicle.frames):
        assert smallest > 0.0
    return relative(M, wanted_M), relative(c, wanted_c)


def check_flight(vehicle, rng, ground, dt=1e-3):
    """A step far above the ground against Pinocchio's articulated-body algorithm with the same joint torques.

    Without an actuator, actuated joints follow their command; torque is what the row of the balance needs. So joints
    are all left free by a motor without gain, and external forces are none: q̈ = aba(q, v, 0).
    """
    free = vehicle.replace(couplings=())
    model = gr.Dynamics(free, actuator=gr.actuation.PI(gain=0.0), tolerance=1e-10 * free.mass * 9.81)
    q, v = random_state(free, rng, z=ABOVE_GROUND)
    step = model.step(q, v, np.zeros(len(free.actuated)), ground, dt=dt)
    assert step.converged
    np.testing.assert_array_equal(step.force, 0.0)
    reference = Reference(free, 9.81)
    wanted = reference.acceleration(q, v, np.zeros(len(v)))
    return relative(step.acceleration, wanted)


@pytest.mark.parametrize("name", FREE_WHEELS)
def test_shipped_vehicles_have_pinocchios_inertia_and_bias(name):
    rng = np.random.default_rng(1)
    worst = np.max([check_inertia_and_bias(gr.vehicle(name), rng) for _ in range(10)], axis=0)
    print(f"\n{name}: M {worst[0]:.1e}, c {worst[1]:.1e}")


def test_two_hundred_random_trees_have_pinocchios_inertia_and_bias():
    rng = np.random.default_rng(2)
    worst, kinds = np.zeros(2), set()
    for _ in range(200):
        vehicle = random_tree(rng)
        kinds |= {f.joint for f in vehicle.frames[1:]}
        worst = np.maximum(worst, check_inertia_and_bias(vehicle, rng, gravity=rng.uniform(0, 20)))
    print(f"\n200 trees: M {worst[0]:.1e}, c {worst[1]:.1e}")
    assert kinds == {"RX", "RY", "RZ", "PX", "PY", "PZ"}


def with_some_mass(vehicle):
    """Massless links at the end of nothing but wheels are fine; joints whose own row of M is singular are not."""
    for f in vehicle.frames[1:]:
        if f.mass == 0.0:
            vehicle = vehicle.replace_frame(f.name, mass=0.3, com=(0.02, 0.01, -0.03), inertia=(0.01, 0.012, 0.014))
        elif f.is_wheel and not np.any(f.inertia):
            vehicle = vehicle.replace_frame(f.name, inertia=(0.1, 0.15, 0.1))
    return vehicle


@pytest.mark.parametrize("name", FREE_WHEELS)
def test_shipped_vehicles_fly_as_pinocchio_says(name):
    rng, ground = np.random.default_rng(3), gr.terrain.plane()
    vehicle = with_some_mass(gr.vehicle(name))
    worst = max(check_flight(vehicle, rng, ground) for _ in range(10))
    print(f"\n{name} in flight: {worst:.1e}")
    assert worst < RELATIVE


def test_two_hundred_random_trees_fly_as_pinocchio_says():
    rng, ground = np.random.default_rng(4), gr.terrain.plane()
    worst = max(check_flight(random_tree(rng), rng, ground) for _ in range(200))
    print(f"\n200 trees in flight: {worst:.1e}")
    assert worst < RELATIVE


def test_ideal_actuators_supply_the_torque_pinocchios_inverse_dynamics_asks_for():
    rng, ground, dt = np.random.default_rng(5), gr.terrain.plane(), 1e-3
    vehicle = gr.vehicle("rocky7").replace(couplings=())
    model, reference = gr.Dynamics(vehicle, tolerance=1e-9), Reference(vehicle, 9.81)
    for _ in range(10):
        q, v = random_state(vehicle, rng, z=ABOVE_GROUND)
        command = rng.uniform(-2, 2, len(vehicle.actuated))
        step = model.step(q, v, command, ground, dt=dt)
        acceleration = step.acceleration
        actuated = 6 + vehicle.arrays.actuated
        np.testing.assert_allclose(step.velocity[actuated], command, rtol=1e-12)
        tau = reference.forces(q, v, acceleration)
        size = np.abs(tau).max()
        np.testing.assert_allclose(tau[actuated], step.torque, rtol=0.0, atol=1e-9 * size)
        np.testing.assert_allclose(np.delete(tau, actuated), 0.0, rtol=0.0, atol=1e-8)


def test_an_external_force_is_pinocchios():
    """The joint-space force of a wrench at a point of a frame, in world and in frame axes."""
    rng = np.random.default_rng(6)
    for _ in range(40):
        vehicle = random_tree(rng)
        q, v = random_state(vehicle, rng)
        reference = Reference(vehicle, 9.81)
        bodies = [f for f in vehicle.frames if not f.is_wheel]  # the axes of a wheel are in a test of their own
        frame = bodies[int(rng.integers(len(bodies)))]
        force, torque, point = rng.normal(size=(3, 3)) * [[100.0], [30.0], [0.5]]
        axes = str(rng.choice(["world", "frame"]))
        load = gr.ExternalForce(frame=frame.name, force=force, torque=torque, point=point, axes=axes)
        M, c = gr.Dynamics(vehicle).inertia_and_bias(q, v)
        loaded_M, loaded_c = gr.Dynamics(vehicle, external=(load,)).inertia_and_bias(q, v)
        np.testing.assert_array_equal(loaded_M, M)
        model, data, joint = reference.model, reference.data, reference.model.getJointId(frame.name)
        pin.forwardKinematics(model, data, reference.state(q))
        R = data.oMi[joint].rotation
        f, t = (R.T @ force, R.T @ torque) if axes == "world" else (force, torque)
        wrench = pin.Force(f, t + np.cross(point, f))  # about the frame's origin, in its axes
        external = pin.StdVec_Force()
        for i in range(model.njoints):
            external.append(wrench if i == joint else pin.Force.Zero())
        zero = reference.velocity(np.zeros(len(v)))
        wanted = pin.rnea(model, data, reference.state(q), reference.velocity(v), zero, external)[reference.order]
        assert relative(loaded_c, wanted) < RELATIVE
        assert relative(loaded_c, c) > 1e-6  # it does something
