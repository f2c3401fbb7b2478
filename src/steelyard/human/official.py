"""Official rankings: systems as the organisers of shared tasks rank them (options.PRESETS)."""

from __future__ import annotations

import warnings as python_warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.decision import Decision
from steelyard.core.errors import DegenerateError, UsageError
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import listed, plural
from steelyard.data.judgements import Floats, Ratings, encode
from steelyard.data.segments import positions
from steelyard.data.units import DOCUMENT, SEGMENT
from steelyard.human import ranking
from steelyard.human.options import Preset
from steelyard.human.ranking import Averages, Ordering, Remark, by_rater
from steelyard.stats import clusters
from steelyard.stats.arrays import Counts, group_sums, pairs_within, ratio, row_errors, row_means
from steelyard.stats.distributions import ndtr, ndtri, stdtrit
from steelyard.stats.paired import unpaired
from steelyard.stats.paired.corrections import stouffer
from steelyard.stats.paired.tests import mean_error
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.ranks import ranks

Bools = NDArray[np.bool_]
DRAWS = 1000  # simulated campaigns behind the rate of false separations: its error is one point
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
    if preset.least_agreement:
        codes = unlike_others(ratings, preset.least_agreement)
        keep &= ~np.isin(ratings.rater, codes)
        names = listed([ratings.raters[code] for code in codes], 5)
        if len(codes):
            text = f"{plural(len(codes), 'rater')} unlike the others excluded, as the organisers do"
            remarks.append(f"{text}: {names}")
        if not (keep & ratings.is_item(*preset.kinds)).any():
            raise DegenerateError("no rater is like the others")
    return (ratings if keep.all() else ratings.take(keep)), remarks


def unlike_others(ratings: Ratings, least: float) -> Counts:
    """Return the raters whom WMT26 excludes: differences within screens that all data doubt.

    Of two systems with more than ten scores each, a difference d on a screen counts
    ``2 ** -((d - mean)**2 / (2 var + 1e-6))``, with the mean and the variance of all data; a rater
    with three screens or more is out if the mean of these is below ``least``.
    """
    rows = np.flatnonzero(ratings.is_item("system") & ~np.isnan(ratings.value))
    rater, system = ratings.rater[rows].astype(np.int64), ratings.system[rows]
    value, size = ratings.value[rows], len(ratings.raters)
    n = np.bincount(system, minlength=len(ratings.systems))
    mean = ratio(group_sums(system, value, len(n)), n)
    variance = ratio(group_sums(system, (value - mean[system]) ** 2, len(n)), n - 1)
    labels = ratings.unit or ratings.document or [ratings.segments[k] for k in ratings.segment]
    screen = encode(labels)[1].astype(np.int64)[rows]
    of_rater = rater * (screen.max(initial=0) + 1) + screen
    screens = np.bincount(rater[np.unique(of_rater, return_index=True)[1]], minlength=size)
    a, b = pairs_within(of_rater * len(ratings.segments) + ratings.segment[rows])
    many = (n[system[a]] > 10) & (n[system[b]] > 10) & (system[a] != system[b])
    a, b = a[many], b[many]
    gap = value[a] - value[b] - (mean[system[a]] - mean[system[b]])
    likely = 2.0 ** -(gap**2 / (2 * (variance[system[a]] + variance[system[b]]) + 1e-6))
    agreement = ratio(group_sums(rater[a], likely, size), np.bincount(rater[a], minlength=size))
    return np.flatnonzero((screens >= 3) & (agreement < least))


def leads(first: Floats, second: Floats, n_resamples: int, rng: np.random.Generator) -> bool:
    """Tell whether WMT26 calls the first of two systems better (NaN: missing).

    Either of two one-sided 95% intervals of SciPy's bootstrap (BCa) above 0 suffices: that of the
    differences on common segments, or that of the difference of all scores.
    """
    gap = (first - second)[~np.isnan(first - second)]
    alone = first[~np.isnan(first)], second[~np.isnan(second)]
    paired = len(gap) > 1 and bool((gap > 0).any())
    if paired and _lower_end((gap,), n_resamples, rng) > 0:
        return True
    return min(map(len, alone)) > 1 and _lower_end(alone, n_resamples, rng) > 0


def verdicts(scores: Floats, n_resamples: int, rng: np.random.Generator) -> Bools:
    """Tell for all pairs of rows, best first, whether WMT26 calls the first better."""
    beats = np.zeros((len(scores), len(scores)), dtype=bool)
    for i, j in zip(*pair_index(len(scores)), strict=True):
        beats[i, j] = leads(scores[i], scores[j], n_resamples, rng)
    return beats


