"""Sine, cosine and arctangent of lanes (`_compile/lanes.py`), by the series of `elementary.py`."""

import math
from typing import Any

from grouser._compile.jit import inlined
from grouser._compile.lanes import Emitted, declare, lanes, where
from grouser._kernels.elementary import HALF_PI, sine_cosine, small_arctangent

_PLAIN = getattr(sine_cosine, "py_func", sine_cosine)
_TAN_PI_8 = 0.4142135623730950


def _turned(which: int) -> Any:
    """Emit the sine (0) or cosine (1) of any angle."""

    def build(builder: Any, angle: Any) -> Any:
        x = Emitted(builder, angle)
        whole = (x * (1.0 / (2.0 * math.pi)) + 0.5).floor()
        return _PLAIN(x - whole * (2.0 * math.pi))[which].value

    return build


declare(math.sin, _turned(0), lanes, 1)
declare(math.cos, _turned(1), lanes, 1)


@inlined
def arctangent2(y, x):
    """atan2(y, x) of lanes; 0 for 0, 0."""
    a = abs(x)
    b = abs(y)
    t = min(a, b) / max(max(a, b), 1e-300)
    large = t > _TAN_PI_8
    angle = where(large, 0.5 * HALF_PI, 0.0) + small_arctangent(where(large, t - 1.0, t) / where(large, t + 1.0, 1.0))
    angle = where(b > a, HALF_PI - angle, angle)
    return math.copysign(where(x < 0.0, 2.0 * HALF_PI - angle, angle), y)
