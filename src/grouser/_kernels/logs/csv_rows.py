"""Rows of a CSV as numbers, each the double nearest to its text, as Python's float() gives it.

What is not plainly a number (words, quotes, rows of another length, a number so near the middle of two doubles that
more digits would be needed) is left to Python, row by row.
"""

import numpy as np

from grouser._compile.jit import exact_entry, exact_kernel

NEWLINE, QUOTE, REMARK = 10, 34, 35
BLANKS = (32, 9, 13)
"""Blank, tab, and the return before a newline."""
EXACT = np.uint64(2**53)
"""Whole numbers up to here are doubles."""
MOST_DIGITS = 19
"""That fit in 64 bits."""
TENS = 60
POWER = np.array([float(10**k) for k in range(TENS + 1)])
"""10^k, exact up to k = 22."""
POWER_REST = np.array([float(10**k - int(float(10**k))) for k in range(TENS + 1)])
"""What is missing of it."""
SPLIT = 134217729.0
"""2^27 + 1: halves a double into two that multiply without error."""
DOUBT = 2.0**-49


@exact_entry
def parse_rows(text, delimiter, slot, out, start, hard):
    """Numbers of the lines of a text (n,) that does not end in a newline; returns how many lines.

    Column c of a line goes to out[slot[c], line]; none where slot[c] < 0. NaN for an empty cell. A line begins at
    text[start[line]]; where hard[line], `out` holds nothing of it that can be used.
    """
    width, n = len(slot), len(text)
    row = i = 0
    while i <= n:
        start[row] = i
        easy = not (i < n and text[i] == REMARK)
        filled = False
        cell = 0
        while True:
            end = i
            while end < n and text[end] != delimiter and text[end] != NEWLINE:
                easy = easy and text[end] != QUOTE
                filled = filled or text[end] > 32
                end += 1
            if easy and cell < width and slot[cell] >= 0:
                out[slot[cell], row], easy = number(text, i, end)
            cell += 1
            if end == n or text[end] == NEWLINE:
                break
            i = end + 1
        hard[row] = not (easy and filled and cell == width)
        row += 1
        i = end + 1
    return row


@exact_kernel
def number(text, i, end):
    """The number in text[i:end], and whether it is certain."""
    while i < end and text[i] in BLANKS:
        i += 1
    while i < end and text[end - 1] in BLANKS:
        end -= 1
    if i == end:
        return np.nan, True
    negative = text[i] == 45
    if negative or text[i] == 43:
        i += 1
    # nan in small or large letters, which differ in bit 32
    if end - i == 3 and text[i] | 32 == 110 and text[i + 1] | 32 == 97 and text[i + 2] | 32 == 110:
        return np.nan, True
    digits, significant, ten = 0, 0, 0
    mantissa = np.uint64(0)
    point = False
    while i < end and (48 <= text[i] <= 57 or (text[i] == 46 and not point)):
        if text[i] == 46:
            point = True
        else:
            mantissa = mantissa * np.uint64(10) + np.uint64(text[i] - 48)
            digits += 1
            significant += mantissa > np.uint64(0)
            if significant > MOST_DIGITS:
                return np.nan, False
            ten -= point
        i += 1
    if digits == 0:
        return np.nan, False
    if i < end and text[i] | 32 == 101:
        i += 1
        down = i < end and text[i] == 45
        if i < end and (down or text[i] == 43):
            i += 1
        first, exponent = i, 0
        while i < end and 48 <= text[i] <= 57 and i < first + 4:
            exponent = 10 * exponent + int(text[i] - 48)
            i += 1
        if i == first:
            return np.nan, False
        ten += -exponent if down else exponent
    if i < end:
        return np.nan, False
    value, sure = scaled(mantissa, ten)
    return (-value if negative else value), sure


@exact_kernel
def scaled(mantissa, ten):
    """mantissa · 10^ten rounded to the nearest double, and whether that is certain."""
    high = np.float64(mantissa)
    if ten == 0 or mantissa == np.uint64(0):
        return high, True
    if mantissa <= EXACT and -22 <= ten <= 22:
        # Both are exact, so the one operation rounds as it should.
        return (high * POWER[ten] if ten > 0 else high / POWER[-ten]), True
    if not -TENS <= ten < 0:
        return np.nan, False
    # A quotient and its correction: v = q + (high + low − q (p + p_rest))/p, of which only the last part is rounded.
    low = np.float64(np.int64(mantissa - np.uint64(high)))
    p, p_rest = POWER[-ten], POWER_REST[-ten]
    q = high / p
    product = q * p
    t = SPLIT * q
    q1 = t - (t - q)
    t = SPLIT * p
    p1 = t - (t - p)
    q2, p2 = q - q1, p - p1
    error = ((q1 * p1 - product) + q1 * p2 + q2 * p1) + q2 * p2  # product + error = q p, Dekker 1971
    rest = (high - product) - error
    correction = (rest + low - q * p_rest) / p
    doubt = DOUBT * (abs(rest) + abs(low) + abs(q * p_rest)) / p
    below, above = q + (correction - doubt), q + (correction + doubt)
    return below, below == above
