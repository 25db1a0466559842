"""Pure rolling on smooth ground: one wheel, whole vehicles, and designs compared (R)."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.rolling.design import Design, compare, judge, load_shares
    from grouser.rolling.measure import Measures, measure
    from grouser.rolling.model import Mobility, RollingModel
    from grouser.rolling.motion import roll
    from grouser.rolling.start import Start, find_start
    from grouser.rolling.wheel import Rolling, Torus, roll_wheel

__all__ = [
    "Design",
    "Measures",
    "Mobility",
    "Rolling",
    "RollingModel",
    "Start",
    "Torus",
    "compare",
    "find_start",
    "judge",
    "load_shares",
    "measure",
    "roll",
    "roll_wheel",
]

lazy(__name__)
