"""What the paired-evaluation paper finds on samples of instances: Table 3, Figures 4 and 6.

The cells of Table 3 are multiples of 1/30 for one metric, of 1/60 for two and of 1/90 for three, so
each is a mean over 30 samples of a metric. Samples of a fifth of the segments, which the authors'
code draws for its figures, give these cells; the sizes of appendix A.3 (10, then all of a set that
has fewer than 50) can't, because whole sets all give the same answer. Figure 4 by metric is made of
samples of a fifth or of 30, whichever is more, and by task of a fifth. Figure 6 is made of 1,000
samples of a fifth, each of a random set and metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np

from steelyard.comparison.options import RankOptions
from steelyard.reproduction.aspublished import first_of_tied, sign_as_published
from steelyard.reproduction.evalframes import FRAMES, Frames
from steelyard.reproduction.reproduction import Allowed, Row, printed
from steelyard.stats.arrays import Floats, row_means
from steelyard.stats.correlation import joint_shares
from steelyard.studies import disagreement as units
from steelyard.studies.disagreement import MEASURES, Rules, Setup
from steelyard.studies.study import draw_subsets

RANKINGS = ("mean", "median", "bt", "elo", "trueskill")  # the first three have samples, too
PAIRS = tuple(combinations(RANKINGS[:3], 2))
SHARE = 0.2  # of the segments that a sample has
LEAST = 30  # segments of a sample, for Figure 4 by metric
PUBLISHED_DRAWS = 30  # of each setup of Table 3
#: Metrics that stand under one heading of Table 3.
COLUMNS = {
    "BLEU": ("BLEU", "Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4"),
    "ROUGE": ("ROUGE_1", "ROUGE_2", "ROUGE_L"),
    "ROUGE-WE": ("ROUGE_WE_1", "ROUGE_WE_2"),
    "MoverScore": ("MoverScore",),
    "BERTScore": ("BERTScore",),
}
_EXCHANGED = (
    "the paper exchanged the cells of mean against bt and of median against bt: ours is the other"
)
_PARTNERS = {"mean, bt": "median, bt", "median, bt": "mean, bt"}  # exchanged in one place
_SAMPLES = Allowed(
    printed(2).most, f"{printed(2).why}, each a mean of {PUBLISHED_DRAWS} samples per metric"
)
_IDENTICAL = (
    "pairs of identical systems count as p = 1, as in the authors' notebook; without these 52 it "
    "is .626"
)
Sampled = Mapping[tuple[str, str], tuple[Floats, Floats]]  # mean and deviation by set and metric


def sample_size(n_segments: int, least: int = 1) -> int:
    """Give a fifth of the segments, as a whole number.

    Examples
    --------
    >>> [sample_size(n) for n in (48, 44, 60)], sample_size(48, 30)
    ([10, 9, 12], 30)
    """
    return min(n_segments, max(least, round(SHARE * n_segments)))


def sample_means(
    setups: Sequence[Setup], draws: int, rng: np.random.Generator, least: int = 1
) -> dict[tuple[str, str], tuple[Floats, Floats]]:
    """Mean and standard deviation over samples of each setup: pairs of rankings x measures."""
    rules = Rules(RankOptions(ties="second"), top_sets=first_of_tied)
    rows = [row for frame in FRAMES for row in frame.rows]
    # One stream for each row of Table 3, there or not: what else is there moves no figure.
    streams = dict(zip(rows, rng.spawn(len(rows)), strict=True))
    found = {}
    for setup in setups:
        (own,) = streams[setup.set.partition(" ")[0]].spawn(1)
        size = sample_size(setup.n_segments, least)
        counts = draw_subsets(setup.n_segments, size, draws, own)
        ranked = units.rank_samples(setup, RANKINGS[:3], rules.options, counts)
        values = units.measure(ranked, rules)
        known = (~np.isnan(values)).sum(axis=0)
        known = np.where(known > 0, known, np.nan)  # undefined in every sample, undefined in all
        mean = np.nansum(values, axis=0) / known
        spread = np.sqrt(np.nansum((values - mean) ** 2, axis=0) / known)
        found[setup.set, setup.score] = mean, spread
    return found


def table3_rows(
    published: Mapping[str, Any], found: Sampled, draws: int, frames: Frames
) -> Iterator[Row]:
    """Compare every cell: a mean over the metrics of a column, and over the sets of a row."""
    pairs = [", ".join(pair) for pair in PAIRS]
    headings = [(c, r) for c in published["columns"] for r in published["rankings"]]
    cells = [
        (name, column, rankings, m, value)
        for name, table in published.items()
        if name not in ("columns", "rankings")
        for m, measure in enumerate(MEASURES)
        for (column, rankings), value in zip(headings, table[measure], strict=False)
    ]
    samples = {
        (name, column): [
            found[s.set, s.score] for s in frames.of([name]) if s.score in COLUMNS[column]
        ]
        for name, column, *_ in cells
    }
    together = sum(bool(samples[name, column]) for name, column, *_ in cells)
    for name, column, rankings, m, value in cells:
        measure, setups = MEASURES[m], samples[name, column]
        what = f"Table 3, {name} {column}, {rankings.replace(', ', ' against ')}: {measure}"
        if not setups:
            absent = frames.missing.get(name) or f"no scores of {column} on {name}"
            yield Row.absent(what, value, absent)
            continue
        p = pairs.index(rankings)
        ours = float(np.mean([mean[p, m] for mean, _ in setups]))
        variance = sum(spread[p, m] ** 2 for _, spread in setups) / len(setups) ** 2
        error = float(np.sqrt(variance * (1 / PUBLISHED_DRAWS + 1 / draws)))
        row = Row.judge(what, value, ours, _SAMPLES._replace(error=error, together=together))
        if (name, column) == ("TAC08", "ROUGE-WE") and rankings in _PARTNERS:
            partner = headings.index((column, _PARTNERS[rankings]))
            row = row.blame_paper(_EXCHANGED, published[name][measure][partner])
        yield row


def figure4_rows(
    frames: Frames, fifths: Sampled, draws: int, rng: np.random.Generator
) -> Iterator[Row]:
    """What the paper says of disagreement by metric and by task, and how many setups it is of."""
    larger = sample_means(frames.setups, draws, rng, LEAST)
    yield from _metric_rows(frames, larger)
    yield from _task_rows(frames, fifths)


def _metric_rows(frames: Frames, found: Sampled) -> Iterator[Row]:
    """Figure 4a: BLEU is most affected, recent metrics less; mean and median agree best."""
    by_metric = {
        column: _mean([own for (_, metric), own in found.items() if metric in COLUMNS[column]])
        for column in ("BLEU", "MoverScore", "BERTScore")
    }
    missing = "" if found else frames.absent([*frames.missing])
    for metric, p in product(("MoverScore", "BERTScore"), (1, 2)):
        what = f"Figure 4a, {' against '.join(PAIRS[p])}: {metric} is less affected than BLEU"
        yield _smaller(what, by_metric[metric][p], by_metric["BLEU"][p], frames.subset, missing)
    every = _mean([*found.values()])
    for p in (1, 2):
        what = f"Figure 4a, mean and median agree more than {' and '.join(PAIRS[p])}"
        yield _smaller(what, every[0], every[p], frames.subset, missing)


def _task_rows(frames: Frames, found: Sampled) -> Iterator[Row]:
    """Figure 4b: dialogue and captioning disagree more than translation and summarisation."""
    tasks: dict[str, list[str]] = {}
    for frame in FRAMES:
        tasks.setdefault(frame.task, []).extend(frame.rows)
    means = {
        task: _mean([found[s.set, s.score] for s in frames.of(rows)])
        for task, rows in tasks.items()
    }
    for less, more in product(("MT", "summarisation"), ("dialogue", "captioning")):
        both = [task for task in (less, more) if not frames.of(tasks[task])]
        missing = "; ".join(frames.absent(tasks[task]) for task in both)
        subset = frames.subset if frames.absent([*tasks[less], *tasks[more]]) else ""
        for p, pair in enumerate(PAIRS):
            what = f"Figure 4b, {' against '.join(pair)}: {less} disagrees less than {more}"
            yield _smaller(what, means[less][p], means[more][p], subset, missing)


def _mean(found: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Share of pairs of systems in different order, over setups: one for each pair of rankings."""
    if not found:
        return np.full(len(PAIRS), np.nan)
    return row_means(np.stack([mean[:, 0] for mean, _ in found], axis=1))


