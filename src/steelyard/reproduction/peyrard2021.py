"""The paired-evaluation paper (Peyrard et al. 2021): its tables and figures beside ours.

Every frame that is there is used (:mod:`steelyard.reproduction.paired_frames`), of the paper's 296
setups. On TAC and dialogue, the rankings of the authors' code
(:mod:`steelyard.reproduction.paired_rules`) are compared with its own output; with the printed
tables are those of all setups at hand. Worked examples and the simulation need no data.

The cells of Table 3 are multiples of 1/30 for one metric, of 1/60 for two and of 1/90 for three, so
each is a mean over 30 samples of a metric. Samples of a fifth of the segments, which the authors'
code draws for its figures, give these cells; the sizes of appendix A.3 can't.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby, product
from typing import Any

import numpy as np

from steelyard.comparison.options import RankOptions
from steelyard.comparison.rankings import connection_warnings
from steelyard.core.progress import report_progress
from steelyard.core.rng import Rng, generator
from steelyard.reproduction.paired_frames import FOLDERS, FRAMES, ROWS, Frames, find_frames
from steelyard.reproduction.paired_rules import (
    first_of_tied,
    order_as_published,
    rank_as_published,
    sign_as_published,
    top_as_published,
)
from steelyard.reproduction.places import Data, Places
from steelyard.reproduction.reproduction import (
    FAULT,
    Ours,
    Paper,
    Reproduction,
    Row,
    cells,
    compare,
    printed,
)
from steelyard.stats.arrays import Floats, row_means
from steelyard.stats.correlation import joint_shares
from steelyard.stats.resampling.bootstrap import row_medians
from steelyard.stats.strength.bradleyterry import bradley_terry
from steelyard.stats.strength.wins import win_counts
from steelyard.studies import disagreement as units
from steelyard.studies.disagreement import MEASURES, Rules, Setup, measure
from steelyard.studies.simulation import simulate
from steelyard.studies.study import Study, draw_subsets

PAPER = Paper(
    "paired", "Better than Average: Paired Evaluation of NLP Systems (2021)", "peyrard2021"
)
DRAWS = 300  # samples of each setup, for Table 3 and Figure 4
TEST_DRAWS = 1000  # samples, for Figure 6
#: What the authors' code was run on: rows of Table 3.
_SCOPES = {"all": ROWS[:5], "dialogue": ROWS[3:5], "TAC": ROWS[:3]}
_CUT = (
    "under the authors' rule last digits decide ties, and the tables in {folder}/ are cut; those "
    f"in {FOLDERS[0]}/ have every digit"
)
_N_PARTS = 8


def reproduce_paired(data: Places | Data, *, rng: Rng = 0) -> Reproduction:
    """Compare the paper's figures with ours, as far as ``data`` holds its frames."""
    streams = generator(rng).spawn(4)
    frames = find_frames(Places.of(data))
    rows: list[Row] = []
    for done, part in enumerate(_parts(PAPER.figures(), frames, streams), 1):
        rows += part
        report_progress(done, _N_PARTS)
    missing = frames.missing.values()
    return PAPER.reproduced(rows, frames.files, missing, {"draws": DRAWS}, rng)


def _parts(
    published: Mapping[str, Any], frames: Frames, streams: Sequence[np.random.Generator]
) -> Iterator[list[Row]]:
    simulation, samples, drawn, tests = streams
    yield [*_figure1_rows(published["figure1"]), *_appendix_f_rows(published["appendixF"])]
    yield list(_triple_rows(published["appendixF"]["triples"], frames))
    yield list(_simulation_rows(published, simulate(rng=simulation)))
    measured = measure_as_published(frames.sets)
    yield [*_count_rows(published["counts"], frames), *_table_rows(published, measured, frames)]
    yield list(_code_rows(published["code"], measured, frames))
    sampled = sample_means(frames.setups, DRAWS, samples)
    yield list(table3_rows(published["table3"], sampled, DRAWS, frames))
    yield [
        *_metric_rows(frames, sample_means(frames.setups, DRAWS, drawn, LEAST)),
        *_task_rows(frames, sampled),
        *_figure6_rows(published, frames, TEST_DRAWS, tests),
        *_tac_test_rows(published, frames),
    ]
    yield [*_pairformance_rows(published["pairformance"], frames), *PAPER.absent()]


