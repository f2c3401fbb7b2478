"""The ranking that organisers publish: their scores, tests, ranges and clusters, as presets say."""

from __future__ import annotations

import warnings as warnings_of_scipy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import listed, plural
from steelyard.data.judgements import Floats, Ratings
from steelyard.human import raters
from steelyard.human.ordering import MAX_SYSTEMS, Averages, Ordering, Rule, outputs
from steelyard.human.presets import Preset
from steelyard.stats import clusters
from steelyard.stats.arrays import Counts, row_errors, row_means
from steelyard.stats.paired.corrections import directed_stouffer, stouffer
from steelyard.stats.paired.unpaired import rank_sum_test
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import ranks, whole

_CELLS = 4_000_000  # differences of pairs that are held at a time
_BY_ROW = 50  # differences up to which SciPy chooses a way to the p-value by ties and zeros


def rule_of(preset: Preset) -> Rule:
    """Give what ``--json`` says of clusters."""
    return Rule(preset.name, preset.test, preset.alpha)


def told(preset: Preset) -> tuple[str, ...]:
    """Say what stands in the ranking."""
    span = {
        "walk": "up to the next system that is better, down to the next that is worse",
        "wins": "from 1 + losses to the number of systems minus wins",
        "cluster": "the places of its cluster",
    }[preset.ranges]
    line = {
        "ranges": "no range crosses a line",
        "together": "systems that do not differ are not split",
        "wins": "one ends after the k-th of N systems if that beats N - k others",
    }[preset.clusters]
    return (
        f"rank: range of preset {preset.name} ({preset.test}, p < {preset.alpha:g}): {span}",
        f"clusters: {line}",
        f"score: {preset.overall}; raw: mean over segments",
    )


def counted(ratings: Ratings, preset: Preset) -> tuple[Ratings, list[str]]:
    """Keep the rows that count for the organisers: their kinds of items, the latest of a login."""
    notes = []
    again = ratings.is_item("repeat") & ("repeat" not in preset.kinds)
    if again.any():
        notes.append(f"{plural(int(again.sum()), 'repeat')} left out, as the organisers do")
    keep = ~again
    if preset.latest and ratings.raters != (raters.UNKNOWN,):
        rows = np.flatnonzero(keep & ratings.is_item(*preset.kinds))
        key = outputs(ratings)[rows] * len(ratings.raters) + ratings.rater[rows]
        if ratings.wave is not None:  # who rates in two waves is asked twice
            waves = np.array(ratings.wave, dtype=np.int64)
            key = key * (waves.max(initial=0) + 1) + waves[rows]
        # Rows stand in the order of the file within a key, so that the last one is the latest.
        last = len(rows) - 1 - np.unique(key[::-1], return_index=True)[1]
        older = np.delete(rows, last)
        if len(older):
            keep[older] = False
            notes.append(
                f"{plural(len(older), 'row')} that the same rater judged again left out: the "
                "latest counts"
            )
    return (ratings if keep.all() else ratings.take(keep)), notes


def _each_rating(ratings: Ratings, averages: Averages, kinds: Sequence[str]) -> Floats:
    """Give systems x (segments x k): the rating of an output in the k-th wave.

    Where waves are unknown, it is the k-th rating by the names of raters.
    """
    i, j = averages.cells_of(ratings)
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


