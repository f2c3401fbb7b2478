"""Terms of a glossary: where they are in a text, in any form, and how a translation renders them.

A term is found as it is written, by its dictionary form or by its stem; in a compound it counts as
rendered but is never wanted. Where terms overlap, the longest one counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from steelyard.formats.bitext import GlossaryTerm
from steelyard.kobe.languages import normalise
from steelyard.kobe.linking.lexicon import COMPOUNDING, UNSPACED
from steelyard.kobe.linking.wordforms import base_forms, fold, fold_text, in_word, stem, tokenise
from steelyard.kobe.matching import pair_candidates
from steelyard.kobe.mention import Id, Mention

_SHORTEST_TERM, _SHORTEST_REST = 4, 3  # letters of a term in a compound, and of its other part
_JOINTS = frozenset(" -\u00a0\u2010\u2011/")  # between the words of a term
_SHORTEST_STEM = 3


class Form(NamedTuple):
    """A way to write a term; with ``case``, no other way is right."""

    text: str
    id: Id
    category: str = "term"
    case: bool = False


class TermFinder:
    """Finds forms in texts of one language.

    Examples
    --------
    >>> finder = TermFinder([Form("clause", "t:1"), Form("clause type", "t:2")], "en")
    >>> [(m.text, m.id) for m in finder.find("Clauses have clause types.")]
    [('Clauses', 't:1'), ('clause types', 't:2')]
    """

    def __init__(self, forms: Iterable[Form], lang: str) -> None:
        self.lang = normalise(lang)
        self._first: dict[str, list[tuple[tuple[str, ...], Form]]] = defaultdict(list)
        self._literal: dict[str, list[tuple[str, Form]]] = defaultdict(list)
        self._single: dict[str, list[Form]] = defaultdict(list)  # of one word, for compounds
        for form in forms:
            folded = fold(form.text, self.lang)
            words = tuple(word for word, _, _ in tokenise(folded, self.lang))
            signs = len(folded) - sum(map(len, words)) - sum(map(folded.count, _JOINTS))
            if self.lang in UNSPACED or signs:  # C++
                self._literal[folded[:1]].append((folded, form))
                continue
            for key in _keys(words[0], self.lang):
                self._first[key].append((words, form))
            if len(words) == 1 and len(words[0]) >= _SHORTEST_TERM:
                self._single[words[0]].append(form)

    def find(self, text: str) -> list[Mention]:
        """Return the terms of a text in order; what overlaps a longer term is left out."""
        folded = fold_text(text, self.lang)
        spans: dict[tuple[int, int, bool], list[Form]] = defaultdict(list)
        if self._first or self._literal:
            for start, end, form, part in self._spans(
                folded.text, text if folded.places is None else folded.text
            ):
                span = folded.span(start, end)
                if _is_written(form, text[slice(*span)]):
                    spans[(*span, part)].append(form)
        mentions: list[Mention] = []
        order = sorted(spans, key=lambda span: (span[2], span[0] - span[1], span[0]))
        for start, end, part in order:
            if not any(m.start < end and start < m.end for m in mentions):
                forms = spans[start, end, part]
                ids = tuple(dict.fromkeys(form.id for form in forms))
                mentions.append(
                    Mention(start, end, text[start:end], ids[0], forms[0].category,
                            candidates=ids, rule="term", doubtful=part)
                )  # fmt: skip
        return sorted(mentions)

    def _spans(self, folded: str, text: str) -> Iterator[tuple[int, int, Form, bool]]:
        for at, letter in enumerate(folded) if self._literal else ():
            for written, form in self._literal.get(letter, ()):
                end = at + len(written)
                whole = self.lang in UNSPACED or not (in_word(folded, at) or in_word(folded, end))
                if whole and folded.startswith(written, at):
                    yield at, end, form, False
        if not self._first:
            return
        tokens = tokenise(folded, self.lang)
        keys = [_keys(text[start:end], self.lang) for _, start, end in tokens]
        for at, (token, start, _) in enumerate(tokens):
            for key in keys[at]:
                for wanted, form in self._first.get(key, ()):
                    last = at + len(wanted) - 1
                    if last < len(tokens) and all(
                        folded[tokens[i][2] : tokens[i + 1][1]] in _JOINTS
                        and not keys[i + 1].isdisjoint(_keys(wanted[i + 1 - at], self.lang))
                        for i in range(at, last)
                    ):
                        yield start, tokens[last][2], form, False
            if self.lang in COMPOUNDING:
                for low, high, form in self._parts(token):
                    yield start + low, start + high, form, True

    def _parts(self, word: str) -> Iterator[tuple[int, int, Form]]:
        n, cut = len(word), len(stem(word, self.lang))
        for end in range(_SHORTEST_TERM, n - _SHORTEST_REST + 1):
            for form in self._single.get(word[:end], ()):
                yield 0, end, form
            start = n - end
            for tail in {word[start:], word[start:cut]}:
                for form in self._single.get(tail, ()):
                    yield start, start + len(tail), form


@lru_cache(maxsize=1 << 16)
def _keys(word: str, lang: str) -> frozenset[str]:
    folded = fold(word, lang)
    short = stem(folded, lang)
    stems = {short} if len(short) >= _SHORTEST_STEM else set()
    return frozenset({folded, *(fold(form, lang) for form in base_forms(word, lang)), *stems})


def _is_written(form: Form, written: str) -> bool:
    """Tell whether the case of a text is that of a term: IT is no pronoun."""
    if form.case:
        return form.text == written
    return not (form.text.isupper() and len(form.text) > 1) or written[:2].isupper()


# -- a glossary of two languages


class TermFinding(NamedTuple):
    """What happened to a term: ``kept``, or not rendered (``term``, ``untranslatable``)."""

    kind: Literal["kept", "term", "untranslatable", "forbidden"]
    source: Mention | None
    output: Mention | None
    expected: tuple[str, ...]


class TermPair:
    """The terms of two languages, ready to be looked for; rows of one source are alternatives."""

    def __init__(self, rows: Sequence[GlossaryTerm], src: str, tgt: str) -> None:
        self.src, self.tgt = src, tgt
        self._rows: dict[str | None, list[GlossaryTerm]] = defaultdict(list)
        for row in rows:
            self._rows[row.segment].append(row)
        self._terms: dict[str | None, _Terms] = {}

    def of_segment(self, segment: str | None) -> _Terms:
        """Return the terms that hold in a segment: its own and those of all."""
        segment = segment if segment in self._rows else None
        if segment not in self._terms:
            own_rows = self._rows[segment] if segment is not None else []
            self._terms[segment] = _Terms([*self._rows[None], *own_rows], self.src, self.tgt)
        return self._terms[segment]


class _Terms:
    """Finders of both languages, and what is expected of each source term."""

    def __init__(self, rows: Sequence[GlossaryTerm], src: str, tgt: str) -> None:
        self.expected: dict[Id, list[str]] = defaultdict(list)
        self.copied: set[Id] = set()
        self.forbidden: dict[Id, Id | None] = {}  # the source term that a forbidden form is for
        sources, targets = list[Form](), list[Form]()
        for number, row in enumerate(rows):
            case = row.case or row.untranslatable
            term: Id = f"{row.source}" if case else fold(row.source, src)
            if row.source:
                sources.append(Form(row.source, term, case=case))
            if row.forbidden:
                self.forbidden[number] = term or None
                targets.append(Form(row.target, number, case=case))
            else:
                form = row.source if row.untranslatable else row.target
                self.expected[term].append(form)
                targets.append(Form(form, term, case=case))
                if row.untranslatable:
                    self.copied.add(term)
        self.sources = TermFinder(sources, src)
        self.targets = TermFinder(targets, tgt)


def terms(
    source: str, target: str, glossary: TermPair, segment: str | None = None
) -> list[TermFinding]:
    """Return what a translation makes of each term of its source, and its forbidden terms.

    Each occurrence needs a rendition of its own.

    Examples
    --------
    >>> pair = TermPair([GlossaryTerm("clause", "Klausel")], "en", "de")
    >>> [f.kind for f in terms("Clauses of a clause", "Klauselarten", pair)]
    ['kept', 'term']
    """
    both = glossary.of_segment(segment)
    mentions = both.sources.find(source)
    there = {m.id for m in mentions}
    wanted = [m for m in mentions if m.id in both.expected]
    renditions = both.targets.find(target)
    pairs = pair_candidates(wanted, renditions)
    findings = []
    for i, mention in enumerate(wanted):
        expected = tuple(dict.fromkeys(both.expected[mention.id]))
        output = renditions[pairs[i]] if i in pairs else None
        if output is not None or not mention.doubtful:
            lost: Literal["term", "untranslatable"] = (
                "untranslatable" if mention.id in both.copied else "term"
            )
            findings.append(TermFinding("kept" if output else lost, mention, output, expected))
    for j, mention in enumerate(renditions):
        if j in pairs.values() or mention.doubtful:
            continue
        banned = [id_ for id_ in mention.readings if id_ in both.forbidden]
        meant = [id_ for id_ in banned if both.forbidden[id_] in (None, *there)]
        if meant and not any(id_ in there for id_ in mention.readings):
            term = both.forbidden[meant[0]]
            expected = tuple(both.expected[term]) if term in both.expected else ()
            origin = next((m for m in wanted if m.id == term), None)
            findings.append(TermFinding("forbidden", origin, mention, expected))
    return findings
