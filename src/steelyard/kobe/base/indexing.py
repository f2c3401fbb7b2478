"""From sorted names to tries and postings, with memory for one trie at a time."""

from __future__ import annotations

import unicodedata
from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.kobe.base import store
from steelyard.kobe.base.merging import ArrayWriter, Entities
from steelyard.kobe.base.records import KEPT_IF_ANY, STATED, UNSTATED, Flag
from steelyard.kobe.base.sorting import ExternalSort
from steelyard.kobe.base.spooling import Progress
from steelyard.kobe.linking.folding import fold

#: Names in one trie; building one takes some 120 bytes of memory for each of them.
SHARD = 4_000_000
#: A language is written in the scripts of at least this share of its names; abbreviations and
#: foreign names in Latin letters turn up in all languages.
_SCRIPT_SHARE = {"LATIN": 0.25}
_OTHER_SHARE = 0.1
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
        while stream.line:
            shard = stream.shard(folder / "keys.tmp")
            trie, ids = _trie(shard, folder, result)
            starts_here = np.frombuffer(shard.starts, np.int64)
            counts = starts_here[1:] - starts_here[:-1]
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
    starts: array[int] = field(default_factory=lambda: array("q"))
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
        self.lines = iter(sort)
        self.line = next(self.lines, b"")

    def shard(self, path: Path) -> _Shard:
        """Take names from the stream until there are enough for one trie.

        This is the innermost loop of a build: one turn for each name of each record.
        """
        shard = _Shard(path)
        starts, entities, flags, of_record = (
            shard.starts,
            shard.entities,
            shard.flags,
            self.of_record,
        )
        last, start, noted = b"", b"", array("I")
        line, lines = self.line, self.lines
        with path.open("wb", buffering=1 << 20) as keys:
            while line:
                at = len(line) - 12  # TAB, eight digits of the record, two of flags, newline
                key = line[:at]
                number = of_record[int(line[at + 1 : at + 9], 16)]
                own = int(line[at + 9 : at + 11], 16)
                if key != last:
                    if not start or not key.startswith(start):
                        if len(starts) >= SHARD:
                            break
                        start, noted = self.speech.group(key)
                        shard.first = shard.first or start.decode()
                        self.progress("indexing names", self.done + len(entities), self.total)
                    self.speech.count += 1
                    starts.append(len(entities))
                    keys.write(key + b"\n")
                    last = key
                    known = -1
                else:
                    known = _place(entities, number, starts[-1])
                if known < 0:
                    entities.append(number)
                    flags.append(own)
                    noted.append(number)
                else:
                    flags[known] = (flags[known] & own) | ((flags[known] | own) & _ANY)
                line = next(lines, b"")
        starts.append(len(entities))
        self.line = line
        self.done += len(entities)
        return shard


def _place(entities: array[int], number: int, start: int) -> int:
    """Find an entity among those of the current key, from `start` on."""
    for place in range(start, len(entities)):
        if entities[place] == number:
            return place
    return -1


class _Speech:
    """Which entities have names in which language; names in unstated ones by their script."""

    def __init__(self, writer: ArrayWriter, result: Index) -> None:
        self.writer, self.result = writer, result
        self.lang, self.script, self.count = "", "", 0
        self.parts: dict[str, array[int]] = defaultdict(lambda: array("I"))
        self.scripts: Counter[str] = Counter()

    def group(self, key: bytes) -> tuple[bytes, array[int]]:
        """Begin with the names that share a language and a first letter.

        Gives what they begin with, and where to note their entities.
        """
        lang, _, name = key.decode().partition("\t")
        self.scripts[self.script] += self.count
        self.count = 0
        if lang != self.lang:
            self._language()
            self.lang = lang
        self.script = script(name[0])
        part = self.script if lang == UNSTATED else ""
        return f"{lang}\t{name[0]}".encode(), self.parts[part]

    def close(self) -> None:
        """Write what was noted of the last language."""
        self.scripts[self.script] += self.count
        self._language()

    def _language(self) -> None:
        if total := self.scripts.total():
            self.result.languages[self.lang] = total
            letters = {name: n for name, n in self.scripts.items() if name and n}
            every = sum(letters.values())
            self.result.scripts[self.lang] = sorted(
                s for s, n in letters.items() if n >= _SCRIPT_SHARE.get(s, _OTHER_SHARE) * every
            )
        for part in sorted(self.parts):
            start = self.writer.length
            self.writer.write(np.unique(np.frombuffer(self.parts[part], np.uint32)))
            name = f"{self.lang}-{part}" if self.lang == UNSTATED else self.lang
            self.result.speech[name] = (start, self.writer.length)
        self.scripts = Counter()
        self.parts.clear()
