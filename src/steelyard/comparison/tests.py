"""Tests of all pairs of systems: which fits a ranking, and what it tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.comparison.rankings import Sample, corpus_gaps, means
from steelyard.comparison.results import CORPUS, FITTING, MOST_SHOWN, REASONS, SENTENCES, PairTest
from steelyard.comparison.scores import Compared
from steelyard.core import bounds
from steelyard.core.errors import UsageError, hint
from steelyard.stats.arrays import Floats
from steelyard.stats.paired import pairedtests
from steelyard.stats.paired.corrections import CORRECTIONS, adjust_pairs
from steelyard.stats.permutation.corpus import corpus_test
from steelyard.stats.permutation.pvalues import ALTERNATIVES

UNITS = ("segment", "document")
TESTS = tuple(name for name in REASONS if name != "gap")


@dataclass(frozen=True, slots=True)
class PairOptions:
    """How pairs are tested and intervals drawn."""

    alternative: str = "two-sided"
    correction: str = "holm"
    alpha: float = 0.05
    intervals: str | None = "segment"
    n_bootstrap: int = 1000
    level: float = 0.95

    def __post_init__(self) -> None:
        """Refuse what makes no sense before any work is done."""
        bounds.choice(ALTERNATIVES, alternative=self.alternative)
        bounds.choice(CORRECTIONS, correction=self.correction)
        bounds.choice(UNITS, optional=True, intervals=self.intervals)
        bounds.fraction(alpha=self.alpha, level=self.level)
        bounds.whole(10, n_bootstrap=self.n_bootstrap)


def known_tests(tests: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Check the names of tests; None leaves the choice to the rankings."""
    if tests is None:
        return None
    asked = bounds.listed(tests=tests)
    for name in asked:
        if name not in TESTS:
            raise UsageError(f"no test '{name}'; {hint(name, TESTS)}")
    return tuple(dict.fromkeys(asked))


def fitting(by: str, data: Compared) -> str:
    """Name the test that asks what a ranking answers."""
    if by == "mean" and data.statistics is not None:
        return "permutation"
    if by in ("mean", "sentence-mean") and data.binary:
        return "mcnemar"
    return FITTING[by]


def fitting_tests(names: Sequence[str], data: Compared) -> tuple[str, ...]:
    """Name the tests that fit some rankings; none where there are too many pairs."""
    if len(data.systems) > MOST_SHOWN:
        return ()
    found = []
    for by in names:
        found.append(fitting(by, data))
        if found[-1] == "mcnemar":  # beside the test of means in general
            found.append(FITTING[by])
    return tuple(dict.fromkeys(found))


def pair_test(
    name: str,
    data: Compared,
    sample: Sample,
    test: PairOptions,
    tolerance: float,
    rng: np.random.Generator,
) -> PairTest:
    """Test all pairs; where a corpus score is compared, some tests are of sentence scores."""
    of = None
    if data.statistics is not None:
        of = CORPUS if name in ("permutation", "bootstrap") else SENTENCES
    error = 0.0
    if name == "permutation" and data.statistics is None:
        p, error = pairedtests.permutation_p(
            data.scores, blocks=sample.blocks, alternative=test.alternative
        )
    else:
        p = _p_values(name, data, sample, test.alternative, tolerance, rng)
    symmetric = test.alternative == "two-sided"
    adjusted = adjust_pairs(p, test.correction, symmetric=symmetric)
    return PairTest(p, adjusted, test.alternative, test.correction, of, error)


def _p_values(
    name: str,
    data: Compared,
    sample: Sample,
    side: str,
    tolerance: float,
    rng: np.random.Generator,
) -> Floats:
    scores, blocks = data.scores, sample.blocks
    simple = {
        "t": pairedtests.t_test,
        "wilcoxon": pairedtests.wilcoxon_test,
        "mcnemar": pairedtests.mcnemar_test,
    }
    if name in simple:
        return simple[name](scores, alternative=side)
    if name == "sign":
        return pairedtests.sign_test(scores, tolerance=tolerance, alternative=side)
    if name == "mood":
        if side != "two-sided":
            raise UsageError("mood's test is two-sided; choose another --test for one side")
        return pairedtests.mood_test(scores)
    if name == "permutation":
        assert data.statistics is not None
        return corpus_test(data.statistics, blocks=blocks, alternative=side, rng=rng)
    own, drawn = means(sample)
    if drawn is None:
        raise UsageError("the bootstrap test needs resamples: choose --intervals")
    return pairedtests.bootstrap_test(own, drawn, alternative=side)


def lead_by(test: str, of: str | None, data: Compared) -> Floats:
    """Who is ahead of whom in the eyes of a test: the sign of what it tests, systems x systems."""
    if of == CORPUS and data.statistics is not None:
        return np.sign(corpus_gaps(data.statistics))
    scores = data.scores
    n = len(scores)
    lead = np.zeros((n, n))
    for i in range(n):
        gap = scores[i] - scores
        if test in ("sign", "wilcoxon"):
            lead[i] = (gap > 0).sum(axis=1) - (gap < 0).sum(axis=1)
        elif test == "mood":
            lead[i] = np.nanmedian(scores[i]) - np.nanmedian(scores, axis=1)
        else:
            lead[i] = np.nansum(gap, axis=1)
    return np.sign(lead)
