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

from steelyard.core.errors import UsageError, hint
from steelyard.core.options import (
    as_tuple,
    check_function,
    check_number,
    check_numbers,
    check_pair,
    check_text,
    keywords,
)
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, check_rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.data.evalset import EvalSet
from steelyard.data.units import SEGMENT, UnitEffect, Units, many, units_of
from steelyard.formats.load import Source, as_evalset
from steelyard.metaevaluation.data import the_human, the_metrics
from steelyard.metaevaluation.tests import replicates
from steelyard.stats.arrays import Counts, Floats, group_sums
from steelyard.stats.distributions import ndtr
from steelyard.stats.metametrics.base import Resamples
from steelyard.stats.paired import power as powers
from steelyard.stats.resampling.bootstrap import draw_counts
from steelyard.studies.metrics.metaruns import By, MetaRuns, open_runs
from steelyard.studies.metrics.options import META, MetaStudyOptions
from steelyard.studies.planning.options import (
    SIZES,
    SYSTEM_SIZES,
    MetricPowerOptions,
    PowerOptions,
    TestPowerOptions,
)
from steelyard.studies.results import Curve, Progress, Study, plain_line, steps

_SYSTEM = "system"  # a unit of meta-metrics


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

    The tests are two-sided and paired, and respect what is drawn: segments, or whole documents
    where they are known (see ``unit``). A ``difference`` is that of the means per segment. See
    :class:`TestPowerOptions`.

    Examples
    --------
    >>> import steelyard as sy
    >>> es = sy.demo_set()
    >>> study = power_of_test(es, "learned-refA", es.systems[:2], sizes=[20, 80], draws=200)
    >>> [row["documents"] for row in study.table("power").records()]
    [20, 80]
    """
    es = as_evalset(es, unit=options.unit)
    check_function(optional=True, progress=progress)
    check_pair(pair=pair)
    check_text(score=score)
    check_rng(rng)
    sizes, draws = tuple(options.sizes), options.draws
    pilot = _pilot(es, score, pair, options)
    found: dict[str, Floats] = {test: np.zeros(len(sizes)) for test in options.tests}
    tick = steps(progress, len(sizes))
    for k, (size, own) in enumerate(zip(sizes, generator(rng).spawn(len(sizes)), strict=True)):
        for part in np.array_split(np.arange(draws), max(1, draws * pilot.n // 5_000_000)):
            counts = draw_counts(len(part), pilot.n, own, size)
            for test in options.tests:
                p = pilot.p(test, counts)
                found[test][k] += (np.where(np.isnan(p), 1.0, p) <= options.alpha).sum() / draws
        tick()
    settings = {"score": score, "pair": ",".join(pair), **options.shown()}
    x, effect = pilot.differences, pilot.effect()
    spread = float(x.std(ddof=1))
    powered = _Powered(
        title=f"Power to tell {pair[0]} from {pair[1]} by {score}",
        unit=many(pilot.units.name),
        sizes=sizes,
        found=found,
        target=options.target,
        length=None if pilot.units.codes is None else len(x) / pilot.n,
        told=effect.sentence(),
        spread={test: np.sqrt(own * (1 - own) / draws) for test, own in found.items()},
    )
    return powered.study(
        Provenance.of("study power", settings, es.inputs, rng, options),
        facts={
            "pilot": pilot.n,
            "difference": float(x.mean()),
            "effect": float(x.mean()) / spread if spread > 0 else float("nan"),
            "unit": effect.to_dict(),
        },
        warnings=(*es.notes, *pilot.units.warnings),
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
    check_function(optional=True, progress=progress)
    usual = SYSTEM_SIZES if options.unit == _SYSTEM else SIZES
    sizes, stream = tuple(usual if options.sizes is None else options.sizes), generator(rng)
    metrics = options.metrics
    if metrics is not None:
        es = as_evalset(es, human, options.unit)
        chosen = the_metrics(es, the_human(es, human), metrics)
        if len(chosen) != 2:
            raise UsageError(f"expected two metrics, found {len(chosen)}")
    of_systems = options.unit == _SYSTEM
    unit = SEGMENT if of_systems else options.unit
    runs = open_runs(es, human, by, MetaStudyOptions(metrics=metrics), unit=unit)
    able, told = runs.resampled(_SYSTEM if of_systems else "segment")
    units = None if of_systems else runs.units
    if units is not None:
        _refuse_one(units)
        told += units.warnings
    pair = _pair(runs, able)
    names = zip(runs.names, runs.values, strict=True)
    gaps = {name: values[pair[0]] - values[pair[1]] for name, values in names}
    streams = list(zip(sizes, stream.spawn(len(sizes)), strict=True))
    errors = _errors(runs, pair, units, options.draws, streams, progress)
    if options.difference is not None:
        gaps = dict.fromkeys(gaps, options.difference)
    powered = _Powered(
        title=f"Power to tell {pair[0]} from {pair[1]}",
        unit=many(_SYSTEM if units is None else units.name),
        sizes=sizes,
        found={
            name: powers.normal_power(abs(gap), errors[name], options.alpha)
            for name, gap in gaps.items()
        },
        target=options.target,
        gaps=gaps,
        told=None if units is None else units.effect(runs.data.human).sentence(),
    )
    return powered.study(
        runs.provenance("power", {"metrics": ",".join(pair), **options.shown()}, rng, options),
        facts={"differences": gaps, "errors": errors}
        | ({} if units is None else {"unit": units.effect(runs.data.human).to_dict()}),
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
    check_number(optional=True, effect=effect)
    check_numbers(optional=True, correlations=correlations)
    PowerOptions(sizes=sizes, alpha=alpha, target=target)  # which checks them
    tests = as_tuple(tests=tests)
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


@dataclass(frozen=True, slots=True, eq=False)
class _Pilot:
    """Differences of two systems on segments, and the units that these are drawn in."""

    differences: Floats
    codes: Counts  # of the units, from 0
    units: Units

    @property
    def n(self) -> int:
        """How many units there are to draw from."""
        return int(self.codes.max()) + 1

    def p(self, test: str, counts: Floats) -> Floats:
        """Test in each resample of the units."""
        x = self.differences
        sums, sizes, wins = (
            group_sums(self.codes, part, self.n) for part in (x, np.ones_like(x), np.sign(x))
        )
        return powers.resampled_p(test, sums, sizes, wins, counts)

    def effect(self) -> UnitEffect:
        """Measure the design effect of the difference."""
        x = self.differences
        return self.units.effect(np.stack([x, 0 * x]))


def _pilot(es: EvalSet, score: str, pair: tuple[str, str], options: PowerOptions) -> _Pilot:
    """Take the differences of the two systems, with the mean that is asked for."""
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
    if options.unit == _SYSTEM:
        raise UsageError('unit="system": two systems differ on segments or documents')
    units = units_of(es.segments, options.unit, known)
    _refuse_one(units)
    own = units.take(known)
    codes = np.arange(len(x)) if own is None else np.unique(own, return_inverse=True)[1]
    return _Pilot(x, codes, units.of(known))


def _refuse_one(units: Units) -> None:
    """Refuse to draw from a single unit, of which every resample is the same."""
    if units.n < 2:
        raise UsageError(f'unit="{units.name}": there is only one to draw from')


def _pair(runs: MetaRuns, able: Sequence[Sequence[str]]) -> tuple[str, str]:
    """Choose two metrics that every meta-metric can resample, the better one first."""
    order = [r.metric for r in runs.results[0] if all(r.metric in names for names in able)]
    if len(order) < 2:
        raise UsageError("fewer than two metrics can be drawn for every meta-metric")
    return order[0], order[1]


def _errors(
    runs: MetaRuns,
    pair: tuple[str, str],
    units: Units | None,
    draws: int,
    streams: Sequence[tuple[int, np.random.Generator]],
    progress: Progress | None,
) -> dict[str, Floats]:
    """Standard error of that difference by size, each of which has a stream of its own.

    Without units, systems are drawn.
    """
    es, judged = runs.data.es, runs.data.judged
    own = None if units is None else units.take(judged)
    codes = np.arange(len(judged)) if own is None else np.unique(own, return_inverse=True)[1]
    by_system = units is None
    n_units = es.n_systems if by_system else int(codes.max(initial=-1)) + 1
    errors = {name: np.full(len(streams), np.nan) for name in runs.names}
    tick = steps(progress, len(streams))
    for k, (size, stream) in enumerate(streams):
        counts = draw_counts(draws, n_units, stream, size)
        if by_system:
            resamples = Resamples("system", systems=counts)
        else:
            segments = np.zeros((draws, es.n_segments))
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
    length: float | None = None  # segments of a unit, where these are several
    told: str | None = None  # what was independent in the pilot

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
            parts={"needed": self._needed(), "power": self._power()},
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
            long: tuple[Cell, ...] = ()
            if self.length is not None:
                long = (None if value is None else int(np.ceil(float(value) * self.length)),)
            rows.append((name, *gap, value, *long, note))
        gaps = () if self.gaps is None else (Column("difference", digits=4),)
        longs = () if self.length is None else (Column("segments"),)
        columns = (Column("what"), *gaps, Column("needed"), *longs, Column("note"))
        title = f"{self.title}: {self.unit} needed for a power of {self.target:g}"
        return Table(title, columns, tuple(rows), () if self.told is None else (self.told,))

    def _power(self) -> Table:
        rows = tuple(
            (int(size), *(float(own[k]) for own in self.found.values()))
            for k, size in enumerate(self.sizes)
        )
        columns = (Column(self.unit), *(Column(name, digits=3) for name in self.found))
        return Table(self.title, columns, rows)
