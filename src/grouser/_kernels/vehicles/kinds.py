"""Wheels that are not turned by a joint of their own: balls that slide, and wheels that turn with another.

Balls are the last of the wheels. Neither kind has a velocity that is solved for.
"""

from grouser._compile.jit import inlined


@inlined
def rolling_count(vehicle):
    """Number of wheels that roll; those after them slide."""
    return vehicle.wheel.size - vehicle.friction.size


@inlined
def turn_along(vehicle, velocity):
    """Wheels that turn with another have its rate."""
    for i in range(vehicle.follower.size):
        w = vehicle.follower[i]
        velocity[5 + vehicle.wheel[w]] = velocity[5 + vehicle.leader[w]]
