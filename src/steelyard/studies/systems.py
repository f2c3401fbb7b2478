"""Whether metrics would rank alike with fewer systems.

Section 4.1 of the SPA paper for any data. Systems are dropped at random, and the values of metrics
on the rest are correlated (Pearson's r) with those on all systems. Trials are weights, and all
trials of a size are a few matrix products.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.table import Column, Table
from steelyard.core.text import are
from steelyard.metaevaluation.tests import replicates
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import pearson, ranks
from steelyard.stats.metametrics.base import Resamples
from steelyard.studies.options import SystemsOptions
from steelyard.studies.study import (
    Curve,
    Line,
    MetaRuns,
    Row,
    Study,
    draw_subsets,
    mean_line,
    meta_study,
    steps,
)

KINDS = {"values": "Values", "ranks": "Ranks"}
_SIZES = 12  # as many sizes at most, if none are named

Correlations = Mapping[str, Mapping[str, Floats]]  # meta-metric, kind: sizes x trials


@meta_study(SystemsOptions)
def ablate_systems(runs: MetaRuns, options: SystemsOptions) -> Study:
    """Drop systems, and see how well values and ranks of the metrics survive.

    All meta-metrics see the same trials. Options are those of :class:`SystemsOptions` and of
    :func:`steelyard.meta_evaluate`.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = ablate_systems(sy.demo_set(), "mqm", sizes=[4, 10], trials=50)
    >>> study.curve("values").x, [line.name for line in study.curve("values").lines]
    ((4, 10), ['spa', 'pa'])
    """
    n, trials = runs.data.es.n_systems, options.trials
    if n < 3:
        raise UsageError(f"there {are(n, 'system')}: expected three or more, to drop one")
    usual = np.unique(np.linspace(2, n - 1, min(_SIZES, n - 2)).round()).astype(int).tolist()
    sizes = tuple(usual if options.sizes is None else dict.fromkeys(options.sizes))
    if any(size >= n for size in sizes) or not sizes:
        raise UsageError(f"sizes lie between 2 and {n - 1}: there {are(n, 'system')}")
    able, warnings = runs.resampled("system")
    if any(len(names) < 2 for names in able):
        raise UsageError("fewer than two metrics under a meta-metric: there is no order to compare")
    streams = zip(sizes, runs.stream.spawn(len(sizes)), strict=True)
    draws = [draw_subsets(n, size, trials, stream) for size, stream in streams]
    correlations = _correlate(runs, able, draws)
    undefined = {name: int(np.isnan(r["values"]).sum()) for name, r in correlations.items()}
    warnings += [
        f"{name}: all metrics tie in {lost} of {trials * len(sizes)} trials, which have no r"
        for name, lost in undefined.items()
        if lost
    ]
    shared = ~np.isnan(np.stack([r["values"] for r in correlations.values()])).any(axis=0)
    for by_kind in correlations.values():
        for r in by_kind.values():
            r[~shared] = np.nan  # means of all meta-metrics are over the same trials
    lines = {
        kind: tuple(mean_line(name, r[kind]) for name, r in correlations.items()) for kind in KINDS
    }
    first = lines["values"][0]
    text = f"{first.name} values of the metrics correlate with those on all {n} systems at"
    few, many = (f"{first.y[k]:.2f} with {sizes[k]}" for k in (0, -1))
    return runs.study(
        "systems",
        {kind: _table(kind, sizes, lines[kind], correlations, n) for kind in KINDS},
        {"sizes": ",".join(map(str, sizes)), "trials": trials},
        options,
        sentences=(("settled", f"{text} {few} and {many} systems."),),
        curves=tuple(
            Curve(kind, f"{KINDS[kind]} of metrics, with fewer systems and with all", "systems",
                  "Pearson's r", sizes, lines[kind])
            for kind in KINDS
        ),
        facts={
            "n_systems": n,
            "n_metrics": {k: len(names) for k, names in zip(correlations, able, strict=True)},
            "undefined": undefined,
        },
        warnings=warnings,
    )  # fmt: skip


def _correlate(
    runs: MetaRuns, able: Sequence[Sequence[str]], draws: Sequence[Floats]
) -> dict[str, dict[str, Floats]]:
    """Return Pearson's r with all systems by meta-metric and kind: sizes x trials."""
    everything = np.ones((1, runs.data.es.n_systems))
    correlations = {}
    tick = steps(runs.progress, len(runs.runs) * len(draws))
    for run, names in zip(runs.runs, able, strict=True):
        r: dict[str, list[Floats]] = {kind: [] for kind in KINDS}
        for draw in draws:
            # The last row keeps all systems: it is computed as the others are.
            weights = np.concatenate([draw, everything])
            values = replicates(run, list(names), Resamples("system", systems=weights)).T
            for kind, x in zip(KINDS, (values, ranks(values)), strict=True):
                r[kind].append(pearson(x[:, :-1], np.broadcast_to(x[:, -1:], x[:, :-1].shape)))
            tick()
        correlations[run.meta.name] = {kind: np.stack(rows) for kind, rows in r.items()}
    return correlations


def _table(
    kind: str, sizes: Sequence[int], means: Sequence[Line], correlations: Correlations, n: int
) -> Table:
    first, *others = correlations
    gaps = [
        mean_line(f"{first} - {name}", correlations[first][kind] - correlations[name][kind])
        for name in others
    ]
    columns = [Column("systems"), *(Column(line.name, "higher", digits=3) for line in means)]
    columns += [Column(end, digits=3) for line in gaps for end in (line.name, "low", "high")]
    columns.append(Column("trials"))
    rows: list[Row] = []
    for k, size in enumerate(sizes):
        differences = (cell for line in gaps for cell in line.at(k))
        rows.append((size, *(float(line.y[k]) for line in means), *differences, means[0].n[k]))
    notes = [f"mean of Pearson's r with all {n} systems over the trials in which it is defined"]
    notes += ["low, high: 95% interval of the mean difference on the same trials"] if gaps else []
    title = f"{KINDS[kind]} of metrics when systems are dropped"
    return Table(title, tuple(columns), tuple(rows), tuple(notes))