def measure_as_published(sets: Mapping[str, Sequence[Setup]]) -> dict[str, Floats]:
    """Compare the five rankings of the authors' code, by its own rule: a row for every setup."""
    rules = Rules(top_sets=top_as_published, differ=order_as_published)
    return {
        name: measure(rank_as_published(np.stack([s.scores for s in setups])), rules)
        for name, setups in sets.items()
    }


def _figure1_rows(scores: Mapping[str, list[float]]) -> Iterator[Row]:
    """Three systems with one mean; the median prefers A, Bradley-Terry prefers B and C."""
    table = {name: np.array(row, dtype=np.float64) for name, row in scores.items()}
    means = {float(row.mean()) for row in table.values()}
    yield Row.judge("Figure 1, means of A B C", "equal", "equal" if len(means) == 1 else "unequal")
    a, b = row_medians(np.stack([table["A"], table["B"]]))
    yield Row.judge("Figure 1, higher median of A and B", "A", "A" if a > b else "not A")
    for rival in ("B", "C"):
        share = _strengths(np.stack([table[rival], table["A"]]))[0]
        yield Row.judge(f"Figure 1, bt of {rival} against A", 0.8, float(share), 1e-9)


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
    reason = (
        "the paper's claim is false; detail: of all triples those with the loser ahead, those that "
        "are level, setups with any, and the same with ties as half wins"
    )
    for row in ROWS:
        what = f"Appendix F, {row}: triples whose third system changes the order of two"
        setups = frames.of([row])
        if not setups:
            yield Row.absent(what, published, frames.missing[row])
            continue
        second, half = (
            np.array([overturned_pairs(_points(setup.scores, ties)) for setup in setups])
            for ties in ("second", "half")
        )
        triples, turned, level = second.sum(axis=0).tolist()
        some = f"{(second[:, 1:].sum(axis=1) > 0).sum()} of {len(setups)} setups"
        detail = f"of {triples:,}: {turned:,} and {level:,}; {some}; {half[:, 1:].sum():,}"
        yield Row.judge(what, published, Ours(turned + level, detail=detail)).blame_paper(reason)


def _points(scores: Floats, ties: str) -> Floats:
    """Wins of every system over every other; ties are half wins, or wins of the later one."""
    counts = win_counts(scores)
    return counts.wins + (np.tril(counts.ties, -1) if ties == "second" else counts.ties / 2)


def _strengths(scores: Floats) -> Floats:
    counts = win_counts(scores)
    return bradley_terry(counts.wins, counts.ties).strength


def _simulation_rows(published: Mapping[str, Any], study: Study) -> Iterator[Row]:
    """The claims of section 4, and the figures of the authors' simulation run again."""
    for claim in study.table("claims").records():
        what, evidence = f"Figure 3, {claim['claim']}", str(claim["evidence"])
        yield Row.claim(what, holds=bool(claim["holds"]), reason=evidence)
    overall = {record["ranking"]: record for record in study.table("overall").records()}
    curve = study.curve("e")
    lines = {line.name: line for line in curve.lines}

    def tau(ranking: str, _: str) -> Ours:
        return _simulated(*(overall[ranking][key] for key in ("tau", "low", "high")))

    def with_outliers(ranking: str, percent: str) -> Ours:
        line, place = lines[ranking], curve.x.index(float(percent) / 100)
        return _simulated(line.y[place], line.low[place], line.high[place])

    yield from compare(published["simulation"], tau)
    yield from compare(published["outliers"], with_outliers)


def _simulated(*numbers: Any) -> Ours:
    """A mean with the error of the difference between this run and three of the authors'."""
    tau, low, high = (np.nan if number is None else float(number) for number in numbers)
    reason = "both are simulations, and differ by more than two standard errors"
    return Ours(tau, reason, error=(high - low) / (2 * 1.96) * math.sqrt(1 + 1 / 3))


