"""The paired-evaluation paper (Peyrard et al. 2021): its tables and figures beside ours.

Every frame that is there is used (:mod:`steelyard.reproduction.evalframes`), of the paper's 296
setups. On TAC and dialogue, the rankings of the authors' code
(:mod:`steelyard.reproduction.aspublished`) are compared with its own output; with the printed
tables are those of all setups at hand. Worked examples and the simulation need no data.

The cells of Table 3 are multiples of 1/30 for one metric, of 1/60 for two and of 1/90 for three, so
each is a mean over 30 samples of a metric. Samples of a fifth of the segments, which the authors'
code draws for its figures, give these cells; the sizes of appendix A.3 can't. Figure 4 by metric is
made of samples of a fifth or of 30, whichever is more, and by task of a fifth; Figure 6 of 1,000
samples of a fifth, each of a random set and metric.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from steelyard.comparison.options import RankOptions
from steelyard.comparison.rankings import connection_warnings
from steelyard.core.rng import Rng, generator
from steelyard.reproduction.aspublished import (
    first_of_tied,
    order_as_published,
    rank_as_published,
    sign_as_published,
    top_as_published,
)
from steelyard.reproduction.evalframes import FOLDERS, FRAMES, Frames, find_frames
from steelyard.reproduction.reproduction import (
    COMPUTED,
    COUNTED,
    FAULT,
    Allowed,
    Paper,
    Reproduction,
    Row,
    printed,
)
from steelyard.reproduction.search import Data, Places
from steelyard.stats.arrays import Floats, row_means
from steelyard.stats.correlation import joint_shares
from steelyard.stats.resampling.bootstrap import row_medians
from steelyard.stats.strength.bradleyterry import bradley_terry
from steelyard.stats.strength.wins import win_counts
from steelyard.studies import disagreement as units
from steelyard.studies.disagreement import MEASURES, Rules, Setup, measure
from steelyard.studies.simulation import simulate
from steelyard.studies.study import Progress, Study, draw_subsets

PAPER = Paper(
    "paired", "Better than Average: Paired Evaluation of NLP Systems (2021)", "peyrard2021"
)
DRAWS = 300  # samples of each setup, for Table 3 and Figure 4
TEST_DRAWS = 1000  # samples, for Figure 6
#: What the authors' code was run on: a title, and rows of Table 3.
_SCOPES = {
    "all": ("65 setups", (*FRAMES[0].rows, *FRAMES[1].rows)),
    "dialogue": ("dialogue", FRAMES[1].rows),
    "TAC": ("TAC", FRAMES[0].rows),
}
_RUNS = Allowed(printed(3).most, f"{printed(3).why}; a mean of three simulations against one")
_WITHIN = Allowed(0.00055, "three decimals, rounded to four before")
_CUT = (
    "under the authors' rule last digits decide ties, and the tables in {folder}/ are cut; those "
    f"in {FOLDERS[0]}/ have every digit"
)
_N_PARTS = 8


def reproduce_paired(
    data: Places | Data, *, rng: Rng = 0, progress: Progress | None = None
) -> Reproduction:
    """Compare the paper's figures with ours, as far as ``data`` holds its frames."""
    streams = generator(rng).spawn(4)
    frames = find_frames(Places.of(data))
    rows: list[Row] = []
    for done, part in enumerate(_parts(PAPER.figures(), frames, streams)):
        rows += part
        if progress is not None:
            progress(done + 1, _N_PARTS)
    missing = frames.missing.values()
    return PAPER.reproduced(rows, frames.files, missing, {"draws": DRAWS}, rng)


