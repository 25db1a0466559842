"""Another process of the tests: a node on Zenoh that publishes or listens, and says on standard output what it sees."""

import sys
import time

from grouser.node.messages import Header, JointState, Time, decode
from grouser.node.zenoh_transport import ZenohTransport

TOPIC = "/joint_states"


def state(k):
    """The k-th message: its number is its frame, its angles and its stamp."""
    return JointState(Header(Time(k, 0), str(k)), ["left", "right"], [float(k), -float(k)], [0.5, 0.25], [])


def talk(transport, count):
    """Publish when somebody listens, then stay."""
    publish = transport.publisher(TOPIC, JointState)
    print("ready", flush=True)
    while not any(not one.publishes for one in transport.peers()):
        time.sleep(0.01)
    for k in range(count):
        publish(state(k))
    print("sent", flush=True)


def listen(transport, count):
    """Say how many came, whether in order and whole."""
    numbers = []

    def receive(data, arrived):
        message = decode(JointState, data)
        numbers.append(int(message.header.frame_id) if message == state(message.header.stamp.sec) else -1)

    transport.subscribe(TOPIC, JointState, receive, reliable=True)
    print("ready", flush=True)
    for _ in range(2000):
        if len(numbers) >= count:
            break
        time.sleep(0.01)
    print(len(numbers), numbers == list(range(count)), transport.lost(), flush=True)


if __name__ == "__main__":
    what, domain, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    opened = ZenohTransport(what, domain=domain, connect=())
    {"talk": talk, "listen": listen}[what](opened, count)
    sys.stdin.read()  # until the test closes it
    opened.close()
