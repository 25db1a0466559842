"""Names and attachments of rmw_zenoh, by hand; type hashes by rosbags and by the one that rmw_zenoh's design prints."""

import pytest

from grouser.node.fields import dds_name, type_hash
from grouser.node.messages import String
from grouser.node.zenoh_keys import Attachment, Entity, gid, qos_text, topic_key, watch_key

STRING_HASH = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
"""Of std_msgs/msg/String, as rmw_zenoh's docs/design.md gives it."""


def test_a_topic_becomes_domain_name_type_and_hash():
    key = topic_key(3, "/rover/says", dds_name("std_msgs/msg/String"), type_hash(String))
    assert key == f"3/rover/says/std_msgs::msg::dds_::String_/{STRING_HASH}"


def test_the_bytes_of_an_attachment_are_those_counted_by_hand():
    # 258 = 0x0102; 1 700 000 000 s = 0x17979cfe362a0000 ns; the low byte comes first.
    source = bytes(range(16))
    by_hand = bytes.fromhex("0201000000000000" + "00002a36fe9c9717" + "10" + "000102030405060708090a0b0c0d0e0f")
    assert Attachment(258, 1_700_000_000 * 10**9, source).data == by_hand
    assert Attachment.read(by_hand) == Attachment(258, 1_700_000_000 * 10**9, source)


def test_zenohs_own_serializer_writes_the_same_attachment():
    ext = pytest.importorskip("zenoh.ext")
    source = bytes(range(100, 116))
    theirs = ext.z_serialize((ext.Int64(7), ext.Int64(-5), source)).to_bytes()
    assert Attachment(7, -5, source).data == theirs


@pytest.mark.parametrize("data", [b"", bytes(32), bytes(33), bytes(34), b"\x0fsequence_number" + bytes(40)])
def test_other_bytes_are_no_attachment(data):
    assert Attachment.read(data) is None


def test_the_qos_leaves_out_what_is_the_default():
    assert qos_text(reliable=True, transient=False, depth=42) == "::,:,:,:,,"
    assert qos_text(reliable=True, transient=False, depth=10) == "::,10:,:,:,,"
    assert qos_text(reliable=False, transient=False, depth=5) == "2::,5:,:,:,,"
    assert qos_text(reliable=True, transient=True, depth=1, keep_all=True) == ":1:2,1:,:,:,,"


PUBLISHER = Entity(
    2, "8b20917502ee", "0", "7", "MP", "/rover", "talker", "/rover/says", "std_msgs::msg::dds_::String_", STRING_HASH,
    "2::,5:,:,:,,",
)  # fmt: skip
NODE = Entity(2, "8b20917502ee", "0", "0", "NN", "/", "talker")


def test_tokens_of_a_node_and_of_a_publisher():
    assert NODE.token == "@ros2_lv/2/8b20917502ee/0/0/NN/%/%/talker"
    assert NODE.name == "/talker"
    assert PUBLISHER.token == (
        "@ros2_lv/2/8b20917502ee/0/7/MP/%/%rover/talker/%rover%says/std_msgs::msg::dds_::String_/"
        f"{STRING_HASH}/2::,5:,:,:,,"
    )
    assert PUBLISHER.name == "/rover/talker"


@pytest.mark.parametrize("entity", [NODE, PUBLISHER])
def test_a_token_gives_back_its_entity(entity):
    assert Entity.read(entity.token) == entity


def test_a_later_version_may_say_more_in_a_token():
    assert Entity.read(PUBLISHER.token + "/cpu") == PUBLISHER


@pytest.mark.parametrize(
    "token",
    [
        "",
        "@ros2_lv",
        "@ros2_lv/2/8b20917502ee/0/0/NN/%/%",
        "@ros2_lv/2/8b20917502ee/0/0/XX/%/%/talker",
        "@ros2_lv/two/8b20917502ee/0/0/NN/%/%/talker",
        "@ros2_lv/2/8b20917502ee/0/7/MP/%/%/talker",
        "@ros2_lv/2//0/0/NN/%/%/talker",
        "@other/2/8b20917502ee/0/0/NN/%/%/talker",
    ],
)
def test_what_is_no_token_of_rmw_zenoh_is_none(token):
    assert Entity.read(token) is None


def test_all_tokens_of_a_domain_match_its_watch_key_and_no_other():
    zenoh = pytest.importorskip("zenoh")
    assert zenoh.KeyExpr(watch_key(2)).includes(zenoh.KeyExpr(PUBLISHER.token))
    assert not zenoh.KeyExpr(watch_key(3)).intersects(zenoh.KeyExpr(PUBLISHER.token))


def test_publishers_have_different_gids_of_sixteen_bytes():
    assert len(gid(PUBLISHER.token)) == 16
    assert gid(PUBLISHER.token) != gid(NODE.token)
