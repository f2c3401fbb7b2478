"""Which mentions of a source and of an output mean the same in other words or units."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from steelyard.kobe.forms import Forms
from steelyard.kobe.measures import Measure, measures
from steelyard.kobe.mention import Mention, Mentions
from steelyard.kobe.otherwords import is_said, number_in_words

_MEASURED = ("number", "unit")


class Origin(NamedTuple):
    """The text of a source, and what entities are called in its language."""

    text: str
    forms: Forms


class Outcome(NamedTuple):
    """An output with its mentions, and what entities are called in its language."""

    text: str
    mentions: Mentions
    forms: Forms | None


def equal_measures(
    source: Mentions, open_: Collection[int], origin: Origin, outcome: Outcome
) -> dict[int, Mention]:
    """Find measures that were converted rightly, or are there in another unit.

    A measure that the source gives twice (85 miles, 137 kilometres) may be there once.
    """
    forms = outcome.forms
    if forms is None or not any(source[i].group in _MEASURED for i in open_):
        return {}
    found: dict[int, Mention] = {}
    theirs = measures(outcome.text, outcome.mentions, forms.lang, forms.code)
    for own in measures(origin.text, source, origin.forms.lang, forms.code):
        equal = next((one for one in theirs if own.equals(one)), None)
        if equal is None:
            continue
        start, end = equal.start, equal.end
        for i in own.mentions:
            if i in open_:
                text = outcome.text[start:end]
                found[i] = source[i]._replace(start=start, end=end, text=text, rule="converted")
    return found


def unsaid(
    free: Sequence[Mention], source: Mentions, origin: Origin, outcome: Outcome
) -> list[Mention]:
    """Leave what the source does not say in other words either."""
    if outcome.forms is None:
        return [*free]
    wanted = {r for m in source for r in m.readings}
    code = outcome.forms.code
    own: list[Measure] = []
    theirs: list[Measure] = []
    if any(m.group in _MEASURED for m in free):
        own = measures(origin.text, source, origin.forms.lang, code)
        theirs = measures(outcome.text, outcome.mentions, outcome.forms.lang, code)
    left = []
    for m in free:
        parts = [one for one in theirs if one.start <= m.start and m.end <= one.end]
        if m.group in _MEASURED and any(one.equals(two) for one in parts for two in own):
            continue
        if wanted.isdisjoint(m.readings) and _is_meant(m, source, origin, outcome):
            continue
        left.append(m)
    return left


def _is_meant(m: Mention, source: Mentions, origin: Origin, outcome: Outcome) -> bool:
    if m.group == "number":
        linked = [(s.start, s.end) for s in source]
        return number_in_words(m, origin.text, origin.forms.lang, linked) is not None
    if m.group not in ("place", "name"):
        return False
    if m.category == "country":  # of a currency: US $
        money = {other.start for other in outcome.mentions if other.group == "money"}
        if not money.isdisjoint((m.end, m.end + 1)):
            return True
    return is_said(m, origin.forms.of(m), origin.text)
