"""Sine, cosine, arcsine and arctangent of lanes (`_compile/lanes.py`), by the series of `elementary.py`."""

import math
from typing import Any

from grouser._compile.lanes import Emitted, declare, lanes
from grouser._kernels.elementary import HALF_PI, sine_cosine, small_arctangent

_TAN_PI_8 = 0.4142135623730950


def _plain(kernel: Any) -> Any:
    return getattr(kernel, "py_func", kernel)


def _sine_cosine(angle: Emitted) -> Any:
    """Of any angle."""
    whole = (angle * (1.0 / (2.0 * math.pi)) + 0.5).call("floor")
    return _plain(sine_cosine)(angle - whole * (2.0 * math.pi))


def _arctangent2(y: Emitted, x: Emitted) -> Emitted:
    """atan2(y, x); 0 for 0, 0."""
    a, b = x.call("fabs"), y.call("fabs")
    larger = a.pick("<", b, b, a)
    t = a.pick("<", b, a, b) / larger.pick("<", 1e-300, 1e-300, larger)
    ratio = t.pick(">", _TAN_PI_8, t - 1.0, t) / t.pick(">", _TAN_PI_8, t + 1.0, 1.0)
    angle = t.pick(">", _TAN_PI_8, 0.5 * HALF_PI, 0.0) + _plain(small_arctangent)(ratio)
    angle = b.pick(">", a, HALF_PI - angle, angle)
    return x.pick("<", 0.0, 2.0 * HALF_PI - angle, angle).call("copysign", y)


def _arcsine(x: Emitted) -> Emitted:
    """Within ±π/2, for |x| ≤ 1."""
    rest = 1.0 - x * x
    return _arctangent2(x, rest.pick("<", 0.0, 0.0, rest).call("sqrt"))


declare(math.sin, lambda builder, a: _sine_cosine(Emitted(builder, a))[0].value, lanes, [(lanes,)])
declare(math.cos, lambda builder, a: _sine_cosine(Emitted(builder, a))[1].value, lanes, [(lanes,)])
declare(math.asin, lambda builder, a: _arcsine(Emitted(builder, a)).value, lanes, [(lanes,)])
declare(math.atan2, lambda builder, y, x: _arctangent2(Emitted(builder, y), Emitted(builder, x)).value, lanes)
