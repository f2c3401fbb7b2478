"""How often people agree with a difference of a metric, by its size.

The question of section 5.2 of the SPA paper, and of Lo et al. (2023), for pairs of systems of one
set or many. A fit on half of the data is checked on the other half (:mod:`steelyard.stats.curves`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.options import check_function, keywords
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import all_of, plural
from steelyard.core.warnings import TypedWarning
from steelyard.data.evalset import EvalSet
from steelyard.formats import tables
from steelyard.formats.load import Source, as_evalset
from steelyard.metaevaluation.data import system_pairs, the_human, the_metrics
from steelyard.stats.arrays import Floats
from steelyard.stats.curves import (
    CURVES,
    LEAST_SETS,
    TARGETS,
    AgreementCurve,
    Calibration,
    Cells,
    SystemPairs,
    agreement_curve,
    agreements,
    calibration,
    fit_smooth,
    monotone,
)
from steelyard.studies.options import WorthOptions
from steelyard.studies.study import Curve, Line, Progress, Row, Study, plain_line, steps

PValues = Mapping[tuple[str, str], float]
_TARGET = 0.8  # the chance that sentences are about, whose band the table shows
_BINS = 10  # of the calibration
_LEAST = 10  # pairs in each half, below which nothing is checked


@keywords(WorthOptions)
def difference_worth(
    sets: Source | Sequence[Source],
    human: str | None = None,
    *,
    options: WorthOptions,
    groups: Mapping[str, str] | None = None,
    pvalues: PValues | None = None,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Measure how often people agree with differences of each metric, by their size.

    Parameters
    ----------
    sets
        A set, what :func:`steelyard.load` takes, or a list of them; pairs are within one set.
    human
        The human score; may be left out if there is only one.
    groups
        The campaign of each system, where one set holds several whose systems are not compared.
    pvalues
        People's p-value (two-sided) of pairs of systems, where there are no segments to test.

    Other options are those of :class:`WorthOptions`.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = difference_worth(sy.demo_set(), "mqm", metrics=["learned-refA"], draws=50)
    >>> row = study.table("needed").records()[0]
    >>> row["metric"], row["pairs"], row["80%"] < row["90%"]
    ('learned-refA', 66, True)
    """
    check_function(optional=True, progress=progress)
    opened, gold = _opened(sets, human, options)
    pairs, warnings = _pairs(opened, gold, options, groups, pvalues)
    reasons = {name: pairs.why_too_few(name) for name in pairs.metrics}
    texts = [f"'{name}' is not measured: {why}" for name, why in reasons.items() if why]
    warnings += [TypedWarning(text, "too-few") for text in texts]
    able = [name for name, why in reasons.items() if why is None]
    if not able:
        raise UsageError(f"no metric to measure: {warnings[-1]}" if warnings else "no metric")
    bands, split = generator(rng).spawn(2)
    halves, reason = _halves(pairs, split)
    warnings += [f"calibration is not checked: {reason}"] if reason else []
    tick = steps(progress, len(able))
    curves: list[AgreementCurve] = []
    checks: dict[str, dict[str, Calibration]] = {}
    # Every metric sees the same draws: a stream of its own would hang on which others there are.
    states = [stream.bit_generator.state for stream in (bands, split)]
    for name in able:
        bands.bit_generator.state, split.bit_generator.state = states
        curve = agreement_curve(
            pairs, name, bands, draws=options.draws, alpha=options.alpha, at=options.at
        )
        curves.append(curve)
        beyond = [f"{x:g}" for x in options.at or () if x > curve.x[-1]]
        if beyond:
            text = f"'{name}': no pair of systems differs by {', '.join(beyond)} or more"
            warnings.append(TypedWarning(text, "beyond"))
        check = None if halves is None else _check(pairs, name, halves, split)
        checks |= {} if check is None else {name: check}
        tick()
    settings = {"human": gold, "alpha": options.alpha, "draws": options.draws}
    inputs = tuple(file for es in opened for file in es.inputs)
    return Study(
        "worth",
        {
            "needed": _needed(curves, gold),
            **({"calibration": _calibration(checks)} if checks else {}),
            "worth": _worth(curves, options.alpha),
        },
        sentences=tuple(_sentences(curves)),
        curves=tuple(map(_curve, curves)),
        facts={
            "human": gold,
            "n_sets": len(np.unique(pairs.sets)),
            "n_pairs": len(pairs.human),
            "human_ties": int((pairs.human == 0).sum()),
            "worth": [curve.to_dict() for curve in curves],
            "calibration": {name: _bins(check) for name, check in checks.items()},
        },
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("study worth", settings, inputs, rng, options),
    )


