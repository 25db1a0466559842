"""A real Dask scheduler and workers on loopback, each a process that can be killed; and small chunks for them."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grouser
from grouser.study import cluster

ROOT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {
    "PYTHONPATH": os.pathsep.join([str(Path(grouser.__file__).parents[1]), str(ROOT)]),
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s",
}
cluster.CONNECT = 60.0  # here and in clients: machines that run tests may be busy
WORK = "tests.study.dask_here:chunk"


def chunk(manifest: Mapping[str, Any], index: int, threads: int) -> bytes:
    """Bytes that follow from the manifest and the index; leaves a mark for every time it ran."""
    if marks := manifest.get("marks"):
        with (Path(marks) / f"{index}").open("ab") as file:
            file.write(b"x")
    time.sleep(manifest.get("seconds", 0.0))
    poison = manifest.get("poison", {}).get(str(index))
    if poison == "exit":
        os._exit(3)
    if poison == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if poison == "memory":
        hoard = [bytearray(64 << 20) for _ in range(200)]
        return bytes(hoard[0][:1])
    if poison == "raise":
        raise ValueError("a user's\nmistake")
    return hashlib.sha256(f"{manifest['seed']} {index}".encode()).digest() * manifest.get("times", 1)


class Cluster:
    """A scheduler on a free port, and workers with one thread each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self._started = 0

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def _start(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *options]
        with (self.folder / f"{kind}.log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=ENVIRONMENT, cwd=self.folder)

    def start(self, workers: int = 2) -> None:
        """Start what is not running; the port stays the same."""
        if self.scheduler is None:
            options = ("--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show")
            self.scheduler = self._start("scheduler", *options)
        while len(self.workers) < workers:
            more = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "1GiB", "--host", "127.0.0.1")
            self.workers.append(self._start("worker", self.address, *more, "--local-directory", str(self.folder)))
            self._started += 1
        for _ in range(3000):  # starting takes long where a machine is busy with others
            if self._is_ready():
                return
            time.sleep(0.1)
        raise AssertionError("the scheduler or a worker has not started")

    def _is_ready(self) -> bool:
        log = self.folder / "worker.log"
        if log.exists() or not self._started:
            if self._started and log.read_text().count("Registered to:") < self._started:
                return False
            with socket.socket() as one:
                return one.connect_ex(("127.0.0.1", self.port)) == 0
        return False

    def kill_worker(self) -> None:
        _kill(self.workers.pop(0))

    def kill_scheduler(self) -> None:
        assert self.scheduler is not None
        _kill(self.scheduler)
        self.scheduler = None
        while self.workers:  # they would wait for it, and then end
            self.kill_worker()

    def close(self) -> None:
        for one in [*self.workers, *([self.scheduler] if self.scheduler else [])]:
            _kill(one)


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def work_of(folder: Path, **more: Any) -> dict[str, Any]:
    """A manifest whose chunks leave marks in a folder."""
    marks = folder / "marks"
    marks.mkdir(exist_ok=True)
    return {"seed": 7, "marks": str(marks), **more}


def times_run(folder: Path) -> dict[int, int]:
    """How often each chunk ran."""
    return {int(one.name): one.stat().st_size for one in (folder / "marks").iterdir()}


CLIENT = """
import json, sys
from pathlib import Path
from grouser.study.executor import Failure, Work, run_chunks
from tests.study import dask_here
work, folder, scheduler = Work.read(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
todo = [k for k in range(int(sys.argv[4])) if not (folder / f"{k}.bytes").exists()]
for index, data in run_chunks(work, todo, scheduler=scheduler):
    part = folder / f"{index}.part"
    part.write_bytes(data)
    part.rename(folder / f"{index}.bytes")
"""


class Client:
    """A study in a process of its own, that writes each chunk and continues by what exists."""

    def __init__(self, manifest: dict[str, Any], folder: Path, scheduler: str, chunks: int) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        text = json.dumps({"manifest": manifest, "function": WORK})
        command = [sys.executable, "-c", CLIENT, text, str(folder), scheduler, str(chunks)]
        self.process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)

    @property
    def done(self) -> set[int]:
        return {int(one.stem) for one in self.folder.glob("*.bytes")}

    def wait_for(self, chunks: int) -> set[int]:
        """Until so many chunks are written; which ones."""
        for _ in range(30_000):
            if len(self.done) >= chunks:
                return self.done
            assert self.process.poll() is None, self.process.stderr and self.process.stderr.read()
            time.sleep(0.01)
        raise AssertionError(f"{len(self.done)} chunks, and no more come")

    def finish(self, seconds: float = 300.0) -> tuple[int, str]:
        """Exit code, and what it said."""
        _, said = self.process.communicate(timeout=seconds)
        return self.process.returncode, said

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()
