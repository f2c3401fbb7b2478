"""What each study is asked: one object per study, checked when it is made.

They stand apart from the studies so that ``--help`` loads no NumPy.
"""

# ruff: noqa: RUF009 - fields of options are made by functions, whatever their type

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from steelyard.comparison.options import RANKINGS, RankOptions, check_named
from steelyard.core.errors import UsageError
from steelyard.core.options import (
    Options,
    as_tuple,
    bootstraps,
    choice,
    flag,
    fraction,
    names,
    number,
    numbers,
    resamples,
    source,
    unit,
    whole,
    wholes,
)
from steelyard.metaevaluation.options import (
    ALTERNATIVES,
    CORRECTIONS,
    Alternative,
    Correction,
    MetricTest,
)

META = ("spa", "pa")  # meta-metrics, if none are named
#: The matrices of the better-metric-evaluation paper, and the two that later tasks used.
MATRICES = ("kendall-hard", "kendall-soft", "kendall-no-tie-penalty", "kendall-human-ties",
            "tau-eq", "acc-eq")  # fmt: skip
POWERS = ("t", "permutation", "sign")  # tests whose power can be found from a pilot
SIZES = (50, 100, 200, 400, 800, 1600, 3200, 6400)
SYSTEM_SIZES = (5, 8, 12, 20, 30, 50, 80)
VERDICTS = ("t", "mood", "sign", "wilcoxon")  # tests whose verdicts can be compared
SIMULATED = ("mean", "median", "bt", "elo", "trueskill")  # rankings of simulated scores
_LOGINS = "Who has which logins: a table with columns login and person."
_METRICS = "Only these metrics; patterns such as '*-refA' stand for several."


@dataclass(frozen=True, kw_only=True)
class MetaStudyOptions(Options):
    """What studies of meta-evaluations share; see :func:`steelyard.meta_evaluate`."""

    metrics: Collection[str] | None = names(None, _METRICS)
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
        None, "Differences to report; by default round ones.", least=0
    )
    alpha: float = fraction(0.05, "Level at which people's differences are significant.")
    unit: str = unit(
        "segment", "What is independent in the test of people's differences: segments, documents."
    )
    draws: int = whole(500, "Resamples of sets, or of systems, for bands.", least=10, metavar="N")


@dataclass(frozen=True, kw_only=True)
class DistinctOptions(MetaStudyOptions, MetricTest):
    """How differences of metrics are tested."""


@dataclass(frozen=True, kw_only=True)
class TiesOptions(Options):
    """What is a tie, and what it is worth."""

    metrics: Collection[str] | None = names(None, _METRICS)
    matrices: Sequence[str] = names(MATRICES)
    thresholds: Sequence[float] | None = numbers(
        None,
        "Human differences below which pairs tie; by default 0,1,5,10,25,50, or quartiles of small "
        "scales.",
        least=0,
    )
    threshold: float | None = number(
        None, "The threshold that others are compared with; by default 25.", least=0, metavar="X"
    )
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
    alternative: Alternative = choice("greater", ALTERNATIVES, "One- or two-sided tests.")
    alpha: float = fraction(0.05, "Level of the tests.")
    correction: Correction = choice(
        "none", CORRECTIONS, "Correct p-values for the number of pairs."
    )


@dataclass(frozen=True, kw_only=True)
class PowerOptions(Options):
    """What is drawn from a pilot, how often, and which power is wanted."""

    unit: str = unit("auto", "What is independent, and drawn from a pilot: auto, segment, "
                     "document, prompt, a column, a number of segments; for metrics also "
                     "system.")  # fmt: skip
    difference: float | None = number(
        None, "The difference to find; by default that of the pilot.", metavar="X"
    )
    sizes: Sequence[int] | None = wholes(
        None, "Numbers of units: of segments, documents or systems.", least=2
    )
    draws: int = whole(1000, least=1)
    alpha: float = fraction(0.05, "Level of the tests, two-sided.", metavar="X")
    target: float = fraction(0.8, "The power that is wanted.", flag="--power", metavar="X")

    def shown(self) -> dict[str, object]:
        """Give what the provenance shows."""
        return {
            "unit": self.unit,
            "alpha": self.alpha,
            "draws": self.draws,
            "difference": "pilot" if self.difference is None else self.difference,
        }


