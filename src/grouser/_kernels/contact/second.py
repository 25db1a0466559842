"""Two contacts a wheel, where the ground touches it twice: floor and step, the sides of a groove.

Contact w is the first of wheel w, contact nw + w the second: another minimum of Δz along the rim. Where Δz rises above
zero between them each is as deep as it is. Where it does not, the rim is in the ground all along: what both depths have
in common is shared, so that a second contact comes and goes without a jump of force.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.contact.geometry import (
    has_round_tyre,
    search_balls,
    search_wheels,
    set_found_contact,
    set_rims,
)
from grouser._kernels.contact.search import FOUND, search_rims_twice
from grouser._kernels.rotation import add, dot, vector
from grouser._kernels.vehicles.kinds import rolling_count


@inlined
def share_depth(s, w, k, prominence):
    """Reduce the depths of the contacts w and k of a wheel by what they have in common.

    Depth below the crest between them is each one's own. The rest belongs to both, in proportion to their own: all of
    it to the deeper one as the other vanishes, half of it to each where they are equally deep, so that it does not
    matter which is the first.
    """
    common = -s.height_error[k] - prominence
    if common <= 0.0:
        return
    own = -s.height_error[w] - common
    total = own + prominence
    lent = common * prominence / total if total > 0.0 else 0.0
    s.height_error[w] += lent
    s.height_error[k] = -(prominence + lent)


@inlined
def swap_contacts(s, a, b):
    """Contacts a and b change places."""
    for i in range(3):
        s.p_contact[a, i], s.p_contact[b, i] = s.p_contact[b, i], s.p_contact[a, i]
        for j in range(3):
            s.axes[a, i, j], s.axes[b, i, j] = s.axes[b, i, j], s.axes[a, i, j]
    s.height_error[a], s.height_error[b] = s.height_error[b], s.height_error[a]


@kernel
def set_both_contacts(vehicle, s, w, k):
    """Both contacts of wheel w; while there are two, each keeps its place, and what a bristle remembers of it."""
    before = vector(s.p_contact[w], 0)
    set_found_contact(vehicle, s, w, w)
    set_found_contact(vehicle, s, w, k)
    s.rolling_radius[k] = s.rolling_radius[w]
    share_depth(s, w, k, s.search[k].prominence)
    to_first = add(s.p_contact[w], -1.0, before)
    to_second = add(s.p_contact[k], -1.0, before)
    if dot(before, before) > 0.0 and dot(to_second, to_second) < dot(to_first, to_first):
        swap_contacts(s, w, k)


@inlined
def find_wheel_contacts(vehicle, ground, second, s):
    """One contact of every wheel, or two where the ground asks for it; False if it ends under a wheel.

    second: 0 one, 1 up to two, 2 up to two if the ground is folded. A vehicle with a round tyre has one a wheel, and
    a ball that slides has one.
    """
    nw = vehicle.wheel.size
    set_rims(vehicle, s)
    twice = (second == 1 or (second == 2 and ground.folded)) and not has_round_tyre(vehicle)
    if twice:
        inside = search_rims_twice(ground, 0, rolling_count(vehicle), s)
        inside = inside and (vehicle.friction.size == 0 or search_balls(vehicle, ground, s))
    else:
        inside = search_wheels(vehicle, ground, s)
    if not inside:
        return False
    for w in range(nw):
        if twice and s.search[nw + w].state == FOUND:
            set_both_contacts(vehicle, s, w, nw + w)
        else:
            set_found_contact(vehicle, s, w, w)
            s.height_error[nw + w] = math.inf
    return True
