"""Messages of bags that were cut short, read from the front, record by record, up to where the file is damaged.

A recorder that is killed, a full disk or a copy that broke off leave a bag without the index at its end. What was
written before can be read: MCAP and ROS 1 bags are sequences of records, and the rows of SQLite are read one by one.
"""

from __future__ import annotations

import bz2
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, suppress
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

MCAP_MAGIC, ROS1_MAGIC, SQLITE_MAGIC = b"\x89MCAP0\r\n", b"#ROSBAG V2.0\n", b"SQLite format 3"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 0x03, 0x04, 0x05, 0x06, 0x0F
"""Records of MCAP."""
ROS1_MESSAGE, ROS1_CHUNK, ROS1_CONNECTION = 0x02, 0x05, 0x07
LONGEST = 1 << 30
"""A record of more bytes is damage."""


class Channel(NamedTuple):
    """A topic and how its messages are written."""

    topic: str
    kind: str
    """Type of the messages: "nav_msgs/msg/Odometry"; "json" for JSON."""
    coding: str
    """json, cdr or ros1."""
    definition: str
    """Text of the type's definition; empty where the bag does not hold it."""


Record = tuple[Channel, float, bytes]
"""Topic, time of recording [s], and the message as it was written."""


def records(path: Path) -> Iterator[Record]:
    """The messages of a bag as far as they can be read, in the order they were written; none if it is no bag."""
    files = sorted(one for one in path.iterdir() if one.is_file()) if path.is_dir() else [path]
    for file in files:
        with file.open("rb") as stream:
            start = stream.read(16)
            stream.seek(0)
            # What ends a damaged file may be anything: a length beyond its end, a name that is no text.
            with suppress(ValueError, KeyError, IndexError, struct.error, OSError, EOFError):
                if start.startswith(MCAP_MAGIC):
                    stream.seek(len(MCAP_MAGIC))
                    yield from _mcap(stream, {}, {})
                elif start.startswith(ROS1_MAGIC):
                    stream.seek(len(ROS1_MAGIC))
                    yield from _ros1(stream, {})
        if start.startswith(SQLITE_MAGIC):
            with suppress(sqlite3.Error, ValueError):
                yield from _sqlite(file)


def _mcap(stream: BinaryIO, schemas: dict[int, tuple[str, str]], channels: dict[int, Channel]) -> Iterator[Record]:
    """Records of an MCAP file or of what a chunk holds, up to the first that is not whole."""
    while len(head := stream.read(9)) == 9:
        code, size = struct.unpack("<BQ", head)
        if code == DATA_END or size > LONGEST:
            return
        data = stream.read(size)
        whole = len(data) == size
        if code == CHUNK:
            yield from _mcap(_unpacked(data), schemas, channels)
        elif not whole:
            return
        elif code == SCHEMA:
            (number,) = struct.unpack_from("<H", data)
            name, at = _text(data, 2)
            _, at = _text(data, at)
            schemas[number] = name, _text(data, at)[0]
        elif code == CHANNEL:
            number, schema = struct.unpack_from("<HH", data)
            topic, at = _text(data, 4)
            coding, _ = _text(data, at)
            name, definition = schemas.get(schema, ("", ""))
            channels[number] = Channel(topic, "json" if coding == "json" else name, coding, definition)
        elif code == MESSAGE:
            number, _, time = struct.unpack_from("<HIQ", data)
            yield channels[number], time * 1e-9, data[22:]
        if not whole:
            return


def _unpacked(data: bytes) -> BinaryIO:
    """The records in a chunk of MCAP, up to where it was cut."""
    compression, at = _text(data, 28)
    data = data[at + 8 :]
    return BytesIO(data if not compression else b"".join(_decompressed(compression, data)))


def _decompressed(compression: str, data: bytes) -> Iterator[bytes]:
    """Data of a chunk, as far as it is there; nothing where its library is not installed."""
    try:
        if compression == "bz2":
            yield bz2.BZ2Decompressor().decompress(data)
        elif compression == "lz4":
            import lz4.frame

            yield lz4.frame.LZ4FrameDecompressor().decompress(data)
        elif compression == "zstd":
            from backports import zstd  # rosbags brings it

            yield zstd.ZstdDecompressor().decompress(data)
    except Exception:  # of three libraries; a damaged chunk ends what can be read
        return


def _text(data: bytes, at: int) -> tuple[str, int]:
    """Text with its length before it, and where it ends."""
    (size,) = struct.unpack_from("<I", data, at)
    if at + 4 + size > len(data):
        raise ValueError("cut")
    return data[at + 4 : at + 4 + size].decode("utf-8"), at + 4 + size