def _parts(
    published: Mapping[str, Any], frames: Frames, streams: Sequence[np.random.Generator]
) -> Iterator[list[Row]]:
    """Compute part after part of the paper."""
    simulation, samples, drawn, tests = streams
    yield [*_figure1_rows(published["figure1"]), *_appendix_f_rows(published["appendixF"])]
    yield list(_triple_rows(published["appendixF"]["triples"], frames))
    yield list(_simulation_rows(published["simulation"], simulate(rng=simulation)))
    measured = measure_as_published(frames.sets)
    yield [*_count_rows(published["counts"], frames), *_table_rows(published, measured, frames)]
    yield list(_code_rows(published["code"], measured, frames))
    found = sample_means(frames.setups, DRAWS, samples)
    yield list(table3_rows(published["table3"], found, DRAWS, frames))
    yield [
        *figure4_rows(frames, found, DRAWS, drawn),
        *figure6_rows(published["figure6"], frames, TEST_DRAWS, tests),
        *tac_test_rows(published["tac-tests"], frames),
    ]
    yield [*_pairformance_rows(published["pairformance"], frames), *_not_comparable()]


def measure_as_published(sets: Mapping[str, Sequence[Setup]]) -> dict[str, Floats]:
    """Compare the five rankings of the authors' code, by its own rule: a row for every setup."""
    rules = Rules(top_sets=top_as_published, differ=order_as_published)
    return {name: measure(rank_as_published(_stack(own)), rules) for name, own in sets.items()}


def _figure1_rows(scores: Mapping[str, list[float]]) -> Iterator[Row]:
    """Three systems with one mean; the median prefers A, Bradley-Terry prefers B and C."""
    table = {name: np.array(own, dtype=np.float64) for name, own in scores.items()}
    means = {name: float(own.mean()) for name, own in table.items()}
    equal = "equal" if len(set(means.values())) == 1 else str(means)
    yield Row.same("Figure 1, means of A B C", "equal", equal)
    a, b = row_medians(np.stack([table["A"], table["B"]]))
    ahead = "A" if a > b else "B" if b > a else "equal"
    yield Row.same("Figure 1, higher median of A and B", "A", ahead)
    for rival in ("B", "C"):
        share = _strengths(np.stack([table[rival], table["A"]]))[0]
        yield Row.judge(f"Figure 1, bt of {rival} against A", 0.8, float(share), COMPUTED)


def _appendix_f_rows(scores: Mapping[str, list[float]]) -> Iterator[Row]:
    """B is ahead of A; with C there, all three are equal."""
    a, b, c, cycle = (np.array(scores[name], dtype=np.float64) for name in ("A", "B", "C", "cycle"))
    two = _strengths(np.stack([a, b]))
    yield Row.judge("Appendix F, bt of B against A", round(2 / 3, 3), float(two[1]), printed(3))
    reason = "a misprint: the scores of C tie with others; with 3, 1, 2, a cycle, all are equal"
    for title, third in (("C = 3, 2, 1 as printed", c), ("C = 3, 1, 2", cycle)):
        for name, strength in zip("ABC", _strengths(np.stack([a, b, third])), strict=True):
            what = f"Appendix F, with {title}, bt of {name}"
            row = Row.judge(what, round(1 / 3, 3), float(strength), printed(3))
            yield row.blame_paper(reason)


def _triple_rows(published: int, frames: Frames) -> Iterator[Row]:
    """Pairs whose order a third system changes: the paper found none."""
    reason = (
        "the paper's claim is false; detail: of all triples those with the loser ahead, those that "
        "are level, setups with any, and the same with ties as half wins"
    )
    for row in (row for frame in FRAMES for row in frame.rows):
        what = f"Appendix F, {row}: triples whose third system changes the order of two"
        setups = frames.of([row])
        if not setups:
            yield Row.absent(what, published, frames.missing[row])
            continue
        second, half = (
            [overturned_pairs(_points(setup.scores, ties)) for setup in setups]
            for ties in ("second", "half")
        )
        triples, turned, level = (sum(own[k] for own in second) for k in range(3))
        some = f"{sum(own.changed > 0 for own in second)} of {len(setups)} setups"
        others = sum(own.changed for own in half)
        detail = f"of {triples:,}: {turned:,} and {level:,}; {some}; {others:,}"
        judged = Row.judge(what, published, turned + level, COUNTED, detail=detail)
        yield judged.blame_paper(reason)


