"""Chunks of a study, run here, in processes of their own, or on a cluster: results as they finish, in any order.

A chunk is a whole number; the function that runs it is named by text and gets plain data, so its result does not
depend on where it runs. A chunk that cannot be run gives a `Failure` in the place of its bytes; the others go on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from typing import Any

from grouser.errors import GrouserError, StudyError

RUN_CHUNK = "grouser.study.folder:run_chunk"
Progress = Callable[[int, int], None]
"""Gets the number of chunks done and of all."""


@dataclass(frozen=True)
class Failure:
    """Why a chunk has no result."""

    reason: str
    """One sentence."""


Results = Iterator[tuple[int, bytes | Failure]]
"""Chunks as they finish."""


@dataclass(frozen=True, eq=False)
class Work:
    """A function and its input, as plain data."""

    manifest: Mapping[str, Any]
    """First argument of the function: what JSON can say."""
    function: str = RUN_CHUNK
    """`module:name` of a pure function (manifest, index, threads) -> bytes."""
    warm_up: str = ""
    """`module:name` of a function (manifest) -> str that compiles what chunks need, or says why none can be run.

    Called once per node of a cluster.
    """

    @cached_property
    def text(self) -> str:
        """As JSON, which is what other processes get."""
        try:
            plain = {"manifest": self.manifest, "function": self.function, "warm_up": self.warm_up}
            return json.dumps(plain, allow_nan=False, sort_keys=False)
        except (TypeError, ValueError) as error:
            raise StudyError(f"manifest: cannot be sent to other processes as JSON ({error!s:.100})") from None

    @property
    def digest(self) -> str:
        """Of the text."""
        return sha256(self.text.encode()).hexdigest()[:16]

    @classmethod
    def read(cls, text: str) -> Work:
        """What `text` says."""
        return cls(**json.loads(text))


def run_chunks(
    work: Work, todo: Sequence[int], *, threads: int | None = None, scheduler: str | None = None,
    progress: Progress | None = None, isolate: bool = False, memory: int | None = None, jobs: int = 1,
) -> Results:  # fmt: skip
    """Run chunks; each comes back once, with the bytes of its function or a `Failure`.

    Here they run one after another, on `threads` threads of the engine. `isolate` runs them in other processes, `jobs`
    at a time, so that one that crashes, or takes more than `memory` [bytes], is a `Failure`. With a `scheduler`, as
    tcp://host:8786, they run on its Dask workers, in processes next to them, on `threads` threads each (default 1).
    """
    todo = list(todo)
    if scheduler is not None:
        from grouser.study.cluster import run_on_cluster

        results = run_on_cluster(work, todo, scheduler=scheduler, threads=1 if threads is None else threads)
    else:
        from grouser.threads import thread_count

        threads = thread_count(threads)
        if isolate:
            from grouser.study.child import run_isolated

            results = run_isolated(work, todo, threads=threads, memory=memory, jobs=jobs)
        else:
            function = named(work.function)
            results = ((index, attempt(function, work.manifest, index, threads)) for index in todo)
    for done, one in enumerate(results, 1):
        if progress is not None:
            progress(done, len(todo))
        yield one


def named(name: str) -> Callable[..., Any]:
    """The function that `module:name` names."""
    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except Exception as error:  # whatever the module raises
        raise StudyError(f"{name!r:.80}: cannot be imported ({said(error)})") from None
    if not callable(found):
        raise StudyError(f"{name!r:.80}: is no function")
    return found  # type: ignore[no-any-return]


def attempt(function: Callable[..., Any], manifest: Mapping[str, Any], index: int, threads: int) -> bytes | Failure:
    """Call the function of a chunk; whatever it raises is the reason."""
    try:
        found = function(manifest, index, threads)
    except GrouserError as error:
        return Failure(str(error))
    except MemoryError:
        return Failure(f"chunk {index} does not fit in memory")
    except (Exception, SystemExit) as error:
        return Failure(f"chunk {index} raised {said(error)}")
    return bytes(found)


def said(error: BaseException) -> str:
    """The kind of an error and its message, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}".removesuffix(": ")
