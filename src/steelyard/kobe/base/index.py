"""From names to tries and postings, with memory for one trie at a time."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np

from steelyard.kobe.base.knowledge import trie_name
from steelyard.kobe.base.records import KEPT_IF_ANY, STATED, UNSTATED, Flag, Progress
from steelyard.kobe.linking.folding import fold

#: Names in one trie; building one takes some 120 bytes of memory for each of them.
SHARD = 4_000_000
#: A language is written in the scripts of at least this share of its names; abbreviations and
#: foreign names in Latin letters turn up in all languages.
_SCRIPT_SHARE = {"LATIN": 0.25}
_OTHER_SHARE = 0.1
_CASED, _UPPER, _UNSTATED = int(Flag.CASED), int(Flag.UPPER), int(Flag.UNSTATED)
_STATED = int(STATED)
#: One row for each name of each entity, whatever records it has it from.
_POSTINGS = f"""
CREATE TABLE postings AS
SELECT lang, name, left(name, 1) AS first, entity,
    bit_and(flags) | (bit_or(flags) & {int(KEPT_IF_ANY)}) AS flags
FROM names JOIN owners USING (record) GROUP BY lang, name, entity
"""
_KEYS = "CREATE TABLE keys AS SELECT lang, name, first, count(*) AS n FROM postings GROUP BY ALL"
_LETTERS = "SELECT lang, first, count(*) FROM keys GROUP BY lang, first ORDER BY lang, first"
_IN_SHARD = "JOIN letters USING (lang, first) WHERE shard = ? ORDER BY lang, name"
_SPEECH = """
CREATE TABLE speech AS SELECT DISTINCT part, entity FROM postings JOIN letters USING (lang, first)
"""


def named(number: int, names: list[Any]) -> tuple[list[str], list[str], list[int], list[int]]:
    """Give the names of one record as columns: language, folded name, record, flags."""
    langs, found, noted = [], [], []
    for lang, text, stated in names:
        folded = fold(text, lang)
        if folded and "\0" not in folded:  # tries end names there
            flags = stated & _STATED
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
    return langs, found, [number] * len(found), noted


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


def index(db: Any, folder: Path, progress: Progress, total: int) -> Index:
    """Write tries, postings and the languages of entities."""
    progress("indexing names", 0, total)
    db.execute(_POSTINGS)
    db.execute(_KEYS)
    letters = _letters(db)
    result = Index()
    with (
        _ArrayWriter(folder / "starts.npy", "<i8") as starts,
        _ArrayWriter(folder / "entities.npy", "<u4") as numbers,
        _ArrayWriter(folder / "flags.npy", "|u1") as flags,
    ):
        starts.write(np.zeros(1, "<i8"))
        for shard in range(letters[-1].shard + 1):
            trie, ids, counts = _trie(db, shard, folder)
            own = db.execute(
                "SELECT entity, flags FROM postings JOIN entities USING (entity)"
                f" {_IN_SHARD}, prior DESC, entity",
                (shard,),
            ).fetchnumpy()
            order = np.argsort(np.repeat(ids, counts), kind="stable")
            lengths = np.empty(len(ids), np.int64)
            lengths[ids] = counts
            starts.write(np.cumsum(lengths) + numbers.length)
            numbers.write(own["entity"][order])
            flags.write(own["flags"][order])
            first = next(f"{one.lang}\t{one.first}" for one in letters if one.shard == shard)
            result.tries.append({"first": first, "base": result.keys, "keys": len(trie)})
            result.keys += len(trie)
            progress("indexing names", numbers.length, total)
        result.postings = numbers.length
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


def _trie(db: Any, shard: int, folder: Path) -> tuple[Any, Any, Any]:
    """Build and write one trie; give it, and per sorted key its id and how many entities it has."""
    import marisa_trie

    found = db.execute(f"SELECT lang || chr(9) || name AS key, n FROM keys {_IN_SHARD}", (shard,))
    columns = found.fetchnumpy()
    trie = marisa_trie.Trie(iter(columns["key"]))
    trie.save(str(folder / trie_name(shard)))
    ids = np.fromiter(map(trie.key_id, columns["key"]), np.int64, count=len(trie))
    return trie, ids, columns["n"]


def _note_languages(letters: list[_Letter], result: Index) -> None:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for one in letters:
        found[one.lang][script(one.first)] += one.names
    for lang, counts in found.items():
        result.languages[lang] = counts.total()
        every = counts.total() - counts[""]
        result.scripts[lang] = sorted(
            s for s, n in counts.items() if s and n >= _SCRIPT_SHARE.get(s, _OTHER_SHARE) * every
        )


def _write_speech(db: Any, path: Path, result: Index) -> None:
    """Write which entities have names in which language; names in unstated ones by their script."""
    db.execute(_SPEECH)
    end = 0
    sizes = db.execute("SELECT part, count(*) FROM speech GROUP BY part ORDER BY part").fetchall()
    for part, n in sizes:
        result.speech[part] = (end, end + n)
        end += n
    with _ArrayWriter(path, "<u4") as writer:
        found = db.execute("SELECT entity FROM speech ORDER BY part, entity").fetchnumpy()
        writer.write(found["entity"])


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
