"""What KoBE found: the score of every system, recall by group, and what to look at."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

from steelyard.core.decision import first_place
from steelyard.core.display import (
    Field,
    Layout,
    Record,
    Result,
    Statement,
    Summary,
    keys,
    named,
    one_line,
    table_of,
)
from steelyard.core.options import check_share
from steelyard.core.table import Column, Frame, Table, frame
from steelyard.core.text import listed, plural
from steelyard.kobe.alarms import Alarm, Explanation
from steelyard.kobe.explaining import KINDS, Finding

_LISTED = 50  # entities or alarms in JSON
_BRIEF = 5  # alarms that stand below the scores
_SHOWN = 10  # rows of a table that the command prints
_COVERAGE = 0.5  # share of segments with entities, below which a score rests on little
_RATIO = 1.8  # mentions of outputs to those of the source, near where the penalty begins
_NOISE = 2.0  # percent of recall
_CEILING = 80.0  # percent that a human translation keeps, below which the linker misses much
_COMMON = 20  # entities of a group that are enough to measure its recall


@dataclass(frozen=True, slots=True)
class SystemEntities(Record):
    """A system's score in percent, and the counts behind it.

    ``lost`` mentions of the source are not matched, ``added`` mentions of the output neither.
    ``filtered`` counts the outputs that are not in the target language.
    """

    json_keys: ClassVar[Mapping[str, str]] = keys(
        "system score recall penalty precision matched wanted found=mentioned filtered "
        "is_reference f lost added"
    )

    system: str
    score: float
    recall: float
    penalty: float
    precision: float
    f: float
    matched: int
    wanted: int
    mentioned: int
    filtered: int = 0
    is_reference: bool = False

    @property
    def lost(self) -> int:
        """Mentions of the source that the output does not have, or not as often."""
        return self.wanted - self.matched

    @property
    def added(self) -> int:
        """Mentions of the output that the source does not have, or not as often."""
        return self.mentioned - self.matched


@dataclass(frozen=True, slots=True)
class CategoryRecall(Record):
    """Recall of a category in percent, by any reading, per system and reference."""

    category: str
    wanted: int
    recall: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class GroupRecall(CategoryRecall):
    """Recall of a group of categories."""

    json_keys: ClassVar[Mapping[str, str]] = keys("group=category wanted recall")


@dataclass(frozen=True, repr=False)
class KobeReport(Result):
    """How well systems keep the entities of a source (or of a reference).

    Parameters
    ----------
    src, tgt, against
        The languages, and what outputs were compared with: ``src`` or the name of a reference.
    signature
        What exactly was computed, in a line.
    systems
        Scores and counts, best system first; references come last, as a ceiling.
    categories, groups
        Recall by category and by group of categories, the commonest first.
    n_segments, n_without_entities
        How many segments have a source (or reference), and how many of them have no entity.
    n_source_entities, n_missed
        How many mentions count, and how many mentions neither a system nor a human translation
        keeps: most likely the linker is wrong, so that they are not listed as lost.
    explanation
        What happened to every entity; it is worked out when it is first needed.
    counted, measure
        ``mentions``, or ``entities``, each once per segment; and what of them the score is.
    min_confidence
        Alarms from here on are shown; None depends on what there is to compare with.
    """

    layout: ClassVar[Layout] = Layout(
        "systems",
        (
            Field("system"), Field("score", "KoBE", "higher", 2), Field("recall", digits=2),
            Field("penalty", digits=3), Field("precision", digits=2), Field("f", "F", digits=2),
            Field("matched", "kept", digits=0), Field("wanted", "of", digits=0),
            Field("lost", digits=0), Field("mentioned", digits=0), Field("added", digits=0),
            Field("filtered", digits=0),
        ),
    )  # fmt: skip
    json_keys: ClassVar[Mapping[str, str]] = keys(
        "src tgt against signature n_segments n_without_entities n_source_entities n_missed "
        "counted measure coverage systems categories groups cut rests_on n_alarms n_below "
        "n_undecided alarms=first_alarms meaning questions warnings"
    )

    src: str | None
    tgt: str | None
    against: str
    signature: str
    systems: tuple[SystemEntities, ...]
    categories: tuple[CategoryRecall, ...]
    groups: tuple[GroupRecall, ...]
    n_segments: int
    n_without_entities: int
    n_source_entities: int
    n_missed: int
    explanation: Explanation = field(compare=False)
    counted: str = "mentions"
    measure: str = "recall"
    min_confidence: float | None = None
    warnings: tuple[str, ...] = ()

    @property
    def coverage(self) -> float:
        """The share of segments with an entity to keep."""
        return 1 - self.n_without_entities / self.n_segments if self.n_segments else math.nan

    @property
    def scores(self) -> dict[str, float]:
        """The score of every system, without references."""
        return {s.system: s.score for s in self.systems if not s.is_reference}

    @property
    def same_language(self) -> bool:
        """Whether outputs are in the language of the source: summaries, simplifications."""
        return self.against == "src" and self.src is not None and self.src == self.tgt

    @property
    def what(self) -> str:
        """What outputs were compared with, in words."""
        reference = f"reference {self.against}" if self.against != "ref" else "reference"
        return "source" if self.against == "src" else reference

    # -- alarms

    @cached_property
    def cut(self) -> float:
        """The confidence from which on alarms are shown."""
        least = self.min_confidence
        return self.explanation.default_cut if least is None else float(least)

    def cut_at(self, least: float | None = None) -> KobeReport:
        """Return a report with alarms from this confidence on; None is the default."""
        check_share(optional=True, min_confidence=least)
        return replace(self, min_confidence=least)

    @property
    def rests_on(self) -> str:
        """What alarms are compared with, and how many were real elsewhere."""
        return self.explanation.rests_on

    @cached_property
    def _kinds(self) -> tuple[list[float], int]:
        """The confidence of every alarm, and how many mentions are undecided."""
        findings = [f for _, _, f in self.explanation.findings(self.explanation.systems)]
        undecided = sum(f.kind == "undecided" for f in findings)
        return [f.sureness for f in findings if f.is_alarm], undecided

    @property
    def n_alarms(self) -> int:
        """How many alarms there are, also below the cut."""
        return len(self._kinds[0])

    @property
    def n_below(self) -> int:
        """How many alarms are below the cut."""
        return sum(sureness < self.cut for sureness in self._kinds[0])

    @property
    def n_undecided(self) -> int:
        """Doubtful mentions that are not in the output: never lost."""
        return self._kinds[1]

    @cached_property
    def alarms(self) -> tuple[Alarm, ...]:
        """What to look at, the surest first."""
        return tuple(self.explanation.alarms(self.cut))

    @property
    def first_alarms(self) -> tuple[Alarm, ...]:
        """The alarms in JSON."""
        return self.alarms[:_LISTED]

    def findings(self, systems: Sequence[str] | None = None) -> Iterator[tuple[str, int, Finding]]:
        """Yield system, segment and finding of every entity, however doubtful."""
        return self.explanation.findings(systems)

    def cut_note(self) -> str:
        """Say where alarms are cut, and how many are not shown."""
        if not self.n_alarms:
            return ""
        text = f"Alarms with a confidence of {self.cut:.2f} or more, {self.rests_on}"
        if self.n_below:
            text += f"; {plural(self.n_below, 'alarm')} of {self.n_alarms:,} below it"
        return text + "."

    # -- words

    def words(self) -> Summary:
        """Say which system keeps most of the entities, and what that rests on."""
        return Summary.of(self._statements())

    def _statements(self) -> Iterator[Statement]:
        systems = [s for s in self.systems if not s.is_reference]
        scored = [s for s in systems if not math.isnan(s.score)]
        if not scored:
            why = f"no entity was found in the {self.what}" if systems else "there is no system"
            yield "undecided", f"KoBE says nothing here: {why}."
            return
        best = max(s.score for s in scored)
        top = [s for s in scored if s.score == best]
        first = first_place([s.system for s in top], len(systems), f"KoBE ({best:.2f})")
        if len(systems) == 1:
            yield "settled", f"{top[0].system} has KoBE {best:.2f}: {self._kept(top[0])}."
            yield "undecided", first
        else:
            kept = f": {self._kept(top[0])}" if len(top) == 1 else ""
            yield "settled", f"{first[:-1]}{kept}."
        with_some = self.n_segments - self.n_without_entities
        counts = f"{self.n_source_entities:,} entities in {with_some:,} of"
        yield "sureness", f"This rests on {counts} {plural(self.n_segments, 'segment')}."
        if self._ceiling is not None:
            text = f"The {self._ceiling} entities: what people leave out, no system need keep."
            yield "sureness", text
        if len(systems) > 1:
            text = "No test was made: steelyard compare says whether a lead is more than chance."
            yield "sureness", text

    def _kept(self, system: SystemEntities) -> str:
        if self.measure == "precision":
            count = f"{system.matched:,} of {system.mentioned:,} {self.counted} of its output"
            return f"{count} are in the {self.what}"
        count = f"{system.matched:,} of {system.wanted:,} {self.counted} of the {self.what}"
        return f"{count} are in its output"

    @property
    def _ceiling(self) -> str | None:
        """How much the best human translation keeps, None without one."""
        people = [s for s in self.systems if s.is_reference and not math.isnan(s.recall)]
        if not people:
            return None
        best = max(people, key=lambda s: s.recall)
        who = "reference" if self.same_language else "human translation"
        return f"{who} {best.system} keeps {best.recall:.1f} of 100"

    def __repr__(self) -> str:
        order = named([s.system for s in self.systems if not s.is_reference])
        size = f"{plural(self.n_segments, 'segment')}, {self.n_source_entities:,} entities"
        return one_line(self, f"against {self.against}: {size}; {order}")

    @property
    def meaning(self) -> str:
        """What the scores mean on an absolute scale."""
        measures = {
            "recall": f"Of 100 entities in the {self.what}, a system with score 90 has 90 in its "
            "output.",
            "precision": "Of 100 entities in the output of a system with score 90, 90 are in the "
            f"{self.what}.",
            "f": "The score is the harmonic mean of recall and precision.",
        }
        ceiling = f"; the {self._ceiling}" if self._ceiling else ""
        return (
            f"{measures[self.measure]} {self.n_source_entities} entities were found in "
            f"{self.n_segments - self.n_without_entities} of {self.n_segments} segments{ceiling}."
        )

    @property
    def questions(self) -> tuple[str, ...]:
        """Which question each column answers."""
        columns = (
            f"Recall: of 100 entities of the {self.what}, how many are in the output (nothing "
            f"lost)? Precision: of 100 of the output, how many are in the {self.what} (nothing "
            "added)? F is their harmonic mean."
        )
        purpose = (
            "A summary or simplification leaves things out on purpose: precision says whether it "
            "is true to its source, recall how much of it is there."
        )
        return (columns, purpose) if self.same_language else (columns,)

    # -- tables

    @property
    def title(self) -> str:
        """The title of the first table."""
        pair = f", {self.src}-{self.tgt}" if self.src and self.tgt else ""
        return f"Entities kept{pair}, against {self.against}"

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the first table."""
        return (self.meaning, *self.questions)

    def table(self) -> Table:
        """Return the scores of the systems, the best first, references below."""
        table = super().table()
        n = sum(not s.is_reference for s in self.systems)
        return replace(table, rules=frozenset({n} if 0 < n < len(table.rows) else ()))

    def to_frame(self, backend: str | None = None) -> Frame:
        """Return the scores of the systems as a pandas or polars frame."""
        names = SystemEntities.json_keys
        columns = {key: [getattr(s, name) for s in self.systems] for key, name in names.items()}
        return frame(columns, backend)

    def tables(self) -> list[Table]:
        """Return all tables that the command prints: scores, groups, what to look at."""
        return list(self.details())

    def details(self) -> tuple[Table, ...]:
        """Return recall and precision, recall by group, and what to look at."""
        tables = [replace(self.table(), notes=self.questions)]  # scores have the meaning below
        if [c.category for c in self.categories] != ["entity"]:
            tables.append(self.category_table())
        if self.n_alarms:
            tables.append(self.look_table(_SHOWN))
        return tuple(tables)

    def category_table(self) -> Table:
        """Return recall by group of categories, with a column per system and reference."""
        names = [s.system for s in self.systems]
        columns = (
            Column("group"),
            Column("entities", digits=0),
            *(Column(name, digits=1) for name in names),
        )
        rows = tuple(
            (c.category, c.wanted, *(c.recall.get(name) for name in names)) for c in self.groups
        )
        note = (
            "Recall in percent, by any reading; a human translation's recall is the ceiling: what "
            "people do not keep either, the linker missed."
        )
        references = any(s.is_reference for s in self.systems)
        return Table("Recall by group", columns, rows, (note,) if references else ())

    def category_counts(self) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
        """Count entities by category: those of the source, and those that each system keeps."""
        counts = {c.category: c.wanted for c in self.categories}
        kept = {
            name: {
                c.category: round(c.recall[name] * c.wanted / 100)
                for c in self.categories
                if not math.isnan(c.recall[name])
            }
            for name in self.scores
        }
        return counts, kept

    def look_table(self, n: int = 20) -> Table:
        """Return single alarms, the surest first: names and numbers to look at."""
        columns = (Field("system"), Field("segment", importance=7), Field("what", importance=8),
                   Field("source", importance=8), Field("output", importance=8),
                   Field("confidence", digits=2, importance=6), Field("why"))  # fmt: skip
        notes = [self.cut_note()] if self.n_alarms else []
        if len(self.alarms) > n:
            notes.append(f"{len(self.alarms) - n:,} more are in the file of explanations.")
        if self.n_missed:
            what = f"{plural(self.n_missed, 'mention')} that no system and no human translation has"
            notes.append(f"{what}: taken for misses of the linker, not listed.")
        if self.n_undecided:
            what = plural(self.n_undecided, "mention")
            verb = "is" if self.n_undecided == 1 else "are"
            notes.append(f"{what} may be part of a longer name, and {verb} left undecided.")
        return table_of(self.alarms[:n], columns, "Names and numbers to look at", notes)

    def sentence(self) -> str:
        """Say how many entities each system keeps; nothing where the score is another share."""
        each = [f"{s.system} {s.matched:,}" for s in self.systems if not s.is_reference]
        if self.measure != "recall" or not (each and self.n_source_entities):
            return ""
        count = f"{self.systems[0].wanted:,} {self.counted} of the {self.what}"
        return f"Of {count}, systems keep: {listed(each)}."

    def brief(self) -> tuple[Table, ...]:
        """Return the surest alarms, without the column that takes most room."""
        table = self.look_table(_BRIEF)
        rows = tuple(row[:-1] for row in table.rows)
        title = f"{table.title}: {len(rows)} of {len(self.alarms):,} alarms, the surest first"
        return (Table(title, table.columns[:-1], rows),) if rows else ()

    def jsonl(self) -> Iterator[str]:
        """Yield a line of JSON per system and segment: texts, and what happened to each entity.

        Alarms come first, the surest before the others; those below the cut are counted.
        """
        linked, linker = self.explanation.linked, self.explanation.linker
        for system, at, text, findings in self.explanation.texts():
            kinds = Counter(finding.kind for finding in findings)
            shown = [f for f in findings if f.is_alarm and f.sureness >= self.cut]
            shown.sort(key=lambda f: -f.sureness)
            shown += [f for f in findings if not f.is_alarm]
            row = {
                "system": system,
                "segment": linked.ids[at],
                "against": self.against,
                "source": linked.sources[at],
                "output": text,
                "counts": {kind: kinds[kind] for kind in KINDS if kinds[kind]},
                "cut": self.cut,
                "below": len(findings) - len(shown),
                "entities": [finding.to_dict(linker) for finding in shown],
            }
            yield json.dumps(row, ensure_ascii=False)


