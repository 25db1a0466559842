"""Chunks on a Dask cluster that is already running: `dask scheduler` and `dask worker` processes, on any machines.

Dask pickles what it sends between client, scheduler and workers, so anyone who reaches the scheduler can run code on
all of them: it belongs on a trusted network, or behind Dask's TLS (`tls://`). Only text, numbers and bytes are sent.

Chunks run in processes next to the workers (`child.py`). A chunk that crashes does not kill a worker; a chunk whose
worker is lost is run again by another. Nothing but this module imports Dask, and only where a scheduler is named.
"""

from __future__ import annotations

import asyncio
import logging
import platform
import queue
import re
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from socket import gethostname
from typing import Any

from grouser._version import __version__
from grouser.errors import StudyError
from grouser.study.child import Child
from grouser.study.executor import Failure, Work, named, said

CONNECT = 10.0
"""Seconds to reach a scheduler, and a first worker."""
ALONE = 60.0
"""Seconds that a scheduler may be without workers."""
AHEAD = 2
"""Chunks that a thread of a worker has, with the one it runs: the next is there when it ends."""
AGAIN = 1
"""How often a chunk is sent again after the scheduler gave it up, because workers that ran it were lost."""
PACKAGES = ("numpy", "numba", "llvmlite", "scipy")
MACHINE_CODE = "machine code"
ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://(\[[0-9a-fA-F:]+\]|[\w.-]+):[0-9]{1,5}")


def run_on_cluster(
    work: Work, todo: Sequence[int], *, scheduler: str, threads: int
) -> Iterator[tuple[int, bytes | Failure]]:
    """Run chunks on the workers of a scheduler, a bounded number at a time; results as they finish."""
    with connected(scheduler) as client:
        remark = check_installations(client)
        if remark:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                warnings.warn(remark, stacklevel=2)
        if todo and work.warm_up:
            _warm_up(client, work)
        yield from _Window(client, scheduler, work, threads).run(todo)


@contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """A client of a scheduler that answers and has a worker."""
    if not ADDRESS.fullmatch(scheduler):
        raise StudyError(f"--scheduler: {scheduler!r:.80} is not the address of a Dask scheduler, as tcp://host:8786")
    try:
        from distributed import Client
    except ImportError:
        raise StudyError("--scheduler: needs Dask; run: pip install grouser[cluster]") from None
    with _quiet():
        try:
            client = Client(scheduler, timeout=CONNECT, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            reason = str(error).strip() or type(error).__name__
            why = "no answer" if "imed out" in reason or "Timeout" in reason else f"{reason.splitlines()[0]:.120}"
            raise StudyError(
                f"{scheduler}: no Dask scheduler reached within {CONNECT:g} s ({why}); start one with: dask scheduler"
            ) from None
        try:
            try:
                client.wait_for_workers(1, timeout=CONNECT)
            except TimeoutError:
                raise StudyError(f"{scheduler}: has no workers; start some with: dask worker {scheduler}") from None
            yield client
        finally:
            with suppress(Exception):  # of a scheduler that is gone
                client.close(timeout=2.0)


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask's log and its warnings of versions: errors have what matters of them."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def check_installations(client: Any) -> str:
    """Refuse workers whose rows would differ from those of others or of this installation.

    A sentence comes back where all workers have another kind of processor than this machine: rows are then the same on
    all of them, and may differ in the last digits from rows made here.
    """
    here = installation()
    try:
        found = client.run(_installation, on_error="return")
    except Exception as error:  # whatever a worker raises that cannot even load the function
        raise StudyError(_unusable("a worker", error)) from None
    first = ""
    for worker, there in found.items():
        if not isinstance(there, dict):
            raise StudyError(_unusable(f"worker {worker}", there))
        if other := difference(_versions(here), _versions(there)):
            raise StudyError(f"worker {worker} has {other}; install the same versions, or rows would differ")
        first = first or worker
        if other := difference(found[first], there):
            same = "start all with the same NUMBA_CPU_NAME and NUMBA_CPU_FEATURES, or rows would differ"
            raise StudyError(f"worker {worker} has {other.replace('here', f'on {first}')}; {same}")
    other = difference(here, found[first]) if first else ""
    return other and f"workers have {other}; rows made here may differ from theirs in the last digits"


def installation() -> dict[str, str]:
    """What decides the bits of a result: versions by name, that of Grouser with a digest of its sources; processor."""
    found = {"grouser": f"{__version__} (sources {_sources()})", "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found | {MACHINE_CODE: _machine_code()}


def difference(here: Mapping[str, str], there: Mapping[str, str]) -> str:
    """What another installation has and what is here, in words; empty if they are alike."""
    other = [name for name in here if here[name] != there.get(name)]
    return " and ".join(f"{name} {there.get(name, 'missing')}, here it is {here[name]}" for name in other[:2])


@cache
def _sources() -> str:
    root = Path(__file__).parents[1]
    digest = sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:8]


def _machine_code() -> str:
    """The processor that kernels are compiled for: others add and multiply in another order."""
    from grouser._compile.fingerprint import target
    from grouser._compile.store import generic_target, why_not_shipped

    made_for = target() if why_not_shipped() else generic_target()
    name, _, features = made_for.partition(":")
    return f"for {name} ({sha256(features.encode()).hexdigest()[:6]})"


def _installation() -> dict[str, str]:
    return installation()


def _versions(one: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in one.items() if name != MACHINE_CODE}


def _unusable(who: str, error: Any) -> str:
    return f"{who} cannot run this Grouser ({' '.join(str(error).split())[:120]}); install the same version there"


def _warm_up(client: Any, work: Work) -> None:
    """Compile on one worker of each node; the others of a node find the code in its files."""
    nodes: dict[str, str] = {}
    for address, node in client.run(gethostname, on_error="ignore").items():
        nodes.setdefault(node, address)
    # A node that fails is silent here, and says why with its first chunk: it may be of the first row alone.
    for worker, found in client.run(_warm, work.text, workers=sorted(nodes.values()), on_error="return").items():
        if isinstance(found, bytes) and found:
            raise StudyError(f"worker {worker}: {found.decode()}")


async def _warm(text: str) -> bytes | None:
    work = Work({"text": text}, "grouser.study.cluster:warm")
    child = Child(work)
    try:
        found = await asyncio.to_thread(child.run, 0)  # the worker goes on to answer its scheduler
        return found if isinstance(found, bytes) else None
    finally:
        child.close()


def warm(manifest: Mapping[str, Any], index: int, threads: int) -> bytes:
    """In a process next to a worker: compile what chunks need, by the function that the work names for that."""
    work = Work.read(manifest["text"])
    return str(named(work.warm_up)(work.manifest)).encode()


class _Window:
    """Chunks that are with the cluster: enough for all its threads, not all at once."""

    def __init__(self, client: Any, scheduler: str, work: Work, threads: int) -> None:
        self._client, self._scheduler, self._work, self._threads = client, scheduler, work, threads
        self._futures: dict[Any, int] = {}
        self._given_up: dict[int, int] = {}
        self._ended: queue.Queue[Any] = queue.Queue()
        self._looked, self._seen, self._room = 0.0, time.monotonic(), 0

    def run(self, todo: Sequence[int]) -> Iterator[tuple[int, bytes | Failure]]:
        """Results as they finish."""
        waiting = list(reversed(todo))
        try:
            while waiting or self._futures:
                self._look()
                while waiting and len(self._futures) < self._room:
                    self._submit(waiting.pop())
                yield from self._finished()
        finally:
            with suppress(Exception):  # of a scheduler that is gone
                self._client.cancel(list(self._futures), force=True)

    def _submit(self, index: int) -> None:
        # The same chunk of the same work has the same key: one left by a client that was killed is not run twice.
        key = f"grouser-{self._work.digest}-{index}-{self._given_up.get(index, 0)}"
        future = self._client.submit(
            run_remote, self._work.text, index, self._threads, key=key, pure=False, retries=0, priority=-index
        )
        self._futures[future] = index
        future.add_done_callback(self._ended.put)

    def _finished(self) -> Iterator[tuple[int, bytes | Failure]]:
        """What has ended by now, or within a second."""
        try:
            ended = [self._ended.get(timeout=1.0)]
        except queue.Empty:
            return
        while not self._ended.empty():
            ended.append(self._ended.get())
        states = [future.status for future in ended]
        if "cancelled" in states or "lost" in states:
            raise self._lost()
        good = [future for future, state in zip(ended, states, strict=True) if state == "finished"]
        try:
            data = dict(zip(good, self._client.gather(good), strict=True))
        except Exception:
            raise self._lost() from None
        results: list[tuple[int, bytes | Failure]] = []
        for future in ended:
            index = self._futures.pop(future)
            if future in data:
                found = data.pop(future)
                results.append((index, found if isinstance(found, bytes) else Failure(found)))
            elif self._is_again(future, index):
                self._submit(index)
            else:
                results.append((index, Failure(_reason(future.exception(), index))))
            future.release()  # before it is written: if its worker is lost now, it is not run again
        yield from results

    def _is_again(self, future: Any, index: int) -> bool:
        """Whether to send a chunk again that was given up because its workers were lost."""
        if type(future.exception()).__name__ != "KilledWorker" or self._given_up.get(index, 0) >= AGAIN:
            return False
        self._given_up[index] = self._given_up.get(index, 0) + 1
        return True

    def _look(self) -> None:
        """Count the workers, now and then: they may come and go."""
        now = time.monotonic()
        if now - self._looked < 2.0:
            return
        self._looked = now
        try:
            threads = sum(self._client.nthreads().values())
        except Exception:
            raise self._lost() from None
        if threads:
            self._seen, self._room = now, AHEAD * threads
        elif now - self._seen > ALONE:
            then = "what is done is kept, start workers and run again"
            raise StudyError(f"{self._scheduler}: has had no workers for {ALONE:g} s; {then}")

    def _lost(self) -> StudyError:
        return StudyError(f"{self._scheduler}: lost the Dask scheduler; what is done is kept, run again to continue")


def _reason(error: Any, index: int) -> str:
    if type(error).__name__ == "KilledWorker":
        return f"chunk {index} was given up, as the workers that ran it were lost"
    return f"chunk {index} raised {said(error)}"


_free: dict[str, list[Child]] = {}
_free_lock = threading.Lock()


def run_remote(text: str, index: int, threads: int) -> bytes | str:
    """On a worker: the bytes of a chunk, run in a process next to it, or why there are none."""
    wanted = f"{threads} {text}"
    with _free_lock:
        for other in [key for key in _free if key != wanted]:
            for child in _free.pop(other):
                child.close()
        idle = _free.setdefault(wanted, [])
        child = idle.pop() if idle else Child(Work.read(text), threads=threads, memory=_share())
    found = child.run(index)
    with _free_lock:
        _free.setdefault(wanted, []).append(child)
    return found.reason if isinstance(found, Failure) else found


def _share() -> int | None:
    """Memory [bytes] of each thread of this worker, if the worker has a limit."""
    from distributed import get_worker

    worker = get_worker()
    limit = worker.memory_manager.memory_limit
    return None if not limit else int(limit) // max(worker.state.nthreads, 1)
