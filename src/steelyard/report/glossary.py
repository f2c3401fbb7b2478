"""What the short words of tables and figures mean, for a reader who has not met them."""

from __future__ import annotations

from collections.abc import Iterable

#: Headings of columns and names in captions, without arrows; each a part of a sentence.
TERMS: dict[str, str] = {
    "mean": "the average over segments: by how much a system is better",
    "median": "the score of the middle segment: what a typical segment looks like",
    "corpus": "the score of the whole text at once, as sacreBLEU gives it",
    "bt": "Bradley-Terry strength: who wins more segments, each system against all others; the "
    "strengths of all systems add up to 1",
    "elo": "a rating from wins segment by segment, as in chess",
    "trueskill": "a rating from wins segment by segment, which grows surer with each of them",
    "tier": "systems in one tier are not told apart by the tests; tier 1 is the best",
    "rank": "place, best first; those that share a rank are not told apart by the tests",
    "spa": "soft pairwise accuracy: how well a metric's certainty about each pair of systems "
    "matches people's; 1 is perfect, 0.5 is guessing",
    "pa": "pairwise accuracy: share of the pairs of systems that a metric puts into the order that "
    "people give them; 0.5 is guessing",
    "acc-eq": "share of pairs of outputs of one segment that a metric orders, or ties, as people "
    "do; a metric may count small differences as ties",
    "pearson": "Pearson's correlation: how close to a straight line metric and people lie",
    "spearman": "Spearman's correlation: Pearson's correlation of places instead of scores",
    "kendall-b": "Kendall's tau-b: pairs ordered alike minus pairs ordered the other way round",
    "alike": "metrics that share a letter do not differ significantly",
    "kappa": "agreement beyond chance; 1 is perfect, 0 is chance",
    "rho": "how closely the judge's verdicts follow people's; 1 is perfect",
    "position": "how much more often an answer wins in the first place than in the second",
    "ties %": "pairs of systems with the same score on the same segment, in per cent",
    "epsilon": "differences up to this count as ties",
    "alpha": "Krippendorff's alpha: agreement of raters beyond chance; 1 is perfect, 0 is chance",
    "t": "a paired t-test: is the mean difference of two systems more than chance?",
    "mood": "Mood's test of medians, as if segments were not paired",
    "sign": "a sign test: does one system win more segments than chance would give?",
}  # fmt: skip

#: How p-values are corrected for the number of tests, in words.
CORRECTIONS = {
    "holm": "corrected for the number of pairs (Holm)",
    "bonferroni": "corrected for the number of pairs (Bonferroni)",
    "benjamini-hochberg": "corrected for the share of false finds (Benjamini and Hochberg)",
    "none": "not corrected for the number of pairs",
}

#: What a test between two metrics swaps at random.
SCHEMES = {
    "inputs": "whole segments are swapped between the two metrics",
    "cells": "single scores are swapped between the two metrics",
    "systems": "whole systems are swapped between the two metrics",
    "williams": "Williams' test of two correlations that share one side",
}


def meaning(heading: str) -> str | None:
    """Say what a heading means, if it is a short word of ours: ``bt rank ↑`` is about ``bt``.

    Examples
    --------
    >>> meaning("tier"), meaning("system")
    ('systems in one tier are not told apart by the tests; tier 1 is the best', None)
    >>> meaning("bt rank").startswith("place, best first, by bt")
    True
    """
    words = heading.rstrip(" ↑↓")
    if words in TERMS:
        return TERMS[words]
    name, blank, last = words.rpartition(" ")
    if blank and last == "rank" and name in TERMS:
        return f"place, best first, by {name} ({TERMS[name].partition(':')[0]})"
    return None


def explained(names: Iterable[str]) -> list[tuple[str, str]]:
    """Give the names that need a word of explanation, with it, each once.

    Examples
    --------
    >>> [name for name, _ in explained(["spa", "nothing", "spa"])]
    ['spa']
    """
    return [(name, TERMS[name]) for name in dict.fromkeys(names) if name in TERMS]
