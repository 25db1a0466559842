"""Mean rim speed of the measured wheels, in any direction."""

from grouser._compile.jit import inlined

LARGEST = 1e9
"""A rate counts as measured below this [rad/s]; NaN and infinity do not."""


@inlined
def rim_speed(vehicle, rates):
    """Mean |rate| · radius of the measured wheels [m/s], 0 if there are none, and their number; rates (nj,)."""
    total = 0.0
    count = 0
    for w in range(vehicle.wheel.size):
        rate = abs(rates[vehicle.wheel[w] - 1])
        if rate < LARGEST:
            total += rate * vehicle.radius[w]
            count += 1
    return total / max(count, 1), count
