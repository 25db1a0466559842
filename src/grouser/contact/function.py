"""A user's own contact model, compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn, overload

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.contact.function import function_law
from grouser._kernels.law import Law
from grouser.checks import FloatArray
from grouser.contact.base import Contact, fingerprint
from grouser.errors import SimulationError
from grouser.own_function import check_arguments, compiler_reason, stays_here, try_out

Function = Callable[..., Any]

ARGUMENTS = ("p", "v", "r_omega", "dz")
TRIED = np.array([-0.1, 0.05, 0.0]), 1.0, -0.01
"""A state that any law must be able to judge: driving with a little slip."""


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

    def __reduce__(self) -> NoReturn:
        raise stays_here(f"contact model '{getattr(self.function, '__name__', self.function)}'")

    def __deepcopy__(self, memo: object) -> FunctionContact:
        return self  # immutable, and its law is alive as long as it is


@overload
def model(function: Function) -> FunctionContact: ...
@overload
def model(*, parameters: ArrayLike = (), jacobian: Function | None = None) -> Callable[[Function], FunctionContact]: ...
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
    check_arguments(function, ARGUMENTS, "contact model")
    if jacobian is not None:
        check_arguments(jacobian, (*ARGUMENTS, "J"), "jacobian of a contact model,")
    try:
        law = function_law(function, jacobian, len(p))
    except Exception as error:  # Numba raises more than its own errors
        reason = _returned(function, p) or compiler_reason(error)
        raise SimulationError(f"contact model '{name}' does not compile: {reason}") from None
    v, r_omega, dz = TRIED
    try_out(function, (p.copy(), v.copy(), r_omega, dz), "contact model")
    if jacobian is not None:
        try_out(jacobian, (p.copy(), v.copy(), r_omega, dz, np.zeros((3, 5))), "jacobian of a contact model,")
    return FunctionContact(function, p, law)


def _returned(function: Function, p: FloatArray) -> str | None:
    """What is wrong with what it returns; None if that is not it."""
    v, r_omega, dz = TRIED
    try:
        with np.errstate(all="ignore"):
            given = getattr(function, "py_func", function)(p.copy(), v.copy(), r_omega, dz)
    except Exception:
        return None
    wanted = "it must return the three forces (f_x, f_y, f_z)"
    if given is None:
        return f"it returns nothing; {wanted}"
    if isinstance(given, (tuple, list, np.ndarray)):
        return None if len(given) == 3 else f"it returns {len(given)} values; {wanted}"
    return f"it returns a {type(given).__name__}; {wanted}"
