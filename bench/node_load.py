"""Load on `grouser node` from another process: python bench/node_load.py --seconds 60

It starts a node on loopback, drives a Husky in a circle, sends its joint states and IMU at the given rate, and listens
to the odometry that comes back. It prints what was lost, the latency from stamp to odometry, and memory.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))  # our own package, whichever is installed

from grouser.node import messages as ros  # noqa: E402
from grouser.node.watch import Latency  # noqa: E402

SPEED, TURN, GRAVITY = 0.5, 0.2, 9.80665
RADIUS, HALF_TRACK = 0.165, 0.285
STANDING = 2.0
"""The robot stands so long at first [s]: the IMU is aligned."""
JOINTS = {"FL": -1.0, "FR": 1.0, "BL": -1.0, "BR": 1.0}


def manifest() -> str:
    """The manifest of the node."""
    lines = ['schema = "grouser/log@1"', 'vehicle = "husky"', "[rates]"]
    lines += [f'{name} = {{topic = "/joint_states", field = "velocity", joint = "{name}"}}' for name in JOINTS]
    for table, field in (("gyro", "angular_velocity"), ("acceleration", "linear_acceleration")):
        lines += [f"[{table}]"] + [f'{axis} = {{topic = "/imu", field = "{field}.{axis}"}}' for axis in "xyz"]
    return "\n".join(lines) + "\n"


class Listener:
    """The odometry that comes back."""

    def __init__(self) -> None:
        """Without any."""
        self.latency, self.last, self.count = Latency(), None, 0

    def __call__(self, data: bytes, arrived: float) -> None:
        """Take one."""
        self.last = ros.decode(ros.Odometry, data)
        self.latency.add(arrived - self.last.header.stamp.seconds)
        self.count += 1


def transport(name: str, domain: int):
    """The transport of this name."""
    if name == "zenoh":
        from grouser.node.zenoh_transport import ZenohTransport

        return ZenohTransport("load", domain=domain)
    from grouser.node.dds import DdsTransport

    return DdsTransport(domain)


def resident(pid: int) -> float:
    """Resident memory of a process [MB]."""
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * 4096 / 1e6


def processor(pid: int) -> float:
    """Processor time of a process so far [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def drive(send_joints, send_imu, seconds: float, rate: float) -> tuple[int, float]:
    """Send both messages at half the rate each; how many of each, and the angle driven [rad]."""
    joints = ros.JointState(name=list(JOINTS), velocity=np.zeros(4))
    imu = ros.Imu()
    start, step, count, angle = time.time(), 2.0 / rate, 0, 0.0
    while count * step < seconds:
        wait = start + count * step - time.time()
        if wait > 0.0:
            time.sleep(wait)
        moving = min(max(count * step - STANDING, 0.0), 1.0)  # a second of speeding up
        speed, turn = SPEED * moving, TURN * moving
        joints.header.stamp = imu.header.stamp = ros.Time.of(time.time())
        joints.velocity = np.array([(speed + side * HALF_TRACK * turn) / RADIUS for side in JOINTS.values()])
        imu.angular_velocity.z = turn
        push = SPEED if 0.0 < moving < 1.0 else 0.0
        imu.linear_acceleration = ros.Vector3(push, speed * turn, GRAVITY)
        send_imu(imu)
        send_joints(joints)
        angle += turn * step
        count += 1
    return count, angle


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=2000.0, help="messages per second, joints and IMU together")
    parser.add_argument("--transport", default="dds", choices=("dds", "zenoh"))
    parser.add_argument("--domain", type=int, default=77)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.toml"
        path.write_text(manifest())
        command = [
            sys.executable, "-m", "grouser", "node", "--manifest", str(path), "--transport", given.transport,
            "--domain", str(given.domain), "--checkpoint", str(Path(folder) / "node.npz"), "--json",
        ]  # fmt: skip
        node = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        result = load(node, given)
    if given.json:
        print(json.dumps(result, indent=2))
        return
    ms, memory = result["latency_ms"], result["memory_mb"]
    print(f"sent {result['sent']} of each, {result['sent_per_second']:.0f} messages/s in {result['seconds']:.0f} s")
    print(f"lost: {result['lost']}, of these {result['node']['lost']} noticed")
    print(f"odometry: {result['odometry']} of {result['node']['published']} received")
    print(f"stamp of the newest signal to odometry here: median {ms['median']} ms, 99 % {ms['p99']} ms")
    own = result["node"]["latency_ms"]
    print(f"arrival at the node to publication: median {own['median']} ms, 99 % {own['p99']} ms")
    print(f"processor: {100.0 * result['processor_share']:.0f} % of one core")
    print(f"memory of the node: {memory['first']:.1f} MB after 5 s, {memory['last']:.1f} MB at the end")
    print(f"end of the circle: {result['error_m']:.3f} m off")


def load(node: subprocess.Popen, given: argparse.Namespace) -> dict:
    """Load a node; what came of it."""
    carrier, listener, memory = transport(given.transport, given.domain), Listener(), []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(1.0):
            memory.append(resident(node.pid))

    try:
        carrier.subscribe("/odom", ros.Odometry, listener, reliable=True)
        send_joints = carrier.publisher("/joint_states", ros.JointState, reliable=False)
        send_imu = carrier.publisher("/imu", ros.Imu, reliable=False)
        while len({one.topic for one in carrier.peers()}) < 3:
            if node.poll() is not None:
                raise SystemExit("the node ended before it was found")
            time.sleep(0.05)
        threading.Thread(target=watch, daemon=True).start()
        began, busy = time.time(), processor(node.pid)
        sent, angle = drive(send_joints, send_imu, given.seconds, given.rate)
        took, busy = time.time() - began, processor(node.pid) - busy
        time.sleep(1.0)
        done.set()
        node.terminate()
        said = json.loads(node.communicate(timeout=30)[0])
    finally:
        done.set()
        if node.poll() is None:
            node.kill()
        carrier.close()
    here = said["messages"]
    radius = SPEED / TURN
    true = np.array([radius * math.sin(angle), radius * (1.0 - math.cos(angle))])
    return {
        "sent": sent, "seconds": took, "sent_per_second": 2 * sent / took,
        "lost": {name: sent - here[name] for name in ("/joint_states", "/imu")},
        "processor_share": busy / took, "odometry": listener.count, "latency_ms": listener.latency.summary(),
        "memory_mb": {"first": memory[min(4, len(memory) - 1)], "last": memory[-1], "largest": max(memory)},
        "error_m": float(np.linalg.norm(np.array(said["position"][:2]) - true)), "node": said,
    }  # fmt: skip


if __name__ == "__main__":
    main()
