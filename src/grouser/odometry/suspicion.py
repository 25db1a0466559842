"""Wheels under suspicion: what counts as ordinary slip, and how rare false alarms are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from grouser._kernels.odometry.state import SIZES, Suspicion
from grouser.odometry.arms import wheels_steer
from grouser.odometry.inputs import check
from grouser.vehicles import Vehicle

SIDESLIP, SIDESLIP_SKID = 0.03, 1.0  # Ordinary sideslip where wheels steer, and where they do not
COUPLING = 1e-3  # One sigma of the rate of a rigid coupling [rad/s or m/s]
SPRUNG = 0.3  # and of a sprung one


@dataclass(frozen=True, kw_only=True)
class WheelSuspicion:
    """Rules by which odometry leaves out wheels that disagree with the others, L §5.1.

    Ordinary errors are one sigma, parts of the median rim speed. They may last; three sigmas are no evidence.
    """

    hours: float = 10.0
    """Mean time between false alarms [h] of driving is at least this, while ordinary errors are within three sigmas."""
    slip: float = 0.01
    """Ordinary difference of slip between wheels, one sigma, as a share of the speed."""
    sideslip: float | None = None
    """Ordinary sideslip, one sigma, as a share of the speed; None: 0.03, or 1 where no wheel steers."""
    lift: float = 0.1
    """Ordinary speed of a contact off the ground, as a share: its slope where contact angles are not known."""
    smallest: float = 0.05
    """Smallest slip that is looked for beyond ordinary errors, as a share of the speed; also 4 and 16 times that."""
    hold: float = 0.5
    """How long evidence must last before a wheel is left out [s]."""

    def __post_init__(self) -> None:
        for name in ("hours", "slip", "lift", "smallest", "hold"):
            check.positive(getattr(self, name), f"suspicion {name}")
        if self.sideslip is not None:
            check.positive(self.sideslip, "suspicion sideslip")


def make_suspicion(vehicle: Vehicle, given: WheelSuspicion | bool) -> Suspicion:
    """State of the suspicion of a vehicle's wheels: nothing is suspected yet."""
    chosen = WheelSuspicion() if isinstance(given, bool) else given
    rules: WheelSuspicion = check.instance(chosen, WheelSuspicion, "suspicion", "use True, False or WheelSuspicion(…)")
    nw, nj, nc = vehicle.n_wheels, vehicle.n_joints, len(vehicle.couplings)
    skid = not wheels_steer(vehicle)
    member = np.eye(nw, dtype=np.int64)
    if skid and nw > 2:
        side = np.sign(vehicle.wheel_positions[:, 1])
        member = np.concatenate([member, [side > 0.0, side < 0.0]]).astype(np.int64)
    made = Suspicion.zeros(n_suspects=len(member), nw=nw, nc=nc, nj=nj, nv=6 + nj, rows=3 * nw + nc + 3 + nj)
    made.member[:] = member
    made.coupling_sigma[:] = [COUPLING if one.is_rigid else SPRUNG for one in vehicle.couplings]
    made.angle_rate[:] = np.nan
    usual = SIDESLIP_SKID if skid else SIDESLIP
    values = {
        "on": given is not False and nw <= 60, "skid": skid, "slip": rules.slip, "sideslip": rules.sideslip or usual,
        "lift": rules.lift, "smallest": rules.smallest, "hold": rules.hold,
        "alarm": 3600.0 * rules.hours * 2 * SIZES * len(member),
    }  # fmt: skip
    for name, value in values.items():
        made.rules[name] = value
    return cast(Suspicion, made)
