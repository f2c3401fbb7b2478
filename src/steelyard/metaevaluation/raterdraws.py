"""Raters as what is drawn, or as what makes noise: the judgements behind a human score.

Intervals over raters redraw the people: whoever is drawn twice counts twice, human scores are
averaged anew, and metrics, segments and systems stay as they are. They say what other raters of the
same kind would have made of it, as the WMT13 metrics task did. With raters as the unit, people's
p-values inside soft pairwise accuracy have errors by rater instead of by segment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Ratings
from steelyard.data.segments import positions
from steelyard.data.units import (
    FEWEST,
    RATER,
    SEGMENT,
    UnitEffect,
    Units,
    rater_groups,
    too_few,
    too_few_groups,
)
from steelyard.metaevaluation.cube import Data, Run
from steelyard.metaevaluation.intervals import outside, placed, with_intervals, without_interval
from steelyard.metaevaluation.options import POOLED, MetaOptions
from steelyard.metaevaluation.results import MetaResult
from steelyard.stats.arrays import Counts, Floats, ratio, row_means, same_digits
from steelyard.stats.metametrics.base import Resamples
from steelyard.stats.resampling.bootstrap import draw_counts

_DRAWN = Resamples("unit", drawn=RATER)  # as messages tell it


def segment_unit(unit: str) -> str:
    """Give the unit of segments: raters are none of them.

    Examples
    --------
    >>> segment_unit("rater"), segment_unit("document+rater"), segment_unit("5")
    ('segment', 'document', '5')
    """
    return SEGMENT if unit == RATER else unit.removesuffix(f"+{RATER}")


def of_raters(unit: str) -> bool:
    """Tell whether raters are a unit, alone or beside another."""
    return unit == RATER or unit.endswith(f"+{RATER}")


@dataclass(frozen=True, slots=True, eq=False)
class Judgements:
    """The ratings behind the human scores of some data: oriented values, cells and raters."""

    value: Floats
    cell: Counts
    rater: Counts
    n_raters: int
    shape: tuple[int, int]

    def humans(self, weights: Floats) -> Iterator[Floats]:
        """Average human scores anew, each rater counting so often: systems x segments each."""
        size = self.shape[0] * self.shape[1]
        for own in weights:
            w = own[self.rater]
            total = np.bincount(self.cell, weights=w * self.value, minlength=size)
            yield ratio(total, np.bincount(self.cell, weights=w, minlength=size)).reshape(
                self.shape
            )


def asks_for_raters(options: MetaOptions) -> str | None:
    """Give the option that asks for raters, None where none does."""
    if options.intervals == RATER:
        return f'intervals="{RATER}"'
    return f'unit="{options.unit}"' if of_raters(options.unit) else None


def _ratings_behind(es: EvalSet, human: str, options: MetaOptions) -> Ratings | None:
    """Give the ratings that a human score is the mean of, where raters are asked for."""
    asked = asks_for_raters(options)
    if asked is None:
        return None
    if options.level in POOLED:
        raise UsageError(f'{asked}: ratings are of segments, not of level "{options.level}"')
    ratings = es.ratings.get(human)
    if ratings is None:
        raise UsageError(
            f"{asked}: the ratings behind '{human}' are not known; give raw ratings instead of "
            "their means (protocol=...)"
        )
    if np.isnan(ratings.value).all():
        raise UsageError(
            f"{asked}: the ratings of '{human}' are errors without a value; "
            "human_scores(...).rated_set has their cost"
        )
    return ratings


def judgements(data: Data, human: str, ratings: Ratings) -> Judgements:
    """Find the rows behind the scores; ratings whose means are others are refused."""
    es = data.es
    row, column = (
        positions(ratings.systems, es.systems),
        positions(ratings.segments, es.segments.ids),
    )
    system, segment = row[ratings.system], column[ratings.segment]
    keep = (system >= 0) & (segment >= 0) & ~np.isnan(ratings.value)
    keep &= ratings.is_item("system", "repeat")
    raters, rater = np.unique(ratings.rater[keep], return_inverse=True)
    value = ratings.value[keep] * data.sign(human)
    cell = (system * es.n_segments + segment)[keep]
    shape = (es.n_systems, es.n_segments)
    found = Judgements(value, cell, rater.astype(np.int64), len(raters), shape)
    (again,) = found.humans(np.ones((1, max(len(raters), 1))))
    scale = float(np.nanmax(np.abs(data.human), initial=0.0)) or 1.0
    if not np.allclose(again, data.human, rtol=0, atol=1e-6 * scale, equal_nan=True):
        off = int((~np.isclose(again, data.human, rtol=0, atol=1e-6 * scale, equal_nan=True)).sum())
        raise UsageError(
            f"the ratings of '{human}' do not average to its scores on {off:,} of {again.size:,} "
            "outputs: raters can't be drawn anew"
        )
    return found


def people_behind(
    es: EvalSet, human: str, options: MetaOptions, data: Data
) -> tuple[Ratings | None, Data]:
    """Give the ratings, where raters are asked for, and data that know them if they are units."""
    ratings = _ratings_behind(es, human, options)
    return ratings, _with_raters(data, human, ratings, options.unit)


def _with_raters(data: Data, human: str, ratings: Ratings | None, unit: str) -> Data:
    """Let raters make the noise of human scores, where they are the unit."""
    if ratings is None or not of_raters(unit):
        return data
    judgements(data, human, ratings)  # which checks that these are the ratings
    codes = rater_groups(ratings, data.es.systems, data.es.segments.ids)
    few = too_few_groups(codes[~np.isnan(data.human)], ratings)
    if few is not None:
        draws = 'intervals="rater" draws the people themselves'
        raise UsageError(f'unit="{unit}": {few}; {draws}')
    return replace(data, raters=codes, crossed=unit != RATER)


def people_unit(data: Data, unit: str, units: Units) -> UnitEffect:
    """Say what is independent in the human score, and what that changes."""
    if data.raters is None:
        return units.effect(data.human)
    n = len(np.unique(data.raters[~np.isnan(data.human)]))
    if unit == RATER:
        return UnitEffect(RATER, n, float("nan"))
    return UnitEffect(f"{units.name}+{RATER}", units.n, float("nan"))


@dataclass(frozen=True, slots=True, eq=False)
class RaterDraws:
    """How often each rater counts in each resample, and the human scores that follow."""

    judged: Judgements
    weights: Floats

    @classmethod
    def of(
        cls,
        data: Data,
        human: str,
        ratings: Ratings | None,
        options: MetaOptions,
        rng: np.random.Generator,
    ) -> RaterDraws | None:
        """Draw raters; None where nobody asks for them."""
        units = of_raters(options.unit) and options.intervals == "unit"
        if ratings is None or not (options.intervals == RATER or units):
            return None
        judged = judgements(data, human, ratings)
        return cls(judged, draw_counts(options.n_bootstrap, judged.n_raters, rng))

    def __iter__(self) -> Iterator[Floats]:
        return self.judged.humans(self.weights)


def intervals_of(
    run: Run, found: list[MetaResult], draws: RaterDraws | Resamples | None
) -> tuple[list[MetaResult], list[str]]:
    """Add 95 % intervals of values and ranks over what is drawn; warn where there is none."""
    if not isinstance(draws, RaterDraws):
        return with_intervals(run, found, draws)
    names = [result.metric for result in found if not np.isnan(result.value)]
    if not names:
        return found, []
    told, n = [], draws.judged.n_raters
    if n < FEWEST:
        told.append(f"{too_few(n, RATER)}: any interval over them is rough")
    reason = None
    if n < 2:
        reason = "there is only one to draw"
    elif run.data.raters is not None and run.meta.on_cells:
        reason = 'its p-values by rater are not found anew (intervals="rater" with another unit)'
    elif not same_digits(run.data.human_systems, row_means(run.data.human)):
        reason = "the official human scores are not means of segments"
    if reason is not None:
        return found, [*told, without_interval(run, _DRAWN, reason, names)]
    found, lost = placed(found, names, run.meta.rejudged(run.view, run.places(names), draws))
    if lost:
        told.append(without_interval(run, _DRAWN, "it is undefined in most resamples", lost))
    return found, [*told, *outside(run, found, _DRAWN)]
