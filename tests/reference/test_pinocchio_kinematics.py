"""Poses and Jacobians of every frame against Pinocchio, an independent rigid-body library.

Pinocchio's free flyer is q = (position, quaternion x y z w), v = (linear, angular) in body axes; its Jacobian rows
are (linear, angular). Ours is (quaternion w x y z, position), (angular, linear), rows (angular, linear).
"""

import numpy as np
import pytest

import grouser as gr
from grouser.kinematics import frame_jacobian, frame_poses
from grouser.vehicles import Frame, Vehicle

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed (pip install pin)")

# Both sides are chains of at most nine products of rotations in double precision, of lengths below 10 m:
# rounding stays near 1e-15 per product; 1e-10 is far above it and far below any error of formula.
ROUNDING = 1e-10

JOINT_OF = {
    "RX": pin.JointModelRX,
    "RY": pin.JointModelRY,
    "RZ": pin.JointModelRZ,
    "PX": pin.JointModelPX,
    "PY": pin.JointModelPY,
    "PZ": pin.JointModelPZ,
}


def rotation_from_rpy(roll, pitch, yaw):
    """R = Rz Ry Rx from Pinocchio's own exponentials, not from ours."""
    return pin.exp3(np.array([0, 0, yaw])) @ pin.exp3(np.array([0, pitch, 0])) @ pin.exp3(np.array([roll, 0, 0]))


