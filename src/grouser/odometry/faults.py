"""Faults of the inputs of odometry: what they are called, what they are, counted and said once each."""

from __future__ import annotations

import logging

from grouser._kernels.odometry import slots

logger = logging.getLogger("grouser.odometry")

FAULTS = {
    slots.FAULT_TIME: ("time", "a time stamp is not after the one before or not finite; the sample is ignored"),
    slots.FAULT_CLOCK: ("clock", "the clock was set back; time goes on from there, the motion between is not known"),
    slots.FAULT_GAP: ("gap", "no sample for longer than the longest gap; motion between is taken as steady"),
    slots.FAULT_RATE: ("rate", "a rate is missing or not finite; the wheel is left out"),
    slots.FAULT_ANGLE: ("stop", "an angle is beyond its stop; the stop is taken"),
    slots.FAULT_ANGLE_MISSING: ("angle", "an angle is missing or not finite; the last one is taken"),
    slots.FAULT_ATTITUDE: ("attitude", "roll or pitch is missing, not finite or straight up; the last ones are taken"),
    slots.FAULT_GYRO: ("gyro", "a turn rate of the gyro is not finite; the wheels tell it"),
    slots.FAULT_GROUND: ("ground", "the ground ends under a wheel; contacts are taken straight below the wheels"),
    slots.FAULT_UNOBSERVED: ("unobserved", "the wheels that are left do not determine the motion in the plane"),
}
"""Bit → (kind, what it is and what is done about it)."""


class FaultCounts:
    """How often each kind of fault was met; the first of each kind is logged as a warning of `grouser.odometry`."""

    def __init__(self, said: set[str] | None = None) -> None:
        """said: kinds that are not to be logged any more; those that are logged join them."""
        self.counts: dict[str, int] = {}
        self.said = set() if said is None else said

    @staticmethod
    def kinds() -> list[str]:
        """All there are."""
        return [kind for kind, _ in FAULTS.values()]

    def add(self, bits: int, where: dict[str, str], time: float) -> None:
        """Count the faults of one sample; `where` names the joint of a kind where there is one."""
        for bit, (kind, text) in FAULTS.items():
            if not bits & bit:
                continue
            if kind not in self.said:
                self.said.add(kind)
                joint = f", {where[kind]}" if kind in where else ""
                logger.warning(
                    "odometry, t = %.12g s%s: %s (%s; further ones are only counted)", time, joint, text, kind
                )
            self.counts[kind] = self.counts.get(kind, 0) + 1
