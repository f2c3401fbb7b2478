"""Systems against systems: which is better, by what reading of the scores, and how sure is that."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.comparison.diagnosis import diagnose
from steelyard.comparison.rankings import (
    AGGREGATIONS,
    Aggregate,
    RankOptions,
    Sample,
    aggregate,
    lead,
)
from steelyard.comparison.results import (
    AVERAGES,
    CORPUS,
    MOST_SHOWN,
    PROPORTION,
    SENTENCES,
    Comparison,
    PairTest,
    Ranked,
    Tiers,
    reason,
)
from steelyard.comparison.scores import Compared, compared, first_few
from steelyard.comparison.tests import (
    PairOptions,
    fitting,
    fitting_tests,
    known_tests,
    lead_by,
    pair_test,
)
from steelyard.core import bounds
from steelyard.core.errors import DegenerateError, UsageError, hint
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.data.evalset import EvalSet
from steelyard.formats.load import Source, as_evalset
from steelyard.stats import clusters
from steelyard.stats.arrays import Counts, Floats, same_digits
from steelyard.stats.paired import pairedtests
from steelyard.stats.paired.corrections import wilson_interval
from steelyard.stats.ranks import ranks
from steelyard.stats.resampling import bootstrap
from steelyard.stats.strength.bradleyterry import bradley_terry
from steelyard.stats.strength.elo import EloOptions
from steelyard.stats.strength.fits import TIES
from steelyard.stats.strength.wins import WinCounts, win_counts

DEFAULT = ("mean", "median", "bt")
_MOST = 60  # systems up to which every one is left out in turn
_DRAWN = 100  # systems up to which the share of resamples at each place is kept, for a figure


def compare(  # noqa: PLR0913 - every option has a default
    es: Source,
    score: str | None = None,
    *,
    by: str | Sequence[str] | None = None,
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
        Systems, segments and scores: a set, or what :func:`steelyard.load` takes.
    score
        Which score; may be left out if there is only one.
    by
        Rankings: ``mean median bt elo trueskill``, by default the first three (no median of scores
        that are 0 or 1, no Bradley-Terry of more than 300 systems). The mean of a corpus score,
        such as BLEU, is the score of all segments together where its statistics are known;
        ``sentence-mean`` is the mean of its sentence scores.
    tests
        Tests of all pairs: ``t mood sign wilcoxon permutation bootstrap mcnemar``; by default those
        that fit the rankings, and none for more than 300 systems.
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
    es = as_evalset(es)
    given = None if by is None else bounds.listed(by=by)
    for name in given or ():
        if name not in AGGREGATIONS:
            raise UsageError(f"no aggregation '{name}'; {hint(name, AGGREGATIONS)}")
    wanted = known_tests(tests)
    chosen = the_score(es, score)
    check_segments(es, chosen)
    options = RankOptions(ties, tolerance, prior, method, orders, EloOptions(k=k))
    test = PairOptions(alternative, correction, alpha, intervals, n_bootstrap)
    stream, *streams, drawn = generator(rng).spawn(2 + len(AGGREGATIONS))
    data = compared(es, chosen)
    systems, scores, warnings = data.systems, data.scores, list(data.warnings)
    names, notes = _rankings(given, data, tested=wanted is not None)
    asked = fitting_tests(names, data) if wanted is None else wanted
    if "mcnemar" in asked and not data.binary:
        raise UsageError(f"mcnemar's test is of scores that are 0 or 1, which '{chosen}' is not")
    few = len(systems) <= MOST_SHOWN
    sample = _sample(es, data, test, stream, warnings, pairs=few or wanted is not None)
    ranks = {
        name: aggregate(name, sample, options, rng=own)
        for name, own in zip(AGGREGATIONS, streams, strict=True)
        if name in names
    }
    ranks = {name: ranks[name] for name in names}
    for found in ranks.values():
        warnings += found.warnings
    warnings += _unofficial(es, data, ranks.get("mean"))
    pair_tests = {
        name: pair_test(name, data, sample, test, tolerance, drawn)
        for name in asked
        if len(systems) > 1
    }
    warnings += pairedtests.error_note(max((t.error for t in pair_tests.values()), default=0.0))
    tiers: dict[str, Tiers] = {}
    for name in names:
        tier = _tiers(name, ranks[name], pair_tests, data, test, warnings)
        if tier is not None:
            tiers[name] = tier
    told = any(note.endswith(SENTENCES) for note in notes)  # which is said once
    notes += [
        reason(name, None if told and own.of == SENTENCES else own.of)
        for name, own in pair_tests.items()
    ]
    if "bt" in names and len(systems) > 1:
        counts = win_counts(scores, tolerance=tolerance)
        notes += tie_note(counts, systems, options)
        warnings += order_flips(counts, systems, options)
    diagnosis = diagnose(es, data, ranks)
    warnings += diagnosis.pop("warnings")
    settings: dict[str, Any] = {"score": chosen, "by": ",".join(names), "tests": ",".join(asked),
                                "ties": ties, "alternative": alternative,
                                "correction": correction}  # fmt: skip
    if intervals:
        settings |= {"intervals": intervals, "bootstrap": n_bootstrap}
    if set(names) & {"elo", "trueskill"}:
        settings |= {"orders": orders or "file"}
    return Comparison(
        chosen,
        systems,
        int((~np.isnan(scores)).any(axis=0).sum()),
        {name: _shown(name, found, data, test, notes) for name, found in ranks.items()},
        pair_tests,
        tiers,
        _effects(data, tolerance) if few else {},
        diagnosis,
        tuple(dict.fromkeys(notes)),
        tuple(dict.fromkeys(warnings)),
        Provenance.of("compare", settings, es.inputs, rng),
        alpha,
        data.higher_is_better,
    )


def check_segments(es: EvalSet, score: str) -> None:
    """Refuse a score that no segment has."""
    table = es[score]
    if table.has_segments:
        return
    if table.system_scores is None or np.isnan(table.system_scores).all():
        raise UsageError(f"'{score}' has no scores: every cell is missing")
    raise UsageError(f"'{score}' has system scores only: comparing needs segment scores")


def _rankings(
    given: tuple[str, ...] | None, data: Compared, *, tested: bool
) -> tuple[tuple[str, ...], list[str]]:
    """Give the rankings to make, and what must be known of them."""
    names = DEFAULT if given is None else given
    notes: list[str] = []
    if given is None and data.binary:
        names = tuple(name for name in names if name != "median")
    if len(data.systems) > MOST_SHOWN:
        many = f"more than {MOST_SHOWN} systems"
        if given is None:
            names = tuple(name for name in names if name != "bt")
            notes.append(
                f"{many}: no Bradley-Terry, which compares every pair (--by bt asks for it)"
            )
        if not tested:
            notes.append(f"{many}: pairs are not tested, nor differences kept (--test t does both)")
    if data.statistics is not None:
        others = ", ".join(name for name in names if name != "mean")
        notes += ["corpus: the score of all segments together"] if "mean" in names else []
        notes += [f"{others}: on {SENTENCES}"] if others else []
    return names, notes


def _effects(data: Compared, tolerance: float) -> dict[str, Floats]:
    return {
        "superiority": pairedtests.superiority(data.scores, tolerance=tolerance),
        "cliffs_delta": pairedtests.cliffs_delta(data.scores),
        "standardised_difference": data.sign * pairedtests.standardised_difference(data.additive())
        + 0.0,  # no -0.0
    }


def _shown(
    by: str, found: Aggregate, data: Compared, test: PairOptions, notes: list[str]
) -> Ranked:
    """Give a ranking with its intervals, in the numbers of the score itself."""
    result = ranked(found, test.level)
    if by in AVERAGES and not data.higher_is_better:
        result = result.turned()
    if data.statistics is not None:
        return replace(result, of=CORPUS if by == "mean" else SENTENCES)
    if not (by in ("mean", "sentence-mean") and data.binary):
        return result
    known = ~np.isnan(data.scores)
    if test.intervals == "segment" and known.any(axis=0).sum() > 1:  # else there is no interval
        right = np.where(known, np.abs(data.scores), 0.0).sum(axis=1)
        low, high = wilson_interval(right, known.sum(axis=1), test.level)
        result = replace(result, low=low, high=high)
        notes.append("proportion: Wilson's 95 % intervals; those of ranks are of resamples")
    return replace(result, of=PROPORTION)


def _unofficial(es: EvalSet, data: Compared, found: Aggregate | None) -> list[str]:
    """Warn where means of segments stand in for official scores that are something else."""
    table = es[data.name]
    if found is None or data.statistics is not None or table.system_scores is None:
        return []
    rows = [es.systems.index(system) for system in data.systems]
    official = data.sign * table.system_scores[rows]
    if same_digits(official, found.scores):
        return []
    told = (
        f"mean ranks by means of segment scores, which the official system scores of "
        f"'{data.name}' are not"
    )
    moved = [
        f"{system} is {int(here)}, officially {int(there)}"
        for system, here, there in zip(data.systems, found.ranks, ranks(official), strict=True)
        if not np.isnan(there) and here != there
    ]
    if not moved:
        return [f"{told}; the order is the same"]
    more = f" (and {len(moved) - 4} more)" if len(moved) > 4 else ""
    return [f"{told}; the places differ: {'; '.join(moved[:4])}{more}"]


def the_score(es: EvalSet, score: str | None) -> str:
    """Give the score to compare by: the one named, or the only one there is."""
    if score is None:
        if len(es.scores) != 1:
            known = ", ".join(es.scores) or "none"
            raise UsageError(f"name the score (--score NAME); there are: {known}")
        return next(iter(es.scores))
    bounds.text(score=score)
    es[score]  # an unknown name is an error that shows the known ones
    return score


def _sample(
    es: EvalSet,
    data: Compared,
    test: PairOptions,
    stream: np.random.Generator,
    warnings: list[str],
    *,
    pairs: bool,
) -> Sample:
    sample = Sample(data.scores, data.systems, statistics=data.statistics, pairs=pairs)
    if test.intervals is None:
        return sample
    blocks = document_codes(es) if test.intervals == "document" else None
    if n_units(es.n_segments, blocks) < 2:
        warnings.append(f"one {test.intervals}: there is nothing to resample, and no interval")
        return replace(sample, blocks=blocks)
    counts = bootstrap.segment_counts(test.n_bootstrap, es.n_segments, stream, blocks)
    return replace(sample, counts=counts, blocks=blocks)


def n_units(n_segments: int, blocks: Counts | None) -> int:
    """Count what is resampled: segments, or the documents of these codes."""
    return n_segments if blocks is None else len(np.unique(blocks))


def document_codes(es: EvalSet) -> Counts:
    """Give the code of each segment's document."""
    codes = es.segments.document_codes()
    if codes is None:
        raise UsageError("resampling documents: the documents of the segments are not known")
    return codes


