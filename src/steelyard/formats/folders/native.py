"""The native file: a Parquet long table for any tool, the rest of the EvalSet in its footer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import InputError, UsageError
from steelyard.core.table import dumps, missing
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import Ratings
from steelyard.data.segments import Segments
from steelyard.formats import columns as roles
from steelyard.formats import files, parquet
from steelyard.formats.format import SetFormat
from steelyard.formats.judged import builder, errors

KEY = "steelyard"
VERSION = 1
_RATINGS = "ratings:"
_LEVELS = ("system_scores", "domain_scores", "document_scores")


def read(path: Path) -> EvalSet:
    """Read a set with everything that was written."""
    footer = parquet.read_footer(path, KEY)
    if footer is None:
        raise InputError("not a native Steelyard file", path=path)
    try:
        about = json.loads(footer)
        texts = set(about.get("metadata", ()))
        columns, _ = parquet.read_columns(
            path, is_text=lambda name: name in texts or roles.is_text(name)
        )
        if about["version"] > VERSION:
            raise InputError(f"written by a newer version (format {about['version']})", path=path)
        if about.pop("sha256") != _digest(columns, about):
            message = "damaged native file, or changed by another tool: the checksum differs"
            raise InputError(message, path=path)
        return _assemble(columns, about, path)
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"damaged native file ({error!r})", path=path) from error


def _assemble(columns: dict[str, Any], about: dict[str, Any], path: Path) -> EvalSet:
    systems, ids = tuple(about["systems"]), tuple(about["segments"])
    n, s = len(systems), len(ids)

    def first(name: str) -> Any:
        return tuple(columns[name][:s]) if name in columns else None

    prefix = roles.REFERENCE_PREFIX
    references = {
        name.removeprefix(prefix): first(name) for name in columns if name.startswith(prefix)
    }
    [names] = roles.ACCEPTED
    metadata = {name: first(name) for name in about.get("metadata", ())}
    segments = Segments(
        ids, first("doc"), first("domain"), first("source"), references, first(names), metadata
    )
    scores = {}
    for name, facts in about["scores"].items():
        values = columns[name] if name in columns else np.full(n * s, np.nan)
        extra: dict[str, Any] = {
            k: np.array(facts[k], dtype=np.float64) for k in _LEVELS if facts[k] is not None
        }
        scores[name] = ScoreTable(
            np.asarray(values, dtype=np.float64).reshape(n, s),
            facts["kind"],
            facts["higher_is_better"],
            tuple(facts["uses"]),
            direction_given=facts.get("direction_given", True),
            **extra,
        )
    output = columns.get("output")
    rows = {name: slice(i * s, (i + 1) * s) for i, name in enumerate(systems)}
    return EvalSet(
        systems,
        segments,
        scores,
        {name: tuple(output[rows[name]]) for name in about["outputs"]} if output else {},
        {
            name.removeprefix(_RATINGS): _read_ratings(columns[name], systems, ids, path)
            for name in columns
            if name.startswith(_RATINGS)
        },
        name=about["name"],
        language_pair=about["language_pair"],
    )


def _read_ratings(
    cells: list[str | None], systems: tuple[str, ...], ids: tuple[str, ...], path: Path
) -> Ratings:
    rows = [
        errors.parse(
            value, (systems[i // len(ids)], ids[i % len(ids)], value["rater"]), path, i + 1
        )
        for i, cell in enumerate(cells)
        if cell is not None
        for value in json.loads(cell)
    ]
    return builder.ratings(rows)


def write(es: EvalSet, path: Path) -> None:
    """Write a set; :func:`read` gives it back bit for bit."""
    if not es.systems:
        raise UsageError("a set without systems has no rows to write")
    roles.check_free(es.scores, "score", ids=True)
    for name in es.scores:
        if name.startswith(_RATINGS):
            raise UsageError(f"a score named '{name}' can't be told from ratings")
    columns = es.columns(texts=True)
    columns |= {f"{_RATINGS}{n}": _written_ratings(es, r) for n, r in es.ratings.items()}
    about = {
        "version": VERSION,
        "name": es.name,
        "language_pair": es.language_pair,
        "systems": es.systems,
        "segments": es.segments.ids,
        "outputs": list(es.outputs),
        "metadata": list(es.segments.metadata),
        "scores": {
            name: {
                "kind": table.kind,
                "higher_is_better": table.higher_is_better,
                "direction_given": table.direction_given,
                "uses": table.uses,
                **{level: getattr(table, level) for level in _LEVELS},
            }
            for name, table in es.scores.items()
        },
    }
    about["sha256"] = _digest(columns, about)
    parquet.write_columns(path, columns, {KEY: dumps(about, indent=None)})


def _digest(columns: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """Hash all that a file holds: Parquet itself would not notice a changed bit or a moved row."""
    digest = hashlib.sha256(_bytes(about))
    for name, column in columns.items():
        digest.update(_bytes(name))
        if isinstance(column, np.ndarray) and not np.isnan(column).all():
            digest.update(np.where(np.isnan(column), np.nan, column).tobytes())
        else:
            digest.update(_bytes([None if missing(cell) else cell for cell in column]))
    return digest.hexdigest()


def _bytes(value: object) -> bytes:
    return dumps(value, indent=None).encode("utf-8", "surrogatepass")


def _written_ratings(es: EvalSet, ratings: Ratings) -> list[str | None]:
    row_of = {name: i for i, name in enumerate(es.systems)}
    column_of = {name: i for i, name in enumerate(es.segments.ids)}
    cells: list[list[dict[str, Any]]] = [[] for _ in range(es.n_systems * es.n_segments)]
    for row, (i, j, rater) in enumerate(
        zip(ratings.system, ratings.segment, ratings.rater, strict=True)
    ):
        value = {"rater": ratings.raters[rater], **errors.to_dict(ratings, row)}
        at = row_of[ratings.systems[i]] * es.n_segments + column_of[ratings.segments[j]]
        cells[at].append(value)
    return [dumps(cell, indent=None) if cell else None for cell in cells]


def _suits(_es: EvalSet, path: Path) -> bool:
    if files.suffix(path) not in ("parquet", "pq"):
        return False
    if path.name.lower().endswith(".gz"):
        raise UsageError(f"{path}: a Parquet file is packed already; leave out the .gz")
    return True


FORMAT = SetFormat(
    name="native",
    gives=EvalSet,
    known_by="Parquet with a footer of Steelyard's",
    example="set.parquet, as steelyard data convert writes it",
    rated=True,
    looks=("parquet",),
    recognise=lambda view: parquet.read_footer(view.path, KEY) is not None,
    read=lambda view, _lp, _where: read(view.path),
    write=write,
    to="native",
    suits=_suits,
)
