"""How organisers of shared tasks turned scores of people into a ranking, as data.

The rules are in :mod:`steelyard.stats`, and :mod:`steelyard.human.official` applies them. This
module imports no NumPy: ``--help`` reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """The protocol of one campaign.

    Parameters
    ----------
    name
        What it is called.
    protocols
        The protocols of judgement that it is of.
    kinds
        The kinds of items that count; controls and repeats are others.
    latest
        Whether of several judgements of one login and output the latest alone counts.
    by_domain
        Whether the overall score is the mean of the means of domains, and tests are made in each
        domain and combined; else the plain mean over all segments, and one test.
    paired
        Whether systems are compared segment by segment, by Wilcoxon's signed ranks as SciPy's
        defaults give them; else by rank sums.
    alternative
        Of the test: ``two-sided``, or ``greater``.
    ranges
        ``wins``: from losses + 1 to N - wins, where a win is p < ``alpha`` and the higher score;
        ``walk``: up to the first system that is significantly better, down to the first worse one;
        ``cluster``: the places of the cluster.
    clusters
        ``together``: systems that do not differ (p > ``alpha``) are never split; ``ranges``: a line
        where no range crosses it; ``wins``: after the k-th of N systems if it beats N - k others.
    each_rating
        Whether every rating of an output is an item of its own, or their mean is one.
    fewest
        Annotations below which the organisers publish no ranking.
    """

    name: str
    protocols: tuple[str, ...] = ("esa",)
    kinds: tuple[str, ...] = ("system",)
    latest: bool = True
    by_domain: bool = False
    paired: bool = True
    alternative: str = "two-sided"
    ranges: str = "wins"
    clusters: str = "together"
    alpha: float = 0.05
    each_rating: bool = False
    fewest: int = 0

    @property
    def test(self) -> str:
        """Name the test of a pair."""
        if self.by_domain:
            return f"wilcoxon ({self.alternative}) by domain, stouffer"
        return f"{'wilcoxon' if self.paired else 'rank-sum'} ({self.alternative})"

    @property
    def overall(self) -> str:
        """Say how the score of a system is made."""
        if self.by_domain:
            return "mean of domain means"
        return "mean over ratings" if self.each_rating else "mean over segments"

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "name": self.name,
            "overall": self.overall,
            "test": self.test,
            "ranges": self.ranges,
            "clusters": self.clusters,
            "alpha": self.alpha,
        }


#: Every preset by its name.
PRESETS = {
    one.name: one
    for one in (
        Preset(
            name="wmt22",
            protocols=("da",),
            kinds=("system", "repeat"),
            latest=False,
            paired=False,
            alternative="greater",
            ranges="cluster",
            clusters="wins",
        ),
        Preset(name="wmt24", by_domain=True),
        Preset(name="wmt24-micro"),
        Preset(
            name="wmt25",
            alternative="greater",
            ranges="walk",
            clusters="ranges",
            each_rating=True,
            fewest=500,
        ),
    )
}
