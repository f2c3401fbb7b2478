"""What ``meta_evaluate`` and ``steelyard meta`` are asked; ``--help`` reads this without NumPy."""

# ruff: noqa: RUF009 - fields of options are made by functions, whatever their type

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from steelyard.core.errors import UsageError, hint
from steelyard.core.options import (
    Options,
    bootstraps,
    choice,
    flag,
    fraction,
    names,
    number,
    resamples,
    unit,
)

Alternative = Literal["greater", "two-sided"]
Correction = Literal["none", "holm", "bonferroni", "benjamini-hochberg"]
GroupBy = Literal["none", "item", "system"]
Intervals = Literal["unit", "segment", "document", "system", "both"]
Level = Literal["sys", "seg"]
Method = Literal["exact", "mtme"]
OutlierHandling = Literal["both", "keep", "drop"]
Scheme = Literal["inputs", "cells", "systems", "williams"]

LEVELS: tuple[str, ...] = get_args(Level)
GROUPS: tuple[str, ...] = get_args(GroupBy)
SCHEMES: tuple[str, ...] = get_args(Scheme)
#: What Deutsch et al. (2021) call schemes; their code swaps each score by itself for PERM-BOTH.
PUBLISHED = {"perm-inputs": "inputs", "perm-systems": "systems", "perm-both": "cells"}
PERM = "PERM-INPUTS, PERM-SYSTEMS and PERM-BOTH stand for inputs, systems and cells"
ALTERNATIVES: tuple[str, ...] = get_args(Alternative)
CORRECTIONS: tuple[str, ...] = get_args(Correction)
DEFAULT = ("spa", "pa", "acc-eq")


@dataclass(frozen=True, kw_only=True)
class MetricTest(Options):
    """How differences of metrics are tested: ``significance=sy.metric_test(correction="holm")``.

    Parameters
    ----------
    scheme
        What is swapped between two metrics: ``inputs`` (segments), ``cells`` or ``systems``; or
        ``williams``' test of pearson. All but ``inputs`` can reject too often.
    alternative
        ``greater`` or ``two-sided``.
    n_resamples
        Draws; by default 10,000, or 1,000 if that takes long.
    alpha
        Level of the tests and of clusters.
    correction
        Of p-values for the number of pairs.
    """

    scheme: Scheme = choice("inputs", SCHEMES, "What is swapped between two metrics, or "
                            "Williams' test of pearson; all "
                            f"but inputs can reject too often. {PERM}.",
                            also=PUBLISHED)  # fmt: skip
    alternative: Alternative = choice("greater", ALTERNATIVES, "One- or two-sided tests.")
    n_resamples: int | None = resamples()
    alpha: float = fraction(0.05, "Level of the tests, and of clusters.")
    correction: Correction = choice(
        "none", CORRECTIONS, "Correct p-values for the number of pairs."
    )


