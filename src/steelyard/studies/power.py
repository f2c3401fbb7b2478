"""How many segments, documents or systems it takes to find a difference.

From a pilot: units are drawn with replacement, as many as are asked for, and the share of draws in
which a test finds the difference of two systems is its power; the difference of two metrics under a
meta-metric has the spread that it has between draws, and power follows from that. From assumptions:
power of the t and the sign test for an effect, of Williams' test for three correlations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from steelyard.core import bounds
from steelyard.core.errors import UsageError, hint
from steelyard.core.options import keywords
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, check_rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.data.evalset import EvalSet
from steelyard.formats.load import Source, as_evalset
from steelyard.metaevaluation.intervals import replicates
from steelyard.stats.arrays import Counts, Floats, group_sums
from steelyard.stats.metametrics.base import Resamples
from steelyard.stats.paired import testpower as powers
from steelyard.stats.resampling.bootstrap import draw_counts
from steelyard.studies.metaruns import By, MetaRuns, open_runs
from steelyard.studies.options import (
    META,
    SIZES,
    SYSTEM_SIZES,
    MetaStudyOptions,
    MetricPowerOptions,
    PowerOptions,
    TestPowerOptions,
)
from steelyard.studies.results import Curve, Progress, Study, plain_line, steps


@keywords(TestPowerOptions)
def power_of_test(
    es: Source,
    score: str,
    pair: tuple[str, str],
    *,
    options: TestPowerOptions,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Find how many units tell two systems apart, from a pilot.

    The tests are two-sided and paired, and see what is drawn: segments, or sums over documents. A
    ``difference`` is that of the means per segment. See :class:`TestPowerOptions`.

    Examples
    --------
    >>> import steelyard as sy
    >>> es = sy.demo_set()
    >>> study = power_of_test(es, "learned-refA", es.systems[:2], sizes=[100, 400], draws=200)
    >>> [row["segments"] for row in study.table("power").records()]
    [100, 400]
    """
    es = as_evalset(es)
    bounds.function(optional=True, progress=progress)
    bounds.pair(pair=pair)
    bounds.text(score=score)
    check_rng(rng)
    sizes, draws = tuple(options.sizes), options.draws
    x = _differences(es, score, pair, options)
    found: dict[str, Floats] = {test: np.zeros(len(sizes)) for test in options.tests}
    tick = steps(progress, len(sizes))
    for k, (size, own) in enumerate(zip(sizes, generator(rng).spawn(len(sizes)), strict=True)):
        for part in np.array_split(np.arange(draws), max(1, draws * len(x) // 5_000_000)):
            counts = draw_counts(len(part), len(x), own, size)
            for test in options.tests:
                p = powers.resampled_p(test, x, counts)
                found[test][k] += (np.where(np.isnan(p), 1.0, p) <= options.alpha).sum() / draws
        tick()
    settings = {"score": score, "pair": ",".join(pair), **options.shown()}
    spread = float(x.std(ddof=1))
    powered = _Powered(
        title=f"Power to tell {pair[0]} from {pair[1]} by {score}",
        unit=f"{options.unit}s",
        sizes=sizes,
        found=found,
        target=options.target,
        spread={test: np.sqrt(own * (1 - own) / draws) for test, own in found.items()},
    )
    return powered.study(
        Provenance.of("study power", settings, es.inputs, rng),
        facts={
            "pilot": len(x),
            "difference": float(x.mean()) if options.unit == "segment" else None,
            "effect": float(x.mean()) / spread if spread > 0 else float("nan"),
        },
        warnings=es.notes,
    )


@keywords(MetricPowerOptions)
def power_of_metrics(
    es: Source,
    human: str | None = None,
    *,
    by: By = META,
    options: MetricPowerOptions,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Find how many units tell two metrics apart under a meta-metric, from a pilot.

    By default the two metrics that are best by the first meta-metric. The test is two-sided and
    normal, with the spread of the difference between draws for its error; a ``difference`` is one
    of values. See :class:`MetricPowerOptions`.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = power_of_metrics(sy.demo_set(), "mqm", by="spa", sizes=[100, 400], draws=100,
    ...                          metrics=["learned-refA", "random-src"])
    >>> study.table("needed").records()[0]["difference"] > 0.3
    True
    """
    bounds.function(optional=True, progress=progress)
    usual = SYSTEM_SIZES if options.unit == "system" else SIZES
    sizes, stream = tuple(usual if options.sizes is None else options.sizes), generator(rng)
    metrics = options.metrics
    if metrics is not None and len(set(metrics)) != 2:
        raise UsageError(f"expected two metrics, found {len(set(metrics))}")
    runs = open_runs(es, human, by, MetaStudyOptions(metrics=metrics))
    able, told = runs.resampled("system" if options.unit == "system" else "segment")
    pair = _pair(runs, able)
    names = zip(runs.names, runs.values, strict=True)
    gaps = {name: values[pair[0]] - values[pair[1]] for name, values in names}
    streams = list(zip(sizes, stream.spawn(len(sizes)), strict=True))
    errors = _errors(runs, pair, options, streams, progress)
    if options.difference is not None:
        gaps = dict.fromkeys(gaps, options.difference)
    powered = _Powered(
        title=f"Power to tell {pair[0]} from {pair[1]}",
        unit=f"{options.unit}s",
        sizes=sizes,
        found={
            name: powers.normal_power(abs(gap), errors[name], options.alpha)
            for name, gap in gaps.items()
        },
        target=options.target,
        gaps=gaps,
    )
    return powered.study(
        runs.provenance("power", {"metrics": ",".join(pair), **options.shown()}, rng),
        facts={"differences": gaps, "errors": errors},
        warnings=runs.told(told),
    )


def power_of_effect(
    effect: float | None = None,
    *,
    correlations: tuple[float, float, float] | None = None,
    tests: Sequence[str] = ("t", "sign"),
    sizes: Sequence[int] | None = None,
    alpha: float = 0.05,
    target: float = 0.8,
) -> Study:
    """Find how many units it takes, from assumptions.

    Parameters
    ----------
    effect
        Mean difference of two systems in standard deviations of the differences of segments, for
        the t test and (with normal differences) the sign test.
    correlations
        Of two metrics with the human score, and with each other, for Williams' test of systems.

    Examples
    --------
    >>> study = power_of_effect(0.1)
    >>> [(row["what"], row["needed"]) for row in study.table("needed").records()]
    [('t', 787), ('sign', 1280)]
    """
    if (effect is None) == (correlations is None):
        raise UsageError("expected an effect, or three correlations")
    bounds.number(optional=True, effect=effect)
    bounds.numbers(optional=True, correlations=correlations)
    PowerOptions(sizes=sizes, alpha=alpha, target=target)  # which checks them
    tests = bounds.listed(tests=tests)
    rules: dict[str, Callable[[int], float]] = {}
    if effect is not None:
        win = float(ndtr(abs(effect)))
        known: dict[str, Callable[[int], float]] = {
            "t": lambda n: powers.t_power(abs(effect), n, alpha),
            "sign": lambda n: powers.sign_power(win, n, alpha),
        }
        for test in tests:
            if test not in known:
                raise UsageError(f"no power of test '{test}' from an effect; {hint(test, known)}")
            rules[test] = known[test]
        chosen, unit = SIZES if sizes is None else sizes, "segments"
        title = f"Power for an effect of {effect:g}"
    else:
        assert correlations is not None
        if len(correlations) != 3:
            raise UsageError(f"expected three correlations, got {len(correlations)}")
        a, b, c = correlations
        if any(not -1 < r < 1 for r in correlations):
            raise UsageError("correlations lie between -1 and 1")
        if a == b:
            raise UsageError("both metrics correlate alike: there is no difference to find")
        one, two = max(a, b), min(a, b)
        rules["williams"] = lambda n: powers.williams_power(one, two, c, n, alpha)
        if np.isnan(rules["williams"](10)):
            raise UsageError(f"no three variables have correlations {a:g}, {b:g} and {c:g}")
        chosen, unit = SYSTEM_SIZES if sizes is None else sizes, "systems"
        title = f"Power for correlations {a:g} and {b:g} ({c:g} with each other)"
    found = {name: np.array([rule(n) for n in chosen]) for name, rule in rules.items()}
    exact = {n: powers.needed(rule, target, ragged=n == "sign") for n, rule in rules.items()}
    settings: dict[str, Any] = {"alpha": alpha, "target": target}
    settings |= {"effect": effect} if effect is not None else {"correlations": str(correlations)}
    powered = _Powered(
        title=title, unit=unit, sizes=chosen, found=found, target=target, exact=exact
    )
    return powered.study(Provenance("study power", settings))


def _differences(es: EvalSet, score: str, pair: tuple[str, str], options: PowerOptions) -> Floats:
    """Differences of the two systems, one per unit, with the mean that is asked for."""
    values = es[score].values
    for name in pair:
        if name not in es.systems:
            raise UsageError(f"no system '{name}'; {hint(name, es.systems)}")
    gap = np.subtract(*(values[es.systems.index(name)] for name in pair))
    known = ~np.isnan(gap)
    if known.sum() < 2:
        raise UsageError(f"{pair[0]} and {pair[1]} share fewer than two segments with '{score}'")
    x: Floats = gap[known]
    if options.difference is not None:
        x = x - x.mean() + options.difference
    if not x.any():
        raise UsageError(f"{pair[0]} and {pair[1]} have the same '{score}' on every segment")
    if options.unit == "segment":
        return x
    if options.unit != "document":
        raise UsageError(f"unit '{options.unit}': two systems differ on segments or documents")
    found, codes = np.unique(_documents(es)[known], return_inverse=True)
    return group_sums(codes, x, len(found))


def _documents(es: EvalSet) -> Counts:
    codes = es.segments.document_codes()
    if codes is None:
        raise UsageError('unit="document": the documents of the segments are not known')
    return codes


def _pair(runs: MetaRuns, able: Sequence[Sequence[str]]) -> tuple[str, str]:
    """Choose two metrics that every meta-metric can resample, the better one first."""
    order = [r.metric for r in runs.results[0] if all(r.metric in names for names in able)]
    if len(order) < 2:
        raise UsageError("fewer than two metrics can be drawn for every meta-metric")
    return order[0], order[1]


def _errors(
    runs: MetaRuns,
    pair: tuple[str, str],
    options: PowerOptions,
    streams: Sequence[tuple[int, np.random.Generator]],
    progress: Progress | None,
) -> dict[str, Floats]:
    """Standard error of that difference by size, each of which has a stream of its own."""
    es, judged = runs.data.es, runs.data.judged
    codes = np.arange(len(judged))
    if options.unit == "document":
        codes = np.unique(_documents(es)[judged], return_inverse=True)[1]
    by_system = options.unit == "system"
    n_units = es.n_systems if by_system else int(codes.max(initial=-1)) + 1
    errors = {name: np.full(len(streams), np.nan) for name in runs.names}
    tick = steps(progress, len(streams))
    for k, (size, own) in enumerate(streams):
        counts = draw_counts(options.draws, n_units, own, size)
        if by_system:
            resamples = Resamples("system", systems=counts)
        else:
            segments = np.zeros((options.draws, es.n_segments))
            segments[:, judged] = counts[:, codes]
            resamples = Resamples("segment", segments=segments)
        for run in runs.runs:
            one, two = replicates(run, list(pair), resamples).T
            gap = (one - two)[~np.isnan(one - two)]
            if len(gap) > 1:
                errors[run.meta.name][k] = gap.std(ddof=1)
        tick()
    return errors


def _reached(sizes: Sequence[int], power: Floats, target: float) -> float:
    """Interpolate the size at which a power is reached on a log scale; NaN if it is not.

    Examples
    --------
    >>> _reached([100, 400], np.array([0.7, 0.9]), 0.8)
    200.0
    """
    order = np.argsort(sizes)
    n, own = np.log(np.array(sizes, dtype=float)[order]), power[order]
    above = np.flatnonzero(own >= target)
    if not above.size:
        return float("nan")
    k = int(above[0])
    if k == 0:
        return float(np.exp(n[0]))
    share = (target - own[k - 1]) / (own[k] - own[k - 1])
    return float(round(np.exp(n[k - 1] + share * (n[k] - n[k - 1])), 6))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Powered:
    """Power by size of each test or meta-metric, with its error; sizes that are known exactly."""

    title: str
    unit: str
    sizes: Sequence[int]
    found: Mapping[str, Floats]
    target: float
    spread: Mapping[str, Floats] = field(default_factory=dict)
    gaps: Mapping[str, float] | None = None
    exact: Mapping[str, int | None] | None = None

    def study(
        self,
        provenance: Provenance,
        facts: Mapping[str, Any] | None = None,
        warnings: Sequence[str] = (),
    ) -> Study:
        lines = [plain_line(name, own) for name, own in self.found.items()]
        if self.spread:
            half = {name: 1.96 * own for name, own in self.spread.items()}
            lines = [replace(x, low=x.y - half[x.name], high=x.y + half[x.name]) for x in lines]
        curve = Curve("power", self.title, self.unit, "power", tuple(self.sizes), tuple(lines))
        return Study(
            name="power",
            tables={"needed": self._needed(), "power": self._power()},
            curves=(curve,),
            facts=facts or {},
            warnings=tuple(warnings),
            provenance=provenance,
        )

    def _needed(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for name, own in self.found.items():
            size = _reached(self.sizes, own, self.target)
            value: Cell = None if np.isnan(size) else int(np.ceil(size - 1e-9))
            note = f"more than {max(self.sizes)}" if value is None else ""
            if own[int(np.argmin(self.sizes))] >= self.target:
                note = f"at most {value}"  # the first size is enough: fewer may be, too
            if self.exact is not None:
                value = self.exact[name]
                note = "" if value is not None else f"over {powers.MOST:,}"
            gap = () if self.gaps is None else (float(self.gaps[name]),)
            rows.append((name, *gap, value, note))
        gaps = () if self.gaps is None else (Column("difference", digits=4),)
        columns = (Column("what"), *gaps, Column("needed"), Column("note"))
        title = f"{self.title}: {self.unit} needed for a power of {self.target:g}"
        return Table(title, columns, tuple(rows))

    def _power(self) -> Table:
        rows = tuple(
            (int(size), *(float(own[k]) for own in self.found.values()))
            for k, size in enumerate(self.sizes)
        )
        columns = (Column(self.unit), *(Column(name, digits=3) for name in self.found))
        return Table(self.title, columns, rows)
