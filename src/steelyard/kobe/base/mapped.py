"""Files of a base that are opened by memory map: what is not asked for is not read."""

from __future__ import annotations

import tokenize
import zipfile
from bisect import bisect_left
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, need_extra

#: What NumPy raises where the header of an array is damaged, or the file is not NumPy's.
_DAMAGED = (OSError, EOFError, AttributeError, ValueError, TypeError, SyntaxError, MemoryError,
            OverflowError, tokenize.TokenError, zipfile.BadZipFile)  # fmt: skip


class Ids:
    """Ids, sorted by their bytes; the same one may stand there several times."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}.bin"
        self.starts: NDArray[np.uint32] = array(folder, name, np.uint32)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> bytes:
        part = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return self._bytes[part].tobytes()

    def find(self, id_: bytes) -> int | None:
        """Give the number of the first of these ids, or None."""
        at = bisect_left(range(len(self)), id_, key=self.__getitem__)
        return at if at < len(self) and self[at] == id_ else None

    @cached_property
    def _bytes(self) -> NDArray[np.uint8]:
        try:
            shape = (int(self.starts[-1]),)
            return np.memmap(self.path, np.uint8, "r", shape=shape).view(np.ndarray)
        except FileNotFoundError:
            raise InputError("is missing: build the knowledge base again", path=self.path) from None
        except (OSError, ValueError) as error:
            raise InputError(f"is damaged ({error}): build it again", path=self.path) from None


def array(folder: Path, name: str, dtype: type[np.generic]) -> Any:
    """Open an array of numbers of this type."""
    path = folder / f"{name}.npy"
    try:
        # As a plain array: memmap's own way to take an element is slow.
        values = np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
    except FileNotFoundError:
        raise InputError("is missing: build the knowledge base again", path=path) from None
    except _DAMAGED as error:
        raise InputError(f"is damaged ({error}): build it again", path=path) from None
    if values.dtype != dtype or values.ndim != 1:
        shape = f"{values.ndim}-dimensional {values.dtype}"
        raise InputError(f"is damaged ({shape}): build it again", path=path)
    return values


def trie(path: Path) -> Any:
    """Open a trie."""
    need_extra("kobe", "a knowledge base", "marisa_trie")
    import marisa_trie

    try:
        return marisa_trie.Trie().mmap(str(path))
    except (OSError, RuntimeError) as error:
        raise InputError(f"is damaged ({error}): build it again", path=path) from None
