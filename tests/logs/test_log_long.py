"""A long log: the compiled reader gives the bits that Python gives, and what does not fit in memory says so."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np
import pytest
from log_drives import drive, manifest, rows, write

import grouser as gr
from grouser._kernels.logs.csv_rows import parse_rows
from grouser.errors import LogError
from grouser.logs import table
from grouser.logs.manifest import Csv
from grouser.logs.report import Tally
from grouser.motion import predict
from grouser.motion.intervals import cut_log
from grouser.motion.model import MotionModel
from grouser.motion.slip_surface import Perturbative


def cells(count: int) -> list[str]:
    """Numbers as programs write them, and some that lie next to the middle of two doubles."""
    rng = random.Random(7)
    made = []
    for k in range(count):
        x = rng.uniform(1e-3, 1e3)
        middle = (int(x * 2**60) + int(np.nextafter(x, np.inf) * 2**60)) * 10**16 // 2**61
        made.append(
            (
                repr(rng.gauss(0.0, 1.0)),
                f"{rng.gauss(0.0, 1e-3):.18e}",
                f"{rng.uniform(-1e4, 1e4):.{rng.randrange(12)}f}",
                str(rng.randrange(10**19)),
                f"{rng.randrange(10**17)}e{rng.randrange(-50, 40)}",
                f" {rng.gauss(0.0, 1.0):+.6g}\r",
                f"{str(middle)[:-16]}.{str(middle)[-16:]}",
                repr(struct.unpack("d", rng.randbytes(8))[0]),
            )[k % 8]
        )
    return [*made, "-0", "0.000", "-0.0e5", ".5", "5.", "1e5", "NaN", "-nan", "9007199254740993", "1e-400", "inf", ""]


def test_the_kernel_reads_every_number_to_the_last_bit_or_leaves_it() -> None:
    written = cells(20_000)
    text = "\n".join(f"{cell},1" for cell in written).encode()
    n = len(written)
    out, start, hard = np.empty((1, n)), np.empty(n, np.int64), np.empty(n, np.bool_)
    assert parse_rows(np.frombuffer(text, np.uint8), ord(","), np.array([0, -1]), out, start, hard) == n
    for cell, value, left in zip(written, out[0], hard, strict=True):
        if left:
            continue
        expected = float(cell) if cell.strip() else np.nan
        if np.isnan(expected):
            assert np.isnan(value)
        else:
            assert struct.pack("d", value) == struct.pack("d", expected), cell
    # What programs write must not be left to Python, or a long log would be as slow as before.
    assert not hard[[k for k in range(20_000) if k % 8 in (0, 2, 3, 5)]].any()


LINES = (
    "1,2,3", " 1.5 ,-2e-3,+4\r", '"1",2,3', '1,"2,5",3', "1,2", "1,2,3,4", "", "   ", "# a remark, with, commas",
    "a,b,c", "1,word,3", "1,,3", ",,", "nan,2,3", "1_0,2,3", "inf,-inf,1e400", "0x10,1,2", "1,2,3.", '1,2,"',
    "1.2.3,4,5", "--1,2,3", "1e,2,3", "1,\t2\t,3", "12345678901234567890123,2,3", "1,2,#3", "É,2,3",
)  # fmt: skip


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_messy_rows_are_read_and_counted_alike(delimiter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    text = ["a,b,c", *(rng.choice(LINES if rng.random() < 0.5 else LINES[:2]) for _ in range(3000)), "9,8,7"]
    path = write(tmp_path / "messy.csv", [line.replace(",", delimiter) for line in text])
    monkeypatch.setattr(table, "BLOCK", 5000)
    found = []
    for long in (1 << 40, 0):
        monkeypatch.setattr(table, "LONG", long)
        tally = Tally("messy.csv")
        # the second column twice, by its name and by its place
        read = table.read_table(path, ["b", 1, "c", "a"], Csv(delimiter=delimiter), tally)
        found.append((read, tally.rows, tally.cells))
    (plain, *said), (compiled, *also) = found
    assert said == also
    assert list(said[0]) == ["the row has too few or too many columns"]
    assert plain.rows == compiled.rows
    np.testing.assert_array_equal(plain.line, compiled.line)
    for column, values in plain.columns.items():
        assert values.tobytes() == compiled.columns[column].tobytes() or np.array_equal(
            values, compiled.columns[column], equal_nan=True
        )


def test_a_long_log_is_the_log_it_would_be_if_it_were_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "log.csv", rows(drive(60.0)))
    short = gr.read_log(path, manifest=manifest())
    monkeypatch.setattr(table, "LONG", 0)
    monkeypatch.setattr(table, "BLOCK", 1 << 12)
    told: list[tuple[int, int]] = []
    long = gr.read_log(path, manifest=manifest(), progress=lambda done, total: told.append((done, total)))
    for name in ("time", "segment", "attitude"):
        assert getattr(short, name).tobytes() == getattr(long, name).tobytes()
    assert {k: v.tobytes() for k, v in short.rates.items()} == {k: v.tobytes() for k, v in long.rates.items()}
    assert short.poses.position.tobytes() == long.poses.position.tobytes()
    assert short.report == long.report
    size = path.stat().st_size
    assert [total for _, total in told] == [size] * len(told)
    assert sorted(told) == told
    assert 0.9 * size < told[-1][0] <= size


def test_lines_are_counted_from_the_top_of_a_file_without_heading(tmp_path: Path) -> None:
    path = write(tmp_path / "bare.csv", ["# made by hand", "", "0,1", "1,oops", "2,3"])
    tally = Tally("bare.csv")
    read = table.read_table(path, [0, 1], Csv(header=False), tally)
    assert read.line.tolist() == [3, 4, 5]
    assert tally.cells["text in number column 1"].first == ("bare.csv line 4",)


def test_what_does_not_fit_in_memory_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "log.csv", rows(drive(5.0)))

    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(table.RowReader, "plain", full)
    with pytest.raises(LogError, match=r"log\.csv \(0 MB\): .* do not fit in memory; name fewer columns in") as said:
        gr.read_log(path, manifest=manifest())
    assert "\n" not in str(said.value)


def test_a_part_of_a_log_is_the_same_with_and_without_a_copy(tmp_path: Path) -> None:
    log = gr.read_log(write(tmp_path / "log.csv", rows(drive(20.0))), manifest=manifest())
    part = log.part(5.0, 10.0)
    inside = (log.elapsed >= 5.0) & (log.elapsed < 10.0)
    np.testing.assert_array_equal(part.time, log.time[inside])
    np.testing.assert_array_equal(part.rates["FL"], log.rates["FL"][inside])
    assert np.shares_memory(part.time, log.time)
    assert part.report.samples == len(part) == 100


@pytest.mark.parametrize("model", ["kinematic", "perturbative"])
def test_predictions_in_groups_are_those_of_the_whole(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = gr.read_log(write(tmp_path / "log.csv", rows(drive(60.0))), manifest=manifest())
    vehicle = gr.vehicle("warthog")
    made = (
        gr.Kinematics(vehicle)
        if model == "kinematic"
        else Perturbative(vehicle=vehicle, slip=np.linspace(-0.1, 0.1, 13))
    )
    motion = MotionModel(model=made, sensor=log.sensor)
    cut = cut_log(log, motion, interval=1.0)
    assert len(cut) > 20
    whole = predict.LogProblem(log, motion, cut).poses([motion, motion])
    monkeypatch.setattr(predict, "MOST", 150)
    monkeypatch.setattr("grouser.motion.velocity.LONG", 100)
    problem = predict.LogProblem(log, motion, cut)
    groups = list(problem._groups(0, len(cut)))
    assert len(groups) > 5
    assert [k for group in groups for k in range(group.start, group.stop)] == list(range(len(cut)))
    np.testing.assert_array_equal(problem.poses([motion, motion]), whole)


def test_intervals_do_not_depend_on_what_stands_before(tmp_path: Path) -> None:
    log = gr.read_log(write(tmp_path / "log.csv", rows(drive(20.0))), manifest=manifest())
    motion = MotionModel(model=gr.Kinematics(gr.vehicle("warthog")), sensor=log.sensor)
    cut = cut_log(log, motion, interval=1.0, stride=0.5)
    assert np.allclose(np.diff(cut.times[:, 0]), 0.5)
    assert np.allclose(cut.duration, 1.0, atol=0.051)