def ranked(found: Aggregate, level: float) -> Ranked:
    """Add intervals of scores, ranks and gaps to a ranking."""
    if found.replicates is None:
        return Ranked(found.scores, found.ranks, found.pairwise, spread=found.spread)
    replicates = found.replicates
    low, high = bootstrap.interval(replicates, level)
    undefined = np.isnan(found.scores)
    low, high = np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)
    places = ranks(replicates, close=found.close, floor=found.floor)
    if not undefined.all():  # systems without a score can still rank above those with one
        places += found.ranks[~undefined].min() - 1
    best, worst = bootstrap.interval(places, level)
    n = len(found.scores)
    gap_low = gap_high = pair_low = pair_high = None
    if n <= MOST_SHOWN:
        gap_low, gap_high = _pair_intervals(lead, replicates, level)
        if found.against is not None and found.pairwise.size:
            pair_low, pair_high = _pair_intervals(found.against, replicates, level)
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
        pair_low,
        pair_high,
    )


def _pair_intervals(
    against: Callable[[Floats, int], Floats], replicates: Floats, level: float
) -> tuple[Floats, Floats]:
    """Intervals of what resamples say of every pair: row against column."""
    n = replicates.shape[1]
    found = [bootstrap.interval(against(replicates, i), level) for i in range(n)]
    low, high = (np.array([row[end] for row in found]).reshape(n, n) for end in (0, 1))
    return low, high


