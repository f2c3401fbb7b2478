"""The paired-evaluation paper (Peyrard et al. 2021): its tables and figures beside ours.

Of the paper's 296 setups, 65 are at hand: thirteen metrics on three TAC and two dialogue sets. On
these, the rankings of the authors' code (:mod:`steelyard.reproduction.aspublished`) are compared
with its own output, and with the printed tables, most of which rest on all 296. Worked examples and
the simulation need no data.

The cells of Table 3 are multiples of 1/30 for one metric, of 1/60 for two and of 1/90 for three, so
each is a mean over 30 samples of a metric. Samples of a fifth of the segments, which the authors'
code draws for its figures, give these cells; the sizes of appendix A.3 (10, then all of a set that
has fewer than 50) can't, because whole sets all give the same answer. Figure 6 is made of 1,000
samples of a fifth, each of a random set and metric.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.comparison.aggregations import connection_warnings
from steelyard.comparison.options import RankOptions
from steelyard.core.rng import Rng, generator
from steelyard.formats.load import load
from steelyard.reproduction.aspublished import (
    first_of_tied,
    rank_as_published,
    sign_as_published,
    top_as_published,
)
from steelyard.reproduction.reproduction import (
    COMPUTED,
    COUNTED,
    DIFFERS,
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
from steelyard.stats.strength.wins import segment_points, win_counts
from steelyard.studies.results import Progress, Study
from steelyard.studies.systems import disagreement as units
from steelyard.studies.systems.disagreement import MEASURES, Rules, Setup
from steelyard.studies.systems.simulation import simulate

PAPER = Paper(
    "paired", "Better than Average: Paired Evaluation of NLP Systems (2021)", "peyrard2021"
)
DRAWS = 300  # samples of each setup, for Table 3
TEST_DRAWS = 1000  # samples, for Figure 6
RANKINGS = ("mean", "median", "bt", "elo", "trueskill")  # the first three have samples, too
#: Sets at hand: the file, and the column and value that select their rows.
SETS = {
    "TAC08": ("tac.csv.gz", "year", "08"),
    "TAC09": ("tac.csv.gz", "year", "09"),
    "TAC11": ("tac.csv.gz", "year", "11"),
    "TC": ("dialogue.csv.gz", "dataset", "tc"),
    "PC": ("dialogue.csv.gz", "dataset", "pc"),
}
SUBSET = "65 of the paper's 296 setups are at hand"
_SCOPES = {
    "all": ("65 setups", tuple(SETS)),
    "dialogue": ("dialogue", ("TC", "PC")),
    "TAC": ("TAC", ("TAC08", "TAC09", "TAC11")),
}
_JITTERS = 200  # ways to fill in the digits that the dialogue table lacks
_DIGITS = 8  # of the scores in the dialogue table
_RUNS = Allowed(printed(3).most, f"{printed(3).why}; a mean of three simulations against one")
_WITHIN = Allowed(0.00055, "three decimals, rounded to four before")
_LOST = (
    f"the dialogue table holds {_DIGITS} digits, and under the authors' rule the digits below "
    "decide ties; detail: range over random further digits"
)
_TIED = (
    "M16, M31 and M42 tie for places 2 to 4 by bt on TAC11 ROUGE_L, with 1,517 wins each; the "
    "table holds 15 digits, the authors' frames had up to 17, and one tied segment decides"
)
SHARE = 0.2  # of the segments that a sample has
PUBLISHED_DRAWS = 30  # of each setup of Table 3
#: Metrics that stand under one heading of Table 3.
COLUMNS = {
    "BLEU": ("BLEU",),
    "ROUGE": ("ROUGE_1", "ROUGE_2", "ROUGE_L"),
    "ROUGE-WE": ("ROUGE_WE_1", "ROUGE_WE_2"),
    "MoverScore": ("MoverScore",),
    "BERTScore": ("BERTScore",),
}
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
_N_PARTS = 8
Sets = Mapping[str, Sequence[Setup]]


def reproduce_paired(
    data: Places | Data, *, rng: Rng = 0, progress: Progress | None = None
) -> Reproduction:
    """Compare the paper's figures with ours, as far as ``data`` holds ``bt-eval/``."""
    streams = generator(rng).spawn(4)
    places = Places.of(data)
    names = [f"bt-eval/{file}" for file in dict.fromkeys(file for file, _, _ in SETS.values())]
    paths = [path for name in names if (path := places.file(name)) is not None]
    missing = "" if len(paths) == len(names) else places.without(*names)
    sets = {} if missing else load_setups(paths[0].parent)
    rows: list[Row] = []
    for done, part in enumerate(_parts(PAPER.figures(), sets, streams, missing)):
        rows += part
        if progress is not None:
            progress(done + 1, _N_PARTS)
    return PAPER.reproduced(rows, paths, [missing], {"draws": DRAWS}, rng)


