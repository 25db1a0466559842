"""A vehicle whose motors turn their wheels through springs.

A motor becomes a second link on the axle of the wheel it drives, and a sprung coupling ties both: the wheel winds up
against its motor. A steering joint gets a sprung joint about the same axis beneath it: what it carries
twists against the angle that its motor holds (L §4.4.3). Kinematics keeps both couplings rigid.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from grouser.errors import VehicleError
from grouser.vehicles.rows import Coupling, Frame, checked

if TYPE_CHECKING:
    from grouser.vehicles.vehicle import Vehicle

__all__ = ["elastic", "motors"]


def elastic(
    vehicle: Vehicle, *, drive: tuple[float, float] | None, steering: tuple[float, float] | None, rotor_share: float
) -> Vehicle:
    """The vehicle with springs of (stiffness, damping) behind its wheels' motors and its steering; see `Vehicle`."""
    if not 0.0 < checked.number(rotor_share, "elastic rotor_share") < 1.0:
        raise VehicleError(f"elastic rotor_share: {rotor_share:g} is not above 0 and below 1")
    steered = {s.joint for s in vehicle.steering if s.joint in vehicle.actuated} if steering else set[str]()
    frames, couplings = [], list(vehicle.couplings)
    for row in vehicle.frames:
        frame = dataclasses.replace(row, parent=_twist(row.parent)) if row.parent in steered else row
        if drive is not None and frame.is_wheel and frame.actuated:
            motor, wheel = _split(frame, rotor_share)
            frames += [motor, wheel]
            couplings.append(_spring(f"{wheel.name} winds up", {wheel.name: 1.0, motor.name: -1.0}, drive))
            continue
        frames.append(frame)
        if frame.name in steered and steering is not None:
            twist = _twist(frame.name)
            frames.append(Frame(name=twist, parent=frame.name, joint="RZ"))
            couplings.append(_spring(f"{frame.name} twists", {twist: 1.0}, steering))
    if len(couplings) == len(vehicle.couplings):
        raise VehicleError(f"elastic: '{vehicle.name}' has no motor of that kind; give drive or steering")
    return vehicle.replace(frames=tuple(frames), couplings=tuple(couplings))


def motors(vehicle: Vehicle) -> dict[str, str]:
    """The actuated joint that turns each driven wheel: its own, or the one a coupling makes it follow one to one."""
    found = {wheel: wheel for wheel in vehicle.wheels if wheel in vehicle.actuated}
    for coupling in vehicle.couplings:
        tied = {joint: k for joint, k in coupling.joints.items() if k != 0.0}
        wheels = [joint for joint in tied if joint in vehicle.wheels and joint not in vehicle.actuated]
        turning = [joint for joint in tied if joint in vehicle.actuated and joint not in vehicle.wheels]
        if len(tied) == 2 and wheels and turning and sum(tied.values()) == 0.0:
            found[wheels[0]] = turning[0]
    return found


def _twist(joint: str | None) -> str:
    return f"{joint}_twist"


def _split(wheel: Frame, share: float) -> tuple[Frame, Frame]:
    """Motor and wheel of a driven wheel; together they have its mass and inertia."""
    motor = dataclasses.replace(
        wheel,
        name=f"{wheel.name}_motor",
        mass=share * wheel.mass,
        inertia=share * wheel.inertia_matrix,
        radius=None,
        width=None,
        tyre_radius=None,
    )
    left = 1.0 - share
    return motor, dataclasses.replace(
        wheel, actuated=False, mass=left * wheel.mass, inertia=left * wheel.inertia_matrix
    )


def _spring(name: str, joints: dict[str, float], spring: tuple[float, float]) -> Coupling:
    stiffness, damping = checked.numbers(spring, 2, f"elastic, spring of '{name}'")
    return Coupling(name=name, joints=joints, stiffness=stiffness, damping=damping)
