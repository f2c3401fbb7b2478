"""How often mean, median, Bradley-Terry and others disagree.

Section 5 of the paired-evaluation paper for any data: over all setups, by score, by set, by the
number of segments; and how often tests that fit different rankings agree on which systems differ. A
setup is one score of one test set, ranked in several ways, whole or on samples of its segments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.comparison.options import RankOptions
from steelyard.comparison.rankings import AGGREGATIONS, Sample
from steelyard.core.display import Statement
from steelyard.core.errors import UsageError
from steelyard.core.options import check_instance, check_names, keywords
from steelyard.core.parallel import Workers
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Column, Table
from steelyard.core.text import plural, sentence
from steelyard.core.warnings import TypedWarning
from steelyard.data.evalset import EvalSet
from steelyard.data.selection import need_moments
from steelyard.formats.load import Source, as_evalset
from steelyard.stats.arrays import Floats, row_means
from steelyard.stats.correlation import joint_shares, order_disagreement, sets_differ, top_systems
from steelyard.stats.paired import tests as paired_tests
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.resampling.bootstrap import bootstrap_means, bootstrap_medians
from steelyard.stats.strength.bradleyterry import bradley_terry_batch, segment_points
from steelyard.stats.strength.wins import resampled_wins
from steelyard.studies.options import DisagreementOptions
from steelyard.studies.study import Curve, Line, Row, Study, draw_subsets, line_of

SAMPLED = ("mean", "median", "bt")  # rankings that samples of segments have, too
MEASURES = ("pairs", "best", "top")
TESTS: Mapping[str, Callable[[Floats], paired_tests.PairPValues]] = {
    "t": paired_tests.t_test,
    "mood": paired_tests.mood_test,
    "sign": paired_tests.sign_test,
    "wilcoxon": paired_tests.wilcoxon_test,
}
_CELLS = 4_000_000  # entries of win tables held at a time
_Y = "share of pairs of systems"
Bools = NDArray[np.bool_]
Rankings = Mapping[str, Floats]  # rankings by name, each draws x systems, higher is better


@dataclass(frozen=True, slots=True)
class Setup:
    """One score of one set: systems x segments, higher is better, NaN where missing."""

    set: str
    score: str
    systems: tuple[str, ...]
    scores: Floats

    @property
    def n_segments(self) -> int:
        """How many segments have a score."""
        return int(self.scores.shape[1])

    def sample(self, size: int, rng: np.random.Generator) -> Setup:
        """Keep a random sample of the segments."""
        kept = np.sort(rng.choice(self.n_segments, size, replace=False))
        return replace(self, scores=self.scores[:, kept])


@dataclass(frozen=True, slots=True)
class Rules:
    """What the definitions leave open."""

    options: RankOptions = field(default_factory=RankOptions)
    top: int = 3  # how many systems are the top
    top_sets: Callable[[Floats, int], Bools] = top_systems  # which systems belong to it
    differ: Callable[[Floats, Floats], Floats] = order_disagreement  # share of pairs


@keywords(DisagreementOptions)
def disagree(
    sets: Source | Mapping[str, Source],
    scores: Sequence[str] | None = None,
    *,
    options: DisagreementOptions,
    rng: Rng = 0,
    workers: Workers | None = None,
) -> Study:
    """Measure how much rankings of the same systems disagree.

    ``sets`` is one set, or several by name; ``scores`` are all that have segment scores if None.
    Samples of segments are drawn without replacement, for mean, median and Bradley-Terry, from sets
    with more segments. Tables ``scores``, ``sets`` and ``setups`` (set and score) are means over
    the samples, each size counting once. See :class:`DisagreementOptions`; results do not depend on
    the workers.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = disagree(sy.demo_set(), ["learned-refA", "overlap-refA"], sizes=[10])
    >>> [row["rankings"] for row in study.table().records()]
    ['mean, median', 'mean, bt', 'median, bt']
    """
    check_names(optional=True, scores=scores)
    check_instance(Workers, "Workers", optional=True, workers=workers)
    stream = generator(rng)
    if isinstance(sets, Mapping):
        opened = {name: as_evalset(source) for name, source in sets.items()}
    else:
        es = as_evalset(sets)
        opened = {es.name or "set": es}
    setups, notes = find_setups(opened, scores)
    draw, resample = stream.spawn(2)
    results, warnings = _measure_all(setups, options, draw, workers or Workers())
    significant = np.concatenate([result["significant"] for result in results], axis=1)
    whole = np.stack([result["values"] for result in results])
    by_pair = zip(combinations(options.by, 2), whole.transpose(1, 2, 0), strict=True)
    overall = [line_of(", ".join(pair), measures, resample) for pair, measures in by_pair]
    tables = {"overall": _overall_table(overall, len(setups), options.top)}
    curves: list[Curve] = []
    by_size = {
        size: np.stack([r["by_size"][size][:, 0] for r in results if size in r["by_size"]])
        for size in options.sizes
        if any(size in result["by_size"] for result in results)
    }
    if by_size:
        pairs = [", ".join(pair) for pair in combinations(_sampled(options), 2)]
        curves.append(
            replace(
                _curve("size", by_size, pairs, resample),
                title="by number of segments",
                x_label="segments",
            )
        )
        tables["sizes"] = _size_table(curves[-1], options.draws)
        means = _mean_over_sizes([result["by_size"] for result in results])
        keys = ("score", "set") if len(opened) > 1 else ("score",)
        labels = {key: [getattr(setup, key) for setup in setups] for key in keys}
        for key in keys:
            groups = {label: means[k, :, 0] for (label,), k in _rows([labels[key]]).items()}
            curves.append(_curve(key, groups, pairs, resample))
            tables[f"{key}s"] = _group_table((key,), labels, pairs, means, options.top)
        if len(opened) > 1:
            tables["setups"] = _group_table(("set", "score"), labels, pairs, means, options.top)
    if options.tests:
        tables["tests"] = _test_table(significant, options)
    settings: dict[str, Any] = {
        "by": ",".join(options.by),
        "ties": options.ties,
        "top": options.top,
        "sizes": ",".join(map(str, options.sizes)),
        "draws": options.draws,
        "tests": ",".join(options.tests),
        "alpha": options.alpha,
    }
    settings |= {"orders": options.orders or "file"} if set(options.by) - set(SAMPLED) else {}
    inputs = tuple(dict.fromkeys(file for es in opened.values() for file in es.inputs))
    every = (*(note for es in opened.values() for note in es.notes), *notes, *warnings)
    return Study(
        "disagreement",
        tables,
        sentences=tuple(_sentences(overall)),
        curves=tuple(curves),
        facts={
            "n_setups": len(setups),
            "n_pairs": significant.shape[1],
            "n_segments": sum(es.n_segments for es in opened.values()),
        },
        warnings=tuple(dict.fromkeys(every)),
        provenance=Provenance.of("study disagreement", settings, inputs, rng, options),
    )


def find_setups(
    sets: Mapping[str, EvalSet], scores: Sequence[str] | None = None
) -> tuple[list[Setup], list[str]]:
    """List the setups of some sets (systems and segments with any score), and what was left out."""
    setups: list[Setup] = []
    notes: list[str] = []
    for name, es in sets.items():
        usable = tuple(n for n, table in es.scores.items() if table.has_segments)
        for score in usable if scores is None else (n for n in scores if n in es.scores):
            if score not in usable:
                notes.append(f"{name}: '{score}' has no segment scores")
                continue
            need_moments(es, [score])
            values = es[score].oriented
            present = ~np.isnan(values)
            rows = np.flatnonzero(present.any(axis=1))
            if len(rows) < 2:
                notes.append(f"{name}: '{score}' has fewer than two systems")
                continue
            kept = np.ascontiguousarray(values[rows][:, present.any(axis=0)])
            setups.append(Setup(name, score, tuple(es.systems[i] for i in rows), kept))
    for score in scores or ():
        if not any(score in es.scores for es in sets.values()):
            next(iter(sets.values()))[score]  # an error that shows the known ones
    if not setups:
        raise UsageError("no score of at least two systems on segments: nothing to rank")
    return setups, notes


def _sampled(options: DisagreementOptions) -> tuple[str, ...]:
    return tuple(name for name in options.by if name in SAMPLED)


# Numbers


def rank_samples(
    setup: Setup, by: Sequence[str], options: RankOptions, counts: Floats
) -> dict[str, Floats]:
    """Rank the systems on samples of the segments, draws x segments: draws x systems each."""
    ways = {
        "mean": lambda: bootstrap_means(setup.scores, counts),
        "median": lambda: bootstrap_medians(setup.scores, counts),
        "bt": lambda: _bt_samples(setup, options, counts),
    }
    return {name: ways[name]() for name in by}


def _bt_samples(setup: Setup, options: RankOptions, counts: Floats) -> Floats:
    """Order systems by Bradley-Terry; a fit is needed where pairs do not meet equally often."""
    if options.ties in ("half", "second") and not np.isnan(setup.scores).any():
        points = segment_points(setup.scores, ties_as=options.ties, tolerance=options.tolerance)
        return counts @ points.T
    step = max(1, _CELLS // len(setup.systems) ** 2)
    parts = []
    for start in range(0, len(counts), step):
        part = counts[start : start + step]
        tables = resampled_wins(setup.scores, part, tolerance=options.tolerance)
        parts.append(-bradley_terry_batch(tables, ties_as=options.ties, prior=options.prior).ranks)
    return np.concatenate(parts)


def measure(rankings: Rankings, rules: Rules) -> Floats:
    """Compare all pairs of rankings: draws x pairs of rankings x (pairs, best, top).

    * ``pairs``: share of the pairs of systems in different order
      (:func:`steelyard.stats.correlation.order_disagreement`);
    * ``best``, ``top``: 1 where the best system, or the set of the best three, differs.
    """
    tops = [
        {name: rules.top_sets(ranks, size) for name, ranks in rankings.items()}
        for size in (1, rules.top)
    ]
    columns = [
        [rules.differ(rankings[a], rankings[b]), *(sets_differ(top[a], top[b]) for top in tops)]
        for a, b in combinations(rankings, 2)
    ]
    return np.stack([np.stack(column, axis=1) for column in columns], axis=1)


def significant_pairs(scores: Floats, tests: Sequence[str], alpha: float) -> Bools:
    """Tell which pairs of systems each test finds different: tests x pairs (undefined: no)."""
    i, j = pair_index(len(scores))
    p = np.array([TESTS[name](scores).p[i, j] for name in tests]).reshape(len(tests), len(i))
    return np.where(np.isnan(p), 1.0, p) < alpha


def measure_setup(
    task: tuple[Setup, DisagreementOptions], rng: np.random.Generator
) -> dict[str, Any]:
    """Measure one setup: disagreement on all its segments and on samples, and verdicts of tests."""
    setup, options = task
    rules, names = Rules(options, options.top), _sampled(options)
    whole, *streams = rng.spawn(1 + len(options.sizes))
    rankings: dict[str, Floats] = {}
    warnings: list[str] = []
    for name, draw in zip(options.by, whole.spawn(len(options.by)), strict=True):
        ranked = AGGREGATIONS[name](Sample(setup.scores, setup.systems), options, draw)
        rankings[name] = -ranked.ranks[None, :]
        warnings += [f"{setup.set}, {setup.score}: {text}" for text in ranked.warnings]
    by_size: dict[int, Floats] = {}
    for size, draw in zip(options.sizes, streams, strict=True):
        if size < setup.n_segments and len(names) > 1:
            counts = draw_subsets(setup.n_segments, size, options.draws, draw)
            each = measure(rank_samples(setup, names, options, counts), rules)
            by_size[size] = _mean(each)
    return {
        "values": measure(rankings, rules)[0],
        "by_size": by_size,
        "significant": significant_pairs(setup.scores, options.tests, options.alpha),
        "warnings": warnings,
    }


def _mean(values: Floats) -> Floats:
    """Average over the first axis, without NaN."""
    return row_means(values.reshape(len(values), -1).T).reshape(values.shape[1:])


def _measure_all(
    setups: Sequence[Setup],
    options: DisagreementOptions,
    rng: np.random.Generator,
    workers: Workers,
) -> tuple[list[dict[str, Any]], list[str]]:
    # Files hold arrays row by row, and the order of sums may depend on that.
    tasks = [(replace(s, scores=np.ascontiguousarray(s.scores)), options) for s in setups]
    results = workers.run(measure_setup, tasks, rng=rng)
    texts = [text for result in results for text in result["warnings"]]
    warnings: list[str] = [TypedWarning(text, "ranking") for text in texts]
    shares = np.stack([result["values"][:, 0] for result in results])
    undefined = int(np.isnan(shares).sum())
    if undefined:
        warnings.append(f"{undefined} of {shares.size} comparisons have a ranking of nothing but "
                        "ties: left out of 'pairs'")  # fmt: skip
    return results, warnings


def _mean_over_sizes(by_size: Sequence[Mapping[int, Floats]]) -> Floats:
    """Average over the sizes that each setup has; NaN for those that have none."""
    shape = next(values.shape for sizes in by_size for values in sizes.values())
    nothing = np.full((1, *shape), np.nan)
    return np.stack([_mean(np.stack([*sizes.values()]) if sizes else nothing) for sizes in by_size])


# Sentences, tables and curves


def _sentences(overall: Sequence[Line]) -> Iterator[Statement]:
    for line in overall:
        differ, best, _ = line.y
        if np.isnan(differ):
            continue
        pair = line.name.replace(", ", " and ")
        text = f"{pair} order {100 * differ:.1f}% of pairs differently"
        if not np.isnan(best):
            text += f", and name another best system in {100 * best:.1f}% of setups"
        yield "settled", sentence(text)


def _overall_table(overall: Sequence[Line], n_setups: int, top: int) -> Table:
    columns = [Column("rankings"), *_with_ends(("pairs", "best", f"top {top}"))]
    rows: tuple[Row, ...] = tuple(
        (line.name, *(cell for k in range(3) for cell in line.at(k))) for line in overall
    )
    size = f"mean over {plural(n_setups, 'setup')} (a score of a set)"
    notes = (
        f"{size}; low, high: 95% interval over resampled setups",
        f"pairs: pairs of systems in different order; best, top {top}: setups that differ",
    )
    return Table("Disagreement of rankings, as shares", tuple(columns), rows, notes)


def _with_ends(names: Sequence[str]) -> list[Column]:
    return [Column(f"{name}{end}", digits=3) for name in names for end in ("", " low", " high")]


def _rows(labels: Sequence[Sequence[str]]) -> dict[tuple[str, ...], list[int]]:
    rows: dict[tuple[str, ...], list[int]] = {}
    for k, label in enumerate(zip(*labels, strict=True)):
        rows.setdefault(label, []).append(k)
    return rows


def _group_table(
    keys: Sequence[str],
    labels: Mapping[str, Sequence[str]],
    pairs: Sequence[str],
    means: Floats,
    top: int,
) -> Table:
    """Show all measures of each pair of rankings, a row per group."""
    columns = [*map(Column, keys), Column("setups")]
    for pair in (pair.replace(", ", "/") for pair in pairs):
        heads = (pair, f"{pair} best", f"{pair} top {top}")
        columns += [Column(head, digits=3) for head in heads]
    rows: list[Row] = []
    for label, members in _rows([labels[key] for key in keys]).items():
        values = means[members]
        n = int((~np.isnan(values).all(axis=(1, 2))).sum())
        rows.append((*label, n, *_mean(values).ravel().tolist()))
    note = "mean over the samples of each size, then over the sizes"
    return Table(f"By {' and '.join(keys)}", tuple(columns), tuple(rows), (note,))


def _curve(
    key: str, groups: Mapping[Any, Floats], pairs: Sequence[str], rng: np.random.Generator
) -> Curve:
    lines = tuple(
        line_of(pair, [values[:, p] for values in groups.values()], rng)
        for p, pair in enumerate(pairs)
    )
    return Curve(f"{key}s", f"by {key}", key, _Y, tuple(groups), lines)


def _size_table(curve: Curve, draws: int) -> Table:
    columns = [Column("segments"), Column("setups")]
    columns += _with_ends([line.name for line in curve.lines])
    rows: list[Row] = []
    for k, size in enumerate(curve.x):
        cells = [cell for line in curve.lines for cell in line.at(k)]
        rows.append((size, max(line.n[k] for line in curve.lines), *cells))
    note = f"pairs in different order; {plural(draws, 'sample')} of each size without replacement"
    return Table("By number of segments", tuple(columns), tuple(rows), (note,))


def _test_table(significant: Bools, options: DisagreementOptions) -> Table:
    shares = joint_shares(significant)
    columns = (Column("test"), *(Column(name, digits=3) for name in options.tests))
    rows = tuple((name, *row.tolist()) for name, row in zip(options.tests, shares, strict=True))
    size = f"of {significant.shape[1]:,} pairs of systems, at level {options.alpha:g}, uncorrected"
    notes = (
        f"{size}; diagonal: the share that a test finds different",
        "elsewhere: of the pairs that the row's test finds, the share that the column's finds, too",
    )
    return Table("Tests", columns, rows, notes)
