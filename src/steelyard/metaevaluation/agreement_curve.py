"""Agreement curves of a set (:mod:`steelyard.stats.curves`): its pairs of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.data.evalset import EvalSet
from steelyard.data.units import SEGMENT, units_of
from steelyard.stats.arrays import Counts, Floats, beyond_rounding, pairs_within, row_means
from steelyard.stats.curves import LEAST_SYSTEMS, AgreementCurve, SystemPairs, agreement_curve
from steelyard.stats.paired.tests import permutation_test

_MOST_SYSTEMS = 60  # of a set that is looked at in passing


def system_pairs(
    es: EvalSet,
    human: str,
    metrics: Sequence[str],
    *,
    groups: Mapping[str, str] | None = None,
    unit: str = SEGMENT,
) -> SystemPairs:
    """List the pairs of systems of a set, or of each group of its systems that was judged together.

    Systems are compared by their official scores, else by what was judged of them. Human p-values
    are two-sided permutation tests by ``unit``. A metric's reference has no difference by it.
    """
    gold = es[human]
    means = gold.system_means() * (1 if gold.higher_is_better else -1)
    group = ["" if groups is None else groups.get(name, "") for name in es.systems]
    code = np.unique(group, return_inverse=True)[1]
    first, second = pairs_within(code)
    scored = ~np.isnan(means[first] - means[second])
    first, second = first[scored], second[scored]
    sets = code[first]
    p = np.full(len(first), np.nan)
    if gold.has_segments:
        for k in np.unique(sets):
            p[sets == k] = _pvalues(es, human, first[sets == k], second[sets == k], unit)

    def differences(scores: Floats) -> Floats:
        a, b = scores[first], scores[second]
        return beyond_rounding(a - b, np.maximum(np.abs(a), np.abs(b)))

    by_metric = {name: differences(judged_scores(es, human, name)) for name in metrics}
    return SystemPairs(sets, first, second, differences(means), p, by_metric)


def _pvalues(es: EvalSet, human: str, first: Counts, second: Counts, unit: str) -> Floats:
    """Test the human differences of systems that were judged together."""
    rows, index = np.unique(np.r_[first, second], return_inverse=True)
    values = es[human].oriented[rows]
    used = np.asarray((~np.isnan(values)).any(axis=0))
    units = units_of(es.segments, unit, used).take(used)
    p = permutation_test(values[:, used], units).p
    return np.asarray(p[index[: len(first)], index[len(first) :]])


def judged_scores(es: EvalSet, human: str, metric: str) -> Floats:
    """Return a metric's system scores: official, else of what was judged; higher is better."""
    table, judged = es[metric], ~np.isnan(es[human].values)
    if table.system_scores is not None or not es[human].has_segments:
        scores = table.system_means()
    elif table.statistics is not None:
        scores = table.statistics.masked(judged).corpus_scores()
    else:
        scores = row_means(np.where(judged, table.values, np.nan))
    scores = np.where([name in table.uses for name in es.systems], np.nan, scores)
    return scores * (1 if table.higher_is_better else -1)


def curve_of_set(
    es: EvalSet, human: str, metric: str, rng: np.random.Generator, *, unit: str = SEGMENT
) -> AgreementCurve | None:
    """Measure a curve on a set; None if it has too few systems, or so many that it is slow."""
    if not LEAST_SYSTEMS <= es.n_systems <= _MOST_SYSTEMS:
        return None
    pairs = system_pairs(es, human, [metric], unit=unit)
    return agreement_curve(pairs, metric, rng) if pairs.why_too_few(metric) is None else None
