"""Equal systems made of real ones: two systems of WMT24 that swap whole documents at random.

By law they are equally good, whatever they were. A test at 5 % may call 5 % of such pairs
different, with default options and through the front door.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import Ratings
from steelyard.formats.reading import read_any

PAIRS = (("GPT-4", "NTTSU"), ("refA", "ONLINE-B"), ("Aya23", "CommandR-plus"))
TESTS = ["t", "permutation", "wilcoxon", "sign", "median"]


class Campaign:
    """The scores and the ratings of one language pair."""

    def __init__(self, folder: Path) -> None:
        self.es = sy.load(folder / "en-ja.expected.segments.csv.gz")
        self.place = {segment: k for k, segment in enumerate(self.es.segments.ids)}
        self.documents = self.es.segments.documents or ()
        self.unit = np.unique([str(name) for name in self.documents], return_inverse=True)[1]
        _, ratings, _ = read_any(folder / "en-ja.esa.jsonl.gz")
        assert isinstance(ratings, Ratings)
        self.ratings = ratings

    def swaps(self, rng: np.random.Generator) -> np.ndarray:
        """Tell for each segment whether its document is swapped."""
        swapped = rng.integers(0, 2, int(self.unit.max()) + 1).astype(bool)
        return np.asarray(swapped[self.unit])

    def swapped(self, pair: tuple[str, str], swap: np.ndarray) -> EvalSet:
        """Give two systems that are equally good."""
        x = self.es["esa"].values[[self.es.systems.index(name) for name in pair]]
        scores = {"esa": ScoreTable(np.where(swap, x[::-1], x))}
        return EvalSet(("A", "B"), self.es.segments, scores)

    def judged(self, pair: tuple[str, str], swap: np.ndarray) -> Ratings:
        """Give the ratings of both, by whoever judged the document."""
        own = self.ratings.select(systems=pair)
        at = [self.place[own.segments[code]] for code in own.segment]
        first = np.array([own.systems[code] == pair[0] for code in own.system])
        errors = [
            [e for e in marks or () if e.severity != "undecided"] for marks in own.errors or ()
        ]
        return Ratings.from_labels(
            ["A" if a else "B" for a in first ^ swap[at]],
            [own.segments[code] for code in own.segment],
            [own.raters[code] for code in own.rater],
            own.value,
            errors=errors,
            document=[self.documents[k] or "" for k in at],
        )


def sets(n: int, pairs=PAIRS) -> Iterator[tuple[tuple[str, str], np.random.Generator]]:
    for number, pair in enumerate(pairs):
        for rng in np.random.default_rng(20 + number).spawn(n):
            yield pair, rng


def compared(campaign: Campaign, n: int, pairs=PAIRS, **options) -> Counter[str]:
    """Count how often each test of a comparison finds a difference."""
    found: Counter[str] = Counter()
    for pair, rng in sets(n, pairs):
        es = campaign.swapped(pair, campaign.swaps(rng))
        result = sy.compare(es, by=["mean", "bt"], tests=TESTS, **options)
        found.update(name for name, test in result.tests.items() if test.p[0, 1] < 0.05)
        for name, own in result.aggregations.items():
            if own.gap_ci is not None:
                found[f"{name} interval"] += not own.gap_ci[0][0, 1] <= 0 <= own.gap_ci[1][0, 1]
    return found


@pytest.fixture(scope="module")
def campaign(shared) -> Campaign:
    return Campaign(shared / "wmt24-esa")


def test_tests_by_document_seldom_find_what_is_not_there(campaign):
    """Of 60 sets; that by segments they often do says that the null is a hard one."""
    few = compared(campaign, 60, PAIRS[:1], intervals=None)
    many = compared(campaign, 60, PAIRS[:1], intervals=None, unit="segment")
    for name in TESTS:
        assert few[name] <= 8, name
        assert many[name] >= 9, name


@pytest.mark.slow
@pytest.mark.thorough
def test_error_rates_of_comparisons(campaign):
    n = 300 * len(PAIRS)
    found = compared(campaign, 300, n_bootstrap=400)
    for name in (*TESTS, "mean interval", "bt interval"):
        assert 0.03 <= found[name] / n <= 0.07, (name, found[name] / n)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("protocol", ["esa", "da", "mqm"])
def test_error_rates_of_people(campaign, protocol):
    found: Counter[str] = Counter()
    for pair, rng in sets(300):
        ratings = campaign.judged(pair, campaign.swaps(rng))
        p = sy.human_scores(ratings, protocol=protocol, n_bootstrap=0).p
        assert p is not None
        found["two-sided"] += 2 * min(p[0, 1], p[1, 0]) < 0.05
        found["one-sided"] += min(p[0, 1], p[1, 0]) < 0.05
    n = 300 * len(PAIRS)
    assert 0.03 <= found["two-sided"] / n <= 0.07
    assert 0.06 <= found["one-sided"] / n <= 0.14  # either of two tests at 5 %
