"""What a study of segments shows: lists of them, reliability, information, shorter tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from steelyard.core.table import Cell, Column, Table
from steelyard.core.words import plural
from steelyard.data.evalset import EvalSet
from steelyard.stats.arrays import Counts, Floats, beyond_rounding, row_means
from steelyard.stats.instances import shortertest
from steelyard.stats.instances.congeneric import SegmentFit
from steelyard.stats.instances.ease import additive_fit
from steelyard.stats.instances.itemresponse import information_curve
from steelyard.stats.instances.shortertest import ShorterTest, SplitHalf
from steelyard.studies.results import Curve, Line, plain_line
from steelyard.studies.systems.options import InstanceOptions

_TENTHS = 10
_SHOWN = 60  # characters of a text
_FEW = 10  # systems below which halves say little
_ALIKE = 0.002  # spread of discrimination that is none
_CHANCE = 0.5  # reliability below which a list is mostly chance


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """One score: systems x segments, more is better, and where its segments stand in the set."""

    es: EvalSet
    score: str
    systems: tuple[str, ...]
    scores: Floats
    places: Counts
    binary: bool
    sign: float

    def answers(self) -> Floats:
        """Scores of 0 and 1, of which 1 is right whatever the direction of the score."""
        return self.scores if self.sign > 0 else self.scores + 1

    def segment(self, k: int) -> str:
        """Give the name of a segment."""
        return self.es.segments.ids[int(self.places[k])]

    def text(self, k: int) -> str | None:
        """Give the beginning of a segment's source, or else of its reference or an output."""
        place, segments = int(self.places[k]), self.es.segments
        columns = [segments.sources, *segments.references.values(), *self.es.outputs.values()]
        for column in columns:
            text = None if column is None else column[place]
            if text:
                short = " ".join(text.split())
                return short if len(short) <= _SHOWN else short[: _SHOWN - 1] + "…"
        return None


def eases(looked: Looked, fit: SegmentFit) -> tuple[Floats, Floats]:
    """Give what an average system scores on segments, in the score's own numbers; and its error."""
    if fit.logistic:
        chance = expit(fit.ease)
        shown = chance if looked.sign > 0 else 1 - chance
        return shown, chance * (1 - chance) * fit.ease_sd
    return looked.sign * fit.ease + 0.0, fit.ease_sd


def segments_differ(fit: SegmentFit) -> bool:
    """Tell whether segments differ in discrimination at all."""
    return fit.spread_discrimination > _ALIKE


def segment_table(
    looked: Looked, fit: SegmentFit, split: SplitHalf, options: InstanceOptions
) -> Table:
    """List the hardest and easiest, the most and least discriminating segments."""
    ease, ease_sd = eases(looked, fit)
    easy = looked.sign * ease
    orders: dict[str, Floats] = {}
    apart = np.fmax.reduce(easy) - np.fmin.reduce(easy)
    if beyond_rounding(apart, np.fmax.reduce(np.abs(easy))):
        orders |= {"hardest": easy, "easiest": -easy}
    if segments_differ(fit):
        slope = fit.discrimination
        orders |= {"most discriminating": -slope, "least discriminating": slope}
    rows: list[tuple[Cell, ...]] = []
    rules = []
    for name, key in orders.items():
        rules.append(len(rows))
        for k in np.argsort(key, kind="stable")[: options.listed].tolist():
            if np.isnan(key[k]):
                break
            numbers = (ease[k], ease_sd[k], fit.discrimination[k], fit.discrimination_sd[k])
            shown = (None if np.isnan(x) else float(x) for x in numbers)
            rows.append((name, looked.segment(k), *shown, looked.text(k)))
    columns = [
        Column("list"),
        Column("segment"),
        Column("ease", "higher" if looked.sign > 0 else "lower"),
        Column("±", key="ease_sd"),
        Column("discrimination", digits=2),
        Column("±", digits=2, key="discrimination_sd"),
        Column("text"),
    ]
    keep = [j for j in range(len(columns)) if any(row[j] is not None for row in rows)]
    what = "chance that a system of average ability is right"
    what = what if fit.logistic else "score of a system of average ability"
    notes = [
        f"ease: {what}",
        "discrimination: how much of a difference in ability a segment shows, 1 on average",
        "±: standard deviation of what the few systems leave open",
        _spoken(looked, fit),
        _trust(fit, split),
    ]
    return Table(
        "Segments",
        tuple(columns[j] for j in keep),
        tuple(tuple(row[j] for j in keep) for row in rows),
        tuple(note for note in notes if note),
        frozenset(rules[1:]),
    )


