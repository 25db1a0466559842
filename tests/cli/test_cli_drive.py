"""`grouser drive` as a program: its address, its end by Ctrl-C or by leaving, its files, its mistakes."""

from __future__ import annotations

import http.client
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import drive_files
import pytest

import grouser as gr
from grouser.cli.app import run

LONG = 120
"""Seconds until a test gives up; how long it takes is not what is tested."""


class Page:
    """What a page does, without a browser."""

    def __init__(self, address: str) -> None:
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/[\w-]{32,}/)", address)
        assert found, address
        self.port, self.place = int(found[1]), found[2]
        self.stream = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG)
        self.stream.request("GET", f"{self.place}stream?page=me")
        self.answer = self.stream.getresponse()
        assert self.answer.status == 200
        assert self.answer.read(8)

    def do(self, **command: Any) -> tuple[int, dict[str, Any]]:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG)
        body = json.dumps({"page": "me", **command})
        line.request("POST", f"{self.place}do", body, {"Content-Type": "application/json"})
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())

    def close(self) -> None:
        self.answer.close()
        self.stream.close()


@contextmanager
def program(*options: str) -> Iterator[Any]:
    """The program, and the lines until it serves."""
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    process = subprocess.Popen(
        [sys.executable, "-m", "grouser", "drive", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def address(stream: Any) -> tuple[str, str]:
    """The address, and what was said until Ctrl-C was explained."""
    said = ""
    while "Ctrl-C ends it" not in said:
        line = stream.readline()
        assert line, said
        said += line
    return re.findall(r"http://\S+", said)[0], said


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_what_was_recorded(way: signal.Signals, tmp_path: Path) -> None:
    out = tmp_path / "drives" / "run.npz"
    with program("husky", "--model", "kinematic", "--out", str(out)) as process:
        page, said = address(process.stdout)
        assert said.startswith("husky on ")
        assert "open this address in a browser" in said  # there is no screen here
        driver = Page(page)
        assert driver.do(do="steer", forward=1, left=0, turn=0, number=1) == (200, {})
        assert len(driver.answer.read(100_000)) == 100_000  # more than the frames before it begins to move
        process.send_signal(way)
        rest, wrong = process.communicate(timeout=LONG)
    assert (process.returncode, wrong) == (0, "")
    ended = "it was ended by Ctrl-C" if way is signal.SIGINT else "it was stopped"
    assert f"husky: {ended}" in rest
    assert f"wrote {out}" in rest
    assert gr.Run.load(out).position[-1, 0] > 0.0


def test_closing_the_page_ends_it_and_json_is_one_object() -> None:
    with program("husky", "--model", "kinematic", "--json") as process:
        page, said = address(process.stderr)
        assert "and so does closing the page" in said
        Page(page).close()
        rest, wrong = process.communicate(timeout=LONG)
    assert (process.returncode, wrong) == (0, "")
    found = json.loads(rest)
    assert (found["vehicle"], found["ended"], found["files"]) == ("husky", "its page was closed", [])
    assert found["model"] == "kinematic"


def test_ctrl_c_before_any_page_is_an_orderly_end() -> None:
    with program("husky", "--model", "kinematic", "--keep") as process:
        _, said = address(process.stdout)
        assert "and so does closing" not in said
        process.send_signal(signal.SIGINT)
        rest, wrong = process.communicate(timeout=LONG)
    assert (process.returncode, wrong) == (0, "")
    assert "drove     0.000 m in 0.0 s" in rest


def test_only_loopback_is_listened_on_unless_it_is_told_and_then_it_warns() -> None:
    for host, warned in (("127.0.0.1", False), ("0.0.0.0", True)):
        with program("husky", "--model", "kinematic", "--host", host) as process:
            page, _ = address(process.stdout)
            port = int(page.split(":")[2].partition("/")[0])
            process.send_signal(signal.SIGINT)
            _, wrong = process.communicate(timeout=LONG)
            assert process.returncode == 0
            assert ("grouser: warning: 0.0.0.0 is reached from other machines" in wrong) is warned
            assert wrong.count("\n") == int(warned)
            assert port > 1023


def test_mistakes_are_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for options, sentence in (
            (["--port", str(port)], f"--port: {port} on 127.0.0.1 is in use by another program; choose another"),
            (["--port", "70000"], "--port: 70000 is not between 0 and 65535"),
            (["--host", "192.0.2.7"], "--host: 192.0.2.7 is not an address of this machine"),
            (["--out", "run.html"], "--out: run.html must end in .npz"),
            (["--out", f"{tmp_path}/a.npz/b.npz", "--speed", "99"], "--speed: 99 is not a number from 0.05 to 5 m/s"),
            (["--dt", "1"], "--dt: 1 s is not from 0.0001 to 0.1"),
            (["--model", "magic"], "--model: 'magic' is not one of dynamic, kinematic"),
            (
                ["--model", "kinematic", "--friction", "0.5"],
                "--friction: is for the dynamic model; add --model dynamic, or leave it out",
            ),
            (["--contact", "glue"], "contact: 'glue' is not one of piecewise-linear"),
            (["--friction", "-1"], "friction"),
            (["--start", "here"], "--start: 'here' is neither x,y nor x,y,yaw"),
            (["--terrain", "custard"], "no terrain 'custard'"),
            (
                ["--terrain", "rough:rms=.1,length=1,seed=1,size=4", "--start", "50,0,0"],
                "x = 50, y = 0 m is not on the map, which covers",
            ),
        ):
            assert run(["drive", "husky", "--no-browser", *options]) == 2
            said = capsys.readouterr().err
            assert said.count("\n") == 1, said
            assert sentence in said
    assert run(["drive", "unicorn"]) == 2
    assert "unicorn" in capsys.readouterr().err


def test_its_page_opens_in_a_browser_only_where_there_is_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    from grouser.cli import drive

    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert not drive._open("http://127.0.0.1:1/x/")
    monkeypatch.setenv("DISPLAY", ":0")
    assert drive._open("http://127.0.0.1:1/x/")


def test_a_fit_drives_as_it_was_calibrated_and_plans_with_its_uncertainty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, manifest = drive_files.write(tmp_path)
    fit = tmp_path / "fit.toml"
    assert run(["calibrate", str(log), "--manifest", str(manifest), "--out", str(fit)]) == 0
    name = gr.Fit.load(fit).model.vehicle.name
    from grouser.live.pilot import at_once

    sessions: list[Any] = []

    def not_served(make: Any, **_: Any) -> None:
        sessions.append(make(submit=at_once, keep=None))
        raise gr.GrouserError("not served")

    monkeypatch.setattr("grouser.live.loop.LiveDrive", not_served)
    assert run(["drive", name, "--fit", str(fit), "--speed", "0.5", "--start", "1,2,90", "--dt", "0.02"]) == 2
    [session] = sessions
    assert session.pose.tolist() == pytest.approx([1.0, 2.0, math.pi / 2.0])
    assert isinstance(session.sim.model, gr.Kinematics)
    assert session.sim.model.slip is not None
    session.go(1.0, 4.0)
    for _ in range(600):
        session.advance(0.02)
    assert session.pilot.news == "arrived"
    assert session.pose[1] > 3.6
