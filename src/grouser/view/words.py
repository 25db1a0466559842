"""Sentences about errors that stand in reports and on the command line."""

from collections.abc import Sequence

HELD_OUT = "The fit was made from this log, so these errors are not held out; evaluate it on another log."


def consistency(nees: float, band: Sequence[float], who: str) -> str:
    """A NEES, the band that holds 95 % of such means if the covariance is right, and what follows from them."""
    low, high = band
    said = f"{nees:.2f}, expected {low:.2f} to {high:.2f}: errors are "
    if low <= nees <= high:
        return said + f"consistent with the covariance of {who}"
    return said + f"{'larger' if nees > high else 'smaller'} than the covariance of {who} allows"


def better_than(mine: float, other: float, whose: str) -> str:
    """One error compared with another, as a factor."""
    if not (mine > 0.0 and other > 0.0):
        return f"{mine:.3g} m, that of {whose} {other:.3g} m"
    factor = other / mine
    times = f"{factor:.3g} times smaller" if factor >= 1.0 else f"{1.0 / factor:.3g} times larger"
    return f"{times} than {whose}'s"


def odometry_name(calibrated: bool, gyro: bool, *, adapts: bool = False) -> str:
    """What an odometry is called in tables and legends."""
    return f"{'adapting' if adapts else 'calibrated' if calibrated else 'plain'} odometry{' with gyro' if gyro else ''}"
