"""Comparisons by several scores in words: whether these name the same best system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from steelyard.comparison.words import best_of, better_than, independence
from steelyard.core.display import Statement
from steelyard.core.text import all_of, plural

if TYPE_CHECKING:
    from steelyard.comparison.results import Comparison
    from steelyard.comparison.run import ManyScores

Found = Mapping[str, "Comparison"]


def told_of_many(many: ManyScores) -> Iterator[Statement]:
    """Say in sentences whether the scores agree, and how sure that is."""
    found, by = many.comparisons, many.by
    systems = {system for own in found.values() for system in own.systems}
    if len(systems) < 2:
        only = "".join(f"{system} is the only system" for system in systems) or "There is no system"
        yield "undecided", f"{only}: there is nothing to compare."
        return
    yield from _agreement(found, by)
    yield from _lead(found, by)
    some = [many.agreement[i, j] for i, j in combinations(range(len(found)), 2)]
    known = [tau for tau in some if not np.isnan(tau)]
    if known:
        low, high = f"{min(known):.3f}", f"{max(known):.3f}"
        ends = low if low == high else f"{low} to {high}"
        yield "sureness", f"Rankings by two scores agree at {ends} (tau-b: 1 is the same order)."
    yield "sureness", independence(next(iter(found.values())).unit)


def verdict(found: Found, by: str) -> str:
    """Say whether the scores name the same best system, and who contradicts whom for sure."""
    return " ".join(text for _, text in _agreement(found, by))


def _agreement(found: Found, by: str) -> Iterator[Statement]:
    first = {name: best_of(own, by) for name, own in found.items()}
    ranked = {name: top for name, top in first.items() if top}
    if not ranked:
        yield "undecided", "No score ranks any system."
        return
    common = _common(ranked)
    silent = [name for name in first if name not in ranked]
    scores = "All scores" if not silent else f"All scores but {all_of(silent)}, which rank nobody,"
    if common:  # a tie for the first place is no disagreement
        yield "settled", f"{scores} put {', '.join(common)} first{_doubts(found, by, common)}."
    else:
        best: dict[str, list[str]] = {}
        for name, top in ranked.items():
            best.setdefault(", ".join(top), []).append(name)
        shown = "; ".join(f"{system} by {', '.join(names)}" for system, names in best.items())
        yield "undecided", f"The scores do not agree on the best system: {shown}."
    against = _contradictions(found)
    if against:
        a, b, one, other = against[0]
        more = f" (and {plural(len(against) - 1, 'more pair')})" if len(against) > 1 else ""
        text = f"By {one} {a} beats {b} significantly, by {other} {b} beats {a}{more}."
        yield "undecided", text
    elif not common:
        yield "sureness", "No two of them contradict each other significantly on any pair."


def _doubts(found: Found, by: str, common: list[str]) -> str:
    """Say by which scores others are ahead of the first systems on the segments that both have."""
    doubted: dict[str, list[str]] = {}
    for name, own in found.items():
        ahead = [
            low
            for system in common
            for low in (*better_than(own, by, system), *own.ahead_on_common(by, system))
        ]
        for low in dict.fromkeys(ahead):
            doubted.setdefault(low, []).append(name)
    each = [f"{system} is ahead by {all_of(names)}" for system, names in doubted.items()]
    return f", but on the segments that both have {'; '.join(each)}" if each else ""


def _common(first: Mapping[str, list[str]]) -> list[str]:
    """Give the systems that all scores put first."""
    tops = list(first.values())
    return [system for system in tops[0] if all(system in top for top in tops)]


def _lead(found: Found, by: str) -> Iterator[Statement]:
    """Say by how many scores the common best system is alone in the first tier."""
    ranked = {name: top for name, own in found.items() if (top := best_of(own, by))}
    common = _common(ranked) if ranked else []
    if len(common) != 1:
        return
    tested = {name: own for name, own in found.items() if by in own.tiers}
    if not tested:
        yield "undecided", f"No pair was tested, so that the lead of {common[0]} may be chance."
        return
    alone = [
        name
        for name, own in tested.items()
        if [s for s, tier in zip(own.systems, own.tiers[by].clusters, strict=True) if tier == 1]
        == common
    ]
    if len(alone) == len(tested):
        one = "that score" if len(tested) == 1 else "each of them"
        yield "settled", f"{common[0]} is alone in the first tier by {one}."
        return
    rest = [name for name in tested if name not in alone]
    of = f"{len(rest)} of {plural(len(tested), 'score')}"
    text = f"By {of} ({all_of(rest)}) the test leaves open whether {common[0]} is the best."
    yield "undecided", text


def _contradictions(found: Found) -> list[tuple[str, str, str, str]]:
    """Pairs that two scores order differently, both significantly."""
    claims: dict[tuple[str, str], str] = {}
    result = []
    for name, own in found.items():
        test = next(iter(own.tests.values()), None)
        if test is None:
            continue
        ranked = next(iter(own.aggregations.values()))
        ahead = ranked.ranks[:, None] < ranked.ranks
        for i, j in np.argwhere(ahead & (test.p_adjusted < own.alpha)):
            a, b = own.systems[i], own.systems[j]
            if (b, a) in claims:
                result.append((b, a, claims[b, a], name))
            claims.setdefault((a, b), name)
    return result
