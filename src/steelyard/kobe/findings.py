"""What KoBE found: the score of every system, by category, what is lost and what is added."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from steelyard.core.display import Result, Summary, named, one_line
from steelyard.core.options import check_share
from steelyard.core.table import Column, Frame, Table, frame
from steelyard.core.text import listed, plural
from steelyard.kobe import words
from steelyard.kobe.alarms import AddedEntity, Alarm, Explained, LostEntity
from steelyard.kobe.explaining import KINDS, Finding
from steelyard.kobe.matching import Kobe, count_penalty
from steelyard.kobe.mention import LinkedTexts, Linker
from steelyard.kobe.shown import ShownAlarms
from steelyard.kobe.terms import TermUse, terms_table
from steelyard.stats.arrays import Floats

_NAMED = 3  # systems that a row names
_BRIEF = 5  # alarms that stand below the scores


class SystemEntities(NamedTuple):
    """A system's score in percent, and the counts that it is made of.

    ``recall`` and ``penalty`` make the score; ``lost`` and ``added`` are what recall and precision
    lack. ``filtered`` counts the sentences that are not in the target language.
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
    """Recall of one category (or group) in percent, by any reading, per system and reference."""

    category: str
    wanted: int
    recall: Mapping[str, float]


@dataclass(frozen=True, slots=True, repr=False)
class KobeReport(Result):
    """How well systems keep the entities of a source (or of a reference).

    Parameters
    ----------
    src, tgt, against
        The languages, and what outputs were compared with: ``src`` or the name of a reference.
    signature
        What exactly was computed, in a line.
    systems
        Scores and counts per system; references come last, as a ceiling.
    categories, groups
        Recall by category, and by group of categories, the commonest first.
    n_segments, n_without_entities
        Segments with a source (or reference), and those in which there is nothing to keep.
    n_missed
        Mentions that neither a system nor a human translation keeps: misses of the linker.
    counted, measure
        ``mentions``, or ``entities``, each once per segment; what of them the score is.
    shown
        Single entities (``lost``, ``alarms``, ...), computed when they are first asked for.
    """

    src: str | None
    tgt: str | None
    against: str
    signature: str
    systems: tuple[SystemEntities, ...]
    categories: tuple[CategoryRecall, ...]
    n_segments: int
    n_without_entities: int
    n_source_entities: int
    warnings: tuple[str, ...] = ()
    n_missed: int = 0
    counted: str = "mentions"
    measure: str = "recall"
    groups: tuple[CategoryRecall, ...] = ()
    shown: ShownAlarms = field(default_factory=ShownAlarms, compare=False)

    @property
    def linked(self) -> LinkedTexts | None:
        """The texts with their mentions; None of shards, which keep counts."""
        return None if self.shown.what is None else self.shown.what.linked

    @property
    def linker(self) -> Linker | None:
        """What found the mentions."""
        return None if self.shown.what is None else self.shown.what.linker

    @property
    def explained(self) -> Explained | None:
        """What happened to every entity of every output; None of shards."""
        return self.shown.explained

    @property
    def cut(self) -> float:
        """The confidence from which alarms are shown; NaN where there are no single findings."""
        return self.shown.cut

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """What to look at, the surest first."""
        return self.shown.alarms

    @property
    def n_alarms(self) -> int:
        """How many alarms there are, those below the cut as well."""
        return self.shown.n_alarms

    @property
    def n_below(self) -> int:
        """How many alarms are below the cut."""
        return self.shown.n_below

    @property
    def n_undecided(self) -> int:
        """Mentions that may be part of something else, and are not in the output: never lost."""
        return self.shown.n_undecided

    @property
    def lost(self) -> tuple[LostEntity, ...]:
        """The entities that systems lose, from the cut on, the surest first."""
        return self.shown.lost

    @property
    def added(self) -> tuple[AddedEntity, ...]:
        """The entities that systems add, from the cut on, the surest first."""
        return self.shown.added

    @property
    def terms(self) -> tuple[TermUse, ...]:
        """Terms of a glossary, and whether outputs use them."""
        return self.shown.terms

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

    def words(self) -> Summary:
        """Say which system keeps most of the entities, and how much that rests on."""
        return Summary.of(words.told(self))

    def __repr__(self) -> str:
        order = named([s.system for s in self.systems if not s.is_reference])
        size = f"{plural(self.n_segments, 'segment')}, {self.n_source_entities:,} entities"
        return one_line(self, f"against {self.against}: {size}; {order}")

    def tables(self) -> list[Table]:
        """Give all tables that the command prints: scores, groups, what to look at."""
        return list(self.details())

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
        purpose = "A summary leaves things out: precision says whether it is true to its source."
        return (told, purpose)

    def cut_at(self, least: float | None = None) -> KobeReport:
        """Show alarms from this confidence on; None is the cut for what there is to compare with.

        What is found and scored stays as it is.
        """
        check_share(optional=True, min_confidence=least)
        return replace(self, shown=replace(self.shown, least=least))

    def cut_note(self) -> str:
        """Say where alarms are cut, what they rest on, and how many are not shown."""
        return self.shown.note()

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
            "groups": [
                {"group": c.category, "wanted": c.wanted, "recall": dict(c.recall)}
                for c in self.groups
            ],
            **self.shown.to_dict(),
            "lost": [{**e._asdict(), "by_system": dict(e.by_system)} for e in self.lost],
            "added": [{**e._asdict(), "by_system": dict(e.by_system)} for e in self.added],
            "meaning": self.meaning(),
            "questions": list(self.questions()),
            "warnings": list(self.warnings),
        }

    def _segment(self, at: int) -> str:
        return str(at) if self.linked is None else self.linked.ids[at]

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
        """Give recall by group of categories: a row per group, a column per system and reference.

        Where categories belong to no group, they are rows of their own.
        """
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
            s.system: {
                c.category: round(c.recall[s.system] * c.wanted / 100)
                for c in self.categories
                if c.recall[s.system] == c.recall[s.system]
            }
            for s in self.systems
            if not s.is_reference
        }
        return counts, kept

    def look_table(self, n: int = 20) -> Table:
        """Give single findings, the surest first: names and numbers to look at."""
        columns = (Column("system"), Column("segment", importance=7), Column("what", importance=8),
                   Column("source", importance=8), Column("output", importance=8),
                   Column("confidence", digits=2, importance=6), Column("why"))  # fmt: skip
        rows = tuple(
            (a.system, self._segment(a.at), a.what, a.source, a.output, a.confidence, a.why)
            for a in self.alarms[:n]
        )
        notes = [self.cut_note()] if self.n_alarms else []
        if len(self.alarms) > n:
            notes.append(f"{len(self.alarms) - n:,} more are in the file of explanations.")
        if self.n_undecided:
            what = plural(self.n_undecided, "mention")
            left = "is" if self.n_undecided == 1 else "are"
            notes.append(f"{what} may be part of a longer name, and {left} left undecided.")
        return Table("Names and numbers to look at", columns, rows, tuple(notes))

    def lost_table(self, n: int = 20) -> Table:
        """Give the entities that systems lose, those first whose loss is surest."""
        columns = (Column("entity"), Column("id"), Column("category"), Column("lost", digits=0),
                   Column("of", digits=0), Column("confidence", digits=2),
                   Column("by"))  # fmt: skip
        rows = tuple(
            (e.text, e.id, e.category, e.lost, e.wanted, e.confidence, _shares(e.by_system))
            for e in self.lost[:n]
        )
        told = f"{plural(self.n_missed, 'mention')} that no system and no human translation has: "
        notes = (told + "taken for misses of the linker, not listed.",) if self.n_missed else ()
        return Table("Most often lost", columns, rows, notes)

    def added_table(self, n: int = 20) -> Table:
        """Give the entities that outputs have and their sources have not, the surest first."""
        columns = (Column("entity"), Column("id"), Column("category"), Column("added", digits=0),
                   Column("confidence", digits=2), Column("by"))  # fmt: skip
        rows = tuple(
            (e.text, e.id, e.category, e.added, e.confidence, _shares(e.by_system))
            for e in self.added[:n]
        )
        return Table(f"Most often added: not in the {self.what}", columns, rows)

    def terms_table(self, n: int = 20) -> Table:
        """Give the terms of a glossary that outputs do not use."""
        return terms_table(self.terms, n)

    def sentence(self) -> str:
        """Say how many entities each system keeps; nothing where the score is another share."""
        each = [f"{s.system} {s.matched:,}" for s in self.systems if not s.is_reference]
        if self.measure != "recall" or not (each and self.n_source_entities):
            return ""
        count = f"{self.systems[0].wanted:,} {self.counted} of the {self.what}"
        return f"Of {count}, systems keep: {listed(each)}."

    def brief(self) -> tuple[Table, ...]:
        """Give the surest alarms."""
        table = self.look_table(_BRIEF)
        rows = tuple(row[:-1] for row in table.rows)  # without why, which takes much room
        title = f"{table.title}: {len(rows)} of {len(self.alarms):,} alarms, the surest first"
        return (Table(title, table.columns[:-1], rows),) if rows else ()

    def details(self) -> tuple[Table, ...]:
        """Give recall and precision, recall by group, what to look at, what is lost and added."""
        told = [category.category for category in self.categories] != ["entity"]
        return (
            replace(self.table(), notes=self.questions()),  # the meaning stands below the scores
            *((self.category_table(),) if told else ()),
            *((self.look_table(10),) if self.n_alarms else ()),
            *((self.terms_table(10),) if any(term.missed for term in self.terms) else ()),
            *((self.lost_table(10),) if self.lost or self.n_missed else ()),
            *((self.added_table(10),) if self.added else ()),
        )

    def findings(self, systems: Sequence[str] | None = None) -> Iterator[tuple[str, int, Finding]]:
        """Give what happened to every entity, however doubtful: (system, segment, finding)."""
        if self.explained is not None:
            for system, at, _, findings in self.explained.texts(systems):
                for finding in findings:
                    yield system, at, finding

    def jsonl(self) -> Iterator[str]:
        """Give a line of JSON per system and segment: texts, and what happened to each entity.

        Alarms come first, the surest before the others; those below the cut are counted.
        """
        linked, linker = self.linked, self.linker
        if self.explained is None or linked is None or linker is None:
            return
        for system, at, text, findings in self.explained.texts():
            kinds = Counter(finding.kind for finding in findings)
            alarms = [f for f in findings if f.is_alarm]
            shown = [f for f in alarms if (f.confidence or 0.0) >= self.cut]
            shown.sort(key=lambda f: -(f.confidence or 0.0))
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


def _shares(by_system: Mapping[str, int]) -> str:
    """Say how often each system did it, those first that did most."""
    order = sorted(by_system, key=lambda name: (-by_system[name], name))
    return listed([f"{name} {by_system[name]}" for name in order], _NAMED)
