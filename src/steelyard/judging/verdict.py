"""Five fixed words on a judge, by rules that can be read. The first that holds is the verdict.

1. *too little data to say*: agreement is undefined, or all labels are the same (nothing tells a
   judge from a constant then), or fewer than thirty rows have labels, or the interval of agreement
   (of correlation, where verdicts are scores) reaches further than 0.15 to either side. A judge
   whose whole interval is below the best sentinel is not spared by width.
2. *believe*: not below people on the same target, above every sentinel (the lower end of its
   agreement above their agreement, and nearer to people than the best constant in the alternative
   annotator test), and, where five systems or more are known, a believable gap smaller than the
   median distance of two systems. With one rater nobody knows how far people agree: then kappa (or
   the correlation) must be 0.8 or more at its lower end, about what careful people reach with each
   other. A judge with empty cells on more than 5% of labelled rows is not believed, nor for
   ranking, until somebody says whether it failed there or was not asked.
3. *believe for ranking, not for levels*: five systems or more, nine of ten pairs of them in
   people's order, and of those further apart than the believable gap nineteen of twenty.
4. *use only with correction*: a correlation with people of 0.3 or more over rows, which is where
   labels begin to be worth more with the judge than without.
5. *do not use*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from steelyard.core.text import plural
from steelyard.judging.card import JudgeCard
from steelyard.stats.estimate import Estimate
from steelyard.stats.judged.agreement import CONSTANT_JUDGE
from steelyard.stats.judged.alt_test import AltTest
from steelyard.stats.judged.bias import FIXED
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
ALONE = 0.8  # kappa, or correlation, that stands for a ceiling where there is one rater
MOST_EMPTY = 0.05  # share of labelled rows with an empty cell beyond which no judge is believed
PLAIN_BIAS = 0.1  # a preference for a place that is worth a word


@dataclass(frozen=True, slots=True)
class Verdict:
    """One of five words, why, and how many labels would say more (None: not the question)."""

    word: str
    reasons: tuple[str, ...]
    labels_needed: int | None = None


def decide(card: JudgeCard, constant: AltTest | None = None) -> Verdict:
    """Give the verdict on a judge; ``constant`` is the best constant in the alternative test."""
    silent = _too_little(card)
    if silent is not None:
        return silent
    reasons: list[str] = []
    beaten = _sentinels(card, constant, reasons)
    level = card.systems
    seen = not math.isnan(level.alike) and len(level.systems) >= LEAST_SYSTEMS
    ranks = seen and _ranking(card, reasons)
    close = not seen or (level.gap is not None and level.gap.gap.value < level.median_gap)
    answers = card.empty <= MOST_EMPTY
    if not answers:
        reasons.append(
            f"no verdict on {100 * card.empty:.0f}% of labelled rows, which are left out"
        )
    if _people(card, reasons) and beaten and close and answers:
        return Verdict(BELIEVE, tuple(reasons))
    if ranks and answers:
        _biases(card, reasons)
        return Verdict(RANKING, tuple(reasons))
    rho = card.rho
    if not rho.known:
        reasons.append(f"no correlation with people: {rho.why}")
    elif rho.value >= LEAST_RHO:
        reasons.append(f"correlation with people over rows {rho.value:.2f}")
        return Verdict(CORRECT, tuple(reasons))
    else:
        reasons.append(f"correlation with people over rows {rho.value:.2f}, below {LEAST_RHO}")
    return Verdict(DO_NOT, tuple(reasons))


def _too_little(card: JudgeCard) -> Verdict | None:
    """Tell whether nothing can be said, or nothing more than that the judge is of no use."""
    main = card.accuracy if card.agreement is not None else card.rho
    if not main.known:
        return _undefined(card, main)
    if card.agreement is not None and card.agreement.majority == 1:
        said = "all labels are the same: nothing tells the judge from one that always says so"
        return Verdict(TOO_LITTLE, (said,))
    if (card.n >= LEAST_ROWS and not _wide(main)) or _plainly_below(card):
        return None
    measure = "agreement" if card.agreement is not None else "a correlation"
    rows = plural(card.n, "labelled row")
    said = f"{rows} {'gives' if card.n == 1 else 'give'} {measure} {_range(main)}"
    return Verdict(TOO_LITTLE, (said,), _needed(main, card.n))


def _undefined(card: JudgeCard, main: Estimate) -> Verdict:
    """Judge a judge without agreement: one that gives the same number to all rows is of no use."""
    if main.why == CONSTANT_JUDGE and card.n >= LEAST_ROWS:
        return Verdict(DO_NOT, (main.why,))
    needed = LEAST_ROWS if card.n < LEAST_ROWS else None
    return Verdict(TOO_LITTLE, (f"agreement is undefined ({main.why})",), needed)


def _wide(main: Estimate) -> bool:
    return not main.bounded or (main.high - main.low) / 2 > WIDEST


def _plainly_below(card: JudgeCard) -> bool:
    """Tell whether it is clear, however wide the interval, that a sentinel does better."""
    best = card.best_sentinel
    return card.n >= LEAST_ROWS and best is not None and card.accuracy.high < best.accuracy


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
            f"agrees on {100 * card.accuracy.value:.0f} % of rows, {word} the "
            f"{100 * best.accuracy:.0f} % of {best.what}"
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
    """Tell whether it is not below people, as far as can be seen."""
    own = card.ceiling
    if own is not None and own.difference.known:
        below = own.difference.high < 0
        word = "below" if below else "not below"
        against = f"({own.judge.value:.2f} against {own.people.value:.2f})"
        reasons.append(f"{word} people on the same target {against}")
        return not below
    why = "one rater" if own is None else own.difference.why
    name, found = ("kappa", card.kappa) if card.agreement is not None else ("rho", card.rho)
    enough = found.bounded and found.low >= ALONE
    low = f"{name} {found.low:.2f} at its lower end" if found.bounded else f"no interval of {name}"
    word = "enough" if enough else f"not the {ALONE} that would do"
    reasons.append(f"how far people agree is not known ({why}); {low}, {word}")
    return enough


def _ranking(card: JudgeCard, reasons: list[str]) -> bool:
    """Tell whether it orders systems well."""
    level = card.systems
    reasons.append(
        f"orders {100 * level.alike:.0f} % of {level.n_pairs} pairs of systems as people do"
    )
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
    if abs(place.bias.value) >= PLAIN_BIAS and place.p < 0.05:
        side = "left" if place.bias.value > 0 else "right"
        reasons.append(f"prefers the {side} place (bias {place.bias.value:+.2f})")
