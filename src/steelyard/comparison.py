"""Systems against systems: which is better, by what reading of the scores, and how sure is that."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.aggregation import AGGREGATIONS, Aggregate, RankOptions, Sample, aggregate
from steelyard.comparisonresults import (
    FITTING,
    MOST_SHOWN,
    REASONS,
    Comparison,
    PairTest,
    Ranked,
    Tiers,
)
from steelyard.diagnosis import diagnose
from steelyard.errors import DegenerateError, UsageError, hint
from steelyard.evalset import EvalSet
from steelyard.provenance import Provenance
from steelyard.rng import Rng, generator
from steelyard.stats import bootstrap, clusters, effects, pairedtests
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.elo import EloOptions
from steelyard.stats.permutation import pair_index
from steelyard.stats.significance import adjust_pairs
from steelyard.stats.strength import bradley_terry
from steelyard.stats.tiepolicy import TIES
from steelyard.stats.wins import WinCounts, win_counts
from steelyard.table import plural

DEFAULT = ("mean", "median", "bt")
TESTS = tuple(name for name in REASONS if name != "gap")
UNITS = ("segment", "document")
_MOST = 60  # systems up to which every one is left out in turn
_DRAWN = 100  # systems up to which the share of resamples at each place is kept, for a figure
_FEW = 4  # warnings of a kind before the last one counts the rest


@dataclass(frozen=True, slots=True)
class PairOptions:
    """How pairs are tested and intervals drawn."""

    alternative: str = "two-sided"
    correction: str = "holm"
    alpha: float = 0.05
    intervals: str | None = "segment"
    n_bootstrap: int = 1000
    level: float = 0.95


def compare(  # noqa: PLR0913 - every option has a default
    es: EvalSet,
    score: str | None = None,
    *,
    by: str | Sequence[str] = DEFAULT,
    tests: str | Sequence[str] | None = None,
    ties: str = "half",
    tolerance: float = 0.0,
    prior: float = 0.0,
    method: str = "newton",
    orders: int = 100,
    k: float = 20.0,
    alternative: str = "two-sided",
    correction: str = "holm",
    alpha: float = 0.05,
    intervals: str | None = "segment",
    n_bootstrap: int = 1000,
    rng: Rng = 0,
) -> Comparison:
    """Compare systems by one score.

    Parameters
    ----------
    es
        Systems, segments and scores.
    score
        Which score; may be left out if there is only one.
    by
        Rankings: ``mean median bt elo trueskill``.
    tests
        Tests of all pairs: ``t mood sign wilcoxon permutation bootstrap``; by default those that
        fit the rankings.
    ties, tolerance, prior, method
        Bradley-Terry: what becomes of ties, which differences are ties, a weak prior, and how the
        fit is made (``newton``, ``newman``, ``mm``).
    orders, k
        Elo and TrueSkill depend on the order of segments: the number of random orders that are
        averaged, 0 for the order of the file; K of Elo.
    alternative, correction, alpha
        ``two-sided``, ``greater`` or ``less``; ``holm``, ``benjamini-hochberg``, ``bonferroni`` or
        ``none``; the level of the tiers.
    intervals, n_bootstrap
        What is resampled for 95 % intervals, ``segment`` or ``document`` (None for no intervals),
        and how often.
    rng
        Seed of the draws.

    Examples
    --------
    >>> import steelyard as sy
    >>> result = compare(sy.demo_set(), "learned-refA", by=["mean", "bt"])
    >>> result.ranking("bt")[:3]
    ['Dolomite', 'Kaolin', 'Amber']
    """
    names = (by,) if isinstance(by, str) else tuple(by)
    for name in names:
        if name not in AGGREGATIONS:
            raise UsageError(f"no aggregation '{name}'; {hint(name, AGGREGATIONS)}")
    asked = _tests(tests, names)
    chosen = the_score(es, score)
    table = es[chosen]
    if not table.has_segments:
        raise UsageError(f"'{chosen}' has system scores only: comparing needs segment scores")
    options = RankOptions(ties, tolerance, prior, method, orders, EloOptions(k=k))
    test = PairOptions(alternative, correction, alpha, intervals, n_bootstrap)
    stream, *streams = generator(rng).spawn(1 + len(AGGREGATIONS))
    scores, systems, warnings = _scores(es, chosen)
    sample = _sample(es, scores, systems, test, stream)
    ranks = {
        name: aggregate(name, sample, options, rng=own)
        for name, own in zip(AGGREGATIONS, streams, strict=True)
        if name in names
    }
    ranks = {name: ranks[name] for name in names}
    for found in ranks.values():
        warnings += found.warnings
    pair_tests = {
        name: _test(name, scores, sample, test, tolerance) for name in asked if len(systems) > 1
    }
    tiers: dict[str, Tiers] = {}
    for name in names:
        tier = _tiers(name, ranks[name], pair_tests, scores, systems, test, warnings)
        if tier is not None:
            tiers[name] = tier
    notes = [REASONS[name] for name in asked]
    if "bt" in names and len(systems) > 1:
        counts = win_counts(scores, tolerance=tolerance)
        notes += tie_note(counts, systems, options)
        warnings += order_flips(counts, systems, options)
    diagnosis = diagnose(es, scores, systems, ranks)
    warnings += diagnosis.pop("warnings")
    settings: dict[str, Any] = {"score": chosen, "by": ",".join(names), "tests": ",".join(asked),
                                "ties": ties, "alternative": alternative,
                                "correction": correction}  # fmt: skip
    if intervals:
        settings |= {"intervals": intervals, "bootstrap": n_bootstrap}
    if set(names) & {"elo", "trueskill"}:
        settings |= {"orders": orders or "file"}
    seed = rng if isinstance(rng, int) else None
    return Comparison(
        chosen,
        systems,
        int((~np.isnan(scores)).any(axis=0).sum()),
        {name: ranked(found, test.level) for name, found in ranks.items()},
        pair_tests,
        tiers,
        {
            "superiority": effects.superiority(scores, tolerance=tolerance),
            "cliffs_delta": effects.cliffs_delta(scores),
            "standardised_difference": effects.standardised_difference(scores),
        },
        diagnosis,
        tuple(notes),
        tuple(dict.fromkeys(warnings)),
        Provenance("compare", settings, es.inputs, seed),
        alpha,
    )


def _tests(tests: str | Sequence[str] | None, by: Sequence[str]) -> tuple[str, ...]:
    if tests is None:
        return tuple(dict.fromkeys(FITTING[name] for name in by))
    asked = (tests,) if isinstance(tests, str) else tuple(tests)
    for name in asked:
        if name not in TESTS:
            raise UsageError(f"no test '{name}'; {hint(name, TESTS)}")
    return tuple(dict.fromkeys(asked))


def the_score(es: EvalSet, score: str | None) -> str:
    """Give the score to compare by: the one named, or the only one there is."""
    if score is None:
        if len(es.scores) != 1:
            known = ", ".join(es.scores) or "none"
            raise UsageError(f"name the score (--score NAME); there are: {known}")
        return next(iter(es.scores))
    es[score]  # an unknown name is an error that shows the known ones
    return score


def _scores(es: EvalSet, score: str) -> tuple[Floats, tuple[str, ...], list[str]]:
    """Oriented scores of the systems that have any, and what was noticed on the way."""
    values = es[score].oriented
    some = np.asarray((~np.isnan(values)).any(axis=1))
    warnings = list(es.notes)
    lost = [s for s, known in zip(es.systems, some, strict=True) if not known]
    if lost:
        warnings.append(
            f"{plural(len(lost), 'system')} without '{score}' left out: {', '.join(lost)}"
        )
    systems = tuple(s for s, known in zip(es.systems, some, strict=True) if known)
    kept = values[some]
    missing = int(np.isnan(kept).sum())
    if missing:
        shared = int((~np.isnan(kept)).all(axis=0).sum())
        warnings.append(
            f"{missing:,} of {kept.size:,} scores are missing: pairs are compared on the segments "
            f"both have, means and medians over what each has ({shared:,} segments are complete)"
        )
    if not systems:
        raise UsageError(f"no system has a '{score}' score")
    if len(systems) == 1:
        warnings.append(f"one system ({systems[0]}): there is nothing to compare it with")
    warnings += [
        f"'{systems[i]}' and '{systems[j]}' have the same scores"
        for i, j in zip(*pair_index(len(systems)), strict=True)
        if np.array_equal(kept[i], kept[j], equal_nan=True)
    ]
    return kept, systems, warnings


def _sample(
    es: EvalSet,
    scores: Floats,
    systems: tuple[str, ...],
    test: PairOptions,
    stream: np.random.Generator,
) -> Sample:
    if test.intervals is None:
        return Sample(scores, systems)
    blocks = document_codes(es) if test.intervals == "document" else None
    if test.intervals not in UNITS:
        raise UsageError(f"unknown unit '{test.intervals}'; {hint(test.intervals, UNITS)}")
    counts = bootstrap.segment_counts(test.n_bootstrap, scores.shape[1], stream, blocks)
    return Sample(scores, systems, counts, blocks)


def document_codes(es: EvalSet) -> Counts:
    """Give the code of each segment's document."""
    names = es.segments.documents
    if names is None or None in names:
        raise UsageError("resampling documents: the documents of the segments are not known")
    return np.unique(np.array(names, dtype=object), return_inverse=True)[1].astype(np.int64)


