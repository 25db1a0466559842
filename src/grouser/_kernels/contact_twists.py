"""Body velocities along a log whose contact angles change from sample to sample."""

from grouser._kernels.jit import entry
from grouser._kernels.log_integral import sample_twists


@entry
def contact_twists(vehicle, model, angles, q, v, out, s):
    """Body velocity (ω, v) into out (n, 6) for rows of states q, velocities v and contact angles (n, nw)."""
    for k in range(q.shape[0]):
        sample_twists(vehicle, model, angles[k], q[k : k + 1], v[k : k + 1], out[k : k + 1], s)
