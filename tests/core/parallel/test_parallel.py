"""One seam for all parallel work: same answer in one process and in several."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest

from steelyard.core.errors import SteelyardError, UsageError
from steelyard.core.parallel import Workers


def run(fn, tasks, jobs=1, *, progress=None, patience=3.0, **how):
    return Workers(jobs, progress, patience).run(fn, tasks, **how)


def tasks_of(n=5):
    big = np.random.default_rng(0).normal(size=(40, 500))
    return [{"x": big, "k": k} for k in range(n)]


def make_work():
    # Defined inside, so that workers get it by value: they can't import tests.
    def work(task, rng):
        total = task["x"].sum(axis=0)
        return {"k": task["k"], "total": total, "drawn": float(rng.random()), "more": [None, True]}

    return work


def same(a, b):
    """Tell whether results are equal, down to the types of arrays."""
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return bool(a == b)


def test_processes_give_what_one_gives():
    steps = []
    alone = run(make_work(), tasks_of(), rng=7)
    both = run(make_work(), tasks_of(), 2, rng=7, progress=lambda *at: steps.append(at))
    assert same(alone, both)
    assert [result["k"] for result in both] == [0, 1, 2, 3, 4]
    assert len({result["drawn"] for result in both}) == 5
    assert steps == [(k, 5) for k in range(6)]


def make_where():
    def work(task, rng):
        return {"pid": os.getpid(), "drawn": float(rng.random())}

    return work


def test_short_work_stays_in_this_process_unless_it_is_told_otherwise():
    results = run(make_where(), tasks_of(), None, rng=7)
    assert {result["pid"] for result in results} == {os.getpid()}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_long_work_goes_to_processes_and_gives_the_same():
    steps = []
    alone = run(make_where(), tasks_of(), rng=7)
    results = run(make_where(), tasks_of(), None, rng=7, patience=0.0,
                progress=lambda *at: steps.append(at))  # fmt: skip
    assert results[0]["pid"] == os.getpid()  # the first tells how long the others take
    assert os.getpid() not in {result["pid"] for result in results[1:]}
    assert [result["drawn"] for result in results] == [result["drawn"] for result in alone]
    assert steps == [(k, 5) for k in range(6)]


def test_a_stream_belongs_to_its_task_not_to_its_place_in_time():
    few, many = run(make_work(), tasks_of(2), rng=7), run(make_work(), tasks_of(4), rng=7)
    assert same(few, many[:2])


def test_large_arrays_are_mapped_and_keep_their_layout():
    big = np.asfortranarray(np.arange(20_000.0).reshape(100, 200))

    def work(task):
        array, strided = task
        mapped = isinstance(array, np.memmap) or isinstance(array.base, np.memmap)
        return [mapped, array.flags.f_contiguous, array.sum(), strided.sum()]

    strided = np.arange(40_000.0).reshape(200, 200)[:, ::2]
    for result in run(work, [(big, strided)] * 3, 2):
        assert result == [True, True, big.sum(), strided.sum()]


def test_an_error_of_a_task_comes_through():
    def fails(task):
        raise UsageError(f"task {task}")

    for jobs in (1, 2):
        with pytest.raises(UsageError, match="task 0"):
            run(fails, [0, 0], jobs)
    with pytest.raises(UsageError, match="at least 1, got 0"):
        run(fails, [0], 0)


def make_deadly(folder, times=1):
    def work(task):
        if task == 1:
            for k in range(times):
                try:
                    os.open(folder / f"died{k}", os.O_CREAT | os.O_EXCL)
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
        return task * 10

    return work


def test_what_a_dead_process_left_is_done_again(tmp_path):
    assert run(make_deadly(tmp_path), [0, 1, 2, 3], 2) == [0, 10, 20, 30]
    assert (tmp_path / "died0").exists()


def test_the_last_task_of_a_dead_process_is_done_in_another(tmp_path):
    """Not here: what killed a worker would kill this process."""
    here = os.getpid()

    def work(task):
        if task == 0:
            return task
        if not (tmp_path / "died").exists():
            while not (tmp_path / "first").exists():
                time.sleep(0.01)
            (tmp_path / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return int(os.getpid() != here)

    def touch(done, _total):
        if done:
            (tmp_path / "first").touch()

    assert run(work, [0, 1], 2, progress=touch) == [0, 1]


def test_a_task_that_kills_every_worker_is_given_up(tmp_path):
    with pytest.raises(SteelyardError, match="died 3 times in a row, perhaps out of memory"):
        run(make_deadly(tmp_path, 99), [1, 1], 2)
