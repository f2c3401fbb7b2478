"""Averages over the tasks of a benchmark: scores, ranks, and what the swaps say of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.metaevaluation.benchmark.results import Column, Standing
from steelyard.metaevaluation.results import Significance
from steelyard.metaevaluation.significance import Procedure, significance_of
from steelyard.stats import clusters
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.metametrics.swaps import Null
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import ranks, whole


def split_weights(keys: list[tuple[Any, ...]]) -> list[float]:
    """Split a mass of 1 evenly over the first attribute of keys, then over the next, and so on.

    Examples
    --------
    >>> split_weights([("de", "sys"), ("de", "seg"), ("ru", "sys")])
    [0.25, 0.25, 0.5]
    """
    if not keys or not keys[0]:
        return [1 / len(keys)] * len(keys)
    first = [key[0] for key in keys]
    distinct = list(dict.fromkeys(first))
    weights = [0.0] * len(keys)
    for one in distinct:
        where = [i for i, own in enumerate(first) if own == one]
        for i, weight in zip(where, split_weights([keys[i][1:] for i in where]), strict=True):
            weights[i] = weight / len(distinct)
    return weights


def pool_draws(
    parts: Sequence[tuple[tuple[str, ...], Null | None, float]], leave_out: Collection[str] = ()
) -> tuple[tuple[str, ...], Null | None]:
    """Add up draws of several sets, for the metrics that all of them have."""
    if any(null is None for _, null, _ in parts):
        return (), None
    names = [n for n in parts[0][0] if all(n in own for own, _, _ in parts) and n not in leave_out]
    if len(names) < 2:
        return (), None
    names = sorted(names)
    values: Floats = np.zeros(len(names))
    draws: Floats | None = None
    scheme = ""
    for own, null, weight in parts:
        assert null is not None
        index = np.array([own.index(name) for name in names])
        values = values + weight * null.values[index]
        part = weight * _pairs_of(null, index)
        draws = part if draws is None else draws + part
        scheme = null.scheme
    assert draws is not None
    return tuple(names), Null(values, draws, scheme)


def _pairs_of(null: Null, index: Counts) -> Floats:
    """Differences of the metrics at these positions, in their order: draws x pairs."""
    size = len(null.values)
    place = np.zeros((size, size), dtype=np.int64)
    a, b = pair_index(size)
    place[a, b] = place[b, a] = np.arange(len(a))
    i, j = (index[side] for side in pair_index(len(index)))
    result: Floats = null.differences.astype(np.float64)[:, place[i, j]] * np.where(
        i < j, 1.0, -1.0
    )
    return result


def column_ranks(
    values: dict[str, float], names: tuple[str, ...], null: Null | None, procedure: Procedure | None
) -> dict[str, int]:
    """Rank metrics in a column: by clusters where they were tested, else by their values."""
    places = dict(zip(values, whole(ranks(list(values.values()))), strict=True))
    known = {name: place for name, place in places.items() if place is not None}
    if null is None or procedure is None:
        return known
    order = sorted(names, key=lambda n: (known.get(n, np.inf), n))
    index = [names.index(n) for n in order]
    test = _tested(order, index, null, procedure)
    found = clusters.greedy_clusters(test.decisive, procedure.alpha)
    return dict(zip(order, found.tolist(), strict=True))


def _tested(
    names: Sequence[str], index: list[int], null: Null, procedure: Procedure
) -> Significance:
    """Test the metrics at these positions of the draws, in this order."""
    found = null.compare(procedure.alternative)
    chosen = replace(found, values=found.values[index], p=found.p[np.ix_(index, index)])
    return significance_of(names, chosen, procedure)


def standings_of(
    columns: Sequence[Column], order: str, procedure: Procedure | None
) -> tuple[tuple[Standing, ...], Significance | None]:
    """Average scores and ranks over columns, and test the averages."""
    weights = np.array([column.weight for column in columns])
    names = list(dict.fromkeys(name for column in columns for name in column.values))
    standings = []
    for name in names:
        missing = [c.label for c in columns if np.isnan(c.values.get(name, np.nan))]
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            note = f"no value in {', '.join(missing[:3])}{more}"
            standings.append(Standing(name, np.nan, np.nan, note=note))
            continue
        scaled = np.array([(c.values[name] - c.lowest) / (1 - c.lowest) for c in columns])
        own = np.array([float(c.ranks.get(name, np.nan)) for c in columns])
        standings.append(Standing(name, float(scaled @ weights), float(own @ weights)))

    better = [-s.average_rank if order == "rank" else s.average for s in standings]
    better = [np.nan if np.isnan(s.average) else x for s, x in zip(standings, better, strict=True)]
    places = dict(zip(names, np.nan_to_num(ranks(better), nan=np.inf).tolist(), strict=True))
    standings.sort(key=lambda s: (places[s.metric], s.metric))
    test = None
    scaled_nulls = [(c.names, c.null, c.weight / (1 - c.lowest)) for c in columns]
    tested, null = pool_draws(scaled_nulls) if procedure is not None else ((), None)
    if procedure is not None and null is not None:
        listed = [s.metric for s in standings if s.metric in tested and not np.isnan(s.average)]
        index = [tested.index(name) for name in listed]
        test = _tested(listed, index, null, procedure)
        placed = clusters.greedy_clusters(test.decisive, procedure.alpha)
        clustered = dict(zip(listed, placed.tolist(), strict=True))
        standings = [replace(s, rank=clustered.get(s.metric)) for s in standings]
    return tuple(standings), test


def sign_flips(columns: Sequence[Column]) -> list[str]:
    """Name metrics whose correlation has different signs on different sets."""
    found = []
    kinds = dict.fromkeys((c.by, c.level, c.group_by) for c in columns if c.lowest < 0)
    for by, level, group_by in kinds:
        own = [c for c in columns if (c.by, c.level, c.group_by) == (by, level, group_by)]
        own = [c for c in own if c.domain is None and not c.humans]
        for name in dict.fromkeys(n for c in own for n in c.values):
            values = {c.test: c.values[name] for c in own if name in c.values}
            if min(values.values(), default=0) < 0 < max(values.values(), default=0):
                shown = ", ".join(f"{test} {value:+.3f}" for test, value in values.items())
                found.append(f"'{name}' has different signs of {by} ({level}): {shown}")
    return found
