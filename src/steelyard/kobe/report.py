"""KobeReport: the score of every system, by category, and what is most often lost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from steelyard.core.table import Column, Frame, Table, frame
from steelyard.kobe.explanation import Finding, explain
from steelyard.kobe.linking.linked import Linker, Mentions


class SystemEntities(NamedTuple):
    """A system's score in percent, and the counts that it is made of.

    ``recall`` and ``penalty`` make the score; ``precision`` is for information. ``filtered`` counts
    the sentences that are not in the target language.
    """

    system: str
    score: float
    recall: float
    penalty: float
    precision: float
    matched: int
    wanted: int
    found: int
    filtered: int
    is_reference: bool = False


class CategoryRecall(NamedTuple):
    """Recall of one category in percent, by any reading, per system and reference."""

    category: str
    wanted: int
    recall: Mapping[str, float]


class LostEntity(NamedTuple):
    """An entity that systems lose: how often they had it to keep, and how often they did not."""

    id: str
    text: str
    category: str
    wanted: int
    lost: int
    by_system: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class LinkedTexts:
    """Texts with their mentions: of sources, and of each output after the language filter."""

    ids: tuple[str, ...]
    sources: tuple[str | None, ...]
    source_mentions: tuple[Mentions, ...]
    outputs: Mapping[str, tuple[str | None, ...]]
    output_mentions: Mapping[str, tuple[Mentions | None, ...]]


@dataclass(frozen=True, slots=True)
class KobeReport:
    """How well systems keep the entities of a source (or of a reference).

    Parameters
    ----------
    src, tgt, against
        The languages, and what outputs were compared with: ``src`` or the name of a reference.
    signature
        What exactly was computed, in a line.
    systems
        Scores and counts per system; references come last, as a ceiling.
    categories
        Recall by category, the commonest first.
    lost
        The entities that are most often lost.
    n_segments, n_without_entities
        How many segments there are, and in how many there is nothing to keep.
    """

    src: str
    tgt: str
    against: str
    signature: str
    systems: tuple[SystemEntities, ...]
    categories: tuple[CategoryRecall, ...]
    lost: tuple[LostEntity, ...]
    n_segments: int
    n_without_entities: int
    n_source_entities: int
    warnings: tuple[str, ...] = ()
    linked: LinkedTexts | None = field(default=None, repr=False, compare=False)
    linker: Linker | None = field(default=None, repr=False, compare=False)

    @property
    def coverage(self) -> float:
        """The share of segments with an entity to keep."""
        return 1 - self.n_without_entities / self.n_segments if self.n_segments else float("nan")

    @property
    def scores(self) -> dict[str, float]:
        """The score of every system, references left out."""
        return {s.system: s.score for s in self.systems if not s.is_reference}

    def meaning(self) -> str:
        """Say in words what the scores mean on an absolute scale."""
        what = "source" if self.against == "src" else f"reference {self.against}"
        text = (
            f"Of 100 entities in the {what}, a system with score 90 has 90 in its output. "
            f"{self.n_source_entities} entities were found in "
            f"{self.n_segments - self.n_without_entities} of {self.n_segments} segments"
        )
        ceilings = [s for s in self.systems if s.is_reference]
        if ceilings:
            best = max(ceilings, key=lambda s: s.recall)
            text += f"; the human translation {best.system} keeps {best.recall:.1f} of 100"
        return text + "."

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "src": self.src,
            "tgt": self.tgt,
            "against": self.against,
            "signature": self.signature,
            "n_segments": self.n_segments,
            "n_without_entities": self.n_without_entities,
            "n_source_entities": self.n_source_entities,
            "coverage": self.coverage,
            "systems": [s._asdict() for s in self.systems],
            "categories": [
                {"category": c.category, "wanted": c.wanted, "recall": dict(c.recall)}
                for c in self.categories
            ],
            "lost": [{**e._asdict(), "by_system": dict(e.by_system)} for e in self.lost],
            "meaning": self.meaning(),
            "warnings": list(self.warnings),
        }

    def to_frame(self, backend: str | None = None) -> Frame:
        """Give the scores of the systems as a pandas or polars frame."""
        names = SystemEntities._fields
        return frame({name: [getattr(s, name) for s in self.systems] for name in names}, backend)

    def table(self) -> Table:
        """Give the scores of the systems, the best first, references below."""
        columns = (
            Column("system"),
            Column("KoBE", "higher", 2),
            Column("recall", None, 2),
            Column("penalty", None, 3),
            Column("precision", None, 2),
            Column("kept", digits=0),
            Column("of", digits=0),
            Column("mentioned", digits=0),
            Column("filtered", digits=0),
        )
        rows = [(s.system, s.score, s.recall, s.penalty, s.precision, s.matched, s.wanted, s.found,
                 s.filtered) for s in self.systems]  # fmt: skip
        n = sum(not s.is_reference for s in self.systems)
        rules = frozenset({n}) if 0 < n < len(rows) else frozenset()
        title = f"Entities kept, {self.src}-{self.tgt}, against {self.against}"
        return Table(title, columns, tuple(rows), (self.meaning(),), rules)

    def category_table(self) -> Table:
        """Give recall by category: a row per category, a column per system and reference."""
        names = [s.system for s in self.systems]
        columns = (
            Column("category"),
            Column("entities", digits=0),
            *(Column(name, digits=1) for name in names),
        )
        rows = tuple(
            (c.category, c.wanted, *(c.recall.get(name) for name in names)) for c in self.categories
        )
        note = "Recall in percent, by any reading; a human translation's recall is the ceiling."
        references = any(s.is_reference for s in self.systems)
        return Table("Recall by category", columns, rows, (note,) if references else ())

    def category_counts(self) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
        """Count entities by category: those of the source, and those that each system keeps."""
        counts = {c.category: c.wanted for c in self.categories}
        kept = {
            s.system: {
                c.category: round(c.recall[s.system] * c.wanted / 100)
                for c in self.categories
                if c.recall[s.system] == c.recall[s.system]
            }
            for s in self.systems
            if not s.is_reference
        }
        return counts, kept

    def lost_table(self, n: int = 20) -> Table:
        """Give the entities that are most often lost."""
        columns = (Column("entity"), Column("id"), Column("category"),
                   Column("lost", digits=0), Column("of", digits=0))  # fmt: skip
        rows = tuple((e.text, e.id, e.category, e.lost, e.wanted) for e in self.lost[:n])
        return Table("Most often lost", columns, rows)

    def details(self) -> tuple[Table, ...]:
        """Give recall by category and what is most often lost."""
        return (self.category_table(), self.lost_table(10))

    def findings(self, systems: Sequence[str] | None = None) -> Iterator[tuple[str, int, Finding]]:
        """Give what happened to every entity: (system, segment, finding)."""
        if self.linked is None:
            return
        for system, texts in self.linked.outputs.items():
            if systems is not None and system not in systems:
                continue
            mentions = self.linked.output_mentions[system]
            for at, source in enumerate(self.linked.source_mentions):
                text, own = texts[at], mentions[at]
                if text is not None and own is not None:
                    for finding in explain(source, text, own):
                        yield system, at, finding

    def jsonl(self) -> Iterator[str]:
        """Give a line of JSON per system and segment: texts, and what happened to each entity."""
        if self.linked is None or self.linker is None:
            return
        linked, linker = self.linked, self.linker
        for system, texts in linked.outputs.items():
            for at, source in enumerate(linked.source_mentions):
                text, own = texts[at], linked.output_mentions[system][at]
                if text is None or own is None:
                    continue
                findings = [f.to_dict(linker) for f in explain(source, text, own)]
                row = {"system": system, "segment": linked.ids[at], "against": self.against,
                       "source": linked.sources[at], "output": text,
                       "entities": findings}  # fmt: skip
                yield json.dumps(row, ensure_ascii=False)
