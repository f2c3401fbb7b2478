"""From the tables of names (`merging`) to the files of a base: tries of what entities are called.

There is one trie in memory at a time.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from steelyard.kobe.base.knowledge import trie_name
from steelyard.kobe.base.merging import size
from steelyard.kobe.base.records import KEPT_IF_ANY, UNSTATED, Flag, Progress
from steelyard.kobe.base.spelling import (
    LISTED,
    MAIN,
    NO_PLACE,
    SpellingWriter,
    spelling,
)
from steelyard.kobe.linking.wordforms import fold

#: Names in one trie; building one takes some 120 bytes of memory for each of them.
SHARD = 4_000_000
#: A language is written in the scripts of at least this share of its names; abbreviations and
#: foreign names in Latin letters turn up in all languages.
_SCRIPT_SHARE = {"LATIN": 0.25}
_OTHER_SHARE = 0.1
_CASED, _UPPER, _UNSTATED = int(Flag.CASED), int(Flag.UPPER), int(Flag.UNSTATED)
#: One row for each spelling of each name of each entity, whatever records it has it from.
_SPELT = """
CREATE TABLE spelt AS
SELECT lang, name, left(name, 1) AS first, entity, spelling,
    bit_and(flags) AS each_flag, bit_or(flags) AS any_flag, min(place) AS place
FROM names JOIN owners USING (record) GROUP BY lang, name, entity, spelling
"""
#: The name of each entity that was read first, in each language.
_MAINS = "CREATE TABLE mains AS SELECT lang, entity, min(place) AS place FROM spelt GROUP BY ALL"
_POSTINGS = f"""
CREATE TABLE postings AS
SELECT lang, name, first, entity, count(*) AS spellings,
    bit_and(each_flag) | (bit_or(any_flag) & {int(KEPT_IF_ANY)}) AS flags
