"""Figures of all pairs of systems: what each ranking says of a pair, and what the pair says alone.

Bradley-Terry, Elo and TrueSkill give every system one strength for all its opponents, so what they
say of a pair follows from how both did against everybody else, too. A pair alone is the share of
segments that one of the two wins: what a ranking of these two systems would say.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.comparison.results import RankedSystems
from steelyard.core.errors import UsageError, hint, printable
from steelyard.report.figures import style
from steelyard.report.figures.panels import Matrix, cell_size
from steelyard.report.figures.style import Chart, alt, finish, labels, limited
from steelyard.stats.arrays import Floats

_JOINT = "one fit of all systems, of which a pair is a part (pairwise-alone: each pair by itself)"
_ALONE = "share of comparisons that the row wins, ties as half, each pair by itself"
_NUMBERS = 24  # systems up to which numbers can be read


def size_of(found: RankedSystems) -> str:
    """Say in words what was compared, fit to be shown."""
    return printable(found.size())


def pairwise(found: RankedSystems, by: str | None = None) -> Chart:
    """Draw what one ranking says of every pair: row against column, ``*`` where significant.

    Bradley-Terry, Elo and TrueSkill give the probability that the row wins by their fit of all
    systems, mean and median the difference.
    """
    own_by = by or _ranking_of_pairs(found)
    if own_by not in found.aggregations:
        raise UsageError(f"no ranking '{own_by}'; {hint(own_by, found.aggregations)}")
    chart, what = _of_ranking(found, own_by, found.ranking(own_by)[: style.MOST])
    joint = "" if found.aggregations[own_by].average else _JOINT
    lines = [size_of(found), joint, _stars(found, own_by), limited(len(found.systems), "systems")]
    return finish(chart, f"Pairs by {found.shown(own_by)}: {what}", lines)


def pairwise_alone(found: RankedSystems) -> Chart:
    """Draw how often the row beats the column, each pair alone, ``*`` where significant."""
    by = _alone_by(found)
    order = found.ranking(by)[: style.MOST]
    chart = _of_pairs_alone(found, by, order)
    lines = [size_of(found), _ALONE, _stars(found, by), limited(len(found.systems), "systems")]
    return finish(chart, "Pairs alone: how often the row beats the column", lines)


def pairwise_all(found: RankedSystems) -> Chart:
    """Draw a matrix for every ranking, and one of the pairs alone; systems in one order."""
    order = found.ranking(next(iter(found.aggregations)))[: style.MOST]
    panels = []
    for by, own in found.aggregations.items():
        if own.pairwise.size:
            chart, what = _of_ranking(found, by, order)
            panels.append(style.titled(chart, f"{found.shown(by)}: {what}"))
    if not panels:
        raise UsageError("too many systems: what each pair says is not kept")
    if any(own.alone is not None for own in found.aggregations.values()):
        chart = _of_pairs_alone(found, _alone_by(found), order)
        panels.append(style.titled(chart, "each pair alone: share of comparisons won"))
    tests = dict.fromkeys(_stars(found, by) for by in found.aggregations)
    lines = [size_of(found), "; ".join(text for text in tests if text)]
    whole = alt.concat(*panels, columns=2, spacing=34).resolve_scale(color="independent")
    return finish(whole, "Pairs by every ranking", [*lines, limited(len(found.systems), "systems")])


def _ranking_of_pairs(found: RankedSystems) -> str:
    return "bt" if "bt" in found.aggregations else next(iter(found.aggregations))


def _alone_by(found: RankedSystems) -> str:
    """Name the ranking that orders the pairs alone and whose test they are starred by."""
    with_alone = [by for by, own in found.aggregations.items() if own.alone is not None]
    if not with_alone:
        raise UsageError("figure 'pairwise-alone' needs a ranking by bt, elo or trueskill (by=...)")
    return "bt" if "bt" in with_alone else with_alone[0]


def _of_ranking(found: RankedSystems, by: str, order: list[str]) -> tuple[Chart, str]:
    own = found.aggregations[by]
    if not own.pairwise.size:
        raise UsageError("too many systems: what each pair says is not kept")
    chance = not own.average
    what = "probability that the row beats the column" if chance else "row minus column"
    what += "" if own.higher_is_better else " (lower is better)"
    return _matrix(found, own.pairwise, by, order, chance=chance), what


def _of_pairs_alone(found: RankedSystems, by: str, order: list[str]) -> Chart:
    alone = found.aggregations[by].alone
    assert alone is not None
    return _matrix(found, alone, by, order, chance=True)


def _matrix(
    found: RankedSystems, of_pairs: Floats, by: str, order: list[str], *, chance: bool
) -> Chart:
    """Draw a number for every pair, in the middle of colours where neither is ahead."""
    index = [found.systems.index(system) for system in order]
    values = of_pairs[np.ix_(index, index)].copy()
    np.fill_diagonal(values, np.nan)
    reach = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    sure = _significant(found, by, index)
    names = labels(order)
    shown = "" if len(names) > _NUMBERS else ".2f" if chance else "+.2g"
    texts = [
        [
            (format(v, shown) if shown else "") + ("*" if s else "")
            for v, s in zip(*both, strict=True)
        ]
        for both in zip(values, sure, strict=True)
    ]
    return Matrix(
        rows=names,
        columns=names,
        values=values,
        texts=texts,
        ends=(0.0, 1.0) if chance else (-reach, reach),
        diverging=True,
        size=cell_size(len(names), most=42, least=13),
        legend="row wins" if chance else "difference",
        numbers=True,
    ).chart()


def _stars(found: RankedSystems, by: str) -> str:
    tiers = found.tiers.get(by)
    return "" if tiers is None else f"*: p < {found.alpha:g} by {tiers.test}, corrected"


def _significant(found: RankedSystems, by: str, index: list[int]) -> NDArray[np.bool_]:
    tiers = found.tiers.get(by)
    if tiers is None or tiers.test not in found.tests:
        return np.zeros((len(index), len(index)), dtype=bool)
    p = found.tests[tiers.test].p_adjusted[np.ix_(index, index)]
    with np.errstate(invalid="ignore"):
        return np.asarray(p < found.alpha)
