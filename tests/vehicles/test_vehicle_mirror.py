"""A mirrored vehicle is the mirror image at mirrored displacements."""

import numpy as np
import pytest

from grouser.vehicles import Coupling, Frame, Vehicle, names, vehicle
from grouser.vehicles.mirror import signs
from grouser.vehicles.tree import forward_kinematics

S = np.diag([1.0, -1.0, 1.0])


def crooked():
    inertia = (2.0, 3.0, 4.0, 0.1, -0.2, 0.3)
    frames = [Frame("body", mass=5.0, com=(0.1, 0.2, 0.3), inertia=inertia)]
    for i, joint in enumerate(("RX", "RY", "RZ", "PX", "PY", "PZ")):
        pose = np.random.default_rng(i).uniform(-1, 1, 6)
        frames.append(
            Frame(
                joint,
                frames[-1].name,
                joint,
                xyz=pose[:3],
                rpy=pose[3:],
                mass=1.0,
                com=pose[:3],
                inertia=inertia,
            )
        )
    frames.append(Frame("wheel", "PZ", "RY", radius=0.3, mass=1.0, xyz=(0.1, 0.2, 0.3), rpy=(0.3, 0.2, 0.1)))
    coupling = Coupling("c", {"RX": 1.0, "PY": 2.0, "RY": 3.0}, value=0.4)
    return Vehicle("crooked", frames, (coupling,), drive_reference=(0.3, 0.2))


VEHICLES = [crooked(), *(vehicle(name) for name in names())]


@pytest.mark.parametrize("original", VEHICLES, ids=lambda v: v.name)
def test_the_mirror_image_of_every_frame(original):
    image = original.mirrored()
    theta = np.random.default_rng(0).uniform(-1, 1, original.n_joints)
    R, p = forward_kinematics(original.frames, theta)
    R_image, p_image = forward_kinematics(image.frames, signs(original) * theta)
    np.testing.assert_allclose(R_image, S @ R @ S, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(p_image, p @ S, rtol=0.0, atol=1e-12)
    for before, after in zip(original.frames, image.frames, strict=True):
        np.testing.assert_array_equal(after.inertia_matrix, S @ before.inertia_matrix @ S)
        np.testing.assert_array_equal(after.com, S @ before.com)


@pytest.mark.parametrize("original", VEHICLES, ids=lambda v: v.name)
def test_couplings_hold_at_mirrored_displacements(original):
    theta = np.random.default_rng(1).uniform(-1, 1, original.n_joints)
    image = original.mirrored()
    np.testing.assert_allclose(
        image.arrays.coupling @ (signs(original) * theta) - image.arrays.coupling_value,
        original.arrays.coupling @ theta - original.arrays.coupling_value,
        rtol=0.0,
        atol=1e-12,
    )


@pytest.mark.parametrize("original", VEHICLES, ids=lambda v: v.name)
def test_mirroring_twice_changes_nothing(original):
    assert original.mirrored().mirrored() == original


def test_the_drive_reference_changes_sides():
    assert crooked().mirrored().drive_reference == (0.3, -0.2)
