"""Bags as files: ROS 1, ROS 2 (SQLite, MCAP), MCAP with JSON; one that was cut short is read up to the cut."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from grouser.errors import LogError
from grouser.files import check_file
from grouser.logs.cut_records import Channel, is_short, records

Message = tuple[str, float, Any]
"""Topic, time of recording [s], and the message: an object or a dictionary."""
PARTS = (".db3", ".mcap")
"""Suffixes of the files in the folder of a ROS 2 bag."""


class Bag(NamedTuple):
    """An open bag."""

    topics: dict[str, tuple[str, int]]
    """Type and number of the messages of each topic."""
    messages: Callable[[Collection[str]], Iterator[Message]]
    """Gives the messages of some topics, in the order of recording."""
    remarks: tuple[str, ...] = ()
    """Remarks on the file, one sentence each."""


def is_bag_folder(path: Path) -> bool:
    """Whether a folder is a ROS 2 bag: with its metadata.yaml, or with parts alone if the recorder was killed."""
    if not path.is_dir():
        return False
    kinds = {one.suffix.split("-")[0] for one in path.iterdir() if not one.name.startswith(".")}  # .db3-wal
    return (path / "metadata.yaml").is_file() or (bool(kinds) and kinds <= set(PARTS))


@contextmanager
def open_bag(path: Path) -> Iterator[Bag]:
    """A bag; any fault is a `LogError`, unless it was only cut short."""
    if not is_bag_folder(path):
        check_file(path, LogError)
    with ExitStack() as stack:
        bag, why = None, "it is cut short"
        try:
            bag = None if is_short(path) else stack.enter_context(_json_bag(path) if _is_json(path) else _ros_bag(path))
        except (LogError, MemoryError):
            raise
        except Exception as error:  # the libraries raise dozens of kinds on damaged files, down to AssertionError
            why = _sentence(error)
        if bag is None or not any(number for _, number in bag.topics.values()):
            bag = cut_bag(path) or bag
        if bag is None:
            raise LogError(f"{path}: cannot be read as a bag, there is no message before it ends or is damaged ({why})")
        try:
            yield bag
        except (LogError, MemoryError):
            raise
        except Exception as error:
            raise LogError(f"{path}: cannot be read as a bag ({_sentence(error)})") from None


def cut_bag(path: Path) -> Bag | None:
    """A bag without its end or its index, as far as it can be read; None if nothing can."""
    files = [path, *(path.iterdir() if path.is_dir() else ())]
    found, first, last = _scan(path, tuple((one.name, one.stat().st_size, one.stat().st_mtime_ns) for one in files))
    if not found:
        return None
    decode = _decoder(path, [channel for channel, _ in found.values()])

    def messages(topics: Collection[str]) -> Iterator[Message]:
        for channel, time, data in records(path):
            if channel.topic in topics:
                try:
                    message = decode(channel, data)
                except Exception:  # its bytes are damaged; what follows may not be
                    continue
                yield channel.topic, time, message

    until = datetime.datetime.fromtimestamp(last, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    said = f"{path.name} was cut short or not closed: it is read up to {until}, {last - first:.1f} s after its start"
    return Bag({topic: (channel.kind, count) for topic, (channel, count) in found.items()}, messages, (said,))


@lru_cache(maxsize=4)
def _scan(path: Path, state: tuple[Any, ...]) -> tuple[dict[str, tuple[Channel, int]], float, float]:
    """Channel and number of messages of each topic, and the times of the first and the last message [s].

    Reads all of a bag once; state: sizes and times of its files, so that one that grew is read again.
    """
    found: dict[str, tuple[Channel, int]] = {}
    first, last = math.inf, -math.inf
    for channel, time, _ in records(path):
        of_topic, count = found.get(channel.topic, (channel, 0))
        found[channel.topic] = of_topic, count + 1
        first, last = min(first, time), max(last, time)
    return found, first, last


def _decoder(path: Path, channels: list[Channel]) -> Callable[[Channel, bytes], Any]:
    """The function that decodes messages."""
    if all(channel.coding == "json" for channel in channels):
        return lambda channel, data: json.loads(data)
    get_types, get_typestore, stores = _rosbags(path)
    store, types = get_typestore(stores.ROS2_HUMBLE), {}
    for channel in channels:
        if channel.definition:
            with suppress(Exception):  # a definition that cannot be parsed: that of Humble may do
                types.update(get_types(channel.definition, channel.kind))
    if any(channel.coding == "ros1" for channel in channels):
        store = get_typestore(stores.ROS1_NOETIC)
    merged = get_typestore(stores.EMPTY)
    merged.register({**store.fielddefs, **types})

    def decode(channel: Channel, data: bytes) -> Any:
        if channel.coding == "json":
            return json.loads(data)
        return (merged.deserialize_ros1 if channel.coding == "ros1" else merged.deserialize_cdr)(data, channel.kind)

    return decode


def _rosbags(path: Path) -> tuple[Any, Any, Any]:
    """Functions of rosbags that read types of messages."""
    try:
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    except ImportError:
        needs = "a ROS bag needs rosbags; run: pip install 'grouser[ros]'"
        if path.suffix.lower() == ".mcap":
            needs = "MCAP needs mcap (JSON messages) or rosbags (ROS 2 messages); run: pip install 'grouser[mcap,ros]'"
        raise LogError(f"{path.name}: reading {needs}") from None
    return get_types_from_msg, get_typestore, Stores


def _sentence(error: Exception) -> str:
    """The kind and the words of an error of a library."""
    said = " ".join(str(error).split())[:200].rstrip(" .:")
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


@contextmanager
def _ros_bag(path: Path) -> Iterator[Bag]:
    _, get_typestore, stores = _rosbags(path)
    from rosbags.highlevel import AnyReader

    def messages(topics: Collection[str]) -> Iterator[Message]:
        wanted = [one for one in reader.connections if one.topic in topics]
        for connection, time, data in reader.messages(connections=wanted):
            yield connection.topic, time * 1e-9, reader.deserialize(data, connection.msgtype)

    # Old ROS 2 bags say only the names of their message types; those of Humble are then taken.
    with AnyReader([path], default_typestore=get_typestore(stores.ROS2_HUMBLE)) as reader:
        found: dict[str, tuple[str, int]] = {}
        for one in reader.connections:
            found[one.topic] = str(one.msgtype), found.get(one.topic, ("", 0))[1] + int(one.msgcount)
        yield Bag(found, messages)


@contextmanager
def _json_bag(path: Path) -> Iterator[Bag]:
    from mcap.reader import make_reader

    def messages(topics: Collection[str]) -> Iterator[Message]:
        for _, channel, message in reader.iter_messages(topics=list(topics)):
            if channel.message_encoding != "json":
                raise LogError(
                    f"{path.name}, topic {channel.topic}: is {channel.message_encoding!r:.40} where others are JSON;"
                    " JSON and ROS 2 messages are read, but not mixed"
                )
            yield channel.topic, message.log_time * 1e-9, json.loads(message.data)

    with path.open("rb") as stream:
        reader = make_reader(stream)
        summary = reader.get_summary()
        channels = {} if summary is None else summary.channels
        counts = {} if summary is None or summary.statistics is None else summary.statistics.channel_message_counts
        yield Bag({c.topic: (str(c.message_encoding), counts.get(k, 0)) for k, c in channels.items()}, messages)


def _is_json(path: Path) -> bool:
    """Whether this is an MCAP file that holds JSON messages; without the library it is taken for a ROS 2 bag."""
    if path.suffix.lower() != ".mcap" or not path.is_file():
        return False
    try:
        from mcap.reader import make_reader
    except ImportError:
        return False
    with path.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    return summary is not None and any(c.message_encoding == "json" for c in summary.channels.values())
