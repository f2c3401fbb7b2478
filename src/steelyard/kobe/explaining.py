"""What happened to each entity of a segment.

It was found, lost, changed, copied or added; missed, by all systems and people; or it is left
undecided. Mentions are paired by any of their readings, and what stands in the output without being
linked there counts as found: this is more forgiving than the score, since a list of errors with
many false alarms is not read twice.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from steelyard.kobe.forms import Forms
from steelyard.kobe.matching import Mask, Matches, Pairs, pair_candidates
from steelyard.kobe.mention import Linker, Mention, Mentions
from steelyard.kobe.rivals import nearly, only_rivals, rivals, wants_strangers

Kind = Literal["found", "lost", "changed", "copied", "added", "missed", "undecided"]
KINDS: tuple[Kind, ...] = get_args(Kind)
#: Kinds that say that a translation is wrong.
ALARMS: tuple[Kind, ...] = ("lost", "changed", "copied", "added")
Spans = Sequence[tuple[int, int]]
_PARTS = re.compile(r"[\s·・‧]+")  # between the parts of a person's name
_LEAST = 3  # letters of a name that is looked for in an output as it stands
_DERIVED, _ENDING = 5, 4  # letters that a derived word has of a name, and that it may lack
_COUNTED = ("ordinal", "date")  # written with letters or a dot, or without: 24th, 24.
_UNSPACED = "\u0e00"  # scripts from here on are mostly written without blanks


def missed_by_all(matches: Matches, references: Sequence[str]) -> Mask:
    """Tell which mentions neither a system nor a human translation of their segment keeps.

    Examples
    --------
    >>> a, b = Mention(0, 1, "a", "a"), Mention(2, 3, "b", "b")
    >>> from steelyard.kobe.matching import match
    >>> found = match([(a, b)], {"X": [(a,)], "ref": [()]})
    >>> missed_by_all(found, ["ref"]).tolist(), missed_by_all(found, []).tolist()
    ([False, True], [False, False])
    """
    people = [at for at, name in enumerate(matches.systems) if name in references]
    judged: Mask = np.any(matches.known[people], axis=0)
    kept: Mask = np.any(matches.kept, axis=0)
    return judged[matches.segment] & ~kept


class Evidence(NamedTuple):
    """How an entity fares elsewhere: in how many other outputs there is no such alarm.

    ``others`` are the other systems with an output for the segment, ``references`` the human
    translations of it; ``kept`` and ``kept_references`` those of them that keep the entity (or,
    where it was added, lack it as well). ``rivals`` are those of both that hold what stands in its
    place here: then it stands for something else.
    """

    kept: int = 0
    others: int = 0
    kept_references: int = 0
    references: int = 0
    rivals: int = 0

    @property
    def kept_by(self) -> float | None:
        """The share of other systems that keep it; None without any."""
        return self.kept / self.others if self.others else None

    @property
    def kept_by_reference(self) -> bool | None:
        """Whether a human translation keeps it; None without one."""
        return self.kept_references > 0 if self.references else None


class Finding(NamedTuple):
    """What happened to one entity: its mention in the source, in the output, or in both.

    ``copied``: the form of the source stands in the output, where it is not the target language's.
    ``changed``: another entity of the same kind stands in the output. ``added``: the source has
    none for it. ``missed``: it is in no output and in no human translation either, so that the
    linker is to blame, most likely. ``undecided``: it may be a part of something else in the
    source, and is not in the output. ``repeated``: both sides have the entity, but not as often.

    ``confidence`` says how probable it is that an alarm is an error, and ``evidence`` how others
    fare; both are None for what is no alarm.
    """

    kind: Kind
    source: Mention | None
    output: Mention | None
    repeated: bool = False
    confidence: float | None = None
    evidence: Evidence | None = None

    @property
    def mention(self) -> Mention:
        """The mention of the source, else that of the output."""
        mention = self.source or self.output
        assert mention is not None
        return mention

    @property
    def is_alarm(self) -> bool:
        """Whether it says that the translation is wrong."""
        return self.kind in ALARMS

    def to_dict(self, linker: Linker) -> dict[str, Any]:
        """Give what a line of JSON holds: spans are [start, end, text] in characters."""
        mention, evidence = self.mention, self.evidence
        sure = None if self.confidence is None else round(self.confidence, 3)
        share = None if evidence is None else evidence.kept_by
        return {
            "kind": self.kind,
            "category": mention.category,
            "group": mention.group,
            "tier": mention.tier,
            "id": linker.name(mention.id),
            "source": _span(self.source),
            "output": _span(self.output),
            "output_id": None if self.output is None else linker.name(self.output.id),
            "confidence": sure,
            "kept_by": None if share is None else round(share, 3),
            "kept_by_reference": None if evidence is None else evidence.kept_by_reference,
            "repeated": self.repeated,
        }


def _span(mention: Mention | None) -> list[Any] | None:
    return None if mention is None else [mention.start, mention.end, mention.text]


def explain(
    source: Mentions,
    output: str,
    mentions: Mentions,
    missed: Collection[int] = (),
    *,
    copies_count: bool = False,
    foreign: bool = False,
    forms: Forms | None = None,
    pairs: Pairs | None = None,
    text: str = "",
) -> list[Finding]:
    """Say what happened to each entity of a source, in order, and what was added.

    Parameters
    ----------
    source
        Mentions of the source.
    output, mentions
        The output, and its mentions in the target language.
    missed
        Which mentions of the source nobody keeps, neither a system nor a human translation.
    copies_count
        Whether a form of the source is as good in the output, since they are in one language.
    foreign
        Whether the output is in another language, so that nothing that stands in it counts.
    forms
        What entities are called in the target language.
    pairs
        What :func:`~steelyard.kobe.matching.pair_candidates` gives, where it is known already.
    text
        The source, for names of the output to be looked for in it.

    Examples
    --------
    >>> wien, montag = Mention(0, 4, "Wien", "Q1741", "city"), Mention(5, 11, "Montag", "dow:0")
    >>> venice = Mention(3, 9, "Venice", "Q641", "city")
    >>> [(f.kind, f.mention.text) for f in explain((wien, montag), "In Venice", (venice,))]
    [('changed', 'Wien'), ('lost', 'Montag')]
    """
    if pairs is None:
        pairs = pair_candidates(source, mentions)
    findings = {i: Finding("found", source[i], mentions[j]) for i, j in pairs.items()}
    taken = set(pairs.values())
    free = [m for j, m in enumerate(mentions) if j not in taken]
    fits = _Fitting(output, forms, mentions, text, foreign=foreign, copies_count=copies_count)
    if len(findings) < len(source):
        used = [(mentions[j].start, mentions[j].end) for j in taken]
        free = _account(source, findings, (used, free), missed, fits)
    free = [m for m in free if not m.doubtful]
    if fits.may_be_new:
        used = [(f.output.start, f.output.end) for f in findings.values() if f.output is not None]
        free += fits.strangers(used, alone=True)
    wanted = {r for m in source for r in m.readings} if free else set()
    added = [Finding("added", None, m, not wanted.isdisjoint(m.readings)) for m in free]
    return [findings[i] for i in range(len(source))] + added


class _Fitting(NamedTuple):
    """An output, and which forms of the source may stand in it without being linked."""

    output: str
    forms: Forms | None
    mentions: Mentions
    source: str
    foreign: bool
    copies_count: bool

    def standing(self, mention: Mention, taken: tuple[Spans, Spans]) -> Mention | None:
        return None if self.foreign else _standing(mention, self.output, taken, self.forms)

    @property
    def may_be_new(self) -> bool:
        return bool(self.source) and not self.foreign and self.forms is not None

    def strangers(self, used: Spans, *, alone: bool = False) -> list[Mention]:
        if not self.may_be_new or self.forms is None:
            return []
        return self.forms.strangers(self.output, self.source, (self.mentions, used), alone=alone)

    def may_be_copied(self, mention: Mention) -> bool:
        if self.copies_count or self.foreign:
            return self.copies_count
        return self.forms is not None and self.forms.fits(mention)


def _account(
    source: Mentions,
    findings: dict[int, Finding],
    there: tuple[list[tuple[int, int]], list[Mention]],
    missed: Collection[int],
    fitting: _Fitting,
) -> list[Mention]:
    """Say what became of mentions that are not paired; what is left of the output is given back."""
    used, free = there
    open_ = [i for i in range(len(source)) if i not in findings]
    for i in list(open_):
        linked = [*used, *((m.start, m.end) for m in free)]
        kind: Kind = "found"
        place = fitting.standing(source[i], (used, linked))
        if place is None and i not in missed:
            place = _written(source[i].text, fitting.output, used, source[i], "copied")
            kind = "found" if fitting.may_be_copied(source[i]) else "copied"
        if place is not None:
            findings[i] = Finding(kind, source[i], place)
            used.append((place.start, place.end))
            free = [m for m in free if m.end <= place.start or place.end <= m.start]
            open_.remove(i)
    for i in list(open_):
        if i in missed:
            findings[i] = Finding("missed", source[i], None)
            open_.remove(i)
    free = _replaced(source, findings, open_, (used, free), fitting)
    kept = {r for i, f in findings.items() if f.kind == "found" for r in source[i].readings}
    for i in open_:
        repeated = not kept.isdisjoint(source[i].readings)
        if source[i].doubtful:
            findings[i] = Finding("undecided", source[i], None)
        else:
            findings[i] = Finding("lost", source[i], None, repeated)
    return free


def _replaced(
    source: Mentions,
    findings: dict[int, Finding],
    open_: list[int],
    there: tuple[list[tuple[int, int]], list[Mention]],
    fitting: _Fitting,
) -> list[Mention]:
    """Say what was changed for something else; what is left of the output is given back."""
    used, free = there
    wanted = {r for m in source for r in m.readings}
    new = [m for m in free if wanted.isdisjoint(m.readings)]
    strange = []
    if any(wants_strangers(source[i]) for i in open_):
        strange = fitting.strangers(used)
    for i in list(open_):
        same = [m for m in strange if wants_strangers(source[i]) and nearly(source[i], m)]
        if same:
            findings[i] = Finding("found", source[i], same[0])
            strange.remove(same[0])
            open_.remove(i)
    kept = {r for i, f in findings.items() if f.kind == "found" for r in source[i].readings}
    sure = [i for i in open_ if not source[i].doubtful]
    changed = rivals(
        source, sure, [*(m for m in new if not m.doubtful), *strange], len(fitting.output)
    )
    taken = [m for _, m in changed]
    left = [i for i in open_ if i not in dict(changed)]
    if any(source[i].doubtful for i in left):
        rest = [m for m in (*new, *strange) if m not in taken]
        changed += [(i, m) for i, m in only_rivals(source, left, rest) if source[i].doubtful]
    for i, rival in changed:
        repeated = not kept.isdisjoint(source[i].readings)
        findings[i] = Finding("changed", source[i], rival, repeated)
        open_.remove(i)
        if rival in free:
            free.remove(rival)
    return free


# -- what stands in an output without being linked there


def _standing(
    mention: Mention, output: str, taken: tuple[Spans, Spans], forms: Forms | None
) -> Mention | None:
    """Find digits, a name of the target language, a part of a person's name, or a derived word.

    ``taken`` are the spans of mentions that are paired, and of all mentions.
    """
    used, linked = taken
    plain = any(c.isdecimal() for c in mention.text) and not any(c.isalpha() for c in mention.text)
    if plain or mention.category in _COUNTED:
        return _digits(mention, output, used)
    names = () if forms is None else forms.of(mention)
    for name in (*names, *_surnames(mention, names)):
        if len(name) >= _LEAST or name.isupper() or name[:1] >= _UNSPACED:
            found = _written(name, output, used, mention, "literal")
            if found is not None:
                return found
    derived = (_derived(name, output, linked, mention) for name in names)
    return next((found for found in derived if found is not None), None)


def _derived(name: str, output: str, linked: Spans, mention: Mention) -> Mention | None:
    """Find a word that begins as a name does: Libyan, Sonntagsfahrt, or beijing.

    A word that is linked by itself means something else: Nigeria is not of Niger.

    Examples
    --------
    >>> a = Mention(0, 1, "a", "a", "country")
    >>> [_derived(name, "Viennese and Libyans", [], a) is None for name in ("Vienna", "Viet Nam")]
    [False, True]
    """
    if len(name) < _DERIVED or name[:1] >= _UNSPACED:
        return None
    ending = _ENDING if mention.group in ("place", "name") else 0
    stem = name[: max(_DERIVED, len(name) - ending)]
    for found in re.finditer(rf"\b{re.escape(stem)}\w*", output, re.IGNORECASE):
        start, end = found.span()
        if all(end <= s or e <= start for s, e in linked):
            return mention._replace(start=start, end=end, text=output[start:end], rule="literal")
    return None


def _surnames(mention: Mention, names: Iterable[str]) -> list[str]:
    """Give the last parts of names of people and currencies, which are often named by them alone.

    Examples
    --------
    >>> _surnames(Mention(0, 13, "Ангелу Меркель", 1, "person"), ["Angela Merkel", "Merkel"])
    ['Меркель', 'Merkel']
    """
    if mention.category not in ("person", "currency"):
        return []
    parts = [_PARTS.split(name.strip()) for name in (mention.text, *names)]
    return list(dict.fromkeys(own[-1] for own in parts if len(own) > 1 and len(own[-1]) > 1))


def _digits(mention: Mention, output: str, used: Spans) -> Mention | None:
    """Find the same digits in the output, in a word (A320) or beside a hyphen, but no part of more.

    Examples
    --------
    >>> five = Mention(0, 1, "5", "num:5", "number")
    >>> [_digits(five, text, []) is not None for text in ("5G", "5-6", "4.5", "55", "5,1", "5, 6")]
    [True, True, False, False, False, True]
    """
    wanted = _plain(mention.text).strip()
    if mention.category in _COUNTED:
        wanted = "".join(c for c in wanted if c.isdecimal())
    if not any(c.isdecimal() for c in wanted):
        return None
    text = _plain(output)
    inner = r"(?:(?<=\d)[.,:/])"  # within a number, between digits
    pattern = rf"(?<!\d)(?<!\d[.,:/]){re.escape(wanted)}(?!\d)(?!{inner}\d)"
    for found in re.finditer(pattern, text):
        start, end = found.span()
        if all(end <= s or e <= start for s, e in used):
            return mention._replace(start=start, end=end, text=output[start:end], rule="literal")
    return None


def _plain(text: str) -> str:
    """Write digits of all scripts alike, character by character."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)


def _written(form: str, output: str, used: Spans, mention: Mention, rule: str) -> Mention | None:
    """Find a form in the output, as words of their own that mean nothing there."""
    if not any(c.isalpha() for c in form):
        return None
    start = output.find(form)
    while start >= 0:
        end = start + len(form)
        whole = not (output[start - 1 : start].isalnum() and form[0].isalnum()) and not (
            output[end : end + 1].isalnum() and form[-1].isalnum()
        )
        alone = form[0] >= _UNSPACED
        if (whole or alone) and all(end <= s or e <= start for s, e in used):
            return mention._replace(start=start, end=end, text=form, rule=rule)
        start = output.find(form, start + 1)
    return None
