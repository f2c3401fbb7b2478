"""Human evaluation as WMT publishes it since 2024: a JSON object per segment, with all systems.

``doc_id`` is ``LP_#_domain_#_document_#_segment``, ``src_text`` and ``tgt_text`` are the texts, and
``scores`` has per system a list of judgements, or (older) ``human1``, ``errors1``, ``annotator1``,
``human2`` and so on. Ends of spans are included.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.table import dumps
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Ratings
from steelyard.formats import files
from steelyard.formats.format import SetFormat
from steelyard.formats.judged import offsets
from steelyard.formats.judged.errorlists import Rating
from steelyard.formats.judged.gathering import HUMAN, NOBODY, Gathering, language_pair, torn
from steelyard.formats.record import Record, records
from steelyard.formats.view import FileView

_MARK = "_#_"
_LATEST = 1e18  # seconds
_KEYS = ("score", "errors", "times")
_NUMBERED = re.compile(r"(human|errors|annotator|times|protocol)([1-9][0-9]*)")


class _Place(NamedTuple):
    """What a ``doc_id`` says."""

    lp: str
    domain: str
    document: str
    segment: str

    @classmethod
    def of(cls, record: Record) -> _Place:
        parts = (record.text("doc_id") or "").split(_MARK)
        if len(parts) < 4 or not all(part.strip() for part in parts):
            record.wrong("doc_id", f"LP{_MARK}domain{_MARK}document{_MARK}segment")
        return cls(parts[0], parts[1], _MARK.join(parts[2:-1]), parts[-1])


def read(view: FileView, lp: str | None, where: tuple[tuple[str, str], ...]) -> EvalSet:
    """Read the segments of one language pair: texts, documents, domains, ratings, their means."""
    chosen = [(_Place.of(record), record) for record in records(view)]
    lp = language_pair(view, lp, {place.lp for place, _ in chosen})
    wanted = [(column, value) for column, value in where if column in COLUMNS]
    chosen = [
        (place, record)
        for place, record in chosen
        if place.lp == lp and all(_fact(place, c) == value for c, value in wanted)
    ]
    if not chosen:
        said = " and ".join(f"{column}={value}" for column, value in wanted)
        view.fail(f"no segment has {said}")
    whole = torn([(place.segment, f"{place.domain}{_MARK}{place.document}") for place, _ in chosen])
    reader = _Reader(view)
    for place, record in chosen:
        segment = str(record.get("doc_id")) if whole else place.segment
        reader.segment(segment, place, record)
    return reader.found.evalset(lp, reader.notes(whole=whole))


def _fact(place: _Place, column: str) -> str:
    return place.document if column == "doc" else str(getattr(place, column))


class _Reader:
    def __init__(self, view: FileView) -> None:
        self.found = Gathering(view)
        self.others: Counter[str] = Counter()  # keys that are no judgement
        self.skipped = 0
        self.unnamed = 0

    def notes(self, *, whole: bool) -> list[str]:
        notes = []
        if whole:
            notes.append("documents number their segments anew: segments go by doc_id")
        if self.skipped:
            notes.append(f"{self.skipped:,} judgements without a score or errors left out")
        if self.unnamed:
            of = plural(self.unnamed, "judgement")
            notes.append(f"{of} without an annotator: the k-th of an output is by {NOBODY}-k")
        if self.others:
            notes.append(f"not used of scores: {listed(sorted(self.others), 8)}")
        return [self.found.view.note(said) for said in notes]

    def segment(self, segment: str, place: _Place, record: Record) -> None:
        found = self.found
        if segment in found.described:
            record.fail(f"'doc_id': {record.get('doc_id')!r} stands on an earlier line already")
        source = record.text("src_text")
        found.describe(segment, record, document=place.document, domain=place.domain, source=source)
        texts = record.inner("tgt_text")
        for system in texts.names():
            found.output(system, segment, texts.text(system), record)
        scores = record.inner("scores")
        for system in scores.names():
            found.outputs.setdefault(system, {})
            if isinstance(scores.get(system), dict):
                self._numbered(scores.inner(system), system, segment)
                continue
            waves: Counter[str] = Counter()
            for judged in scores.objects(system):
                name = judged.optional_name("protocol") or HUMAN
                waves[name] += 1
                rater = judged.optional_name("annotator") or f"{NOBODY}-{waves[name]}"
                rated = self._rate(name, judged, _KEYS, (system, segment, rater), waves[name])
                self.unnamed += rated and judged.optional_name("annotator") is None

    def _numbered(self, judged: Record, system: str, segment: str) -> None:
        """Read the older shape, in which the number belongs to the key."""
        numbers = set()
        for key in judged.names():
            match = _NUMBERED.fullmatch(key)
            if match:
                numbers.add(match[2])
            else:
                self.others[key] += 1
        for n in sorted(numbers, key=int):
            rater = judged.optional_name(f"annotator{n}") or f"{HUMAN}{n}"
            keys = (f"human{n}", f"errors{n}", f"times{n}")
            name = judged.optional_name(f"protocol{n}") or HUMAN
            self._rate(name, judged, keys, (system, segment, rater), int(n))
            value = judged.number(f"human{n}", words=True)
            if value is not None:
                self.found.scored.setdefault(f"{HUMAN}{n}", {})[system, segment] = value

    def _rate(
        self,
        name: str,
        judged: Record,
        keys: tuple[str, ...],
        who: tuple[str, str, str],
        wave: int,
    ) -> bool:
        """Note the judgement of a wave, if it was made."""
        score, errors, times = keys
        value = judged.number(score, words=True)
        marked = None
        if judged.get(errors) is not None:
            marked = tuple(offsets.included(error) for error in judged.objects(errors))
        # The older shape has both judgements everywhere, made or not.
        if value is None and (marked is None or (not marked and keys != _KEYS)):
            self.skipped += 1
            return False
        document = self.found.described[who[1]]["document"]
        seconds = _seconds(judged, times)
        number = np.nan if value is None else value
        rating = Rating(*who, number, marked, seconds=seconds, document=document, wave=wave)
        self.found.rate(name, rating)
        return True


def _is_time(value: Any) -> bool:
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return known and -_LATEST < value < _LATEST  # which no whole number is too large for


def _seconds(judged: Record, key: str) -> float:
    """Give how long a judgement took: from the first of its times to the last."""
    times = judged.elements(key)
    if not times:
        return float("nan")
    if not all(_is_time(t) for t in times):
        judged.wrong(key, "a list of times in seconds")
    took = float(max(times)) - float(min(times))
    if not np.isfinite(took):
        judged.wrong(key, "a list of finite times")
    return took


def write(es: EvalSet, path: Path) -> None:
    """Write all segments with outputs and ratings, as lists; control items are left out.

    Times begin at 0, since a set keeps how long a rating took and not when.
    """
    if es.language_pair is None:
        raise UsageError("doc_id names the language pair: say lp=SRC-TGT")
    judged = _judgements(es)
    rows = []
    for i, segment in enumerate(es.segments.ids):
        texts = {name: own[i] for name, own in es.outputs.items() if own[i] is not None}
        sources = es.segments.sources
        row: dict[str, Any] = {
            "doc_id": _doc_id(es, i),
            "src_text": None if sources is None else sources[i],
            "tgt_text": texts,
            "scores": {system: judged.get((system, segment), []) for system in es.systems},
        }
        rows.append(dumps(row, indent=None) + "\n")
    files.write_text(path, "".join(rows))


def _doc_id(es: EvalSet, i: int) -> str:
    """Name a segment, whose id may be such a name already, or begin with its document."""
    unknown = (None,) * es.n_segments
    lp, segment = str(es.language_pair), es.segments.ids[i]
    if segment.startswith(f"{lp}{_MARK}") and segment.count(_MARK) >= 3:
        return segment
    domain = (es.segments.domains or unknown)[i] or "all"
    document = (es.segments.documents or unknown)[i] or "all"
    segment = segment.removeprefix(f"{document}{_MARK}")
    for name in (lp, domain, segment):
        if _MARK in name:
            raise UsageError(f"'{name}' holds {_MARK}, which parts the names in doc_id")
    return _MARK.join((lp, domain, document, segment))


def _judgements(es: EvalSet) -> dict[tuple[str, str], list[dict[str, Any]]]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name, ratings in es.ratings.items():
        waves = np.array(ratings.wave or [0] * len(ratings), dtype=np.int64)
        rows = np.flatnonzero(ratings.is_item("system", "repeat"))
        written: Counter[tuple[str, str]] = Counter()
        for row in rows[np.argsort(waves[rows], kind="stable")].tolist():
            cell = (ratings.systems[ratings.system[row]], ratings.segments[ratings.segment[row]])
            judged = found.setdefault(cell, [])
            # A reader tells the wave by the position in the list.
            for _ in range(int(waves[row]) - 1 - written[cell]):
                judged.append({"score": None} | ({} if name == HUMAN else {"protocol": name}))
                written[cell] += 1
            judged.append(_judgement(name, ratings, row))
            written[cell] += 1
    return found


def _judgement(name: str, ratings: Ratings, row: int) -> dict[str, Any]:
    value: dict[str, Any] = {
        "score": float(ratings.value[row]),
        "annotator": ratings.raters[ratings.rater[row]],
    }
    marked = None if ratings.errors is None else ratings.errors[row]
    if marked is not None:
        value["errors"] = [offsets.to_included(error) for error in marked]
    if ratings.seconds is not None and not np.isnan(ratings.seconds[row]):
        value["times"] = [0, float(ratings.seconds[row])]
    return value | ({} if name == HUMAN else {"protocol": name})


COLUMNS = frozenset(("lp", "domain", "doc"))
FORMAT = SetFormat(
    name="WMT unified",
    gives=EvalSet,
    known_by="JSON lines with doc_id, src_text and tgt_text",
    example='{"doc_id": "en-cs_#_news_#_doc1_#_0", "src_text": "Yes.", "tgt_text": {"A": "Ano."}, '
    '"scores": {"A": [{"score": 88, "annotator": "r1", "errors": []}]}}\n',
    example_name="genmt-humeval.jsonl",
    rated=True,
    keys=("doc_id", "src_text", "tgt_text"),
    read=read,
    columns=COLUMNS,
    write=write,
    to="unified",
    drops=(
        "references",
        "scores that are no means of ratings",
        "batches and controls of ratings",
        "segment ids that begin with their document",
    ),
)
