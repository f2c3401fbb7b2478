"""Building a knowledge base: read, merge, index; whole or not at all.

Memory does not grow with the input: records, names and ids go into tables of DuckDB, which spill to
disk where memory ends; the trie of all names takes some 120 bytes for each while it is built. The
same sources give the same bytes.

Records of one id are one entity. Records of different sources become one where an id that one of
them claims (`Entity.same_as`) is the other's, or is claimed by both. Two ids of the same source
are never merged: of two Wikidata items that claim one GeoNames place, the better known one has it.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, OutOfMemoryError, UsageError, need_extra
from steelyard.core.options import check_number
from steelyard.core.provenance import installed_version
from steelyard.formats import duck
from steelyard.kobe.base.codec import (
    KEPT_IF_ANY,
    LISTED,
    MAIN,
    NAMESPACES,
    NO_PLACE,
    SPELLINGS,
    UNSTATED,
    Entity,
    Flag,
    Name,
    Progress,
    Source,
    cleaned,
    name_flags,
    narrow,
    script,
    spelling,
    write_spellings,
    written_in,
)
from steelyard.kobe.base.knowledge import FORMAT, MANIFEST, TRIE, folding_version
from steelyard.kobe.linking.wordforms import fold
from steelyard.kobe.options import TIERS

_MEMORY = "1GB"
_BATCH = 200_000  # rows that are handed over at a time
_STEP = 50_000  # records between two calls of progress


@dataclass(frozen=True)
class Limits:
    """Which records are taken: languages (None: all) and the smallest prior."""

    langs: frozenset[str] | None = None
    min_prior: float = 0.0

    def __post_init__(self) -> None:
        check_number(min_prior=self.min_prior)


def build(
    sources: Sequence[Source],
    out: str | Path,
    *,
    limits: Limits | Sequence[Limits] | None = None,
    force: bool = False,
    progress: Progress = lambda *_: None,
) -> dict[str, Any]:
    """Build a knowledge base from sources; give its manifest.

    Parameters
    ----------
    sources
        Where records come from, see :class:`steelyard.kobe.base.codec.Source`.
    out
        The folder to make. Until it is complete, all is in a hidden folder beside it.
    limits
        Languages and smallest prior that are wanted, for all sources or for each.
    force
        Replace `out` if it exists.
    progress
        Called with what is done, how many and of how many.
    """
    need_extra("kobe", "a knowledge base", "marisa_trie")
    each = [limits or Limits()] * len(sources) if not isinstance(limits, Sequence) else list(limits)
    with replaced_folder(Path(out), force=force) as fresh:
        with _tables(fresh.with_name("sorting")) as db:
            counts = _collect(db, sources, each, progress)
            if not _size(db, "names"):
                names = ", ".join(source.name for source in sources)
                raise InputError("no names were found in it", path=names)
            facts = _merge(db, fresh, progress) | _index(db, fresh, progress)
        manifest = _manifest(fresh, sources, counts, facts)
        text = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
        (fresh / MANIFEST).write_text(text, encoding="utf-8")
    return manifest


@contextmanager
def replaced_folder(target: Path, *, force: bool) -> Iterator[Path]:
    """Give a folder to write a base to, which takes its place when all went well."""
    if (target.exists() or target.is_symlink()) and not force:
        raise UsageError(f"{target} exists already; force=True replaces it")
    if target.exists() and not (target / MANIFEST).exists():
        raise UsageError(f"{target} is not a knowledge base, and is not replaced")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            dir=target.parent, prefix=f".{target.name}.", ignore_cleanup_errors=True
        ) as work:
            fresh = Path(work, "base")
            fresh.mkdir()
            yield fresh
            if target.exists():  # who has the old one open keeps it
                target.rename(Path(work, "old"))
            fresh.rename(target)
    except OSError as error:
        path = error.filename or target
        raise InputError(f"can't be written ({error.strerror or error})", path=path) from error


def _manifest(
    folder: Path,
    sources: Sequence[Source],
    counts: Sequence[dict[str, int]],
    facts: dict[str, Any],
) -> dict[str, Any]:
    files = {path.name: _file(path) for path in sorted(folder.iterdir())}
    linking = [file["sha256"] for name, file in files.items() if name not in SPELLINGS]
    parts: list[dict[str, Any]] = []
    for source, count in zip(sources, counts, strict=True):
        told = {"name": source.name, "version": source.version, "licence": source.licence, **count}
        parts += getattr(source, "parts", [told])  # a base lists what it was made of
    return {
        "format": FORMAT,
        "steelyard": installed_version(),
        "folding": folding_version(),
        "signature": hashlib.sha256("".join(linking).encode()).hexdigest()[:12],
        "sources": parts,
        "warnings": [text for s in sources for text in getattr(s, "warnings", list)()],
        **facts,
        "files": files,
    }


def _file(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


# -- tables of what was read

_TABLES = {
    "records": {"record": "u4", "id": "O", "prior": "f8", "category": "O", "tier": "u1"},
    "claims": {"claimed": "O", "node": "O", "prior": "f8"},
    "names": {
        "lang": "O", "name": "O", "record": "u4", "flags": "u1", "spelling": "O", "place": "u8",
    },
}  # fmt: skip
_TYPES = {"u1": "UTINYINT", "u4": "UINTEGER", "u8": "UBIGINT", "f8": "DOUBLE", "O": "VARCHAR"}


@contextmanager
def _tables(folder: Path) -> Iterator[Any]:
    """Open empty tables for records, claims and names; what memory can't hold goes to `folder`."""
    import duckdb

    with duck.connect() as db:
        db.execute(f"SET memory_limit = '{_MEMORY}'")
        db.execute("SET preserve_insertion_order = false")  # every query that matters has an order
        db.execute(f"SET temp_directory = {duck.literal(str(folder))}")
        for name, columns in _TABLES.items():
            types = ", ".join(f"{column} {_TYPES[kind]}" for column, kind in columns.items())
            db.execute(f"CREATE TABLE {name} ({types})")
        try:
            yield db
        except duckdb.OutOfMemoryException as error:
            raise OutOfMemoryError.at(folder) from error
        except duckdb.Error as error:  # a full disk, most likely
            raise InputError(f"can't be written ({duck.said(error)})", path=folder) from error


