r"""Which ranking finds the true order: mean, median and Bradley-Terry on simulated scores.

The simulation of the paired-evaluation paper (section 4, appendix A.2). Systems have strengths
:math:`10 u_i / \sum u`, u uniform. Segments are of several types, each of which shifts all scores
by a uniform amount of up to 100, and scores have normal noise of deviation 1. Outliers are segments
on which scores, uniform up to 100, are ordered against the strengths. Every ranking is judged by
Kendall's tau with the strengths.

This is what the paper's code does. Its text has outliers whose scores are permuted among systems
(``outliers="permuted"``): these hardly move a mean, since a permuted score is not far from others.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import UsageError
from steelyard.core.parallel import Workers
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import kendall_b, settled
from steelyard.stats.kendall.counting import count_pairs
from steelyard.stats.strength.bradleyterry import bradley_terry_batch
from steelyard.stats.strength.wins import WinCounts
from steelyard.studies.recovery import (
    Runs,
    claim_table,
    curve_table,
    draw_curves,
    overall_lines,
    overall_table,
)
from steelyard.studies.study import Study

OUTLIERS = ("reversed", "permuted")
_CELLS = 20_000_000  # comparisons of scores made at a time
_SPREAD = 100.0  # offsets of types and scores of outliers are up to this
_TOTAL = 10.0  # strengths sum to this


@dataclass(frozen=True, slots=True)
class Design:
    """The settings whose combinations are simulated, ``repeats`` data sets of each."""

    types: tuple[int, ...] = (1, 3, 5, 10)
    outliers: tuple[float, ...] = (0.0, 0.01, 0.025)
    systems: tuple[int, ...] = (2, 3, 5, 10, 25, 50)
    segments: tuple[int, ...] = (10, 30, 100, 200)
    repeats: int = 10
    noise: float = 1.0
    outlier_kind: str = "reversed"

    def __post_init__(self) -> None:
        bounds.wholes(1, types=self.types, segments=self.segments)
        bounds.wholes(2, systems=self.systems)
        bounds.numbers(0, outliers=self.outliers)
        bounds.whole(1, repeats=self.repeats)
        bounds.number(0, noise=self.noise)
        bounds.choice(OUTLIERS, outlier_kind=self.outlier_kind)
        if max(self.types) > min(self.segments):
            raise UsageError("types of segments are from 1 to the smallest number of segments")
        if max(self.outliers) >= 1:
            raise UsageError("shares of outliers are at least 0 and below 1")

    def settings(self) -> list[tuple[int, float, int, int]]:
        """List the combinations: types, share of outliers, systems, segments."""
        return list(product(self.types, self.outliers, self.systems, self.segments))


def simulate_scores(
    design: Design, setting: tuple[int, float, int, int], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw all data sets of one setting: strengths (sets x systems), scores (x segments).

    Types have equally many segments, as many as fit; outliers come on top, at least one if there
    are any.

    Examples
    --------
    >>> strengths, scores = simulate_scores(Design(), (3, 0.01, 5, 10), np.random.default_rng(0))
    >>> strengths.shape, strengths.sum(axis=1).round(9).tolist()[:2], scores.shape
    ((10, 5), [10.0, 10.0], (10, 5, 10))
    """
    types, share, n, segments = setting
    sets = design.repeats
    strengths = rng.random((sets, n))
    strengths *= _TOTAL / strengths.sum(axis=1, keepdims=True)
    each = segments // types
    offsets = np.repeat(_SPREAD * rng.random((sets, types)), each, axis=1)
    noise = design.noise * rng.standard_normal((sets, n, types * each))
    scores = strengths[:, :, None] + offsets[:, None, :] + noise
    count = max(int(share * types * each), 1) if share else 0
    if not count:
        return strengths, scores
    if design.outlier_kind == "permuted":
        scores[:, :, :count] = rng.permuted(scores[:, :, :count], axis=1)
        return strengths, scores
    extra = _SPREAD * np.swapaxes(_reversed_rows(strengths, count, rng), 1, 2)
    return strengths, np.concatenate([scores, extra], axis=2)


