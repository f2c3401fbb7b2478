"""What KoBE finds: scores of systems, recall by category, and what became of entities."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
)
from steelyard.core.table import Column, Table
from steelyard.core.text import listed, plural
from steelyard.kobe.alarms import Explanation
from steelyard.kobe.explaining import KINDS, Finding

_COVERAGE = 0.5  # share of segments with entities, below which a score rests on little
_NOISE = 2.0  # percent of recall


@dataclass(frozen=True, slots=True)
class SystemEntities(Record):
    """A system's score in percent, and the counts behind it.

    ``lost`` mentions of the source are not matched, ``added`` mentions of the output neither.
    ``filtered`` counts the outputs that are not in the target language.
    """

    json_keys: ClassVar[Mapping[str, str]] = keys(
        "system score recall penalty matched wanted found=mentioned filtered is_reference lost "
        "added"
    )

    system: str
    score: float
    recall: float
    penalty: float
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
    """Recall of a category in percent, by system and reference."""

    json_keys: ClassVar[Mapping[str, str]] = keys("category=name wanted recall")

    name: str
    wanted: int
    recall: Mapping[str, float]


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
    categories
        Recall by category, the commonest first, by any reading.
    n_segments, n_without_entities
        How many segments have a source (or reference), and how many of them have no entity.
    n_source_entities, n_missed
        How many mentions count, and how many mentions neither a system nor a human translation
        keeps: most likely the linker is wrong.
    explanation
        What happened to every entity; it is worked out when it is first needed.
    """

    layout: ClassVar[Layout] = Layout(
        "systems",
        (
            Field("system"), Field("score", "KoBE", "higher", 2), Field("recall", digits=2),
            Field("penalty", digits=3), Field("matched", "kept", digits=0),
            Field("wanted", "of", digits=0), Field("lost", digits=0),
            Field("mentioned", digits=0), Field("added", digits=0), Field("filtered", digits=0),
        ),
    )  # fmt: skip
    json_keys: ClassVar[Mapping[str, str]] = keys(
        "src tgt against signature n_segments n_without_entities n_source_entities n_missed "
        "coverage systems categories meaning warnings"
    )

    src: str | None
    tgt: str | None
    against: str
    signature: str
    systems: tuple[SystemEntities, ...]
    categories: tuple[CategoryRecall, ...]
    n_segments: int
    n_without_entities: int
    n_source_entities: int
    n_missed: int
    explanation: Explanation = field(compare=False)
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
    def what(self) -> str:
        """What outputs were compared with, in words."""
        reference = f"reference {self.against}" if self.against != "ref" else "reference"
        return "source" if self.against == "src" else reference

    @property
    def cut(self) -> float:
        """The confidence from which on alarms are worth a look."""
        return self.explanation.default_cut

    def findings(self, systems: Sequence[str] | None = None) -> Iterator[tuple[str, int, Finding]]:
        """Yield system, segment and finding of every entity, however doubtful."""
        return self.explanation.findings(systems)

    def words(self) -> Summary:
        """Say which system keeps most of the entities, and what that rests on."""
        return Summary.of(self._statements())

    def _statements(self) -> Iterator[Statement]:
        scores = {name: score for name, score in self.scores.items() if not math.isnan(score)}
        if not scores:
            why = f"no entity was found in the {self.what}" if self.scores else "there is no system"
            yield "undecided", f"KoBE says nothing here: {why}."
            return
        best = max(scores.values())
        top = [name for name, score in scores.items() if score == best]
        first = first_place(top, len(self.scores), f"KoBE ({best:.2f})")
        yield "undecided" if len(self.scores) == 1 else "settled", first
        yield "settled", self.sentence()
        with_some = self.n_segments - self.n_without_entities
        counts = f"{self.n_source_entities:,} entities in {with_some:,} of"
        yield "sureness", f"This rests on {counts} {plural(self.n_segments, 'segment')}."
        if len(scores) > 1:
            text = "No test was made: steelyard compare says whether a lead is more than chance."
            yield "sureness", text

    @property
    def _ceiling(self) -> str | None:
        people = [s for s in self.systems if s.is_reference and not math.isnan(s.recall)]
        if not people:
            return None
        best = max(people, key=lambda s: s.recall)
        return f"human translation {best.system} keeps {best.recall:.1f} of 100"

    def __repr__(self) -> str:
        order = named([s.system for s in self.systems if not s.is_reference])
        size = f"{plural(self.n_segments, 'segment')}, {self.n_source_entities:,} entities"
        return one_line(self, f"against {self.against}: {size}; {order}")

    @property
    def meaning(self) -> str:
        """What the scores mean on an absolute scale."""
        ceiling = f"; the {self._ceiling}" if self._ceiling else ""
        return (
            f"Of 100 entities in the {self.what}, a system with score 90 has 90 in its output. "
            f"{self.n_source_entities} entities were found in "
            f"{self.n_segments - self.n_without_entities} of {self.n_segments} segments{ceiling}."
        )

    @property
    def title(self) -> str:
        """The title of the first table."""
        pair = f", {self.src}-{self.tgt}" if self.src and self.tgt else ""
        return f"Entities kept{pair}, against {self.against}"

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the first table."""
        return (self.meaning,)

    def table(self) -> Table:
        """Return the scores of the systems, the best first, references below."""
        table = super().table()
        n = sum(not s.is_reference for s in self.systems)
        return replace(table, rules=frozenset({n} if 0 < n < len(table.rows) else ()))

    def tables(self) -> list[Table]:
        """Return scores, and recall by category."""
        return list(self.details())

    def details(self) -> tuple[Table, ...]:
        """Return scores, and recall by category."""
        scores = replace(self.table(), notes=())  # `score` has the meaning below
        if [c.name for c in self.categories] == ["entity"]:
            return (scores,)
        names = [s.system for s in self.systems]
        columns = (
            Column("category"),
            Column("entities", digits=0),
            *(Column(name, digits=1) for name in names),
        )
        rows = tuple((c.name, c.wanted, *map(c.recall.get, names)) for c in self.categories)
        note = (
            "Recall in percent, by any reading; a human translation's recall is the ceiling: what "
            "people do not keep either, the linker missed."
        )
        notes = (note,) if any(s.is_reference for s in self.systems) else ()
        return scores, Table("Recall by category", columns, rows, notes)

    def category_counts(self) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
        """Count entities by category: those of the source, and those that each system keeps."""
        counts = {c.name: c.wanted for c in self.categories}
        kept = {
            name: {
                c.name: round(c.recall[name] * c.wanted / 100)
                for c in self.categories
                if not math.isnan(c.recall[name])
            }
            for name in self.scores
        }
        return counts, kept

    def sentence(self) -> str:
        """Say how many entities each system keeps."""
        each = [f"{s.system} {s.matched:,}" for s in self.systems if not s.is_reference]
        if not (each and self.n_source_entities):
            return ""
        count = f"{self.systems[0].wanted:,} mentions of the {self.what}"
        return f"Of {count}, systems keep: {listed(each)}."

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
    recalls = [s.recall for s in systems if not math.isnan(s.recall)]
    if len(recalls) > 1 and max(recalls) - min(recalls) < _NOISE:
        yield (
            f"all systems lie within {max(recalls) - min(recalls):.1f} points of recall: entities "
            "can't rank them (look at what each one lost instead)"
        )
