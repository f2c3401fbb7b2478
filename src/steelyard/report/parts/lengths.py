"""The section "Length": whether long segments are harder, and whether they favour some system."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from steelyard.comparison.diagnosis import compare_groups, units_behind
from steelyard.comparison.results import LEVEL, Comparison
from steelyard.core.text import all_of, plural
from steelyard.data.evalset import EvalSet
from steelyard.report.parts.groupstrips import system_strips
from steelyard.stats.arrays import Counts, Floats, row_means
from steelyard.stats.distributions import stdtrit
from steelyard.stats.paired.corrections import adjust
from steelyard.stats.paired.tests import Contrast, contrast
from steelyard.stats.permutation.pvalues import pair_index

if TYPE_CHECKING:
    from markupsafe import Markup

    from steelyard.report.sections import Writer

_FIRST = 5  # systems whose leads are looked at
_MOST = 20  # systems that are shown
_PARTS = {100: 5, 30: 3}  # segments that are needed, and into how many parts they are cut
_NAMES = {5: "fifth", 3: "third"}


def length_blocks(es: EvalSet, found: Comparison, writer: Writer) -> tuple[Markup, ...]:
    """Write the blocks of the section; none without texts or with too few segments."""
    known = text_lengths(es)
    if known is None:
        return ()
    lengths, what = known
    rows = [es.systems.index(name) for name in found.systems]
    scored = ~np.isnan(es[found.score].values[rows]).all(axis=0)
    groups, part = length_groups(np.where(scored, lengths, np.nan))
    if len(groups) < 2:
        return ()
    ranked = compare_groups(es, found, groups, _MOST)
    lines = [*length_sentences(es, found, groups, part), ranked.led("part")]
    turns = ranked.turns()
    lines += turns or ["No two systems change places between lengths by more than noise explains."]
    if len(ranked.systems) < len(found.systems):
        lines.append(f"The best {len(ranked.systems)} of {len(found.systems)} systems are shown.")
    caption = (
        f"Rank and mean {found.score} of each system on segments cut by the length of {what}, from "
        "short to long. A dot is the mean, its line the 95 % interval; each column has a scale of "
        "its own. The first is bold."
    )
    table = writer.table(ranked.table("length"), "Systems by length")
    return (
        writer.words(*lines),
        writer.made("strips", system_strips(ranked, "Systems by length", caption)),
        writer.folded("The numbers, with their intervals", table),
    )


def text_lengths(es: EvalSet) -> tuple[Floats, str] | None:
    """Give the characters of each source, or else of the outputs on average, and what was counted.

    NaN where a text is not known; None where none is.
    """
    sources = es.segments.sources
    if sources is not None and any(text is not None for text in sources):
        return _characters(sources), "the source"
    if not es.outputs:
        return None
    counts = np.stack([_characters(texts) for texts in es.outputs.values()])
    lengths = row_means(counts.T.copy())
    return None if np.isnan(lengths).all() else (lengths, "the outputs (their mean)")


def _characters(texts: tuple[str | None, ...]) -> Floats:
    return np.array([np.nan if text is None else len(text) for text in texts], dtype=np.float64)


def length_groups(lengths: Floats) -> tuple[dict[str, Counts], str]:
    """Cut segments into parts of about the same size, from short to long, and name a part.

    Lengths that occur often may leave fewer parts; no length is in two of them.

    Examples
    --------
    >>> groups, part = length_groups(np.arange(1.0, 121.0))
    >>> list(groups), part, [len(own) for own in groups.values()]
    (['1 to 24', '25 to 48', '49 to 72', '73 to 96', '97 to 120'], 'fifth', [24, 24, 24, 24, 24])
    """
    known = np.flatnonzero(~np.isnan(lengths))
    parts = next((n for least, n in _PARTS.items() if len(known) >= least), 0)
    if not parts:
        return {}, ""
    cuts = np.unique(np.quantile(lengths[known], np.arange(1, parts) / parts))
    codes = np.searchsorted(cuts, lengths[known], side="left")
    groups = {}
    for code in np.unique(codes):
        own = known[codes == code]
        low, high = lengths[own].min(), lengths[own].max()
        name = f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"
        groups[name if name not in groups else f"{low:g} to {high:g}"] = own
    return groups, _NAMES[parts] if len(groups) == parts else "part"


def length_sentences(
    es: EvalSet, found: Comparison, groups: dict[str, Counts], part: str
) -> list[str]:
    """Say whether long segments are harder, and which leads change with length."""
    ends = list(groups.values())
    codes = units_behind(es, found).codes
    blocks = np.arange(es.n_segments) if codes is None else codes
    short, long = (np.isin(np.arange(es.n_segments), own) for own in (ends[0], ends[-1]))
    first = found.ranking(next(iter(found.aggregations)))
    rows = es[found.score].values[[es.systems.index(name) for name in first]]
    sign = 1.0 if found.higher_is_better else -1.0

    every = row_means(rows.T.copy())[None]
    told = [_harder(contrast(every, long, short, blocks), found, part, sign, every, (short, long))]
    top = rows[:_FIRST]
    if len(top) < 2:
        return told
    i, j = pair_index(len(top))
    moved = contrast(sign * (top[i] - top[j]), long, short, blocks)
    p = adjust(moved.p, "holm")
    known = ~np.isnan(p)
    gains: dict[str, list[str]] = {}
    for k in np.flatnonzero(known):
        if p[k] < found.alpha:
            one, other = (i[k], j[k]) if moved.difference[k] > 0 else (j[k], i[k])
            gains.setdefault(first[one], []).append(first[other])
    how = "t-tests by unit, Holm's correction"
    if gains:
        each = all_of([f"{one} gains on {all_of(others)}" for one, others in gains.items()])
        told.append(f"From the shortest to the longest {part}, {each}, among the first "
                    f"{plural(len(top), 'system')}: more than noise ({how}).")  # fmt: skip
    elif known.any():
        told.append(f"No lead among the first {plural(len(top), 'system')} changes with length by "
                    f"more than noise explains ({how}).")  # fmt: skip
    return told


def _harder(
    found: Contrast,
    comparison: Comparison,
    part: str,
    sign: float,
    every: Floats,
    ends: tuple[np.ndarray, np.ndarray],
) -> str:
    means = [float(row_means(every[:, own])[0]) for own in ends]
    gap = float(found.difference[0])
    reach = float(found.error[0] * stdtrit(found.freedom[0], (1 + LEVEL) / 2))
    p = float(found.p[0])
    shown = (
        f"mean {comparison.score} of all systems is {means[1]:.3g} on the longest {part} and "
        f"{means[0]:.3g} on the shortest"
    )
    if np.isnan(p):
        return f"The {shown}; too few units to tell whether that is chance."
    ci = f"difference {gap:.3g}, 95 % interval {gap - reach:.3g} to {gap + reach:.3g}"
    if p >= comparison.alpha:
        return f"Whether long segments are harder is not decided: the {shown} ({ci})."
    word = "lower" if gap < 0 else "higher"
    verdict = "harder" if sign * gap < 0 else "easier"
    caveat = " A score that counts errors falls with length by itself." if sign * gap < 0 else ""
    return f"Long segments score {word}, that is, they are {verdict}: the {shown} ({ci}).{caveat}"
