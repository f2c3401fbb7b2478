"""From records to the files of a base: which are the same thing, and tries of what it is called.

Records of one id are one entity. Records of different sources become one where an id that one of
them claims (`Entity.same_as`) is the other's, or is claimed by both. Two ids of the same source
are never merged: of two Wikidata items that claim one GeoNames place, the better known one has it.

All that is sorted or grouped is in tables of DuckDB, which go to disk where memory ends; there is
one trie in memory at a time.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, OutOfMemoryError
from steelyard.formats import duck
from steelyard.kobe.base.knowledge import trie_name
from steelyard.kobe.base.records import KEPT_IF_ANY, UNSTATED, Flag, Progress
from steelyard.kobe.linking.wordforms import fold

_MEMORY = "1GB"
#: Rows that are handed over at a time.
BATCH = 200_000
#: Whose id an entity keeps when sources are merged; others come after these.
_NAMESPACES = ["wd", "iso", "gn", "cur", "lang", "wn"]
_TABLES = {
    "records": {"record": "u4", "id": "O", "prior": "f8", "category": "O", "tier": "u1"},
    "claims": {"claimed": "O", "node": "O", "prior": "f8"},
    "names": {"lang": "O", "name": "O", "record": "u4", "flags": "u1"},
}
_TYPES = {"u1": "UTINYINT", "u4": "UINTEGER", "f8": "DOUBLE", "O": "VARCHAR"}
#: Per claimed id those who may be meant by it: who claims it, and who has it. All go by the best of
#: them that are of other sources; who has several chances takes the best.
_PARENTS = f"""
CREATE TABLE parents AS
WITH nodes AS (
    SELECT claimed, node, greatest(max(prior), 0) AS prior FROM claims GROUP BY claimed, node
    UNION ALL
    SELECT id, id, max(prior) FROM records WHERE id IN (SELECT claimed FROM claims) GROUP BY id
), ranked AS (
    SELECT *, split_part(node, ':', 1) AS space,
        coalesce(list_position({_NAMESPACES}, space), {len(_NAMESPACES) + 1}) AS rank FROM nodes
), won AS (
    SELECT node, space, first_value({{'rank': rank, 'space': space, 'prior': prior, 'node': node}})
        OVER (PARTITION BY claimed ORDER BY rank, space, prior DESC, node) AS best FROM ranked
)
SELECT node, best.node AS parent FROM won WHERE space <> best.space
QUALIFY row_number() OVER (
    PARTITION BY node ORDER BY best.rank, best.space, best.prior DESC, best.node
) = 1
"""
#: Parents of parents; namespaces only get better on the way, so that it ends.
_ROOTS = "UPDATE parents SET parent = up.parent FROM parents up WHERE parents.parent = up.node"
_ENTITIES = """
CREATE TABLE entities AS
SELECT (row_number() OVER (ORDER BY home) - 1)::UINTEGER AS entity, home AS id,
    prior, tier, category
FROM (
    SELECT coalesce(parent, id) AS home, max(prior)::FLOAT AS prior, min(tier) AS tier,
        arg_min(category, record) FILTER (parent IS NULL) AS category
    FROM records LEFT JOIN parents ON id = node GROUP BY home
)
"""
_OWNERS = """
CREATE TABLE owners AS
SELECT record, entity FROM records LEFT JOIN parents ON id = node
JOIN entities ON entities.id = coalesce(parent, records.id)
"""
#: Names in one trie; building one takes some 120 bytes of memory for each of them.
SHARD = 4_000_000
#: A language is written in the scripts of at least this share of its names; abbreviations and
#: foreign names in Latin letters turn up in all languages.
_SCRIPT_SHARE = {"LATIN": 0.25}
_OTHER_SHARE = 0.1
_CASED, _UPPER, _UNSTATED = int(Flag.CASED), int(Flag.UPPER), int(Flag.UNSTATED)
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


@contextmanager
def tables(folder: Path) -> Iterator[Any]:
    """Open empty tables for records, claims and names; what memory can't hold goes to `folder`."""
    import duckdb

    with duck.connect() as db:
        db.execute(f"SET memory_limit = '{_MEMORY}'")
        db.execute("SET preserve_insertion_order = false")  # every query that matters has an order
        db.execute(f"SET temp_directory = {duck.literal(str(folder))}")
        for name, columns in _TABLES.items():
            told = ", ".join(f"{column} {_TYPES[kind]}" for column, kind in columns.items())
            db.execute(f"CREATE TABLE {name} ({told})")
        try:
            yield db
        except duckdb.OutOfMemoryException as error:
            raise OutOfMemoryError.at(folder) from error
        except duckdb.Error as error:  # a full disk, most likely
            raise InputError(f"can't be written ({duck.said(error)})", path=folder) from error


