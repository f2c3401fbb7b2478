"""Whether a verdict on metrics would hold in another domain.

Metrics are weighed on each domain alone, and with each domain left out. The order of metrics on a
domain, beside their order on all others, is what a verdict is worth where nobody asked people. With
ten domains or more, a jackknife over domains gives intervals; with fewer, there is only the range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import UsageError
from steelyard.core.options import keywords
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.words import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.independence import FEWEST, too_few
from steelyard.formats.load import Source
from steelyard.metaevaluation.cube import Run, prepare
from steelyard.metaevaluation.options import MetaOptions
from steelyard.stats.arrays import Floats
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import ranks, whole
from steelyard.stats.resampling.designeffect import jackknife_reach
from steelyard.studies.metrics.metaruns import By, MetaRuns, open_runs
from steelyard.studies.metrics.options import META, DomainOptions, MetaStudyOptions
from steelyard.studies.results import Curve, Progress, Study, plain_line, steps

_SHOWN = 6  # domains that have a column of their own
_LINES = 8  # metrics that a figure shows


@keywords(DomainOptions)
def leave_domains_out(
    es: Source,
    human: str | None = None,
    *,
    by: By = META,
    options: DomainOptions,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Weigh metrics on each domain, and with each domain left out.

    See :class:`DomainOptions`, and :func:`steelyard.meta_evaluate` for what is weighed.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = leave_domains_out(sy.demo_set(), "mqm", by="spa", metrics=["learned*", "random*"])
    >>> [(row["domain"], row["best here"]) for row in study.table("domains").records()][:2]
    [('manuals', 'learned-refA'), ('news', 'learned-refA')]
    """
    bounds.function(optional=True, progress=progress)
    generator(rng)  # nothing is drawn; a bad seed is refused as everywhere
    runs = open_runs(es, human, by, options)
    members = _members(runs)
    tick = steps(progress, 2 * len(members))
    inside, outside, told = [], [], []
    for domain, ids in members.items():
        here, notes = _values(runs, runs.data.es.select(domain=domain), options)
        told += [f"{domain}: {text}" for text in notes]
        inside.append(here)
        tick()
        outside.append(_values(runs, runs.data.es.drop(segments=ids), options)[0])
        tick()
    sizes = {name: len(ids) for name, ids in members.items()}
    found = [
        _Domains.of(by, sizes, every, [one[k] for one in inside], [one[k] for one in outside])
        for k, (by, every) in enumerate(zip(runs.names, runs.values, strict=True))
    ]
    if len(sizes) < FEWEST:
        few = too_few(len(sizes), "domain")
        told.append(f"{few} for an interval (ten at least): values have the range of the domains")
    return Study(
        name="domains",
        parts={
            **{own.by: own.table() for own in found},
            "domains": _domain_table(found),
        },
        curves=tuple(own.curve() for own in found),
        facts={
            "domains": sizes,
            "values": {own.by: own.to_dict() for own in found},
            "agreement": {own.by: own.agreement for own in found},
            "verdicts": {own.by: own.sentence() for own in found},
        },
        warnings=runs.told(told),
        provenance=runs.provenance("domains", {}, rng, options),
    )


def _members(runs: MetaRuns) -> dict[str, list[str]]:
    """Segments that people judged, by domain."""
    segments, used = runs.data.es.segments, runs.data.judged
    names = segments.domains
    lost = len(used) if names is None else sum(names[i] is None for i in used)
    if names is None or lost:
        some = f" for {lost:,} of {len(used):,} segments" if lost < len(used) else ""
        raise UsageError(f'the domains of segments are not known{some}; expected a column "domain"')
    found: dict[str, list[str]] = {}
    for i in used:
        found.setdefault(names[i] or "", []).append(segments.ids[i])
    if len(found) < 2:
        raise UsageError(f"one domain ({next(iter(found))}): there is no other to compare with")
    return dict(sorted(found.items()))


