"""How often mean, median, Bradley-Terry, Elo and TrueSkill rank the same systems differently.

Section 5 of the paired-evaluation paper for any data: over all setups, by score, by set, by the
number of segments; and how often tests that fit different rankings agree on which systems differ. A
setup is one score of one test set, ranked in several ways, whole or on samples of its segments.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.comparison.options import RankOptions
from steelyard.comparison.rankings import AGGREGATIONS, Sample
from steelyard.core.errors import UsageError
from steelyard.core.options import check_instance, check_names, keywords
from steelyard.core.parallel import Workers
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.data.evalset import EvalSet
from steelyard.data.selection import need_moments
from steelyard.formats.load import Source, as_evalset
from steelyard.stats.arrays import Floats, row_means
from steelyard.stats.correlation import order_disagreement, sets_differ, top_systems
from steelyard.stats.paired import tests as paired_tests
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.resampling.bootstrap import bootstrap_means, bootstrap_medians
from steelyard.stats.strength.bradleyterry import bradley_terry_batch, segment_points
from steelyard.stats.strength.wins import resampled_wins
from steelyard.studies.results import Study
from steelyard.studies.systems.disagreementviews import (
    Measured,
    group_curve,
    group_table,
    overall_table,
    size_curve,
    size_table,
    test_table,
)
from steelyard.studies.systems.options import DisagreementOptions

SAMPLED = ("mean", "median", "bt")  # rankings that samples of segments have, too
MEASURES = ("pairs", "best", "top")
TESTS: Mapping[str, Callable[[Floats], paired_tests.PairPValues]] = {
    "t": paired_tests.t_test,
    "mood": paired_tests.mood_test,
    "sign": paired_tests.sign_test,
    "wilcoxon": paired_tests.wilcoxon_test,
}
_CELLS = 4_000_000  # entries of win tables held at a time
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
    """What the definitions leave open: options of the rankings, and who is at the top.

    ``top`` is the size of the top, ``top_sets`` says who belongs to it, ``differ`` which share of
    the pairs two rankings order differently.
    """

    options: RankOptions = field(default_factory=RankOptions)
    top: int = 3
    top_sets: Callable[[Floats, int], Bools] = top_systems
    differ: Callable[[Floats, Floats], Floats] = order_disagreement


def find_setups(
    sets: Mapping[str, EvalSet], scores: Sequence[str] | None = None
) -> tuple[list[Setup], list[str]]:
    """List the setups of some sets, and say what was left out and why.

    A setup has the systems with any score and the segments that any of them has. Without two
    systems there is nothing to rank.
    """
    found: list[Setup] = []
    notes: list[str] = []
    for name, es in sets.items():
        known = tuple(n for n, table in es.scores.items() if table.has_segments)
        chosen = known if scores is None else tuple(n for n in scores if n in es.scores)
        for score in chosen:
            if score not in known:
                notes.append(f"{name}: '{score}' has no segment scores")
                continue
            need_moments(es, [score])
            values = es[score].oriented
            some = ~np.isnan(values)
            rows = np.flatnonzero(some.any(axis=1))
            if len(rows) < 2:
                notes.append(f"{name}: '{score}' has fewer than two systems")
                continue
            kept = np.ascontiguousarray(values[rows][:, some.any(axis=0)])
            found.append(Setup(name, score, tuple(es.systems[i] for i in rows), kept))
    for score in scores or ():
        if not any(score in es.scores for es in sets.values()):
            next(iter(sets.values()))[score]  # an error that shows the known ones
    if not found:
        raise UsageError("no score of at least two systems on segments: nothing to rank")
    return found, notes


def rank_whole(
    setup: Setup, by: Sequence[str], options: RankOptions, rng: np.random.Generator
) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Rank the systems of a setup in several ways (1 x systems each); and warnings."""
    rankings: dict[str, Floats] = {}
    warnings: list[str] = []
    for name, own in zip(by, rng.spawn(len(by)), strict=True):
        found = AGGREGATIONS[name].rank(Sample(setup.scores, setup.systems), options, own)
        rankings[name] = -found.ranks[None, :]
        warnings += found.warnings
    return rankings, tuple(warnings)


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
        own = segment_points(setup.scores, ties_as=options.ties, tolerance=options.tolerance)
        return counts @ own.T
    step = max(1, _CELLS // len(setup.systems) ** 2)
    parts = []
    for start in range(0, len(counts), step):
        own = counts[start : start + step]
        tables = resampled_wins(setup.scores, own, tolerance=options.tolerance)
        parts.append(-bradley_terry_batch(tables, ties_as=options.ties, prior=options.prior).ranks)
    return np.concatenate(parts)


def draw_segments(n: int, size: int, draws: int, rng: np.random.Generator) -> Floats:
    """Draw samples of ``size`` of ``n`` segments without replacement: draws x segments, 0 or 1.

    Examples
    --------
    >>> draw_segments(5, 2, 3, np.random.default_rng(0)).sum(axis=1).tolist()
    [2.0, 2.0, 2.0]
    """
    chosen = np.argsort(rng.random((draws, n)), axis=1)[:, :size]
    counts = np.zeros((draws, n))
    np.put_along_axis(counts, chosen, 1.0, axis=1)
    return counts


def measure(rankings: Rankings, rules: Rules) -> Floats:
    """Compare all pairs of rankings: draws x pairs of rankings x (pairs, best, top).

    * ``pairs``: share of the pairs of systems in different order, as the rules have it
      (:func:`steelyard.stats.correlation.order_disagreement`);
    * ``best``, ``top``: 1 where the best system, or the set of the best three, differs.
    """
    best = {name: rules.top_sets(own, 1) for name, own in rankings.items()}
    top = {name: rules.top_sets(own, rules.top) for name, own in rankings.items()}
    columns = [
        [
            rules.differ(rankings[a], rankings[b]),
            *(sets_differ(s[a], s[b]) for s in (best, top)),
        ]
        for a, b in combinations(rankings, 2)
    ]
    return np.stack([np.stack(own, axis=1) for own in columns], axis=1)


def significant_pairs(scores: Floats, tests: Sequence[str], alpha: float) -> Bools:
    """Tell which pairs of systems each test finds different: tests x pairs.

    A test that is undefined for a pair finds nothing.
    """
    i, j = pair_index(len(scores))
    found = np.zeros((len(tests), len(i)), dtype=bool)
    for row, name in zip(found, tests, strict=True):
        p = TESTS[name](scores).p[i, j]
        row[:] = np.where(np.isnan(p), 1.0, p) < alpha
    return found


@dataclass(frozen=True, slots=True)
class _Found:
    """Measures of every setup.

    ``values`` is setups x pairs of rankings x (pairs, best, top), of all segments; ``sampled`` is
    the same of samples, a mean over them and then over the sizes that a set has, of the rankings
    that samples have (NaN where a set has none); ``by_size`` has, for each number of segments, the
    mean over samples of ``pairs`` (setups x pairs of rankings); ``significant`` is tests x pairs of
    systems.
    """

    setups: tuple[Setup, ...]
    values: Floats
    sampled: Floats
    by_size: Mapping[int, Floats]
    significant: Bools
    warnings: tuple[str, ...]


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
    Samples of segments are drawn without replacement, for mean, median and Bradley-Terry; sets with
    no more segments take no part. Tables ``scores``, ``sets`` and ``setups`` (set and score) are of
    all segments, ``sampled_scores`` and so on means over the samples, each size counting once. See
    :class:`DisagreementOptions`; results do not depend on the workers.

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
        named = {name: as_evalset(one) for name, one in sets.items()}
    else:
        one = as_evalset(sets)
        named = {one.name or "set": one}
    found_setups, notes = find_setups(named, scores)
    draw, resample, beside = stream.spawn(3)
    found = _measure(found_setups, options, draw, workers or Workers())
    top, keys = options.top, ("score", "set") if len(named) > 1 else ("score",)
    labels = {key: [getattr(setup, key) for setup in found.setups] for key in keys}
    whole = Measured(tuple(options.by), found.values, top)
    curves = [group_curve("scores", "score", labels["score"], whole, resample)]
    tables = {"overall": overall_table(whole, resample)}
    tables |= {f"{key}s": group_table((key,), [labels[key]], whole) for key in keys}
    if len(named) > 1:
        curves.append(group_curve("sets", "set", labels["set"], whole, resample))
        tables["setups"] = group_table(("set", "score"), [labels["set"], labels["score"]], whole)
    if found.by_size:
        curves.append(size_curve(found.by_size, _sampled(options), resample))
        tables["sizes"] = size_table(curves[-1], options.draws)
        parts = Measured(_sampled(options), found.sampled, top, on_samples=True)
        for key in keys:
            curves.append(group_curve(f"sampled_{key}s", key, labels[key], parts, beside))
            tables[f"sampled_{key}s"] = group_table((key,), [labels[key]], parts)
        if len(named) > 1:
            both = [labels["set"], labels["score"]]
            tables["sampled_setups"] = group_table(("set", "score"), both, parts)
    if options.tests:
        tables["tests"] = test_table(found.significant, options)
    warnings = (*(note for es in named.values() for note in es.notes), *notes, *found.warnings)
    inputs = tuple(dict.fromkeys(i for es in named.values() for i in es.inputs))
    return Study(
        name="disagreement",
        parts=tables,
        curves=tuple(curves),
        facts={
            "n_setups": len(found.setups),
            "n_pairs": found.significant.shape[1],
            "n_segments": sum(es.n_segments for es in named.values()),
        },
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("study disagreement", _settings(options), inputs, rng, options),
    )


def _sampled(options: DisagreementOptions) -> tuple[str, ...]:
    """Name the rankings that samples have, too."""
    return tuple(name for name in options.by if name in SAMPLED)


def _settings(options: DisagreementOptions) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "by": ",".join(options.by),
        "ties": options.ties,
        "top": options.top,
        "sizes": ",".join(map(str, options.sizes)),
        "draws": options.draws,
        "tests": ",".join(options.tests),
        "alpha": options.alpha,
    }
    if set(options.by) - set(SAMPLED):
        settings["orders"] = options.orders or "file"
    return settings


