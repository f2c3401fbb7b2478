"""What is compared: one score of the systems that have it, more is better; and its resamples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice

import numpy as np

from steelyard.comparison.options import CompareOptions
from steelyard.core.errors import UsageError
from steelyard.core.options import check_text
from steelyard.core.text import plural
from steelyard.core.warnings import TypedWarning
from steelyard.data.evalset import EvalSet
from steelyard.data.overview import direction_warnings
from steelyard.data.selection import need_moments
from steelyard.data.units import SEGMENT, Units, units_of
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.permutation.corpus import CorpusStatistics, pseudo_values
from steelyard.stats.resampling import bootstrap
from steelyard.stats.strength.wins import WinCounts, win_counts

LEVEL = 0.95  # of all intervals
_PART = 1 << 14  # values looked at together
_LOOK = 64  # first scores of a system, which mostly tell it from others
FEW = 4  # warnings of a kind before the last one counts the rest


@dataclass(frozen=True, slots=True, eq=False)
class Wins:
    """Wins and ties of all pairs, by the tolerance of a tie; each is counted once."""

    scores: Floats
    _known: dict[float, WinCounts] = field(default_factory=dict, init=False, repr=False)

    def by(self, tolerance: float) -> WinCounts:
        """Count, or give what was counted before."""
        if tolerance not in self._known:
            self._known[tolerance] = win_counts(self.scores, tolerance=tolerance)
        return self._known[tolerance]


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """One score of the systems that have it.

    ``scores`` is systems x segments, and higher is better in it: where the score itself is better
    the lower it is, it has the other sign (``sign`` is -1). ``statistics`` are those of a corpus
    score, such as BLEU, in its own numbers; ``units`` are what is independent.
    """

    name: str
    systems: tuple[str, ...]
    scores: Floats
    higher_is_better: bool = True
    statistics: CorpusStatistics | None = None
    warnings: tuple[str, ...] = ()
    units: Units = field(default_factory=lambda: Units(SEGMENT, 0))
    n_segments: int = 0  # those that any system has
    wins: Wins = field(init=False, repr=False)
    binary: bool = field(init=False)  # segments are right or wrong: every score is 0 or 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "wins", Wins(self.scores))
        right = self.statistics is None and is_binary(self.scores, self.sign)
        object.__setattr__(self, "binary", right)

    @property
    def blocks(self) -> Counts | None:
        """The codes of units, None where each is a single segment."""
        return self.units.codes

    @property
    def sign(self) -> float:
        """1 where higher is better, else -1."""
        return 1.0 if self.higher_is_better else -1.0

    def additive(self) -> Floats:
        """Segment scores whose means are the scores of systems (of a corpus score: nearly)."""
        if self.statistics is None:
            return self.scores
        return self.sign * pseudo_values(self.statistics)


@dataclass(frozen=True, slots=True)
class Sample:
    """What is ranked: systems x segments, names for warnings, and resamples of the segments.

    ``counts`` (resamples x segments) are None where no intervals are wanted; ``blocks`` are the
    codes of units where these are no single segments; ``statistics`` are those of a corpus score;
    ``pairs`` says whether differences of all pairs are wanted. ``level`` is what to ask of an
    interval, so that it holds what it should: more than 95 % where units are few, and for each
    system where they lack different ones.
    """

    scores: Floats
    names: tuple[str, ...]
    counts: Floats | None = None
    blocks: Counts | None = None
    statistics: CorpusStatistics | None = None
    pairs: bool = True
    level: float | Floats = LEVEL
    warnings: tuple[str, ...] = ()
    wins: Wins | None = None  # of the same scores, where others count them, too

    def win_counts(self, tolerance: float) -> WinCounts:
        """Count wins and ties of all pairs."""
        return (self.wins or Wins(self.scores)).by(tolerance)


def draw_sample(
    data: Compared, options: CompareOptions, rng: np.random.Generator, *, pairs: bool
) -> Sample:
    """Draw resamples of the segments, or of whole units, where intervals are wanted."""
    blocks = data.blocks
    sample = Sample(
        data.scores,
        data.systems,
        blocks=blocks,
        statistics=data.statistics,
        pairs=pairs,
        wins=data.wins,
    )
    if options.intervals is None:
        return sample
    n_segments = data.scores.shape[1]
    if (n_segments if blocks is None else data.units.n) < 2:
        told = f"{data.units.counted()}: there is nothing to resample, and no interval"
        return replace(sample, warnings=(told,))
    counts = bootstrap.segment_counts(options.n_bootstrap, n_segments, rng, blocks, compact=True)
    return replace(sample, counts=counts, level=_level(data))


def _level(data: Compared) -> float | Floats:
    """Give the level to ask of intervals, for each system where cells are missing."""
    known = ~np.isnan(data.scores)
    some = np.asarray(known.any(axis=0))
    if known[:, some].all():
        return data.units.level(LEVEL, some)
    return np.array([data.units.level(LEVEL, row) for row in known])


def the_score(es: EvalSet, score: str | None) -> str:
    """Give the score to compare by: the one named, or the only one there is."""
    if score is None:
        if len(es.scores) != 1:
            known = ", ".join(es.scores) or "none"
            raise UsageError(f"name the score (score=NAME); there are: {known}")
        return next(iter(es.scores))
    check_text(score=score)
    es[score]  # an unknown name is an error that shows the known ones
    return score


def check_segments(es: EvalSet, score: str) -> None:
    """Refuse a score that no segment has, or that is beyond what statistics can take."""
    need_moments(es, [score])
    table = es[score]
    if table.has_segments:
        return
    if table.system_scores is None or np.isnan(table.system_scores).all():
        raise UsageError(f"'{score}' has no scores: every cell is missing")
    raise UsageError(f"'{score}' has system scores only: comparing needs segment scores")


def compared(es: EvalSet, name: str, unit: str) -> Compared:
    """Take one score of the systems that have it, and say what was noticed on the way."""
    table = es[name]
    kept, systems = table.oriented, es.systems
    present = ~np.isnan(kept)
    complete = bool(present.all())
    stats = table.statistics
    warnings = [*es.notes, *direction_warnings(name, table)]
    if not complete:
        some = np.asarray(present.any(axis=1))
        lost = [s for s, known in zip(systems, some, strict=True) if not known]
        if lost:
            text = f"{plural(len(lost), 'system')} without '{name}' left out: {', '.join(lost)}"
            warnings.append(TypedWarning(text, names=lost))
            systems = tuple(s for s, known in zip(systems, some, strict=True) if known)
            kept, present = kept[some], present[some]
            stats = None if stats is None else stats.select(systems=np.flatnonzero(some))
        missing = int(present.size - present.sum())
        if missing:
            shared = int(present.all(axis=0).sum())
            text = (
                f"{missing:,} of {kept.size:,} scores are missing: pairs are compared on the "
                "segments both have, means and medians over what each has "
                f"({shared:,} segments are complete)"
            )
            warnings.append(TypedWarning(text, "missing-scores"))
    if not systems:
        raise UsageError(f"no system has a '{name}' score")
    if len(systems) == 1:
        warnings.append(f"one system ({systems[0]}): there is nothing to compare it with")
    warnings += _twins(kept, systems)
    used = np.ones(kept.shape[1], dtype=bool) if complete else np.asarray(present.any(axis=0))
    units = units_of(es.segments, unit, used)
    warnings += units.warnings
    return Compared(
        name=name,
        systems=systems,
        scores=kept,
        higher_is_better=table.higher_is_better,
        statistics=stats,
        warnings=tuple(warnings),
        units=units,
        n_segments=int(used.sum()),
    )


def is_binary(values: Floats, right: float = 1.0) -> bool:
    """Tell whether all known values are 0 or 1 (or another number); zeros alone may be anything.

    Examples
    --------
    >>> is_binary(np.array([0.0, 1.0, np.nan])), is_binary(np.array([0.0, 0.0]))
    (True, False)
    """
    some = False
    flat = values.ravel()
    for start in range(0, flat.size, _PART):  # the first few values mostly settle it
        part = flat[start : start + _PART]
        found = part == right
        if not (found | (part == 0) | np.isnan(part)).all():
            return False
        some = some or bool(found.any())
    return some


def _twins(scores: Floats, systems: Sequence[str]) -> list[str]:
    """Name systems with the same scores; found by their bytes, since there may be many systems."""
    found = _alike(scores[:, :_LOOK], range(len(systems)))
    if any(len(group) > 1 for group in found.values()):  # else the first scores tell all apart
        found = _alike(scores, [i for group in found.values() if len(group) > 1 for i in group])
    groups = [group for group in found.values() if len(group) > 1]
    total = sum(len(group) * (len(group) - 1) // 2 for group in groups)
    pairs = [pair for group in groups for pair in islice(combinations(group, 2), FEW + 1)]
    shown = sorted(pairs)[: FEW + 1]
    told = [f"'{systems[i]}' and '{systems[j]}' have the same scores" for i, j in shown]
    if total > len(told):
        told[-1] += f" (and {total - len(told):,} more of this kind)"
    return told


def _alike(scores: Floats, rows: Iterable[int]) -> dict[bytes, list[int]]:
    """Gather rows of the same bytes; missing is missing, and no 0 is -0."""
    found: dict[bytes, list[int]] = {}
    for i in rows:
        row = scores[i] + 0.0
        found.setdefault(np.where(np.isnan(row), np.nan, row).tobytes(), []).append(i)
    return found


def first_few(found: list[str], total: int | None = None) -> list[str]:
    """Keep a list of like warnings short; there may be more of them than are listed.

    Examples
    --------
    >>> first_few(list("abcde"), 7)
    ['a', 'b', 'c', 'd', 'e (and 2 more of this kind)']
    """
    total = len(found) if total is None else total
    if total <= FEW + 1:
        return found
    return [*found[:FEW], f"{found[FEW]} (and {total - FEW - 1} more of this kind)"]
