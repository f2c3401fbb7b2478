"""Options of :func:`steelyard.make_report` and ``steelyard report``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from steelyard.core.options import Options, bootstraps, fraction, names, resamples, text, whole


@dataclass(frozen=True, kw_only=True)
class ReportOptions(Options):
    """What a report shows, and how surely: ``options=sy.report_options(alpha=0.01)``.

    Parameters
    ----------
    score, metrics, explored
        The score that systems are compared by, the metrics to weigh, and scores that the explorer
        shall hold, if it can't hold all.
    title
        Heading of the page; by default the task, or the name of the set, and its systems.
    alpha, n_bootstrap, n_resamples
        Level of the tests, resamples for intervals, draws of the tests between metrics.
    checked
        Segments of which numbers, names and terms are checked.
    """

    score: str | None = text(
        None,
        "Compare systems by this score; by default by the human one, else the first.",
        metavar="NAME",
    )
    metrics: Collection[str] | None = names(
        None, "Weigh only these metrics; patterns such as '*-refA' stand for several."
    )
    explored: Sequence[str] = names(
        (), "Scores to have with the segments, if not all fit.", flag="--explore"
    )
    title: str | None = text(None, "Heading of the page.", metavar="TEXT")
    alpha: float = fraction(0.05, "Level of tests, tiers and clusters.")
    n_bootstrap: int = bootstraps()
    n_resamples: int | None = resamples(
        None, "Draws of the tests between metrics; by default as many as take seconds."
    )
    checked: int = whole(
        50,
        "Segments whose numbers, names and terms are checked, of the best two systems.",
        least=0,
    )


report_options = ReportOptions  #: as users write it
