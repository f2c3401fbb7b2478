"""Parts of a benchmark, and what they are together: a column per task, averages, their test.

A :class:`PartTask` holds all that its computation needs, so that any worker can do it, and no more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.text import listed
from steelyard.core.warnings import TypedWarning
from steelyard.metaevaluation.benchmark.results import Column, Standing
from steelyard.metaevaluation.benchmark.tasks import Benchmark, SetSpec, Task
from steelyard.metaevaluation.cube import HINT, Data
from steelyard.metaevaluation.options import MetaOptions, Procedure
from steelyard.metaevaluation.results import Significance
from steelyard.metaevaluation.significance import n_blocks, significance_of
from steelyard.stats import clusters
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.metametrics.swap_tests import Null
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import ranks, whole

_DRAWS = 1000


@dataclass(frozen=True, slots=True)
class PartTask:
    """One meta-metric on one set, or a block of it: ``block`` of ``n_blocks``."""

    task: Task
    number: int  # of the task
    test: str
    domain: str | None
    humans: bool
    data: Data
    options: MetaOptions  # with the level and the grouping of the task
    stream: np.random.Generator
    units: Counts | None = None  # of the segments, where these are not drawn one by one
    block: int = 0
    n_blocks: int = 1

    @property
    def level(self) -> str:
        """The level that the meta-metric is taken at."""
        return self.task.meta.level(self.options.level)

    @property
    def group_by(self) -> str | None:
        """The grouping of segments, None at level sys."""
        return self.task.meta.grouping(self.level, self.options.group_by)

    def split(self) -> list[PartTask]:
        """Split a part into blocks, the same whatever they run on."""
        if not self.options.significance:
            return [self]
        k = self.options.n_resamples or _DRAWS
        of = 1
        if self.task.meta.splits(self.group_by):
            of = n_blocks(len(self.data.metrics), self.data.es.n_systems, k)
        options = replace(self.options, n_resamples=k)
        return [
            replace(self, options=options, stream=deepcopy(self.stream), block=b, n_blocks=of)
            for b in range(of)
        ]


@dataclass(frozen=True, slots=True)
class Weighed:
    """What became of a part: values of metrics, draws of the differences of those named."""

    part: PartTask
    values: Mapping[str, float]
    names: tuple[str, ...]
    null: Null | None

    @property
    def data(self) -> Data:
        """What was weighed."""
        return self.part.data


def common_name(benchmark: Benchmark, test: SetSpec, metric: str) -> str:
    """Name of a metric that holds on every set, whatever the reference is called there."""
    references = {t.reference for t in benchmark.sets}
    if len(references) < 2 or test.reference is None:
        return metric
    stem = metric.removesuffix(f"-{test.reference}")
    return metric if stem == metric else f"{stem}-ref"


def _by_column(weighed: Sequence[Weighed]) -> dict[tuple[Any, ...], list[Weighed]]:
    """Parts by column: one per task and set, one for a pooled task.

    Sets of a pooled task may differ in what is set for each of them, such as whether human
    translations count as systems; it is one task all the same. Where it is asked for both
    without and with them, a set that has none takes part in both as it is.
    """
    found: dict[tuple[Any, ...], list[Weighed]] = {}
    for one in weighed:
        part, task = one.part, one.part.task
        key = (
            "" if task.pooled else part.test,
            part.domain or "",
            part.level,
            part.humans and (task.both_humans or not task.pooled),
            part.group_by or "",
            task.meta.name,
            part.number,
        )
        found.setdefault(key, []).append(one)
    for key, own in found.items():
        if own[0].part.task.pooled and key[3]:
            have = {one.part.test for one in own}
            without = found.get((*key[:3], False, *key[4:]), [])
            own += [one for one in without if one.part.test not in have]
    return found


def columns_of(
    benchmark: Benchmark, weighed: Sequence[Weighed], procedure: Procedure | None
) -> tuple[tuple[Column, ...], list[str]]:
    """Put parts together: one column per task and set, one for a pooled task; and warnings."""
    groups = _by_column(weighed)
    if benchmark.weights == "split":
        weights = split_weights(list(groups))
    else:  # as many parts as there are sets in a pooled task, one in others
        weights = [parts[0].part.task.weight * len(parts) for parts in groups.values()]
    if benchmark.weights == "domains":  # the whole is shown, the domains are averaged
        weights = [w if key[1] else 0.0 for key, w in zip(groups, weights, strict=True)]
    total = sum(weights)
    columns, warnings = [], []
    for parts, weight in zip(groups.values(), weights, strict=True):
        column, told = _column(benchmark, parts, weight / total, procedure)
        columns.append(column)
        warnings += told
    return tuple(columns), warnings


def _column(
    benchmark: Benchmark, parts: Sequence[Weighed], weight: float, procedure: Procedure | None
) -> tuple[Column, list[str]]:
    tests = {test.name: test for test in benchmark.sets}
    shown = [{n: common_name(benchmark, tests[p.part.test], n) for n in p.values} for p in parts]
    own = [{common: name for name, common in names.items()} for names in shown]
    first = parts[0].part
    share = np.array([_n_pairs(p.data.es.n_systems) for p in parts], dtype=float)
    share = share / max(share.sum(), 1) if len(parts) > 1 else np.ones(1)
    shared = [name for name in own[0] if all(name in names for names in own)]
    values = {
        name: _pooled([(p, names[name]) for p, names in zip(parts, own, strict=True)])
        for name in shared
    }
    lacking = _lacking(parts, own) if len(parts) > 1 and procedure is not None else []
    draws = [
        (tuple(names[name] for name in p.names), p.null, w)
        for p, names, w in zip(parts, shown, share, strict=True)
    ]
    names, null = pool_draws(draws, lacking)
    column = Column(
        test="all" if first.task.pooled else first.test,
        by=first.task.meta.name,
        level=first.level,
        group_by=first.group_by,
        domain=first.domain,
        humans=any(p.part.humans for p in parts),
        weight=weight,
        values=values,
        lowest=first.task.meta.lowest,
        names=names,
        null=null,
        ranks=column_ranks(values, names, null, procedure),
    )
    if not lacking:
        return column, []
    untested = [f"'{name}'" for name in lacking]
    text = (
        f"{column.by} over all sets: not tested for {', '.join(untested)}, which lack systems{HINT}"
    )
    return column, [TypedWarning(text, "not-tested", untested)]


def _n_pairs(n: int) -> int:
    return n * (n - 1) // 2


def _pooled(parts: Sequence[tuple[Weighed, str]]) -> float:
    """Value of a metric over the pairs of systems of all sets, of those that it has scored."""
    if len(parts) == 1:
        part, name = parts[0]
        return part.values[name]
    pairs = [_n_pairs(part.data.n_systems(name)) for part, name in parts]
    right = sum(k * part.values[name] for k, (part, name) in zip(pairs, parts, strict=True))
    return right / sum(pairs) if sum(pairs) else float("nan")


def _lacking(parts: Sequence[Weighed], names: Sequence[dict[str, str]]) -> list[str]:
    """Metrics without some system of a pooled task, whose draws have other shares.

    Draws hold differences of two metrics, each set with its share of all pairs. A metric that
    lacks systems has other shares: its draws would not add up to those of the value shown.
    """
    return sorted(
        {
            shown
            for part, own in zip(parts, names, strict=True)
            for shown, name in own.items()
            if part.data.n_systems(name) < part.data.es.n_systems
        }
    )


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
    names = sorted(set.intersection(*(set(own) for own, _, _ in parts)) - set(leave_out))
    if len(names) < 2:
        return (), None
    values: Floats = np.zeros(len(names))
    draws: Floats | float = 0.0
    scheme = ""
    for own, null, weight in parts:
        assert null is not None
        index = np.array([own.index(name) for name in names])
        values = values + weight * null.values[index]
        draws = draws + weight * _pairs_of(null, index)
        scheme = null.scheme
    return tuple(names), Null(values, np.asarray(draws), scheme)


def _pairs_of(null: Null, index: Counts) -> Floats:
    """Differences of the metrics at these positions, in their order: draws x pairs."""
    size = len(null.values)
    place = np.zeros((size, size), dtype=np.int64)
    a, b = pair_index(size)
    place[a, b] = place[b, a] = np.arange(len(a))
    i, j = (index[side] for side in pair_index(len(index)))
    found: Floats = null.differences.astype(np.float64)[:, place[i, j]]
    return found * np.where(i < j, 1.0, -1.0)


def column_ranks(
    values: dict[str, float], names: tuple[str, ...], null: Null | None, procedure: Procedure | None
) -> dict[str, int]:
    """Rank metrics in a column: by clusters where they were tested, else by their values."""
    places = dict(zip(values, whole(ranks(list(values.values()))), strict=True))
    known = {name: place for name, place in places.items() if place is not None}
    if null is None or procedure is None:
        return known
    order = sorted(names, key=lambda n: (known.get(n, np.inf), n))
    return _tested(order, names, null, procedure)[1]


def _tested(
    order: Sequence[str], names: Sequence[str], null: Null, procedure: Procedure
) -> tuple[Significance, dict[str, int]]:
    """Test metrics, best first, by draws of those named; give their clusters, too."""
    index = [names.index(name) for name in order]
    found = null.compare(procedure.alternative)
    chosen = replace(found, values=found.values[index], p=found.p[np.ix_(index, index)])
    test = significance_of(order, chosen, procedure)
    placed = clusters.greedy_clusters(test.decisive, procedure.alpha)
    return test, dict(zip(order, placed.tolist(), strict=True))


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
            note = f"no value in {listed(missing, 3)}"
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
        kept = [s.metric for s in standings if s.metric in tested and not np.isnan(s.average)]
        test, clustered = _tested(kept, tested, null, procedure)
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
