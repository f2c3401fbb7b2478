"""Official rankings: systems as the organisers of shared tasks rank them (options.PRESETS)."""

from __future__ import annotations

import warnings as python_warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.decision import Decision
from steelyard.core.errors import UsageError
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import listed, plural
from steelyard.data.judgements import Floats, Ratings
from steelyard.data.segments import positions
from steelyard.data.units import DOCUMENT, SEGMENT
from steelyard.human import ranking
from steelyard.human.options import Preset
from steelyard.human.ranking import Averages, Ordering, Remark, by_rater
from steelyard.stats import clusters
from steelyard.stats.arrays import Counts, row_errors, row_means
from steelyard.stats.distributions import stdtrit
from steelyard.stats.paired import unpaired
from steelyard.stats.paired.corrections import directed_stouffer, stouffer
from steelyard.stats.paired.tests import mean_error
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import ranks

_CELLS = 4_000_000  # differences of pairs that are held at a time
_BY_ROW = 50  # differences up to which SciPy chooses a way to the p-value by ties and zeros


def counted(ratings: Ratings, preset: Preset) -> tuple[Ratings, list[str]]:
    """Keep the rows that count for the organisers: their kinds of items, the latest of a login."""
    remarks: list[str] = []
    again = ratings.is_item("repeat") & ("repeat" not in preset.kinds)
    if again.any():
        text = f"{plural(int(again.sum()), 'repeat')} excluded, as the organisers do"
        remarks.append(Remark(text))
    keep = ~again
    if preset.latest and ratings.raters != (ranking.UNKNOWN,):
        rows = np.flatnonzero(keep & ratings.is_item(*preset.kinds))
        key = by_rater(ratings)[rows]
        if ratings.wave is not None:  # who rates in two waves is asked twice
            waves = np.array(ratings.wave, dtype=np.int64)
            key = key * (waves.max(initial=0) + 1) + waves[rows]
        # Rows stand in the order of the file within a key, so that the last one is the latest.
        last = len(rows) - 1 - np.unique(key[::-1], return_index=True)[1]
        older = np.delete(rows, last)
        if len(older):
            keep[older] = False
            excluded = f"{plural(len(older), 'row')} that the same rater judged again excluded"
            remarks.append(Remark(f"{excluded}: the latest counts"))
    return (ratings if keep.all() else ratings.take(keep)), remarks


def rank_systems(
    ratings: Ratings,
    averages: Averages,
    name: str,
    preset: Preset,
    plain: ranking.Placement,
    test: str,
) -> ranking.Placement:
    """Rank systems as a preset says, beside the ``plain`` ranking by a test of this name."""
    systems = averages.systems
    domains, warnings = _domains(averages, preset), _remarks(ratings, averages, preset)
    scores = averages.matrix(name)
    if preset.each_rating:
        scores = _each_rating(ratings, averages, preset.kinds)
    parts = [scores[:, segments] for segments in domains.values()] or [scores]
    means = np.stack([row_means(part) for part in parts], axis=1)
    overall = means.mean(axis=1)  # NaN where a system lacks a domain
    unranked = [systems[i] for i in np.flatnonzero(np.isnan(overall))]
    if unranked:
        gaps = zip(domains, np.isnan(means).T, strict=True)
        without = listed([domain for domain, missing in gaps if missing.any()], 4)
        lacking = f"{plural(len(unranked), 'system')} without a score in every domain ({without})"
        warnings.append(f"{lacking}, hence without a rank: {listed(unranked, 8)}")
    ordering = ranking.best_first(overall, rank_is_range=preset.ranges != "cluster")
    order = ordering.order
    sizes = {domain: len(segments) for domain, segments in domains.items()}
    facts: dict[str, Any] = {**preset.to_dict(), "domains": sizes, "p": None}
    tables: dict[str, Table] = {}
    if domains:
        columns = (Column("system"), *(Column(domain, digits=2) for domain in domains))
        rows = tuple((systems[i], *means[i].tolist()) for i in order)
        note = ", ".join(f"{domain} {plural(n, 'segment')}" for domain, n in sizes.items())
        tables["domains"] = Table("Means by domain", columns, rows, (note,))
    few = len(systems) <= ranking.MAX_SYSTEMS
    if few and len(systems) > 1:
        p, directed = _tested([part[order] for part in parts], preset)
        lead = ranks(overall)[order]
        others = {f"plain means, {test}, no preset": ("default", plain.ordering)}
        if directed is not None:
            signed = _placed(ordering, directed, lead, preset)
            how = "one-sided tests of domains combined with their signs"
            others = {how: ("directed", signed), **others}
            facts["directed"] = {"p": directed}
        ordering = _placed(ordering, p, lead, preset)
        facts["p"] = p
        tables["variants"], facts["differences"] = _variants(ordering, preset, systems, others)
    squares = [row_errors(part) ** 2 for part in parts]
    errors = np.asarray(np.sqrt(np.sum(squares, axis=0)) / len(parts))
    segments = ranking.independent(averages, SEGMENT)  # the unit of the organisers
    rule = ranking.Rule(preset.name, preset.test, preset.alpha) if plain.rule is not None else None
    unit = ranking.unit_effect(averages, name, segments) if few else None
    decisions: tuple[Decision, ...] = ()
    if rule is not None and unit is not None:
        reach = partial(_half_widths, parts, errors, preset)
        decisions = ranking.decide_first(systems, overall, ordering, unit, rule, reach)
    return ranking.Placement(
        ordering=ordering,
        overall=overall,
        rule=rule,
        unit=unit,
        errors=errors[order],
        decisions=decisions,
        by_document=_by_document(plain, decisions),
        notes=(
            f"rank: range of preset {preset.name} ({preset.test}, p < {preset.alpha:g})",
            f"score: {preset.overall}; raw: mean over segments",
        ),
        warnings=tuple(warnings),
        tables=tables,
        more={"preset": facts},
    )


