"""What others may send over Zenoh: garbage, other types, other attachments, gaps. It is counted; nothing stops."""

import json
import random
import time
from itertools import pairwise

import pytest

zenoh = pytest.importorskip("zenoh")

from grouser.node import zenoh_transport  # noqa: E402
from grouser.node.fields import type_hash  # noqa: E402
from grouser.node.messages import JointState, MessageError, String, decode, encode  # noqa: E402
from grouser.node.zenoh_keys import HUMBLE_HASH, Attachment, Entity, topic_key  # noqa: E402
from grouser.node.zenoh_transport import ZenohTransport, session_settings  # noqa: E402

TYPE = "std_msgs::msg::dds_::String_"
GID = bytes(range(16))


def wait_for(condition, polls=3000):
    for _ in range(polls):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("did not happen")


@pytest.fixture
def domain():
    return random.SystemRandom().randrange(1000, 1_000_000)


class Listening:
    """A transport with one subscription, and a plain Zenoh session that puts what it likes."""

    def __init__(self, domain):
        self.domain, self.got, self.damaged = domain, [], 0
        self.transport = ZenohTransport("here", domain=domain, connect=())
        self.transport.subscribe("/says", String, self.receive)
        config = zenoh.Config()
        for path, value in session_settings(connect=()).items():
            config.insert_json5(path, json.dumps(value))
        self.session = zenoh.open(config)
        self.sequence = 0
        wait_for(lambda: list(self.session.info.peers_zid()))
        wait_for(self.heard)

    def receive(self, data, arrived):
        try:
            self.got.append(decode(String, data).data)
        except MessageError:
            self.damaged += 1

    def put(self, data=None, hash=None, attachment=b"good", topic="/says"):
        if attachment == b"good":
            self.sequence += 1
            attachment = Attachment(self.sequence, 0, GID).data
        key = topic_key(self.domain, topic, TYPE, hash or type_hash(String))
        self.session.put(key, encode(String("x")) if data is None else data, attachment=attachment)

    def heard(self):
        """Whether a good message still arrives."""
        before = len(self.got)
        self.put(encode(String("good")))
        for _ in range(40):
            if len(self.got) > before:
                break
            time.sleep(0.005)
        return len(self.got) > before and self.got[-1] == "good"

    def close(self):
        self.transport.close()
        self.session.close()


@pytest.fixture
def listening(domain):
    one = Listening(domain)
    one.transport._faults.clear()
    yield one
    one.close()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"\x00\x01\x00\x00",
        b"\x00\x01\x00\x00\xff\xff\xff\xff",
        random.Random(1).randbytes(300),
    ],
    ids=["empty", "one", "header", "long", "random"],
)
def test_garbage_is_handed_on_as_bytes_and_the_next_message_arrives(listening, data):
    listening.put(data)
    wait_for(lambda: listening.damaged == 1)
    assert listening.heard()
    assert listening.transport.lost() == 0


def test_messages_with_another_type_hash_are_counted_and_not_handed_on(listening):
    before = len(listening.got)
    for _ in range(3):
        listening.put(hash="RIHS01_" + 64 * "0", attachment=None)
    assert listening.heard()
    assert len(listening.got) == before + 1
    assert listening.transport.faults() == {"/says: messages with another type hash": 3}


@pytest.mark.parametrize("attachment", [None, b"", bytes(33), b"short", bytes(500)], ids=str)
def test_messages_with_another_attachment_are_counted_and_used(listening, attachment):
    before = len(listening.got)
    listening.put(attachment=attachment)
    wait_for(lambda: len(listening.got) == before + 1)
    assert listening.transport.faults() == {"/says: messages without an attachment of rmw_zenoh": 1}
    assert listening.heard()


def test_gaps_of_the_sequence_are_lost_messages_and_repetitions_are_not(listening):
    other = bytes(16)
    for sequence in (10, 11, 15, 15, 12, 16, 2**62, -5):
        listening.put(attachment=Attachment(sequence, 0, other).data)
    assert listening.heard()
    assert listening.transport.lost() == 3  # 12, 13 and 14; 12 came late


def test_many_publishers_do_not_fill_the_memory(listening, monkeypatch):
    monkeypatch.setattr(zenoh_transport, "PUBLISHERS", 4)
    for k in range(100):
        listening.put(attachment=Attachment(2 * k, 0, k.to_bytes(16, "little")).data)
    assert listening.heard()
    assert listening.transport.lost() == 0


