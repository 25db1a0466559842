"""Snapshots of the chain on board: what a late signal makes it return to."""

import math

from grouser._compile.jit import kernel
from grouser._kernels.arrays import copy

BEGINNING = -1  # place of the snapshot before the first event


@kernel
def save(chain, slot):
    """A snapshot after the event in a slot, or at the beginning; the oldest is forgotten when there is no room."""
    now, rows = chain.present, chain.snapshot_rows
    if now.snapshots == rows.size:
        oldest = rows[0]
        for k in range(now.snapshots - 1):
            rows[k] = rows[k + 1]
        rows[now.snapshots - 1] = oldest
        now.snapshots -= 1
    k = rows[now.snapshots]
    now.snapshots += 1
    row = chain.saved[k]
    row.place = slot
    row.sequence = 0 if slot == BEGINNING else chain.sequence[slot]
    row.time = -math.inf if slot == BEGINNING else chain.time[slot]
    row.joints = now.joints
    copy(now.twist, row.twist)
    copy(chain.faults, row.faults)
    copy(chain.fusion.everything, chain.saved_fusion[k])
    copy(chain.odometry.suspicion.everything, chain.saved_suspicion[k])
    chain.saved_memory[k] = chain.memory[0]
    chain.saved_estimate[k] = chain.last[0]
    for j in range(chain.odometry.joints.size):
        chain.saved_joints[k, j] = chain.odometry.joints[j]


@kernel
def position_of(chain, k):
    """Position in the order of time of the event of snapshot k; −1 for the beginning, −2 if it is kept no longer."""
    row, now = chain.saved[k], chain.present
    if row.place == BEGINNING:
        return -1 if now.sequence == now.kept else -2
    if chain.sequence[row.place] != row.sequence:
        return -2
    for at in range(now.kept - 1, -1, -1):
        if chain.order[at] == row.place:
            return at
    return -2


@kernel
def return_before(chain, at):
    """Restore the last snapshot before a position, and forget later ones; the position of its event, −2 if none is."""
    now = chain.present
    while now.snapshots > 0:
        k = chain.snapshot_rows[now.snapshots - 1]
        position = position_of(chain, k)
        if -1 <= position < at:
            restore(chain, k)
            return position
        now.snapshots -= 1
    return -2


@kernel
def restore(chain, k):
    """Return to snapshot k."""
    now, row = chain.present, chain.saved[k]
    now.joints = row.joints
    copy(row.twist, now.twist)
    copy(row.faults, chain.faults)
    copy(chain.saved_fusion[k], chain.fusion.everything)
    copy(chain.saved_suspicion[k], chain.odometry.suspicion.everything)
    chain.memory[0] = chain.saved_memory[k]
    chain.last[0] = chain.saved_estimate[k]
    for j in range(chain.odometry.joints.size):
        chain.odometry.joints[j] = chain.saved_joints[k, j]
