"""Tasks and results of parallel work on disk: arrays by memory map, results that outlive a run.

A task travels to its worker as a short text of bytes; its large arrays stay in files, written once
however many tasks share them, which workers map into memory. A result is a tree of dictionaries,
lists, numbers, texts and arrays. It is kept as one ``.npz`` file without pickled objects, written
aside and renamed: it is there whole, or not at all.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, UsageError

_LARGE = 1 << 16  # bytes from which an array is a file of its own
Packed = tuple[str, list[NDArray[Any]]]
#: What NumPy raises where the header of an array is damaged, or the file is none of its own.
BAD_HEADER = (ValueError, TypeError, SyntaxError, tokenize.TokenError, MemoryError, OverflowError)


def pack_task(task: Any, folder: Path) -> bytes:
    """Turn a function and what it is called with into bytes, large arrays into files."""
    import cloudpickle

    class Packer(cloudpickle.Pickler):  # type: ignore[misc]
        def persistent_id(self, value: Any) -> str | None:
            plain = type(value) is np.ndarray and not value.dtype.hasobject
            if not plain or value.nbytes < _LARGE or not _contiguous(value):
                return None
            return str(_stored(value, folder))

    stream = io.BytesIO()
    Packer(stream).dump(task)
    return stream.getvalue()


def unpack_task(packed: bytes) -> Any:
    """Give the task that :func:`pack_task` was given; its large arrays are read-only maps."""

    class Unpacker(pickle.Unpickler):
        def persistent_load(self, name: Any) -> NDArray[Any]:
            mapped: NDArray[Any] = np.load(name, mmap_mode="r", allow_pickle=False)
            return mapped.view(np.ndarray)

    # What is read was packed by this very run: it never comes from a file.
    return Unpacker(io.BytesIO(packed)).load()


def _contiguous(value: NDArray[Any]) -> bool:
    """Tell whether a file keeps the layout, on which the order of sums may depend."""
    return value.flags.c_contiguous or value.flags.f_contiguous


def _stored(value: NDArray[Any], folder: Path) -> Path:
    """Write an array under the hash of its bytes, unless it is there."""
    shape = f"{value.dtype.str}{value.shape}{value.flags.c_contiguous}"
    digest = hashlib.blake2b(shape.encode(), digest_size=16)
    digest.update(value.data if value.flags.c_contiguous else value.T.data)
    path = folder / f"{digest.hexdigest()}.npy"
    if not path.exists():
        write_whole(path, lambda stream: np.save(stream, value, allow_pickle=False))
    return path


def write_whole(path: Path, save: Callable[[Any], Any]) -> None:
    """Write a file aside and rename it: who reads it meanwhile, or writes it too, sees it whole."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with aside.open("wb") as stream:
            save(stream)
        aside.replace(path)
    except OSError as error:
        raise InputError(f"can't be written ({error.strerror or error})", path=path) from error
    finally:
        aside.unlink(missing_ok=True)


def pack_result(tree: Any) -> Packed:
    """Turn a tree into JSON and the arrays in it.

    Examples
    --------
    >>> text, arrays = pack_result({"p": np.array([0.5]), "names": ("a", "b")})
    >>> unpack_result(text, arrays)
    {'p': array([0.5]), 'names': ['a', 'b']}
    """
    arrays: list[NDArray[Any]] = []
    return json.dumps(_shown(tree, arrays)), arrays


def _shown(tree: Any, arrays: list[NDArray[Any]]) -> Any:
    if isinstance(tree, np.ndarray):
        if tree.dtype.hasobject:
            raise TypeError("an array of objects is no result of a task")
        arrays.append(tree)
        return {"array": len(arrays) - 1}
    if isinstance(tree, np.generic):
        return tree.item()
    if isinstance(tree, Mapping):
        if not all(isinstance(key, str) for key in tree):
            raise TypeError("keys of a task's result are texts")
        return {"keys": list(tree), "values": [_shown(value, arrays) for value in tree.values()]}
    if isinstance(tree, (list, tuple)):
        return [_shown(value, arrays) for value in tree]
    if tree is None or isinstance(tree, (bool, int, float, str)):
        return tree
    raise TypeError(f"a {type(tree).__name__} is no result of a task")