def _means(measured: Iterable[Floats]) -> dict[tuple[str, str], float]:
    """Means over setups by pair of rankings and measure, leaving out what is undefined."""
    every = [*measured]
    if not every:
        return {}
    values = np.concatenate(every)
    pairs = [" against ".join(pair) for pair in combinations(RANKINGS, 2)]
    means = row_means(values.reshape(len(values), -1).T).tolist()
    return dict(zip(product(pairs, MEASURES), means, strict=True))


def _of_subset(frames: Frames, ours: Callable[[Any, str], float]) -> Callable[[str, str], Ours]:
    """Show figures that the paper gives of all its setups, compared only if all are at hand."""
    missing, subset = "" if frames.setups else frames.absent(), frames.subset
    return lambda row, column: Ours(missing or ours(row, column), subset, other_data=bool(subset))


def _table_rows(
    published: Mapping[str, Any], measured: Mapping[str, Floats], frames: Frames
) -> Iterator[Row]:
    """Tables 1 and 4, whose first three rows are those of Table 1."""
    means = _means(measured.values())
    ours = _of_subset(frames, lambda row, column: means[row, column])
    first, fourth = published["table1"], published["table4"]
    yield from compare(first, ours, title="Table 1")
    both = {**fourth, "rows": {**first["rows"], **fourth["rows"]}}
    yield from compare(both, ours, title="Table 4")


def _code_rows(
    published: Mapping[str, Any], measured: Mapping[str, Floats], frames: Frames
) -> Iterator[Row]:
    for key, table in published.items():
        rows = _SCOPES[key]
        missing = frames.absent(rows)
        means = _means(measured[row] for row in rows if not missing)
        yield from compare(
            table, lambda *cell, means=means, gap=missing: Ours(gap or means[cell], _digits(frames))
        )


def _digits(frames: Frames) -> str | None:
    """Say where tables lack the digits that decide ties."""
    cut = sorted({path.parent.name for path in frames.files} - {FOLDERS[0]})
    return _CUT.format(folder="/ and ".join(cut)) if cut else None