def _parts(
    published: Mapping[str, Any],
    sets: Sets,
    streams: Sequence[np.random.Generator],
    missing: str,
) -> Iterator[list[Row]]:
    """Compute part after part of the paper; where there are no sets, ``missing`` says why."""
    simulation, jitter, samples, tests = streams
    flat = [setup for own in sets.values() for setup in own]
    yield [*_figure1_rows(published["figure1"]), *_appendix_f_rows(published["appendixF"])]
    yield list(_simulation_rows(published["simulation"], simulate(rng=simulation)))
    rules = Rules(top_sets=top_as_published)
    measured = {k: units.measure(rank_as_published(_stack(own)), rules) for k, own in sets.items()}
    yield [
        *_count_rows(published["counts"], sets, missing),
        *_table_rows(published, measured, missing),
    ]
    ranges = _digit_ranges(sets, measured, jitter) if sets else {}
    yield list(_code_rows(published["code"], measured, ranges, missing))
    yield list(_half_rows(published["half"], sets, missing))
    wanted = {metric for own in COLUMNS.values() for metric in own}
    found = sample_means([setup for setup in flat if setup.score in wanted], DRAWS, samples)
    yield list(table3_rows(published["table3"], found, DRAWS, missing))
    yield [
        *_figure6_rows(published["figure6"], flat, tests, missing),
        *_tac_test_rows(published["tac-tests"], flat, missing),
    ]
    yield [
        *_pairformance_rows(published["pairformance"], sets, missing or SUBSET),
        *_not_comparable(),
    ]


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
    reason = "the scores printed for C tie with others; with 3, 1, 2 for C, a cycle, all are equal"
    for title, third in (("C = 3, 2, 1 as printed", c), ("C = 3, 1, 2", cycle)):
        for name, strength in zip("ABC", _strengths(np.stack([a, b, third])), strict=True):
            what = f"Appendix F, with {title}, bt of {name}"
            yield Row.judge(what, round(1 / 3, 3), float(strength), printed(3), reason)


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
        tau, low, high = (float(row[key] or np.nan) for key in ("tau", "low", "high"))
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


def load_setups(folder: Path) -> dict[str, list[Setup]]:
    """Load the setups of each set, systems in the authors' order: M0, M1, M2, ..."""
    result = {}
    for name, (file, column, value) in SETS.items():
        es = load(folder / file, where={column: value})
        metrics = [score for score in es.scores if score != "pyramid"]
        systems = sorted(es.systems, key=lambda system: int(system.removeprefix("M")))
        rows = [es.systems.index(system) for system in systems]
        columns = sorted(range(es.n_segments), key=lambda s: int(es.segments.ids[s]))
        result[name] = [
            Setup(name, metric, tuple(systems), es[metric].values[np.ix_(rows, columns)])
            for metric in metrics
        ]
    return result


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
    published: Mapping[str, Any], measured: Mapping[str, Floats], missing: str
) -> Iterator[Row]:
    """Tables 1 and 4, whose first three rows are those of Table 1."""
    means = _means(measured.values())
    both = {**published["table1"], **published["table4"]}
    for title, table in (("Table 1", published["table1"]), ("Table 4", both)):
        for p, m, name, value in _cells(table):
            ours = missing or float(means[p, m])
            yield Row.judge(f"{title}, {name}", value, ours, printed(2), SUBSET)


