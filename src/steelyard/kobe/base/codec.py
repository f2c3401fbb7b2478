r"""What a knowledge base is made of: records, how names are spelt, and the files that hold numbers.

A prior is one number on one scale for every source, so that an ambiguous name is decided alike in
both languages and across sources: **log10 of the people it concerns**. Places have inhabitants,
languages speakers, currencies the inhabitants of the countries that use them. Other counts are
mapped onto that scale by the functions below.

Tries hold names folded; spellings bring their capitals back. Most names are their folded form with
a capital at each word, so that one byte for each pair of a name and an entity says all. Others are
listed: blocks of compressed lines, one line for each such pair, tabs between the spellings that
fold alike. A spelling is one digit, and then

- nothing, if it is the folded name (0), with a capital at each word (1), at the first (2), or in
  capitals (3)
- a pattern (4) as long as the name: ``\x01`` stands for the character of form 1, others for
  themselves
- the name itself (5), where its folded form has another length
"""

from __future__ import annotations

import math
import tokenize
import unicodedata
import zipfile
import zlib
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import IntFlag
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, need_extra

# -- records


class Flag(IntFlag):
    """What is known of a name; all but the last fit the byte of a name and an entity.

    Use ``int(Flag.LABEL)`` in loops: the operators of flags are slow.
    """

    CASED = 1  #: begins with a capital in every form that was read
    UPPER = 2  #: all its letters are capitals: US, EUR
    INFLECTED = 4  #: a plural, genitive or the like
    UNSTATED = 8  #: its language was not said (``mul``)
    LABEL = 16  #: the main name in its language
    DEMONYM = 32  #: names the people of a place
    ABBREVIATION = 64  #: Mon, Jan., kg
    SYMBOL = 128  #: €, $
    FORBIDDEN = 256  #: nobody should write it; glossaries alone have such names, no base links them


#: What a source says of a name; the other flags follow from how and where it is written.
STATED = Flag.INFLECTED | Flag.LABEL | Flag.DEMONYM | Flag.ABBREVIATION | Flag.SYMBOL
#: A name that two sources give keeps these if either has them; all others only if both do.
KEPT_IF_ANY = Flag.LABEL | Flag.UNSTATED

#: What is done, how many items of it, and of how many if that is known.
Progress = Callable[[str, int, int | None], None]

UNSTATED = "mul"
CORE, CONCEPT = 0, 1  # numbers of tiers

#: Whose id an entity keeps when sources are merged; others come after these.
NAMESPACES = ["wd", "iso", "gn", "cur", "lang", "wn"]


def rank(id_: str) -> int:
    """Give the position of an id's namespace among those whose id an entity keeps."""
    space = id_.partition(":")[0]
    return NAMESPACES.index(space) if space in NAMESPACES else len(NAMESPACES)


class Entity(NamedTuple):
    """One thing, known by an id such as ``wd:Q183``, ``gn:2950159`` or ``cur:EUR``.

    ``same_as`` holds ids of other sources for the same thing: records that share an id become one
    entity. Nothing is ever merged because its name is the same.
    """

    id: str
    category: str
    tier: int = CORE
    prior: float = 0.0
    same_as: tuple[str, ...] = ()


class Name(NamedTuple):
    """A name of an entity in a language (``mul`` where the source does not say which)."""

    lang: str
    text: str
    flags: int = 0


class Source(Protocol):
    """Where knowledge comes from; ``rows`` may yield an entity several times with more names."""

    name: str
    version: str
    licence: str

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield entities with names."""


def population_prior(people: float) -> float:
    """Give the prior of a place or language by its people: 5.0 for a city of 100,000."""
    return math.log10(1.0 + max(0.0, people))


def sitelinks_prior(sitelinks: int) -> float:
    """Give the prior of a Wikidata item by its sitelinks: 100 are worth a million people."""
    return 2.0 + 2.0 * math.log10(sitelinks) if sitelinks > 0 else 0.0


LONGEST = 120  # characters of a name; what is longer is a description
#: A language is written in the scripts of at least this share of its names; abbreviations and
#: foreign names in Latin letters turn up in all languages.
_SCRIPT_SHARE = {"LATIN": 0.25}
_OTHER_SHARE = 0.1
_SAID = int(STATED | Flag.FORBIDDEN)
_CASED, _UPPER, _UNSTATED = int(Flag.CASED), int(Flag.UPPER), int(Flag.UNSTATED)


def cleaned(names: Sequence[Name], langs: Collection[str] | None = None) -> list[Name]:
    """Give names in one line each, without descriptions; of some languages if these are named."""
    kept = []
    for lang, text, flags in names:
        if langs is None or lang in langs or lang == UNSTATED:
            clean = " ".join(text.split())
            if 0 < len(clean) <= LONGEST:
                kept.append(Name(lang, clean, flags & _SAID))
    return kept


def name_flags(name: Name) -> int:
    """Give the flags of a name: what its source says, and how it is written."""
    lang, text, flags = name
    first = text[0] if text[0].isalpha() else next(filter(str.isalpha, text), "")
    if first.isupper() or first.istitle():
        flags |= _UPPER | _CASED if text.isupper() else _CASED
    return flags | _UNSTATED if lang == UNSTATED else flags


@cache
def script(char: str) -> str:
    """Give the first word of a character's name in Unicode, which tells scripts apart."""
    return unicodedata.name(char, "").partition(" ")[0] if char.isalpha() else ""