def _spoken(looked: Looked, fit: SegmentFit) -> str:
    against = int((fit.discrimination + 2 * fit.discrimination_sd < 0).sum())
    flat = int((np.nanmax(looked.scores, axis=0) == np.nanmin(looked.scores, axis=0)).sum())
    told = [f"all systems score alike on {plural(flat, 'segment')}"] if flat else []
    if against:
        told.append(f"{plural(against, 'segment')} rank better systems lower (discrimination < 0)")
    return "; ".join(told)


def _trust(fit: SegmentFit, split: SplitHalf) -> str:
    """Say how far lists by discrimination are to be believed."""
    if np.isnan(fit.discrimination).all():
        return ""
    if not segments_differ(fit):
        return "segments do not differ in discrimination, as far as these systems tell"
    found = [
        fit.reliability_discrimination,
        SplitHalf.full(half_agreement(split.discrimination)[0]),
    ]
    least = float(np.nanmin(found))
    if least >= _CHANCE:
        return ""
    return (
        f"discrimination of a single segment is mostly chance here (reliability {least:.2f}): "
        "a place to look, not a finding"
    )


def reliability_table(fit: SegmentFit, split: SplitHalf) -> Table:
    """Give how far estimates of segments would agree with those from other systems."""
    rows: list[tuple[Cell, ...]] = []
    for name, by_model, found in (
        ("ease", fit.reliability_ease, split.ease),
        ("discrimination", fit.reliability_discrimination, split.discrimination),
    ):
        half, low, high = half_agreement(found)
        cells = (by_model, half, low, high, SplitHalf.full(half))
        rows.append((name, *(None if np.isnan(x) else x for x in cells)))
    columns = (
        Column("estimate"),
        Column("by the model", "higher", digits=2),
        Column("halves agree", "higher", digits=2),
        *(Column(end, digits=2) for end in ("low", "high")),
        Column("all systems", "higher", digits=2),
    )
    n = len(fit.ability)
    splits = plural(len(split.ease), "split")
    notes = [
        f"halves agree: correlation over segments between halves of the {n} systems",
        f"the mean of {splits}, and the middle 90 % of them",
        "all systems: what follows for as many systems as there are (Spearman and Brown)",
    ]
    if n < shortertest.FEWEST:
        notes = [f"{plural(n, 'system')} can't be split: four or more can"]
    elif n < _FEW:
        notes.append(f"{n} systems are few: half of them say little, and other systems may differ")
    return Table("Reliability", columns, tuple(rows), tuple(notes))


def half_agreement(found: Floats) -> tuple[float, float, float]:
    """Give the mean correlation between halves, and the middle 90 % of all splits."""
    known = found[~np.isnan(found)]
    if not known.size:
        return (float("nan"),) * 3
    low, high = np.percentile(known, [5, 95])
    return float(known.mean()), float(low), float(high)


def information_of(looked: Looked, fit: SegmentFit) -> Curve:
    """Give where information is: by ability of answers, else by tenths of segments by ease."""
    if fit.logistic:
        ability = fit.ability[~np.isnan(fit.ability)]
        grid = np.linspace(ability.min() - 1, ability.max() + 1, 13).round(2)
        line = plain_line("all segments", information_curve(fit, grid))
        title, x_label = "Information by ability", "ability (logits)"
        return Curve("information", title, x_label, "information", tuple(grid.tolist()), (line,))
    slope = np.where(np.isnan(fit.discrimination), 1.0, fit.discrimination)
    error = np.nan_to_num(fit.discrimination_sd)
    own = (slope * slope + error * error) / fit.noise**2
    order = np.argsort(additive_fit(looked.scores)[1], kind="stable")
    parts = np.array_split(order, min(_TENTHS, len(order)))
    wide = max(map(len, parts))
    padded = np.full((len(parts), wide), np.nan)
    for row, part in zip(padded, parts, strict=True):
        row[: len(part)] = own[part]
    means = row_means(padded)
    names = tuple(range(1, len(parts) + 1))
    line = Line("a segment", means, np.full_like(means, np.nan), np.full_like(means, np.nan),
                tuple(map(len, parts)))  # fmt: skip
    label = "tenth of segments, hardest first"
    return Curve("information", "Information by difficulty", label, "information", names, (line,))