def _lower_end(samples: Sequence[Floats], n_resamples: int, rng: np.random.Generator) -> float:
    """Lower end of the BCa interval of a mean, or of a difference of two, at the 5% level."""
    total, cubes, squares = 0.0, 0.0, 0.0
    draws = np.zeros(n_resamples)
    for sign, x in zip((1, -1), samples, strict=False):
        drawn = x[rng.integers(0, len(x), (n_resamples, len(x)))].mean(axis=1)
        rest = sign * (x - x.mean())
        total, draws = total + sign * x.mean(), draws + sign * drawn
        cubes, squares = cubes + (rest**3).sum() / len(x) ** 3, squares + rest @ rest / len(x) ** 2
    below = (np.count_nonzero(draws < total) + np.count_nonzero(draws <= total)) / 2
    if not 0 < below < n_resamples or not squares:
        return float("nan")
    shift = float(ndtri(below / n_resamples))
    at = shift + float(ndtri(0.05))
    level = float(ndtr(shift + at / (1 - cubes / squares**1.5 / 6 * at)))
    return float(np.quantile(draws, level))


def rank_systems(
    ratings: Ratings,
    averages: Averages,
    name: str,
    preset: Preset,
    plain: ranking.Placement,
    test: str,
    rng: np.random.Generator,
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
    tables = {"domains": _domain_table(sizes, systems, means, order)} if domains else {}
    if len(systems) > 1:
        p = _tested([part[order] for part in parts], preset, rng)
        ordering = _placed(ordering, p, ranks(overall)[order], preset)
        place = ranks(overall)[order]
        beats = (p < preset.alpha) & (place[:, None] < place)
        facts |= {"p": None, "beats": beats} if preset.resamples else {"p": p}
        facts |= _beside_ours(averages, name, preset, beats, order, plain, rng)
        how = f"plain means, {test}, no preset"
        tables["variants"] = _variants(systems, preset.name, ordering, plain.ordering, how)
    squares = [row_errors(part) ** 2 for part in parts]
    errors = np.asarray(np.sqrt(np.sum(squares, axis=0)) / len(parts))
    segments = ranking.independent(averages, SEGMENT)  # the unit of the organisers
    rule = ranking.Rule(preset.name, preset.test, preset.alpha) if plain.rule is not None else None
    unit = segments.effect(averages.matrix(name))
    decisions: tuple[Decision, ...] = ()
    if rule is not None:
        reach = partial(_half_widths, parts, errors, preset)
        decisions = ranking.decide_first(systems, overall, ordering, unit, rule, reach)
    if preset.resamples:  # a rule without p-values: verdicts are ours
        decisions = tuple(d for d in plain.decisions if d.leader == systems[order[0]])
        unit = plain.unit
    return ranking.Placement(
        ordering=ordering,
        overall=overall,
        rule=rule,
        unit=unit,
        errors=errors[order],
        decisions=decisions,
        notes=(
            f"rank: range of preset {preset.name} ({preset.test}, p < {preset.alpha:g})",
            f"score: {preset.overall}; raw: mean over segments",
        ),
        warnings=tuple(warnings),
        tables=tables,
        more={"preset": facts},
    )


def _domain_table(
    sizes: dict[str, int], systems: Sequence[str], means: Floats, order: Counts
) -> Table:
    columns = (Column("system"), *(Column(domain, digits=2) for domain in sizes))
    rows = tuple((systems[i], *means[i].tolist()) for i in order)
    note = ", ".join(f"{domain} {plural(n, 'segment')}" for domain, n in sizes.items())
    return Table("Means by domain", columns, rows, (note,))


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
    j = positions(ratings.segments, averages.segments.ids)[ratings.segment]
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
    if not preset.by_domain:
        return {}
    segments = averages.segments
    domains = np.array(segments.domains or (None,) * len(segments), dtype=object)
    blank = [name for name, d in zip(segments.ids, domains, strict=True) if d is None]
    if blank:
        which = "" if len(blank) == len(domains) else f" of {listed(blank, 3)}"
        raise UsageError(
            f'preset="{preset.name}" averages over domains, and those of the segments{which} are '
            "not known: add a text file, or any table with segment and domain, to the inputs "
            f'(preset="{preset.name}-micro" needs no domains)'
        )
    return {name: np.flatnonzero(domains == name) for name in np.unique(domains).tolist()}


def _tested(parts: Sequence[Floats], preset: Preset, rng: np.random.Generator) -> Floats:
    """Return the organisers' p-values of all pairs.

    Two-sided p-values are the same for both directions; one-sided ones are that row beats column.
    A rule without p-values has 0 where the row beats the column, else 1.
    """
    n = len(parts[0])
    if preset.resamples:
        return np.where(verdicts(parts[0], preset.resamples, rng), 0.0, 1.0)
    if not preset.paired:
        return unpaired.rank_sum_test(list(parts[0]))
    i, j = pair_index(n)
    p = np.full((n, n), np.nan)
    greater, less = np.stack([_wilcoxon(part[i] - part[j]) for part in parts], axis=1)
    if preset.alternative == "greater":
        p[i, j], p[j, i] = greater[0], less[0]
    else:
        two_sided = np.minimum(1.0, 2 * np.minimum(greater, less))
        p[i, j] = p[j, i] = stouffer(two_sided) if preset.by_domain else two_sided[0]
    return p


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
    won: NDArray[np.float64] = np.where(lead[:, None] < lead, p, np.nan) if preset.paired else p
    if preset.ranges in ("walk", "script"):
        spans = clusters.walked_ranges(p, preset.alpha)
        if preset.ranges == "script":  # whose loop ends one short where no system is worse
            n = len(spans)
            spans = [(a, min(b, max(n - 1, k))) for k, (a, b) in enumerate(spans, 1)]
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


def _beside_ours(
    averages: Averages,
    name: str,
    preset: Preset,
    beats: Bools,
    order: Counts,
    plain: ranking.Placement,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Count the pairs that the organisers and we separate; of a bootstrap say which lines survive.

    ``beats`` are the organisers' verdicts, best system first. A line is ``cluster`` where all above
    beat all below, else ``local``; it survives where our tests say the same.
    """
    if plain.ordering.p is None:
        return {}
    at = np.argsort(plain.ordering.order)[order]  # our order, in which equal means may swap
    ours = (plain.ordering.p < preset.alpha)[np.ix_(at, at)]
    pairs = {
        "n": len(order) * (len(order) - 1) // 2,
        "official": int(beats.sum()),
        "ours": int(ours.sum()),
        "official_only": int((beats & ~ours).sum()),
        "ours_only": int((ours & ~beats).sum()),
    }
    spans = plain.ordering.range or []
    our_ranges = [list(spans[k]) for k in at] if spans else []
    if not preset.resamples:
        n_documents = plain.unit.n if plain.unit.name == DOCUMENT else None
        return {"pairs": {**pairs, "documents": n_documents}, "our_ranges": our_ranges}
    lines: list[dict[str, Any]] = []
    for k in range(1, len(order)):
        whole, locally = ([x[:k, k:].all(), x[k - 1, k]] for x in (beats, ours))
        if whole[0] or whole[1]:
            kind = "cluster" if whole[0] else "local"
            lines.append({"after": averages.systems[order[k - 1]], "kind": kind,
                          "survives": bool(locally[0 if whole[0] else 1])})  # fmt: skip
    scores = averages.matrix(name)[order]
    segments = unpaired.cluster_means_test(scores).p < preset.alpha
    pairs["because_of_segments"] = int((beats & ~ours & segments).sum())
    facts: dict[str, Any] = {"lines": lines, "pairs": pairs, "our_ranges": our_ranges}
    documents = averages.segments.documents
    if documents is not None and None not in documents:
        blocks = np.unique(np.array(documents), return_inverse=True)[1]
        facts["false_separations"] = false_separations(scores, blocks, DRAWS, rng)
    return facts


def false_separations(
    scores: Floats, blocks: Counts, n_draws: int, rng: np.random.Generator, n_resamples: int = 100
) -> dict[str, Any]:
    """Simulate how often two equal systems are called different by WMT26's rule, and by ours.

    Systems get the same mean and are exchanged at random within every document; of each such
    campaign two systems are tested. Two one-sided 5% tests would call 10% different.
    """
    level = scores - row_means(scores)[:, None]
    documents = [np.flatnonzero(blocks == block) for block in np.unique(blocks)]
    rated = [np.flatnonzero(~np.isnan(scores[:, d]).all(axis=1)) for d in documents]
    official = ours = 0
    for _ in range(n_draws):
        null = level.copy()
        for columns, systems in zip(documents, rated, strict=True):
            null[np.ix_(systems, columns)] = level[np.ix_(rng.permutation(systems), columns)]
        pair = null[rng.choice(len(null), 2, replace=False)]
        pair = pair[np.argsort(-row_means(pair))]
        official += leads(pair[0], pair[1], n_resamples, rng)
        ours += bool((ranking.matrix_pvalues(pair, blocks) < 0.05).any())
    return {"n": n_draws, "nominal": 0.1, "official": official / n_draws, "ours": ours / n_draws}


def _variants(
    systems: Sequence[str], name: str, official: Ordering, ours: Ordering, how: str
) -> Table:
    """Set the ranges and clusters of the organisers beside ours."""
    theirs, plain = (_ranges(ordering, systems) for ordering in (official, ours))
    columns = [Column("system")]
    for rule in (name, "default"):
        columns += [Column(rule, key=f"{rule} range"), Column("cluster", key=f"{rule} cluster")]
    rows: list[tuple[Cell, ...]] = [(s, *theirs[s], *plain[s]) for s in theirs]
    title = "Ranges and clusters under other rules"
    return Table(title, tuple(columns), tuple(rows), (f"default: {how}",))


def _ranges(ordering: Ordering, systems: Sequence[str]) -> dict[str, tuple[str | None, int | None]]:
    numbers: Sequence[int | None] = ordering.cluster_numbers() or [None] * len(systems)
    spans: Sequence[Any] = ordering.range or [(None, None)] * len(systems)
    rows = zip(ordering.order, spans, numbers, strict=True)
    return {systems[i]: (ranking.shown_range(*span), number) for i, span, number in rows}