def _size(db: Any, table: str) -> int:
    [(n,)] = db.execute(f"SELECT count(*) FROM {table}").fetchall()
    return int(n)


class _Table:
    """Collects rows of a table as columns, and hands them over in batches.

    Millions of tuples would keep Python's garbage collector busy.
    """

    def __init__(self, db: Any, name: str) -> None:
        self.db, self.name, self.kinds = db, name, _TABLES[name]
        self.columns: list[list[Any]] = [[] for _ in self.kinds]

    def extend(self, *columns: Sequence[Any]) -> None:
        for column, more in zip(self.columns, columns, strict=True):
            column.extend(more)
        if len(self.columns[0]) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        if self.columns[0]:
            columns = zip(self.kinds.items(), self.columns, strict=True)
            batch = {name: np.array(column, kind) for (name, kind), column in columns}
            self.db.register("batch", batch)
            self.db.execute(f"INSERT INTO {self.name} SELECT * FROM batch")
            self.db.unregister("batch")
        for column in self.columns:
            column.clear()


def _collect(
    db: Any, sources: Sequence[Source], limits: Sequence[Limits], progress: Progress
) -> list[dict[str, int]]:
    records, claims, names = tables = [_Table(db, name) for name in _TABLES]
    number, counts = 0, []
    for source, limit in zip(sources, limits, strict=True):
        count = {"records": 0, "names": 0}
        counts.append(count)
        for entity, every in source.rows():
            kept = [n for n in cleaned(every, limit.langs) if not n.flags & Flag.FORBIDDEN]
            if not kept or entity.prior < limit.min_prior:
                continue
            check_id(entity, source.name)
            prior = round(entity.prior, 4)
            records.extend([number], [entity.id], [prior], [entity.category], [entity.tier])
            others = [other for other in entity.same_as if other != entity.id]
            claims.extend(others, [entity.id] * len(others), [prior] * len(others))
            names.extend(*_named(number, kept))
            number += 1
            count["records"] += 1
            count["names"] += len(kept)
            if number % _STEP == 0:
                progress(f"reading {source.name}", number, None)
        progress(f"reading {source.name}", number, None)
    for table in tables:
        table.flush()
    return counts


def check_id(entity: Entity, path: str, line: int | None = None) -> None:
    """Refuse an id without a namespace, or with control characters."""
    if ":" not in entity.id or any(char < " " for char in entity.id):
        what = f"'{entity.id}' is no id: expected something like wd:Q183"
        raise InputError(what, path=path, line=line)


