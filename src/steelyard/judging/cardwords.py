"""What a card says in words: one sentence that decides, then why, then what to do."""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard.core.text import listed, plural
from steelyard.data.verdicts import OF_PAIRS, Verdicts
from steelyard.judging.card import JudgeCard
from steelyard.judging.jury import Jury
from steelyard.judging.swaying import OWN_FAMILY
from steelyard.judging.verdict import (
    BELIEVE,
    CORRECT,
    DO_NOT,
    PLAIN_BIAS,
    RANKING,
    TOO_LITTLE,
    Verdict,
)
from steelyard.stats.estimate import Estimate
from steelyard.stats.judged.alt_test import AltTest
from steelyard.stats.judged.bias import RANDOM_SIDES, SWAPPED

ALPHA = 0.05  # above which no sentence says that something sways a judge


def percent(share: float) -> str:
    """Give a share in hundredths.

    Examples
    --------
    >>> percent(0.857)
    '86 %'
    """
    return f"{100 * share:.0f} %"


def _with_ends(own: Estimate, digits: int = 2) -> str:
    if not own.bounded:
        return f"{own.value:.{digits}f}"
    return f"{own.value:.{digits}f} [{own.low:.{digits}f}, {own.high:.{digits}f}]"


def of_judge(card: JudgeCard, verdict: Verdict, verdicts: Verdicts) -> str:
    """Say the verdict on a judge and what it rests on.

    The first line decides; those that follow it are indented.
    """
    lines = [f"{card.name}: {_headline(card, verdict)}"]
    rows = f"{card.n:,} {'battles' if verdicts.kind == 'pairs' else 'outputs'}"
    if verdicts.judge(card.name).other_order is not None:
        rows = f"{card.n:,} verdicts, in both orders"
    if card.agreement is not None and card.accuracy.known:
        said = f"  It agrees with people on {percent(card.accuracy.value)} of {rows}"
        kappa = card.kappa
        said += f" (kappa {_with_ends(kappa)})" if kappa.known else f" (no kappa: {kappa.why})"
        lines.append(f"{said}{_against_people(card)}.")
    elif card.rho.known:
        said = f"  It correlates with people at {_with_ends(card.rho)} over {rows}"
        lines.append(f"{said}{_against_people(card)}.")
    if card.abstained.known and card.abstained.value > 0:
        lines.append(f"  {_no_verdict(card, verdicts)}")
    best = card.best_sentinel
    if best is not None and card.accuracy.known and card.accuracy.low <= best.accuracy:
        lines.append(
            f"  {best.what[0].upper()}{best.what[1:]} would agree as often "
            f"({percent(best.accuracy)})."
        )
    lines += _place(card, verdicts)
    lines += _systems(card)
    lines += _swayed(card)
    return "\n".join(lines)


def _no_verdict(card: JudgeCard, verdicts: Verdicts) -> str:
    """Say on how many labelled rows there is no verdict, and what became of them."""
    share = card.abstained.value
    text = f"No verdict can be read on {percent(share) if share >= 0.005 else 'under 1 %'}"
    labelled = int(verdicts.labelled.sum())
    kept = card.n >= labelled
    return f"{text} of {labelled:,} labelled rows{', which count as wrong' if kept else ''}."


def _headline(card: JudgeCard, verdict: Verdict) -> str:
    place = card.position
    sides = ""
    if (
        place is not None
        and place.bias.known
        and abs(place.bias.value) >= PLAIN_BIAS
        and place.design == RANDOM_SIDES
    ):
        sides = " if sides are random"
    if verdict.word == TOO_LITTLE:
        more = verdict.labels_needed
        say = f" About {plural(more, 'label')} would do." if more is not None else ""
        return f"too little data to say: {verdict.reasons[0]}.{say}"
    return {
        BELIEVE: "believe it.",
        RANKING: f"believe it for ranking{sides}, not for levels or single verdicts.",
        CORRECT: "use it only with correction by labels (steelyard judge correct).",
        DO_NOT: "do not use it.",
    }[verdict.word]


def _against_people(card: JudgeCard) -> str:
    own = card.ceiling
    if own is None or not own.difference.known:
        return ""
    people, judge = own.people.value, own.judge.value
    if own.measure == "correlation":
        shown = f"{people:.2f} against {judge:.2f}"
    else:
        shown = f"{percent(people)} against {percent(judge)}"
    if own.difference.high < 0:
        return f"; people agree more with each other ({shown})"
    if own.difference.low > 0:
        return f", more than people with each other ({shown})"
    return f", about as much as people with each other ({shown})"