@dataclass(frozen=True, kw_only=True)
class TestPowerOptions(PowerOptions):
    """And the tests of two systems; a single one may be a plain name."""

    __test__ = False  # not for pytest

    tests: Sequence[str] = names(POWERS)
    sizes: Sequence[int] = wholes(SIZES, least=2)
    draws: int = whole(2000, least=1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tests", as_tuple(tests=self.tests))
        check_named("power of test", self.tests, POWERS)
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class MetricPowerOptions(PowerOptions, MetaStudyOptions):
    """And two metrics; their meta-metrics are defined by segments, unless said otherwise."""

    unit: str = unit("segment")
    metrics: Collection[str] | None = names(
        None, "Two metrics of a pilot to tell apart; by default the best two."
    )


@dataclass(frozen=True, kw_only=True)
class RankingRuleOptions(Options):
    """How many campaigns of equal systems are simulated."""

    draws: int = whole(300, "Simulated campaigns.", least=10, metavar="N")


@dataclass(frozen=True, kw_only=True)
class ThresholdOptions(Options):
    """What counts as a tie of people, and how surely."""

    share: float = fraction(0.05, "Share of equal outputs that may be called different.")
    customary: float = number(25.0, "The threshold to compare with.", least=0, metavar="X")
    unit: str = unit("auto", "What is independent: intervals resample whole units; auto: documents "
                     "where ten or more are known, else segments.")  # fmt: skip
    n_bootstrap: int = bootstraps()
    raters: Any = source(None, _LOGINS, metavar="FILE")


@dataclass(frozen=True, kw_only=True)
class DisagreementOptions(RankOptions):
    """Which rankings and tests are compared, on which samples of segments."""

    by: Sequence[str] = names(("mean", "median", "bt"), "Rankings: mean median bt elo trueskill.")
    top: int = whole(3, "How many systems are the top.", least=1, metavar="N")
    sizes: Sequence[int] = wholes(
        (10, 50, 100, 500, 1000, 5000),
        "Numbers of segments to sample, as far as a set has more.",
        least=1,
        empty=True,
    )
    draws: int = whole(20, "Samples of each size.", least=1, metavar="N")
    tolerance: float = number(0.0, "Differences of at most this are ties.", least=0, metavar="X")
    prior: float = number(
        0.0,
        "Wins and losses against an imaginary opponent, for Bradley-Terry.",
        least=0,
        metavar="X",
    )
    tests: Sequence[str] = names(VERDICTS, "Tests whose verdicts are compared.")
    alpha: float = fraction(0.05, "Level of the tests.", metavar="X")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("by", "sizes", "tests"):
            object.__setattr__(self, name, tuple(dict.fromkeys(getattr(self, name))))
        check_named("ranking", self.by, RANKINGS)
        if len(self.by) < 2:
            raise UsageError("expected at least two rankings to compare")
        check_named("test", self.tests, VERDICTS)


@dataclass(frozen=True)
class Design(Options):
    """The settings whose combinations are simulated, ``repeats`` data sets of each."""

    types: tuple[int, ...] = wholes((1, 3, 5, 10), "Numbers of types of segments.", least=1)
    outliers: tuple[float, ...] = numbers((0.0, 0.01, 0.025), "Shares of outliers.", least=0)
    systems: tuple[int, ...] = wholes((2, 3, 5, 10, 25, 50), "Numbers of systems.", least=2)
    segments: tuple[int, ...] = wholes((10, 30, 100, 200), "Numbers of segments.", least=1)
    repeats: int = whole(10, "Data sets of each combination.", least=1, metavar="N")
    noise: float = number(1.0, "Deviation of the noise.", least=0, metavar="X")
    outlier_kind: str = choice(
        "reversed",
        ("reversed", "permuted"),
        "Outliers: ordered against the strengths, or scores swapped among systems.",
    )
    by: tuple[str, ...] = names(SIMULATED[:3], "Rankings: mean median bt elo trueskill.")
    orders: int = whole(
        10, "Random orders that Elo and TrueSkill are averaged over.", least=1, metavar="N"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "by", tuple(dict.fromkeys(self.by)))
        check_named("ranking", self.by, SIMULATED)
        if not self.by:
            raise UsageError("expected at least one ranking to judge")
        if max(self.types) > min(self.segments):
            raise UsageError("types of segments are from 1 to the smallest number of segments")
        if max(self.outliers) >= 1:
            raise UsageError("shares of outliers are at least 0 and below 1")

    def settings(self) -> list[tuple[int, float, int, int]]:
        """List the combinations: types, share of outliers, systems, segments."""
        return list(product(self.types, self.outliers, self.systems, self.segments))
