"""What KoBE found: the score of every system, by category, what is lost, and why.

What happened to an entity of a segment is that it was found, lost, changed, copied or added.
Mentions are paired by any of their readings there, which is more forgiving than the score: a list
of errors with many false alarms is not read twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from steelyard.core.table import Column, Frame, Table, frame
from steelyard.kobe.matching import Kobe, count_penalty, pair_candidates
from steelyard.kobe.mention import Linker, Mention, Mentions
from steelyard.stats.arrays import Floats

Kind = Literal["found", "lost", "changed", "copied", "added"]
#: Categories that stand for each other when one is put in the place of another.
_FAMILIES = {
    "quantity": ("number", "percent", "ordinal", "date", "time"),
    "place": ("country", "region", "city", "place", "language", "demonym"),
    "calendar": ("month", "weekday"),
    "name": ("person", "organisation", "work", "product", "event", "name", "term"),
}
_FAMILY = {category: family for family, own in _FAMILIES.items() for category in own}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedTexts:
    """Texts with their mentions: of sources, and of each output after the language filter.

    References are outputs, too. ``filtered`` counts sentences that are not in the target language.
    """

    ids: tuple[str, ...]
    sources: tuple[str | None, ...]
    source_mentions: tuple[Mentions, ...]
    outputs: Mapping[str, tuple[str | None, ...]]
    output_mentions: Mapping[str, tuple[Mentions | None, ...]]
    filtered: Mapping[str, int]


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
        plain = ("src", "tgt", "against", "signature", "n_segments", "n_without_entities",
                 "n_source_entities", "coverage")  # fmt: skip
        return {name: getattr(self, name) for name in plain} | {
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
        counts = (Column(name, digits=0) for name in ("kept", "of", "mentioned", "filtered"))
        columns = (
            Column("system"),
            Column("KoBE", "higher", 2),
            Column("recall", None, 2),
            Column("penalty", None, 3),
            Column("precision", None, 2),
            *counts,
        )
        rows = [s[:-1] for s in self.systems]  # all but whether it is a reference
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
        for system, at, _, findings in self._explained(systems):
            for finding in findings:
                yield system, at, finding

    def _explained(
        self, systems: Sequence[str] | None = None
    ) -> Iterator[tuple[str, int, str, list[Finding]]]:
        if self.linked is None:
            return
        for system, texts in self.linked.outputs.items():
            if systems is not None and system not in systems:
                continue
            mentions = self.linked.output_mentions[system]
            for at, source in enumerate(self.linked.source_mentions):
                text, own = texts[at], mentions[at]
                if text is not None and own is not None:
                    yield system, at, text, explain(source, text, own)

    def jsonl(self) -> Iterator[str]:
        """Give a line of JSON per system and segment: texts, and what happened to each entity."""
        linked, linker = self.linked, self.linker
        if linked is None or linker is None:
            return
        for system, at, text, findings in self._explained():
            row = {
                "system": system,
                "segment": linked.ids[at],
                "against": self.against,
                "source": linked.sources[at],
                "output": text,
                "entities": [finding.to_dict(linker) for finding in findings],
            }
            yield json.dumps(row, ensure_ascii=False)


# -- what happened to each entity


class Finding(NamedTuple):
    """What happened to one entity: its mention in the source, in the output, or in both.

    ``copied``: the form of the source stands in the output, where it is not the target language's.
    ``changed``: another entity of the same kind stands in the output. ``added``: the source has
    none for it.
    """

    kind: Kind
    source: Mention | None
    output: Mention | None

    @property
    def mention(self) -> Mention:
        """The mention of the source, else that of the output."""
        mention = self.source or self.output
        assert mention is not None
        return mention

    def to_dict(self, linker: Linker) -> dict[str, Any]:
        """Give what a line of JSON holds: spans are [start, end, text] in characters."""
        mention = self.mention
        return {
            "kind": self.kind,
            "category": mention.category,
            "tier": mention.tier,
            "id": linker.name(mention.id),
            "source": _span(self.source),
            "output": _span(self.output),
            "output_id": None if self.output is None else linker.name(self.output.id),
        }


def _span(mention: Mention | None) -> list[Any] | None:
    return None if mention is None else [mention.start, mention.end, mention.text]


def explain(source: Mentions, output: str, mentions: Mentions) -> list[Finding]:
    """Say what happened to each entity of a source, in order, and what was added.

    Parameters
    ----------
    source
        Mentions of the source.
    output, mentions
        The output, and its mentions in the target language.

    Examples
    --------
    >>> wien, montag = Mention(0, 4, "Wien", "Q1741", "city"), Mention(5, 11, "Montag", "dow:0")
    >>> venice = Mention(3, 9, "Venice", "Q641", "city")
    >>> [(f.kind, f.mention.text) for f in explain((wien, montag), "In Venice", (venice,))]
    [('changed', 'Wien'), ('lost', 'Montag')]
    """
    pairs = pair_candidates(source, mentions)
    taken = set(pairs.values())
    free = [m for j, m in enumerate(mentions) if j not in taken]
    used = [(mentions[j].start, mentions[j].end) for j in taken]
    findings = {i: Finding("found", source[i], mentions[j]) for i, j in pairs.items()}
    lost = [i for i in range(len(source)) if i not in findings]
    for i in list(lost):
        copy = _copy(source[i], output, used)
        if copy is not None:
            findings[i] = Finding("copied", source[i], copy)
            used.append((copy.start, copy.end))
            free = [m for m in free if m.end <= copy.start or copy.end <= m.start]
            lost.remove(i)
    for kind in (lambda category: category, _FAMILY.get):
        for i in list(lost):
            wanted = kind(source[i].category)
            other = next((m for m in free if wanted and kind(m.category) == wanted), None)
            if other is not None:
                findings[i] = Finding("changed", source[i], other)
                free.remove(other)
                lost.remove(i)
    for i in lost:
        findings[i] = Finding("lost", source[i], None)
    added = [Finding("added", None, m) for m in free]
    return [findings[i] for i in sorted(findings)] + added


def _copy(mention: Mention, output: str, used: Sequence[tuple[int, int]]) -> Mention | None:
    """Find the form of the source in the output, as words of their own that mean nothing there."""
    text = mention.text
    if not any(c.isalpha() for c in text):
        return None
    start = output.find(text)
    while start >= 0:
        end = start + len(text)
        whole = not (output[start - 1 : start].isalnum() and text[0].isalnum()) and not (
            output[end : end + 1].isalnum() and text[-1].isalnum()
        )
        alone = text[0] >= "\u0e00"  # written without blanks
        if (whole or alone) and all(end <= s or e <= start for s, e in used):
            return mention._replace(start=start, end=end, rule="copied")
        start = output.find(text, start + 1)
    return None
