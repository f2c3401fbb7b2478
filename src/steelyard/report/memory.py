"""What a report keeps for a later one to compare with, and how that is read back.

A page holds it as inert JSON, ``report --json`` prints it as ``memory``: places and scores of
systems with their intervals, agreement of metrics, and, packed, the scores of segments. Nothing
that is read is run: JSON is parsed, every field is checked, and what is unpacked has a limit.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.comparison.results import CORPUS, Comparison
from steelyard.core.errors import InputError, printable
from steelyard.core.text import listed
from steelyard.data.evalset import EvalSet
from steelyard.formats import files
from steelyard.metaevaluation.results import MetaEvaluation
from steelyard.report.explorer import MISSING, packed, quantised
from steelyard.stats.arrays import Floats

SCHEMA = 1
ELEMENT = "report-memory"  # the id of the script element
_CELLS = 400_000  # segment scores that are kept
_LARGEST = 64 << 20  # bytes that anything packed may have
_BLOCK = re.compile(rf'<script type="application/json" id="{ELEMENT}">(.*?)</script>', re.DOTALL)
_EXPECTED = "expected the page of a report, or its results as JSON"


@dataclass(frozen=True, slots=True)
class Standing:
    """A number with its 95 % interval (NaN where unknown) and its place (None where unknown)."""

    value: float
    low: float = math.nan
    high: float = math.nan
    rank: int | None = None

    @property
    def error(self) -> float:
        """The standard error that the interval tells of; NaN without one."""
        return (self.high - self.low) / (2 * 1.959964)


@dataclass(frozen=True, slots=True, eq=False)
class KeptScores:
    """Scores of systems on segments, as 16-bit codes: a score is (low + code) / 10 ** digits."""

    systems: tuple[str, ...]
    segments: tuple[str, ...]
    codes: np.ndarray
    low: int
    digits: int
    sources: str | None = None  # a hash of all sources, to tell test sets with the same ids apart

    def values(self) -> Floats:
        """Give systems x segments, NaN where missing."""
        found = (self.low + self.codes.astype(np.float64)) / 10.0**self.digits
        return np.where(self.codes == MISSING, np.nan, found)

    def rounded(self, values: Floats) -> Floats:
        """Round other scores as these are, so that what did not change does not differ."""
        return np.rint(values * 10.0**self.digits) / 10.0**self.digits


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """Results of a report that a later one is compared with."""

    title: str = ""
    version: str = ""
    score: str | None = None
    by: str = ""
    higher_is_better: bool = True
    systems: Mapping[str, Standing] = field(default_factory=dict)
    human: str | None = None
    metas: Mapping[str, Mapping[str, Standing]] = field(default_factory=dict)
    kept: KeptScores | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give what a page holds and ``--json`` prints."""
        kept = self.kept
        return {
            "steelyard": "report",
            "schema": SCHEMA,
            "version": self.version,
            "title": self.title,
            "score": self.score,
            "by": self.by,
            "higher_is_better": self.higher_is_better,
            "systems": _standings(self.systems),
            "human": self.human,
            "metas": {by: _standings(own) for by, own in self.metas.items()},
            "segments": None
            if kept is None
            else {
                "systems": list(kept.systems),
                "ids": packed(json.dumps(kept.segments).encode("ascii")),
                "codes": packed(kept.codes.astype("<u2").tobytes()),
                "low": kept.low,
                "digits": kept.digits,
                "sources": kept.sources,
            },
        }


def _standings(found: Mapping[str, Standing]) -> dict[str, Any]:
    return {name: [own.value, own.low, own.high, own.rank] for name, own in found.items()}


def remember(
    es: EvalSet,
    found: Comparison | None,
    meta: MetaEvaluation | None,
    title: str = "",
    version: str = "",
) -> Memory:
    """Gather what a later report needs to say what changed."""
    score, by, higher, systems, kept = None, "", True, {}, None
    if found is not None:
        score, higher, by = found.score, found.higher_is_better, next(iter(found.aggregations))
        own = found.aggregations[by]
        none = np.full(len(found.systems), np.nan)
        low, high = (none if x is None else x for x in (own.low, own.high))
        systems = {
            name: Standing(float(own.scores[i]), float(low[i]), float(high[i]),
                           None if np.isnan(own.ranks[i]) else int(own.ranks[i]))
            for i, name in enumerate(found.systems)
        }  # fmt: skip
        kept = None if by != "mean" or own.of == CORPUS else _kept(es, found)
    metas: dict[str, dict[str, Standing]] = {}
    for result in () if meta is None else meta.results:
        ends = result.ci or (math.nan, math.nan)
        metas.setdefault(result.by, {})[result.metric] = Standing(result.value, *ends)
    human = None if meta is None else meta.human
    return Memory(title, version, score, by, higher, systems, human, metas, kept)


