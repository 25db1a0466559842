"""A Kalman filter over linearised intervals, T (3.48)–(3.54), with slopes of their likelihood by the noise.

An interval k is a measurement y_k = H_k p + noise of covariance R_k = fixed_k + Σ_j φ_j basis_kj. It is a good one or,
with a small chance, an outlier whose covariance is `WIDER` times as large: the weight of either follows from the
innovation, and counts for parameters and noise alike.
"""

import math

from grouser._compile.jit import entry, inlined, kernel
from grouser._compile.struct import Struct, array, number
from grouser._kernels.arrays import fill

OUTLIERS = 0.02
"""Share of intervals that are expected to be outliers."""
WIDER = 100.0
"""Covariance of an outlier's innovation by that of a good one."""
MOST = 1.5
"""Squared distance that an outlier counts with, at most, by that of an average interval."""


class IntervalRun(Struct):
    """K intervals of m residuals, n parameters p, ns coefficients φ of the noise."""

    y = array("K", "m")  # measured, less the prediction at p = 0 by the slopes
    H = array("K", "m", "n")  # slopes of the prediction
    fixed = array("K", "m", "m")  # covariance that does not depend on φ
    basis = array("K", "ns", "m", "m")  # covariance per φ
    seconds = array("K")  # duration of each
    lasting = array("K", "m", "m")  # covariance to learn with, beyond that of the interval
    phi = array("ns")
    drift = array("n")  # random walk of p [its unit² per second]
    lower = array("n")
    upper = array("n")
    gate = number()  # squared distance beyond which an interval counts for nothing; infinite: all count in full
    # results
    distance = array("K")  # squared Mahalanobis distance of the innovation
    weight = array("K")  # of the interval, 0 … 1
    evidence = array("K")  # logarithm of the density of the innovation
    score = array("ns")  # slope of the evidence of all by φ, added up
    information = array("ns", "ns")  # Fisher information about φ, added up
    # work space
    R = array("m", "m")
    L = array("m", "m")
    G = array("m", "n")  # H P, then L⁻¹ H P
    r = array("m")
    x = array("m")
    inverse = array("m", "m")
    product = array("ns", "m", "m")


