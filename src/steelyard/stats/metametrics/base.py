"""Meta-metrics: how well a metric agrees with people, each by its name.

At level ``sys`` a meta-metric compares two vectors of system scores (soft pairwise accuracy
compares p-values and is treated apart). At level ``seg`` it compares systems x segments matrices
within groups: ``none`` (all cells together), ``item`` (the systems on each segment) or ``system``
(the segments of each system); the value is the mean over the groups in which it is defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import UsageError, hint
from steelyard.stats import correlation
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.kendall import matrices as ties
from steelyard.stats.kendall.calibration import calibrate
from steelyard.stats.kendall.matrices import TieMatrix
from steelyard.stats.kendall.pairs import PairCounts, count_pairs, count_pairs_flat
from steelyard.stats.metametrics.accuracy import PA_TIES, pairwise_accuracy

GROUPS = ("none", "item", "system")
LEVELS = ("sys", "seg")


@dataclass(frozen=True, slots=True)
class Options:
    """What the definitions leave open.

    ``epsilon`` None calibrates acc-eq and tau-eq; ``threshold`` is the human difference below which
    Kendall-like statistics see a tie.
    """

    epsilon: float | None = None
    threshold: float = 0.0
    pa_ties: str = "strict"

    def __post_init__(self) -> None:
        bounds.number(0, optional=True, epsilon=self.epsilon)
        bounds.number(0, threshold=self.threshold)
        bounds.choice(PA_TIES, pa_ties=self.pa_ties)


@dataclass(frozen=True, slots=True)
class GroupValues:
    """One value per group (NaN where undefined) and its weight in the mean."""

    values: Floats
    weights: Floats
    epsilon: float | None = None

    @property
    def defined(self) -> Counts:
        """Positions of the groups that count."""
        return np.flatnonzero(~np.isnan(self.values) & (self.weights > 0))

    @property
    def mean(self) -> float:
        """Weighted mean over the groups that are defined, NaN if none is."""
        known = self.defined
        if not len(known):
            return float("nan")
        weights = self.weights[known]
        return float((self.values[known] * weights).sum() / weights.sum())


Segments = Callable[[Floats, Floats, str, Options], GroupValues]
Systems = Callable[[Floats, Floats, Options], float]


@dataclass(frozen=True, slots=True)
class MetaMetric:
    """A meta-metric: what it is on system scores, on segments, and how segments are grouped."""

    name: str
    systems: Systems | None = None
    segments: Segments | None = None
    group_by: str = "item"
    lowest: float = -1.0  # the range that averages over tasks are scaled from
    options: Options = field(default_factory=Options)
    family: str = ""  # the statistic that resamples compute; "" for functions of one's own
    matrix: TieMatrix | None = None  # what pairs are worth, where that is all of it


def _column(x: Floats) -> Floats:
    return x.reshape(-1, 1)


def _groups(x: Floats, group_by: str) -> Floats:
    """Arrange a systems x segments matrix so that columns are groups."""
    if group_by == "none":
        return _column(x)
    return x if group_by == "item" else x.T


def _equal(values: Floats) -> GroupValues:
    return GroupValues(values, np.ones(len(values)))


def _correlation(statistic: Callable[[Floats, Floats], Floats]) -> tuple[Systems, Segments]:
    def systems(human: Floats, metric: Floats, _: Options) -> float:
        return float(statistic(_column(human), _column(metric))[0])

    def segments(human: Floats, metric: Floats, group_by: str, _: Options) -> GroupValues:
        return _equal(statistic(_groups(human, group_by), _groups(metric, group_by)))

    return systems, segments


def pair_counts(
    human: Floats, metric: Floats, group_by: str, *, epsilon: float = 0.0, threshold: float = 0.0
) -> PairCounts:
    """Count pairs within groups; long groups never form their pairs."""
    bounds.choice(GROUPS, group_by=group_by)
    h, m = _groups(human, group_by), _groups(metric, group_by)
    if len(h) <= 100:
        return count_pairs(h, m, epsilon=epsilon, threshold=threshold)
    known = ~(np.isnan(h) | np.isnan(m))
    counts = [
        count_pairs_flat(a[k], b[k], epsilon=epsilon, threshold=threshold)
        for a, b, k in zip(h.T, m.T, known.T, strict=True)
    ]
    names = ("concordant", "discordant", "human_ties", "metric_ties", "both_ties")
    return PairCounts(*(np.concatenate([getattr(c, name) for c in counts]) for name in names))


def _kendall(value: Callable[[PairCounts, Floats, Floats], Floats]) -> tuple[Systems, Segments]:
    def systems(human: Floats, metric: Floats, _: Options) -> float:
        h, m = _column(human), _column(metric)
        return float(value(count_pairs(h, m), h, m)[0])

    def segments(human: Floats, metric: Floats, group_by: str, _: Options) -> GroupValues:
        counts = pair_counts(human, metric, group_by)
        return _equal(value(counts, _groups(human, group_by), _groups(metric, group_by)))

    return systems, segments


def _tau_c(counts: PairCounts, human: Floats, metric: Floats) -> Floats:
    known = ~(np.isnan(human) | np.isnan(metric))
    h, m = np.where(known, human, np.nan), np.where(known, metric, np.nan)
    levels = np.minimum(correlation.distinct(h), correlation.distinct(m))
    return correlation.kendall_c(counts, known.sum(axis=0), levels)


def _matrix(matrix: TieMatrix) -> tuple[Systems, Segments]:
    def systems(human: Floats, metric: Floats, options: Options) -> float:
        counts = count_pairs(_column(human), _column(metric), threshold=options.threshold)
        return float(matrix.value(counts)[0])

    def segments(human: Floats, metric: Floats, group_by: str, options: Options) -> GroupValues:
        counts = pair_counts(human, metric, group_by, threshold=options.threshold)
        return _equal(matrix.value(counts))

    return systems, segments


_HARD = ties.KENDALL["kendall-hard"]


def _pooled(human: Floats, metric: Floats, group_by: str, options: Options) -> GroupValues:
    """Kendall-like: metric ties count as wrong, groups weigh by their number of pairs."""
    counts = pair_counts(human, metric, group_by, threshold=options.threshold)
    values = _HARD.value(counts)
    pairs = counts.concordant + counts.discordant + counts.metric_ties
    return GroupValues(values, pairs.astype(np.float64))


def _calibrated(matrix: TieMatrix) -> Segments:
    def segments(human: Floats, metric: Floats, group_by: str, options: Options) -> GroupValues:
        epsilon = options.epsilon
        if epsilon is None:
            h, m = _groups(human, group_by), _groups(metric, group_by)
            epsilon = calibrate(h, m, matrix).epsilon
            if np.isnan(epsilon):
                epsilon = 0.0
        counts = pair_counts(human, metric, group_by, epsilon=epsilon)
        values = matrix.value(counts)
        return GroupValues(values, np.ones(len(values)), epsilon)

    return segments


def _pdp(human: Floats, metric: Floats, group_by: str, _: Options) -> GroupValues:
    value = correlation.pdp(_groups(human, group_by), _groups(metric, group_by))
    return _equal(np.array([value]))


def _accuracy(human: Floats, metric: Floats, options: Options) -> float:
    return pairwise_accuracy(human, metric, ties=options.pa_ties).value


def _register() -> dict[str, MetaMetric]:
    found = [
        MetaMetric("spa", lowest=0.0),
        MetaMetric("pa", _accuracy, lowest=0.0),
        MetaMetric("pearson", *_correlation(correlation.pearson), group_by="none"),
        MetaMetric("spearman", *_correlation(correlation.spearman), group_by="none"),
        MetaMetric("kendall-b", *_kendall(lambda c, _h, _m: correlation.kendall_b(c))),
        MetaMetric("kendall-c", *_kendall(_tau_c)),
        MetaMetric("kendall-like", None, _pooled, options=Options(threshold=25.0), matrix=_HARD),
        MetaMetric("pdp", None, _pdp),
        from_matrix("acc-eq", ties.KENDALL["acc-eq"], calibrated=True),
        from_matrix("tau-eq", ties.KENDALL["tau-eq"], calibrated=True),
    ]
    plain = set(ties.KENDALL) - {"acc-eq", "tau-eq"}
    found += [from_matrix(name, ties.KENDALL[name]) for name in sorted(plain)]
    return {meta.name: replace(meta, family=meta.name) for meta in found}


def from_matrix(
    name: str, matrix: TieMatrix, *, calibrated: bool = False, threshold: float = 0.0
) -> MetaMetric:
    """Make a meta-metric of a tie matrix: pairs within items, averaged.

    ``calibrated`` finds the metric difference below which pairs tie, for which every kind of pair
    must be worth something; ``threshold`` is the human difference below which they do.

    Examples
    --------
    >>> import numpy as np
    >>> half = from_matrix("half", TieMatrix(metric_tie=0.5))
    >>> human, metric = np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [0.0], [1.0]])
    >>> round(half.segments(human, metric, "item", half.options).mean, 3)
    0.833
    """
    bounds.text(name=name)
    bounds.flag(calibrated=calibrated)
    options = Options(threshold=threshold)
    worths = (matrix.same, matrix.opposite, matrix.metric_tie, matrix.human_tie, matrix.both_tie)
    lowest = min((worth for worth in worths if worth is not None), default=0.0)
    systems, segments = _matrix(matrix)
    if calibrated:
        return MetaMetric(name, None, _calibrated(matrix), lowest=lowest, matrix=matrix)
    return MetaMetric(name, systems, segments, lowest=lowest, options=options, matrix=matrix)


METAMETRICS: Mapping[str, MetaMetric] = _register()


def metametric(name: str) -> MetaMetric:
    """Give a meta-metric by name."""
    bounds.text(name=name)
    if name not in METAMETRICS:
        raise UsageError(f"no meta-metric '{name}'; {hint(name, METAMETRICS)}")
    return METAMETRICS[name]


def chosen(by: str | MetaMetric | Iterable[str | MetaMetric]) -> list[MetaMetric]:
    """Give meta-metrics by their names, one or several."""
    asked = bounds.listed((str, MetaMetric), by=by)
    return [one if isinstance(one, MetaMetric) else metametric(one) for one in asked]


def chance_level(human: Floats) -> float:
    """Accuracy with calibrated ties that a metric without any information reaches.

    Such a metric can tie everything and be right wherever people tie, or tie nothing and be right
    half the time elsewhere; the better of the two, averaged over segments, is the floor.

    Examples
    --------
    >>> import numpy as np
    >>> chance_level(np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]]))
    0.5
    """
    nothing = np.where(np.isnan(human), np.nan, 0.0)
    counts = count_pairs(human, nothing)
    with_pairs = counts.total > 0
    if not with_pairs.any():
        return float("nan")
    tied = counts.both_ties[with_pairs] / counts.total[with_pairs]
    return float(max(tied.mean(), ((1 - tied) / 2).mean()))
