"""Which protocol raw judgements were made by, as far as they tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import BattleLog, Rankings, Ratings
from steelyard.formats.reading import Reading, read_all
from steelyard.formats.streams import kept
from steelyard.human.options import PROTOCOLS


@kept()
def told_protocol(sources: Sequence[Any], reading: Reading, human: str | None) -> tuple[str, str]:
    """Give the protocol that inputs tell, and what tells it.

    Examples
    --------
    >>> import polars
    >>> rows = {"rater": ["r"] * 2, "system": ["A", "B"], "segment": [1, 1], "raw": [90, 40]}
    >>> told_protocol([polars.DataFrame(rows)], Reading(), None)
    ('da', 'scores of raters')
    """
    judged = (Ratings, Rankings, BattleLog)
    values = [source for source in sources if isinstance(source, judged)]
    values += [one.value for one in read_all([s for s in sources if not isinstance(s, judged)],
                                             reading)]  # fmt: skip
    found = {told for value in values for told in _told(value, human)}
    if len(found) != 1:
        seen = "tell several" if found else "do not tell it"
        known = ", ".join(PROTOCOLS)
        raise UsageError(f"protocol=NAME is missing, and the inputs {seen}: one of {known}")
    return found.pop()


def _told(value: Any, human: str | None) -> list[tuple[str, str]]:
    """Say what one input tells; texts and scores tell nothing."""
    if isinstance(value, Rankings):
        return [("rr", "rankings of systems")]
    if isinstance(value, BattleLog):
        return [("darr", "pairs, the better and the worse")]
    if isinstance(value, EvalSet):
        return [told for name, own in value.ratings.items() if human in (None, name)
                for told in _told(own, None)]  # fmt: skip
    if not isinstance(value, Ratings):
        return []
    scored = not np.isnan(value.value).all()
    if value.errors is None:
        return [("da", "scores of raters")] if scored else []
    return [("esa", "scores and marked errors") if scored else ("mqm", "marked errors")]
