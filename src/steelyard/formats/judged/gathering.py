"""A set that is put together from records of judgements, which repeat texts for every rater."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.text import listed
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import Floats, Ratings
from steelyard.data.segments import Segments, Texts
from steelyard.formats.judged import errorlists
from steelyard.formats.judged.errorlists import Rating
from steelyard.formats.record import Record
from steelyard.formats.view import FileView

HUMAN = "human"  # what judgements are called whose protocol is not named
NOBODY = "unknown"  # a rater without a name


@dataclass
class Gathering:
    """What was found so far: segments and outputs by name, ratings by the name of their protocol.

    ``scored`` are human scores that are more than the mean of ratings: (system, segment) to value.
    """

    view: FileView
    described: dict[str, dict[str, str]] = field(default_factory=dict)
    references: dict[str, dict[str, str]] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    rated: dict[str, list[Rating]] = field(default_factory=dict)
    scored: dict[str, dict[tuple[str, str], float]] = field(default_factory=dict)

    def describe(self, segment: str, record: Record, **facts: str | None) -> None:
        """Note the document, domain or source of a segment; others must not have said another."""
        own = self.described.setdefault(segment, {})
        for what, text in facts.items():
            _note(own, what, text, f"{what} of segment '{segment}'", record)

    def refer(self, name: str, segment: str, text: str | None, record: Record) -> None:
        """Note a reference translation."""
        own = self.references.setdefault(name, {})
        _note(own, segment, text, f"reference of segment '{segment}'", record)

    def output(self, system: str, segment: str, text: str | None, record: Record) -> None:
        """Note what a system wrote."""
        own = self.outputs.setdefault(system, {})
        _note(own, segment, text, f"output of '{system}' for segment '{segment}'", record)

    def rate(self, name: str, rating: Rating) -> None:
        """Note a judgement."""
        self.rated.setdefault(name, []).append(rating)

    def evalset(self, lp: str | None, notes: Sequence[str] = ()) -> EvalSet:
        """Make the set; a human score is the mean of all ratings of an output."""
        ids = tuple(self.described)
        if not ids:
            self.view.fail("holds no judgement")
        ratings = {name: errorlists.ratings(rows) for name, rows in self.rated.items()}
        named = {name for own in ratings.values() for name in own.systems}
        systems = tuple(sorted({*self.outputs, *named}))

        def texts(found: Mapping[str, str]) -> Texts:
            return tuple(found.get(segment) for segment in ids)

        def told(what: str) -> Texts | None:
            own = tuple(self.described[segment].get(what) for segment in ids)
            return own if any(text is not None for text in own) else None

        segments = Segments(
            ids,
            told("document"),
            told("domain"),
            told("source"),
            {name: texts(own) for name, own in self.references.items() if own},
        )
        place = {name: i for i, name in enumerate(systems)}
        where = {name: i for i, name in enumerate(ids)}
        scores = {name: means(own, place, where) for name, own in ratings.items()}
        for name, cells in self.scored.items():
            scores[name] = np.full((len(systems), len(ids)), np.nan)
            for (system, segment), value in cells.items():
                scores[name][place[system], where[segment]] = value
        return EvalSet(
            systems,
            segments,
            {
                name: ScoreTable(values, "human", direction_given=True)
                for name, values in scores.items()
                if not np.isnan(values).all()
            },
            {name: texts(own) for name, own in self.outputs.items() if own},
            ratings,
            language_pair=lp,
            notes=tuple(notes),
        )


def _note(own: dict[str, str], key: str, text: str | None, what: str, record: Record) -> None:
    if text is not None and own.setdefault(key, text) != text:
        record.fail(f"{what} is {text[:40]!r}, but {own[key][:40]!r} on an earlier line")


def means(ratings: Ratings, systems: Mapping[str, int], segments: Mapping[str, int]) -> Floats:
    """Average the ratings of every output; controls are no judgements of outputs."""
    rows = ratings.is_item("system", "repeat") & ~np.isnan(ratings.value)
    system = np.array([systems[name] for name in ratings.systems], dtype=np.int64)
    segment = np.array([segments[name] for name in ratings.segments], dtype=np.int64)
    n = len(systems) * len(segments)
    if not rows.any():
        return np.full((len(systems), len(segments)), np.nan)
    cell = system[ratings.system[rows]] * len(segments) + segment[ratings.segment[rows]]
    total = np.bincount(cell, ratings.value[rows], minlength=n)
    count = np.bincount(cell, minlength=n)
    found = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return found.reshape(len(systems), len(segments))


def language_pair(view: FileView, lp: str | None, found: Collection[str]) -> str:
    """Give the language pair that is wanted of those that a file holds, or its only one."""
    known = listed(sorted(found), 12)
    if lp is None and len(found) > 1:
        raise UsageError(f"{view.path}: choose a language pair with lp=...; found: {known}")
    if lp is not None and lp not in found:
        view.fail(f"no language pair '{lp}'; found: {known}")
    return lp or next(iter(found))


def torn(pairs: Sequence[tuple[str, str | None]]) -> bool:
    """Tell whether segments are numbered anew in every document: pairs of segment and document."""
    counts = Counter(segment for segment, _ in set(pairs))
    return any(count > 1 for count in counts.values())
