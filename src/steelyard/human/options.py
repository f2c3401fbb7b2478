"""Options of :func:`steelyard.human_scores` and ``steelyard human``, each told once."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.core.errors import UsageError, hint
from steelyard.core.options import (
    Options,
    amounts,
    bootstraps,
    check_instance,
    check_text,
    choice,
    flag,
    fraction,
    names,
    number,
    numbers,
    source,
    text,
    unit,
)
from steelyard.human.presets import PRESETS

PROTOCOLS = ("da", "mqm", "esa", "rr", "darr")
#: Other names that people have for protocols (as core.errors.plain_word gives them).
OTHER_PROTOCOLS = {
    **dict.fromkeys(
        ("direct-assessment", "sqm", "da-sqm", "da+sqm", "scalar", "likert", "ratings"), "da"
    ),
    **dict.fromkeys(
        ("multidimensional-quality-metrics", "google-mqm", "errors", "error-list"), "mqm"
    ),
    **dict.fromkeys(("error-span-annotation", "error-spans", "appraise"), "esa"),
    **dict.fromkeys(("relative-ranking", "ranking", "rankings", "ranks"), "rr"),
    **dict.fromkeys(("pairs", "pairwise", "da-rr", "relative-da"), "darr"),
}


@dataclass(frozen=True, kw_only=True)
class HumanOptions(Options):
    """How raw judgements become scores.

    ``where`` holds columns and values as pairs, ``columns`` roles and columns.
    """

    protocol: str
    preset: str | None = choice(
        None,
        tuple(PRESETS),
        "Rank as the organisers of a shared task do: score, test, ranges, clusters (esa; "
        "wmt22: da).",
    )
    standardised: bool | None = flag(
        "Standardise scores by rater, or not; by default z for da only.",
        default=None,
        flag="--z/--raw",
    )
    quality_control: bool = flag("Remove raters that fail the checks, and show what changed.")
    min_seconds: float = number(
        2.0, "Least median time per rating, where times are known.", least=0
    )
    scale: Any = source(  # noqa: RUF009
        (0, 100),
        "Ends of the scale, or its words from the worst to the best (da, esa).",
        metavar="LOW,HIGH|WORST,...,BEST",
    )
    unit: str = unit("auto", "What is independent: tests take whole units; auto: documents where "
                     "ten or more are known, else segments; also rater and document+rater.",
                     metavar="auto|segment|document|prompt|COLUMN|N")  # fmt: skip
    clusters: str = choice(
        "wmt",
        ("wmt", "strict", "neighbours", "none"),
        "Rule that cuts the ranking into clusters.",
    )
    test: str | None = choice(
        None,
        ("rank-sum", "permutation", "t"),
        "Test of two systems; rank-sum for da, else permutation (t for raters as units).",
    )
    alpha: float = fraction(0.05, "Level of the tests.")
    correction: str = choice(
        "none",
        ("none", "bonferroni", "holm", "benjamini-hochberg"),
        "Correct p-values for the number of pairs.",
    )
    weights: str | Path | None = source(  # noqa: RUF009
        None, "What errors cost (mqm, esa): a file, wmt or wmt21.", metavar="FILE.toml"
    )
    severity: Any = amounts(  # noqa: RUF009
        "Weights of further severities, as undecided=0 (mqm, esa).", least=0
    )
    cap: float | None = number(
        None, "The most that one rating may cost (mqm).", least=0, strict=True, metavar="X"
    )
    threshold: float | str | None = number(
        None, "Difference that decides a pair (darr); 25 for raw scores; auto: what at most 5 % of "
        "pairs of equal outputs differ by.", least=0, word="auto", metavar="X|auto",
    )  # fmt: skip
    thresholds: Sequence[float] = numbers(
        (), "Count the pairs that each of these would keep (darr).", least=0
    )
    identical_ties: bool = flag("Pairs of identical outputs are ties; needs a text file (darr).")
    keep_ties: bool = flag("Keep ties instead of dropping them (darr).")
    metrics: Collection[str] | None = names(None, "Metrics whose ties are counted (darr).")
    each: bool = flag("Files that begin alike (de-en.*) are a set of their own (darr).")
    by: str = choice(
        "trueskill",
        ("trueskill", "bt", "expected-wins"),
        "Model that systems are ordered by (rr).",
    )
    held_back: Any = source(  # noqa: RUF009
        None, "Rankings whose pairs the models shall predict (rr).", metavar="FILE"
    )
    n_bootstrap: int = bootstraps(least=0)
    raters: Any = source(  # noqa: RUF009
        None,
        "Who has which logins: JSON {person: [logins]}, or columns login, person.",
        metavar="FILE",
    )
    human: str | None = text(
        None, "The human score of a table (darr), or the ratings of a set.", metavar="NAME"
    )
    score: str | None = text(
        None, "The column to take as the score, where there are several.", metavar="NAME"
    )
    lp: str | None = text(None, "Language pair.", metavar="SRC-TGT")
    systems: Collection[str] | None = names(None, "Keep only these systems.")
    drop_systems: Collection[str] = names((), "Leave out these systems.")
    where: Any = ()
    columns: Any = ()
    ignore: Collection[str] = names((), "Skip these columns.")
    format: str | None = text(
        None,
        "Format of inputs that could be of several; steelyard data formats lists them.",
        metavar="NAME",
    )

    def __post_init__(self) -> None:
        check_text(protocol=self.protocol)
        if self.protocol not in PROTOCOLS:
            known = hint(self.protocol, PROTOCOLS, OTHER_PROTOCOLS)
            raise UsageError(f"unknown protocol '{self.protocol}'; {known}")
        super().__post_init__()
        check_instance((str, Path), "a path", optional=True, weights=self.weights)
        parts_of_scale(self.scale)


def parts_of_scale(scale: Any) -> tuple[tuple[str, ...], tuple[float, float]]:
    """Return the words of a scale, from the worst to the best, and its ends; words count from 1.

    Examples
    --------
    >>> parts_of_scale((0, 100)), parts_of_scale("bad,ok,good")
    (((), (0.0, 100.0)), (('bad', 'ok', 'good'), (1.0, 3.0)))
    """
    wrong = UsageError(
        f"scale=... takes its two ends, or words from the worst to the best; got {scale!r:.60}"
    )
    if isinstance(scale, str):
        scale = [part.strip() for part in scale.split(",")]
    if not isinstance(scale, (list, tuple)) or len(scale) < 2:
        raise wrong
    if any(isinstance(part, bool) or part == "" for part in scale):
        raise wrong
    try:
        low, high, *more = map(float, scale)
    except (TypeError, ValueError):
        words = tuple(map(str, scale))
        if len({word.casefold() for word in words}) < len(words):
            raise wrong from None
        return words, (1.0, float(len(words)))
    if more or not -math.inf < low < high < math.inf:
        raise wrong
    return (), (low, high)
