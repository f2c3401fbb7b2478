"""What a difference of a metric is worth: how often people agree with it, by its size.

The question of section 5.2 of the SPA paper, and of Lo et al. (2023), for any data: pairs of
systems of the same set, one set or many. :mod:`steelyard.stats.curves` has the statistics. Half
of the data is held back once, and what a fit on the other half says of it is compared with what
people said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.options import check_function, keywords
from steelyard.core.provenance import InputFile, Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
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
from steelyard.studies.metrics.options import WorthOptions
from steelyard.studies.results import Curve, Line, Progress, Study, plain_line, steps

PValues = Mapping[tuple[str, str], float]
_BANDED = "80 %"  # of the differences that are needed, the one whose band a table has
_BINS = 10  # of the calibration
_SHOWN = 5  # of them that a table has
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
    """Find the chances that people agree with differences of each metric, by their size.

    Parameters
    ----------
    sets
        A set, what :func:`steelyard.load` takes, or a list of them; pairs are within one set.
    human
        The human score; may be left out if there is only one.
    groups
        The campaign of each system, where one set holds several whose systems are not compared.
    pvalues
        People's p-value (two-sided) of pairs of systems by their names, where segments do not tell.

    Other options are those of :class:`WorthOptions`.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = difference_worth(sy.demo_set(), "mqm", metrics=["learned-refA"], draws=50)
    >>> row = study.table("needed").records()[0]
    >>> row["metric"], row["pairs"], row["80 %"] < row["90 %"]
    ('learned-refA', 66, True)
    """
    check_function(optional=True, progress=progress)
    given = _opened(sets, human, options, groups, pvalues)
    pairs, told = given.pairs, list(given.warnings)
    able = []
    for name in pairs.metrics:
        why = pairs.why_too_few(name)
        able += [name] if why is None else []
        told += [] if why is None else [f"'{name}': what a difference is worth is not known: {why}"]
    if not able:
        raise UsageError(f"no metric to measure: {told[-1]}" if told else "no metric to measure")
    bands, split = generator(rng).spawn(2)
    halves, without = _halves(pairs, split)
    tick = steps(progress, len(able))
    found: list[AgreementCurve] = []
    checked: dict[str, dict[str, Calibration]] = {}
    # Every metric sees the same draws: a stream of its own would hang on which others there are.
    states = [stream.bit_generator.state for stream in (bands, split)]
    for name in able:
        bands.bit_generator.state, split.bit_generator.state = states
        found.append(agreement_curve(pairs, name, bands, draws=options.draws, alpha=options.alpha,
                             at=options.at))  # fmt: skip
        if halves is not None:
            checked |= _checked(pairs, name, halves, split)
        tick()
    for one in found:
        beyond = [f"{x:g}" for x in options.at or () if x > one.x[-1]]
        if beyond:
            what = f"no pair of systems differs by {', '.join(beyond)} or more"
            told.append(f"'{one.metric}': {what}: nothing is said of such differences")
    told += [f"calibration is not checked: {without}"] if without else []
    shown = {"human": given.human, "alpha": options.alpha, "draws": options.draws}
    return Study(
        name="worth",
        parts={
            "needed": _needed_table(found, given.human),
            **({"calibration": _calibration_table(checked)} if checked else {}),
            "worth": _worth_table(found, options.alpha),
        },
        curves=tuple(_curve(one) for one in found),
        facts={
            "human": given.human,
            "n_sets": len(np.unique(pairs.sets)),
            "n_pairs": len(pairs.human),
            "human_ties": int((pairs.human == 0).sum()),
            "worth": [one.to_dict() for one in found],
            "calibration": {name: _bins(both) for name, both in checked.items()},
        },
        warnings=tuple(dict.fromkeys(told)),
        provenance=Provenance.of("study worth", shown, given.inputs, rng, options),
    )


@dataclass(frozen=True, slots=True)
class _Given:
    """SystemPairs of all sets, and what is to be said of them."""

    human: str
    pairs: SystemPairs
    warnings: tuple[str, ...]
    inputs: tuple[InputFile, ...]


def _opened(
    sets: Source | Sequence[Source],
    human: str | None,
    options: WorthOptions,
    groups: Mapping[str, str] | None,
    pvalues: PValues | None,
) -> _Given:
    listed = list(sets) if isinstance(sets, (list, tuple)) else [sets]
    if not listed:
        raise UsageError("there is no set")
    opened = [as_evalset(one, human, options.unit) for one in listed]
    gold = the_human(opened[0], human)
    # Sets are drawn by their places, which are the same in whatever order they were given.
    opened.sort(key=lambda es: (es.name or "", es.systems, es[gold].system_means().tobytes()))
    parts: list[SystemPairs] = []
    told: list[str] = []
    for es in opened:
        names = the_metrics(es, gold, options.metrics)
        part = system_pairs(es, gold, names, groups=groups, unit=options.unit)
        parts.append(part if pvalues is None else with_pvalues(part, es, pvalues))
        told += es.notes
    pairs = SystemPairs.joined(parts)
    if not len(pairs.human):
        raise UsageError(f"no two systems of a set have a '{gold}' score")
    if np.isnan(pairs.p).all():
        told.append(f"'{gold}' has system scores only: how often it is significant is not known")
    ties = int((pairs.human == 0).sum())
    if ties:
        told.append(f"{plural(ties, 'pair')} of systems that people tie count as half agreed with")
    return _Given(gold, pairs, tuple(told), tuple(file for es in opened for file in es.inputs))


def with_pvalues(pairs: SystemPairs, es: EvalSet, known: PValues) -> SystemPairs:
    """Take people's p-values from a list of pairs, in whatever order their names stand."""
    names = es.systems
    both = {frozenset(pair): p for pair, p in known.items()}
    p = [
        both.get(frozenset((names[i], names[j])), np.nan)
        for i, j in zip(pairs.first, pairs.second, strict=True)
    ]
    return replace(pairs, p=np.array(p))


