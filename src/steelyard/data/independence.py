"""What is independent of what in a set: segments, the documents they are of, or other units.

The segments of a document were written by one person and are judged by one person, the battles of a
prompt share the prompt: they say less than as many independent ones would. Tests, intervals, and
what follows from them, take whole units for independent; one unit serves all of one output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.core.text import plural
from steelyard.data.segments import Segments
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.resampling.cluster_df import expanded_level, unit_sizes
from steelyard.stats.resampling.design_effect import DesignEffect, design_effect

AUTO, SEGMENT, DOCUMENT, PROMPT, DOMAIN = "auto", "segment", "document", "prompt", "domain"
FEWEST = 10  # units below which nothing but an exact test of them is to be trusted
_WORDS = (AUTO, SEGMENT, DOCUMENT, PROMPT, DOMAIN)
_SAME = {"doc": DOCUMENT}
_COUNTED = (*_WORDS, "battle", "system", "rater", "unit")  # what is counted by its name

Bools = NDArray[np.bool_]


def column_of(unit: str | int) -> str | None:
    """Give the column that a unit is named after, None where it is a word or a number.

    Examples
    --------
    >>> column_of("topic"), column_of("document"), column_of("5"), column_of("document+rater")
    ('topic', None, None, None)
    """
    name = str(unit).removesuffix("+rater")  # who judged is told by judgements, not by a column
    return None if name in (*_COUNTED, *_SAME) or name.isdecimal() else name


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The units of some segments.

    ``codes`` are the units of all segments, None where every unit is a single one: all numbers are
    then those of segments. ``n`` counts the units that take part. ``coarser`` are units that the
    data knows, where finer ones were asked for.
    """

    name: str
    n: int
    codes: Counts | None = None
    coarser: Units | None = None
    warnings: tuple[str, ...] = ()

    def take(self, segments: Bools | Counts) -> Counts | None:
        """Give the units of some of the segments."""
        return None if self.codes is None else self.codes[segments]

    def of(self, segments: Bools | Counts) -> Units:
        """Give the same units of some of the segments, by which everything is counted then."""
        coarser = None if self.coarser is None else self.coarser.of(segments)
        return replace(self, codes=self.take(segments), coarser=coarser)

    def level(self, level: float, segments: Bools | Counts) -> float:
        """Give the level to ask of a percentile interval over the units of some segments.

        NaN for fewer than two units.
        """
        blocks = self.take(segments)
        if blocks is not None:
            return expanded_level(level, unit_sizes(blocks))
        count = segments.sum() if segments.dtype == bool else len(segments)
        return expanded_level(level, np.ones(int(count)))

    @property
    def few(self) -> bool:
        """Whether there are too few for a test that is not exact, or for an interval."""
        return self.codes is not None and self.n < FEWEST

    def counted(self) -> str:
        """Say how many there are."""
        return counted(self.n, self.name)

    def too_few(self) -> str:
        """Say that they are too few."""
        return too_few(self.n, self.name)

    def effect(self, scores: Floats) -> UnitEffect:
        """Measure what it changes that segments of a unit are alike, for systems x segments."""
        coarser = None if self.coarser is None else self.coarser.effect(scores)
        if self.codes is None:
            return UnitEffect(self.name, self.n, 1.0, coarser=coarser)
        some = ~np.isnan(scores).all(axis=0)
        found = design_effect(scores[:, some], self.codes[some])
        return UnitEffect.of(self.name, self.n, found, coarser)


def counted(n: int, name: str) -> str:
    """Count units in words.

    Examples
    --------
    >>> counted(170, "document"), counted(12, "5 segments"), counted(3, "topic")
    ('170 documents', '12 runs of 5 segments', "3 values of 'topic'")
    """
    if name[0].isdecimal():
        return f"{plural(n, 'run')} of {name}"
    if "+" in name:
        return f"{plural(n, name.partition('+')[0])} with their {name.partition('+')[2]}s"
    return plural(n, name) if name in _COUNTED else f"{plural(n, 'value')} of '{name}'"


def many(name: str) -> str:
    """Name units in the plural.

    Examples
    --------
    >>> many("document"), many("5 segments")
    ('documents', 'runs of 5 segments')
    """
    return counted(2, name).removeprefix("2 ")