def _place(card: JudgeCard, verdicts: Verdicts) -> list[str]:
    place = card.position
    if place is None or not place.bias.known:
        return [f"  Position: {place.bias.why}."] if place is not None and place.bias.why else []
    found = []
    if place.design == SWAPPED and place.consistent.known:
        found.append(
            f"  It says the same in both orders of {percent(place.consistent.value)} of pairs."
        )
    if abs(place.bias.value) < PLAIN_BIAS or place.p >= ALPHA:
        return found
    if place.design == RANDOM_SIDES:
        label = verdicts.judge(card.name).label
        assert label is not None
        left, right = (percent(float((label[label >= 0] == OF_PAIRS.index(side)).mean()))
                       for side in ("left", "right"))  # fmt: skip
        # "The right answer" would be understood as the correct one.
        shares = (
            f"picks the left answer in {left} of battles, the one on the right in {right}"
            if place.bias.value > 0
            else f"picks the answer on the right in {right} of battles, the left one in {left}"
        )
        return [*found, f"  It {shares} (bias {_with_ends(place.bias)})."]
    where = "first" if place.bias.value > 0 else "second"
    won = f"{place.first} pairs go to the first place in both orders, {place.second} to the second"
    return [*found, f"  It prefers what is shown {where}: {won} (bias {_with_ends(place.bias)})."]


def _systems(card: JudgeCard) -> list[str]:
    level = card.systems
    if math.isnan(level.alike):
        return []
    said = (
        f"  It orders {percent(level.alike)} of the {level.n_pairs} pairs of systems as people do"
    )
    gap = level.gap
    if gap is None or not gap.gap.known:
        why = f"; no gap can be measured: {gap.gap.why}" if gap is not None else ""
        return [f"{said}{why}."]
    return [f"{said}; gaps under {gap.gap.value:.3g} of its points mean nothing."]


def _swayed(card: JudgeCard) -> list[str]:
    found = []
    for effect in card.effects[1:]:
        if effect.p_adjusted >= ALPHA or not effect.estimate.known:
            continue
        way = "more" if effect.estimate.value > 0 else "less"
        ends = _with_ends(effect.estimate, 3)
        if effect.name == OWN_FAMILY:
            kind = "kinder to" if effect.estimate.value > 0 else "harder on"
            found.append(f"is {kind} its own family than people are ({ends})")
        elif effect.name == "length":
            found.append(f"rewards length {way} than people do ({ends})")
        elif effect.name == "exaggeration":
            word = "exaggerates" if effect.estimate.value > 0 else "shrinks"
            found.append(f"{word} how far systems are apart")
        else:
            found.append(f"is swayed by {effect.name} ({ends})")
    return [f"  It {listed(found, 4, last=' and ')}."] if found else []


def of_all(
    cards: Sequence[JudgeCard], constant: tuple[str, AltTest] | None, jury: Jury | None
) -> list[str]:
    """Say what holds for all judges: a constant that beats them, a jury that is worse."""
    lines = []
    if constant is not None:
        label, best = constant
        below = [
            card.name for card in cards
            if card.alt_test is not None and card.alt_test.advantage.known
            and card.alt_test.advantage.value < best.advantage.value
        ]  # fmt: skip
        if below and best.advantage.known:
            lines.append(
                f"Always saying '{label}' is as near to the other raters as a person in "
                f"{percent(best.advantage.value)} of rows: it beats {len(below)} of "
                f"{plural(len(cards), 'judge')} ({listed(below, 6)})."
            )
    if jury is not None:
        if jury.difference.high < 0:
            word = "worse than its best member"
        elif jury.difference.low > 0:
            word = "better than its best member"
        else:
            word = "about as good as its best member"
        lines.append(
            f"The jury of all {len(jury.judges)} judges is right in {percent(jury.vote.value)}, "
            f"{word} ({jury.best}, {percent(jury.best_accuracy.value)})."
        )
    return lines


def what_to_do(
    cards: Sequence[JudgeCard], decisions: Sequence[Verdict], verdicts: Verdicts
) -> list[str]:
    """Say what to do next."""
    known = [card for card in cards if not math.isnan(card.worth)]
    if not known:
        return []
    best = max(known, key=lambda card: (card.worth, card.name))
    worth = f"are worth as much as {best.worth:.0f} without it"
    lines = [f"What to do: 100 human labels with {best.name} {worth}"]
    unlabelled = len(verdicts) - int(verdicts.labelled.sum())
    believed = [d.word for d in decisions].count(BELIEVE)
    if unlabelled and not believed:
        lines[0] += f"; correct its {unlabelled:,} unlabelled verdicts (steelyard judge correct)"
    return [lines[0] + "."]
