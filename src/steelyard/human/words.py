"""Human scores in words: who is first, what the clusters leave open, how far raters agree.

A test that does not reject makes nobody equal; without one, a system only ranks first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.core.display import Statement
from steelyard.core.text import all_of, plural
from steelyard.stats.paired.tests import DECISIVE

if TYPE_CHECKING:
    from steelyard.human.results import HumanScores, SystemScore

#: What each coefficient of agreement is to a reader, in the order in which they are preferred.
_AGREE = {
    "alpha_interval": "Krippendorff's alpha",
    "alpha_ordinal": "Krippendorff's alpha of ranks",
    "alpha_nominal": "Krippendorff's alpha of labels",
    "fleiss_kappa": "Fleiss' kappa",
    "cohen_kappa": "Cohen's kappa",
    "kappa": "Kappa of orders of two systems",
}


def told(found: HumanScores) -> Iterator[Statement]:
    """Say in sentences what raw judgements say of systems."""
    yield from _first(found)
    yield from _sureness(found)


def _first(found: HumanScores) -> Iterator[Statement]:
    """Say who is first, and whether others may be as good."""
    systems = found.systems
    known = [s for s in systems if s.rank is not None]
    top = [s for s in known if s.rank == 1]
    if not top:
        yield "undecided", f"No system has a score by {found.score}."
        return
    n, by = plural(len(systems), "system"), found.score
    if len(systems) == 1:
        yield "undecided", f"{top[0].system} is the only system: there is nothing to compare."
    elif len({s.score for s in top}) > 1:  # of several sets, each with a first system
        yield "settled", f"First in their sets by {by} are {all_of([s.system for s in top])}."
        yield "undecided", "No pair was tested, so that their leads may be chance."
    elif len(top) > 1:
        names = all_of([s.system for s in top])
        yield "settled", f"{names} share the first place of {n} by {by}."
        yield "undecided", f"Which of {names} is best is not decided: they have the same score."
    else:
        yield from _one_first(found, top[0])


def _one_first(found: HumanScores, best: SystemScore) -> Iterator[Statement]:
    name, n = best.system, plural(len(found.systems), "system")
    if found.rule is None or best.cluster is None:
        yield "settled", f"{name} ranks first of {n} by {found.score}."
        yield "undecided", f"No pair was tested, so that the lead of {name} may be chance."
        return
    inside = [s.system for s in found.systems if s.cluster == best.cluster]
    how = f"{found.rule.test} test, p < {found.rule.alpha:g}"
    if inside == [name]:
        text = f"{name} is the best of {n} by {found.score}: it is alone in the first cluster"
        yield "settled", f"{text} ({how})."
        return
    many = f"{name} ranks first of {n} by {found.score}, in a first cluster of {len(inside)}"
    yield "settled", f"{many} ({how})."
    if found.unit is not None and found.unit.n < DECISIVE:
        yield "undecided", f"{found.unit.counted()}: too few to tell its lead from chance."
        return
    rest = _not_beaten(found, name)
    if rest:
        yield "undecided", f"The tests leave open whether {name} is better than {all_of(rest)}."
    open_ = "not every difference within a cluster is significant"
    yield "undecided", f"That does not make the systems of a cluster equally good: {open_}."


def _not_beaten(found: HumanScores, best: str) -> list[str]:
    """Give the systems that the first one does not beat significantly."""
    if found.p is None or found.rule is None:
        return []
    names = [s.system for s in found.systems]
    p = found.p[names.index(best)]
    return [
        s.system
        for s, own in zip(found.systems, p, strict=True)
        if s.system != best and s.rank is not None and not own < found.rule.alpha
    ]


def _sureness(found: HumanScores) -> Iterator[Statement]:
    """Say how much was judged, by how many, and how far they agree."""
    total = sum(s.n_ratings for s in found.systems)
    if found.counted in ("battles", "pairs"):  # each is of two systems
        total = total // 2 if found.battles is None else len(found.battles)
    if not total:
        return
    counted = plural(total, found.counted.removesuffix("s"))
    raters = len(found.parts["raters"].rows) if "raters" in found.parts else 0
    by = f" by {plural(raters, 'rater')}" if raters else ""
    found_ = _agreement(found)
    if found_ is None:
        yield "sureness", f"This rests on {counted}{by}; how far raters agree is not known."
    else:
        name, value, ends = found_
        who = "who" if raters > 1 else "and raters"
        yield "sureness", f"This rests on {counted}{by}, {who} agree at {value:.3f} ({name})."
        span = "" if ends is None else f"; its 95 % interval is {ends[0]:.3f} to {ends[1]:.3f}"
        yield "sureness", f"{name} is 1 where raters agree fully, and 0 by chance{span}."
    gone = len(found.removed_raters)
    if gone:
        out = "is" if gone == 1 else "are"
        yield "sureness", f"{plural(gone, 'rater')} failed the checks and {out} left out."
    if found.unit is not None and found.rule is not None:
        yield "sureness", found.unit.summary()


def _agreement(found: HumanScores) -> tuple[str, float, tuple[float, float] | None] | None:
    """Give how far raters agree: a coefficient, its value and its interval.

    That is one of the score that systems are ordered by, if that is measured.
    """
    own: list[Mapping[str, Any]] = [
        entry for name, entry in found.agreement.items() if name == found.score
    ]
    for entry in (*own, *found.agreement.values()):
        for name, label in _AGREE.items():
            value = entry.get(name, entry.get("ranking", {}).get(name))
            if isinstance(value, Mapping) and not math.isnan(value["value"]):
                ends = value["ci"]
                known = ends is not None and not np.isnan(ends).any()
                return label, value["value"], (ends[0], ends[1]) if known else None
    return None
