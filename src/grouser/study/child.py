"""A process that runs chunks: a crash, or too much memory, ends one chunk only.

`python -m grouser.study.child` is that process. It reads the work and then numbers of chunks from its standard input,
and answers with their bytes. It ends with the process that started it, also if that was killed, and when it is not used
for `IDLE` seconds. Nothing is pickled.
"""

from __future__ import annotations

import os
import queue
import resource
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import islice
from typing import IO

from grouser.errors import StudyError
from grouser.study.executor import Failure, Results, Work, attempt, named

IDLE = 120.0
"""Seconds after which a process without work ends."""
SHARE = 0.9
"""Part of the free memory of a machine that chunks may take where no limit is given."""
_REQUEST, _ANSWER = struct.Struct("<qi"), struct.Struct("<cq")
_BYTES, _REASON, _READY = b"b", b"r", b"o"


class Child:
    """A process that runs chunks of one work, started when first used and again after it ended."""

    def __init__(self, work: Work, *, threads: int = 1, memory: int | None = None) -> None:
        """On so many threads; `memory` is what a chunk may take [bytes]; default: most of what is free."""
        self._threads = threads
        self._text, self._memory = work.text.encode(), machine_memory() if memory is None else int(memory)
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def run(self, index: int) -> bytes | Failure:
        """Run a chunk; one that kills the process is tried once more, as it may not have been its own fault."""
        for _ in range(2):
            found = self._try(index)
            if not isinstance(found, int):
                return found
            code = found
            if self._closed:
                break
        return Failure(f"chunk {index} ended its process twice: {_why(code)}")

    def _try(self, index: int) -> bytes | Failure | int:
        """Its bytes or a reason, or the exit code of the process that died of it."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(_REQUEST.pack(index, self._threads))
            process.stdin.flush()
            kind, data = _read_answer(process.stdout)
        except (OSError, EOFError):
            code = process.wait()
            self._end()
            return code
        except BaseException:
            self._end()  # Ctrl-C while it works: the next answer would be that of this chunk
            raise
        return data if kind == _BYTES else Failure(data.decode())

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(one or os.getcwd() for one in sys.path)}
        # Also where a function of the engine is not asked for a number of threads: others have the other cores.
        environment |= {"NUMBA_NUM_THREADS": str(self._threads)}
        # -P: it must not import what lies in the folder it is called from, unless this process does.
        command = [sys.executable, "-P", "-m", "grouser.study.child", str(self._memory)]
        self._process = process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(struct.pack("<q", len(self._text)) + self._text)
            process.stdin.flush()
            kind, data = _read_answer(process.stdout)
        except (OSError, EOFError):
            raise StudyError(f"a process for chunks cannot be started: {_why(process.wait())}") from None
        if kind != _READY:
            raise StudyError(data.decode())
        return process

    def close(self) -> None:
        """End the process, whatever it does, for good."""
        self._closed = True
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()


def run_isolated(work: Work, todo: Sequence[int], *, threads: int, memory: int | None, jobs: int = 1) -> Results:
    """Run chunks in processes next to this one, so many at a time."""
    memory = machine_memory() // max(jobs, 1) if memory is None else memory
    children = [Child(work, threads=threads, memory=memory) for _ in range(min(jobs, len(todo)))]
    free, waiting = queue.SimpleQueue[Child](), iter(todo)
    for child in children:
        free.put(child)

    def run(index: int) -> tuple[int, bytes | Failure]:
        child = free.get()
        try:
            return index, child.run(index)
        finally:
            free.put(child)

    pool = ThreadPoolExecutor(max(len(children), 1), thread_name_prefix="grouser chunks")
    try:
        running = {pool.submit(run, index) for index in islice(waiting, len(children))}
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(run, index) for index in islice(waiting, len(ended))}
            for one in ended:
                yield one.result()
    finally:
        for child in children:
            child.close()
        pool.shutdown(cancel_futures=True)


def machine_memory() -> int:
    """Bytes that chunks may take on this machine: of what is free, or the system ends a process, maybe another."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            free = next(1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(SHARE * free)


def _why(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"it ended with exit code {code}"
    name = signal.Signals(-code).name if -code in list(signal.Signals) else f"signal {-code}"
    return f"it was ended by {name}" + (", as when memory runs out" if name == "SIGKILL" else "")


def _read(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data


def _read_answer(stream: IO[bytes]) -> tuple[bytes, bytes]:
    kind, length = _ANSWER.unpack(_read(stream, _ANSWER.size))
    return kind, _read(stream, length)


def main(memory: int) -> None:
    """Run chunks until the standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a function prints must not get between the answers

    def answer(kind: bytes, data: bytes) -> None:
        answers.write(_ANSWER.pack(kind, len(data)))
        answers.write(data)
        answers.flush()

    stdin = sys.stdin.buffer
    work = Work.read(_read(stdin, struct.unpack("<q", _read(stdin, 8))[0]).decode())
    try:
        function = named(work.function)
    except StudyError as error:
        answer(_REASON, str(error).encode())
        return
    limit = _in_use() + memory
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))
    requests: queue.Queue[tuple[int, int]] = queue.Queue()
    threading.Thread(target=_listen, args=(stdin, requests), daemon=True).start()
    answer(_READY, b"")
    while True:
        try:
            index, threads = requests.get(timeout=IDLE)
        except queue.Empty:
            return
        found = attempt(function, work.manifest, index, threads)
        if isinstance(found, Failure):
            answer(_REASON, found.reason.encode())
        else:
            answer(_BYTES, found)


def _listen(stdin: IO[bytes], requests: queue.Queue[tuple[int, int]]) -> None:
    """Queue requests; end at once when their stream ends, as the process that wants the chunk is gone then."""
    while True:
        try:
            requests.put(_REQUEST.unpack(_read(stdin, _REQUEST.size)))
        except (EOFError, OSError):
            os._exit(0)


def _in_use() -> int:
    """Bytes of data that this process has reserved so far: libraries reserve much that they never touch."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmData:"))
    except (OSError, StopIteration):
        return 0


if __name__ == "__main__":
    main(int(sys.argv[1]))
