"""From sorted names to tries and postings, with memory for one trie at a time."""

from __future__ import annotations

import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.kobe import store
from steelyard.kobe.folding import fold
from steelyard.kobe.merging import ArrayWriter, Entities
from steelyard.kobe.records import KEPT_IF_ANY, STATED, UNSTATED, Flag
from steelyard.kobe.sorting import ExternalSort
from steelyard.kobe.spooling import Progress

#: Names in one trie; building one takes some 120 bytes of memory for each of them.
SHARD = 4_000_000
#: A language is written in the scripts of at least this share of its names.
_SCRIPT_SHARE = 0.2
_ANY = int(KEPT_IF_ANY)
_CASED, _UPPER, _UNSTATED = int(Flag.CASED), int(Flag.UPPER), int(Flag.UNSTATED)
_STATED = int(STATED)


def lines(number: int, names: list[Any]) -> list[bytes]:
    """Give what is to be sorted of one record's names: language, folded name, record, flags."""
    found = []
    for lang, text, stated in names:
        folded = fold(text, lang)
        if folded:
            flags = stated & _STATED
            first = text[0] if text[0].isalpha() else next(filter(str.isalpha, text), "")
            if first.isupper() or first.istitle():
                flags |= _CASED
                if text.isupper():
                    flags |= _UPPER
            if lang == UNSTATED:
                flags |= _UNSTATED
            found.append(f"{lang}\t{folded}\t{number:08x}{flags:02x}\n".encode())
    return found


@dataclass
class Index:
    """What the manifest says about names."""

    tries: list[dict[str, Any]] = field(default_factory=list)
    languages: dict[str, int] = field(default_factory=dict)
    scripts: dict[str, list[str]] = field(default_factory=dict)
    speech: dict[str, tuple[int, int]] = field(default_factory=dict)
    keys: int = 0
    postings: int = 0


@cache
def script(char: str) -> str:
    """Give the first word of a character's name in Unicode, which tells scripts apart.

    Examples
    --------
    >>> script("ü"), script("я"), script("中"), script("カ"), script("1")
    ('LATIN', 'CYRILLIC', 'CJK', 'KATAKANA', '')
    """
    return unicodedata.name(char, "").partition(" ")[0] if char.isalpha() else ""


def index(
    sort: ExternalSort, entities: Entities, folder: Path, progress: Progress, total: int
) -> Index:
    """Write tries, postings and the languages of entities."""
    result = Index()
    prior = np.frombuffer(entities.prior, np.float32)
    with (
        ArrayWriter(folder / "starts.npy", "<i8") as starts,
        ArrayWriter(folder / "entities.npy", "<u4") as numbers,
        ArrayWriter(folder / "flags.npy", "|u1") as flags,
        ArrayWriter(folder / "speech.npy", "<u4") as speech,
    ):
        starts.write(np.zeros(1, "<i8"))
        speakers = _Speech(speech, result)
        stream = _Keys(sort, entities.of_record, speakers, progress, total)
        while stream.more:
            shard = stream.shard(folder / "keys.tmp")
            trie, ids = _trie(shard, folder, result)
            counts = np.diff(np.frombuffer(shard.starts, np.int64))
            own = np.frombuffer(shard.entities, np.uint32)
            order = np.lexsort((own, -prior[own], np.repeat(ids, counts)))
            lengths = np.empty(len(ids), np.int64)
            lengths[ids] = counts
            starts.write(np.cumsum(lengths) + numbers.length)
            numbers.write(own[order])
            flags.write(np.frombuffer(shard.flags, np.uint8)[order])
            result.tries.append({"first": shard.first, "base": result.keys, "keys": len(trie)})
            result.keys += len(trie)
        speakers.close()
        result.postings = numbers.length
    (folder / "keys.tmp").unlink()
    return result