def _values(
    runs: MetaRuns, es: EvalSet, options: MetaStudyOptions
) -> tuple[list[dict[str, float]], list[str]]:
    """Weigh metrics on some segments: values under each meta-metric, and who is missing."""
    data, _ = prepare(es, runs.human, runs.data.metrics, keep_references=True)
    asked = MetaOptions(level=options.level, group_by=options.group_by)
    found = [Run.of(data, run.meta, asked).results() for run in runs.runs]
    values = [{result.metric: result.value for result in own} for own in found]
    lost = sorted(set(runs.data.es.systems) - set(data.es.systems))
    return values, [f"people scored no output of {listed(lost)}"] if lost else []


@dataclass(frozen=True, slots=True, eq=False)
class _Domains:
    """Values under one meta-metric: of all segments, of each domain, and without each."""

    by: str
    sizes: Mapping[str, int]
    names: tuple[str, ...]  # metrics, best first
    every: Floats
    inside: Floats  # domains x metrics
    outside: Floats

    @classmethod
    def of(
        cls,
        by: str,
        sizes: Mapping[str, int],
        every: Mapping[str, float],
        inside: Sequence[Mapping[str, float]],
        outside: Sequence[Mapping[str, float]],
    ) -> _Domains:
        """Put values into arrays."""
        names = tuple(name for name, value in every.items() if not np.isnan(value))
        if not names:
            raise UsageError(f"{by}: no metric has a value")

        def rows(parts: Sequence[Mapping[str, float]]) -> Floats:
            return np.array([[own[name] for name in names] for own in parts])

        return cls(by, sizes, names, rows([every])[0], rows(inside), rows(outside))

    @property
    def intervals(self) -> Floats | None:
        """Ends of 95 % intervals over domains, None where there are too few of them."""
        if len(self.sizes) < FEWEST:
            return None
        sizes = np.array(list(self.sizes.values()), dtype=np.float64)
        reach = np.array([jackknife_reach(own, sizes, 0.95) for own in self.outside.T])
        return np.stack([self.every - reach, self.every + reach])

    @property
    def agreement(self) -> dict[str, float]:
        """Share of pairs of metrics that a domain orders as all others together do.

        Pairs that either ties count half.
        """
        i, j = pair_index(len(self.names))
        found = {}
        for domain, here, rest in zip(self.sizes, self.inside, self.outside, strict=True):
            signs = np.sign(here[i] - here[j]) * np.sign(rest[i] - rest[j])
            known = signs[~np.isnan(signs)]
            found[domain] = float((1 + known.mean()) / 2) if known.size else float("nan")
        return found

    def bests(self, values: Floats) -> list[tuple[str, ...]]:
        """Name the best metric of each row, or all that share its value; none if none has one."""
        top = [row[~np.isnan(row)].max(initial=-np.inf) for row in values]
        return [
            tuple(sorted(name for name, x in zip(self.names, row, strict=True) if x == best))
            for row, best in zip(values, top, strict=True)
        ]

    def table(self) -> Table:
        """Give a row per metric: all, each domain, ranges of values and places."""
        domains = list(self.sizes)
        shown = domains if len(domains) <= _SHOWN else []
        ends = self.intervals
        columns = [Column("metric"), Column(self.by, "higher", digits=3)]
        if ends is not None:
            columns += [Column("low", digits=3), Column("high", digits=3)]
        columns += [Column(name, digits=3) for name in shown]
        columns += [Column(name, digits=3) for name in ("least", "most")]
        columns += [Column("left out: least", digits=3), Column("left out: most", digits=3)]
        columns += [Column("place"), Column("in domains"), Column("left out")]
        places = whole(ranks(self.every))
        spread = [_span(ranks(part)) for part in (self.inside, self.outside)]
        rows: list[tuple[Cell, ...]] = []
        for k, name in enumerate(self.names):
            cells: list[Cell] = [name, float(self.every[k])]
            if ends is not None:
                cells += [float(ends[0, k]), float(ends[1, k])]
            cells += [_cell(x) for x in self.inside[:, k]] if shown else []
            for part in (self.inside[:, k], self.outside[:, k]):
                known = part[~np.isnan(part)]
                cells += [float(known.min()), float(known.max())] if known.size else [None, None]
            rows.append((*cells, places[k], spread[0][k], spread[1][k]))
        notes = [
            self.sentence(),
            "least, most: over the domains, and with one left out (some of that is chance)",
            "in domains, left out: places from best to worst",
        ]
        if ends is not None:
            notes.append("low, high: 95 % interval over domains, a jackknife")
        return Table(f"Metrics by domain: {self.by}", tuple(columns), tuple(rows), tuple(notes))

    def sentence(self) -> str:
        """Say whether the verdict would hold in another domain."""
        (best,) = self.bests(self.every[None])
        here, rest = self.bests(self.inside), self.bests(self.outside)
        known = [(d, b) for d, b in zip(self.sizes, here, strict=True) if b]
        n = len(known)
        others = [f"{d}: {_named(b)}" for d, b in known if not set(best) <= set(b)]
        moved = [
            f"without {d}: {_named(b)}"
            for d, b in zip(self.sizes, rest, strict=True)
            if b and not set(best) <= set(b)
        ]
        first = f"{self.by}: {_named(best)} {'is' if len(best) == 1 else 'are'} best in "
        first += f"{n - len(others)} of {plural(n, 'domain')}"
        first += f" ({listed(others)})" if others else ""
        nothing = [d for d, b in zip(self.sizes, here, strict=True) if not b]
        first += f"; undefined in {listed(nothing)}" if nothing else ""
        first += f", and no longer {listed(moved)}" if moved else ", and whichever is left out"
        if len(self.names) < 2:
            return first
        share = [x for x in self.agreement.values() if not np.isnan(x)]
        pairs = f"{np.mean(share):.0%} of pairs of metrics keep their order in a domain left out"
        firm = not moved and not others and n >= FEWEST
        verdict = "would likely hold" if firm else "may not hold"
        if n < FEWEST and not moved and not others:
            verdict = f"holds in all {n}, too few to say whether it would"
        return f"{first}; {pairs}: the verdict {verdict} in another domain"

    def curve(self) -> Curve:
        """Draw values by domain."""
        lines = tuple(
            plain_line(name, self.inside[:, k]) for k, name in enumerate(self.names[:_LINES])
        )
        return Curve(self.by, f"{self.by} by domain", "domain", "value", tuple(self.sizes), lines)

    def to_dict(self) -> dict[str, Any]:
        """Give the values of every metric."""
        ends, domains = self.intervals, tuple(self.sizes)
        return {
            name: {
                "all": float(self.every[k]),
                "ci": None if ends is None else ends[:, k].tolist(),
                "domains": dict(zip(domains, self.inside[:, k].tolist(), strict=True)),
                "left_out": dict(zip(domains, self.outside[:, k].tolist(), strict=True)),
            }
            for k, name in enumerate(self.names)
        }


