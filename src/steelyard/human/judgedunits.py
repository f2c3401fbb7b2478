"""What is independent among judgements: segments, documents, raters, or documents and raters.

One person judges all segments of a document by one system, so that its segments share a judge and
a text. Documents are units of segments, the same for all systems. Raters are units of outputs: two
systems on one segment have two of them, which no pairing undoes. Where raters judged many
documents, ``document+rater`` takes both for sources of variance at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.data.judgements import Floats, Ratings
from steelyard.data.segments import Segments
from steelyard.data.units import (
    RATER,
    SEGMENT,
    UnitEffect,
    Units,
    column_of,
    rater_groups,
    too_few_groups,
    units_of,
)
from steelyard.human.ordering import Averages
from steelyard.stats.arrays import Counts, ratio, row_errors
from steelyard.stats.paired import unpaired
from steelyard.stats.paired.tests import few_units_p, mean_error, two_way_mean_error
from steelyard.stats.permutation.pvalues import pairwise_pvalues

BOTH = "document+rater"
EXACT = "permutation"  # the test that holds for few units, too


def named_column(unit: str) -> str | None:
    """Give the column that a unit of judgements is named after."""
    return None if unit in (RATER, BOTH) else column_of(unit)


@dataclass(frozen=True, slots=True, eq=False)
class Independent:
    """What is independent among the outputs that were judged.

    ``units`` are those of segments; ``rater`` holds a code for each output, where raters count.
    """

    name: str
    units: Units
    rater: Counts | None = None

    @property
    def usual_test(self) -> str | None:
        """The test to take where nobody asks for one; None leaves it to the protocol."""
        return "t" if self.rater is not None else EXACT if self.units.few else None

    def check(self, test: str) -> None:
        """Refuse a test that does not hold for these units."""
        if test == EXACT and self.rater is not None:
            raise UsageError(
                f'test="{test}", unit="{self.name}": two systems on one segment have two raters, '
                'so there is nothing to swap; test="t" has errors by rater'
            )
        if test == "rank-sum" and self.name == BOTH:
            raise UsageError(f'test="{test}": units of two kinds are for test="t"')
        if self.rater is not None and self.units.few:
            raise UsageError(f'unit="{self.name}": {self.units.too_few()} for a test by both')
        if test != EXACT and self.units.few:
            few = self.units.too_few()
            raise UsageError(f'test="{test}": {few} for it; test="{EXACT}" is exact')

    def p_values(self, averages: Averages, name: str, test: str, order: Counts) -> Floats:
        """Test all pairs of systems, in this order: ``p[i, j]`` is small where i beats j."""
        blocks = self.units.codes
        if test == EXACT:
            # Sums that tie with the observation count in full, as in a comparison of systems.
            found = pairwise_pvalues(averages.matrix(name)[order], blocks=blocks, tail="ge")
            np.fill_diagonal(found.p, np.nan)
            return few_units_p(found.p, found.n, two_sided=False)

        def split(column: NDArray[Any]) -> list[NDArray[Any]]:
            parts = averages.by_system(column)
            return [parts[i] for i in order]

        samples = split(averages.values[name])
        units = [split(own) for own in self._codes(averages)]
        if test == "rank-sum" and self.rater is None and blocks is None:
            p = unpaired.rank_sum_test(samples)
        elif test == "rank-sum":
            p = unpaired.rank_sum_test_by_unit(samples, units[0])
        else:
            p = unpaired.unpaired_means_test(samples, *units)
        # Of unpaired outputs, the smaller of two samples counts, and the fewer of two kinds.
        counts = np.array([[len(np.unique(own)) for own in kind] for kind in units]).min(axis=0)
        return few_units_p(p, np.minimum(counts[:, None], counts), two_sided=False)

    def _codes(self, averages: Averages) -> list[Counts]:
        """Give the codes of the units of each output, by system; raters beside documents last."""
        blocks = self.units.codes
        rows = np.arange(len(averages.segments)) if blocks is None else blocks
        if self.rater is None:
            return [rows[averages.segment]]
        return [self.rater] if self.name == RATER else [rows[averages.segment], self.rater]

    def errors(self, averages: Averages, name: str) -> Floats:
        """Give the standard error of each system's mean, by unit."""
        samples = averages.by_system(averages.values[name])
        codes = [averages.by_system(own) for own in self._codes(averages)]
        found = []
        for sample, *own in zip(samples, *codes, strict=True):
            rows, units = sample[None, :], [code.astype(np.int64) for code in own]
            if self.rater is None and self.units.codes is None:
                error = row_errors(rows)[0]
            elif len(units) > 1:
                error = two_way_mean_error(rows, *units).error[0]
            else:
                error = mean_error(rows, *units).error[0]
            found.append(float(error))
        return np.array(found)

    def effect(self, averages: Averages, name: str) -> UnitEffect:
        """Measure what it changes that judgements of a unit are alike."""
        if self.rater is None:
            found = self.units.effect(averages.matrix(name))
            if self.units.codes is None or not np.isnan(found.design_effect):
                return found
        else:
            n = self.units.n if self.name == BOTH else len(np.unique(self.rater))
            found = UnitEffect(self.name, n, float("nan"))
        # Systems share no segment, or no rater, so that differences do not tell: means do.
        alone = Independent(SEGMENT, Units(SEGMENT, len(averages.segments)))
        both = self.errors(averages, name), alone.errors(averages, name)
        ratios = ratio(both[0] ** 2, both[1] ** 2)
        known = ratios[~np.isnan(ratios)]
        middle = float(np.median(known)) if known.size else float("nan")
        return replace(found, design_effect=middle)


def independent(averages: Averages, ratings: Ratings, unit: str) -> tuple[Independent, list[str]]:
    """Find what is independent among the outputs, and what must be said of it."""
    column = named_column(unit)
    segments = Segments(
        averages.segments,
        averages.documents,
        averages.domains,
        averages.sources,
        document_column=column,
    )
    used = np.zeros(len(segments), dtype=bool)
    used[averages.segment] = True
    asked = {RATER: "segment", BOTH: "document"}.get(unit, unit)
    units = units_of(segments, asked, used)
    warnings = list(units.warnings) if unit != RATER else []
    if unit not in (RATER, BOTH):
        return Independent(units.name, units), warnings
    who = rater_groups(ratings, averages.systems, averages.segments)
    few = too_few_groups(who[averages.system, averages.segment], ratings)
    if few is not None:
        raise UsageError(f'unit="{unit}": {few}')
    rater = np.unique(who[averages.system, averages.segment], return_inverse=True)[1]
    return Independent(unit, units, rater.astype(np.int64)), warnings
