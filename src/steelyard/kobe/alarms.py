"""Alarms of all systems: what others do with each entity, how sure each alarm is, which are shown.

Findings are explained when they are first needed: scores alone never need them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from steelyard.core.display import Field, Record, keys, table_of
from steelyard.core.table import Table
from steelyard.core.text import listed
from steelyard.kobe.confidence import Around, Model, features, model, situation
from steelyard.kobe.explaining import EntityNames, Evidence, Finding, explain, is_unknown
from steelyard.kobe.matching import Pairs
from steelyard.kobe.mention import Id, LinkedTexts, Linker, Mention

_WHOLE = 3  # entities of a segment that, all lost, are one alarm
_SOME = 3  # of a list that a cell names

Row = tuple[Finding, ...]


class _Counted(Record):
    """An entity with alarms, and how many each system has."""

    __slots__ = ()
    by_system: Mapping[str, int]

    @property
    def by(self) -> str:
        """The systems with most of them."""
        order = sorted(self.by_system, key=lambda name: (-self.by_system[name], name))
        return listed([f"{name} {self.by_system[name]}" for name in order], _SOME)


@dataclass(frozen=True, slots=True)
class LostEntity(_Counted):
    """An entity that systems lose: how often, and the confidence of the surest alarm."""

    id: str
    text: str
    category: str
    wanted: int
    lost: int
    by_system: Mapping[str, int]
    confidence: float


@dataclass(frozen=True, slots=True)
class AddedEntity(_Counted):
    """An entity that outputs have and their sources do not, and how often."""

    id: str
    text: str
    category: str
    added: int
    by_system: Mapping[str, int]
    confidence: float


@dataclass(frozen=True, slots=True)
class TermUse(Record):
    """A term of a glossary in the source, and whether outputs use what it should be called.

    ``segments`` are the systems and segments without any of the expected forms, ``instead`` what
    they have, if that is known.
    """

    id: str
    source: str
    expected: tuple[str, ...]
    used: int
    missed: int
    segments: tuple[Mapping[str, str], ...]
    instead: Mapping[str, int]

    @classmethod
    def table(cls, terms: Sequence[TermUse], n: int) -> Table:
        """Return the table of the terms that are missed most often."""
        missed = [term for term in terms if term.missed]
        note = f"{len(missed)} of {len(terms)} terms of the source are not used everywhere."
        columns = (Field("source", "term"), Field("expected_forms", "expected"),
                   Field("used", digits=0), Field("missed", digits=0), Field("where"),
                   Field("replaced_by", "instead"))  # fmt: skip
        return table_of(missed[:n], columns, "Terms not used", (note,))

    @property
    def expected_forms(self) -> str:
        """The first of the expected forms."""
        return listed(self.expected, _SOME)

    @property
    def where(self) -> str:
        """The first systems and segments that miss it."""
        return listed([f"{one['system']} {one['segment']}" for one in self.segments], _SOME)

    @property
    def replaced_by(self) -> str:
        """What outputs have most often instead."""
        order = sorted(self.instead, key=lambda text: (-self.instead[text], text))
        return listed(order, _SOME)


@dataclass(frozen=True, slots=True)
class Alarm(Record):
    """One thing to look at: a finding, or all of a segment of which nothing is left."""

    json_keys: ClassVar[Mapping[str, str]] = keys(
        "system segment what group source output confidence why"
    )

    system: str
    at: int
    segment: str
    findings: tuple[Finding, ...]

    @property
    def confidence(self) -> float:
        """The probability of an error."""
        return round(max(f.sureness for f in self.findings), 3)

    @property
    def group(self) -> str:
        """The group of the first entity."""
        return self.findings[0].mention.group

    @property
    def what(self) -> str:
        """What happened to which kind of entity."""
        first, kind = self.findings[0], str(self.findings[0].kind)
        if len(self.findings) > 1:
            return f"{len(self.findings)} lost"
        if first.repeated and kind != "changed":
            kind = "more of" if kind == "added" else "fewer of"
        return f"{kind} {first.mention.category}"

    @property
    def source(self) -> str | None:
        """The forms of the source."""
        return listed([f.source.text for f in self.findings if f.source], _SOME) or None

    @property
    def output(self) -> str | None:
        """The forms of the output."""
        return listed([f.output.text for f in self.findings if f.output], _SOME) or None

    @property
    def why(self) -> str:
        """What speaks for an error."""
        return why(max(self.findings, key=lambda f: f.sureness))


def why(finding: Finding) -> str:
    """Say in a few words what speaks for an alarm.

    Examples
    --------
    >>> wien, rome = Mention(0, 4, "Wien", 1, "city"), Mention(0, 4, "Rome", 2, "city")
    >>> why(Finding("lost", wien, None, evidence=Evidence(8, 9, 1, 1)))
    'kept by 8 of 9 others and the reference'
    >>> why(Finding("changed", wien, rome)), why(Finding("lost", wien, None))
    ('another city is there', 'not in the output')
    """
    evidence = finding.evidence or Evidence()
    sides = [f"{evidence.kept} of {evidence.others} others"] if evidence.kept else []
    sides += ["the reference"] if evidence.kept_references else []
    if sides:
        return f"{'not in' if finding.kind == 'added' else 'kept by'} {' and '.join(sides)}"
    reasons = {
        "changed": f"another {finding.output.category if finding.output else ''} is there",
        "copied": "left as it is in the source",
        "added": "not in the source",
    }
    lost = "not as often as in the source" if finding.repeated else "not in the output"
    return reasons.get(finding.kind, lost)


@dataclass(frozen=True, eq=False)
class Explanation:
    """What happened to every entity of every output.

    Parameters
    ----------
    linked, linker
        The texts with their mentions, and what linked them.
    langs
        Languages of what outputs are compared with, and of the outputs; None if unknown.
    pairs
        Per output and segment, which mentions are paired.
    missed
        Per segment, the mentions of the source that nobody keeps.
    same_language
        Whether outputs are in the language of what they are compared with.
    """

    linked: LinkedTexts
    linker: Linker
    langs: tuple[str | None, str | None]
    pairs: Mapping[str, Sequence[Pairs]]
    missed: Sequence[Collection[int]]
    same_language: bool = False
    model: Model = field(default_factory=model)

    @property
    def systems(self) -> tuple[str, ...]:
        """The outputs that are no human translations."""
        return tuple(name for name in self.linked.outputs if name not in self.linked.references)

    @cached_property
    def names(self) -> tuple[EntityNames, EntityNames]:
        """What entities are called in both languages."""
        return EntityNames(self.linker, self.langs[0]), EntityNames(self.linker, self.langs[1])

    @property
    def _compared(self) -> tuple[int, int]:
        return len(self.linked.references), max(0, len(self.systems) - 1)

    @property
    def default_cut(self) -> float:
        """The confidence from which on alarms are shown by default."""
        return self.model.cut[situation(*self._compared)]

    @property
    def rests_on(self) -> str:
        """What alarms are compared with, and how many were real elsewhere."""
        return self.model.expected(*self._compared)

    @cached_property
    def rows(self) -> dict[str, list[Row | None]]:
        """Per output and segment, a finding per mention of the source, then what was added."""
        rows = {
            name: [self._explain(name, at) for at in range(len(texts))]
            for name, texts in self.linked.outputs.items()
        }
        weighed = {}
        for name, findings in rows.items():
            weighed[name] = [
                row if row is None or not any(f.is_alarm for f in row)
                else self._weigh(rows, name, at, row)
                for at, row in enumerate(findings)
            ]  # fmt: skip
        return weighed

    def _explain(self, name: str, at: int) -> Row | None:
        text, mentions = self.linked.outputs[name][at], self.linked.output_mentions[name][at]
        source = self.linked.source_mentions[at]
        if text is None or mentions is None:
            return None
        if not source and not mentions:
            return ()
        foreign = not mentions and at in self.linked.foreign.get(name, ())
        return tuple(
            explain(source, text, mentions, self.missed[at], same_language=self.same_language,
                    foreign=foreign, names=self.names[1], pairs=self.pairs[name][at],
                    source_text=self.linked.sources[at] or "")
        )  # fmt: skip

    def _weigh(self, rows: Mapping[str, Sequence[Row | None]], name: str, at: int, row: Row) -> Row:
        """Give each alarm of an output its evidence and confidence."""
        around = self._around(row, self.linked.outputs[name][at] or "")
        weighed = []
        for place, finding in enumerate(row):
            if finding.is_alarm:
                alarm = finding._replace(evidence=self._evidence(rows, name, at, place, finding))
                values = features(alarm, around, *self.names)
                weighed.append(alarm._replace(confidence=self.model(alarm, values)))
            else:
                weighed.append(finding)
        return tuple(weighed)

    def _around(self, row: Row, text: str) -> Around:
        """Say how the entities of a segment fare as a whole."""
        sure = [f for f in row if f.source is not None and not f.source.doubtful]
        return Around(
            wanted=len(sure),
            kept=sum(f.kind == "found" for f in sure),
            empty=not text.strip(),
            same_language=self.same_language,
            changed=frozenset(f.mention.category for f in row if f.kind == "changed"),
            in_a_row=frozenset(
                finding.mention.start
                for pair in pairwise(sure)
                if pair[0].kind == pair[1].kind == "lost"
                for finding in pair
            ),
        )

    def _evidence(
        self,
        rows: Mapping[str, Sequence[Row | None]],
        name: str,
        at: int,
        place: int,
        alarm: Finding,
    ) -> Evidence:
        """Count the other outputs of a segment that do not raise the same alarm."""
        rival = alarm.output if alarm.kind == "changed" else None
        kept, present = [0, 0], [0, 0]  # of systems, and of references
        rivals = 0
        for other, findings in rows.items():
            row = findings[at]
            if other == name or row is None or not (self.linked.outputs[other][at] or "").strip():
                continue
            side = other in self.linked.references
            present[side] += 1
            if alarm.source is None:
                kept[side] += not self._has(other, at, alarm.mention)
            else:
                kept[side] += _keeps(row[place], alarm)
            rivals += rival is not None and self._has(other, at, rival)
        return Evidence(kept[0], present[0], kept[1], present[1], rivals)

    def _has(self, output: str, at: int, wanted: Mention) -> bool:
        """Whether an output has an entity; unknown names are searched in its text."""
        if is_unknown(wanted) and wanted.text in (self.linked.outputs[output][at] or ""):
            return True
        readings = set(wanted.readings)
        mentions = self.linked.output_mentions[output][at] or ()
        return any(not readings.isdisjoint(mention.readings) for mention in mentions)

    def features(self, name: str, at: int, alarm: Finding) -> dict[str, float]:
        """Return the features of an alarm."""
        row, text = self.rows[name][at], self.linked.outputs[name][at]
        return features(alarm, self._around(row or (), text or ""), *self.names)

    def texts(self, systems: Sequence[str] | None = None) -> Iterator[tuple[str, int, str, Row]]:
        """Yield system, segment, output and findings of all outputs, or of some systems."""
        for name, findings in self.rows.items():
            if systems is not None and name not in systems:
                continue
            for at, row in enumerate(findings):
                text = self.linked.outputs[name][at]
                if row is not None and text is not None:
                    yield name, at, text, row

    def findings(self, systems: Sequence[str] | None = None) -> Iterator[tuple[str, int, Finding]]:
        """Yield system, segment and finding of every entity, however doubtful."""
        for name, at, _, row in self.texts(systems):
            for finding in row:
                yield name, at, finding

    def alarms(self, cut: float) -> list[Alarm]:
        """Return alarms from a confidence on, the surest first.

        If an output has none of three entities or more, because it is empty, cut off or in another
        language, that is one alarm.
        """
        alarms = []
        for name, at, text, row in self.texts(self.systems):
            shown = [f for f in row if f.is_alarm and f.sureness >= cut]
            if not shown:
                continue
            gone = [f for f in shown if f.kind in ("lost", "copied")]
            parts: list[Row] = [(f,) for f in shown]
            if len(gone) >= _WHOLE and not self._around(row, text).kept:
                parts = [tuple(gone), *((f,) for f in shown if f not in gone)]
            alarms += [Alarm(name, at, self.linked.ids[at], part) for part in parts]
        order = {name: place for place, name in enumerate(self.systems)}
        return sorted(alarms, key=lambda a: (-a.confidence, order[a.system], a.at))

    def lost(self, cut: float) -> list[LostEntity]:
        """Return the entities that systems lose, the surest first."""
        findings = [
            (f.source, name, f)
            for name, _, f in self.findings(self.systems)
            if f.source is not None and f.kind not in ("missed", "undecided")
        ]
        wanted = Counter(mention.id for mention, _, _ in findings)
        lost = [item for item in findings if item[2].is_alarm and item[2].sureness >= cut]
        return [
            LostEntity(id_, text, category, wanted[entity], n, by_system, sure)
            for entity, (id_, text, category, n, by_system, sure) in self._by_entity(lost)
        ]

    def added(self, cut: float) -> list[AddedEntity]:
        """Return the entities that are in outputs and not in their sources, the surest first."""
        added = [
            (f.output, name, f)
            for name, _, f in self.findings(self.systems)
            if f.output is not None and f.sureness >= cut
            and (f.kind == "changed" or (f.kind == "added" and not f.repeated))
        ]  # fmt: skip
        return [AddedEntity(*values) for _, values in self._by_entity(added)]

    def _by_entity(
        self, alarms: Sequence[tuple[Mention, str, Finding]]
    ) -> list[tuple[Id, tuple[str, str, str, int, Mapping[str, int], float]]]:
        """Return id, commonest text, category, count, systems and confidence of each entity."""
        entities: dict[Id, list[tuple[Mention, str, Finding]]] = {}
        for alarm in alarms:
            entities.setdefault(alarm[0].id, []).append(alarm)
        rows = []
        for entity, items in entities.items():
            texts = Counter(mention.text for mention, _, _ in items)
            text = min(texts, key=lambda text: (-texts[text], text))
            systems = Counter(system for _, system, _ in items)
            sure = round(max(finding.sureness for _, _, finding in items), 3)
            name, category = self.linker.name(entity), items[0][0].category
            rows.append((entity, (name, text, category, len(items), systems, sure)))
        return sorted(rows, key=lambda row: (-row[1][5], -row[1][3], row[1][0]))

    def terms(self) -> list[TermUse]:
        """Return the terms of the sources, those first that are missed most often."""
        terms = {
            mention.id: mention
            for mentions in self.linked.source_mentions
            for mention in mentions
            if mention.group == "term" or self.linker.name(mention.id).startswith("term:")
        }
        if not terms:
            return []
        used: Counter[Id] = Counter()
        missed: dict[Id, list[tuple[str, int, Finding]]] = {entity: [] for entity in terms}
        for name, at, finding in self.findings(self.systems):
            if finding.source is not None and finding.source.id in terms:
                if finding.is_alarm:
                    missed[finding.source.id].append((name, at, finding))
                used[finding.source.id] += finding.kind == "found"
        uses = [
            TermUse(
                id=self.linker.name(entity),
                source=mention.text,
                expected=self.names[1].of(mention),
                used=used[entity],
                missed=len(missed[entity]),
                segments=tuple(
                    {"system": name, "segment": self.linked.ids[at]}
                    for name, at, _ in missed[entity]
                ),
                instead=Counter(f.output.text for _, _, f in missed[entity] if f.output),
            )
            for entity, mention in terms.items()
        ]
        return sorted(uses, key=lambda term: (-term.missed, term.id))


def _keeps(other: Finding, alarm: Finding) -> bool:
    """Whether another output keeps what an alarm is about."""
    if other.kind == "copied":
        return alarm.kind != "copied"
    return other.kind == "found" or (other.repeated and not alarm.repeated)
