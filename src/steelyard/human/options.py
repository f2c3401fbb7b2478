"""Options of :func:`steelyard.human_scores` and ``steelyard human``, each declared once.

A protocol has a class with its options: ``sy.mqm(cap=25)``. :class:`HumanOptions` holds those of
all protocols side by side, as the flags of the command line are. No NumPy is imported here, because
``--help`` reads this module.
"""
# ruff: noqa: RUF009 - fields are made by functions

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Literal, TypedDict, get_args

from steelyard.core.errors import UsageError
from steelyard.core.options import (
    Options,
    bootstraps,
    check_choice,
    check_instance,
    choice,
    flag,
    fraction,
    names,
    number,
    source,
    text,
    unit,
)

ProtocolName = Literal["da", "mqm", "esa", "rr", "darr"]
Presets = Literal["wmt22", "wmt24", "wmt24-micro", "wmt25", "wmt26"]
Clusters = Literal["wmt", "none"]
Correction = Literal["none", "bonferroni", "holm", "benjamini-hochberg"]
Test = Literal["rank-sum", "permutation", "t"]
Unlisted = Literal["error-free", "unrated"]
Model = Literal["trueskill", "bt", "expected-wins"]
Scale = str | Sequence[str] | Sequence[float]
Raters = str | Path | Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """How the organisers of one campaign rank systems."""

    name: str
    protocols: tuple[str, ...] = ("esa",)
    kinds: tuple[str, ...] = ("system",)  # the items that count
    latest: bool = True  # only the last judgement of a login on an output counts
    each_rating: bool = False  # every rating is an item
    by_domain: bool = False  # means and tests of domains are combined
    paired: bool = True  # Wilcoxon's signed ranks, else rank sums
    alternative: str = "two-sided"
    #: ``wins``: from losses + 1 to N - wins; ``walk``: up to the first better system, down to the
    #: first worse; ``script``: the same as the script of 2026 counts; or ``cluster``.
    ranges: str = "wins"
    #: ``together``: systems that do not differ are never split; ``ranges``: no range crosses a
    #: line; ``wins``: a line after the k-th of N systems if it beats N - k others.
    clusters: str = "together"
    alpha: float = 0.05
    fewest: int = 0  # annotations without which the organisers publish no ranking
    resamples: int = 0  # of the bootstrap that decides, where no test does
    least_agreement: float = 0.0  # of a user with all others, below which they are excluded

    @property
    def test(self) -> str:
        """The name of the test of a pair."""
        if self.resamples:
            return f"bootstrap ({self.alternative}), paired or not"
        if self.by_domain:
            return f"wilcoxon ({self.alternative}) by domain, stouffer"
        return f"{'wilcoxon' if self.paired else 'rank-sum'} ({self.alternative})"

    @property
    def overall(self) -> str:
        """How the score of a system is made."""
        if self.by_domain:
            return "mean of domain means"
        return "mean over ratings" if self.each_rating else "mean over segments"

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        keys = ("name", "overall", "test", "ranges", "clusters", "alpha")
        return {key: getattr(self, key) for key in keys}


