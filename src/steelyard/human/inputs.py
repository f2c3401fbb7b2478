"""Inputs of ``steelyard human``: raw judgements, and the scores and texts that go with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.core.provenance import InputFile
from steelyard.data.evalset import EvalSet
from steelyard.data.joining import join
from steelyard.data.judgements import BattleLog, Rankings, Ratings
from steelyard.formats import layout
from steelyard.formats.files import sha256
from steelyard.formats.judged import directassessment as da
from steelyard.formats.judged import errorlists
from steelyard.formats.load import Reading, TableFormat, read_any
from steelyard.formats.streams import kept
from steelyard.formats.tables import RawTable

EXPECTED = {
    "da": "rater (or worker), system, segment and raw, one row per judgement",
    "esa": "rater, system, segment, errors and value",
    "mqm": "rater, system, segment, and errors (or category and severity)",
    "rr": "segmentId, judgeId, system1Id, system1rank, system2Id, ...",
    "darr": "judgements of direct assessment, a table of scores, or pairs (better, worse)",
}


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was read: judgements of one kind, and a set of scores and texts, where there are any."""

    judgements: Ratings | Rankings | BattleLog | None
    scores: EvalSet | None
    files: tuple[InputFile, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class _Inspector:
    """Looks at tables before they are read: refuses what can't be, notes what is not used."""

    protocol: str
    scale: tuple[float, float]
    severities: Collection[str] | None
    notes: list[str] = field(default_factory=list)

    def __call__(self, found: TableFormat, table: RawTable) -> None:
        if self._unfit(found):
            columns = ", ".join(list(table.columns)[:8])
            read_as = f"was read as {found.name} (columns {columns})"
            table.fail(f"{read_as}; protocol {self.protocol} expects {EXPECTED[self.protocol]}")
        if found.gives != "ratings":
            return
        if self.protocol != "mqm":
            names = da.VALUE if found.module is da else errorlists.VALUE
            da.check_scale(table, *self.scale, names)
        if self.severities is not None and found.module is errorlists:
            errorlists.check_severities(table, self.severities)
        known = da.KNOWN | errorlists.KNOWN
        unused = [c for c in table.columns if c not in known and not layout.is_text(c)]
        if unused:
            self.notes.append(f"{table.path}: columns not used: {', '.join(unused)}")

    def _unfit(self, found: TableFormat) -> bool:
        """Tell whether a protocol has no use for a table of this format."""
        if found.gives == "ratings":
            wanted = {"mqm": (errorlists,), "esa": (errorlists, da), "rr": ()}
            return found.module not in wanted.get(self.protocol, (da,))
        if self.protocol == "rr":  # texts tell which outputs are identical
            return found.gives not in ("rankings", "evalset")
        return self.protocol != "darr"


@kept()
def read_inputs(
    sources: Sequence[Any],
    protocol: str,
    *,
    human: str | None = None,
    scale: tuple[float, float] = (0, 100),
    severities: Collection[str] | None = None,
    where: tuple[tuple[str, str], ...] = (),
    ignore: tuple[str, ...] = (),
    lp: str | None = None,
) -> Inputs:
    """Read all sources: judgements of one kind are put together, scores and texts joined."""
    inspector = _Inspector(protocol, scale, severities)
    reading = Reading(where, ignore, lp, inspector)
    judged: list[Any] = []
    sets: list[EvalSet] = []
    files: list[InputFile] = []
    columns: set[str] = set()
    for source in sources:
        if isinstance(source, (Ratings, Rankings, BattleLog)):
            judged.append(source)
            continue
        form, value, found = read_any(source, reading)
        columns |= found
        if isinstance(value, EvalSet):
            own = _own_ratings(value, human) if protocol in ("da", "esa", "mqm") else None
            if own is None:
                sets.append(value)
            else:
                judged.append(own)
            files += value.inputs
        else:
            judged.append(value)
            if isinstance(source, (str, Path)):
                files.append(InputFile(str(source), form, sha256(Path(source))))
    for column in (*ignore, *(name for name, _ in where)):
        if columns and column not in columns:
            raise UsageError(f"no input has a column '{column}'; {hint(column, columns)}")
    scores = join(sets) if sets else None
    return Inputs(_together(judged), scores, tuple(files), tuple(inspector.notes))


def _own_ratings(es: EvalSet, human: str | None) -> Ratings:
    """Take the ratings that a set carries, by their name where there are several."""
    if human is None and len(es.ratings) == 1:
        return next(iter(es.ratings.values()))
    if human is None or human not in es.ratings:
        raise UsageError(
            f"name the raw ratings (--human NAME); {hint(human or '', es.ratings)}"
            if es.ratings
            else "the input holds scores but no raw ratings"
        )
    return es.ratings[human]


def _together(judged: Sequence[Any]) -> Any:
    """Put several files of judgements together; a rater of the same name is the same person."""
    if not judged:
        return None
    kinds = {type(value) for value in judged}
    if len(kinds) > 1:
        raise UsageError("the inputs hold judgements of different kinds; give one kind at a time")
    if len(judged) == 1:
        return judged[0]
    if kinds != {Ratings}:
        raise UsageError("give one file of rankings or pairs at a time")
    return concatenate(judged)


def concatenate(parts: Sequence[Ratings]) -> Ratings:
    """Put the rows of several ratings together.

    Examples
    --------
    >>> one = Ratings.from_labels(["A"], ["1"], ["r"], np.array([5.0]))
    >>> two = Ratings.from_labels(["B"], ["1"], ["r"], np.array([7.0]))
    >>> concatenate([one, two]).systems
    ('A', 'B')
    """

    def labels(names: str, codes: str) -> list[str]:
        return [getattr(p, names)[code] for p in parts for code in getattr(p, codes)]

    def column(name: str, blank: Callable[[Ratings], Sequence[Any]]) -> tuple[Any, ...] | None:
        found = [getattr(p, name) for p in parts]
        if all(own is None for own in found):
            return None
        pairs = zip(parts, found, strict=True)
        return tuple(x for p, own in pairs for x in (blank(p) if own is None else own))

    seconds = [
        np.full(len(p), np.nan) if p.seconds is None else np.asarray(p.seconds) for p in parts
    ]
    known = any(p.seconds is not None for p in parts)
    return Ratings.from_labels(
        labels("systems", "system"),
        labels("segments", "segment"),
        labels("raters", "rater"),
        np.concatenate([p.value for p in parts]),
        errors=column("errors", lambda p: [None] * len(p)),
        item=column("item", lambda p: ["system"] * len(p)),
        unit=column("unit", lambda p: [""] * len(p)),
        seconds=np.concatenate(seconds) if known else None,
    )
