"""Arctangent and sine written out, to 3e-16: inlined they overlap, while calls of the C library run in turn."""

import math

from grouser._compile.jit import inlined

HALF_PI = 0.5 * math.pi


@inlined
def small_arctangent(t):
    """atan(t) for |t| ≤ tan(π/8)."""
    z = t * t
    zz = z * z
    z4 = zz * zz
    # Estrin's order: half as long a chain of dependent products as Horner's.
    low = (-0.3333333333333325 + 0.1999999999989897 * z) + (-0.1428571426613922 + 0.11111109638170463 * z) * zz
    high = (-0.09090852593266646 + 0.0769105564244868 * z) + (-0.0664961770620091 + 0.057363522143896395 * z) * zz
    p = low + (high + (-0.0448339002222803 + 0.022751176887184227 * z) * z4) * z4
    return t + t * z * p


@inlined
def arctangent(x):
    """atan(x), for any x; NaN for NaN."""
    size = abs(x)
    # atan x = π/4 + atan((x−1)/(x+1)) = π/2 − atan(1/x) brings the argument below tan(π/8).
    top = size
    bottom = 1.0
    base = 0.0
    if size > 0.4142135623730950:
        top = size - 1.0
        bottom = size + 1.0
        base = 0.5 * HALF_PI
    if size > 2.414213562373095:
        top = -1.0
        bottom = size
        base = HALF_PI
    return math.copysign(base + small_arctangent(top / bottom), x)


@inlined
def sine_cosine(x):
    """sin(x) and cos(x) for |x| ≤ π, by doubling a quarter of the angle twice."""
    r = 0.25 * x
    z = r * r
    zz = z * z
    s = (-1.66666666666666307295e-1 + 8.33333333332211858878e-3 * z) + zz * (
        (-1.98412698295895385996e-4 + 2.75573136213857245213e-6 * z)
        + zz * (-2.50507477628578072866e-8 + 1.58962301576546568060e-10 * z)
    )
    c = (4.16666666666665929218e-2 - 1.38888888888730564116e-3 * z) + zz * (
        (2.48015872888517045348e-5 - 2.75573141792967388112e-7 * z)
        + zz * (2.08757008419747316778e-9 - 1.13585365213876817300e-11 * z)
    )
    s = r + r * z * s
    c = 1.0 - 0.5 * z + zz * c
    c, s = 1.0 - 2.0 * s * s, 2.0 * s * c
    return 2.0 * s * c, 1.0 - 2.0 * s * s