def too_few(n: int, name: str) -> str:
    """Say that there are too few units.

    Examples
    --------
    >>> too_few(1, "document"), too_few(6, "prompt")
    ('1 document is too few', '6 prompts are too few')
    """
    return f"{counted(n, name)} {'is' if n == 1 else 'are'} too few"


@dataclass(frozen=True, slots=True)
class UnitEffect:
    """What was independent in a result, and what that changed.

    The design effect is the variance of a mean difference between two systems by unit, over what it
    would be if segments were independent; the median over all pairs of systems. NaN is unknown.
    """

    name: str
    n: int
    design_effect: float
    low: float = float("nan")
    high: float = float("nan")
    coarser: UnitEffect | None = None
    effective: float = float("nan")  # how many independent segments would tell as much
    of_battles: bool = False

    @classmethod
    def of(
        cls, name: str, n: int, found: DesignEffect, coarser: UnitEffect | None = None
    ) -> UnitEffect:
        """Name units whose effect was measured."""
        return cls(name, n, found.value, found.low, found.high, coarser, found.effective)

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        ends = None if np.isnan([self.low, self.high]).any() else [self.low, self.high]
        return {
            "name": self.name,
            "n": self.n,
            "design_effect": self.design_effect,
            "design_effect_ci": ends,
            "effective": self.effective,
            "coarser": None if self.coarser is None else self.coarser.to_dict(),
        }

    def counted(self) -> str:
        """Say how many units there are."""
        return counted(self.n, self.name)

    def shown(self) -> str:
        """Give the design effect with its interval, as text."""
        if np.isnan(self.design_effect):
            return "design effect unknown"
        ends = "" if np.isnan(self.low) else f" ({self.low:.1f} to {self.high:.1f})"
        return f"design effect {self.design_effect:.1f}{ends}"

    def told(self) -> str:
        """Say what was taken as independent, in a sentence.

        Examples
        --------
        >>> UnitEffect("segment", 450, 1.0).told()
        'Tests and intervals take 450 segments as independent.'
        >>> UnitEffect("document", 52, 1.62, 1.1, 2.4).told()
        'Tests and intervals take 52 documents as independent: the variance of a difference is 1.6
        times (1.1 to 2.4) that of independent segments (design effect).'
        """
        told, known = f"Tests and intervals take {self.counted()} as independent", self.coarser
        if known is not None:
            return f"{told}, although these are of {known.counted()}{known._times('would be')}."
        return f"{told}{self._times('is')}."

    def _times(self, be: str) -> str:
        """Say what units do to a variance; nothing where each is a single segment."""
        if self.design_effect == 1.0:
            return ""
        if np.isnan(self.design_effect):
            return " (what that changes is not known)"
        ends = "" if np.isnan(self.low) else f" ({self.low:.1f} to {self.high:.1f})"
        single = "battles" if self.of_battles else "segments"
        times = f"{self.design_effect:.1f} times{ends} that of independent {single}"
        return f": the variance of a difference {be} {times} (design effect)"

    def sentence(self) -> str:
        """Say it in one line."""
        told = f"unit: {self.counted()}, taken as independent"
        known = self.coarser
        if known is not None:
            return f"{told} although of {known.counted()}: {known.shown()}"
        if self.design_effect == 1.0:
            return told
        told = f"{told}; {self.shown()}"
        if np.isnan(self.effective) or self.design_effect <= 1:
            return told
        what = "battles" if self.of_battles else "segments"
        return f"{told}, as much as {self.effective:,.0f} independent {what} tell"


