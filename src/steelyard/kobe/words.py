"""What KoBE found in words: which system keeps most of the entities, and what that rests on.

Nothing is tested here, so that no sentence calls a system better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from steelyard.core.display import Statement
from steelyard.core.text import all_of, plural

if TYPE_CHECKING:
    from steelyard.kobe.findings import KobeReport, SystemEntities


def told(found: KobeReport) -> Iterator[Statement]:
    """Say in sentences what was found; what single alarms say takes longer, and is not asked."""
    systems = [s for s in found.systems if not s.is_reference]
    known = [s for s in systems if not math.isnan(s.score)]
    if not known:
        why = f"no entity was found in the {found.what}" if systems else "there is no system"
        yield "undecided", f"KoBE says nothing here: {why}."
        return
    best = max(s.score for s in known)
    top = [s for s in known if s.score == best]
    n, value = plural(len(systems), "system"), f"{best:.2f}"
    if len(systems) == 1:
        yield "settled", f"{top[0].system} has KoBE {value}: {_kept(found, top[0])}."
        yield "undecided", f"{top[0].system} is the only system: there is nothing to compare."
    elif len(top) == 1:
        text = f"{top[0].system} ranks first of {n} by KoBE ({value})"
        yield "settled", f"{text}: {_kept(found, top[0])}."
    else:
        names = all_of([s.system for s in top])
        yield "settled", f"{names} share the first place of {n} by KoBE ({value})."
    with_some = found.n_segments - found.n_without_entities
    rests = f"{found.n_source_entities:,} entities in {with_some:,} of"
    yield "sureness", f"This rests on {rests} {plural(found.n_segments, 'segment')}."
    ceilings = [s for s in found.systems if s.is_reference and not math.isnan(s.recall)]
    if ceilings:
        person = max(ceilings, key=lambda s: s.recall)
        who = "reference" if found.same_language else "human translation"
        text = f"The {who} {person.system} keeps {person.recall:.1f} of 100 entities"
        yield "sureness", f"{text}: what people leave out, no system need keep."
    if len(systems) > 1:
        text = "No test was made: steelyard compare says whether a lead is more than chance."
        yield "sureness", text


def _kept(found: KobeReport, system: SystemEntities) -> str:
    """Say what the score of a system counts."""
    if found.measure == "precision":
        count = f"{system.matched:,} of {system.found:,} {found.counted} of its output"
        return f"{count} are in the {found.what}"
    count = f"{system.matched:,} of {system.wanted:,} {found.counted} of the {found.what}"
    return f"{count} are in its output"
