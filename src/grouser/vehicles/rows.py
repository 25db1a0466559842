"""The rows of a vehicle: frames with joint and mass (T §2.2.1), couplings (T (2.25), (E.1)), steering, shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grouser import rotation
from grouser.checks import Checker, set_checked
from grouser.errors import VehicleError

checked = Checker(VehicleError, largest=1e12)

Inertia = Sequence[float] | Sequence[Sequence[float]] | NDArray[np.float64]

JOINTS = ("RX", "RY", "RZ", "PX", "PY", "PZ")
"""Joint types: R turns about, P slides along the frame's x, y, z axis; the position is the spatial index."""

# Published inertias are rounded: a thin plate may miss the triangle inequality by its last printed digit.
TRIANGLE_TOLERANCE = 1e-3
ROUNDING = 1e-9
_OF_WHEELS = {
    "width": "has a width",
    "tyre_radius": "has a tyre",
    "rollers": "has rollers",
    "slides": "slides as a ball does",
    "turns_with": "turns with another",
}
"""Fields of wheels, and what a frame with one does."""
LEAST_HOLD = 0.1
"""Sine of the smallest angle between rollers' free direction and rolling direction."""


@dataclass(frozen=True)
class Frame:
    """A frame with one degree of freedom against its parent; the body has none and no parent.

    A frame with a `radius` is a wheel: it turns about its y axis and nothing hangs from it.
    """

    name: str
    """Unique name; it is also the name of the frame's joint."""
    parent: str | None = None
    """Name of the parent frame; None for the body."""
    joint: str | None = None
    """One of RX RY RZ PX PY PZ; None for the body."""
    actuated: bool = False
    """Whether a motor drives the joint."""
    xyz: Sequence[float] = (0.0, 0.0, 0.0)
    """Origin in the parent frame at zero displacement, p_parent_frame [m]."""
    rpy: Sequence[float] = (0.0, 0.0, 0.0)
    """Roll, pitch, yaw against the parent at zero displacement [rad], R = Rz Ry Rx."""
    mass: float = 0.0
    """Mass that moves with this frame [kg]; a massless link between two bodies is fine."""
    com: Sequence[float] = (0.0, 0.0, 0.0)
    """Centre of that mass in this frame [m]."""
    inertia: Inertia = (0.0, 0.0, 0.0)
    """Inertia about `com`, frame axes [kg m²]: 3 diagonal entries, 6 (xx yy zz xy xz yz) or 3×3; kept as 3×3.

    Products are entries of the matrix, as in URDF: I_xy = −∫xy dm.
    """
    radius: float | None = None
    """Wheel radius [m], > 0; None for a frame that is not a wheel."""
    width: float | None = None
    """Wheel width [m], > 0; for drawing, the contact model sees a thin disc, or a torus."""
    tyre_radius: float | None = None
    """Radius of a round tyre's cross-section [m]: the wheel is a torus whose tube has this radius and whose centre
    line the radius `radius` − `tyre_radius`; None for a thin disc."""
    rollers: float | None = None
    """Direction in which rollers on the rim let the wheel move freely at the ground, from its rolling direction towards
    its left [deg]: 90 for an omni wheel, 45 or −45 (the same as 135) for a mecanum wheel; None for a plain wheel. What
    the ground holds is the direction across it."""
    slides: float | None = None
    """Friction coefficient, a ratio ≥ 0, of a ball of this `radius` that slides over the ground: a castor ball or a
    skid; None for a wheel that rolls. It is fixed to its parent: `joint` may be left out, and RY never turns."""
    turns_with: str | None = None
    """Name of the wheel whose joint turns this wheel too, by a belt, a chain or a track; None: its own joint does."""

    def __post_init__(self) -> None:
        where = f"frame '{checked.name(self.name, 'frame')}', field"
        if self.parent is not None:
            checked.name(self.parent, f"{where} parent")
            if self.slides is not None and self.joint is None:
                object.__setattr__(self, "joint", "RY")
        if self.joint is not None and self.joint not in JOINTS:
            raise VehicleError(f"{where} joint: {self.joint!r:.60} is not a joint type, use one of {', '.join(JOINTS)}")
        checked.flag(self.actuated, f"{where} actuated")
        set_checked(self, where, checked.not_negative, "mass")
        set_checked(self, where, _inertia, "inertia")
        if self.mass == 0.0 and self.inertia_matrix.any():
            raise VehicleError(
                f"{where} inertia: a frame of mass 0 cannot have inertia; give it a mass or drop the inertia"
            )
        set_checked(self, where, checked.numbers, "xyz", "rpy", "com", count=3)
        self._check_wheel(where)

    def _check_wheel(self, where: str) -> None:
        """The fields of wheels, alone and together."""
        set_checked(self, where, checked.positive, "radius", "width", "tyre_radius")
        set_checked(self, where, checked.number, "rollers")
        set_checked(self, where, checked.not_negative, "slides")
        if self.turns_with is not None:
            checked.name(self.turns_with, f"{where} turns_with")
        if self.radius is None:
            for name, part in _OF_WHEELS.items():
                if getattr(self, name) is not None:
                    raise VehicleError(f"{where} {name}: only a wheel {part}; give its radius [m] too, or drop it")
            return
        if self.tyre_radius is not None and not self.tyre_radius < 0.5 * self.radius:
            raise VehicleError(
                f"{where} tyre_radius: {self.tyre_radius:g} m is larger than the rim of a wheel of radius"
                f" {self.radius:g} m; a torus needs a tyre radius below half of that, {0.5 * self.radius:g} m"
            )
        angle = self.rollers
        if angle is not None and (abs(angle) > 180.0 or abs(math.sin(math.radians(angle))) < LEAST_HOLD):
            raise VehicleError(
                f"{where} rollers: {angle:g} deg lets the wheel roll without turning, so it would drive nothing; use 90"
                " (omni wheel), 45 or -45 (mecanum), or leave it out"
            )
        for other in ("rollers", "tyre_radius", "turns_with"):
            if self.slides is not None and getattr(self, other) is not None:
                raise VehicleError(f"{where} slides: what slides is a ball that does not turn; drop {other}, or slides")
        if self.actuated and not self.has_own_turn:
            why = "what slides does not turn, so no motor drives it; drop one of both"
            if self.turns_with is not None:
                why = f"the motor of '{self.turns_with}' turns this wheel; leave actuated to that one"
            raise VehicleError(f"{where} actuated: {why}")
        if self.joint != "RY":
            raise VehicleError(f"{where} joint: a wheel turns about its y axis, so it must be RY, not {self.joint}")

    @property
    def contact_width(self) -> float | None:
        """Width as contact models take it [m]: a ball without one is as wide as its radius."""
        return self.radius if self.slides is not None and self.width is None else self.width

    @property
    def has_own_turn(self) -> bool:
        """Whether its joint moves by itself: not of what slides, nor of a wheel that turns with another."""
        return self.slides is None and self.turns_with is None

    @property
    def held_direction(self) -> tuple[float, float]:
        """Unit vector along which the ground holds the wheel: its part along the rolling direction, above 0, and left.

        A plain wheel is held along its rolling direction and across it; this is the first.
        """
        if self.rollers is None or abs(self.rollers) == 90.0:
            return 1.0, 0.0
        sine, cosine = math.sin(math.radians(self.rollers)), math.cos(math.radians(self.rollers))
        return abs(sine), -math.copysign(cosine, sine * cosine)

    @property
    def is_wheel(self) -> bool:
        """Whether this frame is a wheel."""
        return self.radius is not None

    @property
    def kind_of_wheel(self) -> str:
        """What kind of wheel it is, in words."""
        if self.slides is not None:
            return "ball that slides"
        if self.rollers is None:
            return "wheel"
        return "omni wheel" if abs(self.rollers) == 90.0 else "mecanum wheel"

    @property
    def rotation(self) -> NDArray[np.float64]:
        """R_parent_frame at zero displacement, shape (3, 3)."""
        return rotation.from_rpy(*self.rpy)

    @property
    def inertia_matrix(self) -> NDArray[np.float64]:
        """Inertia about `com` in frame axes [kg m²], shape (3, 3)."""
        return np.array(self.inertia, dtype=np.float64)


