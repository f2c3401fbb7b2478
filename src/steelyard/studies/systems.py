"""Whether metrics would rank as they do if fewer systems had taken part.

Section 4.1 of the SPA paper for any data: systems are dropped at random, and what a meta-metric
says of the metrics on the rest is compared, by Pearson's r, with what it says on all systems.
Trials are weights of 0 or 1 per system, and all of a size are a few matrix products.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import UsageError
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.formats.load import Source
from steelyard.metaevaluation.intervals import replicates
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import pearson, ranks
from steelyard.stats.metametrics.base import Resamples
from steelyard.studies.metaruns import DEFAULT, By, MetaRuns, open_runs
from steelyard.studies.setups import draw_segments
from steelyard.studies.study import Curve, Line, Progress, Study, mean_line

KINDS = {"values": "Values", "ranks": "Ranks"}
_SIZES = 12  # as many sizes at most, if none are named


def ablate_systems(  # noqa: PLR0913 - every option has a default
    es: Source,
    human: str | None = None,
    *,
    by: By = DEFAULT,
    metrics: Collection[str] | None = None,
    sizes: Sequence[int] | None = None,
    trials: int = 1000,
    level: str | None = None,
    group_by: str | None = None,
    keep_references: bool = False,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Drop systems, and see how well the order of the metrics survives.

    Parameters
    ----------
    es, human, by, metrics, level, group_by, keep_references
        See :func:`~steelyard.metaevaluation.run.meta_evaluate`.
    sizes
        Numbers of systems to keep; by default up to twelve between 2 and all but one.
    trials
        Random choices of systems for each size; all meta-metrics see the same.
    rng
        Seed of the choices.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = ablate_systems(sy.demo_set(), "mqm", sizes=[4, 10], trials=50)
    >>> study.curve("values").x, [line.name for line in study.curve("values").lines]
    ((4, 10), ['spa', 'pa'])
    """
    bounds.wholes(2, optional=True, sizes=sizes)
    bounds.whole(1, trials=trials)
    bounds.function(optional=True, progress=progress)
    stream = generator(rng)
    runs = open_runs(es, human, by, metrics, level=level, group_by=group_by,
                     keep_references=keep_references)  # fmt: skip
    n = runs.data.es.n_systems
    chosen = _sizes(n) if sizes is None else tuple(dict.fromkeys(sizes))
    if any(size >= n for size in chosen) or not chosen:
        raise UsageError(f"sizes lie between 2 and {n - 1}: there are {n} systems")
    able = runs.resampled("system")
    if any(len(names) < 2 for names in able):
        raise UsageError(
            "fewer than two metrics can be weighed by each meta-metric: no order to compare"
        )
    found = _correlate(runs, able, chosen, trials, stream, progress)
    undefined = {k: int(np.isnan(v["values"]).sum()) for k, v in found.items()}
    for name, lost in undefined.items():
        if lost:
            runs.warnings.append(
                f"{name}: all metrics are alike in {lost} of {trials * len(chosen)} trials, "
                "which have no correlation"
            )
    shared = ~np.isnan(np.stack([own["values"] for own in found.values()])).any(axis=0)
    for own in found.values():
        for kind in KINDS:
            own[kind][~shared] = np.nan  # means of all meta-metrics are over the same trials
    curves = tuple(_curve(kind, chosen, found) for kind in KINDS)
    tables = {kind: _table(kind, chosen, found, n) for kind in KINDS}
    facts = {"n_systems": n, "n_metrics": {k: len(v) for k, v in zip(found, able, strict=True)},
             "undefined": undefined}  # fmt: skip
    settings = {"sizes": ",".join(map(str, chosen)), "trials": trials}
    return Study("systems", tables, curves, facts, runs.found_warnings(),
                 runs.provenance("systems", settings, rng))  # fmt: skip


def _sizes(n: int) -> tuple[int, ...]:
    """Choose sizes between 2 and n - 1.

    Examples
    --------
    >>> _sizes(6), len(_sizes(100))
    ((2, 3, 4, 5), 12)
    """
    return tuple(np.unique(np.linspace(2, n - 1, min(_SIZES, n - 2)).round()).astype(int).tolist())


def _correlate(
    runs: MetaRuns,
    able: Sequence[Sequence[str]],
    sizes: Sequence[int],
    trials: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> dict[str, dict[str, Floats]]:
    """Pearson's r with all systems, of values and of ranks: sizes x trials for each meta-metric."""
    n = runs.data.es.n_systems
    draws = [draw_segments(n, size, trials, own) for size, own in zip(sizes, rng.spawn(len(sizes)),
                                                                      strict=True)]  # fmt: skip
    found: dict[str, dict[str, Floats]] = {
        name: {kind: np.full((len(sizes), trials), np.nan) for kind in KINDS} for name in runs.names
    }
    done = 0
    for run, names in zip(runs.runs, able, strict=True):
        for k, draw in enumerate(draws):
            # The last row keeps all systems: it is computed as the others are.
            weights = np.concatenate([draw, np.ones((1, n))])
            values = replicates(run, list(names), Resamples("system", systems=weights)).T
            own = found[run.meta.name]
            own["values"][k] = pearson(values[:, :-1], _whole(values))
            placed = ranks(values)
            own["ranks"][k] = pearson(placed[:, :-1], _whole(placed))
            done += 1
            if progress is not None:
                progress(done, len(runs.runs) * len(sizes))
    return found


def _whole(values: Floats) -> Floats:
    return np.broadcast_to(values[:, -1:], (len(values), values.shape[1] - 1))


def _curve(kind: str, sizes: Sequence[int], found: Mapping[str, Mapping[str, Floats]]) -> Curve:
    lines = tuple(mean_line(name, own[kind]) for name, own in found.items())
    title = f"{KINDS[kind]} of metrics, with fewer systems and with all"
    return Curve(kind, title, "systems", "Pearson's r", tuple(sizes), lines)


def _table(
    kind: str, sizes: Sequence[int], found: Mapping[str, Mapping[str, Floats]], n: int
) -> Table:
    columns = [Column("systems")]
    lines: list[Line] = []
    for name, own in found.items():
        lines.append(mean_line(name, own[kind]))
        columns += [Column(name, "higher", digits=3)]
    first, *others = found
    for name in others:
        lines.append(mean_line(f"{first} - {name}", found[first][kind] - found[name][kind]))
        columns += [Column(f"{first} - {name}", digits=3), Column("low", digits=3),
                    Column("high", digits=3)]  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for k, size in enumerate(sizes):
        row: list[Cell] = [size]
        for place, line in enumerate(lines):
            row.append(float(line.y[k]))
            if place >= len(found):
                row += [float(line.low[k]), float(line.high[k])]
        rows.append((*row, lines[0].n[k]))
    columns.append(Column("trials"))
    notes = [f"mean of Pearson's r with all {n} systems over the trials in which it is defined"]
    notes += (
        ["low, high: 95 % interval of the mean difference on the same trials"] if others else []
    )
    return Table(f"{KINDS[kind]} of metrics when systems are dropped", tuple(columns), tuple(rows),
                 tuple(notes))  # fmt: skip