def _digit_ranges(
    sets: Sets, measured: Mapping[str, Floats], rng: np.random.Generator
) -> dict[str, tuple[Floats, Floats]]:
    """Range of the means of the dialogue setups, and of all, over the digits that are not known.

    Values that agree in the digits of the table tie here and need not in the authors' frames, whose
    rule gives ties to the later system. A random part of the values gets random further digits,
    many times over; this is the smallest and the largest mean.
    """
    rules = Rules(top_sets=top_as_published)
    drawn = []
    for name in _SCOPES["dialogue"][1]:
        scores = _stack(sets[name])
        shape = (_JITTERS, *scores.shape)
        part = rng.random(_JITTERS)[:, None, None, None]
        part[0] = 0  # the table as it is
        digits = rng.uniform(-0.5, 0.5, shape) * 10.0 ** (1 - _DIGITS)
        moved = scores * (1 + np.where(rng.random(shape) < part, digits, 0.0))
        values = units.measure(rank_as_published(moved.reshape(-1, *scores.shape[1:])), rules)
        drawn.append(values.reshape(_JITTERS, len(scores), *values.shape[1:]))
    dialogue = np.concatenate(drawn, axis=1)
    tac = [measured[name] for name in _SCOPES["TAC"][1]]
    means = {
        "dialogue": np.stack([_means([own]) for own in dialogue]),
        "all": np.stack([_means([own, *tac]) for own in dialogue]),
    }
    return {key: (own.min(axis=0), own.max(axis=0)) for key, own in means.items()}


def _code_rows(
    published: Mapping[str, Any],
    measured: Mapping[str, Floats],
    ranges: Mapping[str, tuple[Floats, Floats]],
    missing: str,
) -> Iterator[Row]:
    """What the authors' code gives on the sets at hand, by its own rule."""
    for key, table in published.items():
        title, sets = _SCOPES[key]
        means = _means(measured[name] for name in sets if not missing)
        for p, m, name, value in _cells(table):
            why, detail = _TIED, None
            if key in ranges:
                why = _LOST
                detail = " to ".join(f"{edge[p, m]:.3f}" for edge in ranges[key])
            what, ours = f"Authors' code, {title}, {name}", missing or float(means[p, m])
            yield Row.judge(what, value, ours, _WITHIN, why, detail)


def _half_rows(published: Mapping[str, Any], sets: Sets, missing: str) -> Iterator[Row]:
    """Mean against Bradley-Terry by the authors' code, but with ties as half wins."""
    rules = Rules(RankOptions(ties="half"), top_sets=top_as_published)
    why = f"the dialogue table holds {_DIGITS} digits: some of its ties are none in the frames"
    for key, table in published.items():
        title, names = _SCOPES[key]
        ranked = (
            {
                "mean": _stack(sets[name]).mean(axis=2),
                "bt": np.stack([segment_points(s.scores).sum(axis=1) for s in sets[name]]),
            }
            for name in names
            if not missing
        )
        means = _means(units.measure(own, rules) for own in ranked)
        for _, m, name, value in _cells(table):
            ours = missing or float(means[0, m])
            yield Row.judge(f"Ties as half wins, {title}, {name}", value, ours, _WITHIN, why)


def _count_rows(published: Mapping[str, int], sets: Sets, missing: str) -> Iterator[Row]:
    words = {"setups": "setups", "pairs": "pairs of systems", "segments": "test instances"}
    sizes = [len(setup.systems) for own in sets.values() for setup in own]
    ours = {
        "setups": len(sizes),
        "pairs": sum(n * (n - 1) // 2 for n in sizes),
        "segments": sum(own[0].n_segments for own in sets.values()),
    }
    for key, value in published.items():
        yield Row.judge(f"Section 5, {words[key]}", value, missing or ours[key], COUNTED, SUBSET)


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
        ranked = units.rank_samples(setup, RANKINGS[:3], rules.options, counts)
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
    missing: str,
) -> Iterator[Row]:
    """Compare every cell."""
    pairs = [", ".join(pair) for pair in combinations(RANKINGS[:3], 2)]
    headings = [(c, r) for c in published["columns"] for r in published["rankings"]]
    for name, cells in published.items():
        if name in ("columns", "rankings"):
            continue
        absent = missing if name in SETS else "the scores of this set are not at hand"
        for m, measure in enumerate(MEASURES):
            for (column, rankings), value in zip(headings, cells[measure], strict=False):
                what = f"Table 3, {name} {column}, {rankings.replace(', ', ' against ')}: {measure}"
                if absent:
                    yield Row.absent(what, value, absent)
                    continue
                own = [found[name, metric] for metric in COLUMNS[column]]
                p = pairs.index(rankings)
                ours = float(np.mean([mean[p, m] for mean, _ in own]))
                variance = sum(spread[p, m] ** 2 for _, spread in own) / len(own) ** 2
                error = float(np.sqrt(variance * (1 / PUBLISHED_DRAWS + 1 / draws)))
                swapped = (name, column) in _SWAPPED and rankings != "mean, median"
                reason = _EXCHANGED if swapped else _CHANCE
                yield Row.judge(what, value, ours, _SAMPLES._replace(error=error), reason)