def _remarks(ratings: Ratings, averages: Averages, preset: Preset) -> list[str]:
    """Say how several ratings of an output count, and whether there are enough."""
    several, total = int((averages.n > 1).sum()), int(averages.n.sum())
    remarks: list[str] = []
    if several and preset.each_rating and not (ratings.wave and all(ratings.wave)):
        text = "waves are not known: the k-th rating of an output, by the names of raters, is "
        remarks.append(Remark(f"{text}paired with the k-th of another system"))
    if total < preset.fewest:
        few = f"{plural(total, 'annotation')}: the organisers of {preset.name}"
        remarks.append(f"{few} publish no ranking of fewer than {preset.fewest}")
    return remarks


def _half_widths(
    parts: Sequence[Floats], errors: Floats, preset: Preset, first: int, other: int
) -> tuple[float, float]:
    """Return how far the interval of a difference reaches; domains count alike."""
    level = 1 - preset.alpha
    if preset.paired and len(parts) == 1:
        return ranking.paired_half_widths(parts[0][first] - parts[0][other], None, level)
    if preset.paired:
        gaps = [mean_error((part[first] - part[other])[None, :]) for part in parts]
        error = np.sqrt(np.sum([gap.error[0] ** 2 for gap in gaps])) / len(gaps)
        freedom = min(gap.freedom[0] for gap in gaps)
    else:
        error = np.hypot(errors[first], errors[other])
        freedom = parts[0].shape[1] - 1.0
    half = float(stdtrit(freedom, (1 + level) / 2) * error)
    return half, half


def _each_rating(ratings: Ratings, averages: Averages, kinds: Sequence[str]) -> Floats:
    """Return systems x (segments x k): the rating of an output in the k-th wave.

    Where waves are unknown, it is the k-th rating by the names of raters.
    """
    i = positions(ratings.systems, averages.systems)[ratings.system]
    j = positions(ratings.segments, averages.segments)[ratings.segment]
    rows = ratings.is_item(*kinds) & ~np.isnan(ratings.value) & (i >= 0) & (j >= 0)
    i, j, shape = i[rows], j[rows], (len(averages.systems), len(averages.segments))
    waves = np.zeros(len(i), np.int64) if ratings.wave is None else np.array(ratings.wave)[rows]
    cell = (i * shape[1] + j) * (waves.max(initial=0) + 1) + waves
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], cell[order])  # of the rows of one output and wave
    again = np.empty(len(cell), np.int64)
    again[order] = np.arange(len(cell)) - first
    k = np.unique(waves * (again.max(initial=0) + 1) + again, return_inverse=True)[1]
    scores = np.full((*shape, int(k.max(initial=0)) + 1), np.nan)
    scores[i, j, k] = ratings.value[rows]
    return scores.reshape(shape[0], -1)


def _domains(averages: Averages, preset: Preset) -> dict[str, Counts]:
    """Return the segments of each domain, where a preset averages over domains."""
    if not preset.by_domain:
        return {}
    domains = np.array(averages.domains or (None,) * len(averages.segments), dtype=object)
    blank = [name for name, d in zip(averages.segments, domains, strict=True) if d is None]
    if blank:
        which = "" if len(blank) == len(domains) else f" of {listed(blank, 3)}"
        raise UsageError(
            f'preset="{preset.name}" averages over domains, and those of the segments{which} are '
            "not known: add a text file, or any table with segment and domain, to the inputs "
            f'(preset="{preset.name}-micro" needs no domains)'
        )
    return {name: np.flatnonzero(domains == name) for name in np.unique(domains).tolist()}


