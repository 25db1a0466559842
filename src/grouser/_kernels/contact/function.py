"""Contact laws around a user's own function, x and out as in `contact_laws.py`."""

import math
from typing import Any

import numba

from grouser._compile.jit import FLAGS
from grouser._kernels.law import Law


def function_law(function: Any, jacobian: Any, n: int) -> Law:
    """The law of a Python function (p, v, r_omega, dz) -> (f_x, f_y, f_z) with n parameters.

    jacobian: a function (p, v, r_omega, dz, J) that fills J (3, 5), or None: then the law is differenced.
    Raises whatever Numba raises when a function does not compile.
    """
    force = _compiled(function)
    body = _differenced(force, n) if jacobian is None else _with_jacobian(force, _compiled(jacobian), n)
    law = Law(body, cached=False)
    _ = law.address
    return law


def _compiled(function):
    return function if hasattr(function, "py_func") else numba.njit(**FLAGS)(function)


def _with_jacobian(force, jacobian, n):
    def law(par, x, out, jac):
        for i in range(3):
            out[i] = 0.0 if x[4] >= 0.0 else math.nan
        for i in range(15):
            jac[i] = 0.0
        if x[4] >= 0.0:
            return
        p = numba.carray(par, (n,))
        v = numba.carray(x, (3,))
        f_x, f_y, f_z = force(p, v, x[3], x[4])
        pressed = not (f_z <= 0.0)
        if pressed:
            jacobian(p, v, x[3], x[4], numba.carray(jac, (3, 5)))
        out[0] = f_x if pressed else 0.0
        out[1] = f_y if pressed else 0.0
        out[2] = f_z if pressed else 0.0

    return law


def _differenced(force, n):
    """Central differences, one-sided where a step would leave the ground; x is changed and put back."""

    def law(par, x, out, jac):
        for i in range(3):
            out[i] = 0.0 if x[4] >= 0.0 else math.nan
        for i in range(15):
            jac[i] = 0.0
        if x[4] >= 0.0:
            return
        p = numba.carray(par, (n,))
        v = numba.carray(x, (3,))
        f_x, f_y, f_z = force(p, v, x[3], x[4])
        if not (f_z <= 0.0):
            for k in range(5):
                middle = x[k]
                # [m/s] and [m]: a millionth of the speeds, a hundred-thousandth of the depths that matter.
                step = 1e-6 * max(1.0, abs(middle)) if k < 4 else min(1e-7, -0.5 * middle)
                upper = middle + step
                lower = middle - step
                x[k] = upper
                a_x, a_y, a_z = force(p, v, x[3], x[4])
                x[k] = lower
                b_x, b_y, b_z = force(p, v, x[3], x[4])
                x[k] = middle
                rate = 1.0 / (upper - lower)
                jac[k] = (a_x - b_x) * rate
                jac[5 + k] = (a_y - b_y) * rate
                jac[10 + k] = (a_z - b_z) * rate
            out[0] = f_x
            out[1] = f_y
            out[2] = f_z
        else:
            out[0] = 0.0
            out[1] = 0.0
            out[2] = 0.0

    return law
