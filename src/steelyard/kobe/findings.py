"""What KoBE found: the score of every system, by category, what is lost and what is added."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from steelyard.core.table import Column, Frame, Table, frame
from steelyard.core.words import listed, plural
from steelyard.kobe.explaining import KINDS, Finding, explain, missed_by_all
from steelyard.kobe.matching import Kobe, count_penalty, match
from steelyard.kobe.mention import LinkedTexts, Linker
from steelyard.stats.arrays import Floats

_NAMED = 3  # systems that a row names


class SystemEntities(NamedTuple):
    """A system's score in percent, and the counts that it is made of.

    ``recall`` and ``penalty`` make the score; ``precision`` and ``f`` stand beside it. ``lost`` and
    ``added`` are what recall and precision lack: mentions of the source that are not matched, and
    of the output. ``filtered`` counts the sentences that are not in the target language.
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
    f: float = float("nan")

    @property
    def lost(self) -> int:
        """Mentions of the source that the output does not have, or not as often."""
        return self.wanted - self.matched

    @property
    def added(self) -> int:
        """Mentions of the output that the source does not have, or not as often."""
        return self.found - self.matched

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {**self._asdict(), "lost": self.lost, "added": self.added}

    @classmethod
    def of(
        cls, system: str, score: float, sums: Floats, filtered: int, *, is_reference: bool = False
    ) -> SystemEntities:
        """Count what the statistics of :class:`~steelyard.kobe.matching.Kobe` add up to."""
        return cls(
            system=system,
            score=float(score),
            recall=float(Kobe(penalty=False)(sums)),
            penalty=float(count_penalty(sums[4], sums[3])),
            precision=float(Kobe(measure="precision")(sums)),
            matched=int(sums[2]),
            wanted=int(sums[3]),
            found=int(sums[4]),
            filtered=filtered,
            is_reference=is_reference,
            f=float(Kobe(measure="f")(sums)),
        )


def ranked(systems: Iterable[SystemEntities]) -> list[SystemEntities]:
    """Sort systems, the best first, those without a score last."""
    return sorted(systems, key=lambda s: (-s.score if s.score == s.score else 1e9, s.system))


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


