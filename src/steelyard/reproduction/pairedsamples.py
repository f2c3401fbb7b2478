"""Table 3 and Figure 6 of the paired-evaluation paper: samples of a fifth of the segments.

The cells of Table 3 are multiples of 1/30 for one metric, of 1/60 for two and of 1/90 for three, so
each is a mean over 30 samples of a metric. Samples of a fifth of the segments, which the authors'
code draws for its figures, give these cells; the sizes of appendix A.3 (10, then all of a set that
has fewer than 50) can't, because whole sets all give the same answer. Figure 6 is made of 1,000
samples of a fifth, each of a random set and metric.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.comparison.options import RankOptions
from steelyard.reproduction.aspublished import first_of_tied, sign_as_published
from steelyard.reproduction.reproduction import Allowed, Row, judge, not_at_hand, printed
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import joint_shares
from steelyard.studies import setups as units
from steelyard.studies.setups import MEASURES, Bools, Rules, Setup, name_pairs

SHARE = 0.2
PUBLISHED_DRAWS = 30
#: Metrics that stand under one heading of Table 3.
COLUMNS = {
    "BLEU": ("BLEU",),
    "ROUGE": ("ROUGE_1", "ROUGE_2", "ROUGE_L"),
    "ROUGE-WE": ("ROUGE_WE_1", "ROUGE_WE_2"),
    "MoverScore": ("MoverScore",),
    "BERTScore": ("BERTScore",),
}
_RANKINGS = ("mean", "median", "bt")
_SWAPPED = {("TAC08", "ROUGE-WE")}
_EXCHANGED = (
    "the two cells of mean against bt and of median against bt seem to be exchanged in the paper"
)
_CHANCE = "beyond two standard errors, as one cell in twenty is by chance"
_SAMPLES = Allowed(
    printed(2).most, f"{printed(2).why}, each a mean of {PUBLISHED_DRAWS} samples per metric"
)
_OTHER_CODE = {
    "mood": "values at the median count as below it here; as above it, the share is the authors'",
    "wilcoxon": "not explained: SciPy's test gives ours",
}


def sample_size(n_segments: int) -> int:
    """Give a fifth of the segments, as a whole number.

    Examples
    --------
    >>> [sample_size(n) for n in (48, 44, 60)]
    [10, 9, 12]
    """
    return max(1, round(SHARE * n_segments))


def sample_means(
    setups: Sequence[Setup], draws: int, rng: np.random.Generator
) -> dict[tuple[str, str], tuple[Floats, Floats]]:
    """Mean and standard deviation over samples of each setup: pairs of rankings x measures."""
    rules = Rules(RankOptions(ties="second"), top_sets=first_of_tied)
    found = {}
    for setup, own in zip(setups, rng.spawn(len(setups)), strict=True):
        counts = units.draw_segments(setup.n_segments, sample_size(setup.n_segments), draws, own)
        ranked = units.rank_samples(setup, _RANKINGS, rules.options, counts)
        values = units.measure(ranked, rules)
        known = np.maximum((~np.isnan(values)).sum(axis=0), 1)
        mean = np.nansum(values, axis=0) / known
        spread = np.sqrt(np.nansum((values - mean) ** 2, axis=0) / known)
        found[setup.set, setup.score] = mean, spread
    return found


def table3_rows(
    published: Mapping[str, Any],
    found: Mapping[tuple[str, str], tuple[Floats, Floats]],
    draws: int,
    absent: Mapping[str, str],
) -> Iterator[Row]:
    """Compare every cell; sets in ``absent`` are listed with the reason."""
    pairs = [", ".join(pair) for pair in name_pairs(_RANKINGS)]
    headings = [(c, r) for c in published["columns"] for r in published["rankings"]]
    for name, cells in published.items():
        if name in ("columns", "rankings"):
            continue
        for m, measure in enumerate(MEASURES):
            for (column, rankings), value in zip(headings, cells[measure], strict=False):
                what = f"Table 3, {name} {column}, {rankings.replace(', ', ' against ')}: {measure}"
                if name in absent:
                    yield not_at_hand(what, value, absent[name])
                    continue
                own = [found[name, metric] for metric in COLUMNS[column]]
                p = pairs.index(rankings)
                ours = float(np.mean([mean[p, m] for mean, _ in own]))
                variance = sum(spread[p, m] ** 2 for _, spread in own) / len(own) ** 2
                error = float(np.sqrt(variance * (1 / PUBLISHED_DRAWS + 1 / draws)))
                swapped = (name, column) in _SWAPPED and rankings != "mean, median"
                reason = _EXCHANGED if swapped else _CHANCE
                yield judge(what, value, ours, _SAMPLES._replace(error=error), reason)


def published_tests(scores: Floats, tests: Sequence[str], alpha: float) -> Bools:
    """Tell which pairs the tests find different, the sign test being that of the authors."""
    found = units.significant_pairs(scores, tests, alpha)
    found[list(tests).index("sign")] = sign_as_published(scores) < alpha
    return found


def draw_matrix(
    setups: Sequence[Setup], draws: int, tests: Sequence[str], rng: np.random.Generator
) -> Floats:
    """Draw sets, metrics and samples; give the matrix of tests."""
    sets: dict[str, list[Setup]] = {}
    for setup in setups:
        sets.setdefault(setup.set, []).append(setup)
    names = list(sets)
    found = []
    for _ in range(draws):
        own = sets[names[int(rng.integers(len(names)))]]
        setup = own[int(rng.integers(len(own)))]
        part = units.sampled(setup, sample_size(setup.n_segments), rng)
        found.append(published_tests(part.scores, tests, 0.05))
    return joint_shares(np.concatenate(found, axis=1))


def figure6_rows(published: Mapping[str, Any], matrix: Floats | None, reason: str) -> Iterator[Row]:
    """Compare the matrix, cell by cell."""
    tests = published["tests"]
    for i, one in enumerate(tests):
        for j, two in enumerate(tests):
            what = f"Figure 6, found by {one}" + (f": also by {two}" if i != j else "")
            ours = reason if matrix is None else float(matrix[i, j])
            yield judge(what, published[one][j], ours, printed(2), reason)


def tac_test_rows(
    published: Mapping[str, Any], setups: Sequence[Setup] | None, missing: str
) -> Iterator[Row]:
    """Compare the authors' tests on all segments of TAC."""
    tests = published["tests"]
    matrix = None
    if setups is not None:
        tac = [setup for setup in setups if setup.set.startswith("TAC")]
        found = [published_tests(setup.scores, tests, 0.05) for setup in tac]
        matrix = joint_shares(np.concatenate(found, axis=1))
    for i, test in enumerate(tests):
        cells = [(i, test, published["diagonal"][i], 3)]
        if i:
            cells.append((0, f"t: also by {test}", published["given-t"][i], 2))
        for row, name, value, decimals in cells:
            what = f"Authors' tests, all segments of TAC, found by {name}"
            ours = missing if matrix is None else float(matrix[row, i])
            yield judge(what, value, ours, printed(decimals), _OTHER_CODE.get(test))
