"""What is independent in a set: segments, their documents, prompts, raters, or other units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.core.text import plural
from steelyard.data.segments import Segments, Texts
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.resampling.cluster_df import expanded_level, unit_sizes
from steelyard.stats.resampling.design_effect import DesignEffect, design_effect

AUTO, SEGMENT, DOCUMENT, PROMPT, DOMAIN = "auto", "segment", "document", "prompt", "domain"
RATER = "rater"
FEWEST = 10  # units below which nothing but an exact test of them is to be trusted
_WORDS = (AUTO, SEGMENT, DOCUMENT, PROMPT, DOMAIN, "battle", "system", RATER, "unit")
_SYNONYMS = {"doc": DOCUMENT}

Bools = NDArray[np.bool_]


def column_of(unit: str | int) -> str | None:
    """Return the column that a unit is named after, None where it is a word or a number."""
    name = str(unit).removesuffix(f"+{RATER}")
    return None if name in (*_WORDS, *_SYNONYMS) or name.isdecimal() else name


def counted(n: int, name: str) -> str:
    """Count units in words."""
    if name[0].isdecimal():
        return f"{plural(n, 'run')} of {name}"
    if "+" in name:
        return f"{plural(n, name.partition('+')[0])} with their {name.partition('+')[2]}s"
    return (
        plural(n, name)
        if name in (*_WORDS, "item", "task")
        else f"{plural(n, 'value')} of '{name}'"
    )


def many(name: str) -> str:
    """Return the plural of a unit: documents, runs of 5 segments."""
    return counted(2, name).removeprefix("2 ")


def too_few(n: int, name: str) -> str:
    """Say that there are too few units: 6 prompts are too few."""
    return f"{counted(n, name)} {'is' if n == 1 else 'are'} too few"


def least_p(n: int) -> str:
    """Say how small p-values of fewer than six units can be."""
    least = 2.0**-n
    return f"; no p-value can be below {least:.2g}, two-sided {2 * least:.2g}" if n < 6 else ""


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The units of some segments, of which ``n`` take part."""

    name: str
    n: int
    codes: Counts | None = None  # None where every unit has one segment
    coarser: Units | None = None  # units that the data knows, where finer ones were asked for
    warnings: tuple[str, ...] = ()

    def take(self, segments: Bools | Counts) -> Counts | None:
        """Return the unit of each of some segments."""
        return None if self.codes is None else self.codes[segments]

    def of(self, segments: Bools | Counts) -> Units:
        """Return the same units for some of the segments."""
        coarser = None if self.coarser is None else self.coarser.of(segments)
        return replace(self, codes=self.take(segments), coarser=coarser)

    def level(self, level: float, segments: Bools | Counts) -> float:
        """Return the level to ask of a percentile interval over the units of some segments."""
        codes = self.take(segments)
        n = int(segments.sum()) if segments.dtype == bool else len(segments)
        return expanded_level(level, np.ones(n) if codes is None else unit_sizes(codes))

    @property
    def few(self) -> bool:
        """Whether there are too few for a test that is not exact, or for an interval."""
        return self.codes is not None and self.n < FEWEST

    def counted(self) -> str:
        """Count them in words."""
        return counted(self.n, self.name)

    def too_few(self) -> str:
        """Say that they are too few."""
        return too_few(self.n, self.name)

    def effect(self, scores: Floats) -> UnitEffect:
        """Measure the design effect of the units on scores, systems x segments."""
        coarser = None if self.coarser is None else self.coarser.effect(scores)
        if self.codes is None:
            return UnitEffect(self.name, self.n, 1.0, coarser=coarser)
        scored = ~np.isnan(scores).all(axis=0)
        effect = design_effect(scores[:, scored], self.codes[scored])
        return UnitEffect.of(self.name, self.n, effect, coarser)


@dataclass(frozen=True, slots=True)
class UnitEffect:
    """What a result took as independent, and what that changed; NaN is unknown.

    Design effect: the variance of a difference over that of independent segments (median of pairs).
    """

    name: str
    n: int
    design_effect: float
    low: float = float("nan")
    high: float = float("nan")
    coarser: UnitEffect | None = None
    effective: float = float("nan")  # how many independent segments would say as much
    of_battles: bool = False

    @classmethod
    def of(
        cls, name: str, n: int, effect: DesignEffect, coarser: UnitEffect | None = None
    ) -> UnitEffect:
        """Name units whose effect was measured."""
        return cls(name, n, effect.value, effect.low, effect.high, coarser, effect.effective)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
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
        """Count the units in words."""
        return counted(self.n, self.name)

    def shown(self) -> str:
        """Return the design effect with its interval as text."""
        size = "unknown" if np.isnan(self.design_effect) else f"{self.design_effect:.1f}"
        return f"design effect {size}{self._ends}"

    @property
    def _ends(self) -> str:
        return "" if np.isnan(self.low) else f" ({self.low:.1f} to {self.high:.1f})"

    @property
    def _singles(self) -> str:
        return "independent battles" if self.of_battles else "independent segments"

    def summary(self) -> str:
        """Say what was taken as independent in a sentence."""
        text, measured, verb = f"{self.counted()} as independent", self, "is"
        if self.coarser is not None:
            text += f", although these are of {self.coarser.counted()}"
            measured, verb = self.coarser, "would be"
        effect = measured.design_effect
        if np.isnan(effect):
            text += " (what that changes is not known)"
        elif effect != 1.0:
            times = f"{effect:.1f} times{measured._ends} that of {measured._singles}"
            text += f": the variance of a difference {verb} {times} (design effect)"
        return f"Tests and intervals take {text}."

    def sentence(self) -> str:
        """Say it in a note below a table."""
        text = f"unit: {self.counted()}, taken as independent"
        if self.coarser is not None:
            return f"{text} although of {self.coarser.counted()}: {self.coarser.shown()}"
        text += "" if self.design_effect == 1.0 else f"; {self.shown()}"
        if self.design_effect > 1 and not np.isnan(self.effective):
            text += f", as much as {self.effective:,.0f} {self._singles} tell"
        return text


