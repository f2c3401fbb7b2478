"""From records to entities: tables of what was read, and which records are the same thing.

Records of one id are one entity. Records of different sources become one where an id that one of
them claims (`Entity.same_as`) is the other's, or is claimed by both. Two ids of the same source
are never merged: of two Wikidata items that claim one GeoNames place, the better known one has it.

All that is sorted or grouped is in tables of DuckDB, which go to disk where memory ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, OutOfMemoryError
from steelyard.formats import duck
from steelyard.kobe.base.records import NAMESPACES
from steelyard.kobe.base.spelling import narrow

_MEMORY = "1GB"
#: Rows that are handed over at a time.
BATCH = 200_000
_TABLES = {
    "records": {"record": "u4", "id": "O", "prior": "f8", "category": "O", "tier": "u1"},
    "claims": {"claimed": "O", "node": "O", "prior": "f8"},
    "names": {
        "lang": "O", "name": "O", "record": "u4", "flags": "u1", "spelling": "O", "place": "u8",
    },
}  # fmt: skip
_TYPES = {"u1": "UTINYINT", "u4": "UINTEGER", "u8": "UBIGINT", "f8": "DOUBLE", "O": "VARCHAR"}
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
WITH found AS (
    SELECT records.id, entity, true AS has FROM records JOIN owners USING (record)
    UNION ALL
    SELECT claimed, entity, false FROM claims JOIN records ON id = node JOIN owners USING (record)
)
SELECT found.id, entity, max(has) AS has, any_value(prior) AS prior,
    coalesce(list_position({NAMESPACES}, split_part(any_value(entities.id), ':', 1)),
        {len(NAMESPACES) + 1}) AS rank
FROM found JOIN entities USING (entity) WHERE found.id <> entities.id GROUP BY found.id, entity
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
    """Entities in the order of their ids."""

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
    _write_ids(db, folder, "ids", "entities ORDER BY entity")
    db.execute(_OTHERS)
    order = "others ORDER BY id, has DESC, rank, prior DESC, entity"
    _write_ids(db, folder, "others", order)
    np.save(folder / "owners.npy", db.execute(f"SELECT entity FROM {order}").fetchnumpy()["entity"])
    return Entities(
        prior=values["prior"],
        tier=values["tier"],
        category=values["code"],
        categories=categories,
        merged=size(db, "parents"),
    )


def _write_ids(db: Any, folder: Path, name: str, rows: str) -> None:
    lengths = db.execute(f"SELECT strlen(id) AS n FROM {rows}").fetchnumpy()["n"]
    np.save(folder / f"{name}.npy", narrow(np.concatenate(([0], np.cumsum(lengths)))))
    ids = db.execute(f"SELECT id FROM {rows}")
    with (folder / f"{name}.bin").open("wb") as file:
        while batch := ids.fetchmany(BATCH):
            file.write("".join([id_ for (id_,) in batch]).encode())
