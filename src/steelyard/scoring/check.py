"""Which numbers, names and terms are wrong in a translation: findings, their words, SARIF."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from steelyard.core.display import Field, Layout, Record, Result, Statement, Summary, keys, one_line
from steelyard.core.errors import SteelyardError, UsageError
from steelyard.core.options import as_list, as_tuple, check_choice, check_text
from steelyard.core.provenance import InputFile, Provenance, installed_version
from steelyard.core.table import Table
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Segments
from steelyard.formats import bitext, files
from steelyard.formats.load import as_evalset
from steelyard.formats.view import FileView

_SHOWN = 20  # findings that a terminal shows
_LETTERS = 5_000  # of texts that tell a language
_SARIF = {"high": "error", "medium": "warning", "low": "note"}


@dataclass(frozen=True, slots=True)
class Finding(Record):
    """Something to look at; ``precision`` is the share of such findings that are errors.

    ``shared`` counts the other systems with the same finding.
    """

    segment: str
    system: str
    kind: str
    source: str | None
    output: str | None
    expected: str | None
    confidence: str
    precision: float
    shared: int = 0
    line: int | None = None

    @property
    def message(self) -> str:
        """The finding in a few words."""
        sides = self.source or "-"
        if self.output != self.source:
            sides += f" -> {self.output or '-'}"
        other = self.expected not in (None, self.source)
        return f"{self.kind}: {sides}" + (f" (expected {self.expected})" if other else "")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Check(Result):
    """What looks wrong in translations, the surest findings first.

    ``inconsistent`` lists sources that a system translates in several ways.
    """

    layout: ClassVar[Layout] = Layout(
        "findings",
        (Field("segment", importance=8), Field("system", importance=3), Field("kind", importance=9),
         Field("source", importance=8), Field("output", importance=8), Field("expected"),
         Field("confidence", importance=7), Field("precision", digits=2, importance=6),
         Field("shared", digits=0, importance=2)),
    )  # fmt: skip
    json_keys: ClassVar[Mapping[str, str]] = keys(
        "segments systems src tgt findings by_kind inconsistent warnings provenance"
    )

    segments: int
    systems: tuple[str, ...]
    src: str
    tgt: str
    findings: tuple[Finding, ...]
    inconsistent: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    provenance: Provenance = field(default_factory=lambda: Provenance("check"))

    @property
    def by_kind(self) -> dict[str, int]:
        """How many findings there are of each kind."""
        return dict(Counter(finding.kind for finding in self.findings).most_common())

    def words(self) -> Summary:
        """Say how many findings there are, and how many of them are probably errors."""
        return Summary.of(self._statements())

    def _statements(self) -> Iterator[Statement]:
        size = plural(self.segments, "segment")
        if not self.findings:
            yield "settled", f"Nothing looks wrong in {size} ({self.src}-{self.tgt})."
        else:
            kinds = listed([f"{kind} {n:,}" for kind, n in self.by_kind.items()])
            errors = sum(finding.precision for finding in self.findings)
            yield "settled", f"{plural(len(self.findings), 'finding')} in {size}: {kinds}."
            yield "sureness", f"By their measured precision, about {errors:.0f} are errors."
        if self.inconsistent:
            text = f"{plural(len(self.inconsistent), 'source')} translated in several ways"
            yield "undecided", f"{text} (in JSON)."

    def __repr__(self) -> str:
        return one_line(self, f"of {plural(self.segments, 'segment')}: {self.by_kind}")

    def pieces(self) -> list[Table | str]:
        """Return the surest findings."""
        table = self.table()
        several = len(self.systems) > 1
        kept = [j for j, column in enumerate(self.layout.columns)
                if several or column.name not in ("system", "shared")]  # fmt: skip
        rows = tuple(tuple(row[j] for j in kept) for row in table.rows[:_SHOWN])
        more = len(table.rows) - len(rows)
        notes = (f"{more:,} more in a table or JSON file.",) if more > 0 else ()
        columns = tuple(table.columns[j] for j in kept)
        return [replace(table, columns=columns, rows=rows, notes=notes)] if rows else []

    def at_least(self, confidence: str) -> Check:
        """Return the findings of this confidence or a higher one: low, medium or high."""
        from steelyard.kobe.checks import LEVELS

        check_choice(LEVELS, confidence=confidence)
        kept = LEVELS[LEVELS.index(confidence) :]
        return replace(self, findings=tuple(f for f in self.findings if f.confidence in kept))

    def by_segment(self) -> dict[str, list[str]]:
        """Return notes by segment, for an annotated copy of the file."""
        notes: dict[str, list[str]] = defaultdict(list)
        for finding in self.findings:
            notes[finding.segment].append(f"{finding.message} [{finding.confidence}]")
        return dict(notes)

    def sarif(self) -> str:
        """Return the findings as SARIF 2.1.0, which code hosts show."""
        path = self.provenance.inputs[-1].path if self.provenance.inputs else "translation"
        results = [
            {
                "ruleId": finding.kind,
                "level": _SARIF[finding.confidence],
                "message": {"text": f"segment {finding.segment}: {finding.message}"},
                "rank": round(100 * finding.precision, 1),
                "locations": [{"physicalLocation": {
                    "artifactLocation": {"uri": Path(path).as_posix()},
                    "region": {"startLine": finding.line or 1},
                }}],
            }
            for finding in self.findings
        ]  # fmt: skip
        tool = {"name": "steelyard check", "version": installed_version(),
                "rules": [{"id": kind} for kind in self.by_kind]}  # fmt: skip
        schema = "https://json.schemastore.org/sarif-2.1.0.json"
        log = {"$schema": schema, "version": "2.1.0",
               "runs": [{"tool": {"driver": tool}, "results": results}]}  # fmt: skip
        return json.dumps(log, ensure_ascii=False, indent=1) + "\n"


def check(
    source: Any,
    outputs: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    *,
    src: str | None = None,
    tgt: str | None = None,
    glossary: str | Path | Sequence[str | Path] = (),
    kb: object = None,
    min_confidence: str = "low",
) -> Check:
    """Find numbers, dates, names, terms and placeholders that look wrong in a translation.

    Parameters
    ----------
    source
        Texts of the source; or a file (XLIFF, TMX, PO, a table with columns of source and target,
        texts of several systems), two plain files in a list, or a set.
    outputs
        Translations of one system, or of several by name, where ``source`` is texts.
    src, tgt
        Languages, where the input does not name them; they are identified by default.
    glossary
        Files of terms: CSV, TSV or TBX.
    kb
        A knowledge base for names; by default the embedded one.
    min_confidence
        ``low``, ``medium`` or ``high``: findings below it are left out.

    Examples
    --------
    >>> result = check(["Open %s"], ["Offen"], src="en", tgt="de")
    >>> [(finding.kind, finding.expected) for finding in result.findings]
    [('placeholder', '%s')]
    """
    from steelyard.kobe.checks import LEVELS, candidates, level, precision_of
    from steelyard.kobe.linking.terms import TermPair

    check_choice(LEVELS, min_confidence=min_confidence)
    check_text(optional=True, src=src, tgt=tgt)
    es, lines = _read(source, outputs)
    warnings: list[str] = []
    first, _, second = (es.language_pair or "").partition("-")
    src, tgt = src or first or None, tgt or second or None
    if src is None or tgt is None:
        texts = [es.segments.sources or (), *es.outputs.values()]
        src, tgt = src or _identified(texts[0]), tgt or _identified(t for r in texts[1:] for t in r)
        warnings.append(f"languages were identified as {src} and {tgt}: name them if this is wrong")
    paths = as_tuple((str, Path), glossary=glossary) if glossary else ()
    rows = [term for path in paths for term in bitext.read_glossary(path, src, tgt)]
    pair = TermPair(rows, src, tgt) if rows else None
    checked = list(candidates(es, src, tgt, kb=kb, glossary=pair, notes=warnings))
    precision = precision_of(len(es.references), max(0, len(es.systems) - 1))
    same = Counter((c.at, c.kind, c.source) for c in checked)
    findings = [
        Finding(es.segments.ids[c.at], c.system, c.kind, c.source, c.output, c.expected,
                level(share), share, same[c.at, c.kind, c.source] - 1,
                lines.get(es.segments.ids[c.at]))
        for c in checked
        if (share := precision(c)) is not None
    ]  # fmt: skip
    place = {id_: at for at, id_ in enumerate(es.segments.ids)}
    findings.sort(key=lambda f: (-f.precision, f.system, place[f.segment]))
    inputs = (*es.inputs, *(InputFile(str(p), "glossary", files.sha256(Path(p))) for p in paths))
    result = Check(
        segments=es.n_segments,
        systems=es.systems,
        src=src,
        tgt=tgt,
        findings=tuple(findings),
        inconsistent=tuple(_inconsistent(es)),
        warnings=(*es.notes, *warnings),
        provenance=Provenance("check", {"src": src, "tgt": tgt}, inputs),
    )
    return result.at_least(min_confidence)


def _read(
    source: Any, outputs: Sequence[str] | Mapping[str, Sequence[str]] | None
) -> tuple[EvalSet, dict[str, int]]:
    """Return texts as a set, and the lines of segments."""
    if outputs is not None:
        named = outputs if isinstance(outputs, Mapping) else {"output": outputs}
        as_list(str, source=source)
        for name, row in named.items():
            if len(as_list(str, outputs=row)) != len(source):
                counts = f"{len(row)} texts, the source has {len(source)}"
                raise UsageError(f"system '{name}' has {counts}")
        return _set(source, {name: tuple(row) for name, row in named.items()}), {}
    paths = [source] if isinstance(source, (str, Path)) else source
    is_files = isinstance(paths, (list, tuple)) and all(isinstance(p, (str, Path)) for p in paths)
    if is_files and len(paths) == 2:
        return _of_bitext(paths)
    if not is_files or not _is_bilingual(Path(paths[0])):
        try:
            es = as_evalset(source)
            if es.outputs and es.segments.sources is not None:
                number = {id_: at for at, id_ in enumerate(es.segments.ids, 1)}
                return es, number
        except SteelyardError:
            if not is_files:
                raise
        if not is_files:
            raise UsageError("the set has no sources or no outputs to check")
    return _of_bitext(paths)


def _is_bilingual(path: Path) -> bool:
    return path.is_file() and bitext.bilingual_format(FileView(path)) is not None


def _set(sources: Sequence[str], outputs: Mapping[str, Sequence[str]], **more: Any) -> EvalSet:
    ids = more.pop("ids", None) or tuple(str(n) for n in range(1, len(sources) + 1))
    rows = {name: tuple(row) for name, row in outputs.items()}
    return EvalSet(tuple(rows), Segments(ids, sources=tuple(sources)), outputs=rows, **more)


def _of_bitext(paths: Sequence[str | Path]) -> tuple[EvalSet, dict[str, int]]:
    read = bitext.read_bitext(*paths)
    if not read.segments:
        raise UsageError(f"{read.path}: no segments to check")
    pair = f"{read.src_lang}-{read.tgt_lang}" if read.src_lang and read.tgt_lang else None
    es = _set(
        [segment.source for segment in read.segments],
        {Path(paths[-1]).name: [segment.target for segment in read.segments]},
        ids=tuple(segment.id for segment in read.segments),
        language_pair=pair,
        inputs=tuple(InputFile(str(path), read.format, files.sha256(Path(path))) for path in paths),
    )
    return es, {segment.id: segment.line for segment in read.segments}


def _identified(texts: Iterable[str | None]) -> str:
    from steelyard.kobe.languages import identified

    return identified(" ".join(text for text in texts if text)[:_LETTERS])


def _inconsistent(es: EvalSet) -> Iterator[dict[str, Any]]:
    """Yield sources that a system translates in several ways, with the segments of each."""
    for system, row in es.outputs.items():
        ways: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for id_, text, output in zip(es.segments.ids, es.segments.sources or (), row, strict=True):
            if text and output and output.strip():
                ways[" ".join(text.split())][" ".join(output.split())].append(id_)
        for text, targets in ways.items():
            if len(targets) > 1:
                yield {"system": system, "source": text, "targets": dict(targets)}