@inlined
def factorise(A, m, L):
    """A = L Lᵀ; returns log |A|, or NaN if A is not positive definite."""
    logarithm = 0.0
    for i in range(m):
        for j in range(i + 1):
            total = A[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i > j:
                L[i, j] = total / L[j, j]
            elif total > 0.0:
                L[i, i] = math.sqrt(total)
                logarithm += math.log(total)
            else:
                return math.nan
    return logarithm


@inlined
def forward(L, m, x):
    """x ← L⁻¹ x."""
    for i in range(m):
        total = x[i]
        for k in range(i):
            total -= L[i, k] * x[k]
        x[i] = total / L[i, i]


@inlined
def backward(L, m, x):
    """x ← L⁻ᵀ x."""
    for i in range(m - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, m):
            total -= L[k, i] * x[k]
        x[i] = total / L[i, i]


@inlined
def innovation_covariance(run, k, noise, lasting):
    """H P Hᵀ + noise R + lasting · run.lasting into run.inverse, for G = H P; its lower half."""
    m, n = run.H.shape[1], run.H.shape[2]
    for i in range(m):
        for j in range(i + 1):
            total = noise * run.R[i, j] + lasting * run.lasting[k, i, j]
            for c in range(n):
                total += run.G[i, c] * run.H[k, j, c]
            run.inverse[i, j] = total


@kernel
def learn_noise(run, k, m, weight):
    """Add what an innovation says of φ: T (3.28)–(3.42) in the form of a score. run.L factorises its covariance S.

    ∂/∂φ_j = ½ (w xᵀ B_j x − tr S⁻¹ B_j) with x = S⁻¹ r, and the information ½ tr(S⁻¹ B_i S⁻¹ B_j).
    """
    ns = run.phi.size
    for i in range(m):
        fill(run.inverse[i], 0.0)
        run.inverse[i, i] = 1.0
        forward(run.L, m, run.inverse[i])
        backward(run.L, m, run.inverse[i])
    for j in range(ns):
        trace = square = 0.0
        for a in range(m):
            for b in range(m):
                total = 0.0
                for c in range(m):
                    total += run.inverse[a, c] * run.basis[k, j, c, b]
                run.product[j, a, b] = total
                square += run.x[a] * run.basis[k, j, a, b] * run.x[b]
            trace += run.product[j, a, a]
        run.score[j] += 0.5 * (weight * square - trace)
        for i in range(j + 1):
            total = 0.0
            for a in range(m):
                for b in range(m):
                    total += run.product[i, a, b] * run.product[j, b, a]
            run.information[i, j] += 0.5 * total
            if i < j:
                run.information[j, i] += 0.5 * total


@inlined
def weigh(run, k, m, square, logarithm, of_noise):
    """Weight of an interval by its squared distance and log |S|; sets its evidence too, with log |R|.

    An outlier is as probable as in a box whose size follows from the noise alone: what no estimate explains says
    nothing about which of them is right.
    """
    good = math.log(1.0 - OUTLIERS) - 0.5 * square
    bad = math.log(OUTLIERS) - 0.5 * (m * math.log(WIDER) + square / WIDER)
    run.evidence[k] = log_sum(
        good - 0.5 * logarithm, math.log(OUTLIERS) - 0.5 * (m * math.log(WIDER) + of_noise)
    ) - 0.5 * m * math.log(2.0 * math.pi)
    if run.gate == math.inf:
        return 1.0
    if square > run.gate:
        return 0.0
    share = math.exp(good - log_sum(good, bad))
    return share + (1.0 - share) * min(1.0 / WIDER, MOST * m / max(square, 1e-300))


@inlined
def log_sum(a, b):
    """log(eᵃ + eᵇ)."""
    most = max(a, b)
    return most + math.log(math.exp(a - most) + math.exp(b - most))


@kernel
def advance(run, k, p, P):
    """One interval: p (n,) and its covariance P (n, n) after it; False if a covariance is not positive definite."""
    m, n = run.H.shape[1], run.H.shape[2]
    for i in range(n):
        P[i, i] += run.drift[i] * run.seconds[k]  # (3.49)
    for i in range(m):
        run.r[i] = run.y[k, i]
        for c in range(n):
            run.r[i] -= run.H[k, i, c] * p[c]
            total = 0.0
            for d in range(n):
                total += run.H[k, i, d] * P[d, c]
            run.G[i, c] = total
        for j in range(m):
            total = run.fixed[k, i, j]
            for s in range(run.phi.size):
                total += run.phi[s] * run.basis[k, s, i, j]
            run.R[i, j] = total
    of_noise = factorise(run.R, m, run.L)
    innovation_covariance(run, k, 1.0, 0.0)
    logarithm = factorise(run.inverse, m, run.L)
    if math.isnan(logarithm) or math.isnan(of_noise):
        return False
    square = 0.0
    for i in range(m):
        run.x[i] = run.r[i]
    forward(run.L, m, run.x)
    for i in range(m):
        square += run.x[i] ** 2
    backward(run.L, m, run.x)
    weight = weigh(run, k, m, square, logarithm, of_noise)
    run.distance[k], run.weight[k] = square, weight
    if weight > 0.0:
        learn_noise(run, k, m, weight)
        if weight < 1.0 or run.lasting[k, 0, 0] != 0.0:
            innovation_covariance(run, k, 1.0 / weight, 1.0)
            if math.isnan(factorise(run.inverse, m, run.L)):
                return False
        correct(run, m, n, p, P)
    return True


@inlined
def correct(run, m, n, p, P):
    """p += P Hᵀ S⁻¹ r and P −= P Hᵀ S⁻¹ H P, with run.L of S, G = H P and the innovation r; p within its bounds."""
    forward(run.L, m, run.r)
    for i in range(m):
        for c in range(n):
            total = run.G[i, c]
            for j in range(i):
                total -= run.L[i, j] * run.G[j, c]
            run.G[i, c] = total / run.L[i, i]
    for c in range(n):
        for i in range(m):
            p[c] += run.G[i, c] * run.r[i]
        p[c] = min(max(p[c], run.lower[c]), run.upper[c])
        for d in range(n):
            total = 0.0
            for i in range(m):
                total += run.G[i, c] * run.G[i, d]
            P[c, d] -= total


@entry
def filter_sequence(run, first, last, p, P):
    """Intervals from first to last, one after another; returns the number of the first that failed, or −1."""
    for k in range(first, last):
        if not advance(run, k, p, P):
            return k
    return -1


@entry
def filter_side_by_side(run, p, P):
    """Interval k for the k-th of K filters p (K, n), P (K, n, n); returns the first that failed, or −1."""
    for k in range(p.shape[0]):
        if not advance(run, k, p[k], P[k]):
            return k
    return -1
