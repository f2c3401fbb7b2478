"""All meta-metrics, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from steelyard.core.errors import UsageError, hint
from steelyard.core.options import as_tuple, check_text
from steelyard.stats import correlation
from steelyard.stats.kendall.counting import KENDALL
from steelyard.stats.metametrics.accuracy import Accuracy, Spa
from steelyard.stats.metametrics.base import MetaMetric
from steelyard.stats.metametrics.correlations import (
    CalibratedAccuracy,
    Correlation,
    Pdp,
    Pearson,
    PooledVariant,
    Verdicts,
    from_matrix,
    tau_b,
    tau_c,
)
from steelyard.stats.metametrics.weighted import WeightedPairs, WeightedSpearman, WeightedTauC

_HARD, _ACCURACY, _TAU = (KENDALL[name] for name in ("kendall-hard", "acc-eq", "tau-eq"))
_NAMED = (
    Spa("spa"),
    Accuracy("pa"),
    Pearson("pearson"),
    Correlation("spearman", group_by="none", of=correlation.spearman, resampled=WeightedSpearman()),
    Correlation("kendall-b", of=tau_b, resampled=WeightedPairs()),
    Correlation("kendall-c", of=tau_c, resampled=WeightedTauC()),
    PooledVariant("kendall-like", threshold=25.0, matrix=_HARD),
    Pdp("pdp"),
    CalibratedAccuracy("acc-eq", _ACCURACY.lowest, matrix=_ACCURACY),
    Verdicts("tau-eq", _TAU.lowest, matrix=_TAU),
)
_PLAIN = sorted(set(KENDALL) - {meta.name for meta in _NAMED})
METAMETRICS: Mapping[str, MetaMetric] = {
    meta.name: meta for meta in (*_NAMED, *(from_matrix(name, KENDALL[name]) for name in _PLAIN))
}
#: Other names that people have for meta-metrics (as core.errors.plain_word gives them).
OTHER_NAMES = {
    **dict.fromkeys(("soft-pairwise-accuracy", "soft-pa", "soft-accuracy", "pce"), "spa"),
    **dict.fromkeys(
        ("pairwise-accuracy", "accuracy", "acc", "pairwise", "system-accuracy", "sys-acc"), "pa"
    ),
    **dict.fromkeys(("pearsonr", "pearson-r", "r", "correlation", "pcc"), "pearson"),
    **dict.fromkeys(("spearmanr", "spearman-rho", "rho", "scc"), "spearman"),
    **dict.fromkeys(
        ("kendall", "kendalltau", "kendall-tau", "tau", "tau-b", "kendall-tau-b", "ktau"),
        "kendall-b",
    ),
    **dict.fromkeys(("tau-c", "kendall-tau-c", "stuart"), "kendall-c"),
    **dict.fromkeys(("darr", "wmt", "kendall-wmt", "kendall-like-tau"), "kendall-like"),
    **dict.fromkeys(
        ("acc*eq", "acc-t", "acc23", "acc-equal", "acceq", "group-by-item-accuracy",
         "tie-calibration", "tie-calibrated-accuracy"),
        "acc-eq",
    ),
    **dict.fromkeys(("tau*eq", "taueq", "tau-equal"), "tau-eq"),
    **dict.fromkeys(("pairwise-difference-pearson", "pairwise-differences"), "pdp"),
}  # fmt: skip


def metametric(name: str) -> MetaMetric:
    """Return a meta-metric by name."""
    check_text(name=name)
    if name not in METAMETRICS:
        raise UsageError(f"no meta-metric '{name}'; {hint(name, METAMETRICS, OTHER_NAMES)}")
    return METAMETRICS[name]


def chosen(by: str | MetaMetric | Iterable[str | MetaMetric]) -> list[MetaMetric]:
    """Return meta-metrics by their names, one or several."""
    asked = as_tuple((str, MetaMetric), by=by)
    return [meta if isinstance(meta, MetaMetric) else metametric(meta) for meta in asked]