def _opened(
    sets: Source | Sequence[Source], human: str | None, options: WorthOptions
) -> tuple[list[EvalSet], str]:
    """Load the sets, in an order that does not depend on that of the input."""
    sources = list(sets) if isinstance(sets, (list, tuple)) else [sets]
    if not sources:
        raise UsageError("there is no set")
    opened = [as_evalset(source, human, options.unit) for source in sources]
    gold = the_human(opened[0], human)
    opened.sort(key=lambda es: (es.name or "", es.systems, es[gold].system_means().tobytes()))
    return opened, gold


def _pairs(
    opened: Sequence[EvalSet],
    gold: str,
    options: WorthOptions,
    groups: Mapping[str, str] | None,
    pvalues: PValues | None,
) -> tuple[SystemPairs, list[str]]:
    parts: list[SystemPairs] = []
    for es in opened:
        names = the_metrics(es, gold, options.metrics)
        part = system_pairs(es, gold, names, groups=groups, unit=options.unit)
        parts.append(part if pvalues is None else with_pvalues(part, es, pvalues))
    pairs = SystemPairs.joined(parts)
    if not len(pairs.human):
        raise UsageError(f"no two systems of a set have a '{gold}' score")
    warnings = [note for es in opened for note in es.notes]
    if np.isnan(pairs.p).all():
        warnings.append(f"'{gold}' has system scores only: its significance is unknown")
    ties = int((pairs.human == 0).sum())
    if ties:
        warnings.append(f"{plural(ties, 'pair')} of systems that people tie count as half agreed")
    return pairs, warnings


def with_pvalues(pairs: SystemPairs, es: EvalSet, pvalues: PValues) -> SystemPairs:
    """Take people's p-values from a list of pairs, whichever system of a pair comes first."""
    by_pair = {frozenset(pair): p for pair, p in pvalues.items()}
    p = [
        by_pair.get(frozenset((es.systems[i], es.systems[j])), np.nan)
        for i, j in zip(pairs.first, pairs.second, strict=True)
    ]
    return replace(pairs, p=np.array(p))


def read_pair_pvalues(path: str | Path) -> dict[tuple[str, str], float]:
    """Read the p-value of each pair of systems: columns ``a``, ``b`` and ``p`` (or ``..._p``)."""
    table = tables.read(Path(path), is_text=("a", "b").__contains__)
    numbers = [name for name in table.columns if name == "p" or name.endswith("_p")]
    if not {"a", "b"} <= set(table.columns) or len(numbers) != 1:
        table.fail(f"expected columns a, b and p, found: {', '.join(table.columns)}")
    pvalues: dict[tuple[str, str], float] = {}
    columns = table.labels("a"), table.labels("b"), table.numbers(numbers[0])
    for row, (a, b, p) in enumerate(zip(*columns, strict=True)):
        if not (np.isnan(p) or 0 <= p <= 1):
            table.fail(f"{numbers[0]} is {p:g}, expected a number from 0 to 1", row)
        if (a, b) in pvalues or (b, a) in pvalues:
            table.fail(f"'{a}' and '{b}' stand in an earlier row already", row)
        pvalues[a, b] = float(p)
    return pvalues


def _halves(pairs: SystemPairs, rng: np.random.Generator) -> tuple[Floats | None, str]:
    """Split sets, or systems where there are few sets; NaN for pairs across the halves."""
    sets = np.unique(pairs.sets, return_inverse=True)[1]
    n_sets = int(sets.max()) + 1
    if n_sets >= LEAST_SETS:
        half = (rng.permutation(n_sets) % 2).astype(np.float64)[sets]
    else:
        n = int(max(pairs.first.max(), pairs.second.max())) + 1
        of_system = (rng.permutation(n) % 2).astype(np.float64)
        first, second = of_system[pairs.first], of_system[pairs.second]
        half = np.where(first == second, first, np.nan)
    least = min(int((half == k).sum()) for k in (0, 1))
    if least < _LEAST:
        return None, f"half of the data has {plural(least, 'pair')}, and it takes {_LEAST}"
    return half, ""