FROM spelt GROUP BY lang, name, first, entity
"""
_KEYS = "CREATE TABLE keys AS SELECT lang, name, first, count(*) AS n FROM postings GROUP BY ALL"
#: In which language an entity is rather called by its main name.
_LANGUAGE = f"CASE lang WHEN 'en' THEN 0 WHEN '{UNSTATED}' THEN 1 ELSE 2 END::UTINYINT"
_LETTERS = "SELECT lang, first, count(*) FROM keys GROUP BY lang, first ORDER BY lang, first"
_IN_SHARD = "JOIN letters USING (lang, first) WHERE shard = ? ORDER BY lang, name"
_SPEECH = """
CREATE TABLE speech AS SELECT DISTINCT part, entity FROM postings JOIN letters USING (lang, first)
"""


def named(number: int, names: list[Any]) -> tuple[list[Any], ...]:
    """Give the names of one record as columns: those of the table ``names``."""
    langs, found, noted, spellings, places = [], [], [], [], []
    for place, (lang, text, stated) in enumerate(names):
        folded = fold(text, lang)
        if folded and "\0" not in folded:  # tries end names there
            flags = stated
            first = text[0] if text[0].isalpha() else next(filter(str.isalpha, text), "")
            if first.isupper() or first.istitle():
                flags |= _CASED
                if text.isupper():
                    flags |= _UPPER
            if lang == UNSTATED:
                flags |= _UNSTATED
            langs.append(lang)
            found.append(folded)
            noted.append(flags)
            spellings.append(spelling(text, folded))
            places.append(number << 16 | min(place, 0xFFFF))
    return langs, found, [number] * len(found), noted, spellings, places


@dataclass
class Index:
    """What the manifest says about names."""

    tries: list[dict[str, Any]] = field(default_factory=list)
    languages: dict[str, int] = field(default_factory=dict)
    letters: dict[str, dict[str, int]] = field(default_factory=dict)
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


def index_names(db: Any, folder: Path, progress: Progress, total: int) -> Index:
    """Write tries, postings and the languages of entities."""
    progress("indexing names", 0, total)
    for table in (_SPELT, "DROP TABLE names", _MAINS, _POSTINGS, _KEYS):
        db.execute(table)
    letters = _letters(db)
    result = Index()
    labels = _Labels(size(db, "entities"))
    with (
        _ArrayWriter(folder / "extra.npy", "<u4") as extra,
        _ArrayWriter(folder / "entities.npy", "<u4") as numbers,
        _ArrayWriter(folder / "flags.npy", "|u1") as flags,
        SpellingWriter(folder) as spellings,
    ):
        extra.write(np.zeros(1, "<u4"))
        for shard in range(letters[-1].shard + 1):
            ids, counts = _trie(db, shard, folder)
            own = db.execute(
                f"SELECT entity, flags, spellings, {_LANGUAGE} AS rank"
                " FROM postings JOIN entities USING (entity)"
                f" {_IN_SHARD}, prior DESC, entity",
                (shard,),
            ).fetchnumpy()
            order = np.argsort(np.repeat(ids, counts), kind="stable")
            lengths = np.empty(len(ids), np.int64)
            lengths[ids] = counts
            before = numbers.length - result.keys
            extra.write(np.cumsum(lengths - 1) + before)
            numbers.write(own["entity"][order])
            flags.write(own["flags"][order])
            places = np.arange(len(order)) + (numbers.length - len(order))
            cases, lines = _spellings(db, shard, own["spellings"], order)
            spellings.write(cases, lines)
            labels.see(own["entity"][order], own["flags"][order], cases, own["rank"][order], places)
            first = next(f"{one.lang}\t{one.first}" for one in letters if one.shard == shard)
            result.tries.append({"first": first, "base": result.keys, "keys": len(ids)})
            result.keys += len(ids)
            progress("indexing names", numbers.length, total)
        result.postings = numbers.length
    np.save(folder / "labels.npy", labels.place.astype("<u4"))
    _note_languages(letters, result)
    _write_speech(db, folder / "speech.npy", result)
    return result


class _Letter(NamedTuple):
    """Names of a language that share their first letter: which trie they are in, and how many.

    ``part`` is the language, or the script where the language is not stated.
    """

    lang: str
    first: str
    part: str
    shard: int
    names: int


def _letters(db: Any) -> list[_Letter]:
    """List first letters in order; tries are cut between them, where there are enough names."""
    found: list[_Letter] = []
    shard = n = 0
    for lang, first, names in db.execute(_LETTERS).fetchall():
        if n >= SHARD:
            shard, n = shard + 1, 0
        n += names
        part = f"{lang}-{script(first)}" if lang == UNSTATED else lang
        found.append(_Letter(lang, first, part, shard, names))
    columns = zip(_Letter._fields, zip(*found, strict=True), "OOOii", strict=True)
    db.register("letters", {name: np.array(column, kind) for name, column, kind in columns})
    return found


def _trie(db: Any, shard: int, folder: Path) -> tuple[Any, Any]:
    """Build and write one trie; give per sorted key its id and how many entities it has."""
    import marisa_trie

    found = db.execute(f"SELECT lang || chr(9) || name AS key, n FROM keys {_IN_SHARD}", (shard,))
    columns = found.fetchnumpy()
    trie = marisa_trie.Trie(iter(columns["key"]))
    trie.save(str(folder / trie_name(shard)))
    ids = np.fromiter(map(trie.key_id, columns["key"]), np.int64, count=len(trie))
    return ids, columns["n"]


class _Labels:
    """Finds the main name of each entity: in English, else of no stated language, else in any."""

    def __init__(self, entities: int) -> None:
        self.place = np.full(entities, NO_PLACE, np.int64)
        self._rank = np.full(entities, 255, np.uint8)

    def see(
        self,
        entities: NDArray[np.uint32],
        flags: NDArray[np.uint8],
        cases: NDArray[np.uint8],
        languages: NDArray[np.uint8],
        places: NDArray[np.int64],
    ) -> None:
        """Look at further names; of two that are as good the first stays."""
        ranks = languages * 4 + (flags & int(Flag.LABEL) == 0) * 2 + (cases & MAIN == 0)
        order = np.lexsort((places, ranks, entities))
        _, first = np.unique(entities[order], return_index=True)
        best = order[first]
        best = best[ranks[best] < self._rank[entities[best]]]
        self._rank[entities[best]] = ranks[best]
        self.place[entities[best]] = places[best]


def _spellings(
    db: Any, shard: int, counts: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], list[str]]:
    """Give the bytes of all postings of a shard in their order, and the lines of those listed."""
    found = db.execute(
        "SELECT spelling, mains.place IS NOT NULL AS main FROM spelt JOIN entities USING (entity)"
        f" LEFT JOIN mains USING (lang, entity, place) {_IN_SHARD}, prior DESC, entity, place",
        (shard,),
    ).fetchnumpy()
    texts, ends = found["spelling"].tolist(), np.cumsum(counts)
    starts = ends - counts
    main = np.logical_or.reduceat(found["main"], starts)
    spans = list(zip(starts.tolist(), ends.tolist(), strict=True))
    codes = [ord(texts[i]) - 48 if k - i == 1 and len(texts[i]) == 1 else LISTED for i, k in spans]
    cases = (np.array(codes, np.uint8) | main * np.uint8(MAIN))[order]
    listed = order[cases & 7 == LISTED]
    return cases, ["\t".join(texts[slice(*spans[i])]) for i in listed.tolist()]


def _note_languages(letters: list[_Letter], result: Index) -> None:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for one in letters:
        found[one.lang][script(one.first)] += one.names
    for lang, counts in found.items():
        result.languages[lang] = counts.total()
        result.letters[lang] = dict(sorted(counts.items()))
        result.scripts[lang] = written_in(counts)


def written_in(counts: Mapping[str, int]) -> list[str]:
    """Give the scripts that a language is written in, by how many names begin in each.

    Examples
    --------
    >>> written_in({"CYRILLIC": 80, "LATIN": 20, "": 5})
    ['CYRILLIC']
    """
    every = sum(counts.values()) - counts.get("", 0)
    return sorted(
        s for s, n in counts.items() if s and n >= _SCRIPT_SHARE.get(s, _OTHER_SHARE) * every
    )


def _write_speech(db: Any, path: Path, result: Index) -> None:
    """Write which entities have names in which language; names in unstated ones by their script."""
    db.execute(_SPEECH)
    sizes = db.execute("SELECT part, count(*) FROM speech GROUP BY part ORDER BY part").fetchall()
    found = db.execute("SELECT entity FROM speech ORDER BY part, entity").fetchnumpy()["entity"]
    ends = accumulate((n for _, n in sizes), initial=0)
    with _ArrayWriter(path, "|u1") as writer:
        for (part, _), (start, end) in zip(sizes, pairwise(ends), strict=True):
            before = writer.length
            writer.write(steps(found[start:end]))
            result.speech[part] = (before, writer.length)


def steps(numbers: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Give rising numbers as the steps from one to the next; 255 is a part of a longer one.

    Examples
    --------
    >>> steps(np.array([3, 4, 300], np.uint32)).tolist()
    [3, 1, 255, 41]
    """
    wide = np.diff(numbers.astype(np.int64), prepend=0)
    longer, rest = np.divmod(wide, 255)
    found = np.full(len(wide) + int(longer.sum()), 255, np.uint8)
    found[np.cumsum(longer + 1) - 1] = rest
    return found


class _ArrayWriter:
    """Writes a one-dimensional ``.npy`` file piece by piece, its length being known at the end."""

    _HEADER = 128

    def __init__(self, path: Path, dtype: str) -> None:
        self.dtype = np.dtype(dtype)
        self.length = 0
        self._file: BinaryIO = path.open("wb", buffering=1 << 20)
        self._file.write(bytes(self._HEADER))

    def write(self, values: np.ndarray[tuple[int], np.dtype[np.generic]]) -> None:
        """Append values."""
        self._file.write(np.ascontiguousarray(values, self.dtype).tobytes())
        self.length += len(values)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        facts = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.length,)}
        text = repr(facts).encode().ljust(self._HEADER - 11) + b"\n"
        self._file.seek(0)
        self._file.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
        self._file.close()