def _tested(parts: Iterable[Setup], tests: Sequence[str]) -> Floats:
    """Give the matrix of tests, the sign test being that of the authors."""
    found = []
    for part in parts:
        found.append(units.significant_pairs(part.scores, tests, 0.05))
        found[-1][list(tests).index("sign")] = sign_as_published(part.scores) < 0.05
    return joint_shares(np.concatenate(found, axis=1))


def _drawn_parts(setups: Sequence[Setup], rng: np.random.Generator) -> Iterator[Setup]:
    """Draw sets, metrics and samples."""
    sets: dict[str, list[Setup]] = {}
    for setup in setups:
        sets.setdefault(setup.set, []).append(setup)
    names = list(sets)
    for _ in range(TEST_DRAWS):
        own = sets[names[int(rng.integers(len(names)))]]
        setup = own[int(rng.integers(len(own)))]
        yield setup.sample(sample_size(setup.n_segments), rng)


def _figure6_rows(
    published: Mapping[str, Any], setups: Sequence[Setup], rng: np.random.Generator, missing: str
) -> Iterator[Row]:
    """Compare the matrix, cell by cell."""
    tests = published["tests"]
    matrix = _tested(_drawn_parts(setups, rng), tests) if setups else np.empty((0, 0))
    why = f"{SUBSET}, most of them TAC: a fifth of it is 9 or 10 segments, so there is less power"
    for i, one in enumerate(tests):
        for j, two in enumerate(tests):
            what = f"Figure 6, found by {one}" + (f": also by {two}" if i != j else "")
            ours = missing or float(matrix[i, j])
            yield Row.judge(what, published[one][j], ours, printed(2), missing or why)


def _tac_test_rows(
    published: Mapping[str, Any], setups: Sequence[Setup], missing: str
) -> Iterator[Row]:
    """Compare the authors' tests on all segments of TAC."""
    tests = published["tests"]
    tac = [setup for setup in setups if setup.set.startswith("TAC")]
    matrix = _tested(tac, tests) if tac else np.empty((0, 0))
    for i, test in enumerate(tests):
        cells = [(i, test, published["diagonal"][i], 3)]
        if i:
            cells.append((0, f"t: also by {test}", published["given-t"][i], 2))
        for row, name, value, decimals in cells:
            what = f"Authors' tests, all segments of TAC, found by {name}"
            ours = missing or float(matrix[row, i])
            yield Row.judge(what, value, ours, printed(decimals), _OTHER_CODE.get(test))


def _pairformance_rows(published: Mapping[str, Any], sets: Sets, missing: str) -> Iterator[Row]:
    """Setups on which the paper's tool, which drops ties, divides 0 by 0 and never returns."""
    note = (
        "two systems that win nothing and always tie with each other are 0 / 0 in the iteration of "
        "Pairformance; here they are named, and the others ranked"
    )
    known = {setup.score: setup for setup in sets.get(published["set"], ())}
    for metric in published["metrics"]:
        what = f"Pairformance, {published['set']} {metric}, ties dropped"
        if metric not in known:
            yield Row.absent(what, published["outcome"], missing)
            continue
        counts = win_counts(known[metric].scores)
        fit = bradley_terry(counts.wins, counts.ties, ties_as="drop")
        ours = "; ".join(connection_warnings(fit, known[metric].systems)) or "all are ranked"
        yield Row(what, published["outcome"], ours, DIFFERS, note)


def _not_comparable() -> Iterator[Row]:
    drawn = "drawn only: no figures are printed"
    for what, note in (
        ("Figure 2, densities of pairings", drawn),
        ("Figure 4, disagreement by metric, task and size", f"{drawn}; see study disagreement"),
        ("Figure 5, a pairwise matrix on translations", "its scores are not at hand"),
        ("Table 2, an example of strengths by type", "an input: there is nothing to compute"),
    ):
        yield Row.absent(what, None, note)
