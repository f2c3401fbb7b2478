"""Tables that only the report shows: ties, missing scores, how human scores agree."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from steelyard.core.table import Cell, Column, Table
from steelyard.data.evalset import EvalSet
from steelyard.data.overview import Overview
from steelyard.metaevaluation.results import MetaEvaluation
from steelyard.stats.agreement import krippendorff_alpha
from steelyard.stats.correlation import cell_pearson, kendall_b
from steelyard.stats.kendall.pairs import count_pairs


def ties_table(view: Overview, meta: MetaEvaluation | None) -> Table:
    """Give how often each score ties two systems, and which differences calibration ties."""
    epsilon: dict[str, float | None] = {}
    if meta is not None:
        for result in meta.results:
            if result.epsilon is not None:
                epsilon.setdefault(result.metric, result.epsilon)
    columns = [Column("score"), Column("kind"), Column("ties %", digits=1)]
    columns += [Column("epsilon")] if epsilon else []
    rows: list[tuple[Cell, ...]] = []
    for facts in sorted(view.scores, key=lambda f: (f.table.kind, -_known(f.ties), f.name)):
        row: tuple[Cell, ...] = (facts.name, facts.table.kind, 100 * facts.ties)
        own = epsilon.get(facts.name)
        shown = None if own is None else f"{own:.3g}"  # some are tiny, and none is 0.0000
        rows.append((*row, shown) if epsilon else row)
    notes = ["ties: pairs of systems with the same score on the same segment"]
    if epsilon:
        notes.append("epsilon: differences up to this are ties after calibration for acc-eq")
    return Table("Ties by score", tuple(columns), tuple(rows), tuple(notes))


def _known(value: float) -> float:
    return -1.0 if np.isnan(value) else value


def missing_table(es: EvalSet) -> Table:
    """Give what each score lacks: cells, systems, segments."""
    rows: list[tuple[Cell, ...]] = []
    for name, table in sorted(es.scores.items(), key=lambda item: (item[1].kind, item[0])):
        lost = np.isnan(table.values)
        n = lost.size
        share = 100 * float(lost.sum()) / n if n else None
        rows.append(
            (
                name,
                table.kind,
                int(lost.sum()),
                share,
                int(lost.all(axis=1).sum()) if n else None,
                int(lost.all(axis=0).sum()) if n else None,
            )
        )
    columns = (Column("score"), Column("kind"), Column("cells missing"),
               Column("missing %", digits=1), Column("systems without"),
               Column("segments without"))  # fmt: skip
    note = "a cell is one system on one segment; nothing that is missing is taken for a number"
    return Table("Missing scores", columns, tuple(rows), (note,))


def human_table(es: EvalSet) -> Table | None:
    """Give how each two human scores agree: on cells, and on the order of systems."""
    names = [name for name in es.human if es[name].has_segments]
    rows: list[tuple[Cell, ...]] = []
    for one, other in combinations(names, 2):
        x, y = es[one].oriented, es[other].oriented
        r, _ = cell_pearson(x, y)
        both = ~(np.isnan(x) | np.isnan(y))
        kept = both.any(axis=1)
        tau = float("nan")
        if int(kept.sum()) > 1:
            means = [
                np.where(both[kept], z[kept], 0).sum(axis=1) / both[kept].sum(axis=1)
                for z in (x, y)
            ]
            tau = float(kendall_b(count_pairs(means[0][:, None], means[1][:, None]))[0])
        rows.append((one, other, int(both.sum()), r, int(kept.sum()), tau))
    if not rows:
        return None
    columns = (Column("score"), Column("and"), Column("cells"), Column("Pearson r", digits=3),
               Column("systems"), Column("tau-b", digits=3))  # fmt: skip
    notes = ("Pearson r over cells that both scored; tau-b of the systems' means over those cells",)
    return Table("Human scores with each other", columns, tuple(rows), notes)


def rater_table(es: EvalSet) -> Table | None:
    """Give how far the raters behind each human score agree, where their judgements are known."""
    rows: list[tuple[Cell, ...]] = []
    for name, ratings in es.ratings.items():
        unit = ratings.system.astype(np.int64) * max(1, len(ratings.segments)) + ratings.segment
        value = ratings.value
        if value is None or np.isnan(value).all():
            continue
        found = krippendorff_alpha(unit, value, n_resamples=500)
        rows.append((name, len(ratings.raters), len(ratings), found.n_units, found.value,
                     found.low, found.high))  # fmt: skip
    if not rows:
        return None
    columns = (Column("ratings"), Column("raters"), Column("judgements"), Column("rated twice"),
               Column("alpha", digits=3), Column("low", digits=3),
               Column("high", digits=3))  # fmt: skip
    note = "Krippendorff's alpha (interval) with its 95 % interval; 1 is perfect, 0 is chance"
    return Table("Raters with each other", columns, tuple(rows), (note,))
