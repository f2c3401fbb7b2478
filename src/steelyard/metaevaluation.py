"""Metrics against people: which metric, or LLM judge, agrees with the human score."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import UsageError, hint
from steelyard.evalset import EvalSet
from steelyard.metaresults import MetaEvaluation, MetaResult, Significance
from steelyard.provenance import Provenance
from steelyard.rng import Rng, generator
from steelyard.stats import clusters, metametrics, swaps
from steelyard.stats.accuracy import soft_agreement
from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.metametrics import GroupValues, MetaMetric, Options
from steelyard.stats.permutation import PairwisePValues, pairwise_pvalues
from steelyard.table import plural

DEFAULT = ("spa", "pa", "acc-eq")
METHODS = ("exact", "analytic", "monte-carlo", "mtme")
_WORK = 3e8  # pairs of metrics x pairs of systems x draws that cost some seconds


@dataclass(frozen=True, slots=True)
class _Data:
    """What every meta-metric works on: oriented scores of the systems that take part."""

    es: EvalSet
    human: Floats
    human_systems: Floats
    metrics: tuple[str, ...]

    def segments(self, metric: str) -> Floats:
        """Scores of a metric on the cells that people scored."""
        return np.where(np.isnan(self.human), np.nan, self.es.scores[metric].oriented)

    def systems(self, metric: str) -> Floats:
        """System scores of a metric: official, else the mean over what people scored."""
        table = self.es.scores[metric]
        if table.system_scores is not None:
            sign = 1 if table.higher_is_better else -1
            return table.system_scores * sign
        return _means(self.segments(metric))


def _means(x: Floats) -> Floats:
    return ratio(np.nansum(x, axis=1), (~np.isnan(x)).sum(axis=1))


def meta_evaluate(  # noqa: PLR0913 - every option has a default
    es: EvalSet,
    human: str | None = None,
    *,
    by: str | Sequence[str] = DEFAULT,
    metrics: Collection[str] | None = None,
    level: str | None = None,
    group_by: str | None = None,
    significance: bool = False,
    scheme: str = "inputs",
    alternative: str = "greater",
    n_resamples: int | None = None,
    alpha: float = 0.05,
    method: str = "exact",
    unit: str = "segment",
    epsilon: float | None = None,
    threshold: float | None = None,
    pa_ties: str = "strict",
    keep_references: bool = False,
    rng: Rng = 0,
) -> MetaEvaluation:
    """Weigh metrics against a human score.

    Parameters
    ----------
    es
        Systems, segments and scores.
    human
        The human score; may be left out if there is only one.
    by
        Meta-metrics: ``spa pa pearson spearman kendall-b kendall-c acc-eq tau-eq pdp kendall-like``
        and the Kendall variants.
    metrics
        Which metrics; by default all that are not human scores.
    level
        ``sys`` or ``seg``; by default each meta-metric's own (correlations: ``sys``).
    group_by
        ``none``, ``item`` or ``system`` at level ``seg``; by default each meta-metric's own.
    significance, scheme, alternative, n_resamples, alpha
        Test all pairs of metrics by swapping their scores, and put them into clusters.
    method, unit
        How p-values inside soft pairwise accuracy are found, and what changes sign together:
        ``segment``, ``document``, or a number of consecutive segments.
    epsilon, threshold, pa_ties
        Ties: a fixed epsilon instead of calibration, the human threshold of Kendall-like
        statistics, and ``strict`` or ``drop-human`` for pairwise accuracy.
    keep_references
        Keep systems that are the reference of one of the metrics.
    rng
        Seed of the draws.

    Examples
    --------
    >>> import steelyard as sy
    >>> chosen = ["learned-refA", "random-src"]
    >>> result = meta_evaluate(sy.demo_set(), "mqm", by="spa", metrics=chosen)
    >>> {name: round(value, 2) for name, value in result.values("spa").items()}
    {'learned-refA': 0.83, 'random-src': 0.46}
    """
    names = (by,) if isinstance(by, str) else tuple(by)
    metas = [metametrics.metametric(name) for name in names]
    human = _the_human(es, human)
    data, warnings = _prepare(es, human, metrics, keep_references=keep_references)
    blocks = _blocks(data.es, unit)
    stream = generator(rng)
    results: list[MetaResult] = []
    tests: dict[str, Significance] = {}
    chance: dict[str, float] = {}
    for meta in metas:
        options = replace(meta.options, epsilon=epsilon, pa_ties=pa_ties)
        if threshold is not None:
            options = replace(options, threshold=threshold)
        run = _Run(data, meta, level, group_by, options, method, blocks, warnings)
        found = run.results()
        if significance:
            test = run.test(found, scheme, alternative, n_resamples, stream)
            if test is not None:
                tests[meta.name] = test
                found = _ranked(found, test, alpha)
        if meta.name == "acc-eq" and run.group_by == "item":
            chance[meta.name] = metametrics.chance_level(data.human)
        results += found
    settings: dict[str, Any] = {
        "human": human,
        "with": ",".join(names),
        "method": method,
        "unit": unit,
    }
    if significance:
        settings |= {"scheme": scheme, "alternative": alternative, "alpha": alpha}
    seed = rng if isinstance(rng, int) else None
    return MetaEvaluation(
        human,
        data.es.n_systems,
        int((~np.isnan(data.human)).any(axis=0).sum()),
        data.es.systems,
        tuple(results),
        tests,
        tuple(dict.fromkeys(warnings)),
        Provenance("meta", settings, es.inputs, seed),
        chance,
    )


def _the_human(es: EvalSet, human: str | None) -> str:
    if human is None:
        if len(es.human) != 1:
            known = ", ".join(es.human) or "none"
            raise UsageError(f"name the human score (--human NAME); known as human: {known}")
        return es.human[0]
    es[human]  # an unknown name is an error that shows the known ones
    return human


def _prepare(
    es: EvalSet, human: str, metrics: Collection[str] | None, *, keep_references: bool
) -> tuple[_Data, list[str]]:
    """Choose metrics and systems, and note what was left out and why."""
    names = _chosen(es, human, metrics)
    warnings = list(es.notes)
    gold = es[human]
    empty = (
        np.isnan(gold.values).all(axis=1) if gold.has_segments else np.isnan(gold.system_means())
    )
    unscored = [s for s, lost in zip(es.systems, np.atleast_1d(empty), strict=True) if lost]
    if unscored:
        text = plural(len(unscored), "system")
        warnings.append(f"{text} without a '{human}' score left out: {', '.join(unscored)}")
    used = {ref for name in names for ref in es.scores[name].uses}
    references = [s for s in es.systems if s in used and s not in unscored]
    if references and not keep_references:
        listed = ", ".join(references)
        warnings.append(f"left out as the reference of a metric: {listed} (--keep-references)")
        unscored += references
    kept = es.drop(systems=unscored) if unscored else es
    if not kept.n_systems:
        raise UsageError(f"no system has a '{human}' score")
    gold = kept[human]
    means = _means(gold.values) if gold.system_scores is None else gold.system_scores
    sign = 1 if gold.higher_is_better else -1
    data = _Data(kept, gold.oriented, means * sign, names)
    blank = int(np.isnan(gold.values).all(axis=0).sum()) if gold.has_segments else 0
    if blank:
        warnings.append(f"{plural(blank, 'segment')} without a '{human}' score take no part")
    warnings += _look(data)
    return data, warnings


def _chosen(es: EvalSet, human: str, metrics: Collection[str] | None) -> tuple[str, ...]:
    if metrics is None:
        names = tuple(name for name in es.metrics if name != human)
    else:
        for name in metrics:
            if name not in es.scores:
                raise UsageError(f"no metric '{name}'; {hint(name, es.scores)}")
        names = tuple(sorted(set(metrics) - {human}))
    if not names:
        raise UsageError("no metric to weigh: every score is human")
    return names


def _look(data: _Data) -> list[str]:
    """Warn of metrics that are constant, identical, or upside down."""
    found = []
    seen: dict[bytes, str] = {}
    for name in data.metrics:
        scores = data.segments(name)
        if np.isnan(scores).all():
            continue
        known = scores[~np.isnan(scores)]
        if known.min() == known.max():
            found.append(f"'{name}' is constant: it can't tell systems apart")
        key = np.where(np.isnan(scores), np.nan, scores + 0.0).tobytes()
        if key in seen:
            found.append(f"'{name}' and '{seen[key]}' are identical")
        seen.setdefault(key, name)
    return found


def _blocks(es: EvalSet, unit: str) -> Counts | None:
    """Give the code of the block each segment belongs to, None for single segments."""
    if unit == "segment":
        return None
    if unit == "document":
        names = es.segments.documents
        if names is None or None in names:
            raise UsageError("--unit document: the documents of the segments are not known")
        return np.unique(np.array(names, dtype=object), return_inverse=True)[1].astype(np.int64)
    if not unit.isdigit() or int(unit) < 1:
        raise UsageError(f"unit '{unit}': expected segment, document or a number of segments")
    return np.arange(es.n_segments, dtype=np.int64) // int(unit)


@dataclass(frozen=True, slots=True)
class _Run:
    """One meta-metric on the data: values of all metrics, then tests of their differences."""

    data: _Data
    meta: MetaMetric
    asked_level: str | None
    asked_group: str | None
    options: Options
    method: str
    blocks: Counts | None
    warnings: list[str]
    cache: dict[bytes, Floats] = field(default_factory=dict)

    @property
    def level(self) -> str:
        """The level the meta-metric is taken at."""
        meta, asked = self.meta, self.asked_level
        if asked is not None and asked not in metametrics.LEVELS:
            raise UsageError(f"unknown level '{asked}'; {hint(asked, metametrics.LEVELS)}")
        on_systems = meta.systems is not None or meta.name == "spa"
        if asked == "seg" and meta.segments is None:
            raise UsageError(f"'{meta.name}' compares systems: it has no level seg")
        if asked == "sys" and not on_systems:
            raise UsageError(f"'{meta.name}' compares segments: it has no level sys")
        return asked or ("sys" if on_systems else "seg")

    @property
    def group_by(self) -> str | None:
        """The grouping of segments, None at level sys."""
        if self.level == "sys":
            return None
        group = self.asked_group or self.meta.group_by
        if group not in metametrics.GROUPS:
            raise UsageError(f"unknown grouping '{group}'; {hint(group, metametrics.GROUPS)}")
        return group

    def results(self) -> list[MetaResult]:
        """Values of all metrics, best first; metrics without the scores needed are noted."""
        found = []
        for name in self.data.metrics:
            value, epsilon, note = self._value(name)
            result = MetaResult(
                name, self.meta.name, self.level, self.group_by, value, epsilon=epsilon, note=note
            )
            found.append(result)
        key = [(-r.value if not np.isnan(r.value) else np.inf, r.metric) for r in found]
        return [found[i] for i in sorted(range(len(found)), key=key.__getitem__)]

    def _value(self, name: str) -> tuple[float, float | None, str | None]:
        if self.meta.name == "spa":
            return self._spa(name)
        if self.level == "sys":
            assert self.meta.systems is not None
            scores = self.data.systems(name)
            if np.isnan(scores).all():
                return float("nan"), None, "no scores"
            value = self.meta.systems(self.data.human_systems, scores, self.options)
            return value, None, _undefined(value, self.data.human_systems, scores)
        groups = self._groups(name)
        note = None
        lost = len(groups.values) - len(groups.defined)
        people = (~np.isnan(self.data.human)).any(axis=0) if self.group_by == "item" else None
        if people is not None:
            lost -= int((~people).sum())
        if lost > 0 and len(groups.values) > 1:
            note = f"undefined in {lost} of {len(groups.values)} groups"
        if not len(groups.defined):
            note = "no segment scores" if not self.data.es.scores[name].has_segments else "constant"
        return groups.mean, groups.epsilon, note

    def _groups(self, name: str) -> GroupValues:
        assert self.meta.segments is not None
        group = self.group_by or "none"
        return self.meta.segments(self.data.human, self.data.segments(name), group, self.options)

    def _pvalues(self, scores: Floats) -> PairwisePValues:
        return pairwise_pvalues(scores, method=self.method, blocks=self.blocks)

    def _human_p(self, known: NDArray[np.bool_]) -> Floats:
        """p-values of the human score on the cells that a metric has, computed once for each."""
        key = np.packbits(known).tobytes()
        if key not in self.cache:
            self.cache[key] = self._pvalues(np.where(known, self.data.human, np.nan)).p
        return self.cache[key]

    def _spa(self, name: str) -> tuple[float, None, str | None]:
        scores = self.data.segments(name)
        if np.isnan(self.data.human).all():
            raise UsageError("spa needs segment scores: the human score has system scores only")
        if np.isnan(scores).all():
            return float("nan"), None, "no segment scores"
        agreement = soft_agreement(self._human_p(~np.isnan(scores)), self._pvalues(scores).p)
        note = None if agreement.n_pairs else "fewer than two systems"
        return agreement.value, None, note

    def test(
        self,
        found: list[MetaResult],
        scheme: str,
        alternative: str,
        n_resamples: int | None,
        stream: np.random.Generator,
    ) -> Significance | None:
        """Test the differences of all pairs of metrics that have a value, best first."""
        names = [r.metric for r in found if not np.isnan(r.value)]
        names = [n for n in names if self.data.es.scores[n].has_segments]
        if len(names) < 2:
            return None
        stack = np.stack([self.data.segments(name) for name in names])
        n = self.data.es.n_systems
        work = max(1, len(names) * (len(names) - 1) / 2 * n * (n - 1) / 2)
        k = n_resamples or (10_000 if work * 10_000 < _WORK else 1000)
        extra: dict[str, Any] = {
            "scheme": scheme,
            "rng": stream,
            "alternative": alternative,
            "n_resamples": k,
        }
        if self.meta.name == "spa":
            human = self._human_p(~np.isnan(self.data.human))
            result = swaps.compare_spa(human, stack, **extra)
        elif self.level == "sys":
            result = swaps.compare_system_scores(self._statistic, stack, **extra)
        elif scheme == "inputs" and self.group_by == "item":
            groups = [self._groups(name) for name in names]
            values, weights = (
                np.stack([getattr(g, a) for g in groups]) for a in ("values", "weights")
            )
            result = swaps.compare_items(values, weights, alternative=alternative)
        else:
            how = f"'{self.meta.name}' grouped by {self.group_by}"
            self.warnings.append(f"no test of differences for {how} under the scheme '{scheme}'")
            return None
        return Significance(tuple(names), result.p, result.scheme, result.n_resamples, alternative)

    def _statistic(self, means: Floats) -> Floats:
        """Evaluate the meta-metric on (..., systems) means."""
        assert self.meta.systems is not None
        human = self.data.human_systems
        flat = means.reshape(-1, means.shape[-1])
        fast = _VECTORISED.get(self.meta.name)
        if fast is not None and not np.isnan(human).any():
            values = fast(human, flat)
        else:
            values = np.array([self.meta.systems(human, row, self.options) for row in flat])
        return values.reshape(means.shape[:-1])


def _fast_pa(human: Floats, metric: Floats) -> Floats:
    i, j = np.triu_indices(len(human), 1)
    agree = np.sign(human[i] - human[j]) == np.sign(metric[:, i] - metric[:, j])
    result: Floats = agree.mean(axis=-1)
    return result


def _fast_pearson(human: Floats, metric: Floats) -> Floats:
    h = human - human.mean()
    m = metric - metric.mean(axis=-1, keepdims=True)
    return ratio(m @ h, np.sqrt((m * m).sum(axis=-1) * (h @ h)))


_VECTORISED = {"pa": _fast_pa, "pearson": _fast_pearson}


def _undefined(value: float, human: Floats, metric: Floats) -> str | None:
    if not np.isnan(value):
        return None
    known = ~(np.isnan(human) | np.isnan(metric))
    if known.sum() < 2:
        return "fewer than two systems"
    return "constant" if np.ptp(metric[known]) == 0 else "the human score is constant"


def _ranked(found: list[MetaResult], test: Significance, alpha: float) -> list[MetaResult]:
    """Give each tested metric its cluster (greedy, as the shared tasks do) and its letters."""
    p = np.where(np.isnan(test.p), 1.0, test.p)
    ranks = dict(zip(test.metrics, clusters.greedy_clusters(p, alpha).tolist(), strict=True))
    letters = dict(zip(test.metrics, clusters.compact_letters(p, alpha), strict=True))
    return [replace(r, rank=ranks.get(r.metric), letters=letters.get(r.metric)) for r in found]
