"""How the order of metrics depends on what is a tie, and on what a tie is worth.

The experiment that the better-metric-evaluation paper asks for, on any data: pairs of outputs are
tied by people if their scores differ by less than a threshold, and by a metric if they differ by
less than another; each matrix of Kendall's family says what ties are worth. Which pairs are kept,
which of them are identical texts, and which metrics change places?
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.comparison.options import check_named
from steelyard.core.errors import UsageError
from steelyard.core.options import check_function, keywords
from steelyard.core.provenance import InputFile, Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.selection import chosen_metrics
from steelyard.data.units import AUTO
from steelyard.formats.load import Source, as_evalset
from steelyard.human.darr import (
    Pairs,
    identical_table,
    of_pairs,
    of_ratings,
    pairs_of_scores,
    tie_threshold,
)
from steelyard.human.mqm import values_of
from steelyard.metaevaluation.data import the_human
from steelyard.stats.arrays import Floats
from steelyard.stats.kendall.counting import KENDALL, matrix, threshold_counts
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.studies.metrics.options import TiesOptions
from steelyard.studies.metrics.tietests import compare_on_pairs, interval_table
from steelyard.studies.results import Curve, Progress, Study, plain_line, steps

PERCENT = (0.0, 1.0, 5.0, 10.0, 25.0, 50.0)  # thresholds for scores from 0 to 100
_WIDE = 50.0  # a span of human scores from which they count as percent


@dataclass(frozen=True, slots=True)
class _Settings:
    matrices: tuple[str, ...]
    thresholds: tuple[float, ...]
    epsilons: tuple[float, ...]
    threshold: float

    @property
    def base(self) -> tuple[int, int, int]:
        """Places of the setting that others are compared with."""
        return 0, 0, self.thresholds.index(self.threshold)


@keywords(TiesOptions)
def vary_ties(
    data: Source | Pairs,
    human: str | None = None,
    *,
    options: TiesOptions,
    inputs: tuple[InputFile, ...] = (),
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Rank metrics under all matrices, human thresholds and metric thresholds.

    ``data`` is a set with a human score of segments, or pairs of outputs that people decided. Names
    of matrices are those of :data:`steelyard.stats.kendall.counting.KENDALL`, and the first is what
    others are compared with. At ``threshold``, values have intervals, and metrics are tested
    against each other. See :class:`TiesOptions`.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = vary_ties(sy.demo_set(), "da", metrics=["learned-refA", "judge-1to5-src"])
    >>> [row["threshold"] for row in study.table("pairs").records()]
    [0.0, 1.0, 5.0, 10.0, 25.0, 50.0]
    """
    check_function(optional=True, progress=progress)
    warnings: list[str] = []
    if not isinstance(data, Pairs):
        data = as_evalset(data, human, options.unit)
        human = the_human(data, human)
        metrics = _metrics(data, human, options.metrics)
        pairs = pairs_of_scores(data, human, metrics, data.name or "all")
        warnings += data.notes
        inputs = inputs or data.inputs
    else:
        pairs = data
    if options.threshold == AUTO:
        own = None if human is None or not isinstance(data, EvalSet) else data.ratings.get(human)
        parts = of_pairs(pairs)
        if own is not None:
            parts += of_ratings(own, values_of(own)[0], own.is_item("system", "repeat"))
        width, said = tie_threshold(parts)
        warnings.append(said)
        options = replace(options, threshold=width)
    settings = _settings(pairs, options)
    if not len(pairs):
        raise UsageError("no two systems were scored on the same segment")
    identical = identical_table([pairs], settings.threshold)
    if options.identical_ties:
        if pairs.identical is None:
            raise UsageError("identical outputs need texts: give a file with outputs of systems")
        pairs = replace(pairs, gap=np.where(pairs.identical, 0.0, pairs.gap))
    if not pairs.gap.any():
        raise UsageError(f"people tie all of {plural(len(pairs), 'pair')}: there is no order")
    if len(pairs.metric_gap) < 2:
        none = "no metric: pairs are counted, and nothing is ranked"
        few = "fewer than two metrics: there is no order that could change"
        warnings.append(few if pairs.metric_gap else none)
    tests = compare_on_pairs(pairs, settings.matrices, settings.threshold, options, generator(rng))
    warnings += tests.warnings if pairs.metric_gap else ()
    values = _values(pairs, settings, steps(progress, len(pairs.metric_gap)))
    names = tuple(pairs.metric_gap)
    threshold = None if pairs.decided else settings.threshold
    shown: dict[str, Any] = {
        "matrices": ",".join(settings.matrices),
        "identical_ties": options.identical_ties,
        "thresholds": ",".join(f"{t:g}" for t in settings.thresholds),
        "metric_thresholds": ",".join(f"{e:g}" for e in settings.epsilons),
        "unit": tests.unit.name,
    }
    if human is not None:
        shown["human"] = human
    return Study(
        name="ties",
        parts={
            "pairs": _pair_table(pairs, settings.thresholds),
            "values": _value_table(names, values, settings),
            "flips": _flip_table(names, values, settings),
            "places": _place_table(names, values),
            "intervals": interval_table(tests, threshold, options),
            **({} if identical is None else {"identical": identical}),
        },
        curves=_curves(pairs, names, values, settings),
        facts={
            "thresholds": list(settings.thresholds),
            "metric_thresholds": list(settings.epsilons),
            "values": {
                one: {name: values[k, :, :, i] for i, name in enumerate(names)}
                for k, one in enumerate(settings.matrices)
            },
            "results": [result.to_dict() for result in tests.results],
            "significance": {name: one.to_dict() for name, one in tests.significance.items()},
            "unit": tests.unit.to_dict(),
        },
        warnings=tuple(warnings),
        provenance=Provenance.of("study ties", shown, inputs, rng, options),
    )


