"""How wide a tie of people is.

Pairs of outputs count as decided from a difference on (25 points, by custom). The same rater gives
two numbers to one output, two raters do, and two identical outputs get different scores: of these
pairs, none is better, and their differences are noise. The threshold is the smallest difference
that at most 5% of them reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.display import Statement
from steelyard.core.errors import UsageError
from steelyard.core.options import keywords
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Column, Table
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.joining import join
from steelyard.data.judgements import Ratings
from steelyard.data.segments import Segments
from steelyard.data.units import UnitEffect, column_of, counted, units_of
from steelyard.formats.format import TableFormat
from steelyard.formats.options import LoadOptions
from steelyard.formats.rawtable import RawTable
from steelyard.human.darr import Pairs, pairs_of_scores
from steelyard.human.options import HumanOptions
from steelyard.human.ranking import UNKNOWN, average, by_rater, outputs
from steelyard.human.raters import opinions
from steelyard.human.ratings import check_systems, describe, duplicate_notes, values_of
from steelyard.human.results import HumanScores
from steelyard.human.run import Inputs, Scorer, ratings_of, read_inputs
from steelyard.metaevaluation.data import the_human
from steelyard.stats.arrays import Counts, Floats, group_sums, pairs_within
from steelyard.stats.resampling.bootstrap import draw_counts, interval
from steelyard.stats.resampling.cluster_df import expanded_level
from steelyard.stats.spread import SizeCounts
from steelyard.studies.options import ThresholdOptions
from steelyard.studies.study import Row, Study

_NAN = float("nan")
_RAW = "raw"
FEWEST_PAIRS = 30  # below which no threshold is taken from them
#: What is equal, by what it is called: most like a comparison of two outputs first.
KINDS = {
    "identical": "two systems' outputs with the same text",
    "raters": "one output by two raters",
    "repeats": "one output twice by the same rater",
}


@keywords(ThresholdOptions)
def study_threshold(
    data: Any, human: str | None = None, *, options: ThresholdOptions, rng: Rng = 0
) -> Study:
    """Estimate below which difference people tie two outputs.

    Parameters
    ----------
    data
        Raw ratings (or a file of them, or a set that carries some), with texts where identical
        outputs shall count; or a set with texts and a human score.
    human
        The ratings, or the human score, where there are several.

    See :class:`ThresholdOptions` for the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from steelyard.data.judgements import Ratings
    >>> values = np.tile([70.0, 74.0, 60.0, 52.0], 20)
    >>> names = [str(k // 2) for k in range(80)]
    >>> ratings = Ratings.from_labels(["A"] * 80, names, list("rs") * 40, values)
    >>> study = study_threshold(ratings, n_bootstrap=10)
    >>> [(row["equal"], row["pairs"], row["threshold"]) for row in study.table().records()]
    [('raters', 40, None)]
    """
    if not isinstance(data, Inputs):
        data = read_ratings([data], LoadOptions(human=human), options)
    people = _people(data, human)
    warnings = list(people.notes)
    thresholds: list[Row] = []
    facts: dict[str, Any] = {}
    sentences: list[Statement] = []
    customary = options.customary
    streams = generator(rng).spawn(max(1, len(people.equal)))
    for equal, draw in zip(people.equal, streams, strict=False):
        drawn, notes = _draw(equal, people.segments, options, draw)
        warnings += notes
        n = len(equal)
        sizes = SizeCounts.of(equal.difference, drawn.unit, drawn.weights.shape[1])
        width = drawn.ends(sizes.thresholds(drawn.weights, options.share))
        width = width if n >= FEWEST_PAIRS else (_NAN, _NAN, _NAN)
        called = drawn.ends(sizes.at_least(drawn.weights, customary))
        thresholds.append((equal.kind, n, counted(drawn.n, drawn.name), *width, *called))
        facts[equal.kind] = {
            "n": n,
            "unit": UnitEffect(drawn.name, drawn.n, _NAN).to_dict(),
            "threshold": _estimate(width),
            "called_different": _estimate(called),
        }
        if np.isnan(width[0]):
            few = "is too few" if n == 1 else "are too few, or too far apart,"
            warnings.append(f"{equal.kind}: {plural(n, 'pair')} {few} for a threshold")
        else:
            pairs = f"{plural(n, 'pair')} of equal outputs"
            text = f"Differences under {width[0]:.3g} may be a tie of people"
            sentences.append(("settled", f"{text} ({equal.kind}: {pairs})."))
    if not people.equal:
        warnings.append(f"nothing is known to be equal: {people.lacking}")
    settings = {"score": people.score, "share": options.share, "unit": options.unit}
    return Study(
        "threshold",
        {"thresholds": _thresholds(people.score, thresholds, options)},
        sentences=tuple(sentences),
        facts={
            "score": people.score, "customary": customary, "share": options.share, "equal": facts
        },
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("study threshold", settings, people.files, rng, options),
    )  # fmt: skip


# What is equal


@dataclass(frozen=True, slots=True, eq=False)
class Equals:
    """Differences between numbers that people gave to the same thing, and their segments."""

    kind: str
    difference: Floats
    segment: Counts

    def __len__(self) -> int:
        return len(self.difference)


def of_ratings(ratings: Ratings, value: Floats, rows: NDArray[np.bool_]) -> list[Equals]:
    """List what one rater gave to an output twice, and what two raters gave to it."""
    kept = np.flatnonzero(rows & ~np.isnan(value))
    named = ratings.raters != (UNKNOWN,)
    again = (by_rater(ratings) if named else outputs(ratings))[kept]
    a, b = (kept[side] for side in pairs_within(again))
    gap, segment = value[a] - value[b], ratings.segment[a].astype(np.int64)
    if not named:
        return [Equals("raters", gap, segment)]
    views = opinions(ratings, value, rows)
    first, second = pairs_within(views.unit)
    two = Equals("raters", views.value[first] - views.value[second], views.segment[first])
    return [two, Equals("repeats", gap, segment)]


def of_pairs(pairs: Pairs) -> list[Equals]:
    """List the differences of identical outputs, as pairs of scores have them."""
    if pairs.identical is None:
        return []
    same = np.flatnonzero(pairs.identical)
    return [Equals("identical", pairs.gap[same], pairs.segment[same].astype(np.int64))]


class _AnyRatings(Scorer):
    """Whatever people gave to single outputs, and scores and texts beside it."""

    name = "ratings"
    expected = "raw ratings: rater, system, segment and a score, or errors"
    scaled = False

    def takes(self, form: TableFormat, table: RawTable) -> bool:
        del form, table
        return True

    def score(self, *_: Any) -> HumanScores:
        raise NotImplementedError  # pragma: no cover - nothing is scored here


@dataclass(frozen=True, slots=True, eq=False)
class _People:
    """Pairs of outputs that are equal."""

    score: str
    segments: Segments
    equal: tuple[Equals, ...]
    lacking: str  # what would show that outputs are equal
    files: tuple[Any, ...]
    notes: tuple[str, ...]


def read_ratings(sources: Sequence[Any], options: LoadOptions, asked: ThresholdOptions) -> Inputs:
    """Read raw ratings, and scores and texts beside them; a column that is the unit as documents.

    ``asked.raters`` says which logins are one person.
    """
    column = column_of(asked.unit)
    human = HumanOptions(
        protocol="da",
        where=options.where,
        columns=(*options.columns, *(() if column is None else (("doc", column),))),
        ignore=options.ignore,
        lp=options.lp,
        format=options.format,
        human=options.human,
        raters=asked.raters,
        systems=options.systems,
        drop_systems=options.drop_systems,
    )
    read = read_inputs(sources, _AnyRatings(), human)
    es, ratings = read.scores, read.judgements
    if ratings is None and es is not None and es.ratings:
        ratings = ratings_of(es, options.human)
    systems = {*(ratings.systems if ratings is not None else ()), *(es.systems if es else ())}
    check_systems(human, systems)
    kept = set(systems if options.systems is None else options.systems) - set(options.drop_systems)
    if isinstance(ratings, Ratings):
        ratings = ratings.select(systems=kept)
    if es is not None:
        es = es.select(systems=sorted(kept & set(es.systems)))
    return replace(read, judgements=ratings, scores=es)


def _people(read: Inputs, human: str | None) -> _People:
    ratings, es = read.judgements, read.scores
    if ratings is None and es is not None:
        human = the_human(es, human)
        pairs = pairs_of_scores(es, human)
        equal = tuple(e for e in of_pairs(pairs) if len(e))
        notes = (*read.notes, *es.notes)
        lacking = f"{_no_texts(pairs)}, and there are no raw ratings"
        return _People(human, es.segments, equal, lacking, read.files, notes)
    if not isinstance(ratings, Ratings):
        what = "scores but no raw ratings" if ratings is None else "rankings or battles"
        raise UsageError(f"the input holds {what}; expected {_AnyRatings.expected}")
    value, value_notes = values_of(ratings)
    items = ratings.is_item("system", "repeat")
    blank = int((items & np.isnan(value)).sum())
    if blank == int(items.sum()):
        raise UsageError("there is no rating with a value")
    blanks = [f"{plural(blank, 'row')} without a score left out"] if blank else []
    about = None if es is None else es.segments
    described, more = describe(average(ratings, {_RAW: value}), ratings, about)
    column = None if about is None else about.document_column
    segments = replace(described.segments, document_column=column)
    rows = items & ~np.isnan(value)
    gold = average(ratings, {_RAW: value}, rows).evalset()
    if es is not None and es.outputs:
        texts = EvalSet(es.systems, es.segments, outputs=es.outputs)
        gold = join([gold, texts.drop(systems=set(texts.systems) - set(gold.systems))])
    pairs = pairs_of_scores(gold, _RAW)
    index = {segment: k for k, segment in enumerate(segments.ids)}
    codes = np.array([index.get(segment, -1) for segment in gold.segments.ids], dtype=np.int64)
    identical = [replace(e, segment=codes[e.segment]) for e in of_pairs(pairs)]
    equal = tuple(e for e in (*identical, *of_ratings(ratings, value, rows)) if len(e))
    every = (*read.notes, *value_notes, *blanks, *duplicate_notes(ratings), *more)
    lacking = f"no output was rated twice, and {_no_texts(pairs)}"
    return _People(_RAW, segments, equal, lacking, read.files, every)


def _no_texts(pairs: Pairs) -> str:
    if pairs.identical is None:
        return "texts are not among the inputs"
    return "no two outputs have the same text"


# Resamples


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """The data (first row of weights) and resamples of units; the unit of each difference."""

    weights: Floats
    unit: Counts
    name: str
    n: int
    level: float

    def ends(self, values: Floats) -> tuple[float, float, float]:
        """Return the value in the data, and its interval."""
        if len(values) < 2 or np.isnan(self.level) or np.isnan(values[0]):
            return float(values[0]), _NAN, _NAN
        low, high = interval(values[1:, None], self.level)
        return float(values[0]), float(low[0]), float(high[0])


def _draw(
    equal: Equals, segments: Segments, options: ThresholdOptions, rng: np.random.Generator
) -> tuple[_Drawn, tuple[str, ...]]:
    used = np.zeros(len(segments), dtype=bool)
    used[equal.segment] = True
    units = units_of(segments, options.unit, used)
    codes = (np.arange(len(segments)) if units.codes is None else units.codes)[equal.segment]
    codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    n = int(codes.max()) + 1
    weights, level = np.ones((1, n)), _NAN
    if n > 1:
        weights = np.concatenate([weights, draw_counts(options.n_bootstrap, n, rng)])
        level = expanded_level(0.95, group_sums(codes, None, n))
    return _Drawn(weights, codes, units.name, n, level), tuple(units.warnings)


# Tables


def _estimate(ends: tuple[float, float, float]) -> dict[str, Any]:
    value, low, high = ends
    return {"value": value, "ci": None if np.isnan([low, high]).any() else [low, high]}


def _thresholds(score: str, rows: Sequence[Row], options: ThresholdOptions) -> Table:
    custom = f"at {options.customary:g}"
    columns = [Column("equal"), Column("pairs"), Column("units"), Column("threshold", mixed=True)]
    columns += [Column(end, mixed=True, key=f"threshold {end}") for end in ("low", "high")]
    columns.append(Column(custom, digits=3))
    columns += [Column(end, digits=3, key=f"{custom} {end}") for end in ("low", "high")]
    shown = [row[0] for row in rows]
    notes = [f"{kind}: {KINDS[kind]}" for kind in KINDS if kind in shown]
    notes += [
        f"threshold: the smallest difference that at most {options.share:.3g} of these pairs reach",
        f"{custom}: share of these pairs that the customary {options.customary:g} calls different",
        "intervals resample segments, not raters: with few raters they are too narrow",
    ]
    title = f"How wide a tie of people is, by {score} scores"
    return Table(title, tuple(columns), tuple(rows), tuple(notes) if rows else ())