def _named(record: int, names: Sequence[Name]) -> tuple[list[Any], ...]:
    rows = []
    for number, name in enumerate(names):
        folded = fold(name.text, name.lang)
        if folded and "\0" not in folded:  # tries end names there
            place = record << 16 | min(number, 0xFFFF)
            how = spelling(name.text, folded)
            rows.append((name.lang, folded, record, name_flags(name), how, place))
    return tuple(map(list, zip(*rows, strict=True))) or ([],) * len(_TABLES["names"])


# -- entities

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
        coalesce(list_position({NAMESPACES}, space), {len(NAMESPACES) + 1}) AS rank FROM nodes
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
#: Further ids of entities: of records that were merged into them, then those that they claim. Of
#: several who claim an id the best comes first.
_OTHERS = f"""
CREATE TABLE others AS
WITH ids AS (
    SELECT records.id, entity, true AS has FROM records JOIN owners USING (record)
    UNION ALL
    SELECT claimed, entity, false FROM claims JOIN records ON id = node JOIN owners USING (record)
)
SELECT ids.id, entity, max(has) AS has, any_value(prior) AS prior,
    coalesce(list_position({NAMESPACES}, split_part(any_value(entities.id), ':', 1)),
        {len(NAMESPACES) + 1}) AS rank
FROM ids JOIN entities USING (entity) WHERE ids.id <> entities.id GROUP BY ids.id, entity
"""
_CATEGORIES = """
CREATE TABLE categories AS
SELECT category, row_number() OVER (ORDER BY min(entity)) - 1 AS code
FROM entities GROUP BY category
"""


def _merge(db: Any, folder: Path, progress: Progress) -> dict[str, Any]:
    """Number the entities, and write what is known of them; give what the manifest says."""
    progress("merging", 0, None)
    db.execute(_PARENTS)
    while db.execute(_ROOTS).fetchone()[0]:
        pass
    for table in (_ENTITIES, _OWNERS, _CATEGORIES, _OTHERS):
        db.execute(table)
    rows = db.execute("SELECT category FROM categories ORDER BY code").fetchall()
    categories = [category for (category,) in rows]
    if len(categories) > 256:
        raise InputError(f"'{categories[256]}' is category 257, expected 256 at most")
    columns = db.execute(
        "SELECT prior, code AS category, tier FROM entities JOIN categories USING (category)"
        " ORDER BY entity"
    ).fetchnumpy()
    for name, dtype in (("prior", "<f4"), ("category", "|u1"), ("tier", "|u1")):
        np.save(folder / f"{name}.npy", columns[name].astype(dtype))
    _write_ids(db, folder, "ids", "entities ORDER BY entity")
    order = "others ORDER BY id, has DESC, rank, prior DESC, entity"
    _write_ids(db, folder, "others", order)
    np.save(folder / "owners.npy", db.execute(f"SELECT entity FROM {order}").fetchnumpy()["entity"])
    tiers = np.bincount(columns["tier"], minlength=len(TIERS))
    return {
        "entities": len(columns["prior"]),
        "merged": _size(db, "parents"),
        "tiers": {name: int(tiers[i]) for i, name in enumerate(TIERS)},
        "categories": categories,
    }


def _write_ids(db: Any, folder: Path, name: str, rows: str) -> None:
    lengths = db.execute(f"SELECT strlen(id) AS n FROM {rows}").fetchnumpy()["n"]
    np.save(folder / f"{name}.npy", narrow(np.concatenate(([0], np.cumsum(lengths)))))
    ids = db.execute(f"SELECT id FROM {rows}")
    with (folder / f"{name}.bin").open("wb") as file:
        while batch := ids.fetchmany(_BATCH):
            file.write("".join([id_ for (id_,) in batch]).encode())


# -- names

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
#: First letters of the names of a language; a part is a language, or a script of unstated ones.
_LETTERS = f"""
CREATE TABLE letters AS
SELECT lang, first, script(first) AS script, count(*) AS n,
    CASE lang WHEN '{UNSTATED}' THEN concat(lang, '-', script(first)) ELSE lang END AS part
FROM keys GROUP BY lang, first
"""
_SCRIPTS = "SELECT lang, script, sum(n)::BIGINT FROM letters GROUP BY ALL ORDER BY ALL"
_SPEECH = """
CREATE TABLE speech AS SELECT DISTINCT part, entity FROM postings JOIN letters USING (lang, first)
"""


