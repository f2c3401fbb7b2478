"""How metrics are weighed: what ``meta_evaluate`` and ``steelyard meta`` ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.core.errors import UsageError
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

#: Names of registries and of arguments of ``stats``, which ``--help`` must not import.
LEVELS = ("sys", "seg")
#: Levels whose items are made of segments, and what one of them is called.
POOLED = {"doc": "document", "domain": "domain"}
GROUPS = ("none", "item", "system")
SCHEMES = ("inputs", "cells", "systems", "rows+columns", "pairs", "williams")
#: What Deutsch et al. (2021) call schemes. PERM-BOTH has been done in two ways: by swapping each
#: score by itself, as in their own code and in the shared tasks, and by swapping rows and columns.
PUBLISHED = {"perm-inputs": "inputs", "perm-systems": "systems", "perm-both": "cells"}
PERM = "PERM-INPUTS, PERM-SYSTEMS and PERM-BOTH stand for inputs, systems and cells"
ALTERNATIVES = ("greater", "two-sided")
CORRECTIONS = ("none", "holm", "bonferroni", "benjamini-hochberg")
METHODS = ("exact", "mtme")
PA_TIES = ("strict", "drop-human")
OUTLIERS = ("both", "keep", "drop")
DRAWN = ("unit", "segment", "document", "system", "both", "rater")

DEFAULT = ("spa", "pa", "acc-eq")


@dataclass(frozen=True, kw_only=True)
class Procedure(Options):
    """How the differences of metrics are tested."""

    scheme: str = choice("inputs", SCHEMES, "What is swapped between two metrics (pairs: verdicts, "
                         "for acc-eq and tau-eq), or Williams' test of pearson; all but inputs can "
                         f"reject too often. {PERM}.", also=PUBLISHED)  # fmt: skip
    alternative: str = choice("greater", ALTERNATIVES, "One- or two-sided tests.")
    n_resamples: int | None = resamples()
    alpha: float = fraction(0.05, "Level of the tests, and of clusters.")
    correction: str = choice("none", CORRECTIONS, "Correct p-values for the number of pairs.")


@dataclass(frozen=True, kw_only=True)
class MetaOptions(Procedure):
    """How metrics are weighed, what is tested, and what is resampled for intervals."""

    metrics: Sequence[str] | None = names(
        None, "Weigh only these metrics; patterns such as '*-refA' stand for several."
    )
    level: str | None = choice(
        None,
        (*LEVELS, *POOLED),
        "Systems, segments, or documents or domains, of which scores are "
        "means of segments; by default each meta-metric's own.",
    )
    group_by: str | None = choice(
        None, GROUPS, "What segments are grouped by; by default each meta-metric's own."
    )
    significance: bool = flag("Test all pairs of metrics; give clusters.")
    intervals: str | None = choice(
        "unit", DRAWN, "What is resampled for intervals of every value and rank: units, systems, "
        "both (document sets the unit, too), or the raters behind the human score.", none="none",
    )  # fmt: skip
    n_bootstrap: int = bootstraps()
    method: str = choice("exact", METHODS, "p-values inside soft pairwise accuracy.")
    unit: str = unit("segment", "What is independent: changes sign, is swapped and is resampled as "
                     "a whole (segment: as soft pairwise accuracy is defined; rater and "
                     "document+rater: human p-values by rater).")  # fmt: skip
    epsilon: float | None = number(
        None, "Metric differences that acc-eq and tau-eq take for ties.", least=0, none="auto",
        metavar="auto|X",
    )  # fmt: skip
    threshold: float | None = number(
        None, "Human differences below which Kendall variants see a tie.", least=0, metavar="X"
    )
    pa_ties: str = choice("strict", PA_TIES, "Pairs of systems that the human score ties.")
    keep_references: bool = flag("Keep systems that are a metric's reference.")
    common: bool = flag("Weigh all metrics on the systems and segments that all of them have.")
    outliers: str = choice(
        "both", OUTLIERS, "Systems that people find far better or worse than the rest: values with "
        "and without them, with them, or without them (tests and intervals, too).",
    )  # fmt: skip
    outlier_cutoff: float = number(
        2.5, "Robust deviations (1.483 MAD) from the median beyond which a system is an outlier.",
        least=0, strict=True, metavar="X",
    )  # fmt: skip
    sentinels: bool = flag("Weigh scores that know nothing of quality, too: random numbers, names "
                           "of systems, segments, lengths.")  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.intervals not in ("segment", "document"):
            return
        # A unit of intervals is the unit of all: of values and tests, too.
        if self.intervals == "document" and self.unit not in ("segment", "document"):
            raise UsageError(
                f'intervals="document", unit="{self.unit}": values, tests and intervals have one '
                "unit"
            )
        if self.intervals == "document":
            object.__setattr__(self, "unit", "document")
        object.__setattr__(self, "intervals", "unit")

    def check_unit(self) -> None:
        """Refuse units that a method of p-values, or an interval, does not know."""
        if self.method == "mtme" and self.unit != "segment":
            what = "method mtme flips single segments, as its toolkit does"
            raise UsageError(f"unit '{self.unit}': {what}")

    def provenance(self, human: str, by: Sequence[str]) -> dict[str, object]:
        """Give what tells two runs apart."""
        shown: dict[str, object] = {
            "human": human,
            "with": ",".join(by),
            "method": self.method,
            "unit": self.unit,
        }
        if self.intervals:
            shown |= {"intervals": self.intervals, "bootstrap": self.n_bootstrap}
        if self.significance:
            shown |= {"scheme": self.scheme, "alternative": self.alternative, "alpha": self.alpha}
        return shown
