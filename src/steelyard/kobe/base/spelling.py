r"""How names are spelt: the tries hold them folded, and this is what brings their capitals back.

Most names are their folded form with a capital at each word, so that one byte for each pair of a
name and an entity says all. Others are listed: blocks of compressed lines, one line for each such
pair, tabs between the spellings that fold alike. A spelling is one digit, and then

- nothing, if it is the folded name (0), with a capital at each word (1), at the first (2), or in
  capitals (3)
- a pattern (4) as long as the name: ``\x01`` stands for the character of form 1, others for
  themselves
- the name itself (5), where its folded form has another length
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError

#: Codes of a byte: 0 to 3 as above; the spellings of this one are listed.
LISTED = 4
#: Set where a name was the first that was read of an entity in a language.
MAIN = 8
BLOCK = 4096  # pairs
#: The place of the main name of an entity that has no names.
NO_PLACE = 0xFFFF_FFFF
FILES = ("cases.npy", "spellings.bin", "spellings.npy", "labels.npy")
_SAME = "\x01"
_KEPT = 512  # blocks in memory


def spelling(text: str, folded: str) -> str:
    r"""Say how a name is spelt, given its folded form.

    Examples
    --------
    >>> [spelling(text, text.lower()) for text in ("wien", "New York", "Am rhein", "US", "McDo")]
    ['0', '1', '2', '3', '4\x01\x01D\x01']
    >>> spelling("Straße", "strasse")
    '5Straße'
    """
    if text == folded:
        return "0"
    title = folded.title()
    if text == title:
        return "1"
    if text == folded[:1].upper() + folded[1:]:
        return "2"
    if text == folded.upper():
        return "3"
    if len(text) == len(title) and _SAME not in text:
        pairs = zip(text, title, strict=True)
        return "4" + "".join([_SAME if a == b else a for a, b in pairs])
    return "5" + text


def spelt(how: str, folded: str) -> str:
    """Spell a folded name: the other way round.

    Examples
    --------
    >>> spelt("1", "new york"), spelt("2", "new york"), spelt("3", "us"), spelt("5Straße", "")
    ('New York', 'New york', 'US', 'Straße')
    """
    match how[:1]:
        case "0":
            return folded
        case "1":
            return folded.title()
        case "2":
            return folded[:1].upper() + folded[1:]
        case "3":
            return folded.upper()
        case "4":
            pairs = zip(how[1:], folded.title(), strict=True)
            return "".join([b if a == _SAME else a for a, b in pairs])
        case _:
            return how[1:]


class SpellingWriter:
    """Writes the bytes and the lines of all pairs, in their order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = (folder / FILES[1]).open("wb")
        self._cases: list[NDArray[np.uint8]] = []
        self._lines: list[str] = []
        self._ends = [0]
        self._n = 0  # pairs in the block that is not full yet

    def write(self, cases: NDArray[np.uint8], lines: Sequence[str]) -> None:
        """Add pairs: their bytes, and the lines of those that are listed."""
        self._cases.append(cases)
        listed = np.concatenate(([0], np.cumsum(cases & 7 == LISTED)))
        at = 0
        while at < len(cases):
            end = min(at + BLOCK - self._n, len(cases))
            self._lines += lines[listed[at] : listed[end]]
            self._n += end - at
            at = end
            if self._n == BLOCK:
                self._flush()

    def _flush(self) -> None:
        packed = zlib.compress("\n".join(self._lines).encode(), 9) if self._lines else b""
        self._file.write(packed)
        self._ends.append(self._ends[-1] + len(packed))
        self._lines, self._n = [], 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._n:
            self._flush()
        self._file.close()
        np.save(self.folder / FILES[0], np.concatenate([np.empty(0, np.uint8), *self._cases]))
        np.save(self.folder / FILES[2], narrow(self._ends))


def narrow(values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
    """Give numbers that only grow as small a type as holds them."""
    return np.array(values, "<u4" if int(values[-1]) < 1 << 32 else "<u8")


class Spellings:
    """Reads them."""

    def __init__(self, folder: Path, cases: NDArray[np.uint8], ends: NDArray[np.uint32]) -> None:
        self.path = folder / FILES[1]
        self.cases, self.ends = cases, ends
        self._blocks: OrderedDict[int, list[str]] = OrderedDict()

    def __getitem__(self, place: int) -> list[str]:
        """Give how a name is spelt for an entity, by the place of this pair."""
        code = int(self.cases[place]) & 7
        if code != LISTED:
            return [str(code)]
        block, start = place // BLOCK, place - place % BLOCK
        before = np.count_nonzero(self.cases[start:place] & 7 == LISTED)
        return self._lines(block)[before].split("\t")

    def _lines(self, block: int) -> list[str]:
        found = self._blocks.get(block)
        if found is None:
            start, end = int(self.ends[block]), int(self.ends[block + 1])
            try:
                with self.path.open("rb") as file:
                    file.seek(start)
                    found = zlib.decompress(file.read(end - start)).decode().split("\n")
            except (OSError, ValueError, zlib.error) as error:
                what = f"is damaged ({error}): build the knowledge base again"
                raise InputError(what, path=self.path) from None
            while len(self._blocks) >= _KEPT:
                self._blocks.popitem(last=False)
            self._blocks[block] = found
        return found
