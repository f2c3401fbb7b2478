"""What a correction says in words: who is ahead, what the judge alone would have said, the gain."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from steelyard.core.display import Statement
from steelyard.core.text import plural
from steelyard.judging.cardwords import percent
from steelyard.judging.corrected import Correction, named, worth_more
from steelyard.judging.options import BT
from steelyard.stats.estimate import Estimate
from steelyard.stats.prediction_powered.mean import FEWEST, Corrected


def told(found: Correction) -> Iterator[Statement]:
    """Say the same by part: what can be concluded, what stays open, how sure that is."""
    anything = False
    if found.overall is not None and len(found.systems) < 2:
        own = found.overall.estimate
        yield "settled" if own.known else "undecided", _level(found, found.overall)
        anything = True
    order = _who(found)
    if order is not None:
        first, others, n = order
        yield "settled", f"By people {first} comes first, as {_sources(found)} tell."
        if len(others) == n - 1:
            yield "undecided", f"Any of the {n} systems could come first."
        elif others:
            yield "undecided", f"{named(others)} could come first, too."
        anything = True
    for text in _pair(found):
        own = found.pairs[0].found.estimate
        apart = own.bounded and not own.low <= 0 <= own.high
        yield "settled" if apart else "undecided", text
        anything = True
    if not anything:
        yield "undecided", f"What people would say is not known from {_sources(found)}."
    for text in (*_gain(found), *_judge_alone(found)):
        yield "sureness", text


def said(found: Correction) -> str:
    """Say it in a few lines."""
    lines = []
    if found.overall is not None and len(found.systems) < 2:
        lines.append(_level(found, found.overall))
    lines += _order(found)
    lines += _pair(found)
    lines += _judge_alone(found)
    lines += _gain(found)
    return "\n".join(lines)


def _ends(own: Estimate) -> str:
    if not own.known:
        return f"undefined ({own.why})"
    if not own.bounded:
        return f"{own.value:.3g}"
    digits = max(2, 1 - math.floor(math.log10(max((own.high - own.low) / 4, 1e-9))))
    return f"{own.value:.{digits}f} [{own.low:.{digits}f}, {own.high:.{digits}f}]"


def _sources(found: Correction) -> str:
    return f"{plural(found.n_labelled, 'label')} and {found.n_judged:,} verdicts of {found.judge}"


def _level(found: Correction, own: Corrected) -> str:
    if not own.estimate.known:
        return f"No mean by people: {own.estimate.why}."
    told = f"By people the mean is {_ends(own.estimate)}, as {_sources(found)} tell"
    labels = "the labels alone say" if found.weighs_alike else "the labels as they stand say"
    people = f"{labels} {_ends(own.people)}, " if own.people.known else ""
    return f"{told}; {people}{_alone(own.judge)}."


def _alone(judge: float) -> str:
    """Say what the judge alone says, which without a verdict is nothing."""
    return "the judge alone can't say" if math.isnan(judge) else f"the judge alone {judge:.3g}"


def _who(found: Correction) -> tuple[str, list[str], int] | None:
    """Give who comes first, who could be, too, and of how many; None where there is no order."""
    if found.together is None or len(found.systems) < 2:
        return None
    comparison = found.comparison
    order = comparison.ranking(found.by)
    own = comparison.aggregations[found.by]
    place = {name: i for i, name in enumerate(comparison.systems)}
    known = [name for name in order if not np.isnan(own.ranks[place[name]])]
    if len(known) < 2:
        return None
    assert own.best_rank is not None
    could = [name for name in known if own.best_rank[place[name]] == 1]
    return known[0], [name for name in could if name != known[0]], len(known)


def _order(found: Correction) -> list[str]:
    order = _who(found)
    if order is None:
        return []
    first, others, n = order
    told = f"By people {first} comes first, as {_sources(found)} tell"
    if not others:
        return [f"{told}; no other system can be."]
    if len(others) == n - 1:
        return [f"{told}, but any of the {n} systems could be."]
    return [f"{told}; {named(others)} could be, too."]


def _pair(found: Correction) -> list[str]:
    if len(found.pairs) != 1:
        return []
    pair = found.pairs[0]
    own = pair.found.estimate
    if not own.known:
        return [f"{pair.one} and {pair.other}: {own.why}."]
    what = "log-strength" if found.by == BT else "points"
    told = f"{pair.one} minus {pair.other}: {_ends(own)} {what}"
    people = pair.found.people
    beside = f"labels alone {_ends(people)}" if people.known else "labels alone can't say"
    return [f"{told} ({beside}, {_alone(pair.found.judge)})."]


def _judge_alone(found: Correction) -> list[str]:
    """Say for how many systems the judge's own mean is outside the interval."""
    own = [(one.system, one.found) for one in found.systems if one.found.estimate.bounded]
    if not own:
        own = [("all", found.overall)] if found.overall and found.overall.estimate.bounded else []
    known = [(name, one) for name, one in own if not math.isnan(one.judge)]
    if not known:
        return []
    out = [
        (name, one) for name, one in known
        if not one.estimate.low <= one.judge <= one.estimate.high
    ]  # fmt: skip
    if not out:
        return ["What the judge alone says lies inside all of these intervals."]
    name, worst = max(out, key=lambda one: (abs(one[1].judge - one[1].estimate.value), one[0]))
    where = f" of {name}" if name != "all" else ""
    said = f"it says {worst.judge:.3g}{where}, people {_ends(worst.estimate)}"
    return [f"The judge alone is off for {len(out)} of {len(known)}: {said}."]


def _gain(found: Correction) -> list[str]:
    if not found.weighs_alike:
        return []
    # Few labels have exact intervals, which are no measure of what is gained.
    parts = [one.found for one in found.systems if one.found.n_labelled >= FEWEST]
    if len(parts) < 2 and found.overall is not None:
        parts = [found.overall]
    gains = [worth_more(own.estimate, own.people) for own in parts]
    known = [gain for gain in gains if not math.isnan(gain)]
    if not known:
        return []
    gain = float(np.median(known))
    if all(own.weight == 0 for own in parts):
        notes = sorted({own.note for own in parts if own.note})
        why = f" ({notes[0]})" if notes else ""
        return [f"The judge adds nothing here{why}."]
    if gain < 1:
        return ["The judge adds nothing here: intervals are no narrower than those of labels."]
    labels = found.n_labelled
    worth = f"With the judge {labels:,} labels are worth {round(gain * labels):,} without it"
    return [f"{worth} (intervals {percent(1 - 1 / math.sqrt(gain))} narrower)."]
