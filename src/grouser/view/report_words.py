"""What consistency of a covariance means, in words that stand in reports of calibration and odometry."""

from __future__ import annotations


def consistency(value: float, low: float, high: float, who: str) -> str:
    """What a mean squared normalised error says beside the band where 95 % of such means lie if all is as claimed."""
    said = f"{value:.2f}, where {low:.2f} to {high:.2f} is expected: "
    if value > high:
        return said + f"{who} is surer of itself than it should be here"
    if value < low:
        return said + f"errors are smaller than {who} claims"
    return said + f"{who} knows how good it is"


def better_than(mine: float, other: float, whose: str) -> str:
    """How one error compares with another's, as a factor."""
    if not (mine > 0.0 and other > 0.0):
        return f"{mine:.3g} m beside {other:.3g} m of {whose}"
    factor = other / mine
    if factor >= 1.0:
        return f"{factor:.3g} times smaller than {whose}'s"
    return f"{1.0 / factor:.3g} times larger than {whose}'s"


HELD_OUT = "The fit was made from this very log, so these errors are not held out; another log would tell more."