#: Every preset by its name.
PRESETS = {
    preset.name: preset
    for preset in (
        Preset(name="wmt22", protocols=("da",), kinds=("system", "repeat"), latest=False,
               paired=False, alternative="greater", ranges="cluster", clusters="wins"),
        Preset(name="wmt24", by_domain=True),
        Preset(name="wmt24-micro"),
        Preset(name="wmt25", alternative="greater", ranges="walk", clusters="ranges",
               each_rating=True, fewest=500),
        Preset(name="wmt26", latest=False, alternative="greater", ranges="script", resamples=100,
               least_agreement=0.75),
    )
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Protocol(Options):
    """The options of one protocol; ``name`` is what the command line calls it."""

    name: ClassVar[str]


@dataclass(frozen=True, kw_only=True)
class _Clustered(Options):
    clusters: Clusters = choice(
        "wmt", get_args(Clusters), "Rule that cuts the ranking into clusters."
    )
    alpha: float = fraction(0.05, "Level of the tests.")
    correction: Correction = choice(
        "none", get_args(Correction), "Correct p-values for the number of pairs."
    )


@dataclass(frozen=True, kw_only=True)
class _Tested(_Clustered):
    test: Test | None = choice(
        None, get_args(Test), "Test of two systems; rank-sum for da, else permutation."
    )


@dataclass(frozen=True, kw_only=True)
class _Standardised(Options):
    standardised: bool | None = flag(
        "Standardise scores by rater, or not; by default z for da only.", default=None,
        flag="--z/--raw",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _Scaled(Options):
    quality_control: bool = flag("Remove raters that fail the checks.")
    min_seconds: float = number(
        2.0, "Least median time per rating, where times are known.", least=0
    )
    scale: Scale = source(
        "0,100",
        "Ends of the scale, or its words from the worst to the best (da, esa).",
        metavar="LOW,HIGH|WORST,...,BEST",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        parts_of_scale(self.scale)


@dataclass(frozen=True, kw_only=True)
class DirectAssessment(_Scaled, _Standardised, _Tested, Protocol):
    """Direct assessment: a score per output, by default standardised by rater (z).

    Parameters
    ----------
    standardised
        Whether scores are z (standardised by rater) or raw.
    quality_control, min_seconds
        Remove raters who fail the checks; the least median time per rating.
    scale
        The ends of the scale, beyond which a score is an error; or its words from the worst to the
        best (``["bad", "ok", "good"]``), which count 1, 2, 3.
    clusters, alpha, correction, test
        Rule of the clusters, level and correction of the tests, and the test: ``rank-sum``,
        ``permutation`` (paired) or ``t``.
    """

    name: ClassVar[str] = "da"


@dataclass(frozen=True, kw_only=True)
class _Listed(Options):
    unlisted: Unlisted | None = choice(
        None, get_args(Unlisted), "What outputs are that no row of errors names (mqm, darr)."
    )


@dataclass(frozen=True, kw_only=True)
class Mqm(_Listed, _Standardised, _Tested, Protocol):
    """MQM: an output is worth minus what its marked errors cost.

    Parameters
    ----------
    weights
        ``wmt``, ``wmt21`` or a TOML file; by default what fits the categories.
    cap
        The most that one rating may cost.
    unlisted
        What outputs without a row are whose segment has rows: ``error-free`` or ``unrated``.
    standardised, clusters, alpha, correction, test
        As in ``sy.da``; by default raw scores and the paired permutation test.
    """

    name: ClassVar[str] = "mqm"
    weights: str | Path | None = source(
        None, "What errors cost (mqm): a file, wmt or wmt21.", metavar="FILE.toml"
    )
    cap: float | None = number(
        None, "The most that one rating may cost (mqm).", least=0, strict=True, metavar="X"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_instance((str, Path), "a path", optional=True, weights=self.weights)


@dataclass(frozen=True, kw_only=True)
class Esa(_Scaled, _Standardised, _Tested, Protocol):
    """ESA: a score and marked errors per output, of which the score counts.

    Options are those of ``sy.da``; by default raw scores and the paired permutation test.
    """

    name: ClassVar[str] = "esa"


@dataclass(frozen=True, kw_only=True)
class RelativeRanking(_Clustered, Protocol):
    """Relative ranking: judges put several outputs of a segment in order.

    Parameters
    ----------
    by
        The model that systems are ordered by: ``trueskill``, ``bt`` or ``expected-wins``.
    clusters, alpha, correction
        As in ``sy.da``.
    """

    name: ClassVar[str] = "rr"
    by: Model = choice("trueskill", get_args(Model), "Model that systems are ordered by (rr).")


@dataclass(frozen=True, kw_only=True)
class Darr(_Listed, _Scaled, _Standardised, Protocol):
    """DARR: pairs of outputs, made of scores that differ by a threshold.

    Parameters
    ----------
    threshold
        The difference that decides a pair; 25 for raw scores.
    identical_ties, keep_ties
        Whether identical texts are ties, and whether ties are kept.
    standardised, quality_control, min_seconds, scale, unlisted
        As in ``sy.da`` and ``sy.mqm``; by default raw scores.
    """

    name: ClassVar[str] = "darr"
    threshold: float | None = number(
        None, "Difference that decides a pair (darr); 25 for raw scores.", least=0, metavar="X"
    )
    identical_ties: bool = flag("Pairs of identical outputs are ties; needs a text file (darr).")
    keep_ties: bool = flag("Keep ties instead of dropping them (darr).")


da, mqm, esa, rr, darr = DirectAssessment, Mqm, Esa, RelativeRanking, Darr
CLASSES: dict[str, type[Protocol]] = {kind.name: kind for kind in (da, mqm, esa, rr, darr)}
PROTOCOLS = tuple(CLASSES)


def protocols_with(option: str) -> list[str]:
    """Return the names of the protocols that have an option, none for one that all share."""
    return [name for name, kind in CLASSES.items() if option in kind.declared()]


class Selection(TypedDict, total=False):
    """What to keep of the inputs, and how to read them, as in :func:`steelyard.load`."""

    score: str | None
    drop_systems: Collection[str]
    where: Mapping[str, str] | Iterable[tuple[str, str]]
    ignore: Collection[str]
    columns: Mapping[str, str] | Iterable[tuple[str, str]]
    format: str | None
    lp: str | None


@dataclass(frozen=True, kw_only=True)
class HumanOptions(Darr, RelativeRanking, Mqm, Esa):
    """How raw judgements become scores: the options of all protocols, and those that all share.

    ``where`` holds columns and values as pairs, ``columns`` roles and columns.
    """

    protocol: str
    preset: str | None = choice(
        None,
        tuple(PRESETS),
        "Rank as the organisers of a shared task do: score, test, ranges, clusters (esa; "
        "wmt22: da).",
    )
    unit: str = unit("auto", "What is independent: tests take whole units; auto: documents where "
                     "ten or more are known, else segments.",
                     metavar="auto|segment|document|prompt|COLUMN|N")  # fmt: skip
    n_bootstrap: int = bootstraps(least=0)
    raters: Raters | None = source(
        None, "Who has which logins: a table with columns login and person.", metavar="FILE"
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
    where: tuple[tuple[str, str], ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    ignore: Collection[str] = names((), "Skip these columns.")
    format: str | None = text(None, "Format of the inputs (data formats).", metavar="NAME")

    def __post_init__(self) -> None:
        check_choice(PROTOCOLS, protocol=self.protocol)
        super().__post_init__()

    def changed(self) -> list[str]:
        """Return the names of the options that are not at their defaults."""
        return [
            item.name
            for item in fields(self)
            if item.name != "protocol" and getattr(self, item.name) != item.default
        ]

    def refuse_other_protocols(self) -> None:
        """Refuse options of other protocols."""
        for name in self.changed():
            protocols = protocols_with(name)
            if protocols and self.protocol not in protocols:
                raise UsageError(f"{name}=... applies to protocol {' or '.join(protocols)}")


def parts_of_scale(scale: Scale) -> tuple[tuple[str, ...], tuple[float, float]]:
    """Return the words of a scale, from the worst to the best, and its ends; words count from 1."""
    wrong = UsageError(
        f"scale=... takes its two ends, or words from the worst to the best; got {scale!r:.60}"
    )
    parts = [part.strip() for part in scale.split(",")] if isinstance(scale, str) else scale
    if not isinstance(parts, (list, tuple)) or len(parts) < 2:
        raise wrong
    if any(isinstance(part, bool) or part == "" for part in parts):
        raise wrong
    try:
        low, high, *more = map(float, parts)
    except (TypeError, ValueError):
        words = tuple(map(str, parts))
        if len({word.casefold() for word in words}) < len(words):
            raise wrong from None
        return words, (1.0, float(len(words)))
    if more or not -math.inf < low < high < math.inf:
        raise wrong
    return (), (low, high)
