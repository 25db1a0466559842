"""Stand-ins: a transport without a network, and a chain that is wheel odometry alone."""

from dataclasses import dataclass, field

import numpy as np

import grouser as gr
from grouser.node.messages import decode, encode


class Loop:
    """A transport in the process: `send` delivers to subscribers, `sent` holds what was published."""

    def __init__(self):
        self.receivers, self.sent, self.visible, self.closed = {}, {}, [], False

    def subscribe(self, topic, type, receive, *, reliable=False):
        self.receivers[topic, type] = receive

    def publisher(self, topic, type, *, reliable=True):
        messages = self.sent.setdefault(topic, [])

        def publish(message):
            messages.append(decode(type, encode(message)))

        return publish

    def send(self, topic, message, arrived=None):
        stamp = message.header.stamp.seconds if hasattr(message, "header") else 0.0
        self.receivers[topic, type(message)](encode(message), stamp if arrived is None else arrived)

    def peers(self):
        return self.visible

    def lost(self):
        return 0

    def close(self):
        self.closed = True


@dataclass
class Recorder:
    """A chain that writes down what it is given."""

    calls: list = field(default_factory=list)
    estimate: object = None
    faults: dict = field(default_factory=dict)

    def __getattr__(self, name):
        def take(*values, **options):
            kept = [one.copy() if isinstance(one, np.ndarray) else one for one in values]
            self.calls.append((name, *kept, *options.values()))

        return take


class Wheels:
    """A chain that is wheel odometry alone."""

    def __init__(self, vehicle="husky"):
        self.odometry = gr.Odometry(vehicle)
        self.excluded, self.degraded, self.stuck = (), (), False

    def joints(self, t, rates, angles=None):
        self.odometry.update(t, rates, angles)

    def imu(self, t, gyro, acceleration):
        if np.abs(gyro).max() > 100.0:
            raise gr.errors.GrouserError(f"imu at t = {t:g}: a rate is beyond all gyros")

    @property
    def faults(self):
        return self.odometry.faults

    @property
    def estimate(self):
        return None if self.odometry.estimate is None else _Estimate(self.odometry.estimate, self)

    def state(self):
        return {"position": self.estimate.position}


class _Estimate:
    def __init__(self, wheels, chain):
        self._wheels = wheels
        self.excluded, self.degraded, self.stuck = chain.excluded, chain.degraded, chain.stuck
        self.sliding = self.ground_changed = False
        self.alarms = {"stuck": self.stuck, "sliding": False, "ground_changed": False}

    def __getattr__(self, name):
        return getattr(self._wheels, name)
