r"""How many judges are enough: reliability of the scores of single outputs by number of raters.

Ratings of one output differ by chance and by who gave them. What two of them share, over all
outputs, is the reliability of one (:mod:`steelyard.stats.reliability`); that of a mean over k
follows, and so do the number of raters that a wanted reliability takes, and the highest correlation
that a metric can have with such scores. Raters count as drawn anew for each output, so that their
severity is noise unless scores are standardised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.options import keywords
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.words import plural
from steelyard.data.independence import UnitEffect, Units, many
from steelyard.human.placing import ENOUGH
from steelyard.human.raters import opinions
from steelyard.stats.arrays import Counts, Floats, group_sums, ratio
from steelyard.stats.components import crossed_components
from steelyard.stats.reliability import (
    intraclass,
    one_way_components,
    one_way_sums,
    raters_needed,
    spearman_brown,
)
from steelyard.stats.resampling.bootstrap import draw_counts, interval
from steelyard.stats.resampling.unitfreedom import expanded_level
from steelyard.studies.people.judgedsets import RAW, Judged, as_judged
from steelyard.studies.people.options import JudgesOptions
from steelyard.studies.results import Curve, Line, Study

_NAN = float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class _Opinions:
    """One value per rater and output, with the codes of output, rater and unit of segments."""

    value: Floats
    output: Counts
    rater: Counts
    group: Counts
    system: Counts
    segment: Counts

    @property
    def counts(self) -> Counts:
        """How many raters each output has."""
        return np.unique(self.output, return_counts=True)[1].astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Reliability:
    """The reliability of one rating in the data (first) and in each resample, and ratings now."""

    rho: Floats
    inverse: float  # mean of 1 / number of ratings of an output
    level: float

    def row(self, values: Floats) -> tuple[float, float, float]:
        """Give the value in the data and the interval over resamples."""
        if np.isnan(values[0]) or np.isnan(self.level) or len(values) < 2:
            return float(values[0]), _NAN, _NAN
        # Infinite numbers of raters are beyond any quantile that can be had.
        finite = np.where(np.isinf(values[1:]), np.finfo(float).max, values[1:])
        low, high = (float(end[0]) for end in interval(finite[:, None], self.level))
        return float(values[0]), low, high if high < 1e300 else float("inf")

    @property
    def now(self) -> Floats:
        """The reliability of the scores as they are."""
        return ratio(self.rho, self.rho + (1 - self.rho) * self.inverse)


@keywords(JudgesOptions)
def study_judges(
    data: Any, human: str | None = None, *, options: JudgesOptions, rng: Rng = 0
) -> Study:
    """Find the reliability of scores of single outputs, and the number of raters that it takes.

    Parameters
    ----------
    data
        Raw :class:`Ratings`, a file of them, or a set that carries some.
    human
        The ratings, where a set has several.

    See :class:`JudgesOptions` for the rest. The tables are ``reliability``, ``components`` (of the
    ratings as they are), ``counts`` (how many ratings outputs have) and ``metrics``.

    Examples
    --------
    >>> import numpy as np
    >>> from steelyard.data.judgements import Ratings
    >>> values = np.array([60.0, 70, 40, 30, 90, 80])
    >>> given = Ratings.from_labels(["A"] * 6, list("112233"), list("rsrsrs"), values)
    >>> study = study_judges(given, n_bootstrap=10)
    >>> round(study.facts["scores"]["raw"]["reliability"]["value"], 3)
    0.924
    """
    own = as_judged(data, human, options.unit, options.raters)
    units = own.units(options.unit)
    stream = generator(rng)
    found = {name: _opinions(own, value, units) for name, value in own.columns().items()}
    first = found[RAW]
    warnings = [*own.notes, *units.warnings]
    if not (first.counts > 1).any():
        warnings.append("no output was rated by two raters: reliability is undefined")
    draws = _draws(units, first, options.n_bootstrap, stream)
    rates = {name: _reliability(one, draws) for name, one in found.items()}
    tables = {"reliability": _table(rates, first, options, units.name)}
    tables["components"] = _components(first, known=own.named)
    tables["counts"] = _counts(first.counts)
    metrics = _metrics(own, options)
    if metrics:
        tables["metrics"] = _ceilings(own, metrics, found, rates, draws)
    effect = UnitEffect(units.name, units.n, _NAN)
    facts: dict[str, Any] = {
        "scores": {name: _facts(one, options) for name, one in rates.items()},
        "n_ratings": len(first.value),
        "n_outputs": len(first.counts),
        "n_raters": len(np.unique(first.rater)) if own.named else None,
        "ratings_per_output": float(first.counts.mean()),
        "enough": ENOUGH,
        "n_enough": int((first.counts >= ENOUGH).sum()),
        "unit": effect.to_dict(),
    }
    settings = {"unit": units.name, "bootstrap": options.n_bootstrap}
    settings |= {} if human is None else {"human": human}
    return Study(
        name="judges",
        parts=tables,
        curves=(_curve(rates, options.sizes),),
        facts=facts,
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("study judges", settings, own.files, rng, options),
    )


def _opinions(own: Judged, value: Floats, units: Units) -> _Opinions:
    """Give each rater one say on each output; ratings without a name are of a rater each."""
    ratings, rows = own.ratings, own.rows() & ~np.isnan(value)
    codes = own.unit_codes(units)
    if own.named:
        found = opinions(ratings, value, rows)
        output, rater, system, segment = found.unit, found.rater, found.system, found.segment
        value = found.value
    else:
        kept = np.flatnonzero(rows)
        system, segment = (x[kept].astype(np.int64) for x in (ratings.system, ratings.segment))
        output, rater, value = system * len(ratings.segments) + segment, kept, value[kept]
    if not len(value):
        raise UsageError("there is no rating with a value")
    # Units are those of all ratings, also where some have no z.
    every = np.unique(codes[ratings.segment[own.rows()]])
    group = np.searchsorted(every, codes[segment]).astype(np.int64)
    return _Opinions(value, output, rater, group, system, segment)


def _draws(units: Units, first: _Opinions, n: int, rng: np.random.Generator) -> Floats:
    """Draw units; the first row is the data."""
    size = int(first.group.max()) + 1  # raw values: every unit has one
    whole = np.ones((1, size))
    return np.concatenate([whole, draw_counts(n, size, rng)]) if units.n > 1 else whole


def _reliability(found: _Opinions, draws: Floats) -> _Reliability:
    size = draws.shape[1]
    sums = one_way_sums(found.value, found.output, found.group, size)
    rho = intraclass(*one_way_components(draws @ sums))
    level = expanded_level(0.95, sums[:, 0]) if len(draws) > 1 else _NAN
    return _Reliability(rho, float((1 / found.counts).mean()), level)


def _table(
    rates: dict[str, _Reliability], first: _Opinions, options: JudgesOptions, unit: str
) -> Table:
    rows: list[tuple[Cell, ...]] = []
    mean = first.counts.mean()
    for name, one in rates.items():
        rows.append((name, "reliability of one rating", *one.row(one.rho)))
        rate = "1 rating" if mean == 1 else f"{mean:.3g} ratings"
        rows.append((name, f"reliability now ({rate} an output)", *one.row(one.now)))
        rows.append((name, "highest correlation with scores as now", *one.row(np.sqrt(one.now))))
        at = one.row(spearman_brown(one.rho, ENOUGH))
        rows.append((name, f"reliability of {ENOUGH} ratings", *at))
        for target in options.targets:
            needed = one.row(raters_needed(one.rho, target))
            rows.append((name, f"ratings for a reliability of {target:g}", *map(_whole, needed)))
    size = f"{plural(len(first.value), 'rating')} of {plural(len(first.counts), 'output')}"
    enough = f"{int((first.counts >= ENOUGH).sum()):,} have {ENOUGH} or more"
    notes = [
        f"{size}; {enough}, as scores of single outputs ask for",
        "raters count as drawn anew for each output; raw: as given; z: standardised by rater",
        f"low, high: 95 % interval over resampled {many(unit)}, by the same raters",
    ]
    columns = (Column("score"), Column("what"),
               *(Column(name, mixed=True) for name in ("value", "low", "high")))  # fmt: skip
    starts = frozenset(i for i in range(1, len(rows)) if rows[i][0] != rows[i - 1][0])
    return Table("How far scores of outputs are to be relied on", columns, tuple(rows),
                 tuple(notes), starts)  # fmt: skip


def _whole(raters: float) -> float | int | None:
    """Give a number of raters, at least one; None where none is enough."""
    return None if not np.isfinite(raters) else max(1, int(np.ceil(raters - 1e-9)))


def _components(found: _Opinions, *, known: bool) -> Table:
    """Take the ratings apart: what outputs differ by, what raters do, and the rest."""
    fixed = np.zeros(len(found.value), dtype=np.int64)
    factors = [found.output, found.rater] if known else [found.output]
    parts = crossed_components(found.value, fixed, factors)
    names = ("output", "rater", "rest") if known else ("output", "rest")
    total = float(np.maximum(parts, 0).sum())
    rows = tuple(
        (name, max(part, 0.0), ratio(max(part, 0.0), total).item(), float(np.sqrt(max(part, 0.0))))
        for name, part in zip(names, parts.tolist(), strict=True)
    )
    columns = (Column("component"), Column("variance"), Column("share", digits=3),
               Column("deviation"))  # fmt: skip
    note = "rater: how raters differ on average, severe or mild; rest: all that is not repeated"
    return Table("Variance of a rating", columns, rows, (note,) if known else ())


def _counts(counts: Counts) -> Table:
    sizes, n = np.unique(counts, return_counts=True)
    rows = tuple(
        (int(k), int(some), float(some / len(counts))) for k, some in zip(sizes, n, strict=True)
    )
    columns = (Column("ratings"), Column("outputs"), Column("share", digits=3))
    return Table("Ratings of an output", columns, rows)


def _metrics(own: Judged, options: JudgesOptions) -> list[str]:
    if own.es is None:
        if options.metrics:
            raise UsageError("metrics=...: there are no scores among the inputs")
        return []
    names = own.es.metrics if options.metrics is None else sorted(options.metrics)
    for name in options.metrics or ():
        own.es[name]  # an unknown name is an error that shows the known ones
    return [name for name in names if own.es[name].has_segments]


def _ceilings(
    own: Judged,
    metrics: Sequence[str],
    found: dict[str, _Opinions],
    rates: dict[str, _Reliability],
    draws: Floats,
) -> Table:
    """Show the correlation of metrics with mean ratings, and what it would be without their noise.

    Both rest on the same outputs and resamples: reliability is that of outputs with this metric.
    """
    assert own.es is not None
    rows: list[tuple[Cell, ...]] = []
    systems = {name: i for i, name in enumerate(own.es.systems)}
    segments = {name: i for i, name in enumerate(own.es.segments.ids)}
    for score, one in found.items():
        to_system = np.array([systems.get(name, -1) for name in own.ratings.systems])
        to_segment = np.array([segments.get(name, -1) for name in own.ratings.segments])
        system, segment = to_system[one.system], to_segment[one.segment]
        for metric in metrics:
            values = own.es[metric].oriented[system, segment]
            values = np.where((system < 0) | (segment < 0), np.nan, values)
            r, pure = _correlations(one, values, draws)
            told = rates[score]
            rows.append((score, metric, *told.row(r), *told.row(pure)))
    keys = ("r", "low", "high", "without noise", "its low", "its high")
    columns = (Column("score"), Column("metric"), *(Column(key, digits=3) for key in keys))
    note = (
        "r: Pearson's correlation over all outputs; without noise: r divided by the root of the "
        "reliability, what raters without number would give"
    )
    return Table("Metrics and the ceiling", columns, tuple(rows), (note,))


def _correlations(found: _Opinions, metric: Floats, draws: Floats) -> tuple[Floats, Floats]:
    """Correlate means over raters with a metric, in the data and in each resample."""
    known = ~np.isnan(metric)
    size = draws.shape[1]
    if not known.any():
        return np.full(len(draws), np.nan), np.full(len(draws), np.nan)
    first, code, n = np.unique(
        found.output[known], return_index=True, return_inverse=True, return_counts=True
    )[1:]
    x = group_sums(code, found.value[known], len(first)) / n
    y, group = metric[known][first], found.group[known][first]
    x, y = x - x.mean(), y - y.mean()
    sums = np.stack(
        [
            group_sums(group, part, size)
            for part in (np.ones(len(x)), x, y, x * x, y * y, x * y, 1 / n)
        ],
        axis=1,
    )
    k, sx, sy, xx, yy, xy, inverse = (draws @ sums).T
    cross = xy - ratio(sx * sy, k)
    spread = np.maximum(xx - ratio(sx * sx, k), 0) * np.maximum(yy - ratio(sy * sy, k), 0)
    r = ratio(cross, np.sqrt(spread))
    own = one_way_sums(found.value[known], found.output[known], found.group[known], size)
    rho = intraclass(*one_way_components(draws @ own))
    now = ratio(rho, rho + (1 - rho) * ratio(inverse, k))
    return r, ratio(r, np.sqrt(now))


def _curve(rates: dict[str, _Reliability], sizes: Sequence[int]) -> Curve:
    """Draw reliability against the number of raters."""
    lines = []
    for name, one in rates.items():
        rows = np.array([one.row(spearman_brown(one.rho, k)) for k in sizes])
        lines.append(Line(name, rows[:, 0], rows[:, 1], rows[:, 2], (1,) * len(sizes)))
    title = "Reliability of a mean over raters"
    return Curve("reliability", title, "raters", "reliability", tuple(sizes), tuple(lines))


def _facts(one: _Reliability, options: JudgesOptions) -> dict[str, Any]:
    def shown(values: Floats) -> dict[str, Any]:
        value, low, high = one.row(values)
        return {"value": value, "ci": None if np.isnan(low) else [low, high]}

    def needed(target: float) -> dict[str, Any]:
        value, low, high = one.row(raters_needed(one.rho, target))
        ends = None if np.isnan(low) else [_whole(low), _whole(high)]
        return {"value": _whole(value), "ci": ends}

    return {
        "reliability": shown(one.rho),
        "now": shown(one.now),
        "ceiling": shown(np.sqrt(one.now)),
        "at_enough": shown(spearman_brown(one.rho, ENOUGH)),
        "needed": {f"{target:g}": needed(target) for target in options.targets},
    }