class AddedEntity(NamedTuple):
    """An entity that outputs mention and their sources do not, by any reading, and how often."""

    id: str
    text: str
    category: str
    added: int
    by_system: Mapping[str, int]


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
    lost, added
        The entities that are most often lost, and those that are most often added.
    n_segments, n_without_entities
        How many segments take part, and in how many of them there is nothing to keep. Those
        without a source (or reference) take no part.
    n_missed
        Mentions that neither a system nor a human translation keeps, which are not listed as lost:
        most likely the linker misses them.
    counted, measure
        ``mentions``, or ``entities``, each once per segment; what of them the score is.
    """

    src: str | None
    tgt: str | None
    against: str
    signature: str
    systems: tuple[SystemEntities, ...]
    categories: tuple[CategoryRecall, ...]
    lost: tuple[LostEntity, ...]
    n_segments: int
    n_without_entities: int
    n_source_entities: int
    warnings: tuple[str, ...] = ()
    added: tuple[AddedEntity, ...] = ()
    n_missed: int = 0
    counted: str = "mentions"
    measure: str = "recall"
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

    @property
    def same_language(self) -> bool:
        """Whether outputs are in the language of the source: summaries, simplifications."""
        return self.against == "src" and self.src is not None and self.src == self.tgt

    @property
    def what(self) -> str:
        """What outputs were compared with, in words."""
        named = f"reference {self.against}" if self.against != "ref" else "reference"
        return "source" if self.against == "src" else named

    def meaning(self) -> str:
        """Say in words what the scores mean on an absolute scale."""
        says = {
            "recall": f"Of 100 entities in the {self.what}, a system with score 90 has 90 in its "
            "output.",
            "precision": "Of 100 entities in the output of a system with score 90, 90 are in the "
            f"{self.what}.",
            "f": "The score is the harmonic mean of recall and precision.",
        }
        text = (
            f"{says[self.measure]} {self.n_source_entities} entities were found in "
            f"{self.n_segments - self.n_without_entities} of {self.n_segments} segments"
        )
        ceilings = [s for s in self.systems if s.is_reference]
        if ceilings:
            best = max(ceilings, key=lambda s: s.recall)
            who = "reference" if self.same_language else "human translation"
            text += f"; the {who} {best.system} keeps {best.recall:.1f} of 100"
        return text + "."

    def questions(self) -> tuple[str, ...]:
        """Say which question each column answers."""
        told = (
            f"Recall: of 100 entities of the {self.what}, how many are in the output (nothing "
            f"lost)? Precision: of 100 of the output, how many are in the {self.what} (nothing "
            "added)? F is their harmonic mean."
        )
        if not self.same_language:
            return (told,)
        purpose = (
            "A summary or simplification leaves things out on purpose: precision says whether it "
            "is true to its source, recall how much of it is there."
        )
        return (told, purpose)

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        plain = ("src", "tgt", "against", "signature", "n_segments", "n_without_entities",
                 "n_source_entities", "n_missed", "counted", "measure", "coverage")  # fmt: skip
        return {name: getattr(self, name) for name in plain} | {
            "systems": [s.to_dict() for s in self.systems],
            "categories": [
                {"category": c.category, "wanted": c.wanted, "recall": dict(c.recall)}
                for c in self.categories
            ],
            "lost": [{**e._asdict(), "by_system": dict(e.by_system)} for e in self.lost],
            "added": [{**e._asdict(), "by_system": dict(e.by_system)} for e in self.added],
            "meaning": self.meaning(),
            "questions": list(self.questions()),
            "warnings": list(self.warnings),
        }

    def to_frame(self, backend: str | None = None) -> Frame:
        """Give the scores of the systems as a pandas or polars frame."""
        names = (*SystemEntities._fields, "lost", "added")
        return frame({name: [getattr(s, name) for s in self.systems] for name in names}, backend)

    def table(self) -> Table:
        """Give the scores of the systems, the best first, references below."""
        numbers = {"recall": 2, "penalty": 3, "precision": 2, "f": 2, "matched": 0, "wanted": 0,
                   "lost": 0, "found": 0, "added": 0, "filtered": 0}  # fmt: skip
        said = {"matched": "kept", "wanted": "of", "found": "mentioned", "f": "F"}
        columns = (
            Column("system"),
            Column("KoBE", "higher", 2),
            *(Column(said.get(name, name), None, digits) for name, digits in numbers.items()),
        )
        rows = tuple(
            (s.system, s.score, *(getattr(s, name) for name in numbers)) for s in self.systems
        )
        n = sum(not s.is_reference for s in self.systems)
        rules = frozenset({n}) if 0 < n < len(rows) else frozenset()
        pair = f", {self.src}-{self.tgt}" if self.src and self.tgt else ""
        title = f"Entities kept{pair}, against {self.against}"
        return Table(title, columns, rows, (self.meaning(), *self.questions()), rules)

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
                   Column("lost", digits=0), Column("of", digits=0), Column("by"))  # fmt: skip
        rows = tuple(
            (e.text, e.id, e.category, e.lost, e.wanted, _shares(e.by_system))
            for e in self.lost[:n]
        )
        told = f"{plural(self.n_missed, 'mention')} that no system and no human translation has: "
        notes = (told + "taken for misses of the linker, not listed.",) if self.n_missed else ()
        return Table("Most often lost", columns, rows, notes)

    def added_table(self, n: int = 20) -> Table:
        """Give the entities that outputs have most often, and their sources have not."""
        columns = (Column("entity"), Column("id"), Column("category"),
                   Column("added", digits=0), Column("by"))  # fmt: skip
        rows = tuple(
            (e.text, e.id, e.category, e.added, _shares(e.by_system)) for e in self.added[:n]
        )
        return Table(f"Most often added: not in the {self.what}", columns, rows)

    def details(self) -> tuple[Table, ...]:
        """Give recall and precision, recall by category, and what is most often lost and added."""
        told = [category.category for category in self.categories] != ["entity"]
        return (
            replace(self.table(), notes=self.questions()),  # the meaning stands below the scores
            *((self.category_table(),) if told else ()),
            self.lost_table(10),
            *((self.added_table(10),) if self.added else ()),
        )

    def findings(self, systems: Sequence[str] | None = None) -> Iterator[tuple[str, int, Finding]]:
        """Give what happened to every entity: (system, segment, finding)."""
        for system, at, _, findings in self._explained(systems):
            for finding in findings:
                yield system, at, finding

    def _explained(
        self, systems: Sequence[str] | None = None
    ) -> Iterator[tuple[str, int, str, list[Finding]]]:
        linked = self.linked
        if linked is None:
            return
        missed: list[set[int]] = [set() for _ in linked.source_mentions]
        if linked.references:
            all_of = match(linked.source_mentions, linked.output_mentions, "candidates")
            starts = np.searchsorted(all_of.segment, all_of.segment)
            for at in np.flatnonzero(missed_by_all(all_of, linked.references)).tolist():
                missed[all_of.segment[at]].add(at - int(starts[at]))
        for system, texts in linked.outputs.items():
            if systems is not None and system not in systems:
                continue
            mentions = linked.output_mentions[system]
            for at, source in enumerate(linked.source_mentions):
                text, own = texts[at], mentions[at]
                if text is not None and own is not None:
                    found = explain(source, text, own, missed[at], copies_count=self.same_language)
                    yield system, at, text, found

    def jsonl(self) -> Iterator[str]:
        """Give a line of JSON per system and segment: texts, and what happened to each entity."""
        linked, linker = self.linked, self.linker
        if linked is None or linker is None:
            return
        for system, at, text, findings in self._explained():
            kinds = Counter(finding.kind for finding in findings)
            row = {
                "system": system,
                "segment": linked.ids[at],
                "against": self.against,
                "source": linked.sources[at],
                "output": text,
                "counts": {kind: kinds[kind] for kind in KINDS if kinds[kind]},
                "entities": [finding.to_dict(linker) for finding in findings],
            }
            yield json.dumps(row, ensure_ascii=False)


def _shares(by_system: Mapping[str, int]) -> str:
    """Say how often each system did it, those first that did most."""
    order = sorted(by_system, key=lambda name: (-by_system[name], name))
    return listed([f"{name} {by_system[name]}" for name in order], _NAMED)
