"""Bytes of messages are those of ROS 2: compared with rosbags, and bytes from the network do no harm."""

import contextlib
import dataclasses
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rosbags.typesys import Stores, get_typestore

from grouser.node import messages
from grouser.node.fields import dds_name, fields_of, ros_name, type_hash
from grouser.node.messages import TYPES, MessageError, decode, encode

STORE = get_typestore(Stores.ROS2_HUMBLE)
NUMBERS = {
    "bool": st.booleans(),
    "byte": st.integers(0, 127),
    "int8": st.integers(-128, 127),
    "uint8": st.integers(0, 255),
    "uint16": st.integers(0, 65535),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "float64": st.floats(),
    "string": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9),
}


def any_message(kind):
    """Messages of a class with random content."""
    parts = {}
    for one in fields_of(kind):
        if one.message is not None:
            inner = any_message(one.message)
            parts[one.name] = inner if one.count is None else st.lists(inner, max_size=3)
        elif one.count is None:
            parts[one.name] = NUMBERS[one.primitive.name]
        else:
            size = {"max_size": 5} if one.count == 0 else {"min_size": one.count, "max_size": one.count}
            many = st.lists(NUMBERS[one.primitive.name], **size)
            parts[one.name] = many if one.primitive.name == "string" else many.map(np.array)
    return st.builds(kind, **parts)


def as_rosbags(message):
    """The same message as a class of rosbags."""
    values = {}
    for one in fields_of(type(message)):
        value = getattr(message, one.name)
        if one.message is not None:
            value = as_rosbags(value) if one.count is None else [as_rosbags(each) for each in value]
        elif one.count is not None and one.primitive.name != "string":
            value = np.array(value, np.float64)
        values[one.name] = value
    return STORE.types[message.NAME](**values)


ALL = pytest.mark.parametrize("kind", TYPES.values(), ids=list(TYPES))


@ALL
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_bytes_are_those_of_rosbags_and_decoding_gives_the_message_back(kind, data):
    message = data.draw(any_message(kind))
    raw = encode(message)
    assert raw == bytes(STORE.serialize_cdr(as_rosbags(message), kind.NAME))
    back = decode(kind, raw)
    assert back == message
    assert encode(back) == raw


@ALL
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_big_endian_bytes_are_read_too(kind, data):
    message = data.draw(any_message(kind))
    raw = bytes(STORE.serialize_cdr(as_rosbags(message), kind.NAME, little_endian=False))
    assert decode(kind, raw) == message


@ALL
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_bytes_that_are_cut_or_changed_give_a_message_or_one_sentence(kind, data):
    raw = bytearray(encode(data.draw(any_message(kind))))
    for _ in range(data.draw(st.integers(0, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    said = kind.NAME
    try:
        decode(kind, cut)
    except MessageError as problem:
        said = str(problem)
    assert kind.NAME in said
    assert "\n" not in said


@ALL
def test_every_cut_of_a_message_is_refused(kind):
    raw = encode(kind())
    for size in range(len(raw)):
        with pytest.raises(MessageError):
            decode(kind, raw[:size])


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=300))
def test_random_bytes_never_crash(data):
    for kind in TYPES.values():
        for start in (b"", b"\0\1\0\0", b"\0\0\0\0"):
            with contextlib.suppress(MessageError):
                decode(kind, start + data)


@pytest.mark.parametrize("count", [2**32 - 1, 10_000])
@pytest.mark.parametrize("kind", [messages.TFMessage, messages.String])
def test_a_length_beyond_the_bytes_is_refused_before_anything_is_made(kind, count):
    raw = b"\0\1\0\0" + struct.pack("<I", count) + bytes(16)
    with pytest.raises(MessageError, match=f"a length of {count} is more than the bytes that are left"):
        decode(kind, raw)


def test_wrong_encodings_and_strings_are_named():
    with pytest.raises(MessageError, match="encapsulation is 00 07 00 00"):
        decode(messages.Bool, b"\0\7\0\0\1")
    with pytest.raises(MessageError, match="not UTF-8"):
        decode(messages.String, b"\0\1\0\0\2\0\0\0\xff\0")
    with pytest.raises(MessageError, match="no zero at its end"):
        decode(messages.String, b"\0\1\0\0\2\0\0\0ab")
    assert decode(messages.String, b"\0\1\0\0\0\0\0\0").data == "", "a length of 0, as some write an empty string"


@pytest.mark.parametrize(
    "message",
    [
        messages.Odometry(child_frame_id="a\0b"),
        messages.Time(sec=2**31),
        messages.Imu(orientation_covariance=np.zeros(8)),
        messages.Header(frame_id=None),
        messages.Odometry(pose=None),
        messages.JointState(velocity=["fast"]),
    ],
    ids=["zero in a string", "too large", "too short", "no string", "no pose", "text for numbers"],
)
def test_what_is_no_message_is_not_encoded(message):
    with pytest.raises(MessageError, match="cannot be encoded"):
        encode(message)


def test_messages_do_not_share_defaults_and_refuse_misspelt_fields():
    changed = messages.Odometry()
    changed.pose.pose.position.x, changed.pose.covariance[0] = 1.0, 2.0
    assert messages.Odometry() == messages.Odometry(pose=messages.PoseWithCovariance(covariance=np.zeros(36)))
    assert messages.Odometry() != changed
    with pytest.raises(AttributeError):
        changed.postion = 1.0


def test_times_keep_their_nanoseconds():
    assert messages.Time.of(1.999999999) == messages.Time(1, 999_999_999)
    assert messages.Time.of(-0.25) == messages.Time(-1, 750_000_000)
    assert messages.Time.of(1.7e9 + 0.125).seconds == 1.7e9 + 0.125


@ALL
def test_hashes_are_those_of_the_public_definitions(kind):
    assert type_hash(kind) == STORE.hash_rihs01(kind.NAME)
    assert type_hash(kind) == get_typestore(Stores.ROS2_JAZZY).hash_rihs01(kind.NAME)


def test_the_hash_of_a_string_is_the_one_that_rmw_zenoh_documents():
    assert type_hash(messages.String) == "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"


def test_names_of_dds_and_ros():
    assert dds_name("nav_msgs/msg/Odometry") == "nav_msgs::msg::dds_::Odometry_"
    assert all(ros_name(dds_name(name)) == name for name in TYPES)


def test_messages_are_equal_by_their_bytes():
    assert messages.Point(np.nan) == messages.Point(np.nan)
    assert messages.Point(1.0) != messages.Point(2.0)
    assert messages.Point(1.0) != messages.Vector3(1.0)
    assert all(dataclasses.is_dataclass(kind) and not hasattr(kind(), "__dict__") for kind in TYPES.values())
