"""The powertrain along a log, P §5: exact between all instants at which a delayed command changes."""

import math

from grouser._compile.jit import entry


@entry
def follow_commands(time, command, bounds, gain, delay, time_constant, out):
    """rate′ = (gain · command(t − delay) − rate)/time_constant for commands (n, k) held from sample to sample.

    Stretch s is samples bounds[s] to bounds[s + 1]; out (n, k) holds the rate at its first sample already. Before the
    delay is over the first command counts.
    """
    for s in range(len(bounds) - 1):
        low, high = bounds[s], bounds[s + 1]
        if low >= high:
            continue
        now, held, coming = time[low], low - 1, low
        for i in range(low + 1, high):
            out[i] = out[i - 1]
            while now < time[i]:
                while coming < high and time[coming] + delay <= now:
                    coming += 1
                end = time[i]
                if coming < high and time[coming] + delay < end:
                    end = time[coming] + delay
                # Asked in the middle of the piece, where rounding of its ends does not decide.
                acting = 0.5 * (now + end) - delay
                while held + 1 < high and time[held + 1] <= acting:
                    held += 1
                keep = math.exp(-(end - now) / time_constant) if time_constant > 0.0 else 0.0
                for c in range(out.shape[1]):
                    target = gain * command[max(held, low), c]
                    out[i, c] = target + (out[i, c] - target) * keep
                now = end
