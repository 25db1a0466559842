"""Slices of work on threads: each item once, errors come out, and nothing waits for ever."""

import multiprocessing
from functools import cache

import numpy as np
import pytest

from grouser import threads
from grouser.threads import in_slices


@pytest.fixture
def three_cores(monkeypatch):
    monkeypatch.setattr(threads, "_pool", cache(threads._pool.__wrapped__))
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 3)


@pytest.mark.parametrize("items", [0, 1, 7, 8, 9, 100])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_item_is_worked_on_once_by_a_worker_of_its_own(three_cores, items, threads):
    done, workers = np.zeros(items, dtype=int), set()

    def work(worker, first, last):
        assert last - first <= (8 if threads > 1 and items > 8 else items)
        workers.add(worker)
        done[first:last] += 1

    in_slices(work, items, threads=threads, size=8)
    assert (done == 1).all()
    assert workers <= set(range(threads))


def test_an_error_of_any_worker_comes_out_and_the_others_stop(three_cores):
    taken = []

    def work(worker, first, last):
        taken.append(first)
        if first == 4:
            raise ValueError("slice 4")

    with pytest.raises(ValueError, match="slice 4"):
        in_slices(work, 100_000, threads=3, size=1)
    assert len(taken) < 100_000


def test_work_that_is_itself_sliced_does_not_wait_for_its_own_thread(three_cores):
    done = np.zeros((9, 9), dtype=int)

    def outer(worker, first, last):
        for i in range(first, last):
            in_slices(lambda _, a, b, row=done[i]: np.add.at(row, np.arange(a, b), 1), 9, threads=3, size=1)

    in_slices(outer, 9, threads=3, size=1)
    assert (done == 1).all()


def _sum_in_slices(connection):
    parts = np.zeros(64)

    def work(worker, first, last):
        parts[first:last] = np.arange(first, last)

    in_slices(work, 64, threads=2, size=4)
    connection.send(parts.sum())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking with threads is what is tried
def test_a_forked_process_has_threads_of_its_own(three_cores):
    in_slices(lambda *_: None, 64, threads=2, size=4)
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_sum_in_slices, args=(there,))
    child.start()
    assert here.poll(60)
    assert here.recv() == 64 * 63 / 2
    child.join()