def ranked(found: Aggregate, level: float) -> Ranked:
    """Add intervals of scores, ranks and gaps to a ranking."""
    if found.replicates is None:
        return Ranked(found.scores, found.ranks, found.pairwise, spread=found.spread)
    replicates = found.replicates
    low, high = bootstrap.interval(replicates, level)
    undefined = np.isnan(found.scores)
    low, high = np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)
    places = np.concatenate([bootstrap.ranks(row[None]) for row in replicates])
    if not undefined.all():  # systems without a score can still rank above those with one
        places += found.ranks[~undefined].min() - 1
    best, worst = bootstrap.interval(places, level)
    n = len(found.scores)
    gap_low = gap_high = None
    if n <= MOST_SHOWN:
        gap_low, gap_high = np.full((n, n), np.nan), np.full((n, n), np.nan)
        for i in range(n):
            down, up = bootstrap.interval(replicates[:, i : i + 1] - replicates, level)
            gap_low[i], gap_high[i] = down, up
    return Ranked(
        found.scores,
        found.ranks,
        found.pairwise,
        low,
        high,
        np.floor(best),
        np.ceil(worst),
        gap_low,
        gap_high,
        found.spread,
        bootstrap.rank_shares(places) if n <= _DRAWN else None,
    )


def _test(
    name: str, scores: Floats, sample: Sample, test: PairOptions, tolerance: float
) -> PairTest:
    side = test.alternative
    if name == "t":
        p = pairedtests.t_test(scores, alternative=side)
    elif name == "sign":
        p = pairedtests.sign_test(scores, tolerance=tolerance, alternative=side)
    elif name == "wilcoxon":
        p = pairedtests.wilcoxon_test(scores, alternative=side)
    elif name == "permutation":
        blocks = sample.blocks
        p = pairedtests.permutation_test(scores, blocks=blocks, alternative=side)
    elif name == "mood":
        if side != "two-sided":
            raise UsageError("mood's test is two-sided; choose another --test for one side")
        p = pairedtests.mood_test(scores)
    else:
        if sample.counts is None:
            raise UsageError("the bootstrap test needs resamples: choose --intervals")
        means = bootstrap.bootstrap_means(scores, sample.counts)
        p = pairedtests.bootstrap_test(np.nanmean(scores, axis=1), means, alternative=side)
    symmetric = side == "two-sided"
    return PairTest(p, adjust_pairs(p, test.correction, symmetric=symmetric), side, test.correction)


