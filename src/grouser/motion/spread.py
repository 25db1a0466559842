"""Spread of slip between grounds: the prior for a ground that has not been driven on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grouser.checks import FloatArray
from grouser.motion.parameters import Parameter


@dataclass(frozen=True, kw_only=True)
class GroundSpread:
    """Differences of motion between grounds at the same wheel rates, one sigma each.

    A fit of one log cannot determine this; that of several can (`Fit.spread`), and then takes its place. The defaults
    are round numbers. Of one skid-steered robot the turn rates on asphalt and on grass differ by 3.6 %, the speeds by
    2 %, the pull to one side by 0.002 rad/m: differences of two grounds, √2 sigma. On logs of that robot NEES is no
    independent check of them.
    """

    speed: float = 0.015
    """Sigma of the speed, as a share of it."""
    turn: float = 0.025
    """Sigma of the turn rate, as a share of it."""
    drift: float = 0.0015
    """Sigma of the turn rate, per speed [rad/m]: pull to one side."""

    @property
    def covariance(self) -> FloatArray:
        """Of speed, turn [1] and drift [rad/m], (3, 3)."""
        return np.diag(np.square([self.speed, self.turn, self.drift]))

    @staticmethod
    def slopes(twist: FloatArray) -> FloatArray:
        """∂(ω, v)/∂(speed, turn, drift), (n, 6, 3), at body velocities (ω, v), (n, 6)."""
        out = np.zeros((*twist.shape, 3))
        out[:, 3:, 0] = twist[:, 3:]
        out[:, 2, 1] = twist[:, 2]
        out[:, 2, 2] = twist[:, 3]
        return out


SAME_GROUND = GroundSpread(speed=0.0, turn=0.0, drift=0.0)
"""For a log of the day and the ground of the fit."""
SHARE = 0.2
"""Spread between grounds, one sigma, as a share of a ground parameter's prior sigma: 0.1 for most slip numbers."""
SLOPES = {"a4": 0.04, "a8": 0.04, "a12": 0.02, "a13": 0.02, "a9": 0.03, "a3": 0.05, "a7": 0.05, "a11": 0.05}
"""Of slip numbers that are multiplied by more than about 1: by g of a slope (2.5 m/s² at 15°), by speed (2 m/s)."""
BY_GRAVITY = {"p1": 0.3, "p3": 0.3}
"""Of slip along a slope per share of the weight that pulls, T (2.48): it is some 0.1 on firm ground and up to 1 in
loose sand, while 15° multiply it by 0.26."""
OF_GROUND = ("slip", "contact")
"""Parts of a motion model that belong to the ground; the others belong to the vehicle."""
OF_VEHICLE = ("c", "beyond_")
"""Prefixes of slip parameters that belong to the vehicle: those of a learned correction."""


def of_ground(name: str) -> bool:
    """Whether a parameter changes with the ground."""
    part, _, field = name.partition(".")
    return part in OF_GROUND and not (part == "slip" and field.startswith(OF_VEHICLE))


def default_spread(parameters: Sequence[Parameter], values: FloatArray | None = None) -> FloatArray:
    """Covariance (n, n) between grounds before several were driven on: independent, zero for the vehicle's own.

    values: of a fit, (n,). A stiffness or friction differs by a share of itself, if that is less than one of its prior.
    """
    sigma = np.array([_sigma(p) if of_ground(p.name) else 0.0 for p in parameters])
    if values is not None:
        contact = [p.name.startswith("contact.") for p in parameters]
        sigma = np.where(contact, np.minimum(sigma, SHARE * np.abs(values[: len(sigma)])), sigma)
    return np.diag(np.square(sigma)).reshape(len(parameters), len(parameters))


def _sigma(parameter: Parameter) -> float:
    """At most a share of the prior sigma, but for slip by gravity."""
    part, _, field = parameter.name.partition(".")
    if part == "slip" and field in BY_GRAVITY:
        return min(BY_GRAVITY[field], parameter.sigma)
    most = SHARE * parameter.sigma
    return min(SLOPES[field], most) if part == "slip" and field in SLOPES else most
