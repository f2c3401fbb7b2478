"""All meta-metrics, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from steelyard.core import bounds
from steelyard.core.errors import UsageError, hint
from steelyard.stats import correlation
from steelyard.stats.kendall.counting import KENDALL
from steelyard.stats.metametrics.accuracy import Accuracy, Spa
from steelyard.stats.metametrics.base import MetaMetric
from steelyard.stats.metametrics.copies import Pairs, Ranks, TauC
from steelyard.stats.metametrics.correlations import (
    CalibratedAccuracy,
    Correlation,
    Pdp,
    Pearson,
    PooledVariant,
    Verdicts,
    from_matrix,
    lowest,
    tau_b,
    tau_c,
)

_HARD, _ACCURACY, _TAU = (KENDALL[name] for name in ("kendall-hard", "acc-eq", "tau-eq"))
_OWN = (
    Spa("spa"),
    Accuracy("pa"),
    Pearson("pearson"),
    Correlation("spearman", group_by="none", of=correlation.spearman, resampled=Ranks()),
    Correlation("kendall-b", of=tau_b, resampled=Pairs()),
    Correlation("kendall-c", of=tau_c, resampled=TauC()),
    PooledVariant("kendall-like", threshold=25.0, matrix=_HARD),
    Pdp("pdp"),
    CalibratedAccuracy("acc-eq", lowest(_ACCURACY), matrix=_ACCURACY),
    Verdicts("tau-eq", lowest(_TAU), matrix=_TAU),
)
_PLAIN = sorted(set(KENDALL) - {meta.name for meta in _OWN})
METAMETRICS: Mapping[str, MetaMetric] = {
    meta.name: meta for meta in (*_OWN, *(from_matrix(name, KENDALL[name]) for name in _PLAIN))
}


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
