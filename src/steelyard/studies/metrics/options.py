"""What studies of metrics are asked: one object each, checked when it is made."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from steelyard.core.options import (
    Options,
    bootstraps,
    choice,
    flag,
    fraction,
    names,
    number,
    numbers,
    resamples,
    unit,
    whole,
    wholes,
)
from steelyard.metaevaluation.options import (
    ALTERNATIVES,
    CORRECTIONS,
    PERM,
    PUBLISHED,
    SCHEMES,
)

META = ("spa", "pa")  # meta-metrics, if none are named
SENTINEL_META = ("spa", "pa", "acc-eq", "pearson")
#: The matrices of the better-metric-evaluation paper, and the two that later tasks used.
MATRICES = (
    "kendall-hard",
    "kendall-soft",
    "kendall-no-tie-penalty",
    "kendall-human-ties",
    "tau-eq",
    "acc-eq",
)


@dataclass(frozen=True, kw_only=True)
class MetaStudyOptions(Options):
    """What studies of meta-evaluations share; see :func:`steelyard.meta_evaluate`."""

    metrics: Collection[str] | None = names(
        None, "Only these metrics; patterns such as '*-refA' stand for several."
    )
    level: str | None = choice(
        None, ("sys", "seg"), "Systems or segments; by default each meta-metric's own."
    )
    group_by: str | None = choice(
        None,
        ("none", "item", "system"),
        "What segments are grouped by; by default each meta-metric's own.",
    )
    keep_references: bool = flag("Keep systems that are a metric's reference.")


@dataclass(frozen=True, kw_only=True)
class SystemsOptions(MetaStudyOptions):
    """How systems are dropped."""

    sizes: Sequence[int] | None = wholes(
        None, "Numbers of systems to keep; by default up to 12 between 2 and all but one.", least=2
    )
    trials: int = whole(1000, "Random choices of systems for each size.", least=1, metavar="N")


@dataclass(frozen=True, kw_only=True)
class SegmentsOptions(MetaStudyOptions):
    """How segments are drawn."""

    sizes: Sequence[int] | None = wholes(
        None,
        "Numbers of segments; by default 25, 50, 100, ... and as many as people scored.",
        least=2,
    )
    draws: int = whole(1000, "Samples of each size.", least=10, metavar="N")


@dataclass(frozen=True, kw_only=True)
class WorthOptions(Options):
    """What is asked of differences of metrics."""

    metrics: Collection[str] | None = names(None, "Only these metrics.")
    at: Sequence[float] | None = numbers(
        None, "Differences whose worth is told; by default round ones.", least=0
    )
    alpha: float = fraction(0.05, "Level at which people's differences are significant.")
    unit: str = unit(
        "segment", "What is independent in the test of people's differences: segments, documents."
    )
    draws: int = whole(500, "Resamples of sets, or of systems, for bands.", least=10, metavar="N")


@dataclass(frozen=True, kw_only=True)
class SentinelOptions(MetaStudyOptions):
    """How often what is random is drawn."""

    draws: int = whole(50, "Random sentinels of each kind.", least=1, metavar="N")


@dataclass(frozen=True, kw_only=True)
class DistinctOptions(MetaStudyOptions):
    """How differences of metrics are tested."""

    scheme: str = choice(
        "inputs",
        SCHEMES,
        f"What is swapped between two metrics, as for steelyard meta. {PERM}.",
        also=PUBLISHED,
    )
    alternative: str = choice("greater", ALTERNATIVES, "One- or two-sided tests.")
    correction: str = choice("none", CORRECTIONS, "Correct p-values for the number of pairs.")
    n_resamples: int | None = resamples()
    alpha: float = fraction(0.05, "Level of the tests.")


@dataclass(frozen=True, kw_only=True)
class TiesOptions(Options):
    """What is a tie, and what it is worth."""

    metrics: Collection[str] | None = names(
        None, "Only these metrics; patterns such as '*-refA' stand for several."
    )
    matrices: Sequence[str] = names(MATRICES)
    thresholds: Sequence[float] | None = numbers(
        None,
        "Human differences below which pairs tie; by default 0,1,5,10,25,50, or quartiles of small "
        "scales.",
        least=0,
    )
    threshold: float | str | None = number(
        None, "The threshold that others are compared with; by default 25; auto: what at most 5 % "
        "of pairs of equal outputs differ by.", least=0, word="auto", metavar="X|auto",
    )  # fmt: skip
    metric_thresholds: Sequence[float] = numbers(
        (0.0,),
        "Metric differences up to which pairs tie, in standard deviations of differences.",
        least=0,
    )
    identical_ties: bool = flag("Identical texts are ties of people.")
    unit: str = unit("auto", "What is independent: intervals resample and tests swap whole units; "
                     "auto: documents where ten or more are known, else segments.")  # fmt: skip
    n_bootstrap: int = bootstraps()
    n_resamples: int = resamples(2000, "Draws of a test.")
    alternative: str = choice("greater", ("greater", "two-sided"), "One- or two-sided tests.")
    alpha: float = fraction(0.05, "Level of the tests.")
    correction: str = choice(
        "none",
        ("none", "holm", "bonferroni", "benjamini-hochberg"),
        "Correct p-values for the number of pairs of metrics.",
    )
