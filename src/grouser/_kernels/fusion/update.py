"""Correction of the fusion filter by a few linearised rows, and the clones of past poses it corrects along."""

import math

from grouser._compile.jit import kernel
from grouser._kernels.fusion.group import act, exponential, product, turn
from grouser._kernels.fusion.memory import (
    ACCELERATION_BIAS,
    ANCHOR,
    CLONE,
    CLONES,
    COPIES_ROW,
    CORE,
    CORRECTION,
    E_ACCELERATION,
    E_GYRO,
    E_LASTING,
    E_POSITION,
    E_ROTATION,
    E_SLIP,
    E_VELOCITY,
    FIGURES_ROW,
    GYRO_BIAS,
    LASTING,
    MOST_CLONES,
    NOMINAL_ROW,
    PICKS,
    POSITION,
    QUATERNION,
    SLIP,
    VELOCITY,
)

# Rows of the scratch
WORK, ROTATION, PRODUCT, CHANGE, ROWS_H, INNOVATION_S, RESIDUAL, NOISE, SPARE = 0, 1, 4, 10, 11, 17, 23, 24, 30
DESK = 44


@kernel
def innovate(memory, m, count):
    """Squared normalised innovation of m rows, their H with `count` columns and noise on the desk; −1 if not definite.

    Leaves L⁻¹ H P and L⁻¹ r, with L Lᵀ = H P Hᵀ + R, for `commit`.
    """
    desk = memory.desk
    P = memory.spread
    picks = memory.tallies[PICKS:]
    n = CORE + CLONE * memory.tallies[CLONES]
    for j in range(m):
        row = desk[PRODUCT + j]
        h = desk[ROWS_H + j]
        for k in range(n):
            row[k] = 0.0
        for c in range(count):
            factor = h[c]
            if factor != 0.0:
                source = P[picks[c]]
                for k in range(n):
                    row[k] += factor * source[k]
    S = desk[INNOVATION_S : INNOVATION_S + 6]
    for i in range(m):
        row = desk[PRODUCT + i]
        for j in range(i + 1):
            h = desk[ROWS_H + j]
            total = desk[NOISE + i, j]
            for c in range(count):
                total += row[picks[c]] * h[c]
            S[i, j] = total
    square = 0.0
    r = desk[RESIDUAL]
    for i in range(m):
        for j in range(i + 1):
            total = S[i, j]
            for k in range(j):
                total -= S[i, k] * S[j, k]
            if j < i:
                S[i, j] = total / S[j, j]
            else:
                if not total > 1e-14 * S[i, i]:
                    return -1.0
                S[i, i] = math.sqrt(total)
        row = desk[PRODUCT + i]
        for j in range(i):
            factor = S[i, j]
            r[i] -= factor * r[j]
            other = desk[PRODUCT + j]
            for k in range(n):
                row[k] -= factor * other[k]
        inverse = 1.0 / S[i, i]
        r[i] *= inverse
        for k in range(n):
            row[k] *= inverse
        square += r[i] * r[i]
    return square


@kernel
def commit(memory, m):
    """Apply the rows of the last `innovate`: P ← P − (L⁻¹HP)ᵀ(L⁻¹HP), state ← Exp(K r) state."""
    desk = memory.desk
    P = memory.spread
    n = CORE + CLONE * memory.tallies[CLONES]
    change = desk[CHANGE]
    for k in range(n):
        change[k] = 0.0
    for j in range(m):
        row = desk[PRODUCT + j]
        factor = desk[RESIDUAL, j]
        for k in range(n):
            change[k] += factor * row[k]
        for i in range(n):
            target = P[i]
            size = row[i]
            for k in range(n):
                target[k] -= size * row[k]
    work = desk[WORK]
    x = memory.desk[NOMINAL_ROW]
    act(change, E_ROTATION, x, VELOCITY, E_VELOCITY, work)
    act(change, E_ROTATION, x, POSITION, E_POSITION, work)
    turn(change, E_ROTATION, x, QUATERNION, work)
    for i in range(3):
        x[GYRO_BIAS + i] += change[E_GYRO + i]
        x[ACCELERATION_BIAS + i] += change[E_ACCELERATION + i]
        x[SLIP + i] += change[E_SLIP + i]
        x[LASTING + i] += change[E_LASTING + i]
    f = memory.desk[FIGURES_ROW]
    act(change, E_ROTATION, f, CORRECTION + 4, E_VELOCITY, work)
    act(change, E_ROTATION, f, CORRECTION + 7, E_POSITION, work)
    exponential(change[0], change[1], change[2], work, 0)
    product(work, 0, f, CORRECTION, f, CORRECTION)
    for c in range(memory.tallies[CLONES]):
        at = CORE + CLONE * c
        copy = memory.desk[COPIES_ROW + c]
        act(change, at, copy, 5, at + 3, work)
        turn(change, at, copy, 1, work)


@kernel
def drop_clone(memory, index):
    """Forget a cloned pose."""
    P = memory.spread
    count = memory.tallies[CLONES]
    n = CORE + CLONE * count
    at = CORE + CLONE * index
    for i in range(n):
        row = P[i]
        for k in range(at, n - CLONE):
            row[k] = row[k + CLONE]
    for i in range(at, n - CLONE):
        for k in range(n):
            P[i, k] = P[i + CLONE, k]
    for c in range(index, count - 1):
        for k in range(8):
            memory.desk[COPIES_ROW + c, k] = memory.desk[COPIES_ROW + c + 1, k]
    memory.tallies[CLONES] = count - 1
    if memory.tallies[ANCHOR] == index:
        memory.tallies[ANCHOR] = -1
    elif memory.tallies[ANCHOR] > index:
        memory.tallies[ANCHOR] -= 1


@kernel
def make_room(memory):
    """Forget the oldest clone that is not the anchor of a standstill if there is no room for another."""
    if memory.tallies[CLONES] == memory.tallies[MOST_CLONES]:
        drop_clone(memory, 1 if memory.tallies[ANCHOR] == 0 else 0)


@kernel
def copy_rows(memory):
    """Add an error block equal to the present error of rotation and position; the caller fills the pose."""
    P = memory.spread
    n = CORE + CLONE * memory.tallies[CLONES]
    for i in range(3):
        for k in range(n):
            P[n + i, k] = P[E_ROTATION + i, k]
            P[n + 3 + i, k] = P[E_POSITION + i, k]
    mirror_rows(memory, n)
    memory.tallies[CLONES] += 1
    return memory.tallies[CLONES] - 1


@kernel
def mirror_rows(memory, n):
    """Columns of a new block whose rows (6, n) are J P: mirrored, and its corner as of an identity J."""
    P = memory.spread
    for i in range(CLONE):
        for k in range(n):
            P[k, n + i] = P[n + i, k]
    for i in range(CLONE):
        for j in range(CLONE):
            P[n + i, n + j] = P[n + i, j if j < 3 else E_POSITION + j - 3]
