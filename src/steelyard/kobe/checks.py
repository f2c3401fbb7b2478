"""What looks wrong in a translation: numbers, dates, names, terms, placeholders, untranslated text.

Each finding has a precision: the share of such findings that are errors, measured on planted errors
in human translations (``checks.toml``, written by ``benchmarks/check_quality.py``).
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet
from steelyard.kobe.alarms import situation
from steelyard.kobe.languages import LanguageFilter, script, scripts
from steelyard.kobe.linking.linker import link_set, make_linker
from steelyard.kobe.linking.terms import TermPair, terms
from steelyard.kobe.metric import explained
from steelyard.kobe.options import KobeOptions

KINDS = ("number", "date", "name", "term", "forbidden", "untranslatable", "placeholder", "empty",
         "untranslated")  # fmt: skip
Level = Literal["low", "medium", "high"]
LEVELS: tuple[Level, ...] = ("low", "medium", "high")
_HIGH, _MEDIUM = 0.9, 0.6  # precision from which on a finding is called so
_GROUPS = {"number": "number", "unit": "number", "money": "number", "date": "date",
           "place": "name", "name": "name", "term": "term"}  # fmt: skip
_LETTERS = 25  # of an output whose language can be told
_QUOTED = 60  # characters of a text that a finding quotes


class Candidate(NamedTuple):
    """A finding before it has a precision: ``sure`` is the confidence of KoBE's model, or 1."""

    at: int
    system: str
    kind: str
    source: str | None
    output: str | None
    expected: str | None
    sure: float = 1.0


# -- placeholders and tags

_PLACEHOLDER = re.compile(
    r"(?P<tag></?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>)"
    r"|(?P<icu>\{\s*\w+\s*,\s*(?:plural|select|selectordinal|number|date|time)\b)"
    r"|\{\{\s*[\w.$-]+\s*\}\}|\$\{[^{}\s]+\}|\{\w[\w.]*(?:[:!][^{}]*)?\}|\{\}"
    r"|(?<![\d%])%(?:\(\w+\)|\d+\$)?[-+0#]*\d*(?:\.\d+)?(?:ll|[lhz])?[diuoxXeEfFgGcrsS@](?!\w)"
)
_UNNAMED = re.compile(r"%[-+0#]*\d*(?:\.\d+)?(?:ll|[lhz])?[a-zA-Z@]")


def placeholders(text: str) -> list[str]:
    """Return placeholders and tags in order; a tag without its attributes.

    Examples
    --------
    >>> placeholders('<a href="x">{name}</a> has %1$s of 100% and {n, plural, one {# file}}')
    ['<a>', '{name}', '</a>', '%1$s', '{n,plural}']
    """
    items = []
    for match in _PLACEHOLDER.finditer(text):
        item = match[0]
        if match["tag"]:
            name = re.split(r"[\s/>]", item[1:].lstrip("/"))[0]
            item = f"{'</' if item[1] == '/' else '<'}{name}{'/>' if item[-2] == '/' else '>'}"
        elif match["icu"]:
            item = re.sub(r"\s", "", item) + "}"
        items.append(re.sub(r"\s", "", item))
    return items


def _placeholder_errors(source: str, output: str) -> Iterator[tuple[str | None, str | None]]:
    """Yield what is missing (source, None), added (None, output), or out of order (both)."""
    wanted, there = placeholders(source), placeholders(output)
    if wanted == there:
        return
    if any(item.endswith((",plural}", ",select}", ",selectordinal}")) for item in wanted):
        wanted, there = sorted(set(wanted)), sorted(set(there))  # each form repeats them
    missing, added = Counter(wanted) - Counter(there), Counter(there) - Counter(wanted)
    for item, count in missing.items():
        yield from [(item, None)] * count
    for item, count in added.items():
        yield from [(None, item)] * count
    if not missing and not added:
        before, after = ([i for i in row if _UNNAMED.fullmatch(i)] for row in (wanted, there))
        if before != after:
            yield " ".join(before), " ".join(after)


# -- text that is not translated


def _is_copy(source: str, output: str, lang: str) -> bool:
    """Tell whether an output repeats its source, and the source has words to translate."""
    if " ".join(source.split()).casefold() != " ".join(output.split()).casefold():
        return False
    words = re.findall(r"[^\W\d_]{3,}", _PLACEHOLDER.sub(" ", source))
    foreign = [word for word in words if script(word[0]) not in scripts(lang)]
    return len(foreign) >= 1 or sum(word == word.lower() for word in words) >= 2


# -- all findings of a set


