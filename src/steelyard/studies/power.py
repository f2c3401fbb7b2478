"""How many segments, documents or systems it takes to find a difference.

From a pilot: units are drawn with replacement. The power of a test of two systems is the share of
draws in which it finds their difference; that of two metrics under a meta-metric follows from the
spread of their difference between draws. From an assumed effect: power of the t and the sign test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.core.display import Statement
from steelyard.core.errors import UsageError, hint
from steelyard.core.options import (
    as_tuple,
    check_function,
    check_number,
    check_pair,
    check_text,
    keywords,
)
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, check_rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import all_of
from steelyard.data.evalset import EvalSet
from steelyard.data.units import SEGMENT, Units, many, units_of
from steelyard.formats.load import Source, as_evalset
from steelyard.metaevaluation.tests import replicates
from steelyard.stats.arrays import Counts, Floats, group_sums
from steelyard.stats.distributions import ndtr
from steelyard.stats.metametrics.base import Resamples
from steelyard.stats.paired import power as powers
from steelyard.stats.resampling.bootstrap import draw_counts
from steelyard.studies.options import (
    SIZES,
    SYSTEM_SIZES,
    MetricPowerOptions,
    PowerOptions,
    TestPowerOptions,
)
from steelyard.studies.study import (
    SYSTEM,
    Curve,
    MetaRuns,
    Progress,
    Row,
    Study,
    meta_study,
    plain_line,
    steps,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Power:
    """Power by size of each test or meta-metric; sizes that are exact where these are known."""

    title: str
    unit: str
    sizes: Sequence[int]
    power: Mapping[str, Floats]
    target: float
    error: Mapping[str, Floats] = field(default_factory=dict)
    gaps: Mapping[str, float] | None = None
    exact: Mapping[str, int | None] | None = None
    length: float | None = None  # segments of a unit, where these are several
    notes: tuple[str, ...] = ()

    def needed(self) -> dict[str, tuple[int | None, str]]:
        """Return the size that reaches the target (None for none) and a note on it, by name."""
        if self.exact is not None:
            over = f"over {powers.MOST:,}"
            return {name: (n, "" if n is not None else over) for name, n in self.exact.items()}
        needed: dict[str, tuple[int | None, str]] = {}
        for name, power in self.power.items():
            size = _reached(self.sizes, power, self.target)
            if np.isnan(size):
                needed[name] = None, f"more than {max(self.sizes)}"
                continue
            n = int(np.ceil(size - 1e-9))
            enough = power[int(np.argmin(self.sizes))] >= self.target  # fewer may be, too
            needed[name] = n, f"at most {n}" if enough else ""
        return needed

    def parts(self) -> dict[str, Any]:
        """Return tables, sentences and the curve of the study."""
        lines = [plain_line(name, power) for name, power in self.power.items()]
        if self.error:
            half = {name: 1.96 * error for name, error in self.error.items()}
            lines = [replace(x, low=x.y - half[x.name], high=x.y + half[x.name]) for x in lines]
        curve = Curve("power", self.title, self.unit, "power", tuple(self.sizes), tuple(lines))
        parts = {"needed": self._needed_table(), "power": self._power_table()}
        return {"parts": parts, "sentences": tuple(self._sentences()), "curves": (curve,)}

    def _sentences(self) -> Iterator[Statement]:
        needed = self.needed()
        reached = [f"{n} {self.unit} by {name}" for name, (n, _) in needed.items() if n is not None]
        if reached:
            yield "settled", f"{self.title} reaches {self.target:g} with {all_of(reached)}."
        for name, (n, note) in needed.items():
            if n is None:
                yield "undecided", f"By {name} it takes {note} {self.unit}."

    def _needed_table(self) -> Table:
        rows: list[Row] = []
        for name, (n, note) in self.needed().items():
            gap = () if self.gaps is None else (float(self.gaps[name]),)
            segments: tuple[Cell, ...] = ()
            if self.length is not None:
                segments = (None if n is None else int(np.ceil(n * self.length)),)
            rows.append((name, *gap, n, *segments, note))
        gaps = () if self.gaps is None else (Column("difference", digits=4),)
        longs = () if self.length is None else (Column("segments"),)
        columns = (Column("what"), *gaps, Column("needed"), *longs, Column("note"))
        title = f"{self.title}: {self.unit} needed for a power of {self.target:g}"
        return Table(title, columns, tuple(rows), self.notes)

    def _power_table(self) -> Table:
        rows = tuple(
            (int(size), *(float(power[k]) for power in self.power.values()))
            for k, size in enumerate(self.sizes)
        )
        columns = (Column(self.unit), *(Column(name, digits=3) for name in self.power))
        return Table(self.title, columns, rows)


def _reached(sizes: Sequence[int], power: Floats, target: float) -> float:
    """Interpolate the size at which a power is reached on a log scale; NaN if it is not."""
    order = np.argsort(sizes)
    n, rising = np.log(np.array(sizes, dtype=float)[order]), power[order]
    above = np.flatnonzero(rising >= target)
    if not above.size:
        return float("nan")
    k = int(above[0])
    if k == 0:
        return float(np.exp(n[0]))
    share = (target - rising[k - 1]) / (rising[k] - rising[k - 1])
    return float(round(np.exp(n[k - 1] + share * (n[k] - n[k - 1])), 6))


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
    """Find how many units show the difference of two systems, from a pilot.

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
    x, codes, units = _pilot(es, score, pair, options)
    n = int(codes.max()) + 1
    sums, counts, wins = (group_sums(codes, y, n) for y in (x, np.ones_like(x), np.sign(x)))
    power: dict[str, Floats] = {test: np.zeros(len(sizes)) for test in options.tests}
    tick = steps(progress, len(sizes))
    streams = generator(rng).spawn(len(sizes))
    for k, (size, stream) in enumerate(zip(sizes, streams, strict=True)):
        for part in np.array_split(np.arange(draws), max(1, draws * n // 5_000_000)):
            drawn = draw_counts(len(part), n, stream, size)
            for test in options.tests:
                p = powers.resampled_p(test, sums, counts, wins, drawn)
                power[test][k] += (np.where(np.isnan(p), 1.0, p) <= options.alpha).sum() / draws
        tick()
    settings = {"score": score, "pair": ",".join(pair), **options.shown()}
    effect, spread = units.effect(np.stack([x, 0 * x])), float(x.std(ddof=1))
    result = _Power(
        title=f"Power to tell {pair[0]} from {pair[1]} by {score}",
        unit=many(units.name),
        sizes=sizes,
        power=power,
        target=options.target,
        length=None if units.codes is None else len(x) / n,
        notes=(effect.sentence(),),
        error={test: np.sqrt(share * (1 - share) / draws) for test, share in power.items()},
    )
    return Study(
        "power",
        **result.parts(),
        facts={
            "pilot": n,
            "difference": float(x.mean()),
            "effect": float(x.mean()) / spread if spread > 0 else float("nan"),
            "unit": effect.to_dict(),
        },
        warnings=(*es.notes, *units.warnings),
        provenance=Provenance.of("study power", settings, es.inputs, rng, options),
    )


def _pilot(
    es: EvalSet, score: str, pair: tuple[str, str], options: PowerOptions
) -> tuple[Floats, Counts, Units]:
    values = es[score].values
    for name in pair:
        if name not in es.systems:
            raise UsageError(f"no system '{name}'; {hint(name, es.systems)}")
    gap = np.subtract(*(values[es.systems.index(name)] for name in pair))
    present = ~np.isnan(gap)
    if present.sum() < 2:
        raise UsageError(f"{pair[0]} and {pair[1]} share fewer than two segments with '{score}'")
    x: Floats = gap[present]
    if options.difference is not None:
        x = x - x.mean() + options.difference
    if not x.any():
        raise UsageError(f"{pair[0]} and {pair[1]} have the same '{score}' on every segment")
    if options.unit == SYSTEM:
        raise UsageError('unit="system": two systems differ on segments or documents')
    units = units_of(es.segments, options.unit, present)
    _refuse_one(units)
    return x, _codes(units, present, len(x)), units.of(present)


def _refuse_one(units: Units) -> None:
    if units.n < 2:
        raise UsageError(f'unit="{units.name}": there is only one to draw from')


def _codes(units: Units, used: Any, n: int) -> Counts:
    codes = units.take(used)
    return np.arange(n) if codes is None else np.unique(codes, return_inverse=True)[1]


@meta_study(MetricPowerOptions)
def power_of_metrics(runs: MetaRuns, options: MetricPowerOptions) -> Study:
    """Find how many units show the difference of two metrics under a meta-metric, from a pilot.

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
    if options.metrics is not None and len(runs.data.metrics) != 2:
        raise UsageError(f"expected two metrics, found {len(runs.data.metrics)}")
    units = None if options.unit == SYSTEM else runs.units
    usual = SYSTEM_SIZES if units is None else SIZES
    sizes = tuple(usual if options.sizes is None else options.sizes)
    able, warnings = runs.resampled(SYSTEM if units is None else SEGMENT)
    effect = None
    if units is not None:
        _refuse_one(units)
        warnings += units.warnings
        effect = units.effect(runs.data.human)
    order = [r.metric for r in runs.results[0] if all(r.metric in names for names in able)]
    if len(order) < 2:
        raise UsageError("fewer than two metrics can be drawn for every meta-metric")
    pair = order[0], order[1]
    values = zip(runs.names, runs.values, strict=True)
    gaps = {name: by_metric[pair[0]] - by_metric[pair[1]] for name, by_metric in values}
    if options.difference is not None:
        gaps = dict.fromkeys(gaps, options.difference)
    errors = _errors(runs, pair, units, sizes, options.draws)
    result = _Power(
        title=f"Power to tell {pair[0]} from {pair[1]}",
        unit=many(SYSTEM if units is None else units.name),
        sizes=sizes,
        power={
            name: powers.normal_power(abs(gap), errors[name], options.alpha)
            for name, gap in gaps.items()
        },
        target=options.target,
        gaps=gaps,
        notes=() if effect is None else (effect.sentence(),),
    )
    facts: dict[str, Any] = {"differences": gaps, "errors": errors}
    return runs.study(
        "power",
        settings={"metrics": ",".join(pair), **options.shown()},
        options=options,
        **result.parts(),
        facts=facts | ({} if effect is None else {"unit": effect.to_dict()}),
        warnings=warnings,
    )


def _errors(
    runs: MetaRuns, pair: tuple[str, str], units: Units | None, sizes: Sequence[int], draws: int
) -> dict[str, Floats]:
    """Return standard errors of the difference by size; without units, systems are drawn."""
    es, judged = runs.data.es, runs.data.judged
    codes = np.zeros(0, dtype=np.int64) if units is None else _codes(units, judged, len(judged))
    n = es.n_systems if units is None else int(codes.max(initial=-1)) + 1
    errors = {name: np.full(len(sizes), np.nan) for name in runs.names}
    tick = steps(runs.progress, len(sizes))
    streams = runs.stream.spawn(len(sizes))
    for k, (size, stream) in enumerate(zip(sizes, streams, strict=True)):
        counts = draw_counts(draws, n, stream, size)
        if units is None:
            resamples = Resamples("system", systems=counts)
        else:
            segments = np.zeros((draws, es.n_segments))
            segments[:, judged] = counts[:, codes]
            resamples = Resamples("segment", segments=segments)
        for run in runs.runs:
            gap = np.subtract(*replicates(run, list(pair), resamples).T)
            gap = gap[~np.isnan(gap)]
            if len(gap) > 1:
                errors[run.meta.name][k] = gap.std(ddof=1)
        tick()
    return errors


def power_of_effect(
    effect: float,
    *,
    tests: Sequence[str] = ("t", "sign"),
    sizes: Sequence[int] | None = None,
    alpha: float = 0.05,
    target: float = 0.8,
) -> Study:
    """Find how many segments show an effect, without a pilot.

    ``effect`` is the mean difference of two systems in standard deviations of the differences of
    segments, for the t test and (with normal differences) the sign test.

    Examples
    --------
    >>> study = power_of_effect(0.1)
    >>> [(row["what"], row["needed"]) for row in study.table("needed").records()]
    [('t', 787), ('sign', 1280)]
    """
    check_number(effect=effect)
    PowerOptions(sizes=sizes, alpha=alpha, target=target)  # which checks them
    sizes = SIZES if sizes is None else sizes
    win = float(ndtr(abs(effect)))
    rules: dict[str, Callable[[int], float]] = {
        "t": lambda n: powers.t_power(abs(effect), n, alpha),
        "sign": lambda n: powers.sign_power(win, n, alpha),
    }
    chosen = as_tuple(tests=tests)
    for test in chosen:
        if test not in rules:
            raise UsageError(f"no power of test '{test}' from an effect; {hint(test, rules)}")
    result = _Power(
        title=f"Power for an effect of {effect:g}",
        unit="segments",
        sizes=sizes,
        power={test: np.array([rules[test](n) for n in sizes]) for test in chosen},
        target=target,
        exact={test: powers.needed(rules[test], target, ragged=test == "sign") for test in chosen},
    )
    settings: dict[str, Any] = {"alpha": alpha, "target": target, "effect": effect}
    return Study("power", **result.parts(), provenance=Provenance("study power", settings))
