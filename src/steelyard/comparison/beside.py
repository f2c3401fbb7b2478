"""What a comparison says beside its rankings, each part worked out when it is looked at.

Who only wants a ranking pays for no test, no other treatment of ties, no system left out in turn
and no explanation of where rankings disagree. All parts rest on the same data, and what is random
was given its own stream, so that it makes no difference when, or whether, one is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.comparison.aggregations import Aggregate
from steelyard.comparison.diagnosis import diagnose, order_flips, pairing_note, tie_note
from steelyard.comparison.ranked import MOST_SHOWN, SENTENCES, PairTest, Ranked, Tiers
from steelyard.comparison.tests import TESTS, Question, Verdicts, fitting, pair_test, tiers_by
from steelyard.core.lazy import lazy
from steelyard.data.evalset import EvalSet
from steelyard.data.units import UnitEffect
from steelyard.stats.arrays import Floats, same_digits
from steelyard.stats.paired import tests as paired
from steelyard.stats.paired.tests import error_note
from steelyard.stats.ranks import ranks
from steelyard.stats.strength.bradleyterry import Strengths, bradley_terry


@dataclass(frozen=True, eq=False)
class Findings:
    """Tests, tiers, effects, notes and warnings of some rankings of one score.

    ``found`` are the rankings as they were made, ``shown`` the same in the numbers of the score;
    ``asked`` names the tests, and ``told`` is what must be known of the rankings beforehand.
    """

    es: EvalSet
    question: Question
    found: Mapping[str, Aggregate]
    shown: Mapping[str, Ranked]
    asked: tuple[str, ...]
    told: tuple[str, ...]

    def later(self, part: str) -> Any:
        """Give a part by name, for when it is looked at."""
        return lazy(lambda: getattr(self, part))

    @property
    def _several(self) -> bool:
        return len(self.question.data.systems) > 1

    @property
    def _bt(self) -> bool:
        return "bt" in self.found and self._several

    @cached_property
    def _fit(self) -> Strengths:
        """Give the fit of Bradley-Terry to its end: not all iterations go there."""
        options, own = self.question.options, self.found["bt"].strengths
        if own is not None and options.method == "newton":
            return own
        counts = self.question.data.wins.by(options.tolerance)
        return bradley_terry(counts.wins, counts.ties, ties_as=options.ties, prior=options.prior)

    @cached_property
    def tests(self) -> dict[str, PairTest]:
        """Test all pairs."""
        return {name: pair_test(name, self.question) for name in self.asked if self._several}

    @cached_property
    def _all_tiers(self) -> dict[str, Tiers | None]:
        return {by: self._tiers_by(by, own.ranks) for by, own in self.found.items()}

    @property
    def tiers(self) -> dict[str, Tiers]:
        """Put systems into tiers, by each ranking."""
        return {name: own for name, own in self._all_tiers.items() if own is not None}

    def _tiers_by(self, by: str, places: Floats) -> Tiers | None:
        """Put systems into tiers by the test that fits the ranking, or else by the first."""
        data = self.question.data
        fits = fitting(by, data)
        name = fits if fits in self.tests else next(iter(self.tests), None)
        if name is None:
            return None
        found = Verdicts(name, self.tests[name], TESTS[name].ahead(data))
        return tiers_by(by, places, data.systems, found, self.question.options.alpha)

    @cached_property
    def effects(self) -> dict[str, Floats]:
        """Measure how large the differences of all pairs are; nothing of more than 300 systems."""
        data = self.question.data
        if len(data.systems) > MOST_SHOWN:
            return {}
        size = paired.standardised_difference(data.additive())
        return {
            "superiority": self.superiority,
            "cliffs_delta": paired.cliffs_delta(data.scores),
            "standardised_difference": data.sign * size + 0.0,  # no -0.0
        }

    @cached_property
    def superiority(self) -> Floats:
        """Give the share of segments that each system wins against each other one."""
        return paired.superiority(self.question.data.wins.by(self.question.options.tolerance))

    @property
    def unit(self) -> UnitEffect:
        """Measure what it changes that segments of a unit are alike."""
        data = self.question.data
        return data.units.effect(data.additive())

    @cached_property
    def _of_pairing(self) -> tuple[dict[str, Any] | None, list[str]]:
        return pairing_note(self.question.data.scores)

    @cached_property
    def _explained(self) -> dict[str, Any]:
        return diagnose(self.es, self.question.data, self.found)

    @property
    def diagnosis(self) -> dict[str, Any]:
        """Explain where rankings disagree, and say what the pairing of segments is worth."""
        parts = {name: own for name, own in self._explained.items() if name != "warnings"}
        return {**parts, "pairing": self._of_pairing[0]}

    @property
    def notes(self) -> tuple[str, ...]:
        """Say what the tests ask, what becomes of ties, and what pairing is worth."""
        told = any(note.endswith(SENTENCES) for note in self.told)  # which is said once
        found = [
            *self.told,
            *(
                test.reason.removesuffix(f" (on {SENTENCES})") if told else test.reason
                for test in self.tests.values()
            ),
        ]
        data, options = self.question.data, self.question.options
        if self._bt:
            counts = data.wins.by(options.tolerance)
            found += tie_note(counts, data.systems, options, self._fit)
        found += self._of_pairing[1]
        found += [text for own in self.shown.values() for text in own.notes]
        return tuple(dict.fromkeys(found))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warn of the data, the tests, the rankings, and where they contradict each other."""
        data, options = self.question.data, self.question.options
        found = [*data.warnings, *self.question.sample.warnings]
        found += [text for test in self.tests.values() for text in test.told]
        found += [text for own in self.found.values() for text in own.warnings]
        found += self._unofficial(self.found.get("mean"))
        error = max((test.error for test in self.tests.values()), default=0.0)
        found += error_note(error)
        found += [text for own in self.tiers.values() for text in own.warnings]
        if self._bt:
            counts = data.wins.by(options.tolerance)
            found += order_flips(counts, data.systems, options, self._fit)
        found += self._explained["warnings"]
        return tuple(dict.fromkeys(found))

    def _unofficial(self, found: Aggregate | None) -> list[str]:
        """Warn where means of segments stand in for official scores that are something else."""
        data = self.question.data
        table = self.es[data.name]
        if found is None or data.statistics is not None or table.system_scores is None:
            return []
        rows = [self.es.systems.index(system) for system in data.systems]
        official = data.sign * table.system_scores[rows]
        if same_digits(official, found.scores):
            return []
        told = (
            f"mean ranks by means of segment scores, which the official system scores of "
            f"'{data.name}' are not"
        )
        moved = [
            f"{system} is {int(here)}, officially {int(there)}"
            for system, here, there in zip(data.systems, found.ranks, ranks(official), strict=True)
            if not np.isnan(there) and here != there
        ]
        if not moved:
            return [f"{told}; the order is the same"]
        more = f" (and {len(moved) - 4} more)" if len(moved) > 4 else ""
        return [f"{told}; the places differ: {'; '.join(moved[:4])}{more}"]