def pinocchio_model(vehicle):
    """The same tree in Pinocchio, built from the vehicle's rows, and the Pinocchio joint of each frame."""
    model = pin.Model()
    joint = {vehicle.frames[0].name: model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")}
    for frame in vehicle.frames[1:]:
        placement = pin.SE3(rotation_from_rpy(*frame.rpy), np.array(frame.xyz))
        joint[frame.name] = model.addJoint(joint[frame.parent], JOINT_OF[frame.joint](), placement, frame.name)
    return model, joint


def random_state(vehicle, rng):
    quaternion = rng.normal(size=4)
    return np.concatenate(
        [quaternion / np.linalg.norm(quaternion), rng.uniform(-5, 5, 3), rng.uniform(-2, 2, vehicle.n_joints)]
    )


def worst_differences(vehicle, rng):
    """Largest difference of all poses, and of the Jacobians of all frames at random points of them."""
    model, joint = pinocchio_model(vehicle)
    data = model.createData()
    q = random_state(vehicle, rng)
    theirs = pin.neutral(model)
    theirs[:3], theirs[3:7] = q[4:7], q[[1, 2, 3, 0]]
    columns = np.empty(vehicle.n_joints, dtype=int)
    for j, frame in enumerate(vehicle.frames[1:]):
        theirs[model.idx_qs[joint[frame.name]]] = q[7 + j]
        columns[j] = model.idx_vs[joint[frame.name]]
    pin.computeJointJacobians(model, data, theirs)
    R, p = frame_poses(vehicle, q)
    R_world_body = data.oMi[joint[vehicle.frames[0].name]].rotation
    pose = jacobian = 0.0
    for i, frame in enumerate(vehicle.frames):
        oMf = data.oMi[joint[frame.name]]
        pose = max(pose, np.abs(R[i] - oMf.rotation).max(), np.abs(p[i] - oMf.translation).max())
        offset = rng.uniform(-1, 1, 3)
        J = pin.getJointJacobian(model, data, joint[frame.name], pin.LOCAL)
        linear, angular = J[:3] - pin.skew(offset) @ J[3:], J[3:]  # at the point, in frame axes
        R_body_frame = R_world_body.T @ oMf.rotation
        reference = np.vstack([R_body_frame @ angular, R_body_frame @ linear])
        reference = np.column_stack([reference[:, 3:6], reference[:, :3], reference[:, columns]])
        jacobian = max(jacobian, np.abs(frame_jacobian(vehicle, q, frame.name, offset) - reference).max())
    return pose, jacobian


def random_tree(rng):
    """A tree of up to eight joints in a row, every kind of joint, every axis, any offsets; wheels are the leaves."""
    frames = [Frame("body", mass=1.0)]
    depth = {"body": 0}
    for i in range(int(rng.integers(1, 12))):
        candidates = [f.name for f in frames if depth[f.name] < 7]
        parent = candidates[-1] if rng.random() < 0.6 else candidates[int(rng.integers(len(candidates)))]
        name = f"link{i}"
        depth[name] = depth[parent] + 1
        frames.append(
            Frame(
                name,
                parent,
                str(rng.choice(["RX", "RY", "RZ", "PX", "PY", "PZ"])),
                xyz=rng.uniform(-1, 1, 3),
                rpy=rng.uniform(-np.pi, np.pi, 3),
                mass=1.0,
            )
        )
    parents = {f.parent for f in frames}
    for i, leaf in enumerate([f for f in frames if f.name not in parents]):
        frames.append(
            Frame(
                f"wheel{i}",
                leaf.name,
                "RY",
                xyz=rng.uniform(-1, 1, 3),
                rpy=rng.uniform(-np.pi, np.pi, 3),
                mass=1.0,
                radius=0.3,
            )
        )
    rng.shuffle(frames)  # rows may come in any order
    return Vehicle("tree", tuple(frames))


@pytest.mark.parametrize("name", gr.vehicles.names())
def test_shipped_vehicles_have_pinocchios_poses_and_jacobians(name):
    rng = np.random.default_rng(1)
    for _ in range(10):
        pose, jacobian = worst_differences(gr.vehicle(name), rng)
        assert pose < ROUNDING
        assert jacobian < ROUNDING


def test_two_hundred_random_trees_have_pinocchios_poses_and_jacobians():
    rng = np.random.default_rng(2)
    kinds, deepest = set(), 0
    for _ in range(200):
        vehicle = random_tree(rng)
        kinds |= {f.joint for f in vehicle.frames[1:]}
        level = {vehicle.frames[0].name: 0}
        for f in vehicle.frames[1:]:
            level[f.name] = level[f.parent] + 1
        deepest = max(deepest, *level.values())
        pose, jacobian = worst_differences(vehicle, rng)
        assert pose < ROUNDING, vehicle.summary()
        assert jacobian < ROUNDING, vehicle.summary()
    assert kinds == set(JOINT_OF)  # the sample covers every joint
    assert deepest == 8  # and the stated depth


def test_a_jacobian_is_the_rate_of_the_pose():
    """Central differences along the exponential map: a check of Pinocchio's and our reading of `body coordinates`."""
    vehicle = gr.vehicle("rocky7")
    rng = np.random.default_rng(3)
    q, step = random_state(vehicle, rng), 1e-6
    R_world_body = frame_poses(vehicle, q)[0][0]
    for frame in ("body", "B2", "A6"):
        J = frame_jacobian(vehicle, q, frame)
        i = vehicle.frame_index(frame)
        for k in range(6 + vehicle.n_joints):
            ends = []
            for sign in (1.0, -1.0):
                twist = np.zeros(6 + vehicle.n_joints)
                twist[k] = sign * step
                moved = q.copy()
                M = pin.SE3(R_world_body, q[4:7]) * pin.exp6(np.concatenate([twist[3:6], twist[:3]]))
                moved[:4], moved[4:7] = gr.rotation.to_quaternion(M.rotation), M.translation
                moved[7:] += twist[6:]
                ends.append(frame_poses(vehicle, moved))
            (R_ahead, p_ahead), (R_behind, p_behind) = ends
            linear = R_world_body.T @ (p_ahead[i] - p_behind[i]) / (2 * step)
            angular = R_world_body.T @ pin.log3(R_ahead[i] @ R_behind[i].T) / (2 * step)
            # Rounding of a central difference: 1e-15 · 5 m / 1e-6 ≈ 1e-8.
            np.testing.assert_allclose(J[:, k], np.concatenate([angular, linear]), rtol=0.0, atol=1e-7)
