"""Work on many tasks: one after the other, in processes, or on a cluster; always the same answer.

:meth:`Workers.run` is the only place that knows what the tasks run on. Processes are joblib's, a
cluster is Dask's (through joblib, too). Tasks and the streams of random numbers they get do not
depend on the number of workers. A task whose worker dies runs again elsewhere. Results are kept on
disk as they come in, if there is a folder for them, and an interrupted run goes on from there.
"""

from __future__ import annotations

import logging
import os
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from steelyard.core.errors import SteelyardError, UsageError, need_extra
from steelyard.core.options import check_function, check_instance, check_text, check_whole
from steelyard.core.provenance import installed_version
from steelyard.core.resume import (
    Packed,
    ResultFolder,
    pack_result,
    pack_task,
    unpack_result,
    unpack_task,
)
from steelyard.core.rng import Rng, streams

Results = Generator[tuple[int, Packed], None, None]
Progress = Callable[[int, int | None], None]
_DEATHS = 3  # of workers without a finished task in between, after which nothing is tried any more
_STREAMED: dict[str, Any] = {"batch_size": 1, "return_as": "generator_unordered"}
_LONG = 3.0  # seconds of work, done and left, from which processes are worth starting
_WATCH = 1.0  # seconds after which a worker looks whether its parent is there
_ANSWER = 5.0  # seconds that a scheduler has to answer
_WORKERS = 10.0  # seconds that it has to have a worker


@dataclass(frozen=True, slots=True)
class Workers:
    """What tasks run on, as a user asked for it.

    Parameters
    ----------
    jobs
        Processes of this machine; 1 for none but this one. None: this one, until a few seconds of
        work are seen to be left; then one for each core.
    cluster
        Address of a Dask scheduler, whose workers are used instead.
    resume
        A folder: results are written there as they come in, and what is there is not computed
        again. On a cluster of several machines all of them must see it.
    progress
        Called with how many tasks are done and how many there are.
    note
        Called with a sentence if results of an earlier run are used.

    Examples
    --------
    >>> Workers(jobs=1).run(lambda task, rng: task + int(rng.integers(1)), [1, 2, 3], rng=0)
    [1, 2, 3]
    """

    jobs: int | None = 1
    cluster: str | None = None
    resume: Path | None = None
    progress: Progress | None = None
    note: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        if self.jobs is not None:
            check_whole(1, jobs=self.jobs)
        check_text(optional=True, cluster=self.cluster)
        check_instance((str, Path), "a path", optional=True, resume=self.resume)
        check_function(optional=True, progress=self.progress, note=self.note)

    def visible(self, path: Path) -> Path:
        """Give a path as workers find it: those of a cluster may be at home in another folder."""
        return path if self.cluster is None else path.absolute()

    def run(
        self,
        fn: Callable[..., Any],
        tasks: Sequence[Any],
        *,
        rng: Rng = None,
        step: str = "tasks",
        about: Mapping[str, Any] | None = None,
        only: Sequence[int] | None = None,
    ) -> list[Any]:
        """Call a function with each task; give its results in the order of the tasks.

        Parameters
        ----------
        fn
            Takes a task (and a Generator, if ``rng`` is given), and gives a tree of dictionaries,
            lists, numbers, texts and arrays; tuples come back as lists. Must not write into the
            arrays of a task: workers read them from files.
        tasks
            Anything that can be pickled.
        rng
            Each task gets a stream of its own that is spawned from this.
        step, about
            What the results in ``resume`` are called, and what they depend on (as JSON): a folder
            whose results depend on something else is refused.
        only
            Do these tasks alone (by number), and give their results alone: the share of one
            machine among several that write to the same folder.
        """
        own = [None] * len(tasks) if rng is None else streams(rng, len(tasks))
        calls = [(fn, task, stream) for task, stream in zip(tasks, own, strict=True)]
        chosen = range(len(tasks)) if only is None else only
        folder = None
        found: dict[int, Packed] = {}
        if self.resume is not None:
            facts = {"version": installed_version(), **(about or {})}
            folder = ResultFolder(Path(self.resume), step, facts, len(tasks))
            kept = ((k, folder.kept(k)) for k in chosen)
            found = {k: packed for k, packed in kept if packed is not None}
            if found and self.note is not None:
                self.note(
                    f"going on from {self.resume}: {len(found)} of {len(chosen)} results "
                    f"({step}) are there"
                )
        progress = self.progress if len(chosen) > 1 else None
        if progress is not None:
            progress(len(found), len(chosen))
        rest = {k: calls[k] for k in chosen if k not in found}
        with self._engine(folder, rest) as engine, closing(engine) as results:
            for k, packed in results:
                found[k] = packed
                if folder is not None:
                    folder.keep(k, packed)
                if progress is not None:
                    progress(len(found), len(chosen))
        return [unpack_result(*found[k]) for k in chosen]

    @contextmanager
    def _engine(self, folder: ResultFolder | None, calls: Mapping[int, Any]) -> Iterator[Results]:
        """Choose what the calls run on: gives results as they come in."""
        if self.cluster is None and (self.jobs == 1 or len(calls) < 2):
            yield ((k, _call(call)) for k, call in calls.items())
            return
        above = None if folder is None else folder.folder.absolute()
        if self.cluster is None and self.jobs is None:
            yield _when_worth(dict(calls), above)
            return
        with tempfile.TemporaryDirectory(prefix="steelyard-", dir=above) as name:
            arrays = Path(name)
            if self.cluster is None:
                yield _processes(_packed(calls, arrays), self.jobs or 1)
                return
            with _quiet(), _client(self.cluster, arrays) as client:
                yield _cluster(_packed(calls, arrays), client)


