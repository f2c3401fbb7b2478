r"""How wide is a tie of people? What they give to outputs that are known to be equal.

Pairs of outputs count as decided from a difference on (25 points, by custom). The same rater gives
two numbers to one output, two raters do, and two identical outputs get different scores: of these
pairs, none is better, and the sizes of their differences are what noise alone makes. The threshold
is the smallest difference that at most 5 % of them reach. Where raters judged the same two outputs,
the share of decided pairs that a second rater orders the same way says what a decision is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.options import keywords
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.joining import join
from steelyard.data.segments import Segments
from steelyard.data.units import RATER, UnitEffect, counted, many, units_of
from steelyard.formats.options import LoadOptions
from steelyard.human import raters
from steelyard.human.darr import (
    FEWEST_PAIRS,
    KINDS,
    Equals,
    Pairs,
    of_pairs,
    of_ratings,
    pairs_of_scores,
)
from steelyard.human.ranking import average
from steelyard.human.run import Inputs
from steelyard.metaevaluation.data import the_human
from steelyard.stats.arrays import Counts, Floats, group_sums, pairs_within, ratio
from steelyard.stats.resampling.bootstrap import draw_counts, interval
from steelyard.stats.resampling.cluster_df import expanded_level
from steelyard.stats.spread import SizeCounts
from steelyard.studies.people.judgedsets import RAW, Judged, Z, judged, read_judged
from steelyard.studies.people.options import ThresholdOptions
from steelyard.studies.results import Curve, Line, Study

_NAN = float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class _Given:
    """Where differences are from: ratings, or scores alone; the segments; pairs of outputs."""

    score: str
    segments: Segments
    equal: tuple[Equals, ...]
    pairs: Pairs | None
    ratings: Judged | None
    files: tuple[Any, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """The data (first row of weights) and resamples of units; the unit of each difference."""

    weights: Floats
    unit: Counts
    name: str
    n: int
    level: float

    def row(self, values: Floats) -> tuple[float, float, float]:
        """Give the value in the data, and its interval."""
        if len(values) < 2 or np.isnan(self.level) or np.isnan(values[0]):
            return float(values[0]), _NAN, _NAN
        low, high = interval(values[1:, None], self.level)
        return float(values[0]), float(low[0]), float(high[0])


@keywords(ThresholdOptions)
def study_threshold(
    data: Any, human: str | None = None, *, options: ThresholdOptions, rng: Rng = 0
) -> Study:
    """Estimate below which difference outputs are tied by people.

    Parameters
    ----------
    data
        Raw ratings (or a file of them, or a set that carries some), with texts where identical
        outputs shall count; or a set with texts and a human score.
    human
        The ratings, or the human score, where there are several.

    See :class:`ThresholdOptions` for the rest. The tables are ``thresholds``, ``quantiles``,
    ``agreement`` (where raters judged the same two outputs) and ``pairs``.

    Examples
    --------
    >>> import numpy as np
    >>> from steelyard.data.judgements import Ratings
    >>> values = np.tile([70.0, 74.0, 60.0, 52.0], 20)
    >>> names = [str(k // 2) for k in range(80)]
    >>> given = Ratings.from_labels(["A"] * 80, names, list("rs") * 40, values)
    >>> study = study_threshold(given, n_bootstrap=10)
    >>> [(row["equal"], row["pairs"], row["threshold"]) for row in study.table().records()]
    [('raters', 40, None)]
    """
    given = _given(data, human, options)
    stream = generator(rng)
    warnings = list(given.notes)
    thresholds: list[tuple[Cell, ...]] = []
    quantiles: list[tuple[Cell, ...]] = []
    facts: dict[str, Any] = {}
    lines = []
    at = _grid(given)
    custom = options.customary
    for equal, own in zip(given.equal, stream.spawn(max(1, len(given.equal))), strict=False):
        drawn, told = _draw(equal, given.segments, options, own)
        warnings += told
        sizes = SizeCounts.of(equal.difference, drawn.unit, drawn.weights.shape[1])
        width = drawn.row(sizes.thresholds(drawn.weights, options.share))
        width = width if len(equal) >= FEWEST_PAIRS else (_NAN, _NAN, _NAN)
        called = drawn.row(sizes.at_least(drawn.weights, custom))
        thresholds.append((equal.kind, len(equal), counted(drawn.n, drawn.name), *width, *called))
        found = sizes.quantiles(drawn.weights, options.quantiles)
        for k, share in enumerate(options.quantiles):
            quantiles.append((equal.kind, share, *drawn.row(found[:, k])))
        curve = np.array([drawn.row(sizes.at_least(drawn.weights, t)) for t in at])
        lines.append(
            Line(equal.kind, curve[:, 0], curve[:, 1], curve[:, 2], (len(equal),) * len(at))
        )
        facts[equal.kind] = {
            "n": len(equal),
            "unit": UnitEffect(drawn.name, drawn.n, _NAN).to_dict(),
            "threshold": _shown(width),
            "called_different": _shown(called),
        }
    if not given.equal:
        warnings.append(_nothing(given))
    for row in thresholds:
        if isinstance(row[3], float) and np.isnan(row[3]):
            n = int(str(row[1]))
            few = "is too few" if n == 1 else "are too few, or too far apart,"
            warnings.append(f"{row[0]}: {plural(n, 'pair')} {few} for a threshold")
    tables = {"thresholds": _threshold_table(given.score, thresholds, options)}
    tables["quantiles"] = _quantile_table(quantiles)
    agreement = _agreement(given, at, options, stream.spawn(1)[0])
    if agreement is not None:
        tables["agreement"] = agreement[0]
        facts["agreement"] = agreement[1]
    if given.pairs is not None and len(given.pairs):
        tables["pairs"] = _kept(given.pairs, thresholds, custom)
    settings = {"score": given.score, "share": options.share, "unit": options.unit}
    curves: tuple[Curve, ...] = ()
    if lines:
        title, y = "Equal outputs that a threshold calls different", "share"
        curves = (Curve("called", title, "threshold", y, at, tuple(lines)),)
    return Study(
        name="threshold",
        parts=tables,
        curves=curves,
        facts={"score": given.score, "customary": custom, "share": options.share, "equal": facts},
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("study threshold", settings, given.files, rng, options),
    )


def _shown(row: tuple[float, float, float]) -> dict[str, Any]:
    value, low, high = row
    return {"value": value, "ci": None if np.isnan([low, high]).any() else [low, high]}


def _given(data: Any, human: str | None, options: ThresholdOptions) -> _Given:
    """Find what is equal in ratings and in texts."""
    read = data
    if not isinstance(data, (Inputs, Judged)):
        loaded = LoadOptions(human=human)
        read = read_judged([data], loaded, unit=options.unit, who=options.raters)
    if isinstance(read, Inputs) and read.judgements is None and read.scores is not None:
        es = read.scores
        human = the_human(es, human)
        pairs = pairs_of_scores(es, human)
        equal = tuple(e for e in of_pairs(pairs) if len(e))
        notes = (*read.notes, *es.notes)
        return _Given(human, es.segments, equal, pairs, None, read.files, notes)
    own = read if isinstance(read, Judged) else judged(read)
    columns = own.columns()
    name = Z if options.standardised and Z in columns else RAW
    value = columns[name]
    rows = own.rows() & ~np.isnan(value)
    means = replace(average(own.ratings, {name: value}, rows), documents=own.segments.documents)
    gold = means.evalset()
    beside = own.es
    if beside is not None and beside.outputs:
        texts = EvalSet(beside.systems, beside.segments, outputs=beside.outputs)
        gold = join([gold, texts.drop(systems=set(texts.systems) - set(gold.systems))])
    pairs = pairs_of_scores(gold, name)
    place = {segment: k for k, segment in enumerate(own.segments.ids)}
    codes = np.array([place.get(segment, -1) for segment in gold.segments.ids], dtype=np.int64)
    identical = [replace(e, segment=codes[e.segment]) for e in of_pairs(pairs)]
    equal = (*identical, *of_ratings(own.ratings, value, rows))
    return _Given(name, own.segments, tuple(e for e in equal if len(e)), pairs, own, own.files,
                  own.notes)  # fmt: skip


def _nothing(given: _Given) -> str:
    texts = given.pairs is not None and given.pairs.identical is not None
    missing = "no two outputs have the same text" if texts else "texts are not among the inputs"
    if given.ratings is None:
        return f"nothing is known to be equal: {missing}, and there are no raw ratings"
    return f"nothing is known to be equal: no output was rated twice, and {missing}"


def _draw(
    equal: Equals, segments: Segments, options: ThresholdOptions, rng: np.random.Generator
) -> tuple[_Drawn, list[str]]:
    """Resample raters, or units of segments."""
    told: list[str] = []
    if options.unit == RATER and equal.rater is not None and equal.other is not None:
        return _draw_two(equal.rater, equal.other, options, rng)
    if options.unit == RATER and equal.rater is not None:
        name, codes = RATER, equal.rater
    else:
        used = np.zeros(len(segments), dtype=bool)
        used[equal.segment] = True
        units = units_of(segments, "auto" if options.unit == RATER else options.unit, used)
        told += units.warnings
        if options.unit == RATER:
            told.append(f"{equal.kind}: {KINDS[equal.kind]} are of no one rater; intervals "
                        f"resample {many(units.name)}")  # fmt: skip
        name = units.name
        codes = (np.arange(len(segments)) if units.codes is None else units.codes)[equal.segment]
    unit = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    n = int(unit.max()) + 1
    weights = np.ones((1, n))
    level = _NAN
    if n > 1:
        weights = np.concatenate([weights, draw_counts(options.n_bootstrap, n, rng)])
        level = expanded_level(0.95, group_sums(unit, None, n))
    return _Drawn(weights, unit, name, n, level), told


def _draw_two(
    one: Counts, other: Counts, options: ThresholdOptions, rng: np.random.Generator
) -> tuple[_Drawn, list[str]]:
    """Resample raters where a difference is of two: it counts as often as both are drawn."""
    raters, codes = np.unique(np.r_[one, other], return_inverse=True)
    n = len(raters)
    both = codes.reshape(2, -1).astype(np.int64)
    pairs, unit = np.unique(np.sort(both, axis=0), axis=1, return_inverse=True)
    weights, level, told = np.ones((1, pairs.shape[1])), _NAN, []
    if n > 2:
        drawn = draw_counts(options.n_bootstrap, n, rng)
        weights = np.concatenate([weights, drawn[:, pairs[0]] * drawn[:, pairs[1]]])
        level = expanded_level(0.95, group_sums(both.ravel(), None, n))
    else:
        told.append("raters: two raters are too few to resample, and there is no interval")
    return _Drawn(weights, unit.ravel().astype(np.int64), RATER, n, level), told


def _grid(given: _Given) -> tuple[float, ...]:
    """Give thresholds for the curves, by the scale of the scores."""
    parts = [e.difference for e in given.equal]
    parts += [given.pairs.gap] if given.pairs is not None else []
    top = max((float(np.abs(part).max(initial=0.0)) for part in parts), default=0.0)
    if top > 10:
        return (1.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 75.0)
    return tuple(float(f"{top * k / 10:.2g}") for k in range(1, 10)) if top > 0 else (1.0,)


def _threshold_table(
    score: str, rows: Sequence[tuple[Cell, ...]], options: ThresholdOptions
) -> Table:
    custom = f"at {options.customary:g}"
    columns = (Column("equal"), Column("pairs"), Column("units"), Column("threshold", mixed=True),
               Column("low", mixed=True, key="threshold low"),
               Column("high", mixed=True, key="threshold high"), Column(custom, digits=3),
               Column("low", digits=3, key=f"{custom} low"),
               Column("high", digits=3, key=f"{custom} high"))  # fmt: skip
    shown = [str(row[0]) for row in rows]
    notes = [f"{kind}: {KINDS[kind]}" for kind in KINDS if kind in shown]
    notes += [
        f"threshold: the smallest difference that at most {options.share:.3g} of these pairs reach",
        f"{custom}: share of these pairs that the customary {options.customary:g} calls different",
    ]
    title = f"How wide a tie of people is, by {score} scores"
    return Table(title, columns, tuple(rows), tuple(notes) if rows else ())


def _quantile_table(rows: Sequence[tuple[Cell, ...]]) -> Table:
    columns = (Column("equal"), Column("share", digits=2),
               *(Column(name, mixed=True) for name in ("difference", "low", "high")))  # fmt: skip
    note = ("share of pairs that differ by at most so much",)
    starts = frozenset(i for i in range(1, len(rows)) if rows[i][0] != rows[i - 1][0])
    return Table("Differences between equal outputs", columns, tuple(rows), note, starts)


def _agreement(
    given: _Given, at: Sequence[float], options: ThresholdOptions, rng: np.random.Generator
) -> tuple[Table, dict[str, Any]] | None:
    """Of pairs that one rater decides, count those that another orders the same way."""
    own = given.ratings
    if own is None or not own.named:
        return None
    value = own.columns()[given.score]
    found = raters.opinions(own.ratings, value, own.rows() & ~np.isnan(value))
    orders = raters.comparisons(found, len(own.ratings.systems))
    if orders is None or not len(orders.outcome):
        return None
    one, other = pairs_within(orders.unit)
    if not len(one):
        return None
    first, second = np.r_[one, other], np.r_[other, one]  # either may decide
    size, same = np.abs(orders.outcome[first]), orders.outcome[first] * orders.outcome[second]
    segment = np.asarray(orders.block)[first].astype(np.int64)
    equal = Equals("raters", size, segment)
    drawn, _ = _draw(equal, given.segments, replace(options, unit=_of_segments(options)), rng)
    rows: list[tuple[Cell, ...]] = []
    n = drawn.weights.shape[1]
    enough = None
    for threshold in at:
        decided = (size >= threshold - 1e-9) & (size > 0)
        agree, met = (
            drawn.weights @ group_sums(drawn.unit[kept], None, n)
            for kept in (decided & (same > 0), decided & (same != 0))
        )
        share = drawn.row(ratio(agree, met))
        rows.append((threshold, int(decided.sum()), *share))
        if enough is None and share[0] >= options.agreement:
            enough = threshold
    columns = (Column("threshold", mixed=True), Column("decided"),
               *(Column(name, digits=3) for name in ("same order", "low", "high")))  # fmt: skip
    reached = f"from {enough:g} on" if enough is not None else "at none of these"
    wanted = f"{options.agreement:g} is reached"
    notes = (
        "decided: pairs of outputs that one rater puts so far apart, and another judged, too",
        f"same order: share that the other orders alike, ties left out; {wanted} {reached}",
    )
    facts = {"wanted": options.agreement, "reached": enough}
    return Table("Decisions that another rater shares", columns, tuple(rows), notes), facts


def _of_segments(options: ThresholdOptions) -> str:
    return "auto" if options.unit == RATER else options.unit


def _kept(pairs: Pairs, thresholds: Sequence[tuple[Cell, ...]], custom: float) -> Table:
    """Count the pairs of outputs that thresholds keep."""
    rows: list[tuple[Cell, ...]] = []
    chosen = [("customary", custom), *((str(row[0]), row[3]) for row in thresholds)]
    for name, threshold in chosen:
        if isinstance(threshold, float) and not np.isnan(threshold):
            kept = pairs.at_least(threshold)
            rows.append((name, threshold, int(kept.sum()), float(kept.mean())))
    columns = (Column("threshold of"), Column("threshold", mixed=True), Column("pairs"),
               Column("share", digits=3))  # fmt: skip
    return Table(f"Pairs of outputs that are decided, of {len(pairs):,}", columns, tuple(rows))