def _metrics(es: EvalSet, human: str, metrics: Collection[str] | None) -> list[str]:
    if metrics is None:
        return [name for name in es.metrics if name != human and es[name].has_segments]
    chosen = chosen_metrics(es, metrics, human=human)
    for name in chosen:
        if not es[name].has_segments:
            raise UsageError(f"'{name}' has no segment scores")
    return chosen


def _settings(pairs: Pairs, options: TiesOptions) -> _Settings:
    check_named("Kendall variant", options.matrices, tuple(KENDALL))
    threshold = options.threshold
    assert not isinstance(threshold, str)  # what is found by itself is a number by now
    chosen: tuple[float, ...] = (0.0,)
    if pairs.decided:
        if options.thresholds is not None or threshold is not None:
            raise UsageError("a list of pairs holds no scores: thresholds can't be varied")
    elif options.thresholds is None:
        chosen = _default_thresholds(pairs.gap)
    else:
        chosen = tuple(sorted({float(t) for t in options.thresholds}))
    if threshold is None:
        threshold = 25.0 if 25.0 in chosen else chosen[0]
    if threshold not in chosen:
        chosen = tuple(sorted((*chosen, float(threshold))))
    if not options.matrices:
        raise UsageError("expected at least one matrix and thresholds that are not negative")
    return _Settings(
        matrices=tuple(dict.fromkeys(options.matrices)),
        thresholds=chosen,
        epsilons=tuple(sorted({float(e) for e in options.metric_thresholds})),
        threshold=float(threshold),
    )


def _default_thresholds(gap: Floats) -> tuple[float, ...]:
    """Choose thresholds by the scale of the scores.

    Examples
    --------
    >>> _default_thresholds(np.array([0.0, 0.1, 0.2, 0.4, 3.0]))
    (0.0, 0.18, 0.3, 1.1)
    """
    size = np.abs(gap[gap != 0])
    if not size.size or size.max() >= _WIDE:
        return PERCENT
    quartiles = np.quantile(size, [0.25, 0.5, 0.75])
    return tuple(sorted({0.0, *(float(f"{q:.2g}") for q in quartiles)}))


def _values(pairs: Pairs, settings: _Settings, tick: Callable[[], None]) -> Floats:
    """Values of all metrics: matrices x metric thresholds x thresholds x metrics."""
    sizes = [len(settings.matrices), len(settings.epsilons), len(settings.thresholds)]
    found = np.full((*sizes, len(pairs.metric_gap)), np.nan)
    for i, gap in enumerate(pairs.metric_gap.values()):
        known = gap[~np.isnan(gap)]
        spread = float(known.std()) if known.size else 0.0
        for e, epsilon in enumerate(settings.epsilons):
            counts = threshold_counts(pairs.gap, gap, settings.thresholds, epsilon=epsilon * spread)
            for k, name in enumerate(settings.matrices):
                found[k, e, :, i] = matrix(name).value(counts)
        tick()
    return found


