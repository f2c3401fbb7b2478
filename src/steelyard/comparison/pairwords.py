"""The difference of two systems in words: which one is better, or what would settle it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from steelyard.comparison.words import independence
from steelyard.core.display import Statement
from steelyard.core.text import sentence
from steelyard.stats.paired.power import MOST

if TYPE_CHECKING:
    from steelyard.comparison.pair import Decision


def told(card: Decision) -> Iterator[Statement]:
    """Say in sentences what the card says: the verdict, what stays open, how sure that is."""
    yield from _verdict(card)
    yield from _sureness(card)


def verdict(card: Decision) -> str:
    """Say which system is better, or that the score does not settle it."""
    return " ".join(text for _, text in _verdict(card))


def _verdict(card: Decision) -> Iterator[Statement]:
    a, b = card.pair
    by = card.score if card.higher_is_better else f"{card.score} (lower is better)"
    open_question = f"{by} does not settle which of {a} and {b} is better"
    if not (card.wins or card.losses):
        yield "undecided", f"{open_question}: they tie on every segment."
        return
    plain = card.p < 0.0001 or math.isnan(card.p)
    found = f"{interval(card.difference, card.ci)}, p {'' if plain else '= '}{shown_p(card.p)}."
    if card.p < card.alpha:
        first = (card.difference > 0) == card.higher_is_better
        better, worse = (a, b) if first else (b, a)
        yield "settled", f"{better} is better than {worse} by {by}: {found}"
        return
    yield "undecided", f"{open_question}: {found}"
    if card.difference and not math.isnan(card.p):
        n = card.n_segments if card.unit.n > 1 else 1
        more = _more(n, card.needed, card.power)
        if more:
            yield "undecided", more


def _more(n: int, needed: int | None, power: float) -> str:
    """Say how many segments a difference like this would take; one alone does not tell."""
    if n < 2:
        return ""
    if needed is not None and needed <= n:
        return f"The power for a difference this large is {power:.0%} or more already."
    count = f"more than {MOST:,}" if needed is None else f"about {needed:,}"
    return f"A difference this large would take {count} segments ({power:.0%} power)."


def _sureness(card: Decision) -> Iterator[Statement]:
    """Say how often the lead stands in resamples, and what else speaks for it or against it."""
    a, b = card.pair
    if not math.isnan(card.probability):
        ahead, share = (
            (a, card.probability) if card.probability >= 0.5 else (b, 1 - card.probability)
        )
        yield "sureness", f"{ahead} is ahead in {100 * share:.1f} % of the resampled test sets."
    if card.readings.sentence:
        yield "undecided", card.readings.sentence
    if card.strata is not None and card.strata.sentence:
        yield "undecided", card.strata.sentence
    human = card.human
    if human is not None and not math.isnan(human["difference"]):
        lower = "" if human["higher_is_better"] else ", lower is better"
        apart = interval(human["difference"], human["ci"])
        yield "sureness", f"By people ({human['score']}{lower}) the difference is {apart}."
    if card.worth is not None:
        at = card.worth.at(card.difference)
        if not any(math.isnan(at[name]) for name in ("agree", "low", "high")):
            yield "sureness", sentence(card.worth.sentence(card.difference))
    yield "sureness", independence(card.unit)


def shown_p(p: float) -> str:
    """Write a p-value for a card; one that is too small for four digits is not 0.

    Examples
    --------
    >>> shown_p(0.00004), shown_p(0.0312), shown_p(float("nan"))
    ('< 0.0001', '0.0312', 'undefined')
    """
    return "undefined" if math.isnan(p) else "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def interval(value: float, ends: Sequence[float]) -> str:
    """Write a difference with its interval, as far as there is one.

    Examples
    --------
    >>> interval(0.5, (0.25, 1.0)), interval(0.5, (float("nan"), 1.0))
    ('+0.5 (+0.25 to +1)', '+0.5 (no interval)')
    """
    if math.isnan(value):
        return "undefined"
    shown, low, high = (f"{x:+.4g}" if x else "0" for x in (value, *ends))
    return f"{shown} (no interval)" if np.isnan(ends).any() else f"{shown} ({low} to {high})"