def _kept(es: EvalSet, found: Comparison) -> KeptScores | None:
    table = es[found.score]
    rows = [es.systems.index(name) for name in found.systems]
    known = np.flatnonzero(~np.isnan(table.values[rows]).all(axis=0))
    if not 0 < len(rows) * len(known) <= _CELLS:
        return None
    codes, fact = quantised(table, known)
    codes = codes.reshape(es.n_systems, len(known))[rows]
    ids = tuple(es.segments.ids[i] for i in known)
    return KeptScores(
        found.systems, ids, codes, int(fact["low"]), int(fact["digits"]), source_hash(es, known)
    )


def source_hash(es: EvalSet, chosen: Any) -> str | None:
    """Hash the sources of some segments, in the order of their names; None where unknown."""
    sources = es.segments.sources
    if sources is None:
        return None
    pairs = sorted((es.segments.ids[i], sources[i] or "") for i in chosen)
    digest = hashlib.sha256()
    for name, text in pairs:
        digest.update(f"{len(name)} {name} {len(text)} {text}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def read_memory(path: str | Path) -> Memory:
    """Read what an earlier report kept: a page, or what ``report --json`` printed.

    What ``compare --json`` and ``meta --json`` print is read, too; it has no scores of segments.
    """
    place = Path(path)
    text = files.read_text(place)
    start = text.lstrip()[:200].lower()
    if start.startswith(("<!doctype", "<html", "<")):
        block = _BLOCK.search(text)
        if block is None:
            ours = 'name="generator" content="steelyard' in text[:4000].lower()
            found = f"an HTML page that is no report; {_EXPECTED}"
            if ours:
                found = "a report of an older Steelyard, which keeps nothing to compare with"
                found += "; write it anew, or give its results as JSON"
            raise InputError(found, path=place)
        return _checked(files.parse_json(block[1], place, 1), place)
    if not start.startswith(("{", "[")):
        shown = printable(text.strip()[:40])
        raise InputError(f"neither a page nor JSON, begins with '{shown}'; {_EXPECTED}", path=place)
    return _checked(files.parse_json(text, place, 1), place)


class _FieldError(ValueError):
    """What is wrong with a field."""


def _checked(value: Any, path: Path) -> Memory:
    if not isinstance(value, Mapping):
        raise InputError(f"JSON of a {type(value).__name__}; {_EXPECTED}", path=path)
    try:
        if "memory" in value:
            value = _need(value, "memory", Mapping)
        if value.get("steelyard") == "report":
            return _memory(value)
        if isinstance(value.get("comparison"), Mapping) or "aggregations" in value:
            return _printed(value)
        if isinstance(value.get("results"), list) and "human" in value:
            return _printed({"meta": value})
    except _FieldError as error:
        raise InputError(f"{error}; {_EXPECTED}", path=path) from None
    keys = listed([printable(str(key)[:40]) for key in value]) or "no keys"
    raise InputError(f"a JSON object with {keys}, no report; {_EXPECTED}", path=path)


def _need(value: Mapping[str, Any], name: str, kind: Any) -> Any:
    found = value.get(name)
    if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
        raise _FieldError(f"'{name}' is {printable(repr(found)[:40])}")
    return found


def _memory(value: Mapping[str, Any]) -> Memory:
    schema = _need(value, "schema", int)
    if schema != SCHEMA:
        raise _FieldError(f"schema {schema}, this version of Steelyard reads {SCHEMA}")
    kept = value.get("segments")
    return Memory(
        title=_need(value, "title", str),
        version=_need(value, "version", str),
        score=_need(value, "score", (str, type(None))),
        by=_need(value, "by", str),
        higher_is_better=_need(value, "higher_is_better", bool),
        systems=_read_standings(_need(value, "systems", Mapping)),
        human=_need(value, "human", (str, type(None))),
        metas={str(by): _read_standings(own) for by, own in _need(value, "metas", Mapping).items()},
        kept=None if kept is None else _read_kept(_need(value, "segments", Mapping)),
    )


def _read_standings(found: Any) -> dict[str, Standing]:
    if not isinstance(found, Mapping):
        raise _FieldError(f"standings are {printable(repr(found)[:40])}")
    result = {}
    for name, own in found.items():
        if not isinstance(own, list) or len(own) != 4:
            raise _FieldError(f"'{printable(str(name)[:40])}' is no [value, low, high, rank]")
        rank = own[3]
        whole = type(rank) is int and 0 < rank < 1 << 53
        value, low, high = map(_number, own[:3])
        result[str(name)] = Standing(value, low, high, rank if whole else None)
    return result


def _number(value: Any) -> float:
    """Give a finite number, NaN for null; refuse anything else."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _FieldError(f"{printable(repr(value)[:40])} is not a number")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise _FieldError("a number is not finite")
    return found


def _read_kept(value: Mapping[str, Any]) -> KeptScores:
    names = _unpacked(_need(value, "ids", str))
    try:
        ids = json.loads(names)
    except (ValueError, RecursionError):
        raise _FieldError("'ids' can't be read") from None
    systems = _need(value, "systems", list)
    for own in (ids, systems):
        texts = isinstance(own, list) and all(isinstance(one, str) for one in own)
        if not texts or len(set(own)) != len(own):
            raise _FieldError("names of systems or segments are no list of different texts")
    codes = np.frombuffer(_unpacked(_need(value, "codes", str)), dtype=np.uint8)
    if len(codes) != 2 * len(systems) * len(ids):
        raise _FieldError(
            f"'codes' are {len(codes):,} bytes for {len(systems)} x {len(ids)} scores"
        )
    low, digits = _need(value, "low", int), _need(value, "digits", int)
    if abs(low) > 1 << 53 or not -300 < digits <= 6:
        raise _FieldError("'low' or 'digits' is out of range")
    return KeptScores(
        tuple(systems),
        tuple(ids),
        codes.view("<u2").reshape(len(systems), len(ids)),
        low,
        digits,
        _need(value, "sources", (str, type(None))),
    )


def _unpacked(text: str) -> bytes:
    """Unpack base64 of gzip, up to a limit."""
    try:
        unpacker = zlib.decompressobj(31)
        found = unpacker.decompress(base64.b64decode(text, validate=True), _LARGEST)
    except (zlib.error, binascii.Error, ValueError):
        raise _FieldError("packed scores are damaged") from None
    if not unpacker.eof:
        raise _FieldError("packed scores are damaged, or larger than any report's")
    return found


def _printed(value: Mapping[str, Any]) -> Memory:
    """Read what commands print as JSON: a comparison, a meta-evaluation, or both."""
    own = value if "aggregations" in value else value.get("comparison")
    meta = value.get("meta")
    score, by, higher, systems = None, "", True, {}
    if isinstance(own, Mapping):
        found = _need(own, "aggregations", Mapping)
        score, higher = _need(own, "score", str), bool(own.get("higher_is_better", True))
        by = str(next(iter(found), ""))
        part = _need(found, by, Mapping)
        ends, ranks = part.get("ci") or {}, part.get("ranks") or {}
        if not isinstance(ends, Mapping) or not isinstance(ranks, Mapping):
            raise _FieldError("'ci' or 'ranks' is no object")
        scores = _need(part, "scores", Mapping)
        rows = {n: [x, *_ends(ends.get(n)), ranks.get(n)] for n, x in scores.items()}
        systems = _read_standings(rows)
    metas: dict[str, dict[str, Standing]] = {}
    human = None
    if isinstance(meta, Mapping):
        human = _need(meta, "human", str)
        for row in _need(meta, "results", list):
            if not isinstance(row, Mapping):
                raise _FieldError("'results' are no list of objects")
            name, with_ = _need(row, "metric", str), _need(row, "with", str)
            number, low, high = map(_number, (row.get("value"), *_ends(row.get("ci"))))
            metas.setdefault(with_, {})[name] = Standing(number, low, high)
    version = value.get("version")
    return Memory("", version if isinstance(version, str) else "", score, by, higher, systems,
                  human, metas)  # fmt: skip


def _ends(value: Any) -> list[Any]:
    """Give the ends of an interval, which may not be there."""
    if value is None:
        return [None, None]
    if not isinstance(value, list) or len(value) != 2:
        raise _FieldError("'ci' is no [low, high]")
    return value