def _points(scores: Floats, ties: str) -> Floats:
    """Wins of every system over every other; ties are half wins, or wins of the later one."""
    counts = win_counts(scores)
    return counts.wins + (np.tril(counts.ties, -1) if ties == "second" else counts.ties / 2)


def _strengths(scores: Floats) -> Floats:
    counts = win_counts(scores)
    return bradley_terry(counts.wins, counts.ties).strength


def _simulation_rows(published: Mapping[str, Any], study: Study) -> Iterator[Row]:
    """The claims of section 4, and the figures of the authors' simulation run again."""
    for own in study.table("claims").records():
        what, evidence = f"Figure 3, {own['claim']}", str(own["evidence"])
        yield Row.claim(what, holds=bool(own["holds"]), reason=evidence)
    reason = "both are simulations, and differ by more than two standard errors"
    for row in study.table("overall").records():
        name = str(row["ranking"])
        found = (row[key] for key in ("tau", "low", "high"))
        tau, low, high = (np.nan if own is None else float(own) for own in found)
        what = f"Figure 3, tau of {name} over all simulations"
        yield Row.judge(what, published["overall"][name], tau, _drawn(low, high), reason)
    curve = study.curve("e")
    for line in curve.lines:
        for k, x in enumerate(published["outliers"]):
            place = curve.x.index(x)
            what = f"Figure 3, tau of {line.name} with {100 * x:g} % outliers"
            allowed = _drawn(float(line.low[place]), float(line.high[place]))
            yield Row.judge(what, published[line.name][k], float(line.y[place]), allowed, reason)


def _drawn(low: float, high: float) -> Allowed:
    """Allow for the error of the difference between this run and three of the authors'."""
    return _RUNS._replace(error=(high - low) / (2 * 1.96) * math.sqrt(1 + 1 / 3))


def _stack(setups: Sequence[Setup]) -> Floats:
    return np.stack([setup.scores for setup in setups])


def _means(measured: Iterable[Floats]) -> Floats:
    """Mean over setups, leaving out what is undefined: pairs of rankings x measures, if any."""
    every = [*measured]
    if not every:
        return np.empty((0, 0))
    values = np.concatenate(every)
    return row_means(values.reshape(len(values), -1).T).reshape(values.shape[1:])


def _cells(table: Mapping[str, Any]) -> Iterator[tuple[int, int, str, float]]:
    """List the cells of a table: place of the pair of rankings and of the measure, name, value."""
    pairs = [", ".join(pair) for pair in combinations(RANKINGS, 2)]
    for rankings, values in table.items():
        if rankings != "measures":
            for m, value in enumerate(values):
                name = f"{rankings.replace(', ', ' against ')}: {MEASURES[m]}"
                yield pairs.index(rankings), m, name, value


def _table_rows(
    published: Mapping[str, Any], measured: Mapping[str, Floats], frames: Frames
) -> Iterator[Row]:
    """Tables 1 and 4, whose first three rows are those of Table 1."""
    means = _means(measured.values())
    both = {**published["table1"], **published["table4"]}
    missing, subset = "" if measured else frames.absent([*frames.missing]), frames.subset
    for title, table in (("Table 1", published["table1"]), ("Table 4", both)):
        for p, m, name, value in _cells(table):
            ours = missing or float(means[p, m])
            what = f"{title}, {name}"
            yield Row.judge(what, value, ours, printed(2), subset, other_data=bool(subset))


def _code_rows(
    published: Mapping[str, Any], measured: Mapping[str, Floats], frames: Frames
) -> Iterator[Row]:
    """What the authors' code gives on TAC and dialogue, by its own rule."""
    for key, table in published.items():
        title, rows = _SCOPES[key]
        missing = frames.absent(rows)
        means = _means(measured[row] for row in rows if not missing)
        for p, m, name, value in _cells(table):
            what, ours = f"Authors' code, {title}, {name}", missing or float(means[p, m])
            yield Row.judge(what, value, ours, _WITHIN, _digits(frames))


