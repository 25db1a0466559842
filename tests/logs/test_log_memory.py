"""A log of gigabytes is read a block at a time: what is held grows with its numbers, not with its text."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from log_drives import drive, manifest

import grouser as gr
from grouser.logs import table

WIDE = 60
"""Columns that the manifest does not ask for."""


def write_wide(path: Path, seconds: float) -> Path:
    """A drive whose every row also holds many columns of no use, 13 bytes each."""
    columns = drive(seconds)
    rest = "," + ",".join(["1.23456789012"] * WIDE)
    names = ",".join([*columns, *(f"other{k}" for k in range(WIDE))])
    rows = np.column_stack(list(columns.values()))
    path.write_text("\n".join([names, *(",".join(map(repr, row.tolist())) + rest for row in rows)]) + "\n")
    return path


def peak(path: Path) -> tuple[int, int]:
    """Bytes held at most while reading, and rows read."""
    tracemalloc.start()
    try:
        log = gr.read_log(path, manifest=manifest())
        return tracemalloc.get_traced_memory()[1], len(log)
    finally:
        tracemalloc.stop()


def test_memory_grows_with_the_numbers_asked_for_not_with_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "BLOCK", 1 << 16)
    short, long = (write_wide(tmp_path / f"{seconds}.csv", seconds) for seconds in (60.0, 240.0))
    gr.read_log(short, manifest=manifest())  # imports and caches
    (few, n_few), (many, n_many) = peak(short), peak(long)
    assert n_many == 4 * n_few
    grown = (many - few) / (n_many - n_few)
    text = (long.stat().st_size - short.stat().st_size) / (n_many - n_few)
    assert text > 800.0  # or the bound below would say nothing
    # Eight columns are read, 16 kept, a few more are in work at once: 50 numbers of 8 bytes is a wide bound.
    assert grown < 400.0


def test_blocks_of_any_size_give_the_same_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_wide(tmp_path / "log.csv", 20.0)
    whole = gr.read_log(path, manifest=manifest())
    for size in (1000, 4096, 100_001):
        monkeypatch.setattr(table, "BLOCK", size)
        parts = gr.read_log(path, manifest=manifest())
        np.testing.assert_array_equal(parts.time, whole.time)
        np.testing.assert_array_equal(parts.rates["FR"], whole.rates["FR"])
        np.testing.assert_array_equal(parts.poses.position, whole.poses.position)
        assert parts.report == whole.report