def entity_warnings(report: KobeReport, n_missing: int) -> Iterator[str]:
    """Warn where a score rests on little; ``n_missing`` segments have nothing to compare with."""
    if n_missing:
        verb = "is" if n_missing == 1 else "are"
        yield f"{plural(n_missing, 'segment')} without a {report.what} {verb} excluded"
    if report.coverage < _COVERAGE:
        yield (
            f"only {report.coverage:.0%} of the segments have an entity: "
            "the score says nothing about the rest"
        )
    systems = [s for s in report.systems if not s.is_reference and s.wanted]
    most = max(systems, key=lambda s: s.mentioned / s.wanted, default=None)
    if most is not None and most.mentioned / most.wanted > _RATIO:
        yield (
            f"outputs of '{most.system}' have {most.mentioned / most.wanted:.1f} times the "
            f"entities of the {report.what}: the penalty for too many entities (from 2 on) is near "
            "or at work"
        )
    recalls = [s.recall for s in systems if not math.isnan(s.recall)]
    if len(recalls) > 1 and max(recalls) - min(recalls) < _NOISE:
        yield (
            f"all systems lie within {max(recalls) - min(recalls):.1f} points of recall: entities "
            "can't rank them (look at what each one lost instead)"
        )
    people = [s.system for s in report.systems if s.is_reference]
    for group in report.groups:
        recall = [(group.recall[name], name) for name in people if group.recall[name] >= 0]
        if recall and group.wanted >= _COMMON and max(recall)[0] < _CEILING:
            best, name = max(recall)
            yield (
                f"the human translation {name} keeps {best:.0f} of 100 in the group "
                f"'{group.category}': a ceiling, the linker misses much there"
            )
