"""A user's own actuator model, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numba
import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.law import Law
from grouser.actuation.actuators import Actuator
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.own_function import check_arguments, compiler_reason, name_of, stays_here, try_out
from grouser.vehicles import Vehicle

ARGUMENTS = ("p", "command", "rate", "angle", "torque")


class _Function(Actuator):
    def __init__(self, body: Callable[..., Any], parameters: FloatArray) -> None:
        self.body = body
        self.parameters = parameters
        self._laws: dict[int, Law] = {}

    def bind(self, vehicle: Vehicle) -> FloatArray:
        n = len(vehicle.actuated)
        if n not in self._laws:
            self._laws[n] = _compile(self.body, n, self.parameters)
        self.law = self._laws[n]
        return np.append(self.parameters, 0.0)

    def __reduce__(self) -> NoReturn:
        raise stays_here(f"actuator '{name_of(self.body)}'")

    def __deepcopy__(self, memo: object) -> _Function:
        return self


def model(body: Callable[..., Any], parameters: ArrayLike = ()) -> Actuator:
    """An actuator from a plain function `body(p, command, rate, angle, torque)`, compiled by Numba.

    p are the parameters; command, rate [rad/s] and angle [rad] of all actuated joints come in, torque [N m] is
    written. Derivatives by rate are differenced inside the compiled wrapper.
    """
    if not callable(body):
        raise SimulationError(f"actuator: {body!r:.60} is not a function of (p, command, rate, angle, torque)")
    par = checks.array(parameters, "actuator parameters", (None,))
    check_arguments(body, ARGUMENTS, "actuator")
    return _Function(body, par)


def _compile(body: Callable[..., Any], n: int, par: FloatArray) -> Law:
    torque = np.zeros(n)
    returned = try_out(body, (par.copy(), np.ones(n), np.zeros(n), np.zeros(n), torque), "actuator")
    if returned is not None and not torque.any():
        raise SimulationError(f"actuator '{name_of(body)}' returns something and writes nothing; it must write torque")
    parameters = len(par)
    inner = numba.njit(error_model="numpy")(body)

    def law(par, x, out, jac):  # type: ignore[no-untyped-def]
        values = numba.carray(x, (4 * n + 1,))
        result = numba.carray(out, (2 * n,))
        p = numba.carray(par, (parameters,))
        dt = values[4 * n]
        low = np.zeros(n)
        for b in range(n):
            rate = values[n + b]
            angle = values[2 * n + b]
            h = 1e-6 * (1.0 + abs(rate))
            values[n + b] = rate - h
            values[2 * n + b] = angle - h * dt
            inner(p, values[0:n], values[n : 2 * n], values[2 * n : 3 * n], low)
            values[n + b] = rate + h
            values[2 * n + b] = angle + h * dt
            inner(p, values[0:n], values[n : 2 * n], values[2 * n : 3 * n], result[0:n])
            values[n + b] = rate
            values[2 * n + b] = angle
            for a in range(n):
                jac[a * n + b] = (result[a] - low[a]) / (2.0 * h)
        inner(p, values[0:n], values[n : 2 * n], values[2 * n : 3 * n], result[0:n])
        for a in range(n):
            result[n + a] = 0.0

    compiled = Law(law, cached=False)
    try:
        _ = compiled.address
    except Exception as error:  # Numba raises more than its own errors
        raise SimulationError(f"actuator '{name_of(body)}' does not compile: {compiler_reason(error)}") from None
    return compiled