def measure_setup(
    task: tuple[Setup, DisagreementOptions], rng: np.random.Generator
) -> dict[str, Any]:
    """Measure one setup: disagreement of all its segments, of samples, and verdicts of tests."""
    setup, options = task
    rules, names = Rules(options, options.top), _sampled(options)
    whole, *streams = rng.spawn(1 + len(options.sizes))
    rankings, warned = rank_whole(setup, options.by, options, whole)
    by_size: dict[str, Floats] = {}
    for size, own in zip(options.sizes, streams, strict=True):
        if size < setup.n_segments and len(names) > 1:
            counts = draw_segments(setup.n_segments, size, options.draws, own)
            ranked = rank_samples(setup, names, options, counts)
            each = measure(ranked, rules)
            by_size[str(size)] = row_means(each.reshape(len(each), -1).T).reshape(each.shape[1:])
    return {
        "values": measure(rankings, rules)[0],
        "by_size": by_size,
        "significant": significant_pairs(setup.scores, options.tests, options.alpha),
        "warnings": [f"{setup.set}, {setup.score}: {text}" for text in warned],
    }


def _measure(
    setups: Sequence[Setup],
    options: DisagreementOptions,
    rng: np.random.Generator,
    workers: Workers,
) -> _Found:
    about = {} if workers.resume is None else _about(setups, options, rng)
    # Files hold arrays row by row, and the order of sums may depend on that.
    tasks = [
        (replace(setup, scores=np.ascontiguousarray(setup.scores)), options) for setup in setups
    ]
    found = workers.run(measure_setup, tasks, rng=rng, step="disagreement", about=about)
    warnings = [text for own in found for text in own["warnings"]]
    by_size = {
        size: np.stack(
            [own["by_size"][str(size)][:, 0] for own in found if str(size) in own["by_size"]]
        )
        for size in options.sizes
        if any(str(size) in own["by_size"] for own in found)
    }
    stacked = np.stack([own["values"] for own in found])
    undefined = int(np.isnan(stacked[:, :, 0]).sum())
    if undefined:
        warnings.append(
            f"{undefined} of {stacked[:, :, 0].size} comparisons have a ranking of nothing but "
            "ties, which orders no pair: left out of 'pairs'"
        )
    return _Found(
        setups=tuple(setups),
        values=stacked,
        sampled=_mean_over_sizes([own["by_size"] for own in found]),
        by_size=by_size,
        significant=np.concatenate([own["significant"] for own in found], axis=1),
        warnings=tuple(warnings),
    )


def _mean_over_sizes(by_size: Sequence[Mapping[str, Floats]]) -> Floats:
    """Average what samples of several sizes say of each setup; NaN for those that have none."""
    shape = next((own.shape for sizes in by_size for own in sizes.values()), (0, len(MEASURES)))
    found = np.full((len(by_size), *shape), np.nan)
    for row, sizes in zip(found, by_size, strict=True):
        if sizes:
            each = np.stack(list(sizes.values()))
            row[:] = row_means(each.reshape(len(each), -1).T).reshape(shape)
    return found


def _about(
    setups: Sequence[Setup], options: DisagreementOptions, rng: np.random.Generator
) -> dict[str, Any]:
    """Say what the results depend on."""
    total = hashlib.sha256()
    for setup in setups:
        total.update(repr((setup.set, setup.score, setup.systems, setup.scores.shape)).encode())
        total.update(np.ascontiguousarray(setup.scores).data)
    state = str(rng.bit_generator.state)
    return {"options": repr(options), "rng": state, "data": total.hexdigest()}
