"""Five fixed words on a judge, by rules that can be read.

1. *too little data to say*: fewer than thirty rows with labels, or an interval of agreement (or
   correlation) half-widths beyond 0.15, unless it is plain that the judge knows nothing.
2. *believe*: not below people on the same target, above every sentinel, and, where systems are
   known, a believable gap smaller than the median distance of two systems.
3. *believe for ranking, not for levels*: nine of ten pairs of systems in people's order, and of
   those further apart than the believable gap nearly all.
4. *use only with correction*: a correlation with people of 0.3 or more over rows.
5. *do not use*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from steelyard.judging.card import JudgeCard
from steelyard.stats.estimate import Estimate
from steelyard.stats.judged.alttest import AltTest
from steelyard.stats.judged.position import FIXED
from steelyard.stats.prediction_powered.labels import labels_for_kappa

BELIEVE = "believe"
RANKING = "believe for ranking, not for levels"
CORRECT = "use only with correction"
DO_NOT = "do not use"
TOO_LITTLE = "too little data to say"
VERDICTS = (BELIEVE, RANKING, CORRECT, DO_NOT, TOO_LITTLE)

LEAST_ROWS = 30
WIDEST = 0.15  # half-width of agreement beyond which nothing is said
LEAST_RHO = 0.3
LEAST_ALIKE = 0.9  # share of pairs of systems in people's order
LEAST_ABOVE = 0.95  # of those beyond the believable gap
LEAST_SYSTEMS = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """One of five words, why, and how many labels would say more (None: not the question)."""

    word: str
    reasons: tuple[str, ...]
    labels_needed: int | None = None


def decide(card: JudgeCard, constant: AltTest | None = None) -> Verdict:
    """Give the verdict on a judge; ``constant`` is the best constant in the alternative test."""
    main = card.accuracy if card.agreement is not None else card.rho
    if not main.known:
        return Verdict(TOO_LITTLE, (f"agreement is undefined: {main.why}",), LEAST_ROWS)
    reasons: list[str] = []
    beaten = _sentinels(card, constant, reasons)
    ranks = _ranking(card, reasons)
    if card.n < LEAST_ROWS or _wide(main):
        needed = _needed(main, card.n)
        return Verdict(
            TOO_LITTLE, (f"{card.n} labelled rows give agreement {_range(main)}",), needed
        )
    people = _people(card, reasons)
    rho = card.rho.value
    if people and beaten and ranks is not False:
        return Verdict(BELIEVE, tuple(reasons))
    if ranks:
        _biases(card, reasons)
        return Verdict(RANKING, tuple(reasons))
    if not math.isnan(rho) and rho >= LEAST_RHO:
        reasons.append(f"correlation with people over rows {rho:.2f}")
        return Verdict(CORRECT, tuple(reasons))
    if not math.isnan(rho):
        reasons.append(f"correlation with people over rows {rho:.2f}, below {LEAST_RHO}")
    return Verdict(DO_NOT, tuple(reasons))


def _wide(main: Estimate) -> bool:
    return not main.bounded or (main.high - main.low) / 2 > WIDEST


def _range(main: Estimate) -> str:
    if not main.bounded:
        return f"{main.value:.2f} without an interval"
    return f"between {main.low:.2f} and {main.high:.2f}"


def _needed(main: Estimate, n: int) -> int:
    """Give the labels with which the interval would be narrow enough."""
    if not main.se > 0 or n < 2:
        return LEAST_ROWS
    return max(LEAST_ROWS, labels_for_kappa(main.se, n, WIDEST))


def _sentinels(card: JudgeCard, constant: AltTest | None, reasons: list[str]) -> bool:
    """Tell whether it beats every judge that knows nothing."""
    beaten = True
    best = card.best_sentinel
    if best is not None and card.accuracy.known:
        beaten = card.accuracy.low > best.accuracy
        word = "above" if beaten else "not above"
        reasons.append(
            f"agrees in {card.accuracy.value:.0%} of rows, {word} {best.accuracy:.0%} of "
            f'"{best.what}"'
        )
    if constant is not None and card.alt_test is not None and card.alt_test.advantage.known:
        mine, theirs = card.alt_test.advantage.value, constant.advantage.value
        if theirs >= mine:
            beaten = False
            reasons.append(
                f"a constant is as near to people more often ({theirs:.2f} against {mine:.2f})"
            )
    return beaten


def _people(card: JudgeCard, reasons: list[str]) -> bool:
    """Tell whether it is not below people, as far as can be seen; without a ceiling, by kappa."""
    if card.ceiling is None or not card.ceiling.difference.known:
        why = "one rater" if card.ceiling is None else card.ceiling.difference.why
        reasons.append(f"how far people agree is not known ({why})")
        return False
    own = card.ceiling
    below = own.difference.high < 0
    word = "below" if below else "not below"
    reasons.append(
        f"{word} people on the same target ({own.judge.value:.2f} against {own.people.value:.2f})"
    )
    return not below


def _ranking(card: JudgeCard, reasons: list[str]) -> bool | None:
    """Tell whether it orders systems well; None where that can't be seen."""
    level = card.systems
    if math.isnan(level.alike) or len(level.systems) < LEAST_SYSTEMS:
        return None
    reasons.append(f"orders {level.alike:.0%} of {level.n_pairs} pairs of systems as people do")
    gap = level.gap
    if gap is None or not gap.gap.known:
        reasons.append("no gap of its scores is believable" if gap is None else gap.gap.why)
        return False
    reasons.append(
        f"gaps under {gap.gap.value:.3g} of its points mean nothing ({gap.n_above} of "
        f"{gap.n_pairs} pairs are further apart)"
    )
    above = gap.right_above
    return level.alike >= LEAST_ALIKE and not math.isnan(above) and above >= LEAST_ABOVE


def _biases(card: JudgeCard, reasons: list[str]) -> None:
    place = card.position
    if place is None or not place.bias.known:
        if place is not None and place.design == FIXED:
            reasons.append("systems keep their side: a preference for a place would look like one")
        return
    if abs(place.bias.value) >= 0.1 and place.p < 0.05:
        side = "left" if place.bias.value > 0 else "right"
        reasons.append(f"prefers the {side} place (bias {place.bias.value:+.2f})")
