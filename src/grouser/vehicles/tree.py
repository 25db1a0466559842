"""The frames of a vehicle as a tree: sorted so that parents come first, refused where they are no tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from grouser import rotation
from grouser.checks import listed
from grouser.errors import VehicleError
from grouser.vehicles.rows import JOINTS, Frame

PARALLEL = 0.999
"""Least cosine between the axles of wheels that turn alike."""


def sort_frames(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """The frames, parents before children, otherwise in the given order; refuses what is not one tree."""
    names = [frame.name for frame in frames]
    for i, frame in enumerate(frames):
        if frame.name in names[:i]:
            first = names.index(frame.name)
            raise VehicleError(f"frame '{frame.name}': rows {first + 1} and {i + 1} have this name, names must differ")
    roots = [frame.name for frame in frames if frame.parent is None]
    if not roots:
        raise VehicleError("there is no body: exactly one frame must have no parent")
    if len(roots) > 1:
        raise VehicleError(f"frames {listed(roots)} have no parent, only the body may; give the others a parent")
    for frame in frames:
        if frame.parent not in (None, *names):
            raise VehicleError(
                f"frame '{frame.name}', field parent: '{frame.parent}' is not a frame; frames are {listed(names)}"
            )
    order: dict[str, Frame] = {}
    while waiting := [frame for frame in frames if frame.name not in order]:
        ready = next((frame for frame in waiting if frame.parent is None or frame.parent in order), None)
        if ready is None:
            lost = listed(frame.name for frame in waiting)
            raise VehicleError(
                f"frames {lost}: their parents form a cycle, following parents must lead to '{roots[0]}'"
            )
        order[ready.name] = ready
    # Joints that move by themselves come first, so that the velocities that are solved for are one block.
    return tuple(sorted(order.values(), key=lambda frame: (not frame.has_own_turn) + (frame.slides is not None)))


def check_frames(frames: Sequence[Frame]) -> None:
    """Refuses sorted frames that cannot be a vehicle: what only shows with all rows in view."""
    body = frames[0]
    where = f"frame '{body.name}', field"
    if body.joint is not None:
        raise VehicleError(f"{where} joint: the body floats freely, so it has no joint; drop {body.joint}")
    if body.actuated:
        raise VehicleError(f"{where} actuated: the body has no joint to actuate")
    for field in ("xyz", "rpy"):
        if any(getattr(body, field)):
            raise VehicleError(f"{where} {field}: the body has no parent to be offset from; use zeros")
    branch_mass = {frame.name: frame.mass for frame in frames}
    for frame in reversed(frames[1:]):
        if frame.joint is None:
            raise VehicleError(
                f"frame '{frame.name}', field joint: is missing, use one of {', '.join(JOINTS)};"
                " a part that does not move belongs into its parent's mass"
            )
        carried = [f.name for f in frames if f.parent == frame.name]
        if frame.is_wheel and carried:
            raise VehicleError(
                f"frame '{frame.name}': a wheel carries no other frames, yet {listed(carried)} has it as parent"
            )
        if branch_mass[frame.name] == 0.0 and frame.has_own_turn:
            raise VehicleError(
                f"frame '{frame.name}', field mass: nothing that moves with this joint has mass;"
                " give it or a frame beyond it a mass above 0"
            )
        assert frame.parent is not None
        branch_mass[frame.parent] += branch_mass[frame.name]
        if frame.turns_with is not None:
            _check_leader(frame, frames)
    if not any(frame.is_wheel for frame in frames):
        raise VehicleError("there are no wheels: give a radius to every frame that is one")


def _check_leader(frame: Frame, frames: Sequence[Frame]) -> None:
    """Refuse a wheel that turns with what is no wheel, does not turn by itself, or turns about another axis."""
    where = f"frame '{frame.name}', field turns_with"
    able = [one for one in frames if one.is_wheel and one.has_own_turn]
    leader = next((one for one in able if one.name == frame.turns_with), None)
    if leader is None:
        raise VehicleError(
            f"{where}: '{frame.turns_with}' is not a wheel that turns by itself;"
            f" those are {listed(one.name for one in able)}"
        )
    if leader.parent == frame.parent and leader.rotation[:, 1] @ frame.rotation[:, 1] < PARALLEL:
        raise VehicleError(
            f"{where}: its axle does not point as that of '{leader.name}' does, so they cannot turn alike; check rpy"
        )


def forward_kinematics(
    frames: Sequence[Frame], displacements: Iterable[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """R_body_frame (nf, 3, 3) and p_body_frame (nf, 3) [m] of sorted frames at displacements (nj,).

    T Algorithm 1. For set-up and for people; the engine has its own.
    """
    names = [frame.name for frame in frames]
    R_body, p_body = np.tile(np.eye(3), (len(frames), 1, 1)), np.zeros((len(frames), 3))
    for i, (frame, theta) in enumerate(zip(frames[1:], displacements, strict=True), start=1):
        up, axis = names.index(str(frame.parent)), JOINTS.index(str(frame.joint))
        R_body[i] = R_body[up] @ frame.rotation
        p_body[i] = p_body[up] + R_body[up] @ frame.xyz
        if axis >= 3:
            p_body[i] += R_body[i][:, axis - 3] * theta
        else:
            R_body[i] = R_body[i] @ rotation.from_rpy(*(theta * np.eye(3)[axis]))
    return R_body, p_body
