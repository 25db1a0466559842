"""Arrays in a scene: bytes in base64 with their type and shape, which a browser decodes without loss; 95 % ellipses."""

import base64
import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser.checks import FloatArray

Encoded = dict[str, Any]
"""{"type": f8, f4, u4, u2 or u1, "shape": […], "base64": "…"}, little-endian, last axis fastest."""
Rows = NDArray[np.int64]
"""Which states are drawn, (n,)."""
SIGMAS_95 = math.sqrt(-2.0 * math.log(0.05))
"""Half axes of the 95 % ellipse of a position, in sigmas: χ² of two degrees of freedom."""


def encoded(values: ArrayLike, kind: str) -> Encoded:
    """Values as a type of the browser."""
    packed = np.ascontiguousarray(values, dtype=f"<{kind}")
    return {"type": kind, "shape": list(packed.shape), "base64": base64.b64encode(packed.tobytes()).decode("ascii")}


exact = partial(encoded, kind="f8")
"""Every bit of float64: times, and poses of the body."""
single = partial(encoded, kind="f4")
"""Float32, for lines, arrows and joints; positions must be near the scene's origin."""


def half_axes(covariance: FloatArray) -> FloatArray:
    """Half axes of the 95 % ellipses of covariances (n, 2, 2) [m²]: columns minor, major [m], (n, 2, 2)."""
    variances, axes = np.linalg.eigh(covariance)
    half: FloatArray = axes * (SIGMAS_95 * np.sqrt(np.maximum(variances, 0.0)))[:, None, :]
    return half
