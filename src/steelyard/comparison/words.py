"""A comparison of systems in words, be it of scores or of battles.

A test that does not reject says that the data do not decide; no sentence here calls systems equal
because of it. Where nothing was tested, a system "ranks first", and no sentence calls it better.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from steelyard.comparison.ranked import CORPUS, PROPORTION, Tiers
from steelyard.core.display import Statement
from steelyard.core.text import all_of, plural, span
from steelyard.data.units import UnitEffect
from steelyard.stats.paired.tests import DECISIVE

if TYPE_CHECKING:
    from steelyard.comparison.results import Comparison, RankedSystems

RANKINGS = {
    "mean": "mean",
    "median": "median",
    "bt": "Bradley-Terry strength",
    "elo": "Elo rating",
    "trueskill": "TrueSkill",
    "sentence-mean": "mean of sentence scores",
    "autorank": "AutoRank",
}
TESTS = {
    "t": "paired t-test",
    "permutation": "paired permutation test",
    "bootstrap": "paired bootstrap test",
    "mood": "Mood's median test",
    "median": "paired median test",
    "sign": "sign test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "mcnemar": "McNemar's exact test",
    "bt-gap": "test of Bradley-Terry strengths",
    "mean-gap": "test of shares won",
    "elo-gap": "test of Elo ratings",
    "trueskill-gap": "test of TrueSkill",
    "max-t": "test of all pairs at once",
}
CORRECTIONS = {
    "holm": "Holm's correction",
    "bonferroni": "Bonferroni's correction",
    "benjamini-hochberg": "the Benjamini-Hochberg correction",
    "none": "no correction for their number",
    "all pairs at once": "corrected for all pairs together",
}


def told(found: RankedSystems) -> Iterator[Statement]:
    """Say in sentences what a comparison found."""
    first = next(iter(found.aggregations), None)
    if not found.systems or first is None:
        yield "undecided", "There is no system to compare."
    elif len(found.systems) == 1:
        yield "undecided", f"{found.systems[0]} is the only system: there is nothing to compare."
    elif np.isnan(found.aggregations[first].ranks).all():
        yield "undecided", f"No system can be ranked by {found.measure(first)}."
    else:
        yield from _systems(found, first)
        yield from _pairs(found, first)
        yield from _orders(found, first)


def _systems(found: RankedSystems, first: str) -> Iterator[Statement]:
    """Say who is best, and whether the others may be as good."""
    ranking, tiers = found.ranking(first), found.tiers.get(first)
    top = best_of(found, first)
    n, by = plural(len(ranking), "system"), found.measure(first)
    if not top:
        yield from _no_first(found, first)
        return
    if len(top) > 1:
        yield "settled", f"{all_of(top)} share the first place of {n} by {by}."
        # A test asks a question of its own, and need not see a tie; what it says of pairs follows.
        yield "undecided", f"Which of {all_of(top)} is best is not decided: they rank alike."
        return
    best = top[0]
    common = found.ahead_on_common(first, best)
    first_by = f"{best} ranks first of {n} by {by}"
    if common:
        verb = "is" if len(common) == 1 else "are"
        first_by += f"; on the segments that both have, {all_of(common)} {verb} ahead of it"
    if tiers is None:
        yield "settled", f"{first_by}."
        yield "undecided", f"No pair was tested, so that the lead of {best} may be chance."
        return
    tier = [s for s, own in zip(found.systems, tiers.clusters, strict=True) if own == 1]
    rest = _not_beaten(found, tiers, best)
    better = better_than(found, first, best)
    if better:
        by_both = f"{by_test(tiers.test)}{' on the segments that both have' if common else ''}"
        verb = "is" if len(better) == 1 else "are"
        text = f"{all_of(better)} {verb} better than {best} by {by_both}"
        yield "settled", f"{text}, although {best} ranks first of {n} by {by}."
        fair = ": only segments that both have compare them fairly" if common else ""
        yield "undecided", f"Ranking and test disagree on {all_of([best, *better])}{fair}."
        return
    if tier == [best] and not rest and not tiers.warnings:
        sure = f"its lead over every other one is significant at {100 * found.alpha:g} %"
        yield "settled", f"{best} is the best of {n} by {by}: {sure}."
        return
    yield "settled", f"{first_by}."
    if found.unit.n < DECISIVE:
        yield "undecided", f"{found.unit.counted()}: too few to tell its lead from chance."
        return
    if rest:
        yield "undecided", f"The test leaves open whether {best} is better than {all_of(rest)}."
    if tier != [best]:  # else the next one is worse, but not all below it, or a test says otherwise
        inside = [s for s in ranking if s in set(tier)]
        some = f"not every difference among them is significant at {100 * found.alpha:g} %"
        tier_of = f"The first tier has {plural(len(tier), 'system')} ({all_of(inside)})"
        yield "undecided", f"{tier_of}: {some}."
        yield "undecided", f"That does not make them equally good; {found.MORE} could order them."


def _no_first(found: RankedSystems, first: str) -> Iterator[Statement]:
    """Say who comes before all systems that have a rank, where nothing orders those that do."""
    ranks = found.aggregations[first].ranks
    unranked = [s for s, rank in zip(found.systems, ranks, strict=True) if np.isnan(rank)]
    n, by = plural(len(ranks), "system"), found.measure(first)
    if len(unranked) == np.nanmin(ranks) - 1:
        lower = [system for system in found.ranking(first) if system not in set(unranked)]
        yield "settled", f"{all_of(unranked)} rank above {all_of(lower)} by {by}."
        order = f"the data do not order {all_of(unranked)}"
    else:
        order = f"the data do not place {all_of(unranked)} among the others"
    yield "undecided", f"Which of {n} is best is not decided: {order}."


def better_than(found: RankedSystems, by: str, system: str) -> list[str]:
    """Give the systems that rank below one, but are better by the test."""
    tiers = found.tiers.get(by)
    return [] if tiers is None else [low for high, low in tiers.against if high == system]


def best_of(found: RankedSystems, by: str) -> list[str]:
    """Give all systems of the first rank; none where nobody has a rank."""
    ranks = dict(zip(found.systems, found.aggregations[by].ranks, strict=True))
    return [system for system in found.ranking(by) if ranks[system] == 1]


def _not_beaten(found: RankedSystems, tiers: Tiers, best: str) -> list[str]:
    """Give the systems that the first one is not significantly apart from, best first."""
    test = found.tests[tiers.test]
    i = found.systems.index(best)
    p = np.fmin(test.p_adjusted[i], test.p_adjusted[:, i])
    worse_by_rank = {low for high, low in tiers.against if high == best}
    ranks = found.aggregations[next(iter(found.aggregations))].ranks
    place = {system: k for k, system in enumerate(found.systems)}
    return [
        system
        for system in found.ranking(next(iter(found.aggregations)))
        if system != best and not np.isnan(ranks[place[system]])
        and (not p[place[system]] < found.alpha or system in worse_by_rank)
    ]  # fmt: skip


def _pairs(found: RankedSystems, first: str) -> Iterator[Statement]:
    """Say how many pairs are decided, and where the best system may rank."""
    tiers, ranked = found.tiers.get(first), found.aggregations[first]
    test = found.tests.get(tiers.test) if tiers is not None else None
    if tiers is not None and test is not None:
        upper = np.triu_indices(len(found.systems), 1)
        p = np.fmin(test.p_adjusted, test.p_adjusted.T)[upper]
        known = p[~np.isnan(p)]
        decided = int((known < found.alpha).sum())
        if not len(known):
            yield "undecided", f"No pair of systems could be tested ({tested_by(tiers.test)})."
        else:
            text = (
                f"Of {plural(len(known), 'pair')} of systems, {decided:,} "
                f"{'is' if decided == 1 else 'are'} decided "
                f"({tested_by(tiers.test)}, {corrected_by(test.correction)})."
            )
            yield "settled", text
        if len(known) > decided:
            rest = plural(len(known) - decided, "pair")
            yield "undecided", f"For {rest} of systems the test leaves open which one is better."
    for best in best_of(found, first)[:1]:
        if better_than(found, first, best) or found.ahead_on_common(first, best):
            continue  # resamples rank by the same unequal segments
        yield from _places(found, first, best)
    if found.tests or ranked.low is not None:
        yield "sureness", independence(found.unit)


def _places(found: RankedSystems, first: str, best: str) -> Iterator[Statement]:
    """Say where the best system may rank."""
    ranked = found.aggregations[first]
    if ranked.best_rank is None or ranked.worst_rank is None:
        return
    i = found.systems.index(best)
    ends = ranked.best_rank[i], ranked.worst_rank[i]
    if np.isnan(ends).any():
        return
    places = span("rank", int(ends[0]), int(ends[1]))
    takes = f"{best} takes {places} by {found.called(first)}"
    yield "sureness", f"In 95 % of the {found.DRAWN}, {takes}."


def named(found: RankedSystems, by: str) -> str:
    """Name a ranking in a sentence: the mean of 0 and 1 is a proportion, that of BLEU no mean."""
    of = found.aggregations[by].of
    return of if of in (CORPUS, PROPORTION) else RANKINGS.get(by, by)


def tested_by(test: str) -> str:
    """Name a test in a sentence."""
    return TESTS.get(test, f"{test} test")


def by_test(test: str) -> str:
    """Name a test after "by".

    Examples
    --------
    >>> by_test("t"), by_test("mood")
    ('the paired t-test', "Mood's median test")
    """
    name = tested_by(test)
    return name if name[0].isupper() else f"the {name}"


def corrected_by(correction: str) -> str:
    """Name a correction for the number of pairs in a sentence."""
    return CORRECTIONS.get(correction, correction)


def rankings(found: RankedSystems) -> str:
    """List the rankings of a comparison."""
    return all_of([found.called(name) for name in found.aggregations])


def _orders(found: RankedSystems, first: str) -> Iterator[Statement]:
    """Say whether the rankings name the same best system, and how many pairs they turn round."""
    if len(found.aggregations) < 2:
        return
    best = {name: own for name, own in found.leaders().items() if own}
    names = rankings(found)
    common = [s for s in found.ranking(first) if best and all(s in own for own in best.values())]
    if common:
        beside = [
            f"by {found.called(name)} together with {all_of([s for s in own if s not in common])}"
            for name, own in best.items()
            if set(own) != set(common)
        ]
        rank = "ranks" if len(common) == 1 else "rank"
        tail = f" ({'; '.join(beside)})" if beside else ""
        leading = all_of([found.called(name) for name in best])
        yield "settled", f"{all_of(common)} {rank} first by {leading}{tail}."
    elif best:
        shown = "; ".join(f"{found.called(name)}: {all_of(own)}" for name, own in best.items())
        yield "undecided", f"The rankings do not agree on the best system ({shown})."
    n = found.n_turned()
    if n:
        text = (
            f"{plural(n, 'pair')} of systems {'changes' if n == 1 else 'change'} order between "
            f"{names}: what is read from the scores matters there."
        )
        yield "sureness", text


def disagreements(found: Comparison) -> list[str]:
    """Explain, pair by pair, where rankings order two systems differently."""
    lines = []
    for one in found.diagnosis.get("disagreements", []):
        a, b = one["pair"]
        ahead = one["ahead"]
        for_a = [named(found, name) for name, own in ahead.items() if own == a]
        for_b = [named(found, name) for name, own in ahead.items() if own == b]
        level = [named(found, name) for name, own in ahead.items() if own is None]
        text = f"{a} is ahead of {b} by {all_of(for_a)}, behind by {all_of(for_b)}"
        text += f", level by {all_of(level)}." if level else "."
        text += (
            f" {a} wins {plural(one['wins'], 'segment')}, loses {one['losses']:,} and ties "
            f"{one['ties']:,}."
        )
        n = one["n_swaying"]
        if n:
            of = found.aggregations["mean"].of if "mean" in found.aggregations else None
            what = "corpus scores" if of == CORPUS else "means"
            text += f" Without {plural(n, 'segment')} ({all_of(one['swaying_segments'])}) the "
            text += f"{what} would change places."
        if one["modes"] > 1:
            text += (
                f" The differences have {one['modes']} peaks: there may be two kinds of segments."
            )
        lines.append(text)
    return lines


def independence(unit: UnitEffect) -> str:
    """Say in a sentence what was taken as independent."""
    return unit.summary()
