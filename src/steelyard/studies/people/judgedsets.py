"""What a study of people rests on: raw ratings, and the texts, documents and scores beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.core.provenance import InputFile
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Floats, Ratings
from steelyard.data.segments import Segments
from steelyard.data.units import AUTO, Units, column_of, units_of
from steelyard.formats.format import TableFormat
from steelyard.formats.options import LoadOptions
from steelyard.formats.rawtable import RawTable
from steelyard.human import raters
from steelyard.human.mqm import values_of
from steelyard.human.options import HumanOptions
from steelyard.human.ranking import UNKNOWN, average
from steelyard.human.ratings import check_systems, describe, duplicate_notes
from steelyard.human.results import HumanScores
from steelyard.human.run import Inputs, Scorer, ratings_of, read_inputs
from steelyard.stats.arrays import Counts

RAW, Z = "raw", "z"


class _Any(Scorer):
    """Whatever people gave to single outputs, and scores and texts beside it."""

    name = "ratings"
    expected = "raw ratings: rater, system, segment and a score, or errors"
    scaled = False

    def takes(self, form: TableFormat, table: RawTable) -> bool:
        del form, table
        return True

    def score(
        self, read: Any, options: HumanOptions, rng: np.random.Generator
    ) -> HumanScores:  # pragma: no cover - nothing is scored here
        raise NotImplementedError

    def signed(self, options: HumanOptions, result: HumanScores) -> dict[str, Any]:
        raise NotImplementedError  # pragma: no cover - nothing is scored here


_ANY = _Any()


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Ratings of outputs with a value each (controls left out), and what else is known.

    ``value`` is the rating, or minus the cost of its errors; ``segments`` are those of the ratings;
    ``es`` holds the scores and texts of the inputs, None where there are none.
    """

    ratings: Ratings
    value: Floats
    segments: Segments
    es: EvalSet | None = None
    files: tuple[InputFile, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def named(self) -> bool:
        """Whether it is known who rated."""
        return self.ratings.raters != (UNKNOWN,)

    def columns(self) -> dict[str, Floats]:
        """Give the value of each row as it is, and standardised by rater where these are known."""
        found = {RAW: self.value}
        if self.named:
            z = raters.standardise(replace(self.ratings, value=self.value))
            found |= {} if np.isnan(z).all() else {Z: z}
        return found

    def rows(self) -> NDArray[np.bool_]:
        """Tell which rows are ratings of outputs, not controls."""
        return self.ratings.is_item("system", "repeat") & ~np.isnan(self.value)

    def units(self, unit: str) -> Units:
        """Find what is independent among the segments."""
        used = np.zeros(len(self.segments), dtype=bool)
        used[self.ratings.segment[self.rows()]] = True
        return units_of(self.segments, unit, used)

    def unit_codes(self, units: Units) -> Counts:
        """Give the unit of each segment, as a code."""
        return np.arange(len(self.segments)) if units.codes is None else units.codes


def read_judged(
    sources: Sequence[Any],
    options: LoadOptions | None = None,
    *,
    unit: str = AUTO,
    who: Any = None,
) -> Inputs:
    """Read raw ratings, and scores and texts beside them; a column that is the unit as documents.

    ``who`` says which logins are one person.
    """
    options, column = options or LoadOptions(), column_of(unit)
    named = () if column is None else (("doc", column),)
    asked = HumanOptions(
        protocol="da",
        where=options.where,
        columns=(*options.columns, *named),
        ignore=options.ignore,
        lp=options.lp,
        format=options.format,
        human=options.human,
        raters=who,
        systems=options.systems,
        drop_systems=options.drop_systems,
    )
    read = read_inputs(sources, _ANY, asked)
    es, given = read.scores, read.judgements
    if given is None and es is not None and es.ratings:
        given = ratings_of(es, options.human)
    known = {*(given.systems if given is not None else ()), *(es.systems if es else ())}
    check_systems(asked, known)
    kept = (known if options.systems is None else set(options.systems)) - set(options.drop_systems)
    if isinstance(given, Ratings):
        given = given.select(systems=kept)
    if es is not None:
        es = es.select(systems=sorted(kept & set(es.systems)))
    return replace(read, judgements=given, scores=es)


def judged(read: Inputs) -> Judged:
    """Give the ratings of what was read, with the documents of their segments."""
    ratings, es = read.judgements, read.scores
    if not isinstance(ratings, Ratings):
        found = "scores but no raw ratings" if ratings is None else "rankings or battles"
        raise UsageError(f"the input holds {found}; expected {_ANY.expected}")
    value, told_of_value = values_of(ratings)
    notes = [*read.notes, *told_of_value]
    blank = int((ratings.is_item("system", "repeat") & np.isnan(value)).sum())
    if blank == int(ratings.is_item("system", "repeat").sum()):
        raise UsageError("there is no rating with a value")
    notes += [f"{plural(blank, 'row')} without a score left out"] if blank else []
    notes += duplicate_notes(ratings)
    about = None if es is None else es.segments
    means, told = describe(average(ratings, {RAW: value}), ratings, about)
    column = None if about is None else about.document_column
    segments = Segments(means.segments, means.documents, means.domains, means.sources,
                        document_column=column)  # fmt: skip
    return Judged(ratings, value, segments, es, read.files, (*notes, *told))
