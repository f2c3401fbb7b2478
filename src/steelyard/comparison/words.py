"""A comparison of systems in words.

A test that does not reject says that the data do not decide; no sentence here calls systems equal
because of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from steelyard.comparison.ranked import CORPUS, PROPORTION
from steelyard.core.summary import Told
from steelyard.core.words import all_of, plural, span
from steelyard.data.independence import UnitEffect

if TYPE_CHECKING:
    from steelyard.comparison.results import Comparison

RANKINGS = {
    "mean": "mean",
    "median": "median",
    "bt": "Bradley-Terry strength",
    "elo": "Elo rating",
    "trueskill": "TrueSkill",
    "sentence-mean": "mean of sentence scores",
}
TESTS = {
    "t": "paired t-test",
    "permutation": "paired permutation test",
    "bootstrap": "paired bootstrap test",
    "mood": "Mood's median test",
    "sign": "sign test",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "mcnemar": "McNemar's exact test",
    "bt-gap": "test of Bradley-Terry strengths",
}
CORRECTIONS = {
    "holm": "Holm's correction",
    "bonferroni": "Bonferroni's correction",
    "benjamini-hochberg": "the Benjamini-Hochberg correction",
    "none": "no correction for their number",
}


def told(found: Comparison) -> Iterator[Told]:
    """Say in sentences what a comparison found."""
    if len(found.systems) > 1:
        yield from _systems(found)
        yield from _pairs(found)
        yield from _orders(found)


def _systems(found: Comparison) -> Iterator[Told]:
    """Say who is best, and whether the others may be as good."""
    first = next(iter(found.aggregations))
    ranking, tiers = found.ranking(first), found.tiers.get(first)
    best, n = ranking[0], plural(len(ranking), "system")
    by = f"{named(found, first)} {found.score} over {plural(found.n_segments, 'segment')}"
    if tiers is None:
        yield "settled", f"{best} ranks first by {by}."
        return
    place = {system: i for i, system in enumerate(found.systems)}
    top = [s for s in ranking if tiers.clusters[place[s]] == 1] or ranking[:1]
    level = f"{100 * found.alpha:g} %"
    if len(top) == 1:
        text, i = f"{top[0]} is the best of {n} by {by}", place[top[0]]
        if (np.delete(found.tests[tiers.test].p_adjusted[i], i) < found.alpha).all():
            text += f": its lead over every other one is significant at {level}"
        yield "settled", f"{text} ({TESTS[tiers.test]})."
        return
    yield "settled", f"{best} ranks first of {n} by {by}, in a first tier of {len(top)}."
    text = (
        f"Which of {all_of(top)} is best is not decided: not every difference among them is "
        f"significant at {level}. That does not make them equally good; a larger test set "
        "could order them."
    )
    yield "undecided", text


def _pairs(found: Comparison) -> Iterator[Told]:
    """Say how many pairs are decided, and where the best system may rank."""
    first = next(iter(found.aggregations))
    tiers, ranked, best = found.tiers.get(first), found.aggregations[first], found.ranking(first)[0]
    test = found.tests.get(tiers.test) if tiers is not None else None
    if tiers is not None and test is not None:
        upper = np.triu_indices(len(found.systems), 1)
        p = np.fmin(test.p_adjusted, test.p_adjusted.T)[upper]
        known = p[~np.isnan(p)]
        decided = int((known < found.alpha).sum())
        text = (
            f"Of {plural(len(known), 'pair')} of systems, {decided:,} "
            f"{'is' if decided == 1 else 'are'} decided "
            f"({TESTS[tiers.test]}, {CORRECTIONS[test.correction]})."
        )
        yield "settled", text
        if len(known) > decided:
            rest = plural(len(known) - decided, "pair")
            yield "undecided", f"For {rest} of systems the test leaves open which one is better."
    if ranked.best_rank is not None and ranked.worst_rank is not None:
        i = found.systems.index(best)
        places = span("rank", int(ranked.best_rank[i]), int(ranked.worst_rank[i]))
        text = f"In 95 % of the resampled test sets, {best} takes {places} by {found.shown(first)}."
        yield "sureness", text
    yield "sureness", independence(found.unit)


def named(found: Comparison, by: str) -> str:
    """Name a ranking in a sentence: the mean of 0 and 1 is a proportion, that of BLEU no mean."""
    of = found.aggregations[by].of
    return of if of in (CORPUS, PROPORTION) else RANKINGS[by]


def rankings(found: Comparison) -> str:
    """List the rankings of a comparison."""
    return all_of([named(found, name) for name in found.aggregations])


def _orders(found: Comparison) -> Iterator[Told]:
    """Say whether the rankings name the same best system, and how many pairs they turn round."""
    if len(found.aggregations) < 2:
        return
    ranking = found.ranking(next(iter(found.aggregations)))
    best = {name: tuple(own) for name, own in found.diagnosis.get("best", {}).items() if own}
    names = rankings(found)
    common = [s for s in ranking if best and all(s in own for own in best.values())]
    if common:
        beside = [
            f"by {named(found, name)} together with {all_of([s for s in own if s not in common])}"
            for name, own in best.items()
            if set(own) != set(common)
        ]
        rank = "ranks" if len(common) == 1 else "rank"
        tail = f" ({'; '.join(beside)})" if beside else ""
        yield "settled", f"{all_of(common)} {rank} first by {names}{tail}."
    elif best:
        shown = "; ".join(f"{named(found, name)}: {all_of(own)}" for name, own in best.items())
        yield "undecided", f"The rankings do not agree on the best system ({shown})."
    n = len(found.diagnosis.get("disagreements", []))
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
    told = f"Tests and intervals take {unit.counted()} as independent"
    known = unit.coarser
    if known is not None:
        return f"{told}, although these are of {known.counted()} ({known.shown()})."
    return f"{told}." if unit.design_effect == 1 else f"{told}, {unit.shown()}."
