"""Joints that move together, or that a spring holds: holonomic joint constraints, T (2.25), (E.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from grouser.errors import VehicleError
from grouser.vehicles.frame import checked

__all__ = ["Coupling"]


@dataclass(frozen=True)
class Coupling:
    """The constraint c = Σ coefficient·θ − value = 0 over named joints.

    Rigid without `stiffness` (a rocker differential). With it, dynamics replaces the constraint by the
    generalised force −stiffness·c − damping·ċ along the row of coefficients; kinematics keeps the
    constraint either way.
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
        name = checked.name(self.name, "coupling")
        where = f"coupling '{name}', field"
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
        object.__setattr__(self, "value", checked.number(self.value, f"{where} value"))
        if self.stiffness is None and self.damping is not None:
            raise VehicleError(f"{where} damping: a rigid coupling has none; give a stiffness too, or drop the damping")
        for spring in ("stiffness", "damping"):
            given = getattr(self, spring)
            if given is not None:
                object.__setattr__(self, spring, checked.not_negative(given, f"{where} {spring}"))

    @property
    def is_rigid(self) -> bool:
        """Whether the constraint holds exactly in dynamics too."""
        return self.stiffness is None
