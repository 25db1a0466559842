"""Arrays in a scene: bytes in base64 with their type and shape, which a browser turns back without loss."""

import base64
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Encoded = dict[str, Any]
"""{"type": f8, f4, u4, u2 or u1, "shape": […], "base64": "…"}, little-endian, last axis fastest."""
Rows = NDArray[np.int64]
"""Which states are drawn, (n,)."""


def evenly(total: int, most: int) -> Rows:
    """Rows to draw: all, or at most `most`, evenly chosen with the first and the last."""
    return np.unique(np.linspace(0, total - 1, min(total, most)).astype(np.int64))


def encoded(values: ArrayLike, kind: str) -> Encoded:
    """Values as a type of the browser."""
    packed = np.ascontiguousarray(values, dtype=f"<{kind}")
    return {"type": kind, "shape": list(packed.shape), "base64": base64.b64encode(packed.tobytes()).decode("ascii")}


exact = partial(encoded, kind="f8")
"""Every bit of float64: times, and poses of the body."""
single = partial(encoded, kind="f4")
"""Float32, for lines, arrows and joints; positions must be near the scene's origin."""
