"""Bags that were cut short or never closed are read as far as they go, with one remark that says up to when."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from log_drives import drive
from test_log_bags import KINDS, MANIFEST, START, write_bag

import grouser as gr
from grouser.cli import run
from grouser.errors import LogError
from grouser.logs import bags
from grouser.logs.cut_records import records

pytest.importorskip("rosbags", reason="rosbags is not installed; it is in the extra [ros]")
pytest.importorskip("mcap", reason="mcap is not installed; it is in the extra [mcap]")


def file_of(path: Path) -> Path:
    """The file with the messages."""
    return path if path.is_file() else next(one for one in path.iterdir() if one.suffix != ".yaml")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_bag_without_its_end_gives_the_beginning_of_the_drive(kind: str, share: float, tmp_path: Path) -> None:
    whole = file_of(write_bag(tmp_path, kind))
    cut = tmp_path / f"cut{whole.suffix}"
    data = whole.read_bytes()
    cut.write_bytes(data[: int(share * len(data))])
    log, columns = gr.read_log(cut, manifest=MANIFEST, strict=False), drive(20.0)
    n = len(log)
    # The end of a file is its index, so a share of the bytes is more of the drive.
    assert share * 400 * 0.6 < n <= 400
    np.testing.assert_allclose(log.time - START, columns["t"][:n], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(log.rates["BR"], columns["wr"][:n])
    m = len(log.poses)
    np.testing.assert_allclose(log.poses.position[:, 0], columns["x"][: 2 * m : 2])
    (said,) = log.report.remarks
    assert "was cut short or not closed: it is read up to 2023-11-14 22:13:" in said
    seconds = float(said.split(", ")[1].split(" s ")[0])
    assert seconds == pytest.approx(log.duration, abs=0.3)  # on the clock of the record


@pytest.mark.parametrize("kind", [".db3", ".mcap"])
def test_a_folder_without_metadata_is_a_bag(kind: str, tmp_path: Path) -> None:
    whole = write_bag(tmp_path, kind)
    wanted = gr.read_log(whole, manifest=MANIFEST)
    (whole / "metadata.yaml").unlink()
    log = gr.read_log(whole, manifest=MANIFEST)
    np.testing.assert_array_equal(log.time, wanted.time)
    np.testing.assert_array_equal(log.poses.position, wanted.poses.position)
    assert wanted.report.remarks == ()
    assert len(log.report.remarks) == 1
    assert len(bags.topics(whole)) == 3


def test_a_database_that_was_never_closed_is_read(tmp_path: Path) -> None:
    # A recorder that was killed leaves its last rows in a write-ahead log beside the file.
    file = file_of(write_bag(tmp_path, ".db3"))
    base = sqlite3.connect(file)
    base.execute("PRAGMA journal_mode=WAL")
    row = base.execute("SELECT topic_id, timestamp, data FROM messages ORDER BY rowid DESC LIMIT 1").fetchone()
    base.execute("INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)", row)
    base.commit()
    other = tmp_path / "killed"
    other.mkdir()
    for one in file.parent.glob(f"{file.name}*"):
        (other / one.name).write_bytes(one.read_bytes())
    base.close()
    assert len(list(records(other))) == 400 + 200 + 100 + 1


def test_check_says_up_to_when_and_what_is_no_bag_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = file_of(write_bag(tmp_path, ".mcap"))
    data, cut = whole.read_bytes(), tmp_path / "cut.mcap"
    cut.write_bytes(data[: len(data) // 2])
    assert run(["check", str(cut)]) == 0
    said = capsys.readouterr().out
    assert "cut.mcap was cut short or not closed" in said
    assert "/joint_states" in said
    cut.write_bytes(data[:60])
    with pytest.raises(LogError, match=r"cut.mcap: cannot be read as a bag, there is no message before"):
        gr.read_log(cut, manifest=MANIFEST)


def test_bytes_that_are_damaged_in_the_middle_end_what_is_read(tmp_path: Path) -> None:
    whole = file_of(write_bag(tmp_path, ".bag"))
    data = bytearray(whole.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 64] = b"\xff" * 64
    broken = tmp_path / "broken.bag"
    broken.write_bytes(bytes(data[: -len(data) // 10]))
    assert 100 < len(list(records(broken))) < 500


def test_a_database_without_metadata_is_checked_also_with_compressed_messages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from backports import zstd

    whole = write_bag(tmp_path, ".db3")
    wanted = gr.read_log(whole, manifest=MANIFEST)
    (whole / "metadata.yaml").unlink()
    with sqlite3.connect(file_of(whole)) as base:
        base.create_function("zstd", 1, zstd.compress)
        base.execute("UPDATE messages SET data = zstd(data)")
    assert run(["check", str(whole)]) == 0
    said = capsys.readouterr().out
    assert "was cut short or not closed" in said
    assert 'joint = "front_left"' in said
    np.testing.assert_array_equal(gr.read_log(whole, manifest=MANIFEST).rates["BR"], wanted.rates["BR"])
