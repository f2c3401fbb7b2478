"""Work on many tasks, one after the other or in processes: always the same answer."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from steelyard.core.errors import SteelyardError
from steelyard.core.options import check_function, check_number, check_whole
from steelyard.core.progress import Progress
from steelyard.core.rng import Rng, streams

Results = Generator[tuple[int, Any], None, None]
_DEATHS = 3  # of workers without a finished task in between, after which a run is given up


@dataclass(frozen=True, slots=True)
class Workers:
    """What tasks run on, as a user asked for it.

    ``jobs`` are processes of this machine; None starts one per core once ``patience`` seconds of
    work are done and as many are left.
    """

    jobs: int | None = 1
    progress: Progress | None = None  # called with the tasks done and all tasks
    patience: float = 3.0

    def __post_init__(self) -> None:
        check_whole(1, optional=True, jobs=self.jobs)
        check_function(optional=True, progress=self.progress)
        check_number(0, patience=self.patience)

    def run(self, fn: Callable[..., Any], tasks: Sequence[Any], *, rng: Rng = None) -> list[Any]:
        """Call a function with each task; return its results in the order of the tasks.

        ``fn`` takes a task (and a Generator spawned from ``rng``, if any); tasks and results can be
        pickled. It must not write into arrays of a task.
        """
        n = len(tasks)
        generators = [None] * n if rng is None else streams(rng, n)
        progress = self.progress if self.progress and n > 1 else lambda *_: None
        progress(0, n)
        calls = {k: (fn, tasks[k], generators[k]) for k in range(n)}
        results: dict[int, Any] = {}
        with closing(self._results(calls)) as incoming:
            for k, result in incoming:
                results[k] = result
                progress(len(results), n)
        return [results[k] for k in range(n)]

    def _results(self, calls: dict[int, Any]) -> Results:
        """Choose what the calls run on, and yield results as they come in."""
        if self.jobs is None:
            return _processes_if_long(calls, self.patience)
        if self.jobs == 1 or len(calls) < 2:
            return (_call(k, *call) for k, call in calls.items())
        return _in_processes(calls, self.jobs)


def _processes_if_long(calls: dict[int, Any], patience: float) -> Results:
    """Run one after the other, and hand the rest to processes once that is seen to take long."""
    begun, n = time.monotonic(), len(calls)
    for k in list(calls):
        yield _call(k, *calls.pop(k))
        spent = time.monotonic() - begun
        left = spent / (n - len(calls)) * len(calls)
        if len(calls) > 1 and min(spent, left) > patience:
            from joblib import cpu_count

            if cpu_count() > 1:
                yield from _in_processes(calls, cpu_count())
                return


def _call(k: int, fn: Callable[..., Any], task: Any, generator: Any) -> tuple[int, Any]:
    return k, fn(task) if generator is None else fn(task, generator)


def _end_with(parent: int) -> None:
    """End this worker soon after its parent is killed: it would hold pipes open."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _in_processes(calls: dict[int, Any], jobs: int) -> Results:
    """Run in processes; if one of them dies, what is not done starts again in new ones."""
    from concurrent.futures.process import BrokenProcessPool

    from joblib import Parallel, delayed

    deaths = 0
    while calls:
        try:
            # One job would run in this process, which what killed a worker must not kill.
            n_jobs = max(2, min(jobs, len(calls)))
            settings: dict[str, Any] = {"backend": "loky", "max_nbytes": "64K", "batch_size": 1}
            settings |= {"initializer": _end_with, "initargs": (os.getpid(),)}
            pool = Parallel(n_jobs, return_as="generator_unordered", **settings)
            results = pool(delayed(_call)(k, *call) for k, call in list(calls.items()))
            try:
                for k, result in results:
                    yield k, result
                    del calls[k]
                    deaths = 0
            finally:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # after an error: what still runs is of no use
                    results.close()
        except BrokenProcessPool:
            deaths += 1
            if deaths == _DEATHS:
                died = f"workers died {_DEATHS} times in a row, perhaps out of memory"
                raise SteelyardError(f"{died}; fewer `jobs` need less") from None