def _digits(frames: Frames) -> str | None:
    """Say where tables lack the digits that decide ties."""
    cut = sorted({path.parent.name for path in frames.files} - {FOLDERS[0]})
    return _CUT.format(folder="/ and ".join(cut)) if cut else None


def _count_rows(published: Mapping[str, int], frames: Frames) -> Iterator[Row]:
    words = {"setups": "setups", "pairs": "pairs of systems", "segments": "test instances"}
    sizes = [len(setup.systems) for setup in frames.setups]
    ours = {
        "setups": len(sizes),
        "pairs": sum(n * (n - 1) // 2 for n in sizes),
        "segments": sum(own[0].n_segments for own in frames.sets.values()),
    }
    missing, subset = "" if sizes else frames.absent([*frames.missing]), frames.subset
    for key, value in published.items():
        what, count = f"Section 5, {words[key]}", missing or ours[key]
        yield Row.judge(what, value, count, COUNTED, subset, other_data=bool(subset))


def _pairformance_rows(published: Mapping[str, Any], frames: Frames) -> Iterator[Row]:
    """Setups on which the paper's tool, which drops ties, divides 0 by 0 and never returns."""
    note = (
        "the paper's tool never ends: two systems that win nothing and always tie with each other "
        "are 0 / 0 in its iteration; here they are named, and the others ranked"
    )
    known = {setup.score: setup for setup in frames.of([published["set"]])}
    missing = frames.absent([published["set"]]) or "no scores of this metric"
    for metric in published["metrics"]:
        what = f"Pairformance, {published['set']} {metric}, ties dropped"
        if metric not in known:
            yield Row.absent(what, published["outcome"], missing)
            continue
        counts = win_counts(known[metric].scores)
        fit = bradley_terry(counts.wins, counts.ties, ties_as="drop")
        ours = "; ".join(connection_warnings(fit, known[metric].systems)) or "all are ranked"
        yield Row(what, published["outcome"], ours, FAULT, note)


def _not_comparable() -> Iterator[Row]:
    drawn = "drawn only: no figures are printed"
    for what, note in (
        ("Figure 2, densities of pairings", drawn),
        ("Figure 4, disagreement by metric, task and size", f"{drawn}; claims stand above"),
        ("Figure 5, a pairwise matrix on translations", "its scores are not at hand"),
        ("Table 2, an example of strengths by type", "an input: there is nothing to compute"),
    ):
        yield Row.absent(what, None, note)


class Overturned(NamedTuple):
    """Of ``triples`` of a pair and a third system, how many change the order of the pair.

    ``reversed`` puts the loser first, ``levelled`` makes both equal; triples whose pair is equal
    alone are not counted among any.
    """

    triples: int
    reversed: int
    levelled: int

    @property
    def changed(self) -> int:
        """How many are not in their order any more."""
        return self.reversed + self.levelled


def overturned_pairs(points: Floats) -> Overturned:
    """Count the pairs whose order a third system changes.

    ``points[i, j]`` are the wins of i against j, ties split between them; all pairs met equally
    often. Then Bradley-Terry orders any three systems by their points among the three, so that no
    fit is needed (see :func:`steelyard.stats.strength.bradleyterry.segment_points`).

    Examples
    --------
    >>> wins = np.array([[0.0, 2, 1], [1, 0, 2], [2, 1, 0]])  # a cycle: with a third, all are equal
    >>> overturned_pairs(wins)
    Overturned(triples=3, reversed=0, levelled=3)
    """
    n = len(points)
    ahead = points > points.T
    counts = [0, 0, 0]
    for third in range(n):
        won = points[:, third]
        lead = points - points.T + won[:, None] - won[None, :]
        rest = np.arange(n) != third
        pairs = ahead & rest[:, None] & rest[None, :]
        kinds = (pairs, pairs & (lead < 0), pairs & (lead == 0))
        counts = [count + int(kind.sum()) for count, kind in zip(counts, kinds, strict=True)]
    return Overturned(*counts)


# -- samples of instances


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
