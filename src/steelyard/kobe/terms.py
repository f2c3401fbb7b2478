"""Terms of a glossary: where outputs use them, and where they do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from steelyard.core.table import Column, Table
from steelyard.core.text import listed
from steelyard.kobe.alarms import Explained
from steelyard.kobe.mention import Id, Linker, Mention

_NAMED = 3  # places or forms that a row names


class TermUse(NamedTuple):
    """A term of the source: what outputs should call it, and whether they do.

    ``segments`` are pairs of a system and a segment whose output has none of the expected forms,
    ``instead`` what stands there, where that is known.
    """

    id: str
    source: str
    expected: tuple[str, ...]
    used: int
    missed: int
    segments: tuple[tuple[str, str], ...]
    instead: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        places = [{"system": system, "segment": segment} for system, segment in self.segments]
        return {
            **self._asdict(),
            "expected": list(self.expected),
            "segments": places,
            "instead": dict(self.instead),
        }


def is_term(mention: Mention, linker: Linker) -> bool:
    """Tell whether a mention is of a glossary."""
    return mention.group == "term" or linker.name(mention.id).startswith("term:")


def term_use(explained: Explained, linker: Linker) -> list[TermUse]:
    """List the terms of the sources, those first that are missed most often."""
    linked, target = explained.linked, explained.pair[1]
    own = {m.id: m for mentions in linked.source_mentions for m in mentions if is_term(m, linker)}
    if not own:
        return []
    used: Counter[Id] = Counter()
    missed: dict[Id, list[tuple[str, str]]] = {one: [] for one in own}
    instead: dict[Id, Counter[str]] = {one: Counter() for one in own}
    for system, at, _, row in explained.texts(explained.systems):
        for finding in row:
            if finding.source is None or finding.source.id not in own:
                continue
            one = finding.source.id
            if finding.is_alarm:
                missed[one].append((system, linked.ids[at]))
                if finding.output is not None:
                    instead[one][finding.output.text] += 1
            elif finding.kind == "found":
                used[one] += 1
    found = [
        TermUse(
            id=linker.name(one),
            source=mention.text,
            expected=target.of(mention),
            used=used[one],
            missed=len(missed[one]),
            segments=tuple(missed[one]),
            instead=dict(instead[one]),
        )
        for one, mention in own.items()
    ]
    return sorted(found, key=lambda term: (-term.missed, term.id))


def terms_table(terms: tuple[TermUse, ...], n: int = 20) -> Table:
    """Give the terms that outputs do not use."""
    columns = (Column("term"), Column("expected"), Column("used", digits=0),
               Column("missed", digits=0), Column("where"), Column("instead"))  # fmt: skip
    missed = [term for term in terms if term.missed]
    rows = tuple(
        (
            term.source,
            listed(term.expected, _NAMED),
            term.used,
            term.missed,
            listed([f"{system} {segment}" for system, segment in term.segments], _NAMED),
            listed(sorted(term.instead, key=lambda text: (-term.instead[text], text)), _NAMED),
        )
        for term in missed[:n]
    )
    note = f"{len(missed)} of {len(terms)} terms of the source are not used everywhere."
    return Table("Terms not used", columns, rows, (note,))