def _ros1(stream: BinaryIO, channels: dict[int, Channel]) -> Iterator[Record]:
    """Records of a ROS 1 bag or of what a chunk holds, up to the first that is not whole."""
    while (found := _ros1_record(stream)) is not None:
        head, data, whole = found
        code = head.get(b"op", b"\0")[0]
        if code == ROS1_CHUNK:
            compression = head[b"compression"].decode()
            yield from _ros1(
                BytesIO(data if compression == "none" else b"".join(_decompressed(compression, data))), channels
            )
        if not whole:
            return
        if code == ROS1_CONNECTION:
            about = _fields(data)
            kind = about[b"type"].decode()
            kind = kind if "/msg/" in kind else kind.replace("/", "/msg/")
            (number,) = struct.unpack("<I", head[b"conn"])
            definition = about.get(b"message_definition", b"").decode("utf-8", "replace")
            channels[number] = Channel(head[b"topic"].decode(), kind, "ros1", definition)
        elif code == ROS1_MESSAGE:
            (number,) = struct.unpack("<I", head[b"conn"])
            sec, nsec = struct.unpack("<II", head[b"time"])
            yield channels[number], sec + 1e-9 * nsec, data


def _ros1_record(stream: BinaryIO) -> tuple[dict[bytes, bytes], bytes, bool] | None:
    """Header and data of a record, and whether all of its data is there; None at the end."""
    if len(raw := stream.read(4)) < 4:
        return None
    (size,) = struct.unpack("<I", raw)
    if size > LONGEST or len(head := stream.read(size)) < size or len(raw := stream.read(4)) < 4:
        return None
    (size,) = struct.unpack("<I", raw)
    data = stream.read(size) if size <= LONGEST else b""
    return _fields(head), data, len(data) == size


def _fields(data: bytes) -> dict[bytes, bytes]:
    """name=value pairs with their lengths before them."""
    found, at = {}, 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        name, _, value = data[at + 4 : at + 4 + size].partition(b"=")
        found[name] = value
        at += 4 + size
    return found


def is_short(path: Path) -> bool:
    """Whether a database of rosbag2 lacks its last pages, which its library may notice only when it comes there."""
    files = path.glob("*.db3") if path.is_dir() else [path]
    return any(0 < one.stat().st_size < _size(one) for one in files if one.is_file())


def _size(file: Path) -> int:
    """Bytes that a database should have by its header; 0 if it is none."""
    with file.open("rb") as stream:
        head = stream.read(32)
    if len(head) < 32 or not head.startswith(SQLITE_MAGIC):
        return 0
    (page,), (pages,) = struct.unpack_from(">H", head, 16), struct.unpack_from(">I", head, 28)
    return int((65536 if page == 1 else page) * pages)


def _sqlite(file: Path) -> Iterator[Record]:
    """Rows of a rosbag2 database, in the order they were written."""
    size = _size(file)
    padded = file.stat().st_size < size <= LONGEST
    where = ":memory:" if padded else f"{file.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(where, uri=True)) as base:
        if padded:  # SQLite refuses a file that is shorter than it says; pages of zeros stand in for the rest
            base.deserialize(file.read_bytes().ljust(size, b"\0"))
        base.text_factory = lambda raw: raw.decode("utf-8", "replace")
        topics: dict[int, Channel] = {}
        texts: dict[str, str] = {}
        with suppress(sqlite3.Error):  # older recorders have no such table
            about = "SELECT topic_type, encoded_message_definition FROM message_definitions WHERE encoding = 'ros2msg'"
            texts = dict(base.execute(about))
        for number, topic, kind in base.execute("SELECT id, name, type FROM topics"):
            topics[number] = Channel(topic, kind, "cdr", texts.get(kind, ""))
        last: Record | None = None
        before = None
        for row, number, time, data in base.execute(
            "SELECT rowid, topic_id, timestamp, data FROM messages ORDER BY rowid"
        ):
            if padded and before is not None and row != before + 1:
                return  # rows of a lost page; what follows them is no drive without holes
            if last is not None:
                yield last
            before, last = row, None
            if number in topics and data is not None:
                # Compressed one by one, which only the lost metadata.yaml says; a message in CDR begins with a zero.
                data = b"".join(_decompressed("zstd", data)) if data.startswith(ZSTD_MAGIC) else bytes(data)
                last = topics[number], time * 1e-9, data
        if last is not None and not padded:  # the last row of a cut file may end in a page that is lost
            yield last