def units_of(segments: Segments, asked: str | int, used: Bools) -> Units:
    """Find the units of segments, of which those that are ``used`` take part.

    Parameters
    ----------
    segments
        Ids, and, where known, documents, domains and sources.
    asked
        ``auto`` (documents where at least ten are known, or prompts that several segments share,
        else segments), ``segment``, ``document``, ``prompt`` (segments with the same source),
        ``domain``, the column that was read as documents, or a number of consecutive segments.
    used
        Which segments take part; the others may lack a document.

    Examples
    --------
    >>> some = Segments(("1", "2", "3"), documents=("a", "a", "b"))
    >>> found = units_of(some, "document", np.array([True, True, True]))
    >>> found.n, found.codes.tolist(), units_of(some, "auto", np.array([True] * 3)).name
    (2, [0, 0, 1], 'segment')
    """
    name = _SAME.get(str(asked), str(asked))
    known, why = _known(segments, used)
    if name == AUTO and known is not None and known.n >= FEWEST:
        return known
    if name in (AUTO, SEGMENT):
        found = Units(SEGMENT, int(used.sum()))
        if name == AUTO and why:
            told = f"{why}: segments are taken as independent, which those of a document are not"
            return replace(found, warnings=(told,))
        return _beside(found, known, used)
    if name.isdecimal():
        codes = np.arange(len(segments), dtype=np.int64) // int(name)
        called = f"{int(name)} segments" if int(name) > 1 else SEGMENT
        return _beside(_coded(called, codes, used), known, used)
    columns = {
        DOCUMENT: segments.documents,
        segments.document_column: segments.documents,
        PROMPT: segments.sources,
        DOMAIN: segments.domains,
    }
    if name not in columns:
        raise UsageError(
            f"unit '{asked}': expected auto, segment, document, prompt, domain, a number of "
            'segments, or a column of the input (columns={"doc": NAME} reads one)'
        )
    column = columns[name] or ()
    lost = sum(column[i] is None for i in np.flatnonzero(used)) if column else int(used.sum())
    if lost:
        some = f" ({lost:,} of {int(used.sum()):,} have none)" if lost < used.sum() else ""
        what = f"{DOCUMENT if name == segments.document_column else name}s"
        raise UsageError(f'unit="{asked}": the {what} of the segments are not known{some}')
    found = _coded(name, _codes(column), used)
    return _beside(found, known, used)


def _codes(names: Sequence[str | None]) -> Counts:
    """Code units by name; whoever has none is a unit alone."""
    own = [f"-{i}" if name is None else f"+{name}" for i, name in enumerate(names)]
    return np.unique(np.array(own, dtype=object), return_inverse=True)[1].astype(np.int64)


def _coded(name: str, codes: Counts, used: Bools) -> Units:
    n = len(np.unique(codes[used]))
    return Units(name, n, None if n == int(used.sum()) else codes)


def _known(segments: Segments, used: Bools) -> tuple[Units | None, str]:
    """Give what segments are known to share, documents or else prompts; or why there is nothing."""
    names = segments.documents
    if names is not None:
        lost = sum(names[i] is None for i in np.flatnonzero(used))
        if not lost:
            return _coded(DOCUMENT, _codes(names), used), ""
        if lost < used.sum():
            return None, f"{plural(lost, 'segment')} without a document"
    sources = segments.sources
    if sources is None or any(sources[i] is None for i in np.flatnonzero(used)):
        return None, ""
    prompts = _coded(PROMPT, _codes(sources), used)
    return (None if prompts.codes is None else prompts), ""


def _beside(found: Units, known: Units | None, used: Bools) -> Units:
    """Warn of units that cut what the data knows to belong together, and of few ones."""
    if known is None or known.codes is None or not _cuts(found, known, used):
        return _warned(found)
    what = known.name
    told = (
        f"{found.counted()} are taken as independent, but cut {known.counted()}: p-values and "
        f"intervals are too small where segments of a {what} are alike"
    )
    if known.n < FEWEST:
        told += f"; {known.too_few()} for anything but exact tests"
    told += f' (unit="{what}")'
    return replace(_warned(found), coarser=known, warnings=(*_warned(found).warnings, told))


def _cuts(found: Units, known: Units, used: Bools) -> bool:
    """Tell whether segments that belong together are in different units."""
    assert known.codes is not None
    own = np.arange(len(used)) if found.codes is None else found.codes
    together = known.codes[used].astype(np.int64) * (int(own.max(initial=0)) + 1) + own[used]
    return len(np.unique(together)) > known.n


def _warned(found: Units) -> Units:
    """Warn of units that are too few."""
    if not found.few:
        return found
    if found.n < 2:
        return replace(found, warnings=(f"{found.too_few()} for a test or an interval",))
    told = f"{found.too_few()} for anything but exact tests, and any interval is rough"
    return replace(found, warnings=(told + least_p(found.n),))


def least_p(n: int) -> str:
    """Say how small p-values of so many units can be, where that is not small enough.

    Examples
    --------
    >>> least_p(5), least_p(6)
    ('; no p-value can be below 0.031, two-sided 0.062', '')
    """
    least = 2.0**-n
    return f"; no p-value can be below {least:.2g}, two-sided {2 * least:.2g}" if n < 6 else ""
