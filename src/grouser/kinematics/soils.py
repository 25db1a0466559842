"""Slip laws by soil: those of a ground, for a kinematic model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grouser import checks
from grouser._kernels.kinematics.velocity import NO_SLIP, SLIP_AT_WHEELS, SLIP_ON_BODY
from grouser.errors import SimulationError
from grouser.law import Recipe
from grouser.once import once_each

if TYPE_CHECKING:
    from grouser.slip import Slip
    from grouser.terrain import Soils


@once_each
def _slips(soils: Soils) -> tuple[Slip | None, ...]:
    """The slip model of each soil, those out of files made; None: the model's own."""
    from grouser.slip import Slip

    found: list[Slip | None] = []
    for soil in soils.soils:
        given = soil.slip
        if isinstance(given, Recipe):
            from grouser.slip.body import slip_of

            given = slip_of(given)
        if given is not None:
            checks.instance(given, Slip, f"soil '{soil.name}'", "use grouser.slip.BodySlip([...])")
        found.append(given)
    return tuple(found)


def slip_fields(own: Slip | None, soils: Soils | None) -> dict[str, Any]:
    """Slip by soil as a KinematicModel says it, the model's own first; no rows where soils have no slip."""
    models = () if soils is None else _slips(soils)
    if all(one is None for one in models):
        return {"soil_slip": np.zeros((0, 2), dtype=np.int64)}
    laws = [own, *(own if one is None else one for one in models)]
    applied = {law.apply for law in laws if law is not None}
    if len(applied) > 1:
        raise SimulationError(
            "slip of the soils: some is applied to the body and some at the wheels, the model's own included; "
            'give all the same, apply="wheels" or apply="body"'
        )
    rows = [(0, 0) if law is None else law.bound.pair for law in laws]
    return {"soil_slip": np.array(rows, dtype=np.int64), "slip_mode": slip_mode(next(filter(None, laws)))}


def slip_mode(slip: Slip | None) -> int:
    """How slip is applied, as the engine takes it."""
    if slip is None:
        return NO_SLIP
    return SLIP_ON_BODY if slip.apply == "body" else SLIP_AT_WHEELS