def size(db: Any, table: str) -> int:
    """Count the rows of a table."""
    [(n,)] = db.execute(f"SELECT count(*) FROM {table}").fetchall()
    return int(n)


class Rows:
    """Collects rows of a table, and hands them over in batches.

    It keeps columns: millions of tuples would keep Python's garbage collector busy.
    """

    def __init__(self, db: Any, table: str) -> None:
        self.db, self.table, self.kinds = db, table, _TABLES[table]
        self.columns: list[list[Any]] = [[] for _ in self.kinds]

    def extend(self, *columns: Sequence[Any]) -> None:
        """Add rows, given as columns."""
        for own, more in zip(self.columns, columns, strict=True):
            own.extend(more)
        if len(self.columns[0]) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Hand over what is left."""
        if self.columns[0]:
            columns = zip(self.kinds.items(), self.columns, strict=True)
            batch = {name: np.array(column, kind) for (name, kind), column in columns}
            self.db.register("batch", batch)
            self.db.execute(f"INSERT INTO {self.table} SELECT * FROM batch")
            self.db.unregister("batch")
        for column in self.columns:
            column.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entities:
    """Entities in the order of their ids, and the entity of every record."""

    of_record: NDArray[np.uint32]
    prior: NDArray[np.float32]
    tier: NDArray[np.uint8]
    category: NDArray[np.uint8]
    categories: list[str]
    merged: int


def merge(db: Any, folder: Path) -> Entities:
    """Number the entities, and write their ids to `folder`."""
    db.execute(_PARENTS)
    while db.execute(_ROOTS).fetchone()[0]:
        pass
    db.execute(_ENTITIES)
    db.execute(_OWNERS)
    first = "SELECT category FROM entities GROUP BY category ORDER BY min(entity)"
    categories = [category for (category,) in db.execute(first).fetchall()]
    if len(categories) > 256:
        raise InputError(f"'{categories[256]}' is category 257, expected 256 at most")
    db.execute("CREATE TABLE categories (category VARCHAR, code UTINYINT)")
    for code, category in enumerate(categories):
        db.execute("INSERT INTO categories VALUES (?, ?)", (category, code))
    values = db.execute(
        "SELECT prior, tier, code FROM entities JOIN categories USING (category) ORDER BY entity"
    ).fetchnumpy()
    lengths = db.execute("SELECT strlen(id) AS n FROM entities ORDER BY entity").fetchnumpy()["n"]
    np.save(folder / "ids.npy", np.cumsum(lengths, dtype="<i8"))
    ids = db.execute("SELECT id FROM entities ORDER BY entity")
    with (folder / "ids.bin").open("wb") as file:
        while rows := ids.fetchmany(BATCH):
            file.write("".join([id_ for (id_,) in rows]).encode())
    return Entities(
        of_record=db.execute("SELECT entity FROM owners ORDER BY record").fetchnumpy()["entity"],
        prior=values["prior"],
        tier=values["tier"],
        category=values["code"],
        categories=categories,
        merged=size(db, "parents"),
    )


# -- names


def named(number: int, names: list[Any]) -> tuple[list[str], list[str], list[int], list[int]]:
    """Give the names of one record as columns: language, folded name, record, flags."""
    langs, found, noted = [], [], []
    for lang, text, stated in names:
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


def index_names(db: Any, folder: Path, progress: Progress, total: int) -> Index:
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
            ids, counts = _trie(db, shard, folder)
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
            result.tries.append({"first": first, "base": result.keys, "keys": len(ids)})
            result.keys += len(ids)
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


def _trie(db: Any, shard: int, folder: Path) -> tuple[Any, Any]:
    """Build and write one trie; give per sorted key its id and how many entities it has."""
    import marisa_trie

    found = db.execute(f"SELECT lang || chr(9) || name AS key, n FROM keys {_IN_SHARD}", (shard,))
    columns = found.fetchnumpy()
    trie = marisa_trie.Trie(iter(columns["key"]))
    trie.save(str(folder / trie_name(shard)))
    ids = np.fromiter(map(trie.key_id, columns["key"]), np.int64, count=len(trie))
    return ids, columns["n"]


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
    sizes = db.execute("SELECT part, count(*) FROM speech GROUP BY part ORDER BY part").fetchall()
    with _ArrayWriter(path, "<u4") as writer:
        found = db.execute("SELECT entity FROM speech ORDER BY part, entity").fetchnumpy()
        writer.write(found["entity"])
    ends = accumulate((n for _, n in sizes), initial=0)
    result.speech = {part: span for (part, _), span in zip(sizes, pairwise(ends), strict=True)}


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
