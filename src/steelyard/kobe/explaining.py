"""What happened to each entity of a segment.

It was found, lost, changed, copied or added; missed, by all systems and people; or it is left
undecided. Mentions are paired by any of their readings, and what stands in the output without being
linked there counts as found: this is more forgiving than the score, since a list of errors with
many false alarms is not read twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from steelyard.kobe.forms import Forms
from steelyard.kobe.matching import Mask, Matches, Pairs, pair_candidates
from steelyard.kobe.mention import Linker, Mention, Mentions
from steelyard.kobe.rivals import nearly, only_rivals, rivals, wants_strangers
from steelyard.kobe.standing import Spans, standing, written

Kind = Literal["found", "lost", "changed", "copied", "added", "missed", "undecided"]
KINDS: tuple[Kind, ...] = get_args(Kind)
#: Kinds that say that a translation is wrong.
ALARMS: tuple[Kind, ...] = ("lost", "changed", "copied", "added")


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
    source_text: str | None = None,
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
    source_text
        The text of the source; None where new names in the output are not looked for.

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
    fits = _Fitting(output, mentions, forms, source_text, foreign, copies_count)
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
    mentions: Mentions
    forms: Forms | None
    source_text: str | None
    foreign: bool
    copies_count: bool

    def standing(self, mention: Mention, taken: tuple[Spans, Spans]) -> Mention | None:
        if self.foreign:
            return None
        return standing(mention, self.output, taken, self.forms)

    @property
    def may_be_new(self) -> bool:
        return self.source_text is not None and not self.foreign and self.forms is not None

    def strangers(self, used: Spans, *, alone: bool = False) -> list[Mention]:
        if self.source_text is None or self.forms is None or self.foreign:
            return []
        there = (self.mentions, used)
        return self.forms.strangers(self.output, self.source_text, there, alone=alone)

    def may_be_copied(self, mention: Mention) -> bool:
        """Tell whether a form of the source is right in the output.

        It is where it is a name in the letters of the target language, unless it is a place that
        has another name there.
        """
        if self.copies_count or self.forms is None:
            return self.copies_count
        if mention.tier == "name" or mention.group == "name":
            return self.forms.is_written(mention.text)
        return not self.foreign and self.forms.fits(mention)


def _account(
    source: Mentions,
    findings: dict[int, Finding],
    there: tuple[list[tuple[int, int]], list[Mention]],
    missed: Collection[int],
    fitting: _Fitting,
) -> list[Mention]:
    """Say what became of mentions that are not paired; what is left of the output is given back."""
    used, free = there
    free = _stand(source, findings, (used, free), missed, fitting)
    for i, mention in enumerate(source):
        if i not in findings and i in missed:
            findings[i] = Finding("missed", mention, None)
    open_ = [i for i in range(len(source)) if i not in findings]
    free = _replaced(source, findings, open_, (used, free), fitting)
    kept = {r for i, f in findings.items() if f.kind == "found" for r in source[i].readings}
    for i in open_:
        if source[i].doubtful:
            findings[i] = Finding("undecided", source[i], None)
            continue
        repeated = not kept.isdisjoint(source[i].readings)
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


def _stand(
    source: Mentions,
    findings: dict[int, Finding],
    there: tuple[list[tuple[int, int]], list[Mention]],
    missed: Collection[int],
    fitting: _Fitting,
) -> list[Mention]:
    """Find what stands in the output and is not linked there, rightly or as a copy."""
    used, free = there
    for i in [i for i in range(len(source)) if i not in findings]:
        linked = [*used, *((m.start, m.end) for m in free)]
        kind: Kind = "found"
        place = fitting.standing(source[i], (used, linked))
        if place is None and i not in missed:
            place = written(source[i].text, fitting.output, used, source[i], "copied")
            kind = "found" if fitting.may_be_copied(source[i]) else "copied"
        if place is not None:
            findings[i] = Finding(kind, source[i], place)
            used.append((place.start, place.end))
            free = _apart(free, place)
    return free


def _apart(free: Iterable[Mention], place: Mention) -> list[Mention]:
    return [m for m in free if m.end <= place.start or place.end <= m.start]
