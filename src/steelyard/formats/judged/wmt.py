"""Human evaluation as WMT publishes it: unified files, mt-metrics-eval ratings, Google's MQM.

*Unified* files have a JSON object per segment since 2024: ``doc_id`` is
``LP_#_domain_#_document_#_segment``, and ``scores`` has per system a list of judgements, or (older)
``human1``, ``errors1``, ``annotator1``, ``human2`` and so on. Ends of spans are included.
*Standalone* ratings are a JSON object each, with the texts; any id and the languages may be null.
*Rating files* have lines of ``SYSTEM``, the errors as JSON or ``None``, perhaps a rater: the n-th
line of a system is its n-th segment. Folders hold many such files.
*Google's MQM* has a row per marked error, tab-separated and never quoted. The span stands as
``<v>...</v>`` in the target, or in the source if something was left out. Since 2023 raters are
tested, too: a row with severity ``HOTW-test`` says whether a planted error was found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from steelyard.core.errors import InputError
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import ErrorSpan
from steelyard.formats import files
from steelyard.formats.foreign import Log, Row, foreign
from steelyard.formats.format import SetFormat
from steelyard.formats.judged import errors
from steelyard.formats.judged.builder import (
    HUMAN,
    NOBODY,
    Builder,
    Rating,
    counted_within,
    language_pair,
)
from steelyard.formats.tables import check_header
from steelyard.formats.view import FileView, Record, records

Where = tuple[tuple[str, str], ...]


# Unified files.

_MARK = "_#_"
_NUMBERED = re.compile(r"(human|errors|annotator|times|protocol)([1-9][0-9]*)")
_UNIFIED_COLUMNS = frozenset(("lp", "domain", "doc"))


class _DocId(NamedTuple):
    lp: str
    domain: str
    doc: str
    segment: str

    @classmethod
    def of(cls, record: Record) -> _DocId:
        parts = (record.text("doc_id") or "").split(_MARK)
        if len(parts) < 4 or not all(part.strip() for part in parts):
            record.wrong("doc_id", f"LP{_MARK}domain{_MARK}document{_MARK}segment")
        return cls(parts[0], parts[1], _MARK.join(parts[2:-1]), parts[-1])


def _read_unified(view: FileView, lp: str | None, where: Where) -> EvalSet:
    every = [(_DocId.of(record), record) for record in records(view)]
    lp = language_pair(view, lp, {doc_id.lp for doc_id, _ in every})
    wanted = [pair for pair in where if pair[0] in _UNIFIED_COLUMNS]
    chosen = [
        (doc_id, record)
        for doc_id, record in every
        if all(getattr(doc_id, column) == value for column, value in [("lp", lp), *wanted])
    ]
    if not chosen:
        view.fail(f"no segment has {' and '.join(map('='.join, wanted))}")
    documents = [(doc_id.segment, f"{doc_id.domain}{_MARK}{doc_id.doc}") for doc_id, _ in chosen]
    within = counted_within(documents)
    builder = Builder(view)
    counts: Counter[str] = Counter()
    for doc_id, record in chosen:
        segment = str(record.get("doc_id")) if within else doc_id.segment
        if segment in builder.described:
            record.fail(f"'doc_id': {record.get('doc_id')!r} stands on an earlier line already")
        source = record.text("src_text")
        builder.describe(segment, record, document=doc_id.doc, domain=doc_id.domain, source=source)
        texts, scores = record.inner("tgt_text"), record.inner("scores")
        for system in texts.names():
            builder.output(system, segment, texts.text(system), record)
        for system in scores.names():
            builder.outputs.setdefault(system, {})
            counts.update(_rate(builder, scores, system, segment))
    notes = []
    if within:
        notes.append("documents number their segments anew: segments go by doc_id")
    if counts["skipped"]:
        notes.append(f"{counts['skipped']:,} judgements without a score or errors left out")
    if counts["unnamed"]:
        count = plural(counts["unnamed"], "judgement")
        notes.append(f"{count} without an annotator: the k-th of an output is by {NOBODY}-k")
    return builder.evalset(lp, notes)


def _judgements(scores: Record, system: str) -> Iterator[tuple[Record, str]]:
    """Yield judgements of an output, with the number that older files have behind their keys."""
    if not isinstance(scores.get(system), dict):
        yield from ((judged, "") for judged in scores.objects(system))
        return
    judged = scores.object(system)
    numbers = {match[2] for key in judged.names() if (match := _NUMBERED.fullmatch(key))}
    yield from ((judged, number) for number in sorted(numbers, key=int))


def _rate(builder: Builder, scores: Record, system: str, segment: str) -> Counter[str]:
    """Add what was said of an output: older files have all judgements everywhere, made or not."""
    counts, waves = Counter[str](), Counter[str]()
    for judged, n in _judgements(scores, system):
        protocol = judged.optional_name(f"protocol{n}") or HUMAN
        waves[protocol] += 1
        wave = int(n) if n else waves[protocol]
        rater = judged.optional_name(f"annotator{n}") or (f"{HUMAN}{n}" if n else None)
        value, spans = judged.number(f"human{n}" if n else "score", words=True), None
        if judged.get(f"errors{n}") is not None:
            spans = tuple(errors.included(error) for error in judged.objects(f"errors{n}"))
        if value is not None and n:
            builder.scored.setdefault(f"{HUMAN}{n}", {})[system, segment] = value
        if value is None and (spans is None or (n and not spans)):
            counts["skipped"] += 1
            continue
        counts["unnamed"] += rater is None
        rating = Rating(
            system,
            segment,
            rater or f"{NOBODY}-{wave}",
            np.nan if value is None else value,
            spans,
            seconds=_seconds(judged, f"times{n}"),
            document=builder.described[segment]["document"],
            wave=wave,
        )
        builder.rate(protocol, rating)
    return counts


def _seconds(judged: Record, key: str) -> float:
    times = [] if judged.get(key) is None else judged.numbers(key)
    seconds = [time for time in times if time is not None]
    took = max(seconds) - min(seconds) if seconds else float("nan")
    if np.isinf(took):
        judged.wrong(key, "a list of finite times")
    return took


UNIFIED = SetFormat(
    name="WMT unified",
    gives=EvalSet,
    known_by="JSON lines with doc_id, src_text and tgt_text",
    example='{"doc_id": "en-cs_#_news_#_doc1_#_0", "src_text": "Yes.", "tgt_text": {"A": "Ano."}, '
    '"scores": {"A": [{"score": 88, "annotator": "r1", "errors": []}]}}\n',
    example_name="genmt-humeval.jsonl",
    rated=True,
    keys=("doc_id", "src_text", "tgt_text"),
    read=_read_unified,
    columns=_UNIFIED_COLUMNS,
)


# Standalone ratings.


@foreign(
    "mt-metrics-eval standalone ratings",
    errors.FORMAT,
    empty="holds no rating",
    names={"system": "system_id", "segment": "segment_id", "rater": "rater_id",
           "doc": "document_id", "lp": "src_lang, tgt_lang"},
    keys=("source", "hypothesis", "errors"),
    recognise=lambda view: (
        isinstance((view.record or {}).get("errors"), list) and not view.has("system")
    ),
    known_by="JSON lines with source, hypothesis and a list of errors",
    example='{"source": "Yes.", "hypothesis": "Ja.", "errors": [], "document_id": "doc1", '
    '"segment_id": 0, "system_id": "A", "rater_id": "rater1", "src_lang": "en", '
    '"tgt_lang": "de"}\n',
    example_name="ratings.jsonl",
)  # fmt: skip
def standalone(log: Log) -> Iterator[Row]:
    """Yield a row per rating; without ids, segments are numbered by their sources."""
    rows = list(log.records())
    named = all(row.optional_name("segment_id") is not None for row in rows)
    number: dict[Any, str] = {}
    system = log.view.name.partition(".")[0] or "system"
    for row in rows:
        document = row.optional_name("document_id")
        number.setdefault((document, row.text("source")), str(len(number)))
        languages = [row.optional_name(f"{side}_lang") for side in ("src", "tgt")]
        segment = row.optional_name("segment_id") if named else None
        yield log.row(
            row,
            system=row.optional_name("system_id") or system,
            segment=segment or number[document, row.text("source")],
            rater=row.optional_name("rater_id") or NOBODY,
            doc=document,
            lp=None if None in languages else "-".join(map(str, languages)),
            errors=row.elements("errors"),
        )
    if not named:
        log.note("segment_id is null: segments are numbered by their sources")
    n_unnamed = sum(row.optional_name("system_id") is None for row in rows)
    log.note(f"ratings name no system: these are of '{system}'", n_unnamed)


# Rating files.

SUFFIX = ".seg.rating"
_LINE = re.compile(r'[^\t]+\t(None|\{"errors":.*\})(\t[^\t]*)?')
_NAMED = re.compile(r"([a-z]{2,3}(?:_\w+)?-[a-z]{2,3}(?:_\w+)?)\.(.+)")
#: Columns of an error list, by the key of a rating that they hold.
_COLUMNS = {"errors": "errors", "value": "value", "item": "type", "unit": "unit",
            "seconds": "seconds", "document": "doc", "domain": "domain"}  # fmt: skip


class RatingLine(NamedTuple):
    """One line: ``number`` counts the lines of its system from 0; no value where nobody rated."""

    line: int
    system: str
    number: int
    value: Any
    rater: str | None


def rating_lines(rows: Sequence[str], path: Path) -> Iterator[RatingLine]:
    """Take the lines of a rating file apart."""
    seen: dict[str, int] = {}
    for line, row in enumerate(rows, 1):
        fields = row.split("\t")
        if len(fields) not in (2, 3):
            raise InputError("expected SYSTEM, JSON or None[, RATER]", path=path, line=line)
        number = seen[fields[0]] = seen.get(fields[0], -1) + 1
        value = None if fields[1] == "None" else files.parse_json(fields[1], path, line)
        # A name that would break the line stands in the object.
        inside = value.get("rater") if isinstance(value, dict) else None
        rater = inside if isinstance(inside, str) else fields[2] if len(fields) == 3 else None
        if value is None and fields[1] != "None":
            raise InputError("expected an object with 'errors' or None", path=path, line=line)
        yield RatingLine(line, fields[0], number, value, rater)


def _is_rating_file(view: FileView) -> bool:
    if view.name.endswith(SUFFIX):
        return True
    first = view.first_lines[:1]
    return bool(first) and _LINE.fullmatch(first[0]) is not None


@foreign(
    "mt-metrics-eval ratings",
    errors.FORMAT,
    empty="holds no rating",
    known_by='name ends in .seg.rating; lines of a system and {"errors": ...} or None',
    example='ONLINE-B\t{"errors": [{"start": 3, "end": 8, "category": "accuracy/mistranslation", '
    '"severity": "major"}]}\trater1\n',
    example_name="en-de.mqm.seg.rating",
    looks=("text", "json"),
    recognise=_is_rating_file,
)
def rating_file(log: Log) -> Iterator[Row]:
    """Yield a row per rating; a file without raters has one, named like the file."""
    view = log.view
    named = _NAMED.fullmatch(view.name.removesuffix(SUFFIX))
    lp, stem = named.groups() if named else (None, view.name.removesuffix(SUFFIX))
    lines = list(rating_lines(view.lines, view.path))
    counts = {line.system: line.number + 1 for line in lines}
    first = next(iter(counts), "")
    for system, count in counts.items():
        if count != counts[first]:
            view.fail(f"{count} lines of '{system}', expected {counts[first]} as of '{first}'")
    n_unnamed = 0
    for line, system, number, value, rater in lines:
        if value is None:
            continue
        if not isinstance(value, dict):
            view.fail("expected an object with 'errors' or None", line)
        n_unnamed += not rater
        about = {column: value.get(key) for key, column in _COLUMNS.items()}
        who = {"system": system, "segment": str(number), "rater": rater or stem, "lp": lp}
        yield Row(line, who | about, {}, {})
    log.note(f"ratings name no rater: these are by '{stem}'", n_unnamed)


# Google's MQM.

_NEEDED = ("system", "rater", "target", "category", "severity")
_SEGMENT = ("globalSegId", "seg_id", "docSegId")  # the first that is there
_TEST = "hotw-test"
_PASSED = {"found": 1.0, "missed": 0.0}


def _mqm_header(view: FileView) -> list[str]:
    """Return the names of the columns; comments stand behind them, and in no other line."""
    names = (view.first_lines or [""])[0].split("\t")
    while names and names[-1].lstrip().startswith("#"):
        names.pop()
    return names


def _is_google_mqm(view: FileView) -> bool:
    names = set(_mqm_header(view))
    return names.issuperset(_NEEDED) and not names.isdisjoint(_SEGMENT)


@foreign(
    "Google MQM",
    errors.FORMAT,
    empty="holds no rating",
    known_by="tab-separated, columns system, rater, target, category, severity and globalSegId, "
    "seg_id or docSegId",
    example="system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\n"
    "A\tdoc1\t1\t1\trater1\tYes.\t<v>Nein</v>.\tAccuracy/Mistranslation\tMajor\n",
    example_name="mqm.tsv",
    looks=("text",),
    recognise=_is_google_mqm,
    files=("*.tsv", "*.tsv.gz"),
)
def google_mqm(log: Log) -> Iterator[Row]:
    """Yield a row per rating with all its errors, then one per test of a rater."""
    view = log.view
    names = check_header(view.path, _mqm_header(view))
    if not _is_google_mqm(view):
        view.fail(f"expected tabs between columns {', '.join(_NEEDED)} and {_SEGMENT[0]}", 1)
    numbered = log.names["segment"] = next(name for name in _SEGMENT if name in names)
    rows = list(view.tsv(names))
    pairs = {(cells[numbered], cells.get("doc", "")) for _, cells in rows}
    within = numbered == "docSegId" or (all(doc for _, doc in pairs) and counted_within(pairs))
    ratings: dict[tuple[str, str, str], Row] = {}
    tests: list[Row] = []
    for line, cells in rows:
        for column in ("system", numbered, "rater"):
            if not cells[column].strip():
                view.fail(f"column '{column}' is empty, expected a name", line)
        segment = f"{cells.get('doc', '')}:{cells[numbered]}" if within else cells[numbered]
        who = {"rater": cells["rater"], "system": cells["system"], "segment": segment}
        who |= {"doc": cells["doc"]} if "doc" in cells else {}
        if cells["severity"].casefold() == _TEST:
            test = {"type": "attention", "value": _passed(view, line, cells)}
            tests.append(Row(line, who | test, {}, {}))
            continue
        key = (cells["system"], segment, cells["rater"])
        rating = ratings.setdefault(key, Row(line, who | {"errors": []}, {}, {}))
        rating.cells["errors"].extend(_mqm_errors(cells))
    if not ratings:
        view.fail("holds no rating")
    kind = {"type": "system"} if tests else {}
    yield from (row._replace(cells={**row.cells, **kind}) for row in ratings.values())
    yield from tests
    if within or numbered != "seg_id":
        log.note(f"segments are named by {'doc:' if within else ''}{numbered}")
    if tests:
        passed = sum(test.cells["value"] == 1 for test in tests)
        shown = f"{plural(len(tests), 'attention test')} of raters (HOTW-test), {passed:,} found"
        log.note(f"{shown}: no errors of systems, see the raters")


def _passed(view: FileView, line: int, cells: Mapping[str, str]) -> float:
    passed = _PASSED.get(cells["category"].casefold())
    if passed is None:
        view.fail(f"test of a rater '{cells['category']}', expected Found or Missed", line)
    return passed


def _mqm_errors(cells: Mapping[str, str]) -> list[ErrorSpan]:
    category, severity = cells["category"].strip(), cells["severity"].strip()
    if not errors.is_error(category, severity):
        return []
    start, end = errors.marked_span(cells.get("target"))
    in_source = start is None
    if in_source:
        start, end = errors.marked_span(cells.get("source"))
    return [ErrorSpan(category, severity, start, end, in_source=in_source and start is not None)]


FORMATS = (UNIFIED, standalone, rating_file, google_mqm)