def _lead(test: str, scores: Floats) -> Floats:
    """Who is ahead of whom in the eyes of a test: the sign of what it tests, systems x systems."""
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


def _tiers(
    by: str,
    found: Aggregate,
    tests: Mapping[str, PairTest],
    scores: Floats,
    systems: tuple[str, ...],
    test: PairOptions,
    warnings: list[str],
) -> Tiers | None:
    """Put systems into tiers by the test that fits the ranking."""
    name = FITTING[by] if FITTING[by] in tests else next(iter(tests), None)
    if name is None:
        return None
    lead = _lead(name, scores)
    return tiers_by(by, found.ranks, name, tests[name], lead, systems, test.alpha, warnings)


def tiers_by(
    by: str,
    ranks: Floats,
    name: str,
    test: PairTest,
    lead: Floats,
    systems: tuple[str, ...],
    alpha: float,
    warnings: list[str],
) -> Tiers | None:
    """Put systems into tiers by a test; ``lead[i, j]`` is positive where i is ahead of j by it."""
    some = [i for i in range(len(systems)) if not np.isnan(ranks[i])]
    order = sorted(some, key=lambda i: (ranks[i], systems[i]))
    if not order:
        return None
    index = np.ix_(order, order)
    p = test.p_adjusted[index]
    p = np.where(np.isnan(p), 1.0, p)
    ahead = lead[index]
    # Only a lead in the direction of the ranking separates; one against it is worth a warning.
    against = np.argwhere(np.triu((p < alpha) & (ahead < 0), 1))
    if against.size and test.alternative == "two-sided":
        a, b = (systems[order[k]] for k in against[0])
        more = f" (and {len(against) - 1} more pairs)" if len(against) > 1 else ""
        warnings.append(f"{by} ranks {a} above {b}, but by {name} {b} is better{more}")
    if test.alternative == "two-sided":
        # Above the diagonal the row is ranked higher; both halves say the same.
        upper = np.triu(np.where(ahead >= 0, p, 1.0), 1)
        p = upper + upper.T
    level = clusters.greedy_clusters(p, alpha)
    letters = ("",) * len(order)
    if len(order) <= MOST_SHOWN:
        with contextlib.suppress(DegenerateError):  # more groups than letters are good for
            letters = clusters.compact_letters(p, alpha)
    cluster_of: list[int | None] = [None] * len(systems)
    letter_of: list[str | None] = [None] * len(systems)
    for k, i in enumerate(order):
        cluster_of[i], letter_of[i] = int(level[k]), letters[k] or None
    return Tiers(name, tuple(cluster_of), tuple(letter_of))


