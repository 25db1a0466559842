"""A user's own contact model, compiled."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.contact_function import function_law
from grouser._kernels.law import Law
from grouser.checks import FloatArray
from grouser.contact.base import Contact, fingerprint
from grouser.errors import SimulationError

Function = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class FunctionContact(Contact):
    """A contact model made from a Python function by `model`."""

    function: Function
    """The function."""
    parameters: FloatArray
    """Its parameters p, shape (n,)."""
    law: Law
    """The compiled law."""

    def bind(self, radius: float | None, width: float | None, load: float | None) -> FloatArray:
        return np.append(self.parameters, 0.0)

    def fingerprint_for(self, radius: float | None, width: float | None, load: float | None) -> str:
        # Of the user's function: the code of the law around it is the same for all.
        return fingerprint(getattr(self.function, "py_func", self.function), self.parameters)

    def with_parameters(self, parameters: ArrayLike) -> FunctionContact:
        """The same function with other parameters; nothing is compiled again."""
        return replace(self, parameters=checks.array(parameters, "contact parameters", self.parameters.shape))


@overload
def model(function: Function) -> FunctionContact: ...
@overload
def model(
    *, parameters: ArrayLike = (), jacobian: Function | None = None
) -> Callable[[Function], FunctionContact]: ...
def model(
    function: Function | None = None, *, parameters: ArrayLike = (), jacobian: Function | None = None
) -> FunctionContact | Callable[[Function], FunctionContact]:
    """Make a contact model of a plain Python function; a decorator, with or without arguments.

    function: `f(p, v, r_omega, dz)` returns (f_x, f_y, f_z) on the wheel [N] in the contact frame. p are the
        parameters, v (3,) is the velocity of the contact point [m/s], r_omega wheel radius times spin rate [m/s],
        dz the height error [m], always negative: off the ground it is not called. Where it gives f_z ≤ 0 there is
        no force. It may use numbers, `math` and NumPy, and must not change v or p.
    parameters: p, shape (n,).
    jacobian: `g(p, v, r_omega, dz, J)` fills J (3, 5) with ∂(f_x, f_y, f_z)/∂(v_x, v_y, v_z, r_omega, dz); without it
        derivatives are central differences, at ten more calls of the function.

    It is compiled by Numba in this process, at once; the engine is not compiled again.
    """
    if function is None:
        return lambda f: _make(f, parameters, jacobian)
    return _make(function, parameters, jacobian)


def _make(function: Function, parameters: ArrayLike, jacobian: Function | None) -> FunctionContact:
    name = getattr(function, "__name__", type(function).__name__)
    if not callable(function):
        raise SimulationError(f"contact model is a {name}; it must be a Python function (p, v, r_omega, dz)")
    p = checks.array(parameters, f"contact model '{name}' parameters", (None,))
    try:
        law = function_law(function, jacobian, len(p))
    except Exception as error:  # Numba raises more than its own errors
        raise SimulationError(f"contact model '{name}' does not compile: {_reason(error)}") from None
    return FunctionContact(function, p, law)


def _reason(error: Exception) -> str:
    """The one line of a Numba message that says what is wrong."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("Failed in", "-", "During:"))]
    return (telling or lines or [type(error).__name__])[0].rstrip(".")[:300]