def written_in(counts: Mapping[str, int]) -> list[str]:
    """Give the scripts that a language is written in, by how many names begin in each."""
    every = sum(counts.values()) - counts.get("", 0)
    return sorted(
        s for s, n in counts.items() if s and n >= _SCRIPT_SHARE.get(s, _OTHER_SHARE) * every
    )


# -- spellings

#: Codes of a byte: 0 to 3 as above; the spellings of this one are listed.
LISTED = 4
#: Set where a name was the first that was read of an entity in a language.
MAIN = 8
BLOCK = 4096  # pairs
#: Stands for the main name of an entity that has no names.
NO_PLACE = 0xFFFF_FFFF
#: Files that say how names are written, which changes no link.
SPELLINGS = ("cases.npy", "spellings.bin", "spellings.npy", "labels.npy")
_SAME = "\x01"


def spelling(text: str, folded: str) -> str:
    r"""Encode how a name is spelt, given its folded form.

    Examples
    --------
    >>> [spelling(text, text.lower()) for text in ("wien", "New York", "Am rhein", "US", "McDo")]
    ['0', '1', '2', '3', '4\x01\x01D\x01']
    >>> spelling("Straße", "strasse")
    '5Straße'
    """
    for code in "0123":
        if text == spelt(code, folded):
            return code
    title = folded.title()
    if len(text) == len(title) and _SAME not in text:
        pairs = zip(text, title, strict=True)
        return "4" + "".join([_SAME if a == b else a for a, b in pairs])
    return "5" + text


def spelt(how: str, folded: str) -> str:
    """Decode the spelling of a folded name."""
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


def write_spellings(folder: Path, cases: NDArray[np.uint8], lines: Sequence[str]) -> None:
    """Write the bytes of all pairs, and in blocks the lines of those that are listed."""
    listed = np.concatenate(([0], np.cumsum(cases & 7 == LISTED)))
    ends = [0]
    with (folder / "spellings.bin").open("wb") as file:
        for start in range(0, len(cases), BLOCK):
            end = min(start + BLOCK, len(cases))
            block = "\n".join(lines[listed[start] : listed[end]])
            ends.append(ends[-1] + file.write(zlib.compress(block.encode(), 9) if block else b""))
    np.save(folder / "cases.npy", cases)
    np.save(folder / "spellings.npy", narrow(ends))


def narrow(values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
    """Give numbers that only grow the smallest type that holds them."""
    return np.array(values, "<u4" if int(values[-1]) < 1 << 32 else "<u8")


class Spellings:
    """Reads them."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "spellings.bin"
        self.cases: NDArray[np.uint8] = array(folder, "cases", np.uint8)
        self._ends: NDArray[np.uint32] = array(folder, "spellings", np.uint32)
        self._blocks: dict[int, list[str]] = {}

    def __getitem__(self, pair: int) -> list[str]:
        """Give how a name is spelt for an entity, by the number of this pair."""
        code = int(self.cases[pair]) & 7
        if code != LISTED:
            return [str(code)]
        block, start = pair // BLOCK, pair - pair % BLOCK
        before = np.count_nonzero(self.cases[start:pair] & 7 == LISTED)
        return self._lines(block)[before].split("\t")

    def _lines(self, block: int) -> list[str]:
        lines = self._blocks.get(block)
        if lines is None:
            start, end = int(self._ends[block]), int(self._ends[block + 1])
            try:
                with self.path.open("rb") as file:
                    file.seek(start)
                    lines = zlib.decompress(file.read(end - start)).decode().split("\n")
            except (OSError, ValueError, zlib.error) as error:
                raise damaged(self.path, error) from None
            self._blocks[block] = lines
        return lines


# -- files that are opened by memory map

#: What NumPy raises where the header of an array is damaged, or the file is not NumPy's.
_DAMAGED = (OSError, EOFError, AttributeError, ValueError, TypeError, SyntaxError, MemoryError,
            OverflowError, tokenize.TokenError, zipfile.BadZipFile)  # fmt: skip


def damaged(path: Path, error: object) -> InputError:
    """Make the error of a file that can't be used."""
    if isinstance(error, FileNotFoundError):
        return InputError("is missing: build the knowledge base again", path=path)
    return InputError(f"is damaged ({error}): build the knowledge base again", path=path)


class Ids:
    """Ids, sorted by their bytes; the same id may be there several times."""

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
        except (OSError, ValueError) as error:
            raise damaged(self.path, error) from None


def array(folder: Path, name: str, dtype: type[np.generic]) -> Any:
    """Open an array of numbers of this type."""
    path = folder / f"{name}.npy"
    try:
        # As a plain array: memmap's own way to take an element is slow.
        values = np.load(path, mmap_mode="r", allow_pickle=False).view(np.ndarray)
    except _DAMAGED as error:
        raise damaged(path, error) from None
    if values.dtype != dtype or values.ndim != 1:
        raise damaged(path, f"{values.ndim}-dimensional {values.dtype}")
    return values


def trie(path: Path) -> Any:
    """Open a trie."""
    need_extra("kobe", "a knowledge base", "marisa_trie")
    import marisa_trie

    try:
        return marisa_trie.Trie().mmap(str(path))
    except (OSError, RuntimeError) as error:
        raise damaged(path, error) from None