def _count_rows(published: Mapping[str, Any], frames: Frames) -> Iterator[Row]:
    sizes = [len(setup.systems) for setup in frames.setups]
    counts = {
        "setups": len(sizes),
        "pairs of systems": sum(n * (n - 1) // 2 for n in sizes),
        "test instances": sum(setups[0].n_segments for setups in frames.sets.values()),
    }
    return compare(published, _of_subset(frames, lambda row, _: counts[row]))


def _pairformance_rows(published: Mapping[str, Any], frames: Frames) -> Iterator[Row]:
    note = (
        "the paper's tool never ends: two systems that win nothing and always tie with each other "
        "are 0 / 0 in its iteration; here they are named, and the others ranked"
    )
    setups = {setup.score: setup for setup in frames.of([published["set"]])}
    missing = frames.absent([published["set"]]) or "no scores of this metric"
    for metric in published["metrics"]:
        what = f"Pairformance, {published['set']} {metric}, ties dropped"
        if metric not in setups:
            yield Row.absent(what, published["outcome"], missing)
            continue
        counts = win_counts(setups[metric].scores)
        fit = bradley_terry(counts.wins, counts.ties, ties_as="drop")
        ours = "; ".join(connection_warnings(fit, setups[metric].systems)) or "all are ranked"
        yield Row(what, published["outcome"], ours, FAULT, note)


def overturned_pairs(points: Floats) -> tuple[int, int, int]:
    """Count triples of an ordered pair and a third system; those that reverse it, or level it.

    ``points[i, j]`` are the wins of i against j, ties split between them; all pairs met equally
    often. Then Bradley-Terry orders any three systems by their points among the three, so that no
    fit is needed (see :func:`steelyard.stats.strength.bradleyterry.segment_points`).
    """
    n = len(points)
    ahead = points > points.T
    counts = np.zeros(3, dtype=np.int64)
    for third in range(n):
        won = points[:, third]
        lead = points - points.T + won[:, None] - won[None, :]
        rest = np.arange(n) != third
        pairs = ahead & rest[:, None] & rest[None, :]
        counts += [kind.sum() for kind in (pairs, pairs & (lead < 0), pairs & (lead == 0))]
    triples, turned, level = counts.tolist()
    return triples, turned, level


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
# exchanged in one place
_PARTNERS = {"mean against bt": "median against bt", "median against bt": "mean against bt"}
Sampled = Mapping[tuple[str, str], tuple[Floats, Floats]]  # mean and deviation by set and metric


def sample_size(n_segments: int, least: int = 1) -> int:
    """Return a fifth of the segments, as a whole number."""
    return min(n_segments, max(least, round(SHARE * n_segments)))


def sample_means(
    setups: Sequence[Setup], draws: int, rng: np.random.Generator, least: int = 1
) -> dict[tuple[str, str], tuple[Floats, Floats]]:
    """Mean and standard deviation over samples of each setup: pairs of rankings x measures."""
    rules = Rules(RankOptions(ties="second"), top_sets=first_of_tied)
    # One stream for each row of Table 3, there or not: what else is there moves no figure.
    streams = dict(zip(ROWS, rng.spawn(len(ROWS)), strict=True))
    samples = {}
    for setup in setups:
        (stream,) = streams[setup.set.partition(" ")[0]].spawn(1)
        size = sample_size(setup.n_segments, least)
        counts = draw_subsets(setup.n_segments, size, draws, stream)
        ranked = units.rank_samples(setup, RANKINGS[:3], rules.options, counts)
        values = units.measure(ranked, rules)
        n_defined = (~np.isnan(values)).sum(axis=0)
        n_defined = np.where(n_defined > 0, n_defined, np.nan)  # NaN where no sample defines it
        mean = np.nansum(values, axis=0) / n_defined
        spread = np.sqrt(np.nansum((values - mean) ** 2, axis=0) / n_defined)
        samples[setup.set, setup.score] = mean, spread
    return samples


def table3_rows(
    published: Mapping[str, Any], sampled: Sampled, draws: int, frames: Frames
) -> Iterator[Row]:
    """Compare every cell: a mean over the metrics of a column, and over the sets of a row.

    Both sides are means of samples: 30 per metric in the paper.
    """
    pairs = [" against ".join(pair) for pair in PAIRS]
    headings = [f"{c}, {r}" for c in published["columns"] for r in published["rankings"]]
    judged = []
    for name, rows in published["sets"].items():
        for what, share, heading, value in cells(
            {**published, "columns": headings, "rows": rows}, set=name
        ):
            column = heading.partition(", ")[0]
            samples = [
                sampled[s.set, s.score] for s in frames.of([name]) if s.score in COLUMNS[column]
            ]
            judged.append((what, name, share, heading, value, samples))
    together = sum(bool(samples) for *_, samples in judged)
    for what, name, share, heading, value, samples in judged:
        column, _, rankings = heading.partition(", ")
        if not samples:
            absent = frames.missing.get(name) or f"no scores of {column} on {name}"
            yield Row.absent(what, value, absent)
            continue
        p, m = pairs.index(rankings), MEASURES.index(share)
        means, spreads = np.array(samples)[:, :, p, m].T
        variance = sum(spreads**2) / len(samples) ** 2
        error = float(np.sqrt(variance * (1 / PUBLISHED_DRAWS + 1 / draws)))
        ours = Ours(float(np.mean(means)), error=error, together=together)
        row = Row.judge(what, value, ours, published["tolerance"])
        if (name, column) == ("TAC08", "ROUGE-WE") and rankings in _PARTNERS:
            partner = headings.index(f"{column}, {_PARTNERS[rankings]}")
            row = row.blame_paper(_EXCHANGED, published["sets"][name][share][partner])
        yield row


def _metric_rows(frames: Frames, samples: Sampled) -> Iterator[Row]:
    """Figure 4a: BLEU is most affected, recent metrics less; mean and median agree best."""
    by_metric = {
        column: _mean([pair for (_, metric), pair in samples.items() if metric in COLUMNS[column]])
        for column in ("BLEU", "MoverScore", "BERTScore")
    }
    missing = "" if samples else frames.absent()
    for metric, p in product(("MoverScore", "BERTScore"), (1, 2)):
        what = f"Figure 4a, {' against '.join(PAIRS[p])}: {metric} is less affected than BLEU"
        yield _smaller(what, by_metric[metric][p], by_metric["BLEU"][p], frames.subset, missing)
    every = _mean([*samples.values()])
    for p in (1, 2):
        what = f"Figure 4a, mean and median agree more than {' and '.join(PAIRS[p])}"
        yield _smaller(what, every[0], every[p], frames.subset, missing)


def _task_rows(frames: Frames, samples: Sampled) -> Iterator[Row]:
    """Figure 4b: dialogue and captioning disagree more than translation and summarisation."""
    tasks: dict[str, list[str]] = {}
    for frame in FRAMES:
        tasks.setdefault(frame.task, []).extend(frame.rows)
    means = {
        task: _mean([samples[s.set, s.score] for s in frames.of(rows)])
        for task, rows in tasks.items()
    }
    for less, more in product(("MT", "summarisation"), ("dialogue", "captioning")):
        both = [task for task in (less, more) if not frames.of(tasks[task])]
        missing = "; ".join(frames.absent(tasks[task]) for task in both)
        subset = frames.subset if frames.absent([*tasks[less], *tasks[more]]) else ""
        for p, pair in enumerate(PAIRS):
            what = f"Figure 4b, {' against '.join(pair)}: {less} disagrees less than {more}"
            yield _smaller(what, means[less][p], means[more][p], subset, missing)


def _mean(samples: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Share of pairs of systems in different order, over setups: one for each pair of rankings."""
    if not samples:
        return np.full(len(PAIRS), np.nan)
    return row_means(np.stack([mean[:, 0] for mean, _ in samples], axis=1))


def _smaller(what: str, one: float, two: float, subset: str, missing: str) -> Row:
    if missing or np.isnan(one) or np.isnan(two):
        return Row.absent(what, "yes", missing or "no scores of this metric")
    detail = f"{one:.3f}, {two:.3f}"
    holds, reason = bool(one < two), subset or "not so here"
    return Row.claim(what, holds=holds, reason=reason, detail=detail, other_data=bool(subset))


def _shares(parts: Iterable[Setup], tests: Sequence[str]) -> dict[tuple[str, ...], float]:
    """Return how often two tests find a difference, the sign test being that of the authors."""
    differences = []
    for part in parts:
        significant = units.significant_pairs(part.scores, tests, 0.05)
        significant[list(tests).index("sign")] = sign_as_published(part.scores) < 0.05
        differences.append(significant)
    shares = joint_shares(np.concatenate(differences, axis=1))
    return dict(zip(product(tests, tests), shares.ravel().tolist(), strict=True))


def _drawn_parts(setups: Sequence[Setup], draws: int, rng: np.random.Generator) -> Iterator[Setup]:
    sets = [list(group) for _, group in groupby(setups, key=lambda setup: setup.set)]
    for _ in range(draws):
        metrics = sets[int(rng.integers(len(sets)))]
        setup = metrics[int(rng.integers(len(metrics)))]
        yield setup.sample(sample_size(setup.n_segments), rng)


def _figure6_rows(
    published: Mapping[str, Any], frames: Frames, draws: int, rng: np.random.Generator
) -> Iterator[Row]:
    """Compare the matrix, cell by cell: alone on the diagonal."""
    tests = published["figure6"]["columns"]
    shares = _shares(_drawn_parts(frames.setups, draws, rng), tests) if frames.setups else {}

    def small_share(row: str, column: str) -> Ours:
        ours = _of_subset(frames, lambda *pair: shares[pair])(row, column or row)
        why = f"{ours.reason}, and small samples of TAC have less power"
        return ours._replace(reason=ours.reason and why)

    for section in ("figure6-each", "figure6"):
        yield from compare(published[section], small_share)


def _tac_test_rows(published: Mapping[str, Any], frames: Frames) -> Iterator[Row]:
    """Compare the authors' tests on all segments of TAC."""
    tests, rows = [*published["tac-tests"]["rows"]], _SCOPES["TAC"]
    missing = frames.absent(rows)
    shares = {} if missing else _shares(frames.of(rows), tests)
    for section in ("tac-tests", "tac-given"):
        yield from compare(published[section], lambda a, b: missing or shares[a, b or a])
