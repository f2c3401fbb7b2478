"""One ranking by several scores together: WMT's AutoRank, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.comparison.options import AUTORANK, CompareOptions
from steelyard.comparison.rankings import lead, with_intervals
from steelyard.comparison.results import (
    LEVEL,
    RANKINGS,
    Ranked,
    RankedSystems,
    by_name,
    number,
)
from steelyard.core.errors import UsageError
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Column, Table
from steelyard.core.text import all_of, listed, plural
from steelyard.core.warnings import TypedWarning
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.overview import direction_warnings
from steelyard.data.selection import need_moments
from steelyard.data.units import Units, units_of
from steelyard.stats.arrays import Floats, row_means
from steelyard.stats.autorank import EPSILON, autorank, bootstrap_autorank, scale_of
from steelyard.stats.ranks import ranks


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AutoRanking(RankedSystems):
    """Systems ranked by several scores at once; less is better.

    ``means`` and ``scaled`` are scores x systems: the mean of each score in its own numbers, and
    what AutoRank averages (z for ``wmt25``, numbers from 1 to N for ``wmt24``).
    """

    scores: tuple[str, ...]
    form: str
    means: Floats
    scaled: Floats

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""

        def named(rows: Floats) -> dict[str, Any]:
            return {
                name: by_name(self.systems, x) for name, x in zip(self.scores, rows, strict=True)
            }

        return self.json_with(
            scores=list(self.scores),
            form=self.form,
            means=named(self.means),
            scaled=named(self.scaled),
        )

    def table(self) -> Table:
        """Return the leaderboard, with what each score adds."""
        board = RankedSystems.table(self)
        columns = (
            Column(name, digits=2, key=f"scaled {name}", importance=2) for name in self.scores
        )
        index = {system: i for i, system in enumerate(self.systems)}
        rows = tuple((*row, *map(number, self.scaled[:, index[str(row[0])]])) for row in board.rows)
        return replace(board, columns=(*board.columns, *columns), rows=rows)

    def measure(self, by: str) -> str:
        """Return in words what a ranking goes by."""
        what = f"{RANKINGS[by]} of {all_of(self.scores)}"
        return f"{what} over {plural(self.n_segments, 'segment')}"

    def size(self) -> str:
        """Return in words what was compared."""
        size = f"{plural(len(self.systems), 'system')}, {plural(self.n_segments, 'segment')}"
        what = "z by score" if self.form == "wmt25" else "1 to N by score"
        return f"AutoRank {self.form} of {listed(list(self.scores), 8)}: {size}; beside it {what}"


def rank_together(
    es: EvalSet, scores: Sequence[str], options: CompareOptions, rng: Rng = 0
) -> AutoRanking:
    """Rank systems by several scores together."""
    names = tuple(dict.fromkeys(scores))
    if not names:
        raise UsageError("no score to rank by")
    need_moments(es, names)
    tables = [es[name] for name in names]
    for name, table in zip(names, tables, strict=True):
        if not table.has_segments and (
            table.system_scores is None or np.isnan(table.system_scores).all()
        ):
            raise UsageError(f"'{name}' has no scores: every cell is missing")
    means = np.stack([_system_means(table) for table in tables])
    sign = np.array([[1.0 if table.higher_is_better else -1.0] for table in tables])
    result = autorank(sign * means, options.autorank)
    warnings = [*es.notes, *_warnings(es, names, tables, sign * means, result.scaled, options)]
    warnings += [text for name in names for text in direction_warnings(name, es[name])]
    order = ranks(-result.ranks)
    pairs = np.asarray(result.ranks[None, :] - result.ranks[:, None])
    ranked = Ranked(-result.ranks, order, pairs, against=lead, average=True)
    units = units_of(es.segments, options.unit, _used(tables))
    warnings += units.warnings
    warnings += ["tests=... is ignored in AutoRank"] if options.tests else []
    drawn, notes = _resampled(tables, options, units, rng)
    if drawn is not None:
        level = units.level(LEVEL, _used(tables))
        ranked = with_intervals(replace(ranked, replicates=-drawn), level)
    settings: dict[str, Any] = {"scores": ",".join(names), "by": AUTORANK, "form": options.autorank}
    settings |= {"unit": units.name}
    settings |= {} if drawn is None else {"bootstrap": options.n_bootstrap}
    return AutoRanking(
        scores=names,
        form=options.autorank,
        means=means,
        scaled=result.scaled,
        unit=units.effect(_composite(tables, sign * means, options.autorank)),
        systems=es.systems,
        n_segments=es.n_segments,
        aggregations={AUTORANK: ranked.turned()},
        tests={},
        tiers={},
        notes=tuple(notes),
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("compare", settings, es.inputs, rng, options),
        alpha=options.alpha,
    )


def _system_means(table: ScoreTable) -> Floats:
    """Mean over segments, or the score of the system where it has none of segments."""
    if table.has_segments:
        return row_means(table.values)
    assert table.system_scores is not None
    return np.asarray(table.system_scores)


def _used(tables: Sequence[ScoreTable]) -> NDArray[np.bool_]:
    """Tell which segments have any of the scores."""
    return np.asarray(np.any([~np.isnan(table.values).all(axis=0) for table in tables], axis=0))


def _composite(tables: Sequence[ScoreTable], means: Floats, form: str) -> Floats:
    """Give the score of single outputs whose mean AutoRank ranks by, its scales taken as fixed."""
    ranked = np.asarray(~np.isnan(means).any(axis=0))
    complete = means[:, ranked]
    if not ranked.any() or not all(table.has_segments for table in tables):
        return np.full((len(ranked), tables[0].values.shape[1]), np.nan)
    scale = scale_of(complete) if form == "wmt25" else np.ptp(complete, axis=1, keepdims=True)
    rows = zip(tables, scale[:, 0], strict=True)
    parts = [table.oriented[ranked] / x for table, x in rows if x > 0]
    return np.asarray(sum(parts)) if parts else np.full((1, len(tables[0].values.T)), np.nan)


def _resampled(
    tables: Sequence[ScoreTable], options: CompareOptions, units: Units, rng: Rng
) -> tuple[Floats | None, list[str]]:
    """Draw AutoRank in resamples of units; None where that can't be."""
    if options.intervals is None:
        return None, []
    if not all(table.has_segments for table in tables):
        return None, ["scores of whole systems: nothing to resample, no intervals"]
    if units.n < 2:
        return None, [f"{units.counted()}: there is nothing to resample, and no interval"]
    drawn = bootstrap_autorank(
        np.stack([table.oriented for table in tables]),
        options.autorank,
        n_resamples=options.n_bootstrap,
        rng=generator(rng),
        blocks=units.codes,
    )
    return drawn, [f"intervals: {units.counted()} drawn anew, all scores together"]