def _when_worth(calls: dict[int, Any], above: Path | None) -> Results:
    """Run one after the other, and hand the rest to processes once that is seen to take long.

    What is done tells how long the rest would take; starting processes costs a second or two.
    """
    begun, n = time.monotonic(), len(calls)
    for k in list(calls):
        yield k, _call(calls.pop(k))
        spent = time.monotonic() - begun
        left = spent / (n - len(calls)) * len(calls)
        if len(calls) > 1 and min(spent, left) > _LONG and _cores() > 1:
            with tempfile.TemporaryDirectory(prefix="steelyard-", dir=above) as name:
                yield from _processes(_packed(calls, Path(name)), _cores())
            return


def _cores() -> int:
    """Count the cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _packed(calls: Mapping[int, Any], folder: Path) -> dict[int, bytes]:
    return {k: pack_task(call, folder) for k, call in calls.items()}


def _call(call: tuple[Callable[..., Any], Any, Any]) -> Packed:
    fn, task, stream = call
    return pack_result(fn(task) if stream is None else fn(task, stream))


def call_packed(k: int, packed: bytes, parent: int | None = None) -> tuple[int, Packed]:
    """Do one task in a worker, which ends if the process that waits for it does."""
    if parent not in (None, os.getpid()):
        _end_with(parent)
    return k, _call(unpack_task(packed))


@cache
def _end_with(parent: int | None) -> None:
    """End this process soon after its parent: it would hold pipes open that others wait for."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _processes(calls: dict[int, bytes], jobs: int) -> Results:
    """Run in processes; if one of them dies, what is not done starts again in new ones."""
    from concurrent.futures.process import BrokenProcessPool

    from joblib import Parallel

    deaths = 0
    while calls:
        try:
            # One job would run in this process, which what killed a worker must not kill.
            n_jobs = max(2, min(jobs, len(calls)))
            pool = Parallel(n_jobs=n_jobs, backend="loky", **_STREAMED)
            for k, packed in _joblib(calls, pool, os.getpid()):
                yield k, packed
                del calls[k]
                deaths = 0
        except BrokenProcessPool:
            deaths += 1
            if deaths == _DEATHS:
                raise _too_many_deaths() from None


def _too_many_deaths() -> SteelyardError:
    return SteelyardError(
        f"workers died {_DEATHS} times in a row, perhaps out of memory; fewer `jobs` need less"
    )


def _joblib(calls: dict[int, bytes], pool: Any, parent: int | None = None) -> Results:
    from joblib import delayed

    results = pool(delayed(call_packed)(k, packed, parent) for k, packed in list(calls.items()))
    try:
        for result in results:  # noqa: UP028 - yield from would close the results by itself
            yield result
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # after an error: what still runs is of no use
            results.close()


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from telling of workers that come and go: what matters is raised."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado.application")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _client(address: str, folder: Path) -> Iterator[Any]:
    """Connect to a scheduler, or say in one line why that can't be."""
    need_extra("cluster", "`cluster`")
    import distributed
    from distributed.comm.addressing import get_address_host_port, normalize_address

    connect: Any = distributed.Client  # its types are not complete
    try:
        # A client that does not understand its address can't be closed, and complains of it later.
        get_address_host_port(normalize_address(address))
        client = connect(address, timeout=_ANSWER, set_as_default=False)
    except (OSError, ValueError, TypeError, ImportError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"{_named(address)}: no Dask scheduler answers ({reason})") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=_WORKERS)
        except TimeoutError:
            raise UsageError(f"{_named(address)}: the scheduler has no workers") from None
        _check_workers(client, address, folder)
        yield client


def _named(address: str) -> str:
    return f'cluster="{address}"'


def _check_workers(client: Any, address: str, folder: Path) -> None:
    """Refuse workers that have another Steelyard, or that can't see the files of this one."""
    token = folder / "token"
    token.touch()
    answers = client.run(_worker_facts, str(token), on_error="return")
    for worker, answer in answers.items():
        if isinstance(answer, ImportError):
            raise SteelyardError(f"{_named(address)}: worker {worker} can't import steelyard")
    facts = {worker: own for worker, own in answers.items() if not isinstance(own, Exception)}
    mine = installed_version()
    other = {worker: own["version"] for worker, own in facts.items() if own["version"] != mine}
    if other:
        worker, version = min(other.items())
        raise SteelyardError(
            f"{_named(address)}: worker {worker} has steelyard {version}, expected {mine}"
        )
    need_readable({worker: own["sees"] for worker, own in facts.items()}, folder)


def need_readable(seen: Mapping[str, bool], folder: Path) -> None:
    """Refuse a folder that some workers can't read."""
    blind = sorted(name for name, sees in seen.items() if not sees)
    if blind:
        raise SteelyardError(
            f"workers can't read {folder} ({', '.join(blind)}); give `resume` a folder that all "
            "machines share"
        )


def _worker_facts(token: str) -> dict[str, Any]:
    return {"version": installed_version(), "sees": Path(token).exists()}


def _cluster(calls: dict[int, bytes], client: Any) -> Results:
    """Run on a cluster, which gives the tasks of a worker that dies to others."""
    from distributed import KilledWorker
    from joblib import Parallel, parallel_config

    with parallel_config(backend="dask", client=client):
        pool = Parallel(n_jobs=-1, **_STREAMED)
    try:
        yield from _joblib(calls, pool)
    except KilledWorker:
        raise _too_many_deaths() from None