def _tested(parts: Sequence[Floats], preset: Preset) -> tuple[Floats, Floats | None]:
    """Test all pairs: the organisers' p-values, and where they combine domains those with signs.

    Two-sided p-values are the same for both directions; one-sided ones are that row beats column.
    """
    n = len(parts[0])
    if not preset.paired:
        return unpaired.rank_sum_test(list(parts[0])), None
    i, j = pair_index(n)
    p, signed = (np.full((n, n), np.nan) for _ in range(2))
    step = max(1, _CELLS // max(1, sum(part.shape[1] for part in parts)))
    for start in range(0, len(i), step):
        a, b = i[start : start + step], j[start : start + step]
        greater, less = np.stack([_wilcoxon(part[a] - part[b]) for part in parts], axis=1)
        if preset.alternative == "greater":
            p[a, b], p[b, a] = greater[0], less[0]
            continue
        two_sided = np.minimum(1.0, 2 * np.minimum(greater, less))
        p[a, b] = p[b, a] = stouffer(two_sided) if preset.by_domain else two_sided[0]
        # Zeros alone lean neither way; where nothing is shared, nothing leans.
        none = np.stack([np.isnan(part[a] - part[b]).all(axis=1) for part in parts])
        sign = np.where(none, np.nan, np.nan_to_num(np.sign(less - greater)))
        signed[a, b] = directed_stouffer(two_sided, sign)
        signed[b, a] = directed_stouffer(two_sided, -sign)
    return p, (signed if preset.by_domain else None)


def _wilcoxon(gap: Floats) -> tuple[Floats, Floats]:
    """Test rows of differences above and below 0 by SciPy, with whose defaults rankings were made.

    Few differences are tested exactly or not, by whether any of them tie: by row.
    """
    from scipy.stats import wilcoxon

    rows = [gap] if gap.shape[1] > _BY_ROW else np.split(gap, len(gap))
    with np.errstate(all="ignore"), python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore")  # of rows without a difference, which are NaN
        greater, less = (
            np.concatenate(
                [wilcoxon(x, axis=1, nan_policy="omit", alternative=side).pvalue for x in rows]
            )
            for side in ("greater", "less")
        )
    return greater, less


def _placed(base: Ordering, p: Floats, lead: Floats, preset: Preset) -> Ordering:
    """Apply the rules of ranges and clusters to p-values, best system first."""
    won: NDArray[np.float64] = np.where(lead[:, None] < lead, p, np.nan) if preset.paired else p
    if preset.ranges == "walk":
        spans = clusters.walked_ranges(p, preset.alpha)
    else:
        spans = clusters.rank_ranges(won, preset.alpha)
    if preset.clusters == "wins":
        cut = clusters.wmt_clusters(p, preset.alpha)
    elif preset.clusters == "ranges":
        cut = clusters.spans(clusters.range_clusters(spans))
    else:
        cut = clusters.spans(clusters.never_split_clusters(p, preset.alpha))
    alone = p if preset.alternative == "two-sided" else np.minimum(1.0, 2 * p)
    return Ordering(
        base.order,
        base.rank,
        p=p,
        two_sided=alone,
        wins=clusters.wins(won, preset.alpha).tolist(),
        cluster=cut,
        range=spans,
        rank_is_range=base.rank_is_range,
    )


def _by_document(plain: ranking.Placement, official: Sequence[Decision]) -> Decision | None:
    """Return our verdict by document on the official first and second system, where we have one."""
    pair = {(d.leader, d.other) for d in official[:1]}
    ours = [d for d in plain.decisions if d.unit == DOCUMENT and (d.leader, d.other) in pair]
    return ours[0] if ours else None


def _variants(
    placed: Ordering,
    preset: Preset,
    systems: Sequence[str],
    others: dict[str, tuple[str, Ordering]],
) -> tuple[Table, list[str]]:
    """Set ranges and clusters beside those of other rules; say what differs."""
    names = [preset.name, *(name for name, _ in others.values())]
    columns = [Column("system")]
    for name in names:
        columns += [Column(name, key=f"{name} range"), Column("cluster", key=f"{name} cluster")]
    official, *variants = (_ranges(o, systems) for o in (placed, *(o for _, o in others.values())))
    rows: list[tuple[Cell, ...]] = [
        (system, *(cell for ranges in (official, *variants) for cell in ranges[system]))
        for system in official
    ]
    lines = []
    for how, name, ranges in zip(others, names[1:], variants, strict=True):
        moved = [
            f"{system} {ranges[system][0]} (not {span})"
            for system, (span, _) in official.items()
            if span != ranges[system][0]
        ]
        verb = "has" if len(moved) == 1 else "have"
        count = f"{len(moved)} of {plural(len(official), 'system')} {verb} another range: "
        text = count + listed(moved, 4) if moved else "the same ranges"
        here, there = (max(k or 0 for _, k in some.values()) for some in (official, ranges))
        text += f"; {plural(there, 'cluster')}" + ("" if here == there else f" (not {here})")
        lines.append(f"{name}: {how}: {text}")
    title = "Ranges and clusters under other rules"
    return Table(title, tuple(columns), tuple(rows), tuple(lines)), lines


def _ranges(ordering: Ordering, systems: Sequence[str]) -> dict[str, tuple[str | None, int | None]]:
    """Return the range and the cluster of each system, best first."""
    numbers: Sequence[int | None] = ordering.cluster_numbers() or [None] * len(systems)
    spans: Sequence[Any] = ordering.range or [(None, None)] * len(systems)
    rows = zip(ordering.order, spans, numbers, strict=True)
    return {systems[i]: (ranking.shown_range(*span), number) for i, span, number in rows}