def _warnings(
    es: EvalSet,
    names: Sequence[str],
    tables: Sequence[ScoreTable],
    means: Floats,
    scaled: Floats,
    options: CompareOptions,
) -> list[str]:
    """Say who has no number, and why; and what a mean leaves out."""
    warnings = []
    for name, row in zip(names, means, strict=True):
        lacking = [es.systems[i] for i in np.flatnonzero(np.isnan(row))]
        if lacking:
            warnings.append(
                f"{plural(len(lacking), 'system')} without '{name}', hence without AutoRank: "
                f"{listed(lacking, 8)}"
            )
    whole = ~np.isnan(means).any(axis=0)
    if whole.sum() < 2:
        return [*warnings, "fewer than two systems have all scores: there is no AutoRank"]
    warnings += _scales(names, means[:, whole], scaled[:, whole], options.autorank)
    missing = [
        f"{name} {int(np.isnan(table.values[whole]).sum()):,}"
        for name, table in zip(names, tables, strict=True)
        if table.has_segments and np.isnan(table.values[whole]).any()
    ]
    if missing:
        text = f"missing scores are left out of the means: {', '.join(missing)}"
        warnings.append(TypedWarning(text, names=missing))
    corpus = [n for n, table in zip(names, tables, strict=True) if table.statistics is not None]
    if corpus:
        warnings.append(f"{listed(corpus, 8)}: the mean of sentence scores, not the corpus score")
    return warnings


def _scales(names: Sequence[str], means: Floats, scaled: Floats, form: str) -> list[str]:
    """Name scores that tell no systems apart, and those that leave the others no say."""
    slack = EPSILON * np.abs(means).max(axis=1)
    same = np.ptp(means, axis=1) <= slack
    flat = [name for name, alike in zip(names, same, strict=True) if alike]
    warnings = []
    if flat:
        none = same.all() or form == "wmt24"
        then = "there is no AutoRank" if none else "counted as 0 for all"
        warnings.append(f"all systems have the same {listed(flat, 8)}: {then}")
    elif np.ptp(scaled.mean(axis=0)) <= EPSILON:
        warnings.append("the scores cancel out, all systems have the same: there is no AutoRank")
    if form == "wmt25":
        tight = (scale_of(means)[:, 0] <= slack) & ~same
        warnings += [
            f"three in four systems have the best '{name}': it has no scale, and decides alone"
            for name, close in zip(names, tight, strict=True)
            if close
        ]
    return warnings