def _order(
    counts: WinCounts, systems: Sequence[str], options: RankOptions, ties: str
) -> list[tuple[float, str]]:
    fit = bradley_terry(counts.wins, counts.ties, ties_as=ties, prior=options.prior)
    return sorted((float(r), s) for r, s in zip(fit.ranks, systems, strict=True) if not np.isnan(r))


def tie_note(counts: WinCounts, systems: Sequence[str], options: RankOptions) -> list[str]:
    """Say whether the order changes under other treatments of ties."""
    share = counts.ties.sum() / max(counts.met.sum(), 1)
    if not share:
        return ["bt: no ties"]
    own = _order(counts, systems, options, options.ties)
    moved = []
    for policy in TIES:
        if policy in (options.ties, "second"):
            continue
        other = _order(counts, systems, options, policy)
        if [s for _, s in other] != [s for _, s in own]:
            place = {s: r for r, s in own}
            names = [s for r, s in other if place.get(s) != r]
            moved.append(f"{policy} moves {', '.join(names[:4])}")
    shown = f"bt: {100 * share:.1f} % ties, treated as {options.ties}"
    if not moved:
        return [f"{shown}; the order is the same under the other treatments"]
    return [f"{shown}; the order differs: {'; '.join(moved)}"]


def order_flips(counts: WinCounts, systems: Sequence[str], options: RankOptions) -> list[str]:
    """Warn where the joint ranking contradicts a pair alone, or leaving a system out flips one."""
    found = []
    fit = bradley_terry(counts.wins, counts.ties, ties_as=options.ties, prior=options.prior)
    half = counts.wins + counts.ties / 2
    for i, one in enumerate(systems):
        for j in range(i + 1, len(systems)):
            joint = np.sign(fit.ranks[j] - fit.ranks[i])
            alone = np.sign(half[i, j] - half[j, i])
            if joint * alone < 0 or (joint == 0 and alone):
                first, second = (one, systems[j]) if alone > 0 else (systems[j], one)
                place = "below it" if joint else "with it"
                found.append(f"{first} beats {second} head to head, but ranks {place} among all")
    found = _first_few(found)
    if not 2 < len(systems) <= _MOST:
        return found
    flips = []
    for out in range(len(systems)):
        rest = [i for i in range(len(systems)) if i != out]
        part = counts.within(rest)
        less = bradley_terry(part.wins, part.ties, ties_as=options.ties, prior=options.prior)
        before = np.sign(fit.ranks[rest][None, :] - fit.ranks[rest][:, None])
        after = np.sign(less.ranks[None, :] - less.ranks[:, None])
        for a, b in np.argwhere(np.triu(before * after < 0, 1)):
            pair = f"{systems[rest[a]]} and {systems[rest[b]]}"
            flips.append(f"bt: without {systems[out]}, {pair} change places")
    return found + _first_few(flips)


def _first_few(found: list[str]) -> list[str]:
    """Keep a list of like warnings short."""
    if len(found) <= _FEW + 1:
        return found
    return [*found[:_FEW], f"{found[_FEW]} (and {len(found) - _FEW - 1} more of this kind)"]
