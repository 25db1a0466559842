"""Streaming odometry over many samples in one call: what `odometry.update` does, without Python between samples."""

from grouser._kernels.jit import entry
from grouser._kernels.odometry import take_sample
from grouser._kernels.odometry_store import store_in


@entry
def take_samples(
    numbers, indices, settings, joints, linear, contact, memory, rates, angles, sense, by_speed, sliding, speed, last,
    out, bits,
):  # fmt: skip
    """Take samples rates, angles (n, nj), sense (n, 6) one after the other: estimates into out, fault bits into bits.

    settings[by_speed] are sliding × speed (n,) in each sample. last is the estimate before, and the last one after.
    """
    store = store_in(numbers, indices)
    for k in range(sense.shape[0]):
        for i in range(by_speed.size):
            settings[by_speed[i]] = sliding[i] * speed[k]
        bits[k] = take_sample(
            store, settings, joints, linear, contact, memory, rates[k], angles[k], sense[k], last
        )  # fmt: skip
        for i in range(last.size):
            out[k, i] = last[i]