def candidates(
    es: EvalSet,
    src: str,
    tgt: str,
    *,
    kb: object = None,
    glossary: TermPair | None = None,
    notes: list[str] | None = None,
) -> Iterator[Candidate]:
    """Yield what looks wrong in the outputs of a set, by system and segment.

    What a reference of the set does in the same way is left out. ``notes`` takes what could not be
    checked.
    """
    sources = es.segments.sources or ()
    keep = LanguageFilter(src, tgt)
    rows = [*es.outputs.items(), *((None, row) for row in es.segments.references.values())]
    disputed: set[tuple[int, str, str | None, str | None]] = set()
    whole: dict[str, list[str | None]] = {}
    raised: list[Candidate] = []
    for system, texts in reversed(rows):
        row = whole.setdefault(system or "", list(texts))
        for at, (source, output) in enumerate(zip(sources, texts, strict=True)):
            if not (source or "").strip() or source is None or output is None:
                continue
            checked = list(_texts(at, system or "", source, output, (tgt, keep)))
            if any(c.kind in ("empty", "untranslated") for c in checked):
                row[at] = None  # nothing else need be said
            elif glossary is not None:
                checked += _terms(at, system or "", source, output, glossary, es.segments.ids[at])
            if system is None:
                disputed |= {(c.at, c.kind, c.source, c.output and c.expected) for c in checked}
            else:
                raised += checked
    yield from (c for c in raised
                if (c.at, c.kind, c.source, c.output and c.expected) not in disputed)  # fmt: skip
    outputs = {name: tuple(whole[name]) for name in es.outputs if any(whole[name])}
    if outputs:
        rest = replace(es, systems=tuple(outputs), outputs=outputs, scores={}, ratings={})
        try:
            yield from _entities(rest, src, tgt, kb, skip_terms=glossary is not None)
        except UsageError as error:
            if kb is not None or notes is None:
                raise
            notes.append(f"numbers and names are not checked: {error}")


def _texts(
    at: int, system: str, source: str, output: str, language: tuple[str, LanguageFilter]
) -> Iterator[Candidate]:
    tgt, keep = language
    if not output.strip():
        yield Candidate(at, system, "empty", _quoted(source), None, None)
        return
    if _is_copy(source, output, tgt) or (
        sum(map(str.isalpha, output)) >= _LETTERS and not keep.is_target(output)
    ):
        yield Candidate(at, system, "untranslated", _quoted(source), _quoted(output), None)
        return
    if _PLACEHOLDER.search(source) or _PLACEHOLDER.search(output):
        for wanted, there in _placeholder_errors(source, output):
            yield Candidate(at, system, "placeholder", wanted, there, wanted)


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTED else f"{line[: _QUOTED - 1]}…"


def _terms(
    at: int, system: str, source: str, output: str, glossary: TermPair, segment: str
) -> Iterator[Candidate]:
    findings = terms(source, output, glossary, segment)
    banned = {finding.source for finding in findings if finding.kind == "forbidden"}
    # What is said once need not be repeated: a pronoun will do.
    kept = {f.source.id for f in findings if f.kind == "kept" and f.source is not None}
    for finding in findings:
        source_id = None if finding.source is None else finding.source.id
        lost = finding.kind == "term" and source_id not in kept and finding.source not in banned
        if lost or finding.kind in ("forbidden", "untranslatable"):
            term = None if finding.source is None else finding.source.text
            there = None if finding.output is None else finding.output.text
            expected = " | ".join(finding.expected) or None
            yield Candidate(at, system, finding.kind, term, there, expected)


def _entities(
    es: EvalSet, src: str, tgt: str, kb: object, *, skip_terms: bool
) -> Iterator[Candidate]:
    """Yield the alarms of KoBE: numbers, dates and names that are lost, changed or added."""
    linker = make_linker(kb)
    options = KobeOptions().settled()
    explanation = explained(link_set(es, (src, tgt), options, linker), linker, (src, tgt))
    for name, at, finding in explanation.findings(explanation.systems):
        kind = _GROUPS.get(finding.mention.group)
        if not finding.is_alarm or kind is None or (kind == "term" and skip_terms):
            continue
        if finding.repeated and finding.kind != "changed":
            continue  # a pronoun will do
        wanted = finding.source
        yield Candidate(
            at, name, kind,
            None if wanted is None else wanted.text,
            None if finding.output is None else finding.output.text,
            None if wanted is None else next(iter(explanation.names[1].of(wanted)), wanted.text),
            finding.sureness,
        )  # fmt: skip


# -- how often such findings are right


@cache
def _measured() -> Mapping[str, Mapping[str, Sequence[Sequence[float]]]]:
    text = files("steelyard.kobe").joinpath("checks.toml").read_text(encoding="utf-8")
    table: Mapping[str, Mapping[str, Sequence[Sequence[float]]]] = tomllib.loads(text)
    return table


def precision_of(references: int, others: int) -> Callable[[Candidate], float | None]:
    """Return a function that gives the measured precision of a finding, None below all bands."""
    compared = "alone" if situation(references, others) == "alone" else "compared"
    bands = _measured()[compared]

    def precision(candidate: Candidate) -> float | None:
        for least, share in bands[candidate.kind]:
            if candidate.sure >= least:
                return share
        return None

    return precision


def level(precision: float) -> Level:
    """Name a precision."""
    return "high" if precision >= _HIGH else "medium" if precision >= _MEDIUM else "low"
