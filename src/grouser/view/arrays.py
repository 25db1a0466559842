"""Arrays in a scene: bytes in base64 with their type and shape, which a browser turns back without loss."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser.checks import FloatArray

Encoded = dict[str, Any]
"""{"type": f8, f4, u4, u2 or u1, "shape": […], "base64": "…"}, little-endian, last axis fastest."""
Rows = NDArray[np.int64]
"""Which states are drawn, (n,)."""


def evenly(total: int, most: int) -> Rows:
    """Rows to draw: all, or at most `most`, evenly chosen with the first and the last."""
    return np.unique(np.linspace(0, total - 1, min(total, most)).astype(np.int64))


def exact(values: ArrayLike) -> Encoded:
    """Every bit of float64: times, and poses of the body."""
    return _encoded(np.asarray(values), "f8")


def single(values: ArrayLike) -> Encoded:
    """Float32, for lines, arrows and joints; positions must be near the scene's origin."""
    return _encoded(np.asarray(values), "f4")


def whole(values: ArrayLike) -> Encoded:
    """Whole numbers from 0 to 2³² − 1."""
    return _encoded(np.asarray(values), "u4")


def yes_or_no(values: ArrayLike) -> Encoded:
    """Truth values, one byte each."""
    return _encoded(np.asarray(values, dtype=bool), "u1")


def between(values: FloatArray, low: float, high: float) -> Encoded:
    """Numbers from low to high in 65536 levels: a height to 8 µm of each metre of relief."""
    levels = np.rint((values - low) * (65535.0 / max(high - low, 1e-12)))
    return _encoded(np.clip(levels, 0, 65535), "u2")


def _encoded(values: NDArray[Any], kind: str) -> Encoded:
    packed = np.ascontiguousarray(values, dtype=f"<{kind}")
    return {"type": kind, "shape": list(values.shape), "base64": base64.b64encode(packed.tobytes()).decode("ascii")}
