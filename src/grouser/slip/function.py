"""A user's own slip model, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.law import Law
from grouser.errors import SimulationError
from grouser.own_function import check_arguments, compiler_reason, name_of, try_out
from grouser.slip.body import Slip

ARGUMENTS = ("p", "omega", "v", "f", "slip")


def function(model: Callable[..., Any], parameters: ArrayLike = (), *, apply: str = "wheels") -> Slip:
    """A slip model from a plain function `model(p, omega, v, f, slip)`, compiled by Numba.

    p are the parameters, omega and v the body's angular velocity [rad/s] and the velocity of its centre of mass
    [m/s], f the force per mass there [m/s²], all in body axes; the function writes slip[0:3] (angular) and
    slip[3:6] (linear).
    """
    if not callable(model):
        raise SimulationError(f"slip model: {model!r:.60} is not a function of (p, omega, v, f, slip)")
    par = checks.array(parameters, "slip parameters", (None,))
    check_arguments(model, ARGUMENTS, "slip model")
    written = np.zeros(6)
    ahead, weight = np.array([0.5, 0.1, 0.0]), np.array([0.0, 0.0, -9.81])
    returned = try_out(model, (par.copy(), np.array([0.0, 0.0, 0.2]), ahead, weight, written), "slip model")
    if returned is not None and not written.any():
        raise SimulationError(
            f"slip model '{name_of(model)}' returns something and writes nothing; it must write slip[0:3] (angular) and"
            " slip[3:6] (linear)"
        )
    n = len(par)
    inner = numba.njit(error_model="numpy")(model)

    def law(par, x, out, jac):  # type: ignore[no-untyped-def]
        state = numba.carray(x, (9,))
        slip = numba.carray(out, (6,))
        for i in range(6):
            slip[i] = 0.0
        inner(numba.carray(par, (n,)), state[0:3], state[3:6], state[6:9], slip)

    compiled = Law(law, cached=False)
    try:
        _ = compiled.address
    except Exception as error:  # Numba raises more than its own errors
        raise SimulationError(f"slip model '{name_of(model)}' does not compile: {compiler_reason(error)}") from None
    return Slip(compiled, np.append(par, 0.0)[: max(n, 1)], apply)