def unpack_result(text: str, arrays: list[NDArray[Any]]) -> Any:
    """Give the tree again; tuples have become lists."""

    def built(node: Any) -> Any:
        if isinstance(node, list):
            return [built(value) for value in node]
        if isinstance(node, dict):
            if "array" in node:
                return arrays[node["array"]]
            return dict(zip(node["keys"], map(built, node["values"]), strict=True))
        return node

    return built(json.loads(text))


class ResultFolder:
    """Results of one run, a file per task, in a folder that a later run can go on from.

    Parameters
    ----------
    folder
        Made if it is not there; results of several steps of a run lie in it side by side.
    step, about, n_tasks
        Name of this step, and what must be the same for its results to be of use.
    """

    def __init__(self, folder: Path, step: str, about: Mapping[str, Any], n_tasks: int) -> None:
        self.folder, self.step = folder, step
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f'resume="{folder}": {error.strerror or error}') from None
        self._about = json.dumps({**about, "tasks": n_tasks}, sort_keys=True)
        self._check({**about, "tasks": n_tasks})

    def _check(self, about: dict[str, Any]) -> None:
        """Refuse a folder that holds something else; say in it what it holds."""
        path = self.folder / f"{self.step}.json"
        mine = json.loads(json.dumps(about))
        if not path.exists():
            text = json.dumps(mine, indent=1, sort_keys=True) + "\n"
            write_whole(path, lambda stream: stream.write(text.encode()))
            return
        try:
            theirs = json.loads(path.read_text(encoding="utf-8"))
            other = [key for key in mine | theirs if mine.get(key) != theirs.get(key)]
        except (OSError, ValueError, TypeError) as error:
            raise InputError(f"says not what the folder holds ({error})", path=path) from None
        if other:
            raise UsageError(
                f"{self.folder}: holds results of another run ({', '.join(other)} differ);"
                " expected an empty folder or that of the same run"
            )

    def path(self, task: int) -> Path:
        """Where the result of a task is, or will be."""
        return self.folder / f"{self.step}.{task:06d}.npz"

    def keep(self, task: int, packed: Packed) -> None:
        """Write a result."""
        text, arrays = packed
        members = {
            "tree": np.frombuffer(text.encode(), dtype=np.uint8),
            "digest": np.frombuffer(self._digest(task, text, arrays), dtype=np.uint8),
        }
        members |= {f"array{k}": array for k, array in enumerate(arrays)}
        write_whole(self.path(task), lambda stream: np.savez(stream, **members))  # type: ignore[arg-type]

    def kept(self, task: int) -> Packed | None:
        """Read a result; None if it is not there, or not whole."""
        path = self.path(task)
        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as members:
                digest, text = (members[name].tobytes() for name in ("digest", "tree"))
                arrays = [members[f"array{k}"] for k in range(len(members.files) - 2)]
            if digest == self._digest(task, text.decode(), arrays):
                return text.decode(), arrays
        except (OSError, EOFError, zipfile.BadZipFile, zlib.error):
            return None
        except (*BAD_HEADER, KeyError, AttributeError, NotImplementedError):
            pass  # another file of NumPy's, or one with objects in it
        raise InputError("is not a result of this run: remove it, or the folder", path=path)

    def _digest(self, task: int, text: str, arrays: list[NDArray[Any]]) -> bytes:
        """Hash a result together with what it is the result of."""
        digest = hashlib.blake2b(f"{self.step} {task} {self._about} {text}".encode())
        for array in arrays:
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.tobytes())
        return digest.digest()