def units_of(segments: Segments, unit: str | int, used: Bools) -> Units:
    """Return the units of segments, of which those that are ``used`` take part.

    ``unit`` is ``auto`` (documents where at least ten are known, or prompts that several segments
    share, else segments), ``segment``, ``document``, ``prompt`` (segments with the same source),
    ``domain``, a further column of the input, or a number of consecutive segments.
    """
    name = _SYNONYMS.get(str(unit), str(unit))
    natural, problem = _natural_units(segments, used)
    if name == AUTO and natural is not None and natural.n >= FEWEST:
        return natural
    if name == AUTO and problem:
        return Units(SEGMENT, int(used.sum()), warnings=(problem,))
    if name in (AUTO, SEGMENT):
        units = Units(SEGMENT, int(used.sum()))
    elif name.isdecimal():
        runs = np.arange(len(segments), dtype=np.int64) // int(name)
        units = _coded(f"{int(name)} segments" if int(name) > 1 else SEGMENT, runs, used)
    else:
        units = _column_units(segments, name, used)
    warnings: tuple[str, ...] = ()
    if units.few:
        exact = f"anything but exact tests, and any interval is rough{least_p(units.n)}"
        warnings = (f"{units.too_few()} for {'a test or an interval' if units.n < 2 else exact}",)
    if natural is None or not _cuts(units, natural, used):
        return replace(units, warnings=warnings)
    alike = f'segments of a {natural.name} are alike (unit="{natural.name}")'
    cut = f"{units.counted()} are taken as independent, but cut {natural.counted()}: "
    cut += f"p-values and intervals are too small where {alike}"
    return replace(units, coarser=natural, warnings=(*warnings, cut))


def _column_units(segments: Segments, name: str, used: Bools) -> Units:
    """Return the units that a column of the segments names."""
    columns: dict[str, Texts | None] = {
        **segments.metadata,
        segments.document_column or DOCUMENT: segments.documents,
        DOCUMENT: segments.documents,
        PROMPT: segments.sources,
        DOMAIN: segments.domains,
    }
    if name not in columns:
        raise UsageError(
            f"unit '{name}': expected auto, segment, document, prompt, domain, a number of "
            'segments, or a column of the input (columns={"doc": NAME} reads one)'
        )
    column = columns[name] or (None,) * len(segments)
    missing = _missing(column, used)
    if missing:
        some = f" ({missing:,} of {int(used.sum()):,} have none)" if missing < used.sum() else ""
        raise UsageError(f'unit="{name}": the {name}s of the segments are not known{some}')
    return _coded(name, _codes(column), used)


def _missing(column: Sequence[str | None], used: Bools) -> int:
    """Count the used segments that a column says nothing of."""
    return sum(column[i] is None for i in np.flatnonzero(used).tolist())


def _codes(names: Sequence[str | None]) -> Counts:
    """Code units by name; a segment without a name is a unit alone."""
    labels = [f"-{i}" if name is None else f"+{name}" for i, name in enumerate(names)]
    return np.unique(np.array(labels, dtype=object), return_inverse=True)[1].astype(np.int64)


def _coded(name: str, codes: Counts, used: Bools) -> Units:
    n = len(np.unique(codes[used]))
    return Units(name, n, None if n == used.sum() else codes)


def _natural_units(segments: Segments, used: Bools) -> tuple[Units | None, str]:
    """Return what segments are known to share, documents or else prompts; or what is missing."""
    if segments.documents is not None:
        missing = _missing(segments.documents, used)
        if not missing:
            return _coded(DOCUMENT, _codes(segments.documents), used), ""
        if missing < used.sum():
            taken = "segments are taken as independent, which those of a document are not"
            return None, f"{plural(missing, 'segment')} without a document: {taken}"
    if segments.sources is None or _missing(segments.sources, used):
        return None, ""
    prompts = _coded(PROMPT, _codes(segments.sources), used)
    return (None if prompts.codes is None else prompts), ""


def _cuts(units: Units, natural: Units, used: Bools) -> bool:
    """Return whether any natural unit is spread over several units."""
    if natural.codes is None:
        return False
    codes = np.arange(len(used)) if units.codes is None else units.codes
    pairs = natural.codes[used] * (int(codes.max(initial=0)) + 1) + codes[used]
    return len(np.unique(pairs)) != natural.n