def _smaller(what: str, one: float, two: float, subset: str, missing: str) -> Row:
    if missing or np.isnan(one) or np.isnan(two):
        return Row.absent(what, "yes", missing or "no scores of this metric")
    detail = f"{one:.3f}, {two:.3f}"
    holds, reason = bool(one < two), subset or "not so here"
    return Row.claim(what, holds=holds, reason=reason, detail=detail, other_data=bool(subset))


def _tested(parts: Iterable[Setup], tests: Sequence[str]) -> Floats:
    """Give the matrix of tests, the sign test being that of the authors."""
    found = []
    for part in parts:
        found.append(units.significant_pairs(part.scores, tests, 0.05))
        found[-1][list(tests).index("sign")] = sign_as_published(part.scores) < 0.05
    return joint_shares(np.concatenate(found, axis=1))


def _drawn_parts(setups: Sequence[Setup], draws: int, rng: np.random.Generator) -> Iterator[Setup]:
    """Draw sets, metrics and samples."""
    sets: dict[str, list[Setup]] = {}
    for setup in setups:
        sets.setdefault(setup.set, []).append(setup)
    names = list(sets)
    for _ in range(draws):
        own = sets[names[int(rng.integers(len(names)))]]
        setup = own[int(rng.integers(len(own)))]
        yield setup.sample(sample_size(setup.n_segments), rng)


def figure6_rows(
    published: Mapping[str, Any], frames: Frames, draws: int, rng: np.random.Generator
) -> Iterator[Row]:
    """Compare the matrix, cell by cell."""
    tests, setups = published["tests"], frames.setups
    matrix = _tested(_drawn_parts(setups, draws, rng), tests) if setups else np.empty((0, 0))
    missing = "" if setups else frames.absent([*frames.missing])
    why = frames.subset and f"{frames.subset}, and small samples of TAC have less power"
    for i, one in enumerate(tests):
        for j, two in enumerate(tests):
            what = f"Figure 6, found by {one}" + (f": also by {two}" if i != j else "")
            ours = missing or float(matrix[i, j])
            yield Row.judge(what, published[one][j], ours, printed(2), why, other_data=bool(why))


def tac_test_rows(published: Mapping[str, Any], frames: Frames) -> Iterator[Row]:
    """Compare the authors' tests on all segments of TAC."""
    tests, rows = published["tests"], FRAMES[0].rows
    missing = frames.absent(rows)
    matrix = np.empty((0, 0)) if missing else _tested(frames.of(rows), tests)
    for i, test in enumerate(tests):
        cells = [(i, test, published["diagonal"][i], 3)]
        if i:
            cells.append((0, f"t: also by {test}", published["given-t"][i], 2))
        for row, name, value, decimals in cells:
            what = f"Authors' tests, all segments of TAC, found by {name}"
            ours = missing or float(matrix[row, i])
            judged = Row.judge(what, value, ours, printed(decimals))
            yield replace(judged, note=_IDENTICAL) if name == "wilcoxon" else judged