@dataclass(frozen=True, kw_only=True)
class MetaRules(Options):
    """Which systems and segments count, and how ties do: ``rules=sy.meta_rules(common=True)``.

    Parameters
    ----------
    method
        p-values inside soft pairwise accuracy: ``exact``, or as the toolkit ``mtme`` draws them.
    epsilon, threshold
        Metric differences that acc-eq and tau-eq take for ties (None: calibrated), and human
        differences below which Kendall variants see a tie.
    keep_references
        Keep systems that are a metric's reference.
    common
        Use only the systems and segments that all metrics have.
    outliers
        Systems whose human score is more than 2.5 robust standard deviations from the median:
        values with and without them (``both``), with them (``keep``), or without (``drop``: tests
        and intervals, too).
    sentinels
        Add scores that know nothing of quality: random numbers, system names, lengths.
    """

    method: Method = choice("exact", get_args(Method), "p-values inside soft pairwise accuracy.")
    epsilon: float | None = number(
        None, "Metric differences that acc-eq and tau-eq take for ties.", least=0, none="auto",
        metavar="auto|X",
    )  # fmt: skip
    threshold: float | None = number(
        None, "Human differences below which Kendall variants see a tie.", least=0, metavar="X"
    )
    keep_references: bool = flag("Keep systems that are a metric's reference.")
    common: bool = flag("Use only the systems and segments that all metrics have.")
    outliers: OutlierHandling = choice(
        "both", get_args(OutlierHandling), "Systems with human scores far from all others: values "
        "with and without them, with them, or without them (tests and intervals, too).",
    )  # fmt: skip
    sentinels: bool = flag("Add scores that know nothing of quality: random numbers, system names, "
                           "segments, lengths.")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MetaOptions(MetricTest, MetaRules):
    """All options side by side, as the flags of the command line are."""

    metrics: Collection[str] | None = names(
        None, "Only these metrics; patterns such as '*-refA' stand for several."
    )
    level: str | None = choice(
        None, LEVELS, "Systems or segments; by default each meta-metric's own."
    )
    group_by: str | None = choice(
        None, GROUPS, "What segments are grouped by; by default each meta-metric's own."
    )
    significance: bool = flag("Test all pairs of metrics; show which do not differ.")
    intervals: str | None = choice(
        "unit", get_args(Intervals), "What is resampled for intervals of values and ranks: units, "
        "systems, or both (document sets the unit, too).",
        none="none",
    )  # fmt: skip
    n_bootstrap: int = bootstraps()
    unit: str = unit("segment", "What is independent: changes sign, is swapped and is resampled as "
                     "a whole (segment: as soft pairwise accuracy is defined).")  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.intervals in ("segment", "document"):  # a unit of intervals is the unit of all
            if self.intervals == "document":
                if self.unit not in ("segment", "document"):
                    asked = f'intervals="document", unit="{self.unit}"'
                    raise UsageError(f"{asked}: values, tests and intervals have one unit")
                object.__setattr__(self, "unit", "document")
            object.__setattr__(self, "intervals", "unit")

    def check_unit(self) -> None:
        """Refuse units that a method of p-values does not know."""
        if self.method == "mtme" and self.unit != "segment":
            what = "method mtme flips single segments, as its toolkit does"
            raise UsageError(f"unit '{self.unit}': {what}")

    def provenance(self, human: str, by: Sequence[str]) -> dict[str, object]:
        """Return what tells two runs apart."""
        shown: dict[str, object] = {"human": human, "with": ",".join(by)}
        shown |= {"method": self.method, "unit": self.unit}
        if self.intervals:
            shown |= {"intervals": self.intervals, "bootstrap": self.n_bootstrap}
        if self.significance:
            shown |= {"scheme": self.scheme, "alternative": self.alternative, "alpha": self.alpha}
        return shown


metric_test, meta_rules = MetricTest, MetaRules  #: as users write them

MEASURES = ("wmt25", "mpp", "em", "mp", "mpp-sev", "mpp-many", "wmt23")  #: of error spans


@dataclass(frozen=True, kw_only=True)
class SpanOptions(Options):
    """How error spans are compared, and what is tested."""

    measures: Sequence[str] = names(
        MEASURES[:4], "Measures: wmt25 (characters, half credit for another severity), mpp (spans "
        "one to one, partial credit), em (exact), mp (any overlap), mpp-sev (mpp, half credit for "
        "another severity), mpp-many (all by all, minor errors weigh a fifth), wmt23.",
        flag="--measure",
    )  # fmt: skip
    average: str = choice("micro", ("micro", "macro"), "Over all outputs together, or the mean of "
                          "single outputs, which rewards marking nothing.")  # fmt: skip
    significance: bool = flag("Test all pairs of predictions by swapping units.")
    alpha: float = fraction(0.05, "Level of the tests.")
    unit: str = unit("auto", "What is resampled and swapped as a whole; auto: documents where ten "
                     "or more are known, else segments.")  # fmt: skip
    n_bootstrap: int = bootstraps()
    n_resamples: int | None = resamples(2000, "Draws of a test.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.measures:
            if name not in MEASURES:
                raise UsageError(f"no measure '{name}'; {hint(name, MEASURES)}")
        if not self.measures:
            raise UsageError("expected at least one measure")