def _index(db: Any, folder: Path, progress: Progress) -> dict[str, Any]:
    """Write trie, postings and the languages of entities; give what the manifest says."""
    import marisa_trie

    progress("indexing names", 0, _size(db, "names"))
    for table in (_SPELT, "DROP TABLE names", _MAINS, _POSTINGS, _KEYS):
        db.execute(table)
    keys = db.execute("SELECT lang || chr(9) || name AS key, n FROM keys ORDER BY lang, name")
    columns = keys.fetchnumpy()
    names, counts = marisa_trie.Trie(iter(columns["key"])), columns["n"]
    names.save(str(folder / TRIE))
    ids = np.fromiter(map(names.key_id, columns["key"]), np.int64, count=len(names))
    rows = db.execute(
        f"SELECT entity, flags, spellings, {_LANGUAGE} AS rank"
        " FROM postings JOIN entities USING (entity) ORDER BY lang, name, prior DESC, entity"
    ).fetchnumpy()
    order = np.argsort(np.repeat(ids, counts), kind="stable")
    lengths = np.empty(len(ids), np.int64)
    lengths[ids] = counts
    numbers = rows["entity"][order].astype("<u4")
    flags = rows["flags"][order].astype("|u1")
    np.save(folder / "extra.npy", np.concatenate(([0], np.cumsum(lengths - 1))).astype("<u4"))
    np.save(folder / "entities.npy", numbers)
    np.save(folder / "flags.npy", flags)
    cases, lines = _spellings(db, rows["spellings"], order)
    write_spellings(folder, cases, lines)
    ranks = rows["rank"][order] * 4 + (flags & int(Flag.LABEL) == 0) * 2 + (cases & MAIN == 0)
    np.save(folder / "labels.npy", _labels(_size(db, "entities"), numbers, ranks).astype("<u4"))
    db.create_function("script", script, ["VARCHAR"], "VARCHAR")
    db.execute(_LETTERS)
    scripts: dict[str, dict[str, int]] = defaultdict(dict)
    for lang, script_name, n in db.execute(_SCRIPTS).fetchall():
        scripts[lang][script_name] = n
    return {
        "names": len(ids),
        "postings": len(order),
        "languages": {lang: sum(counts.values()) for lang, counts in scripts.items()},
        "scripts": {lang: written_in(counts) for lang, counts in scripts.items()},
        "speech": _write_speech(db, folder),
    }


def _labels(n: int, entities: NDArray[np.uint32], ranks: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Give the pair of each entity's main name: in English, else of no language, else in any."""
    order = np.lexsort((ranks, entities))
    pairs = np.full(n, NO_PLACE, np.int64)
    named, first = np.unique(entities[order], return_index=True)
    pairs[named] = order[first]
    return pairs


def _spellings(
    db: Any, counts: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], list[str]]:
    rows = db.execute(
        "SELECT spelling, mains.place IS NOT NULL AS main FROM spelt JOIN entities USING (entity)"
        " LEFT JOIN mains USING (lang, entity, place)"
        " ORDER BY lang, name, prior DESC, entity, place"
    ).fetchnumpy()
    texts, ends = rows["spelling"].tolist(), np.cumsum(counts)
    starts = ends - counts
    main = np.logical_or.reduceat(rows["main"], starts)
    spans = list(zip(starts.tolist(), ends.tolist(), strict=True))
    codes = [ord(texts[i]) - 48 if k - i == 1 and len(texts[i]) == 1 else LISTED for i, k in spans]
    cases = (np.array(codes, np.uint8) | main * np.uint8(MAIN))[order]
    listed = order[cases & 7 == LISTED]
    return cases, ["\t".join(texts[slice(*spans[i])]) for i in listed.tolist()]


def _write_speech(db: Any, folder: Path) -> dict[str, tuple[int, int]]:
    """Write which entities have names in which language; names in unstated ones by their script."""
    db.execute(_SPEECH)
    sizes = db.execute("SELECT part, count(*) FROM speech GROUP BY part ORDER BY part").fetchall()
    entities = db.execute("SELECT entity FROM speech ORDER BY part, entity").fetchnumpy()["entity"]
    ends = pairwise(accumulate((n for _, n in sizes), initial=0))
    parts = [_steps(entities[start:end]) for start, end in ends]
    np.save(folder / "speech.npy", np.concatenate(parts))
    spans = pairwise(accumulate(map(len, parts), initial=0))
    return {part: span for (part, _), span in zip(sizes, spans, strict=True)}


def _steps(numbers: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Give rising numbers as the steps from one to the next; 255 is a part of a longer one."""
    wide = np.diff(numbers.astype(np.int64), prepend=0)
    longer, rest = np.divmod(wide, 255)
    steps = np.full(len(wide) + int(longer.sum()), 255, np.uint8)
    steps[np.cumsum(longer + 1) - 1] = rest
    return steps