def _tiers(
    by: str,
    found: Aggregate,
    tests: Mapping[str, PairTest],
    data: Compared,
    test: PairOptions,
    warnings: list[str],
) -> Tiers | None:
    """Put systems into tiers by the test that fits the ranking."""
    fits = fitting(by, data)
    name = fits if fits in tests else next(iter(tests), None)
    if name is None:
        return None
    lead = lead_by(name, tests[name].of, data)
    return tiers_by(by, found.ranks, name, tests[name], lead, data.systems, test.alpha, warnings)


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
    """Put systems into tiers by a test; ``lead[i, j]`` is positive where i is ahead of j by it.

    Systems of one rank share a tier: what separates one of them from those above separates all.
    """
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
    places = ranks[order]
    p = np.where(places[:, None] == places[None, :], 1.0, p)
    level = clusters.greedy_clusters(_shared_by_rank(p, places), alpha)
    letters = ("",) * len(order)
    if len(order) <= MOST_SHOWN:
        with contextlib.suppress(DegenerateError):  # more groups than letters are good for
            letters = clusters.compact_letters(p, alpha)
    cluster_of: list[int | None] = [None] * len(systems)
    letter_of: list[str | None] = [None] * len(systems)
    for k, i in enumerate(order):
        cluster_of[i], letter_of[i] = int(level[k]), letters[k] or None
    return Tiers(name, tuple(cluster_of), tuple(letter_of))