def _halves(pairs: SystemPairs, rng: np.random.Generator) -> tuple[Floats | None, str | None]:
    """Split sets, or systems where there are few sets, at random: which half each pair is of.

    A pair of systems of different halves is of none (NaN).
    """
    sets = np.unique(pairs.sets, return_inverse=True)[1]
    if int(sets.max()) + 1 >= LEAST_SETS:
        half = (rng.permutation(int(sets.max()) + 1) % 2).astype(np.float64)[sets]
    else:
        n = int(max(pairs.first.max(), pairs.second.max())) + 1
        of = (rng.permutation(n) % 2).astype(np.float64)
        one, two = of[pairs.first], of[pairs.second]
        half = np.where(one == two, one, np.nan)
    least = min(int((half == k).sum()) for k in (0, 1))
    if least < _LEAST:
        return None, f"half of the data has {plural(least, 'pair')}, and it takes {_LEAST}"
    return half, None


def _checked(
    pairs: SystemPairs, metric: str, halves: Floats, rng: np.random.Generator
) -> dict[str, dict[str, Calibration]]:
    """Fit on one half of the pairs, and compare with what people said on the other."""
    fit, check = (pairs.where(halves == k).with_difference(metric) for k in (0, 1))
    if min(len(fit.human), len(check.human)) < _LEAST:
        return {}
    sizes, y = np.abs(fit.metrics[metric]), agreements(fit.metrics[metric], fit.human)
    cells = Cells.of(sizes)
    sums = cells.sums(np.ones((1, len(y))), y)
    asked = np.abs(check.metrics[metric])
    outcome = agreements(check.metrics[metric], check.human)
    said = {
        "smooth": fit_smooth(cells.x, *sums).at(asked)[0],
        "monotone": np.interp(asked, cells.x, monotone(*np.concatenate(sums))),
    }
    bins = min(_BINS, len(outcome) // 5)
    return {metric: {kind: calibration(p, outcome, rng, bins=bins) for kind, p in said.items()}}


def _bins(both: Mapping[str, Calibration]) -> dict[str, Any]:
    return {
        kind: {
            "error": one.error,
            "by_chance": one.by_chance,
            "bins": [
                {"said": float(predicted), "seen": float(observed), "n": int(n)}
                for predicted, observed, n in zip(one.predicted, one.observed, one.n, strict=True)
            ],
        }
        for kind, one in both.items()
    }


def _needed_table(found: Sequence[AgreementCurve], human: str) -> Table:
    heads = [f"{100 * target:.0f} %" for target in TARGETS]
    columns = [Column("metric"), Column("pairs"), Column("sets"), Column("agree", digits=3)]
    for head in heads:
        columns += [Column(head, mixed=True)]
        if head == _BANDED:
            columns += [Column(end, mixed=True, key=f"{head} {end}") for end in ("low", "high")]
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        row: list[Cell] = [one.metric, one.n_pairs, one.n_sets, one.accuracy]
        for head, ends in zip(heads, one.needed.values(), strict=True):
            shown = [None if np.isnan(x) else float(f"{x:.3g}") for x in ends]
            row += shown if head == _BANDED else shown[:1]
        rows.append(tuple(row))
    notes = (
        f"agree: share of all pairs that {human} orders as the metric does",
        "60 % to 95 %: the difference with which people agree in so many pairs (smooth curve)",
        "missing: no difference that was seen is agreed with so often",
    )
    return Table("How large a difference has to be", tuple(columns), tuple(rows), notes)


def _calibration_table(checked: Mapping[str, Mapping[str, Calibration]]) -> Table:
    columns = [Column("metric"), Column("pairs")]
    columns += [Column(name, digits=3) for name in ("error", "by chance", "monotone")]
    for k in range(_SHOWN):
        columns += [Column(head, digits=2, key=f"{head} {k + 1}") for head in ("said", "seen")]
    rows: list[tuple[Cell, ...]] = []
    for metric, both in checked.items():
        one = both["smooth"]
        row: list[Cell] = [metric, int(one.n.sum()), one.error, one.by_chance]
        row.append(both["monotone"].error)
        for part in np.array_split(np.arange(len(one.n)), _SHOWN):
            n = one.n[part].sum()
            row += [
                float((share[part] * one.n[part]).sum() / n) if n else None
                for share in (one.predicted, one.observed)
            ]
        rows.append(tuple(row))
    notes = (
        "fitted on half of the data, checked on the other: mean distance of what was said and seen",
        "by chance: what it would be if the smooth curve were right; monotone: that of this curve",
        "said, seen: chance of agreement and share of agreement, from small to large differences",
    )
    return Table("Calibration", tuple(columns), tuple(rows), notes)


def _worth_table(found: Sequence[AgreementCurve], alpha: float) -> Table:
    columns = [Column("metric"), Column("difference", mixed=True)]
    heads = ("agree", "low", "high", "monotone", "significant")
    columns += [Column(name, digits=3) for name in heads]
    columns += [Column(end, digits=3, key=f"significant {end}") for end in ("low", "high")]
    rows: list[tuple[Cell, ...]] = []
    opens = []
    for one in found:
        opens.append(len(rows))
        for k, x in enumerate(one.x):
            rows.append((one.metric, float(x), *(float(getattr(one, name)[k]) for name in CURVES)))
    drawn = "sets" if found[0].n_sets >= LEAST_SETS else "systems"
    notes = (
        f"agree: chance that people agree with it; low, high: 95 % band over resampled {drawn}",
        "monotone: the same without a formula, only never falling; people's ties count half",
        f"significant: chance that people agree, and their own p is at most {alpha:g}",
    )
    title = "What a difference is worth"
    return Table(title, tuple(columns), tuple(rows), notes, frozenset(opens[1:]))


def _curve(one: AgreementCurve) -> Curve:
    n = (one.n_pairs,) * len(one.x)
    lines = [Line("agree", one.agree, one.low, one.high, n)]
    lines.append(plain_line("agree, monotone", one.monotone, one.n_pairs))
    if not np.isnan(one.significant).all():
        ends = one.significant_low, one.significant_high
        lines.append(Line("significant", one.significant, *ends, n))
    x = tuple(float(x) for x in one.x)
    return Curve(one.metric, one.metric, "difference", "chance", x, tuple(lines))
