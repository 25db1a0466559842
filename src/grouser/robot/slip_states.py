"""Which slip parameters of a fit the filter learns while it drives, and what is known of them before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.fusion.settings import FusionSettings
from grouser.kinematics import Kinematics
from grouser.motion.fit import Fit
from grouser.motion.model import MotionModel
from grouser.motion.slip_surface import Perturbative
from grouser.motion.spread import GroundSpread

GROUND = {"speed": ("slip.a1", "slip.p2"), "turn": ("slip.a10", "slip.p6"), "drift": ("slip.a9", "slip.p5")}
"""Slip parameters that are the differences between grounds of `GroundSpread`: of P (13), and of T (2.48)."""


@dataclass(frozen=True, eq=False)
class SlipStates:
    """Slip parameters as states of the filter."""

    names: tuple[str, ...]
    """Their names in the fit."""
    values: FloatArray
    """Their values there, (k,), each in its unit."""
    prior: FloatArray
    """Covariance before the drive: of the fit, and between grounds, (k, k), products of their units."""
    places: tuple[int, ...]
    """Where each stands in the slip surface and its correction, or in the numbers of a slip law."""


def slip_states(model: Any, ground: GroundSpread) -> SlipStates | None:
    """Those of a fit; None for a model without one, or whose slip was not fitted."""
    if not isinstance(model, Fit) or not len(model.covariance):
        return None
    inner = model.model.model
    if isinstance(inner, Perturbative):
        order = list(inner.parameters)
    elif isinstance(inner, Kinematics) and inner.slip is not None:
        order = [f"slip.{p.name}" for p in inner.slip.parameters]
    else:
        return None
    chosen = [k for k, p in enumerate(model.systematic) if p.name in order]
    if not chosen:
        return None
    names = tuple(model.systematic[k].name for k in chosen)
    prior = np.asarray(model.covariance)[np.ix_(chosen, chosen)].copy()
    if model.spread is not None:
        prior += model.spread[np.ix_(chosen, chosen)]
    else:
        for part, candidates in GROUND.items():
            for name in set(candidates) & set(names):
                prior[names.index(name), names.index(name)] += getattr(ground, part) ** 2
    return SlipStates(names, model.vector[chosen].copy(), prior, tuple(order.index(name) for name in names))


def with_wander(settings: FusionSettings, motion: MotionModel) -> FusionSettings:
    """Settings of the filter with the slip that wanders by the noise of a fit: its sigma and its length."""
    noise = motion.noise
    if noise.wander is None or noise.grows != "distance" or set(noise.components) != {"vx", "vy", "wz"}:
        return settings
    sigma = dict(zip(noise.components, np.sqrt(noise.wander).tolist(), strict=True))
    return settings.replace(slip=(sigma["vx"], sigma["vy"], sigma["wz"]), slip_length=noise.length)
