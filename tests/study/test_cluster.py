"""Chunks on a real Dask cluster: the same bytes as here, whatever is killed meanwhile."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grouser.errors import StudyError
from grouser.study import cluster as on_cluster
from grouser.study.executor import Failure, Work, run_chunks
from tests.study.dask_here import WORK, Client, Cluster, chunk, times_run, work_of

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler and two workers, for tests that leave them running."""
    one = Cluster(tmp_path_factory.mktemp("cluster"))
    one.start()
    yield one
    one.close()


def test_chunks_on_workers_have_the_bytes_of_chunks_here(cluster: Cluster, tmp_path: Path) -> None:
    manifest = work_of(tmp_path, times=1000)
    work, todo = Work(manifest, WORK), [3, 0, 17, *range(20, 40)]
    told: list[tuple[int, int]] = []
    there = dict(run_chunks(work, todo, scheduler=cluster.address, progress=lambda *now: told.append(now)))
    assert there == {index: chunk({"seed": 7, "times": 1000}, index, 1) for index in todo}
    assert told == [(k + 1, len(todo)) for k in range(len(todo))]
    assert times_run(tmp_path) == dict.fromkeys(todo, 1)


def test_poison_chunks_are_failures_with_a_reason_and_the_rest_is_done(cluster: Cluster, tmp_path: Path) -> None:
    poison = {"2": "exit", "3": "kill", "5": "memory", "7": "raise"}
    manifest = work_of(tmp_path, poison=poison)
    there = dict(run_chunks(Work(manifest, WORK), range(10), scheduler=cluster.address))
    reasons = {index: one.reason for index, one in there.items() if isinstance(one, Failure)}
    assert reasons == {
        2: "chunk 2 ended its process twice: it ended with exit code 3",
        3: "chunk 3 ended its process twice: it was ended by SIGKILL, as when memory runs out",
        5: "chunk 5 does not fit in memory",
        7: "chunk 7 raised ValueError: a user's mistake",
    }
    assert {index for index in there if index not in reasons} == {0, 1, 4, 6, 8, 9}
    assert [process.poll() for process in cluster.workers] == [None, None]  # none of them was killed
    assert times_run(tmp_path) == {**dict.fromkeys(range(10), 1), 2: 2, 3: 2}


def test_killed_worker_scheduler_and_client_lose_only_what_was_under_way(tmp_path: Path) -> None:
    cluster, chunks, out = Cluster(tmp_path), 60, tmp_path / "out"
    manifest = work_of(tmp_path, seconds=0.08)
    kept: dict[int, int] = {}
    """How often chunks had run when they were written."""

    def killed(kill: Callable[[], None], at: int) -> None:
        done = client.wait_for(at - 4)
        client.wait_for(at)  # and the scheduler knows of those before that they are written
        kept.update({index: count for index, count in times_run(tmp_path).items() if index in done})
        kill()

    try:
        cluster.start()
        client = Client(manifest, out, cluster.address, chunks)
        killed(cluster.kill_worker, 18)
        killed(cluster.kill_scheduler, 36)
        cluster.start()
        code, said = client.finish()
        assert code == 1
        assert re.search(rf"StudyError: {cluster.address}: lost the Dask scheduler; .* run again to continue\s*$", said)
        client = Client(manifest, out, cluster.address, chunks)
        killed(client.kill, 48)
        client = Client(manifest, out, cluster.address, chunks)
        assert client.finish() == (0, "")
    finally:
        cluster.close()
    there = {int(one.stem): one.read_bytes() for one in out.glob("*.bytes")}
    assert there == {index: chunk({"seed": 7}, index, 1) for index in range(chunks)}
    runs, window = times_run(tmp_path), on_cluster.AHEAD * 2
    assert {index: runs[index] for index in kept} == kept  # what was written was never run again
    assert sum(runs.values()) <= chunks + 3 * window  # and of the rest, what was under way at each of three kills


def test_errors_of_a_cluster_are_one_sentence(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work({"seed": 7}, WORK)
    with pytest.raises(StudyError, match="'here' is not the address of a Dask scheduler, as tcp://host:8786"):
        list(run_chunks(work, [0], scheduler="here"))
    with socket.socket() as nobody, monkeypatch.context() as patch:
        nobody.bind(("127.0.0.1", 0))
        patch.setattr(on_cluster, "CONNECT", 2.0)
        with pytest.raises(StudyError, match="no Dask scheduler reached within 2 s"):
            list(run_chunks(work, [0], scheduler=f"tcp://127.0.0.1:{nobody.getsockname()[1]}"))
    other = {**on_cluster.installation(), "numba": "0.1"}
    monkeypatch.setattr(on_cluster, "installation", lambda: other)
    with pytest.raises(StudyError, match=r"worker tcp://\S+ has numba [\d.]+, here it is 0\.1; install the same"):
        list(run_chunks(work, [0], scheduler=cluster.address))
    monkeypatch.undo()
    with pytest.raises(StudyError, match="'nowhere:at_all': cannot be imported"):
        list(run_chunks(Work({}, "nowhere:at_all"), [0]))
    there = dict(run_chunks(Work({}, "nowhere:at_all"), [0, 1], scheduler=cluster.address))
    assert isinstance(there[0], Failure)
    assert "'nowhere:at_all': cannot be imported" in there[0].reason


def test_a_scheduler_without_workers_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_cluster, "CONNECT", 6.0)
    cluster = Cluster(tmp_path)
    try:
        cluster.start(workers=0)
        with pytest.raises(StudyError, match=rf"{cluster.address}: has no workers; start some with: dask worker"):
            list(run_chunks(Work({"seed": 7}, WORK), [0], scheduler=cluster.address))
    finally:
        cluster.close()