def information_table(curve: Curve, fit: SegmentFit) -> Table:
    """Give the curve of information as a table."""
    columns = (Column(curve.x_label, digits=2 if fit.logistic else 0), Column("information"))
    y = curve.lines[0].y
    rows = tuple((x, float(v)) for x, v in zip(curve.x, y, strict=True))
    if fit.logistic:
        note = "information: 1 / variance of the ability of a system that is as able as this"
    else:
        note = (
            "information of a segment: squared discrimination over the variance of noise; summed "
            "over segments it is 1 / variance of an ability"
        )
    return Table("Information", columns, rows, (note,))


def carried_by(fit: SegmentFit, sizes: tuple[int, ...]) -> Floats:
    """Give the share of all discrimination that so many of the best segments have."""
    slope = np.sort(fit.discrimination[~np.isnan(fit.discrimination)])[::-1]
    upto = np.cumsum(slope)
    return np.asarray([upto[min(k, len(upto)) - 1] / upto[-1] for k in sizes])


def carried_curve(shares: Sequence[float], carried: Floats) -> Curve:
    """Give the share of discrimination by the share of segments."""
    lines = (
        plain_line("most discriminating", carried),
        plain_line("if all were alike", np.array(shares)),
    )
    title = "Discrimination that so many segments carry"
    x = tuple(round(100 * share, 6) for share in shares)
    return Curve("carried", title, "% of segments", "share of discrimination", x, lines)


def shorter_curve(shares: Sequence[float], found: ShorterTest) -> Curve:
    """Give how many held-out pairs rank alike, by the share of segments."""
    lines = tuple(
        plain_line(name, row_means(own.T), len(own))
        for name, own in (
            ("most discriminating", found.most),
            ("random", found.random),
            ("least discriminating", found.least),
        )
    )
    x = tuple(round(100 * share, 6) for share in shares)
    title = "Held-out pairs that rank as on all segments"
    return Curve("shorter", title, "% of segments", "share of pairs", x, lines)


def shorter_table(
    sizes: tuple[int, ...], fit: SegmentFit, found: ShorterTest | None, options: InstanceOptions
) -> Table:
    """Give how well shorter tests rank systems that had no part in choosing the segments."""
    columns = [Column("share", digits=2), Column("segments")]
    rows: list[list[Cell]] = [
        [float(share), size] for share, size in zip(options.shares, sizes, strict=True)
    ]
    notes = []
    if segments_differ(fit):
        columns.append(Column("carried", digits=2))
        for row, value in zip(rows, carried_by(fit, sizes), strict=True):
            row.append(float(value))
        notes.append("carried: share of the discrimination that the most discriminating have")
    if found is None:
        notes.append("too few systems to hold two out: whether a shorter test ranks alike is open")
        return Table("Shorter tests", tuple(columns), tuple(map(tuple, rows)), tuple(notes))
    names = {"most": found.most, "random": found.random, "least": found.least}
    columns += [Column(name, "higher", digits=2) for name in names]
    for own in names.values():
        for row, value in zip(rows, row_means(own.T), strict=True):
            row.append(float(value))
    notes += [
        f"of {plural(len(found.most), 'pair')} of systems, the share that rank as on all segments",
        "by segments that the other systems found most or least discriminating, or by random ones",
    ]
    n, target = len(fit.discrimination), options.target
    told = [_needed(name, names[name], sizes, n, target) for name in ("most", "random")]
    notes.append(f"{100 * options.target:g} % of the pairs rank alike with {'; '.join(told)}")
    short = [k for k, share in enumerate(options.shares) if share < 1]
    if short and found.most[:, short].mean() < found.random[:, short].mean():
        notes.append(
            "random segments rank held-out systems better than the most discriminating ones, "
            "which are of a kind of their own"
        )
    return Table("Shorter tests", tuple(columns), tuple(map(tuple, rows)), tuple(notes))


def _needed(name: str, found: Floats, sizes: tuple[int, ...], n: int, target: float) -> str:
    what = "the most discriminating" if name == "most" else "random ones"
    place = ShorterTest.needed(row_means(found.T), target)
    if place is None:
        return f"no share asked for of {what}"
    return f"{plural(sizes[place], 'segment')} ({sizes[place] / n:.0%}) of {what}"
