"""Which tests watch which kernels: the quick and telling ones first, so that a mutant dies early."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

KINEMATICS = ["tests/physics/test_jacobian.py", "tests/reference/test_pinocchio_kinematics.py", "tests/kinematics"]
MOTION = [
    "tests/reference/test_golden_kinematics.py",
    "tests/physics/test_constraints.py",
    "tests/physics/test_flat_ground.py",
    "tests/physics/test_rigid_motions.py",
    "tests/physics/test_invariance.py",
    "tests/physics/test_order.py",
]
DYNAMICS = [
    "tests/reference/test_dynamics_pinocchio.py",
    "tests/dynamics",
    "tests/physics/test_textbook_motions.py",
    "tests/physics/test_momentum.py",
    "tests/physics/test_soil_power.py",
    "tests/reference/test_dynamics_golden.py",
    "tests/physics/test_same_motion.py",
]
CONTACT = [
    "tests/physics/test_contact_frame.py",
    "tests/physics/test_contact_search.py",
    "tests/physics/test_tyre_contact.py",
    "tests/terrain",
]

WATCHERS = {
    "actuation/": ["tests/actuation", "tests/dynamics", "tests/physics/test_own_functions.py"],
    "contact/search": [*CONTACT, *MOTION, "tests/dynamics/test_second_contacts.py"],
    "contact/geometry": [*CONTACT, *MOTION],
    "contact/": ["tests/contact", *DYNAMICS],
    "calibration/": ["tests/calibration"],
    "dynamics/": DYNAMICS,
    "fusion/": ["tests/fusion"],
    "gym/": ["tests/gym"],
    "joints/": ["tests/dynamics", "tests/actuation", "tests/physics/test_textbook_motions.py"],
    "kinematics/steering": ["tests/traction", "tests/simulation/test_drives.py", "tests/kinematics", *MOTION],
    "kinematics/": [*KINEMATICS, *MOTION, "tests/physics/test_soils_by_place.py"],
    "logs/": ["tests/logs"],
    "motion/": ["tests/motion", "tests/calibration", "tests/odometry"],
    "odometry/": ["tests/odometry"],
    "own_law": ["tests/actuation", "tests/contact", "tests/physics/test_own_functions.py"],
    "plan/": ["tests/plan"],
    "robot/": ["tests/robot", "tests/node"],
    "rolling/": ["tests/rolling", "tests/physics/test_tyre_rolling.py"],
    "simulation/": [*MOTION, *DYNAMICS, "tests/simulation", "tests/kinematics"],
    "slip/": ["tests/kinematics", "tests/physics/test_own_functions.py"],
    "terrain/soils": ["tests/terrain/test_soils.py", "tests/physics/test_soils_by_place.py"],
    "terrain/": ["tests/terrain", *CONTACT],
    "vehicles/": [*KINEMATICS, *MOTION],
}
OTHERS = [
    "tests/kernels/test_rotation_kernels.py",
    "tests/kernels/test_elementary.py",
    *KINEMATICS,
    *MOTION,
    *DYNAMICS,
    "tests/rolling",
]
"""Of what all kernels use: linear algebra, rotations, work space."""


def tests_of(file: str) -> list[str]:
    """Test files and folders to run for a mutant of a kernel file, in this order: first those named like it."""
    tests = next((tests for start, tests in WATCHERS.items() if file.startswith(start)), OTHERS)
    stem = Path(file).stem.split("_")[0].rstrip("s")
    folders = [ROOT / one for one in tests if not one.endswith(".py")]
    named = [str(path.relative_to(ROOT)) for one in folders for path in sorted(one.glob(f"test_*{stem}*.py"))]
    return [*named, *tests]
