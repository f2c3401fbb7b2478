"""Work on many tasks, one after the other or in processes: always the same answer.

With a folder for results, an interrupted run goes on from those that came in before.
"""

from __future__ import annotations

import json
import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, SteelyardError, UsageError
from steelyard.core.options import check_function, check_instance, check_number, check_whole
from steelyard.core.progress import Progress
from steelyard.core.provenance import installed_version
from steelyard.core.rng import Rng, streams

Packed = tuple[str, list[NDArray[Any]]]  #: a result as JSON and the arrays in it
Results = Generator[tuple[int, Packed], None, None]
_DEATHS = 3  # of workers without a finished task in between, after which a run is given up
_ARRAY = "\0array"  # the key of an object that stands for an array


@dataclass(frozen=True, slots=True)
class Workers:
    """What tasks run on, as a user asked for it.

    ``jobs`` are processes of this machine; None starts one per core once ``patience`` seconds of
    work are done and as many are left.
    """

    jobs: int | None = 1
    resume: Path | None = None  # a folder that keeps results
    progress: Progress | None = None  # called with the tasks done and all tasks
    note: Callable[[str], None] | None = None  # called if results of an earlier run are used
    patience: float = 3.0

    def __post_init__(self) -> None:
        check_whole(1, optional=True, jobs=self.jobs)
        check_instance((str, Path), "a path", optional=True, resume=self.resume)
        check_function(optional=True, progress=self.progress, note=self.note)
        check_number(0, patience=self.patience)

    def run(
        self,
        fn: Callable[..., Any],
        tasks: Sequence[Any],
        *,
        rng: Rng = None,
        step: str = "tasks",
        about: Mapping[str, Any] | None = None,
    ) -> list[Any]:
        """Call a function with each task; return its results in the order of the tasks.

        ``fn`` takes a task that can be pickled (and a Generator spawned from ``rng``, if any) and
        returns a tree of dictionaries, lists, numbers, texts and arrays; tuples come back as lists.
        It must not write into arrays of a task. ``step`` is what results in ``resume`` are called,
        ``about`` what they depend on, as JSON.
        """
        n = len(tasks)
        generators = [None] * n if rng is None else streams(rng, n)
        results: dict[int, Packed] = {}
        kept = None
        if self.resume is not None:
            facts = {"version": installed_version(), **(about or {}), "tasks": n}
            kept = _ResultFolder(Path(self.resume), step, facts)
            results = {k: packed for k in range(n) if (packed := kept.read(k)) is not None}
        if results and self.note is not None:
            self.note(f"going on from {self.resume}: {len(results)} of {n} results ({step})")
        progress = self.progress if self.progress and n > 1 else lambda *_: None
        progress(len(results), n)
        calls = {k: (fn, tasks[k], generators[k]) for k in range(n) if k not in results}
        with closing(self._results(calls)) as incoming:
            for k, packed in incoming:
                results[k] = packed
                if kept is not None:
                    kept.write(k, packed)
                progress(len(results), n)
        return [_unpacked(*results[k]) for k in range(n)]

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


def _call(k: int, fn: Callable[..., Any], task: Any, generator: Any) -> tuple[int, Packed]:
    return k, _packed(fn(task) if generator is None else fn(task, generator))


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
                for k, packed in results:
                    yield k, packed
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


def _packed(tree: Any) -> Packed:
    """Turn a tree into JSON and the arrays in it."""
    arrays: list[NDArray[Any]] = []

    def encoded(value: Any) -> Any:
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            arrays.append(value)
            return {_ARRAY: len(arrays) - 1}
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, Mapping):
            return dict(value)
        raise TypeError(f"a task returned a {type(value).__name__}, expected names, numbers, texts")

    return json.dumps(tree, default=encoded), arrays


def _unpacked(text: str, arrays: list[NDArray[Any]]) -> Any:
    """Return the tree again; tuples have become lists."""
    return json.loads(text, object_hook=lambda x: arrays[x[_ARRAY]] if _ARRAY in x else x)


class _ResultFolder:
    """Results of one step of a run, a file per task; the folder may hold several steps."""

    def __init__(self, folder: Path, step: str, facts: Mapping[str, Any]) -> None:
        self.folder, self.step = folder, step
        self.facts = json.loads(json.dumps(facts))
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f'resume="{folder}": {error.strerror or error}') from None

    def _path(self, task: int) -> Path:
        return self.folder / f"{self.step}.{task:06d}.npz"

    def write(self, task: int, packed: Packed) -> None:
        """Keep the result of a task: written aside and renamed, so that it is whole or absent."""
        members: dict[str, Any] = {f"array{k}": array for k, array in enumerate(packed[1])}
        members |= {"tree": np.array(packed[0]), "facts": np.array(json.dumps(self.facts))}
        path = self._path(task)
        aside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with aside.open("wb") as stream:
                np.savez(stream, **members)
            aside.replace(path)
        except OSError as error:
            raise InputError(f"can't be written ({error.strerror or error})", path=path) from error
        finally:
            aside.unlink(missing_ok=True)

    def read(self, task: int) -> Packed | None:
        """Return the result of a task, None if it is not there or damaged."""
        try:
            path = self._path(task)  # opened here, since np.load leaves a damaged file open
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                facts, text = json.loads(str(file["facts"])), str(file["tree"])
                arrays = [file[f"array{k}"] for k in range(len(file.files) - 2)]
            different = [key for key in self.facts | facts if self.facts.get(key) != facts.get(key)]
        except Exception:  # noqa: BLE001 - whatever ails it, or if absent, it is computed again
            return None
        if different:
            problem = f"holds results of another run ({', '.join(different)} differ)"
            expected = "expected an empty folder or that of the same run"
            raise UsageError(f"{self.folder}: {problem}; {expected}")
        return text, arrays
