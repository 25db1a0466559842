"""The compiled engine: Numba functions on plain arrays, no classes, no I/O, no checks of input.

The public packages validate, allocate and name things, then call these.
"""