def _shared_by_rank(p: Floats, places: Floats) -> Floats:
    """Give systems of one rank the smallest p-value that any of them has; ``places`` ascend."""
    opens = np.flatnonzero(np.r_[True, places[1:] != places[:-1]])
    least = np.minimum.reduceat(p, opens, axis=1)
    return np.repeat(least, np.diff(np.r_[opens, len(places)]), axis=1)


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
            if not other:
                moved.append(f"{policy} leaves nothing to rank by")
            elif names:
                moved.append(f"{policy} moves {', '.join(names[:4])}")
            else:
                lost = place.keys() - {s for _, s in other}
                moved.append(f"{policy} leaves {', '.join(sorted(lost)[:4])} without a rank")
    shown = f"bt: {100 * share:.1f} % ties, treated as {options.ties}"
    if not moved:
        return [f"{shown}; the order is the same under the other treatments"]
    return [f"{shown}; the order differs: {'; '.join(moved)}"]


def order_flips(counts: WinCounts, systems: Sequence[str], options: RankOptions) -> list[str]:
    """Warn where the joint ranking contradicts a pair alone, or leaving a system out flips one."""
    found = []
    fit = bradley_terry(counts.wins, counts.ties, ties_as=options.ties, prior=options.prior)
    half = counts.wins + counts.ties / 2
    joint = np.sign(fit.ranks[None, :] - fit.ranks[:, None])
    alone = np.sign(half - half.T)
    against = np.triu((joint * alone < 0) | ((joint == 0) & (alone != 0)), 1)
    for i, j in np.argwhere(against):
        first, second = (i, j) if alone[i, j] > 0 else (j, i)
        place = "below it" if joint[i, j] else "with it"
        found.append(
            f"{systems[first]} beats {systems[second]} head to head, but ranks {place} among all"
        )
    found = first_few(found)
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
    return found + first_few(flips)
