"""A lookup table of any contact model, for one wheel: T §C, "a lookup table of contact forces"."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from grouser import checks
from grouser._kernels.contact import table as laws
from grouser.checks import FloatArray
from grouser.contact.base import Contact, Wheel, sample
from grouser.errors import SimulationError
from grouser.law import BoundLaw

SAMPLES = 20_000
OTHER_SPEEDS = (0.5, 2.0)
"""Range of speeds at which a table is also compared with its law, over the speed it was made at."""


@dataclass(frozen=True)
class TableError:
    """Difference between a table and its law at random states between the nodes.

    That of force is over the law's largest force, that of torque over this force times the radius. Both are largest
    for a wheel that hardly turns and is dragged sideways.
    """

    max: float
    """Largest, at the speed the table was made at, a ratio."""
    rms: float
    """Root mean square, at that speed, a ratio."""
    max_other_speeds: float
    """Largest ratio at half to twice that speed, where the law may not depend on slip alone."""
    rms_other_speeds: float
    """Root mean square there, a ratio."""
    torque_max: float
    """Largest difference of the torque, at the speed the table was made at, a ratio."""
    torque_rms: float
    """Root mean square of it, a ratio."""


@dataclass(frozen=True, eq=False, init=False)
class Table(Contact):
    """A contact model read from a table: as quick as the simplest model, whatever was tabulated.

    The table spans every direction of (V_x, v_y, Rω), so all of slip ratio and slip angle, forwards and in reverse,
    and penetration to a depth. Force and axle torque are sampled at one speed and taken to depend on slip, not on
    speed; below its smoothing speed the table is regular in the same way as the built-in laws. Vertical velocity
    scales them by 1 − δ(Δz) v_z, with δ from the law; what has its full size at any slip, as soil pushed aside or ahead
    resists, is tabulated apart. The law must be symmetric left to right and front to back. The error of all this is
    measured when the table is made: `error`.
    """

    law = laws.table

    model: Contact
    """The model that was tabulated."""
    radius: float
    """Wheel radius it was made for [m]."""
    width: float | None
    """Wheel width it was made for [m]."""
    load: float | None
    """Load it was made for [N]."""
    depth: float
    """Largest tabulated penetration [m]; beyond it force grows in proportion to penetration."""
    speed: float
    """Speed at which the law was sampled [m/s]."""
    error: TableError
    """Its difference from the law."""
    fingerprint: str
    """Hash of the law, its parameters and the wheel."""
    par: FloatArray = field(repr=False)
    """The table, as the law reads it, in SI units."""
    _law_par: FloatArray = field(repr=False)

    def __init__(
        self,
        model: Contact,
        *,
        radius: float,
        width: float | None = None,
        load: float | None = None,
        depth: float | None = None,
        speed: float = 1.0,
        smoothing: float | None = None,
        cells: tuple[int, int, int] = (64, 96, 12),
        tolerance: float = 0.02,
    ) -> None:
        """Tabulate a model.

        radius, width, load: the wheel, as in `Contact.bind`.
        depth: largest tabulated penetration [m]; half the radius if None.
        speed: at which to sample the law [m/s]; what is usual for the vehicle.
        smoothing: ε [m/s]; the model's own if None, or 0.05.
        cells: of the table along slip, sideslip and penetration.
        tolerance: of `error.max`, `error.rms_other_speeds` and `error.torque_rms`, above which the table is refused.
        """
        if not isinstance(model, Contact):
            raise SimulationError(f"Table: {model!r:.40} is not a contact model")
        R = checks.positive(radius, "Table radius")
        deepest = checks.positive(0.5 * R if depth is None else depth, "Table depth")
        at = checks.positive(speed, "Table speed")
        eps = checks.positive(getattr(model, "smoothing", 0.05) if smoothing is None else smoothing, "Table smoothing")
        checks.positive(tolerance, "Table tolerance")
        n = [
            checks.count(c, f"Table cells along {name}", least=2, most=400)
            for c, name in zip(cells, ("slip", "sideslip", "penetration"), strict=True)
        ]
        if (n[0] + 1) * (n[1] + 1) * (n[2] + 1) > 4_000_000:
            raise SimulationError(f"Table cells: {n} are more than 4 000 000 nodes")
        bound = model.bind(R, width, load)
        par = _tabulate(bound, n, deepest, eps, at)
        par.flags.writeable = False
        code = getattr(model, "function", model.law.function).__code__
        made_of = f"{model!r} {code.co_consts!r} {code.co_names}".encode() + code.co_code + bound.parameters.tobytes()
        self.__dict__.update(
            model=model, radius=R, width=width, load=load, depth=deepest, speed=at, par=par, _law_par=bound.parameters,
            slip_by_wheel_speed=model.slip_by_wheel_speed, _made={"smoothing": eps, "cells": n, "tolerance": tolerance},
            fingerprint=hashlib.sha256(made_of).hexdigest()[:16],
        )  # fmt: skip
        force, torque = self._compare(eps, (1.0, 1.0))
        error = TableError(*force, *self._compare(eps, OTHER_SPEEDS)[0], *torque)
        self.__dict__["error"] = error
        off = max(error.max, error.rms_other_speeds, error.torque_rms)
        if not off <= tolerance:
            raise SimulationError(
                f"Table of {type(model).__name__}: off by {100 * off:.3g} % of the largest force, more than "
                f"tolerance = {100 * tolerance:g} %; take more cells, or no table if the model's force follows slip "
                f"velocity rather than slip ratio and angle"
            )

    def pack(self, radius: float | None, width: float | None, load: float | None) -> FloatArray:
        """The table, in SI units; refused for another wheel [m, m, N] than it was made for. None fits."""
        for name, given, made in (("radius", radius, self.radius), ("width", width, self.width)):
            if given is not None and made is not None and not abs(given - made) <= 1e-9 * made:
                raise SimulationError(
                    f"Table of {type(self.model).__name__}: made for a wheel {name} of {made:g} m, "
                    f"not {checks.number(given, name):g} m; make one for this wheel"
                )
        if load is not None:
            wanted = self.model.pack(self.radius, self.width, load)
            if not np.allclose(wanted, self._law_par, rtol=1e-6, atol=0.0):
                raise SimulationError(
                    f"Table of {type(self.model).__name__}: made for a load of {self.load or 0.0:g} N, not {load:g} N, "
                    f"which gives the model other parameters; make one for this wheel, or give the model a stiffness"
                )
        return self.par

    @property
    def axle_couple(self) -> bool:
        """That of the model: between the nodes τ = −R f_x holds wherever it holds at them."""
        return self.model.axle_couple

    @property
    def parameters(self) -> tuple[()]:
        """None: the numbers are in the table."""
        return ()

    def recipe(self) -> dict[str, Any] | None:
        """What it was made of: a file holds no table."""
        of = self.model.recipe()
        wheel = {name: getattr(self, name) for name in ("radius", "width", "load", "depth", "speed")}
        return None if of is None else {"law": "Table", "model": of, **wheel, **self.__dict__["_made"]}

    def replace(self, **changes: Any) -> NoReturn:
        """Refused: change the model and tabulate it again."""
        raise SimulationError(f"Table of {type(self.model).__name__}: cannot be changed; make one of another model")

    def _wheel(self, radius: float | None = None, width: float | None = None, load: float | None = None) -> Wheel:
        """The wheel the table was made for, if that is the one given."""
        self.pack(radius, width, load)
        return {"radius": self.radius, "width": self.width, "load": self.load}

    def _compare(self, epsilon: float, speeds: tuple[float, float]) -> list[tuple[float, float]]:
        """Largest and rms difference from the law, of force and torque: ahead, back, left and right, between nodes."""
        random = np.random.default_rng(1)
        a, b, u = random.uniform(0.0, 1.0, (3, SAMPLES))
        speed = self.speed * random.uniform(*speeds, SAMPLES)
        reach = speed * (1.0 - b) / (1.0 - b + 2.0 * laws.ACROSS * b)
        v_x = 2.0 * laws.ALONG * a * reach / (1.0 - a + laws.ALONG * a) * random.choice((-1.0, 1.0), SAMPLES)
        total = np.sqrt(np.maximum((2.0 * reach - abs(v_x)) ** 2 - 4.0 * epsilon**2, 0.0))
        total *= random.choice((-1.0, 1.0), SAMPLES)
        v_y = (speed - reach) * random.choice((-1.0, 1.0), SAMPLES)
        v_z = random.uniform(-0.05, 0.05, SAMPLES)
        x = np.column_stack((v_x, v_y, v_z, 0.5 * (total - v_x), -self.depth * u * u))
        wanted, _ = sample(self.model.bind(self.radius, self.width, self.load), x)
        found, _ = sample(self.bind(None, None, None), x)
        peak = float(np.linalg.norm(wanted[:, :3], axis=1).max())
        if not np.isfinite(wanted).all() or peak == 0.0:
            return 2 * [(np.inf, np.inf)]
        off = (found - wanted) / peak
        sizes = np.linalg.norm(off[:, :3], axis=1), np.abs(off[:, 3]) / self.radius
        return [(float(size.max()), float(np.sqrt(np.mean(size**2)))) for size in sizes]


def _tabulate(law: BoundLaw, n: list[int], depth: float, epsilon: float, speed: float) -> FloatArray:
    """The table as the law reads it: header, nodes, and over penetration δ and what stands apart."""
    count = (n[0] + 1) * (n[1] + 1) * (n[2] + 1)
    x = np.empty((count, 2, 5))
    laws.node_states(n[0], n[1], n[2], depth, epsilon, speed, x)
    out, _ = sample(law, x.reshape(-1, 5))
    rolling = np.ascontiguousarray(x[: n[2] + 1, 0])
    apart = np.stack((_turning(law, rolling, epsilon, 1)[:, 1], *_turning(law, rolling, epsilon, 0)[:, [0, 3]].T))
    nodes = np.empty((count, laws.WIDE))
    laws.fill_table(x, out.reshape(count, 2, 4), epsilon, apart, nodes)
    # The damping of a wheel that rolls without slip.
    f, f_x = sample(law, rolling)
    damping = np.divide(-f_x[:, 12], f[:, 2], out=np.zeros(n[2] + 1), where=f[:, 2] > 0.0)
    header = np.zeros(laws.NODES)
    header[laws.N_A], header[laws.N_B], header[laws.N_U] = n
    header[laws.DEEPEST], header[laws.EPSILON] = depth, epsilon
    return np.concatenate((header, nodes.ravel(), damping, apart.ravel()))


def _turning(law: BoundLaw, rolling: FloatArray, epsilon: float, axis: int) -> FloatArray:
    """(f_x, f_y, f_z, τ) per penetration that turn over with the sign of V_x (axis 0) or of v_y (1), shape (n, 4).

    Sampled at the penetrations of `rolling`. At a rim speed of ten thousand times ε a travel or sideslip of 30 ε is no
    slip yet; what is linear in it is taken off.
    """
    halves = []
    for speed in (30.0 * epsilon, 60.0 * epsilon):
        sides = []
        for v in (speed, -speed):
            x = rolling.copy()
            x[:, 3] = 1e4 * epsilon
            x[:, 0] = v - x[:, 3] if axis == 0 else 0.0
            x[:, 1] = v if axis == 1 else 0.0
            sides.append(sample(law, x)[0])
        halves.append(0.5 * (sides[0] - sides[1]))
    force: FloatArray = (2.0 * halves[0] - halves[1]) / -rolling[:, 4:]
    return force