def _pair_table(pairs: Pairs, thresholds: Sequence[float]) -> Table:
    """Count what thresholds keep: the paper's Table 3 and Figure 1."""
    columns = [Column("threshold", mixed=True), Column("pairs"), Column("share", digits=3)]
    columns += [Column("identical")] if pairs.identical is not None else []
    columns += [Column(f"ties:{name}") for name in pairs.metric_gap]
    rows: list[tuple[Cell, ...]] = []
    for threshold in thresholds:
        kept = pairs.at_least(threshold)
        row: list[Cell] = [float(threshold), int(kept.sum()), float(kept.mean())]
        if pairs.identical is not None:
            row.append(int((kept & pairs.identical).sum()))
        row += [int((gap[kept] == 0).sum()) for gap in pairs.metric_gap.values()]
        rows.append(tuple(row))
    told = "pairs that people decided" if pairs.decided else "human scores differ by the threshold"
    notes = [f"pairs: {told}" + ("" if pairs.decided else " or more (0: at all)")]
    notes += ["identical: of these, pairs of the same text"] if pairs.identical is not None else []
    told = "ties:METRIC: of these, pairs that the metric scores alike"
    notes += [told] if pairs.metric_gap else []
    return Table("Pairs that thresholds keep", tuple(columns), tuple(rows), tuple(notes))


def _value_table(names: Sequence[str], values: Floats, settings: _Settings) -> Table:
    own = values[:, 0, settings.base[2], :]
    order = sorted(range(len(names)), key=lambda i: (-np.nan_to_num(own[0, i], nan=-9), names[i]))
    rows = tuple((names[i], *own[:, i].tolist()) for i in order)
    columns = (Column("metric"), *(Column(name, "higher", digits=3) for name in settings.matrices))
    return Table(f"Values of metrics at threshold {settings.threshold:g}", columns, rows)


def count_flips(values: Floats, base: Floats) -> Any:
    """Count pairs of metrics in opposite order, along the last axis; ties are no flips.

    Examples
    --------
    >>> int(count_flips(np.array([0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.3])))
    3
    """
    a, b = pair_index(values.shape[-1])
    return ((values[..., a] - values[..., b]) * (base[..., a] - base[..., b]) < 0).sum(axis=-1)


def _flip_table(names: Sequence[str], values: Floats, settings: _Settings) -> Table:
    """Show who is best, and how many pairs of metrics change places, in every setting."""
    several = len(settings.epsilons) > 1
    flips = count_flips(values, values[settings.base])
    columns = [Column("matrix"), Column("threshold", mixed=True)]
    columns += [Column("metric threshold", mixed=True)] if several else []
    columns += [Column("best"), Column("value", digits=3), Column("flips")]
    rows: list[tuple[Cell, ...]] = []
    for place in np.ndindex(flips.shape) if names else ():
        (k, e, t), own = place, values[place]
        cells: list[Cell] = [settings.matrices[k], settings.thresholds[t]]
        cells += [settings.epsilons[e]] if several else []
        best = None if np.isnan(own).all() else int(np.nanargmax(own))
        cells += [None, None] if best is None else [names[best], float(own[best])]
        rows.append((*cells, int(flips[place])))
    n = len(names)
    note = (
        f"flips: of {n * (n - 1) // 2} pairs of metrics, those in another order than under "
        f"{settings.matrices[0]} at threshold {settings.threshold:g}"
    )
    return Table("Where the order of metrics flips", tuple(columns), tuple(rows), (note,))


def _place_table(names: Sequence[str], values: Floats) -> Table:
    """List the pairs of metrics that change places between settings."""
    flat = values.reshape(int(np.prod(values.shape[:-1])), len(names))
    a, b = pair_index(len(names))
    ahead = (flat[:, a] > flat[:, b]).sum(axis=0)
    behind = (flat[:, a] < flat[:, b]).sum(axis=0)
    mixed = np.flatnonzero((ahead > 0) & (behind > 0))
    order = mixed[np.argsort(-np.minimum(ahead, behind)[mixed], kind="stable")]
    rows = tuple((names[a[q]], names[b[q]], int(ahead[q]), int(behind[q])) for q in order)
    columns = tuple(map(Column, ("one", "other", "one ahead", "other ahead")))
    return Table(f"Metrics that change places, by the {len(flat)} settings", columns, rows)


def _curves(
    pairs: Pairs, names: Sequence[str], values: Floats, settings: _Settings
) -> tuple[Curve, ...]:
    """Draw pairs kept, and the values of all metrics under each matrix, against the threshold."""
    x = settings.thresholds
    kept = np.array([pairs.at_least(t).sum() for t in x], dtype=np.float64)
    own = (plain_line(pairs.name, kept, len(pairs)),)
    curves = [Curve("pairs", "pairs kept", "threshold", "pairs", x, own)]
    for k, matrix_name in enumerate(settings.matrices):
        lines = tuple(plain_line(n, values[k, 0, :, i], len(pairs)) for i, n in enumerate(names))
        curves.append(Curve(matrix_name, matrix_name, "threshold", "value", x, lines))
    return tuple(curves)
