"""Alarms of all systems: what others and people do with each entity, and how sure an alarm is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from steelyard.core.text import listed
from steelyard.kobe import confidence
from steelyard.kobe.confidence import Around, Model, features, model
from steelyard.kobe.explaining import Evidence, Finding, explain
from steelyard.kobe.forms import Forms
from steelyard.kobe.matching import Pairs
from steelyard.kobe.mention import Id, LinkedTexts, Linker, Mention
from steelyard.kobe.rivals import is_stranger

_WHOLE = 3  # entities of a segment that, all lost, are one alarm
_SOME = 3  # of them are named

Row = tuple[Finding, ...]


class LostEntity(NamedTuple):
    """An entity that systems lose: how often they had it to keep, and how often they did not.

    ``confidence`` is that of the surest of these alarms.
    """

    id: str
    text: str
    category: str
    wanted: int
    lost: int
    by_system: Mapping[str, int]
    confidence: float = 0.0


class AddedEntity(NamedTuple):
    """An entity that outputs mention and their sources do not, by any reading, and how often."""

    id: str
    text: str
    category: str
    added: int
    by_system: Mapping[str, int]
    confidence: float = 0.0


class Alarm(NamedTuple):
    """One thing to look at: a finding, or several of a segment of which nothing is left."""

    system: str
    at: int
    findings: tuple[Finding, ...]

    @property
    def confidence(self) -> float:
        """How probable it is that there is an error."""
        return max(f.confidence or 0.0 for f in self.findings)

    @property
    def what(self) -> str:
        """What happened to what kind of thing."""
        first = self.findings[0]
        if len(self.findings) > 1:
            return f"{len(self.findings)} lost"
        kind: str = first.kind
        if first.repeated and kind != "changed":
            kind = "more of" if kind == "added" else "fewer of"
        return f"{kind} {first.mention.category}"

    @property
    def source(self) -> str:
        """The form of the source, or forms."""
        return listed([f.source.text for f in self.findings if f.source], _SOME)

    @property
    def output(self) -> str:
        """What stands in the output instead."""
        return listed([f.output.text for f in self.findings if f.output], _SOME)

    @property
    def why(self) -> str:
        """Say in a few words what speaks for an error."""
        return why(max(self.findings, key=lambda f: f.confidence or 0.0))


def why(finding: Finding) -> str:
    """Say in a few words what speaks for an alarm.

    Examples
    --------
    >>> wien, rome = Mention(0, 4, "Wien", 1, "city"), Mention(0, 4, "Rome", 2, "city")
    >>> why(Finding("lost", wien, None, evidence=Evidence(8, 9, 1, 1)))
    'kept by 8 of 9 others and the reference'
    >>> why(Finding("added", None, rome, evidence=Evidence(9, 9)))
    'not in 9 of 9 others'
    >>> why(Finding("changed", wien, rome)), why(Finding("lost", wien, None))
    ('another city is there', 'not in the output')
    """
    evidence = finding.evidence or Evidence()
    sides = []
    if evidence.kept:
        sides.append(f"{evidence.kept} of {evidence.others} others")
    if evidence.kept_references:
        sides.append("the reference")
    if sides:
        return f"{'not in' if finding.kind == 'added' else 'kept by'} {' and '.join(sides)}"
    return {
        "changed": f"another {finding.output.category if finding.output else ''} is there",
        "copied": "left as it is in the source",
        "added": "not in the source",
    }.get(
        finding.kind, "not as often as in the source" if finding.repeated else "not in the output"
    )


@dataclass(frozen=True, slots=True, eq=False)
class Explained:
    """What happened to every entity of every output.

    Parameters
    ----------
    linked
        The texts with their mentions.
    rows
        Per output and segment: a finding for each mention of the source, then what was added; None
        where there is no output.
    pair
        The names of entities in the language of the source, and in that of outputs.
    one_language
        Whether outputs are in the language of what they are compared with.
    """

    linked: LinkedTexts
    rows: Mapping[str, Sequence[Row | None]]
    pair: tuple[Forms, Forms]
    one_language: bool = False
    model: Model = field(default_factory=model)

    @property
    def systems(self) -> tuple[str, ...]:
        """The outputs that are no human translations."""
        return tuple(name for name in self.rows if name not in self.linked.references)

    @property
    def default_cut(self) -> float:
        """Where alarms are cut, by what there is to compare them with."""
        return self.model.cut[confidence.situation(*self.compared)]

    @property
    def compared(self) -> tuple[int, int]:
        """How many references and other systems there are for a system."""
        return len(self.linked.references), max(0, len(self.systems) - 1)

    @property
    def rests_on(self) -> str:
        """Say what alarms rest on, and what precision to expect."""
        return self.model.expected(*self.compared)

    def texts(self, systems: Sequence[str] | None = None) -> Iterator[tuple[str, int, str, Row]]:
        """Give system, segment, output and findings of all outputs, or of those that are named."""
        for name, own in self.rows.items():
            if systems is not None and name not in systems:
                continue
            for at, row in enumerate(own):
                text = self.linked.outputs[name][at]
                if row is not None and text is not None:
                    yield name, at, text, row

    def alarms(self) -> Iterator[tuple[str, int, Finding]]:
        """Give all alarms of systems, however doubtful."""
        for name, at, _, row in self.texts(self.systems):
            for finding in row:
                if finding.is_alarm:
                    yield name, at, finding

    def n_undecided(self) -> int:
        """Count what is left undecided."""
        return sum(f.kind == "undecided" for _, _, _, row in self.texts(self.systems) for f in row)

    def around(self, row: Row, text: str) -> Around:
        """Say how a segment fares as a whole."""
        own = [f for f in row if f.source is not None and not f.source.doubtful]
        kept = sum(f.kind == "found" for f in own)
        changed = frozenset(f.mention.category for f in row if f.kind == "changed")
        rows = frozenset(
            place
            for one, two in pairwise(own)
            if one.kind == two.kind == "lost"
            for place in (one.mention.start, two.mention.start)
        )
        return Around(len(own), kept, not text.strip(), self.one_language, changed, rows)

    def features(self, name: str, at: int, alarm: Finding) -> dict[str, float]:
        """Give what the model knows of an alarm."""
        row, text = self.rows[name][at], self.linked.outputs[name][at]
        return features(alarm, self.around(row or (), text or ""), *self.pair)

    def to_look_at(self, cut: float) -> list[Alarm]:
        """List alarms from a confidence on, the surest first.

        Where a segment has three entities or more and the output none of them (it is empty, cut
        off or in another language), that is one alarm.
        """
        found = []
        for name, at, text, row in self.texts(self.systems):
            own = [f for f in row if f.is_alarm and (f.confidence or 0.0) >= cut]
            if not own:
                continue
            gone = [f for f in own if f.kind in ("lost", "copied")]
            around = self.around(row, text)
            if len(gone) >= _WHOLE and not around.kept:
                found.append(Alarm(name, at, tuple(gone)))
                own = [f for f in own if f not in gone]
            found += [Alarm(name, at, (f,)) for f in own]
        found.sort(key=lambda a: (-round(a.confidence, 3), self.systems.index(a.system), a.at))
        return found

    def lost(self, cut: float, linker: Linker) -> list[LostEntity]:
        """List entities that systems lose, those first whose loss is surest."""
        wanted: Counter[Id] = Counter()
        found: dict[Id, list[tuple[str, Finding]]] = {}
        for name, _, _, row in self.texts(self.systems):
            for finding in row:
                if finding.source is None or finding.kind in ("missed", "undecided"):
                    continue
                wanted[finding.source.id] += 1
                if finding.is_alarm and (finding.confidence or 0.0) >= cut:
                    found.setdefault(finding.source.id, []).append((name, finding))
        return [
            LostEntity(
                id=linker.name(one),
                text=_commonest(own),
                category=own[0][1].mention.category,
                wanted=wanted[one],
                lost=len(own),
                by_system=dict(Counter(name for name, _ in own)),
                confidence=_surest(own),
            )
            for one, own in sorted(found.items(), key=_order(linker))
        ]

    def added(self, cut: float, linker: Linker) -> list[AddedEntity]:
        """List entities that are in outputs and not in their sources."""
        found: dict[Id, list[tuple[str, Finding]]] = {}
        for name, _, finding in self.alarms():
            new = finding.output if finding.kind in ("added", "changed") else None
            fresh = new is not None and not (finding.kind == "added" and finding.repeated)
            if new is not None and fresh and (finding.confidence or 0.0) >= cut:
                found.setdefault(new.id, []).append((name, finding._replace(source=None)))
        return [
            AddedEntity(
                id=linker.name(one),
                text=_commonest(own),
                category=own[0][1].mention.category,
                added=len(own),
                by_system=dict(Counter(name for name, _ in own)),
                confidence=_surest(own),
            )
            for one, own in sorted(found.items(), key=_order(linker))
        ]


def _commonest(found: Sequence[tuple[str, Finding]]) -> str:
    texts = Counter(finding.mention.text for _, finding in found)
    return min(texts, key=lambda text: (-texts[text], text))


def _surest(found: Sequence[tuple[str, Finding]]) -> float:
    return round(max(finding.confidence or 0.0 for _, finding in found), 3)


def _order(
    linker: Linker,
) -> Callable[[tuple[Id, list[tuple[str, Finding]]]], tuple[float, int, str]]:
    return lambda pair: (-_surest(pair[1]), -len(pair[1]), linker.name(pair[0]))


def explain_all(
    linked: LinkedTexts,
    forms: tuple[Forms, Forms],
    pairs: Mapping[str, Sequence[Pairs]],
    missed: Sequence[Collection[int]],
    *,
    copies_count: bool = False,
) -> Explained:
    """Say what happened to every entity, and how sure each alarm is.

    Parameters
    ----------
    linked, pairs
        The texts with their mentions, and which of them are paired.
    forms
        Names of entities in the language of the source, and of outputs.
    missed
        Per segment, the mentions of the source that nobody keeps.
    copies_count
        Whether a form of the source is as good in the output, since they are in one language.
    """
    rows: dict[str, list[Row | None]] = {}
    for name, texts in linked.outputs.items():
        own: list[Row | None] = []
        for at, (text, mentions) in enumerate(
            zip(texts, linked.output_mentions[name], strict=True)
        ):
            source = linked.source_mentions[at]
            if text is None or mentions is None:
                own.append(None)
            elif not source and not mentions:
                own.append(())
            else:
                foreign = not mentions and at in linked.foreign.get(name, ())
                found = explain(source, text, mentions, missed[at], copies_count=copies_count,
                                foreign=foreign, forms=forms[1], pairs=pairs[name][at],
                                source_text=linked.sources[at] or "")  # fmt: skip
                own.append(tuple(found))
        rows[name] = own
    explained = Explained(linked, rows, forms, copies_count)
    for name, own in rows.items():
        for at, row in enumerate(own):
            if row is not None and any(finding.is_alarm for finding in row):
                own[at] = _weighed(explained, name, at, row)
    return explained


def _weighed(explained: Explained, name: str, at: int, row: Row) -> Row:
    """Give a confidence to each alarm of an output."""
    text = explained.linked.outputs[name][at] or ""
    around = explained.around(row, text)
    found = []
    for place, finding in enumerate(row):
        one = finding
        if one.is_alarm:
            one = one._replace(evidence=evidence(explained, name, at, place, one))
            one = one._replace(
                confidence=explained.model(one, features(one, around, *explained.pair))
            )
        found.append(one)
    return tuple(found)


def evidence(explained: Explained, name: str, at: int, place: int, alarm: Finding) -> Evidence:
    """Count the other outputs of a segment that do not raise the same alarm."""
    linked = explained.linked
    rival = alarm.output if alarm.kind == "changed" else None
    kept, there = [0, 0], [0, 0]  # of systems, and of references
    rivals = 0
    for other, own in explained.rows.items():
        row, text = own[at], linked.outputs[other][at]
        if other == name or row is None or not (text or "").strip():
            continue
        side = other in linked.references
        there[side] += 1
        if alarm.source is None:
            kept[side] += not _holds(linked, other, at, alarm.mention)
        else:
            kept[side] += _keeps(row[place], alarm)
        if rival is not None:
            rivals += _holds(linked, other, at, rival)
    return Evidence(kept[0], there[0], kept[1], there[1], rivals)


def _keeps(other: Finding, alarm: Finding) -> bool:
    """Tell whether another output keeps what an alarm is about, at least as well as needed."""
    if other.kind == "copied":
        return alarm.kind != "copied"
    return other.kind == "found" or (other.repeated and not alarm.repeated)


def _holds(linked: LinkedTexts, other: str, at: int, wanted: Mention) -> bool:
    """Tell whether another output has an entity; names that no base knows are not linked there."""
    if is_stranger(wanted) and wanted.text in (linked.outputs[other][at] or ""):
        return True
    readings = set(wanted.readings)
    mentions = linked.output_mentions[other][at] or ()
    return any(not readings.isdisjoint(mention.readings) for mention in mentions)
