"""A live drive in real time: the simulation on a thread of its own, the server and the saving of files on others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.errors import GrouserError
from grouser.live import frame
from grouser.live.channel import Channel
from grouser.live.page import Scenery, live_page, live_scene
from grouser.live.pilot import Worker
from grouser.live.server import Server, new_token
from grouser.view.scene_vehicle import vehicle_size

if TYPE_CHECKING:
    from grouser.live.session import Session
    from grouser.simulation.run import Run

TICK = 1.0 / 120.0
"""Period of the simulation loop [s]."""
PICTURE = 1.0 / 60.0
"""Least time between frames [s]."""
STILL = 0.25
"""The same while nothing moves [s]."""
WORKING = 0.03
"""Longest computing time of the steps in one period [s]."""
GRACE = 3.0
"""Time without a page after which the drive ends [s]."""
LOADING = 30.0
"""Time that a requested page may take to open its stream [s]."""
PACE_OVER = 1.0
"""Interval over which the ratio of simulated to real time is measured [s]."""


def _is_past(moment: float) -> bool:
    """Whether the clock is past a moment [s]."""
    return time.monotonic() > moment


class LiveDrive:
    """One drive, from its start until its page is closed or it is stopped."""

    def __init__(
        self, make: Callable[..., Session], *, host: str, port: int, out: Path | None = None, stays: bool = False
    ) -> None:
        """make(submit=…, keep=…): the session, given where plans are made and what takes its recordings.

        stays: it does not end when the page is closed.
        """
        self.out, self.stays = out, stays
        self._recordings = 0
        self._written: list[Path] = []
        self.channel = Channel()
        self.reason = ""
        """Reason for the end."""
        self._planner = Worker("grouser-plan")
        self._saver = ThreadPoolExecutor(1, thread_name_prefix="grouser-save")
        self.session = make(submit=self._planner.submit, keep=None if out is None else self._keep)
        sim = self.session.sim
        # A whole metre near the start, world [m]: what the page draws is relative to it.
        self._origin = np.rint(sim.state[4:7])
        self._scenery = Scenery(sim.ground, self._origin, vehicle_size(sim.model.vehicle))
        self._lock = threading.RLock()
        self._wake, self._over = threading.Event(), threading.Event()
        self._sent: dict[str, Any] = {}
        self._left_at: float | None = None
        self._asked_for = (0, -LOADING)
        self._building: Future[Any] | None = None
        self._error: BaseException | None = None
        self._problems: list[str] = []
        self._server = Server(host, port, self, new_token())
        self._threads = [
            threading.Thread(target=self._run, name="grouser-drive", daemon=True),
            threading.Thread(target=self._server.serve_forever, args=(0.05,), name="grouser-serve", daemon=True),
        ]

    @property
    def address(self) -> str:
        """Address of the page."""
        return self._server.address

    def start(self) -> None:
        """Serve the page; the simulation runs once a page is open."""
        session = self.session
        limits, state = session.limits, session.sim.state
        self._planner.submit(lambda: session.pilot.warm(limits, state))
        for thread in self._threads:
            thread.start()

    def wait(self) -> None:
        """Wait until it has ended, or for Ctrl-C."""
        while not self._over.wait(0.2):
            pass  # a wait without end would not notice Ctrl-C everywhere

    def finish(self, reason: str) -> None:
        """End it."""
        self.reason = self.reason or reason
        self._over.set()

    def close(self) -> list[Path]:
        """Stop everything, save what is recorded; returns the files that were written."""
        self.finish("it was stopped")
        self._wake.set()
        if self._threads[0].is_alive():
            self._threads[0].join()
        with self._lock:
            self.session.pilot.cancel()
            self.session.record(False, always=True)
        self._saver.shutdown()
        self.channel.tell("end", frame.news({"type": "end", "text": self.reason}))
        self.channel.end()
        if self._threads[1].is_alive():
            self._server.shutdown()
        self._server.server_close()
        if self._error is not None:
            raise self._error
        if self._problems:
            raise GrouserError(self._problems[0])
        return self._written

    # Called by the server.

    def page(self) -> tuple[str, str]:
        """The page and its content security policy."""
        self._asked_for = self.channel.opened, time.monotonic()
        with self._lock:
            return live_page(live_scene(self.session, self._scenery, saves_to=str(self.out or "")))

    def left(self) -> None:
        """The page was closed: the driver releases the stick."""
        with self._lock:
            self.session.let_go()

    def do(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out a command of the page."""
        kind, session = command.get("do"), self.session
        if kind == "set":
            return {"doubt": self._set(command["settings"])}
        with self._lock:
            if kind == "steer":
                session.steer(command["forward"], command["left"], command["turn"], int(command["number"]))
            elif kind == "go":
                session.go(float(command["x"]), float(command["y"]))
            elif kind == "cancel":
                session.pilot.cancel("cancelled")
            elif kind == "pause":
                session.paused = bool(command["on"])
            elif kind == "step":
                session.paused = True
                session.step()
            elif kind == "reset":
                session.reset()
            elif kind == "factor":
                session.hurry(float(command["factor"]))
            elif kind == "record":
                session.record(bool(command["on"]), always=True)
            else:
                raise GrouserError(f"no command {kind!r:.40}")
        self._wake.set()
        return {}

    def _set(self, wanted: dict[str, Any]) -> str:
        """Change settings; the model is made while the drive continues. Returns why that model is not valid, if so."""
        session, before = self.session, self.session.settings
        settings = session.garage.changed(before, wanted)
        same = replace(before, speed=settings.speed) == settings
        model = session.sim.model if same else session.garage.built(settings)
        with self._lock:
            session.use(settings, model)
        self._wake.set()
        return "" if same else session.garage.doubt(settings)

    # The thread of the simulation.

    def _run(self) -> None:
        try:
            self._drive()
        except BaseException as error:
            self._error = error
            self.finish("it failed")

    def _drive(self) -> None:
        last = next_picture = next_tick = pace_from = time.monotonic()
        passed = pace = 0.0
        while not self._over.is_set():
            now = time.monotonic()
            elapsed, last = now - last, now
            urgent = self._wake.is_set()
            self._wake.clear()
            if not self._watched(now):
                self._wake.wait(0.05)
                next_tick = time.monotonic()
                continue
            with self._lock:
                passed += self.session.advance(min(elapsed, STILL), partial(_is_past, now + WORKING))
                if now - pace_from >= PACE_OVER:
                    pace, passed, pace_from = passed / (now - pace_from), 0.0, now
                if urgent or now >= next_picture - 0.002:
                    self.channel.show(frame.picture(self.session, self._origin, pace))
                    still = self.session.paused or self.session.sim.reason != ""
                    next_picture = max(next_picture + PICTURE, now) if not still else now + STILL
                self._send_changes()
            next_tick = max(next_tick + TICK, time.monotonic())
            self._wake.wait(max(next_tick - time.monotonic(), 0.0))

    def _watched(self, now: float) -> bool:
        """Whether a page is open; without one for `GRACE` the drive ends."""
        if self.channel.client:
            self._left_at = None
            return True
        if self.channel.opened and not self.stays:
            self._left_at = now if self._left_at is None else self._left_at
            opened, asked_at = self._asked_for
            is_loading = opened == self.channel.opened and now - asked_at < LOADING
            if now - self._left_at > GRACE and not is_loading:
                self.finish("its page was closed")
        return False

    def _send_changes(self) -> None:
        """Send what has changed and is not in each picture: state, settings, goal, plan, ground."""
        session, pilot, garage = self.session, self.session.pilot, self.session.garage
        current: dict[str, dict[str, Any]] = {
            "state": {
                "paused": session.paused, "factor": session.factor, "ended": session.sim.reason,
                "recording": session.recorder is not None,
            },
            "settings": {
                "speed": session.settings.speed, "soil": session.settings.soil, "payload": session.settings.payload,
                "friction": garage.friction_of(session.settings), "mass": session.sim.model.vehicle.mass,
            },
            "goal": {"goal": pilot.goal, "reason": pilot.reason, "news": pilot.news},
        }  # fmt: skip
        for kind, values in current.items():
            if self._sent.get(kind) != values:
                self._sent[kind] = values
                self.channel.tell(kind, frame.news({"type": kind, **values}))
        if self._sent.get("path") is not pilot.path:
            self._sent["path"] = pilot.path
            self.channel.tell("path", frame.path_message(pilot.path, self._origin))
        x, y, _ = session.pose
        if (self._building is None or self._building.done()) and self._scenery.is_due(float(x), float(y)):
            self._building = self._saver.submit(self._build_ground, float(x), float(y))

    def _build_ground(self, x: float, y: float) -> None:
        ground = self._scenery.around(x, y)
        if ground is not None:
            self.channel.tell("ground", frame.news({"type": "ground", "ground": ground}))

    def _keep(self, run: Run) -> None:
        """Save a recording on another thread: to the file that was named, then to the same name with a number."""
        assert self.out is not None
        self._recordings += 1
        number = "" if self._recordings == 1 else f"-{self._recordings}"
        path = self.out.with_name(f"{self.out.stem}{number}{self.out.suffix}")

        def save() -> None:
            try:
                run.save(path)
            except GrouserError as error:
                self._problems.append(str(error))
                self.channel.tell("saved", frame.news({"type": "saved", "error": str(error)}))
                return
            self._written.append(path)
            self.channel.tell("saved", frame.news({"type": "saved", "file": path.name}))

        self._saver.submit(save)