def box_inertia(mass: float, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Diagonal inertia [kg m²] of a solid box of `mass` [kg] and sides x, y, z [m] about its centre."""
    mass = checked.not_negative(mass, "box mass")
    x, y, z = (checked.not_negative(side, "box side") for side in (x, y, z))
    k = mass / 12.0
    return k * (y * y + z * z), k * (x * x + z * z), k * (x * x + y * y)


def wheel_inertia(mass: float, radius: float, width: float) -> tuple[float, float, float]:
    """Diagonal inertia [kg m²] of a solid cylinder about its y axis; mass [kg], radius and width [m]."""
    given = {"mass": mass, "radius": radius, "width": width}
    mass, radius, width = (checked.not_negative(value, f"wheel {name}") for name, value in given.items())
    across = mass * (3.0 * radius * radius + width * width) / 12.0
    return across, 0.5 * mass * radius * radius, across


def _inertia(value: Any, name: str) -> tuple[tuple[float, ...], ...]:
    matrix = _as_matrix(value, name)
    size = float(np.max(np.abs(matrix)))
    if np.max(np.abs(matrix - matrix.T)) > ROUNDING * size:
        raise VehicleError(f"{name}: the matrix is not symmetric")
    matrix = 0.5 * (matrix + matrix.T)
    if size > 0.0:
        # Scaled so that a matrix of tiny entries is judged by its shape, not lost in underflow.
        low, mid, high = np.linalg.eigvalsh(matrix / size) * size
        if low < -ROUNDING * size:
            raise VehicleError(
                f"{name}: the matrix is not positive semidefinite, a principal moment is {low:.4g} kg m²"
            )
        if high > (low + mid) + TRIANGLE_TOLERANCE * high:
            raise VehicleError(
                f"{name}: principal moments {low:.4g}, {mid:.4g}, {high:.4g} kg m² belong to no body,"
                " the largest may not exceed the sum of the other two"
            )
    return tuple(map(tuple, matrix.tolist()))


def _as_matrix(value: Any, where: str) -> NDArray[np.float64]:
    try:
        rows = list(value)
    except TypeError:
        raise VehicleError(f"{where}: {value!r:.60} is not a list of numbers") from None
    if len(rows) == 6:
        xx, yy, zz, xy, xz, yz = checked.numbers(rows, 6, where)
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if len(rows) != 3:
        raise VehicleError(f"{where}: has {len(rows)} entries, needs 3 (diagonal), 6 (xx yy zz xy xz yz) or 3×3")
    if any(isinstance(row, (Sequence, np.ndarray)) and not isinstance(row, (str, bytes)) for row in rows):
        return np.array([checked.numbers(row, 3, where) for row in rows])
    return np.diag(checked.numbers(rows, 3, where))


@dataclass(frozen=True)
class Coupling:
    """The constraint c = Σ coefficient·θ − value = 0 over named joints.

    Rigid without `stiffness` (a rocker differential). With it, it is a spring: the generalised force
    −stiffness·c − damping·ċ along the row of coefficients in dynamics; in kinematics and settling the joint follows
    the ground and rests where the springs carry the weight (`_kernels/kinematics/suspension.py`).
    """

    name: str
    """Unique name among the couplings."""
    joints: Mapping[str, float] = field(hash=False)
    """Coefficient of each joint, a ratio, by the name of its frame; not all zero."""
    value: float = 0.0
    """Natural displacement: what Σ coefficient·θ equals when c = 0 [rad or m]."""
    stiffness: float | None = None
    """Spring rate [N m/rad or N/m], ≥ 0; None means rigid."""
    damping: float | None = None
    """Damping [N m s/rad or N s/m], ≥ 0; only with a stiffness; None means 0."""

    def __post_init__(self) -> None:
        where = f"coupling '{checked.name(self.name, 'coupling')}', field"
        if not isinstance(self.joints, Mapping):
            raise VehicleError(f"{where} joints: {self.joints!r:.60} does not map joint names to coefficients")
        if not self.joints:
            raise VehicleError(f"{where} joints: is empty, name at least one joint")
        joints = {
            checked.name(joint, f"{where} joints"): checked.number(coefficient, f"{where} joints, joint '{joint}'")
            for joint, coefficient in self.joints.items()
        }
        if not any(joints.values()):
            raise VehicleError(f"{where} joints: every coefficient is zero, so nothing is coupled")
        object.__setattr__(self, "joints", joints)
        set_checked(self, where, checked.number, "value")
        set_checked(self, where, checked.not_negative, "stiffness", "damping")
        if self.stiffness is None and self.damping is not None:
            raise VehicleError(f"{where} damping: a rigid coupling has none; give a stiffness too, or drop the damping")

    @property
    def is_rigid(self) -> bool:
        """Whether it is a constraint, not a spring."""
        return self.stiffness is None


@dataclass(frozen=True)
class Steering:
    """Feedback from steering angle to command, on a joint that turns about z.

    An actuated joint turns at gain·(command − angle) [rad/s]. A passive one (Zoë's axles) is steered by its
    wheels: the left wheel slows and the right wheel speeds up by gain·(command − angle) [m/s], at most
    `limit`.
    """

    joint: str
    """Name of the frame whose joint is steered; its type is RZ."""
    gain: float
    """[1/s] for an actuated joint, [m/s per rad] for a passive one; > 0."""
    limit: float = math.inf
    """Largest magnitude of that feedback, [rad/s] for an actuated joint, [m/s] for a passive one; > 0."""
    angle: float = math.inf
    """Largest angle to either side to which a drive steers an actuated joint [rad], > 0."""

    def __post_init__(self) -> None:
        where = f"steering of '{checked.name(self.joint, 'steering')}', field"
        bounds = [name for name in ("limit", "angle") if getattr(self, name) != math.inf]
        set_checked(self, where, checked.positive, "gain", *bounds)


class Shape:
    """A shape of some size at a pose in a frame: what a `Hull` and a `Visual` have in common."""

    frame: str
    shape: str
    xyz: Sequence[float]
    rpy: Sequence[float]

    def _check(self, kind: str, needs: Mapping[str, Sequence[str]], may: Mapping[str, Sequence[str]]) -> str:
        """Check pose and sizes; `needs` and `may` are fields by shape. Returns the beginning of messages."""
        where = f"{kind} of '{checked.name(self.frame, f'{kind}, field frame')}', field"
        shape = checked.choice(self.shape, f"{where} shape", tuple(needs))
        set_checked(self, where, checked.numbers, "xyz", "rpy", count=3)
        allowed = (*needs[shape], *may.get(shape, ()))
        for name in dict.fromkeys(chain(*needs.values(), *may.values())):
            given = getattr(self, name) is not None
            if not given and name in needs[shape]:
                raise VehicleError(f"{where} {name}: is missing; a {shape} needs it")
            if given and name not in allowed:
                raise VehicleError(f"{where} {name}: a {shape} has none; it has {', '.join(allowed)}")
        set_checked(self, where, _sides, "size")
        set_checked(self, where, checked.positive, "radius", "length")
        return where

    @property
    def rotation(self) -> NDArray[np.float64]:
        """R_frame_shape, shape (3, 3)."""
        return rotation.from_rpy(*self.rpy)


def _sides(value: Any, name: str) -> tuple[float, ...]:
    return tuple(checked.positive(side, name) for side in checked.numbers(value, 3, name))


def mirrored_pose(row: Frame | Shape) -> dict[str, Any]:
    """Fields xyz and rpy of a frame or shape seen in a mirror that swaps left and right."""
    (x, y, z), (roll, pitch, yaw) = row.xyz, row.rpy
    return {"xyz": (x, -y, z), "rpy": (-roll, pitch, -yaw)}
