"""The section "Raters": whether they agree, and who is severe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from steelyard.comparison.results import LEVEL
from steelyard.core.errors import printable
from steelyard.core.options import bad_value
from steelyard.core.text import all_of, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Ratings
from steelyard.human.ranking import UNKNOWN
from steelyard.human.raters import opinions, rater_scale, rater_table, with_others
from steelyard.report.explorer import joined, with_ratings
from steelyard.report.parts.strips import Scale, StripCell, Strips
from steelyard.stats.agreement import krippendorff_alpha
from steelyard.stats.arrays import Floats, group_sums
from steelyard.stats.distributions import stdtrit
from steelyard.stats.paired.corrections import adjust
from steelyard.stats.paired.tests import mean_error, t_tails

if TYPE_CHECKING:
    from markupsafe import Markup

    from steelyard.report.sections import Writer

RatingsLike = str | Path | Ratings
_EXPECTED = "files of raw judgements, or Ratings"
_MOST = 40  # raters that are shown
_DRAWS = 500
_ENOUGH, _ODD = 20, 0.1  # outputs to judge a rater by, and a correlation that is hardly one
#: What Krippendorff (2004) allows to be concluded.
_WORTH = {
    0.8: "which is held to be enough to rely on",
    2 / 3: "which is held to be enough for tentative conclusions",
    -np.inf: "too little to rely on single judgements; means over many may still hold",
}


def add_ratings(
    es: EvalSet, ratings: RatingsLike | Sequence[RatingsLike] | Mapping[str, RatingsLike] | None
) -> EvalSet:
    """Add raw judgements to a set: files, Ratings, or several of them, by name or in a list."""
    if ratings is None:
        return es
    if isinstance(ratings, (str, Path, Ratings)):
        ratings = [ratings]
    if not isinstance(ratings, (Mapping, Sequence)):
        raise bad_value("ratings", _EXPECTED, ratings)
    named = ratings.items() if isinstance(ratings, Mapping) else enumerate(ratings, 1)
    for name, one in named:
        if isinstance(one, Ratings):
            es = joined(es, name if isinstance(name, str) else f"ratings {name}", one)
        elif isinstance(one, (str, Path)):
            es = with_ratings(es, Path(one))
        else:
            raise bad_value("ratings", _EXPECTED, one)
    return es


@dataclass(frozen=True, slots=True, eq=False)
class Severity:
    """How far each rater is from the others on the same outputs: below 0 is severe.

    ``n`` outputs are shared; p-values are Holm's, segments are independent.
    """

    raters: tuple[str, ...]
    n: np.ndarray
    bias: Floats
    low: Floats
    high: Floats
    p: Floats
    r: Floats


def severity(ratings: Ratings) -> Severity:
    """Weigh the difference of each rater to the mean of the others, segment by segment."""
    rows = ratings.is_item("system", "repeat")
    found = opinions(ratings, ratings.value, rows)
    others = with_others(found, len(ratings.raters))
    _, unit = np.unique(found.unit, return_inverse=True)
    size = int(unit.max(initial=-1)) + 1
    total = group_sums(unit, found.value * found.n, size)[unit] - found.value * found.n
    count = group_sums(unit, found.n, size)[unit] - found.n
    gap = np.where(count > 0, found.value - total / np.maximum(count, 1), np.nan)
    n = len(ratings.raters)
    low, high, p = np.full((3, n), np.nan)
    for code in range(n):
        own = (found.rater == code) & ~np.isnan(gap)
        if own.any():
            mean, error, freedom, units = mean_error(gap[None, own], found.segment[own])
            reach = error * stdtrit(freedom, (1 + LEVEL) / 2)
            low[code], high[code] = (mean - reach)[0], (mean + reach)[0]
            if not np.isnan(error[0]):
                upper, lower = t_tails(mean, error, freedom, units)
                p[code] = min(1.0, 2 * min(upper[0], lower[0]))
    corrected = adjust(p, "holm")
    return Severity(ratings.raters, others.n, others.bias, low, high, corrected, others.r)


def rater_blocks(es: EvalSet, writer: Writer, alpha: float = 0.05) -> tuple[Markup, ...]:
    """Write the blocks of the section, for each set of ratings; none without ratings."""
    blocks: list[Markup] = []
    for name, ratings in es.ratings.items():
        if np.isnan(ratings.value).all():
            continue
        found = severity(ratings)
        blocks.append(writer.words(*sentences(name, ratings, found, alpha)))
        if ratings.raters != (UNKNOWN,):
            if found.n.any():
                blocks.append(writer.made("strips", strips(name, ratings, found)))
            table = rater_table(ratings, rater_scale(ratings), ratings.value, None)
            inner = writer.table(table, f"Raters of {name}")
            blocks.append(writer.folded("The numbers of each rater", inner))
    return tuple(blocks)


def sentences(name: str, ratings: Ratings, found: Severity, alpha: float) -> list[str]:
    """Say how far raters agree, and who is severe or lenient by more than noise."""
    known = int((~np.isnan(ratings.value)).sum())
    if ratings.raters == (UNKNOWN,):
        return [f"{name}: {plural(known, 'judgement')}; who gave them is not known."]
    rows, use = ratings.is_item("system", "repeat"), rater_scale(ratings)
    own = opinions(ratings, ratings.value, rows)
    agreed = krippendorff_alpha(own.unit, own.value, n_resamples=_DRAWS)
    told = f"{name}: {plural(len(ratings.raters), 'rater')} gave {plural(known, 'judgement')}"
    if len(ratings.raters) == 1:
        return [f"{told}: one judges all, and there is nobody to agree with."]
    if not agreed.n_units:
        why = "whether they agree, or who is severe, can't be told from what they were given"
        return [f"{told}. No output was judged by two of them: {why}."]
    told += f"; {plural(agreed.n_units, 'output')} {_were(agreed.n_units)} judged by two or more."
    lines = [told]
    if np.isnan(agreed.value):
        lines.append("How far they agree is undefined: their judgements do not vary.")
    else:
        worth = next(text for least, text in _WORTH.items() if agreed.value >= least)
        lines.append(
            f"They agree at {agreed.value:.2f} (Krippendorff's alpha, 95% interval "
            f"{agreed.low:.2f} to {agreed.high:.2f}; 1 is perfect, 0 is chance), {worth}."
        )
    sure = [k for k in range(len(found.p)) if found.p[k] < alpha]
    severe = min((k for k in sure if found.bias[k] < 0), key=lambda k: found.bias[k], default=None)
    mild = max((k for k in sure if found.bias[k] > 0), key=lambda k: found.bias[k], default=None)
    for k, word, side in ((severe, "severe", "below"), (mild, "lenient", "above")):
        if k is not None:
            lines.append(
                f"{found.raters[k]} is the most {word}: {abs(found.bias[k]):.3g} points {side} the "
                f"others on the same {plural(int(found.n[k]), 'output')} (95% interval "
                f"{found.low[k]:.3g} to {found.high[k]:.3g})."
            )
    flat = [found.raters[k] for k in np.flatnonzero(use.high == use.low) if use.n[k] >= _ENOUGH]
    if flat:
        lines.append(f"{all_of(flat)} {'gives' if len(flat) == 1 else 'give'} one and the same "
                     "score to everything.")  # fmt: skip
    odd = [found.raters[k] for k in np.flatnonzero(found.r < _ODD) if found.n[k] >= _ENOUGH]
    if odd:
        lines.append(f"{all_of(odd)} hardly {'goes' if len(odd) == 1 else 'go'} with the others "
                     f"(correlation below {_ODD:g}).")  # fmt: skip
    if not sure:
        lines.append("No rater is more severe or lenient than noise explains.")
    return lines


def _were(n: int) -> str:
    return "was" if n == 1 else "were"


def strips(name: str, ratings: Ratings, found: Severity) -> Strips:
    """Draw how severe each rater is, the most severe first."""
    scale = Scale.over(found.bias, found.low, found.high, np.zeros(1))
    use = rater_scale(ratings)
    order = sorted(range(len(found.raters)), key=lambda k: (np.isnan(found.bias[k]), found.bias[k]))
    rows = []
    for k in order[:_MOST]:
        who, bias = found.raters[k], found.bias[k]
        cell = StripCell("--", printable(f"{who}: no output that others judged, too"))
        if not np.isnan(bias):
            start, end = (scale.at(float(x)) for x in (found.low[k], found.high[k]))
            tip = f"{who}: {bias:+.3g} points from the others on {int(found.n[k])} outputs"
            if start is not None and end is not None:
                tip += f" (95% interval {found.low[k]:.3g} to {found.high[k]:.3g})"
            else:
                start = end = None
            cell = StripCell(f"{bias:+.2f}", printable(tip), scale.at(float(bias)), start, end)
        numbers = [f"{int(use.n[k]):,}", _shown(use.mean[k], 2), f"{int(found.n[k]):,}"]
        cells = [*(StripCell(text, number=True) for text in numbers), cell]
        rows.append((who, [*cells, StripCell(_shown(found.r[k], 2), number=True)]))
    caption = (
        f"Severity of the raters of {name}, the most severe first: how far each is from the mean "
        "of the others on the same outputs (left: severe, right: lenient). A dot is the mean "
        "difference, its line the 95% interval."
    )
    heads = ("rater", "judgements", "mean", "shared outputs", "from the others", "r with others")
    more = len(order) - _MOST
    notes = ["r: correlation with the mean of the others, output by output"]
    notes += [f"{plural(more, 'rater')} more are in the numbers below"] if more > 0 else []
    return Strips.of(f"Severity of raters of {name}", caption, heads, rows, notes)


def _shown(value: float, digits: int) -> str:
    return "--" if np.isnan(value) else f"{value:.{digits}f}"