def _check(
    pairs: SystemPairs, metric: str, halves: Floats, rng: np.random.Generator
) -> dict[str, Calibration] | None:
    """Fit both curves on one half of the pairs, and compare them with people on the other."""
    fit, held = (pairs.where(halves == k).with_difference(metric) for k in (0, 1))
    if min(len(fit.human), len(held.human)) < _LEAST:
        return None
    x, y = fit.metrics[metric], agreements(fit.metrics[metric], fit.human)
    cells = Cells.of(np.abs(x))
    sums = cells.sums(np.ones((1, len(y))), y)
    sizes = np.abs(held.metrics[metric])
    outcome = agreements(held.metrics[metric], held.human)
    chances = {
        "smooth": fit_smooth(cells.x, *sums).at(sizes)[0],
        "monotone": np.interp(sizes, cells.x, monotone(*np.concatenate(sums))),
    }
    bins = min(_BINS, len(outcome) // 5)
    return {kind: calibration(p, outcome, rng, bins=bins) for kind, p in chances.items()}


def _bins(check: Mapping[str, Calibration]) -> dict[str, Any]:
    bins = {}
    for kind, part in check.items():
        rows = zip(part.predicted, part.observed, part.n.tolist(), strict=True)
        parts = [{"said": float(p), "seen": float(seen), "n": n} for p, seen, n in rows]
        bins[kind] = {"error": part.error, "by_chance": part.by_chance, "bins": parts}
    return bins


def _sentences(curves: Sequence[AgreementCurve]) -> Any:
    reached = [curve for curve in curves if not np.isnan(curve.needed[_TARGET][0])]
    if reached:
        best = max(reached, key=lambda curve: (round(curve.accuracy, 3), curve.metric))
        text = f"People agree with a difference of {best.needed[_TARGET][0]:.3g} {best.metric}"
        order = f"it orders {100 * best.accuracy:.0f}% of all pairs as people do"
        yield "settled", f"{text} in {100 * _TARGET:.0f}% of pairs; {order}."
    others = [curve.metric for curve in curves if curve not in reached]
    if others:
        yield "undecided", f"No observed difference of {all_of(others)} is agreed with so often."


def _needed(curves: Sequence[AgreementCurve], human: str) -> Table:
    columns = [Column("metric"), Column("pairs"), Column("sets"), Column("agree", digits=3)]
    for target in TARGETS:
        head = f"{100 * target:.0f}%"
        columns.append(Column(head, mixed=True))
        if target == _TARGET:
            columns += [Column(end, mixed=True, key=f"{head} {end}") for end in ("low", "high")]
    rows: list[Row] = []
    for curve in curves:
        row: list[Cell] = [curve.metric, curve.n_pairs, curve.n_sets, curve.accuracy]
        for target, ends in curve.needed.items():
            shown = [None if np.isnan(x) else float(f"{x:.3g}") for x in ends]
            row += shown if target == _TARGET else shown[:1]
        rows.append(tuple(row))
    notes = (
        f"agree: share of all pairs that {human} orders as the metric does",
        "60% to 95%: the difference that people agree with in so many pairs (smooth curve)",
        "missing: no difference in the data is agreed with so often",
    )
    return Table("How large a difference has to be", tuple(columns), tuple(rows), notes)


def _calibration(checks: Mapping[str, Mapping[str, Calibration]]) -> Table:
    columns = [Column("metric"), Column("pairs")]
    columns += [Column(name, digits=3) for name in ("error", "by chance", "monotone")]
    rows: list[Row] = []
    for metric, check in checks.items():
        part, other = check["smooth"], check["monotone"]
        rows.append((metric, int(part.n.sum()), part.error, part.by_chance, other.error))
    notes = (
        "error: mean distance of predicted and observed agreement, fitted on half of the data",
        "by chance: the same if the smooth curve were right; monotone: that of this curve",
    )
    return Table("Calibration", tuple(columns), tuple(rows), notes)


def _worth(curves: Sequence[AgreementCurve], alpha: float) -> Table:
    columns = [Column("metric"), Column("difference", mixed=True)]
    heads = ("agree", "low", "high", "monotone", "significant")
    columns += [Column(name, digits=3) for name in heads]
    columns += [Column(end, digits=3, key=f"significant {end}") for end in ("low", "high")]
    rows: tuple[Row, ...] = tuple(
        (curve.metric, float(x), *(float(getattr(curve, name)[k]) for name in CURVES))
        for curve in curves
        for k, x in enumerate(curve.x)
    )
    rules = frozenset(np.cumsum([len(curve.x) for curve in curves])[:-1].tolist())
    drawn = "sets" if curves[0].n_sets >= LEAST_SETS else "systems"
    notes = (
        f"agree: chance that people agree; low, high: 95% band over resampled {drawn}",
        "monotone: the same without a formula, only never falling; people's ties count half",
        f"significant: chance that people agree with p <= {alpha:g}",
    )
    return Table("What a difference is worth", tuple(columns), rows, notes, rules)


def _curve(curve: AgreementCurve) -> Curve:
    n = (curve.n_pairs,) * len(curve.x)
    lines = [Line("agree", curve.agree, curve.low, curve.high, n)]
    lines.append(plain_line("agree, monotone", curve.monotone, curve.n_pairs))
    if not np.isnan(curve.significant).all():
        ends = curve.significant_low, curve.significant_high
        lines.append(Line("significant", curve.significant, *ends, n))
    x = tuple(float(x) for x in curve.x)
    return Curve(curve.metric, curve.metric, "difference", "chance", x, tuple(lines))