def test_a_flood_keeps_the_newest_and_counts_the_rest_as_lost(domain, monkeypatch):
    monkeypatch.setattr(zenoh_transport, "WAITING", 10)
    sent, got = 2000, []

    def slow(data, arrived):
        time.sleep(0.001)
        got.append(int(decode(String, data).data))

    here, there = (ZenohTransport(name, domain=domain, connect=()) for name in ("here", "there"))
    here.subscribe("/says", String, slow)
    publish = there.publisher("/says", String)
    wait_for(there.peers)
    publish(String("-1"))
    wait_for(lambda: got)
    for k in range(sent):
        publish(String(str(k)))
    wait_for(lambda: got[-1] == sent - 1)
    assert got == sorted(got)
    assert len(got) < sent
    assert len(got) + here.lost() == sent + 1
    here.close()
    there.close()


def test_tokens_that_are_none_and_publishers_of_another_type_are_told(listening, domain):
    tokens = listening.session.liveliness()
    held = [tokens.declare_token(f"@ros2_lv/{domain}/strange")]
    wait_for(lambda: listening.transport.faults())
    assert listening.transport.faults() == {"liveliness tokens that rmw_zenoh does not write": 1}
    odd = Entity(domain, "abc", "0", "1", "MP", "/", "odd", "/says", "nav_msgs::msg::dds_::Odometry_", "RIHS01_1", "q")
    right = Entity(domain, "abc", "0", "2", "MP", "/", "right", "/says", TYPE, type_hash(String), "::,10:,:,:,,")
    held += [tokens.declare_token(odd.token), tokens.declare_token(right.token)]
    wait_for(lambda: len(listening.transport.faults()) == 2 and listening.transport.peers())
    assert [one.identity for one in listening.transport.peers()] == ["/right@abc:2"]
    assert (
        listening.transport.faults()["/says: publishers of another type, nav_msgs::msg::dds_::Odometry_ RIHS01_1…"] == 1
    )
    for one in held:
        one.undeclare()
    wait_for(lambda: not listening.transport.peers())
    assert listening.heard()


def test_so_many_tokens_are_kept_and_no_more(listening, domain, monkeypatch):
    monkeypatch.setattr(zenoh_transport, "ENTITIES", 5)
    tokens = listening.session.liveliness()
    kinds = ("/says", TYPE, type_hash(String), "::,10:,:,:,,")
    held = [tokens.declare_token(Entity(domain, "abc", "0", str(k), "MP", "/", "n", *kinds).token) for k in range(9)]
    wait_for(lambda: listening.transport.faults())
    wait_for(lambda: sum(listening.transport.faults().values()) == len(held) - 5)
    assert len(listening.transport.peers()) == 5


def test_nodes_of_humble_have_no_type_hashes_and_are_understood(domain):
    got = []
    here, there = (
        ZenohTransport("here", domain=domain, connect=()),
        ZenohTransport("h", domain=domain, connect=(), humble=True),
    )
    here.subscribe("/says", String, lambda data, arrived: got.append(decode(String, data).data))
    publish = there.publisher("/says", String)
    wait_for(lambda: there.peers() and here.peers())
    publish(String("old"))
    wait_for(lambda: got == ["old"])
    assert HUMBLE_HASH in next(iter(here._entities))
    assert here.faults() == {}
    here.close()
    there.close()


def test_a_message_of_another_domain_is_not_heard(listening, domain):
    other = ZenohTransport("other", domain=domain + 1, connect=())
    publish = other.publisher("/says", String)
    publish(String("elsewhere"))
    assert listening.heard()
    assert "elsewhere" not in listening.got
    other.close()


def test_the_payload_is_the_bytes_of_the_codec_and_the_attachment_counts(domain):
    here = ZenohTransport("here", domain=domain, connect=())
    config = zenoh.Config()
    for path, value in session_settings(connect=()).items():
        config.insert_json5(path, json.dumps(value))
    with zenoh.open(config) as session:
        samples = []
        session.declare_subscriber(f"{domain}/joints/**", samples.append)
        publish = here.publisher("/joints", JointState)
        message = JointState(name=["a"], position=[1.0])
        wait_for(lambda: publish(message) or len(samples) >= 3)
    notes = [Attachment.read(one.attachment.to_bytes()) for one in samples]
    assert all(one.payload.to_bytes() == encode(message) for one in samples)
    assert [b.sequence - a.sequence for a, b in pairwise(notes)] == [1] * (len(notes) - 1)
    assert len({one.gid for one in notes}) == 1
    assert abs(time.time_ns() - notes[-1].stamp) < 60e9
    here.close()