def _named(names: Sequence[str]) -> str | None:
    return listed(names, last=" and ") if names else None


def _cell(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _span(places: Floats) -> list[str | None]:
    """Show the best and the worst place of each column.

    Examples
    --------
    >>> _span(np.array([[1.0, 2.0], [1.0, 3.0], [np.nan, np.nan]]))
    ['1', '2-3']
    """
    found: list[str | None] = []
    for column in places.T:
        known = column[~np.isnan(column)]
        if not known.size:
            found.append(None)
            continue
        low, high = int(known.min()), int(known.max())
        found.append(f"{low}" if low == high else f"{low}-{high}")
    return found


def _domain_table(found: Sequence[_Domains]) -> Table:
    """Show who is best in each domain and on all others, and how alike the orders are."""
    rows: list[tuple[Cell, ...]] = []
    for own in found:
        bests = zip(own.bests(own.inside), own.bests(own.outside), strict=True)
        for (domain, size), (here, rest) in zip(own.sizes.items(), bests, strict=True):
            share = _cell(own.agreement[domain])
            rows.append((own.by, domain, size, _named(here), _named(rest), share))
    columns = (Column("with"), Column("domain"), Column("segments"), Column("best here"),
               Column("best of the others"), Column("pairs alike", digits=2))  # fmt: skip
    note = (
        "pairs alike: pairs of metrics that the domain orders as all others together (chance 0.5)"
    )
    return Table("Domains", columns, tuple(rows), (note,))