def _trie(shard: _Shard, folder: Path, result: Index) -> tuple[Any, Any]:
    """Build and write one trie; give it, and the id of each key in sorted order."""
    import marisa_trie

    with shard.path.open(encoding="utf-8", newline="\n") as keys:
        trie = marisa_trie.Trie(key[:-1] for key in keys)
    trie.save(str(folder / store.trie_name(len(result.tries))))
    with shard.path.open(encoding="utf-8", newline="\n") as keys:
        found = (trie.key_id(key[:-1]) for key in keys)
        return trie, np.fromiter(found, np.int64, count=len(trie))


@dataclass
class _Shard:
    path: Path
    first: str = ""
    starts: array[int] = field(default_factory=lambda: array("q", [0]))
    entities: array[int] = field(default_factory=lambda: array("I"))
    flags: array[int] = field(default_factory=lambda: array("B"))


class _Keys:
    """The sorted names, cut into shards between first letters of languages."""

    def __init__(
        self,
        sort: ExternalSort,
        of_record: array[int],
        speech: _Speech,
        progress: Progress,
        total: int,
    ) -> None:
        self.of_record, self.speech = of_record, speech
        self.progress, self.total, self.done = progress, total, 0
        self.groups = self._groups(iter(sort))
        self.group = next(self.groups, None)

    @property
    def more(self) -> bool:
        return self.group is not None

    def _groups(self, lines: Iterator[bytes]) -> Iterator[tuple[str, dict[int, int]]]:
        """Give each key with its entities and their flags."""
        key, found = b"", {}
        of_record = self.of_record
        for line in lines:
            at = len(line) - 12  # TAB, eight digits of the record, two of the flags, newline
            if line[:at] != key:
                if found:
                    yield key.decode(), found
                key, found = line[:at], {}
            number = of_record[int(line[at + 1 : at + 9], 16)]
            flags = int(line[at + 9 : at + 11], 16)
            if number in found:
                before = found[number]
                flags = (before & flags) | ((before | flags) & _ANY)
            found[number] = flags
        if found:
            yield key.decode(), found

    def shard(self, path: Path) -> _Shard:
        """Take names from the stream until there are enough for one trie."""
        shard = _Shard(path)
        count, start = 0, ""
        with path.open("w", encoding="utf-8", newline="\n") as keys:
            while self.group is not None:
                key, found = self.group
                lang, _, name = key.partition("\t")
                if not key.startswith(start) or not start:
                    if count >= SHARD:
                        break
                    start = f"{lang}\t{name[0]}"
                    shard.first = shard.first or start
                keys.write(key + "\n")
                shard.entities.extend(found.keys())
                shard.flags.extend(found.values())
                shard.starts.append(len(shard.entities))
                self.speech.add(lang, name, found)
                count += 1
                if count % 500_000 == 0:
                    self.progress("indexing names", self.done + count, self.total)
                self.group = next(self.groups, None)
        self.done += count
        self.progress("indexing names", self.done, self.total)
        return shard


class _Speech:
    """Which entities have names in which language; names in unstated ones by their script."""

    def __init__(self, writer: ArrayWriter, result: Index) -> None:
        self.writer, self.result = writer, result
        self.lang, self.count = "", 0
        self.parts: dict[str, array[int]] = defaultdict(lambda: array("I"))
        self.scripts: Counter[str] = Counter()

    def add(self, lang: str, name: str, found: dict[int, int]) -> None:
        """Note the entities of a name."""
        if lang != self.lang:
            self.close()
            self.lang = lang
        self.count += 1
        own = script(name[0])
        self.scripts[own] += 1
        self.parts[own if lang == UNSTATED else ""].extend(found)

    def close(self) -> None:
        """Write what was noted of the language before."""
        if self.count:
            self.result.languages[self.lang] = self.count
            letters = Counter({s: n for s, n in self.scripts.items() if s})
            least = max(1, _SCRIPT_SHARE * letters.total())
            self.result.scripts[self.lang] = sorted(s for s, n in letters.items() if n >= least)
        for part in sorted(self.parts):
            start = self.writer.length
            self.writer.write(np.unique(np.frombuffer(self.parts[part], np.uint32)))
            name = f"{self.lang}-{part}" if self.lang == UNSTATED else self.lang
            self.result.speech[name] = (start, self.writer.length)
        self.count, self.scripts = 0, Counter()
        self.parts.clear()
