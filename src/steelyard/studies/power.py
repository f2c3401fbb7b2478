"""How many segments, documents or systems it takes to find a difference.

From a pilot: units are drawn with replacement, as many as are asked for, and the share of draws in
which a test finds the difference of two systems is its power; the difference of two metrics under a
meta-metric has the spread that it has between draws, and power follows from that. From assumptions:
power of the t and the sign test for an effect, of Williams' test for three correlations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr

from steelyard.core import bounds
from steelyard.core.errors import UsageError, hint
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
from steelyard.studies.metaruns import DEFAULT, By, MetaRuns, open_runs
from steelyard.studies.study import Curve, Line, Progress, Study

TESTS = ("t", "permutation", "sign")
SIZES = (50, 100, 200, 400, 800, 1600, 3200, 6400)
SYSTEM_SIZES = (5, 8, 12, 20, 30, 50, 80)
UNITS = {"segment": "segments", "document": "documents", "system": "systems"}


def power_of_test(  # noqa: PLR0913 - every option has a default
    es: Source,
    score: str,
    pair: tuple[str, str],
    *,
    tests: Sequence[str] = TESTS,
    unit: str = "segment",
    difference: float | None = None,
    sizes: Sequence[int] = SIZES,
    draws: int = 2000,
    alpha: float = 0.05,
    target: float = 0.8,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Find how many units tell two systems apart, from a pilot.

    Parameters
    ----------
    es, score, pair
        The pilot, a score, and two of its systems.
    tests
        ``t``, ``permutation`` or ``sign``, all two-sided and paired.
    unit
        ``segment`` or ``document``: what is drawn, and what the tests see (sums over documents).
    difference
        The mean difference per segment to be found; by default that of the pilot.
    sizes, draws
        Numbers of units, and draws of each.
    alpha, target
        Level of the tests; the power that is wanted.

    Examples
    --------
    >>> import steelyard as sy
    >>> es = sy.demo_set()
    >>> study = power_of_test(es, "learned-refA", es.systems[:2], sizes=[100, 400], draws=200)
    >>> [row["segments"] for row in study.table("power").records()]
    [100, 400]
    """
    es = as_evalset(es)
    _check(sizes, draws, alpha, target, difference, progress)
    bounds.pair(pair=pair)
    bounds.text(score=score)
    tests = bounds.listed(tests=tests)
    check_rng(rng)
    for test in tests:
        if test not in TESTS:
            raise UsageError(f"no power of test '{test}'; {hint(test, TESTS)}")
    x = _differences(es, score, pair, unit, difference)
    found: dict[str, Floats] = {test: np.zeros(len(sizes)) for test in tests}
    for k, (size, own) in enumerate(zip(sizes, generator(rng).spawn(len(sizes)), strict=True)):
        for part in np.array_split(np.arange(draws), max(1, draws * len(x) // 5_000_000)):
            counts = draw_counts(len(part), len(x), own, size)
            for test in tests:
                p = powers.resampled_p(test, x, counts)
                found[test][k] += (np.where(np.isnan(p), 1.0, p) <= alpha).sum() / draws
        if progress is not None:
            progress(k + 1, len(sizes))
    shown = float(x.mean()) if unit == "segment" else None
    settings = {
        "score": score, "pair": ",".join(pair), "unit": unit, "alpha": alpha, "draws": draws,
        "difference": "pilot" if difference is None else difference,
    }  # fmt: skip
    title = f"Power to tell {pair[0]} from {pair[1]} by {score}"
    spread = {test: np.sqrt(own * (1 - own) / draws) for test, own in found.items()}
    facts = {"pilot": len(x), "difference": shown, "effect": _effect(x)}
    return _study(title, UNITS[unit], sizes, found, spread, target, facts,
                  Provenance.of("study power", settings, es.inputs, rng),
                  warnings=es.notes)  # fmt: skip


def power_of_metrics(  # noqa: PLR0913 - every option has a default
    es: Source,
    human: str | None = None,
    *,
    by: By = DEFAULT,
    metrics: Sequence[str] | None = None,
    unit: str = "segment",
    difference: float | None = None,
    sizes: Sequence[int] | None = None,
    draws: int = 1000,
    alpha: float = 0.05,
    target: float = 0.8,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Find how many units tell two metrics apart under a meta-metric, from a pilot.

    Parameters
    ----------
    es, human, by
        See :func:`~steelyard.metaevaluation.run.meta_evaluate`.
    metrics
        Two metrics; by default the two best by the first meta-metric.
    unit
        What is drawn: ``segment``, ``document`` or ``system``.
    difference
        The difference of values to be found; by default that of the pilot under each meta-metric.
    sizes, draws, alpha, target
        See :func:`power_of_test`. The test is two-sided and normal, with the spread of the
        difference between draws for its error.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = power_of_metrics(sy.demo_set(), "mqm", by="spa", sizes=[100, 400], draws=100,
    ...                          metrics=["learned-refA", "random-src"])
    >>> study.table("needed").records()[0]["difference"] > 0.3
    True
    """
    bounds.choice(UNITS, unit=unit)
    usual = SYSTEM_SIZES if unit == "system" else SIZES
    chosen = usual if sizes is None else sizes
    _check(chosen, draws, alpha, target, difference, progress)
    chosen, stream = tuple(chosen), generator(rng)
    bounds.names(optional=True, metrics=metrics)
    if metrics is not None and len(set(metrics)) != 2:
        raise UsageError(f"expected two metrics, found {len(set(metrics))}")
    runs = open_runs(es, human, by, metrics)
    kind = "system" if unit == "system" else "segment"
    able = runs.resampled(kind)
    pair = _pair(runs, able)
    gaps, errors = _errors(runs, pair, unit, chosen, draws, stream, progress)
    if difference is not None:
        gaps = dict.fromkeys(gaps, difference)
    found = {name: powers.normal_power(abs(gaps[name]), errors[name], alpha) for name in gaps}
    settings = {"metrics": ",".join(pair), "unit": unit, "alpha": alpha, "draws": draws,
                "difference": "pilot" if difference is None else difference}  # fmt: skip
    facts = {"differences": gaps, "errors": errors}
    title = f"Power to tell {pair[0]} from {pair[1]}"
    return _study(title, UNITS[unit], chosen, found, {}, target, facts,
                  runs.provenance("power", settings, rng),
                  warnings=runs.found_warnings(), gaps=gaps)  # fmt: skip


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
    _check((2,) if sizes is None else sizes, 1, alpha, target)
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
    return _study(title, unit, chosen, found, {}, target, {}, Provenance("study power", settings),
                  exact=exact)  # fmt: skip


def _check(
    sizes: Sequence[int],
    draws: int,
    alpha: float,
    target: float,
    difference: float | None = None,
    progress: Progress | None = None,
) -> None:
    bounds.wholes(2, sizes=sizes)
    bounds.whole(1, draws=draws)
    bounds.fraction(alpha=alpha, target=target)
    bounds.number(optional=True, difference=difference)
    bounds.function(optional=True, progress=progress)


def _differences(
    es: EvalSet, score: str, pair: tuple[str, str], unit: str, difference: float | None
) -> Floats:
    """Differences of the two systems, one per unit, with the mean that is asked for."""
    values = es[score].values
    rows = []
    for name in pair:
        if name not in es.systems:
            raise UsageError(f"no system '{name}'; {hint(name, es.systems)}")
        rows.append(values[es.systems.index(name)])
    gap = rows[0] - rows[1]
    known = ~np.isnan(gap)
    if known.sum() < 2:
        raise UsageError(f"{pair[0]} and {pair[1]} share fewer than two segments with '{score}'")
    x: Floats = gap[known]
    if difference is not None:
        x = x - x.mean() + difference
    if not x.any():
        raise UsageError(f"{pair[0]} and {pair[1]} have the same '{score}' on every segment")
    if unit == "segment":
        return x
    if unit != "document":
        raise UsageError(f"unit '{unit}': two systems differ on segments or documents")
    codes = _documents(es)[known]
    return group_sums(np.unique(codes, return_inverse=True)[1], x, len(np.unique(codes)))


def _documents(es: EvalSet) -> Counts:
    codes = es.segments.document_codes()
    if codes is None:
        raise UsageError('unit="document": the documents of the segments are not known')
    return codes


def _effect(x: Floats) -> float:
    spread = float(x.std(ddof=1))
    return float(x.mean()) / spread if spread > 0 else float("nan")


def _pair(runs: MetaRuns, able: Sequence[Sequence[str]]) -> tuple[str, str]:
    """Choose two metrics that every meta-metric can resample, the better one first."""
    order = [r.metric for r in runs.results[0] if all(r.metric in names for names in able)]
    if len(order) < 2:
        raise UsageError("fewer than two metrics can be drawn for every meta-metric")
    return order[0], order[1]


def _errors(
    runs: MetaRuns,
    pair: tuple[str, str],
    unit: str,
    sizes: Sequence[int],
    draws: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> tuple[dict[str, float], dict[str, Floats]]:
    """Difference of two metrics under each meta-metric, and its standard error by size."""
    es = runs.data.es
    gaps = {}
    for run, results in zip(runs.runs, runs.results, strict=True):
        values = {r.metric: r.value for r in results}
        gaps[run.meta.name] = values[pair[0]] - values[pair[1]]
    judged = runs.judged
    codes = np.arange(len(judged))
    if unit == "document":
        codes = np.unique(_documents(es)[judged], return_inverse=True)[1]
    n_units = es.n_systems if unit == "system" else int(codes.max(initial=-1)) + 1
    errors = {name: np.full(len(sizes), np.nan) for name in gaps}
    for k, (size, own) in enumerate(zip(sizes, rng.spawn(len(sizes)), strict=True)):
        counts = draw_counts(draws, n_units, own, size)
        if unit == "system":
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
        if progress is not None:
            progress(k + 1, len(sizes))
    return gaps, errors


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


def _study(  # noqa: PLR0913 - all of it is shown
    title: str,
    unit: str,
    sizes: Sequence[int],
    found: Mapping[str, Floats],
    spread: Mapping[str, Floats],
    target: float,
    facts: Mapping[str, Any],
    provenance: Provenance,
    *,
    warnings: Sequence[str] = (),
    gaps: Mapping[str, float] | None = None,
    exact: Mapping[str, int | None] | None = None,
) -> Study:
    rows: list[tuple[Cell, ...]] = []
    for name, own in found.items():
        size = _reached(sizes, own, target)
        value: Cell = None if np.isnan(size) else int(np.ceil(size - 1e-9))
        note = f"more than {max(sizes)}" if value is None else ""
        if own[int(np.argmin(sizes))] >= target:
            note = f"at most {value}"  # the first size is enough: fewer may be, too
        if exact is not None:
            value, note = exact[name], "" if exact[name] is not None else f"over {powers.MOST:,}"
        gap = () if gaps is None else (float(gaps[name]),)
        rows.append((name, *gap, value, note))
    head = [Column("what"), *([Column("difference", digits=4)] if gaps is not None else [])]
    needed = Table(f"{title}: {unit} needed for a power of {target:g}",
                   (*head, Column("needed"), Column("note")), tuple(rows))  # fmt: skip
    cells = tuple((int(size), *(float(own[k]) for own in found.values()))
                  for k, size in enumerate(sizes))  # fmt: skip
    columns = (Column(unit), *(Column(name, digits=3) for name in found))
    lines = tuple(_line(name, own, spread.get(name)) for name, own in found.items())
    curve = Curve("power", title, unit, "power", tuple(sizes), lines)
    tables = {"needed": needed, "power": Table(title, columns, cells)}
    return Study("power", tables, (curve,), facts, tuple(warnings), provenance)


def _line(name: str, own: Floats, spread: Floats | None) -> Line:
    half = np.full(len(own), np.nan) if spread is None else 1.96 * spread
    return Line(name, own, own - half, own + half, (1,) * len(own))