@dataclass(frozen=True, slots=True)
class Official:
    """Systems as organisers rank them.

    ``overall`` and ``domain_means`` (systems x domains) are in the order of the input, p-values
    best first. ``directed`` is the ranking whose combined p-values keep the signs of domains, with
    p-values that row beats column; None where nothing is combined. ``errors`` are the standard
    errors of ``overall``, by segment.
    """

    preset: Preset
    overall: Floats
    placed: Ordering
    domains: tuple[str, ...] = ()
    n_segments: tuple[int, ...] = ()
    domain_means: Floats | None = None
    directed: Ordering | None = None
    errors: Floats | None = None
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints under ``preset``."""
        found: dict[str, Any] = self.preset.to_dict()
        found["domains"] = dict(zip(self.domains, self.n_segments, strict=True))
        found["p"] = self.placed.p
        if self.directed is not None:
            found["directed"] = {"p": self.directed.p}
        return found

    def shown(
        self, systems: Sequence[str], test: str, usual: Ordering
    ) -> tuple[dict[str, Table], dict[str, Any]]:
        """Give tables of what stands beside the ranking, and what JSON says of the preset.

        ``usual`` is the ranking without the preset, by a test of this name.
        """
        tables, found = {}, self.to_dict()
        if self.domain_means is not None:
            tables["domains"] = _domain_table(self, systems)
        if self.placed.range is not None:
            others = []
            if self.directed is not None:
                told = "one-sided tests of domains combined with their signs"
                others.append(("directed", told, self.directed))
            others.append(("default", f"plain means, {test}, no preset", usual))
            tables["variants"], found["differences"] = _variants(self, systems, others)
        return tables, {"preset": found}


def rank(ratings: Ratings, averages: Averages, name: str, preset: Preset) -> Official:
    """Rank systems as a preset says; ``name`` is the score of outputs that counts."""
    scores = averages.matrix(name)
    warnings = []
    if preset.each_rating:
        items = _each_rating(ratings, averages, preset.kinds)
        if items.shape[1] > scores.shape[1] and not (ratings.wave and all(ratings.wave)):
            warnings.append(
                "several ratings of an output are items of their own: the k-th of one system, by "
                "the names of raters, is paired with the k-th of another"
            )
        scores = items
    elif preset.paired and (averages.n > 1).any():
        several = plural(int((averages.n > 1).sum()), "output")
        warnings.append(f"{several} with several ratings: their mean counts")
    domains, of, sizes = _domains(averages, preset)
    parts = [scores[:, of == k] for k in range(len(domains))] or [scores]
    means = np.stack([row_means(part) for part in parts], axis=1)
    overall = means.mean(axis=1)  # NaN where a system lacks a domain
    warnings += _lacking(averages, means, overall, domains)
    total = int(averages.n.sum())
    if total < preset.fewest:
        warnings.append(
            f"{plural(total, 'annotation')}: the organisers of {preset.name} publish no ranking of "
            f"fewer than {preset.fewest}"
        )
    places = ranks(overall)
    order = np.argsort(places, kind="stable").astype(np.int64)
    base = Ordering(order, whole(places[order]), rank_is_range=preset.ranges != "cluster")
    found = Official(
        preset,
        overall,
        base,
        domains,
        sizes,
        means if domains else None,
        errors=np.sqrt(np.sum([row_errors(part) ** 2 for part in parts], axis=0)) / len(parts),
    )
    if not 1 < len(overall) <= MAX_SYSTEMS:
        return replace(found, warnings=tuple(warnings))
    p, directed = _tested([part[order] for part in parts], preset)
    lead = places[order][:, None] < places[order]
    if np.isnan(p[~np.eye(len(p), dtype=bool)]).any():
        i, j = np.argwhere(np.isnan(np.triu(p, 1)))[0]
        pair = " and ".join(averages.systems[order[k]] for k in (i, j))
        count = int(np.isnan(np.triu(p, 1)).sum())
        warnings.append(
            f"{plural(count, 'pair')} without a p-value (first: {pair}): all differences are 0, "
            "or there are none, in all or in one domain; taken as not different"
        )
    placed = _placed(base, p, lead, preset)
    other = None if directed is None else _placed(base, directed, lead, preset)
    return replace(found, placed=placed, directed=other, warnings=tuple(warnings))


def _domains(averages: Averages, preset: Preset) -> tuple[tuple[str, ...], Counts, tuple[int, ...]]:
    """Give the domains, that of each segment as a code, and how many segments each has."""
    if not preset.by_domain:
        return (), np.empty(0, dtype=np.int64), ()
    known = averages.domains or (None,) * len(averages.segments)
    blank = [one for one, domain in zip(averages.segments, known, strict=True) if domain is None]
    if blank:
        which = "" if len(blank) == len(known) else f" of {listed(blank, 3)}"
        raise UsageError(
            f'preset="{preset.name}" averages over domains, and those of the segments{which} are '
            "not known: add a text file, or any table with segment and domain, to the inputs "
            f'(preset="{preset.name}-micro" needs no domains)'
        )
    names, codes = np.unique(np.array(known, dtype=object), return_inverse=True)
    sizes = np.bincount(codes, minlength=len(names))
    return tuple(names.tolist()), codes.astype(np.int64), tuple(sizes.tolist())


def _lacking(
    averages: Averages, means: Floats, overall: Floats, domains: Sequence[str]
) -> list[str]:
    """Name the systems that nobody judged in a domain."""
    lacking = [averages.systems[i] for i in np.flatnonzero(np.isnan(overall))]
    if not lacking:
        return []
    without = [domains[k] for k in np.flatnonzero(np.isnan(means).any(axis=0)).tolist()]
    where = f"{plural(len(lacking), 'system')} without a score in every domain"
    return [f"{where} ({listed(without, 4)}), hence without a rank: {listed(lacking, 8)}"]


def _tested(parts: Sequence[Floats], preset: Preset) -> tuple[Floats, Floats | None]:
    """Test all pairs: the organisers' p-values, and where they combine domains those with signs.

    Two-sided p-values are the same for both directions; one-sided ones are that row beats column.
    """
    n = len(parts[0])
    if not preset.paired:
        return rank_sum_test(list(parts[0])), None
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
    with np.errstate(all="ignore"), warnings_of_scipy.catch_warnings():
        warnings_of_scipy.simplefilter("ignore")  # of rows without a difference, which are NaN
        greater, less = (
            np.concatenate(
                [wilcoxon(x, axis=1, nan_policy="omit", alternative=side).pvalue for x in rows]
            )
            for side in ("greater", "less")
        )
    return greater, less


def _placed(base: Ordering, p: Floats, lead: np.ndarray, preset: Preset) -> Ordering:
    """Apply the rules of ranges and clusters to p-values, best system first."""
    won = np.where(lead, p, np.nan) if preset.paired else p
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
    wins = clusters.wins(won, preset.alpha).tolist()
    return replace(base, p=p, wins=wins, cluster=cut, range=spans)


def _domain_table(found: Official, systems: Sequence[str]) -> Table:
    """Give the mean of every system in every domain, best first."""
    assert found.domain_means is not None
    rows: list[tuple[Cell, ...]] = [
        (systems[i], *found.domain_means[i].tolist()) for i in found.placed.order.tolist()
    ]
    columns = (Column("system"), *(Column(name, digits=2) for name in found.domains))
    counts = zip(found.domains, found.n_segments, strict=True)
    told = ", ".join(f"{name} {plural(n, 'segment')}" for name, n in counts)
    return Table("Means by domain", columns, tuple(rows), (told,))


def _variants(
    found: Official, systems: Sequence[str], others: Sequence[tuple[str, str, Ordering]]
) -> tuple[Table, list[str]]:
    """Set the ranking beside others, each a name, what it is, and an order; say what differs."""
    own = _by_system(found.placed, systems)
    asked = [(name, told, _by_system(other, systems)) for name, told, other in others]
    columns = [Column("system")]
    for name in (found.preset.name, *(name for name, _, _ in asked)):
        columns += [
            Column(name, key=f"{name} range"),
            Column("cluster", key=f"{name} cluster"),
        ]
    rows: list[tuple[Cell, ...]] = []
    for i in found.placed.order.tolist():
        cells = (own[systems[i]], *(other[systems[i]] for _, _, other in asked))
        rows.append((systems[i], *(cell for pair in cells for cell in pair)))
    lines = [f"{name}: {told}: {_differs(own, other)}" for name, told, other in asked]
    title = "Ranges and clusters under other rules"
    return Table(title, tuple(columns), tuple(rows), tuple(lines)), lines


Place = tuple[str | None, int | None]


def _by_system(order: Ordering, systems: Sequence[str]) -> dict[str, Place]:
    numbers = order.cluster_numbers()
    found: dict[str, Place] = {}
    for place, i in enumerate(order.order.tolist()):
        span = None if order.range is None else order.range[place]
        text = (
            None
            if span is None
            else str(span[0])
            if span[0] == span[1]
            else "-".join(map(str, span))
        )
        found[systems[i]] = text, None if numbers is None else numbers[place]
    return found


def _differs(own: dict[str, Place], other: dict[str, Place]) -> str:
    """Say in a line whose range differs, and how many clusters there are."""
    moved = [name for name in own if own[name][0] != other[name][0]]
    counts = [max((n or 0 for _, n in found.values()), default=0) for found in (own, other)]
    text = "the same ranges"
    if moved:
        few = [f"{name} {other[name][0]} (not {own[name][0]})" for name in moved[:4]]
        more = f" and {len(moved) - 4} more" if len(moved) > 4 else ""
        verb = "has" if len(moved) == 1 else "have"
        text = f"{len(moved)} of {plural(len(own), 'system')} {verb} another range: "
        text += ", ".join(few) + more
    some = plural(counts[1], "cluster")
    return f"{text}; {some}" + ("" if counts[0] == counts[1] else f" (not {counts[0]})")
