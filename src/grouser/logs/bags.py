"""Messages of ROS 1 and ROS 2 bags and of MCAP files, one after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from grouser.errors import LogError
from grouser.files import check_file

__all__ = ["SUFFIXES", "is_bag", "messages", "topics"]

Message = tuple[str, float, Any]
"""Topic, time of recording [s], and the message: an object or a dictionary."""
SUFFIXES = (".bag", ".db3", ".mcap")
SELDOM = 1000
"""Messages from one report of progress to the next."""


def is_bag(path: Path) -> bool:
    """Whether a path looks like a bag: by the end of its name, or a folder that rosbag2 wrote."""
    return path.suffix.lower() in SUFFIXES or (path / "metadata.yaml").is_file()


def topics(path: Path) -> dict[str, str]:
    """The topics of a bag and the type of their messages."""
    _refuse_empty(path)
    try:
        if path.suffix.lower() == ".mcap" and path.is_file() and _is_json(path):
            from mcap.reader import make_reader

            with path.open("rb") as stream:
                summary = make_reader(stream).get_summary()
            channels = [] if summary is None else list(summary.channels.values())
            return {str(channel.topic): str(channel.message_encoding) for channel in channels}
        reader = _ros_reader(path)
        with reader:
            return {str(connection.topic): str(connection.msgtype) for connection in reader.connections}
    except (LogError, MemoryError):
        raise
    except Exception as error:  # as in `messages`
        raise _damaged(path, error) from None


def messages(path: Path, topics: Collection[str], progress: Callable[[int], None] | None = None) -> Iterator[Message]:
    """The messages of some topics in the order they were recorded, one at a time; a damaged file is a `LogError`.

    `progress` is told about how many bytes were read so far.
    """
    _refuse_empty(path)
    files = path.iterdir() if path.is_dir() else [path]
    size = sum(file.stat().st_size for file in files)

    def told(done: int, total: int) -> None:
        if progress is not None and done % SELDOM == 0 and total:
            progress(size * min(done, total) // total)

    try:
        if path.suffix.lower() == ".mcap" and path.is_file() and _is_json(path):
            yield from _json_messages(path, topics, told)
        else:
            yield from _ros_messages(path, topics, told)
    except (LogError, GeneratorExit, KeyboardInterrupt, MemoryError):
        raise
    except Exception as error:  # the libraries raise dozens of kinds on damaged files, struct.error to AssertionError
        raise _damaged(path, error) from None


def _refuse_empty(path: Path) -> None:
    """A folder is a bag only if rosbag2 wrote it; anything else is a file with something in it."""
    if not (path / "metadata.yaml").is_file():
        check_file(path, LogError)


def _damaged(path: Path, error: Exception) -> LogError:
    said = " ".join(str(error).split())[:200]
    return LogError(f"{path}: cannot be read as a bag ({type(error).__name__}: {said})")


def _ros_reader(path: Path) -> Any:
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise LogError(f"{path.name}: reading a ROS bag needs rosbags; install it with: {_pip('ros')}") from None
    # Old ROS 2 bags say only the names of their message types; those of Humble are then taken.
    return AnyReader([path], default_typestore=get_typestore(Stores.ROS2_HUMBLE))


def _ros_messages(path: Path, topics: Collection[str], told: Callable[[int, int], None]) -> Iterator[Message]:
    with _ros_reader(path) as reader:
        _check_topics(path, topics, [connection.topic for connection in reader.connections])
        wanted = [connection for connection in reader.connections if connection.topic in topics]
        total = sum(int(connection.msgcount) for connection in wanted)
        for done, (connection, time, data) in enumerate(reader.messages(connections=wanted)):
            told(done, total)
            yield connection.topic, time * 1e-9, reader.deserialize(data, connection.msgtype)


def _json_messages(path: Path, topics: Collection[str], told: Callable[[int, int], None]) -> Iterator[Message]:
    from mcap.reader import make_reader

    with path.open("rb") as stream:
        reader = make_reader(stream)
        summary = reader.get_summary()
        channels = {} if summary is None else summary.channels
        _check_topics(path, topics, [c.topic for c in channels.values()])
        counts = {} if summary is None or summary.statistics is None else summary.statistics.channel_message_counts
        total = sum(counts.get(number, 0) for number, channel in channels.items() if channel.topic in topics)
        for done, (_, channel, message) in enumerate(reader.iter_messages(topics=list(topics))):
            told(done, total)
            if channel.message_encoding != "json":
                raise LogError(
                    f"{path.name}, topic {channel.topic}: is {channel.message_encoding!r:.40} where others are JSON;"
                    " JSON and ROS 2 messages are read, but not mixed"
                )
            yield channel.topic, message.log_time * 1e-9, json.loads(message.data)


def _is_json(path: Path) -> bool:
    """Whether an MCAP file holds JSON messages; without the library it is taken for a ROS 2 bag."""
    try:
        from mcap.reader import make_reader
    except ImportError:
        try:
            import rosbags  # noqa: F401
        except ImportError:
            raise LogError(
                f"{path.name}: reading MCAP needs mcap (JSON messages) or rosbags (ROS 2 messages); install them with:"
                f" {_pip('mcap,ros')}"
            ) from None
        return False
    with path.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    return summary is not None and any(c.message_encoding == "json" for c in summary.channels.values())


def _check_topics(path: Path, wanted: Collection[str], there: list[str]) -> None:
    import difflib

    for topic in wanted:
        if topic not in there:
            near = difflib.get_close_matches(topic, there, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise LogError(f"{path.name}: has no topic {topic!r:.80}; {hint}its topics are {_listed(there)}")


def _listed(names: list[str]) -> str:
    names = sorted(set(names))
    return ", ".join(names[:40]) + (", …" if len(names) > 40 else "") if names else "none"


def _pip(extra: str) -> str:
    return f'pip install "grouser[{extra}]"'