def _reversed_rows(strengths: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Draw uniform rows whose tau with the strengths is negative: sets x count x systems."""
    sets, n = strengths.shape
    i, j = np.triu_indices(n, 1)
    ahead = np.sign(strengths[:, i] - strengths[:, j])
    rows = np.empty((sets, count, n))
    found = np.zeros(sets, dtype=np.int64)
    while (found < count).any():
        drawn = rng.random((sets, count, n))
        tau = (np.sign(drawn[:, :, i] - drawn[:, :, j]) * ahead[:, None, :]).sum(axis=2)
        for k in range(sets):
            kept = drawn[k, tau[k] < 0][: count - found[k]]
            rows[k, found[k] : found[k] + len(kept)] = kept
            found[k] += len(kept)
    return rows


def recovered(strengths: Floats, scores: Floats) -> Floats:
    """Kendall's tau of each ranking with the true strengths: sets x (mean, median, bt).

    NaN where a ranking has nothing but ties.

    Examples
    --------
    >>> strengths = np.array([[1.0, 2.0, 3.0]])
    >>> scores = np.array([[[1.0, 19.0, 1.0, 1.0, 1.0], [2.0] * 5, [3.0] * 5]])
    >>> recovered(strengths, scores).round(3).tolist()
    [[-0.333, 1.0, 1.0]]
    """
    counts = _wins(scores)
    strength = -bradley_terry_batch(counts).ranks
    found = (scores.mean(axis=2), np.median(scores, axis=2), strength)
    truth = strengths.T
    return np.stack([kendall_b(count_pairs(truth, settled(x).T)) for x in found], axis=1)


def _wins(scores: Floats) -> WinCounts:
    """Wins and ties within each set: sets x systems x systems."""
    sets, n, segments = scores.shape
    wins = np.empty((sets, n, n))
    step = max(1, _CELLS // (n * n * segments))
    for first in range(0, sets, step):
        x = scores[first : first + step]
        wins[first : first + step] = (x[:, :, None, :] > x[:, None, :, :]).sum(axis=3)
    ties = segments - wins - np.swapaxes(wins, 1, 2)
    ties[:, np.arange(n), np.arange(n)] = 0
    return WinCounts(wins, ties)


def simulate_setting(
    task: tuple[Design, tuple[int, float, int, int]], rng: np.random.Generator
) -> Floats:
    """Simulate one setting: Kendall's tau of each ranking, sets x rankings."""
    return recovered(*simulate_scores(*task, rng))


def simulate(
    design: Design | None = None, *, rng: Rng = 0, workers: Workers | None = None
) -> Study:
    """Simulate all settings, and draw the curves of the paper's Figure 3.

    Examples
    --------
    >>> small = Design(types=(1,), outliers=(0.0,), systems=(9,), segments=(30,), repeats=20)
    >>> study = simulate(small, rng=1)
    >>> [round(row["tau"], 1) for row in study.table("overall").records()]
    [0.8, 0.8, 0.8]
    """
    bounds.instance(Design, "a Design", optional=True, design=design)
    bounds.instance(Workers, "Workers", optional=True, workers=workers)
    chosen = design or Design()
    draws, resamples = generator(rng).spawn(2)
    settings = chosen.settings()
    tasks = [(chosen, setting) for setting in settings]
    taus = (workers or Workers()).run(
        simulate_setting, tasks, rng=draws, step="simulation",
        about={"design": asdict(chosen), "rng": str(draws.bit_generator.state)},
    )  # fmt: skip
    runs = Runs(np.repeat(np.array(settings), chosen.repeats, axis=0), np.concatenate(taus))
    undefined = int(np.isnan(runs.tau).sum())
    warnings = []
    if undefined:
        warnings.append(
            f"{undefined:,} of {runs.tau.size:,} rankings have nothing but ties: no tau"
        )
    options: dict[str, Any] = {
        "repeats": chosen.repeats, "noise": chosen.noise, "outliers": chosen.outlier_kind,
        "settings": len(settings),
    }  # fmt: skip
    curves = draw_curves(runs, resamples)
    overall = overall_lines(runs, resamples)
    return Study(
        "simulation",
        {
            "curves": curve_table(curves),
            "overall": overall_table(overall),
            "claims": claim_table(curves, overall),
        },
        curves,
        {"n_settings": len(settings), "n_sets": len(runs.tau)},
        tuple(warnings),
        Provenance.of("study simulation", options, rng=rng),
    )
